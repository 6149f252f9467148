/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_model.c: ckci's code for the whole chare model (accept/model.ci) does what the .ci file says: objects
 * that pup functions pack, nocopy arrays, answers, conditions, direct calls, sections, chare ids, messages
 * that the program packs, indices of every kind, and the tables. stand_in.h replaces the runtime. The test
 * compiles as C11 and as C++17.
 */
#include "model.decl.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Main { int k; };
struct Second { int calls; };
struct Single { int total; char name[16]; };
struct Cell { int iter; const void *seen; char log[512]; };
struct Made { int n; double last; };
struct Four { int calls; };
struct Five { int calls; };
struct Six { int calls; };
struct Shade { int k; };
struct G { int k; };
struct Shared { int n; };
struct Own { Own *next; int value; };

#define CK_NO_MAIN
#include "model.def.h"

#include "stand_in.h"

/* ---- what the program writes ------------------------------------------------------------ */

static int order[3], n_order;

void first(void) { order[n_order++] = 1; }
void second(void) { order[n_order++] = 2; }
void third(void) { order[n_order++] = 3; }

void vec_pup(pup_er p, vec *x)
{
	pup_int(p, &x->n);
	x->v = (int *)pup_alloc(p, x->v, (size_t)x->n * sizeof *x->v);
	pup_ints(p, x->v, (size_t)x->n);
}

/* A chain of messages travels as its values. */
void *Own_pack(Own *m)
{
	int n = 0;
	int *b;

	for (const Own *o = m; o != NULL; o = o->next)
		n++;
	b = (int *)CkAllocBuffer(m, (size_t)(n + 1) * sizeof *b);
	b[0] = n;
	for (int i = 1; m != NULL; i++) {
		Own *next = m->next;

		b[i] = m->value;
		CkFreeMsg(m);
		m = next;
	}
	return b;
}

Own *Own_unpack(void *buffer)
{
	const int *b = (const int *)buffer;
	Own *m = NULL;

	for (int i = b[0]; i >= 1; i--) {
		Own *o = Own_alloc(0);

		o->next = m;
		o->value = b[i];
		m = o;
	}
	CkFreeMsg(buffer);
	return m;
}

static void free_rest(Own *m)
{
	Own *o = m->next;

	m->next = NULL;
	while (o != NULL) {
		Own *next = o->next;

		CkFreeMsg(o);
		o = next;
	}
}

#define LOG(...) ((void)snprintf(self->log, sizeof self->log, __VA_ARGS__))

void Main_on_new(Main *self) { self->k = 1; }
void Main_on_drive(Main *self) { self->k = 2; }
void Main_on_other(Main *self, int k) { self->k = k; }
int Main_on_ask(Main *self, int k) { return self->k + k; }
void Second_on_new(Second *self, CkArgMsg *m) { self->calls = m->argc; }
void Second_on_done(Second *self) { self->calls++; }

void Single_on_new(Single *self, int depth, const char *name)
{
	self->total = depth;
	snprintf(self->name, sizeof self->name, "%s", name);
}

void Single_on_add(Single *self, int k) { self->total += k; }
void Single_on_wait(Single *self, int k) { self->total -= k; }
void Single_on_done(Single *self) { self->total = -1; }
void Single_on_sum(Single *self, uint8_t k) { self->total = k; }

static Row *a_row(int n)
{
	Row *r = Row_alloc((size_t)n, 2);

	r->n = n;
	for (int i = 0; i < n; i++)
		r->v[i] = i + 0.5;
	r->w[0] = 0;
	r->w[1] = n;
	return r;
}

Row *Single_on_row(Single *self, int n)
{
	(void)self;
	return a_row(n);
}

void Cell_on_new(Cell *self, int n) { self->iter = n; }
void Cell_on_one(Cell *self, const vec *a) { LOG("%d: %d %d", a->n, a->v[0], a->v[a->n - 1]); }

void Cell_on_several(Cell *self, int n, const vec *v, const char *name, const vec *last)
{
	CHECK((uintptr_t)v % 16 == 0);
	LOG("%d: %d..%d %s %d", n, v[0].v[0], n > 1 ? v[n - 1].v[v[n - 1].n - 1] : 0, name,
	    last->n);
}

void Cell_on_sized(Cell *self, const vec *a, const int *w) { LOG("%d %d", a->n, w[a->n]); }

void Cell_on_arrays(Cell *self, const vec *a, const vec *b)
{
	LOG("%d %d %d", a[0].v[0], a[1].n, b[0].v[2]);
}

