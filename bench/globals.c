/* SPDX-License-Identifier: Apache-2.0 */
/*
 * globals: what reads, writes, gets, puts, stores and atomics of global pointers cost, in the form
 * of the Split-C paper (6.2), beside bare loads, stores and memcpy of the same memory.
 * globals_mpi.c is the same by MPI's windows; globals.py prints both beside each other.
 *
 *	ckrun -n 2 build/bench/globals             two processes of a host
 *	ckrun -n 2 --ppn 2 build/bench/globals     two PEs of one process
 *	CK_GLOBAL_PATH=message ckrun -n 2 ...      messages in shared memory
 *	CK_SHARE=0 UCX_TLS=tcp,self ckrun ...      over tcp; with CK_GLOBAL_PATH=rma by UCX's puts and
 *	                                           gets
 *
 * Options: --words or --bulk (only these), --only a,b,c (operations), --raw (memory of
 * CkGlobalAlloc, not of a spread), --apart (no floors), --sizes (of bulk), --reps, --smoke.
 * Prints `name bytes value ns`, medians of one operation. A name is globals-OPERATION-N-PATH with
 * -own (this PE's own memory), -both (both PEs do the same to each other; else PE 1 is idle),
 * -bulk. PATH is threads, memory, rma or message. N operations belong to a round:
 *	load, set        bare; through CkGlobalLocal
 *	copyin, copyout  memcpy from and to that memory
 *	read, write      CkRead, CkWrite
 *	get, put         N of them, then CkSync
 *	add, cas         1: CkAtomic; more: N CkAtomicGet, then CkSync
 *	phase            N CkStore, then CkAllStoreSync of both PEs
 *	stream           CkStore without an end; at last CkStoreSync of the PE that has the memory
 *
 * Nothing is computed between the operations, and bulk data stays in the caches that have it:
 * nobody writes it between two gets.
 */
#include <string.h>

#include "ckglobal.h"
#include "globals.h"
#include "globals.decl.h"

struct Main {
	struct globals_options options;
	struct plan *plan;
	int path;
};

struct Side {
	uint16_t table[GLOBALS_WORDS];
	CkSpread words, bulk;
	CkGlobal raw[2];          /* null: the spread is used */
	char *buffer;             /* GLOBALS_BULK bytes of its own */
	uint64_t got[GLOBALS_MOST];
};

static const char *const path_name[] = { "threads", "memory", "rma", "message" };
enum { THREADS, MEMORY, RMA, MESSAGE };

/* ---- the loops ------------------------------------------------------------------------------ */

/* Word i of a side. */
static inline CkGlobal word(const Side *self, int pe, uint64_t i)
{
	if (CkGlobalIsNull(self->raw[pe]))
		return CkSpreadAt(self->words, (uint64_t)pe * GLOBALS_EACH + i);
	return CkGlobalAdd(self->raw[pe], (int64_t)(i * GLOBALS_WORD));
}

static inline CkGlobal read_at(const Side *self, int pe, long k)
{
	return word(self, pe, GLOBALS_READ + globals_at(self->table, k));
}

static inline CkGlobal written_at(const Side *self, int pe, long k)
{
	return word(self, pe, GLOBALS_WRITTEN + globals_at(self->table, k));
}

static inline CkGlobal counter_at(const Side *self, int pe, long k)
{
	return word(self, pe, GLOBALS_COUNTERS + globals_at(self->table, k));
}

static uint64_t reads(const Side *self, int pe, long n)
{
	uint64_t sum = 0, v;

	for (long k = 0; k < n; k++) {
		CkRead(&v, read_at(self, pe, k));
		sum += v;
	}
	return sum;
}

static void writes(const Side *self, int pe, long n)
{
	for (long k = 0; k < n; k++)
		CkWrite(written_at(self, pe, k), (uint64_t)k);
}

static uint64_t gets(Side *self, int pe, int n, long rounds)
{
	uint64_t sum = 0;

	for (long r = 0; r < rounds; r++) {
		for (int i = 0; i < n; i++)
			CkGet(&self->got[i], read_at(self, pe, r * n + i), GLOBALS_WORD);
		CkSync();
		for (int i = 0; i < n; i++)
			sum += self->got[i];
	}
	return sum;
}

