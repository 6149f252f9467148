/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_saved.c: arrays of all kinds are saved at rest, and made anew in a job of any number of PEs.
 *
 * The program calls all its elements, in an order that does not depend on where they live, so its
 * sums are the same in each job. Half way each PE writes its block of the image, and the program
 * goes on: nothing may have changed. Another job, of other PEs and nodes, reads the image in place
 * of the first half. The sums at its end have to be the same.
 *
 * Between the halves wait: calls with a condition, a message that the program packs, bodies in an
 * overlap, rounds that lack a call, a call of an element that does not exist, elements in CkAtSync.
 * Elements have moved and have left holes. Named channels are in each state, and a reducing one has
 * half of its parts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "chare_layer.h"
#include "direct_layer.h"
#include "check_run.h"
#include "ckchannel.h"

#include "../../runtime/chare/place/place_save.h"
#include "../../runtime/chare/reduce/reduce.h"
#include "../../runtime/chare/channel/named.h"
#include "test_saved.h"

#define CHECK(what) ((what) ? (void)0 : CkAbort("%s:%d: not true: %s", __FILE__, __LINE__, #what))

enum { LINES = 23, CUBE = 3, MAPPED = 13, WIDE = 4, CUTS = 19, SYNCS = 9, RINGS = 10, ARRAYS = 9,
       LATE = 7, MOST_PES = 8 };

struct Main { int stage, n_sums; long sums[2]; };
struct Hand { int unused; };
struct Line { Sum s; int n; double *v; };
struct Cube { Sum s; };
struct Deep { Sum s; };
struct Mapped { Sum s; };
struct Thin { Sum s; };
struct Grid { Sum s; };
struct Cut { Sum s; };
struct Sync { Sum s; };

static void add(Sum *s, long by);

#define CK_NO_MAIN
#include "test_saved.decl.h"

/* ---- of one pair of jobs --------------------------------------------------------------------- */

static bool restarted;             /* this job reads the image */
static int n_pes_saved;
static long expected[2];           /* of the first job */
static bool known;
static atomic_int n_arrived;

static CProxy_Main mainProxy;
static CProxy_Hand hands;
static CProxy_Line lines;
static CProxy_Cube cubes;
static CProxy_Deep deeps;
static CProxy_Mapped mapped;
static CProxy_Thin thins;
static CProxy_Grid grids;
static CProxy_Cut cuts;
static CProxy_Sync syncs;
static CProxy_Ring rings;
static CProxy_Cut late;           /* made in the second half */

static int reverse(CkIndex i, CkArrayDims dims, int n_pes)
{
	return (dims.n[0] - 1 - i.v[0]) * 2 % n_pes;
}

/* Once a node, before its PEs. */
void register_map(void) { CkRegisterMap("reverse", reverse); }

/* ---- elements -------------------------------------------------------------------------------- */

static void add(Sum *s, long by)
{
	s->sum = (long)((unsigned long)s->sum * 31 + (unsigned long)by);
	s->n++;
}

static void report(void *self, const Sum *s)
{
	const long v[2] = { s->sum, s->n };

	CkContribute(self, v, 2, CkReduction_sum_long, Main_cb_sums(mainProxy));
}

#define ELEMENT(T)                                                                                 \
	void T##_on_new(T *self) { self->s = (Sum){ 0, 0, 0, 0 }; }                                \
	void T##_on_report(T *self) { report(self, &self->s); }
#define CALLED(T)                                                                                  \
	ELEMENT(T)                                                                                 \
	void T##_on_hit(T *self, long by) { add(&self->s, by); }
#define MOVES(T)                                                                                   \
	CALLED(T)                                                                                  \
	void T##_on_go(T *self, int to) { CkMigrateMe(self, to); }

CALLED(Cube)
CALLED(Deep)
MOVES(Mapped)
MOVES(Thin)
MOVES(Grid)
MOVES(Cut)
ELEMENT(Sync)

