/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mixed: sections over several arrays of one type: one with the default map, one with another, one
 * whose elements are inserted. Each member gets each multicast once, in the sender's order, also when
 * another array has a member of the same index. Reductions have one contribution of each member, in the
 * order of arrays and indices where the order shows. `mixed WHAT`: a mistake, which must end the job.
 */
#include <stdlib.h>

#include "check.h"

#include "mixed.decl.h"

enum { ARRAYS = 3, NX = 6, NY = 3, ROUNDS = 5, SPOKEN = 4, MAX_PES = 16 };

struct Main {
	CProxy_Cell cells[ARRAYS];
	CProxy_Team teams[2];
	CProxySection_Cell s;
	int phase, awaited, next_total;
	long expected;
	double bits;
};
struct Cell {
	int which;             /* of the arrays */
	int n_notes, next[MAX_PES + 1];
	int n_parcels, n_results, n_early, result;
};
struct Team { int which, cheers; };
struct Late { char unused; };

/* ---- members ------------------------------------------------------------------------------- */

/* Place (x, y) of array `which`. The last one has indices of its own kind. */
static CkIndex index_at(int which, int x, int y)
{
	return which == 2 ? Cell_index(x * 1000 - 7, y - 1) : Cell_index(x, y);
}

static bool has(int which, int x, int y)
{
	return check_mix((uint64_t)(which * 64 + x * 8 + y)) % 3 > 0;
}

static int value_of(int which, int x, int y) { return 1 + which * 100 + x * 10 + y; }

/* For each member, by arrays, in index order. */
#define EACH_MEMBER(w, x, y) \
	for (int w = 0; w < ARRAYS; w++) \
		for (int x = 0; x < NX; x++) \
			for (int y = 0; y < NY; y++) \
				if (has(w, x, y))

static int n_members(void)
{
	int n = 0;

	EACH_MEMBER(w, x, y)
		n++;
	return n;
}

static int sum_of_members(void)
{
	int sum = 0;

	EACH_MEMBER(w, x, y)
		sum += value_of(w, x, y);
	return sum;
}

/* In any order, and some of them twice. */
static CProxySection_Cell make(Main *self)
{
	CProxyElement_Cell list[2 * ARRAYS * NX * NY];
	size_t n = 0;

	EACH_MEMBER(w, x, y) {
		CProxyElement_Cell e = {{self->cells[w].ck.id, index_at(w, x, y), 0}};

		list[n++] = e;
		if ((x + y) % 4 == 0)
			list[n++] = e;
	}
	for (size_t i = n; i-- > 1;) {
		size_t j = check_mix(i) % (i + 1);
		CProxyElement_Cell t = list[i];

		list[i] = list[j];
		list[j] = t;
	}
	CProxySection_Cell s = Cell_ckSectionOf(list, n);

	memset(list, 0xff, sizeof list); /* it was copied */
	return s;
}

static int backward_map(CkIndex i, CkArrayDims dims, int npes)
{
	return (dims.n[0] - 1 - i.v[0] + i.v[1]) % npes;
}

void register_maps(void) { CkRegisterMap("backward", backward_map); }

/* ---- cells ------------------------------------------------------------------------------------- */

static void place_of(const Cell *self, int *x, int *y)
{
	CkIndex2D i = Cell_thisIndex(self);

	*x = self->which == 2 ? (i.x + 7) / 1000 : i.x;
	*y = self->which == 2 ? i.y + 1 : i.y;
}

static bool is_member(const Cell *self)
{
	int x, y;

	place_of(self, &x, &y);
	return has(self->which, x, y);
}

static int my_value(const Cell *self)
{
	int x, y;

	place_of(self, &x, &y);
	return value_of(self->which, x, y);
}

void Cell_on_new(Cell *self, int which)
{
	memset(self, 0, sizeof *self);
	self->which = which;
}

/* `from` MAX_PES: the main chare. */
void Cell_on_note(Cell *self, int from, int seq, int n, const int *v)
{
	CHECK(is_member(self));
	CHECK_EQ(seq, self->next[from]++);
	CHECK_EQ(n, seq + 1);
	for (int i = 0; i < n; i++)
		CHECK_EQ(v[i], from + i);
	self->n_notes++;
}

