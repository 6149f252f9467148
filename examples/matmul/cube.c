/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cube.c: one chare of the multiplication. An iteration sends the own slices of A and B,
 * waits for the others', multiplies, sends the slices of the product, and waits for those that
 * belong here. With channels every slice of A and B lands where dgemm reads it; with messages
 * the call copies it into the message, and the handler from there to where dgemm reads it, unless
 * the slices are so large that a dgemm for each pair of them costs less than the copy.
 * Slices of C are added to the sum from where they arrived, in both modes; those of chares of the same
 * PE from where they were computed. neighbour and part are [inline] entries: on the same PE the
 * handler runs at once and reads the sender's array, which saves a copy: with slices of 64 kB (n 256, p 2,
 * 2 PEs) 570 us an iteration instead of 600 by messages, 550 instead of 590 through channels.
 *
 * Why --sync none needs no barrier. Let M be a chare and Q a peer in some exchange.
 *  (1) Q's iteration k + 1 ends only after M's slice of that exchange for k + 1 has come.
 *  (2) M sends its slices of A and B for k + 1 after its iteration k has ended; its slices
 *      of C for k + 1 later still. When iteration k ends, M has used all that came for k
 *      and has released slot k % 2.
 *  (3) Q sends for k + 2, whatever the kind, after its iteration k + 1 has ended.
 *  So Q's slice for k + 2 is sent after M has released the slot it goes to, k % 2: no slot
 *  holds two slices, and Q is at most one iteration ahead.
 *  (4) Visibility: M's CkDirect_readyMark stores the out-of-band value before M's put or
 *      message for k + 1 in program order; that is a release, Q's noticing it an acquire,
 *      and Q's put for k + 2 comes after it. So the out-of-band value happens before Q's
 *      data, and cannot overwrite it.
 *  (5) An iteration begins only when all puts of the one before are locally complete: the
 *      own slices and the product may be written again.
 * With --sync barrier a reduction after each iteration replaces (1): one slot is enough.
 *
 * Elements are small multiples of 1/8, so all products and sums are exact in a double and
 * results can be compared bit for bit, whatever the order of the sums. To make a slice
 * that is too old show, A is multiplied by 1, 2, 4, 1, 2, 4, ... from iteration to iteration
 * and C is the sum of all products.
 */
#include "cube.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

/* A NaN; the elements are numbers. */
#define OUT_OF_BAND UINT64_C(0x7ff8c0dec0dec0de)

/* Slices of A and B that come in messages are multiplied where they lie from this size on: 64 kB,
 * n 256, p 2: 634 us an iteration copied, 532 kept on 2 PEs, 817 and 623 on 8; 16 kB: 913 and 899. */
enum { KEEP_BYTES = 32 << 10 };

/* Which products are done in tiles, and in which (multiply). */
enum { TILED_FROM = 1000 * 1000, TILED_COLS = 256, TILE_ROWS = 32, TILE_DEPTH = 64 };

static int n_slots(void)
{
	return opt.barrier ? 1 : N_SLOTS;
}

static int slot_of(int iter)
{
	return opt.barrier ? 0 : iter % N_SLOTS;
}

static int factor_of(int iter)
{
	return 1 << iter % 3;
}

long factor_sum(void)
{
	long sum = 0;

	for (int k = 0; k < opt.iters; k++)
		sum += factor_of(k);
	return sum;
}

/* On a cache line, for the vector instructions of dgemm: 550 us an iteration instead of 570, as above. */
static void *alloc_bytes(size_t bytes, bool receive)
{
	void *p = receive && !opt.malloc_recv ? CkDirect_alloc(bytes)
					      : aligned_alloc(64, (bytes + 63) / 64 * 64);

	if (!p)
		CkAbort("matmul: no memory for %zu bytes: use a smaller --n%s", bytes,
			receive && !opt.malloc_recv ? " or --recv malloc" : "");
	return p;
}

static double *alloc_doubles(size_t n, bool receive)
{
	return alloc_bytes(n * sizeof(double), receive);
}

