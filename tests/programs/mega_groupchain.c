/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mega_groupchain: everybody who can make a group makes one: the main chare in its constructor and
 * later; members, branches and chares in their constructors; elements, threads, and handlers below
 * the chares. The maker uses its PE's branch at once. Then word of the group walks from PE to PE,
 * each time by another kind of call, message, answer, callback or creation. Whoever hears of the
 * group uses the local branch without asking whether it is there. The group's creation is a large
 * message, so word of it is often faster. A nodegroup whose constructor uses the group walks along.
 *
 * The first argument is the seed of the walks.
 */
#include <stdatomic.h>

#include "check.h"
#include "csd.h"
#include "cth.h"

#include "mega_groupchain.decl.h"

enum { HOPS = 15, BALLAST = 3000, MAX_WALKS = 1000 };
/* Who makes a group. The walk's number is 100 times that, plus the PE. */
enum {
	BY_MAIN, BY_MAIN_LATER, BY_MEMBER, BY_BRANCH, BY_CHARE, BY_ELEMENT, BY_THREAD, BY_HANDLER, MAKERS
};

struct Main {
	long expected, thing_uses, node_thing_uses;
	int n_walks, n_ended, n_reports;
	walk ended[MAX_WALKS];
};
struct Thing { bool born; int no; long uses; };
struct NodeThing { bool born; int no; atomic_long uses; };
struct Starter { char unused; };
struct NodeStarter { char unused; };
struct Single { char unused; };
struct Walker { int n_open; };
struct Hub { int n_kept; walk kept[MAKERS * 4]; };
struct NodeHub { char unused; };
struct Visitor { char unused; };
struct Late { char unused; };
struct Relay { char unused; };
struct Fleet { char unused; };

static void go_on(walk w);

/* ---- the group and the nodegroup ------------------------------------------------------------- */

void Thing_on_new(Thing *self, int no, int n, const int *ballast)
{
	for (int i = 0; i < n; i++)
		CHECK_EQ(ballast[i], no + i);
	self->no = no;
	self->born = true;
}

void NodeThing_on_new(NodeThing *self, int no, CkGroupID thing, int n, const int *ballast)
{
	const Thing *t = Thing_ckLocalBranch((CProxy_Thing){thing});

	CHECK(t->born);
	CHECK_EQ(t->no, no);
	for (int i = 0; i < n; i++)
		CHECK_EQ(ballast[i], no + i);
	self->no = no;
	self->born = true;
}

/* The branches of this PE and of its node are there. */
static void use(walk w)
{
	Thing *t = Thing_ckLocalBranch((CProxy_Thing){w.thing});
	NodeThing *n = NodeThing_ckLocalBranch((CProxy_NodeThing){w.node_thing});

	CHECK(t->born);
	CHECK_EQ(t->no, w.no);
	t->uses++;
	CHECK(n->born);
	CHECK_EQ(n->no, w.no);
	/* Relaxed: the counts are read after quiescence, which orders them. */
	atomic_fetch_add_explicit(&n->uses, 1, memory_order_relaxed);
}

void Thing_on_report(Thing *self)
{
	long v[2] = {self->uses, 0};

	CkContribute(self, v, 2, CkReduction_sum_long, Main_cb_used(mainProxy));
}

void NodeThing_on_report(NodeThing *self)
{
	/* Relaxed: see use. */
	long v[2] = {0, atomic_load_explicit(&self->uses, memory_order_relaxed)};

	CkContribute(self, v, 2, CkReduction_sum_long, Main_cb_used(mainProxy));
}

/* ---- making them ----------------------------------------------------------------------------- */

static void make(int maker)
{
	walk w = {.no = maker * 100 + CkMyPe(), .left = HOPS};
	int ballast[BALLAST];

	for (int i = 0; i < BALLAST; i++)
		ballast[i] = w.no + i;
	w.random = check_mix(seed + (uint64_t)w.no);
	w.thing = Thing_ckNew(w.no, BALLAST, ballast).ck;
	CHECK(Thing_ckLocalBranch((CProxy_Thing){w.thing})->born);
	w.node_thing = NodeThing_ckNew(w.no, w.thing, BALLAST, ballast).ck;
	go_on(w);
}

void Starter_on_new(Starter *self) { (void)self; make(BY_MEMBER); }
void NodeStarter_on_new(NodeStarter *self) { (void)self; make(BY_BRANCH); }
void Single_on_new(Single *self) { make(BY_CHARE); CkDestroy(self); }
void Walker_on_make(Walker *self) { (void)self; make(BY_ELEMENT); }

void Walker_on_makeInThread(Walker *self)
{
	(void)self;
	CthYield();
	make(BY_THREAD);
}

static int h_make, h_come;
struct cmi_walk { struct cmi_msg head; walk w; };