void Cube_on_end(Cube *self) { CkDestroy(self); }
void Cube_on_arrived(Cube *self) { (void)self, atomic_fetch_add(&n_arrived, 1); }
void Sync_on_at_sync(Sync *self) { CkAtSync(self); }
void Sync_on_resumeFromSync(Sync *self) { add(&self->s, 77); }

#include "../programs/ring.h"

/* ---- the elements with all kinds of calls that wait ------------------------------------------ */

void Line_on_new(Line *self)
{
	self->s = (Sum){ 0, 0, 0, 0 };
	self->n = Line_thisIndex(self) % 4;
	self->v = malloc((size_t)self->n * sizeof *self->v);
	for (int i = 0; i < self->n; i++)
		self->v[i] = i + 0.5;
}

void Line_on_arrived(Line *self)
{
	(void)self;
	atomic_fetch_add(&n_arrived, 1);
}

void Line_on_hit(Line *self, long by)
{
	CHECK(self->n == Line_thisIndex(self) % 4);
	for (int i = 0; i < self->n; i++)
		CHECK(self->v[i] == i + 0.5);
	add(&self->s, by);
}

void Line_on_go(Line *self, int to) { CkMigrateMe(self, to); }
void Line_on_open(Line *self, int gate) { self->s.gate = gate; }
void Line_on_late(Line *self, int no, long by) { (void)no, add(&self->s, by); }
void Line_on_three(Line *self, int no, int n, const Line_three_call *calls)
{
	for (int i = 0; i < n; i++)
		add(&self->s, calls[i].by + no);
}
void Line_on_far(Line *self, Far *m)
{
	add(&self->s, *m->at);
	free(m->at);
}
void Line_on_report(Line *self) { report(self, &self->s); }
void Line_on_scan(Line *self)
{
	const long v = self->s.n;

	CkScan(self, &v, 1, CkReduction_sum_long, CK_SCAN_INCLUSIVE,
	       Line_cb_before(Line_thisElement(self)));
}
void Line_on_before(Line *self, long v) { add(&self->s, v); }

void Line_on_let(Line *self)
{
	free(self->v);
	self->v = NULL;
	self->n = 0;
}

void *Far_pack(Far *m)
{
	long *flat = CkAllocBuffer(m, 2 * sizeof *flat);

	flat[0] = m->no;
	flat[1] = *m->at;
	free(m->at);
	CkFreeMsg(m);
	return flat;
}

static Far *far_new(int no, long value)
{
	Far *m = Far_alloc(0);

	m->no = no;
	m->at = malloc(sizeof *m->at);
	*m->at = value;
	return m;
}

Far *Far_unpack(void *flat)
{
	const long *v = flat;
	Far *m = far_new((int)v[0], v[1]);

	CkFreeMsg(flat);
	return m;
}

/* ---- every PE: the image --------------------------------------------------------------------- */

/* The records that concern arrays: the groups of this test are no part of the image. */
static const int saved_parts[] = { PART_CREATE, PART_PLACE };

#include "check_image.h"

static void refuse_nothing(struct pe *pe)
{
	static const int parts[] = { PART_WAIT, PART_SYNC, PART_FUTURE, PART_CREATE, PART_PLACE,
				     PART_REDUCE, PART_SCAN, PART_NAMED };
	struct csd_told told = { 0 };

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		ck_node_of(pe->node)->parts[parts[i]]->save.refuse(pe, &told);
	for (const struct csd_record *r = NULL; (r = csd_told_next(&told, r));)
		csd_record_print(stderr, r);
	CHECK(!told.n_lines);
	free(told.at);
}

void Hand_on_new(Hand *self) { (void)self; }

void Hand_on_save(Hand *self)
{
	struct pe *pe = csd_self();

	(void)self;
	refuse_nothing(pe);
	CHECK(block_write(pe));
}

