/* SPDX-License-Identifier: Apache-2.0 */
/* step_int.h: shared by the files of a balancing step: step.c, step_rest.c, statistics.c,
 * question.c. */
#ifndef CK_STEP_INT_H
#define CK_STEP_INT_H

#include <string.h>

#include "balance_int.h"

/* ---- messages -------------------------------------------------------------------------------- */

/** The loads of PEs and elements, as they are sent. */
struct pe_record {
	int32_t pe;
	float background, speed;
	uint32_t reserved;        /* so that later edges are aligned to 8 */
};

struct elem_record {
	CkIndex index;
	int32_t pe;
	float seconds;
	float position[3];
	uint32_t pinned, has_position;
};

/** Precedes the records of SYNC_STATS and SYNC_MOVES. */
enum { STILL_BYTES = (sizeof(struct place_still) + 15) / 16 * 16 };

/** Returns the position after it. */
static inline char *still_put(struct sync_msg *m, const struct place_still *still)
{
	char *at = (char *)(m + 1);

	memset(at, 0, STILL_BYTES);
	memcpy(at, still, sizeof *still);
	return at + STILL_BYTES;
}

static inline const char *still_get(const struct sync_msg *m, struct place_still *still)
{
	memcpy(still, m + 1, sizeof *still);
	return (const char *)(m + 1) + STILL_BYTES;
}

/** Of a number in a message of another process. */
static inline bool is_pe(const struct pe *pe, int32_t n)
{
	return n >= 0 && n < pe->node->job->n_pes;
}

/* ---- a step, on each PE ---------------------------------------------------------------------- */

struct step {
	enum step_way way;
	struct place_still still; /* when quiescent: of this PE and all below it */
	struct pe_record *pes;    /* ours */
	struct elem_record *elems;/* ours */
	struct edge_record *edges;/* ours */
	size_t n_pes, n, n_edges, cap_pes, cap, cap_edges;
	int n_in, n_done;         /* children that have sent their statistics / whose PEs have all their
				   * elements */
	int64_t expected;         /* elements that are still to arrive */
	bool known;               /* the list of moves has arrived */
};

/* ---- statistics.c ---------------------------------------------------------------------------- */

/** Add this PE's measurements, as forecast. They belong to the past from now on. */
void statistics_own(struct pe *pe, struct collection *c, struct step *p, enum forecast by);
/** To the parent in PE 0's tree: this PE's statistics and its children's. */
void statistics_send(struct pe *pe, struct collection *c, const struct step *p);
/** From a child. */
void statistics_take(struct step *p, const struct sync_msg *m);
/** `at`: the records of the message. */
const char *statistics_misfit(struct pe *pe, const struct sync_msg *m, const void *at);

/* ---- question.c: on PE 0 --------------------------------------------------------------------- */

/** The whole input and result of the strategy, in blocks of their own. */
struct question {
	CkLBStats s;
	float *background, *speed;
	CkLBElement *element;
	CkLBEdge *edge;
	uint32_t *order;          /* the record of element i */
	int32_t *to;              /* the destination of element i */
};

/** Run the strategy; `to` is filled in any case. The caller frees the members of the question. */
void question_ask(struct pe *pe, struct collection *c, const struct step *p, struct question *q);
void question_free(struct question *q);

#endif