void Cell_on_bulk(Cell *self, int n, const double *v, const char *name, const point_t *p)
{
	self->seen = v;
	LOG("%d: %g %g %s %d,%d", n, n > 0 ? v[0] : 0, n > 0 ? v[n - 1] : 0, name, p[0].x, p[1].y);
}

static double placed_v[3];
static int placed_w[2];

void Cell_on_placed_post(Cell *self, int n, double **v, const vec *a, const point_t *p, int **w,
			 CkNcpyBufferPost *post)
{
	(void)self;
	*v = placed_v;
	*w = placed_w;
	CHECK(post[0].bytes == (size_t)n * sizeof **v && post[1].bytes == sizeof placed_w);
	CHECK(a->n == 3 && p[1].y == 4);
}

void Cell_on_placed(Cell *self, int n, double *v, const vec *a, const point_t *p, int *w)
{
	self->seen = v;
	CHECK(v == placed_v && w == placed_w);
	LOG("%d: %g %g %d %d,%d %d", n, v[0], v[n - 1], a->n, p[0].x, p[1].y, w[1]);
}

struct point Cell_on_where(Cell *self, int dx, int dy)
{
	struct point p = {self->iter + dx, dy};

	return p;
}

double Cell_on_mean(Cell *self, int n, const double *v)
{
	double sum = 0;

	(void)self;
	for (int i = 0; i < n; i++)
		sum += v[i];
	return sum / n;
}

void Cell_on_put(Cell *self, int k) { self->iter = k; }

Row *Cell_on_row(Cell *self, int n)
{
	(void)self;
	return a_row(n);
}

Own *Cell_on_own(Cell *self, Own *o)
{
	Own *r = Own_alloc(0);

	r->value = self->iter;
	r->next = Own_alloc(0);
	r->next->value = o->next != NULL ? o->next->value : o->value;
	free_rest(o);
	return r;
}

Plain *Cell_on_nothing(Cell *self)
{
	(void)self;
	return NULL;
}

void Cell_on_ghost(Cell *self, int iter, int n, const double *v) { LOG("%d %g", iter, v[n - 1]); }
void Cell_on_row_in(Cell *self, Row *m) { LOG("%d %g %d", m->n, m->v[0], m->w[1]); }
void Cell_on_named(Cell *self, const char *s, double x, double y) { LOG("%s %g %g", s, x, y); }
void Cell_on_later(Cell *self) { LOG("later"); }
void Cell_on_quoted(Cell *self, const char *s) { LOG("%s", s); }

void Cell_on_quick(Cell *self, int k, const char *s, int n, const double *v, const vec *a)
{
	self->seen = v;
	LOG("%d <%s> %g %d", k, s, v[n - 1], a->v[0]);
}

int Cell_on_here(Cell *self, int k, const char *s)
{
	LOG("<%s>", s);
	return self->iter + k;
}

void Cell_on_tell(Cell *self, point_t p, const vec *a) { LOG("%d %d", p.x, a->n); }

const char *Cell_on_name(Cell *self)
{
	(void)self;
	return "cell";
}

void Cell_on_few(Cell *self, int k) { self->iter += k; }
void Cell_on_many(Cell *self, int k) { self->iter -= k; }
void Cell_on_bytes(Cell *self, size_t n, const uint8_t *v) { LOG("%zu: %d", n, v[n - 1]); }
void Cell_on_counts(Cell *self, CmiInt8 lo, int64_t hi) { LOG("%d %d", (int)lo, (int)hi); }

void Cell_on_own_in(Cell *self, Own *o)
{
	self->seen = o;
	LOG("%d %d", o->value, o->next != NULL ? o->next->value : -1);
	free_rest(o);
}

void Cell_on_ids(Cell *self, CkChareID c, CkArrayID a, CkGroupID g, CkSection s, CkFuture f,
		 CProxySection_Cell cs, CProxy_Single one, CkIndex6D i)
{
	LOG("%d %d %d %d %d %d %d %d", (int)c.id, (int)a.id, (int)g.id, (int)s.id, (int)f.id,
	    (int)cs.ck.id, one.ck.pe, i.z2);
}

void Cell_on_numbers(Cell *self, CmiInt1 a, CmiUInt1 b, CmiInt2 c, CmiUInt2 d, CmiInt4 e, CmiUInt4 f,
		     CmiInt8 g, CmiUInt8 h, CmiFloat4 i, CmiFloat8 j, CmiBool k)
{
	LOG("%d %d %d %d %d %u %lld %llu %g %g %d", a, b, c, d, e, f, (long long)g,
	    (unsigned long long)h, i, j, k);
}

