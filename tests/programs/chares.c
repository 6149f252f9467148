/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chares: a tree of chares on CK_PE_ANY that answer and vanish; calls from the creator and from others that
 * arrive before the creation; chares that are destroyed in a handler, in a constructor, or by another chare;
 * creations that overtake each other; callbacks and reductions to a chare. `chares [n] [seed]`: each PE makes
 * n chares, on PEs that the seed decides.
 */
#include "check.h"

#include <stdlib.h>

#include "chares.decl.h"
#include "cth.h"

/* Its values are not in it, as in a list or a tree. */
struct Own {
	int n;
	double *values;
};

enum { FIB = 15, LATE_CALLS = 5 };

static int n_per_pe;
static uint64_t seed;

struct Main {
	int phase, n_over, sum_over, n_late;
};
struct Fib {
	CProxy_Fib parent;
	int missing;
	long value, chares;
};
struct Counter { int left, sum; };
struct Late { int n, got; int order[LATE_CALLS]; };
struct Brief { int x; };
struct FromOwn { int n; };
struct Slow { int left; };
struct Target { double sum; int n, quick, n_own; };
struct Helper { uint64_t state; };

/* ---- a tree ------------------------------------------------------------------------------- */

static void fib_done(Fib *self)
{
	Fib copy = *self;

	CkDestroy(self);
	if (copy.parent.ck.id)
		Fib_answer(copy.parent, copy.value, copy.chares);
	else
		Main_fib(mainProxy, copy.value, copy.chares);
	CHECK(memcmp(self, &copy, sizeof copy) == 0); /* still there, until we return */
	self->value = -1;
}

void Fib_on_new(Fib *self, int n, CProxy_Fib parent)
{
	CHECK_EQ(self->missing, 0);
	self->parent = parent;
	self->chares = 1;
	if (n < 2) {
		self->value = n;
		fib_done(self);
		return;
	}
	self->missing = 2;
	Fib_ckNew(CK_PE_ANY, n - 1, Fib_thisProxy(self));
	Fib_ckNew(CK_PE_ANY, n - 2, Fib_thisProxy(self));
}

void Fib_on_answer(Fib *self, long value, long chares)
{
	CHECK(self->missing > 0);
	self->value += value;
	self->chares += chares;
	if (--self->missing == 0)
		fib_done(self);
}

/* ---- chares that count down ----------------------------------------------------------------- */

void Counter_on_new(Counter *self, int calls)
{
	CHECK_EQ(self->sum, 0);
	self->left = calls;
}

void Counter_on_add(Counter *self, int x)
{
	CHECK(self->left > 0);
	self->sum += x;
	if (--self->left)
		return;
	CkDestroy(self);
	Main_over((CProxy_Main){ mainHandle }, self->sum);
}

void Helper_on_new(Helper *self) { (void)self; }

/* Calls follow their creation at once, from here and from another PE. */
void Helper_on_make(Helper *self, int n, uint64_t first)
{
	self->state = first + (uint64_t)CkMyPe();
	for (int i = 0; i < n; i++) {
		uint64_t r = self->state = check_mix(self->state);
		int pe = r % 3 == 0 ? CK_PE_ANY : (int)((r >> 8) % (unsigned)CkNumPes());
		int other = (int)(r >> 40 & 0xffff) % CkNumPes();
		CkEntryOptions o = { .prio = (int)(r >> 20 & 7) - 3 };
		CProxy_Counter c = r & 1 ? Counter_ckNew(pe, 3) : Counter_ckNew_opt(&o, pe, 3);

		CHECK(c.ck.pe >= 0 && c.ck.pe < CkNumPes() && (pe == CK_PE_ANY || c.ck.pe == pe));
		Helper_call(Helper_at(helpers, other), c, 10, 2);
		Counter_add(c, 1);
	}
}

