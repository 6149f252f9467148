/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_roundtrip.c: for every form of parameter the handler gets what the stub was given, and the tables
 * say what the .ci file says. stand_in.h replaces the runtime by a "wire". The wire copies the payload to
 * another address, which exposes pointers into the old place. It fills fresh memory with a pattern, which
 * exposes bytes that nobody wrote. The test compiles as C11 and as C++17.
 */
#include "roundtrip.decl.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Main { int calls; double sum; long lo, hi; uint64_t count; char text[32]; int k; };
struct Cell { int calls; char log[4096]; };
struct G { char name[16]; uint64_t total; };
struct Line { int calls; double x; };
struct Cube { int row; };

#define CK_NO_MAIN
#include "roundtrip.def.h"

#include "stand_in.h"

/* ---- the handlers ----------------------------------------------------------------------- */

/* What a handler got, as text: each test compares one line. */
#define LOG(...) \
	(self->calls++, (void)snprintf(self->log, sizeof self->log, __VA_ARGS__))

/* Numbers of an array, "1 2 3 ". */
static const char *list(char *to, size_t room, long long n, const double *v)
{
	size_t used = 0;

	to[0] = '\0';
	for (long long i = 0; i < n && used + 16 < room; i++)
		used += (size_t)snprintf(to + used, room - used, "%g ", v[i]);
	return to;
}

void setup(void) {}

void Main_on_new(Main *self, CkArgMsg *m) { self->k = m->argc; }
void Main_on_done(Main *self) { self->calls++; }
void Main_on_sum(Main *self, double x) { self->sum = x; }
void Main_on_range(Main *self, long lo, long hi) { self->lo = lo; self->hi = hi; }
void Main_on_raw(Main *self, const CkReductionMsg *m) { self->count = m->count; }

void Main_on_text(Main *self, const char *s, int k)
{
	snprintf(self->text, sizeof self->text, "%s", s);
	self->k = k;
}

void Cell_on_new(Cell *self, int n, const double *v)
{
	char a[128];

	LOG("%d: %s", n, list(a, sizeof a, n, v));
}

void Cell_on_nothing(Cell *self) { LOG("nothing"); }

void Cell_on_integers(Cell *self, bool b, char c, signed char sc, unsigned char uc, short s,
		      unsigned short us, int i, unsigned u, long l, unsigned long ul, long long ll,
		      unsigned long long ull)
{
	LOG("%d %d %d %d %d %d %d %u %ld %lu %lld %llu", b, c, sc, uc, s, us, i, u, l, ul, ll, ull);
}

void Cell_on_widths(Cell *self, int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e, uint32_t f,
		    int64_t g, uint64_t h, size_t i, ptrdiff_t j)
{
	LOG("%d %d %d %d %d %u %lld %llu %zu %td", a, b, c, d, e, f, (long long)g,
	    (unsigned long long)h, i, j);
}

void Cell_on_reals(Cell *self, float f, double d, long double ld) { LOG("%g %g %Lg", f, d, ld); }

void Cell_on_structs(Cell *self, struct point p, point_t q, enum colour c, union either u)
{
	LOG("%d,%d %d,%d %d %g", p.x, p.y, q.x, q.y, (int)c, u.d);
}

void Cell_on_proxies(Cell *self, CProxy_Main m, CProxy_Cell a, CProxyElement_Cell e, CProxy_G g,
		     CkCallback cb)
{
	LOG("%d %d %d@%d,%d %d %d", (int)m.ck.id, (int)a.ck.id, (int)e.ck.id, e.ck.index.v[0],
	    e.ck.index.v[1], (int)g.ck.id, cb.entry);
}

void Cell_on_indices(Cell *self, CkIndex i, CkIndex2D j, CkIndex3D k)
{
	LOG("%d %d %d  %d %d  %d %d %d", i.v[0], i.v[1], i.v[2], j.x, j.y, k.x, k.y, k.z);
}

void Cell_on_handle(Cell *self, CkDirectHandle h)
{
	LOG("%d %d", (int)h.private_[0], (int)h.private_[31]);
}

void Cell_on_array(Cell *self, int side, int n, const double *v)
{
	char a[128];

	CHECK((uintptr_t)v % 16 == 0);
	LOG("%d %d: %s", side, n, list(a, sizeof a, n, v));
}

void Cell_on_length_behind(Cell *self, const double *v, int n)
{
	char a[128];

	LOG("%d: %s", n, list(a, sizeof a, n, v));
}

