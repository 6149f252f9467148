/* SPDX-License-Identifier: Apache-2.0 */
/* blocks.c: places that a channel receives into are memory that its sender can write. */
#include "blocks.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "links.h"
#include "pieces.h"
#include "slices.h"

void *alloc_bytes(size_t bytes)
{
	void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);

	if (!p)
		CkAbort("matmul: no memory for %zu bytes: use a smaller --n", bytes);
	return p;
}

double *alloc_doubles(size_t n)
{
	return alloc_bytes(n * sizeof(double));
}

static double *alloc_receive(size_t n)
{
	double *p;

	if (opt.malloc_recv)
		return alloc_doubles(n);
	p = CkDirect_alloc(n * sizeof *p);
	if (!p)
		CkAbort("matmul: no memory for %zu bytes: use a smaller --n or --recv malloc",
			n * sizeof *p);
	return p;
}

static void free_receive(double *p)
{
	if (opt.malloc_recv)
		free(p);
	else
		CkDirect_free(p);
}

static void find_place(Cube *m)
{
	CkIndex3D i = Cube_thisIndex(m);

	m->x = opt.spread ? (2 * opt.p + i.x - i.y - i.z) % opt.p : i.x;
	m->y = i.y;
	m->z = i.z;
	m->me[KIND_A] = m->z;
	m->me[KIND_B] = m->x;
	m->me[KIND_C] = m->y;
	m->nb = opt.n / opt.p;
	m->start = alloc_bytes((size_t)(opt.p + 1) * sizeof *m->start);
	for (int k = 0; k <= opt.p; k++)
		m->start[k] = first_row(m->nb, k) * m->nb;
}

static void new_blocks(Cube *m)
{
	size_t block = (size_t)m->nb * (size_t)m->nb;
	size_t own = (size_t)slice_doubles(m, m->me[KIND_C]);

	m->partial = alloc_doubles(block);
	m->c = alloc_doubles(own);
	for (int s = 0; s < n_slots(); s++) {
		for (int kind = KIND_A; kind <= KIND_B; kind++) {
			m->ab[kind][s] = alloc_receive(block);
			pieces_init(m, kind, s);
		}
		if (opt.modes[MODE_DIRECT])
			m->area[s] = alloc_receive((size_t)opt.p * own);
	}
}

void Cube_on_new(Cube *m)
{
	find_place(m);
	new_blocks(m);
	if (opt.modes[MODE_DIRECT])
		links_init(m);
	for (int s = 0; s < N_SLOTS; s++) {
		m->missing_inputs[s] = 2 * (opt.p - 1);
		m->missing_parts[s] = opt.p - 1;
	}
}

static size_t here_bytes(void)
{
	return (size_t)(N_KINDS * opt.p) * sizeof(bool);
}

void look_for_neighbours(Cube *m)
{
	for (int kind = 0; kind < N_KINDS; kind++)
		for (int q = 0; q < opt.p; q++)
			m->here[kind * opt.p + q] = Cube_ckLocal(peer(m, kind, q));
}

/* Not in the constructor: those of the others may not have run. */
void find_neighbours(Cube *m)
{
	if (m->here)
		return;
	m->here = alloc_bytes(here_bytes());
	look_for_neighbours(m);
}

/* The own slices as they are in iteration 0; nothing is summed yet. The peers' slices must not be
 * touched: channels may be armed. */
void Cube_on_prepare(Cube *m, int mode)
{
	int nb = m->nb, za = first_row(nb, m->z), xb = first_row(nb, m->x);

	m->mode = mode;
	find_neighbours(m);
	for (int s = 0; s < n_slots(); s++) {
		fill(slice_of(m, m->ab[KIND_A][s], m->z), KIND_A, m->x * nb + za,
		     slice_rows(nb, m->z), m->y * nb, nb);
		fill(slice_of(m, m->ab[KIND_B][s], m->x), KIND_B, m->y * nb + xb,
		     slice_rows(nb, m->x), m->z * nb, nb);
		m->factor_in[s] = 1;
	}
	memset(m->c, 0, (size_t)slice_doubles(m, m->y) * sizeof *m->c);
	CkContributeBarrier(m, Main_cb_prepared(mainProxy));
}

static double *pup_receive(pup_er p, double *old, size_t n)
{
	double *v = opt.malloc_recv ? pup_alloc(p, old, n * sizeof *v) : pup_alloc_direct(p, old, n * sizeof *v);

	pup_doubles(p, v, n);
	return v;
}

static void pup_place(pup_er p, Cube *m)
{
	pup_int(p, &m->x);
	pup_int(p, &m->y);
	pup_int(p, &m->z);
	pup_int(p, &m->nb);
	pup_ints(p, m->me, N_KINDS);
	m->start = pup_alloc(p, m->start, (size_t)(opt.p + 1) * sizeof *m->start);
	pup_ints(p, m->start, (size_t)opt.p + 1);
	m->here = pup_alloc(p, m->here, here_bytes());
	pup_skip(p, m->here, here_bytes());
}

static void pup_blocks(pup_er p, Cube *m)
{
	const size_t block = (size_t)m->nb * (size_t)m->nb, own = (size_t)slice_doubles(m, m->me[KIND_C]);

	for (int s = 0; s < n_slots(); s++)
		for (int kind = KIND_A; kind <= KIND_B; kind++) {
			m->ab[kind][s] = pup_receive(p, m->ab[kind][s], block);
			pieces_pup(p, m, kind, s);
		}
	m->partial = pup_alloc(p, m->partial, block * sizeof *m->partial);
	pup_skip(p, m->partial, block * sizeof *m->partial);
	m->c = pup_alloc(p, m->c, own * sizeof *m->c);
	pup_doubles(p, m->c, own);
}

/* Size, pack, unpack and free the chare between two iterations of a run by messages (--lb): there are no channels, no
 * message is kept, and the last product has been sent. `here` is looked up again where the chare arrives. */
void Cube_pup(pup_er p, Cube *m)
{
	if (pup_isUnpacking(p))
		*m = (Cube){0};
	pup_place(p, m);
	pup_blocks(p, m);
	pup_ints(p, m->factor_in, N_SLOTS);
	pup_int(p, &m->mode);
	pup_int(p, &m->iter);
	pup_int(p, &m->iters);
	pup_bool(p, &m->go);
	pup_bytes(p, &m->stage, sizeof m->stage);
	pup_ints(p, m->missing_inputs, N_SLOTS);
	pup_ints(p, m->missing_parts, N_SLOTS);
}

void Cube_on_finish(Cube *m)
{
	for (int s = 0; s < n_slots(); s++) {
		for (int kind = KIND_A; kind <= KIND_B; kind++) {
			free_receive(m->ab[kind][s]);
			pieces_fini(m, kind, s);
		}
		free_receive(m->area[s]);
	}
	links_fini(m);
	free(m->partial);
	free(m->c);
	free(m->start);
	free(m->here);
	CkContributeBarrier(m, Main_cb_finished(mainProxy));
}
