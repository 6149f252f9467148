/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block.c: one block of the domain, a chare. In each iteration it sends its six sides to its
 * neighbours, waits for theirs, and computes. Messages and channels differ in three places only:
 * how a side is sent (send_side), what is called when one arrives (Block_on_ghost, on_put, Block_on_side), and how
 * its place is given back (release_side). Named channels follow blocks that move: all that a move takes is in Block_pup.
 *
 * Why --sync none needs no barrier. Let M be a block and N its neighbour, and let iteration
 * k use slot k % 2.
 *  (1) N sends its side for k + 2 only after it has computed k + 1, for which it needed M's
 *      side for k + 1.
 *  (2) M sends its side for k + 1 only after it has computed k and has then released slot
 *      k % 2 (update() ends with that), so N's side for k has been used.
 *  By (1) and (2), when N sends into slot (k + 2) % 2 = k % 2, M has released it. So a slot
 *  never holds two sides, and N is never more than one iteration ahead of M.
 *  (3) Visibility: CkDirect_ready stores the out-of-band value into M's buffer before M's
 *      put or message for k + 1, in program order; that put is a release (of whatever
 *      kind its path has), N's noticing it an acquire, and N's put for k + 2 comes after
 *      that in program order. So the out-of-band value happens before N's data, and cannot
 *      overwrite it.
 *  (4) The field that is sent from is written again only when every put of the iteration
 *      before is locally complete (b->unsent). A put through a named channel needs no look: it has gathered
 *      the side when it returns, and by (1) it has arrived before the next put through that channel.
 *
 * With --sync barrier, as in the paper, (1) and (2) are replaced by the reduction: no block begins
 * k + 1 before all have released k.
 *
 * A side is packed into a message, but a channel's put gathers it from the field straight into the
 * receiver's buffer. The receiver reads both where they are.
 */
#include "block.h"
#include "balance.h"
#include "channel.h"
#include "place.h"

#include <stdlib.h>
#include <string.h>

#include "../random.h"

/* Where part i of n parts of `extent` cells begins. */
static int cut(int extent, int n, int i)
{
	return (int)((int64_t)extent * i / n);
}

static double *alloc_doubles(size_t n)
{
	double *p = malloc(n * sizeof *p);

	if (!p)
		CkAbort("stencil: no memory for %zu doubles: use a smaller --domain", n);
	return p;
}

static double *make_wall(size_t cells, double value)
{
	double *w = alloc_doubles(cells);

	for (size_t i = 0; i < cells; i++)
		w[i] = value;
	return w;
}

bool block_beyond(CkIndex3D i, int side, CkIndex3D *there_p)
{
	int step = side % 2 ? 1 : -1;

	i.x += side / 2 == 0 ? step : 0;
	i.y += side / 2 == 1 ? step : 0;
	i.z += side / 2 == 2 ? step : 0;
	*there_p = i;
	return i.x >= 0 && i.x < opt.chares.nx && i.y >= 0 && i.y < opt.chares.ny && i.z >= 0 &&
	       i.z < opt.chares.nz;
}

void block_place(CkIndex3D i, struct box *box_p, int *x0_p, int *y0_p, int *z0_p)
{
	struct box d = opt.domain, c = opt.chares;

	*x0_p = cut(d.nx, c.nx, i.x);
	*y0_p = cut(d.ny, c.ny, i.y);
	*z0_p = cut(d.nz, c.nz, i.z);
	box_p->nx = cut(d.nx, c.nx, i.x + 1) - *x0_p;
	box_p->ny = cut(d.ny, c.ny, i.y + 1) - *y0_p;
	box_p->nz = cut(d.nz, c.nz, i.z + 1) - *z0_p;
}

/* Doubles from one receive buffer to the next: whole cache lines. */
static size_t recv_stride(const Block *b, int side)
{
	return (side_cells(b->box, side) + 7) / 8 * 8;
}

/* The receive buffers of all slots and sides are in one piece, of this size. */
static size_t recv_bytes(const Block *b)
{
	size_t n = 0;

	for (int side = 0; side < N_SIDES; side++)
		n += b->wall[side] ? 0 : N_SLOTS * recv_stride(b, side);
	return n * sizeof *b->recv;
}

