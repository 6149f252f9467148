/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mega_callback: a coordinator sends a value through one callback after the other: to a chare, an
 * element, a member, a C function, a whole array, a whole group; as a plain value, or in a message.
 * It fires some itself, and sends the others to a PE that fires them. Each target tells the
 * coordinator what it is and what it got. The next step begins when all targets have done so. At
 * the end a thread waits for values from all PEs.
 */
#include "mega.h"

#include "mega_callback.decl.h"

enum { TO_CHARE = 1000, TO_GROUP = 2000, TO_ARRAY = 4000, TO_FUNCTION = 5000, STEPS = 6, ROUNDS = 4 };

struct Main { struct mega runs; };
struct Coord {
	CProxy_Coord self;     /* for the C function, which knows only an address */
	CProxy_One one;
	CProxy_Cell cells;
	CProxy_Member members;
	int seq, n_cells, step, n_fired_here, n_fired_there;
	int expect_type, expect_val, expect_count, expect_indices;
};
struct One { CProxy_Coord coord; };
struct Cell { CProxy_Coord coord; };
struct Member { CProxy_Coord coord; };

/* ---- how a value gets there ------------------------------------------------------------------ */

/* As a message, or as a plain value. C functions and waiting threads take values only. */
static void send(CkCallback cb, int val, bool msg)
{
	if (!msg) {
		CkCallbackSendTyped(cb, CK_INT, &val, 1);
	} else {
		Value *m = Value_alloc();

		m->val = val;
		Value_sendToCallback(cb, m);
	}
}

/* ---- targets --------------------------------------------------------------------------------- */

void One_on_new(One *self, CProxy_Coord coord) { self->coord = coord; }
void Cell_on_new(Cell *self, CProxy_Coord coord) { self->coord = coord; }
void Member_on_new(Member *self, CProxy_Coord coord) { self->coord = coord; }
void One_on_accept(One *self, int val) { Coord_done(self->coord, TO_CHARE, 0, val); }
void One_on_acceptMsg(One *self, Value *m) { One_on_accept(self, m->val); }

void Cell_on_accept(Cell *self, int val)
{
	Coord_done(self->coord, TO_ARRAY, Cell_thisIndex(self), val);
}

void Cell_on_acceptMsg(Cell *self, Value *m)
{
	Cell_on_accept(self, m->val);
	CkFreeMsg(m);
}

void Member_on_accept(Member *self, int val)
{
	Coord_done(self->coord, TO_GROUP, Member_thisIndex(self), val);
}

void Member_on_acceptMsg(Member *self, Value *m)
{
	Member_on_accept(self, m->val);
	CkFreeMsg(m);
}

static void accept_in_c(void *ctx, const CkReductionMsg *m)
{
	const CProxy_Coord *coord = ctx;

	CHECK_EQ(m->count, 1);
	Coord_done(*coord, TO_FUNCTION, CkMyPe(), *(const int *)CkReductionMsg_data(m));
}

void Member_on_reflect(Member *self, CkCallback cb, int val, bool msg)
{
	(void)self;
	send(cb, val, msg);
}

/* ---- the coordinator ------------------------------------------------------------------------- */

static unsigned drawn(const Coord *self, int salt)
{
	return (unsigned)check_mix((uint64_t)(self->seq * 1000 + self->step * 10 + salt));
}

/* In every second round the values travel in messages. */
static bool in_messages(const Coord *self)
{
	return self->step / STEPS % 2 == 1;
}

/* To the targets of a type with the indices `first` to `last`. */
static void fire(Coord *self, int type, int first, int last, CkCallback cb)
{
	bool msg = type != TO_FUNCTION && in_messages(self);

	self->expect_type = type;
	self->expect_val = (int)(drawn(self, 1) >> 1);
	self->expect_count = last - first + 1;
	self->expect_indices = (first + last) * self->expect_count / 2;
	if (drawn(self, 2) % 2) {
		self->n_fired_here++;
		send(cb, self->expect_val, msg);
	} else {
		int pe = (int)(drawn(self, 3) % (unsigned)CkNumPes());

		self->n_fired_there++;
		Member_reflect(Member_at(self->members, pe), cb, self->expect_val, msg);
	}
}

