/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mega_varsize: a chare fills a message with two arrays and makes a chare on another PE from it.
 * That one checks the values, frees the message, answers with a message whose arrays have swapped
 * their lengths, and ends itself. It counts in the local branch of a group that the main chare has
 * made.
 */
#include "mega.h"

#include "mega_varsize.decl.h"

/* Lengths of the two arrays: ordinary ones, none, those that leave gaps, and some beyond what fits a
 * packet. */
static const int lengths[][2] = {
	{100, 300}, {0, 0}, {0, 1}, {1, 0}, {3, 5}, {7, 1000}, {1, 40000}, {300000, 2},
};
enum { KINDS = sizeof lengths / sizeof *lengths };

struct Main { struct mega runs; };
struct Owner { int seq, kind; };
struct Test { char unused; };
struct Tally { int tests; };

static float value_f(int seq, int k) { return (float)(seq + 1) * 0.5f * (float)(k % 1000 + 1); }
static int value_i(int seq, int k) { return (seq + 1) * (k * 3 + 1); }

static Sized *make(CProxy_Owner owner, int seq, int n_i, int n_f)
{
	Sized *m = Sized_alloc((size_t)n_i, (size_t)n_f);

	m->seq = seq;
	m->owner = owner;
	m->n_i = n_i;
	m->n_f = n_f;
	for (int k = 0; k < n_i; k++)
		m->i[k] = value_i(seq, k);
	for (int k = 0; k < n_f; k++)
		m->f[k] = value_f(seq, k);
	return m;
}

static bool good(const Sized *m)
{
	for (int k = 0; k < m->n_i; k++)
		if (m->i[k] != value_i(m->seq, k))
			return false;
	for (int k = 0; k < m->n_f; k++)
		if (m->f[k] != value_f(m->seq, k))
			return false;
	return true;
}

/* ---- the other side -------------------------------------------------------------------------- */

void Tally_on_new(Tally *self) { (void)self; }

void Test_on_new(Test *self, Sized *m)
{
	CProxy_Owner owner = m->owner;
	int seq = m->seq, n_i = m->n_i, n_f = m->n_f;

	Tally_ckLocalBranch(tallies)->tests++;
	if (!good(m))
		CkAbort("mega_varsize: message %d was damaged on its way out", seq);
	CkFreeMsg(m);
	Owner_exit(owner, make(owner, seq, n_f, n_i));
	CkDestroy(self);
}

void Tally_on_report(Tally *self)
{
	CkContribute(self, &self->tests, 1, CkReduction_sum_int, Main_cb_counted(mainProxy));
}

/* ---- this side ------------------------------------------------------------------------------- */

static void send(Owner *self)
{
	const int *n = lengths[self->kind];

	Test_ckNew((CkMyPe() + 1 + self->seq) % CkNumPes(), make(Owner_thisProxy(self), self->seq, n[0], n[1]));
}

void Owner_on_new(Owner *self, int seq)
{
	self->seq = seq;
	send(self);
}

void Owner_on_exit(Owner *self, Sized *m)
{
	CHECK_EQ(m->seq, self->seq);
	CHECK_EQ(m->n_i, lengths[self->kind][1]);
	CHECK_EQ(m->n_f, lengths[self->kind][0]);
	if (!good(m))
		CkAbort("mega_varsize: message %d was damaged on its way back", m->seq);
	CkFreeMsg(m);
	if (++self->kind < KINDS) {
		send(self);
		return;
	}
	Main_finish(mainProxy);
	CkDestroy(self);
}

static void begin(int no)
{
	Owner_ckNew(0, no);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	tallies = Tally_ckNew();
	mainProxy = Main_thisProxy(self);
	mega_start(&self->runs, begin);
}

void Main_on_finish(Main *self)
{
	if (mega_ended(&self->runs, begin))
		Tally_report_all(tallies);
}

void Main_on_counted(Main *self, int tests)
{
	(void)self;
	CHECK_EQ(tests, MEGA_RUNS * KINDS);
	CkPrintf("mega_varsize: %d messages there and back\n", tests);
	CkExit(0);
}

#include "mega_varsize.def.h"