static void on_make(struct pe *pe, struct cmi_msg *m)
{
	(void)pe;
	CmiFree(m);
	make(BY_HANDLER);
}

/* ---- ways ------------------------------------------------------------------------------------ */

static void on_come(struct pe *pe, struct cmi_msg *m)
{
	walk w = ((struct cmi_walk *)m)->w;

	(void)pe;
	CmiFree(m);
	go_on(w);
}

void register_handlers(void)
{
	h_make = CmiRegisterHandler("mega_groupchain make", on_make);
	h_come = CmiRegisterHandler("mega_groupchain come", on_come);
}

void Walker_on_new(Walker *self) { (void)self; }
void Walker_on_come(Walker *self, walk w) { (void)self; go_on(w); }
void Walker_on_hurry(Walker *self, walk w) { (void)self; go_on(w); }
void Walker_on_step(Walker *self, walk w) { (void)self; go_on(w); }
void Walker_on_crowd(Walker *self, walk w) { (void)self; go_on(w); }
void Walker_on_wait(Walker *self, walk w) { self->n_open--; go_on(w); }
void Walker_on_opens(Walker *self) { self->n_open++; }
void Hub_on_new(Hub *self) { (void)self; }
void Hub_on_come(Hub *self, walk w) { (void)self; go_on(w); }
void NodeHub_on_new(NodeHub *self) { (void)self; }
void NodeHub_on_come(NodeHub *self, walk w) { (void)self; go_on(w); }
void NodeHub_on_alone(NodeHub *self, walk w) { (void)self; go_on(w); }
void NodeHub_on_rush(NodeHub *self, walk w) { (void)self; go_on(w); }
void Visitor_on_new(Visitor *self, walk w) { go_on(w); CkDestroy(self); }
void Late_on_new(Late *self, walk w) { (void)self; go_on(w); }

/* If the branch is constructed within this handler, the handler's message stays what it is. */
void Walker_on_carry(Walker *self, Parcel *p)
{
	walk w = p->w;

	(void)self;
	go_on(w);
	CHECK_EQ(CkGetRefNum(NULL), w.no);
	for (int i = 0; i < p->n; i++)
		CHECK_EQ(p->filler[i], (char)(w.no + i));
}

void Walker_on_arrive(Walker *self, int n, const char *bytes)
{
	walk w;

	(void)self;
	CHECK_EQ(n, sizeof w);
	memcpy(&w, bytes, sizeof w);
	go_on(w);
}

/* Many hear of the group, and one of them tells the next. */
static void heard(walk w, bool goes_on)
{
	if (goes_on)
		go_on(w);
	else
		use(w);
}

void Walker_on_join(Walker *self, walk w, int to) { heard(w, Walker_thisIndex(self) == to); }
void Hub_on_all(Hub *self, walk w, int to) { (void)self; heard(w, CkMyPe() == to); }
void NodeHub_on_all(NodeHub *self, walk w, int to) { heard(w, NodeHub_thisIndex(self) == to); }
void Relay_on_new(Relay *self, walk w, int to) { (void)self; heard(w, CkMyPe() == to); }
void Fleet_on_new(Fleet *self, walk w, int to) { heard(w, Fleet_thisIndex(self) == to); }

/* The answer to a question brings word of the group. */
void Walker_on_fetch(Walker *self, int no, int from)
{
	(void)self;
	go_on(Hub_give_sync(Hub_at(hubs, from), no));
}

walk Hub_on_give(Hub *self, int no)
{
	for (int i = 0; i < self->n_kept; i++)
		if (self->kept[i].no == no) {
			walk w = self->kept[i];

			self->kept[i] = self->kept[--self->n_kept];
			return w;
		}
	CkAbort("mega_groupchain: walk %d is not kept here", no);
}

static void keep(Hub *self, walk w)
{
	CHECK(self->n_kept < (int)(sizeof self->kept / sizeof *self->kept));
	self->kept[self->n_kept++] = w;
}

static Parcel *parcel(walk w)
{
	int n = (int)(w.random % 5000);
	Parcel *p = Parcel_alloc((size_t)n);

	CkSetRefNum(p, w.no);
	p->n = n;
	p->w = w;
	for (int i = 0; i < n; i++)
		p->filler[i] = (char)(w.no + i);
	return p;
}

static void send_to_two(walk w, int to)
{
	int other = (to + 1) % CkNumPes();
	CkIndex list[] = {Walker_index(to), Walker_index(other)};
	CProxySection_Walker s = Walker_ckSection(walkers, list, 2);

	w.uses += other != to;
	Walker_join_section(s, w, to);
	CkSectionDestroy(s.ck);
}

static void send_below(walk w, int to)
{
	struct cmi_walk *m = CmiAlloc(sizeof *m);

	m->w = w;
	CmiSetHandler(m, h_come);
	CmiSyncSendAndFree(to, sizeof *m, m);
}

