/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tooearly: what initnode and initproc functions may do and may not, because no chare exists yet. INITNODE=WHAT or
 * INITPROC=WHAT does it; tooearly.cases has the expected output. Where it is no mistake, the exit code is 99.
 */
#include "check.h"

#include <stdio.h>

#include "ckdirect.h"
#include "cth.h"
#include "tooearly.decl.h"

struct Main { int unused; };
struct Cell { int unused; };
struct Member { int unused; };
struct Lone { int unused; };

static CkCallback nobody(void) { return (CkCallback){ .kind = 0 }; }
static void never(void *arg) { (void)arg; }

static void call_go(void) { Cell_Go(Cell_at(cells, 0), 1); }
static void call_go_all(void) { Cell_Go_all(cells, 1); }
static void call_row(void) { Cell_Row(Cell_at(cells, 0), 1, (double[]){ 1 }); }
static void call_ask(void) { Cell_Ask_sync(Cell_at(cells, 0), 1); }
static void call_now(void) { Cell_Now(Cell_at(cells, 0), 1); }
static void call_small(void) { Cell_Small(Cell_at(cells, 0), 1); }
static void call_member(void) { Member_Go(Member_at(members, 0), 1); }
static void call_members(void) { Member_Go_all(members, 1); }
static void call_main(void) { Main_Sum(mainProxy, 1); }
static void call_lone(void) { Lone_Go(lone, 1); }
static void new_array(void) { Cell_ckNew(CkDims(4)); }
static void new_empty(void) { Cell_ckNewEmpty(); }
static void new_group(void) { Member_ckNew(); }
static void new_lone(void) { Lone_ckNew(CK_PE_ANY); }
static void insert(void) { Cell_insert(Cell_at(cells, 0), CK_PE_ANY); }
static void done_inserting(void) { Cell_doneInserting(cells); }
static void alloc(void) { Msg_alloc(); }
static void local(void) { Cell_ckLocal(Cell_at(cells, 0)); }
static void branch(void) { Member_ckLocalBranch(members); }
static void section(void) { Cell_ckSection(cells, &(CkIndex){ { 0, 0, 0 } }, 1); }
static void callback(void) { Cell_cb_Take(Cell_at(cells, 0)); }
static void callback_send(void) { CkCallbackSend(nobody(), NULL, 0); }
static void callback_function(void) { CkCallbackFunction(NULL, NULL); }
static void contribute(void) { CkContribute(&cells, NULL, 0, CkReduction_nop, nobody()); }
static void start_qd(void) { CkStartQD(CkCallbackIgnore()); }
static void future(void) { CkCreateFuture(); }
static void direct(void)
{
	static double buf[4];

	CkDirect_createHandle(buf, sizeof buf, 0, never, NULL);
}
static void cth_yield(void) { CthYield(); }

static const struct early {
	const char *name;
	void (*act)(void);
} table[] = {
	{ "go", call_go }, { "go-all", call_go_all }, { "row", call_row }, { "ask", call_ask }, { "now", call_now },
	{ "small", call_small }, { "member", call_member }, { "members", call_members }, { "main", call_main },
	{ "lone", call_lone }, { "new", new_array }, { "new-empty", new_empty }, { "new-group", new_group },
	{ "new-lone", new_lone }, { "insert", insert }, { "done-inserting", done_inserting }, { "alloc", alloc },
	{ "local", local }, { "branch", branch }, { "section", section }, { "callback", callback },
	{ "callback-send", callback_send }, { "callback-function", callback_function }, { "contribute", contribute },
	{ "qd", start_qd }, { "future", future }, { "direct", direct }, { "yield", cth_yield },
};

static void act(const char *what)
{
	for (size_t i = 0; what && i < sizeof table / sizeof *table; i++)
		if (strcmp(table[i].name, what) == 0)
			table[i].act();
}

void before_pes(void) { act(getenv("INITNODE")); }
void before_chares(void) { act(getenv("INITPROC")); }

void Main_on_new(Main *self, CkArgMsg *m) { CkExit(99); }
void Main_on_Sum(Main *self, int total) { }
void Cell_on_new(Cell *self) { }
void Cell_on_Go(Cell *self, int n) { }
void Cell_on_Row(Cell *self, int n, const double *v) { }
void Cell_on_Take(Cell *self, Msg *m) { }
int Cell_on_Ask(Cell *self, int n) { return n; }
void Cell_on_Now(Cell *self, int n) { }
void Cell_on_Small(Cell *self, int n) { }
void Member_on_new(Member *self) { }
void Member_on_Go(Member *self, int n) { }
void Lone_on_new(Lone *self) { }
void Lone_on_Go(Lone *self, int n) { }

#include "tooearly.def.h"
