/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hand-written MPI program that examples/matmul is measured against: C = A B for N x N
 * doubles with the 3-D decomposition of section 4.2 of the CkDirect paper (Agarwal et al., IBM J.
 * R&D 39(5), 1995), the same work on the same numbers, so that checksum and hash are equal.
 *
 * A P x P x P array of cubes is dealt to the ranks in blocks, as the runtime deals chares to PEs;
 * with --spread so that cubes that exchange are on different ranks, as --map spread does.
 * Cube (x, y, z) multiplies block (x, y) of A by block (y, z) of B, a share of block (x, z) of C.
 * A block that P cubes share is cut into P slices of rows, each owned by one of them:
 *
 *     A(x, y) over z, B(y, z) over x; afterwards C(x, z) over y.
 *
 * In an iteration each cube scales its slice of A (examples/matmul says why), sends it and its
 * slice of B to those that need them, multiplies as soon as its blocks are whole, and sends the
 * slices of the product to those that add them up. Every pair of cubes has a persistent request
 * per exchange, received where dgemm reads it; all receives are posted before anything is sent,
 * and there is no barrier. Between cubes of one rank a slice is copied once, and a part of C added
 * from where it is. A slice of rows of a block is contiguous, hence nothing is packed.
 *
 *     matmul_mpi N ITERATIONS [--p P] [--repeat R] [--spread] [--no-verify] [--no-pin]
 *
 * N a multiple of P, at least P * P. Without --p as many cubes as ranks: 1, 8, 27, ... More cubes
 * than ranks are what a PE with several chares is to be compared with, one rank per core. More
 * ranks than cores are MPI's weak point: a rank that waits does so busily. Open MPI yields when
 * told --oversubscribe; MPICH does not, and one iteration on 8 ranks and 2 cores takes 50 ms.
 *
 * Prints
 *
 *     matmul-mpi iter_us <microseconds per iteration, median over the repeats>
 *     matmul-mpi checksum <sum of the elements of A B>
 *     matmul-mpi hash <of C and the places of its elements>
 *     matmul-mpi verified <yes: C is bit for bit one serial dgemm's, or skipped>
 *
 *     mpicc.openmpi -std=c11 -D_GNU_SOURCE -O3 -Ibench $(pkg-config --cflags openblas) \
 *         -o build/bench/mpi/matmul_mpi.openmpi bench/mpi/matmul_mpi.c bench/bench.c -lopenblas -lm
 *     mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n 2 \
 *         build/bench/mpi/matmul_mpi.openmpi 64 1000 --p 4
 *     mpicc.mpich ... -o build/bench/mpi/matmul_mpi.mpich ...
 *     mpiexec.hydra -n 2 build/bench/mpi/matmul_mpi.mpich 64 1000 --p 4
 */
#include "bench_mpi.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_MAX = 16384, P_MAX = 32, ITERATIONS_MAX = 100000, WARM_UP_ITERATIONS = 2 };
enum { TILED_FROM = 1000 * 1000, TILED_COLUMNS = 256, TILE_ROWS = 32, TILE_DEPTH = 64 };
enum kind { KIND_A, KIND_B, KIND_C, KINDS };

struct requests {
	MPI_Request *at;
	MPI_Status *status;
	int n;
};

/* Where a cube is, and its place among those it exchanges a kind with: z, x, y. */
struct place {
	int x, y, z;
	int me[KINDS];
};

struct cube {
	struct place place;
	double *ab[KIND_C];        /* blocks of A and B: the own slice and received ones */
	double *partial;           /* their product */
	double *c;                 /* the own slice of C, summed over the iterations */
	double *parts;             /* slices of C from other ranks, one after the other */
	struct requests receive_inputs, receive_parts, send_inputs, send_parts;
};

struct matmul {
	int n, p, iterations, repeats;
	bool verify, pin, spread;
	int rank, ranks;
	int block;                 /* rows and columns of a block: n / p */
	int *start;                /* [p + 1]: where a slice of a block begins, in doubles */
	int first, count;          /* cubes of this rank */
	struct cube *cube;
	struct requests receive_inputs, receive_parts; /* of all cubes, in the order of sending */
};

/* What the sums of all ranks add up to; integers, so that their order is of no importance. */
struct result {
	long wrong, checksum, hash_low, hash_high;
};
#define C_UNITS 64.0

/* ---- the matrices ------------------------------------------------------------------------- */

static double element(int kind, int row, int column)
{
	return kind == KIND_A ? ((row * 7 + column * 3) % 17 - 8) / 8.0
			      : ((row * 5 + column * 11) % 19 - 9) / 8.0;
}

