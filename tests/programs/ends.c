/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ends: the ways in which a job ends. `ends WHAT PE` makes one mistake, or ends the job properly, on one
 * PE while the others are busy. ends.cases has the expected output. If the runtime misses the mistake, the
 * exit code is 99.
 */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ends.decl.h"

struct Main { int unused; };
struct Cell { int unused; };
struct Member { int unused; };
struct Shared { int unused; };

static bool is(const char *what, const char *name) { return strcmp(what, name) == 0; }

/* ENDS_INITNODE=WHAT: no PE has started. */
void prepares(void)
{
	const char *what = getenv("ENDS_INITNODE");

	if (!what)
		return;
	CkPrintf("an initnode function prints\n");
	if (is(what, "exit"))
		CkExit(7);
	else if (is(what, "abort"))
		CkAbort("before anything");
	else if (is(what, "crash"))
		raise(SIGSEGV);
}

/* ENDS_INITPROC=WHAT: no chare exists yet, and no readonly variable is set. */
void starts(void)
{
	const char *what = getenv("ENDS_INITPROC");

	if (!what)
		return;
	if (is(what, "branch"))
		Member_spin(Member_at(members, Member_ckLocalBranch(members) != NULL));
	else if (is(what, "call"))
		Member_spin_all(members);
}

/* ---- mistakes with collections and callbacks -------------------------------------------- */

/* `ints` is Main's last entry but one, so this names the one behind the last. */
static void fire_damaged(void)
{
	CkCallback cb = Main_cb_ints(mainProxy);

	cb.entry = (uint16_t)(cb.entry + 2);
	CkCallbackSend(cb, NULL, 0);
}

static void *ask_branch(void *proxy)
{
	return Member_ckLocalBranch(*(CProxy_Member *)proxy);
}

/* A thread of the program's own, which is no PE. */
static void ask_elsewhere(void)
{
	pthread_t t;

	CHECK(!pthread_create(&t, NULL, ask_branch, &members));
	pthread_join(t, NULL);
}

static void act_bad_call(const char *what)
{
	int three[3] = { 1, 2, 3 };
	CkCallback never;

	if (is(what, "index"))
		Cell_run(Cell_at(cells, 1, 9));
	else if (is(what, "negative"))
		Cell_run(Cell_at(cells, -1, 0));
	else if (is(what, "pe"))
		Member_spin(Member_at(members, CkNumPes()));
	else if (is(what, "unset"))
		Cell_run(Cell_at(unset, 0, 0));
	else if (is(what, "unset-all"))
		Cell_run_all(unset);
	else if (is(what, "branch-unset"))
		Cell_ckLocal(Cell_at(unset, 0, 0));
	else if (is(what, "branch-made-up"))
		Member_ckLocalBranch((CProxy_Member){ { members.ck.id + 1000 } });
	else if (is(what, "branch-node-made-up"))
		Shared_ckLocalBranch((CProxy_Shared){ { members.ck.id + 1000 } });
	else if (is(what, "branch-of-another"))
		Shared_ckLocalBranch((CProxy_Shared){ members.ck });
	else if (is(what, "branch-thread"))
		ask_elsewhere();
	else if (is(what, "group-dep"))
		Member_spin_opt(&(CkEntryOptions){ .group_dep = { 7ull << 32 } }, Member_at(members, 0));
	else if (is(what, "length"))
		Cell_take(Cell_at(cells, 0, 0), -1, NULL);
	else if (is(what, "dims"))
		Cell_ckNew(CkDims(4));
	else if (is(what, "extent"))
		Cell_ckNew(CkDims(4, 0));
	else if (is(what, "map"))
		Cell_ckNew_opt(&(CkArrayOptions){ .dims = CkDims(2, 2), .map = "nowhere" });
	else if (is(what, "callback-type"))
		CkCallbackSendTyped(Main_cb_oneInt(mainProxy), CK_DOUBLE, (double[]){ 1 }, 1);
	else if (is(what, "callback-count"))
		CkCallbackSendTyped(Main_cb_twoInts(mainProxy), CK_INT, three, 3);
	else if (is(what, "callback-bytes"))
		CkCallbackSend(Main_cb_ints(mainProxy), three, 7);
	else if (is(what, "dims-group"))
		CkGetArrayDims(members.ck);
	else if (is(what, "dims-unknown"))
		CkGetArrayDims((CkArrayID){ cells.ck.id + 1000 });
	else if (is(what, "assert"))
		CkAssert(three[0] == 1 && three[1] % 2 == 1);
	else if (is(what, "callback-unset"))
		CkCallbackSend((memset(&never, 0, sizeof never), never), NULL, 0);
	else if (is(what, "callback-damaged"))
		fire_damaged();
}