static void puts_(Side *self, int pe, int n, long rounds)
{
	for (long r = 0; r < rounds; r++) {
		for (int i = 0; i < n; i++)
			CkPut(written_at(self, pe, r * n + i), &self->got[i], GLOBALS_WORD);
		CkSync();
	}
}

static void atomics(Side *self, int what, int pe, int n, long rounds)
{
	for (long r = 0; r < rounds && n == 1; r++)
		self->got[0] += CkAtomic(what, counter_at(self, pe, r), GLOBALS_WORD, 1, 1);
	for (long r = 0; r < rounds && n > 1; r++) {
		for (int i = 0; i < n; i++)
			CkAtomicGet(&self->got[i], what, counter_at(self, pe, r * n + i), GLOBALS_WORD, 1, 1);
		CkSync();
	}
}

static void phases(Side *self, bool active, int pe, int n, long rounds)
{
	for (long r = 0; r < rounds; r++) {
		for (int i = 0; i < n && active; i++)
			CkStore(written_at(self, pe, r * n + i), &self->got[i], GLOBALS_WORD);
		CkAllStoreSync();
	}
}

static CkGlobal bulk(const Side *self, int pe) { return CkSpreadAt(self->bulk, (uint64_t)pe); }

static void stream(Side *self, const struct globals_case *c, size_t bytes, long n)
{
	const int me = CkMyPe(), pe = globals_target(c, me);

	for (long k = 0; k < n && globals_active(c, me); k++)
		CkStore(c->bulk ? bulk(self, pe) : written_at(self, pe, k), self->buffer, bytes);
	if (globals_active(c, pe == me ? me : 1 - me))
		CkStoreSync(bytes * (size_t)n);
}

static void bulks(Side *self, const struct globals_case *c, int pe, size_t bytes, long rounds)
{
	for (long r = 0; r < rounds; r++) {
		if (c->op == G_GET)
			CkGet(self->buffer, bulk(self, pe), bytes);
		else
			CkPut(bulk(self, pe), self->buffer, bytes);
		CkSync();
	}
}

static void check(const Side *self, uint64_t sum, long n)
{
	if (sum != globals_sum(self->table, n))
		CkAbort("globals: %ld words are not what they should be", n);
}

static void do_op(Side *self, const struct globals_case *c, size_t bytes, long rounds)
{
	const int pe = globals_target(c, CkMyPe());
	const long n = rounds * c->n;

	switch (c->op) {
	case G_LOAD:
		check(self, globals_loads(CkGlobalLocal(word(self, pe, 0)), self->table, n), n);
		break;
	case G_SET:
		globals_sets(CkGlobalLocal(word(self, pe, 0)), self->table, n);
		break;
	case G_COPYIN:
		globals_copies(self->buffer, CkGlobalLocal(bulk(self, pe)), bytes, n);
		break;
	case G_COPYOUT:
		globals_copies(CkGlobalLocal(bulk(self, pe)), self->buffer, bytes, n);
		break;
	case G_READ:
		check(self, reads(self, pe, n), n);
		break;
	case G_WRITE:
		writes(self, pe, n);
		break;
	case G_GET:
	case G_PUT:
		if (c->bulk)
			bulks(self, c, pe, bytes, rounds);
		else if (c->op == G_GET)
			check(self, gets(self, pe, c->n, rounds), n);
		else
			puts_(self, pe, c->n, rounds);
		break;
	default:
		atomics(self, c->op == G_ADD ? CK_ATOMIC_ADD : CK_ATOMIC_COMPARE_SWAP, pe, c->n, rounds);
	}
}