void Made_on_new(Made *self, Row *m)
{
	self->n = m->n;
	self->last = m->v[m->n - 1];
}

void Four_on_new(Four *self) { self->calls = 0; }
void Four_on_born(Four *self, int k) { self->calls = k; }
void Four_on_made(Four *self, int k) { self->calls = -k; }
void Five_on_new(Five *self) { self->calls = 0; }
void Six_on_new(Six *self) { self->calls = 0; }
void Shade_on_new(Shade *self, int n) { self->k = n; }
void Shade_on_go(Shade *self, int k) { self->k += k; }

void G_on_new(G *self, Own *o)
{
	self->k = o->value;
	free_rest(o);
}

void G_on_put(G *self, int k) { self->k = k; }
void G_on_now(G *self, int k) { self->k = -k; }
void Shared_on_new(Shared *self, int n) { self->n = n; }
void Shared_on_add(Shared *self, int k) { self->n += k; }
void Shared_on_poke(Shared *self) { self->n = 0; }
void Shared_on_upto(Shared *self, int k) { self->n -= k; }
uint64_t Shared_on_total(Shared *self, const vec *a) { return (uint64_t)(self->n + a->v[0]); }

/* ---- the tests -------------------------------------------------------------------------- */

static Cell cell;
static CProxyElement_Cell to;
static int numbers[] = {4, 5, 6, 7};
static const vec three = {3, numbers};

static void begin(void)
{
	const CProxy_Cell p = {{77}};

	memset(&cell, 0, sizeof cell);
	mock.self = &cell;
	mock.fill = 0xaa;
	mock.remote = false;
	mock.local = NULL;
	mock.entered = mock.left = mock.fired = 0;
	to = Cell_at(p, 3);
}

static void got(int line, const char *want)
{
	if (strcmp(cell.log, want) != 0)
		printf("test_model.c:%d: got '%s', want '%s'\n", line, cell.log, want);
	CHECK(strcmp(cell.log, want) == 0);
	CHECK(mock.open == 0);
	cell.log[0] = '\0';
}
#define GOT(want) got(__LINE__, want)

/* The call whose condition was false is asked again. */
static bool asked_again(void)
{
	const CkGenEntry *e = &mock.waiting_chare->entries[mock.waiting_entry];
	void *payload = mock.waiting;

	if (!e->when(mock.self, payload))
		return false;
	mock.waiting = NULL;
	e->call(mock.self, payload);
	finish(e, payload);
	return true;
}

static const CkGenEntry *entry_named(const CkGenChare *c, const char *name)
{
	for (int i = 0; i < c->n_entries; i++) {
		if (strcmp(c->entries[i].name, name) == 0)
			return &c->entries[i];
	}
	abort();
}

static void packed_objects_arrive(void)
{
	const vec two[] = {{1, numbers + 1}, {2, numbers + 2}};
	const vec none = {0, NULL};
	const int w[] = {1, 2, 3, 9};

	Cell_one(to, &three);
	GOT("3: 4 6");
	Cell_several(to, 2, two, "name", &three);
	GOT("2: 5..7 name 3");
	Cell_several(to, 2, two, NULL, &none);
	GOT("2: 5..7  0");
	Cell_sized(to, &three, w);
	GOT("3 9");
	Cell_arrays(to, two, &three);
	GOT("5 2 6");
	mock.remote = true;
	Cell_one_all((CProxy_Cell){{77}}, &three);
	GOT("3: 4 6");
}

static void a_missing_object_is_reported(void)
{
	if (setjmp(mock.bad) == 0) {
		Cell_one(to, NULL);
		CHECK(!"returned");
	}
	CHECK(strcmp(mock.aborted, "Cell_one: 'a' is NULL") == 0);
	if (setjmp(mock.bad) == 0) {
		Cell_several(to, -1, &three, "", &three);
		CHECK(!"returned");
	}
	CHECK(strcmp(mock.bad_param, "v") == 0 && mock.bad_length == -1);
	CHECK(mock.open == 0);
}

