/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stencil: 7-point Jacobi in three dimensions, with messages and with CkDirect channels.
 *
 *	ckrun -n 2 ./stencil --domain 128x128x128 --chares 4x4x2 --repeat 5
 *
 * The domain is cut into blocks, one per chare of a 3-D array (block.c). The main chare here
 * drives the runs, msg and direct in turn, each from the same initial field:
 *
 *	[connect ->] prepare -> run (warm-up) -> prepare -> run (timed) -> check [-> disconnect]
 *
 * Channels exist during direct runs only, so that messages do not pay for polling them.
 *
 * It prints the median time per iteration of each mode, and ends with 0 only when all fields
 * agree bit for bit: with each other, and with the serial solution unless --no-verify. The
 * checksum and the hash of the field depend neither on the number of PEs nor on the cut.
 *
 * Source: Bohm et al., "CkDirect: Unsynchronized One-Sided Communication in a Message-Driven
 * Paradigm", P2S2 2009, section 4.1.
 */
#include <stdlib.h>

#include "block.h"

static const char *const mode_names[N_MODES] = {"msg", "direct"};

struct Main {
	CProxy_Block blocks;
	int run;                    /* of all timed runs, the modes taking turns */
	bool warming;
	bool paths_printed;
	double started;
	double *iter_us[N_MODES];   /* of each repeat */
	bool wrong;                 /* some run disagreed */
	uint64_t hash;              /* of the first run's field */
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
	Block_prepare_all(self->blocks, mode_of(self->run));
}

static void begin_run(Main *self)
{
	if (mode_of(self->run) == MODE_DIRECT)
		Block_connect_all(self->blocks);
	else
		prepare(self, opt.warmup > 0);
}

static void print_header(void)
{
	struct box d = opt.domain, c = opt.chares;

	if (!opt.quiet)
		CkPrintf("stencil domain %dx%dx%d chares %dx%dx%d pes %d nodes %d iters %d sync %s "
			 "recv %s\n",
			 d.nx, d.ny, d.nz, c.nx, c.ny, c.nz, CkNumPes(), CkNumNodes(), opt.iters,
			 opt.barrier ? "barrier" : "none", opt.malloc_recv ? "malloc" : "shared");
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
			CkAbort("stencil: no memory for %d repeats", opt.repeat);
	}
	print_header();
	mainProxy = Main_thisProxy(self);
	serial = Serial_ckNew();
	self->blocks = Block_ckNew(CkDims(opt.chares.nx, opt.chares.ny, opt.chares.nz));
	begin_run(self);
}

void Main_on_connected(Main *self, int n, const long *paths)
{
	(void)n;
	if (!opt.quiet && !self->paths_printed)
		CkPrintf("stencil channels memory %ld rma %ld message %ld\n", paths[PATH_MEMORY],
			 paths[PATH_RMA], paths[PATH_MESSAGE]);
	self->paths_printed = true;
	prepare(self, opt.warmup > 0);
}

void Main_on_prepared(Main *self)
{
	self->started = CkWallTimer();
	Block_run_all(self->blocks, self->warming ? opt.warmup : opt.iters);
}

void Main_on_ran(Main *self)
{
	double seconds = CkWallTimer() - self->started;

	if (self->warming) {
		prepare(self, false);
		return;
	}
	self->iter_us[mode_of(self->run)][self->run / n_modes()] = seconds * 1e6 / opt.iters;
	Block_check_all(self->blocks);
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
			CkPrintf("stencil %s iter_us %.3f\n", mode_names[i], us[i]);
	}
	if (n_modes() == N_MODES)
		CkPrintf("stencil gain_percent %.2f\n",
			 (us[MODE_MSG] - us[MODE_DIRECT]) / us[MODE_MSG] * 100);
	CkPrintf("stencil checksum %.17g\n", self->checksum);
	CkPrintf("stencil hash %016llx\n", (unsigned long long)self->hash);
	CkPrintf("stencil verified %s\n", self->wrong ? "no" : opt.verify ? "yes" : "skipped");
}

static void end_run(Main *self)
{
	if (++self->run < opt.repeat * n_modes()) {
		begin_run(self);
		return;
	}
	report(self);
	Block_finish_all(self->blocks);
}

/* What one run's field adds up to. Sums of halves of the hash make the hash again. */
void Main_on_checked(Main *self, int n, const long *sums)
{
	uint64_t hash = (uint64_t)sums[SUM_HASH_LOW] + ((uint64_t)sums[SUM_HASH_HIGH] << 32);
	const char *mode = mode_names[mode_of(self->run)];

	(void)n;
	if (self->run == 0) {
		self->hash = hash;
		self->checksum = (double)sums[SUM_FIELD] / 0x1p32 +
				 (double)sums[SUM_FIELD_REST] / 0x1p62;
	}
	if (sums[SUM_WRONG] > 0)
		CkError("stencil: run %d (%s): %ld rows differ from the serial solution\n",
			self->run, mode, sums[SUM_WRONG]);
	if (hash != self->hash)
		CkError("stencil: run %d (%s): the field differs from the first run's\n",
			self->run, mode);
	self->wrong |= sums[SUM_WRONG] > 0 || hash != self->hash;
	if (mode_of(self->run) == MODE_DIRECT)
		Block_disconnect_all(self->blocks);
	else
		end_run(self);
}

void Main_on_disconnected(Main *self)
{
	end_run(self);
}

void Main_on_blocks_finished(Main *self)
{
	(void)self;
	Serial_finish_all(serial);
}

void Main_on_serial_finished(Main *self)
{
	for (int i = 0; i < N_MODES; i++)
		free(self->iter_us[i]);
	CkExit(self->wrong ? 1 : 0);
}

void Serial_on_new(Serial *self)
{
	self->field = NULL;
}

void Serial_on_finish(Serial *self)
{
	free(self->field);
	CkContributeBarrier(self, Main_cb_serial_finished(mainProxy));
}

#include "stencil.def.h"
