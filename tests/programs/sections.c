/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sections: each member gets each multicast once, whoever sends it, in the sender's order; other
 * elements get nothing. Several reductions over different sections of the same elements run at a time.
 * Sections are used before their members can know them, and are destroyed.
 */
#include <stdlib.h>

#include "check.h"

#include "sections.decl.h"

enum { N = 41, SECTIONS = 5, ROUNDS = 6, NX = 5, NY = 4, NZ = 3, SHOUTS = 4 };

struct Main {
	int phase;
	int next_total[SECTIONS];
	int awaited;           /* messages that the phase still brings */
	long expected;
	CProxySection_Cell s[SECTIONS];
	CkSection wide;
	double bits;
};
struct Cell {
	int n_notes[SECTIONS], next[SECTIONS][N + 1];
	int n_urgent, n_parcels, n_results, n_early;
	int result;
};
struct Grid { int marks; };
struct Spread { int marks; };
struct Member { int marks; };
struct Late { int n; };

/* Which elements section `which` has. */
static bool has(int which, int i)
{
	switch (which) {
	case 0: return true;
	case 1: return i % 2 == 0;
	case 2: return i % 3 == 1;
	case 3: return i == N - 1;
	default: return check_mix((uint64_t)i) % 4 == 0;
	}
}

static int n_of(int which)
{
	int n = 0;

	for (int i = 0; i < N; i++)
		n += has(which, i);
	return n;
}

/* In any order, and some of them twice. */
static CProxySection_Cell make(int which)
{
	CkIndex list[2 * N];
	size_t n = 0;

	for (int i = 0; i < N; i++) {
		if (has(which, i))
			list[n++] = Cell_index(i);
		if (has(which, i) && i % 5 == 0)
			list[n++] = Cell_index(i);
	}
	for (size_t i = n; i-- > 1;) {
		size_t j = check_mix(i + (size_t)which) % (i + 1);
		CkIndex t = list[i];

		list[i] = list[j];
		list[j] = t;
	}
	CProxySection_Cell s = Cell_ckSection(cells, list, n);

	memset(list, 0xff, sizeof list); /* it was copied */
	return s;
}

static int column_map(CkIndex i, CkArrayDims dims, int npes)
{
	return (i.v[1] * 7 + i.v[0] * dims.n[1]) % npes;
}

void register_maps(void)
{
	CkRegisterMap("columns", column_map);
}

/* ---- cells ----------------------------------------------------------------------------------- */

void Cell_on_new(Cell *self) { self->result = -1; }

/* `from` N: the main chare. Order per sender and section. */
void Cell_on_note(Cell *self, int which, int from, int seq, int n, const int *v, const char *text)
{
	CHECK(has(which, Cell_thisIndex(self)));
	CHECK_EQ(seq, self->next[which][from]++);
	CHECK_EQ(n, seq * 3);
	CHECK((uintptr_t)v % 16 == 0);
	for (int i = 0; i < n; i++)
		CHECK_EQ(v[i], from + i);
	CHECK(strcmp(text, "to some") == 0);
	self->n_notes[which]++;
}

void Cell_on_urgent(Cell *self, int which)
{
	CHECK(has(which, Cell_thisIndex(self)));
	self->n_urgent++;
}

/* Each member has a message of its own, and may do with it what it likes. */
void Cell_on_parcel(Cell *self, Parcel *p)
{
	int me = Cell_thisIndex(self);

	CHECK_EQ(p->v[0], 100);
	p->v[0] = me;
	self->n_parcels++;
	if (me % 3 == 0) {
		CkFreeMsg(p);
	} else if (me % 3 == 1) {
		CkKeepMsg();
		CkFreeMsg(p);
	}
}

static void send_note(int which, int from, int seq, CProxySection_Cell to)
{
	int v[3 * (SHOUTS + ROUNDS)];

	for (int i = 0; i < seq * 3; i++)
		v[i] = from + i;
	Cell_note_section(to, which, from, seq, seq * 3, v, "to some");
}

void Cell_on_shout(Cell *self, int which, CProxySection_Cell to)
{
	for (int k = 0; k < SHOUTS; k++)
		send_note(which, Cell_thisIndex(self), k, to);
}

/* Several at a time: sums to the main chare, a barrier's worth to the members themselves. */
void Cell_on_contribute(Cell *self, int which, int rounds, CProxySection_Cell s)
{
	double d = 1.0 / (Cell_thisIndex(self) + 3);

	for (int k = 0; k < rounds; k++) {
		int v[2] = {0, k + Cell_thisIndex(self)};

		CkContributeSection(self, s.ck, v, 2, CkReduction_sum_int,
				    Main_cb_total(mainProxy));
	}
	if (which == 0)
		CkContributeSection(self, s.ck, &d, 1, CkReduction_sum_double,
				    Main_cb_exact(mainProxy));
	int one = 1;

	CkContributeSection(self, s.ck, &one, 1, CkReduction_sum_int, Cell_cb_result_section(s));
	CkContributeSection(self, s.ck, NULL, 0, CkReduction_nop, Main_cb_done(mainProxy));
}

