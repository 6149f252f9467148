/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lengths: calls with arrays of all lengths, past the largest small message, by an element to
 * itself, to the next one, and to one of another collection in turn. Each has its number, and none
 * may be missing. The caller overwrites its arrays as soon as a call returns.
 *
 *	lengths [wraps]
 */
#include "check.h"

#include <string.h>

#include "lengths.decl.h"

enum from { OWN, BESIDE, OTHER, FROM };
enum { PER_PE = 2, BYTES = 300, DOUBLES = 140, PAIRS = 24, STEP = 7 };
enum { CALLS = BYTES + DOUBLES + PAIRS * PAIRS };

struct Main {
	int ends;
};

struct Cell {
	CProxy_Main home;
	int n_in, next[FROM];     /* by the caller */
};

/* What stands at k in the call with this number. */
static int value(int no, int k)
{
	return (no * 31 + k * 7) % 101;
}

static void came(Cell *self, int no)
{
	const long one = 1;

	CHECK_EQ(no / FROM, self->next[no % FROM]);
	self->next[no % FROM]++;
	if (++self->n_in == FROM * CALLS)
		CkContribute(self, &one, 1, CkReduction_sum_long, Main_cb_done(self->home));
}

void Cell_on_bytes(Cell *self, int no, int n, const char *v)
{
	for (int k = 0; k < n; k++)
		CHECK_EQ(v[k], value(no, k));
	came(self, no);
}

void Cell_on_doubles(Cell *self, long long n, const double *v, int no)
{
	CHECK((uintptr_t)v % 16 == 0);
	for (int k = 0; k < n; k++)
		CHECK(v[k] == value(no, k) + 0.5);
	came(self, no);
}

void Cell_on_two(Cell *self, int no, int n, int m, const short *v, const double *w)
{
	for (int k = 0; k < n; k++)
		CHECK_EQ(v[k], value(no, k));
	for (int k = 0; k < m; k++)
		CHECK(w[k] == value(no, n + k));
	came(self, no);
}

static void send_bytes(CProxyElement_Cell to, int no, int n)
{
	char v[BYTES];

	for (int k = 0; k < n; k++)
		v[k] = (char)value(no, k);
	Cell_bytes(to, no, n, n ? v : NULL);
	memset(v, 0x7f, sizeof v);
}

static void send_doubles(CProxyElement_Cell to, int no, int n)
{
	double v[DOUBLES];

	for (int k = 0; k < n; k++)
		v[k] = value(no, k) + 0.5;
	Cell_doubles(to, n, n ? v : NULL, no);
	memset(v, 0x7f, sizeof v);
}

static void send_two(CProxyElement_Cell to, int no, int n, int m)
{
	short v[PAIRS];
	double w[PAIRS * STEP];

	for (int k = 0; k < n; k++)
		v[k] = (short)value(no, k);
	for (int k = 0; k < m; k++)
		w[k] = value(no, n + k);
	Cell_two(to, no, n, m, v, w);
	memset(v, 0x7f, sizeof v);
	memset(w, 0x7f, sizeof w);
}

static void send(CProxyElement_Cell to, int i, enum from from)
{
	const int no = FROM * i + (int)from, pair = i - BYTES - DOUBLES;

	if (i < BYTES)
		send_bytes(to, no, i);
	else if (i < BYTES + DOUBLES)
		send_doubles(to, no, i - BYTES);
	else
		send_two(to, no, pair / PAIRS, pair % PAIRS * STEP);
}

void Cell_on_new(Cell *self)
{
	(void)self;
}

void Cell_on_start(Cell *self, CProxy_Main home, CProxy_Cell other)
{
	const int me = Cell_thisIndex(self), n = PER_PE * CkNumPes();
	const CProxy_Cell all = Cell_thisProxy(self);

	self->home = home;
	for (int i = 0; i < CALLS; i++) {
		send(Cell_at(all, me), i, OWN);
		send(Cell_at(all, (me + 1) % n), i, BESIDE);
		send(Cell_at(other, (me + 1) % n), i, OTHER);
	}
}

/* So many doubles have no bytes, modulo 2^64. */
void Cell_on_wraps(Cell *self)
{
	const double v = 0;

	Cell_doubles(Cell_thisElement(self), 1LL << 61, &v, 0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	const int n = PER_PE * CkNumPes();
	const CProxy_Cell one = Cell_ckNew(CkDims(n)), two = Cell_ckNew(CkDims(n));

	self->ends = 0;
	if (m->argc > 1) {
		Cell_wraps(Cell_at(one, 0));
		return;
	}
	Cell_start_all(one, Main_thisProxy(self), two);
	Cell_start_all(two, Main_thisProxy(self), one);
	CkStartQD(Main_cb_quiet(Main_thisProxy(self)));
}

void Main_on_done(Main *self, long n)
{
	CHECK_EQ(n, PER_PE * CkNumPes());
	self->ends++;
}

/* Quiescence counts these calls, too. */
void Main_on_quiet(Main *self)
{
	CHECK_EQ(self->ends, 2);
	CkExit(0);
}

#include "lengths.def.h"