static void free_doubles(double *p, bool receive)
{
	if (receive && !opt.malloc_recv)
		CkDirect_free(p);
	else
		free(p);
}

/* ---- slices ------------------------------------------------------------------------------ */

/* Slice i of a block: its first row, its number of doubles, and where it is. */
static int first_row(int nb, int i)
{
	return (int)((int64_t)nb * i / opt.p);
}

static int slice_rows(int nb, int i)
{
	return first_row(nb, i + 1) - first_row(nb, i);
}

static int slice_doubles(const Cube *m, int i)
{
	return m->start[i + 1] - m->start[i];
}

static double *slice_of(const Cube *m, double *block, int i)
{
	return block + m->start[i];
}

/* What peer q sends here, and where it shall stand. */
static int in_doubles(const Cube *m, int kind, int q)
{
	return slice_doubles(m, kind == KIND_C ? m->me[KIND_C] : q);
}

static double *in_place(const Cube *m, int kind, int slot, int q)
{
	if (kind == KIND_C)
		return m->area[slot] + (size_t)q * (size_t)slice_doubles(m, m->me[KIND_C]);
	return slice_of(m, m->ab[kind][slot], q);
}

/* What peer q gets from here: the own slice of A or B, or slice q of the product. */
static int out_doubles(const Cube *m, int kind, int q)
{
	return slice_doubles(m, kind == KIND_C ? q : m->me[kind]);
}

static double *out_place(const Cube *m, int kind, int slot, int q)
{
	if (kind == KIND_C)
		return slice_of(m, m->partial, q);
	return slice_of(m, m->ab[kind][slot], m->me[kind]);
}

/* What counts the slices of a kind that are still to come. */
static int *missing(Cube *m, int kind, int slot)
{
	return kind == KIND_C ? &m->missing_parts[slot] : &m->missing_inputs[slot];
}

static int link_number(int kind, int slot, int q)
{
	return (kind * N_SLOTS + slot) * opt.p + q;
}

static struct link *link_of(const Cube *m, int kind, int slot, int q)
{
	return &m->links[link_number(kind, slot, q)];
}

/* The q-th of the chares that share a block of this kind with m. */
static CProxyElement_Cube peer(const Cube *m, int kind, int q)
{
	int x = kind == KIND_B ? q : m->x, y = kind == KIND_C ? q : m->y;
	int z = kind == KIND_A ? q : m->z, first = opt.spread ? x + y + z : x;

	while (first >= opt.p)
		first -= opt.p;
	return Cube_at(Cube_thisProxy(m), first, y, z);
}

static bool is_here(const Cube *m, int kind, int q)
{
	return m->here[kind * opt.p + q];
}

/* ---- the matrices ------------------------------------------------------------------------- */

/* Element (row, column) of A or B. */
static double element(int kind, int row, int col)
{
	return kind == KIND_A ? ((row * 7 + col * 3) % 17 - 8) / 8.0
			      : ((row * 5 + col * 11) % 19 - 9) / 8.0;
}

static void fill(double *out, int kind, int row0, int rows, int col0, int cols)
{
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < cols; j++)
			*out++ = element(kind, row0 + i, col0 + j);
}

/* The product of one tile; rows of `a` are `wide` doubles apart. */
static void multiply_tile(double *out, double alpha, double beta, const double *a, int wide,
			  const double *b, int rows, int cols, int depth)
{
	cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, cols, depth, alpha, a, wide, b,
		    cols, beta, out, cols);
}

static int at_most(int n, int most)
{
	return n < most ? n : most;
}

/* out (rows x cols) = alpha * a (rows x depth) * b (depth x cols) + beta * out; the rows of `a` are
 * `wide` doubles apart. A BLAS copies its operands to where its kernel wants them, but small ones it
 * may use where they lie (OpenBLAS with AVX-512 up to 10^6 multiplications): 56 GFLOP/s instead of 48
 * for blocks of 128 x 128, 56 and 50 for 256, 42 and 50 for 512, which caches do not hold.
 * bench/mpi/matmul_mpi.c does the same. */
