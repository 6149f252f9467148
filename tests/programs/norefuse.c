/* SPDX-License-Identifier: Apache-2.0 */
/*
 * norefuse DIR ROW: something that a checkpoint cannot save is begun. A checkpoint is refused, the
 * thing is ended, and the next checkpoint is taken. A job that starts from it prints the same line.
 */
#include "check.h"
#include "csd.h"
#include "cth.h"
#include "ckdirect.h"
#include "ckglobal.h"

#include <string.h>

#include "norefuse.decl.h"

struct Main { int row, stage, n; char dir[256]; };
struct Member { int n; };
struct Cell { int n; };
struct Shared { int gate; };
struct Bare { int n; };
struct Plain { int n; };

enum row { TIMER, HOOK, THREAD, PLAIN_THREAD, CHANNEL, BUFFER, COMPLETION, SECTION, FENCE, FUNCTION,
	   FUTURE, REDUCTION, SCAN, SYNC, LENT, CONDITION, CHARE, ARRAY, MEMORY, STORED, STORES, ROWS };
static const char *const names[ROWS] = {
	[TIMER] = "timer", [HOOK] = "hook", [THREAD] = "thread", [PLAIN_THREAD] = "plain-thread",
	[CHANNEL] = "channel", [BUFFER] = "buffer", [COMPLETION] = "completion", [SECTION] = "section",
	[FENCE] = "fence", [FUNCTION] = "function", [FUTURE] = "future", [REDUCTION] = "reduction",
	[SCAN] = "scan", [SYNC] = "sync", [LENT] = "lent",
	[CONDITION] = "condition", [CHARE] = "chare", [ARRAY] = "array", [MEMORY] = "memory",
	[STORED] = "stored", [STORES] = "stores",
};
enum { CELLS = 6 };

/* What is begun, on the last PE or on PE 0. Each row has its own job. */
static bool stopped;
static int hook;
static CthThread thread;
static CkFuture future;
static CkDirectHandle handle;
static CkCompletion detector;
static CProxySection_Cell section;
static double row_of[4];
static CProxy_Bare bare;
static CProxy_Plain plains;
static CkGlobal memory;

/* ---- the main chare -------------------------------------------------------------------------- */

enum { BEGUN, REFUSED, ENDED };

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	memset(self, 0, sizeof *self);
	CHECK_EQ(m->argc, 3);
	strncpy(self->dir, m->argv[1], sizeof self->dir - 1);
	while (self->row < ROWS && strcmp(names[self->row], m->argv[2]))
		self->row++;
	CHECK(self->row < ROWS);
	members = Member_ckNew();
	cells = Cell_ckNew(CkDims(CELLS));
	shared = Shared_ckNew();
	Member_begin(Member_at(members, CkNumPes() - 1), self->row);
	CkStartQD(Main_cb_rest(mainProxy));
}

static void called(void *ctx, const CkReductionMsg *m)
{
	(void)ctx, (void)m;
	Main_over(mainProxy);
}

void Main_on_rest(Main *self)
{
	if (self->stage != BEGUN || self->row != FUNCTION) {
		CkStartCheckpoint(self->dir, Main_cb_saved(mainProxy));
		return;
	}
	/* In memory, because the function is called while a folder is made. */
	CkStartQD(CkCallbackFunction(called, NULL));
	CkStartMemCheckpoint(Main_cb_saved(mainProxy));
}

void Main_on_saved(Main *self, int status)
{
	if (self->stage == BEGUN) {
		CHECK_EQ(status, CK_CHECKPOINT_REFUSED);
		self->stage = REFUSED;
		Member_end(Member_at(members, CkNumPes() - 1), self->row);
		return;
	}
	CHECK(status == CK_CHECKPOINT_SUCCESS || status == CK_CHECKPOINT_RESTARTED);
	self->stage = ENDED;
	CHECK_EQ(self->n, 1);
	Cell_add_all(cells);
}

/* What was begun is over. */
void Main_on_over(Main *self)
{
	self->n++;
	CkStartQD(Main_cb_rest(mainProxy));
}

