/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resave DIR: sections of PE 0 and of the last PE, of an array and of a group, are used before a
 * checkpoint and after it; a completion detector has counted before it and is started after it,
 * another one is made before it and not used; and a request for quiescence waits while it is taken.
 * A job that starts from the checkpoint prints the same line.
 */
#include "check.h"

#include <string.h>

#include "resave.decl.h"

struct Main {
	int old_pes, stage, n_hits, n_quiet, n_finished;
	bool counted;
	CProxySection_Cell evens, odds, more;
	CProxySection_Member half;
	CkCompletion c, unused;
	long sums;
	char dir[256];
};
struct Member { int n; };
struct Cell { int n; };

enum { CELLS = 23, MORE = 5 };

void Main_pup(pup_er p, Main *self) { pup_bytes(p, self, sizeof *self); }

/* Every second one. */
static CProxySection_Cell cells_from(int first)
{
	CkIndex list[CELLS];
	size_t n = 0;

	for (int i = first; i < CELLS; i += 2)
		list[n++] = Cell_index(i);
	return Cell_ckSection(cells, list, n);
}

/* ---- the main chare -------------------------------------------------------------------------- */

enum { BEFORE, AFTER, LAST };

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	memset(self, 0, sizeof *self);
	CHECK(m->argc > 1);
	strncpy(self->dir, m->argv[1], sizeof self->dir - 1);
	self->old_pes = CkNumPes();
	members = Member_ckNew();
	cells = Cell_ckNew(CkDims(CELLS));
	self->evens = cells_from(0);
	self->unused = CkCompletionCreate();
	Member_make(Member_at(members, CkNumPes() - 1));
}

static void hit_all(Main *self)
{
	self->n_hits = 2;
	self->counted = false;
	Cell_hit_section(self->evens, self->evens);
	Cell_hit_section(self->odds, self->odds);
	Member_count_section(self->half, self->half);
}

void Main_on_made(Main *self, CProxySection_Cell odds, CProxySection_Member half, CkCompletion c)
{
	self->odds = odds;
	self->half = half;
	self->c = c;
	CkCompletionConsume(c, 1);
	hit_all(self);
}

static void stage_over(Main *self)
{
	if (self->n_hits || !self->counted)
		return;
	if (self->stage == BEFORE)
		CkStartQD(Main_cb_rest(mainProxy));
	else if (self->stage == AFTER)
		Member_make_more(Member_at(members, CkNumPes() - 1));
}

void Main_on_hits(Main *self, long v)
{
	self->sums = self->sums * 1000 + v;
	if (self->stage == LAST) {
		CHECK_EQ(v, MORE * (MORE - 1) / 2);
		CkCompletionStart(self->c, 1, Main_cb_started(mainProxy), Main_cb_produced(mainProxy),
				  Main_cb_finished(mainProxy), 0);
		CkCompletionDone(self->c);
		Member_consume(Member_at(members, CkNumPes() / 2), self->c);
		return;
	}
	CHECK(v == 132 || v == 121); /* 0 + 2 + ... + 22, 1 + 3 + ... + 21 */
	self->n_hits--;
	stage_over(self);
}

/* The branches of every second PE that were there and are there. */
void Main_on_branches(Main *self, long v)
{
	const int pes = self->old_pes < CkNumPes() ? self->old_pes : CkNumPes();

	CHECK_EQ(v, (pes + 1) / 2);
	self->counted = true;
	stage_over(self);
}

void Main_on_rest(Main *self)
{
	self->sums = 0; /* in any order */
	CkStartQD(Main_cb_quiet(mainProxy));
	CkStartCheckpoint(self->dir, Main_cb_saved(mainProxy));
	Main_spin(mainProxy, CkWallTimer() + 0.2);
}

/* While the folder is made, so that the checkpoint is mostly due before that quiescence. */
void Main_on_spin(Main *self, double until)
{
	(void)self;
	if (CkWallTimer() < until)
		Main_spin(mainProxy, until);
}

void Main_on_saved(Main *self, int status)
{
	CHECK(status == CK_CHECKPOINT_SUCCESS || status == CK_CHECKPOINT_RESTARTED);
	CHECK_EQ(self->stage, BEFORE);
	self->stage = AFTER;
	CHECK(CkCompletionCreate().id != self->unused.id);
	hit_all(self);
}

void Main_on_quiet(Main *self) { self->n_quiet++; }

void Main_on_made_more(Main *self, CProxySection_Cell more)
{
	self->stage = LAST;
	self->more = more;
	Cell_hit_section(more, more);
}

void Main_on_started(Main *self) { (void)self; }
void Main_on_produced(Main *self) { (void)self; }

/* By the second quiescence the one that was asked for before has been told, and once: requests that
 * are fired together are fired in any order. */
void Main_on_finished(Main *self)
{
	if (self->n_finished++ < 2) {
		CkStartQD(Main_cb_finished(mainProxy));
		return;
	}
	CHECK_EQ(self->n_quiet, 1);
	CkSectionDestroy(self->odds.ck);
	CkPrintf("resave: %ld\n", self->sums % 1000);
	CkExit(0);
}

/* ---- the last PE ----------------------------------------------------------------------------- */

void Member_on_new(Member *self) { self->n = 0; }

void Member_on_make(Member *self)
{
	const CkCompletion c = CkCompletionCreate();
	CkIndex pes[64];
	size_t n = 0;

	(void)self;
	for (int i = 0; i < CkNumPes() && n < 64; i += 2)
		pes[n++] = Member_index(i);
	CkCompletionProduce(c, 2);
	Main_made(mainProxy, cells_from(1), Member_ckSection(members, pes, n), c);
}

/* Its number is that of no other. */
void Member_on_make_more(Member *self)
{
	CkIndex list[MORE];

	(void)self;
	for (int i = 0; i < MORE; i++)
		list[i] = Cell_index(i);
	Main_made_more(mainProxy, Cell_ckSection(cells, list, MORE));
}

void Member_on_count(Member *self, CProxySection_Member half)
{
	const long one = 1;

	CkContributeSection(self, half.ck, &one, 1, CkReduction_sum_long, Main_cb_branches(mainProxy));
}

void Member_on_consume(Member *self, CkCompletion c)
{
	(void)self;
	CkCompletionConsume(c, 1);
}

/* ---- elements -------------------------------------------------------------------------------- */

void Cell_on_new(Cell *self) { self->n = Cell_thisIndex(self); }

void Cell_on_hit(Cell *self, CProxySection_Cell s)
{
	const long v = self->n;

	CkContributeSection(self, s.ck, &v, 1, CkReduction_sum_long, Main_cb_hits(mainProxy));
}

#include "resave.def.h"
