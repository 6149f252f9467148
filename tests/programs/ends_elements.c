/* SPDX-License-Identifier: Apache-2.0 */
/* ends_elements: `ends_elements what [PE]`. The job must end with a line that says what is wrong. */
#include "check.h"

#include <stdlib.h>

#include "ends_elements.decl.h"

enum { N = 8 };

struct Main { int unused; };
struct Item { int unused; };
struct Four { int unused; };
struct Member { int unused; };

static int outside_map(CkIndex i, CkArrayDims d, int n_pes)
{
	(void)d;
	return i.v[0] == 77 ? n_pes : i.v[0] % n_pes;
}

void register_maps(void) { CkRegisterMap("outside", outside_map); }

void Main_on_new(Main *self, CkArgMsg *m)
{
	CHECK(m->argc == 3);
	members = Member_ckNew();
	Member_act(Member_at(members, atoi(m->argv[2])), m->argv[1]);
	if (!strcmp(m->argv[1], "forgotten"))
		CkStartQD(Main_cb_quiet(Main_thisProxy(self)));
}

void Main_on_quiet(Main *self)
{
	(void)self;
	CkExit(0);
}

void Item_on_new(Item *self) { (void)self; }
void Item_on_call(Item *self) { (void)self; }
void Item_on_scanned(Item *self, int n) { (void)self; (void)n; }
void Four_on_new(Four *self) { (void)self; }
void Four_on_call(Four *self) { (void)self; }
void Member_on_new(Member *self) { (void)self; }

void Item_on_act(Item *self, const char *what)
{
	int one = 1;

	if (!strcmp(what, "destroy-twice")) {
		CkDestroy(self);
		CkDestroy(self);
	} else if (!strcmp(what, "contribute")) {
		CkDestroy(self);
		CkContributeBarrier(self, CkCallbackExit());
	} else if (!strcmp(what, "end")) {
		CkDestroy(self);
	} else { /* scan */
		CkScan(self, &one, 1, CkReduction_sum_int, CK_SCAN_INCLUSIVE,
		       Item_cb_scanned(Item_thisElement(self)));
	}
}

/* In arrays with extents. */
static bool act_dense(const char *what)
{
	CProxy_Item a = Item_ckNew(CkDims(N));
	CProxy_Four four = Four_ckNew(CkDims(2, 3, 4, 5));

	if (!strcmp(what, "gone")) {
		Item_act(Item_at(a, 5), "end");
		Item_call(Item_at(a, 5));
	} else if (!strcmp(what, "elsewhere")) {
		Item_insert(Item_at(a, 0), CkNumPes() - 1);
	} else if (!strcmp(what, "dense-twice")) {
		Item_insert(Item_at(a, 0), CK_PE_ANY);
	} else if (!strcmp(what, "dense-out")) {
		Item_insert(Item_at(a, N), CK_PE_ANY);
	} else if (!strcmp(what, "four-out")) {
		Four_call(Four_at(four, 1, 2, 4, 0));
	} else if (!strcmp(what, "negative")) {
		Four_call(Four_at(four, -1, 2, 3, 0));
	} else if (!strcmp(what, "scan-gone")) {
		for (int i = 0; i < N; i++)
			Item_act(Item_at(a, i), i % 2 ? "end" : what);
	} else if (!strcmp(what, "scan-gone-map")) {
		CProxy_Item b = Item_ckNew_opt(&(CkArrayOptions){ .end = { N }, .map = "outside" });

		/* PE 1 loses all that it has. */
		for (int i = 0; i < N; i++)
			Item_act(Item_at(b, i), i % CkNumPes() == 1 ? "end" : what);
	} else {
		return false;
	}
	return true;
}

static bool act_new(const char *what)
{
	if (!strcmp(what, "big"))
		Four_ckNew(CkDims(2, 40000, 1, 1));
	else if (!strcmp(what, "extents"))
		Four_ckNew(CkDims(2, 2));
	else if (!strcmp(what, "step"))
		Item_ckNew_opt(&(CkArrayOptions){ .end = { 4 }, .step = { -1 } });
	else if (!strcmp(what, "end"))
		Item_ckNew_opt(&(CkArrayOptions){ .start = { 4 }, .end = { 4 } });
	else if (!strcmp(what, "map"))
		Item_ckNewEmpty_opt(&(CkArrayOptions){ .map = "inside" });
	else
		return false;
	return true;
}

static void act_sparse(const char *what)
{
	CProxy_Item a = Item_ckNewEmpty_opt(&(CkArrayOptions){ .map = "outside" });
	CProxy_Item b = Item_ckNew_opt(&(CkArrayOptions){ .end = { N }, .step = { 2 } });

	Item_insert(Item_at(a, 4), 1);
	if (!strcmp(what, "pe")) {
		Item_insert(Item_at(a, 5), CkNumPes());
	} else if (!strcmp(what, "map-pe")) {
		Item_insert(Item_at(a, 77), CK_PE_ANY);
	} else if (!strcmp(what, "twice")) {
		Item_insert(Item_at(a, 4), 2);
	} else if (!strcmp(what, "missing")) {
		Item_call(Item_at(a, 3));
		Item_doneInserting(a);
	} else if (!strcmp(what, "forgotten")) {
		Item_call(Item_at(a, 3));
		Item_call(Item_at(a, 3));
	} else if (!strcmp(what, "between")) {
		Item_call(Item_at(b, 3));
	} else if (!strcmp(what, "destroy-missing")) {
		Item_doneInserting(a);
		Item_ckDestroy(Item_at(a, 3));
	} else if (!strcmp(what, "gone-sparse")) {
		Item_ckDestroy(Item_at(b, 2));
		Item_call(Item_at(b, 2));
	} else {
		Item_act(Item_at(a, 4), what);
	}
}

void Member_on_act(Member *self, const char *what)
{
	(void)self;
	if (!act_new(what) && !act_dense(what))
		act_sparse(what);
}

#include "ends_elements.def.h"
