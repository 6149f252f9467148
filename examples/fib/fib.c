/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fib: Fibonacci numbers by F(k) = F(k - 1) + F(k - 2), the slow way: one chare for each term.
 *
 *	ckrun -n 2 ./fib --n 32 --grain 18 --mode both
 *
 * Shows   a tree of chares that nobody has laid out: each makes two others somewhere (CK_PE_ANY),
 *         and destroys itself when it has answered. Two ways to wait for answers: a chare that
 *         counts them, with a callback as a parameter; and a thread that waits for futures. Below
 *         a grain size a chare computes by itself, so that there is work in a message.
 * Checks  the number, and how many chares it took: both are known by adding up.
 *
 * After Charm++'s example "fib".
 */
#include "../args.h"
#include "fib.decl.h"

enum { CHARES, FUTURES, BOTH };
enum { VALUE, MADE, N_PARTS };          /* an answer: the number, and the chares that it took */

struct Main {
	long right[N_PARTS];
};

struct Fib {
	CkCallback parent;
	long part[N_PARTS];
	int answers;
};

struct Waiting { int unused; };

/* By the recursion, without chares. */
static long fib_serial(long k)
{
	return k < 2 ? k : fib_serial(k - 1) + fib_serial(k - 2);
}

/* By adding up from below: F(n), and how many chares compute it. */
static void fib_expected(long *right)
{
	long value = 0, next = 1, made = 1, made_next = 1;

	for (long k = 0; k < n; k++) {
		long sum = value + next, made_sum = made + made_next + 1;

		value = next;
		next = sum;
		made = made_next;
		made_next = k + 2 <= grain ? 1 : made_sum;
	}
	right[VALUE] = value;
	right[MADE] = made;
}

/* ---- chares that count answers ----------------------------------------------------------- */

static void reply(Fib *self)
{
	CkCallbackSendTyped(self->parent, CK_LONG, self->part, N_PARTS);
	CkDestroy(self);        /* when this handler has ended */
}

void Fib_on_new(Fib *self, int k, CkCallback parent)
{
	CkCallback me = Fib_cb_part(Fib_thisProxy(self));

	self->parent = parent;
	self->part[MADE] = 1;
	if (k <= grain) {
		self->part[VALUE] = fib_serial(k);
		reply(self);
		return;
	}
	Fib_ckNew(CK_PE_ANY, k - 1, me);
	Fib_ckNew(CK_PE_ANY, k - 2, me);
}

void Fib_on_part(Fib *self, int count, const long *part)
{
	for (int i = 0; i < count; i++)
		self->part[i] += part[i];
	if (++self->answers == 2)
		reply(self);
}

/* ---- threads that wait for futures ------------------------------------------------------- */

void Waiting_on_new(Waiting *self)
{
	(void)self;
}

/* The latest question is served first, and before it any answer, which has priority 0. So the tree is
 * walked in depth and few threads live at a time. In the usual order all of them would begin before
 * the first one could go on. */
static CkFuture ask(int k)
{
	const CkEntryOptions last_first = {.queueing = CK_QUEUEING_ILIFO, .prio = 1};
	CkFuture f = CkCreateFutureTyped(CK_LONG);

	Waiting_compute_opt(&last_first, Waiting_ckNew_opt(&last_first, CK_PE_ANY), k, f);
	return f;
}

static void await(CkFuture f, long *sum)
{
	CkReductionMsg *m = CkWaitReleaseFuture(f);
	const long *part = CkReductionMsg_data(m);

	for (int i = 0; i < N_PARTS; i++)
		sum[i] += part[i];
	CkFreeMsg(m);
}

void Waiting_on_compute(Waiting *self, int k, CkFuture answer)
{
	long part[N_PARTS] = {0, 1};

	if (k <= grain) {
		part[VALUE] = fib_serial(k);
	} else {
		CkFuture a = ask(k - 1), b = ask(k - 2);

		await(a, part);
		await(b, part);
	}
	CkSendToFutureTyped(answer, CK_LONG, part, N_PARTS);
	CkDestroy(self);
}

/* ---- the main chare ---------------------------------------------------------------------- */

void Main_on_new(Main *self, CkArgMsg *m)
{
	const struct arg args[] = {
		{"n", &n, 20, 0, 90, "which Fibonacci number"},
		{"grain", &grain, 8, 1, 90, "up to this one a chare computes alone"},
		{"mode", &mode, BOTH, 0, BOTH, "chares|futures|both"},
	};

	if (!args_read("fib", m, args, sizeof args / sizeof *args))
		return;
	mainProxy = Main_thisProxy(self);
	Main_drive(mainProxy);
}

static bool report(const Main *self, const char *how, const long *got, double began)
{
	bool right = got[VALUE] == self->right[VALUE] && got[MADE] == self->right[MADE];

	CkPrintf("fib: F(%ld) = %ld by %ld %s on %d PEs in %.1f ms: %s\n", n, got[VALUE], got[MADE],
		 how, CkNumPes(), (CkWallTimer() - began) * 1e3, right ? "checked" : "WRONG");
	if (!right)
		CkError("fib: it is %ld, and takes %ld %s\n", self->right[VALUE], self->right[MADE],
			how);
	return right;
}

static bool run_chares(const Main *self)
{
	double began = CkWallTimer();
	long got[N_PARTS] = {0};
	CkFuture f = CkCreateFutureTyped(CK_LONG);

	Fib_ckNew(CK_PE_ANY, (int)n, CkCallbackFuture(f));
	await(f, got);
	return report(self, "chares", got, began);
}

static bool run_futures(const Main *self)
{
	double began = CkWallTimer();
	long got[N_PARTS] = {0};

	await(ask((int)n), got);
	return report(self, "threads", got, began);
}

void Main_on_drive(Main *self)
{
	bool right = true;

	fib_expected(self->right);
	if (mode != FUTURES)
		right &= run_chares(self);
	if (mode != CHARES)
		right &= run_futures(self);
	CkExit(right ? 0 : 1);
}

#include "fib.def.h"
