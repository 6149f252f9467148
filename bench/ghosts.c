/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ghosts: the fine-grained stencil, its sides sent as message objects, as arrays, by [channel] calls, and by channels.
 * Everything else is the same: two slots, no barrier, the kernel of examples/stencil.
 *
 *	ckrun -n 2 build/bench/ghosts [--edge n] [--cuts n] [--iters n] [--reps n] [--smoke]
 *		[--how object|array|call|channel|mixed|direct]
 *
 * A domain of edge x edge x edge cells is cut into (2 * cuts) x cuts x cuts blocks. By default 32 and 4: 64 blocks of
 * 4 x 8 x 8 per PE on 2 PEs. What has come is kept until the iteration has been computed: messages by CkKeepMsg,
 * buffers of channels until CkDirect_ready. A channel gathers a side straight from the block; the others pack it: an
 * object in its own memory, a [channel] call where it is handled (X_f_prepare), an array in memory of the program, from which
 * the stub copies it. `call` is a [channel] call with such an array.
 *
 * Prints `name parameter value unit`; medians of --reps runs in turn; the parameter is the blocks per PE:
 *	ghosts-object, -array, -call, -channel, -mixed, -direct  us  one iteration; mixed: channels between PEs, arrays within
 *	ghosts-gain-object, ...                           %   what channels gain over objects, ...
 * All must compute the same, bit for bit. With --how only one way runs, so that valgrind can count its instructions.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "ckdirect.h"
#include "ghosts.decl.h"

#define OUT_OF_BAND UINT64_C(0x7ff8c0dec0dec0de) /* a NaN */

static const char *const how_name[HOWS] = {"object", "array", "call", "channel", "mixed", "direct"};

struct Main {
	CProxy_Block blocks;
	int n_ways, first_way;     /* all, or the one of --how */
	int run;                   /* the ways take turns; the first turn only warms up */
	double t0, sum;
	double us[HOWS][BENCH_REPEATS_MAX];
};

struct slot {
	Block *block;
	int arrived;
	const double *ghost[N_SIDES];
	void *kept[N_SIDES];
};

struct Block {
	enum how how;
	int iter, iters, n_neighbours, n_bound;
	bool sent;
	bool near[N_SIDES];        /* the neighbour is on this PE */
	struct slot slot[SLOTS];
	struct box box;
	double *u, *next, *field[SLOTS], *packed, *recv, *wall[N_SIDES];
	CProxyElement_Block neighbour[N_SIDES];
	CkDirectHandle in[SLOTS][N_SIDES], out[SLOTS][N_SIDES];
};

/* ---- main ---------------------------------------------------------------------------------------- */

static int way(const Main *self)
{
	return self->first_way + self->run % self->n_ways;
}

static void next_run(Main *self)
{
	self->t0 = CkWallTimer();
	Block_run_all(self->blocks, way(self), opt.iters);
}

static int way_named(const char *name)
{
	int h = 0;

	while (h < HOWS && strcmp(how_name[h], name) != 0)
		h++;
	if (h == HOWS)
		CkAbort("ghosts: --how wants object, array, channel, mixed or direct, not '%s'", name);
	return h;
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	int edge = 32, cuts = 4;

	self->n_ways = HOWS;
	opt = (struct ghosts_options){ .iters = 300, .repeat = 9 };
	for (int i = 1; i < m->argc; i++) {
		const char *value = i + 1 < m->argc ? m->argv[i + 1] : "";

		if (!strcmp(m->argv[i], "--smoke")) {
			opt.iters = opt.repeat = 3;
			continue;
		}
		if (!strcmp(m->argv[i], "--edge"))
			edge = (int)bench_number("ghosts", "--edge", value, 4, 512);
		else if (!strcmp(m->argv[i], "--cuts"))
			cuts = (int)bench_number("ghosts", "--cuts", value, 1, 16);
		else if (!strcmp(m->argv[i], "--iters"))
			opt.iters = (int)bench_number("ghosts", "--iters", value, 1, 1000000);
		else if (!strcmp(m->argv[i], "--reps"))
			opt.repeat = (int)bench_number("ghosts", "--reps", value, 1, BENCH_REPEATS_MAX);
		else if (!strcmp(m->argv[i], "--how"))
			self->first_way = way_named(value), self->n_ways = 1;
		else
			CkAbort("ghosts: unknown option '%s'", m->argv[i]);
		i++;
	}
	opt.domain = (struct box){ edge, edge, edge };
	opt.chares = (struct box){ 2 * cuts, cuts, cuts };
	mainProxy = Main_thisProxy(self);
	self->blocks = Block_ckNew(CkDims(opt.chares.nx, opt.chares.ny, opt.chares.nz));
	Block_connect_all(self->blocks);
}

