/* SPDX-License-Identifier: Apache-2.0 */
/*
 * links.h: the channels of a chare: made before a run, put and made ready in it, destroyed after it.
 *
 * A link holds the two channels between a chare and one peer, for one kind of slice and one slot.
 * Slices of C that stay on a PE need no channel (cube.c).
 */
#ifndef MATMUL_LINKS_H
#define MATMUL_LINKS_H

#include "slices.h"

/** With thousands of channels a call costs the cache lines that it touches. A ready reads the front
 * of a handle, a put the first 64 bytes. With this alignment an arrival and the ready after it touch
 * one line of the link, and a put touches one other. */
struct link {
	_Alignas(64) Cube *cube; /* for the arrival function: whose link this is, */
	int *missing;            /* what counts its arrivals, */
	const double *part;      /* kind C: where they land; NULL: in their place */
	CkDirectHandle in;       /* made here */
	_Alignas(64) CkDirectHandle out; /* made by the peer, bound here */
};

void links_init(Cube *m);
void links_fini(Cube *m);

/** The inputs of a slot have been used: their channels may be put into again. */
void links_release_inputs(Cube *m, int slot);

/** From here on the inputs of a slot are expected. */
void links_poll_inputs(Cube *m, int slot);

/** For link_put: one put is locally complete. */
void links_put_complete(void *cube_p);

static inline int link_number(int kind, int slot, int q)
{
	return (kind * N_SLOTS + slot) * opt.p + q;
}

static inline struct link *link_of(const Cube *m, int kind, int slot, int q)
{
	return &m->links[link_number(kind, slot, q)];
}

/** Put the slice that peer q gets from here. In a header because it is all that a slice costs. */
static inline void link_put(Cube *m, int kind, int slot, int q)
{
	CkDirectHandle *out = &link_of(m, kind, slot, q)->out;

	if (m->at_once[link_number(kind, slot, q)]) {
		CkDirect_put(out);
	} else {
		m->unsent++;
		CkDirect_putData(out, links_put_complete, &m, sizeof m);
	}
}

#endif
