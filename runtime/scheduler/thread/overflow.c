/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overflow.c: recognises a stack overflow by its fault. A handler runs on its thread's stack
 * (thread.c), or on that of its PE.
 */
#include "thread.h"
#include "../../machine/tools/cmi_limits.h"

#include <pthread.h>
#include <stdio.h>

bool overflow_guards_are_free(void)
{
	return cmi_limit_own() == UINT64_MAX;
}

/* Finding the main thread's stack reads a file, so it is done before there is a fault, and only
 * where faults are caught. */
void overflow_know_stack(struct pe *pe)
{
	pthread_attr_t attr;
	void *low;

	if (!uses_signals(pe->node) || pthread_getattr_np(pthread_self(), &attr))
		return;
	if (!pthread_attr_getstack(&attr, &low, &pe->stack.bytes))
		pe->stack.low = low;
	pthread_attr_destroy(&attr);
}

/* Whether the faulting access lies just below the stack, or in a frame that reaches from the stack
 * to the current stack pointer. */
static bool is_below(struct csd_stack s, uintptr_t at, uintptr_t sp)
{
	enum {
		JUST_BELOW = 64 << 10,
		BENEATH_SP = 256, /* a call stores there, and on x86-64 any function may use 128 bytes */
	};
	const uintptr_t end = (uintptr_t)s.low;

	return end && at < end && (end - at <= JUST_BELOW || (sp < end && at + BENEATH_SP >= sp));
}

void overflow_explain(const void *at, uintptr_t sp, char *buf, size_t len)
{
	const struct pe *pe = csd_self();
	const struct csd_stack of_thread = pe ? thread_stack(pe) : (struct csd_stack){ NULL, 0 };

	if (!pe)
		return;
	if (is_below(of_thread, (uintptr_t)at, sp))
		snprintf(buf, len, "stack overflow of a thread, which had %zu KiB; give it more with "
			 "[threaded, stacksize=...], or all of them with CK_STACK", of_thread.bytes >> 10);
	else if (!of_thread.low && is_below(pe->stack, (uintptr_t)at, sp))
		snprintf(
			buf, len,
			"stack overflow of a handler that is not a thread; its PE has %zu KiB; raise that (ulimit -s), "
			"or give the entry a stack of its own with [threaded, stacksize=...]",
			pe->stack.bytes >> 10);
}
