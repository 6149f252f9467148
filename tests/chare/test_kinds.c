/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kinds.c: main chares, singleton chares, groups and nodegroups are saved at rest, and made
 * anew in a job of another shape, from whose state the next job goes on, and so on: names fold when
 * there are fewer PEs, and unfold again.
 *
 * Every job calls all singletons, makes more on all PEs, and destroys some. A model in static
 * memory, which all jobs of this process share, says what each of them must have by then, and that
 * no name comes twice. Branches say of which PE or node they are copies. Calls that wait for
 * conditions and bodies wait from one job to the next.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "chare_layer.h"
#include "check_run.h"

#include "../../runtime/chare/create/create_int.h"
#include "../../runtime/chare/kinds/saved/saved.h"
#include "../../runtime/chare/readonly.h"
#include "image.h"
#include "test_kinds.h"

#define CHECK(what) ((what) ? (void)0 : CkAbort("%s:%d: not true: %s", __FILE__, __LINE__, #what))

enum { MOST_PES = 8, EACH = 2, LONES = 2000, CACHE = 17 };

struct Main { int stage, n_sums; };
struct Hand { int unused; };

#define CK_NO_MAIN
#include "test_kinds.decl.h"

struct Sub { long sum; Plain *kept; int here; };
struct Branch { long sum; int pe, gate, ended, here, n; double *v; int cache; };
struct Fresh { int table; };
struct Shared { long sum; int node, gate, here; };
struct Lone { int no, gate, here; long sum; };
struct Bare { int unused; };
struct BareNode { int unused; };
struct BareLone { int unused; };

/* ---- of all jobs ----------------------------------------------------------------------------- */

static bool restarted, refuses, calls_the_dead;
static struct ck_restart before;
static int n_jobs;                 /* so far; the first is 1 */

/* What the singletons must be. Written by their creators, between calls by Main. */
static struct lone { CProxy_Lone proxy; long sum; bool lives, waits; } lones[LONES];
static atomic_int n_lones;
static long branch_sum, shared_sum, sub_sum; /* of each */
static atomic_int n_arrived, n_asked;

static CProxy_Main mainProxy;
static CProxy_Hand hands;
static CProxy_Sub sub;
static CProxy_Branch branches;
static CProxy_Fresh fresh;
static CProxy_Shared shared;

/* Once a node, before its PEs. */
void set_restart(void)
{
	struct node *node = csd_early_->node;

	if (!restarted)
		return;
	ck_node_of(node)->restart = before;
	node->earlier_pes = before.most_pes;
}

/* ---- chares ---------------------------------------------------------------------------------- */

void Sub_on_new(Sub *self, CkArgMsg *m)
{
	(void)m;
	sub = Sub_thisProxy(self);
	self->kept = Plain_alloc();
	self->kept->n = 12;
}

void Sub_on_hit(Sub *self, long by)
{
	CHECK(self->kept->n == 12);
	self->sum += by;
	CHECK(self->here == restarted);
	CHECK(self->sum == sub_sum);
}

void Sub_on_arrived(Sub *self) { self->here = 1; }

void Branch_on_new(Branch *self)
{
	*self = (Branch){ .pe = CkMyPe(), .n = 3, .cache = CACHE };
	self->v = malloc(3 * sizeof *self->v);
	for (int i = 0; i < 3; i++)
		self->v[i] = i + 0.5;
}

void Branch_on_hit(Branch *self, long by)
{
	CHECK(Branch_thisIndex(self) == CkMyPe());
	CHECK(self->cache == CACHE && self->v[2] == 2.5);
	self->sum += by;
	CHECK(self->sum == branch_sum);
	CHECK((self->here > 0) == restarted);
	CHECK(self->pe == (self->here == 1 ? CkMyPe() % before.n_pes : CkMyPe()));
	self->here *= 2;
	self->pe = CkMyPe();
}

void Branch_on_late(Branch *self, int no, long by)
{
	CHECK(self->gate >= no);
	self->sum += by;
}

void Branch_on_open(Branch *self, int gate)
{
	self->gate = gate;
	if (!gate)
		CHECK(self->ended == n_jobs - 2);
}

