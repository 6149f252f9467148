/* SPDX-License-Identifier: Apache-2.0 */
/* chares.c: the chares of embed, and the functions through which a host program uses them. */
#define CK_NO_MAIN
#include "embed.h"
#include "embed.decl.h"

enum { PIECES_PER_PE = 4 };

struct Main { int unused; };
struct Host { int unused; };
struct Piece {
	long primes;
	int n_asked;                    /* processes that have asked for this sum */
};

/* Only the first PE's thread, which is the host program's, touches them. */
volatile int embed_done;
volatile long embed_answer;

/* ---- the host program's side --------------------------------------------------------------------- */

void embed_ask(long first, long last)
{
	embed_done = 0;
	Piece_Count_all(pieces, first, last);
}

static bool is_prime(long n)
{
	for (long d = 2; d * d <= n; d++)
		if (n % d == 0)
			return false;
	return n > 1;
}

long embed_count(long first, long last)
{
	long primes = 0;

	for (long n = first; n < last; n++)
		primes += is_prime(n);
	return primes;
}

/* ---- the chares ------------------------------------------------------------------------------------ */

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	hosts = Host_ckNew();
	pieces = Piece_ckNew(CkDims(PIECES_PER_PE * CkNumPes()));
}

void Piece_on_new(Piece *self)
{
	self->primes = 0;
	self->n_asked = 0;
}

/* Each piece takes its share of every range. */
void Piece_on_Count(Piece *self, long first, long last)
{
	for (long n = first + Piece_thisIndex(self); n < last; n += PIECES_PER_PE * CkNumPes())
		self->primes += is_prime(n);
	if (++self->n_asked < CkNumNodes())
		return;
	CkContribute(self, &self->primes, 1, CkReduction_sum_long, Main_cb_Sum(mainProxy));
	self->primes = 0;
	self->n_asked = 0;
}

void Main_on_Sum(Main *self, long primes)
{
	(void)self;
	Host_Answer_all(hosts, primes);
}

void Host_on_new(Host *self)
{
	(void)self;
}

void Host_on_Answer(Host *self, long primes)
{
	(void)self;
	if (CkMyRank() != 0)
		return;
	embed_answer = primes;
	embed_done = 1;
}

#include "embed.def.h"
