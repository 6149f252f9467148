/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mega_immediate: three messages go round the job many times: one by [immediate] calls from node to
 * node, one by [expedited] calls from PE to PE, and one below the chares. Each ring reports its end
 * by a Converse message to PE 0. Expedited and immediate calls overtake what waits in the PE's
 * queue.
 */
#include <stdatomic.h>

#include "mega.h"

#include "csd.h"
#include "mega_immediate.decl.h"

/* A run consists of three rings, and of calls that are overtaken. */
enum { LAPS = 50, PARTS = 4, LATER = 20 };

struct Main { struct mega runs; int n_finished; };
struct NodeRing { atomic_int starts; };
struct PeRing { int starts, laters; };

/* The same below the chares. */
struct cmi_token { struct cmi_msg head; int iter, hops; char text[8]; };

static int h_ring, h_finish;

/* ---- the end of a ring ----------------------------------------------------------------------- */

static void report_finish(void)
{
	struct cmi_token *t = CmiAlloc(sizeof *t);

	CmiSetHandler(t, h_finish);
	CmiSyncSendAndFree(0, sizeof *t, t);
}

static void on_finish(struct pe *pe, struct cmi_msg *m)
{
	(void)pe;
	CHECK_EQ(CkMyPe(), 0);
	CmiFree(m);
	Main_finish(mainProxy);
}

/* ---- rings of chares ------------------------------------------------------------------------- */

/* A message that has come to place `me` of `n`; true if it must go on. */
static bool goes_on(Token *t, int me, int n)
{
	if (strcmp(t->text, "Round!") != 0)
		CkAbort("mega_immediate: message corrupted: \"%.8s\"", t->text);
	CHECK_EQ(t->hops % n, me);
	CHECK_EQ(t->hops / n, t->iter - (me > 0));
	if (me == 0 && t->iter == LAPS) {
		CkFreeMsg(t);
		report_finish();
		return false;
	}
	t->iter += me == 0;
	t->hops++;
	return true;
}

void NodeRing_on_new(NodeRing *self) { (void)self; }

void NodeRing_on_start(NodeRing *self, Token *t)
{
	CHECK_EQ(NodeRing_thisIndex(self), CkMyNode());
	/* Relaxed: a PE must see only what it has counted itself. */
	atomic_fetch_add_explicit(&self->starts, 1, memory_order_relaxed);
	if (goes_on(t, CkMyNode(), CkNumNodes()))
		NodeRing_start(NodeRing_at(NodeRing_thisProxy(self), (CkMyNode() + 1) % CkNumNodes()), t);
}

void PeRing_on_new(PeRing *self) { (void)self; }

void PeRing_on_start(PeRing *self, Token *t)
{
	self->starts++;
	if (goes_on(t, CkMyPe(), CkNumPes()))
		PeRing_start(PeRing_at(PeRing_thisProxy(self), (CkMyPe() + 1) % CkNumPes()), t);
}

static int node_starts(void)
{
	/* Relaxed: as above. */
	return atomic_load_explicit(&NodeRing_ckLocalBranch(nodeRing)->starts, memory_order_relaxed);
}

/* Was called before the expedited and the immediate call that have made it so many. */
void PeRing_on_later(PeRing *self, int pe_starts, int n_node)
{
	CHECK(self->starts >= pe_starts);
	CHECK(node_starts() >= n_node);
	if (++self->laters % LATER == 0)
		Main_finish(mainProxy);
}

/* ---- and of messages below them -------------------------------------------------------------- */

static void on_ring(struct pe *pe, struct cmi_msg *m)
{
	struct cmi_token *t = (struct cmi_token *)m;

	(void)pe;
	if (strcmp(t->text, "Round!") != 0)
		CkAbort("mega_immediate: Converse message corrupted: \"%.8s\"", t->text);
	CHECK_EQ(t->hops % CmiNumPes(), CmiMyPe());
	CHECK_EQ(m->size, sizeof *t);
	if (CmiMyPe() == 0 && t->iter == LAPS) {
		CHECK_EQ(t->hops, LAPS * CmiNumPes());
		CmiFree(t);
		report_finish();
		return;
	}
	t->iter += CmiMyPe() == 0;
	t->hops++;
	CmiSyncSendAndFree((CmiMyPe() + 1) % CmiNumPes(), sizeof *t, t);
}

void register_handlers(void)
{
	h_ring = CmiRegisterHandler("mega_immediate ring", on_ring);
	h_finish = CmiRegisterHandler("mega_immediate finish", on_finish);
}

/* ---- main ------------------------------------------------------------------------------------ */

static Token *make(void)
{
	Token *t = Token_alloc();

	strcpy(t->text, "Round!");
	t->iter = t->hops = 0;
	return t;
}

static void begin(int no)
{
	struct cmi_token *t = CmiAlloc(sizeof *t);
	const PeRing *mine = PeRing_ckLocalBranch(peRing);

	(void)no;
	for (int i = 0; i < LATER; i++)
		PeRing_later(PeRing_at(peRing, 0), mine->starts + 1, node_starts() + 1);
	NodeRing_start(NodeRing_at(nodeRing, 0), make());
	PeRing_start(PeRing_at(peRing, 0), make());
	strcpy(t->text, "Round!");
	t->iter = t->hops = 0;
	CmiSetHandler(t, h_ring);
	CmiSyncSendAndFree(0, sizeof *t, t);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	nodeRing = NodeRing_ckNew();
	peRing = PeRing_ckNew();
	mega_start(&self->runs, begin);
}

void Main_on_finish(Main *self)
{
	const PeRing *mine = PeRing_ckLocalBranch(peRing);

	if (++self->n_finished % PARTS != 0 || !mega_ended(&self->runs, begin))
		return;
	/* Each ring has come to PE 0 once more than it has left it. */
	CHECK_EQ(mine->starts, MEGA_RUNS * (LAPS + 1));
	CkPrintf("mega_immediate: %d rings on %d nodes\n", MEGA_RUNS * (PARTS - 1), CkNumNodes());
	CkExit(0);
}

#include "mega_immediate.def.h"
