/* SPDX-License-Identifier: Apache-2.0 */
/* badpack: see badpack.ci. Each fault ends the job with a line that names the element. */
#include "badpack.h"

#include "check.h"
#include "badpack.decl.h"

struct Main { int unused; };

struct Element {
	int n, used;
	double *v;
	void *again, *kept;
	M *m;
	CkCallback cb;
};

struct List {
	int n;
	double *v, *w;
};

struct Stays { int unused; };

struct Own { int n; };

static bool is(const char *word) { return strcmp(what.s, word) == 0; }

/* ---- faults ----------------------------------------------------------------------------------- */

static void function(void *ctx, const CkReductionMsg *m)
{
	(void)ctx;
	(void)m;
}

/* Passes that do not do the same. */
static void passes(pup_er p, Element *x)
{
	int extra = 0;

	if (is("packs-more") && pup_isPacking(p))
		pup_int(p, &extra);
	if (is("packs-less") && !pup_isPacking(p))
		pup_int(p, &extra);
	if (is("unpacks-more") && pup_isUnpacking(p))
		pup_int(p, &extra);
	if (is("unpacks-less") && !pup_isUnpacking(p))
		pup_int(p, &extra);
	if (is("forgets-count") && !pup_isUnpacking(p))
		x->used = x->n;
	if (is("counts"))
		extra = ++x->used;
	pup_int(p, &extra);
}

/* Pointers that are not packed as pointers. */
static void pointers(pup_er p, Element *x)
{
	if (is("no-alloc"))
		pup_doubles(p, x->v, 3);
	else if (is("address"))
		pup_bytes(p, &x->v, sizeof x->v);
	else if (is("null"))
		pup_doubles(p, x->again, 3);
	else
		x->v = pup_alloc(p, x->v, 3 * sizeof *x->v);
	if (is("shares"))
		x->again = pup_alloc(p, x->again, 8);
}

void Element_pup(pup_er p, Element *x)
{
	pup_int(p, &x->n);
	passes(p, x);
	pointers(p, x);
	pup_callback(p, &x->cb);
	x->kept = pup_message(p, x->kept);
	M_pup(p, &x->m);
}

void Bad_pup(pup_er p, Bad *x)
{
	int extra = 0;

	pup_int(p, &x->n);
	if (is("parameter-packs-more") && pup_isPacking(p))
		pup_int(p, &extra);
	if (is("parameter-unpacks-less") && !pup_isUnpacking(p))
		pup_int(p, &extra);
	if (is("parameter-rdma"))
		x->p = pup_alloc_rdma(p, x->p, 8);
	if (is("parameter-direct"))
		x->p = pup_alloc_direct(p, x->p, 8);
	if (is("parameter-keeps"))
		x->p = pup_message(p, x->p);
}

/* ---- elements --------------------------------------------------------------------------------- */

void *Own_pack(Own *m) { return m; }
Own *Own_unpack(void *m) { return m; }

static void any_own(pup_er p, void *x) { Own_pup(p, x); }

void Element_on_new(Element *self)
{
	self->n = 7;
	self->v = calloc(3, sizeof *self->v);
	self->cb = is("function") ? CkCallbackFunction(function, NULL) : CkCallbackExit();
	if (is("future"))
		self->cb = CkCallbackFuture(CkCreateFuture());
	if (is("shares"))
		self->again = self->v;
}

void Element_on_check(Element *self)
{
	Own *own;

	if (is("freed"))
		CkFreeMsg(self->m = M_alloc());
	if (is("own-outside")) {
		own = Own_alloc(0);
		CkPupSize(any_own, &own, sizeof own);
	}
	if (strncmp(what.s, "parameter", 9) == 0)
		Element_take(Element_thisElement(self), &(Bad){ 1, NULL });
	else
		CkPupCheck(self);
}

void Element_on_take(Element *self, const Bad *x)
{
	(void)self;
	(void)x;
}

void Element_on_number(Element *self, M *m)
{
	(void)self;
	(void)m;
}

void List_on_new(List *self)
{
	self->n = is("list-negative") ? -3 : 2;
	self->v = calloc(2, sizeof *self->v);
	self->w = is("list-shares") ? self->v : calloc(2, sizeof *self->w);
}

void List_on_check(List *self) { CkPupCheck(self); }

void Stays_on_new(Stays *self) { (void)self; }
void Stays_on_check(Stays *self) { CkPupCheck(self); }

/* An object of the program's from bytes that are none. */
static void any_count(pup_er p, void *x) { Count_pup(p, x); }

static void damaged(void)
{
	struct { int n; bool there; } bytes = { 1 << 30, true };
	Count x;

	CkPupUnpack(any_count, &x, sizeof x, &bytes, 5);
}

/* ---- main -------------------------------------------------------------------------------------- */

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)self;
	CHECK_EQ(m->argc, 2);
	strncpy(what.s, m->argv[1], sizeof what.s - 1);
	if (is("damaged"))
		damaged();
	else if (is("stays"))
		Stays_check(Stays_at(Stays_ckNew(CkDims(4)), 3));
	else if (strncmp(what.s, "list", 4) == 0)
		List_check(List_at(List_ckNew(CkDims(4)), 3));
	else
		Element_check(Element_at(Element_ckNew(CkDims(4)), 3));
}

#include "badpack.def.h"