void Cell_on_arrays(Cell *self, int n, const char *c, int m, const double *d, const short *s)
{
	char a[128];

	CHECK((uintptr_t)c % 16 == 0 && (uintptr_t)d % 16 == 0 && (uintptr_t)s % 16 == 0);
	LOG("%.*s|%s|%d %d", n, c, list(a, sizeof a, n * m + 1, d), s[0], s[(n + m) / 2 - 1]);
}

void Cell_on_struct_array(Cell *self, int n, const point_t *p, const long double *ld)
{
	LOG("%d,%d %d,%d %Lg %Lg", p[0].x, p[0].y, p[n - 1].x, p[n - 1].y, ld[0], ld[1]);
}

void Cell_on_member_length(Cell *self, point_t p, const int *v)
{
	LOG("%d %d", v[0], v[p.x * p.y - 1]);
}

void Cell_on_readonly_length(Cell *self, const int *v) { LOG("%d %d", v[0], v[width - 1]); }
void Cell_on_constant_length(Cell *self, const int *v) { LOG("%d %d", v[0], v[TYPES_ROW - 1]); }
void Cell_on_only_array(Cell *self, const int *v) { LOG("%d %d", v[0], v[3]); }

void Cell_on_strings(Cell *self, const char *a, const char *b, const char *c)
{
	LOG("<%s><%s><%s>", a, b, c);
}

void Cell_on_mixed(Cell *self, const char *name, int n, const float *v, const char *unit)
{
	LOG("%s %g..%g %s", name, v[0], v[n - 1], unit);
}

void Cell_on_unnamed(Cell *self, int a, double b) { LOG("%d %g", a, b); }

/* The parameter, not the readonly of the same name, is the length. */
void Cell_on_shadow(Cell *self, int w, const int *v) { LOG("%d: %d %d", w, v[0], v[w - 1]); }

void Cell_on_big(Cell *self, long n, long m, const char *v) { LOG("%ld %ld %d", n, m, v[0]); }

void Cell_on_values(Cell *self, int n, const double *v)
{
	char a[128];

	LOG("%d: %s", n, list(a, sizeof a, n, v));
}

void Cell_on_take(Cell *self, Block *b)
{
	CHECK((char *)b->a > (char *)b && (uintptr_t)b->a % 16 == 0);
	LOG("%d %g %g %d %d %s", b->row, b->a[0], b->a[2], b->idx[0], b->idx[4], b->label);
	b->a[0] = 0;    /* the handler's to write */
}

void Cell_on_fixed(Cell *self, Fixed *f) { LOG("%ld %d %d", f->id, f->at[0].x, f->at[1].y); }
void Cell_on_soon(Cell *self, int k) { LOG("%d", k); }

void G_on_new(G *self, const char *name) { snprintf(self->name, sizeof self->name, "%s", name); }

void G_on_put(G *self, size_t n, const uint64_t *v)
{
	self->total = 0;
	for (size_t i = 0; i < n; i++)
		self->total += v[i];
}

void Line_on_new(Line *self) { self->calls = 1; }
void Line_on_go(Line *self) { self->calls++; }
void Line_on_step(Line *self, char c, double x) { self->x = x + c; }
void Cube_on_new(Cube *self, int row, const char *name) { self->row = row + name[0]; }
void Cube_on_go(Cube *self) { self->row++; }

/* ---- tests ------------------------------------------------------------------------------ */

static Cell cell;
static CProxyElement_Cell to;

/* A fresh receiver for each. */
static void begin(void)
{
	const CProxy_Cell p = {{77}};

	memset(&cell, 0, sizeof cell);
	mock.self = &cell;
	mock.fill = 0xaa;
	to = Cell_at(p, 3, 4);
}

static void got(int line, const char *want)
{
	if (strcmp(cell.log, want) != 0) {
		printf("test_roundtrip.c:%d: got '%s', want '%s'\n", line, cell.log, want);
		mock.failures++;
	}
	CHECK(mock.open == 0);
}
#define GOT(want) got(__LINE__, want)

static void values_arrive(void)
{
	union either u;

	u.d = 2.5;
	Cell_nothing(to);
	GOT("nothing");
	Cell_integers(to, true, 'A', -1, 255, -300, 60000, -70000, 4000000000u, -5L, 6UL, -7LL,
		      8ULL);
	GOT("1 65 -1 255 -300 60000 -70000 4000000000 -5 6 -7 8");
	Cell_widths(to, -1, 2, -3, 4, -5, 6, -7, 8, 9, -10);
	GOT("-1 2 -3 4 -5 6 -7 8 9 -10");
	Cell_reals(to, 1.5f, 2.25, 3.125L);
	GOT("1.5 2.25 3.125");
	const struct point p = {1, 2};
	const point_t q = {3, 4};
	Cell_structs(to, p, q, GREEN, u);
	GOT("1,2 3,4 1 2.5");
	Cell_unnamed(to, 7, 0.5);
	GOT("7 0.5");
}

