/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stencil: 7-point Jacobi in three dimensions, with messages, with CkDirect channels, and with
 * named channels; with --device on a GPU (device.c).
 *
 *	ckrun -n 2 ./stencil --domain 128x128x128 --chares 4x4x2 --repeat 5
 *	ckrun -n 2 --ppn 2 ./stencil --device --domain 256x256x256
 *	CK_CHECKPOINT=memory,1s ckrun --replace 1 -n 2 ./stencil --mode named --lb 10 --iters 20000
 *
 * The domain is cut into blocks, one per chare of a 3-D array (block.c). The main chare here
 * drives the runs, in turn by each mode, each from the same initial field:
 *
 *	[connect ->] prepare -> run (warm-up) -> prepare -> run (timed) -> check [-> disconnect]
 *
 * Channels exist during their runs only, so that messages do not pay for polling them. Named ones need nobody to connect
 * them: prepare makes their ends.
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
#include "device.h"

struct Main {
	CProxy_Block blocks;
	CProxy_Gpu gpus;            /* --device: in their place */
	struct turns turns;
	bool warming;
	bool paths_printed;
};

void Main_pup(pup_er p, Main *self)
{
	pup_proxy(p, &self->blocks);
	pup_proxy(p, &self->gpus);
	turns_pup(p, &self->turns, "stencil");
	pup_bool(p, &self->warming);
	pup_bool(p, &self->paths_printed);
}

static void prepare(Main *self, bool warming)
{
	self->warming = warming;
	if (opt.device)
		Gpu_prepare_all(self->gpus);
	else
		Block_prepare_all(self->blocks, turns_mode(&self->turns));
}

static void begin_run(Main *self)
{
	if (opt.device)
		Gpu_connect_all(self->gpus, turns_mode(&self->turns));
	else if (turns_mode(&self->turns) == MODE_DIRECT)
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
	turns_init(&self->turns, "stencil", opt.modes, opt.repeat);
	print_header();
	mainProxy = Main_thisProxy(self);
	serial = Serial_ckNew();
	if (opt.device)
		self->gpus = Gpu_ckNew(CkDims(opt.chares.nx, opt.chares.ny, opt.chares.nz));
	else
		self->blocks = Block_ckNew(CkDims(opt.chares.nx, opt.chares.ny, opt.chares.nz));
	begin_run(self);
}

void Main_on_connected(Main *self, int n, const long *paths)
{
	(void)n;
	if (!opt.quiet && !self->paths_printed && opt.device)
		CkPrintf("stencil channels device %ld device-ipc %ld device-staged %ld\n",
			 paths[PATH_DEVICE], paths[PATH_DEVICE_IPC], paths[PATH_DEVICE_STAGED]);
	else if (!opt.quiet && !self->paths_printed)
		CkPrintf("stencil channels memory %ld rma %ld message %ld\n", paths[PATH_MEMORY],
			 paths[PATH_RMA], paths[PATH_MESSAGE]);
	self->paths_printed = true;
	prepare(self, opt.warmup > 0);
}

void Main_on_prepared(Main *self)
{
	turns_start(&self->turns);
	if (opt.device)
		Gpu_run_all(self->gpus, self->warming ? opt.warmup : opt.iters);
	else
		Block_run_all(self->blocks, self->warming ? opt.warmup : opt.iters);
}

void Main_on_ran(Main *self)
{
	if (self->warming) {
		prepare(self, false);
		return;
	}
	turns_stop(&self->turns, opt.iters);
	if (opt.device)
		Gpu_check_all(self->gpus);
	else
		Block_check_all(self->blocks);
}

static void end_run(Main *self)
{
	if (turns_next(&self->turns)) {
		begin_run(self);
		return;
	}
	turns_report(&self->turns, opt.verify);
	if (opt.device)
		Gpu_finish_all(self->gpus);
	else
		Block_finish_all(self->blocks);
}

void Main_on_checked(Main *self, int n, const long *sums)
{
	uint64_t hash = turns_whole_hash(sums[SUM_HASH_LOW], sums[SUM_HASH_HIGH]);
	double checksum = (double)sums[SUM_FIELD] / 0x1p32 +
			  (double)sums[SUM_FIELD_REST] / 0x1p62;

	(void)n;
	turns_compare(&self->turns, sums[SUM_WRONG], hash, checksum);
	if (opt.device)
		Gpu_disconnect_all(self->gpus);
	else if (turns_mode(&self->turns) != MODE_MSG)
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
	CkExit(turns_fini(&self->turns));
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
