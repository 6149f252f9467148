/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cth.h: threads within a PE, Converse's Cth. A thread is a C function with a stack of its own. It
 * gives the PE away when it waits (CthSuspend) and continues when code on its PE awakens it
 * (CthAwaken). Threads of a PE never run at the same time and never leave it, so they need no locks
 * among themselves.
 *
 * Cost (bench/threads): a switch there and back takes 28 ns (ucontext, which calls the kernel,
 * takes 520 ns); making, running and ending a thread 30 ns; a yield, which goes through the queue,
 * 45 ns. A thread's memory is the pages that its stack has touched, 4 KiB at least. Stacks have a
 * guard below and are reused.
 *
 * All functions are called on a PE.
 */
#ifndef CTH_H
#define CTH_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct csd_thread *CthThread;
typedef void (*CthVoidFn)(void *arg);

enum {
	CTH_STACK_DEFAULT = 256 << 10, /* bytes of address space; memory only where touched */
	CTH_STACK_MIN = 16 << 10,
};

/** Make a thread that will call fn(arg); it starts when it is awakened. stack_bytes 0 stands for
 * CTH_STACK_DEFAULT, or for the environment variable CK_STACK. The runtime owns the thread, which
 * ends with fn or with the job. Aborts when there is no memory. */
CthThread CthCreate(CthVoidFn fn, void *arg, size_t stack_bytes);

/** The running thread; NULL in a handler on the PE's own stack. */
CthThread CthSelf(void);

/** Resume `t`, suspended or new: it enters this PE's queue like a message sent now. Only on its own
 * PE, and once per suspension. */
void CthAwaken(CthThread t);
/** The same with a priority: lower is earlier. */
void CthAwakenPrio(CthThread t, int prio);

/** Give the PE away until awakened. Only in a thread. */
void CthSuspend(void);

/** Let everything that is queued run first. Only in a thread. */
void CthYield(void);

/** Run `t`, new or suspended and not awakened, at once, until it waits or ends; then return. The
 * caller may be the scheduler, a handler or a thread. */
void CthResume(CthThread t);

/* ---- thread-private variables ---------------------------------------------------------------- */

/** Thread-private variables, Converse's Ctv. The first line stands outside functions; the second in
 * an initnode or initproc function, or anywhere before the first thread is made that uses the
 * variable:
 *
 *	CtvDeclare(int, depth);                CtvInitialize(int, depth);
 *
 * CtvDeclare defines the variable for the whole program, CtvStaticDeclare for one file; CtvExtern
 * names one of another file and may stand in a header. CtvAccess(depth) is an lvalue: the running
 * thread's variable, and in a handler on the PE's own stack the PE's. It costs a function call.
 *
 * Each is zero at first: a thread's when the thread is made, a PE's when the job begins. Its
 * address is fixed while its thread lives. It lies in the thread's stack, so programs without such
 * variables pay nothing. Handlers outside threads share their PE's.
 *
 * Where    CtvInitialize: anywhere; a second call does nothing. CtvAccess: on a PE.
 * Errors   end the job with a line: access before CtvInitialize, or in a thread that was made
 *          before it; more than CTV_MOST bytes in all; a type that is aligned to more than 64.
 * Source   Converse, thread-private variables. */
#define CtvDeclare(type, name) \
	typedef __typeof__(type) CtvType_##name; int CtvPlace_##name
#define CtvStaticDeclare(type, name) \
	typedef __typeof__(type) CtvType_##name; static int CtvPlace_##name
#define CtvExtern(type, name) \
	typedef __typeof__(type) CtvType_##name; extern int CtvPlace_##name
/* The compiler complains when the type differs from the one in CtvDeclare. */
#define CtvInitialize(type, name) \
	CtvRegister(&CtvPlace_##name, #name, \
		    sizeof *(1 ? (CtvType_##name *)0 : (__typeof__(type) *)0), \
		    __alignof__(CtvType_##name))
#define CtvAccess(name) (*(CtvType_##name *)CtvAddress(CtvPlace_##name, #name))

enum { CTV_MOST = 1 << 20 };      /* bytes of all variables of a thread */

/** Called by the macros. `place` is zero before CtvInitialize. */
void CtvRegister(int *place, const char *name, size_t bytes, size_t align);
void *CtvAddress(int place, const char *name);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
