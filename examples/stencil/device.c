/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.c: --device: the same blocks in a device's memory, in three ways, of which each computes
 * the same numbers as the processor:
 *
 *	device       a put for each side, in the block's stream, from device to device
 *	device-all   the same, all sides in one launch
 *	staging      what one does without: copy all sides to the host, wait, put from host to host,
 *	             copy to the device
 *
 * In all of them a block queues an iteration's kernel when its sides have come, and goes on. The
 * argument of block.c holds for streams, too: (2) M's stream puts its side for k + 1 after the
 * kernel of k, which has read N's side for k; so ready is a point in the stream. A send buffer is
 * packed again two iterations later in the stream that its put was in.
 *
 * In iteration k what arrives is in slot k % 2, as in block.h.
 */
#include "device.h"
#include "gpu.h"

#include <stdlib.h>
#include <unistd.h>

#include "ckdevice.h"

const bool has_device = true;

/* ---- where everything is --------------------------------------------------------------------- */

/* Doubles before a side in a buffer of all; N_SIDES: of all. */
static size_t side_at(const Gpu *b, int side)
{
	size_t n = 0;

	for (int i = 0; i < side; i++)
		n += (side_cells(b->box, i) + 31) / 32 * 32;
	return n;
}

static size_t sides_bytes(const Gpu *b) { return side_at(b, N_SIDES) * sizeof(double); }

static size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* A part of the pinned memory: the send buffers, then the receive buffers. */
static size_t part_bytes(const Gpu *b)
{
	return (sides_bytes(b) + page_bytes() - 1) / page_bytes() * page_bytes();
}

static double *host_send(const Gpu *b, int slot)
{
	return (double *)(void *)(b->pages + (size_t)slot * part_bytes(b));
}

static double *host_recv(const Gpu *b, int slot) { return host_send(b, N_SLOTS + slot); }

static double *device_doubles(size_t n)
{
	double *p = CkDirect_allocDevice(n * sizeof *p);

	if (!p)
		CkAbort("stencil: no device memory for %zu doubles: use a smaller --domain", n);
	return p;
}

static void init_host(Gpu *b)
{
	const size_t bytes = 2 * N_SLOTS * part_bytes(b), page = page_bytes();

	b->host = CkDirect_alloc(bytes + page);
	if (!b->host)
		CkAbort("stencil: no shared memory for receive buffers");
	b->pages = (char *)(((uintptr_t)b->host + page - 1) / page * page);
	gpu_pin(b->gpu, b->pages, bytes);
}

static void fill_device(const Gpu *b, double *to, size_t n, double value)
{
	double *host = malloc(n * sizeof *host);

	if (!host)
		CkAbort("stencil: no memory for %zu doubles: use a smaller --domain", n);
	for (size_t i = 0; i < n; i++)
		host[i] = value;
	gpu_from_host(b->gpu, b->stream, to, host, n * sizeof *host);
	gpu_finish(b->gpu, b->stream);
	free(host);
}

static void init_neighbours(Gpu *b)
{
	CkIndex3D there;

	for (int side = 0; side < N_SIDES; side++) {
		b->wall[side] = !block_beyond(Gpu_thisIndex(b), side, &there);
		if (b->wall[side])
			fill_device(b, b->walls + side_at(b, side), side_cells(b->box, side), wall_value(side));
		else
			b->neighbour[side] = Gpu_at(Gpu_thisProxy(b), there.x, there.y, there.z);
		b->n_neighbours += !b->wall[side];
	}
}

void Gpu_on_new(Gpu *b)
{
	block_place(Gpu_thisIndex(b), &b->box, &b->x0, &b->y0, &b->z0);
	b->u = device_doubles(box_cells(b->box));
	b->next = device_doubles(box_cells(b->box));
	b->walls = device_doubles(side_at(b, N_SIDES));
	for (int s = 0; s < N_SLOTS; s++) {
		b->send[s] = device_doubles(side_at(b, N_SIDES));
		b->recv[s] = device_doubles(side_at(b, N_SIDES));
		b->arrived[s].block = b;
	}
	b->gpu = gpu_open();
	b->stream = gpu_stream(b->gpu);
	init_host(b);
	init_neighbours(b);
}

/* ---- connecting ------------------------------------------------------------------------------ */

static void advance(Gpu *b);

