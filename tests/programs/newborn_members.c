/* SPDX-License-Identifier: Apache-2.0 */
/*
 * newborn_members: an element that is inserted gets none of the multicasts of its sections that its creator had seen when it
 * inserted it, and all others that no element with its index has got before, once, and those of each PE and priority in order.
 * Each PE makes a section of elements that exist and of some that do not, and all PEs multicast to all sections, with four
 * priorities. Elements are inserted on any PE, move, end, and are inserted again with the same index, by the PE where they ended or
 * by another one. With each insertion goes what its PE has seen: what it has sent itself, and what handlers of members
 * have run there; and what became of the elements with that index before. `newborn_members [seed [turns [rounds]]]`.
 */
#include "newborn_members.h"

#include "check.h"

#include <stdlib.h>

#include "newborn_members.decl.h"

enum { PER_PE = 10, MOST_SENT = 60, PLAIN = 0 };

struct Main { int rounds, n_told; int counts[WORDS]; long n_lives; };
struct Hand {
	CProxySection_Cell section[SECTIONS];
	bool knows[SECTIONS];
	struct heard seen;
	int sent[SECTIONS][PRIOS];
	int made;                 /* elements that have been inserted: their numbers */
	long born;                /* less those that have ended */
	uint64_t random;
};
struct Cell { struct life life; };

static int below(uint64_t *random, int n)
{
	*random = check_mix(*random);
	return (int)(*random >> 33) % n;
}

static Hand *hand(void) { return Hand_ckLocalBranch(hands); }
static CProxyElement_Cell cell(int i) { return Cell_at(cells, i); }
static bool is_member(int section, int i) { return check_mix(seed + (uint64_t)(section * 1000 + i)) % 3 != 0; }

/* ---- elements are made --------------------------------------------------------------------------- */

static void make(int i, const struct heard *past, const struct heard *past_got)
{
	Hand *h = hand();
	const int to = below(&h->random, 3) ? below(&h->random, CkNumPes()) : CK_PE_ANY;

	Cell_insert(cell(i), to, WORDS, h->seen.of, past->of, past_got->of);
	h->born++;
}

static void make_fresh(void)
{
	static const struct heard none;

	if (hand()->made < PER_PE)
		make(hand()->made++ * CkNumPes() + CkMyPe(), &none, &none);
}

void Hand_on_again(Hand *self, int i, int n, const uint64_t *past, const uint64_t *past_got)
{
	(void)self;
	CHECK_EQ(n, WORDS);
	make(i, (const struct heard *)past, (const struct heard *)past_got);
}

/* ---- multicasts ----------------------------------------------------------------------------------- */

static int fewer(int most) { return 6 + (most - 6) / CkNumPes(); }

static void send_note(CProxySection_Cell to, const CkEntryOptions *o, int form, int section, int prio, int no, int n,
		      const char *more)
{
	const int root = CkMyPe();
	Note *m;

	if (form == 0) {
		m = Note_alloc(n);
		m->section = section;
		m->root = root;
		m->prio = prio;
		m->no = no;
		m->n = n;
		memcpy(m->more, more, (size_t)n);
		Cell_note_message_section_opt(o, to, m);
	} else if (form == 1) {
		Cell_note_threaded_section_opt(o, to, section, root, prio, no);
	} else {
		Cell_note_section_opt(o, to, section, root, prio, no, n, more);
	}
}

static void multicast(uint64_t *random)
{
	static const unsigned bits[2] = { 0xa0000000, 0x10000000 };
	const CkEntryOptions options[PRIOS] = {
		[PLAIN] = { .prio = 0 }, { .prio = -3 }, { .prio = 7 },
		{ .queueing = CK_QUEUEING_BFIFO, .prio_bits = bits, .n_prio_bits = 40 },
	};
	Hand *h = hand();
	const int section = below(random, CkNumPes());
	const int prio = below(random, PRIOS), form = below(random, 4), n = below(random, 50);
	const int no = h->sent[section][prio];
	char more[50];

	if (!h->knows[section] || no >= fewer(MOST_SENT))
		return;
	memset(more, no, sizeof more);
	h->sent[section][prio]++;
	h->seen.of[heard_at(section, CkMyPe(), prio)] |= UINT64_C(1) << no;
	send_note(h->section[section], prio == PLAIN ? NULL : &options[prio], form, section, prio, no, n, more);
}

