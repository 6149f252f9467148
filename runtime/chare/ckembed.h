/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ckembed.h: Chard inside another program, which has a main() of its own: an MPI program, a Python
 * program, a solver with one phase of chares. Four functions replace CkMain:
 *
 *	CkInit(&argc, &argv, &ck_module_X, NULL);  the main chares' constructors have run
 *	CkRunUntil(&done);                         handlers run until one of them sets `done`
 *	code = CkFinalize();                       the run is over, nothing of it is left
 *	...                                        and CkInit may follow again
 *
 * The thread that calls CkInit, here "the host's thread", is the first PE of this process: its
 * handlers run inside CkProgress, CkRunUntil and CkFinalize, and nowhere else. Further PEs of the
 * process (+p N, CK_PES) have threads of their own and run all the time. Between the calls the
 * host's thread may call everything that a handler may call (entries, X_ckNew, CkMyPe, CkExit,
 * ...), except functions that wait. Other threads of the program may call nothing. A call that
 * breaks these rules ends the job with one line that says what to do.
 *
 * The .ci file's module needs no main() then: define CK_NO_MAIN where its .def.h is included.
 */
#ifndef CKEMBED_H
#define CKEMBED_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct CkGenModule;

/** How the processes of the program find each other, if it has several. Zeroed, or NULL instead of
 * it: by the environment, as in CkMain, and a process without a launcher is the whole job. With
 * MPI:
 *
 *	static int allgather(const void *mine, void *all, size_t bytes, void *comm)
 *	{
 *		return MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE,
 *				     *(MPI_Comm *)comm);
 *	}
 *	CkBoot boot = {.rank = rank, .size = size, .allgather = allgather, .arg = &comm};
 */
typedef struct CkBoot {
	int rank, size;            /**< of this process; read with `allgather` only */
	/** Give `bytes` bytes of each rank to all: rank r's to all + r * bytes. All ranks call it the
	 * same number of times, with equal `bytes`. Returns 0; anything else is an error.
	 * Called   on the host's thread, in CkInit and CkFinalize. */
	int (*allgather)(const void *mine, void *all, size_t bytes, void *arg);
	/** End all processes, as MPI_Abort does. May be NULL: then the process that aborts only exits,
	 * and the program's launcher must end the others, as mpirun and mpiexec do.
	 * Called   on the thread of any PE, after the line that says why, by CkAbort and all errors that
	 *          end the job; not in signal handlers. If it returns, the process exits. */
	void (*abort)(int code, void *arg);
	void *arg;                 /**< for both functions */
	/** PEs of this process; 0: as CK_PES says, else 1. +p N in argv takes precedence. CkInit removes
	 * that, so for a further run keep the result of CkMyNodeSize in the first. */
	int pes;
	/** Catch faults (SIGSEGV, ...), SIGUSR1 and CK_WATCHDOG=seconds by signals as CkMain does, where
	 * the program has no handlers, until CkFinalize. False: no signal is touched. */
	bool signals;
} CkBoot;

/** Start the runtime, run the main chares of this module on PE 0, give their readonly variables to
 * all PEs. All processes of the job call it.
 *
 * Called   on the thread that makes all further calls. May be called again after CkFinalize.
 * argv     the runtime removes its own (+p N, +ppn N) from *argc and *argv; the main chares get the
 *          others. Both may be NULL. Must stay valid until CkFinalize.
 * boot     copied; what `arg` points to must stay valid until CkFinalize.
 * Blocks   until all processes have called it.
 * Errors   returns 0, or another number after one line that says why, and no run has begun: no
 *          launcher, an allgather that fails, a wrong argument. Later failures, or a wrong
 *          environment variable, end the job like CkAbort.
 * Misuse   calling it twice without CkFinalize, in a handler, or in a program that CkMain runs,
 *          aborts. */
int CkInit(int *argc, char ***argv, const struct CkGenModule *module, const CkBoot *boot)
	__attribute__((warn_unused_result));

/** Make n passes of this PE's scheduler. A pass handles what has arrived, up to 16 messages.
 * Never sleeps, so a program's own loop can call it.
 *
 * Called   on the host's thread, outside handlers.
 * Returns  how much work the passes found; 0: none; -1: the run has ended (CkExit), and CkFinalize
 *          must follow.
 * Misuse   before CkInit, in a handler, on another thread: aborts. */
int CkProgress(int n);

/** Run this PE's scheduler until *flag is not 0, or until the run has ended if flag is NULL.
 * Without work it sleeps until a message wakes it.
 *
 * Called   on the host's thread, outside handlers.
 * flag     handlers on this PE just store to it. Handlers on other PEs of the process store with
 *          release (__atomic_store_n, std::atomic); that is noticed within 10 ms. So may threads of
 *          the program; it must set CK_WATCHDOG=0 then, see Misuse.
 * Returns  true if *flag is set; false if the run has ended first.
 * Misuse   as CkProgress. The watchdog ends a run in which all processes wait in CkRunUntil or
 *          CkFinalize and no handler will ever run again, with exit code 125. */
bool CkRunUntil(const volatile int *flag);

/** End the run and free all that belongs to it, threads and network included. All processes call
 * it. Until each of them has, or CkExit has been called, handlers continue to run here; then
 * messages that are still queued are dropped.
 *
 * Called   on the host's thread, outside handlers.
 * Returns  the run's exit code, as CkMain: the first that is not 0 among those of CkExit, else 0.
 * Blocks   until all processes have called it.
 * Misuse   as CkProgress. A process that exits without it, or a thread that ends, ends the job with
 *          a line, and with a code that is not 0. */
int CkFinalize(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
