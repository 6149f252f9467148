/* SPDX-License-Identifier: Apache-2.0 */
/*
 * migrate_rows: what elements take along when they move, what waits until it is over, and what finds them while
 * they move: one part of the program for each, each ended by quiescence.
 *
 *	WHEN      calls and message objects that wait for a condition go along
 *	THREADS   an element leaves when its last thread has ended; until then it gets its calls
 *	ASK       [sync] calls and futures between elements of which the called ones move
 *	ADD       [aggregate]
 *	TAKE      calls that wait for their buffers: the element leaves when they have been handled
 *	LIVES     elements of a sparse array are destroyed and inserted again, after a move, and while they are
 *	          asked to move
 *	TELL      callbacks
 *	FENCE     a fence of the callers: when it fires, all calls have come
 *
 * `migrate_rows [seed]`.
 */
#include "check.h"

#include <stddef.h>
#include <stdlib.h>

#include "migrate_rows.decl.h"

enum { N = 6, N_LIVES = 9, CALLS = 24, TURNS = 8, TAKES = 3, TAKEN = 100 };
enum row { WHEN, THREADS, ASK, ADD, TAKE, LIVES, TELL, FENCE, ROWS };

struct Main { int row, n_in, n_fenced; long n; };
struct Mover {
	int *next;                /* by PE: of the calls in batches */
	uint64_t random;          /* from here on plain data */
	int turn, noted, n_thought, n_threads;
	int to, on;               /* where its threads, and its last handler of WHEN, asked to go; -1: they did not */
	int n_posts, n_taken;     /* calls that wait for their buffers; those that have them */
	long n_told, n_steps, n_answers;
};
struct Life { int *next; uint64_t random; int life, n; };
struct Hand { uint64_t random; int next[N > N_LIVES ? N : N_LIVES], *in, *out; };

static int below(uint64_t *random, int n)
{
	*random = check_mix(*random);
	return (int)((*random >> 33) % (uint64_t)n);
}

static int move(void *self, uint64_t *random)
{
	int to = below(random, CkNumPes());

	CkMigrateMe(self, to);
	return to;
}

/* ---- movers --------------------------------------------------------------------------------------- */

void Mover_pup(pup_er p, Mover *self)
{
	pup_bytes(p, &self->random, sizeof *self - offsetof(Mover, random));
	self->next = pup_alloc(p, self->next, (size_t)CkNumPes() * sizeof *self->next);
	pup_ints(p, self->next, (size_t)CkNumPes());
}

void Mover_on_new(Mover *self)
{
	self->random = check_mix(seed + (uint64_t)Mover_thisIndex(self));
	self->next = calloc((size_t)CkNumPes(), sizeof *self->next);
	self->on = self->to = -1;
}

static CProxyElement_Mover me(const Mover *self) { return Mover_at(movers, Mover_thisIndex((Mover *)self)); }

void Mover_on_inTurn(Mover *self, int no)
{
	CHECK_EQ(no, self->turn);
	if (self->on >= 0)
		CHECK_EQ(CkMyPe(), self->on);
	self->turn++;
	self->on = move(self, &self->random);
}

void Mover_on_note(Mover *self, Note *m)
{
	CHECK_EQ(m->no, self->noted);
	CHECK_EQ(m->text[m->no], m->no);
	if (self->on >= 0)
		CHECK_EQ(CkMyPe(), self->on);
	self->noted++;
	self->on = move(self, &self->random);
}

void Mover_on_think(Mover *self, int to)
{
	const int pe = CkMyPe();

	self->n_threads++;
	CkMigrateMe(self, to);
	self->to = to;
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(Mover_ask_sync(Mover_at(movers, (Mover_thisIndex(self) + 1) % N), i), i + 1);
		CHECK_EQ(CkMyPe(), pe);
	}
	self->n_threads--;
	Mover_thought(me(self));
}

/* The first call behind the last thread finds the element where the threads asked to go. */
static void check_to(Mover *self)
{
	if (self->n_threads || self->to < 0)
		return;
	CHECK_EQ(CkMyPe(), self->to);
	self->to = -1;
}

void Mover_on_thought(Mover *self)
{
	check_to(self);
	self->n_thought++;
}

int Mover_on_ask(Mover *self, int x)
{
	check_to(self);
	if (!self->n_threads)
		move(self, &self->random);
	return x + 1;
}

void Mover_on_answer(Mover *self, CkFuture f, int x)
{
	self->n_answers++;
	x *= 2;
	CkSendToFutureTyped(f, CK_INT, &x, 1);
	move(self, &self->random);
}

void Mover_on_askAll(Mover *self)
{
	for (int i = 0; i < CALLS; i++) {
		CProxyElement_Mover it = Mover_at(movers, 1 + 2 * below(&self->random, N / 2));
		CkFuture f = CkCreateFuture();
		CkReductionMsg *m;

		CHECK_EQ(Mover_ask_sync(it, i), i + 1);
		Mover_answer(it, f, i);
		m = CkWaitReleaseFuture(f);
		CHECK_EQ(*(const int *)CkReductionMsg_data(m), 2 * i);
		CkFreeMsg(m);
	}
}