static void runtime_types_arrive(void)
{
	const CProxy_Main m = {{11}};
	const CProxy_Cell a = {{12}};
	const CProxy_G g = {{13}};
	const CkIndex i = {{1, 2, 3}};
	const CkIndex2D j = {4, 5};
	const CkIndex3D k = {6, 7, 8};
	CkCallback cb;
	CkDirectHandle h;

	memset(&cb, 0, sizeof cb);
	memset(&h, 0, sizeof h);
	cb.entry = 9;
	h.private_[0] = 21;
	h.private_[31] = 22;
	Cell_proxies(to, m, a, to, g, cb);
	GOT("11 12 77@3,4 13 9");
	Cell_indices(to, i, j, k);
	GOT("1 2 3  4 5  6 7 8");
	Cell_handle(to, h);
	GOT("21 22");
}

static void arrays_arrive(void)
{
	const double v[] = {1, 2, 3, 4, 5, 6, 7};
	const short s[] = {8, 9};
	const int w[] = {1, 2, 3, 4, 5, 6};
	const point_t p[] = {{1, 2}, {3, 4}, {5, 6}};
	const long double ld[] = {0.5L, 0.25L};
	const point_t size = {2, 3};

	Cell_array(to, 1, 3, v);
	GOT("1 3: 1 2 3 ");
	Cell_length_behind(to, v, 2);
	GOT("2: 1 2 ");
	Cell_arrays(to, 3, "abc", 2, v, s);
	GOT("abc|1 2 3 4 5 6 7 |8 9");
	Cell_struct_array(to, 3, p, ld);
	GOT("1,2 5,6 0.5 0.25");
	Cell_member_length(to, size, w);
	GOT("1 6");
	Cell_constant_length(to, w);
	GOT("1 6");
	Cell_only_array(to, w);
	GOT("1 4");
	width = 5;
	Cell_readonly_length(to, w);
	GOT("1 5");
	Cell_shadow(to, 2, w);
	GOT("2: 1 2");
}

static void an_empty_array_may_be_null(void)
{
	Cell_array(to, 1, 0, NULL);
	GOT("1 0: ");
}

static void strings_arrive(void)
{
	const float f[] = {1, 2};
	char buf[] = "own";

	Cell_strings(to, "one", buf, "");
	GOT("<one><own><>");
	Cell_strings(to, NULL, NULL, "x");
	GOT("<><><x>");
	Cell_mixed(to, "speed", 2, f, "m/s");
	GOT("speed 1..2 m/s");
}

static void a_negative_length_is_reported(void)
{
	const double v[] = {1};

	if (setjmp(mock.bad) == 0) {
		Cell_array(to, 0, -3, v);
		CHECK(!"returned");
	}
	CHECK(strcmp(mock.bad_param, "v") == 0 && mock.bad_length == -3);
	/* More bytes than there are addresses. */
	if (setjmp(mock.bad) == 0) {
		G_put(G_at((CProxy_G){{78}}, 0), SIZE_MAX / 8, NULL);
		CHECK(!"returned");
	}
}

static void messages_arrive(void)
{
	Block *b = Block_alloc(3, 5);
	Fixed *f = Fixed_alloc();

	CHECK(b->row == 0 && f->id == 0);       /* members are zeroed, arrays are not */
	b->row = 1;
	b->a[0] = 2.5;
	b->a[2] = 3.5;
	b->idx[0] = 4;
	b->idx[4] = 5;
	memcpy(b->label, "lab", 4);
	Cell_take(to, b);
	f->id = 6;
	f->at[0].x = 7;
	f->at[1].y = 8;
	CHECK(strcmp(cell.log, "1 2.5 3.5 4 5 lab") == 0);
	Cell_fixed_all((CProxy_Cell){{77}}, f);
	GOT("6 7 8");
	b = Block_alloc(0, 0);
	CkFreeMsg(b);
	CHECK(mock.open == 0);
}