static void multiply(double *out, double alpha, double beta, const double *a, int wide,
		     const double *b, int rows, int cols, int depth)
{
	bool tiled = (int64_t)rows * cols * depth > TILED_FROM && cols <= TILED_COLS;
	int tile_rows = tiled ? TILE_ROWS : rows, tile_depth = tiled ? TILE_DEPTH : depth;

	for (int i = 0; i < rows; i += tile_rows)
		for (int k = 0; k < depth; k += tile_depth)
			multiply_tile(out + (size_t)i * (size_t)cols, alpha, k ? 1.0 : beta,
				      a + (size_t)i * (size_t)wide + k, wide,
				      b + (size_t)k * (size_t)cols, at_most(rows - i, tile_rows),
				      cols, at_most(depth - k, tile_depth));
}

/* Parallelism comes from the chares; a BLAS with threads of its own would be in the way. */
extern void openblas_set_num_threads(int n) __attribute__((weak));

void limit_blas_threads(void)
{
	if (openblas_set_num_threads)
		openblas_set_num_threads(1);
}

/* ---- set-up ------------------------------------------------------------------------------- */

static void new_links(Cube *m)
{
	int n = N_KINDS * N_SLOTS * opt.p;

	m->links = aligned_alloc(_Alignof(struct link), (size_t)n * sizeof *m->links);
	m->at_once = calloc((size_t)n, sizeof *m->at_once);
	if (!m->links || !m->at_once)
		CkAbort("matmul: no memory for %d links: use a smaller --p", n);
	memset(m->links, 0, (size_t)n * sizeof *m->links);
}

/* Not in the constructor: those of the others may not have run. */
static void find_neighbours(Cube *m)
{
	if (m->here)
		return;
	m->here = alloc_bytes((size_t)(N_KINDS * opt.p) * sizeof *m->here, false);
	for (int kind = 0; kind < N_KINDS; kind++)
		for (int q = 0; q < opt.p; q++)
			m->here[kind * opt.p + q] = Cube_ckLocal(peer(m, kind, q));
}

static void new_pieces(Cube *m, int kind, int slot)
{
	struct piece *p = alloc_bytes((size_t)opt.p * sizeof *p, false);

	for (int q = 0; q < opt.p; q++)
		p[q] = (struct piece){ slice_of(m, m->ab[kind][slot], q), NULL };
	m->pieces[kind][slot] = p;
}

static void new_blocks(Cube *m)
{
	size_t block = (size_t)m->nb * (size_t)m->nb;
	size_t own = (size_t)slice_doubles(m, m->me[KIND_C]);

	m->partial = alloc_doubles(block, false);
	m->c = alloc_doubles(own, false);
	for (int s = 0; s < n_slots(); s++) {
		m->ab[KIND_A][s] = alloc_doubles(block, true);
		m->ab[KIND_B][s] = alloc_doubles(block, true);
		new_pieces(m, KIND_A, s);
		new_pieces(m, KIND_B, s);
		if (opt.modes[MODE_DIRECT])
			m->area[s] = alloc_doubles((size_t)opt.p * own, true);
	}
}

void Cube_on_new(Cube *m)
{
	CkIndex3D i = Cube_thisIndex(m);

	m->x = opt.spread ? (2 * opt.p + i.x - i.y - i.z) % opt.p : i.x;
	m->y = i.y;
	m->z = i.z;
	m->me[KIND_A] = m->z;
	m->me[KIND_B] = m->x;
	m->me[KIND_C] = m->y;
	m->nb = opt.n / opt.p;
	m->start = alloc_bytes((size_t)(opt.p + 1) * sizeof *m->start, false);
	for (int k = 0; k <= opt.p; k++)
		m->start[k] = first_row(m->nb, k) * m->nb;
	new_blocks(m);
	if (opt.modes[MODE_DIRECT])
		new_links(m);
	for (int s = 0; s < N_SLOTS; s++) {
		m->missing_inputs[s] = 2 * (opt.p - 1);
		m->missing_parts[s] = opt.p - 1;
	}
}

