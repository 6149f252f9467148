/* SPDX-License-Identifier: Apache-2.0 */
/*
 * taken: most calls that a `when` takes find it waiting, or are the oldest one that is kept. Here
 * another one must be taken: because of its number, or because the alternative has run or is
 * incomplete, or by another body. All calls are the element's own, so without CK_RANDOM_QUEUE they
 * come in the order in which they are sent.
 */
#include "sdag.h"

#include "check.h"
#include "taken.decl.h"

enum { TAKERS = 8 };

struct Main { int unused; };
struct Taker { int sum; };

void Row_pup(pup_er p, Row *x)
{
	pup_int(p, &x->n);
	x->v = (int *)pup_alloc(p, x->v, (size_t)x->n * sizeof *x->v);
	pup_bytes(p, x->v, (size_t)x->n * sizeof *x->v);
}

void Taker_on_new(Taker *self) { (void)self; }

static void send_wide(Taker *self)
{
	CProxyElement_Taker me = Taker_thisElement(self);

	Taker_wide(me, 3 + ((long)1 << 32), 2); /* the lower half is 3, too */
	Taker_wide(me, 3, 1);
}

static void send_result(Taker *self, int number, int value)
{
	CkCallback cb = Taker_cb_result(Taker_thisElement(self));

	CkCallbackSetRefNum(&cb, number);
	CkCallbackSendTyped(cb, CK_INT, &value, 1);
}

static void send_results(Taker *self)
{
	send_result(self, 9, 9);
	send_result(self, 4, 7);
	send_result(self, 7, 8);
}

static void send_numbered(Taker *self)
{
	CProxyElement_Taker me = Taker_thisElement(self);

	Taker_p(me, 2, 20);
	Taker_q(me, 5);
	Taker_p(me, 3, 30);
	Taker_p(me, 1, 10);
	Taker_p(me, 4, 40);
	Taker_last(me);
}

static void send_twins(Taker *self, bool apart)
{
	CProxyElement_Taker me = Taker_thisElement(self);

	Taker_twin(me, 1);
	if (apart)
		Taker_q(me, 6);
	Taker_twin(me, 2);
	if (!apart)
		Taker_q(me, 6);
}

static void check_row(const Row *r, int first)
{
	CHECK_EQ(r->n, 3);
	CHECK_EQ(r->v[0], first);
	CHECK_EQ(r->v[2], first + 2);
}

static void send_row(void (*send)(CProxyElement_Taker, const Row *), Taker *self, int first)
{
	int v[3] = { first, first + 1, first + 2 };
	Row row = { 3, v };

	send(Taker_thisElement(self), &row);
}

static void send_rows(Taker *self)
{
	send_row(Taker_hold, self, 1);
	send_row(Taker_rows, self, 11);
	send_row(Taker_rows, self, 11);
	Taker_last(Taker_thisElement(self));
}

void Taker_on_rows(Taker *self, const Row *r)
{
	(void)self;
	check_row(r, 11);
}

void Main_on_done(Main *self)
{
	(void)self;
	CkPrintf("taken: each when took its calls on %d PEs\n", CkNumPes());
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	Taker_run_all(Taker_ckNew(CkDims(TAKERS)));
}

#include "taken.def.h"