void Branch_on_arrived(Branch *self)
{
	CHECK(!self->cache);
	self->cache = CACHE;
	self->here = 1;
	atomic_fetch_add(&n_arrived, 1);
}

void Branch_on_report(Branch *self)
{
	const long v[2] = { 1, self->sum };

	CkContribute(self, v, 2, CkReduction_sum_long, Main_cb_sums(mainProxy));
}

void Fresh_on_new(Fresh *self) { self->table = CACHE; }

void Fresh_on_arrived(Fresh *self)
{
	CHECK(!self->table);
	CHECK(Branch_ckLocalBranch(branches)->v[1] == 1.5);
	self->table = CACHE;
}

void Shared_pup(pup_er p, Shared *self)
{
	pup_long(p, &self->sum);
	pup_int(p, &self->node);
	pup_int(p, &self->gate);
	pup_skip(p, &self->here, sizeof self->here);
}

void Shared_on_new(Shared *self) { self->node = CkMyNode(); }

void Shared_on_hit(Shared *self, long by)
{
	self->sum += by;
	CHECK(self->sum == shared_sum && (self->here > 0) == restarted);
	CHECK(self->node == (self->here == 1 ? CkMyNode() % before.n_nodes : CkMyNode()));
	self->here *= 2;
	self->node = CkMyNode();
}

void Shared_on_report(Shared *self)
{
	const long v[2] = { 1, self->sum };

	CkContribute(self, v, 2, CkReduction_sum_long, Main_cb_sums(mainProxy));
}

void Shared_on_late(Shared *self, int no, long by)
{
	(void)no;
	self->sum += by;
}
void Shared_on_open(Shared *self, int gate) { self->gate = gate; }
void Shared_on_arrived(Shared *self) { self->here = 1; }

void Bare_on_new(Bare *self) { self->unused = 0; }
void BareNode_on_new(BareNode *self) { self->unused = 0; }
void BareLone_on_new(BareLone *self) { self->unused = 0; }

/* ---- singletons ------------------------------------------------------------------------------ */

void Lone_on_new(Lone *self, int no) { *self = (Lone){ .no = no }; }

static void check_place(Lone *self)
{
	const CProxy_Lone me = Lone_thisProxy(self), name = lones[self->no].proxy;

	CHECK(me.ck.id == name.ck.id && me.ck.pe == name.ck.pe);
	CHECK(me.ck.pe % CkNumPes() == CkMyPe());
}

void Lone_on_hit(Lone *self, long by)
{
	check_place(self);
	self->sum += by;
	CHECK(self->sum == lones[self->no].sum);
}

void Lone_on_note(Lone *self, long by)
{
	check_place(self);
	self->sum += by;
}

long Lone_on_ask(Lone *self) { return self->sum; }

void Lone_on_late(Lone *self, int no, long by)
{
	CHECK(self->gate >= no);
	self->sum += by;
}


void Lone_on_far(Lone *self, Text *m)
{
	self->sum += *m->at;
	CkFreeMsg(m);
}

void Lone_on_open(Lone *self, int gate) { self->gate = gate; }
void Lone_on_end(Lone *self) { CkDestroy(self); }
void Lone_on_arrived(Lone *self)
{
	self->here++;
	CHECK(lones[self->no].lives);
	atomic_fetch_add(&n_arrived, 1);
}

/* What texts point to. Those that still wait when a job ends are not freed, so it is static. */
enum { TEXTS = 1 << 16 };
static long texts[TEXTS];
static atomic_uint n_texts;

static Text *text_new(long value)
{
	Text *m = Text_alloc(0);

	/* relaxed: each text gets a place of its own */
	m->at = &texts[atomic_fetch_add_explicit(&n_texts, 1, memory_order_relaxed) % TEXTS];
	*m->at = value;
	return m;
}

void *Text_pack(Text *m)
{
	long *flat = CkAllocBuffer(m, sizeof *flat);

	*flat = *m->at;
	CkFreeMsg(m);
	return flat;
}

