/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_measure.c: what runs gets the time that passes: an element in its handler and in the arrival of a channel, and
 * nobody while its PE is idle or an element is made. And what a balancing step is told of elements that cannot move.
 *
 * Time passes by itself here: pass() says that the last look at the clock was long ago. It takes half of the time since the
 * machine started, which no handler of this test takes.
 */
#include <stdlib.h>

#include "../../runtime/chare/balance/step_int.h"
#include "test_measure.decl.h"

#define CHECK(what) ((what) ? (void)0 : CkAbort("%s:%d: not true: %s", __FILE__, __LINE__, #what))

/* Two PEs: 0 to 3 live on PE 0. What happens, happens to CELL; nobody asks the last one to sync. */
enum { CELL = 4, PINNED, WAITS, LATE, N };

struct Main { int step; };
struct Cell {
	CkChannel *in, *out;
	double data;
};
struct Watch { int unused; };

/* Of PE 1. */
static uint64_t much, ticks_before, idle_before;
/* Of PE 0. */
static uint64_t reading;

__attribute__((constructor)) static void settings(void)
{
	setenv("CK_PES", "2", 1);
	setenv("CK_LB", "greedy", 1);
}

static struct meter *meter(void) { return ck_state(csd_self(), PART_BALANCE); }
static struct ck_obj *cell(int i)
{
	return coll_local(coll_get(csd_self(), cells.ck.id), index_pack(1, (const int32_t[6]){ i }));
}

static void remember(void)
{
	ticks_before = elem_of(cell(CELL))->ticks;
	idle_before = meter()->idle;
}

static void pass(void)
{
	struct meter *m = meter();

	if (!much)
		much = m->since / 2;
	m->since -= much;
}

/* ---- elements --------------------------------------------------------------------------------------------- */

void Cell_on_new(Cell *self)
{
	self->in = self->out = NULL;
	if (Cell_thisIndex(self) == CELL)
		pass();
}

void Cell_on_work(Cell *self)
{
	(void)self;
	remember();
	pass();
	Main_next(mainProxy);
}

/* Called while the PE is idle; what it sends ends that. */
static void idle_for_long(void *arg)
{
	const bool *put = arg;

	remember();
	pass();
	if (*put)
		Cell_send(Cell_at(cells, 0));
	else
		Cell_wake(Cell_at(cells, CELL));
}

void Cell_on_rest(Cell *self, bool put)
{
	static bool how;

	(void)self;
	how = put;
	CcdCallOnCondition(CcdPROCESSOR_STILL_IDLE, idle_for_long, &how);
}

void Cell_on_wake(Cell *self)
{
	(void)self;
	Main_next(mainProxy);
}

void Cell_on_receive(Cell *self)
{
	self->in = Cell_side_from(self, Cell_at(cells, 0).ck, 0, &self->data, sizeof self->data);
	Cell_send(Cell_at(cells, 0));
}

void Cell_on_send(Cell *self)
{
	if (!self->out)
		self->out = Cell_side_to(self, Cell_at(cells, CELL), 0, &self->data, sizeof self->data);
	CkChannelPut(self->out);
}

/* The first time it takes long, and the second time the PE was idle for long. */
void Cell_on_side(Cell *self, int tag)
{
	static int n;

	CHECK(tag == 0);
	if (n++ == 0) {
		remember();
		pass();
		CkChannelReady(self->in);
	}
	Main_next(mainProxy);
}

void Cell_on_sync(Cell *self)
{
	if (Cell_thisIndex(self) == PINNED)
		CkPin(self, true);
	CkAtSync(self);
}

void Cell_on_resumeFromSync(Cell *self) { (void)self; }

/* ---- what is known afterwards ------------------------------------------------------------------------------ */

void Watch_on_new(Watch *self) { (void)self; }