static void nocopy_arrays_are_read_where_they_lie(void)
{
	const double v[] = {1, 2, 3};
	const point_t p[] = {{1, 2}, {3, 4}};
	CkCallback done;

	memset(&done, 0, sizeof done);
	Cell_bulk(to, 3, CkSendBufferCb(v, done), "n", CkSendBufferCb(p, done));
	CHECK(cell.seen == v && mock.fired == 2);
	GOT("3: 1 3 n 1,4");
	mock.remote = true;
	Cell_bulk(to, 3, CkSendBufferCb(v, done), "n", CkSendBufferCb(p, done));
	CHECK(cell.seen != v && mock.fired == 4);
	GOT("3: 1 3 n 1,4");
	Cell_bulk(to, 0, CkSendBufferCb(NULL, done), "n", CkSendBufferCb(p, done));
	GOT("0: 0 0 n 1,4");
	if (setjmp(mock.bad) == 0) {
		Cell_bulk(to, 1, CkSendBufferCb(NULL, done), "n", CkSendBufferCb(p, done));
		CHECK(!"returned");
	}
	CHECK(strcmp(mock.aborted, "Cell_bulk: the buffer 'v' is NULL") == 0);
}

static void posted_arrays_go_where_the_receiver_says(void)
{
	const double v[] = {1, 2, 3};
	const point_t p[] = {{1, 2}, {3, 4}};
	const int w[] = {5, 6};
	CkCallback done;

	memset(&done, 0, sizeof done);
	for (int remote = 0; remote < 2; remote++) {
		memset(placed_v, 0, sizeof placed_v);
		mock.remote = remote;
		Cell_placed(to, 3, CkSendBufferCb(v, done), &three, CkSendBufferCb(p, done),
			    CkSendBufferCb(w, done));
		CHECK(cell.seen == placed_v);
		GOT("3: 1 3 3 1,4 6");
	}
	cell.seen = NULL;
	mock.no_buffer = true;
	Cell_placed(to, 3, CkSendBufferCb(v, done), &three, CkSendBufferCb(p, done),
		    CkSendBufferCb(w, done));
	CHECK(cell.seen == NULL);
	CHECK(strcmp(ck_posts_Cell_placed.names[0], "v") == 0);
	CHECK(strcmp(ck_posts_Cell_placed.names[1], "w") == 0);
}

static void answers_come_back(void)
{
	const double v[] = {1, 2, 6};

	cell.iter = 40;
	CHECK(Cell_where_sync(to, 2, 3).x == 42 && Cell_where_sync(to, 2, 3).y == 3);
	CHECK(strcmp(mock.last, "sync") == 0 && mock.index.v[0] == 3);
	CHECK(Cell_mean_sync(to, 3, v) == 3);
	Cell_put_sync(to, 17);
	CHECK(cell.iter == 17 && mock.open == 0);
	Main m = {5};
	mock.self = &m;
	CHECK(Main_ask_sync((CProxy_Main){{9}}, 6) == 11 && mock.id == 9);
	Shared s = {30};
	mock.self = &s;
	CHECK(Shared_total_sync(Shared_at((CProxy_Shared){{1}}, 1), &three) == 34);
	CHECK(mock.index.v[0] == 1 && mock.open == 0);
}

static void messages_come_back(void)
{
	Row *r = Cell_row_sync(to, 4);

	CHECK(r->n == 4 && r->v[3] == 3.5 && r->w[1] == 4);
	CHECK((char *)r->v > (char *)r && (char *)r->v < (char *)r + 512);
	CkFreeMsg(r);
	CHECK(Cell_nothing_sync(to) == NULL);
	r = Single_row_sync((CProxy_Single){{79, 4, 0}}, 2);
	CHECK(strcmp(mock.last, "syncChare") == 0 && mock.id == 79 && r->v[1] == 1.5);
	CkFreeMsg(r);
	CHECK(mock.open == 0);
}

static Own *chain(int a, int b)
{
	Own *o = Own_alloc(100);

	CHECK(o->next == NULL && o->value == 0);
	((char *)o)[sizeof *o + 99] = 1;
	o->value = a;
	o->next = Own_alloc(0);
	o->next->value = b;
	return o;
}

static void the_programs_own_messages_travel(void)
{
	Own *o = chain(1, 2);

	Cell_own_in(to, o);
	CHECK(cell.seen == o);
	GOT("1 2");
	mock.remote = true;
	Cell_own_in(to, chain(3, 4));
	GOT("3 4");
	cell.iter = 8;
	o = Cell_own_sync(to, chain(5, 6));
	CHECK(o->value == 8 && o->next->value == 6);
	free_rest(o);
	CkFreeMsg(o);
	G g;
	mock.self = &g;
	CHECK(G_ckNew(chain(7, 8)).ck.id == 78 && g.k == 7);
	CHECK(mock.open == 0);
	if (setjmp(mock.bad) == 0) {
		Own_alloc(SIZE_MAX - 8);
		CHECK(!"returned");
	}
	CHECK(strncmp(mock.aborted, "Own_alloc: ", 11) == 0);
	CHECK(strstr(mock.aborted, " bytes are too many"));
}