double *recv_of(const Block *b, int slot, int side)
{
	double *p = b->recv;

	for (int s = 0; s <= slot; s++)
		for (int i = 0; i < (s < slot ? N_SIDES : side); i++)
			p += b->wall[i] ? 0 : recv_stride(b, i);
	return p;
}

double *send_of(const Block *b, int slot, int side)
{
	return b->field[slot] + side_layer(b->box, side).first;
}

CkDirectStrides side_shape(const Block *b, int side)
{
	struct layer y = side_layer(b->box, side);

	return (CkDirectStrides){
		.block_bytes = y.run * sizeof(double),
		.blocks = y.runs,
		.stride_bytes = (ptrdiff_t)(y.stride * sizeof(double)),
	};
}

static void init_recv(Block *b)
{
	b->recv = opt.malloc_recv ? alloc_doubles(recv_bytes(b) / sizeof *b->recv) : CkDirect_alloc(recv_bytes(b));
	if (!b->recv)
		CkAbort("stencil: no shared memory for receive buffers: use --recv malloc");
}

static void init_links(Block *b)
{
	b->link = aligned_alloc(64, N_SLOTS * sizeof *b->link);
	if (!b->link)
		CkAbort("stencil: no memory for channels");
	memset(b->link, 0, N_SLOTS * sizeof *b->link);
	for (int s = 0; s < N_SLOTS; s++)
		for (int side = 0; side < N_SIDES; side++)
			if (!b->wall[side])
				b->link[s][side].recv = recv_of(b, s, side);
}

void Block_on_new(Block *b)
{
	CkIndex3D i = Block_thisIndex(b), there;

	block_place(i, &b->box, &b->x0, &b->y0, &b->z0);
	for (int f = 0; f < N_SLOTS; f++)
		b->field[f] = alloc_doubles(field_doubles(b->box));
	for (int side = 0; side < N_SIDES; side++)
		if (block_beyond(i, side, &there)) {
			b->neighbour[side] =
				Block_at(Block_thisProxy(b), there.x, there.y, there.z);
			b->n_neighbours++;
		} else {
			b->wall[side] = make_wall(side_cells(b->box, side), wall_value(side));
		}
	for (int s = 0; s < N_SLOTS; s++) {
		b->slot[s].block = b;
		memcpy(b->slot[s].ghost, b->wall, sizeof b->wall);
	}
	if ((opt.modes[MODE_DIRECT] || opt.modes[MODE_NAMED]) && b->n_neighbours)
		init_recv(b);
	if (opt.modes[MODE_DIRECT] && b->n_neighbours)
		init_links(b);
}

/* ---- moving, with --move and --lb ------------------------------------------------------ */

/* What a side of a slot is read from: a wall, a channel's buffer, or the message that has come. */
static const double *ghost_of(const Block *b, int slot, int side)
{
	const Side *kept = b->slot[slot].kept[side];

	if (b->wall[side])
		return b->wall[side];
	if (b->mode == MODE_NAMED)
		return recv_of(b, slot, side);
	return kept ? kept->v : NULL;
}

static void set_ghosts(Block *b)
{
	for (int s = 0; s < N_SLOTS; s++) {
		b->slot[s].block = b;
		for (int side = 0; side < N_SIDES; side++)
			b->slot[s].ghost[side] = ghost_of(b, s, side);
	}
}

static void pup_slot(pup_er p, Block *b, int slot)
{
	struct slot *s = &b->slot[slot];

	pup_int(p, &s->arrived);
	for (int side = 0; side < N_SIDES; side++) {
		Side_pup(p, &s->kept[side]);
		named_pup(p, b, side, slot);
	}
}

/* Sides that have come and wait for the others are packed, too. */
static void pup_recv(pup_er p, Block *b)
{
	bool any = b->recv;

	pup_bool(p, &any);
	if (!any)
		return;
	b->recv = opt.malloc_recv ? pup_alloc(p, b->recv, recv_bytes(b)) : pup_alloc_direct(p, b->recv, recv_bytes(b));
	pup_bytes(p, b->recv, recv_bytes(b));
}

/* Size, pack, unpack and free the block. The address of everything it points to changes, so which
 * field is current is packed instead of `u`. A block with raw channels neither moves nor is saved,
 * so `link` is empty. */
