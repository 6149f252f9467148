/* SPDX-License-Identifier: Apache-2.0 */
/*
 * newborns: an element that is inserted gets those broadcasts that its creator had not seen when it inserted it: those
 * before never, those after it always, once, and those of each root and priority in order. All PEs broadcast to three arrays,
 * with four priorities, and insert, destroy and insert again, on any PE; elements do so, too, in the handlers of broadcasts, and
 * move. With each insertion goes what its PE has seen: what it has sent itself, and what handlers of that array have run there.
 * Each PE has an element that stays, so that the program sees what its PE sees. `newborns [seed [turns [rounds]]]`.
 */
#include "newborns.h"

#include "check.h"

#include <stdlib.h>

#include "newborns.decl.h"

enum { CELLS, LINE, CUBES, ARRAYS };
enum { PER_PE = 6, MOST_SENT = 60, MOST_MADE = 40, PLAIN = 0 };
/* What a place of the line's block is for. */
enum { WITNESS, AGAIN, MOVES, DRIVEN, DRIVEN_TOO };

struct Main { int rounds, n_told, stage; int counts[ARRAYS][PES][PRIOS]; long lives[ARRAYS], n_lives; };
struct Hand {
	struct heard seen[ARRAYS];
	int sent[ARRAYS][PRIOS];
	int made[ARRAYS];         /* fresh elements: their numbers */
	long born;                /* less those that have ended */
	uint64_t random;
	CkIndex driven[MOST_MADE]; /* of cells */
	int n_driven;
};
struct Cell { struct life life; };
struct Cube { struct life life; };

static int below(uint64_t *random, int n)
{
	*random = check_mix(*random);
	return (int)(*random >> 33) % n;
}

static Hand *hand(void) { return Hand_ckLocalBranch(hands); }

/* ---- elements are made --------------------------------------------------------------------------- */

static void make(int array, CkIndex i, int to, bool witness)
{
	const struct heard *seen = &hand()->seen[array];
	const int n = PES * PRIOS;

	if (array == CUBES)
		Cube_insert((CProxyElement_Cube){ { cubes.ck.id, i, 0 } }, to, array, witness, n, seen->of[0]);
	else if (array == CELLS)
		Cell_insert((CProxyElement_Cell){ { cells.ck.id, i, 0 } }, to, array, witness, n, seen->of[0]);
	else
		Cell_insert((CProxyElement_Cell){ { line.ck.id, i, 0 } }, CK_PE_ANY, array, witness, n, seen->of[0]);
	hand()->born++;
}

static CkIndex number(int array, int no)
{
	return array == CUBES ? (CkIndex){ { no % 7 - 3, no / 7, CkMyPe() } } : (CkIndex){ { no * CkNumPes() + CkMyPe(), 0, 0 } };
}

static int anywhere(uint64_t *random) { return below(random, CkNumPes() + 2) - 2 < 0 ? CK_PE_ANY : below(random, CkNumPes()); }

/* One more, on any PE. */
static CkIndex make_fresh(int array, uint64_t *random)
{
	const CkIndex i = number(array, hand()->made[array]++);

	make(array, i, anywhere(random), false);
	return i;
}

/* The more PEs there are, the less each of them does. */
static int fewer(int most) { return 8 + (most - 8) / CkNumPes(); }

static bool has_room(int array) { return array != LINE && hand()->made[array] < fewer(MOST_MADE); }

/* ---- broadcasts ----------------------------------------------------------------------------------- */

static void send_note(int array, const CkEntryOptions *o, int form, int prio, int no, int n, const char *more)
{
	const int root = CkMyPe();
	Note *m;

	if (form == 0) {
		m = Note_alloc(n);
		m->root = root;
		m->prio = prio;
		m->no = no;
		m->n = n;
		memcpy(m->more, more, (size_t)n);
		if (array == CUBES)
			Cube_note_message_all_opt(o, cubes, m);
		else
			Cell_note_message_all_opt(o, array == CELLS ? cells : line, m);
	} else if (form == 1 && array == CUBES) {
		Cube_note_threaded_all_opt(o, cubes, root, prio, no);
	} else if (form == 1) {
		Cell_note_threaded_all_opt(o, array == CELLS ? cells : line, root, prio, no);
	} else if (array == CUBES) {
		Cube_note_all_opt(o, cubes, root, prio, no, n, more);
	} else {
		Cell_note_all_opt(o, array == CELLS ? cells : line, root, prio, no, n, more);
	}
}

static void broadcast(int array, uint64_t *random)
{
	static const unsigned bits[2] = { 0xa0000000, 0x10000000 };
	const CkEntryOptions options[PRIOS] = {
		[PLAIN] = { .prio = 0 }, { .prio = -3 }, { .prio = 7 },
		{ .queueing = CK_QUEUEING_BFIFO, .prio_bits = bits, .n_prio_bits = 40 },
	};
	const int prio = below(random, PRIOS), form = below(random, 4), n = below(random, 50);
	const int no = hand()->sent[array][prio];
	char more[50];

	if (no >= fewer(MOST_SENT))
		return;
	memset(more, no, sizeof more);
	hand()->sent[array][prio]++;
	hand()->seen[array].of[CkMyPe()][prio] |= UINT64_C(1) << no;
	send_note(array, prio == PLAIN ? NULL : &options[prio], form, prio, no, n, more);
}