static void impossible_messages_are_reported(void)
{
	if (setjmp(mock.bad) == 0) {
		Cell_take(to, NULL);
		CHECK(!"returned");
	}
	CHECK(strcmp(mock.aborted, "Cell_take: the message is NULL") == 0);
	if (setjmp(mock.bad) == 0) {
		Block_alloc(SIZE_MAX / 8, 1);
		CHECK(!"returned");
	}
	CHECK(strncmp(mock.aborted, "Block_alloc: a cannot", 21) == 0);
}

static void addresses_and_options_reach_the_runtime(void)
{
	const CProxy_Cell p = {{77}};
	CkEntryOptions o;

	memset(&o, 0, sizeof o);
	o.prio = -5;
	o.queueing = CK_QUEUEING_LIFO;
	Cell_soon(to, 1);
	CHECK(strcmp(mock.last, "send") == 0 && mock.index.v[0] == 3 && mock.index.v[1] == 4);
	CHECK(mock.options.prio == 0);
	Cell_soon_opt(&o, to, 2);
	CHECK(mock.options.prio == -5 && mock.options.queueing == CK_QUEUEING_LIFO);
	Cell_soon_all(p, 3);
	CHECK(strcmp(mock.last, "all") == 0);
	GOT("3");
	Cell_soon_all_opt(&o, p, 4);
	CHECK(mock.options.prio == -5);
	GOT("4");
}

/* One number for an index, values for parameters: CkGen_open. */
static void calls_of_constant_size_are_filled_where_they_are(void)
{
	const CProxy_Line p = {{77}};
	CkEntryOptions o;
	Line line = {0, 0};

	memset(&o, 0, sizeof o);
	o.prio = -3;
	mock.self = &line;
	Line_go(Line_at(p, 8));
	CHECK(line.calls == 1 && mock.index.v[0] == 8 && mock.index.v[1] == 0);
	Line_step(Line_at(p, 9), 1, 2.5);
	CHECK(line.x == 3.5 && mock.index.v[0] == 9 && strcmp(mock.last, "send") == 0);
	Line_step_opt(&o, Line_at(p, 10), 2, 2.5);
	CHECK(line.x == 4.5 && mock.index.v[0] == 10 && mock.options.prio == -3);
	Line_step_all(p, 3, 2.5);
	CHECK(line.x == 5.5 && strcmp(mock.last, "all") == 0);
	CHECK(mock.open == 0 && mock.opened == NULL);
}

static void the_main_chare_gets_its_calls(void)
{
	const CProxy_Main p = {{1}};
	Main m;
	CkArgMsg args = {2, NULL};

	memset(&m, 0, sizeof m);
	mock.self = &m;
	ck_chare_Main.entries[0].call(&m, &args);
	CHECK(m.k == 2);
	Main_done(p);
	CHECK(m.calls == 1 && strcmp(mock.last, "main") == 0);
	Main_sum(p, 4.5);
	CHECK(m.sum == 4.5);
	Main_text(p, "hello", 9);
	CHECK(strcmp(m.text, "hello") == 0 && m.k == 9);
	CHECK(mock.open == 0);
}

static void creation_passes_parameters_and_options(void)
{
	const double v[] = {1, 2};
	CkArrayOptions o;
	Cube cube;
	G g;

	memset(&o, 0, sizeof o);
	o.dims = CkDims(4, 5);
	o.map = "diag";
	CHECK(Cell_ckNew(CkDims(2, 3), 2, v).ck.id == 77);
	CHECK(mock.array.dims.nd == 2 && mock.array.dims.n[1] == 3 && mock.array.map == NULL);
	CHECK(strcmp(cell.log, "2: 1 2 ") == 0);
	Cell_ckNew_opt(&o, 1, v);
	CHECK(strcmp(mock.array.map, "diag") == 0 && mock.array.dims.n[0] == 4);
	mock.self = &g;
	CHECK(G_ckNew("cache").ck.id == 78 && strcmp(g.name, "cache") == 0);
	const uint64_t w[] = {1, 2, 3};
	G_put_all((CProxy_G){{78}}, 3, w);
	CHECK(g.total == 6);
	mock.self = &cube;
	Cube_ckNew(CkDims(1, 2, 3), 10, "\001");
	CHECK(cube.row == 11 && mock.array.dims.nd == 3);
	CHECK(mock.open == 0);
}

