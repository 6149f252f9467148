/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stores.h: how many bytes have been stored where, by phases (CkAllStoreSync).
 *
 * A PE counts what it stores into the memory of each other PE, by the number of its phase modulo 3.
 * Stores by load and store are there when they are counted; the PE shows these counts to its host
 * (cmi_show), and who waits adds up those of the host's PEs. Stores by messages are counted where
 * they are sent and where they come.
 *
 * Why 3. A PE ends phase k when all PEs have called for the k-th time, so it calls for k + 1 when
 * each of them has ended k - 1, and then stores for k + 2. While a PE waits in k, others store for
 * k and k + 1 only; when it has ended k, and not called again, also for k + 2. So of the stores of
 * k - 1, k and k + 1 no two have the same count.
 */
#ifndef CK_STORES_H
#define CK_STORES_H

#include <stdatomic.h>
#include <stdint.h>

#include "../wait/wait.h"

enum { PHASES = 3 };

/** Waits for stores. */
struct store_waiter {
	struct store_waiter *next;
	CthThread thread;         /* then it lies on the thread's stack; NULL: it is ours, of malloc */
	CkCallback then;
	uint64_t bytes;
	bool over;
};

/** Bytes by messages that a PE has sent to another, in all phases with the same number modulo 3. */
struct phase_count {
	uint32_t pe, unused;
	uint64_t bytes;
};

struct stores {
	uint64_t phase;           /* that stores of this PE belong to: calls of CkAllStoreSync */
	/* [PHASES * n_pes]: bytes by load and store, by phase % PHASES and PE. In message memory, shown to
	 * the host's PEs. This PE alone writes it, by release: who acquires a count sees what was
	 * stored. */
	_Atomic uint64_t *counts;
	uint64_t *far;            /* ours: [PHASES * n_pes]: the same by messages, sent; NULL: none */
	uint64_t came[PHASES];    /* the same, that have come here */

	/* CkStoreSync */
	uint64_t taken;           /* bytes that have been waited for */
	struct store_waiter *first, *last;
	int *near, n_near;        /* ours: the host's PEs; NULL: not looked for yet */
	int hooks[2];             /* csd_hook: on STILL_IDLE, BEGIN_BUSY */
	bool spins, hooked;       /* ... which of them there are */
	bool looks, timed;        /* a message, and a timer, to look again */
	uint64_t idle_ns;         /* since when it has looked while the PE was idle; 0: not yet */

	/* CkAllStoreSync, phases.c */
	bool called;              /* this PE has called, and not all others */
	struct store_waiter *waits; /* this PE has; NULL: it has not, or its phase is over */
	bool all_called;          /* all PEs have; `due` bytes come by messages */
	uint64_t due;
	int n_in;                 /* children in PE 0's tree that have called */
	struct phase_count *sums; /* ours: [n_sums], of this PE and those below it */
	size_t n_sums, sums_room;
	uint64_t at_end[PHASES];  /* bytes that had come here when such a phase ended last */
};

/** This PE stores; the caller has done so, or does it by messages. */
void stores_count(struct pe *pe, int to, size_t bytes);
unsigned stores_count_far(struct pe *pe, int to, size_t bytes);
/** A store by message is there. */
void stores_came(struct pe *pe, unsigned phase, size_t bytes);
/** All bytes that have been stored here, of one phase modulo 3. */
uint64_t stores_here(struct pe *pe, unsigned phase);
/** Phases up to this one need no CkStoreSync any more. */
void stores_taken(struct pe *pe, uint64_t bytes);
void waiter_over(struct pe *pe, struct store_waiter *w);
struct store_waiter *waiter_then(CkCallback cb, uint64_t bytes, const char *call);
void look_arrived(struct pe *pe, struct cmi_msg *m);
void stores_describe(struct pe *pe, struct csd_told *to);
void stores_refuse(struct pe *pe, struct csd_told *to);
void stores_check_end(struct pe *pe);
void stores_stop(struct pe *pe);

/* phases.c */
/** Stores by messages have come: see whether the phase is over. */
void phase_look(struct pe *pe);
void phase_arrived(struct pe *pe, struct cmi_msg *m);
const char *phase_misfit(struct pe *pe, const struct cmi_msg *m);

#endif