static void on_put(void *link);

static void count_connection(Cube *m)
{
	if (--m->n_missing_links == 0)
		CkContribute(m, m->paths, N_PATHS, CkReduction_sum_long,
			     Main_cb_connected(mainProxy));
}

static void connect_link(Cube *m, int kind, int slot, int q)
{
	struct link *l = link_of(m, kind, slot, q);
	double *place = in_place(m, kind, slot, q);
	size_t bytes = (size_t)in_doubles(m, kind, q) * sizeof(double);

	if (kind == KIND_C && is_here(m, kind, q))
		return;
	m->n_missing_links++;
	l->cube = m;
	l->missing = missing(m, kind, slot);
	l->part = kind == KIND_C ? place : NULL;
	l->in = CkDirect_createHandle(place, bytes, OUT_OF_BAND, on_put, l);
	Cube_channel(peer(m, kind, q), kind, slot, m->me[kind], l->in);
}

void Cube_on_connect(Cube *m)
{
	find_neighbours(m);
	m->n_missing_links++;
	for (int kind = 0; kind < N_KINDS; kind++)
		for (int s = 0; s < n_slots(); s++)
			for (int q = 0; q < opt.p; q++)
				if (q != m->me[kind])
					connect_link(m, kind, s, q);
	count_connection(m);
}

void Cube_on_channel(Cube *m, int kind, int slot, int from, CkDirectHandle h)
{
	struct link *l = link_of(m, kind, slot, from);
	const char *path;
	bool at_once;

	l->out = h;
	CkDirect_assocLocal(&l->out, out_place(m, kind, slot, from));
	path = CkDirect_path(&l->out);
	at_once = !strcmp(path, "memory");
	m->at_once[link_number(kind, slot, from)] = at_once;
	m->paths[at_once ? PATH_MEMORY : !strcmp(path, "rma") ? PATH_RMA : PATH_MESSAGE]++;
	count_connection(m);
}

/* The own slices as they are in iteration 0; nothing is summed yet. The peers' slices are not to
 * be touched: channels may be armed. */
void Cube_on_prepare(Cube *m, int mode)
{
	int nb = m->nb, za = first_row(nb, m->z), xb = first_row(nb, m->x);

	m->mode = mode;
	find_neighbours(m);
	for (int s = 0; s < n_slots(); s++) {
		fill(slice_of(m, m->ab[KIND_A][s], m->z), KIND_A, m->x * nb + za,
		     slice_rows(nb, m->z), m->y * nb, nb);
		fill(slice_of(m, m->ab[KIND_B][s], m->x), KIND_B, m->y * nb + xb,
		     slice_rows(nb, m->x), m->z * nb, nb);
		m->factor_in[s] = 1;
	}
	memset(m->c, 0, (size_t)slice_doubles(m, m->y) * sizeof *m->c);
	CkContributeBarrier(m, Main_cb_prepared(mainProxy));
}

/* ---- one iteration ------------------------------------------------------------------------ */

static void advance(Cube *m);

static void on_put_complete(void *cube_p)
{
	Cube *m = *(Cube **)cube_p;

	m->unsent--;
	advance(m);
}

static void put_slice(Cube *m, int kind, int slot, int q)
{
	CkDirectHandle *out = &link_of(m, kind, slot, q)->out;

	if (m->at_once[link_number(kind, slot, q)]) {
		CkDirect_put(out);
	} else {
		m->unsent++;
		CkDirect_putData(out, on_put_complete, &m, sizeof m);
	}
}

static void send_slice(Cube *m, int kind, int slot, int q)
{
	int me = m->me[kind], n = out_doubles(m, kind, q);
	const double *v = out_place(m, kind, slot, q);

	if (m->mode == MODE_DIRECT)
		put_slice(m, kind, slot, q);
	else if (is_here(m, kind, q))
		Cube_neighbour(peer(m, kind, q), kind, slot, me, n, v);
	else
		Cube_slice(peer(m, kind, q), kind, slot, me, n, v);
}