static void elements_know_themselves(void)
{
	static const uint64_t id = 99;
	static struct {
		CkGenObj obj;
		union { Main main; Cell cell; Line line; Cube cube; G g; } self;
	} x;
	static const CkGenObj head = {&id, {{5, 6, 7}}, {0, 0}, 0};

	x.obj = head;
	CHECK(Main_thisProxy(&x.self.main).ck.id == 99);
	CHECK(Cell_thisIndex(&x.self.cell).x == 5 && Cell_thisIndex(&x.self.cell).y == 6);
	CHECK(Line_thisIndex(&x.self.line) == 5 && G_thisIndex(&x.self.g) == 5);
	CHECK(Cube_thisIndex(&x.self.cube).z == 7);
	CHECK(Cell_thisElement(&x.self.cell).ck.id == 99);
	CHECK(Cell_thisElement(&x.self.cell).ck.index.v[1] == 6);
	CHECK(Cell_ckLocal(to) == &cell && mock.index.v[0] == 3);
	G_ckLocalBranch((CProxy_G){{78}});
	CHECK(mock.branch == 78);
	CHECK(Line_at((CProxy_Line){{1}}, 8).ck.index.v[0] == 8);
	CHECK(Cube_at((CProxy_Cube){{1}}, 1, 2, 3).ck.index.v[2] == 3);
}

static void reductions_call_their_targets(void)
{
	struct { CkReductionMsg head; double v[3]; } d;
	struct { CkReductionMsg head; long v[2]; } l;
	Main m;

	memset(&m, 0, sizeof m);
	memset(&d, 0, sizeof d);
	memset(&l, 0, sizeof l);
	d.head.bytes = sizeof d.v;
	d.head.count = 3;
	d.v[0] = 1.5;
	d.v[1] = 2.5;
	d.v[2] = 3.5;
	l.v[0] = -4;
	l.v[1] = 5;
	ck_chare_Main.entries[1].reduced(&m, &d);
	CHECK(m.calls == 1);
	ck_chare_Main.entries[2].reduced(&m, &d);
	CHECK(m.sum == 1.5);
	ck_chare_Main.entries[3].reduced(&m, &l);
	CHECK(m.lo == -4 && m.hi == 5);
	ck_chare_Main.entries[4].reduced(&m, &d);
	CHECK(m.count == 3);
	for (int i = 0; i < ck_chare_Cell.n_entries; i++) {
		if (strcmp(ck_chare_Cell.entries[i].name, "values") == 0)
			ck_chare_Cell.entries[i].reduced(&cell, &d);
	}
	GOT("3: 1.5 2.5 3.5 ");
}

static void callbacks_name_their_entries(void)
{
	Main_cb_done((CProxy_Main){{1}});
	CHECK(mock.callback == 1 && strcmp(mock.last, "cbMain") == 0);
	Main_cb_raw((CProxy_Main){{1}});
	CHECK(mock.callback == 4);
	Cell_cb_nothing(to);
	CHECK(mock.callback == 1 && strcmp(mock.last, "cb") == 0 && mock.index.v[1] == 4);
	Cell_cb_values_all((CProxy_Cell){{77}});
	CHECK(strcmp(mock.last, "cbAll") == 0);
	CHECK(strcmp(ck_chare_Cell.entries[mock.callback].name, "values") == 0);
}

static const CkGenEntry *entry_named(const CkGenChare *c, const char *name)
{
	for (int i = 1; i < c->n_entries; i++) {
		if (strcmp(c->entries[i].name, name) == 0)
			return &c->entries[i];
	}
	abort();
}

static void tables_say_what_the_file_says(void)
{
	const CkGenModule *m = &ck_module_roundtrip;
	const CkGenEntry *e;

	CHECK(strcmp(m->name, "roundtrip") == 0 && m->n_chares == 5 && m->n_readonlies == 3);
	CHECK(m->n_initnodes == 1 && m->initnodes[0] == setup && m->n_externs == 0);
	CHECK(m->readonlies[1].addr == table && m->readonlies[1].bytes == sizeof table);
	CHECK(strcmp(m->readonlies[2].name, "CProxy_Main mainProxy") == 0);
	CHECK(m->chares[1]->kind == CKGEN_ARRAY && m->chares[1]->nd == 2);
	CHECK(m->chares[1]->bytes == sizeof(Cell) && m->chares[2]->kind == CKGEN_GROUP);
	CHECK(strcmp(m->chares[1]->entries[0].name, "Cell") == 0);
	e = entry_named(&ck_chare_Cell, "nothing");
	CHECK(e->flags == (CKGEN_NOARGS | CKGEN_REDUCTION) && e->reduced != NULL);
	e = entry_named(&ck_chare_Cell, "soon");
	CHECK(e->flags == CKGEN_EXPEDITED && e->reduced == NULL);
	e = entry_named(&ck_chare_Cell, "take");
	CHECK(e->flags == CKGEN_MESSAGE);
	e = entry_named(&ck_chare_Cell, "values");
	CHECK(e->want == CK_DOUBLE && e->want_array == 1 && e->flags == CKGEN_REDUCTION);
	e = entry_named(&ck_chare_Main, "range");
	CHECK(e->want == CK_LONG && e->want_array == 0 && e->want_count == 2);
	e = entry_named(&ck_chare_Main, "raw");
	CHECK(e->want == CK_NOTYPE && e->want_array == 1);
}