Text *Text_unpack(void *flat)
{
	Text *m = text_new(*(long *)flat);

	CkFreeMsg(flat);
	return m;
}

/* ---- every PE: the image --------------------------------------------------------------------- */

static const int saved_parts[] = { PART_CREATE, PART_SINGLE, PART_SAVED };

#include "check_image.h"

/* One PE at a time: all of them write to one file here. */
static void tell_refused(struct pe *pe)
{
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
	struct csd_told told = { 0 };

	part_of(pe, SAVED_PARTS - 1)->save.refuse(pe, &told);
	pthread_mutex_lock(&one);
	for (const struct csd_record *r = NULL; (r = csd_told_next(&told, r));)
		csd_record_print(stderr, r);
	pthread_mutex_unlock(&one);
	CHECK((told.n_lines != 0) == refuses);
	free(told.at);
}

void Hand_on_new(Hand *self) { (void)self; }

/* The job is about to end. */
static void free_list(void)
{
	Branch *b = Branch_ckLocalBranch(branches);

	free(b->v);
	b->v = NULL;
	b->n = 0;
}

void Hand_on_save(Hand *self)
{
	struct pe *pe = csd_self();

	(void)self;
	tell_refused(pe);
	if (!refuses)
		CHECK(block_write(pe));
	free_list();
}

static bool drives(const struct image_name *name)
{
	return (name->kind == IMAGE_BRANCH && name->coll == hands.ck.id) ||
	       (name->kind == IMAGE_MAIN && name->coll == mainProxy.ck.id);
}

static void read_record(struct pe *pe, const struct image_record *r)
{
	for (int i = 0; i < SAVED_PARTS && !drives(&r->name); i++)
		if (part_reads(pe, i, r))
			part_read(pe, i, r);
}

/* A restart makes no main chares; this job has. */
static void unmake_sub(struct pe *pe)
{
	struct collection *c = coll_get(pe, sub.ck.id);

	free(c->elems[0]);
	free(c->elems);
	c->elems = NULL;
	c->constructed = false;
}

void Hand_on_load(Hand *self)
{
	const struct image_record *r;
	struct pe *pe = csd_self();

	(void)self;
	if (pe->id == 0)
		unmake_sub(pe);
	for (int p = 0; p < before.n_pes; p++)
		for (size_t at = 0; (r = record_next(&blocks[p], &at));)
			read_record(pe, r);
}

void Hand_on_end_load(Hand *self)
{
	(void)self;
	parts_end_reading(csd_self());
}

/* ---- every PE: singletons -------------------------------------------------------------------- */

/* Its name is new. The nodes of this process share the list. */
static void make_one(int pe)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	CProxy_Lone made;
	int no;

	pthread_mutex_lock(&lock);
	no = atomic_fetch_add(&n_lones, 1);
	made = Lone_ckNew(pe, no);
	CHECK(no < LONES);
	for (int i = 0; i < no; i++)
		CHECK(lones[i].proxy.ck.id != made.ck.id || lones[i].proxy.ck.pe != made.ck.pe);
	lones[no] = (struct lone){ .proxy = made, .lives = true };
	pthread_mutex_unlock(&lock);
}

void Hand_on_make(Hand *self)
{
	(void)self;
	for (int i = 0; i < EACH * CkNumPes(); i++)
		make_one(i % CkNumPes());
}

void Hand_on_ask(Hand *self)
{
	const int n = atomic_load(&n_lones);

	(void)self;
	for (int i = CkMyPe(); i < n; i += CkNumPes())
		if (lones[i].lives) {
			CHECK(Lone_ask_sync(lones[i].proxy) == lones[i].sum);
			atomic_fetch_add(&n_asked, 1);
		}
}

/* ---- the program ----------------------------------------------------------------------------- */

static void make_all(void)
{
	branches = Branch_ckNew();
	fresh = Fresh_ckNew();
	shared = Shared_ckNew();
}

