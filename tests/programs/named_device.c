/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named_device: a ring of cells with named channels of which ends are in a device's memory, whose
 * cells move at random, and which a checkpoint may interrupt. In each step a cell puts from host
 * memory into its right neighbour's device memory, what comes there into the next one's device
 * memory, and that into the next one's host memory, where it is compared. A cell goes on when its
 * right neighbour has had all of the step, and is ready for the next one.
 *
 *	named_device [seed [steps [percent of moves [bytes [cells [created]]]]]]
 *	named_device DIR ROW         for norefuse.sh: a checkpoint, all else as without arguments
 *	named_device put|wait|ready  a mistake: a call with a stream
 *
 * created: the device memory is of cuMemCreate. The cell takes it along itself.
 */
#include "check.h"

#include <stdio.h>

#include "ckchannel.h"
#include "ckdevice.h"
#include "device_driver.h"
#include "named_device.decl.h"

enum { UP, ACROSS, DOWN, CHANNELS };
enum { PHASES = 2 };

struct Main {
	int phases;
	char dir[256];
};

struct Cell {
	uint64_t random;
	int step, arrived, begun;
	int ready_for;                /* steps: the right neighbour may be put into */
	bool got, told, waits[CHANNELS]; /* waits: what has come could not be sent on yet */
	unsigned char *out, *in;      /* host memory */
	void *up, *across;            /* device memory */
	CkChannel *from[CHANNELS], *to[CHANNELS];
};

void Main_pup(pup_er p, Main *self) { pup_bytes(p, self, sizeof *self); }

static size_t size(void) { return (size_t)bytes; }

/* ---- ends ------------------------------------------------------------------------------------ */

static void *device_memory(void)
{
	if (created)
		return (void *)driver_create(1, driver_whole(size()), true);
	return check_there(CkDirect_allocDevice(size()), size());
}

static void free_memory(void *p)
{
	if (created)
		driver_unmap((uintptr_t)p, driver_whole(size()));
	else
		CkDirect_freeDevice(p);
}

static void make_ends(Cell *self)
{
	const int me = Cell_thisIndex(self);
	const CProxyElement_Cell left = Cell_at(cells, (me + n_cells - 1) % n_cells);
	const CProxyElement_Cell right = Cell_at(cells, (me + 1) % n_cells);

	self->from[UP] = Cell_came_from_device(self, left, UP, self->up, size());
	self->from[ACROSS] = Cell_came_from_device(self, left, ACROSS, self->across, size());
	self->from[DOWN] = Cell_came_from(self, left, DOWN, self->in, size());
	self->to[UP] = Cell_came_to(self, right, UP, self->out, size());
	self->to[ACROSS] = Cell_came_to_device(self, right, ACROSS, self->up, size());
	self->to[DOWN] = Cell_came_to_device(self, right, DOWN, self->across, size());
}

static void make_mistake(const Cell *self)
{
	if (mistake == 'p')
		CkDirect_putStream((CkDirectHandle *)self->to[ACROSS], NULL);
	else if (mistake == 'w')
		CkDirect_waitStream((CkDirectHandle *)self->from[UP], NULL);
	else if (mistake == 'r')
		CkDirect_readyStream((CkDirectHandle *)self->from[UP], NULL);
}

void Cell_on_new(Cell *self)
{
	self->random = check_mix(seed ^ (uint64_t)Cell_thisIndex(self) << 32);
	self->out = malloc(size());
	self->in = check_there(CkDirect_alloc(size()), size());
	self->up = device_memory();
	self->across = device_memory();
	self->ready_for = 1;
	make_ends(self);
	make_mistake(self);
}

/* Through host memory, of which nobody keeps the address. */
static void pup_contents(pup_er p, void *at)
{
	unsigned char *host = pup_isSizing(p) ? NULL : malloc(size());

	if (pup_isPacking(p))
		driver_copy(host, (uintptr_t)at, size(), false);
	pup_bytes(p, host, size());
	if (pup_isUnpacking(p))
		driver_copy(host, (uintptr_t)at, size(), true);
	free(host);
}

static void *pup_created(pup_er p, void *at)
{
	bool there = at != NULL;

	pup_bool(p, &there);
	if (!there)
		return NULL;
	if (pup_isUnpacking(p))
		at = device_memory();
	if (pup_isDeleting(p))
		free_memory(at);
	else
		pup_contents(p, at);
	return at;
}