static void fill(double *out, int kind, int row0, int rows, int column0, int columns)
{
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < columns; j++)
			*out++ = element(kind, row0 + i, column0 + j);
}

static int at_most(int n, int most)
{
	return n < most ? n : most;
}

/* out = alpha a b, all row-major and without gaps, in the same tiles as examples/matmul, which says
 * why. */
static void multiply(double *out, double alpha, const double *a, const double *b, int rows,
		     int columns, int depth)
{
	bool tiled = (long)rows * columns * depth > TILED_FROM && columns <= TILED_COLUMNS;
	int tile_rows = tiled ? TILE_ROWS : rows, tile_depth = tiled ? TILE_DEPTH : depth;

	for (int i = 0; i < rows; i += tile_rows)
		for (int k = 0; k < depth; k += tile_depth)
			cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans,
				    at_most(rows - i, tile_rows), columns,
				    at_most(depth - k, tile_depth), alpha, a + i * depth + k, depth,
				    b + k * columns, columns, k ? 1.0 : 0.0, out + i * columns,
				    columns);
}

/* Zeroed, and on a cache line; not on a page each, as bench_alloc's, or blocks of many cubes would
 * fall on the same sets of a cache. */
static void *allocate(size_t bytes)
{
	void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);

	if (!p) {
		fprintf(stderr, "matmul_mpi: no memory for %zu bytes\n", bytes);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return memset(p, 0, bytes);
}

static double *doubles(int n)
{
	return allocate((size_t)n * sizeof(double));
}

static int factor_of(int iteration)
{
	return 1 << iteration % 3;
}

static long factor_sum(const struct matmul *m)
{
	long sum = 0;

	for (int k = 0; k < m->iterations; k++)
		sum += factor_of(k);
	return sum;
}

/* ---- who has what ------------------------------------------------------------------------- */

static int slice_doubles(const struct matmul *m, int i)
{
	return m->start[i + 1] - m->start[i];
}

static int slice_row(const struct matmul *m, int i)
{
	return m->start[i] / m->block;
}

/* As in examples/matmul: numbers go by (x, y, z), or with --spread by ((x + y + z) % p, y, z). */
static struct place place_of(const struct matmul *m, int number)
{
	int p = m->p, first = number / p / p;
	struct place at = {first, number / p % p, number % p, {0}};

	if (m->spread)
		at.x = (2 * p + first - at.y - at.z) % p;
	at.me[KIND_A] = at.z;
	at.me[KIND_B] = at.x;
	at.me[KIND_C] = at.y;
	return at;
}

/* The q-th of the cubes that share a block of this kind with the one at that place. */
static int peer(const struct matmul *m, const struct place *at, int kind, int q)
{
	int x = kind == KIND_B ? q : at->x, y = kind == KIND_C ? q : at->y;
	int z = kind == KIND_A ? q : at->z, first = m->spread ? x + y + z : x;

	while (first >= m->p)
		first -= m->p;
	return (first * m->p + y) * m->p + z;
}

static int first_of_rank(const struct matmul *m, int rank)
{
	int total = m->p * m->p * m->p, each = total / m->ranks, rest = total % m->ranks;

	return rank * each + (rank < rest ? rank : rest);
}

static int rank_of(const struct matmul *m, int number)
{
	int rank = 0;

	while (number >= first_of_rank(m, rank + 1))
		rank++;
	return rank;
}

/* NULL: another rank's. */
static struct cube *own_cube(const struct matmul *m, int number)
{
	int i = number - m->first;

	return i >= 0 && i < m->count ? &m->cube[i] : NULL;
}

/* ---- set-up --------------------------------------------------------------------------------- */

static void requests_create(struct requests *r, int most)
{
	r->at = allocate((size_t)most * sizeof *r->at);
	r->status = allocate((size_t)most * sizeof *r->status);
}

/* What peer q sends to the cube, in this exchange. */
static int tag_of(const struct matmul *m, int number, int kind, int q)
{
	return (number * KINDS + kind) * m->p + q;
}

/* Cube `number` gets what cube `from` of another rank has of this kind, being its q-th peer. */
static void receive_from(struct matmul *m, int from, int kind, int q, int number)
{
	struct cube *c = own_cube(m, number);
	bool inputs = kind != KIND_C;
	struct requests *r = inputs ? &c->receive_inputs : &c->receive_parts;
	struct requests *all = inputs ? &m->receive_inputs : &m->receive_parts;
	int n = slice_doubles(m, inputs ? q : c->place.y);
	double *to = inputs ? c->ab[kind] + m->start[q] : c->parts + r->n * n;

	MPI_Recv_init(to, n, MPI_DOUBLE, rank_of(m, from), tag_of(m, number, kind, q),
		      MPI_COMM_WORLD, &r->at[r->n]);
	all->at[all->n++] = r->at[r->n++];
}