static void read_record(struct pe *pe, const struct image_record *r)
{
	for (int i = 0; i < SAVED_PARTS; i++)
		if (part_reads(pe, i, r)) {
			/* Something is missing. */
			CHECK(!r->bytes || part_of(pe, i)->save.read(pe, &r->name, r + 1, r->bytes - 1));
			part_read(pe, i, r);
		}
}

/* Each node learns that it continues a job: after its PEs have started, because the layer would
 * read an image of its own. */
void Hand_on_begin_load(Hand *self)
{
	struct node *node = csd_self()->node;

	(void)self;
	if (csd_self()->local)
		return;
	ck_node_of(node)->restart = (struct ck_restart){ n_pes_saved, 1, MOST_PES };
	node->earlier_pes = MOST_PES;
}

void Hand_on_load(Hand *self)
{
	const struct image_record *r;

	(void)self;
	for (int p = 0; p < n_pes_saved; p++)
		for (size_t at = 0; (r = record_next(&blocks[p], &at));)
			read_record(csd_self(), r);
}

void Hand_on_end_load(Hand *self)
{
	(void)self;
	parts_end_reading(csd_self());
}

/* Each element is on one PE: its home, or where it was if there are as many. */
void Hand_on_where(Hand *self)
{
	struct pe *pe = csd_self();
	const struct image_record *r;

	(void)self;
	for (int p = 0; p < n_pes_saved; p++)
		for (size_t at = 0; (r = record_next(&blocks[p], &at));) {
			const CkIndex i = { { r->name.index[0], r->name.index[1], r->name.index[2] } };
			struct collection *c = coll_get(pe, r->name.coll);

			if (r->name.kind != IMAGE_ELEMENT)
				continue;

			const int on = n_pes_saved == CkNumPes() ? (int)r->name.pe : index_home(pe, c, i);

			CHECK((coll_local(c, i) != NULL) == (pe->id == on));
		}
}

/* ---- every PE: an array gets cuts ------------------------------------------------------------ */

static void moved(struct pe *pe, struct collection *c, void *arg) { (void)pe, (void)c, (void)arg; }

static void open_it(void *arg) { place_open(csd_self(), arg); }

/* Uneven: PE p begins where p squared of the whole does. */
static void cut_all(struct pe *pe, struct collection *c)
{
	const uint64_t n = (uint64_t)CkNumPes();
	uint64_t at[MOST_PES + 1];
	const struct place_plan plan = { .cuts = at, .still = { .any = true } };

	for (uint64_t p = 0; p <= n; p++)
		at[p] = CUTS * p * p / (n * n);
	place_bulk(pe, c, &plan, moved, NULL);
}

void Hand_on_close(Hand *self, int step)
{
	struct pe *pe = csd_self();
	struct collection *c = coll_get(pe, cuts.ck.id);

	(void)self;
	if (step == 0)
		place_close(pe, c);
	else if (step == 1)
		cut_all(pe, c);
	else
		CcdCallFnAfter(open_it, c, 0);
}

/* ---- the program ----------------------------------------------------------------------------- */

static bool has_thin(int x, int y) { return (x * 5 + y) % 3 != 0; }

/* By the last PE, which a later job may not have: its ids stay. */
void Hand_on_make(Hand *self)
{
	(void)self;
	grids = Grid_ckNew_opt(&(CkArrayOptions){
		.start = { -2, 1 }, .end = { 6, 10 }, .step = { 2, 3 } });
}

