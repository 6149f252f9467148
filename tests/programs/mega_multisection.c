/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mega_multisection: three groups and three arrays are cut into halves: the low and the high PEs
 * and elements. Sections over all groups, and over all arrays, take the ids to each half. In each
 * round every member of a group sends a message to the opposite halves of all arrays. An element
 * that has heard of all answers to the opposite halves of all groups. A master starts the next
 * round when the reductions of the groups have come. Nobody may hear from its own half, or from
 * another round.
 *
 * At the end the members of two sections of one array, which have members in common, contribute to
 * the section by which a message has come.
 */
#include "mega.h"

#include "mega_multisection.decl.h"

enum { KINDS = 3, CELLS = 10, ROUNDS = 4, SPOTS = 24, CASTS = 5, MAX_PES = 64 };

struct Main {
	struct mega runs;
	CProxySection_Spot sections[2];
	int which, cast;
};
struct Master { CkGroupID groups[KINDS]; int n_groups, n_set_up, n_done, round; };
struct Member { CProxy_Master master; CProxySection_Cell partners; bool low; int round, n_in; };
struct Cell { CProxy_Master master; CProxySection_Member partners; bool low; int round, n_in, n_ids; };
struct Spot { int n_casts[2]; };

/* ---- halves ---------------------------------------------------------------------------------- */

/* Of 0 .. n - 1 the low half is [0, n / 2). Where there is one PE, no PE is low. */
struct half { int first, n; };

static struct half half_of(int n, bool low)
{
	struct half low_half = {0, n / 2}, high_half = {n / 2, n - n / 2};

	return low ? low_half : high_half;
}

static CProxySection_Cell cells_section(const CkArrayID *arrays, bool low)
{
	struct half h = half_of(CELLS, low);
	CProxyElement_Cell list[KINDS * CELLS];
	size_t n = 0;

	for (int k = 0; k < KINDS; k++)
		for (int i = h.first; i < h.first + h.n; i++)
			list[n++] = Cell_at((CProxy_Cell){arrays[k]}, i);
	return Cell_ckSectionOf(list, n);
}

static CProxySection_Member members_section(const CkGroupID *groups, bool low)
{
	struct half h = half_of(CkNumPes(), low);
	CProxyElement_Member list[KINDS * MAX_PES];
	size_t n = 0;

	for (int k = 0; k < KINDS; k++)
		for (int pe = h.first; pe < h.first + h.n; pe++)
			list[n++] = Member_at((CProxy_Member){groups[k]}, pe);
	return Member_ckSectionOf(list, n);
}

static Round *make_round(int no, bool low)
{
	Round *m = Round_alloc();

	m->no = no;
	m->low = low;
	return m;
}

/* ---- the master ------------------------------------------------------------------------------ */

void Master_on_new(Master *self) { (void)self; }

static void start_round(Master *self)
{
	for (int k = 0; k < KINDS; k++)
		Member_nextIteration_all((CProxy_Member){self->groups[k]}, make_round(self->round, false));
}

static void finish_setup(Master *self)
{
	if (self->n_set_up == 2 * KINDS && self->n_groups == KINDS)
		start_round(self);
}

void Master_on_recvID(Master *self, GroupIds *m)
{
	if (CkMyPe() != 0)
		CkAbort("mega_multisection: a message for the master came elsewhere");
	CHECK_EQ(m->n, KINDS);
	memcpy(self->groups, m->ids, sizeof self->groups);
	self->n_groups = m->n;
	CkFreeMsg(m);
	finish_setup(self);
}

void Master_on_doneSetup(Master *self, int contributors)
{
	CHECK(contributors == CkNumPes() || contributors == CELLS);
	self->n_set_up++;
	finish_setup(self);
}

void Master_on_doneIteration(Master *self, int received)
{
	/* A member hears from the elements of the opposite half; both halves have equally many. */
	CHECK_EQ(received, CkNumPes() * KINDS * CELLS / 2);
	if (++self->n_done < KINDS)
		return;
	self->n_done = 0;
	if (++self->round < ROUNDS)
		start_round(self);
	else
		Main_finish(mainProxy, self->round);
}

/* ---- the groups ------------------------------------------------------------------------------ */

void Member_on_new(Member *self, CkGroupID master)
{
	self->master = (CProxy_Master){master};
	self->low = CkMyPe() < half_of(CkNumPes(), true).n;
	self->round = -1;
}

void Member_on_recvID(Member *self, ArrayIds *m)
{
	int one = 1;

	CHECK_EQ(m->n, KINDS);
	self->partners = cells_section(m->ids, !self->low);
	CkFreeMsg(m);
	CkContribute(self, &one, 1, CkReduction_sum_int, Master_cb_doneSetup(Master_at(self->master, 0)));
}

void Member_on_nextIteration(Member *self, Round *m)
{
	CHECK_EQ(m->no, self->round + 1);
	self->round = m->no;
	m->low = self->low;
	Cell_recv_section(self->partners, m);
}

