/* SPDX-License-Identifier: Apache-2.0 */
/* kindpups: see kindpups.ci. */
#include "kindpups.h"

#include <stdio.h>

#include "check.h"
#include "kindpups.decl.h"

enum { N = 5, PARTS = 4 };

struct Main {
	int n_checked, n_lone;
	CProxy_Branch branches;
	CProxy_Shared shared;
	CProxy_Forgets forgets;
};

struct Lone { int n; Word *kept; void *cache; };
struct Branch { int n; double *v; char *name; CkCallback done, own[2]; double later; };
struct Derived { double *table; };
struct Shared { long sum; int *counts; int n_counts; };
struct Forgets { int kept, forgotten; };

static bool is(const char *word) { return !strcmp(fault.word, word); }

/* ---- Main: by hand ------------------------------------------------------------------------------ */

void Main_pup(pup_er p, Main *self)
{
	pup_int(p, &self->n_checked);
	pup_int(p, &self->n_lone);
	pup_proxy(p, &self->branches);
	pup_proxy(p, &self->shared);
	pup_proxy(p, &self->forgets);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	main_proxy = Main_thisProxy(self);
	snprintf(fault.word, sizeof fault.word, "%s", m->argc > 1 ? m->argv[1] : "");
	CkFreeMsg(m);
	self->n_lone = 3;
	self->branches = Branch_ckNew();
	self->shared = Shared_ckNew();
	Derived_ckNew();
	self->forgets = Forgets_ckNew();
	for (int i = 0; i < self->n_lone; i++)
		Lone_ckNew(CK_PE_ANY, i + 1);
	CkPupCheck(self);
	Branch_check_all(self->branches);
	Shared_check_all(self->shared);
	Forgets_check_all(self->forgets);
}

/* Branches and Forgets by a reduction each, shared ones and lone chares by a call each. */
void Main_on_checked(Main *self)
{
	if (++self->n_checked == 2 + self->n_lone + CkNumNodes())
		Main_done(main_proxy);
}

void Main_on_done(Main *self)
{
	CkPupCheck(self);
	CkPrintf("kindpups: all kinds of chares are packed\n");
	CkExit(0);
}

/* ---- by lists ----------------------------------------------------------------------------------- */

void Lone_on_new(Lone *self, int n)
{
	self->n = n;
	self->kept = Word_alloc();
	self->kept->n = 7 * n;
	self->cache = self;
	CkPupCheck(self);
	CHECK_EQ(self->kept->n, 7 * n);
	CkFreeMsg(self->kept);
	self->kept = NULL;
	Main_checked(main_proxy);
}

void Branch_on_new(Branch *self)
{
	self->n = N;
	self->v = malloc(N * sizeof *self->v);
	for (int i = 0; i < N; i++)
		self->v[i] = 1.5 + i;
	self->name = strdup("branch");
	self->done = Main_cb_checked(main_proxy);
	self->own[1] = self->done;
	self->later = 4.0;
}

static void told(void *arg, const CkReductionMsg *m)
{
	(void)arg;
	(void)m;
}

void Branch_on_check(Branch *self)
{
	if (is("function"))
		self->own[0] = CkCallbackFunction(told, NULL);
	CkPupCheck(self);
	CHECK(self->v[N - 1] == 1.5 + N - 1);
	free(self->v);
	free(self->name);
	self->v = NULL, self->name = NULL, self->n = 0;
	CkContribute(self, NULL, 0, CkReduction_nop, self->done);
}

void Derived_on_new(Derived *self)
{
	self->table = malloc(PARTS * sizeof *self->table);
	CkPupCheck(self);
	free(self->table);
	self->table = NULL;
}

void Derived_on_arrived(Derived *self)
{
	self->table = malloc(PARTS * sizeof *self->table);
}

void Shared_on_new(Shared *self)
{
	self->sum = 1L << 40;
	self->n_counts = PARTS;
	self->counts = calloc(PARTS, sizeof *self->counts);
	self->counts[1] = 3;
}

void Shared_on_check(Shared *self)
{
	CkPupCheck(self);
	CHECK_EQ(self->counts[1], 3);
	free(self->counts);
	self->counts = NULL, self->n_counts = 0;
	Main_checked(main_proxy);
}

/* ---- a function that forgets --------------------------------------------------------------------- */

void Forgets_pup(pup_er p, Forgets *self)
{
	pup_int(p, &self->kept);
	if (!is("forgets"))
		pup_int(p, &self->forgotten);
}

void Forgets_on_new(Forgets *self)
{
	self->kept = 1;
	self->forgotten = 2;
}

void Forgets_on_check(Forgets *self)
{
	CkPupCheck(self);
	CkContribute(self, NULL, 0, CkReduction_nop, Main_cb_checked(main_proxy));
}

#include "kindpups.def.h"
