/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.c: keeping costs a dgemm for each pair of slices, copying moves every byte once more. */
#include "pieces.h"

#include <stdlib.h>

#include "blocks.h"
#include "slices.h"
#include "tiles.h"

static struct piece in_block(const Cube *m, int kind, int slot, int q)
{
	return (struct piece){slice_of(m, m->ab[kind][slot], q), NULL};
}

static size_t pieces_bytes(void)
{
	return (size_t)opt.p * sizeof(struct piece);
}

static void all_in_block(Cube *m, int kind, int slot)
{
	for (int q = 0; q < opt.p; q++)
		m->pieces[kind][slot][q] = in_block(m, kind, slot, q);
}

void pieces_init(Cube *m, int kind, int slot)
{
	m->pieces[kind][slot] = alloc_bytes(pieces_bytes());
	all_in_block(m, kind, slot);
}

void pieces_pup(pup_er p, Cube *m, int kind, int slot)
{
	m->pieces[kind][slot] = pup_alloc(p, m->pieces[kind][slot], pieces_bytes());
	if (pup_isUnpacking(p))
		all_in_block(m, kind, slot);
}

void pieces_fini(Cube *m, int kind, int slot)
{
	free(m->pieces[kind][slot]);
}

void pieces_keep(Cube *m, int kind, int slot, int from, const double *v)
{
	m->pieces[kind][slot][from] = (struct piece){v, CkKeepMsg()};
	m->n_kept[slot]++;
}

static void drop(Cube *m, int kind, int slot)
{
	for (int q = 0; q < opt.p; q++)
		if (m->pieces[kind][slot][q].kept) {
			CkFreeMsg(m->pieces[kind][slot][q].kept);
			m->pieces[kind][slot][q] = in_block(m, kind, slot, q);
		}
}

void pieces_multiply(Cube *m, int slot)
{
	const struct piece *a = m->pieces[KIND_A][slot], *b = m->pieces[KIND_B][slot];
	int nb = m->nb;

	for (int i = 0; i < opt.p; i++)
		for (int k = 0; k < opt.p; k++)
			multiply(slice_of(m, m->partial, i), 1.0, k ? 1.0 : 0.0,
				 a[i].v + first_row(nb, k), nb, b[k].v, slice_rows(nb, i), nb,
				 slice_rows(nb, k));
	drop(m, KIND_A, slot);
	drop(m, KIND_B, slot);
	m->n_kept[slot] = 0;
}