static void on_put(void *arrived)
{
	struct arrivals *a = arrived;

	a->n++;
	advance(a->block);
}

static void count_path(Gpu *b, const char *path)
{
	b->paths[PATH_DEVICE] += !strcmp(path, "device");
	b->paths[PATH_DEVICE_IPC] += !strcmp(path, "device-ipc");
	b->paths[PATH_DEVICE_STAGED] += !strcmp(path, "device-staged");
}

static void bind_side(Gpu *b, int slot, int side)
{
	const size_t at = side_at(b, side), bytes = side_cells(b->box, side) * sizeof(double);
	CkDirectHandle *out = &b->out[slot][side];

	if (b->mode == MODE_STAGING)
		CkDirect_assocLocalBuffer(out, host_send(b, slot) + at, bytes);
	else
		CkDirect_assocLocalDevice(out, b->send[slot] + at, bytes);
	count_path(b, CkDirect_path(out));
}

static void count_connection(Gpu *b)
{
	if (++b->n_connected < b->n_neighbours * N_SLOTS + 1)
		return;
	for (int s = 0; s < N_SLOTS; s++)
		for (int side = 0; side < N_SIDES; side++)
			if (!b->wall[side])
				bind_side(b, s, side);
	CkContribute(b, b->paths, N_PATHS, CkReduction_sum_long, Main_cb_connected(mainProxy));
}

static void make_channel(Gpu *b, int slot, int side)
{
	const size_t at = side_at(b, side), bytes = side_cells(b->box, side) * sizeof(double);
	CkDirectHandle *in = &b->in[slot][side];

	if (b->mode == MODE_STAGING)
		*in = CkDirect_createHandleSeq(host_recv(b, slot) + at, bytes, on_put, &b->arrived[slot]);
	else
		*in = CkDirect_createHandleDevice(b->recv[slot] + at, bytes, on_put, &b->arrived[slot]);
	Gpu_channel(b->neighbour[side], side ^ 1, slot, *in);
}

void Gpu_on_connect(Gpu *b, int mode)
{
	b->mode = mode;
	for (int s = 0; s < N_SLOTS; s++)
		for (int side = 0; side < N_SIDES; side++)
			if (!b->wall[side])
				make_channel(b, s, side);
	count_connection(b);
}

void Gpu_on_channel(Gpu *b, int side, int slot, CkDirectHandle h)
{
	b->out[slot][side] = h;
	count_connection(b);
}

/* ---- one iteration --------------------------------------------------------------------------- */

static void pack(const Gpu *b, int slot)
{
	struct stencil_pack p = { .field = (uintptr_t)b->u, .nx = b->box.nx, .ny = b->box.ny,
				  .nz = b->box.nz };
	size_t most = 0;

	for (int side = 0; side < N_SIDES; side++) {
		if (b->wall[side])
			continue;
		p.side[side] = (uintptr_t)(b->send[slot] + side_at(b, side));
		if (side_cells(b->box, side) > most)
			most = side_cells(b->box, side);
	}
	if (most)
		gpu_pack(b->gpu, b->stream, p, (int)most);
}

/* The channels of all sides; returns how many. */
static int all_sides(CkDirectHandle h[N_SIDES], const Gpu *b, CkDirectHandle *list[N_SIDES])
{
	int n = 0;

	for (int side = 0; side < N_SIDES; side++)
		if (!b->wall[side])
			list[n++] = &h[side];
	return n;
}

static void send_sides(Gpu *b, int slot)
{
	CkDirectHandle *to[N_SIDES];
	const int n = all_sides(b->out[slot], b, to);

	pack(b, slot);
	b->sent = true;
	if (b->mode == MODE_DEVICE_ALL) {
		CkDirect_putAllStream(to, n, b->stream);
		return;
	}
	if (b->mode == MODE_STAGING) {
		gpu_to_host(b->gpu, b->stream, host_send(b, slot), b->send[slot], sides_bytes(b));
		gpu_finish(b->gpu, b->stream);
	}
	for (int i = 0; i < n; i++)
		if (b->mode == MODE_STAGING)
			CkDirect_put(to[i]);
		else
			CkDirect_putStream(to[i], b->stream);
}