static void send_to(struct matmul *m, struct cube *c, int kind, int q, int number)
{
	bool inputs = kind != KIND_C;
	struct requests *r = inputs ? &c->send_inputs : &c->send_parts;
	int me = c->place.me[kind], slice = inputs ? me : q;
	const double *from = (inputs ? c->ab[kind] : c->partial) + m->start[slice];

	MPI_Send_init(from, slice_doubles(m, slice), MPI_DOUBLE, rank_of(m, number),
		      tag_of(m, number, kind, me), MPI_COMM_WORLD, &r->at[r->n++]);
}

/* In the order in which slices are sent, from wherever: a library finds the receive for a message
 * at the head of its list, not behind hundreds of others. The requests of a cube, which it waits
 * for, are the same ones. (N 64, P 8 on 2 ranks: 450 us; in the order of the receiving cubes
 * 1400 with Open MPI, 1900 with MPICH.) */
static void connect_all(struct matmul *m)
{
	for (int number = 0; number < m->p * m->p * m->p; number++) {
		struct place at = place_of(m, number);
		struct cube *own = own_cube(m, number);

		for (int kind = 0; kind < KINDS; kind++)
			for (int q = 0; q < m->p; q++) {
				int other = peer(m, &at, kind, q);

				if (own && !own_cube(m, other))
					send_to(m, own, kind, q, other);
				else if (!own && own_cube(m, other))
					receive_from(m, number, kind, at.me[kind], other);
			}
	}
}

static void cube_create(struct matmul *m, struct cube *c, int number)
{
	int area = m->block * m->block, p = m->p;

	c->place = place_of(m, number);
	c->ab[KIND_A] = doubles(area);
	c->ab[KIND_B] = doubles(area);
	c->partial = doubles(area);
	c->c = doubles(slice_doubles(m, c->place.y));
	c->parts = doubles(p * slice_doubles(m, c->place.y));
	requests_create(&c->receive_inputs, 2 * p);
	requests_create(&c->receive_parts, p);
	requests_create(&c->send_inputs, 2 * p);
	requests_create(&c->send_parts, p);
}

static void requests_end(struct requests *r)
{
	for (int i = 0; i < r->n; i++)
		MPI_Request_free(&r->at[i]);
	free(r->at);
	free(r->status);
}

static void cube_destroy(struct cube *c)
{
	requests_end(&c->receive_inputs);
	requests_end(&c->receive_parts);
	requests_end(&c->send_inputs);
	requests_end(&c->send_parts);
	free(c->ab[KIND_A]);
	free(c->ab[KIND_B]);
	free(c->partial);
	free(c->c);
	free(c->parts);
}

static void matmul_create(struct matmul *m)
{
	m->block = m->n / m->p;
	m->start = allocate((size_t)(m->p + 1) * sizeof *m->start);
	for (int i = 0; i <= m->p; i++)
		m->start[i] = m->block * i / m->p * m->block;
	m->first = first_of_rank(m, m->rank);
	m->count = first_of_rank(m, m->rank + 1) - m->first;
	m->cube = allocate((size_t)m->count * sizeof *m->cube);
	requests_create(&m->receive_inputs, m->count * 2 * m->p);
	requests_create(&m->receive_parts, m->count * m->p);
	for (int i = 0; i < m->count; i++)
		cube_create(m, &m->cube[i], m->first + i);
	connect_all(m);
}

/* The lists of all cubes name requests of the cubes. */
static void matmul_destroy(struct matmul *m)
{
	for (int i = 0; i < m->count; i++)
		cube_destroy(&m->cube[i]);
	m->receive_inputs.n = m->receive_parts.n = 0;
	requests_end(&m->receive_inputs);
	requests_end(&m->receive_parts);
	free(m->cube);
	free(m->start);
}

/* ---- one iteration -------------------------------------------------------------------------- */

static void start(struct requests *r)
{
	if (r->n)
		MPI_Startall(r->n, r->at);
}

static void wait_for(struct requests *r)
{
	if (r->n)
		MPI_Waitall(r->n, r->at, r->status);
}

static void add(double *c, const double *part, int n)
{
	cblas_daxpy(n, 1.0, part, 1, c, 1);
}