void Main_on_ready(Main *self)
{
	next_run(self);
}

static double gain(const double *us, enum how over)
{
	return (us[over] - us[DIRECT]) / us[over] * 100;
}

static void report(Main *self)
{
	const struct box c = opt.chares;
	const int per_pe = c.nx * c.ny * c.nz / CkNumPes();
	double us[HOWS];

	for (int h = self->first_way; h < self->first_way + self->n_ways; h++) {
		us[h] = bench_median(self->us[h], opt.repeat);
		CkPrintf("ghosts-%s %d %.3f us\n", how_name[h], per_pe, us[h]);
	}
	for (int h = OBJECT; h < DIRECT && self->n_ways == HOWS; h++)
		CkPrintf("ghosts-gain-%s %d %.1f %%\n", how_name[h], per_pe, gain(us, (enum how)h));
}

void Main_on_ran(Main *self, double sum)
{
	const double us = (CkWallTimer() - self->t0) * 1e6 / opt.iters;
	const int repeat = self->run / self->n_ways - 1;

	if (!self->run)
		self->sum = sum;
	else if (memcmp(&sum, &self->sum, sizeof sum) != 0)
		CkAbort("ghosts: %s computes %.17g, another way %.17g", how_name[way(self)], sum, self->sum);
	if (repeat >= 0)
		self->us[way(self)][repeat] = us;
	if (++self->run < (opt.repeat + 1) * self->n_ways) {
		next_run(self);
		return;
	}
	report(self);
	Block_finish_all(self->blocks);
}

void Main_on_finished(Main *self)
{
	(void)self;
	CkExit(0);
}

/* ---- a block ------------------------------------------------------------------------------------- */

static double *doubles(size_t n)
{
	double *p = calloc(n, sizeof *p);

	if (!p)
		CkAbort("ghosts: no memory for %zu doubles", n);
	return p;
}

static bool beyond(CkIndex3D i, int side, CkIndex3D *there_p)
{
	int *x = side / 2 == 0 ? &i.x : side / 2 == 1 ? &i.y : &i.z;

	*x += side % 2 ? 1 : -1;
	*there_p = i;
	return i.x >= 0 && i.x < opt.chares.nx && i.y >= 0 && i.y < opt.chares.ny && i.z >= 0 && i.z < opt.chares.nz;
}

/* Whole cache lines. */
static size_t recv_doubles(const Block *b, int side)
{
	return (side_cells(b->box, side) + 7) / 8 * 8;
}

void Block_on_new(Block *b)
{
	const CkIndex3D i = Block_thisIndex(b);
	CkIndex3D there;

	b->box = (struct box){ opt.domain.nx / opt.chares.nx, opt.domain.ny / opt.chares.ny,
			       opt.domain.nz / opt.chares.nz };
	b->packed = doubles((size_t)(opt.domain.nx * opt.domain.ny));
	for (int s = 0; s < SLOTS; s++) {
		b->field[s] = doubles(field_doubles(b->box));
		b->slot[s].block = b;
	}
	for (int side = 0; side < N_SIDES; side++) {
		if (beyond(i, side, &there)) {
			b->neighbour[side] = Block_at(Block_thisProxy(b), there.x, there.y, there.z);
			b->n_neighbours++;
			continue;
		}
		b->wall[side] = doubles(side_cells(b->box, side));
		for (size_t k = 0; k < side_cells(b->box, side); k++)
			b->wall[side][k] = wall_value(side);
	}
}

static void compute(Block *b);

static void count_arrival(struct slot *s)
{
	if (++s->arrived == s->block->n_neighbours)
		compute(s->block);
}

static void on_put(void *slot)
{
	count_arrival(slot);
}

void Block_on_connect(Block *b)
{
	size_t n = 0;
	double *p;

	for (int side = 0; side < N_SIDES; side++)
		n += SLOTS * recv_doubles(b, side);
	p = b->recv = CkDirect_alloc(n * sizeof *p);
	if (!p)
		CkAbort("ghosts: no shared memory");
	for (int s = 0; s < SLOTS; s++)
		for (int side = 0; side < N_SIDES; side++) {
			if (b->wall[side])
				continue;
			b->in[s][side] = CkDirect_createHandle(p, side_cells(b->box, side) * sizeof *p, OUT_OF_BAND,
							       on_put, &b->slot[s]);
			p += recv_doubles(b, side);
			Block_bind(b->neighbour[side], side ^ 1, s, b->in[s][side]);
		}
}

void Block_on_bind(Block *b, int side, int slot, CkDirectHandle h)
{
	const struct layer y = side_layer(b->box, side);

	b->out[slot][side] = h;
	CkDirect_assocLocalStrided(&b->out[slot][side], b->field[slot] + y.first, (CkDirectStrides){
		.block_bytes = y.run * sizeof(double), .blocks = y.runs,
		.stride_bytes = (ptrdiff_t)(y.stride * sizeof(double)),
	});
	if (++b->n_bound == SLOTS * b->n_neighbours)
		CkContributeBarrier(b, Main_cb_ready(mainProxy));
}

