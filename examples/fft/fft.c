/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fft: a Fourier transform in three dimensions and back, again and again. FFTW transforms lines,
 * channels transpose.
 *
 *	ckrun -n 2 ./fft --side 128 --rows 2 --measure 1 --verify 0 --iterations 20
 *	ckrun -n 4 ./fft --side 128 --rows 2 --columns 2 --measure 1 --verify 0 --iterations 20
 *
 * The cube is cut in two of its directions, into rows * columns pencils, which are elements of an
 * array; with one column into slabs. Pencil (r, c) has, one after the other,
 *
 *	z_lines  [x of part r][y of part c][all z]    exchanged within the row, if it has others
 *	y_lines  [x of part r][all y][z of part c]    exchanged within the column
 *	x_lines  [all x][y of part r][z of part c]
 *
 * Each plane of x is put as soon as it is transformed, from where it is to where it is needed: the
 * sender's end of the channel is strided where that is not one piece. A slab's planes are whole, so
 * y_lines are z_lines.
 *
 * Shows   named channels in both directions, with strided senders; sets, whose handler runs when
 *         all pieces have come; a library's plans for each element, made again where it has moved
 *         to.
 * Checks  after the way back, every number against the input; with --verify every number of the
 *         spectrum against FFTW's three-dimensional transform on one processor.
 */
#include "../args.h"
#include "pencil.h"

struct Main {
	double began;                   /* after one iteration, until all memory has been touched */
	bool right;
};

/* ---- the main chare -------------------------------------------------------------------------- */

/* Several PEs of a process may plan. */
void let_all_plan(void)
{
	fftw_make_planner_thread_safe();
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	const struct arg args[] = {
		{"side", &side, 16, 1, 1024, "points of each side of the cube"},
		{"rows", &rows, 4, 1, 1024, "parts that x is cut into"},
		{"columns", &columns, 1, 1, 1024, "parts that y is cut into; 1: pencils are slabs"},
		{"iterations", &iterations, 3, 1, 1000000, "times there and back"},
		{"measure", &measure, 0, 0, 1, "1: FFTW tries what is fastest"},
		{"lb", &lb, 0, 0, 1000000, "iterations after which CK_LB may move pencils; 0: never"},
		{"verify", &verify, 1, 0, 1, "1: compare the spectrum with one processor's"},
		{"seed", &seed, 1, 0, 1000000000, "of the input"},
	};

	if (!args_read("fft", m, args, sizeof args / sizeof *args))
		return;
	if (rows > side || columns > side) {
		CkError("fft: a side of %ld cannot be cut into %ld parts\n", side,
			rows > columns ? rows : columns);
		CkExit(1);
		return;
	}
	mainProxy = Main_thisProxy(self);
	pencils = Pencil_ckNew(CkDims((int)rows, (int)columns));
}

void Main_on_made(Main *self)
{
	(void)self;
	Pencil_run_all(pencils, 1);
}

void Main_on_ran(Main *self, double error)
{
	if (!self->began) {
		self->began = CkWallTimer();
		Pencil_run_all(pencils, (int)iterations);
		return;
	}
	self->right = error < 1e-12;
	CkPrintf("fft: a cube of %ld^3 in %ld x %ld parts on %d PEs, there and back in %.3f ms, error "
		 "%.1e: %s\n",
		 side, rows, columns, CkNumPes(), (CkWallTimer() - self->began) * 1e3 / (double)iterations,
		 error, self->right ? "checked" : "WRONG");
	Pencil_finish_all(pencils);
}

void Main_on_finished(Main *self)
{
	CkExit(self->right ? 0 : 1);
}

#include "fft.def.h"