static void calls_wait_for_their_condition(void)
{
	const double v[] = {1, 2};

	Cell_ghost(to, 2, 2, v);
	CHECK(mock.waiting != NULL && !asked_again());
	cell.iter = 2;
	CHECK(asked_again());
	GOT("2 2");
	Cell_ghost(to, 2, 1, v);
	GOT("2 1");
	Cell_row_in(to, a_row(3));
	CHECK(!asked_again());
	cell.iter = 3;
	CHECK(asked_again());
	GOT("3 0.5 3");
	Cell_later(to);
	GOT("later");
	cell.iter = 1;
	Cell_later_section((CProxySection_Cell){{1, 2}});
	CHECK(!asked_again());
	cell.iter = 2;
	CHECK(asked_again());
	GOT("later");
}

static void conditions_see_their_parameters(void)
{
	width = 10;
	Cell_named(to, "xyz", 1e-6, 2);
	GOT("xyz 1e-06 2");
	Cell_named(to, "abc", 1e-6, 2);
	CHECK(!asked_again());
	width = 0;
	CkFreeMsg(mock.waiting);
	Cell_named(to, "xyz", 1e-6, 2);
	CHECK(!asked_again());
	CkFreeMsg(mock.waiting);
	Cell_quoted(to, "it's \"so\"");
	GOT("it's \"so\"");
	Shared s = {3};
	mock.self = &s;
	Shared_upto(Shared_at((CProxy_Shared){{1}}, 0), 4);
	CHECK(!asked_again());
	s.n = 4;
	CHECK(asked_again() && s.n == 0 && mock.open == 0);
}

static void inline_calls_are_direct_where_they_can_be(void)
{
	const double v[] = {1, 2};
	CkCallback done;

	memset(&done, 0, sizeof done);
	mock.local = &cell;
	mock.last = NULL;
	Cell_quick(to, 7, NULL, 2, CkSendBufferCb(v, done), &three);
	CHECK(mock.entered == 1 && mock.left == 1 && mock.last == NULL && cell.seen == v);
	CHECK(mock.fired == 1);
	GOT("7 <> 2 4");
	mock.local = NULL;
	Cell_quick(to, 8, "s", 1, CkSendBufferCb(v, done), &three);
	CHECK(mock.entered == 1 && strcmp(mock.last, "send") == 0);
	GOT("8 <s> 1 4");
	mock.local = &cell;
	Cell_quick_all((CProxy_Cell){{77}}, 9, "a", 1, CkSendBufferCb(v, done), &three);
	CHECK(mock.entered == 1 && strcmp(mock.last, "all") == 0);
	G g;
	mock.self = mock.local = &g;
	G_now(G_at((CProxy_G){{78}}, 3), 4);
	CHECK(mock.entered == 2 && mock.left == 2 && g.k == -4);
}

static void local_calls_are_functions(void)
{
	const point_t p = {6, 7};

	if (setjmp(mock.bad) == 0) {
		Cell_here(to, 1, "s");
		CHECK(!"returned");
	}
	CHECK(strcmp(mock.aborted, "not on this PE") == 0);
	mock.local = &cell;
	cell.iter = 4;
	CHECK(Cell_here(to, 5, NULL) == 9 && mock.left == 1);
	GOT("<>");
	Cell_tell(to, p, &three);
	GOT("6 3");
	CHECK(strcmp(Cell_name(to), "cell") == 0 && mock.left == 3);
}

static void single_chares_are_called_by_their_id(void)
{
	CkEntryOptions o;
	CProxy_Single p;
	Single s;

	memset(&o, 0, sizeof o);
	o.prio = -3;
	memset(&s, 0, sizeof s);
	mock.self = &s;
	p = Single_ckNew(CK_PE_ANY, 5, "leaf");
	CHECK(p.ck.id == 79 && p.ck.pe == 4 && mock.pe == -1 && s.total == 5);
	CHECK(strcmp(s.name, "leaf") == 0);
	Single_ckNew_opt(&o, 2, 6, "other");
	CHECK(mock.pe == 2 && mock.options.prio == -3 && s.total == 6);
	Single_add(p, 10);
	CHECK(s.total == 16 && strcmp(mock.last, "chare") == 0 && mock.id == 79);
	Single_add_opt(&o, p, 1);
	CHECK(mock.options.prio == -3);
	Single_wait_sync(p, 7);
	CHECK(s.total == 10);
	Single_cb_done(p);
	CHECK(strcmp(mock.last, "cbChare") == 0 && mock.id == 79);
	CHECK(Single_thisProxy(&s).ck.id == 80 && Single_thisProxy(&s).ck.pe == 5);
	CHECK(mock.open == 0);
}