/* ---- elements -------------------------------------------------------------------------------------- */

void Cell_on_new(Cell *self, int n, const uint64_t *seen, const uint64_t *past, const uint64_t *past_got)
{
	struct life *l = &self->life;

	CHECK_EQ(n, WORDS);
	memset(l, 0, sizeof *l);
	memcpy(&l->before, seen, sizeof l->before);
	memcpy(&l->past, past, sizeof l->past);
	memcpy(&l->past_got, past_got, sizeof l->past_got);
	l->random = check_mix(seed + (uint64_t)(Cell_thisIndex(self) * 31 + CkMyPe()));
}

static void hears(struct life *l, int i, int section, int root, int prio, int no)
{
	const uint64_t bit = UINT64_C(1) << no;
	const int at = heard_at(section, root, prio);
	uint64_t *got = &l->got.of[at];
	const uint64_t before = l->before.of[at], past = l->past.of[at];
	const char *what = NULL;

	hand()->seen.of[at] |= bit;
	if (!is_member(section, i))
		what = "and is no member";
	else if (before & bit)
		what = "which its creator had seen";
	else if (*got & bit)
		what = "twice";
	else if (l->past_got.of[at] & bit)
		what = "which one before it had got";
	else if (((*got | before | past) & (bit - 1)) != bit - 1)
		what = "and none before";
	else if (*got >> no)
		what = "too late";
	if (what)
		CkAbort("element %d got multicast %d, %d of PE %d to section %d, %s", i, prio, no, root, section, what);
	*got |= bit;
}

static void join(struct heard *to, const struct heard *more)
{
	for (int k = 0; k < WORDS; k++)
		to->of[k] |= more->of[k];
}

static void end(Cell *self, bool here, uint64_t *random)
{
	struct life *l = &self->life;
	const int i = Cell_thisIndex(self);

	join(&l->past, &l->before);
	join(&l->past, &l->got);
	join(&l->past_got, &l->got);
	CkDestroy(self);
	hand()->born--;
	if (here)
		make(i, &l->past, &l->past_got);
	else
		Hand_again(Hand_at(hands, below(random, CkNumPes())), i, WORDS, l->past.of, l->past_got.of);
}

/* In the handler of a multicast. */
static void acts(Cell *self)
{
	uint64_t random = self->life.random = check_mix(self->life.random);
	const int what = below(&random, 24);

	if (what < 3)
		CkMigrateMe(self, below(&random, CkNumPes()));
	else if (what == 4)
		make_fresh();
	else if (what == 5 && below(&random, 4) == 0)
		multicast(&random);
	else if (what < 10)
		end(self, what < 8, &random);
}

static void check_more(int no, int n, const char *more)
{
	for (int i = 0; i < n; i++)
		CHECK_EQ(more[i], no);
}

void Cell_on_note(Cell *self, int section, int root, int prio, int no, int n, const char *more)
{
	check_more(no, n, more);
	hears(&self->life, Cell_thisIndex(self), section, root, prio, no);
	acts(self);
}

void Cell_on_note_message(Cell *self, Note *m)
{
	check_more(m->no, m->n, m->more);
	hears(&self->life, Cell_thisIndex(self), m->section, m->root, m->prio, m->no);
	acts(self);
	CkFreeMsg(m);
}

void Cell_on_note_threaded(Cell *self, int section, int root, int prio, int no)
{
	hears(&self->life, Cell_thisIndex(self), section, root, prio, no);
	acts(self);
}

/* Nothing is under way. */
void Cell_on_check(Cell *self, int n, const int *counts)
{
	const struct life *l = &self->life;
	const int i = Cell_thisIndex(self);

	CHECK_EQ(n, WORDS);
	for (int k = 0; k < n; k++) {
		const int section = k / (PES * PRIOS);
		const uint64_t all = (UINT64_C(1) << counts[k]) - 1;
		const uint64_t had = l->got.of[k] | l->before.of[k] | l->past.of[k];

		if (is_member(section, i) && had != all)
			CkAbort("element %d got %llx of PE %d to section %d with priority %d, and %llx before; sent were %llx", i,
				(unsigned long long)l->got.of[k], k / PRIOS % PES, section, k % PRIOS,
				(unsigned long long)(l->before.of[k] | l->past.of[k]), (unsigned long long)all);
	}
	CkAtSync(self);
}

