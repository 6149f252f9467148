/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pauses.c: CK_LB=auto looks at loads less and less often while PEs are balanced, and measures
 * nothing in between.
 *
 * All loads are said (CkSetLoad), and thousands of seconds, so what handlers really take decides
 * nothing.
 */
#include <math.h>
#include <stdlib.h>

#include "../../runtime/chare/balance/balance_int.h"
#include "test_pauses.decl.h"

#define CHECK(what) ((what) ? (void)0 : CkAbort("%s:%d: not true: %s", __FILE__, __LINE__, #what))

/* Two PEs, each with a half of the cells; the rounds from which the first half is heavy, the last cell is, and the end. */
enum { N = 8, FIRST_HALF = 29, LAST_CELL = 50, END = 65 };
enum { STEP_1 = 38, STEP_2 = 54 };
/* In a pause the last cell is away. */
enum { AWAY = 22, BACK = 24 };

/* The rounds whose sync looks: pauses of 1, 2, 4, 8 and 8. At the end of the next one there is an
 * imbalance, and the sync after it says so, too, so elements move. From then on a pause is at most
 * a fourth of the syncs since. From LAST_CELL on there is another imbalance, which has to cost
 * COST. */
static const int looks[] = { 0, 2, 5, 10, 19, 28, 37, STEP_1, 39, 40, 41, 42, 44, 46, 48,
			     50, 51, 52, 53, STEP_2, 55, 56, 57, 58, 60, 62, 64 };
static const double COST = 8000;

struct Main { int done; };
struct Cell { int round; };

__attribute__((constructor)) static void settings(void)
{
	setenv("CK_PES", "2", 1);
	setenv("CK_LB", "auto", 1);
	setenv("CK_LB_SPEEDS", "off", 1);
}

static bool is_look(int round)
{
	for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
		if (looks[i] == round)
			return true;
	return false;
}

static double load(int round, int cell)
{
	if (round >= LAST_CELL && cell == N - 1)
		return 5000;
	return round >= FIRST_HALF && cell < N / 2 ? 2000 : 1000;
}

static void sync(Cell *self)
{
	CkSetLoad(self, load(self->round, Cell_thisIndex(self)));
	CkAtSync(self);
	if (Cell_thisIndex(self) == N - 1 && (self->round == AWAY || self->round == BACK))
		CkMigrateMe(self, self->round == BACK);
}

void Cell_on_new(Cell *self) { self->round = 0; }
void Cell_on_begin(Cell *self) { sync(self); }

/* Cuts: 0 to 3 before the first step, 0 to 2 between them, and 0 to 3 again. */
static int home(int round, int cell)
{
	if (cell == N - 1 && round >= AWAY && round < BACK)
		return 0;
	return cell >= (round >= STEP_1 && round < STEP_2 ? 3 : 4);
}

void Cell_on_resumeFromSync(Cell *self)
{
	struct ck_obj *obj = obj_of(self);
	const struct collection *c = obj->coll;
	struct sync_coll *s = sync_of(c);
	const int i = Cell_thisIndex(self), over = self->round++;
	const bool measured = c->entries != c->type->entries;

	CHECK(CkMyPe() == home(over, i));
	CHECK(measured == is_look(over + 1) && measured == !s->unmeasured);
	if (is_look(over)) /* also after a step, which has moved it */
		CHECK(fabs((double)elem_of(obj)->past.says[AS_LAST] - load(over, i)) < 1);
	if (CkMyPe() == 0 && over == STEP_1)
		s->choice.cost = COST;
	if (self->round < END)
		sync(self);
	else
		Main_done(mainProxy);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	self->done = 0;
	mainProxy = Main_thisProxy(self);
	Cell_begin_all(Cell_ckNew(CkDims(N)));
}

void Main_on_done(Main *self)
{
	if (++self->done < N)
		return;
	CkPrintf("ok  auto looks at balanced PEs less and less often, and measures what it looks at\n");
	CkExit(0);
}

#include "test_pauses.def.h"