static void sections_are_called(void)
{
	const CProxy_Cell p = {{77}};
	const CkIndex list[] = {Cell_index(4), Cell_index(9)};
	CProxySection_Cell s = Cell_ckSection(p, list, 2);

	CHECK(s.ck.coll == 77 && s.ck.id == 2 && mock.index.v[0] == 9);
	Cell_one_section(s, &three);
	CHECK(strcmp(mock.last, "section") == 0 && mock.id == 2);
	GOT("3: 4 6");
	Cell_cb_later_section(s);
	CHECK(strcmp(mock.last, "cbSection") == 0 && mock.id == 2);
	CHECK(G_index(5).v[0] == 5);
	const CProxyElement_Cell some[] = {Cell_at(p, 3), Cell_at((CProxy_Cell){{78}}, 8)};

	s = Cell_ckSectionOf(some, 2);
	CHECK(s.ck.coll == 77 && s.ck.id == 2 && mock.index.v[0] == 8);
}

static void elements_are_inserted(void)
{
	const CProxy_Cell p = Cell_ckNewEmpty();
	CkArrayOptions o;
	Made made;

	CHECK(p.ck.id == 77 && mock.empty && mock.array.dims.nd == 0 && mock.array.map == NULL);
	memset(&o, 0, sizeof o);
	o.map = "diag";
	Cell_ckNewEmpty_opt(&o);
	CHECK(mock.empty && strcmp(mock.array.map, "diag") == 0);
	Cell_beginInserting(p);
	CHECK(strcmp(mock.last, "begin") == 0 && mock.id == 77);
	Cell_insert(Cell_at(p, 12), CK_PE_ANY, 6);
	CHECK(strcmp(mock.last, "insert") == 0 && mock.index.v[0] == 12 && mock.pe == -1);
	CHECK(cell.iter == 6);
	Cell_doneInserting(p);
	CHECK(strcmp(mock.last, "done") == 0);
	Cell_ckDestroy(Cell_at(p, 13));
	CHECK(strcmp(mock.last, "destroy") == 0 && mock.index.v[0] == 13);
	CHECK(Cell_nextLocal(p, NULL) == &cell && Cell_nextLocal(p, &cell) == NULL);
	mock.self = &made;
	Made_ckNew(CkDims(2, 2), a_row(3));
	CHECK(made.n == 3 && made.last == 2.5 && !mock.empty);
	Made_insert(Made_at((CProxy_Made){{1}}, 4, 5), 2, a_row(1));
	CHECK(made.n == 1 && mock.index.v[1] == 5 && mock.pe == 2 && mock.open == 0);
}

/* An element with its index, as the runtime lays it. */
static struct {
	CkGenObj head;
	union { Four four; Five five; Six six; Shade shade; } self;
} placed;

static void place(CkIndex index)
{
	memset(&placed, 0, sizeof placed);
	placed.head.index = index;
}

static void indices_of_every_kind_agree(void)
{
	const colour_index c = {0x01020304, {5, 6, 7, 8}};
	CProxyElement_Shade e;
	Shade shade;

	place(Four_at((CProxy_Four){{1}}, 1, -2, 3, 4).ck.index);
	CHECK(Four_thisIndex(&placed.self.four).w == 1 && Four_thisIndex(&placed.self.four).x == -2);
	CHECK(Four_thisIndex(&placed.self.four).y == 3 && Four_thisIndex(&placed.self.four).z == 4);
	CHECK(CkIndexShort(placed.head.index, 1) == -2 && CkIndexShort(placed.head.index, 4) == 0);
	place(Five_index(1, 2, 3, 4, -5));
	CHECK(Five_thisIndex(&placed.self.five).v == 1);
	CHECK(Five_thisIndex(&placed.self.five).z == -5);
	place(Six_index(1, 2, 3, 4, 5, -32768));
	CHECK(Six_thisIndex(&placed.self.six).x1 == 1);
	CHECK(Six_thisIndex(&placed.self.six).z2 == -32768);
	e = Shade_at((CProxy_Shade){{1}}, c);
	CHECK(memcmp(&e.ck.index, &c, sizeof c) == 0 && e.ck.index.v[2] == 0);
	place(e.ck.index);
	CHECK(Shade_thisIndex(&placed.self.shade).shade[3] == 8);
	mock.self = &shade;
	Shade_insert(e, 1, 20);
	Shade_go(e, 2);
	CHECK(shade.k == 22 && mock.index.v[0] == 0x01020304);
	Shared_ckLocalBranch((CProxy_Shared){{1}});
	CHECK(mock.branch == 1);
}