static void make_arrays(void)
{
	lines = Line_ckNew(CkDims(LINES));
	cubes = Cube_ckNew(CkDims(CUBE, CUBE, CUBE));
	deeps = Deep_ckNew(CkDims(2, 1, 2, 3, 1, 2));
	mapped = Mapped_ckNew_opt(&(CkArrayOptions){ .dims = CkDims(MAPPED), .map = "reverse" });
	thins = Thin_ckNewEmpty();
	Hand_make(Hand_at(hands, CkNumPes() - 1));
	cuts = Cut_ckNew(CkDims(CUTS));
	syncs = Sync_ckNew(CkDims(SYNCS));
	rings = Ring_ckNew(CkDims(RINGS));
	for (int x = 0; x < WIDE; x++)
		for (int y = 0; y < WIDE; y++)
			if (has_thin(x, y))
				Thin_insert(Thin_at(thins, x, y), (x + y) % 2 ? CK_PE_ANY : (x * y) % CkNumPes());
}

/* Every element there is gets two calls. `holes`: some of the cubes are no more. */
static void hit_all(long k, bool holes)
{
	for (int i = 0; i < LINES; i++)
		Line_hit(Line_at(lines, i), k + i);
	for (int i = 0; i < CUBE * CUBE * CUBE; i++)
		if (!holes || i % 4)
			Cube_hit(Cube_at(cubes, i / 9, i / 3 % 3, i % 3), k + i);
	for (int i = 0; i < 24; i++)
		Deep_hit(Deep_at(deeps, i / 12, 0, i / 6 % 2, i / 2 % 3, 0, i % 2), k + i);
	for (int i = 0; i < MAPPED; i++)
		Mapped_hit(Mapped_at(mapped, i), k + i);
	for (int i = 0; i < WIDE * WIDE; i++)
		if (has_thin(i / WIDE, i % WIDE))
			Thin_hit(Thin_at(thins, i / WIDE, i % WIDE), k + i);
	for (int x = -2; x < 6; x += 2)
		for (int y = 1; y < 10; y += 3)
			Grid_hit(Grid_at(grids, x, y), k + x * 10 + y);
	for (int i = 0; i < CUTS; i++)
		Cut_hit(Cut_at(cuts, i), k + i);
}

static void move_some(void)
{
	for (int i = 0; i < LINES; i += 2)
		Line_go(Line_at(lines, i), i * 7 % CkNumPes());
	for (int i = 0; i < MAPPED; i += 3)
		Mapped_go(Mapped_at(mapped, i), i % CkNumPes());
	for (int x = -2; x < 6; x += 2)
		Grid_go(Grid_at(grids, x, 4), (x + 2) % CkNumPes());
	for (int i = 0; i < WIDE * WIDE; i += 3)
		if (has_thin(i / WIDE, i % WIDE))
			Thin_go(Thin_at(thins, i / WIDE, i % WIDE), i % CkNumPes());
	for (int i = 0; i < RINGS; i += 2)
		Ring_go(Ring_at(rings, i), i * 3 % CkNumPes());
	for (int i = 0; i < CUBE * CUBE * CUBE; i += 4)
		Cube_end(Cube_at(cubes, i / 9, i / 3 % 3, i % 3));
}

/* What waits until the other half. */
static void begin_to_wait(void)
{
	const long each[2] = { 5, 6 };

	for (int i = 0; i < LINES; i++) {
		const CProxyElement_Line to = Line_at(lines, i);

		Line_late(to, 1, 100 + i);
		Line_far(to, far_new(2, 200 + i));
		Line_late(to, 3, 300 + i);
		Line_three(to, 4, 10 + i);
		Line_three(to, 9, 20 + i);
		Line_three(to, 4, 30 + i);
		if (i % 3 == 0)
			Line_steps(to, 2, each);
		if (i % 3 != 1) /* kept before its body begins, or taken */
			Line_wake(to, 0, 400 + i);
		if (i % 3 == 1)
			Line_pass(to, far_new(0, 500 + i));
	}
	Thin_hit(Thin_at(thins, 9, 9), 4711);
	Thin_hit(Thin_at(thins, 9, 9), 4712);
	for (int i = 0; i + 1 < SYNCS; i++)
		Sync_at_sync(Sync_at(syncs, i));
	for (int i = 0; i < RINGS; i += 2)
		Ring_rise(Ring_at(rings, i), 10 + i);
	for (int i = 1; i < CUTS; i += 5)
		Cut_go(Cut_at(cuts, i), (i + 1) % CkNumPes());
}

