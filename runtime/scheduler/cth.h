/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cth.h: threads within a PE, Converse's Cth. A thread is a C function on a stack of its own
 * that gives the PE away when it waits (CthSuspend) and goes on when somebody on its PE says so
 * (CthAwaken). Threads of a PE never run at the same time and never leave it, so they need no
 * locks among themselves.
 *
 * Cost (bench/threads): a switch there and back 28 ns, where ucontext, which calls the kernel, takes
 * 520; a thread made, run and ended 30 ns; a yield, which goes through the queue, 45 ns. Memory: the
 * pages that its stack has touched, 4 KiB at least; stacks have a guard page below and are used again.
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

/** A new thread that will call fn(arg); it starts when it is awakened. stack_bytes 0: the
 * default, or what the environment variable CK_STACK says. The runtime owns the thread: it
 * ends with fn, or with the job. Aborts when there is no memory. */
CthThread CthCreate(CthVoidFn fn, void *arg, size_t stack_bytes);

/** The running thread; NULL in a handler on the PE's own stack. */
CthThread CthSelf(void);

/** Let `t`, suspended or new, go on: it enters this PE's queue like a message sent now. Only
 * on its own PE, and once per suspension. */
void CthAwaken(CthThread t);
/** The same with a priority: lower is earlier. */
void CthAwakenPrio(CthThread t, int prio);

/** Give the PE away until awakened. Only in a thread. */
void CthSuspend(void);

/** Let everything that is queued go first. Only in a thread. */
void CthYield(void);

/** Run `t`, new or suspended and not awakened, at once, until it waits or ends; then go on. The
 * caller may be the scheduler, a handler or a thread. */
void CthResume(CthThread t);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