static void ids_and_numbers_arrive(void)
{
	const CkChareID c = {1, 0, 0};
	const CkArrayID a = {2};
	const CkGroupID g = {3};
	const CkSection s = {0, 4};
	const CkFuture f = {5, 0, 0};
	const CProxySection_Cell cs = {{0, 6}};
	const CProxy_Single one = {{0, 7, 0}};
	const CkIndex6D i = {1, 2, 3, 4, 5, 8};

	Cell_ids(to, c, a, g, s, f, cs, one, i);
	GOT("1 2 3 4 5 6 7 8");
	Cell_numbers(to, -1, 2, -3, 4, -5, 6, -7, 8, 0.5f, 0.25, true);
	GOT("-1 2 -3 4 -5 6 -7 8 0.5 0.25 1");
}

static void reductions_deliver_every_number_type(void)
{
	struct { CkReductionMsg head; uint8_t v[4]; } b;
	struct { CkReductionMsg head; int64_t v[2]; } l;

	memset(&b, 0, sizeof b);
	memset(&l, 0, sizeof l);
	b.head.bytes = 3;
	b.v[2] = 200;
	l.v[0] = -1;
	l.v[1] = 2;
	entry_named(&ck_chare_Cell, "bytes")->reduced(&cell, &b);
	GOT("3: 200");
	entry_named(&ck_chare_Cell, "counts")->reduced(&cell, &l);
	GOT("-1 2");
	CHECK(entry_named(&ck_chare_Cell, "bytes")->want == CK_UCHAR);
	CHECK(entry_named(&ck_chare_Cell, "counts")->want == CK_LONG);
	CHECK(entry_named(&ck_chare_Cell, "counts")->want_count == 2);
}

static void flags_say_what_the_file_says(void)
{
	static const struct { const CkGenChare *chare; const char *entry; uint32_t flags; } want[] = {
		{&ck_chare_Main, "Main", CKGEN_NOTRACE},
		{&ck_chare_Main, "drive", CKGEN_THREADED | CKGEN_NOARGS | CKGEN_REDUCTION},
		{&ck_chare_Main, "other", CKGEN_THREADED},
		{&ck_chare_Main, "ask", CKGEN_SYNC},
		{&ck_chare_Cell, "one", CKGEN_PUP},
		{&ck_chare_Cell, "bulk", CKGEN_NOCOPY},
		{&ck_chare_Cell, "ghost", CKGEN_WHEN},
		{&ck_chare_Cell, "row_in", CKGEN_WHEN | CKGEN_MESSAGE},
		{&ck_chare_Cell, "own", CKGEN_SYNC | CKGEN_MESSAGE},
		{&ck_chare_Cell, "nothing", CKGEN_SYNC},
		{&ck_chare_Cell, "quick", CKGEN_NOCOPY | CKGEN_PUP},
		{&ck_chare_Cell, "here", 0},
		{&ck_chare_Four, "born", CKGEN_CREATEHERE},
		{&ck_chare_Four, "made", CKGEN_CREATEHOME},
		{&ck_chare_Cell, "few", CKGEN_AGGREGATE},
		{&ck_chare_Cell, "many", CKGEN_EXPEDITED | CKGEN_NOTRACE},
		{&ck_chare_Made, "Made", CKGEN_MESSAGE},
		{&ck_chare_Shared, "add", CKGEN_EXCLUSIVE},
		{&ck_chare_Shared, "poke", CKGEN_IMMEDIATE | CKGEN_NOARGS | CKGEN_REDUCTION},
		{&ck_chare_Shared, "total", CKGEN_SYNC | CKGEN_EXCLUSIVE | CKGEN_PUP},
	};

	for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
		if (entry_named(want[i].chare, want[i].entry)->flags != want[i].flags)
			printf("%s: %x\n", want[i].entry,
			       entry_named(want[i].chare, want[i].entry)->flags);
		CHECK(entry_named(want[i].chare, want[i].entry)->flags == want[i].flags);
	}
	CHECK(entry_named(&ck_chare_Main, "drive")->stack_bytes == 65536);
	CHECK(entry_named(&ck_chare_Main, "other")->stack_bytes == 0);
	CHECK(entry_named(&ck_chare_Cell, "here")->call == NULL);
}

