/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hand-written MPI program that examples/stencil is measured against: Jacobi on a 3-D grid
 * with the 7-point mean,
 *
 *     new = (c + xm + xp + ym + yp + zm + zp) / 7.0      added in this order
 *
 * from an interior of zeros, with the boundary value 1.0 beyond the face x = 0 and 0.0 beyond the
 * five others; boundary values live in the ghost layers outside the domain. Each rank holds one
 * block with one ghost layer. An iteration posts six receives, packs and sends six faces, unpacks
 * each face as it arrives, and sweeps. The sweep is not split into inside and rim: that hides
 * latency only where the wire works without the CPU, and costs a second pass over the rim
 * everywhere.
 *
 *     stencil_mpi X Y Z ITERATIONS [PX PY PZ] [--verify] [--no-pin]
 *
 * Without PX PY PZ MPI chooses the process grid. Prints
 *
 *     stencil-mpi iter_us <microseconds per iteration, slowest rank>
 *     stencil-mpi sum <sum of the final field>
 *
 * The last digits of the sum depend on the process grid, because the blocks' sums are added; the
 * field itself does not, and --verify compares every cell, bit for bit, with a serial solver
 * (small domains: every rank computes the whole).
 *
 * -O3, because at -O2 gcc 12 does not vectorise the sweep; compile both contenders alike.
 *
 *     mpicc.openmpi -std=c11 -D_GNU_SOURCE -O3 -Ibench -o build/bench/mpi/stencil_mpi.openmpi \
 *         bench/mpi/stencil_mpi.c bench/bench.c
 *     mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n 2 \
 *         build/bench/mpi/stencil_mpi.openmpi 128 128 128 100
 *     mpicc.mpich ... -o build/bench/mpi/stencil_mpi.mpich ...
 *     mpiexec.hydra -n 2 build/bench/mpi/stencil_mpi.mpich 128 128 128 100
 */
#include "bench_mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FACES = 6, WARM_UP_ITERATIONS = 5 };

/* A box of cells with one ghost layer around it; z runs fastest. Cell (0, 0, 0) is the first that
 * is not a ghost, so that coordinates run from -1 to n. */
struct block {
	int n[3];
	size_t stride_x, stride_y;
	double *now, *next;
};

struct stencil {
	int domain[3], grid[3], iterations;
	bool verify, pin;
	MPI_Comm comm; /* Cartesian */
	int rank;
	int origin[3]; /* of this block in the domain */
	struct block block;
	int neighbour[FACES]; /* x-, x+, y-, y+, z-, z+; MPI_PROC_NULL beyond the domain */
	int face_cells[FACES];
	double *outgoing[FACES], *incoming[FACES];
};

static double *cell(const struct block *b, double *field, int x, int y, int z)
{
	return field + (size_t)(x + 1) * b->stride_x + (size_t)(y + 1) * b->stride_y +
	       (size_t)(z + 1);
}

static size_t block_bytes(const struct block *b)
{
	return (size_t)(b->n[0] + 2) * b->stride_x * sizeof(double);
}

/* Zeros, and the boundary value in the ghost layer below x = 0 where this block touches it. */
static void block_reset(struct block *b, bool touches_x0)
{
	memset(b->now, 0, block_bytes(b));
	memset(b->next, 0, block_bytes(b));
	if (!touches_x0)
		return;
	for (int y = 0; y < b->n[1]; y++)
		for (int z = 0; z < b->n[2]; z++)
			*cell(b, b->now, -1, y, z) = *cell(b, b->next, -1, y, z) = 1.0;
}

static void block_create(struct block *b, const int n[3])
{
	memcpy(b->n, n, sizeof b->n);
	b->stride_y = (size_t)n[2] + 2;
	b->stride_x = ((size_t)n[1] + 2) * b->stride_y;
	b->now = bench_alloc(block_bytes(b));
	b->next = bench_alloc(block_bytes(b));
}

static void block_destroy(struct block *b)
{
	free(b->now);
	free(b->next);
}

static inline __attribute__((always_inline)) void sweep(const struct block *b)
{
	const size_t sx = b->stride_x, sy = b->stride_y;

	for (int x = 0; x < b->n[0]; x++) {
		for (int y = 0; y < b->n[1]; y++) {
			const double *restrict c = cell(b, b->now, x, y, 0);
			const double *restrict xm = c - sx, *restrict xp = c + sx;
			const double *restrict ym = c - sy, *restrict yp = c + sy;
			double *restrict out = cell(b, b->next, x, y, 0);
			for (int z = 0; z < b->n[2]; z++)
				out[z] = (c[z] + xm[z] + xp[z] + ym[z] + yp[z] + c[z - 1] +
					  c[z + 1]) / 7.0;
		}
	}
}

