/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nqueens: in how many ways n queens can stand on an n x n board without attacking each other, by
 * a search in which every board is a chare.
 *
 *	ckrun -n 2 ./nqueens --queens 14 --grain 9 --prio bits
 *
 * Shows   state-space search with chares that live for one handler: made anywhere (CK_PE_ANY), they
 *         make others and destroy themselves. Priorities keep the number of waiting boards small.
 *         In the order in which they are made, row by row, the whole tree waits at once. With
 *         `row` the boards with most queens go first. With `bits` (a bit-vector, the path through
 *         the tree) they come in the order of a serial search. Quiescence tells the end.
 * Checks  the solutions against the known number, and the chares against a serial count.
 *
 * After Charm++'s example of that name. Source of bit-vector priorities: V. A. Saletore and L. V.
 * Kale, "Consistent linear speedups to a first solution in parallel state-space search", AAAI 1990.
 */
#include "../args.h"
#include "board.h"
#include "nqueens.decl.h"

enum { MADE, ROW, BITS };               /* --prio */
enum { SOLUTIONS, CHARES, WAITING, N_TOTALS };
enum { MAX_QUEENS = 18, WORD = 32 };
enum { BRANCH_BITS = 5 };               /* room for MAX_QUEENS branches */

/* The number of solutions (OEIS A000170). */
static const long known[MAX_QUEENS + 1] = {
	1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512,
	95815104, 666090624,
};

struct Main { double began; };
struct Place { int unused; };

/* A PE counts up for each board that it makes and down for each that it handles, which another PE may
 * have made. So the sum of the PEs' highest counts bounds the number of boards that waited at any
 * time, and on one PE it is that number. */
struct Tally {
	long waiting;
	long total[N_TOTALS];   /* WAITING: the highest it was */
};

/* ---- one per PE -------------------------------------------------------------------------- */

/* The clock starts when all PEs work. */
void Tally_on_new(Tally *self)
{
	CkContributeBarrier(self, Main_cb_ready(mainProxy));
}

void Tally_on_report(Tally *self)
{
	CkContribute(self, self->total, N_TOTALS, CkReduction_sum_long, Main_cb_totals(mainProxy));
}

/* ---- a board ----------------------------------------------------------------------------- */

/* Append `branch` to the n bits of a path. The first bit is the highest bit of path[0]. */
static void extend(uint32_t *path, int n, uint32_t branch)
{
	for (int i = 0; i < BRANCH_BITS; i++)
		if (branch >> (BRANCH_BITS - 1 - i) & 1)
			path[(n + i) / WORD] |= UINT32_C(1) << (WORD - 1 - (n + i) % WORD);
}

static void send_board(struct board b, int n, const uint32_t *path)
{
	Tally *here = Tally_ckLocalBranch(tally);
	CkEntryOptions first_made = {0};
	CkEntryOptions by_row = {.queueing = CK_QUEUEING_IFIFO, .prio = -b.rows};
	CkEntryOptions by_bits = {.queueing = CK_QUEUEING_BFIFO, .prio_bits = path, .n_prio_bits = n};

	if (++here->waiting > here->total[WAITING])
		here->total[WAITING] = here->waiting;
	Place_ckNew_opt(prio == BITS ? &by_bits : prio == ROW ? &by_row : &first_made, CK_PE_ANY, b,
			n, path);
}

static void send_next_boards(const struct board *b, int n, const uint32_t *bits)
{
	uint32_t open = board_free(b, queens), branch = 0;

	for (; open; open &= open - 1, branch++) {
		uint32_t path[(MAX_QUEENS * BRANCH_BITS + WORD - 1) / WORD] = {0};

		memcpy(path, bits, (size_t)(n + WORD - 1) / WORD * sizeof *path);
		extend(path, n, branch);
		send_board(board_place(b, open & -open), n + BRANCH_BITS, path);
	}
}

void Place_on_new(Place *self, struct board b, int n, const uint32_t *bits)
{
	Tally *here = Tally_ckLocalBranch(tally);

	here->waiting--;
	here->total[CHARES]++;
	if (b.rows >= queens - grain)
		here->total[SOLUTIONS] += board_count(&b, queens);
	else
		send_next_boards(&b, n, bits);
	CkDestroy(self);
}

/* ---- the main chare ---------------------------------------------------------------------- */

void Main_on_new(Main *self, CkArgMsg *m)
{
	const struct arg args[] = {
		{"queens", &queens, 9, 1, MAX_QUEENS, "rows, columns and queens"},
		{"grain", &grain, 4, 0, MAX_QUEENS, "with so few rows left a chare searches alone"},
		{"prio", &prio, BITS, MADE, BITS, "made|row|bits"},
	};

	if (!args_read("nqueens", m, args, sizeof args / sizeof *args))
		return;
	mainProxy = Main_thisProxy(self);
	tally = Tally_ckNew();
}

void Main_on_ready(Main *self)
{
	const uint32_t root = 0;

	self->began = CkWallTimer();
	send_board((struct board){0}, 0, &root);
	CkStartQD(Main_cb_searched(mainProxy));
}

void Main_on_searched(Main *self)
{
	(void)self;
	Tally_report_all(tally);
}

void Main_on_totals(Main *self, int n, const long *total)
{
	double took = CkWallTimer() - self->began;
	const struct board empty = {0};
	long chares = board_reachable(&empty, queens, queens - grain);
	bool right = n == N_TOTALS && total[SOLUTIONS] == known[queens] && total[CHARES] == chares;

	CkPrintf("nqueens: %ld solutions for %ld queens by %ld chares, of which at most %ld waited, on %d "
		 "PEs in %.1f ms: %s\n",
		 total[SOLUTIONS], queens, total[CHARES], total[WAITING], CkNumPes(), took * 1e3,
		 right ? "checked" : "WRONG");
	if (!right)
		CkError("nqueens: there are %ld, found by %ld chares\n", known[queens], chares);
	CkExit(right ? 0 : 1);
}

#include "nqueens.def.h"