static void send_note(CProxySection_Cell to, int from, int seq)
{
	int v[2 * ROUNDS + SPOKEN];

	for (int i = 0; i <= seq; i++)
		v[i] = from + i;
	Cell_note_section(to, from, seq, seq + 1, v);
}

/* Each member has a message of its own, and may do with it what it likes. */
void Cell_on_parcel(Cell *self, Parcel *p)
{
	int what = my_value(self) % 3;

	CHECK(is_member(self));
	CHECK_EQ(p->v[p->n - 1], 100);
	p->v[p->n - 1] = my_value(self);
	self->n_parcels++;
	if (what == 0) {
		CkFreeMsg(p);
	} else if (what == 1) {
		CkKeepMsg();
		CkFreeMsg(p);
	}
}

void Cell_on_contribute(Cell *self, int rounds, CkSection s)
{
	int value = my_value(self), one = 1;
	double d = 1.0 / value;
	CProxySection_Cell to = {s};

	for (int k = 0; k < rounds; k++) {
		int v = value + k;

		CkContributeSection(self, s, &v, 1, CkReduction_sum_int, Main_cb_total(mainProxy));
	}
	CkContributeSection(self, s, &d, 1, CkReduction_sum_double, Main_cb_exact(mainProxy));
	CkContributeSection(self, s, &value, sizeof value, CkReduction_set,
			    Main_cb_members(mainProxy));
	CkContributeSection(self, s, &value, sizeof value, CkReduction_concat,
			    Main_cb_joined(mainProxy));
	CkContributeSection(self, s, &one, 1, CkReduction_sum_int, Cell_cb_result_section(to));
}

void Cell_on_result(Cell *self, int sum)
{
	self->result = sum;
	self->n_results++;
}

/* The section may not be known here yet. */
void Cell_on_early(Cell *self, CkSection s)
{
	int v = my_value(self);
	CProxySection_Cell to = {s};

	CkContributeSection(self, s, &v, 1, CkReduction_sum_int, Cell_cb_early_done_section(to));
}

void Cell_on_early_done(Cell *self, int v)
{
	CHECK_EQ(v, value_of(0, 2, 1) + value_of(1, 2, 1) + value_of(2, 2, 1) +
			    value_of(0, 5, 2));
	self->n_early++;
}

void Cell_on_report(Cell *self)
{
	bool in = is_member(self);
	int x, y;
	long bad = 0;

	place_of(self, &x, &y);
	bad += self->n_notes != (in ? 2 * ROUNDS + SPOKEN * CkNumPes() : 0);
	bad += self->n_parcels != in;
	bad += self->n_results != in || self->result != (in ? n_members() : 0);
	bad += self->n_early != ((x == 2 && y == 1) || (self->which == 0 && x == 5 && y == 2));
	long v[2] = {self->n_notes, bad};

	CkContribute(self, v, 2, CkReduction_sum_long, Main_cb_counted(mainProxy));
}

/* ---- groups: they speak to cells, and are members themselves -------------------------------------- */

void Team_on_new(Team *self, int which)
{
	self->which = which;
	self->cheers = 0;
}

void Team_on_speak(Team *self, CProxySection_Cell to)
{
	(void)self;
	CHECK(CkNumPes() <= MAX_PES);
	for (int k = 0; k < SPOKEN; k++)
		send_note(to, CkMyPe(), k);
}

void Team_on_cheer(Team *self, int by) { self->cheers += by; }

void Team_on_contribute(Team *self, CkSection s)
{
	int v = 1000 * (self->which + 1) + CkMyPe();

	CkContributeSection(self, s, &v, 1, CkReduction_sum_int, Main_cb_total(mainProxy));
}

/* On PEs that neither array's creation may have reached: section and multicast wait for both. */
void Team_on_use_early(Team *self, CProxy_Late a, CProxy_Late b)
{
	CProxyElement_Late list[] = {Late_at(b, 7), Late_at(a, 0), Late_at(b, 0), Late_at(a, 3),
				     Late_at(a, 7)};
	CProxySection_Late s = Late_ckSectionOf(list, 5);

	(void)self;
	Late_hello_section(s, s.ck);
	Late_hello_section(s, s.ck);
}