void Block_pup(pup_er p, Block *b)
{
	bool second = b->u == b->field[1];

	pup_int(p, &b->mode);
	pup_int(p, &b->iter);
	pup_int(p, &b->iters);
	pup_bool(p, &b->go);
	pup_bool(p, &b->sent);
	pup_bool(p, &b->syncing);
	pup_bool(p, &b->has_ends);
	pup_int(p, &b->n_neighbours);
	pup_bytes(p, &b->box, sizeof b->box);
	pup_bool(p, &second);
	for (int f = 0; f < N_SLOTS; f++) {
		b->field[f] = pup_alloc(p, b->field[f], field_doubles(b->box) * sizeof *b->field[f]);
		pup_doubles(p, b->field[f], field_doubles(b->box));
	}
	for (int side = 0; side < N_SIDES; side++) {
		bool is_wall = b->wall[side];
		size_t n = side_cells(b->box, side);

		pup_bool(p, &is_wall);
		if (is_wall) {
			b->wall[side] = pup_alloc(p, b->wall[side], n * sizeof *b->wall[side]);
			pup_doubles(p, b->wall[side], n);
		}
	}
	pup_recv(p, b);
	for (int s = 0; s < N_SLOTS; s++)
		pup_slot(p, b, s);
	pup_bytes(p, b->neighbour, sizeof b->neighbour);
	pup_int(p, &b->x0);
	pup_int(p, &b->y0);
	pup_int(p, &b->z0);
	if (pup_isUnpacking(p)) {
		b->u = b->field[second];
		b->next = b->field[!second];
		set_ghosts(b);
		if (opt.modes[MODE_DIRECT] && b->n_neighbours)
			init_links(b);
	}
}

/* Anywhere, by a pattern that each block knows by itself. The block leaves when the handler has ended. */
static void wander(Block *b)
{
	CkIndex3D i = Block_thisIndex(b);
	uint64_t draw = (((uint64_t)b->iter << 20 | (uint64_t)i.x) << 20 | (uint64_t)i.y) * 1000003 + (uint64_t)i.z;

	block_move(b, (int)random_below(1, draw, CkNumPes()));
}

/* ---- connecting ----------------------------------------------------------------------- */

static void on_put(void *slot);

/* A put gathers one side of the field that the slot's iterations start from. */
static void bind_side(Block *b, int side, int slot)
{
	struct link *l = &b->link[slot][side];
	const char *path;

	CkDirect_assocLocalStrided(&l->out, send_of(b, slot, side), side_shape(b, side));
	path = CkDirect_path(&l->out);
	b->at_once &= !strcmp(path, "memory");
	b->paths[!strcmp(path, "memory") ? PATH_MEMORY : !strcmp(path, "rma") ? PATH_RMA
									      : PATH_MESSAGE]++;
}

/* When all handles are there, they are bound in the order of their use, so that the runtime's records
 * of them lie in that order, too. */
static void count_connection(Block *b)
{
	if (++b->n_connected < b->n_neighbours * N_SLOTS + 1)
		return;
	b->at_once = true;
	for (int s = 0; s < N_SLOTS; s++)
		for (int side = 0; side < N_SIDES; side++)
			if (!b->wall[side])
				bind_side(b, side, s);
	CkContribute(b, b->paths, N_PATHS, CkReduction_sum_long, Main_cb_connected(mainProxy));
}

void Block_on_connect(Block *b)
{
	for (int s = 0; s < N_SLOTS; s++)
		for (int side = 0; side < N_SIDES; side++) {
			size_t bytes = side_cells(b->box, side) * sizeof(double);
			struct link *l;

			if (b->wall[side])
				continue;
			l = &b->link[s][side];
			b->slot[s].ghost[side] = l->recv;
			l->in = CkDirect_createHandle(l->recv, bytes, OUT_OF_BAND, on_put,
						      &b->slot[s]);
			Block_channel(b->neighbour[side], side ^ 1, s, l->in);
		}
	count_connection(b);
}

void Block_on_channel(Block *b, int side, int slot, CkDirectHandle h)
{
	b->link[slot][side].out = h;
	count_connection(b);
}

/* ---- one iteration -------------------------------------------------------------------- */