static void hit_all(long by)
{
	sub_sum += by;
	branch_sum += by;
	shared_sum += by;
	Sub_hit(sub, by);
	Branch_hit_all(branches, by);
	Shared_hit_all(shared, by);
	for (int i = 0; i < n_lones; i++)
		if (lones[i].lives) {
			lones[i].sum += by + i;
			Lone_hit(lones[i].proxy, by + i);
		}
}

/* By a callback, too. */
static void note_all(long by)
{
	for (int i = 0; i < n_lones; i++)
		if (lones[i].lives) {
			lones[i].sum += by;
			CkCallbackSendTyped(Lone_cb_note(lones[i].proxy), CK_LONG, &by, 1);
		}
}

static void end_some(void)
{
	for (int i = n_jobs % 5; i < n_lones; i += 5)
		if (lones[i].lives) {
			lones[i].lives = false;
			Lone_end(lones[i].proxy);
		}
}

static void begin_to_wait(void)
{
	Branch_open_all(branches, 1);
	Branch_late_all(branches, 2, 500);
	Branch_steps_all(branches);
	for (int i = 0; i < n_lones; i++)
		if (lones[i].lives) {
			lones[i].waits = true;
			Lone_open(lones[i].proxy, 1);
			Lone_late(lones[i].proxy, 2, 700 + i);
			Lone_far(lones[i].proxy, text_new(900 + i));
		}
}

static void go_on_waiting(void)
{
	branch_sum += 500 + 60;
	Branch_open_all(branches, 2);
	Branch_wake_all(branches, 60);
	for (int i = 0; i < n_lones; i++)
		if (lones[i].waits) {
			lones[i].waits = false;
			lones[i].sum += 1600 + 2 * i;
			Lone_open(lones[i].proxy, 2);
		}
}

void Main_on_sums(Main *self, int n, const long *v)
{
	CHECK(n == 2);
	self->n_sums++;
	if (v[1] == branch_sum * CkNumPes() && v[0] == CkNumPes())
		return;
	CHECK(v[0] == CkNumNodes() && v[1] == shared_sum * CkNumNodes());
}

static int n_that_live(void)
{
	int n = 0;

	for (int i = 0; i < n_lones; i++)
		n += lones[i].lives;
	return n;
}

static void begin_refused(void)
{
	Bare_ckNew();
	BareNode_ckNew();
	BareLone_ckNew(CkNumPes() - 1);
	Shared_late_all(shared, 7, 1);
}

static void call_the_dead(void)
{
	for (int i = 0; i < n_lones; i++)
		if (!lones[i].lives && lones[i].proxy.ck.pe >= CkNumPes()) {
			Lone_hit(lones[i].proxy, 0);
			return;
		}
	CkAbort("nobody is dead");
}

static void end(const Main *self)
{
	CHECK(self->n_sums == 4);
	CHECK(atomic_load(&n_asked) == n_that_live());
	CkExit(0);
}

enum { LOAD = 20 };

void Main_on_next(Main *self)
{
	CkStartQD(Main_cb_next(mainProxy));
	switch (self->stage++) {
	case 0: make_all(); break;
	case LOAD: Hand_load_all(hands); break;
	case LOAD + 1: Hand_end_load_all(hands); break;
	case LOAD + 2:
		CHECK(atomic_load(&n_arrived) == n_that_live() + CkNumPes());
		Branch_open_all(branches, 0);
		break;
	case LOAD + 3: go_on_waiting(); break;
	case LOAD + 4:
		if (calls_the_dead)
			call_the_dead();
		self->stage = 1; /* fall through */
	case 1: hit_all(1000); Hand_make_all(hands); break;
	case 2: hit_all(2000); break;
	case 3: note_all(30); break;
	case 4: Branch_report_all(branches); Shared_report_all(shared); break;
	case 5: end_some(); break;
	case 6: hit_all(4000); break;
	case 7: Branch_report_all(branches); Shared_report_all(shared); break;
	case 8: Hand_ask_all(hands); break;
	case 9: refuses ? begin_refused() : begin_to_wait(); break;
	case 10: Hand_save_all(hands); break;
	case 11: end(self); break;
	}
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	*self = (Main){ .stage = restarted ? LOAD : 0 };
	mainProxy = Main_thisProxy(self);
	hands = Hand_ckNew();
	CkStartQD(Main_cb_next(mainProxy));
}