static void go_on_waiting(void)
{
	const long each[2] = { 5, 6 };

	for (int i = 0; i < LINES; i++) {
		const CProxyElement_Line to = Line_at(lines, i);

		Line_open(to, 2);
		Line_three(to, 4, 40 + i);
		Line_three(to, 9, 50 + i);
		Line_three(to, 9, 60 + i);
		if (i % 3)
			Line_steps(to, 2, each);
		if (i % 3 == 1)
			Line_wake(to, 0, 400 + i);
		else
			Line_pass(to, far_new(0, 500 + i));
		Line_pass(to, far_new(0, 600 + i));
		Line_wake(to, 1, 700 + i);
		Line_open(to, 3);
	}
	Thin_insert(Thin_at(thins, 9, 9), CK_PE_ANY);
	Thin_doneInserting(thins);
	Sync_at_sync(Sync_at(syncs, SYNCS - 1));
	for (int i = 1; i < RINGS; i += 2)
		Ring_rise(Ring_at(rings, i), 10 + i);
	Ring_let_all(rings);
}

static void put_all(long k)
{
	for (int i = 0; i < RINGS; i++) {
		Ring_put(Ring_at(rings, i), k + i);
		Ring_rise(Ring_at(rings, i), k - i);
	}
}

/* Its id must be new. */
static void make_late(void)
{
	late = Cut_ckNew(CkDims(LATE));
	CHECK(late.ck.id != rings.ck.id);
	for (int i = 0; i < LATE; i++)
		Cut_hit(Cut_at(late, i), i);
}

static void move_rings(void)
{
	for (int i = 0; i < RINGS; i += 3)
		Ring_go(Ring_at(rings, i), (i + 1) % CkNumPes());
}

static void report_all(void)
{
	Line_report_all(lines);
	Cube_report_all(cubes);
	Deep_report_all(deeps);
	Mapped_report_all(mapped);
	Thin_report_all(thins);
	Grid_report_all(grids);
	Cut_report_all(cuts);
	Sync_report_all(syncs);
	Ring_report_all(rings);
}

void Main_on_sums(Main *self, int n, const long *v)
{
	CHECK(n == 2);
	self->n_sums++;
	for (int i = 0; i < n; i++)
		self->sums[i] = (long)((unsigned long)self->sums[i] + (unsigned long)v[i]);
}

static void end(const Main *self)
{
	CHECK(self->n_sums == (restarted ? 1 : 2) * ARRAYS + 1);
	CHECK(!restarted || atomic_load(&n_arrived) == LINES + CUBE * CUBE * CUBE * 3 / 4);
	if (!known)
		memcpy(expected, self->sums, sizeof expected);
	known = true;
	for (int i = 0; i < 2; i++)
		if (self->sums[i] != expected[i])
			CkAbort("sum %d is %ld, not %ld", i, self->sums[i], expected[i]);
	CkExit(0);
}

enum { HALF = 9, LOAD = 20 };