void Watch_on_seen(Watch *self, bool element)
{
	const uint64_t to_element = elem_of(cell(CELL))->ticks - ticks_before, to_idle = meter()->idle - idle_before;

	(void)self;
	CHECK(element ? to_element >= much : to_element < much / 2);
	CHECK(element ? to_idle < much / 2 : to_idle >= much);
	Main_next(mainProxy);
}

void Watch_on_made(Watch *self)
{
	(void)self;
	CHECK(elem_of(cell(CELL))->ticks < much / 2 && meter()->made >= much);
	CHECK(meter_busy(meter()) < much / 2);
	Main_next(mainProxy);
}

/* Whether the step `way` may move the element. */
static bool movable(struct step *p, enum step_way way, int i)
{
	struct collection *c = coll_get(csd_self(), cells.ck.id);
	bool pinned = false;
	int n = 0;

	*p = (struct step){ .way = way };
	statistics_own(csd_self(), c, p, AS_LAST);
	CHECK(p->n == N - CELL && p->n_pes == 1);
	for (size_t k = 0; k < p->n; k++)
		if (p->elems[k].index.v[0] == i) {
			pinned = p->elems[k].pinned;
			n++;
		}
	CHECK(n == 1);
	free(p->pes);
	free(p->elems);
	free(p->edges);
	return !pinned;
}

/* An end of a named channel follows its element, but not at rest. */
void Watch_on_records(Watch *self)
{
	struct step p;

	(void)self;
	CHECK(movable(&p, UNDER_WAY, WAITS) && movable(&p, AT_REST, WAITS));
	CHECK(!movable(&p, UNDER_WAY, PINNED) && !movable(&p, AT_REST, PINNED));
	CHECK(!movable(&p, UNDER_WAY, LATE) && !movable(&p, AT_REST, LATE));
	CHECK(movable(&p, UNDER_WAY, CELL) && !movable(&p, AT_REST, CELL) && movable(&p, NO_REST, CELL));
	Main_next(mainProxy);
}

/* ---- the steps of the test ------------------------------------------------------------------------------------ */

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	reading = meter()->since / 2;
	meter()->since -= reading;
	cells = Cell_ckNew(CkDims(N));
	watches = Watch_ckNew();
	Main_next(mainProxy);
}

static bool reading_is_no_background(void)
{
	struct collection *c = coll_get(csd_self(), cells.ck.id);
	const struct pace pace = sync_pace(csd_self(), c);

	return meter_busy(meter()) >= reading &&
	       sync_busy(csd_self(), c, &pace) < (double)reading * pace.tick / 2;
}

void Main_on_next(Main *self)
{
	const CProxyElement_Cell c = Cell_at(cells, CELL);
	const CProxyElement_Watch w = Watch_at(watches, 1);

	switch (self->step++) {
	case 0: Watch_made(w); break;
	case 1: CkPrintf("ok  what a constructor takes is nobody's\n"); Cell_work(c); break;
	case 2: Watch_seen(w, true); break;
	case 3: CkPrintf("ok  a handler's time is its element's\n"); Cell_rest(c, false); break;
	case 4: Watch_seen(w, false); break;
	case 5: CkPrintf("ok  what passes while the PE is idle is not the next handler's\n"); Cell_receive(c); break;
	case 6: Watch_seen(w, true); break;
	case 7: CkPrintf("ok  the time of a channel's arrival is its element's\n"); Cell_rest(c, true); break;
	case 8: Watch_seen(w, false); break;
	case 9:
		CkPrintf("ok  what passes while the PE is idle is not the next arrival's\n");
		for (int i = CELL; i < LATE; i++)
			Cell_sync(Cell_at(cells, i));
		Watch_records(w);
		break;
	case 10:
		CHECK(reading_is_no_background());
		CkPrintf("ok  what the main chare did before it made the array is no background\n");
		Main_next(mainProxy);
		break;
	default:
		CkPrintf("ok  a step is told which elements cannot move, and which cannot at rest\n");
		CkExit(0);
	}
}

#include "test_measure.def.h"
