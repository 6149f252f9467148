/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What examples/fft is measured against: FFTW's own transform by MPI, in three dimensions, there
 * and back, in place. It cuts the cube in slabs. The spectrum stays transposed, as in the example,
 * which saves FFTW an exchange each way.
 *
 *     fft_mpi SIDE [--iterations N] [--estimate] [--no-pin]
 *
 * FFTW tries what is fastest (FFTW_MEASURE), unless told --estimate. Prints
 *
 *     fft-mpi iter_us <microseconds there and back, scaling included>
 *     fft-mpi error <largest difference to the input at the end>
 *
 *     mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n 2 \
 *         build/bench/mpi/fft_mpi.openmpi 128
 */
#include "bench_mpi.h"

#include <complex.h>
#include <fftw3-mpi.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../examples/random.h"

enum { SIDE_MAX = 1024, ITERATIONS_MAX = 100000, SEED = 1 };

struct fft {
	ptrdiff_t side, n_x, first_x, n_y, first_y;
	long iterations;
	unsigned effort;
	bool pin;
	int rank;
	fftw_complex *v;
	fftw_plan forward, backward;
};

static void usage(const char *program)
{
	bench_mpi_refuse("usage: %s SIDE [--iterations N] [--estimate] [--no-pin]\n", program);
}

static void parse(struct fft *f, int argc, char **argv)
{
	*f = (struct fft){ .iterations = 10, .effort = FFTW_MEASURE, .pin = true };
	if (argc < 2)
		usage(argv[0]);
	f->side = bench_number(argv[0], "SIDE", argv[1], 1, SIDE_MAX);
	for (int i = 2; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (!strcmp(argv[i], "--no-pin"))
			f->pin = false;
		else if (!strcmp(argv[i], "--estimate"))
			f->effort = FFTW_ESTIMATE;
		else if (!strcmp(argv[i], "--iterations"))
			f->iterations = bench_number(argv[0], "--iterations", value, 1, ITERATIONS_MAX),
			i++;
		else
			usage(argv[0]);
	}
}

static void create(struct fft *f)
{
	const ptrdiff_t n = f->side;
	ptrdiff_t room;

	MPI_Comm_rank(MPI_COMM_WORLD, &f->rank);
	if (f->pin)
		bench_mpi_pin(f->rank);
	room = fftw_mpi_local_size_3d_transposed(n, n, n, MPI_COMM_WORLD, &f->n_x, &f->first_x,
						 &f->n_y, &f->first_y);
	f->v = fftw_alloc_complex((size_t)room);
	f->forward = fftw_mpi_plan_dft_3d(n, n, n, f->v, f->v, MPI_COMM_WORLD, FFTW_FORWARD,
					  f->effort | FFTW_MPI_TRANSPOSED_OUT);
	f->backward = fftw_mpi_plan_dft_3d(n, n, n, f->v, f->v, MPI_COMM_WORLD, FFTW_BACKWARD,
					   f->effort | FFTW_MPI_TRANSPOSED_IN);
	if (!f->v || !f->forward || !f->backward)
		bench_mpi_refuse("fft_mpi: no plan for a cube of %td\n", n);
}

/* Number i of this rank, as in examples/fft. */
static fftw_complex input(const struct fft *f, ptrdiff_t i)
{
	const uint64_t place = (uint64_t)(f->first_x * f->side * f->side + i);

	return (double)(int64_t)random_at(SEED, 2 * place) * 0x1p-63 +
	       (double)(int64_t)random_at(SEED, 2 * place + 1) * 0x1p-63 * I;
}

static void there_and_back(struct fft *f)
{
	const ptrdiff_t n = f->n_x * f->side * f->side;
	const double scale = 1 / ((double)f->side * (double)f->side * (double)f->side);

	fftw_execute(f->forward);
	fftw_execute(f->backward);
	for (ptrdiff_t i = 0; i < n; i++)
		f->v[i] *= scale;
}

static double error_of(const struct fft *f)
{
	double most = 0, all;

	for (ptrdiff_t i = 0; i < f->n_x * f->side * f->side; i++)
		most = fmax(most, cabs(f->v[i] - input(f, i)));
	MPI_Reduce(&most, &all, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	return all;
}

int main(int argc, char **argv)
{
	struct fft f;
	double us, error;

	MPI_Init(&argc, &argv);
	fftw_mpi_init();
	parse(&f, argc, argv);
	create(&f);
	for (ptrdiff_t i = 0; i < f.n_x * f.side * f.side; i++)
		f.v[i] = input(&f, i);
	there_and_back(&f);
	MPI_Barrier(MPI_COMM_WORLD);
	us = bench_now_us();
	for (long i = 0; i < f.iterations; i++)
		there_and_back(&f);
	MPI_Barrier(MPI_COMM_WORLD);
	us = bench_now_us() - us;
	error = error_of(&f);
	if (f.rank == 0)
		printf("fft-mpi iter_us %.3f\nfft-mpi error %.1e\n", us / (double)f.iterations, error);
	fftw_destroy_plan(f.forward);
	fftw_destroy_plan(f.backward);
	fftw_free(f.v);
	MPI_Finalize();
	return 0;
}