/* ---- elements -------------------------------------------------------------------------------------- */

static void life_begins(struct life *l, CkIndex i, int array, bool witness, int n, const uint64_t *seen)
{
	CHECK_EQ(n, PES * PRIOS);
	memset(l, 0, sizeof *l);
	memcpy(&l->before, seen, sizeof l->before);
	l->random = check_mix(seed + (uint64_t)(i.v[0] * 31 + i.v[1] * 7 + i.v[2] + 1000 * array + CkMyPe()));
	l->array = array;
	l->witness = witness;
}

static void hears(struct life *l, int root, int prio, int no)
{
	const uint64_t bit = UINT64_C(1) << no;
	uint64_t *got = &l->got.of[root][prio];
	const uint64_t before = l->before.of[root][prio];

	hand()->seen[l->array].of[root][prio] |= bit;
	if (before & bit)
		CkAbort("an element of array %d got broadcast %d, %d of PE %d, which its creator had seen", l->array, prio, no, root);
	if (*got & bit)
		CkAbort("an element of array %d got broadcast %d, %d of PE %d twice", l->array, prio, no, root);
	if (((*got | before) & (bit - 1)) != bit - 1)
		CkAbort("an element of array %d got broadcast %d, %d of PE %d, and none before", l->array, prio, no, root);
	if (*got >> no)
		CkAbort("an element of array %d got broadcast %d, %d of PE %d too late", l->array, prio, no, root);
	*got |= bit;
}

/* What the place is for: whether its element ends itself, and is inserted again. */
static int use_of(const struct life *l, CkIndex i)
{
	if (l->witness)
		return WITNESS;
	if (l->array == LINE)
		return i.v[0] % PER_PE;
	return l->array == CUBES || i.v[0] / CkNumPes() % 2 ? AGAIN : DRIVEN;
}

static void end(void *self)
{
	CkDestroy(self);
	hand()->born--;
}

/* In the handler of a broadcast. */
static void acts(void *self, struct life *l, CkIndex i)
{
	const int use = use_of(l, i), array = l->array;
	uint64_t random = l->random = check_mix(l->random);
	const int what = below(&random, 24);

	if (what < 3 && use != WITNESS)
		CkMigrateMe(self, below(&random, CkNumPes()));
	if (what == 4 && has_room(array))
		make_fresh(array, &random);
	if (what == 5 && below(&random, 4) == 0)
		broadcast(below(&random, ARRAYS), &random);
	if ((what == 6 || what == 7) && use == AGAIN) {
		const int to = anywhere(&random);

		end(self);
		make(array, i, to, false);
	}
}

static void check_more(int no, int n, const char *more)
{
	for (int i = 0; i < n; i++)
		CHECK_EQ(more[i], no);
}

