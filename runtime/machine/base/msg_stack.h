/* SPDX-License-Identifier: Apache-2.0 */
/*
 * msg_stack.h: a lock-free stack of messages, linked through their `next`. Any number of threads
 * push, each with one compare-and-swap; one reader takes all with one exchange. Nothing is popped
 * singly, so there is no ABA problem. The death of a thread or process leaves the stack intact.
 *
 * A stack holds the *names* of messages, words that are never 0. Within a process a name is the
 * message's address (msg_stack_local_*); between processes it is a reference that each of them can
 * translate (share.c).
 *
 * The newest message comes first; msg_stack_in_order restores the order in which each sender
 * pushed.
 */
#ifndef MSG_STACK_H
#define MSG_STACK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmi_msg.h"

struct msg_stack {
	_Atomic uint64_t top;      /* name of the newest message; 0: empty */
};

/* The thread sanitizer sees no synchronisation through another process, which a message may pass
 * between two threads of ours. So it is told: what happened before a push happens before what
 * follows the taking of the same message; and, since the other process may send a message of its
 * own because of ours, what happened before a message left happens before what follows the arrival
 * of any later message. Where all threads belong to one process it is told nothing: there it sees
 * everything. */
#ifdef __SANITIZE_THREAD__
void __tsan_release(void *addr);
void __tsan_acquire(void *addr);
static inline void msg_tell_pushed(struct cmi_msg *m, bool one_process)
{
	if (!one_process)
		__tsan_release(m);
}
static inline void msg_tell_taken(struct cmi_msg *m, bool one_process)
{
	if (!one_process)
		__tsan_acquire(m);
}
/** `elsewhere` stands for all other processes; any address of the node that stays valid. */
static inline void msg_tell_left(void *elsewhere, bool one_process)
{
	if (!one_process)
		__tsan_release(elsewhere);
}
static inline void msg_tell_came(void *elsewhere, bool one_process)
{
	if (!one_process)
		__tsan_acquire(elsewhere);
}
#else
static inline void msg_tell_left(void *elsewhere, bool one_process)
{
	(void)elsewhere;
	(void)one_process;
}
static inline void msg_tell_came(void *elsewhere, bool one_process)
{
	(void)elsewhere;
	(void)one_process;
}
static inline void msg_tell_pushed(struct cmi_msg *m, bool one_process)
{
	(void)m;
	(void)one_process;
}
static inline void msg_tell_taken(struct cmi_msg *m, bool one_process)
{
	(void)m;
	(void)one_process;
}
#endif

/** Any thread. Push a list that is linked by names, from the message that the reader knows as
 * `name` to `last`. one_process: as in msg_tell_left. */
static inline void msg_stack_push_list(struct msg_stack *s, uint64_t name, struct cmi_msg *last,
				       bool one_process)
{
	uint64_t top = atomic_load_explicit(&s->top, memory_order_relaxed);

	do {
		last->next = (struct cmi_msg *)(uintptr_t)top;
		msg_tell_pushed(last, one_process);
		/* As a release it makes the message's bytes visible to msg_stack_take. It is seq_cst because
		 * pushers then check whether the reader sleeps, while the reader first announces its sleep and
		 * then checks the stack: one of the two sees the other. On x86 and ARM the instruction is the
		 * same. Model: ring.pml, send_by_stack */
	} while (!atomic_compare_exchange_weak_explicit(&s->top, &top, name, memory_order_seq_cst,
							memory_order_relaxed));
}

/** The same of one message. */
static inline void msg_stack_push(struct msg_stack *s, struct cmi_msg *m, uint64_t name,
				  bool one_process)
{
	msg_stack_push_list(s, name, m, one_process);
}

/** Any thread. Whether it is non-empty; relaxed, because msg_stack_take acquires. */
static inline bool msg_stack_any(const struct msg_stack *s)
{
	return atomic_load_explicit(&s->top, memory_order_relaxed) != 0;
}

/** The reader's check before it sleeps: seq_cst, see msg_stack_push. */
static inline bool msg_stack_any_for_sleep(const struct msg_stack *s)
{
	return atomic_load_explicit(&s->top, memory_order_seq_cst) != 0;
}

/** The reader. Take all: the name of the newest message, which links to the next one; 0: none. */
static inline uint64_t msg_stack_take(struct msg_stack *s)
{
	/* Acquire: pairs with msg_stack_push. Model: ring.pml, take_stack */
	return atomic_exchange_explicit(&s->top, 0, memory_order_acquire);
}

/** The link of a message that was on a stack: the name of the one pushed before it. */
static inline uint64_t msg_stack_link(const struct cmi_msg *m)
{
	return (uint64_t)(uintptr_t)m->next;
}

/** The list from `name` on, oldest first, linked by pointers. `message` translates a name before
 * the message is read; inlined, it costs no call. */
static inline __attribute__((always_inline)) struct cmi_msg *msg_stack_in_order(
	uint64_t name, struct cmi_msg *(*message)(const void *arg, uint64_t name), const void *arg)
{
	struct cmi_msg *in_order = NULL;

	while (name) {
		struct cmi_msg *m = message(arg, name);

		name = msg_stack_link(m);
		m->next = in_order;
		in_order = m;
	}
	return in_order;
}

/* ---- within a process: a name is an address -------------------------------------------------- */

static inline void msg_stack_local_push(struct msg_stack *s, struct cmi_msg *m)
{
	msg_stack_push(s, m, (uint64_t)(uintptr_t)m, true);
}

/** Push a list that is linked by pointers: `last` comes last out of msg_stack_local_take, and first
 * out of msg_stack_local_take_in_order. */
static inline void msg_stack_local_push_list(struct msg_stack *s, struct cmi_msg *first,
					     struct cmi_msg *last)
{
	msg_stack_push_list(s, (uint64_t)(uintptr_t)first, last, true);
}

/** Take all, newest first, linked by pointers. */
static inline struct cmi_msg *msg_stack_local_take(struct msg_stack *s)
{
	return (struct cmi_msg *)(uintptr_t)msg_stack_take(s);
}

/** The newest message, for a prefetch or a check for NULL; relaxed, so its contents must not be
 * read. NULL: none. */
static inline const struct cmi_msg *msg_stack_local_top(const struct msg_stack *s)
{
	return (const struct cmi_msg *)(uintptr_t)atomic_load_explicit(&s->top,
								       memory_order_relaxed);
}

static inline struct cmi_msg *msg_stack_local_message(const void *arg, uint64_t name)
{
	(void)arg;
	return (struct cmi_msg *)(uintptr_t)name;
}

/** Take all, oldest first. */
static inline struct cmi_msg *msg_stack_local_take_in_order(struct msg_stack *s)
{
	return msg_stack_in_order(msg_stack_take(s), msg_stack_local_message, NULL);
}

#endif
