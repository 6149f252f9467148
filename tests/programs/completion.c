/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion: cascades of calls with a fan-out that follows from a seed, so that their sizes are
 * known. When a detector reports the end of a cascade, every call of it must have been counted:
 *	- while other calls go on all the time, so that the job is never quiet,
 *	- with several detections at a time, and one after the other on each detector,
 *	- also where producers begin before anybody has called CkCompletionStart.
 * The last detection lacks one producer. Meanwhile the job gets quiet, so the detector sends nothing.
 *
 * An argument names a wrong use, which must end the job.
 */
#include "check.h"

#include <stdlib.h>

#include "completion.decl.h"

enum { DETECTORS = 3, ROUNDS = 6, DEPTH = 7, ROOTS = 6, LAST = DETECTORS, WALK = 2000 };

struct Main {
	struct process {
		int which, round;
		bool started, produced;
		CkCompletion c;
	} p[DETECTORS + 1];
	int n_over;
	bool waits;
};
struct Node {
	long n_calls[DETECTORS];
	bool hushed;
};

/* ---- the cascades ----------------------------------------------------------------------- */

/* The last process has two long walks: nearly always almost nothing is under way. Each step also makes a call that
 * ends at once. If it overtakes a wave, it stands for the walk, and the sums of that wave alone look complete. */
enum { WALKS = DETECTORS - 1 };
static int roots_of(int which) { return which == WALKS ? 2 : ROOTS; }
static int depth_of(int which) { return which == WALKS ? WALK : DEPTH; }

static int fan_out(int which, uint64_t seed)
{
	return which == WALKS ? 2 : (int)(check_mix(seed) % 4);
}
static int depth_below(int which, int i, int depth) { return which == WALKS && i > 0 ? 0 : depth - 1; }
static uint64_t child(uint64_t seed, int i) { return check_mix(seed + 17 + (uint64_t)i); }
static uint64_t root_seed(uint64_t seed, int k) { return check_mix(seed) + (uint64_t)k; }

static long serial(int which, uint64_t seed, int depth)
{
	long n = 1;

	for (int i = 0; depth && i < fan_out(which, seed); i++)
		n += serial(which, child(seed, i), depth_below(which, i, depth));
	return n;
}

static CProxyElement_Node node_of(uint64_t seed)
{
	return Node_at(nodes, (int)(seed % (unsigned)CkNumPes()));
}

/* A handler that produces while it consumes produces first. */
void Node_on_grow(Node *self, int which, CkCompletion c, uint64_t seed, int depth)
{
	int n = depth ? fan_out(which, seed) : 0;

	self->n_calls[which]++;
	CkCompletionProduce(c, n);
	for (int i = 0; i < n; i++)
		Node_grow(node_of(child(seed, i)), which, c, child(seed, i), depth_below(which, i, depth));
	CkCompletionConsume(c, 1);
}

/* A producer: some of the roots. */
void Node_on_roots(Node *self, int which, CkCompletion c, uint64_t seed, int first, int each)
{
	(void)self;
	for (int k = first; k < roots_of(which); k += each) {
		uint64_t s = root_seed(seed, k);

		CkCompletionProduce(c, 1);
		Node_grow(node_of(s), which, c, s, depth_of(which));
	}
	CkCompletionDone(c);
}

/* Calls that have nothing to do with the detections, until these are over. A job that has lost one
 * of their calls would never end: after NOISE_S seconds it may get quiet, so that the watchdog
 * tells. */
enum { NOISE_S = 8 };

void Node_on_noise(Node *self, int id)
{
	if (!self->hushed && CkWallTimer() < NOISE_S)
		Node_noise(Node_at(nodes, (CkMyPe() + 1) % CkNumPes()), id);
}

void Node_on_hush(Node *self) { self->hushed = true; }
void Node_on_new(Node *self) { (void)self; }

void Node_on_make(Node *self, int which)
{
	(void)self;
	Main_made(mainProxy, which, CkCompletionCreate());
}

/* The result tells which, because one element contributes it. */
void Node_on_count(Node *self, int which)
{
	long v[2] = { Node_thisIndex(self) ? 0 : which, self->n_calls[which] };

	self->n_calls[which] = 0;
	CkContribute(self, v, 2, CkReduction_sum_long, Main_cb_counted(mainProxy));
}

void Node_on_last(Node *self, CkCompletion c)
{
	(void)self;
	CkCompletionDone(c);
}