void Mover_on_add(Mover *self, int from, int no)
{
	CHECK_EQ(no, self->next[from]);
	self->next[from]++;
	if (below(&self->random, 8) == 0)
		move(self, &self->random);
}

/* The buffer is this PE's. It comes later, and the element wants to be elsewhere by then. */
void Mover_on_take_post(Mover *self, int from, int no, int n, int **v, CkNcpyBufferPost *post)
{
	const int tag = (from * N + Mover_thisIndex(self)) * TAKES + no;

	(void)v;
	CHECK_EQ(post[0].bytes, (size_t)n * sizeof **v);
	CkMatchBuffer(post, 0, tag);
	self->n_posts++;
	self->on = CkMyPe();
	self->to = move(self, &self->random);
	Hand_post(Hand_at(hands, CkMyPe()), tag);
}

/* The last of them releases it, behind this handler. */
void Mover_on_take(Mover *self, int from, int no, int n, int *v)
{
	const Hand *hand = Hand_ckLocalBranch(hands);

	CHECK_EQ(CkMyPe(), self->on);
	CHECK(v == hand->in + ((from * N + Mover_thisIndex(self)) * TAKES + no) * n);
	for (int i = 0; i < n; i++)
		CHECK_EQ(v[i], from + no + i);
	self->n_taken++;
	if (!--self->n_posts)
		Mover_moved(me(self));
}

void Mover_on_moved(Mover *self)
{
	if (self->n_posts || self->to < 0)
		return;
	CHECK_EQ(CkMyPe(), self->to);
	self->to = self->on = -1;
}

void Mover_on_told(Mover *self, int n)
{
	self->n_told += n;
	move(self, &self->random);
}

void Mover_on_step(Mover *self, int from)
{
	(void)from;
	self->n_steps++;
	move(self, &self->random);
}

static long sum(const int *next)
{
	long n = 0;

	for (int p = 0; p < CkNumPes(); p++)
		n += next[p];
	return n;
}

void Mover_on_verify(Mover *self)
{
	CHECK_EQ(self->turn, CALLS);
	CHECK_EQ(self->noted, CALLS);
	CHECK_EQ(self->n_threads, 0);
	CHECK_EQ(self->n_thought, 2);
	CHECK_EQ(self->n_taken, TAKES * CkNumPes());
	Main_verified(mainProxy, sum(self->next) + self->n_told + self->n_steps + self->n_answers);
	free(self->next);
	self->next = NULL;
}

/* ---- lives ------------------------------------------------------------------------------------------ */

void Life_pup(pup_er p, Life *self)
{
	pup_bytes(p, &self->random, sizeof *self - offsetof(Life, random));
	self->next = pup_alloc(p, self->next, (size_t)self->n * sizeof *self->next);
	pup_ints(p, self->next, (size_t)self->n);
}

void Life_on_new(Life *self, int life, int n, const int *next)
{
	self->life = life;
	self->n = n;
	self->next = malloc((size_t)n * sizeof *self->next);
	memcpy(self->next, next, (size_t)n * sizeof *self->next);
	self->random = check_mix(seed + (uint64_t)(1000 * life + Life_thisIndex(self)));
}

static void live_again(Life *self)
{
	CProxyElement_Life it = Life_thisElement(self);

	CkDestroy(self);
	CHECK(!Life_ckLocal(it));
	Life_insert(it, below(&self->random, CkNumPes() + 1) - 1, self->life + 1, self->n, self->next);
	free(self->next);
	self->next = NULL;
}

void Life_on_step(Life *self, int from, int no)
{
	CHECK_EQ(no, self->next[from]);
	self->next[from]++;
	switch (below(&self->random, 8)) {
	case 0:
	case 1:
	case 2:
		move(self, &self->random);
		break;
	case 3:
		move(self, &self->random); /* then for good */
		live_again(self);
		break;
	case 4:
		live_again(self);
		break;
	}
}

void Life_on_verify(Life *self)
{
	Main_verified(mainProxy, sum(self->next));
	free(self->next);
	self->next = NULL;
}

/* ---- every PE ---------------------------------------------------------------------------------------- */

void Hand_on_new(Hand *self)
{
	self->random = check_mix(seed + 1000 + (uint64_t)CkMyPe());
	self->in = calloc((size_t)CkNumPes() * N * TAKES * TAKEN, sizeof *self->in);
	self->out = calloc(TAKES * TAKEN, sizeof *self->out);
}

/* Each PE sends its share, the last one first. */
void Hand_on_inTurns(Hand *self)
{
	(void)self;
	for (int no = CALLS; no-- > 0;)
		for (int i = 0; i < N && no % CkNumPes() == CkMyPe(); i++) {
			Note *m = Note_alloc(CALLS);

			m->no = no;
			for (int k = 0; k < CALLS; k++)
				m->text[k] = k;
			Mover_note(Mover_at(movers, i), m);
			Mover_inTurn(Mover_at(movers, i), no);
		}
}

