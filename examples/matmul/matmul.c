/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matmul: C = A B for matrices of doubles, with messages and with CkDirect channels.
 *
 *	ckrun -n 2 ./matmul --n 1024 --p 2 --repeat 5
 *
 * The chares are a p x p x p array: cube.h tells who holds what, cube.c is the algorithm. The main
 * chare here drives the runs, msg and direct in turn:
 *
 *	[connect ->] prepare -> run (warm-up) -> prepare -> run (timed) -> check [-> disconnect]
 *
 * Channels exist during direct runs only, so that messages do not pay for polling them.
 *
 * What channels gain depends on the grain. An iteration has 3 (p - 1) p^3 transfers of 8 n^2 / p^3
 * bytes, and p^3 products of (n / p)^3 multiplications: the smaller n / p is, the more the transfers
 * count. With --n 32 --p 4 they are nearly everything: each of 32 chares of a PE waits for 9 slices
 * of 128 bytes. On few PEs most transfers stay on their PE; with --map spread most of them cross, as
 * they do with one chare per PE. bench/transfer tells what a transfer of either kind costs.
 *
 * It prints the median time per iteration of each mode, and ends with 0 only when all results
 * agree bit for bit: with each other, and with one dgemm unless --no-verify. The checksum (the
 * sum of the elements of A B) and the hash depend neither on the number of PEs nor on p.
 *
 * Sources: Bohm et al., "CkDirect: Unsynchronized One-Sided Communication in a Message-Driven
 * Paradigm", P2S2 2009, section 4.2; Agarwal et al., "A three-dimensional approach to parallel
 * matrix multiplication", IBM J. Res. Dev. 39(5), 1995.
 */
#include "check.h"
#include "cube.h"

struct Main {
	CProxy_Cube cubes;
	struct turns turns;
	bool warming;
	bool paths_printed;
};

static void prepare(Main *self, bool warming)
{
	self->warming = warming;
	Cube_prepare_all(self->cubes, turns_mode(&self->turns));
}

static void begin_run(Main *self)
{
	if (turns_mode(&self->turns) == MODE_DIRECT)
		Cube_connect_all(self->cubes);
	else
		prepare(self, opt.warmup > 0);
}

static void print_header(void)
{
	if (opt.quiet)
		return;
	CkPrintf("matmul n %d p %d pes %d nodes %d iters %d sync %s map %s recv %s\n", opt.n,
		 opt.p, CkNumPes(), CkNumNodes(), opt.iters, opt.barrier ? "barrier" : "none",
		 opt.spread ? "spread" : "block", opt.malloc_recv ? "malloc" : "shared");
	CkPrintf("matmul transfers %ld of about %ld bytes per iteration\n",
		 3L * opt.p * opt.p * opt.p * (opt.p - 1),
		 (long)(opt.n / opt.p) * (opt.n / opt.p) / opt.p * (long)sizeof(double));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	int rc = options_parse(&opt, m->argc, m->argv);

	if (rc >= 0) {
		CkExit(rc);
		return;
	}
	turns_init(&self->turns, "matmul", opt.modes, opt.repeat);
	print_header();
	mainProxy = Main_thisProxy(self);
	self->cubes = Cube_ckNew(CkDims(opt.p, opt.p, opt.p));
	begin_run(self);
}

void Main_on_connected(Main *self, int n, const long *paths)
{
	(void)n;
	if (!opt.quiet && !self->paths_printed)
		CkPrintf("matmul channels memory %ld rma %ld message %ld\n", paths[PATH_MEMORY],
			 paths[PATH_RMA], paths[PATH_MESSAGE]);
	self->paths_printed = true;
	prepare(self, opt.warmup > 0);
}

void Main_on_prepared(Main *self)
{
	turns_start(&self->turns);
	Cube_run_all(self->cubes, self->warming ? opt.warmup : opt.iters);
}

void Main_on_ran(Main *self)
{
	if (self->warming) {
		prepare(self, false);
		return;
	}
	turns_stop(&self->turns, opt.iters);
	Cube_check_all(self->cubes);
}

static void end_run(Main *self)
{
	if (turns_next(&self->turns)) {
		begin_run(self);
		return;
	}
	turns_report(&self->turns, opt.verify);
	Cube_finish_all(self->cubes);
}

void Main_on_checked(Main *self, int n, const long *sums)
{
	uint64_t hash = turns_whole_hash(sums[SUM_HASH_LOW], sums[SUM_HASH_HIGH]);
	double checksum = (double)sums[SUM_C] / C_UNITS / (double)factor_sum();

	(void)n;
	turns_compare(&self->turns, sums[SUM_WRONG], hash, checksum);
	if (turns_mode(&self->turns) == MODE_DIRECT)
		Cube_disconnect_all(self->cubes);
	else
		end_run(self);
}

void Main_on_disconnected(Main *self)
{
	end_run(self);
}

void Main_on_finished(Main *self)
{
	CkExit(turns_fini(&self->turns));
}

#include "matmul.def.h"
