/* SPDX-License-Identifier: Apache-2.0 */
/* ends_rest: bulk moves that cannot be carried out, each the end of the job. `ends_rest MISTAKE`.
 * The plans are for two PEs in two processes, with an array of four elements. */
#include "check.h"

#include "ends_rest.decl.h"

enum what { OPEN, TOTAL, FALL, SPARSE, NO_PUP, CHANNEL, NAMED, THREADS, MOVING, UNAWAITED, STRANGER, FEW, LOST, WHATS };
static const char *const names[WHATS] = { "open", "total", "fall", "sparse", "no-pup", "channel", "named", "threads",
	"moving", "unawaited", "stranger", "few", "lost" };

struct Main { int what; };
struct Bound { int unused; };
struct Free { int what; double in[4]; CkDirectHandle handle; };
struct Mover { int unused; };

static void arrived(void *arg) { (void)arg; }

void Bound_on_new(Bound *self) { (void)self; }

void Free_pup(pup_er p, Free *self) { pup_bytes(p, self, sizeof *self); }

void Free_on_new(Free *self, int what)
{
	self->what = what;
	if (what == CHANNEL)
		self->handle = CkDirect_createHandle(self->in, sizeof self->in, 0x7ff8123412341234u, arrived, NULL);
	if (what == NAMED)
		Free_side_from(self, Free_at(Free_thisProxy(self), 3), 0, self->in, sizeof self->in);
}

void Free_on_hello(Free *self) { (void)self; }
void Free_on_side(Free *self, int tag) { (void)self; (void)tag; }

/* For ever. */
void Free_on_wait(Free *self)
{
	(void)self;
	CkWaitFuture(CkCreateFuture());
}

void Mover_on_new(Mover *self) { (void)self; }

static void over(struct pe *pe, struct collection *c, void *arg)
{
	(void)pe;
	(void)c;
	(void)arg;
}

static const uint64_t *cuts_of(int what)
{
	static const uint64_t all_1[] = { 0, 0, 4 }, most_1[] = { 0, 1, 4 }, same[] = { 0, 2, 4 }, short_[] = { 0, 2, 3 },
			      fall[] = { 0, 5, 4 };

	switch (what) {
	case TOTAL: return short_;
	case FALL: return fall;
	/* The PEs have different plans. */
	case UNAWAITED: return CkMyPe() ? same : all_1;
	case STRANGER: return CkMyPe() ? most_1 : all_1;
	case FEW: return CkMyPe() ? all_1 : most_1;
	case LOST: return CkMyPe() ? all_1 : same;
	default: return all_1;
	}
}

void Mover_on_go(Mover *self, int what)
{
	struct pe *pe = csd_self();
	struct collection *c = coll_get(pe, what == NO_PUP ? bounds.ck.id : frees.ck.id);
	struct place_plan plan = { .cuts = cuts_of(what) };

	(void)self;
	if (what == MOVING && !CkMyPe())
		CkMigrateMe(Free_ckLocal(Free_at(frees, 0)), 1);
	if (what != OPEN)
		place_close(pe, c);
	if (what == LOST)
		Free_hello(Free_at(frees, 0));
	place_bulk(pe, c, &plan, over, NULL);
}

void Main_on_quiet(Main *self)
{
	Mover_go_all(movers, self->what);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	while (self->what < WHATS && (m->argc < 2 || strcmp(m->argv[1], names[self->what])))
		self->what++;
	CHECK(self->what < WHATS && CkNumPes() == 2);
	movers = Mover_ckNew();
	bounds = Bound_ckNew(CkDims(4));
	if (self->what == SPARSE) {
		frees = Free_ckNewEmpty();
		for (int i = 0; i < 4; i++)
			Free_insert(Free_at(frees, i), CK_PE_ANY, self->what);
		Free_doneInserting(frees);
	} else {
		frees = Free_ckNew(CkDims(4), self->what);
	}
	if (self->what == THREADS)
		Free_wait(Free_at(frees, 0));
	CkStartQD(Main_cb_quiet(mainProxy));
}

#include "ends_rest.def.h"