/* Those to other PEs first: a neighbour may go on with its own work at once. */
static void send_slices(Cube *m, int slot)
{
	for (int here = 0; here < 2; here++)
		for (int kind = KIND_A; kind <= KIND_B; kind++)
			for (int q = 0; q < opt.p; q++)
				if (q != m->me[kind] && is_here(m, kind, q) == here)
					send_slice(m, kind, slot, q);
}

static void send_part(Cube *m, int slot, int q)
{
	if (m->mode == MODE_DIRECT && !is_here(m, KIND_C, q))
		put_slice(m, KIND_C, slot, q);
	else
		Cube_part(peer(m, KIND_C, q), slot, out_doubles(m, KIND_C, q),
			  out_place(m, KIND_C, slot, q));
}

static void send_parts(Cube *m, int slot)
{
	for (int here = 0; here < 2; here++)
		for (int q = 0; q < opt.p; q++)
			if (q != m->me[KIND_C] && is_here(m, KIND_C, q) == here)
				send_part(m, slot, q);
}

/* Parts are added as they come, while they are in the caches. With other elements the last bits
 * of the sum would depend on their order. */
static void add(Cube *m, const double *part)
{
	cblas_daxpy(slice_doubles(m, m->me[KIND_C]), 1.0, part, 1, m->c, 1);
}

static void count_arrival(Cube *m, int *missing)
{
	if (--*missing == 0)
		advance(m);
}

/* A slice has come from a chare of this PE, */
void Cube_on_neighbour(Cube *m, int kind, int slot, int from, int n, const double *v)
{
	memcpy(in_place(m, kind, slot, from), v, (size_t)n * sizeof *v);
	count_arrival(m, missing(m, kind, slot));
}

/* in a message, */
void Cube_on_slice(Cube *m, int kind, int slot, int from, int n, const double *v)
{
	if ((size_t)n * sizeof *v < KEEP_BYTES) {
		Cube_on_neighbour(m, kind, slot, from, n, v);
		return;
	}
	m->pieces[kind][slot][from] = (struct piece){ v, CkKeepMsg() };
	count_arrival(m, missing(m, kind, slot));
}

void Cube_on_part(Cube *m, int slot, int n, const double *v)
{
	(void)n;
	add(m, v);
	count_arrival(m, missing(m, KIND_C, slot));
}

/* or through a channel. */
static void on_put(void *link)
{
	struct link *l = link;

	if (l->part) {
		add(l->cube, l->part);
		CkDirect_ready(&l->in);
	}
	count_arrival(l->cube, l->missing);
}

static void release_input(const Cube *m, int kind, int slot, int q)
{
	CkDirectHandle *in = &link_of(m, kind, slot, q)->in;

	if (is_here(m, kind, q))
		CkDirect_ready(in);
	else
		CkDirect_readyMark(in);
}

/* The blocks of A and B have been used. What comes from this PE need not be polled, so nothing is
 * saved by arming it later; the others are marked only until poll_inputs. */
static void release_inputs(Cube *m, int slot)
{
	m->missing_inputs[slot] = 2 * (opt.p - 1);
	if (m->mode == MODE_MSG)
		return;
	for (int kind = KIND_A; kind <= KIND_B; kind++)
		for (int q = 0; q < opt.p; q++)
			if (q != m->me[kind])
				release_input(m, kind, slot, q);
	m->marked[slot] = true;
}

/* From here on inputs are expected; until now polling would have been in vain. */
static void poll_inputs(Cube *m, int slot)
{
	if (!m->marked[slot])
		return;
	for (int kind = KIND_A; kind <= KIND_B; kind++)
		for (int q = 0; q < opt.p; q++)
			if (q != m->me[kind] && !is_here(m, kind, q))
				CkDirect_readyPollQ(&link_of(m, kind, slot, q)->in);
	m->marked[slot] = false;
}