/* ---- one iteration --------------------------------------------------------------------------------- */

/* Mixed: channels between PEs only. */
static enum how how_of(const Block *b, int side)
{
	return b->how != MIXED ? b->how : b->near[side] ? ARRAY : DIRECT;
}

static void send_side(Block *b, int side, int slot)
{
	const int n = (int)side_cells(b->box, side);
	CkPrepared call;
	double *v;
	Side *m;

	switch (how_of(b, side)) {
	case OBJECT:
		m = Side_alloc((size_t)n);
		m->side = side ^ 1;
		m->slot = slot;
		pack_side(m->v, b->u, b->box, side);
		Block_object(b->neighbour[side], m);
		break;
	case ARRAY:
		pack_side(b->packed, b->u, b->box, side);
		Block_array(b->neighbour[side], side ^ 1, slot, n, b->packed);
		break;
	case CALL:
		pack_side(b->packed, b->u, b->box, side);
		Block_channel(b->neighbour[side], side ^ 1, slot, n, b->packed);
		break;
	case CHANNEL: /* into the call itself */
		call = Block_channel_prepare(b->neighbour[side], side ^ 1, slot, n, &v);
		pack_side(v, b->u, b->box, side);
		CkCommit(call);
		break;
	default:
		CkDirect_put(&b->out[slot][side]);
	}
}

static void keep(Block *b, int side, int slot, const double *v)
{
	b->slot[slot].kept[side] = CkKeepMsg();
	b->slot[slot].ghost[side] = v;
	count_arrival(&b->slot[slot]);
}

void Block_on_object(Block *b, Side *m)
{
	keep(b, m->side, m->slot, m->v);
}

void Block_on_array(Block *b, int side, int slot, int n, const double *v)
{
	(void)n;
	keep(b, side, slot, v);
}

void Block_on_channel(Block *b, int side, int slot, int n, const double *v)
{
	(void)n;
	keep(b, side, slot, v);
}

static void update(Block *b, int slot)
{
	double *old = b->u;

	jacobi(b->next, b->u, b->box, b->slot[slot].ghost);
	b->u = b->next;
	b->next = old;
	b->slot[slot].arrived = 0;
	for (int side = 0; side < N_SIDES; side++) {
		if (b->wall[side])
			continue;
		if (how_of(b, side) == DIRECT)
			CkDirect_ready(&b->in[slot][side]);
		else
			CkFreeMsg(b->slot[slot].kept[side]);
	}
}

static void ran(Block *b)
{
	double sum = 0;

	for (size_t i = 0; i < field_doubles(b->box); i++)
		sum += b->u[i] * (double)(i % 7);
	CkContribute(b, &sum, 1, CkReduction_sum_double, Main_cb_ran(mainProxy));
}

/* As far as what has arrived allows. */
static void compute(Block *b)
{
	while (b->iter < b->iters) {
		const int slot = b->iter % SLOTS;

		if (!b->sent)
			for (int side = 0; side < N_SIDES; side++)
				if (!b->wall[side])
					send_side(b, side, slot);
		b->sent = true;
		if (b->slot[slot].arrived < b->n_neighbours)
			return;
		update(b, slot);
		b->sent = false;
		if (++b->iter == b->iters)
			ran(b);
	}
}

/* Sides of this run may have come already. */
void Block_on_run(Block *b, int how, int iters)
{
	double *p = b->recv;

	b->how = (enum how)how;
	b->iter = 0;
	b->iters = iters;
	b->u = b->field[0];
	b->next = b->field[1];
	memset(b->u, 0, field_doubles(b->box) * sizeof *b->u);
	for (int s = 0; s < SLOTS; s++)
		for (int side = 0; side < N_SIDES; side++) {
			if (b->wall[side]) {
				b->slot[s].ghost[side] = b->wall[side];
				continue;
			}
			b->near[side] = Block_ckLocal(b->neighbour[side]) != NULL;
			if (how_of(b, side) == DIRECT)
				b->slot[s].ghost[side] = p;
			p += recv_doubles(b, side);
		}
	compute(b);
}

void Block_on_finish(Block *b)
{
	for (int s = 0; s < SLOTS; s++)
		for (int side = 0; side < N_SIDES; side++)
			if (!b->wall[side]) {
				CkDirect_destroyHandle(&b->in[s][side]);
				CkDirect_destroyHandle(&b->out[s][side]);
			}
	CkContributeBarrier(b, Main_cb_finished(mainProxy));
}

#include "ghosts.def.h"
