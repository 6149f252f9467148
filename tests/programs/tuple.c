/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tuple: set, concat, random, statistics, and all of them in one tuple with other reductions, over
 * arrays of one and two dimensions, with the default map and one that scatters, over a section, a
 * nodegroup and a group.
 * Each contributor has a text of its own length, which may be 0; some contribute much later than others.
 * The n-th element's text is 'a' + n % 26, written length_of(n) times, so that results can be checked
 * without the elements: index order is row-major order.
 */
#include "check.h"

#include <math.h>

#include "tuple.decl.h"

enum { LINE = 23, ROWS = 5, COLUMNS = 4, ROUNDS = 3 };
enum phase { LINE_BLOCK, LINE_MAP, SECTION, PLANE_BLOCK, PLANE_MAP, BRANCHES, MEMBERS, N_PHASES };

struct Main {
	int phase, n, n_in, drawn;
};
/* What all three are: the state of one contributor. */
struct party { int n, at, round, delay; CkSection section; };
struct Line { struct party party; };
struct Plane { struct party party; };
struct Branch { struct party party; };
struct Member { struct party party; };

static int scattered(CkIndex i, CkArrayDims d, int n_pes)
{
	return (i.v[0] * 5 + i.v[1] * 3 + d.n[0]) % n_pes;
}

/* Bytes are numbers of a group of texts; associative, and as if of no order. */
static CkReductionMsg *count_bytes(int n, CkReductionMsg **msgs)
{
	unsigned char sum = 0;

	for (int i = 0; i < n; i++)
		sum = (unsigned char)(sum + *(const unsigned char *)CkReductionMsg_data(msgs[i]));
	return CkReductionMsg_buildNew(1, &sum);
}

void register_all(void)
{
	CkRegisterMap("scattered", scattered);
	CkRegisterReducer("tuple count", count_bytes, false);
}

/* ---- what the n-th contributes ---------------------------------------------------------------- */

static size_t length_of(int at) { return (size_t)(at * at * 7 % 45); }

static void text_of(int at, char *text) { memset(text, 'a' + at % 26, length_of(at)); }

static double number_of(int at) { return 1 / (at + 1.0) - at; }

static void check_text(const void *data, uint64_t bytes, int at)
{
	char text[64];

	CHECK_EQ(bytes, length_of(at));
	text_of(at, text);
	CHECK(memcmp(data, text, bytes) == 0);
}

static void give(void *self, struct party *p, const void *data, size_t count, CkReduction op,
		 CkCallback cb)
{
	if (p->section.id)
		CkContributeSection(self, p->section, data, count, op, cb);
	else
		CkContribute(self, data, count, op, cb);
}

static void contribute_one(void *self, struct party *p)
{
	CkReductionStatistics s = CkStatistics(number_of(p->at));
	char text[64];
	size_t bytes = length_of(p->at);

	text_of(p->at, text);
	give(self, p, text, bytes, CkReduction_set, Main_cb_set(mainProxy));
	give(self, p, text, bytes, CkReduction_concat, Main_cb_concat(mainProxy));
	give(self, p, text, bytes, CkReduction_random, Main_cb_random(mainProxy));
	give(self, p, &s, 1, CkReduction_statistics, Main_cb_statistics(mainProxy));
}

static void contribute_tuple(void *self, struct party *p, CkCallback cb)
{
	CkReductionStatistics s[2] = { CkStatistics(number_of(p->at)), CkStatistics(1) };
	char text[64], one = 1;
	int two[2] = { p->at, -p->at };
	size_t bytes = length_of(p->at);
	CkTupleElement e[] = {
		{ CkReduction_sum_int, 2, two },
		{ CkReduction_set, bytes, text },
		{ CkReduction_max_int, 1, two },
		{ CkReducer("tuple count"), 1, &one },
		{ CkReduction_nop, 0, NULL },
		{ CkReduction_concat, bytes, text },
		{ CkReduction_statistics, 2, s },
		{ CkReduction_random, sizeof two, two },
	};

	text_of(p->at, text);
	give(self, p, e, sizeof e / sizeof *e, CkReduction_tuple, cb);
}

/* ---- what must come out ---------------------------------------------------------------------------- */