void Cell_pup(pup_er p, Cell *self)
{
	pup_bytes(p, self, offsetof(Cell, out));
	self->out = pup_alloc(p, self->out, size());
	pup_bytes(p, self->out, size());
	self->in = pup_alloc_direct(p, self->in, size());
	pup_bytes(p, self->in, size());
	if (created) {
		self->up = pup_created(p, self->up);
		self->across = pup_created(p, self->across);
	} else {
		self->up = pup_device(p, self->up, size());
		self->across = pup_device(p, self->across, size());
	}
	pup_channel(p, &self->from[UP], self->up);
	pup_channel(p, &self->from[ACROSS], self->across);
	pup_channel(p, &self->from[DOWN], self->in);
	pup_channel(p, &self->to[UP], self->out);
	pup_channel(p, &self->to[ACROSS], self->up);
	pup_channel(p, &self->to[DOWN], self->across);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static unsigned char byte_of(int cell, int step, int i)
{
	return (unsigned char)check_mix((uint64_t)(cell * 4096 + step) << 32 | (unsigned)i);
}

static void begin_step(Cell *self)
{
	for (int i = 0; i < bytes; i++)
		self->out[i] = byte_of(Cell_thisIndex(self), self->step, i);
	CkChannelPut(self->to[UP]);
	/* A put that came before is in the buffer, and may have moved with it. */
	if (self->step)
		CkChannelReadyPollQ(self->from[ACROSS]);
}

static void compare(const Cell *self)
{
	const int from = (Cell_thisIndex(self) + 3 * n_cells - 3) % n_cells;

	for (int i = 0; i < bytes; i++)
		if (self->in[i] != byte_of(from, self->step, i))
			CkAbort("cell %d, step %d: byte %d is wrong", Cell_thisIndex(self), self->step, i);
}

static void wander(Cell *self)
{
	self->random = check_mix(self->random);
	if ((int)(self->random % 100) < percent)
		CkMigrateMe(self, (int)((self->random >> 8) % (uint64_t)CkNumPes()));
}

static CProxyElement_Cell left_of(Cell *self)
{
	return Cell_at(cells, (Cell_thisIndex(self) + n_cells - 1) % n_cells);
}

/* All three have come, and the right neighbour has had what this cell sent on. */
static void end_step(Cell *self)
{
	compare(self);
	self->arrived = 0;
	self->got = self->told = false;
	CkChannelReady(self->from[UP]);
	CkChannelReadyMark(self->from[ACROSS]);
	CkChannelReady(self->from[DOWN]);
	self->step++;
	Cell_may(left_of(self));
	wander(self);
}

static void advance(Cell *self)
{
	if (self->arrived < CHANNELS)
		return;
	if (!self->told)
		Cell_got(left_of(self));
	self->told = true;
	if (self->got)
		end_step(self);
}

static void go_on(Cell *self)
{
	if (self->ready_for <= self->step || self->begun == self->step)
		return;
	self->begun = self->step; /* a step begins once */
	if (self->step % steps == 0)
		CkContribute(self, NULL, 0, CkReduction_nop, Main_cb_done(mainProxy));
	else
		begin_step(self);
}

void Cell_on_begin(Cell *self) { begin_step(self); }

static void send_on(Cell *self)
{
	for (int tag = 0; tag < DOWN && self->ready_for > self->step; tag++)
		if (self->waits[tag]) {
			self->waits[tag] = false;
			CkChannelPut(self->to[tag + 1]);
		}
}

void Cell_on_came(Cell *self, int tag)
{
	self->arrived++;
	self->waits[tag] = tag < DOWN;
	send_on(self);
	advance(self);
	go_on(self);
}

void Cell_on_got(Cell *self)
{
	self->got = true;
	advance(self);
	go_on(self);
}

void Cell_on_may(Cell *self)
{
	self->ready_for++;
	send_on(self);
	go_on(self);
}

/* ---- the end --------------------------------------------------------------------------------- */

void Cell_on_drop(Cell *self)
{
	CkMigrateMe(self, CkMyPe());
	for (int i = 0; i < CHANNELS; i++) {
		CkChannelDestroy(self->from[i]);
		CkChannelDestroy(self->to[i]);
	}
	free_memory(self->up);
	free_memory(self->across);
	CkDirect_free(self->in);
	free(self->out);
	memset(self->from, 0, sizeof self->from);
	memset(self->to, 0, sizeof self->to);
	self->up = self->across = NULL;
	self->in = self->out = NULL;
	CkContribute(self, NULL, 0, CkReduction_nop, Main_cb_dropped(mainProxy));
}

/* ---- main ------------------------------------------------------------------------------------ */

void Main_on_new(Main *self, CkArgMsg *m)
{
	const bool saves = m->argc > 1 && *m->argv[1] == '/';

	mainProxy = Main_thisProxy(self);
	self->phases = 0;
	snprintf(self->dir, sizeof self->dir, "%s", saves ? m->argv[1] : "");
	mistake = m->argc > 1 && strchr("pwr", *m->argv[1]) ? *m->argv[1] : 0;
	seed = saves ? 1 : check_run_seed(m);
	steps = saves ? 5 : check_argument(m, 2, 20);
	percent = saves ? 30 : check_argument(m, 3, 30);
	bytes = saves ? 3000 : check_argument(m, 4, 1000);
	n_cells = saves ? 5 : check_argument(m, 5, 5);
	created = saves ? getenv("CREATED") != NULL : m->argc > 6;
	CkPrintf("named_device: seed %llu\n", (unsigned long long)seed);
	cells = Cell_ckNew(CkDims1(n_cells));
	Cell_begin_all(cells);
}

void Main_on_done(Main *self)
{
	if (++self->phases == PHASES)
		Cell_drop_all(cells);
	else if (*self->dir)
		CkStartCheckpoint(self->dir, Main_cb_saved(mainProxy));
	else
		Cell_begin_all(cells);
}

void Main_on_saved(Main *self, int status)
{
	(void)self;
	CHECK(status == CK_CHECKPOINT_SUCCESS || status == CK_CHECKPOINT_RESTARTED);
	Cell_begin_all(cells);
}

void Main_on_dropped(Main *self)
{
	(void)self;
	CkPrintf("named_device: checked\n");
	CkExit();
}

#include "named_device.def.h"
