/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threadring: tokens go round a ring of threads; then a question does.
 *
 *	ckrun -n 2 ./threadring --members 100 --rounds 1000 --tokens 8
 *
 * Shows   [threaded] entry methods, which may wait in the middle. CthSuspend waits until a plain
 *         entry method of the same chare calls CthAwaken. A [sync] call waits for what the other
 *         chare's handler returns. The loop of a thread holds what a chare without threads would
 *         have to keep in its fields.
 * Checks  every token's sum against a serial one. A sum depends on who has had the token and in
 *         which order, so a member that is left out or comes twice is found.
 */
#include <stdlib.h>

#include "../args.h"
#include "../random.h"
#include "cth.h"
#include "threadring.decl.h"

struct token {
	int no;
	uint64_t sum;
};

struct Main {
	uint64_t *sums;         /* of the tokens that have come back */
	long n_came;
	CthThread waiting;      /* for all of them */
};

struct Member {
	struct token *tokens;   /* those that are here, in the order in which they came */
	long n_tokens;
	CthThread waiting;      /* for a token; NULL: it runs, or has been told already */
};

/* What a member does with a sum. */
static uint64_t stamp(uint64_t sum, int member)
{
	return random_mix(sum + (uint64_t)member + 1);
}

static uint64_t serial_sum(uint64_t sum, long n_rounds)
{
	for (long r = 0; r < n_rounds; r++)
		for (int i = 0; i < members; i++)
			sum = stamp(sum, i);
	return sum;
}

static void *allocate(long n, size_t bytes)
{
	void *p = calloc((size_t)n, bytes);

	if (!p)
		CkAbort("threadring: no memory");
	return p;
}

/* ---- threads that wait for messages ---------------------------------------------------- */

void Member_on_new(Member *self)
{
	self->tokens = allocate(tokens, sizeof *self->tokens);
}

/* A token may have come already, so look first. While this thread waits, the PE does other work. */
static struct token next_token(Member *self)
{
	struct token t;

	while (self->n_tokens == 0) {
		self->waiting = CthSelf();
		CthSuspend();
	}
	t = self->tokens[0];
	memmove(self->tokens, self->tokens + 1, (size_t)--self->n_tokens * sizeof t);
	return t;
}

void Member_on_pass(Member *self)
{
	int me = Member_thisIndex(self), next = (me + 1) % (int)members;

	for (long round = 0; round < rounds; round++)
		for (long i = 0; i < tokens; i++) {
			struct token t = next_token(self);

			t.sum = stamp(t.sum, me);
			if (next == 0 && round == rounds - 1)
				Main_came(mainProxy, t.no, t.sum);
			else
				Member_token(Member_at(ring, next), t.no, t.sum);
		}
	free(self->tokens);
}

void Member_on_token(Member *self, int token, uint64_t sum)
{
	CthThread t = self->waiting;

	self->tokens[self->n_tokens++] = (struct token){token, sum};
	self->waiting = NULL;   /* a second token must not awaken it a second time */
	if (t)
		CthAwaken(t);
}

/* ---- threads that ask each other --------------------------------------------------------- */

/* At the end of the way `members` threads wait, each for the answer of the next. */
uint64_t Member_on_ask(Member *self, uint64_t sum, int hops)
{
	int me = Member_thisIndex(self);

	sum = stamp(sum, me);
	return hops == 1 ? sum : Member_ask_sync(Member_at(ring, me + 1), sum, hops - 1);
}

/* ---- the main chare: one thread that says what happens, from first to last --------------- */

void Main_on_new(Main *self, CkArgMsg *m)
{
	const struct arg args[] = {
		{"members", &members, 10, 1, 100000, "threads in the ring"},
		{"rounds", &rounds, 20, 1, 100000000, "times that each token goes round"},
		{"tokens", &tokens, 3, 1, 1000, "tokens at the same time"},
	};

	if (!args_read("threadring", m, args, sizeof args / sizeof *args))
		return;
	mainProxy = Main_thisProxy(self);
	ring = Member_ckNew(CkDims((int)members));
	self->sums = allocate(tokens, sizeof *self->sums);
	Main_drive(mainProxy);
}

void Main_on_came(Main *self, int token, uint64_t sum)
{
	self->sums[token] = sum;
	if (++self->n_came == tokens)
		CthAwaken(self->waiting);
}

static void pass_tokens(Main *self)
{
	Member_pass_all(ring);
	for (int i = 0; i < tokens; i++)
		Member_token(Member_at(ring, 0), i, (uint64_t)i);
	self->waiting = CthSelf();
	CthSuspend();
}

static uint64_t ask_around(void)
{
	uint64_t sum = 0;

	for (long round = 0; round < rounds; round++)
		sum = Member_ask_sync(Member_at(ring, 0), sum, (int)members);
	return sum;
}

static long wrong_tokens(const Main *self)
{
	long wrong = 0;

	for (int i = 0; i < tokens; i++)
		wrong += self->sums[i] != serial_sum((uint64_t)i, rounds);
	return wrong;
}

static double us_per_hop(double seconds, long n_rounds)
{
	return seconds * 1e6 / ((double)members * (double)n_rounds);
}

void Main_on_drive(Main *self)
{
	double started = CkWallTimer(), passed, asked;
	long wrong;
	uint64_t sum;

	pass_tokens(self);
	passed = CkWallTimer();
	sum = ask_around();
	asked = CkWallTimer();
	wrong = wrong_tokens(self) + (sum != serial_sum(0, rounds));
	CkPrintf("threadring: %ld threads on %d PEs, %ld rounds: %ld tokens, %.2f us per hop; "
		 "questions, %.2f us per hop: %s\n",
		 members, CkNumPes(), rounds, tokens, us_per_hop(passed - started, rounds * tokens),
		 us_per_hop(asked - passed, rounds), wrong ? "WRONG" : "checked");
	if (wrong)
		CkError("threadring: %ld sums are wrong\n", wrong);
	free(self->sums);
	CkExit(wrong ? 1 : 0);
}

#include "threadring.def.h"