void Cell_on_result(Cell *self, int sum)
{
	self->result = sum;
	self->n_results++;
}

/* The section may not be known here yet. */
void Cell_on_early(Cell *self, CkSection s)
{
	int v = Cell_thisIndex(self);
	CProxySection_Cell to = {s};

	CkContributeSection(self, s, &v, 1, CkReduction_sum_int, Cell_cb_early_done_section(to));
	CkContributeSection(self, s, &v, 1, CkReduction_max_int, Cell_cb_early_done_section(to));
}

void Cell_on_early_done(Cell *self, int v)
{
	CHECK_EQ(v, self->n_early == 0 ? 2 * (N - 1) : N - 1);
	self->n_early++;
}

void Cell_on_report(Cell *self)
{
	long v[2] = {0, 0};
	int me = Cell_thisIndex(self);

	for (int w = 0; w < SECTIONS; w++) {
		v[0] += self->n_notes[w];
		v[1] += self->n_notes[w] != (has(w, me) ? ROUNDS + N * SHOUTS : 0);
	}
	v[1] += self->n_urgent != has(1, me) + 2 * has(2, me);
	v[1] += self->n_parcels != has(4, me);
	v[1] += self->n_early != 2 * (me == 0 || me == N - 2 || me == N - 1 || me == 1);
	v[1] += self->n_results != has(0, me) + has(1, me) + has(2, me) + has(3, me) + has(4, me);
	CkContribute(self, v, 2, CkReduction_sum_long, Main_cb_counted(mainProxy));
}

/* ---- other kinds of collections --------------------------------------------------------------- */

void Grid_on_new(Grid *self) { self->marks = 0; }
void Grid_on_mark(Grid *self, int by) { self->marks += by; }
void Grid_on_sum(Grid *self, CkSection s)
{
	int one = 1;

	CkContributeSection(self, s, &one, 1, CkReduction_sum_int, Main_cb_members_in(mainProxy));
}
void Grid_on_report(Grid *self)
{
	CkIndex3D i = Grid_thisIndex(self);
	bool in = i.x % 2 == 0 && i.y >= 1 && i.z == 2;
	long v[2] = {self->marks, self->marks != (in ? 3 : 0)};

	CkContribute(self, v, 2, CkReduction_sum_long, Main_cb_counted(mainProxy));
}

void Spread_on_new(Spread *self) { self->marks = 0; }
void Spread_on_mark(Spread *self, int by) { self->marks += by; }
void Spread_on_report(Spread *self)
{
	CkIndex2D i = Spread_thisIndex(self);
	long v[2] = {self->marks, self->marks != (i.x == 3 ? 5 : 0)};

	CkContribute(self, v, 2, CkReduction_sum_long, Main_cb_counted(mainProxy));
}

void Member_on_new(Member *self) { self->marks = 0; }
void Member_on_mark(Member *self, int by) { self->marks += by; }
void Member_on_contribute(Member *self, CProxySection_Member s)
{
	int one = 1;

	CkContributeSection(self, s.ck, &one, 1, CkReduction_sum_int,
			    Main_cb_members_in(mainProxy));
}
void Member_on_report(Member *self)
{
	int me = CkMyPe();
	long v[2] = {self->marks, self->marks != (me % 2 == 0 ? 7 : 0)};

	CkContribute(self, v, 2, CkReduction_sum_long, Main_cb_counted(mainProxy));
}

/* On PEs that the array's creation may not have reached: section and multicast wait for it. */
void Member_on_use_early(Member *self, CProxy_Late late)
{
	CkIndex list[3] = {Late_index(7), Late_index(0), Late_index(3)};
	CProxySection_Late s = Late_ckSection(late, list, 3);
	CkSection range = CkSectionRange1D(late.ck, 0, 7, 7);

	(void)self;
	Late_hello_section(s, s.ck, CkMyPe());
	Late_hello_section((CProxySection_Late){range}, range, CkMyPe());
}

void Late_on_new(Late *self) { self->n = 0; }
void Late_on_hello(Late *self, CkSection s, int from)
{
	int one = 1, i = Late_thisIndex(self);

	CHECK(i == 0 || i == 3 || i == 7);
	CHECK_EQ(s.coll, Late_thisProxy(self).ck.id);
	CHECK(from >= 0 && from < CkNumPes());
	CkContributeSection(self, s, &one, 1, CkReduction_sum_int, Main_cb_members_in(mainProxy));
}

/* ---- mistakes: `sections WHAT`, each of which must end the job ---------------------------------- */