/* What a call of it makes, cut off by a byte. */
static void cut(const char *entry)
{
	const size_t less = CKGEN_HEAD + bytes_of(mock.kept) - 1;

	memcpy((char *)mock.kept - CKGEN_HEAD + CKGEN_SIZE_AT, &less, sizeof less);
	if (setjmp(mock.bad) == 0) {
		entry_named(&ck_chare_Cell, entry)->came(&cell, mock.kept);
		CHECK(!"returned");
	}
	CHECK(mock.unfit == mock.kept);
	CkFreeMsg(mock.kept);
}

static void a_call_that_was_cut_off_is_refused(void)
{
	const double v[] = {1, 2, 3};
	const int w[] = {1, 2, 3, 4};

	mock.keep = true;
	Cell_array(to, 4, 3, v);
	cut("array");
	Cell_only_array(to, w);
	cut("only_array");
	Cell_strings(to, "a", NULL, "abc");
	cut("strings");
	Cell_fixed(to, Fixed_alloc());
	cut("fixed");
	CHECK(mock.open == 0);
}

/* The same call packed twice, in memory of different content. */
static void no_stale_memory_travels(void)
{
	const double v[] = {1, 2, 3, 4, 5, 6, 7};
	const short s[] = {8, 9};
	void *first;

	mock.keep = true;
	Cell_integers(to, true, 'A', -1, 255, 3, 4, 5, 6, 7, 8, 9, 10);
	first = mock.kept;
	mock.fill = 0x55;
	Cell_integers(to, true, 'A', -1, 255, 3, 4, 5, 6, 7, 8, 9, 10);
	CHECK(memcmp(first, mock.kept, bytes_of(first)) == 0);
	CkFreeMsg(first);
	CkFreeMsg(mock.kept);
	Cell_arrays(to, 3, "abc", 2, v, s);
	first = mock.kept;
	mock.fill = 0xaa;
	Cell_arrays(to, 3, "abc", 2, v, s);
	CHECK(memcmp(first, mock.kept, bytes_of(first)) == 0);
	CkFreeMsg(first);
	CkFreeMsg(mock.kept);
	Cell_unnamed(to, 1, 2.5); /* with a gap between them */
	first = mock.kept;
	mock.fill = 0x55;
	Cell_unnamed(to, 1, 2.5);
	CHECK(memcmp(first, mock.kept, bytes_of(first)) == 0);
	CkFreeMsg(first);
	CkFreeMsg(mock.kept);
	mock.keep = false;
	CHECK(mock.open == 0);
}

static const struct { const char *name; void (*run)(void); } tests[] = {
	{"values arrive", values_arrive},
	{"runtime types arrive", runtime_types_arrive},
	{"arrays arrive", arrays_arrive},
	{"an empty array may be NULL", an_empty_array_may_be_null},
	{"strings arrive", strings_arrive},
	{"a negative length is reported", a_negative_length_is_reported},
	{"messages arrive", messages_arrive},
	{"impossible messages are reported", impossible_messages_are_reported},
	{"addresses and options reach the runtime", addresses_and_options_reach_the_runtime},
	{"calls of constant size are filled where they are",
	 calls_of_constant_size_are_filled_where_they_are},
	{"the main chare gets its calls", the_main_chare_gets_its_calls},
	{"creation passes parameters and options", creation_passes_parameters_and_options},
	{"elements know themselves", elements_know_themselves},
	{"reductions call their targets", reductions_call_their_targets},
	{"callbacks name their entries", callbacks_name_their_entries},
	{"tables say what the file says", tables_say_what_the_file_says},
	{"a call that was cut off is refused", a_call_that_was_cut_off_is_refused},
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
		printf("%s   roundtrip: %s\n", mock.failures == before ? "ok  " : "FAIL",
		       tests[i].name);
		failed += mock.failures != before;
	}
	return failed != 0;
}