void Main_on_sum(Main *self, long v)
{
	if (self->stage != ENDED) {
		Main_on_over(self);
		return;
	}
	CkPrintf("norefuse: %s, %ld\n", names[self->row], v);
	CkExit(0);
}

void Main_on_all(Main *self) { Main_on_over(self); }
void Main_on_started(Main *self) { (void)self; }
void Main_on_produced(Main *self) { (void)self; }

/* ---- begun and ended ------------------------------------------------------------------------- */

static void tick(void *ctx)
{
	if (stopped)
		Main_over(mainProxy);
	else
		CcdCallFnAfter(tick, ctx, 5);
}

static void on_hook(void *ctx) { (void)ctx; }

static void suspended(void *ctx)
{
	(void)ctx;
	thread = CthSelf();
	CthSuspend();
	Main_over(mainProxy);
}

static void arrived(void *ctx) { (void)ctx; }

static void begin_section(void)
{
	CkIndex list[CELLS];

	for (int i = 0; i < CELLS; i++)
		list[i] = Cell_index(i);
	section = Cell_ckSection(cells, list, CELLS);
	Cell_add_to(Cell_at(cells, 1), section);
}

void Member_on_new(Member *self) { self->n = 0; }

void Member_on_begin(Member *self, int row)
{
	self->n = row == LENT;
	switch ((enum row)row) {
	case TIMER:
		CcdCallFnAfter(tick, NULL, 5);
		break;
	case HOOK:
		hook = CcdCallOnConditionKeep(CcdPERIODIC_1s, on_hook, NULL);
		break;
	case THREAD:
		Member_waits(Member_at(members, CkMyPe()));
		break;
	case PLAIN_THREAD:
		CthAwaken(CthCreate(suspended, NULL, 0));
		break;
	case CHANNEL:
		handle = CkDirect_createHandleSeq(row_of, sizeof row_of, arrived, NULL);
		break;
	case BUFFER:
		CkPostBuffer(row_of, sizeof row_of, 4);
		break;
	case COMPLETION:
		detector = CkCompletionCreate();
		CkCompletionStart(detector, 1, Main_cb_started(mainProxy), Main_cb_produced(mainProxy),
				  Main_cb_over(mainProxy), 0);
		break;
	case SECTION:
		begin_section();
		break;
	case FENCE:
		Cell_fence(Cell_at(cells, 1));
		break;
	case FUTURE:
		future = CkCreateFuture();
		break;
	case REDUCTION:
		Cell_add(Cell_at(cells, 2));
		break;
	case SCAN:
		Cell_scan(Cell_at(cells, 2));
		break;
	case SYNC:
		Cell_ask(Cell_at(cells, 3));
		break;
	case LENT:
		Member_late(Member_at(members, CkMyPe()), 4, CkSendBufferCb(row_of, Main_cb_over(mainProxy)));
		break;
	case CONDITION:
		Shared_late(Shared_at(shared, CkMyNode()));
		break;
	case CHARE:
		bare = Bare_ckNew(CkMyPe());
		break;
	case ARRAY:
		plains = Plain_ckNew(CkDims(CELLS));
		break;
	case MEMORY:
		memory = CkGlobalAlloc(100);
		break;
	case STORED:
		CkStore(CkGlobalOf(row_of), &row_of[1], sizeof row_of[1]);
		break;
	case STORES:
		CkStoreSyncThen(sizeof row_of[1], Main_cb_over(mainProxy));
		break;
	default:
		break;
	}
}

static void end_rest(int row)
{
	for (int i = 0; i < CELLS; i++) {
		if (row == SECTION && i != 1)
			Cell_add_to(Cell_at(cells, i), section);
		if (row == REDUCTION && i != 2)
			Cell_add(Cell_at(cells, i));
		if (row == SCAN && i != 2)
			Cell_scan(Cell_at(cells, i));
	}
}