void Member_on_recv(Member *self, Round *m)
{
	CHECK(m->low != self->low);
	CHECK_EQ(m->no, self->round);
	CkFreeMsg(m);
	if (++self->n_in < KINDS * CELLS / 2)
		return;
	CkContribute(self, &self->n_in, 1, CkReduction_sum_int,
		     Master_cb_doneIteration(Master_at(self->master, 0)));
	self->n_in = 0;
}

/* ---- the arrays ------------------------------------------------------------------------------ */

void Cell_on_new(Cell *self, CkGroupID master)
{
	self->master = (CProxy_Master){master};
	self->low = Cell_thisIndex(self) < half_of(CELLS, true).n;
}

void Cell_on_recvID(Cell *self, GroupIds *m)
{
	int one = 1;

	CHECK_EQ(self->n_ids++, 0);
	CHECK_EQ(m->n, KINDS);
	if (half_of(CkNumPes(), !self->low).n > 0)
		self->partners = members_section(m->ids, !self->low);
	CkFreeMsg(m);
	CkContribute(self, &one, 1, CkReduction_sum_int, Master_cb_doneSetup(Master_at(self->master, 0)));
}

void Cell_on_recv(Cell *self, Round *m)
{
	CHECK(m->low != self->low);
	CHECK_EQ(m->no, self->round);
	CkFreeMsg(m);
	if (++self->n_in < KINDS * half_of(CkNumPes(), !self->low).n)
		return;
	Member_recv_section(self->partners, make_round(self->round, self->low));
	self->n_in = 0;
	self->round++;
}

/* ---- sections of one array ------------------------------------------------------------------- */

void Spot_on_new(Spot *self) { (void)self; }

/* Section 0 has every second spot, section 1 every third. */
void Spot_on_take(Spot *self, Cast *m)
{
	int which = m->round % 2, v[2] = {1, Spot_thisIndex(self) + m->round};

	CHECK_EQ(Spot_thisIndex(self) % (2 + which), 0);
	CHECK_EQ(m->round / 2, self->n_casts[which]);
	self->n_casts[which]++;
	CkContributeSection(self, CkGetSectionInfo(m), v, 2, CkReduction_sum_int,
			    Main_cb_sum(mainProxy));
	CkFreeMsg(m);
}

static void next_cast(Main *self)
{
	Cast *m = Cast_alloc();

	m->round = self->cast;
	Spot_take_section(self->sections[self->cast % 2], m);
}

/* Of one section as a list, of the other as a range. */
static void begin_casts(Main *self)
{
	CkIndex even[SPOTS / 2];

	for (int i = 0; i < SPOTS / 2; i++)
		even[i] = Spot_index(2 * i);
	self->sections[0] = Spot_ckSection(spots, even, SPOTS / 2);
	self->sections[1] = (CProxySection_Spot){CkSectionRange1D(spots.ck, 0, SPOTS - 1, 3)};
	next_cast(self);
}

void Main_on_sum(Main *self, int members, int sum)
{
	int step = 2 + self->cast % 2, n = SPOTS / step;

	CHECK_EQ(members, n);
	CHECK_EQ(sum, n * (n - 1) / 2 * step + n * self->cast);
	if (++self->cast < 2 * CASTS) {
		next_cast(self);
		return;
	}
	CkPrintf("mega_multisection: %d rounds between %d groups and arrays\n", MEGA_RUNS * ROUNDS, KINDS);
	CkExit(0);
}

/* ---- main ------------------------------------------------------------------------------------ */

/* Tell the ids to the halves of the groups and arrays, by way of sections, and to the master. */
static void tell(CProxy_Master master, const CkGroupID *groups, const CkArrayID *arrays)
{
	for (int half = 0; half <= 2; half++) {
		ArrayIds *a = ArrayIds_alloc(KINDS);
		GroupIds *g = GroupIds_alloc(KINDS);

		a->n = g->n = KINDS;
		memcpy(a->ids, arrays, KINDS * sizeof *arrays);
		memcpy(g->ids, groups, KINDS * sizeof *groups);
		if (half < 2 && half_of(CkNumPes(), half).n > 0)
			Member_recvID_section(members_section(groups, half), a);
		else
			CkFreeMsg(a);
		if (half < 2)
			Cell_recvID_section(cells_section(arrays, half), g);
		else
			Master_recvID(Master_at(master, 0), g);
	}
}

static void begin(int no)
{
	CProxy_Master master = Master_ckNew();
	CkGroupID groups[KINDS];
	CkArrayID arrays[KINDS];

	(void)no;
	for (int k = 0; k < KINDS; k++)
		groups[k] = Member_ckNew(master.ck).ck;
	for (int k = 0; k < KINDS; k++)
		arrays[k] = Cell_ckNew(CkDims(CELLS), master.ck).ck;
	tell(master, groups, arrays);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	CHECK(CkNumPes() <= MAX_PES);
	mainProxy = Main_thisProxy(self);
	spots = Spot_ckNew(CkDims(SPOTS));
	mega_start(&self->runs, begin);
}

void Main_on_finish(Main *self, int rounds)
{
	CHECK_EQ(rounds, ROUNDS);
	if (mega_ended(&self->runs, begin))
		begin_casts(self);
}

#include "mega_multisection.def.h"
