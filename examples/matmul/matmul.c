/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matmul: C = A B for matrices of doubles, with messages and with CkDirect channels.
 *
 *	ckrun -n 2 ./matmul --n 1024 --p 2 --repeat 5
 *
 * The chares are a p x p x p array: cube.h tells who holds what, cube.c is the algorithm. The main chare here drives the
 * runs, msg and direct in turn:
 *
 *	[connect ->] prepare -> run (warm-up) -> prepare -> run (timed) -> check [-> disconnect]
 *
 * Channels exist during direct runs only, so that messages do not pay for polling them.
 *
 * What channels gain depends on the grain. An iteration is 3 (p - 1) p^3 transfers of 8 n^2 / p^3
 * bytes and p^3 products of (n / p)^3 multiplications: the smaller n / p, the more the transfers
 * count. --n 32 --p 4, where each of 32 chares of a PE waits for 9 slices of 128 bytes, is where
 * they are nearly everything. On few PEs most of them stay on their PE; with --map spread most
 * cross, as they do with one chare per PE. bench/transfer tells what one of either kind costs.
 *
 * It prints the median time per iteration of each mode, and ends with 0 only when all results
 * agree bit for bit: with each other, and with one dgemm unless --no-verify. The checksum (the
 * sum of the elements of A B) and the hash depend neither on the number of PEs nor on p.
 *
 * Sources: Bohm et al., "CkDirect: Unsynchronized One-Sided Communication in a Message-Driven
 * Paradigm", P2S2 2009, section 4.2; Agarwal et al., "A three-dimensional approach to parallel
 * matrix multiplication", IBM J. Res. Dev. 39(5), 1995.
 */
#include <stdlib.h>

#include "check.h"
#include "cube.h"

static const char *const mode_names[N_MODES] = {"msg", "direct"};

struct Main {
	CProxy_Cube cubes;
	int run;                    /* of all timed runs, the modes taking turns */
	bool warming;
	bool paths_printed;
	double started;
	double *iter_us[N_MODES];   /* of each repeat */
	bool wrong;                 /* some run disagreed */
	uint64_t hash;              /* of the first run's C */
	double checksum;
};

static int n_modes(void)
{
	return opt.modes[MODE_MSG] + opt.modes[MODE_DIRECT];
}

static int mode_of(int run)
{
	if (n_modes() == 1)
		return opt.modes[MODE_MSG] ? MODE_MSG : MODE_DIRECT;
	return run % N_MODES;
}

static void prepare(Main *self, bool warming)
{
	self->warming = warming;
	Cube_prepare_all(self->cubes, mode_of(self->run));
}

static void begin_run(Main *self)
{
	if (mode_of(self->run) == MODE_DIRECT)
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
	for (int i = 0; i < N_MODES; i++) {
		self->iter_us[i] = calloc((size_t)opt.repeat, sizeof(double));
		if (!self->iter_us[i])
			CkAbort("matmul: no memory for %d repeats", opt.repeat);
	}
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
	self->started = CkWallTimer();
	Cube_run_all(self->cubes, self->warming ? opt.warmup : opt.iters);
}

void Main_on_ran(Main *self)
{
	double seconds = CkWallTimer() - self->started;

	if (self->warming) {
		prepare(self, false);
		return;
	}
	self->iter_us[mode_of(self->run)][self->run / n_modes()] = seconds * 1e6 / opt.iters;
	Cube_check_all(self->cubes);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof *v, compare_doubles);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static void report(Main *self)
{
	double us[N_MODES];

	for (int i = 0; i < N_MODES; i++) {
		us[i] = median(self->iter_us[i], opt.repeat);
		if (opt.modes[i])
			CkPrintf("matmul %s iter_us %.3f\n", mode_names[i], us[i]);
	}
	if (n_modes() == N_MODES)
		CkPrintf("matmul gain_percent %.2f\n",
			 (us[MODE_MSG] - us[MODE_DIRECT]) / us[MODE_MSG] * 100);
	CkPrintf("matmul checksum %.17g\n", self->checksum);
	CkPrintf("matmul hash %016llx\n", (unsigned long long)self->hash);
	CkPrintf("matmul verified %s\n", self->wrong ? "no" : opt.verify ? "yes" : "skipped");
}

static void end_run(Main *self)
{
	if (++self->run < opt.repeat * n_modes()) {
		begin_run(self);
		return;
	}
	report(self);
	Cube_finish_all(self->cubes);
}

/* What one run's C adds up to. Sums of halves of the hash make the hash again. */
void Main_on_checked(Main *self, int n, const long *sums)
{
	uint64_t hash = (uint64_t)sums[SUM_HASH_LOW] + ((uint64_t)sums[SUM_HASH_HIGH] << 32);
	const char *mode = mode_names[mode_of(self->run)];

	(void)n;
	if (self->run == 0) {
		self->hash = hash;
		self->checksum = (double)sums[SUM_C] / C_UNITS / (double)factor_sum();
	}
	if (sums[SUM_WRONG] > 0)
		CkError("matmul: run %d (%s): %ld rows differ from the serial dgemm\n",
			self->run, mode, sums[SUM_WRONG]);
	if (hash != self->hash)
		CkError("matmul: run %d (%s): C differs from the first run's\n",
			self->run, mode);
	self->wrong |= sums[SUM_WRONG] > 0 || hash != self->hash;
	if (mode_of(self->run) == MODE_DIRECT)
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
	for (int i = 0; i < N_MODES; i++)
		free(self->iter_us[i]);
	CkExit(self->wrong ? 1 : 0);
}

#include "matmul.def.h"