/* Every type but the one that is given: doubles, and ints to doubles. */
static void act_want(const char *type)
{
	static const struct { const char *name; CkCallback (*cb)(CProxy_Main); } wants[] = {
		{ "chars", Main_cb_want_chars },
		{ "shorts", Main_cb_want_shorts },
		{ "ints", Main_cb_oneInt },
		{ "longs", Main_cb_want_longs },
		{ "longLongs", Main_cb_want_longLongs },
		{ "uchars", Main_cb_want_uchars },
		{ "ushorts", Main_cb_want_ushorts },
		{ "uints", Main_cb_want_uints },
		{ "ulongs", Main_cb_want_ulongs },
		{ "ulongLongs", Main_cb_want_ulongLongs },
		{ "floats", Main_cb_want_floats },
		{ "doubles", Main_cb_want_doubles },
		{ "bools", Main_cb_want_bools },
	};
	double d = 1;
	int i = 1;

	for (size_t k = 0; k < sizeof wants / sizeof *wants; k++) {
		if (!is(wants[k].name, type))
			continue;
		if (is(type, "doubles"))
			CkCallbackSendTyped(wants[k].cb(mainProxy), CK_INT, &i, 1);
		else
			CkCallbackSendTyped(wants[k].cb(mainProxy), CK_DOUBLE, &d, 1);
	}
}

/* Elements disagree about one reduction: in its operation, its size, its target, or in a target
 * that lets it go another way. */
static void contribute_more(void *self, const char *what, int odd)
{
	int v[2] = { 1, 1 };
	CkTupleElement e[2] = { { CkReduction_sum_int, 1, v },
				{ odd ? CkReduction_min_int : CkReduction_max_int, 2, v } };
	CkTupleElement nested = { CkReduction_tuple, 2, e };

	if (is(what, "reduce-tuple"))
		CkContributeTuple(self, e, 2, CkCallbackIgnore());
	else if (is(what, "scan-kind"))
		CkScan(self, v, 1, CkReduction_sum_int, odd, CkCallbackIgnore());
	else if (is(what, "scan-op"))
		CkScan(self, v, 4, CkReduction_concat, CK_SCAN_INCLUSIVE, CkCallbackIgnore());
	else if (is(what, "scan-type"))
		CkScan(self, v, 1, CkReduction_sum_int, CK_SCAN_INCLUSIVE,
		       Main_cb_want_floats(mainProxy));
	else if (is(what, "contribute-set"))
		CkContribute(self, v, 4, CkReduction_set, Main_cb_oneInt(mainProxy));
	else if (is(what, "contribute-tuple"))
		CkContribute(self, &nested, 1, CkReduction_tuple, CkCallbackIgnore());
	else if (is(what, "contribute-unknown"))
		CkContribute(self, v, 1, CkReduction_most, CkCallbackIgnore());
	else if (is(what, "contribute-noname"))
		CkContribute(self, v, 1, CkReducer("nobody's"), CkCallbackIgnore());
	else if (is(what, "contribute-late"))
		CkRegisterValueReducer("late", 4, NULL, NULL, false);
}

static void contribute(void *self, const char *what, int odd)
{
	int v[2] = { 1, 1 };
	CkReduction op = odd && is(what, "reduce-op") ? CkReduction_max_int : CkReduction_sum_int;

	CkCallback cb = Main_cb_oneInt(mainProxy);

	if (odd && is(what, "reduce-target"))
		cb = CkCallbackIgnore();
	else if (odd && is(what, "reduce-route"))
		cb = Cell_cb_run_all(cells);
	if (is(what, "reduce-count"))
		cb = Main_cb_ints(mainProxy);
	if (strncmp(what, "reduce-", 7) != 0 || is(what, "reduce-tuple")) {
		contribute_more(self, what, odd);
		return;
	}
	if (is(what, "reduce-type"))
		cb = Main_cb_want_doubles(mainProxy);
	CkContribute(self, v, odd && is(what, "reduce-count") ? 2 : 1, op, cb);
}