#if defined(__x86_64__)
/* Vectors of four where the processor has them, as in examples/stencil. */
__attribute__((target("avx2"))) static void sweep_avx2(const struct block *b)
{
	sweep(b);
}
#endif

/* One Jacobi step from now to next, then exchange them. */
static void block_sweep(struct block *b)
{
	double *old = b->now;

#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
		sweep_avx2(b);
	else
#endif
		sweep(b);
	b->now = b->next;
	b->next = old;
}

static double block_sum(const struct block *b)
{
	double sum = 0;
	for (int x = 0; x < b->n[0]; x++)
		for (int y = 0; y < b->n[1]; y++) {
			const double *c = cell(b, b->now, x, y, 0);
			for (int z = 0; z < b->n[2]; z++)
				sum += c[z];
		}
	return sum;
}

/* The layer of cells on one face: two extents along it, and where it starts. `ghost` means the
 * layer outside the block, otherwise the outermost layer inside. */
struct layer {
	double *first;
	size_t stride_outer, stride_inner;
	int outer, inner;
};

static struct layer face_layer(const struct block *b, int face, bool ghost)
{
	const size_t stride[3] = {b->stride_x, b->stride_y, 1};
	const int axis = face / 2, outer = axis == 0 ? 1 : 0, inner = axis == 2 ? 1 : 2;
	int at[3] = {0, 0, 0};

	if (face % 2 == 0)
		at[axis] = ghost ? -1 : 0;
	else
		at[axis] = ghost ? b->n[axis] : b->n[axis] - 1;
	return (struct layer){cell(b, b->now, at[0], at[1], at[2]), stride[outer], stride[inner],
			      b->n[outer], b->n[inner]};
}

static void pack(const struct layer *l, double *buffer)
{
	for (int i = 0; i < l->outer; i++) {
		const double *row = l->first + (size_t)i * l->stride_outer;
		if (l->stride_inner == 1)
			memcpy(buffer, row, (size_t)l->inner * sizeof *row);
		else
			for (int j = 0; j < l->inner; j++)
				buffer[j] = row[(size_t)j * l->stride_inner];
		buffer += l->inner;
	}
}

static void unpack(const struct layer *l, const double *buffer)
{
	for (int i = 0; i < l->outer; i++) {
		double *row = l->first + (size_t)i * l->stride_outer;
		if (l->stride_inner == 1)
			memcpy(row, buffer, (size_t)l->inner * sizeof *row);
		else
			for (int j = 0; j < l->inner; j++)
				row[(size_t)j * l->stride_inner] = buffer[j];
		buffer += l->inner;
	}
}

/* Fill the ghost layers from the neighbours. A message carries the number of the face it leaves
 * by. */
static void exchange(struct stencil *s)
{
	MPI_Request receive[FACES], send[FACES];
	MPI_Status unused[FACES]; /* gcc warns about MPICH's MPI_STATUSES_IGNORE */

	for (int f = 0; f < FACES; f++)
		MPI_Irecv(s->incoming[f], s->face_cells[f], MPI_DOUBLE, s->neighbour[f], f ^ 1,
			  s->comm, &receive[f]);
	for (int f = 0; f < FACES; f++) {
		struct layer edge = face_layer(&s->block, f, false);
		if (s->neighbour[f] != MPI_PROC_NULL)
			pack(&edge, s->outgoing[f]);
		MPI_Isend(s->outgoing[f], s->face_cells[f], MPI_DOUBLE, s->neighbour[f], f,
			  s->comm, &send[f]);
	}
	for (int left = FACES; left > 0; left--) {
		int f;
		MPI_Waitany(FACES, receive, &f, MPI_STATUS_IGNORE);
		struct layer ghost = face_layer(&s->block, f, true);
		if (s->neighbour[f] != MPI_PROC_NULL)
			unpack(&ghost, s->incoming[f]);
	}
	MPI_Waitall(FACES, send, unused);
}

static void iterate(struct stencil *s, int iterations)
{
	block_reset(&s->block, s->origin[0] == 0);
	for (int i = 0; i < iterations; i++) {
		exchange(s);
		block_sweep(&s->block);
	}
}

/* Microseconds per iteration of the slowest rank. The warm-up lets the library connect. */
static double timed_iterations(struct stencil *s)
{
	double mine, slowest;

	iterate(s, WARM_UP_ITERATIONS);
	MPI_Barrier(s->comm);
	mine = bench_now_us();
	iterate(s, s->iterations);
	mine = (bench_now_us() - mine) / s->iterations;
	MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, s->comm);
	return slowest;
}