void Main_on_next(Main *self)
{
	CkStartQD(Main_cb_next(mainProxy));
	switch (self->stage++) {
	case 0: make_arrays(); break;
	case 1: hit_all(1000, false); Ring_make_all(rings); break;
	case 2: move_some(); break;
	case 3: hit_all(2000, true); put_all(50); break;
	case 4: case 5: case 6: Hand_close_all(hands, self->stage - 5); break;
	case 7: report_all(); Line_scan_all(lines); break;
	case 8: begin_to_wait(); break;
	case HALF:
		self->sums[0] = self->sums[1] = 0;
		Hand_save_all(hands);
		break;
	case HALF + 1: hit_all(3000, true); go_on_waiting(); break;
	case HALF + 2: Line_scan_all(lines); move_rings(); make_late(); break;
	case HALF + 3: hit_all(4000, true); put_all(90); break;
	case HALF + 4: report_all(); Cut_report_all(late); break;
	case HALF + 5: Line_let_all(lines); break;
	case HALF + 6: end(self); break;
	case LOAD: Hand_begin_load_all(hands); break;
	case LOAD + 1: Hand_load_all(hands); break;
	case LOAD + 2: Hand_end_load_all(hands); break;
	case LOAD + 3:
		Hand_where_all(hands);
		self->stage = HALF + 1;
		break;
	}
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	*self = (struct Main){ .stage = restarted ? LOAD : 0 };
	mainProxy = Main_thisProxy(self);
	hands = Hand_ckNew();
	CkStartQD(Main_cb_next(mainProxy));
}

#include "test_saved.def.h"

/* ---- jobs ------------------------------------------------------------------------------------ */

extern const CkGenModule ck_module_test_saved;

static void run(int nodes, int pes)
{
	const struct csd_layer *const layers[] = { &direct_layer, &chare_layer };

	atomic_store(&n_arrived, 0);
	assert_int_equal(check_run_layers(layers, 2, &ck_module_test_saved, nodes, pes, 0), 0);
}

static void save_from(int nodes, int pes)
{
	print_message("saved by %d nodes of %d PEs\n", nodes, pes);
	restarted = false;
	n_pes_saved = nodes * pes;
	run(nodes, pes);
}

static void restart_in(int nodes, int pes)
{
	print_message("  restarted in %d nodes of %d PEs\n", nodes, pes);
	restarted = true;
	run(nodes, pes);
}

static const int shapes[][2] = { { 1, 1 }, { 1, 2 }, { 2, 1 }, { 3, 1 }, { 1, 3 },
				 { 5, 1 }, { 1, 5 }, { 2, 4 }, { 1, 8 }, { 8, 1 } };
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void from_any_number_of_pes_to_any(void)
{
	for (int from = 0; from < SHAPES; from++) {
		save_from(shapes[from][0], shapes[from][1]);
		for (int to = 0; to < SHAPES; to++)
			restart_in(shapes[to][0], shapes[to][1]);
		blocks_forget();
	}
}

static void arrays_go_on_with_any_number_of_pes(void **state)
{
	(void)state;
	from_any_number_of_pes_to_any();
}

static void with_strategy(bool on)
{
	if (on)
		setenv("CK_LB", "rotate", 1);
	else
		unsetenv("CK_LB");
}

/* CkAtSync waits for all elements only with a strategy. */
static void elements_in_a_sync_wait_on_or_resume(void **state)
{
	(void)state;
	for (int after = 0; after < 2; after++) {
		with_strategy(true);
		save_from(2, 2);
		with_strategy(after);
		restart_in(3, 1);
		restart_in(2, 2);
		restart_in(1, 1);
		with_strategy(false);
		blocks_forget();
	}
}

static void in_checked_mode(void **state)
{
	(void)state;
	setenv("CK_CHECK", "1", 1);
	save_from(2, 2);
	restart_in(3, 1);
	restart_in(4, 1);
	unsetenv("CK_CHECK");
	blocks_forget();
}

static void under_the_randomised_queue(void **state)
{
	(void)state;
	setenv("CK_RANDOM_QUEUE", "7", 1);
	save_from(2, 2);
	restart_in(3, 1);
	restart_in(1, 4);
	unsetenv("CK_RANDOM_QUEUE");
	blocks_forget();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arrays_go_on_with_any_number_of_pes),
		cmocka_unit_test(elements_in_a_sync_wait_on_or_resume),
		cmocka_unit_test(in_checked_mode),
		cmocka_unit_test(under_the_randomised_queue),
	};

	setenv("CK_WATCHDOG", "0", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