static bool is(const char *what, const char *name) { return strcmp(what, name) == 0; }

/* On the last PE. */
void Member_on_mistake(Member *self, const char *what)
{
	CkIndex two[2] = {Cell_index(1), Cell_index(is(what, "index") ? N : 2)};
	CkIndex pes[2] = {Member_index(0), Member_index(CkNumPes())};
	CkSection s = {0, 0};

	/* The lines name the array, so its creation must have come. */
	if (!CkKnowsArray(cells.ck)) {
		Member_mistake(Member_thisElement(self), what);
		return;
	}
	if (is(what, "unset"))
		Cell_urgent_section((CProxySection_Cell){s}, 0);
	else if (is(what, "unset-callback"))
		CkCallbackSend(Cell_cb_result_section((CProxySection_Cell){s}), NULL, 0);
	else if (is(what, "unset-destroy"))
		CkSectionDestroy(s);
	else if (is(what, "invented"))
		Cell_urgent_section((CProxySection_Cell){{cells.ck.id, (uint64_t)CkNumPes() << 32 | 1}}, 0);
	else if (is(what, "empty"))
		Cell_ckSection(cells, two, 0);
	else if (is(what, "range"))
		CkSectionRange1D(cells.ck, 5, 4, 1);
	else if (is(what, "step"))
		CkSectionRange1D(cells.ck, 0, 4, 0);
	else if (is(what, "pe"))
		Member_ckSection(members, pes, 2);
	else
		Cell_mistake_all(cells, what, Cell_ckSection(cells, two, 2));
}

/* On all elements; 1 and 2 are members. */
void Cell_on_mistake(Cell *self, const char *what, CProxySection_Cell s)
{
	int me = Cell_thisIndex(self), v[2] = {0, 0};
	bool member = me == 1 || me == 2;

	if (is(what, "unset-contribute") && me == 1) {
		s.ck = (CkSection){0, 0};
		CkContributeSection(self, s.ck, v, 1, CkReduction_sum_int, CkCallbackIgnore());
	} else if (is(what, "no-multicast") && me == 1) {
		/* The call is one of all. */
		CkContributeSection(self, CkGetSectionInfo(NULL), v, 1, CkReduction_sum_int,
				    CkCallbackIgnore());
	} else if (is(what, "destroyed") && me == 0) {
		CkSectionDestroy(s.ck);
		Cell_note_section(s, 0, 0, 0, 0, v, "");
	} else if (is(what, "destroyed-twice") && me == 0) {
		CkSectionDestroy(s.ck);
		CkSectionDestroy(s.ck);
	} else if (is(what, "no-member") && me == 0) {
		CkContributeSection(self, s.ck, v, 1, CkReduction_sum_int, CkCallbackIgnore());
	} else if (is(what, "far") && me == 12) {
		CkContributeSection(self, s.ck, v, 1, CkReduction_sum_int, CkCallbackIgnore());
	} else if (is(what, "neighbour") && me == 3) {
		CkContributeSection(self, s.ck, v, 1, CkReduction_sum_int, CkCallbackIgnore());
	} else if (is(what, "collection") && me == 1) {
		s.ck.coll++;
		CkContributeSection(self, s.ck, v, 1, CkReduction_sum_int, CkCallbackIgnore());
	} else if (is(what, "disagree") && member) {
		CkContributeSection(self, s.ck, v, (size_t)me, CkReduction_sum_int,
				    CkCallbackIgnore());
	} else if (is(what, "unfinished") && me == 1) {
		CkContributeSection(self, s.ck, v, 1, CkReduction_sum_int, CkCallbackIgnore());
		CkSectionDestroy(s.ck);
	}
}

/* ---- main ------------------------------------------------------------------------------------- */

static void next(Main *self) { CkStartQD(Main_cb_phase(mainProxy)); (void)self; }

static void multicasts(Main *self)
{
	for (int w = 0; w < SECTIONS; w++)
		self->s[w] = make(w);
	for (int k = 0; k < ROUNDS; k++)
		for (int w = 0; w < SECTIONS; w++)
			send_note(w, N, k, self->s[w]);
	for (int w = 0; w < SECTIONS; w++)
		for (int i = 0; i < N; i++)
			Cell_shout(Cell_at(cells, i), w, self->s[w]);
	Cell_urgent_section(self->s[1], 1);
	CkEntryOptions late = {.prio = 5}, soon = {.prio = -5};

	Cell_urgent_section_opt(&late, self->s[2], 2);
	Cell_urgent_section_opt(&soon, self->s[2], 2);
	Parcel *p = Parcel_alloc(20);

	p->v[0] = 100;
	p->n = 20;
	Cell_parcel_section(self->s[4], p);
}