void Cell_on_resumeFromSync(Cell *self)
{
	long one = 1;

	CkContribute(self, &one, 1, CkReduction_sum_long, Main_cb_checked(mainProxy));
}

/* ---- every PE -------------------------------------------------------------------------------------------- */

void Hand_on_new(Hand *self)
{
	memset(self, 0, sizeof *self);
	self->random = check_mix(seed + 77 * (uint64_t)CkMyPe());
}

/* One's own section is used at once, and elements are inserted before others know it. */
static void make_section(Hand *self)
{
	CkIndex members[PES * PER_PE];
	size_t n = 0;

	for (int i = 0; i < CkNumPes() * PER_PE; i++)
		if (is_member(CkMyPe(), i))
			members[n++] = Cell_index(i);
	self->section[CkMyPe()] = Cell_ckSection(cells, members, n);
	self->knows[CkMyPe()] = true;
	for (int k = 0; k < 3; k++) {
		multicast(&self->random);
		make_fresh();
	}
	Hand_known_all(hands, CkMyPe(), self->section[CkMyPe()]);
}

void Hand_on_known(Hand *self, int section, CProxySection_Cell s)
{
	self->section[section] = s;
	self->knows[section] = true;
	for (int k = below(&self->random, 3); k > 0; k--)
		multicast(&self->random);
	make_fresh();
}

void Hand_on_begin(Hand *self, int left, bool last)
{
	if (!self->knows[CkMyPe()])
		make_section(self);
	while (last && self->made < PER_PE)
		make_fresh();
	Hand_on_step(self, left);
}

void Hand_on_step(Hand *self, int left)
{
	for (int n = below(&self->random, 4); n > 0; n--) {
		if (below(&self->random, 6) == 0)
			make_fresh();
		else
			multicast(&self->random);
	}
	if (left == 0)
		return;
	if (below(&self->random, 2))
		Hand_step(Hand_thisElement(self), left - 1);
	else
		Hand_bounce(Hand_at(hands, below(&self->random, CkNumPes())), CkMyPe(), left - 1);
}

void Hand_on_bounce(Hand *self, int from, int left)
{
	(void)self;
	Hand_step(Hand_at(hands, from), left);
}

void Hand_on_tell(Hand *self)
{
	Main_told(mainProxy, CkMyPe(), SECTIONS * PRIOS, self->sent[0], self->born);
}

/* All PEs that know the section forget it. */
void Hand_on_drop(Hand *self)
{
	CkSectionDestroy(self->section[CkMyPe()].ck);
}

/* ---- main --------------------------------------------------------------------------------------------- */

static void go(Main *self)
{
	Hand_begin_all(hands, turns, self->rounds == 1);
	CkStartQD(Main_cb_quiet(mainProxy));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	seed = check_run_seed(m);
	turns = check_argument(m, 2, 30);
	self->rounds = check_argument(m, 3, 3);
	if (CkNumPes() > PES)
		CkAbort("newborn_members takes at most %d PEs", PES);
	CkPrintf("newborn_members %llu\n", (unsigned long long)seed);
	hands = Hand_ckNew();
	cells = Cell_ckNewEmpty();
	go(self);
}

void Main_on_quiet(Main *self)
{
	self->n_told = 0;
	self->n_lives = 0;
	Hand_tell_all(hands);
}

void Main_on_told(Main *self, int pe, int n, const int *counts, long lives)
{
	CHECK_EQ(n, SECTIONS * PRIOS);
	for (int s = 0; s < SECTIONS; s++)
		memcpy(self->counts + heard_at(s, pe, 0), counts + s * PRIOS, PRIOS * sizeof *counts);
	self->n_lives += lives;
	if (++self->n_told == CkNumPes())
		Cell_check_all(cells, WORDS, self->counts);
}

void Main_on_checked(Main *self, long n)
{
	CHECK_EQ(self->n_lives, n);
	if (--self->rounds) {
		go(self);
		return;
	}
	Hand_drop_all(hands);
	CkStartQD(Main_cb_dropped(mainProxy));
}

void Main_on_dropped(Main *self)
{
	(void)self;
	CkPrintf("each member got what its creator had not seen\n");
	CkExit(0);
}

#include "newborn_members.def.h"
