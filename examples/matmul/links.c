/* SPDX-License-Identifier: Apache-2.0 */
/*
 * links.c: the receiver makes a channel for each slice that will come, straight to where dgemm
 * reads it, and sends the handle to the peer, which binds it to the slice that it will send.
 */
#include "links.h"

#include <stdlib.h>
#include <string.h>

#include "blocks.h"

/* A NaN; the elements are numbers. */
#define OUT_OF_BAND UINT64_C(0x7ff8c0dec0dec0de)

void links_init(Cube *m)
{
	int n = N_KINDS * N_SLOTS * opt.p;

	m->links = aligned_alloc(_Alignof(struct link), (size_t)n * sizeof *m->links);
	m->at_once = calloc((size_t)n, sizeof *m->at_once);
	if (!m->links || !m->at_once)
		CkAbort("matmul: no memory for %d links: use a smaller --p", n);
	memset(m->links, 0, (size_t)n * sizeof *m->links);
}

void links_fini(Cube *m)
{
	free(m->links);
	free(m->at_once);
}

/* ---- before a run ------------------------------------------------------------------------- */

static void count_connection(Cube *m)
{
	if (--m->n_missing_links == 0)
		CkContribute(m, m->paths, N_PATHS, CkReduction_sum_long,
			     Main_cb_connected(mainProxy));
}

static void connect_link(Cube *m, int kind, int slot, int q)
{
	struct link *l = link_of(m, kind, slot, q);
	double *place = in_place(m, kind, slot, q);
	size_t bytes = (size_t)in_doubles(m, kind, q) * sizeof(double);

	if (kind == KIND_C && is_here(m, kind, q))
		return;
	m->n_missing_links++;
	l->cube = m;
	l->missing = missing(m, kind, slot);
	l->part = kind == KIND_C ? place : NULL;
	l->in = CkDirect_createHandle(place, bytes, OUT_OF_BAND, cube_put_arrived, l);
	Cube_channel(peer(m, kind, q), kind, slot, m->me[kind], l->in);
}

void Cube_on_connect(Cube *m)
{
	find_neighbours(m);
	m->n_missing_links++;
	for (int kind = 0; kind < N_KINDS; kind++)
		for (int s = 0; s < n_slots(); s++)
			for (int q = 0; q < opt.p; q++)
				if (q != m->me[kind])
					connect_link(m, kind, s, q);
	count_connection(m);
}

void Cube_on_channel(Cube *m, int kind, int slot, int from, CkDirectHandle h)
{
	struct link *l = link_of(m, kind, slot, from);
	const char *path;
	bool at_once;

	l->out = h;
	CkDirect_assocLocalBuffer(&l->out, out_place(m, kind, slot, from),
				  (size_t)out_doubles(m, kind, from) * sizeof(double));
	path = CkDirect_path(&l->out);
	at_once = !strcmp(path, "memory");
	m->at_once[link_number(kind, slot, from)] = at_once;
	m->paths[at_once ? PATH_MEMORY : !strcmp(path, "rma") ? PATH_RMA : PATH_MESSAGE]++;
	count_connection(m);
}

/* ---- in a run ----------------------------------------------------------------------------- */

void links_put_complete(void *cube_p)
{
	Cube *m = *(Cube **)cube_p;

	m->unsent--;
	cube_advance(m);
}

/* A put from this PE is found without polling, so nothing is saved by arming its channel later.
 * The others are only marked until links_poll_inputs. */
static void release_kind(const Cube *m, int kind, int slot)
{
	struct link *l = link_of(m, kind, slot, 0);
	int me = m->me[kind], p = opt.p;

	for (int q = 0; q < p; q++, l++) {
		if (q == me)
			continue;
		if (is_here(m, kind, q))
			CkDirect_ready(&l->in);
		else
			CkDirect_readyMark(&l->in);
	}
}

void links_release_inputs(Cube *m, int slot)
{
	release_kind(m, KIND_A, slot);
	release_kind(m, KIND_B, slot);
	m->marked[slot] = true;
}

static void poll_kind(const Cube *m, int kind, int slot)
{
	struct link *l = link_of(m, kind, slot, 0);
	int me = m->me[kind], p = opt.p;

	for (int q = 0; q < p; q++, l++)
		if (q != me && !is_here(m, kind, q))
			CkDirect_readyPollQ(&l->in);
}

void links_poll_inputs(Cube *m, int slot)
{
	if (!m->marked[slot])
		return;
	poll_kind(m, KIND_A, slot);
	poll_kind(m, KIND_B, slot);
	m->marked[slot] = false;
}

/* ---- after a run -------------------------------------------------------------------------- */

static void disconnect_link(struct link *l)
{
	if (!l->cube)
		return;
	CkDirect_destroyHandle(&l->in);
	CkDirect_destroyHandle(&l->out);
	l->cube = NULL;
}

/* Nothing is on its way: every slice sent in a run was used in it, and the run did not end before
 * the puts were locally complete. */
void Cube_on_disconnect(Cube *m)
{
	for (int i = 0; i < N_KINDS * N_SLOTS * opt.p; i++)
		disconnect_link(&m->links[i]);
	memset(m->marked, 0, sizeof m->marked);
	memset(m->paths, 0, sizeof m->paths);
	CkContributeBarrier(m, Main_cb_disconnected(mainProxy));
}