void Helper_on_call(Helper *self, CProxy_Counter c, int x, int times)
{
	(void)self;
	while (times--)
		Counter_add(c, x);
}

/* ---- overtaken creations ------------------------------------------------------------------------ */

void Late_on_new(Late *self, int n)
{
	self->n = n;
}

void Late_on_call(Late *self, int i)
{
	CHECK_EQ(self->n, LATE_CALLS); /* the constructor has run */
	self->order[self->got++] = i;
	if (self->got == self->n)
		Main_late(mainProxy, CkMyPe(), self->n, self->order);
}

void Brief_on_new(Brief *self, int x)
{
	self->x = x;
	CkDestroy(self);
	CHECK_EQ(self->x, x);
}

/* Later ones come first, and are gone when the first one is called. */
static void overtaken(int pe)
{
	CkEntryOptions last = { .prio = 1000 };
	CProxy_Late late = Late_ckNew_opt(&last, pe, LATE_CALLS);

	for (int i = 0; i < LATE_CALLS; i++) {
		for (int k = 0; k < 100; k++)
			Brief_ckNew(pe, k);
		Late_call(late, i);
	}
}

/* ---- messages that the program packs ---------------------------------------------------------- */

static Own *own_new(int n)
{
	Own *o = Own_alloc(0);

	o->n = n;
	o->values = malloc((size_t)n * sizeof *o->values);
	for (int i = 0; i < n; i++)
		o->values[i] = i * 0.5;
	return o;
}

void *Own_pack(Own *o)
{
	size_t bytes = (size_t)o->n * sizeof *o->values;
	char *buf = CkAllocBuffer(o, 16 + bytes);

	memcpy(buf, &o->n, sizeof o->n);
	memcpy(buf + 16, o->values, bytes);
	free(o->values);
	CkFreeMsg(o);
	return buf;
}

Own *Own_unpack(void *buf)
{
	int n;

	memcpy(&n, buf, sizeof n);
	Own *o = own_new(n);

	memcpy(o->values, (char *)buf + 16, (size_t)n * sizeof *o->values);
	CkFreeMsg(buf);
	return o;
}

static void check_own(Own *o, int n)
{
	CHECK_EQ(o->n, n);
	for (int i = 0; i < n; i++)
		CHECK(o->values[i] == i * 0.5);
	free(o->values);
}

void FromOwn_on_new(FromOwn *self, Own *o)
{
	check_own(o, 7);
	self->n++;
}

void FromOwn_on_own(FromOwn *self, Own *o)
{
	CHECK_EQ(self->n, 1);
	check_own(o, 9);
	CkDestroy(self);
}

void Target_on_own(Target *self, Own *o)
{
	check_own(o, 100);
	self->n_own++;
}

/* ---- threads ------------------------------------------------------------------------------------ */

void Slow_on_new(Slow *self) { self->left = -1; }

void Slow_on_run(Slow *self, int yields)
{
	self->left = yields;
	CkDestroy(self);
	for (; self->left; self->left--)
		CthYield();
	Main_over(mainProxy, 0);
}

/* It still waits when the job ends. */
void Slow_on_wait(Slow *self)
{
	CkDestroy(self);
	CthSuspend();
	CHECK(self->left);
}

/* ---- callbacks ------------------------------------------------------------------------------------ */

void Target_on_new(Target *self, Start *s)
{
	CHECK_EQ(s->number, 3);
	for (int i = 0; i < s->number; i++)
		self->sum += s->values[i];
}

void Target_on_take(Target *self, Start *s)
{
	self->sum += s->values[s->number - 1];
	self->n++;
}

void Target_on_quick(Target *self) { self->quick++; }

void Helper_on_give(Helper *self, CProxy_Target t)
{
	int one = 1;

	CkContribute(self, &one, 1, CkReduction_sum_int, Target_cb_sum(t));
}

