/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ownlb: CkLBRegister. With CK_LB=mirror each element goes to the PE opposite to its own, but for the pinned one; what the
 * strategy is told of each is right. OWNLB names a mistake instead, at the registration or in the answer.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { ITEMS = 24, PINNED = 5, LOADED = 7 };

struct Main { int unused; };
struct Item { int synced; };

#include "ownlb.decl.h"

static int key = 4711;
static bool mistake(const char *what) { return getenv("OWNLB") && !strcmp(getenv("OWNLB"), what); }

static int mirror(const CkLBStats *s, int32_t *to, void *arg)
{
	CHECK(arg == &key);
	CHECK_EQ(s->n, ITEMS);
	CHECK_EQ(s->n_pes, CkNumPes());
	CHECK_EQ(s->n_nodes, CkNumNodes());
	for (size_t i = 0; i < s->n; i++) {
		CHECK_EQ(s->element[i].index[0], i);
		CHECK_EQ(to[i], s->element[i].pe);
		CHECK_EQ(s->element[i].pinned != 0, i == PINNED);
		CHECK(s->element[i].position[0] == (float)(i == LOADED ? 100 : i));
		CHECK(i != LOADED || fabsf(s->element[i].seconds * s->speed[s->element[i].pe] - 1000) < 0.001f);
		to[i] = s->n_pes - 1 - s->element[i].pe;
	}
	if (mistake("pe"))
		to[LOADED] = s->n_pes;
	return mistake("none") ? 12 : 0;
}

void register_strategies(void)
{
	CkLBRegister("mirror", mirror, 0, &key);
	if (mistake("taken"))
		CkLBRegister("cuts", mirror, 0, &key);
	if (mistake("twice"))
		CkLBRegister("mirror", mirror, 0, &key);
	if (mistake("word"))
		CkLBRegister("auto", mirror, 0, &key);
}

void Item_on_new(Item *i)
{
	const double far = 100;

	if (Item_thisIndex(i) == PINNED)
		CkPin(i, true);
	if (Item_thisIndex(i) == LOADED) {
		CkSetLoad(i, 1000);
		CkSetPosition(i, &far, 1);
	}
}

void Item_on_sync(Item *i)
{
	i->synced = CkMyPe() + 1;
	CkAtSync(i);
}

void Item_on_resumeFromSync(Item *i)
{
	const int before = i->synced - 1, opposite = CkNumPes() - 1 - before;
	const int should = Item_thisIndex(i) == PINNED || mistake("none") ? before : opposite;
	const long sums[] = { CkMyPe() == should, CkMyPe() != before };

	CkContribute(i, sums, 2, CkReduction_sum_long, Main_cb_done(mainProxy));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	if (mistake("late"))
		CkLBRegister("late", mirror, 0, &key);
	mainProxy = Main_thisProxy(self);
	Item_sync_all(Item_ckNew(CkDims(ITEMS)));
}

void Main_on_done(Main *self, int n, const long *sums)
{
	(void)self;
	(void)n;
	if (sums[0] != ITEMS)
		CkAbort("ownlb: %ld of %d items are where they should be", sums[0], ITEMS);
	CkPrintf("ownlb: %ld of %d items moved\n", sums[1], ITEMS);
	CkExit(0);
}

#include "ownlb.def.h"