/* By calls and messages to what is there already. */
static void send_call(walk w, int to, int way)
{
	CProxyElement_Walker e = Walker_at(walkers, to);

	switch (way) {
	case 0: Walker_come(e, w); break;
	case 1: Walker_hurry(e, w); break;
	case 2: Walker_step(e, w); break;
	case 3: Walker_carry(e, parcel(w)); break;
	case 4: CkCallbackSend(Walker_cb_arrive(e), &w, sizeof w); break;
	case 5: Hub_come(Hub_at(hubs, to), w); break;
	case 6: NodeHub_come(NodeHub_at(nodeHubs, CkNodeOf(to)), w); break;
	case 7: NodeHub_alone(NodeHub_at(nodeHubs, CkNodeOf(to)), w); break;
	case 8: NodeHub_rush(NodeHub_at(nodeHubs, CkNodeOf(to)), w); break;
	case 9: send_below(w, to); break;
	case 10: Walker_crowd(e, w); break;
	case 11: Walker_wait(e, w); Walker_opens(e); break;
	}
}
enum { CALLS = 12 };

/* By what is made there, by an answer, and to several PEs at a time. */
static void send_otherwise(walk w, int to, int way)
{
	const int n = CkNumPes();

	switch (way) {
	case 0: Visitor_ckNew(to, w); break;
	case 1: Late_insert(Late_at(lates, w.no * 100 + w.left), to, w); break;
	case 2:
		keep(Hub_ckLocalBranch(hubs), w);
		Walker_fetch(Walker_at(walkers, to), w.no, CkMyPe());
		break;
	case 3: send_to_two(w, to); break;
	case 4: w.uses += n - 1; Hub_all_all(hubs, w, to); break;
	case 5: w.uses += n - 1; Relay_ckNew(w, to); break;
	case 6: w.uses += n - 1; Fleet_ckNew(CkDims(n), w, to); break;
	case 7: w.uses += CkNumNodes() - 1; NodeHub_all_all(nodeHubs, w, CkNodeOf(to)); break;
	}
}
enum { OTHERS = 8 };

static void go_on(walk w)
{
	int to, way;

	use(w);
	w.uses++;
	if (w.left-- == 0) {
		Main_finish(mainProxy, w);
		return;
	}
	w.random = check_mix(w.random);
	to = (int)(w.random / 64 % (uint64_t)CkNumPes());
	way = (int)(w.random % 64 % (CALLS + OTHERS));
	if (way < CALLS)
		send_call(w, to, way);
	else
		send_otherwise(w, to, way - CALLS);
}

/* ---- main ------------------------------------------------------------------------------------ */

static void make_elsewhere(int pe)
{
	struct cmi_msg *m = CmiAlloc(sizeof *m);

	Single_ckNew(pe);
	Walker_make(Walker_at(walkers, pe));
	Walker_makeInThread(Walker_at(walkers, pe));
	CmiSetHandler(m, h_make);
	CmiSyncSendAndFree(pe, sizeof *m, m);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	seed = check_run_seed(m);
	CkPrintf("mega_groupchain: seed %llu\n", (unsigned long long)seed);
	self->n_walks = 2 + 5 * CkNumPes() + CkNumNodes();
	CHECK(self->n_walks <= MAX_WALKS && CkNumPes() <= 100);
	walkers = Walker_ckNew(CkDims(CkNumPes()));
	lates = Late_ckNewEmpty();
	hubs = Hub_ckNew();
	nodeHubs = NodeHub_ckNew();
	make(BY_MAIN);
	Starter_ckNew();
	NodeStarter_ckNew();
	for (int pe = 0; pe < CkNumPes(); pe++)
		make_elsewhere(pe);
	Main_makeLater(mainProxy);
}

void Main_on_makeLater(Main *self)
{
	(void)self;
	make(BY_MAIN_LATER);
}

void Main_on_finish(Main *self, walk w)
{
	self->expected += w.uses;
	self->ended[self->n_ended++] = w;
	if (self->n_ended == self->n_walks)
		CkStartQD(Main_cb_quiet(mainProxy));
}

void Main_on_quiet(Main *self)
{
	for (int i = 0; i < self->n_walks; i++) {
		Thing_report_all((CProxy_Thing){self->ended[i].thing});
		NodeThing_report_all((CProxy_NodeThing){self->ended[i].node_thing});
	}
}

void Main_on_used(Main *self, long thing_uses, long node_thing_uses)
{
	self->thing_uses += thing_uses;
	self->node_thing_uses += node_thing_uses;
	if (++self->n_reports < 2 * self->n_walks)
		return;
	CHECK_EQ(self->thing_uses, self->expected);
	CHECK_EQ(self->node_thing_uses, self->expected);
	CkPrintf("mega_groupchain: %d groups were used %ld times\n", self->n_walks, self->expected);
	CkExit(0);
}

#include "mega_groupchain.def.h"
