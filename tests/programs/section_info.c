/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section_info: the members of a section contribute to it although no message tells them of it: the
 * runtime says which section's multicast runs, in entries of every kind, in elements away from their
 * homes, with wide priorities. Calls that are no multicast say so. Every PE also learns arrays' extents
 * from their proxies.
 */
#include "check.h"

#include "cth.h"
#include "section_info.decl.h"

enum { NX = 4, NY = 9, ITEMS = 40 };
enum { PLAIN = 1, NOTE, THREAD, LATER, URGENT, RESULT, DAGGER, ITEM_PLAIN, ITEM_NOTE, ITEM_THREAD, ITEM_LONG, TAGS };

struct Main { int total[TAGS], n_in; };
struct Grid { bool ready; CkSection section; Note *kept; };
struct Item { int unused; };
struct Lattice { int unused; };
struct Four { int unused; };
struct Asker { int unused; };

static bool is_member(CkIndex2D i) { return (i.x * NY + i.y) % 3 == 0; }
static bool is_none(CkSection s) { return s.id == 0 && s.coll == 0; }

/* ---- elements ----------------------------------------------------------------------------------- */

static void contribute(void *self, int tag, CkSection s)
{
	int v[TAGS] = {0};

	CHECK(!is_none(s));
	v[tag] = 1;
	CkContributeSection(self, s, v, TAGS, CkReduction_sum_int, Main_cb_total(mainProxy));
}

/* Every multicast is of the same section. */
static void told(Grid *self, int tag, CkSection s)
{
	CHECK(is_member(Grid_thisIndex(self)));
	CHECK(is_none(self->section) || self->section.id == s.id);
	CHECK_EQ(s.coll, grid.ck.id);
	self->section = s;
	contribute(self, tag, s);
}

void Grid_on_new(Grid *self)
{
	CHECK(is_none(CkGetSectionInfo(NULL)));
	CHECK(is_none(self->section));
}

void Grid_on_plain(Grid *self, int tag)
{
	CkSection s = CkGetSectionInfo(NULL);

	Grid_inside(Grid_thisElement(self));
	CHECK_EQ(CkGetSectionInfo(NULL).id, s.id);
	Grid_alone(Grid_thisElement(self));
	told(self, tag, s);
}

void Grid_on_note(Grid *self, Note *m)
{
	CkSection s = CkGetSectionInfo(m);

	CHECK_EQ(m->v[m->n - 1], 77);
	CHECK_EQ(CkGetSectionInfo(NULL).id, s.id);
	self->kept = CkKeepMsg();
	CHECK(is_none(CkGetSectionInfo(NULL)));
	CHECK_EQ(CkGetSectionInfo(self->kept).id, s.id);
	CkFreeMsg(self->kept);
	told(self, NOTE, s);
}

void Grid_on_thread(Grid *self, int tag)
{
	CkSection s = CkGetSectionInfo(NULL);

	CthYield();
	CHECK_EQ(CkGetSectionInfo(NULL).id, s.id);
	told(self, tag, s);
}

/* It has waited for its condition. */
void Grid_on_later(Grid *self, int tag) { told(self, tag, CkGetSectionInfo(NULL)); }
void Grid_on_open(Grid *self) { self->ready = true; }
void Grid_on_urgent(Grid *self, int tag) { told(self, tag, CkGetSectionInfo(NULL)); }

/* A reduction's result that goes to a section is a multicast, too. */
void Grid_on_result(Grid *self, int tag, int n)
{
	CHECK_EQ(n, 1);
	CHECK_EQ(CkGetRefNum(NULL), 99);
	told(self, tag, CkGetSectionInfo(NULL));
}

static void took(Grid *self, const Note *m)
{
	CHECK_EQ(m->v[0], DAGGER);
	told(self, DAGGER, CkGetSectionInfo(m));
}

void Grid_on_inside(Grid *self)
{
	(void)self;
	CHECK(is_none(CkGetSectionInfo(NULL)));
}

void Grid_on_alone(Grid *self)
{
	(void)self;
	CHECK(is_none(CkGetSectionInfo(NULL)));
}

void Item_on_new(Item *self) { (void)self; }
void Item_on_plain(Item *self, int tag) { contribute(self, tag, CkGetSectionInfo(NULL)); }

void Item_on_note(Item *self, Note *m)
{
	CHECK_EQ(m->v[m->n - 1], 77);
	if (m->v[0]) {
		contribute(self, m->v[0], CkGetSectionInfo(m));
		m->v[0] = 0;
		Item_note(Item_thisElement(self), m); /* sent on, it is no multicast any more */
	} else {
		CHECK(is_none(CkGetSectionInfo(m)));
	}
}

void Item_on_thread(Item *self, int tag)
{
	CthYield();
	contribute(self, tag, CkGetSectionInfo(NULL));
}

void Lattice_on_new(Lattice *self) { (void)self; }
void Four_on_new(Four *self) { (void)self; }

/* ---- extents ------------------------------------------------------------------------------------- */