static void fire_value(Coord *self, int step)
{
	int pe = CkNumPes() - 1, i = self->n_cells - 1;

	switch (step) {
	case 0: fire(self, TO_CHARE, 0, 0, One_cb_accept(self->one)); break;
	case 1: fire(self, TO_ARRAY, i, i, Cell_cb_accept(Cell_at(self->cells, i))); break;
	case 2: fire(self, TO_GROUP, pe, pe, Member_cb_accept(Member_at(self->members, pe))); break;
	case 3: fire(self, TO_ARRAY, 0, i, Cell_cb_accept_all(self->cells)); break;
	case 4: fire(self, TO_GROUP, 0, pe, Member_cb_accept_all(self->members)); break;
	}
}

static void fire_message(Coord *self, int step)
{
	int pe = CkNumPes() - 1, i = self->n_cells - 1;

	switch (step) {
	case 0: fire(self, TO_CHARE, 0, 0, One_cb_acceptMsg(self->one)); break;
	case 1: fire(self, TO_ARRAY, i, i, Cell_cb_acceptMsg(Cell_at(self->cells, i))); break;
	case 2: fire(self, TO_GROUP, pe, pe, Member_cb_acceptMsg(Member_at(self->members, pe))); break;
	case 3: fire(self, TO_ARRAY, 0, i, Cell_cb_acceptMsg_all(self->cells)); break;
	case 4: fire(self, TO_GROUP, 0, pe, Member_cb_acceptMsg_all(self->members)); break;
	}
}

static void next(Coord *self)
{
	int step = ++self->step % STEPS;

	if (self->step == ROUNDS * STEPS) {
		self->expect_type = -1;
		Coord_threadedTest(self->self);
	} else if (step == STEPS - 1) {
		fire(self, TO_FUNCTION, CkMyPe(), CkMyPe(), CkCallbackFunction(accept_in_c, &self->self));
	} else if (in_messages(self)) {
		fire_message(self, step);
	} else {
		fire_value(self, step);
	}
}

void Coord_on_new(Coord *self, int seq)
{
	self->self = Coord_thisProxy(self);
	self->seq = seq;
	self->n_cells = 2 * CkNumPes() + 1;
	self->one = One_ckNew(CK_PE_ANY, self->self);
	self->cells = Cell_ckNew(CkDims(self->n_cells), self->self);
	self->members = Member_ckNew(self->self);
	self->step = -1;
	next(self);
}

void Coord_on_done(Coord *self, int type, int index, int val)
{
	if (type != self->expect_type || val != self->expect_val)
		CkAbort("mega_callback: step %d: %d came to a target %d; it should be %d to %d", self->step,
			val, type, self->expect_val, self->expect_type);
	self->expect_indices -= index;
	if (--self->expect_count > 0)
		return;
	if (self->expect_indices != 0)
		CkAbort("mega_callback: step %d: wrong ones of the targets %d got the value", self->step, type);
	next(self);
}

void Coord_on_threadedTest(Coord *self)
{
	CHECK(self->n_fired_here > 0 && self->n_fired_there > 0);
	for (int pe = 0; pe < CkNumPes(); pe++) {
		CkCallback cb = CkCallbackResumeThread();
		CkReductionMsg *m;

		Member_reflect(Member_at(self->members, pe), cb, 237 + 13 * pe, false);
		m = CkCallbackThreadDelay(cb);
		CHECK_EQ(*(const int *)CkReductionMsg_data(m), 237 + 13 * pe);
		CkFreeMsg(m);
	}
	Main_finish(mainProxy, self->step);
	CkDestroy(self);
}

/* ---- main ------------------------------------------------------------------------------------ */

static void begin(int no)
{
	Coord_ckNew(no % CkNumPes(), no);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	mega_start(&self->runs, begin);
}

void Main_on_finish(Main *self, int steps)
{
	CHECK_EQ(steps, ROUNDS * STEPS);
	if (!mega_ended(&self->runs, begin))
		return;
	CkPrintf("mega_callback: %d times %d callbacks\n", MEGA_RUNS, steps);
	CkExit(0);
}

#include "mega_callback.def.h"