static void advance(Block *b);

static void on_put_complete(void *block_p)
{
	Block *b = *(Block **)block_p;

	b->unsent--;
	advance(b);
}

static void send_message(Block *b, int side, int slot)
{
	Side *m = Side_alloc(side_cells(b->box, side));

	m->side = side ^ 1;
	m->slot = slot;
	pack_side(m->v, b->u, b->box, side);
	Block_ghost(b->neighbour[side], m);
}

static void send_side(Block *b, int side, int slot)
{
	if (b->mode == MODE_MSG) {
		send_message(b, side, slot);
	} else if (b->mode == MODE_NAMED) {
		named_put(b, side, slot);
	} else if (b->at_once) {
		CkDirect_put(&b->link[slot][side].out);
	} else {
		b->unsent++;
		CkDirect_putData(&b->link[slot][side].out, on_put_complete, &b, sizeof b);
	}
}

static void count_arrival(struct slot *s)
{
	if (++s->arrived == s->block->n_neighbours)
		advance(s->block);
}

/* A side has come in a message, */
void Block_on_ghost(Block *b, Side *m)
{
	struct slot *s = &b->slot[m->slot];

	s->kept[m->side] = CkKeepMsg();
	s->ghost[m->side] = m->v;
	count_arrival(s);
}

/* or through a channel, */
static void on_put(void *slot)
{
	count_arrival(slot);
}

/* or through one that has a name. */
void Block_on_side(Block *b, int tag)
{
	count_arrival(&b->slot[tag / N_SIDES]);
}

static void release_side(Block *b, int side, int slot)
{
	if (b->mode == MODE_MSG) {
		CkFreeMsg(b->slot[slot].kept[side]);
		b->slot[slot].kept[side] = NULL;
	} else if (b->mode == MODE_NAMED) {
		named_ready(b, side, slot);
	} else {
		CkDirect_ready(&b->link[slot][side].in);
	}
}

/* Fetch what the calls after an update read of the handles: ready for this slot, put for the other.
 * With hundreds of blocks per PE the handles have left the caches since the last iteration. */
static void fetch_handles(const Block *b, int slot)
{
	for (int side = 0; side < N_SIDES; side++) {
		const struct link *in = &b->link[slot][side], *out = &b->link[!slot][side];

		__builtin_prefetch(&in->in);
		__builtin_prefetch(&out->out);
		__builtin_prefetch((const char *)&out->out + 64);
	}
}

/* Compute, then release the slot: not before (see (2) above). */
static void update(Block *b, int slot)
{
	double *old = b->u;

	if (b->mode == MODE_DIRECT)
		fetch_handles(b, slot);
	for (int k = b->x0 < opt.domain.nx / 2 ? opt.uneven : 0; k >= 0; k--)
		jacobi(b->next, b->u, b->box, b->slot[slot].ghost);
	b->u = b->next;
	b->next = old;
	b->slot[slot].arrived = 0;
	for (int side = 0; side < N_SIDES; side++)
		if (!b->wall[side])
			release_side(b, side, slot);
}

/* Send the sides for this iteration, once it may begin. */
static bool send_sides(Block *b, int slot)
{
	if (!b->go || b->unsent > 0)
		return false;
	for (int side = 0; side < N_SIDES; side++)
		if (!b->wall[side])
			send_side(b, side, slot);
	b->sent = true;
	return true;
}

/* Go as far as what has arrived allows. To be called after everything that may allow more. */
static void advance(Block *b)
{
	while (b->iter < b->iters && !b->syncing) {
		int slot = b->iter % N_SLOTS;

		if (!b->sent && !send_sides(b, slot))
			return;
		if (b->slot[slot].arrived < b->n_neighbours)
			return;
		update(b, slot);
		b->sent = false;
		b->iter++;
		if (opt.move && b->iter % opt.move == 0)
			wander(b);
		if (opt.lb && b->iter % opt.lb == 0) {
			b->syncing = true;
			balance_sync(b);
		}
		if (opt.barrier && b->iter < b->iters) {
			b->go = false;
			CkContributeBarrier(b, Block_cb_go_all(Block_thisProxy(b)));
		}
	}
	if (b->go && b->unsent == 0 && !b->syncing) {
		b->go = false;
		CkContributeBarrier(b, Main_cb_ran(mainProxy));
	}
}