void Side_on_run(Side *self, int kind, size_t bytes, long rounds)
{
	const struct globals_case c = globals_case_of(kind);
	const int me = CkMyPe();
	double us = bench_now_us();

	if (c.op == G_STREAM)
		stream(self, &c, bytes, rounds * c.n);
	else if (c.op == G_PHASE)
		phases(self, globals_active(&c, me), globals_target(&c, me), c.n, rounds);
	else if (globals_active(&c, me))
		do_op(self, &c, bytes, rounds);
	us = bench_now_us() - us;
	CkContribute(self, &us, 1, CkReduction_max_double, Main_cb_done(mainProxy));
}

/* ---- memory --------------------------------------------------------------------------------- */

void Side_on_new(Side *self)
{
	globals_table(self->table);
	self->buffer = bench_alloc(GLOBALS_BULK);
}

void Side_on_make(Side *self, int raw)
{
	CkSpread words = CkSpreadAlloc(2 * GLOBALS_EACH, GLOBALS_WORD, 0),
		 spread_bulk = CkSpreadAlloc(2, GLOBALS_BULK, 0),
		 raws = CkSpreadAlloc(2, sizeof(CkGlobal), 0);

	(void)self;
	Side_use_all(sides, words, spread_bulk, raws, raw);
}

static int path_of(CkGlobal g)
{
	const char *name = CkGlobalPath(g);

	if (strcmp(name, "load and store") == 0)
		return CkNumNodes() == 1 ? THREADS : MEMORY;
	return strcmp(name, "remote access") == 0 ? RMA : MESSAGE;
}

/* The first operation on memory may go by message: it is not known yet how it is reached. */
static int path_found(const Side *self)
{
	const int other = 1 - CkMyPe();
	uint64_t v;

	for (int i = 0; i < 4; i++) {
		(void)CkGlobalPath(word(self, other, 0));
		(void)CkGlobalPath(bulk(self, other));
		CkRead(&v, word(self, other, 0));
		CkReadBytes(self->buffer, bulk(self, other), GLOBALS_WORD);
	}
	return path_of(word(self, other, 0));
}

void Side_on_use(Side *self, CkSpread words, CkSpread spread_bulk, CkSpread raws, int raw)
{
	CkGlobal mine = raw ? CkGlobalAlloc(GLOBALS_EACH * GLOBALS_WORD) : CkGlobalNull();
	uint64_t *local;

	self->words = words;
	self->bulk = spread_bulk;
	CkStoreValue(CkSpreadAt(raws, (uint64_t)CkMyPe()), mine);
	CkAllStoreSync();
	for (uint64_t i = 0; i < 2; i++)
		CkRead(&self->raw[i], CkSpreadAt(raws, i));
	local = CkGlobalLocal(word(self, CkMyPe(), 0));
	for (uint64_t i = 0; i < GLOBALS_WORDS; i++)
		local[GLOBALS_READ + i] = i;
	CkAllStoreSync();
	int path = path_found(self);

	CkContribute(self, &path, 1, CkReduction_max_int, Main_cb_begin(mainProxy));
}

/* ---- main ----------------------------------------------------------------------------------- */

static void start_run(Main *self)
{
	const struct series *s = plan_current(self->plan);

	Side_run_all(sides, s->kind, s->parameter, s->count);
}

void Main_on_begin(Main *self, int path)
{
	self->path = path;
	self->options.floors &= path <= MEMORY;
	globals_plan(self->plan, &self->options);
	start_run(self);
}

void Main_on_done(Main *self, double us)
{
	if (plan_record(self->plan, us)) {
		start_run(self);
		return;
	}
	globals_report(self->plan, path_name[self->path]);
	free(self->plan);
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	globals_options_init(&self->options);
	for (int i = 1; i < m->argc; i++) {
		if (!globals_option(&self->options, m->argc, m->argv, &i)) {
			CkError("globals: unknown option %s\n", m->argv[i]);
			CkExit(2);
			return;
		}
	}
	if (CkNumPes() != 2) {
		CkError("globals: has %d PEs: start it with -n 2\n", CkNumPes());
		CkExit(2);
		return;
	}
	self->plan = bench_alloc(sizeof *self->plan);
	mainProxy = Main_thisProxy(self);
	sides = Side_ckNew();
	Side_make(Side_at(sides, 0), self->options.raw);
}

#include "globals.def.h"