static void check_set(const CkReductionMsg *m, int n, int phase)
{
	const CkReductionSetElement *e = NULL;
	int at = 0;

	CHECK_EQ(m->count, n);
	CHECK_EQ(m->type, CK_SET);
	for (; (e = CkReductionSet_next(m, e)); at++) {
		int index = phase < PLANE_BLOCK || phase > PLANE_MAP
				    ? e->index.v[0]
				    : e->index.v[0] * COLUMNS + e->index.v[1];

		CHECK_EQ(index, at);
		CHECK(e->pe >= 0 && e->pe < CkNumPes());
		if (phase == MEMBERS)
			CHECK_EQ(e->pe, at);
		check_text(CkReductionSetElement_data(e), e->bytes, at);
	}
	CHECK_EQ(at, n);
}

static void check_concat(const char *v, uint64_t bytes, int n)
{
	for (int at = 0; at < n; at++) {
		CHECK(bytes >= length_of(at));
		check_text(v, length_of(at), at);
		v += length_of(at);
		bytes -= length_of(at);
	}
	CHECK_EQ(bytes, 0);
}

static void check_statistics(const CkReductionStatistics *s, int n)
{
	double mean = 0, m2 = 0;

	for (int at = 0; at < n; at++)
		mean += number_of(at) / n;
	for (int at = 0; at < n; at++)
		m2 += (number_of(at) - mean) * (number_of(at) - mean);
	CHECK_EQ(s->count, n);
	CHECK(fabs(s->mean - mean) < 1e-9 && fabs(s->m2 - m2) < 1e-7);
	CHECK(fabs(CkReductionStatistics_variance(*s) - (n > 1 ? m2 / (n - 1) : 0)) < 1e-7);
}

static const void *part(const CkReductionMsg *m, int i, CkDataType type, uint64_t count)
{
	const CkReductionMsg *p = CkReductionTuple_at(m, i);

	CHECK_EQ(p->type, type);
	CHECK_EQ(p->count, count);
	return CkReductionMsg_data(p);
}

static int check_tuple(const CkReductionMsg *m, int n, int phase)
{
	const CkReductionMsg *concat = CkReductionTuple_at(m, 5);
	const int *sum = part(m, 0, CK_INT, 2), *max = part(m, 2, CK_INT, 1), *drawn;
	const CkReductionStatistics *s = part(m, 6, CK_STATISTICS, 2);

	CHECK_EQ(m->type, CK_TUPLE);
	CHECK_EQ(m->count, 8);
	CHECK(sum[0] == n * (n - 1) / 2 && sum[1] == -sum[0] && max[0] == n - 1);
	check_set(CkReductionTuple_at(m, 1), n, phase);
	CHECK_EQ(*(const unsigned char *)part(m, 3, CK_BYTE, 1), n);
	part(m, 4, CK_NOTYPE, 0);
	check_concat(CkReductionMsg_data(concat), concat->bytes, n);
	check_statistics(s, n);
	CHECK(s[1].count == n && s[1].mean == 1 && s[1].m2 == 0);
	drawn = part(m, 7, CK_BYTE, sizeof(int[2]));
	CHECK(drawn[0] >= 0 && drawn[0] < n && drawn[1] == -drawn[0]);
	return drawn[0];
}

/* ---- contributors ------------------------------------------------------------------------------------ */

static struct party party(int n, int at)
{
	return (struct party){ .n = n, .at = at, .delay = at % 3 ? 0 : 50 };
}

/* False: later. Every contributor takes part in the same reductions, without waiting. */
static bool go(void *self, struct party *p, CkCallback all)
{
	if (p->delay) {
		p->delay--;
		return false;
	}
	for (int round = 0; round < ROUNDS; round++) {
		contribute_one(self, p);
		contribute_tuple(self, p, round % 2 ? Main_cb_tuple(mainProxy) : all);
	}
	return true;
}

static void tuple_came(void *self, struct party *p, const CkReductionMsg *m, int phase)
{
	check_tuple(m, p->n, phase);
	if (++p->round == (ROUNDS + 1) / 2)
		CkContributeBarrier(self, Main_cb_over(mainProxy));
}

void Line_on_new(Line *self, int n) { self->party = party(n, Line_thisIndex(self)); }
void Line_on_go(Line *self)
{
	if (!go(self, &self->party, Line_cb_tuple_all(Line_thisProxy(self))))
		Line_go(Line_thisElement(self));
}
/* As soon as the section's proxy is there: its creation may still be on its way. */
void Line_on_goSection(Line *self, CProxySection_Line section)
{
	self->party.section = section.ck;
	self->party.delay = 0;
	go(self, &self->party, Line_cb_tuple_all(Line_thisProxy(self)));
}
void Line_on_tuple(Line *self, const CkReductionMsg *m)
{
	tuple_came(self, &self->party, m, LINE_MAP);
}