/* Bring the own slice of A from the factor that it has to that of this iteration. */
static void scale_a(Cube *m, int slot)
{
	int z = m->me[KIND_A], n = slice_doubles(m, z), want = factor_of(m->iter);
	double *a = slice_of(m, m->ab[KIND_A][slot], z);
	double by = (double)want / m->factor_in[slot];

	cblas_dscal(n, by, a, 1);
	m->factor_in[slot] = want;
}

static bool send_inputs(Cube *m, int slot)
{
	if (!m->go || m->unsent > 0)
		return false;
	scale_a(m, slot);
	send_slices(m, slot);
	poll_inputs(m, slot);
	return true;
}

/* Some rows of A and B are in messages: slice by slice. */
static void multiply_pieces(Cube *m, const struct piece *a, const struct piece *b)
{
	int nb = m->nb;

	for (int i = 0; i < opt.p; i++)
		for (int k = 0; k < opt.p; k++)
			multiply(slice_of(m, m->partial, i), 1.0, k ? 1.0 : 0.0,
				 a[i].v + first_row(nb, k), nb, b[k].v, slice_rows(nb, i), nb,
				 slice_rows(nb, k));
}

static void drop_kept(Cube *m, int kind, int slot)
{
	struct piece *p = m->pieces[kind][slot];

	for (int q = 0; q < opt.p; q++) {
		if (!p[q].kept)
			continue;
		CkFreeMsg(p[q].kept);
		p[q] = (struct piece){ slice_of(m, m->ab[kind][slot], q), NULL };
	}
}

static bool any_kept(const struct piece *p)
{
	for (int q = 0; q < opt.p; q++)
		if (p[q].kept)
			return true;
	return false;
}

static bool multiply_blocks(Cube *m, int slot)
{
	const struct piece *a = m->pieces[KIND_A][slot], *b = m->pieces[KIND_B][slot];

	if (m->missing_inputs[slot])
		return false;
	if (m->mode == MODE_MSG && (any_kept(a) || any_kept(b))) {
		multiply_pieces(m, a, b);
		drop_kept(m, KIND_A, slot);
		drop_kept(m, KIND_B, slot);
	} else {
		multiply(m->partial, 1.0, 0.0, m->ab[KIND_A][slot], m->nb, m->ab[KIND_B][slot], m->nb,
			 m->nb, m->nb);
	}
	release_inputs(m, slot);
	send_parts(m, slot);
	add(m, slice_of(m, m->partial, m->me[KIND_C]));
	return true;
}

static bool complete(Cube *m, int slot)
{
	if (m->missing_parts[slot])
		return false;
	m->missing_parts[slot] = opt.p - 1;
	return true;
}

/* One stage, if what has arrived allows it. */
static bool do_stage(Cube *m, int slot)
{
	switch (m->stage) {
	case SEND_INPUTS: return send_inputs(m, slot);
	case MULTIPLY: return multiply_blocks(m, slot);
	default: return complete(m, slot);
	}
}

static void go_on(Cube *m)
{
	while (m->iter < m->iters) {
		if (!do_stage(m, slot_of(m->iter)))
			return;
		if (m->stage != COMPLETE) {
			m->stage++;
			continue;
		}
		m->stage = SEND_INPUTS;
		m->iter++;
		if (opt.barrier && m->iter < m->iters) {
			m->go = false;
			CkContributeBarrier(m, Cube_cb_go_all(Cube_thisProxy(m)));
		}
	}
	if (m->go && m->unsent == 0) {
		m->go = false;
		CkContributeBarrier(m, Main_cb_ran(mainProxy));
	}
}

/* Go as far as what has arrived allows. Called after everything that may allow more; also by the part
 * that a chare of this PE has computed because of one of ours: then the loop goes on with it. */
static void advance(Cube *m)
{
	if (m->advancing)
		return;
	m->advancing = true;
	go_on(m);
	m->advancing = false;
}