void Member_on_end(Member *self, int row)
{
	self->n = 0;
	switch ((enum row)row) {
	case TIMER:
		stopped = true;
		break;
	case HOOK:
		CcdCancelCallOnCondition(CcdPERIODIC_1s, hook);
		Main_over(mainProxy);
		break;
	case THREAD:
	case PLAIN_THREAD:
		CthAwaken(thread);
		break;
	case CHANNEL:
		CkDirect_destroyHandle(&handle);
		Main_over(mainProxy);
		break;
	case BUFFER:
		Member_take(Member_at(members, CkMyPe()), 4, CkSendBuffer(row_of));
		break;
	case COMPLETION:
		CkCompletionDone(detector);
		break;
	case FENCE:
		for (int i = 0; i < CELLS; i++)
			if (i != 1)
				Cell_fence(Cell_at(cells, i));
		break;
	case FUTURE:
		CkReleaseFuture(future);
		Main_over(mainProxy);
		break;
	case SYNC:
		CthAwaken(thread);
		break;
	case CONDITION:
		Shared_open(Shared_at(shared, CkMyNode()));
		break;
	case CHARE:
		Bare_end(bare);
		break;
	case ARRAY:
		Plain_end_all(plains);
		break;
	case MEMORY:
		CkGlobalFree(memory);
		Main_over(mainProxy);
		break;
	case STORED:
		CkStoreSyncThen(sizeof row_of[1], Main_cb_over(mainProxy));
		break;
	case STORES:
		CkStoreValue(CkGlobalOf(row_of), 1.5);
		break;
	default:
		end_rest(row);
	}
}

void Member_on_waits(Member *self)
{
	(void)self;
	suspended(NULL);
}

void Member_on_take_post(Member *self, int n, double **v, CkNcpyBufferPost *post)
{
	(void)self, (void)n, (void)v;
	CkMatchBuffer(post, 0, 4);
}

void Member_on_take(Member *self, int n, double *v)
{
	(void)self;
	CHECK(n == 4 && v == row_of);
	Main_over(mainProxy);
}

void Member_on_late(Member *self, int n, const double *v) { (void)self, (void)n, (void)v; }

/* ---- of a node, and without pup -------------------------------------------------------------- */

void Shared_on_new(Shared *self) { self->gate = 0; }
void Shared_on_open(Shared *self) { self->gate = 1; }
void Shared_on_late(Shared *self)
{
	(void)self;
	Main_over(mainProxy);
}

void Bare_on_new(Bare *self) { self->n = 0; }
void Bare_on_end(Bare *self)
{
	CkDestroy(self);
	Main_over(mainProxy);
}

void Plain_on_new(Plain *self) { self->n = 0; }
void Plain_on_end(Plain *self)
{
	if (Plain_thisIndex(self) == 0)
		Main_over(mainProxy);
	CkDestroy(self);
}

/* ---- elements -------------------------------------------------------------------------------- */

void Cell_on_new(Cell *self) { self->n = Cell_thisIndex(self); }

void Cell_on_fence(Cell *self)
{
	CkFenceWait(self);
	if (Cell_thisIndex(self) == 0)
		Main_over(mainProxy);
}

void Cell_on_add(Cell *self)
{
	const long v = self->n;

	CkContribute(self, &v, 1, CkReduction_sum_long, Main_cb_sum(mainProxy));
}

void Cell_on_add_to(Cell *self, CProxySection_Cell s)
{
	CkContributeSection(self, s.ck, NULL, 0, CkReduction_nop, Main_cb_all(mainProxy));
}

void Cell_on_scan(Cell *self)
{
	const long v = 1;

	CkScan(self, &v, 1, CkReduction_sum_long, CK_SCAN_INCLUSIVE,
	       Cell_cb_before(Cell_thisElement(self)));
}

void Cell_on_before(Cell *self, long v)
{
	CHECK_EQ(v, Cell_thisIndex(self) + 1);
	if (v == CELLS)
		Main_over(mainProxy);
}

int Cell_on_answer(Cell *self)
{
	(void)self;
	thread = CthSelf();
	CthSuspend();
	return 7;
}

void Cell_on_ask(Cell *self)
{
	(void)self;
	CHECK_EQ(Cell_answer_sync(Cell_at(cells, CELLS - 1)), 7);
	Main_over(mainProxy);
}

#include "norefuse.def.h"
