/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cube.c: the multiplication, as section 4.2 of the CkDirect paper describes it. Each iteration of a
 * chare has three stages:
 *
 *	SEND_INPUTS   A is replicated along z and B along x: a chare sends its slice of each to the
 *	              chares that share the block, and waits for theirs.
 *	MULTIPLY      It multiplies its blocks of A and B with one dgemm, and distributes the product
 *	              along y: each slice goes to the chare that owns that slice of C.
 *	COMPLETE      It has added up the slices that belong to it.
 *
 * A message's slice is copied twice: into the message, and at the receiver to where dgemm reads it
 * (large ones stay in the message, see pieces.h). A channel writes it there. In both modes slices of C
 * are added from where they have arrived. Between chares of one PE, `neighbour` and `part` are
 * [inline] entries: the handler runs at once and reads the sender's array, which saves a copy.
 *
 * Why --sync none needs no barrier. Let M be a chare and Q a peer in some exchange.
 *  (1) Q's iteration k + 1 ends only after M's slice of that exchange for k + 1 has come.
 *  (2) M sends its slices of A and B for k + 1 after its iteration k has ended; its slices
 *      of C for k + 1 later still. When iteration k ends, M has used all that came for k
 *      and has released slot k % 2.
 *  (3) Q sends for k + 2, whatever the kind, after its iteration k + 1 has ended.
 *  So Q's slice for k + 2 is sent after M has released the slot it goes to, k % 2: no slot
 *  holds two slices, and Q is at most one iteration ahead.
 *  (4) Visibility: M's CkDirect_readyMark stores the out-of-band value before M's put or
 *      message for k + 1 in program order; that is a release, Q's noticing it an acquire,
 *      and Q's put for k + 2 comes after it. So the out-of-band value happens before Q's
 *      data, and cannot overwrite it.
 *  (5) An iteration begins only when all puts of the one before are locally complete: the
 *      own slices and the product may be written again.
 * With --sync barrier a reduction after each iteration replaces (1): one slot is enough.
 *
 * With --lb chares may move when all of them are between the same two iterations (CkAtSync). Nothing has been sent for
 * the next one, so no slice is on its way, and none is kept.
 */
#include "cube.h"

#include <cblas.h>
#include <string.h>

#include "balance.h"
#include "blocks.h"
#include "check.h"
#include "links.h"
#include "pieces.h"
#include "slices.h"
#include "tiles.h"

/* ---- what arrives ------------------------------------------------------------------------- */

static void count_arrival(Cube *m, int *missing)
{
	if (--*missing == 0)
		cube_advance(m);
}

/* Slices of C are added as they come, while they are in the caches. The order does not matter
 * because all sums are exact (check.h). */
static void add(Cube *m, const double *part)
{
	cblas_daxpy(slice_doubles(m, m->me[KIND_C]), 1.0, part, 1, m->c, 1);
}

/* A slice of A or B has come from a chare of this PE, */
void Cube_on_neighbour(Cube *m, int kind, int slot, int from, int n, const double *v)
{
	memcpy(in_place(m, kind, slot, from), v, (size_t)n * sizeof *v);
	count_arrival(m, missing(m, kind, slot));
}

/* or in a message, */
void Cube_on_slice(Cube *m, int kind, int slot, int from, int n, const double *v)
{
	if (!pieces_worth(n)) {
		Cube_on_neighbour(m, kind, slot, from, n, v);
		return;
	}
	pieces_keep(m, kind, slot, from, v);
	count_arrival(m, missing(m, kind, slot));
}

/* or a slice of C has come in either way; */
void Cube_on_part(Cube *m, int slot, int n, const double *v)
{
	(void)n;
	add(m, v);
	count_arrival(m, missing(m, KIND_C, slot));
}

/* or a slice of any kind has come through a channel, and is in its place. */
void cube_put_arrived(void *link)
{
	struct link *l = link;

	if (l->part) {
		add(l->cube, l->part);
		CkDirect_ready(&l->in);
	}
	count_arrival(l->cube, l->missing);
}

/* ---- replicate A along z and B along x ---------------------------------------------------- */

static void send_slice(Cube *m, int kind, int slot, int q)
{
	int me = m->me[kind], n = out_doubles(m, kind, q);
	const double *v = out_place(m, kind, slot, q);

	if (m->mode == MODE_DIRECT)
		link_put(m, kind, slot, q);
	else if (is_here(m, kind, q))
		Cube_neighbour(peer(m, kind, q), kind, slot, me, n, v);
	else
		Cube_slice(peer(m, kind, q), kind, slot, me, n, v);
}