/* To the cubes of this rank, the own slices of A and B. */
static void copy_inputs(const struct matmul *m, const struct cube *c)
{
	for (int kind = KIND_A; kind <= KIND_B; kind++) {
		int me = c->place.me[kind];
		size_t bytes = (size_t)slice_doubles(m, me) * sizeof(double);

		for (int q = 0; q < m->p; q++) {
			struct cube *to = own_cube(m, peer(m, &c->place, kind, q));

			if (to && to != c)
				memcpy(to->ab[kind] + m->start[me], c->ab[kind] + m->start[me],
				       bytes);
		}
	}
}

static void send_inputs(const struct matmul *m, struct cube *c, double scale)
{
	int z = c->place.z;

	cblas_dscal(slice_doubles(m, z), scale, c->ab[KIND_A] + m->start[z], 1);
	start(&c->send_inputs);
	copy_inputs(m, c);
}

static void multiply_cube(const struct matmul *m, struct cube *c)
{
	wait_for(&c->receive_inputs);
	multiply(c->partial, 1.0, c->ab[KIND_A], c->ab[KIND_B], m->block, m->block, m->block);
	start(&c->send_parts);
	for (int q = 0; q < m->p; q++) {
		struct cube *to = own_cube(m, peer(m, &c->place, KIND_C, q));

		if (to)
			add(to->c, c->partial + m->start[q], slice_doubles(m, q));
	}
}

static void add_parts(const struct matmul *m, struct cube *c)
{
	int n = slice_doubles(m, c->place.y);

	wait_for(&c->receive_parts);
	for (int i = 0; i < c->receive_parts.n; i++)
		add(c->c, c->parts + i * n, n);
}

static void iterate(struct matmul *m, double scale)
{
	struct cube *end = m->cube + m->count;

	start(&m->receive_inputs);
	start(&m->receive_parts);
	for (struct cube *c = m->cube; c < end; c++)
		send_inputs(m, c, scale);
	for (struct cube *c = m->cube; c < end; c++)
		multiply_cube(m, c);
	for (struct cube *c = m->cube; c < end; c++)
		add_parts(m, c);
	for (struct cube *c = m->cube; c < end; c++) {
		wait_for(&c->send_inputs);
		wait_for(&c->send_parts);
	}
}

/* ---- runs ----------------------------------------------------------------------------------- */

static void prepare(struct matmul *m)
{
	for (struct cube *c = m->cube; c < m->cube + m->count; c++) {
		int a = slice_row(m, c->place.z), b = slice_row(m, c->place.x);

		fill(c->ab[KIND_A] + m->start[c->place.z], KIND_A, c->place.x * m->block + a,
		     slice_row(m, c->place.z + 1) - a, c->place.y * m->block, m->block);
		fill(c->ab[KIND_B] + m->start[c->place.x], KIND_B, c->place.y * m->block + b,
		     slice_row(m, c->place.x + 1) - b, c->place.z * m->block, m->block);
		memset(c->c, 0, (size_t)slice_doubles(m, c->place.y) * sizeof *c->c);
	}
}

/* Microseconds per iteration. */
static double run(struct matmul *m, int iterations)
{
	double began;

	prepare(m);
	MPI_Barrier(MPI_COMM_WORLD);
	began = bench_now_us();
	for (int k = 0; k < iterations; k++)
		iterate(m, k ? (double)factor_of(k) / factor_of(k - 1) : 1.0);
	MPI_Barrier(MPI_COMM_WORLD);
	return (bench_now_us() - began) / iterations;
}

static double timed_runs(struct matmul *m)
{
	double us[BENCH_REPEATS_MAX];

	run(m, WARM_UP_ITERATIONS);
	for (int i = 0; i < m->repeats; i++)
		us[i] = run(m, m->iterations);
	return bench_median(us, m->repeats);
}

/* ---- the answer ----------------------------------------------------------------------------- */

/* Rows of the cube's slice of C that differ from one dgemm over the whole depth. */
static long wrong_rows(const struct matmul *m, const struct cube *c, int row0, int rows)
{
	double *a = doubles(rows * m->n), *b = doubles(m->n * m->block);
	double *want = doubles(rows * m->block);
	long wrong = 0;

	fill(a, KIND_A, row0, rows, 0, m->n);
	fill(b, KIND_B, 0, m->n, c->place.z * m->block, m->block);
	multiply(want, (double)factor_sum(m), a, b, rows, m->block, m->n);
	for (int i = 0; i < rows; i++)
		wrong += memcmp(c->c + i * m->block, want + i * m->block,
				(size_t)m->block * sizeof *want) != 0;
	free(a);
	free(b);
	free(want);
	return wrong;
}

