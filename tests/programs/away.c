/* SPDX-License-Identifier: Apache-2.0 */
/*
 * away: reductions over sections of elements that were inserted on any PE, mostly not on the one that
 * knows where they are. Some elements contribute before that PE has the section's list.
 */
#include "check.h"

#include "away.decl.h"

enum { N = 60, ROUNDS = 5 };

CProxy_Main mainProxy;

struct Main { int n_total, n_both; };
struct Item { int unused; };

static int pe_of(int i) { return (int)(check_mix((uint64_t)i) % (uint64_t)CkNumPes()); }

void Main_on_new(Main *self, CkArgMsg *m)
{
	CProxy_Item items = Item_ckNewEmpty();
	CkIndex third[N / 3];
	CProxySection_Item s;

	(void)m;
	mainProxy = Main_thisProxy(self);
	for (int i = 0; i < N; i++)
		Item_insert(Item_at(items, 7 * i), pe_of(i));
	Item_doneInserting(items);
	for (int i = 0; i < N / 3; i++)
		third[i] = Item_index(21 * i);
	s = Item_ckSection(items, third, N / 3);
	/* Half of them hear of it before the multicast that the section begins with. */
	for (int i = 0; i < N / 3; i += 2)
		Item_give(Item_at(items, 21 * i), s.ck, ROUNDS);
	for (int i = 1; i < N / 3; i += 2)
		Item_give(Item_at(items, 21 * i), s.ck, ROUNDS);
}

void Item_on_new(Item *self) { CHECK_EQ(CkMyPe(), pe_of(Item_thisIndex(self) / 7)); }

void Item_on_give(Item *self, CkSection s, int rounds)
{
	int i = Item_thisIndex(self), v[2] = { i, 1 };
	CkTupleElement t[] = {
		{ CkReduction_sum_int, 1, v },
		{ CkReduction_set, sizeof v, v },
		{ CkReduction_max_int, 1, v },
	};

	while (rounds-- > 0) {
		CkContributeSection(self, s, v, 2, CkReduction_sum_int, Main_cb_total(mainProxy));
		CkContributeSection(self, s, t, 3, CkReduction_tuple, Main_cb_both(mainProxy));
		v[0]++;
	}
}

static void end(const Main *self)
{
	if (self->n_total < ROUNDS || self->n_both < ROUNDS)
		return;
	CkPrintf("away: %d reductions over %d elements on %d PEs\n", 2 * ROUNDS, N / 3, CkNumPes());
	CkExit(0);
}

/* 0 + 21 + 42 + ..., and a round more for each element. */
static int sum_in(int round) { return 21 * (N / 3 - 1) * (N / 3) / 2 + round * (N / 3); }

void Main_on_total(Main *self, int n, const int *sum)
{
	CHECK_EQ(n, 2);
	CHECK_EQ(sum[0], sum_in(self->n_total));
	CHECK_EQ(sum[1], N / 3);
	self->n_total++;
	end(self);
}

void Main_on_both(Main *self, const CkReductionMsg *m)
{
	const CkReductionMsg *set = CkReductionTuple_at(m, 1);
	const CkReductionSetElement *e = NULL;
	int at = 0;

	CHECK_EQ(m->count, 3);
	CHECK_EQ(*(const int *)CkReductionMsg_data(CkReductionTuple_at(m, 0)),
		 sum_in(self->n_both));
	for (; (e = CkReductionSet_next(set, e)); at++) {
		const int *v = CkReductionSetElement_data(e);

		CHECK_EQ(e->index.v[0] % 21, 0);
		CHECK_EQ(e->pe, pe_of(e->index.v[0] / 7));
		CHECK_EQ(v[0], e->index.v[0] + self->n_both);
	}
	CHECK_EQ(at, N / 3);
	CHECK_EQ(*(const int *)CkReductionMsg_data(CkReductionTuple_at(m, 2)),
		 21 * (N / 3 - 1) + self->n_both);
	self->n_both++;
	end(self);
}

#include "away.def.h"
