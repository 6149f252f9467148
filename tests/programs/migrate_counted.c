/* SPDX-License-Identifier: Apache-2.0 */
/*
 * migrate_counted: elements on a ring that move in most steps, while calls of the step, and of the
 * next one, wait at them for the others of their round: values with an array, messages, objects of
 * pup functions with lent arrays. Rounds go on where the element arrives, in their order.
 * `migrate_counted [seed]`.
 */
#include "check.h"

#include "migrate_counted.h"
#include "migrate_counted.decl.h"

enum { STEPS = 40, WORDS = 3 };

struct Main {
	int unused;
};
struct Ring {
	int step, sum, n_in[2];
	uint64_t random;
}; /* n_in: rounds of even and of odd steps */

static int value(int element, int step)
{
	return (int)(check_mix((uint64_t)(1000 * element + step)) % 100);
}

void Ring_pup(pup_er p, Ring *self) { pup_bytes(p, self, sizeof *self); }
void Row_pup(pup_er p, Row *x)
{
	pup_int(p, &x->n);
	x->v = (int *)pup_alloc(p, x->v, (size_t)x->n * sizeof *x->v);
	pup_bytes(p, x->v, (size_t)x->n * sizeof *x->v);
}

/* ---- a step ---------------------------------------------------------------------------------- */

static void move(Ring *self)
{
	self->random = check_mix(self->random);
	if (self->random % 4)
		CkMigrateMe(self, (int)((self->random >> 33) % (uint64_t)CkNumPes()));
}

static void send_letter(CProxyElement_Ring to, int me, int step)
{
	Letter *m = Letter_alloc(1);

	m->from = me;
	m->step = step;
	m->v[0] = value(me, step);
	CkSetRefNum(m, step);
	Ring_letter(to, m);
}

/* No element moves it. */
static int lent[ELEMENTS][STEPS + 1][WORDS];

static void write_lent(int me, int step)
{
	for (int i = 0; i < WORDS; i++)
		lent[me][step][i] = value(me, step) + i;
}

static void send_far(CProxyElement_Ring to, int me, int step)
{
	int v[2] = { me, step };
	const Row row = { 2, v };

	Ring_far(to, step, &row, WORDS, CkSendBuffer(lent[me][step]));
}

static void send(Ring *self)
{
	const int me = Ring_thisIndex(self), step = self->step;
	const int w[2] = { me, value(me, step) };
	const int next = (me + 1) % ELEMENTS, last = (me + ELEMENTS - 1) % ELEMENTS;

	write_lent(me, step);
	for (int i = 0; i < 2; i++) {
		CProxyElement_Ring to = Ring_at(rings, i ? last : next);

		Ring_sides(to, step, me, value(me, step), 2, w);
		send_letter(to, me, step);
		send_far(to, me, step);
	}
	send_letter(Ring_thisElement(self), me, step);
	move(self);
}

/* All three rounds make a step. Neighbours may be one step ahead: the letter to itself takes its
 * own time. */
static void round_in(Ring *self, int step)
{
	int *n_in = &self->n_in[self->step % 2];

	CHECK(step == self->step || step == self->step + 1);
	self->n_in[step % 2]++;
	if (*n_in < 3) {
		move(self);
		return;
	}
	*n_in = 0;
	if (++self->step < STEPS)
		send(self);
	else
		Main_done(mainProxy, self->sum);
}

static bool is_neighbour(Ring *self, int from)
{
	const int d = (from - Ring_thisIndex(self) + ELEMENTS) % ELEMENTS;

	return d == 1 || d == ELEMENTS - 1;
}

void Ring_on_sides(Ring *self, int step, int n, const Ring_sides_call *calls)
{
	CHECK(n == 2 && calls[0].from != calls[1].from);
	for (int i = 0; i < n; i++) {
		CHECK(is_neighbour(self, calls[i].from));
		CHECK_EQ(calls[i].v, value(calls[i].from, step));
		CHECK(calls[i].n == 2 && calls[i].w[0] == calls[i].from &&
		      calls[i].w[1] == calls[i].v);
		self->sum += calls[i].v;
	}
	round_in(self, step);
}

void Ring_on_letter(Ring *self, int step, int n, Letter **m)
{
	CHECK_EQ(n, 3);
	for (int i = 0; i < n; i++) {
		CHECK_EQ(m[i]->step, step);
		CHECK_EQ(m[i]->v[0], value(m[i]->from, step));
		self->sum += m[i]->v[0];
	}
	round_in(self, step);
}

void Ring_on_far(Ring *self, int step, int n, const Ring_far_call *calls)
{
	CHECK_EQ(n, 2);
	for (int i = 0; i < n; i++) {
		const int from = calls[i].x->v[0];

		CHECK(is_neighbour(self, from) && calls[i].x->v[1] == step);
		for (int k = 0; k < WORDS; k++)
			CHECK_EQ(calls[i].v[k], value(from, step) + k);
	}
	round_in(self, step);
}

void Ring_on_new(Ring *self)
{
	self->random = check_mix(seed + (uint64_t)Ring_thisIndex(self));
	send(self);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int expected(int me)
{
	int sum = 0;

	for (int step = 0; step < STEPS; step++)
		sum += 2 * (value((me + 1) % ELEMENTS, step) +
			    value((me + ELEMENTS - 1) % ELEMENTS, step)) +
		       value(me, step);
	return sum;
}

void Main_on_done(Main *self, int number, int n, const Main_done_call *calls)
{
	int sum = 0;

	(void)self;
	CHECK(number == 0 && n == ELEMENTS);
	for (int i = 0; i < n; i++)
		sum += calls[i].sum - expected(i);
	CHECK_EQ(sum, 0);
	CkPrintf("%d elements, %d steps\n", ELEMENTS, STEPS);
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	seed = check_run_seed(m);
	CkPrintf("migrate_counted %llu\n", (unsigned long long)seed);
	rings = Ring_ckNew(CkDims(ELEMENTS));
}

#include "migrate_counted.def.h"