void Plane_on_new(Plane *self, int n)
{
	CkIndex2D i = Plane_thisIndex(self);

	self->party = party(n, i.x * COLUMNS + i.y);
}
void Plane_on_go(Plane *self)
{
	if (!go(self, &self->party, Plane_cb_tuple_all(Plane_thisProxy(self))))
		Plane_go(Plane_thisElement(self));
}
void Plane_on_tuple(Plane *self, const CkReductionMsg *m)
{
	tuple_came(self, &self->party, m, PLANE_MAP);
}

void Branch_on_new(Branch *self, int n) { self->party = party(n, CkMyNode()); }
void Branch_on_go(Branch *self)
{
	if (!go(self, &self->party, Branch_cb_tuple_all(Branch_thisProxy(self))))
		Branch_go(Branch_thisElement(self));
}
void Branch_on_tuple(Branch *self, const CkReductionMsg *m)
{
	tuple_came(self, &self->party, m, BRANCHES);
}

void Member_on_new(Member *self, int n) { self->party = party(n, CkMyPe()); }
void Member_on_go(Member *self)
{
	if (!go(self, &self->party, Member_cb_tuple_all(Member_thisProxy(self))))
		Member_go(Member_thisElement(self));
}
void Member_on_tuple(Member *self, const CkReductionMsg *m)
{
	tuple_came(self, &self->party, m, MEMBERS);
}

/* ---- main ----------------------------------------------------------------------------------------------- */

static void start_section(Main *self, const CkArrayOptions *o)
{
	CProxy_Line line = Line_ckNew_opt(o, self->n);
	CkIndex list[LINE];

	for (int i = 0; i < LINE; i++)
		list[i] = Line_index(LINE - 1 - i);
	Line_goSection_all(line, Line_ckSection(line, list, LINE));
}

static void start(Main *self)
{
	const char *map = self->phase == LINE_MAP || self->phase == PLANE_MAP ? "scattered" : NULL;
	CkArrayOptions line = { .dims = CkDims(LINE), .map = map };
	CkArrayOptions plane = { .dims = CkDims(ROWS, COLUMNS), .map = map };

	self->n_in = 0;
	if (self->phase == SECTION) {
		self->n = LINE;
		start_section(self, &line);
	} else if (self->phase < PLANE_BLOCK) {
		self->n = LINE;
		Line_go_all(Line_ckNew_opt(&line, self->n));
	} else if (self->phase == BRANCHES) {
		self->n = CkNumNodes();
		Branch_go_all(Branch_ckNew(self->n));
	} else if (self->phase < MEMBERS) {
		self->n = ROWS * COLUMNS;
		Plane_go_all(Plane_ckNew_opt(&plane, self->n));
	} else {
		self->n = CkNumPes();
		Member_go_all(Member_ckNew(self->n));
	}
}

static void came(Main *self)
{
	if (++self->n_in < 4 * ROUNDS + ROUNDS / 2 + 1)
		return;
	if (++self->phase < N_PHASES) {
		start(self);
		return;
	}
	CkPrintf("tuple: %d collections\ndrawn %d\n", N_PHASES, self->drawn);
	CkExit(0);
}

void Main_on_set(Main *self, const CkReductionMsg *m)
{
	check_set(m, self->n, self->phase);
	came(self);
}

void Main_on_concat(Main *self, int n, const char *v)
{
	check_concat(v, (uint64_t)n, self->n);
	came(self);
}

/* A text that one of them contributed: its letter tells which, up to 26. */
void Main_on_random(Main *self, const CkReductionMsg *m)
{
	const char *v = CkReductionMsg_data(m);
	bool found = false;

	for (int at = 0; at < self->n; at++)
		found |= m->bytes == length_of(at) && (!m->bytes || v[0] == 'a' + at % 26);
	CHECK(found);
	came(self);
}

void Main_on_statistics(Main *self, const CkReductionMsg *m)
{
	CHECK(m->type == CK_STATISTICS && m->count == 1);
	check_statistics(CkReductionMsg_data(m), self->n);
	came(self);
}

void Main_on_tuple(Main *self, const CkReductionMsg *m)
{
	int drawn = check_tuple(m, self->n, self->phase);

	/* Not a matter of PEs, but of the elements there are. */
	if (self->phase < BRANCHES)
		self->drawn = self->drawn * 31 + drawn;
	came(self);
}

void Main_on_over(Main *self) { came(self); }

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	start(self);
}

#include "tuple.def.h"