static void tables_say_what_the_file_says(void)
{
	const CkGenModule *m = &ck_module_model;
	const CkGenEntry *e = entry_named(&ck_chare_Cell, "bulk");

	CHECK(m->n_initnodes == 2 && m->n_initprocs == 1 && m->n_chares == 11);
	m->initnodes[0]();
	m->initnodes[1]();
	m->initprocs[0]();
	CHECK(n_order == 3 && order[0] == 1 && order[1] == 2 && order[2] == 3);
	CHECK(m->readonlies[0].addr == &table && m->readonlies[0].message == &ck_type_Row);
	CHECK(m->readonlies[0].bytes == sizeof table && m->readonlies[1].message == NULL);
	CHECK(e->n_ncpy == 2 && e->ncpy[0] == offsetof(struct ck_args_Cell_bulk, v));
	CHECK(e->ncpy[1] == offsetof(struct ck_args_Cell_bulk, p));
	e = entry_named(&ck_chare_Cell, "where");
	CHECK(e->reply_bytes == sizeof(struct point) && e->reply_message == 0 && e->reply == NULL);
	e = entry_named(&ck_chare_Cell, "row");
	CHECK(e->reply_bytes == sizeof(void *) && e->reply_message == 1 && e->reply == &ck_type_Row);
	e = entry_named(&ck_chare_Cell, "put");
	CHECK(e->reply_bytes == 0 && e->answer != NULL && e->call == NULL);
	CHECK(ck_chare_Single.kind == CKGEN_CHARE && ck_chare_Shared.kind == CKGEN_NODEGROUP);
	CHECK(ck_chare_Six.nd == 6 && ck_chare_Six.index_bytes == 0);
	CHECK(ck_chare_Shade.nd == 0 && ck_chare_Shade.index_bytes == sizeof(colour_index));
	CHECK(ck_type_Own.pack != NULL && ck_type_Own.unpack != NULL && ck_type_Own.fix == NULL);
	CHECK(ck_type_Row.pack == NULL && ck_type_Row.fix != NULL && ck_type_Plain.fix == NULL);
}

/* What the runtime does with `readonly Row *table` where its bytes arrive. */
static void a_readonly_message_is_pointed_into_itself(void)
{
	void *m = moved(a_row(2), 0);

	ck_module_model.readonlies[0].message->fix(m);
	table = (Row *)m;
	CHECK(table->v[1] == 1.5 && table->w[1] == 2);
	CkFreeMsg(table);
}

/* The same call packed twice, in memory of different content. */
static void no_stale_memory_travels(void)
{
	const vec two[] = {{1, numbers + 1}, {2, numbers + 2}};
	void *first_one;

	mock.keep = true;
	Cell_several(to, 2, two, "n", &three);
	first_one = mock.kept;
	mock.fill = 0x55;
	Cell_several(to, 2, two, "n", &three);
	CHECK(memcmp(first_one, mock.kept, bytes_of(first_one)) == 0);
	CkFreeMsg(first_one);
	CkFreeMsg(mock.kept);
	mock.keep = false;
	CHECK(mock.open == 0);
}

static const struct { const char *name; void (*run)(void); } tests[] = {
	{"packed objects arrive", packed_objects_arrive},
	{"a missing object is reported", a_missing_object_is_reported},
	{"nocopy arrays are read where they lie", nocopy_arrays_are_read_where_they_lie},
	{"posted arrays go where the receiver says", posted_arrays_go_where_the_receiver_says},
	{"answers come back", answers_come_back},
	{"messages come back", messages_come_back},
	{"the program's own messages travel", the_programs_own_messages_travel},
	{"calls wait for their condition", calls_wait_for_their_condition},
	{"conditions see their parameters", conditions_see_their_parameters},
	{"inline calls are direct where they can be", inline_calls_are_direct_where_they_can_be},
	{"local calls are functions", local_calls_are_functions},
	{"single chares are called by their id", single_chares_are_called_by_their_id},
	{"sections are called", sections_are_called},
	{"elements are inserted", elements_are_inserted},
	{"indices of every kind agree", indices_of_every_kind_agree},
	{"ids and numbers arrive", ids_and_numbers_arrive},
	{"reductions deliver every number type", reductions_deliver_every_number_type},
	{"flags say what the file says", flags_say_what_the_file_says},
	{"tables say what the file says", tables_say_what_the_file_says},
	{"a readonly message is pointed into itself", a_readonly_message_is_pointed_into_itself},
	{"no stale memory travels", no_stale_memory_travels},
};

int main(void)
{
	int failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
		int before = mock.failures;

		begin();
		tests[i].run();
		printf("%s   model: %s\n", mock.failures == before ? "ok  " : "FAIL",
		       tests[i].name);
		failed += mock.failures != before;
	}
	return failed != 0;
}