void Cube_on_go(Cube *m)
{
	m->go = true;
	advance(m);
}

void Cube_on_run(Cube *m, int iters)
{
	m->iter = 0;
	m->iters = iters;
	Cube_on_go(m);
}

/* ---- after a run -------------------------------------------------------------------------- */

/* The bits of one element of C, mixed with its place (the finaliser of MurmurHash3). */
static uint64_t hash_element(uint64_t place, double value)
{
	uint64_t h;

	memcpy(&h, &value, sizeof h);
	h ^= place * UINT64_C(0x9e3779b97f4a7c15);
	h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
	h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ h >> 33;
}

/* The own slice of C again, by one dgemm over the whole depth and from matrices that never
 * travelled. All chares together do the work of one serial multiplication. */
static long count_wrong_rows(const Cube *m, int row0, int rows, int col0)
{
	size_t depth = (size_t)opt.n, cols = (size_t)m->nb;
	double *a = alloc_doubles((size_t)rows * depth, false);
	double *b = alloc_doubles(depth * cols, false);
	double *want = alloc_doubles((size_t)rows * cols, false);
	long wrong = 0;

	fill(a, KIND_A, row0, rows, 0, opt.n);
	fill(b, KIND_B, 0, opt.n, col0, m->nb);
	multiply(want, (double)factor_sum(), 0.0, a, opt.n, b, rows, m->nb, opt.n);
	for (size_t i = 0; i < (size_t)rows; i++)
		wrong += memcmp(m->c + i * cols, want + i * cols, cols * sizeof *want) != 0;
	free(a);
	free(b);
	free(want);
	return wrong;
}

void Cube_on_check(Cube *m)
{
	int row0 = m->x * m->nb + first_row(m->nb, m->y), rows = slice_rows(m->nb, m->y);
	int col0 = m->z * m->nb;
	const double *c = m->c;
	long sums[N_SUMS] = {0};
	uint64_t hash = 0;

	for (int r = 0; r < rows; r++)
		for (int j = 0; j < m->nb; j++, c++) {
			uint64_t place = (uint64_t)(row0 + r) * (uint64_t)opt.n +
					 (uint64_t)(col0 + j);

			sums[SUM_C] += (long)(*c * C_UNITS);
			hash += hash_element(place, *c);
		}
	sums[SUM_WRONG] = opt.verify ? count_wrong_rows(m, row0, rows, col0) : 0;
	sums[SUM_HASH_LOW] = (long)(hash & UINT32_MAX);
	sums[SUM_HASH_HIGH] = (long)(hash >> 32);
	CkContribute(m, sums, N_SUMS, CkReduction_sum_long, Main_cb_checked(mainProxy));
}

static void disconnect_link(struct link *l)
{
	if (!l->cube)
		return;
	CkDirect_destroyHandle(&l->in);
	CkDirect_destroyHandle(&l->out);
	l->cube = NULL;
}

/* Nothing is on its way: every slice sent in a run was used in it, and advance() did not end
 * the run before the puts were locally complete. */
void Cube_on_disconnect(Cube *m)
{
	for (int i = 0; i < N_KINDS * N_SLOTS * opt.p; i++)
		disconnect_link(&m->links[i]);
	memset(m->marked, 0, sizeof m->marked);
	memset(m->paths, 0, sizeof m->paths);
	CkContributeBarrier(m, Main_cb_disconnected(mainProxy));
}

void Cube_on_finish(Cube *m)
{
	for (int s = 0; s < n_slots(); s++) {
		free_doubles(m->ab[KIND_A][s], true);
		free_doubles(m->ab[KIND_B][s], true);
		free_doubles(m->area[s], true);
		free(m->pieces[KIND_A][s]);
		free(m->pieces[KIND_B][s]);
	}
	free(m->partial);
	free(m->c);
	free(m->start);
	free(m->here);
	free(m->links);
	free(m->at_once);
	CkContributeBarrier(m, Main_cb_finished(mainProxy));
}