#define ELEMENT(X)                                                                                             \
	void X##_on_new(X *self, int array, bool witness, int n, const uint64_t *seen)                         \
	{                                                                                                      \
		life_begins(&self->life, X##_thisElement(self).ck.index, array, witness, n, seen);             \
		CkPin(self, witness || (array == LINE && X##_thisElement(self).ck.index.v[0] % PER_PE == WITNESS)); \
	}                                                                                                      \
	void X##_on_note(X *self, int root, int prio, int no, int n, const char *more)                         \
	{                                                                                                      \
		check_more(no, n, more);                                                                       \
		hears(&self->life, root, prio, no);                                                            \
		acts(self, &self->life, X##_thisElement(self).ck.index);                                       \
	}                                                                                                      \
	void X##_on_note_message(X *self, Note *m)                                                             \
	{                                                                                                      \
		check_more(m->no, m->n, m->more);                                                              \
		hears(&self->life, m->root, m->prio, m->no);                                                   \
		acts(self, &self->life, X##_thisElement(self).ck.index);                                       \
		CkFreeMsg(m);                                                                                  \
	}                                                                                                      \
	void X##_on_note_threaded(X *self, int root, int prio, int no)                                         \
	{                                                                                                      \
		hears(&self->life, root, prio, no);                                                            \
		acts(self, &self->life, X##_thisElement(self).ck.index);                                       \
	}                                                                                                      \
	void X##_on_check(X *self, int n, const int *counts)                                                   \
	{                                                                                                      \
		check_life(&self->life, n, counts);                                                            \
		CkAtSync(self);                                                                                \
	}                                                                                                      \
	void X##_on_resumeFromSync(X *self)                                                                    \
	{                                                                                                      \
		long one = 1;                                                                                  \
                                                                                                               \
		CkContribute(self, &one, 1, CkReduction_sum_long, Main_cb_checked(mainProxy));                 \
	}

/* Nothing is under way: it has got all that was sent, less what came before it. */
static void check_life(const struct life *l, int n, const int *counts)
{
	CHECK_EQ(n, PES * PRIOS);
	for (int root = 0; root < PES; root++)
		for (int prio = 0; prio < PRIOS; prio++) {
			const uint64_t all = (UINT64_C(1) << counts[root * PRIOS + prio]) - 1;

			if ((l->before.of[root][prio] | l->got.of[root][prio]) != all)
				CkAbort("an element of array %d got %llx of PE %d with priority %d, and %llx before; sent were %llx",
					l->array, (unsigned long long)l->got.of[root][prio], root, prio,
					(unsigned long long)l->before.of[root][prio], (unsigned long long)all);
		}
}

ELEMENT(Cell)
ELEMENT(Cube)

/* ---- every PE -------------------------------------------------------------------------------------------- */

void Hand_on_new(Hand *self)
{
	memset(self, 0, sizeof *self);
	self->random = check_mix(seed + 77 * (uint64_t)CkMyPe());
}

void Hand_on_witness(Hand *self)
{
	self->made[CELLS] = self->made[CUBES] = 1;
	make(CELLS, number(CELLS, 0), CkMyPe(), true);
	make(CUBES, number(CUBES, 0), CkMyPe(), true);
}

/* This PE alone ends such an element, and inserts it again. */
static void drive(Hand *self)
{
	const int k = below(&self->random, self->n_driven + 2);

	if (k >= self->n_driven) {
		const int at = (CkMyPe() + 1) % CkNumPes() * PER_PE + DRIVEN + k - self->n_driven;

		Cell_ckDestroy(Cell_at(line, at));
		make(LINE, (CkIndex){ { at, 0, 0 } }, CK_PE_ANY, false);
	} else {
		const CkIndex i = self->driven[k];

		Cell_ckDestroy((CProxyElement_Cell){ { cells.ck.id, i, 0 } });
		make(CELLS, i, anywhere(&self->random), false);
	}
	self->born--;
}

static void make_one(Hand *self)
{
	const int array = below(&self->random, 2) ? CELLS : CUBES;

	if (!has_room(array))
		return;
	const CkIndex i = make_fresh(array, &self->random);

	if (array == CELLS && i.v[0] / CkNumPes() % 2 == 0)
		self->driven[self->n_driven++] = i;
}

static void act(Hand *self)
{
	switch (below(&self->random, 4)) {
	case 0:
		make_one(self);
		break;
	case 1:
		drive(self);
		break;
	default:
		broadcast(below(&self->random, ARRAYS), &self->random);
		break;
	}
}

void Hand_on_begin(Hand *self, int left) { Hand_on_step(self, left); }

void Hand_on_step(Hand *self, int left)
{
	for (int n = below(&self->random, 4); n > 0; n--)
		act(self);
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
	Main_told(mainProxy, CkMyPe(), ARRAYS * PRIOS, self->sent[0], self->born);
}

/* ---- main --------------------------------------------------------------------------------------------- */

void Main_on_new(Main *self, CkArgMsg *m)
{
	uint64_t none[PES * PRIOS] = { 0 };

	mainProxy = Main_thisProxy(self);
	seed = check_run_seed(m);
	turns = check_argument(m, 2, 30);
	self->rounds = check_argument(m, 3, 3);
	if (CkNumPes() > PES)
		CkAbort("newborns takes at most %d PEs", PES);
	CkPrintf("newborns %llu\n", (unsigned long long)seed);
	hands = Hand_ckNew();
	cells = Cell_ckNewEmpty();
	cubes = Cube_ckNewEmpty();
	line = Cell_ckNew(CkDims(PER_PE * CkNumPes()), LINE, false, PES * PRIOS, none);
	Hand_witness_all(hands);
	CkStartQD(Main_cb_witnessed(mainProxy));
}

static void go(Main *self)
{
	(void)self;
	Hand_begin_all(hands, turns);
	CkStartQD(Main_cb_quiet(mainProxy));
}

void Main_on_witnessed(Main *self) { go(self); }

void Main_on_quiet(Main *self)
{
	self->n_told = self->stage = 0;
	self->n_lives = PER_PE * CkNumPes();
	Hand_tell_all(hands);
}

void Main_on_told(Main *self, int pe, int n, const int *counts, long lives)
{
	CHECK_EQ(n, ARRAYS * PRIOS);
	for (int a = 0; a < ARRAYS; a++)
		memcpy(self->counts[a][pe], counts + a * PRIOS, PRIOS * sizeof *counts);
	self->n_lives += lives;
	if (++self->n_told < CkNumPes())
		return;
	Cell_check_all(cells, PES * PRIOS, self->counts[CELLS][0]);
	Cell_check_all(line, PES * PRIOS, self->counts[LINE][0]);
	Cube_check_all(cubes, PES * PRIOS, self->counts[CUBES][0]);
}

void Main_on_checked(Main *self, long n)
{
	self->n_lives -= n;
	if (++self->stage < ARRAYS)
		return;
	CHECK_EQ(self->n_lives, 0);
	if (--self->rounds) {
		go(self);
		return;
	}
	CkPrintf("each element got what its creator had not seen\n");
	CkExit(0);
}

#include "newborns.def.h"