void Late_on_new(Late *self) { (void)self; }
void Late_on_hello(Late *self, CkSection s)
{
	long v[2] = {1, 0};

	CkContributeSection(self, s, v, 2, CkReduction_sum_long, Main_cb_counted(mainProxy));
}

void Team_on_report(Team *self)
{
	bool in = CkMyPe() % 2 == self->which;
	long v[2] = {0, self->cheers != (in ? 3 : 0)};

	CkContribute(self, v, 2, CkReduction_sum_long, Main_cb_counted(mainProxy));
}

/* ---- mistakes --------------------------------------------------------------------------------------- */

static bool is(const char *what, const char *name) { return strcmp(what, name) == 0; }

/* On the last PE. */
void Team_on_mistake(Team *self, const char *what, CProxy_Cell a, CProxy_Cell b)
{
	CProxyElement_Cell two[2] = {Cell_at(a, 1, 1), Cell_at(b, 2, 2)};

	if (is(what, "outside"))
		two[1] = Cell_at(b, 1, NY);
	else if (is(what, "group"))
		two[1].ck = Team_thisElement(self).ck;
	else if (is(what, "type"))
		two[1].ck = Late_at(Late_ckNew(CkDims(4)), 1).ck;
	else if (is(what, "unset"))
		memset(&two[1], 0, sizeof two[1]);
	else if (is(what, "empty"))
		Cell_ckSectionOf(two, 0);
	CProxySection_Cell s = Cell_ckSectionOf(two, 2);

	Cell_mistake_all(a, what, s.ck);
	Cell_mistake_all(b, what, s.ck);
}

/* On all elements of two arrays; (1, 1) of the first and (2, 2) of the second are members. */
void Cell_on_mistake(Cell *self, const char *what, CkSection s)
{
	CkIndex2D i = Cell_thisIndex(self);
	int x = self->which == 0 ? 2 : 1, v = 0;

	/* The index is a member's, of the other array. */
	if (is(what, "no-member") && i.x == x && i.y == x)
		CkContributeSection(self, s, &v, 1, CkReduction_sum_int, CkCallbackIgnore());
	if (is(what, "destroyed") && self->which == 0 && i.x == 1 && i.y == 1) {
		CkSectionDestroy(s);
		Cell_result_section((CProxySection_Cell){s}, 0);
	}
}

/* ---- main -------------------------------------------------------------------------------------------- */

static void multicasts(Main *self)
{
	self->s = make(self);
	for (int k = 0; k < ROUNDS; k++)
		send_note(self->s, MAX_PES, k);
	Team_speak_all(speakers, self->s);
	Parcel *p = Parcel_alloc(20);

	p->n = 20;
	p->v[19] = 100;
	Cell_parcel_section(self->s, p);
}

static void reductions(Main *self)
{
	CkEntryOptions soon = {.prio = -9};

	Cell_contribute_section(self->s, ROUNDS, self->s.ck);
	self->awaited = ROUNDS + 3;
	/* Elements are told of a section before it can be known on their PEs. */
	CProxyElement_Cell list[ARRAYS + 1];

	for (int w = 0; w < ARRAYS; w++)
		list[w] = (CProxyElement_Cell){{self->cells[w].ck.id, index_at(w, 2, 1), 0}};
	list[ARRAYS] = Cell_at(self->cells[0], 5, 2);
	CkSection s = Cell_ckSectionOf(list, ARRAYS + 1).ck;

	for (int i = 0; i <= ARRAYS; i++)
		Cell_early_opt(&soon, list[i], s);
}

