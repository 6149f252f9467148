/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device: channels with ends in a device's memory, of which no processor needs to see anything:
 * each cell of a ring puts from host memory into its right neighbour's device memory, what it gets
 * there into the next one's device memory, and that into the next one's host memory, where it is
 * compared. A barrier between the rounds says that all ends are ready.
 *
 *	device put|stream|all|done|rebind|ahead|quiet|fence|part|MISTAKE [ROUNDS [BYTES [MEMORY]]]
 *
 * stream: the puts from device memory go into a stream of the cell. all: two of them in one
 * launch. quiet, fence: what ends a round. done: each reports its local completion. rebind: from
 * two buffers in turn. ahead: two cells, of which each tells its stream once what to do in all
 * rounds. part: one of two channels into a cell's memory ends before the first put.
 *
 * MEMORY: whole is memory of cuMemCreate, of which a cell has one allocation that can be exported;
 * closed one that cannot; pieces several, and each buffer lies in two of them.
 */
#include "check.h"

#include "ckdevice.h"
#include "device.decl.h"
#include "device_driver.h"

enum {
	PUT, STREAM, ALL, DONE, REBIND, AHEAD, QUIET, FENCE, PART,
	EARLY, MANY, UNWAITED, SET, HOST, WRONG, BEYOND,
	HOWS
};
static const char *const hows[] = { "put", "stream", "all", "done", "rebind", "ahead", "quiet",
				    "fence", "part", "early",
				    "many", "unwaited", "set", "host", "wrong", "beyond" };

enum { UP, ACROSS, DOWN, MORE, CHANNELS };
enum { ARENA, WHOLE, CLOSED, PIECES, MEMORIES };
static const char *const memories[] = { "arena", "whole", "closed", "pieces" };
enum { BUFFERS = 4 };

struct Main {
	int round;
};

struct Cell {
	CkDirectHandle in[CHANNELS], out[CHANNELS];
	unsigned char *host_out, *host_in;
	void *up, *across, *more;     /* device memory: what comes into it */
	void *turn;                   /* another send buffer there */
	cu_ptr block;                 /* of cuMemCreate; 0: none yet */
	int n_cut;
	void *stream;
	int n_came, n_done, complete, arrivals;
};

static int n_across(void) { return how == ALL ? 2 : 1; }

/* What cell e sends in a round. */
static unsigned char byte_of(int e, int round, int i)
{
	return (unsigned char)check_mix((uint64_t)(e * 4096 + round) << 32 | (unsigned)i);
}

/* ---- the driver ------------------------------------------------------------------------------ */

/* The words that it stores are the runtime's: it must be idle when the job ends. */
static void finish(void *stream)
{
	int (*query)(void *);

	driver_call("cuStreamQuery", &query);
	while (query(stream))
		;
}

/* The next buffer of the cell's block, which begins where no mapping does. */
static void *cut(Cell *self)
{
	const size_t slot = driver_whole((size_t)bytes + 256);

	if (!self->block)
		self->block = memory == PIECES ? driver_create(BUFFERS + 1, slot, true) :
			      driver_create(1, BUFFERS * slot, memory == WHOLE);
	self->n_cut++;
	return memory == PIECES ? (void *)(self->block + (size_t)self->n_cut * slot - (size_t)bytes / 2) :
	       (void *)(self->block + (size_t)(self->n_cut - 1) * slot + 256);
}