/* All blocks have come this far, and those that had to move have moved. Sides that came meanwhile are in their slots. */
void Block_on_resumeFromSync(Block *b)
{
	b->syncing = false;
	advance(b);
}

void Block_on_go(Block *b)
{
	b->go = true;
	advance(b);
}

void Block_on_run(Block *b, int iters)
{
	b->iter = 0;
	b->iters = iters;
	Block_on_go(b);
}

/* ---- between runs ---------------------------------------------------------------------- */

void Block_on_prepare(Block *b, int mode)
{
	b->mode = mode;
	b->u = b->field[0];
	b->next = b->field[1];
	memset(b->u, 0, field_doubles(b->box) * sizeof *b->u);
	if (mode == MODE_NAMED) {
		if (!b->has_ends)
			named_make(b);
		set_ghosts(b);
	}
	CkContributeBarrier(b, Main_cb_prepared(mainProxy));
}

static const double *serial_field(void)
{
	Serial *s = Serial_ckLocalBranch(serial);

	if (!s->field)
		s->field = serial_jacobi(opt.domain, opt.iters);
	if (!s->field)
		CkAbort("stencil: no memory for the serial solution: use --no-verify");
	return s->field;
}

/* Check and add up one row of the block, which begins at cell `place` of the domain. */
void block_check_row(long *sums, uint64_t *hash, const double *row, int n, uint64_t place)
{
	const double *serial_row = opt.verify ? serial_field() + place : row;

	sums[SUM_WRONG] += memcmp(row, serial_row, (size_t)n * sizeof *row) != 0;
	for (int z = 0; z < n; z++) {
		long units = (long)(row[z] * 0x1p32);

		sums[SUM_FIELD] += units;
		sums[SUM_FIELD_REST] += (long)((row[z] * 0x1p32 - (double)units) * 0x1p30);
		*hash += turns_hash(place + (uint64_t)z, row[z]);
	}
}

void Block_on_check(Block *b)
{
	long sums[N_SUMS] = {0};
	uint64_t hash = 0;
	const double *row = b->u + 1;

	for (int x = 0; x < b->box.nx; x++)
		for (int y = 0; y < b->box.ny; y++, row += b->box.nz + 2) {
			uint64_t gx = (uint64_t)(b->x0 + x), gy = (uint64_t)(b->y0 + y);
			uint64_t place = (gx * (uint64_t)opt.domain.ny + gy) *
					 (uint64_t)opt.domain.nz + (uint64_t)b->z0;

			block_check_row(sums, &hash, row, b->box.nz, place);
		}
	sums[SUM_HASH_LOW] = (long)(hash & UINT32_MAX);
	sums[SUM_HASH_HIGH] = (long)(hash >> 32);
	CkContribute(b, sums, N_SUMS, CkReduction_sum_long, Main_cb_checked(mainProxy));
}

static void unbind(Block *b)
{
	for (int s = 0; s < N_SLOTS; s++) {
		for (int side = 0; side < N_SIDES; side++)
			if (!b->wall[side]) {
				CkDirect_destroyHandle(&b->link[s][side].in);
				CkDirect_destroyHandle(&b->link[s][side].out);
			}
	}
	b->n_connected = 0;
	memset(b->paths, 0, sizeof b->paths);
}

/* Nothing is on its way: every side sent in a run was used in it, and advance() did not end
 * the run before the puts were locally complete. */
void Block_on_disconnect(Block *b)
{
	if (b->mode == MODE_NAMED)
		named_destroy(b);
	else
		unbind(b);
	CkContributeBarrier(b, Main_cb_disconnected(mainProxy));
}

void Block_on_finish(Block *b)
{
	/* The last move may wait for channels that have been destroyed; not without its memory. */
	block_move(b, CkMyPe());
	for (int side = 0; side < N_SIDES; side++)
		free(b->wall[side]);
	if (opt.malloc_recv)
		free(b->recv);
	else
		CkDirect_free(b->recv);
	free(b->link);
	free(b->field[0]);
	free(b->field[1]);
	CkContributeBarrier(b, Main_cb_blocks_finished(mainProxy));
}
