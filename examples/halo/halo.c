/* SPDX-License-Identifier: Apache-2.0 */
/*
 * halo: Jacobi's method for Poisson's equation, a strip on each PE. The same exchange of rows in
 * three ways: by messages, by channels, by global pointers.
 *
 *	ckrun -n 2 ./halo --way channels --rows 500 --columns 500 --steps 200
 *
 * Shows   what is the same and what differs, in messages.c, channels.c and globals.c; docs/HALO.md
 *         goes through them.
 * Checks  every point, bit for bit, against one processor's.
 * Prints  `halo-WAY PEs us`, microseconds per step.
 */
#include "halo.h"

#include <stdlib.h>
#include <string.h>

#include "../args.h"
#include "../memory.h"
#include "../random.h"

struct Main {
	double seconds;
	int n_came;             /* strips, and the time */
	double *u;
};

static double random_number(long row, long column)
{
	return (double)(random_at(1, (uint64_t)(row * columns + column)) >> 40) * 0x1p-24;
}

/* ---- a strip ------------------------------------------------------------------------------- */

/* Rows `first`, first + 1, ... of the field. Those of step 0 and the right side are alike. */
static void fill(double *u, long first, long n)
{
	for (long row = 0; row < n; row++)
		for (long c = 0; c < columns; c++)
			u[row * columns + c] = c && c < columns - 1 ? random_number(first + row, c) : 0;
}

void strip_begin(struct strip *s, double *memory)
{
	s->u = memory ? memory : get(strip_rows() * columns, sizeof(double));
	s->f = get(rows * columns, sizeof(double));
	fill(strip_row(s, 0, 1), CkMyPe() * rows, rows);
	fill(strip_row(s, 1, 1), CkMyPe() * rows, rows);
	fill(s->f, CkMyPe() * rows, rows);
	s->began = CkWallTimer();
}

/* The first and the last column stay as they are. */
static void compute_row(double *restrict next, const double *up, const double *here,
			const double *down, const double *f)
{
	for (long c = 1; c < columns - 1; c++)
		next[c] = 0.25 * (up[c] + down[c] + here[c - 1] + here[c + 1] - f[c]);
}

void strip_compute(struct strip *s)
{
	const int odd = s->step++ % 2;

	for (long row = 1; compute && row <= rows; row++)
		compute_row(strip_row(s, !odd, row), strip_row(s, odd, row - 1), strip_row(s, odd, row),
			    strip_row(s, odd, row + 1), s->f + (row - 1) * columns);
}

void strip_end(struct strip *s, void *self)
{
	const double seconds = CkWallTimer() - s->began;

	CkContribute(self, &seconds, 1, CkReduction_max_double, Main_cb_took(mainProxy));
	Main_strip(mainProxy, CkMyPe(), (int)(rows * columns), strip_row(s, s->step % 2, 1));
	free(s->f);
}

/* ---- the main chare ------------------------------------------------------------------------ */

enum { MESSAGES, CHANNELS, GLOBALS };

static long way;

void Main_on_new(Main *self, CkArgMsg *m)
{
	void (*const starts[])(void) = { messages_start, channels_start, globals_start };
	const struct arg args[] = {
		{"way", &way, MESSAGES, MESSAGES, GLOBALS, "messages|channels|globals"},
		{"rows", &rows, 10, 1, 100000, "of each PE"},
		{"columns", &columns, 20, 1, 100000, "points of a row"},
		{"steps", &steps, 20, 1, 100000000, "of Jacobi's method"},
		{"compute", &compute, 1, 0, 1, "0: only exchange, for measurements"},
	};

	if (!args_read("halo", m, args, sizeof args / sizeof *args))
		return;
	mainProxy = Main_thisProxy(self);
	self->u = get(rows * CkNumPes() * columns, sizeof(double));
	starts[way]();
}

/* On one processor. The last row is above the first one. */
static double *solve(long n)
{
	const long points = n * columns;
	double *u = get(points, sizeof *u), *next = get(points, sizeof *u), *f = get(points, sizeof *u);

	fill(u, 0, n);
	fill(next, 0, n);
	fill(f, 0, n);
	for (long step = 0; compute && step < steps; step++) {
		double *old = u;

		for (long row = 0; row < n; row++)
			compute_row(next + row * columns, u + (row + n - 1) % n * columns, u + row * columns,
				    u + (row + 1) % n * columns, f + row * columns);
		u = next;
		next = old;
	}
	free(next);
	free(f);
	return u;
}

/* The strips of all PEs have come, and the time. */
static void came(Main *self)
{
	static const char *const names[] = { "messages", "channels", "globals" };
	const long n = rows * CkNumPes();
	double *right;
	bool wrong;

	if (++self->n_came < CkNumPes() + 1)
		return;
	right = solve(n);
	wrong = memcmp(right, self->u, (size_t)n * row_bytes()) != 0;
	CkPrintf("halo-%s %d %.3f us\n", names[way], CkNumPes(), self->seconds * 1e6 / (double)steps);
	CkPrintf("halo: %ld rows of %ld points on each of %d PEs, %ld steps by %s in %.4f s: %s\n", rows,
		 columns, CkNumPes(), steps, names[way], self->seconds, wrong ? "WRONG" : "checked");
	free(right);
	free(self->u);
	CkExit(wrong ? 1 : 0);
}

void Main_on_strip(Main *self, int pe, int n, const double *u)
{
	memcpy(self->u + (size_t)pe * (size_t)n, u, (size_t)n * sizeof *u);
	came(self);
}

void Main_on_took(Main *self, double seconds)
{
	self->seconds = seconds;
	came(self);
}

#include "halo.def.h"