/* ---- detections --------------------------------------------------------------------------- */

static uint64_t seed_of(const struct process *p)
{
	return (uint64_t)(p->which * 100 + p->round);
}

static int producers_of(const struct process *p)
{
	return 1 + p->round % ROOTS;
}

static void begin(struct process *p)
{
	int n = producers_of(p);

	for (int i = 0; i < n; i++)
		Node_roots(Node_at(nodes, (i + p->which) % CkNumPes()), p->which, p->c, seed_of(p),
			   i, n);
}

static void started(void *ctx, const CkReductionMsg *m)
{
	struct process *p = ctx;

	(void)m;
	CHECK(!p->started);
	p->started = true;
	if (p->round % 2 == 0)
		begin(p);
}

static void produced(void *ctx, const CkReductionMsg *m)
{
	struct process *p = ctx;

	(void)m;
	CHECK(!p->produced);
	p->produced = true;
}

static void finished(void *ctx, const CkReductionMsg *m)
{
	struct process *p = ctx;

	(void)m;
	CHECK(p->started && p->produced);
	Node_count_all(nodes, p->which);
}

/* In odd rounds the producers do not wait to be asked. */
static void start(struct process *p)
{
	p->started = p->produced = false;
	if (p->round % 2)
		begin(p);
	CkCompletionStart(p->c, producers_of(p), CkCallbackFunction(started, p),
			  CkCallbackFunction(produced, p), CkCallbackFunction(finished, p),
			  -p->which);
}

void Main_on_counted(Main *self, int n, const long *v)
{
	struct process *p = &self->p[v[0]];
	long total = 0;

	CHECK_EQ(n, 2);
	for (int k = 0; k < roots_of(p->which); k++)
		total += serial(p->which, root_seed(seed_of(p), k), depth_of(p->which));
	CHECK_EQ(v[1], total);
	if (++p->round < ROUNDS) {
		start(p);
	} else if (++self->n_over == DETECTORS) {
		Node_hush_all(nodes);
		CkStartQD(Main_cb_quiet(mainProxy));
	}
}

/* ---- nothing changes ------------------------------------------------------------------------- */

static void last_finished(void *ctx, const CkReductionMsg *m)
{
	Main *self = ctx;

	(void)m;
	CHECK(self->waits);
	CkPrintf("completion: %d detections on %d PEs\n", DETECTORS * ROUNDS + 1, CkNumPes());
	CkExit(0);
}

/* First the noise is over; then the detection waits for a producer and the job is quiet again. */
void Main_on_quiet(Main *self)
{
	struct process *p = &self->p[LAST];

	if (p->round++ == 0) {
		CkCompletionStart(p->c, 2, CkCallbackIgnore(), CkCallbackIgnore(),
				  CkCallbackFunction(last_finished, self), 0);
		Node_last(Node_at(nodes, 0), p->c);
		CkStartQD(Main_cb_quiet(mainProxy));
		return;
	}
	self->waits = true;
	Node_last(Node_at(nodes, CkNumPes() - 1), p->c);
}

/* ---- wrong use --------------------------------------------------------------------------------- */

static void misuse(const char *what)
{
	CkCompletion c = CkCompletionCreate();
	CkCallback no = CkCallbackIgnore();

	if (!strcmp(what, "unset"))
		CkCompletionProduce((CkCompletion){ 0 }, 1);
	if (!strcmp(what, "negative"))
		CkCompletionProduce(c, -1);
	if (!strcmp(what, "twice"))
		CkCompletionStart(c, 1, no, no, no, 0);
	if (!strcmp(what, "done"))
		CkCompletionDone(c);
	if (!strcmp(what, "consumed"))
		CkCompletionConsume(c, 1);
	CkCompletionStart(c, !strcmp(what, "twice"), no, no, no, 0);
}

/* ---- start -------------------------------------------------------------------------------------- */

void Main_on_made(Main *self, int which, CkCompletion c)
{
	self->p[which].which = which;
	self->p[which].c = c;
	if (which < DETECTORS)
		start(&self->p[which]);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)self;
	mainProxy = Main_thisProxy(self);
	nodes = Node_ckNew(CkDims(CkNumPes()));
	if (m->argc > 1) {
		misuse(m->argv[1]);
		return;
	}
	Node_noise(Node_at(nodes, 0), 0);
	for (int i = 0; i <= DETECTORS; i++)
		Node_make(Node_at(nodes, i % CkNumPes()), i);
}

#include "completion.def.h"
