/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed: a message that holds a list of nodes, each on the heap. It goes round, grows, is broadcast,
 * given to constructors, and kept. It is packed only where it leaves its process or has to be copied.
 * Whoever takes the list apart frees its nodes; under the address sanitizer nothing may be left.
 */
#include "check.h"

#include <stdlib.h>

#include "packed.decl.h"

enum { ELEMENTS = 10, LAPS = 3, LENGTH = 20, PHASES = 6 };

struct node { struct node *next; int value; };

struct List {
	struct node *first;
	struct node **last;       /* points into the message while it is empty */
	int n;
	int journeys;             /* packed and unpacked so often */
};

struct Main { int phase; };
struct Walker { int n_in; List *kept; };
struct Member { int unused; };
struct Away { int unused; };

static CProxy_Member members;  /* PE 0's */

/* ---- a list ------------------------------------------------------------------------------- */

static void add(List *l, int value)
{
	struct node *x = calloc(1, sizeof *x);

	CHECK(x);
	x->value = value;
	*l->last = x;
	l->last = &x->next;
	l->n++;
}

static List *make(int n)
{
	List *l = List_alloc(0);

	l->last = &l->first;
	for (int i = 0; i < n; i++)
		add(l, i);
	return l;
}

static void check(const List *l, int n)
{
	const struct node *x = l->first;

	CHECK_EQ(l->n, n);
	for (int i = 0; i < n; i++, x = x->next)
		CHECK(x && x->value == i);
	CHECK(!x);
}

/* The nodes; the message itself is the runtime's. */
static void take_apart(List *l)
{
	for (struct node *x = l->first, *next; x; x = next) {
		next = x->next;
		free(x);
	}
	l->first = NULL;
}

struct flat { int n, journeys, value[]; };

void *List_pack(List *l)
{
	struct flat *f = CkAllocBuffer(l, sizeof *f + (size_t)l->n * sizeof *f->value);
	int i = 0;

	f->n = l->n;
	f->journeys = l->journeys + 1;
	for (const struct node *x = l->first; x; x = x->next)
		f->value[i++] = x->value;
	take_apart(l);
	CkFreeMsg(l);
	return f;
}

List *List_unpack(void *buf)
{
	struct flat *f = buf;
	List *l = CkAllocBuffer(f, sizeof *l);

	*l = (List){ NULL, &l->first, 0, f->journeys };
	for (int i = 0; i < f->n; i++)
		add(l, f->value[i]);
	CkFreeMsg(f);
	return l;
}

/* ---- on its way -------------------------------------------------------------------------- */

static void done(Walker *self)
{
	CkContributeBarrier(self, Main_cb_phase(mainProxy));
}

void Walker_on_new(Walker *self, List *l)
{
	check(l, LENGTH);
	CHECK_EQ(l->journeys, 1);
	CHECK_EQ(CkGetRefNum(l), 0);
	take_apart(l);
	(void)self;
}

/* Round, one node longer at each hop; journeys counts the changes of process. */
void Walker_on_pass(Walker *self, List *l)
{
	int me = Walker_thisIndex(self), next = (me + 1) % ELEMENTS;

	CHECK(!l->n || l->last != &l->first);
	check(l, l->n);
	CHECK_EQ(CkGetRefNum(l), 1234);
	if (l->n == LAPS * ELEMENTS) {
		Main_back(mainProxy, l);
		return;
	}
	add(l, l->n);
	Walker_pass(Walker_at(walkers, next), l);
}

static int crossings(void)
{
	int n = 0, pe = 0;

	for (int hop = 1; hop <= LAPS * ELEMENTS; hop++) {
		int to = check_block_home(hop % ELEMENTS, ELEMENTS, CkNumPes());

		n += CkNodeOf(pe) != CkNodeOf(to);
		pe = to;
	}
	return n + (CkNodeOf(pe) != 0);
}