static void compute(const Gpu *b, int slot)
{
	struct stencil_step s = { .to = (uintptr_t)b->next, .from = (uintptr_t)b->u, .nx = b->box.nx,
				  .ny = b->box.ny, .nz = b->box.nz };

	for (int side = 0; side < N_SIDES; side++)
		s.ghost[side] =
			(uintptr_t)((b->wall[side] ? b->walls : b->recv[slot]) + side_at(b, side));
	gpu_step(b->gpu, b->stream, s);
}

static void update(Gpu *b, int slot)
{
	CkDirectHandle *from[N_SIDES];
	const int n = all_sides(b->in[slot], b, from);
	double *old = b->u;

	b->arrived[slot].n = 0;
	if (b->mode == MODE_STAGING) {
		gpu_from_host(b->gpu, b->stream, b->recv[slot], host_recv(b, slot), sides_bytes(b));
		gpu_finish(b->gpu, b->stream);
	}
	compute(b, slot);
	for (int i = 0; i < n; i++)
		if (b->mode == MODE_STAGING)
			CkDirect_ready(from[i]);
		else
			CkDirect_readyStream(from[i], b->stream);
	b->u = b->next;
	b->next = old;
}

static void advance(Gpu *b)
{
	while (b->running && b->iter < b->iters) {
		const int slot = b->iter % N_SLOTS;

		if (!b->sent)
			send_sides(b, slot);
		if (b->arrived[slot].n < b->n_neighbours)
			return;
		update(b, slot);
		b->sent = false;
		b->iter++;
	}
	if (!b->running)
		return;
	b->running = false;
	gpu_finish(b->gpu, b->stream);
	CkContributeBarrier(b, Main_cb_ran(mainProxy));
}

void Gpu_on_run(Gpu *b, int iters)
{
	b->iter = 0;
	b->iters = iters;
	b->running = true;
	advance(b);
}

/* ---- between runs ---------------------------------------------------------------------------- */

void Gpu_on_prepare(Gpu *b)
{
	fill_device(b, b->u, box_cells(b->box), 0);
	CkContributeBarrier(b, Main_cb_prepared(mainProxy));
}

void Gpu_on_check(Gpu *b)
{
	const size_t cells = box_cells(b->box), nz = (size_t)b->box.nz;
	double *u = malloc(cells * sizeof *u);
	long sums[N_SUMS] = {0};
	uint64_t hash = 0;

	if (!u)
		CkAbort("stencil: no memory for %zu doubles: use a smaller --domain", cells);
	gpu_to_host(b->gpu, b->stream, u, b->u, cells * sizeof *u);
	gpu_finish(b->gpu, b->stream);
	for (size_t row = 0; row < cells / nz; row++) {
		const uint64_t x = (uint64_t)b->x0 + row / (size_t)b->box.ny,
			       y = (uint64_t)b->y0 + row % (size_t)b->box.ny;

		block_check_row(sums, &hash, u + row * nz, b->box.nz,
				(x * (uint64_t)opt.domain.ny + y) * (uint64_t)opt.domain.nz + (uint64_t)b->z0);
	}
	free(u);
	sums[SUM_HASH_LOW] = (long)(hash & UINT32_MAX);
	sums[SUM_HASH_HIGH] = (long)(hash >> 32);
	CkContribute(b, sums, N_SUMS, CkReduction_sum_long, Main_cb_checked(mainProxy));
}

void Gpu_on_disconnect(Gpu *b)
{
	for (int s = 0; s < N_SLOTS; s++)
		for (int side = 0; side < N_SIDES; side++)
			if (!b->wall[side]) {
				CkDirect_destroyHandle(&b->in[s][side]);
				CkDirect_destroyHandle(&b->out[s][side]);
			}
	b->n_connected = 0;
	memset(b->paths, 0, sizeof b->paths);
	CkContributeBarrier(b, Main_cb_disconnected(mainProxy));
}

void Gpu_on_finish(Gpu *b)
{
	gpu_unpin(b->gpu, b->pages);
	CkDirect_free(b->host);
	gpu_stream_end(b->gpu, b->stream);
	gpu_close(b->gpu);
	for (int s = 0; s < N_SLOTS; s++) {
		CkDirect_freeDevice(b->send[s]);
		CkDirect_freeDevice(b->recv[s]);
	}
	CkDirect_freeDevice(b->walls);
	CkDirect_freeDevice(b->u);
	CkDirect_freeDevice(b->next);
	CkContributeBarrier(b, Main_cb_blocks_finished(mainProxy));
}