void Hand_on_adds(Hand *self, int turn)
{
	for (int k = 0; k < CALLS; k++) {
		int i = below(&self->random, N);

		Mover_add(Mover_at(movers, i), CkMyPe(), self->next[i]++);
	}
	if (turn > 1)
		Hand_adds(Hand_thisElement(self), turn - 1);
}

void Hand_on_takes(Hand *self)
{
	for (int no = 0; no < TAKES; no++) {
		int *v = self->out + no * TAKEN;

		for (int k = 0; k < TAKEN; k++)
			v[k] = CkMyPe() + no + k;
		for (int i = 0; i < N; i++)
			Mover_take(Mover_at(movers, i), CkMyPe(), no, TAKEN, CkSendBuffer(v));
	}
}

void Hand_on_post(Hand *self, int tag)
{
	CkPostBuffer(self->in + tag * TAKEN, TAKEN * sizeof *self->in, tag);
}

void Hand_on_makeLives(Hand *self)
{
	int *zero = calloc((size_t)CkNumPes(), sizeof *zero);

	memset(self->next, 0, sizeof self->next);
	for (int i = CkMyPe(); i < N_LIVES; i += CkNumPes())
		Life_insert(Life_at(lives, 3 * i), below(&self->random, CkNumPes()), 0, CkNumPes(), zero);
	free(zero);
	Hand_lifeSteps(Hand_thisElement(self), TURNS);
}

void Hand_on_lifeSteps(Hand *self, int turn)
{
	for (int k = 0; k < CALLS; k++) {
		int i = below(&self->random, N_LIVES);

		Life_step(Life_at(lives, 3 * i), CkMyPe(), self->next[i]++);
	}
	if (turn > 1)
		Hand_lifeSteps(Hand_thisElement(self), turn - 1);
}

void Hand_on_tell(Hand *self, int turn)
{
	for (int k = 0; k < CALLS; k++) {
		CkCallback cb = Mover_cb_told(Mover_at(movers, below(&self->random, N)));

		CkCallbackSendTyped(cb, CK_INT, &(int){ 1 }, 1);
	}
	if (turn > 1)
		Hand_tell(Hand_thisElement(self), turn - 1);
}

/* When the fence fires all calls have come, so the movers' sum is complete. */
void Hand_on_fence(Hand *self, int turn)
{
	for (int k = 0; k < CALLS; k++)
		Mover_step(Mover_at(movers, below(&self->random, N)), CkMyPe());
	if (turn > 1) {
		Hand_fence(Hand_thisElement(self), turn - 1);
		return;
	}
	free(self->in);
	free(self->out);
	CkFence(self, Main_cb_fenced(mainProxy));
}

/* ---- main ---------------------------------------------------------------------------------------------- */

static void start(Main *self)
{
	switch ((enum row)self->row) {
	case WHEN:
		Hand_inTurns_all(hands);
		break;
	case THREADS:
		for (int i = 0; i < N; i++)
			for (int k = 0; k < 2; k++)
				Mover_think(Mover_at(movers, i), (i + k) % CkNumPes());
		break;
	case ASK:
		for (int i = 0; i < N; i += 2)
			Mover_askAll(Mover_at(movers, i));
		break;
	case ADD:
		Hand_adds_all(hands, TURNS);
		break;
	case TAKE:
		Hand_takes_all(hands);
		break;
	case LIVES:
		for (int p = 0; p < CkNumPes(); p++)
			Hand_makeLives(Hand_at(hands, p));
		break;
	case TELL:
		Hand_tell_all(hands, TURNS);
		break;
	case FENCE:
		Hand_fence_all(hands, TURNS);
		return;
	case ROWS:
		break;
	}
	CkStartQD(Main_cb_quiet(mainProxy));
}

void Main_on_quiet(Main *self)
{
	self->row++;
	start(self);
}

void Main_on_fenced(Main *self)
{
	(void)self;
	for (int i = 0; i < N; i++)
		Mover_verify(Mover_at(movers, i));
	for (int i = 0; i < N_LIVES; i++)
		Life_verify(Life_at(lives, 3 * i));
}

void Main_on_verified(Main *self, long n)
{
	const long calls = (long)CkNumPes() * CALLS * TURNS;

	self->n += n;
	if (++self->n_in < N + N_LIVES)
		return;
	/* ADD, LIVES, TELL, FENCE, and the answers. */
	CHECK_EQ(self->n, 4 * calls + N / 2 * CALLS);
	CkPrintf("%ld calls\n", self->n);
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	seed = check_run_seed(m);
	CkPrintf("migrate_rows %llu\n", (unsigned long long)seed);
	hands = Hand_ckNew();
	movers = Mover_ckNew(CkDims(N));
	lives = Life_ckNewEmpty();
	start(self);
}

#include "migrate_rows.def.h"