#include "test_kinds.def.h"

/* ---- jobs ------------------------------------------------------------------------------------ */

extern const CkGenModule ck_module_test_kinds;
static const struct csd_layer *const layers[] = { &chare_layer };

static void begin_anew(void)
{
	blocks_forget();
	memset(lones, 0, sizeof lones);
	atomic_store(&n_lones, 0);
	branch_sum = shared_sum = sub_sum = 0;
	before = (struct ck_restart){ 0 };
	restarted = false;
	n_jobs = 0;
}

static void begin_job(void)
{
	n_jobs++;
	atomic_store(&n_arrived, 0);
	atomic_store(&n_asked, 0);
}

/* Whatever comes next begins from its image. */
static void job(int nodes, int each)
{
	const int pes = nodes * each;

	print_message("  %d nodes of %d PEs\n", nodes, each);
	begin_job();
	assert_int_equal(check_run_layers(layers, 1, &ck_module_test_kinds, nodes, each, 0), 0);
	before = (struct ck_restart){ pes, nodes, pes > before.most_pes ? pes : before.most_pes };
	restarted = true;
}

static void names_fold_and_unfold(void **state)
{
	static const int shapes[][2] = {
		{ 8, 1 }, { 1, 3 }, { 1, 1 }, { 2, 4 }, { 5, 1 },
		{ 2, 1 }, { 1, 2 }, { 3, 1 }, { 1, 8 }, { 1, 5 },
	};

	(void)state;
	begin_anew();
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		job(shapes[i][0], shapes[i][1]);
}

static void a_job_grows(void **state)
{
	(void)state;
	begin_anew();
	job(1, 1);
	job(1, 2);
	job(3, 1);
	job(1, 5);
	job(4, 2);
	job(4, 2);
}

static void in_checked_mode(void **state)
{
	(void)state;
	setenv("CK_CHECK", "1", 1);
	begin_anew();
	job(5, 1);
	job(2, 1);
	job(3, 1);
	unsetenv("CK_CHECK");
}

static void in_any_order(void **state)
{
	(void)state;
	setenv("CK_RANDOM_QUEUE", "77", 1);
	begin_anew();
	job(3, 1);
	job(2, 1);
	job(4, 1);
	unsetenv("CK_RANDOM_QUEUE");
}

static void apart(const char *const *lines, int code)
{
	char said[16384];

	begin_job();
	assert_int_equal(check_run_nodes_apart(layers, 1, &ck_module_test_kinds, 2, 1, said, sizeof said),
			 code);
	for (; *lines; lines++) {
		if (!strstr(said, *lines))
			print_error("missing: %s\nin: %s", *lines, said);
		assert_non_null(strstr(said, *lines));
	}
}

static void what_cannot_be_saved_is_named(void **state)
{
	static const char *const lines[] = {
		"group Bare is not packed: declare 'pup Bare;' in the .ci file\n",
		"nodegroup BareNode is not packed: declare 'pup BareNode;' in the .ci file\n",
		"chare BareLone is not packed: declare 'pup BareLone;' in the .ci file\n",
		"1 call of Shared::late waits at Shared of node 1 until its condition is true: self->gate >=",
		NULL
	};

	(void)state;
	begin_anew();
	refuses = true;
	apart(lines, 0);
	refuses = false;
}

static void the_dead_of_folded_pes_are_known(void **state)
{
	static const char *const lines[] = { "of a chare that was destroyed (CkDestroy)", NULL };

	(void)state;
	begin_anew();
	job(8, 1);
	calls_the_dead = true;
	apart(lines, 1);
	calls_the_dead = false;
	begin_anew();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_fold_and_unfold),
		cmocka_unit_test(a_job_grows),
		cmocka_unit_test(in_checked_mode),
		cmocka_unit_test(in_any_order),
		cmocka_unit_test(what_cannot_be_saved_is_named),
		cmocka_unit_test(the_dead_of_folded_pes_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