static void check_dims(CkArrayID p, int nd, int a, int b, int c, int d)
{
	CkArrayDims is = CkGetArrayDims(p);
	const int n[4] = {a, b, c, d};

	CHECK(CkKnowsArray(p));
	CHECK_EQ(is.nd, nd);
	for (int i = 0; i < nd; i++)
		CHECK_EQ(is.n[i], n[i]);
}

void Asker_on_new(Asker *self) { (void)self; }

/* All arrays have been made before, but their creations may still be on their way to this PE. */
void Asker_on_ask(Asker *self)
{
	if (!CkKnowsArray(grid.ck) || !CkKnowsArray(lattice.ck) || !CkKnowsArray(four.ck) ||
	    !CkKnowsArray(items.ck)) {
		Asker_ask(Asker_thisElement(self));
		return;
	}
	check_dims(grid.ck, 2, NX, NY, 1, 1);
	check_dims(lattice.ck, 1, 4, 1, 1, 1);
	check_dims(four.ck, 4, 2, 3, 4, 5);
	check_dims(items.ck, 0, 1, 1, 1, 1);
	CkContributeBarrier(self, Main_cb_asked(mainProxy));
}

/* ---- main ------------------------------------------------------------------------------------------ */

static Note *note(int tag)
{
	Note *m = Note_alloc(5);

	m->n = 5;
	for (int i = 0; i < 5; i++)
		m->v[i] = 77;
	m->v[0] = tag;
	return m;
}

static void to_grid(void)
{
	CkIndex list[NX * NY];
	size_t n = 0;

	for (int x = 0; x < NX; x++)
		for (int y = 0; y < NY; y++)
			if (is_member((CkIndex2D){x, y}))
				list[n++] = Grid_index(x, y);
	CProxySection_Grid s = Grid_ckSection(grid, list, n);
	CkEntryOptions soon = {.queueing = CK_QUEUEING_LFIFO, .prio_long = -((int64_t)1 << 40)};

	Grid_plain_section(s, PLAIN);
	Grid_note_section(s, note(NOTE));
	Grid_thread_section(s, THREAD);
	Grid_dagger_section(s, note(DAGGER));
	Grid_run_section(s);
	Grid_turn_section(s);
	Grid_later_section(s, LATER);
	Grid_urgent_section_opt(&soon, s, URGENT);
	CkCallback result = Grid_cb_result_section(s);

	CkCallbackSetRefNum(&result, 99);
	CkCallbackSendTyped(result, CK_INT, (int[]){RESULT, 1}, 2);
	Grid_open_all(grid);
}

/* Wide priorities stand behind the message, as the section of a message that is passed on does. */
static void to_items(void)
{
	static const unsigned bits[] = {0x40000000, 0, 0, 1};
	CkIndex list[ITEMS / 2];
	CkEntryOptions wide = {.queueing = CK_QUEUEING_BFIFO, .prio_bits = bits, .n_prio_bits = 128};
	CkEntryOptions longer = {.queueing = CK_QUEUEING_LLIFO, .prio_long = (int64_t)1 << 40};

	for (int i = 0; i < ITEMS / 2; i++)
		list[i] = Item_index(2 * i);
	CProxySection_Item s = Item_ckSection(items, list, ITEMS / 2);

	Item_plain_section(s, ITEM_PLAIN);
	Item_note_section_opt(&wide, s, note(ITEM_NOTE));
	Item_thread_section(s, ITEM_THREAD);
	Item_plain_section_opt(&longer, s, ITEM_LONG);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	CkArrayOptions o = {.start = {10}, .end = {22}, .step = {3}};

	(void)m;
	mainProxy = Main_thisProxy(self);
	grid = Grid_ckNew(CkDims(NX, NY));
	lattice = Lattice_ckNew_opt(&o);
	four = Four_ckNew(CkDims(2, 3, 4, 5));
	items = Item_ckNewEmpty();
	for (int i = 0; i < ITEMS; i++)
		Item_insert(Item_at(items, i), (int)(check_mix((uint64_t)i) % (uint64_t)CkNumPes()));
	Item_doneInserting(items);
	check_dims(grid.ck, 2, NX, NY, 1, 1);
	check_dims(four.ck, 4, 2, 3, 4, 5);
	to_grid();
	to_items();
	Asker_ask_all(Asker_ckNew());
}

static void in(Main *self)
{
	if (++self->n_in < TAGS)
		return;
	for (int tag = 1; tag < TAGS; tag++)
		CHECK_EQ(self->total[tag], tag < ITEM_PLAIN ? NX * NY / 3 : ITEMS / 2);
	CkPrintf("section_info: %d reductions of sections on %d PEs\n", TAGS - 1, CkNumPes());
	CkExit();
}

/* Elements may handle the multicasts in different orders, so what is one reduction may be of several. */
void Main_on_total(Main *self, int n, const int *total)
{
	CHECK_EQ(n, TAGS);
	for (int tag = 0; tag < TAGS; tag++)
		self->total[tag] += total[tag];
	in(self);
}

void Main_on_asked(Main *self) { in(self); }

#include "section_info.def.h"