static void *device_memory(Cell *self)
{
	void *p = memory == ARENA ? CkDirect_allocDevice((size_t)bytes) : cut(self);

	if (!p)
		CkAbort("no device memory");
	return p;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void came(Cell *self)
{
	if (++self->n_came < 2 + n_across())
		return;
	self->n_came = 0;
	self->complete++;
	for (int i = 0; i < 2 + n_across(); i++)
		CkDirect_ready(&self->in[i]);
	if (how != QUIET && how != FENCE)
		CkContribute(self, NULL, 0, CkReduction_nop, Main_cb_rounded(mainProxy));
}

static void put_across(Cell *self)
{
	CkDirectHandle *const all[] = { &self->out[ACROSS], &self->out[MORE] };

	if (how == ALL)
		CkDirect_putAllStream(all, 2, self->stream);
	else if (how == STREAM)
		CkDirect_putStream(&self->out[ACROSS], self->stream);
	else if (how == DONE)
		CkDirect_putCb(&self->out[ACROSS], Cell_cb_putDone(Cell_thisElement(self)));
	else
		CkDirect_put(&self->out[ACROSS]);
}

/* ---- without the processor ------------------------------------------------------------------- */

/* Cell 1 begins, with what cell 0 has given it; the last that comes back goes into cell 0's host
 * memory. */
static void tell_stream(Cell *self, bool begins)
{
	for (int i = 0; i < rounds; i++) {
		if (begins)
			CkDirect_putStream(&self->out[ACROSS], self->stream);
		CkDirect_waitStream(&self->in[ACROSS], self->stream);
		if (!begins)
			CkDirect_putStream(&self->out[ACROSS], self->stream);
		CkDirect_readyStream(&self->in[ACROSS], self->stream);
	}
}

static void over(Cell *self)
{
	if (self->arrivals < rounds || (!self->n_came && Cell_thisIndex(self) == 0))
		return;
	finish(self->stream);
	CkContribute(self, NULL, 0, CkReduction_nop, Main_cb_rounded(mainProxy));
}

static void came_ahead(Cell *self)
{
	self->arrivals++;
	if (self->arrivals == rounds && Cell_thisIndex(self) == 1)
		CkDirect_put(&self->out[DOWN]);
	over(self);
}

/* ---- mistakes --------------------------------------------------------------------------- */

static void came_nothing(void *data) { (void)data; }

/* early: a second put, and the receiver never says ready. many: as many as fit, and one more. */
static void make_mistake(Cell *self)
{
	CkDirectHandle *const more = &self->in[MORE];

	if (how == EARLY && Cell_thisIndex(self) == 0)
		for (int i = 0; i < 2; i++)
			CkDirect_put(&self->out[ACROSS]);
	else if (how == MANY)
		for (int i = 0; i < 66; i++)
			CkDirect_put(&self->out[ACROSS]);
	else if (how == UNWAITED)
		CkDirect_readyStream(more, self->stream);
	else if (how == SET)
		CkDirect_createSet(&more, 1, came_nothing, self);
	else if (how == HOST)
		CkDirect_putStream(&self->out[UP], self->stream);
	else if (how == WRONG)
		CkDirect_createHandleDevice(self->host_in, (size_t)bytes, came_nothing, self);
	else if (how == BEYOND)
		CkDirect_createHandleDevice(self->up, (size_t)1 << 30, came_nothing, self);
}

/* ---- what comes ------------------------------------------------------------------------------ */

static void up_came(void *data)
{
	Cell *self = data;

	if (how >= EARLY) {
		make_mistake(self);
		return;
	}
	if (how == AHEAD) {
		tell_stream(self, true);
		return;
	}
	put_across(self);
	came(self);
}

static void across_came(void *data)
{
	Cell *self = data;

	if (how >= EARLY)
		return;
	if (how == AHEAD) {
		came_ahead(self);
		return;
	}
	CkDirect_put(&self->out[DOWN]);
	came(self);
}

static void more_came(void *data) { came(data); }

static void check_round(const Cell *self)
{
	const int from = how == AHEAD ? 0 : (Cell_thisIndex(self) + 3 * n_cells - 3) % n_cells;

	for (int i = 0; i < bytes; i++)
		if (self->host_in[i] != byte_of(from, self->complete, i))
			CkAbort("cell %d, round %d: byte %d is wrong", Cell_thisIndex(self), self->complete, i);
}

static void down_came(void *data)
{
	Cell *self = data;

	check_round(self);
	if (how == AHEAD) {
		self->n_came = 1;
		over(self);
		return;
	}
	came(self);
}

void Cell_on_putDone(Cell *self) { self->n_done++; }

void Cell_on_round(Cell *self, int number)
{
	if (how == AHEAD && Cell_thisIndex(self) == 0)
		tell_stream(self, false);
	if (how == AHEAD && Cell_thisIndex(self) == 1)
		return;
	for (int i = 0; i < bytes; i++)
		self->host_out[i] = byte_of(Cell_thisIndex(self), number, i);
	CkDirect_put(&self->out[UP]);
	if (how == FENCE)
		CkFence(self, Main_cb_settled(mainProxy));
}

/* Nothing is under way: all puts of the round have arrived, and all their functions have run. */
void Cell_on_look(Cell *self)
{
	CHECK_EQ(self->n_came, 0);
	CkContribute(self, &self->complete, 1, CkReduction_min_int, Main_cb_looked(mainProxy));
}

/* ---- joining --------------------------------------------------------------------------------- */

void Cell_on_new(Cell *self)
{
	self->host_out = check_there(CkDirect_alloc((size_t)bytes), (size_t)bytes);
	self->host_in = check_there(CkDirect_alloc((size_t)bytes), (size_t)bytes);
	self->up = device_memory(self);
	self->turn = device_memory(self);
	self->across = device_memory(self);
	self->more = device_memory(self);
	self->stream = driver_stream(0);
	self->in[UP] = CkDirect_createHandleDevice(self->up, (size_t)bytes, up_came, self);
	self->in[ACROSS] = CkDirect_createHandleDevice(self->across, (size_t)bytes, across_came, self);
	self->in[DOWN] = CkDirect_createHandleSeq(self->host_in, (size_t)bytes, down_came, self);
	self->in[MORE] = CkDirect_createHandleDevice(self->more, (size_t)bytes, more_came, self);
}

void Cell_on_join(Cell *self)
{
	Cell_handles(Cell_at(cells, (Cell_thisIndex(self) + n_cells - 1) % n_cells), self->in[UP],
		     self->in[ACROSS], self->in[DOWN], self->in[MORE]);
}

/* What comes from the device of this cell was put into it: across from up, down from across. */
void Cell_on_handles(Cell *self, CkDirectHandle up, CkDirectHandle across, CkDirectHandle down,
		     CkDirectHandle more)
{
	const char *path;
	int paths[4];

	self->out[UP] = up;
	self->out[ACROSS] = across;
	self->out[DOWN] = down;
	self->out[MORE] = more;
	CkDirect_assocLocalBuffer(&self->out[UP], self->host_out, (size_t)bytes);
	CkDirect_assocLocalDevice(&self->out[ACROSS],
				  how == REBIND ? self->turn :
				  how == AHEAD && Cell_thisIndex(self) == 0 ? self->across : self->up,
				  (size_t)bytes);
	if (how == REBIND)
		CkDirect_rebind(&self->out[ACROSS], self->up, (size_t)bytes);
	CkDirect_assocLocalDevice(&self->out[DOWN], self->across, (size_t)bytes);
	CkDirect_assocLocalDevice(&self->out[MORE], self->up, (size_t)bytes);
	if (how == PART)
		CkDirect_destroyHandle(&self->out[MORE]);
	CHECK(!strcmp(CkDirect_path(&self->out[UP]), "device-staged"));
	CHECK(!strcmp(CkDirect_path(&self->out[DOWN]), "device-staged"));
	path = CkDirect_path(&self->out[ACROSS]);
	paths[0] = !strcmp(path, "device");
	paths[1] = !strcmp(path, "device-ipc");
	paths[2] = !strcmp(path, "device-vmm");
	paths[3] = !strcmp(path, "device-staged");
	CkContribute(self, paths, 4, CkReduction_sum_int, Main_cb_joined(mainProxy));
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	for (how = 0; how < HOWS - 1 && m->argc > 1 && strcmp(m->argv[1], hows[how]); how++)
		;
	rounds = m->argc > 2 ? atoi(m->argv[2]) : 5;
	bytes = m->argc > 3 ? atoi(m->argv[3]) : 1000;
	while (m->argc > 4 && memory < MEMORIES - 1 && strcmp(m->argv[4], memories[memory]))
		memory++;
	n_cells = 2 * CkNumPes();
	if (how == AHEAD)
		n_cells = 2;
	cells = Cell_ckNew(CkDims(n_cells));
	Cell_join_all(cells);
}

static void begin_round(const Main *self)
{
	Cell_round_all(cells, self->round);
	if (how == QUIET)
		CkStartQD(Main_cb_settled(mainProxy));
}

void Main_on_joined(Main *self, int straight, int ipc, int vmm, int staged)
{
	CkPrintf("device: %d device, %d device-ipc, %d device-vmm, %d device-staged\n", straight, ipc, vmm,
		 staged);
	begin_round(self);
}

void Main_on_settled(Main *self)
{
	(void)self;
	Cell_look_all(cells);
}

void Main_on_looked(Main *self, int complete)
{
	CHECK_EQ(complete, self->round + 1);
	Main_on_rounded(self);
}

void Main_on_rounded(Main *self)
{
	if (++self->round < rounds && how != AHEAD) {
		begin_round(self);
		return;
	}
	CkPrintf("device: checked\n");
	CkExit();
}

#include "device.def.h"