void Main_on_back(Main *self, List *l)
{
	(void)self;
	check(l, LAPS * ELEMENTS);
	CHECK_EQ(l->journeys, crossings());
	take_apart(l);
	Walker_all_all(walkers, make(LENGTH));
}

/* A broadcast is packed once, and every element has a list of its own. */
void Walker_on_all(Walker *self, List *l)
{
	check(l, LENGTH);
	CHECK_EQ(l->journeys, 1);
	add(l, LENGTH);
	check(l, LENGTH + 1);
	take_apart(l);
	done(self);
}

/* Kept, and freed by the program. */
void Walker_on_keep(Walker *self, List *l)
{
	check(l, LENGTH);
	self->kept = CkKeepMsg();
	CHECK(self->kept == l);
	Walker_again(Walker_thisElement(self));
}

void Walker_on_again(Walker *self)
{
	check(self->kept, LENGTH);
	take_apart(self->kept);
	CkFreeMsg(self->kept);
	done(self);
}

void Member_on_new(Member *self) { (void)self; }

/* It came with a priority that the message had no room for. */
void Member_on_take(Member *self, List *l)
{
	(void)self;
	check(l, LENGTH);
	CHECK_EQ(CkGetRefNum(l), 5);
	take_apart(l);
	CkFreeMsg(l);
	CkCallbackSend(Main_cb_phase(mainProxy), NULL, 0);
}

void Away_on_new(Away *self) { (void)self; }

/* A multicast of a section: whose it is survives the change of form, beside the wide priority. */
void Away_on_take(Away *self, List *l)
{
	CkSection s = CkGetSectionInfo(l);

	check(l, LENGTH);
	CHECK_EQ(CkGetRefNum(l), 5);
	CHECK_EQ(s.coll, Away_thisProxy(self).ck.id);
	take_apart(l);
	CkContributeSection(self, s, NULL, 0, CkReduction_nop, Main_cb_phase(mainProxy));
}

/* ---- main ----------------------------------------------------------------------------------- */

static void to_aways(const CkEntryOptions *o)
{
	CProxy_Away aways = Away_ckNewEmpty();
	CkIndex list[ELEMENTS];

	for (int i = 0; i < ELEMENTS; i++) {
		list[i] = Away_index(i);
		Away_insert(Away_at(aways, i), i % CkNumPes());
	}
	Away_doneInserting(aways);
	Away_take_section_opt(o, Away_ckSection(aways, list, ELEMENTS), make(LENGTH));
}

static void phase(Main *self)
{
	static const unsigned bits[] = { 0x40000000, 0, 0, 1 };
	const CkEntryOptions o = { .queueing = CK_QUEUEING_BFIFO, .prio_bits = bits,
				   .n_prio_bits = 128, .refnum = 5 };
	CkCallback cb = Member_cb_take(Member_at(members, CkNumPes() - 1));
	List *l;

	switch (self->phase) {
	case 0:
		l = make(0);
		CkSetRefNum(l, 1234);
		Walker_pass(Walker_at(walkers, 0), l);
		break;
	case 1:
		for (int i = 0; i < ELEMENTS; i++)
			Walker_keep(Walker_at(walkers, i), make(LENGTH));
		break;
	case 2:
		members = Member_ckNew(); /* before its creation has reached anybody */
		Member_take_opt(&o, Member_at(members, CkNumPes() - 1), make(LENGTH));
		break;
	case 3:
		Member_take_opt(&o, Member_at(members, 0), make(LENGTH));
		break;
	case 4:
		to_aways(&o);
		break;
	case 5: /* by callback: it is packed only if it leaves */
		CkCallbackSetRefNum(&cb, 5);
		List_sendToCallback(cb, make(LENGTH));
		break;
	default:
		CkPrintf("packed: %d phases on %d PEs\n", PHASES, CkNumPes());
		CkExit(0);
	}
}

void Main_on_phase(Main *self)
{
	self->phase++;
	phase(self);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	walkers = Walker_ckNew(CkDims(ELEMENTS), make(LENGTH));
	phase(self);
}

#include "packed.def.h"