static void reductions(Main *self)
{
	for (int w = 0; w < SECTIONS; w++)
		Cell_contribute_section(self->s[w], w, ROUNDS, self->s[w]);
	self->awaited = SECTIONS * (ROUNDS + 1) + 1;
	/* Elements are told of a section before it can be known on their PEs. */
	CkIndex list[] = {Cell_index(N - 1), Cell_index(0), Cell_index(N - 2), Cell_index(1)};
	CkSection s = Cell_ckSection(cells, list, 4).ck;
	CkEntryOptions soon = {.prio = -9};

	for (int i = 0; i < 4; i++) {
		CProxyElement_Cell e = {{cells.ck.id, list[i], 0}};

		Cell_early_opt(&soon, e, s);
	}
}

static void other_kinds(Main *self)
{
	CkIndex list[1024];
	int n = 0;

	self->wide = CkSectionRange3D(grid.ck, (CkRange){0, NX - 1, 2}, (CkRange){1, NY - 1, 1},
				      (CkRange){2, 2, 1});
	Grid_mark_section((CProxySection_Grid){self->wide}, 3);
	Grid_sum_section((CProxySection_Grid){self->wide}, self->wide);
	for (int y = NY; y-- > 0;)
		list[n++] = Spread_index(3, y);
	CProxySection_Spread row = Spread_ckSection(spread, list, (size_t)n);

	Spread_mark_section(row, 5);
	CkSectionDestroy(row.ck); /* what was sent still arrives */
	n = 0;
	for (int pe = 0; pe < CkNumPes(); pe += 2)
		list[n++] = Member_index(pe);
	CProxySection_Member even = Member_ckSection(members, list, (size_t)n);

	Member_mark_section(even, 7);
	Member_contribute_section(even, even);
	for (int pe = 0; pe < CkNumPes(); pe++)
		Member_use_early(Member_at(members, pe), Late_ckNew(CkDims(8)));
	self->awaited = 2 + 2 * CkNumPes();
	self->expected = 3 * 3 + n + (3 + 2) * CkNumPes();
}

static void report(Main *self)
{
	self->awaited = 4;
	self->expected = 0;
	for (int w = 0; w < SECTIONS; w++)
		self->expected += n_of(w) * (ROUNDS + N * SHOUTS);
	self->expected += 9 * 3 + NY * 5 + (CkNumPes() + 1) / 2 * 7;
	Cell_report_all(cells);
	Grid_report_all(grid);
	Spread_report_all(spread);
	Member_report_all(members);
}

void Main_on_phase(Main *self)
{
	CHECK_EQ(self->awaited, 0);
	switch (self->phase++) {
	case 0: multicasts(self); break;
	case 1: reductions(self); break;
	case 2:
		CHECK_EQ(self->expected, 0);
		other_kinds(self);
		break;
	case 3:
		CHECK_EQ(self->expected, 0);
		for (int w = 0; w < SECTIONS; w++)
			CkSectionDestroy(self->s[w].ck);
		report(self);
		break;
	default:
		CHECK_EQ(self->expected, 0);
		CkPrintf("sections: %d of %d elements, sum %.17g\n", SECTIONS, N, self->bits);
		CkExit(0);
		return;
	}
	next(self);
}

/* Of all sections; the callbacks of each come in the order of its reductions, and so the sums
 * differ by the number of members. */
void Main_on_total(Main *self, int zero, int sum)
{
	CHECK_EQ(zero, 0);
	bool found = false;

	for (int w = 0; w < SECTIONS && !found; w++) {
		int should = n_of(w) * self->next_total[w];

		for (int i = 0; i < N; i++)
			should += has(w, i) ? i : 0;
		found = sum == should && self->next_total[w] < ROUNDS;
		self->next_total[w] += found;
	}
	CHECK(found);
	self->awaited--;
}

void Main_on_exact(Main *self, double sum)
{
	double should = 0;

	for (int i = 0; i < N; i++)
		should += 1.0 / (i + 3);
	CHECK(sum > should - 1e-12 && sum < should + 1e-12);
	self->bits = sum;
	self->awaited--;
}

void Main_on_done(Main *self) { self->awaited--; }

void Main_on_members_in(Main *self, int n)
{
	self->expected -= n;
	self->awaited--;
}

void Main_on_counted(Main *self, long sum, long bad)
{
	CHECK_EQ(bad, 0);
	self->expected -= sum;
	self->awaited--;
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(N));
	grid = Grid_ckNew(CkDims(NX, NY, NZ));
	CkArrayOptions o = {.dims = CkDims(6, NY), .map = "columns"};

	spread = Spread_ckNew_opt(&o);
	members = Member_ckNew();
	if (m->argc > 1)
		Member_mistake(Member_at(members, CkNumPes() - 1), m->argv[1]);
	else
		next(self);
}

#include "sections.def.h"