/* Those to other PEs first: a neighbour may go on with its own work at once. */
static void send_slices(Cube *m, int slot)
{
	for (int here = 0; here < 2; here++)
		for (int kind = KIND_A; kind <= KIND_B; kind++)
			for (int q = 0; q < opt.p; q++)
				if (q != m->me[kind] && is_here(m, kind, q) == here)
					send_slice(m, kind, slot, q);
}

/* Bring the own slice of A from the factor that it has to that of this iteration. */
static void scale_a(Cube *m, int slot)
{
	int z = m->me[KIND_A], n = slice_doubles(m, z), want = factor_of(m->iter);
	double *a = slice_of(m, m->ab[KIND_A][slot], z);
	double by = (double)want / m->factor_in[slot];

	cblas_dscal(n, by, a, 1);
	m->factor_in[slot] = want;
}

static bool send_inputs(Cube *m, int slot)
{
	if (!m->go || m->unsent > 0)
		return false;
	scale_a(m, slot);
	send_slices(m, slot);
	links_poll_inputs(m, slot);
	return true;
}

/* ---- multiply, and distribute the product along y ------------------------------------------ */

static void send_part(Cube *m, int slot, int q)
{
	if (m->mode == MODE_DIRECT && !is_here(m, KIND_C, q))
		link_put(m, KIND_C, slot, q);
	else
		Cube_part(peer(m, KIND_C, q), slot, out_doubles(m, KIND_C, q),
			  out_place(m, KIND_C, slot, q));
}

static void send_parts(Cube *m, int slot)
{
	for (int here = 0; here < 2; here++)
		for (int q = 0; q < opt.p; q++)
			if (q != m->me[KIND_C] && is_here(m, KIND_C, q) == here)
				send_part(m, slot, q);
}

static bool multiply_blocks(Cube *m, int slot)
{
	if (m->missing_inputs[slot])
		return false;
	if (m->n_kept[slot])
		pieces_multiply(m, slot);
	else
		multiply(m->partial, 1.0, 0.0, m->ab[KIND_A][slot], m->nb, m->ab[KIND_B][slot], m->nb,
			 m->nb, m->nb);
	m->missing_inputs[slot] = 2 * (opt.p - 1);
	if (m->mode == MODE_DIRECT)
		links_release_inputs(m, slot);
	send_parts(m, slot);
	add(m, slice_of(m, m->partial, m->me[KIND_C]));
	return true;
}

/* ---- add up the slices of C ---------------------------------------------------------------- */

static bool complete(Cube *m, int slot)
{
	if (m->missing_parts[slot])
		return false;
	m->missing_parts[slot] = opt.p - 1;
	return true;
}

/* ---- one stage after the other ------------------------------------------------------------- */

/* One stage, if what has arrived allows it. */
static bool do_stage(Cube *m, int slot)
{
	switch (m->stage) {
	case SEND_INPUTS: return send_inputs(m, slot);
	case MULTIPLY: return multiply_blocks(m, slot);
	default: return complete(m, slot);
	}
}

static void join_barrier(Cube *m)
{
	CkContributeBarrier(m, Cube_cb_go_all(Cube_thisProxy(m)));
}

/* Two iterations: wait for the others, if the user says so. */
static void between(Cube *m)
{
	const bool sync = opt.lb && m->iter % opt.lb == 0;

	m->go = !sync && !opt.barrier;
	if (sync)
		balance_sync(m);
	else if (opt.barrier)
		join_barrier(m);
}

static void go_on(Cube *m)
{
	while (m->iter < m->iters) {
		if (!do_stage(m, slot_of(m->iter)))
			return;
		if (m->stage != COMPLETE) {
			m->stage++;
			continue;
		}
		m->stage = SEND_INPUTS;
		m->iter++;
		if (m->iter < m->iters)
			between(m);
	}
	if (m->go && m->unsent == 0) {
		m->go = false;
		CkContributeBarrier(m, Main_cb_ran(mainProxy));
	}
}

/* An [inline] call to a chare of this PE may come back here, with a slice of C that it has computed
 * because of one of ours. Then the loop that is already running goes on with it. */
void cube_advance(Cube *m)
{
	if (m->advancing)
		return;
	m->advancing = true;
	go_on(m);
	m->advancing = false;
}

void Cube_on_go(Cube *m)
{
	m->go = true;
	cube_advance(m);
}

/* The sync is over: this chare and its peers may be elsewhere. */
void Cube_on_resumeFromSync(Cube *m)
{
	look_for_neighbours(m);
	if (opt.barrier)
		join_barrier(m);
	else
		Cube_on_go(m);
}

void Cube_on_run(Cube *m, int iters)
{
	m->iter = 0;
	m->iters = iters;
	Cube_on_go(m);
}