static void ends_and_groups(Main *self)
{
	CProxyElement_Team list[MAX_PES];
	int n = 0, sum = 0;

	for (int k = 0; k < ROUNDS; k++)
		send_note(self->s, MAX_PES, ROUNDS + k);
	CkSectionDestroy(self->s.ck); /* what was sent still arrives */
	for (int pe = CkNumPes(); pe-- > 0; n++) {
		list[n] = Team_at(self->teams[pe % 2], pe);
		sum += 1000 * (pe % 2 + 1) + pe;
	}
	CProxySection_Team s = Team_ckSectionOf(list, (size_t)n);

	Team_cheer_section(s, 3);
	Team_contribute_section(s, s.ck);
	self->next_total = ROUNDS;
	self->expected = sum + 10 * CkNumPes();
	self->awaited = 1 + 2 * CkNumPes();
	for (int pe = 0; pe < CkNumPes(); pe++) {
		CProxy_Late a = Late_ckNew(CkDims(8)), b = Late_ckNew(CkDims(8));

		Team_use_early(Team_at(speakers, pe), a, b);
	}
}

static void report(Main *self)
{
	self->awaited = ARRAYS + 2;
	self->expected = n_members() * (2 * ROUNDS + SPOKEN * CkNumPes());
	for (int w = 0; w < ARRAYS; w++)
		Cell_report_all(self->cells[w]);
	for (int t = 0; t < 2; t++)
		Team_report_all(self->teams[t]);
}

void Main_on_phase(Main *self)
{
	CHECK_EQ(self->awaited, 0);
	CHECK_EQ(self->expected, 0);
	switch (self->phase++) {
	case 0: multicasts(self); break;
	case 1: reductions(self); break;
	case 2: ends_and_groups(self); break;
	case 3: report(self); break;
	default:
		CkPrintf("mixed: %d elements of %d arrays, sum %.17g\n", n_members(), ARRAYS,
			 self->bits);
		CkExit(0);
		return;
	}
	CkStartQD(Main_cb_phase(mainProxy));
}

/* In the order of the reductions. */
void Main_on_total(Main *self, int sum)
{
	if (self->next_total < ROUNDS)
		CHECK_EQ(sum, sum_of_members() + self->next_total * n_members());
	else
		self->expected -= sum;
	self->next_total++;
	self->awaited--;
}

void Main_on_exact(Main *self, double sum)
{
	double should = 0;

	EACH_MEMBER(w, x, y)
		should += 1.0 / value_of(w, x, y);
	CHECK(sum > should - 1e-12 && sum < should + 1e-12);
	self->bits = sum;
	self->awaited--;
}

void Main_on_members(Main *self, const CkReductionMsg *m)
{
	const CkReductionSetElement *e = NULL;

	CHECK_EQ(m->count, n_members());
	EACH_MEMBER(w, x, y) {
		CkIndex i = index_at(w, x, y);

		e = CkReductionSet_next(m, e);
		CHECK(e && memcmp(&e->index, &i, sizeof i) == 0);
		CHECK_EQ(*(const int *)CkReductionSetElement_data(e), value_of(w, x, y));
	}
	self->awaited--;
}

void Main_on_joined(Main *self, const CkReductionMsg *m)
{
	const int *v = CkReductionMsg_data(m);

	CHECK_EQ(m->bytes, (size_t)n_members() * sizeof *v);
	EACH_MEMBER(w, x, y)
		CHECK_EQ(*v++, value_of(w, x, y));
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
	CkArrayOptions o = {.dims = CkDims(NX, NY), .map = "backward"};

	mainProxy = Main_thisProxy(self);
	self->cells[0] = Cell_ckNew(CkDims(NX, NY), 0);
	self->cells[1] = Cell_ckNew_opt(&o, 1);
	self->cells[2] = Cell_ckNewEmpty();
	for (int x = 0; x < NX; x++)
		for (int y = 0; y < NY; y++)
			Cell_insert(Cell_at(self->cells[2], x * 1000 - 7, y - 1),
				    CK_PE_ANY, 2);
	Cell_doneInserting(self->cells[2]);
	for (int t = 0; t < 2; t++)
		self->teams[t] = Team_ckNew(t);
	speakers = self->teams[0];
	if (m->argc > 1)
		Team_mistake(Team_at(speakers, CkNumPes() - 1), m->argv[1], self->cells[0],
			     self->cells[1]);
	else
		CkStartQD(Main_cb_phase(mainProxy));
}

#include "mixed.def.h"