static void act(const char *what)
{
	if (is(what, "exit")) {
		CkExit(number);
		CkPrintf("after CkExit\n");
	} else if (is(what, "twice")) {
		CkExit(0);
		CkExit(number);
	} else if (is(what, "abort")) {
		CkAbort("this is the end, %d", number);
	} else if (is(what, "crash")) {
		raise(SIGSEGV);
	} else if (is(what, "readonly")) {
		number++;
		CkExit(0);
	} else if (is(what, "keep-twice")) {
		CkKeepMsg();
		CkKeepMsg();
	} else if (strncmp(what, "want-", 5) == 0) {
		act_want(what + 5);
	} else {
		act_bad_call(what);
	}
}

void Shared_on_new(Shared *self) { (void)self; }
void Member_on_new(Member *self) { (void)self; }
void Member_on_spin(Member *self) { Member_spin(Member_thisElement(self)); }

/* Work of our own keeps the PE busy until the end. */
void Member_on_act(Member *self, const char *what)
{
	Member_spin(Member_thisElement(self));
	act(what);
}

void Cell_on_new(Cell *self) { (void)self; }
void Cell_on_run(Cell *self) { (void)self; }

void Cell_on_take(Cell *self, int n, const double *v)
{
	(void)self, (void)n, (void)v;
}

void Cell_on_act(Cell *self, const char *what)
{
	contribute(self, what, Cell_thisIndex(self).y == 1);
}

/* ---- what must not be reached --------------------------------------------------------------- */

static void reached(void) { CkExit(99); }
void Main_on_oneInt(Main *self, int x) { (void)self, (void)x; reached(); }
void Main_on_want_chars(Main *self, char x) { (void)self, (void)x; reached(); }
void Main_on_want_shorts(Main *self, short x) { (void)self, (void)x; reached(); }
void Main_on_want_longs(Main *self, long x) { (void)self, (void)x; reached(); }
void Main_on_want_longLongs(Main *self, long long x) { (void)self, (void)x; reached(); }
void Main_on_want_uchars(Main *self, unsigned char x) { (void)self, (void)x; reached(); }
void Main_on_want_ushorts(Main *self, unsigned short x) { (void)self, (void)x; reached(); }
void Main_on_want_uints(Main *self, unsigned x) { (void)self, (void)x; reached(); }
void Main_on_want_ulongs(Main *self, unsigned long x) { (void)self, (void)x; reached(); }
void Main_on_want_ulongLongs(Main *self, unsigned long long x) { (void)self, (void)x; reached(); }
void Main_on_want_floats(Main *self, float x) { (void)self, (void)x; reached(); }
void Main_on_want_doubles(Main *self, double x) { (void)self, (void)x; reached(); }
void Main_on_want_bools(Main *self, bool x) { (void)self, (void)x; reached(); }
void Main_on_twoInts(Main *self, int x, int y) { (void)self, (void)x, (void)y; reached(); }
void Main_on_ints(Main *self, int n, const int *v) { (void)self, (void)n, (void)v; reached(); }
void Main_on_plain(Main *self, int x) { (void)self, (void)x; reached(); }

/* ---- main ------------------------------------------------------------------------------ */

void Main_on_new(Main *self, CkArgMsg *m)
{
	const char *what = m->argc > 1 ? m->argv[1] : "exit";
	int pe = m->argc > 2 ? atoi(m->argv[2]) : 0;

	mainProxy = Main_thisProxy(self);
	number = m->argc > 3 ? atoi(m->argv[3]) : 7;
	if (is(what, "main-exit")) {
		CkExit(number);
		return;
	}
	if (is(what, "main-abort"))
		CkAbort("in the main chare's constructor");
	if (is(what, "main-reduce"))
		CkContributeBarrier(self, CkCallbackExit());
	members = Member_ckNew();
	cells = Cell_ckNew(CkDims(2, 2));
	if (strncmp(what, "reduce-", 7) == 0 || strncmp(what, "scan-", 5) == 0 ||
	    strncmp(what, "contribute-", 11) == 0)
		Cell_act_all(cells, what);
	else if (is(what, "sleep"))
		CkPrintf("pid of node 0: %d\n", (int)getpid());
	else
		Member_act(Member_at(members, pe), what);
}

#include "ends.def.h"