void Target_on_sum(Target *self, int sum)
{
	CHECK_EQ(sum, CkNumPes());
	CHECK_EQ(self->n, 2);
	CHECK_EQ(self->quick, 2);
	CHECK_EQ(self->n_own, 1);
	CHECK_EQ(Target_thisProxy(self).ck.pe, CkMyPe());
	Main_told(mainProxy, self->sum);
	CkDestroy(self);
}

static Start *start(int n, double first)
{
	Start *s = Start_alloc((size_t)n);

	s->number = n;
	for (int i = 0; i < n; i++)
		s->values[i] = first + i;
	return s;
}

/* ---- one after the other ------------------------------------------------------------------------------ */

static CProxy_Target target;

void Main_on_new(Main *self, CkArgMsg *m)
{
	n_per_pe = m->argc > 1 ? atoi(m->argv[1]) : 300;
	seed = m->argc > 2 ? strtoull(m->argv[2], NULL, 0) : 1;
	mainProxy = Main_thisProxy(self);
	mainHandle = mainProxy.ck;
	helpers = Helper_ckNew();
	CkStartQD(Main_cb_next(mainProxy));
}

void Main_on_next(Main *self)
{
	int n = CkNumPes();

	switch (self->phase++) {
	case 0:
		Fib_ckNew(CK_PE_ANY, FIB, (CProxy_Fib){ { 0, 0, 0 } });
		return;
	case 1:
		Helper_make_all(helpers, n_per_pe, seed);
		CkStartQD(Main_cb_next(mainProxy));
		return;
	case 2:
		CHECK_EQ(self->n_over, n * n_per_pe);
		CHECK_EQ(self->sum_over, n * n_per_pe * 21);
		for (int pe = 0; pe < n; pe++)
			overtaken(pe);
		CkStartQD(Main_cb_next(mainProxy));
		return;
	case 3:
		CHECK_EQ(self->n_late, n);
		for (int pe = 0; pe < n; pe++) {
			Slow_run(Slow_ckNew(pe), 20);
			Slow_wait(Slow_ckNew(pe));
		}
		Counter_ckNew(CK_PE_ANY, 1); /* it exists until the job ends */
		target = Target_ckNew(n - 1, start(3, 1));
		Target_take(target, start(1, 0.5));
		Target_take(target, start(2, 1));
		Target_quick(target);
		Target_own(target, own_new(100));
		for (int pe = 0; pe < n; pe++) {
			CkEntryOptions wide = { .queueing = CK_QUEUEING_LFIFO, .prio_long = 1L << 40 };

			FromOwn_own(FromOwn_ckNew(pe, own_new(7)), own_new(9));
			FromOwn_own(FromOwn_ckNew_opt(&wide, pe, own_new(7)), own_new(9));
		}
		CkCallbackSend(Target_cb_quick(target), NULL, 0);
		CkStartQD(Main_cb_next(mainProxy));
		return;
	case 4:
		CHECK_EQ(self->n_over, n * (n_per_pe + 1));
		Helper_give_all(helpers, target);
		return;
	}
	CHECK(0);
}

void Main_on_fib(Main *self, long value, long chares)
{
	CHECK_EQ(value, 610);
	CHECK_EQ(chares, 1973);
	CkStartQD(Main_cb_next(mainProxy));
	(void)self;
}

void Main_on_over(Main *self, int sum)
{
	self->n_over++;
	self->sum_over += sum;
}

/* One caller's calls come in order, also when they have waited. */
void Main_on_late(Main *self, int pe, int n, const int *order)
{
	CHECK(pe >= 0 && pe < CkNumPes());
	for (int i = 0; i < n; i++)
		CHECK_EQ(order[i], i);
	self->n_late++;
}

void Main_on_told(Main *self, double sum)
{
	(void)self;
	CHECK(sum == 1 + 2 + 3 + 0.5 + 2);
	CkPrintf("chares: right on %d PEs\n", CkNumPes());
	CkExit(0);
}

#include "chares.def.h"
