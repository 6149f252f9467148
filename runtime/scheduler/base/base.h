/* SPDX-License-Identifier: Apache-2.0 */
/* base.h: the PE of a thread, ends by force, timers. */
#ifndef CSD_BASE_H
#define CSD_BASE_H

#include "../pe.h"

/** This thread's PE. Without one the job ends with a line that names the function, `what`. */
static inline struct pe *pe_here(const char *what)
{
	struct pe *pe = csd_self();

	if (CSD_UNLIKELY(!pe))
		csd_no_pe(what);
	return pe;
}

/** That PE if it is of this node, else NULL. */
static inline struct pe *pe_of_node(const struct pe *pe, int other)
{
	unsigned local = (unsigned)(other - pe->node->job->my_first_pe);

	return local < (unsigned)pe->node->job->my_n_pes ? pe->node->pes[local] : NULL;
}

/* Signals belong to the process: not to one of several nodes in it, nor to a guest that was not
 * told to take them. */
static inline bool uses_signals(const struct node *node)
{
	return !node->cfg->net && (!node->cfg->guest || node->cfg->signals);
}

/* abort.c */
void pe_describe(const struct pe *pe, char *buf, size_t len); /* async-signal-safe */
_Noreturn void abort_no_handler(struct pe *pe, const struct cmi_msg *m);

/* timers.c */
void timers_init(struct pe *pe);
void timers_fini(struct pe *pe);
int timers_run_slow(struct pe *pe);
static inline int timers_run(struct pe *pe) /* how many were due */
{
	return CSD_LIKELY(!pe->n_timers) ? 0 : timers_run_slow(pe);
}
uint64_t timers_next_ns(const struct pe *pe); /* UINT64_MAX: none */
bool hooks_any(const struct pe *pe, int condition);
void hooks_raise(struct pe *pe, int condition);

#endif
