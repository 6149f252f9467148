/* SPDX-License-Identifier: Apache-2.0 */
/* guide2: runs the examples of docs/GUIDE.md for chares, sections, priorities and completion. */
#include "guide2.h"
#include "check.h"

#include "guide2.decl.h"

enum { N = 99, WORKERS = 7, FAN = 3 };

struct Main { int n_over; };
struct Task { int left, result; };
struct A { int n_f; };
struct Solver { int n; };
struct Worker { int next[FAN], n, n_visits; };

/* ---- chares that come and go ------------------------------------------------------------------ */

static void make_task(void)
{
	int work = 12;
	CProxy_Task t = Task_ckNew(CK_PE_ANY, work);   /* or on a PE */
	Task_more(t, 5);                               /* at once: it waits for the constructor */
	Task_more(t, 7);
}

void Task_on_new(Task *self, int work)
{
	self->left = work;
}

void Task_on_more(Task *self, int n)
{
	self->result += n * n;
	if ((self->left -= n) == 0) {
		Main_answer(mainProxy, self->result);
		CkDestroy(self);                       /* self is good until we return */
	}
}

static void over(void)
{
	CkCallbackSend(Main_cb_over(mainProxy), NULL, 0);
}

void Main_on_answer(Main *self, int result)
{
	(void)self;
	CHECK_EQ(result, 5 * 5 + 7 * 7);
	over();
}

/* ---- sections ------------------------------------------------------------------------------------ */

static void make_sections(CProxy_A p)
{
	CkIndex list[3] = {A_index(2), A_index(5), A_index(7)};
	CProxySection_A some = A_ckSection(p, list, 3);
	CProxySection_A even = {CkSectionRange1D(p.ck, 0, 98, 2)};  /* 0, 2, ... 98 */

	A_join_section(some, some, 100);                            /* each member once */
	A_join_section(even, even, 1);
}

void A_on_new(A *self) { (void)self; }

void A_on_join(A *self, CProxySection_A some, int x)
{
	CkContributeSection(self, some.ck, &x, 1, CkReduction_sum_int, A_cb_f_section(some));
}

/* The sum tells which section it was. */
void A_on_f(A *self, int k)
{
	int i = A_thisIndex(self);

	CHECK(k == 50 ? i % 2 == 0 : k == 300 && (i == 2 || i == 5 || i == 7));
	if (++self->n_f == (i % 2 == 0) + (i == 2 || i == 5 || i == 7))
		over();
}

/* ---- priorities, and a parameter with a pup function ------------------------------------------------ */

void vec_pup(pup_er p, vec *x)
{
	pup_int(p, &x->n);
	x->v = pup_alloc(p, x->v, (size_t)x->n * sizeof *x->v);
	pup_doubles(p, x->v, (size_t)x->n);
}

static void expand(int i, int depth, int64_t bound, const unsigned *path)
{
	double values[3] = {1, 2, depth};
	vec state = {3, values};
	CkEntryOptions o = {.prio = depth};                               /* 32 bits */
	CkEntryOptions l = {.queueing = CK_QUEUEING_LFIFO, .prio_long = bound};  /* 64 bits */
	CkEntryOptions b = {.queueing = CK_QUEUEING_BLIFO, .prio_bits = path, .n_prio_bits = 3 * depth};

	Solver_expand_opt(&b, Solver_at(solvers, i), 2, &state);
	Solver_expand_opt(&l, Solver_at(solvers, i), 1, &state);
	Solver_expand_opt(&o, Solver_at(solvers, i), 0, &state);
}

void Solver_on_new(Solver *self)
{
	const unsigned path[2] = {0xc0000000u, 0};      /* begins with 11: behind all the numbers */

	if (Solver_thisIndex(self) == 0)
		expand(0, 15, (int64_t)1 << 40, path);
}

void Solver_on_expand(Solver *self, int no, const vec *v)
{
	CHECK(v->n == 3 && v->v[2] == 15);
	CHECK_EQ(no, self->n);                  /* not in the order of the calls */
	if (++self->n == 3)
		over();
}

/* ---- completion ---------------------------------------------------------------------------------------- */

void Worker_on_new(Worker *self)
{
	self->n = FAN;
	for (int i = 0; i < FAN; i++)
		self->next[i] = (Worker_thisIndex(self) + i) % WORKERS;
}

static void search(int n_workers)
{
	CkCompletion c = CkCompletionCreate();          /* a value: send it along */
	CkCompletionStart(c, n_workers, CkCallbackIgnore(), CkCallbackIgnore(), Main_cb_found(mainProxy), 0);
	Worker_search_all(workers, c);
}

void Worker_on_search(Worker *self, CkCompletion c)
{
	for (int i = 0; i < self->n; i++) {
		CkCompletionProduce(c, 1);      /* before the call that it stands for */
		Worker_visit(Worker_at(workers, self->next[i]), c);
	}
	CkCompletionDone(c);
}

void Worker_on_visit(Worker *self, CkCompletion c) /* may produce more, first */
{
	CHECK(++self->n_visits <= FAN);
	CkCompletionConsume(c, 1);
}

void Main_on_found(Main *self)
{
	(void)self;
	over();
}

/* ---- main ---------------------------------------------------------------------------------------------------- */

void Main_on_over(Main *self)
{
	/* The task, 50 even members and the two odd ones of the other section, solver, search. */
	if (++self->n_over < 1 + 50 + 2 + 1 + 1)
		return;
	CkPrintf("guide2: on %d PEs\n", CkNumPes());
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	solvers = Solver_ckNew(CkDims(2));
	workers = Worker_ckNew(CkDims(WORKERS));
	make_task();
	make_sections(A_ckNew(CkDims(N)));
	search(WORKERS);
}

#include "guide2.def.h"