/* How many rows of cells of all blocks differ from a serial solution, at rank 0. */
static long wrong_rows(struct stencil *s)
{
	struct block whole;
	long wrong = 0, all = 0;

	block_create(&whole, s->domain);
	block_reset(&whole, true);
	for (int i = 0; i < s->iterations; i++)
		block_sweep(&whole);
	for (int x = 0; x < s->block.n[0]; x++)
		for (int y = 0; y < s->block.n[1]; y++)
			wrong += memcmp(cell(&s->block, s->block.now, x, y, 0),
					cell(&whole, whole.now, x + s->origin[0],
					     y + s->origin[1], s->origin[2]),
					(size_t)s->block.n[2] * sizeof(double)) != 0;
	block_destroy(&whole);
	MPI_Reduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, 0, s->comm);
	return all;
}

static void parse(struct stencil *s, int argc, char **argv)
{
	int numbers[7] = {0}, n = 0;

	s->verify = false;
	s->pin = true;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--verify"))
			s->verify = true;
		else if (!strcmp(argv[i], "--no-pin"))
			s->pin = false;
		else if (n++ < 7)
			numbers[n - 1] = (int)bench_number(argv[0], "number", argv[i], 1, 1 << 20);
	}
	if (n != 4 && n != 7)
		bench_mpi_refuse("usage: %s X Y Z ITERATIONS [PX PY PZ] [--verify] [--no-pin]\n",
				 argv[0]);
	memcpy(s->domain, numbers, sizeof s->domain);
	s->iterations = numbers[3];
	memcpy(s->grid, numbers + 4, sizeof s->grid);
}

/* Choose the process grid and find this rank's place in it; blocks differ by at most one cell per
 * axis. */
static void partition(struct stencil *s, int n[3])
{
	const int periods[3] = {0, 0, 0};
	int ranks, at[3];

	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (!s->grid[0])
		MPI_Dims_create(ranks, 3, s->grid);
	bool fits = s->grid[0] * s->grid[1] * s->grid[2] == ranks;
	for (int a = 0; a < 3; a++)
		fits = fits && s->grid[a] <= s->domain[a];
	if (!fits)
		bench_mpi_refuse("stencil_mpi: a process grid of %d x %d x %d does not fit "
				 "%d ranks and %d x %d x %d cells\n",
				 s->grid[0], s->grid[1], s->grid[2], ranks, s->domain[0],
				 s->domain[1], s->domain[2]);
	MPI_Cart_create(MPI_COMM_WORLD, 3, s->grid, periods, 0, &s->comm);
	MPI_Comm_rank(s->comm, &s->rank);
	MPI_Cart_coords(s->comm, s->rank, 3, at);
	for (int a = 0; a < 3; a++) {
		s->origin[a] = (int)((long)s->domain[a] * at[a] / s->grid[a]);
		n[a] = (int)((long)s->domain[a] * (at[a] + 1) / s->grid[a]) - s->origin[a];
		MPI_Cart_shift(s->comm, a, 1, &s->neighbour[2 * a], &s->neighbour[2 * a + 1]);
	}
}

static void stencil_create(struct stencil *s)
{
	int n[3];

	partition(s, n);
	if (s->pin)
		bench_mpi_pin(s->rank);
	block_create(&s->block, n);
	for (int f = 0; f < FACES; f++) {
		s->face_cells[f] = n[0] * n[1] * n[2] / n[f / 2];
		s->outgoing[f] = bench_alloc((size_t)s->face_cells[f] * sizeof(double));
		s->incoming[f] = bench_alloc((size_t)s->face_cells[f] * sizeof(double));
	}
}

static void stencil_destroy(struct stencil *s)
{
	for (int f = 0; f < FACES; f++) {
		free(s->outgoing[f]);
		free(s->incoming[f]);
	}
	block_destroy(&s->block);
	MPI_Comm_free(&s->comm);
}

int main(int argc, char **argv)
{
	struct stencil s;
	long wrong = 0;

	MPI_Init(&argc, &argv);
	parse(&s, argc, argv);
	stencil_create(&s);
	double us = timed_iterations(&s);
	double mine = block_sum(&s.block), sum = 0;
	MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, s.comm);
	if (s.verify)
		wrong = wrong_rows(&s);
	if (s.rank == 0) {
		printf("stencil-mpi iter_us %.3f\n", us);
		printf("stencil-mpi sum %.17g\n", sum);
		if (s.verify && !wrong)
			printf("stencil-mpi verified\n");
		if (wrong)
			fprintf(stderr, "stencil_mpi: %ld rows differ from the serial solution\n",
				wrong);
	}
	stencil_destroy(&s);
	MPI_Finalize();
	return wrong ? 1 : 0;
}