/* As in examples/matmul: the bits of an element, mixed with its place (MurmurHash3). */
static uint64_t hash_element(uint64_t place, double value)
{
	uint64_t h;

	memcpy(&h, &value, sizeof h);
	h ^= place * UINT64_C(0x9e3779b97f4a7c15);
	h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
	h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ h >> 33;
}

static void check_cube(const struct matmul *m, const struct cube *c, struct result *r)
{
	int row0 = c->place.x * m->block + slice_row(m, c->place.y);
	int rows = slice_row(m, c->place.y + 1) - slice_row(m, c->place.y);
	const double *v = c->c;
	uint64_t hash = 0;

	for (int i = 0; i < rows; i++)
		for (int j = 0; j < m->block; j++, v++) {
			uint64_t place = (uint64_t)(row0 + i) * (uint64_t)m->n +
					 (uint64_t)(c->place.z * m->block + j);

			r->checksum += (long)(*v * C_UNITS);
			hash += hash_element(place, *v);
		}
	r->hash_low += (long)(hash & UINT32_MAX);
	r->hash_high += (long)(hash >> 32);
	if (m->verify)
		r->wrong += wrong_rows(m, c, row0, rows);
}

/* All ranks learn whether C is right. */
static bool report(const struct matmul *m, double us)
{
	struct result mine = {0}, all;

	for (int i = 0; i < m->count; i++)
		check_cube(m, &m->cube[i], &mine);
	MPI_Allreduce(&mine, &all, sizeof mine / sizeof(long), MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	if (m->rank == 0) {
		uint64_t hash = (uint64_t)all.hash_low + ((uint64_t)all.hash_high << 32);

		printf("matmul-mpi iter_us %.3f\n", us);
		printf("matmul-mpi checksum %.17g\n",
		       (double)all.checksum / C_UNITS / (double)factor_sum(m));
		printf("matmul-mpi hash %016llx\n", (unsigned long long)hash);
		printf("matmul-mpi verified %s\n", all.wrong ? "no" : m->verify ? "yes" : "skipped");
	}
	return !all.wrong;
}

/* ---- main ----------------------------------------------------------------------------------- */

/* The value of option argv[*i], which it then stands on. */
static int value_of(int argc, char **argv, int *i, int max)
{
	if (*i + 1 == argc)
		bench_mpi_refuse("%s: %s wants a value\n", argv[0], argv[*i]);
	++*i;
	return (int)bench_number(argv[0], argv[*i - 1], argv[*i], 1, max);
}

static void parse(struct matmul *m, int argc, char **argv)
{
	int n = 0;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--no-verify"))
			m->verify = false;
		else if (!strcmp(argv[i], "--spread"))
			m->spread = true;
		else if (!strcmp(argv[i], "--no-pin"))
			m->pin = false;
		else if (!strcmp(argv[i], "--p"))
			m->p = value_of(argc, argv, &i, P_MAX);
		else if (!strcmp(argv[i], "--repeat"))
			m->repeats = value_of(argc, argv, &i, BENCH_REPEATS_MAX);
		else if (++n == 1)
			m->n = (int)bench_number(argv[0], "N", argv[i], 1, N_MAX);
		else
			m->iterations = (int)bench_number(argv[0], "ITERATIONS", argv[i], 1,
							  ITERATIONS_MAX);
	}
	if (n != 2)
		bench_mpi_refuse("usage: %s N ITERATIONS [--p P] [--repeat R] "
				 "[--spread] [--no-verify] [--no-pin]\n", argv[0]);
}

static void check_sizes(struct matmul *m)
{
	int p = 1;

	while (p * p * p < m->ranks)
		p++;
	if (!m->p && p * p * p != m->ranks)
		bench_mpi_refuse("matmul_mpi: without --p it needs 1, 8, 27, ... ranks, not %d\n",
				 m->ranks);
	if (!m->p)
		m->p = p;
	if (m->ranks > m->p * m->p * m->p)
		bench_mpi_refuse("matmul_mpi: %d ranks for %d cubes\n", m->ranks,
				 m->p * m->p * m->p);
	if (m->n % m->p || m->n < m->p * m->p)
		bench_mpi_refuse("matmul_mpi: N = %d is not a multiple of %d from %d on\n", m->n,
				 m->p, m->p * m->p);
}

int main(int argc, char **argv)
{
	struct matmul m = {.repeats = 1, .verify = true, .pin = true};
	bool right;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &m.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &m.ranks);
	openblas_set_num_threads(1);
	parse(&m, argc, argv);
	check_sizes(&m);
	if (m.pin)
		bench_mpi_pin(m.rank);
	matmul_create(&m);
	right = report(&m, timed_runs(&m));
	matmul_destroy(&m);
	MPI_Finalize();
	return right ? 0 : 1;
}
