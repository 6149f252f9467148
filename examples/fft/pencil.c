/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pencil.c: the transform of one pencil, there and back; its channels, and what it takes along.
 *
 * Why no put comes early: both ways touch the same memory in turn. A pencil arms the channels of
 * the way back just before the last put of the way there, without which nobody can begin the way
 * back; and the other way round.
 */
#include "pencil.h"

#include <math.h>
#include <string.h>

#include "../memory.h"

/* ---- channels -------------------------------------------------------------------------------- */

static size_t bytes_of(int n_rows, int n_columns)
{
	return (size_t)(n_rows * n_columns) * sizeof(fftw_complex);
}

static CkChannel **table(long n) { return get(n, sizeof(CkChannel *)); }

/* A piece is a part of y, that of the pencil whose z_lines it is in, by a part of z, the other's.
 * */
static void connect_row(Pencil *self, int i)
{
	const int tag = i / (int)columns, other = i % (int)columns;
	const int n_other = part_of(other, columns).n;
	const CProxyElement_Pencil peer = Pencil_at(pencils, row(self), other);
	const size_t in = bytes_of(n_other, y_row(self));
	const size_t out = bytes_of(ny_early(self), n_other + PAD);
	const CkDirectStrides lines = {
		.block_bytes = bytes_of(1, n_other + PAD),
		.blocks = (size_t)ny_early(self),
		.stride_bytes = (ptrdiff_t)bytes_of(1, z_row()),
		.planes = 1,
	};

	self->split_z_in[i] = Pencil_split_z_from(self, peer.ck, tag, in_y_lines(self, i), in);
	self->split_z_out[i] = Pencil_split_z_to_strided(self, peer, tag, in_z_lines(self, i), lines);
	self->join_z_in[i] = Pencil_join_z_from(self, peer.ck, tag, in_pieces(self, i), out);
	self->join_z_out[i] = Pencil_join_z_to(self, peer, tag, in_y_lines(self, i), in);
}

/* To the column, one of our planes of x; join_y_in follows in arm_join_y. */
static void connect_column(Pencil *self, int i)
{
	const int x = part_of(row(self), rows).first + i / (int)rows, other = i % (int)rows;
	const CProxyElement_Pencil peer = Pencil_at(pencils, other, column(self));

	self->split_y_out[i] = Pencil_split_y_to(self, peer, x, in_planes(self, i),
						 bytes_of(part_of(other, rows).n, y_row(self)));
}

/* From the column, any plane of x. */
static void connect_plane(Pencil *self, int x, int owner)
{
	const CProxyElement_Pencil peer = Pencil_at(pencils, owner, column(self));
	const size_t bytes = bytes_of(ny(self), y_row(self));

	self->split_y_in[x] = Pencil_split_y_from(self, peer.ck, x, x_plane(self, x), bytes);
	self->join_y_out[x] = Pencil_join_y_to(self, peer, x, x_plane(self, x), bytes);
}

static void connect_all(Pencil *self)
{
	self->split_z_in = table(n_row(self));
	self->split_z_out = table(n_row(self));
	self->join_z_in = table(n_row(self));
	self->join_z_out = table(n_row(self));
	self->split_y_in = table(side);
	self->join_y_out = table(side);
	self->split_y_out = table(n_column(self));
	self->join_y_in = table(n_column(self));
	for (int i = 0; i < n_row(self); i++)
		connect_row(self, i);
	for (int i = 0; i < n_column(self); i++)
		connect_column(self, i);
	for (int owner = 0; owner < rows; owner++)
		for (int x = 0; x < part_of(owner, rows).n; x++)
			connect_plane(self, part_of(owner, rows).first + x, owner);
}

/* Ends are armed when they are made. These lead to where the way there begins, so they are made
 * when it has ended for the first time. */
static void arm_join_y(Pencil *self)
{
	if (self->join_y_in[0]) {
		Pencil_join_y_ready(self);
		return;
	}
	for (int i = 0; i < n_column(self); i++) {
		const int x = part_of(row(self), rows).first + i / (int)rows, other = i % (int)rows;

		self->join_y_in[i] = Pencil_join_y_from(
			self, Pencil_at(pencils, other, column(self)).ck, x, in_planes(self, i),
			bytes_of(part_of(other, rows).n, y_row(self)));
	}
}

static void destroy(CkChannel **ends, int n)
{
	for (int i = 0; i < n; i++)
		CkChannelDestroy(ends[i]);
	free(ends);
}

/* ---- a pencil -------------------------------------------------------------------------------- */

static void make_plan(struct lines_plan *plan, struct lines lines, fftw_complex *v, bool may_try)
{
	if (!lines_plan(plan, lines, v, may_try))
		CkAbort("fft: FFTW makes no plan for lines of %d", lines.points);
}

/* The largest difference to the input; with `set`, the input itself. */
static double input(Pencil *self, bool set)
{
	const struct part x = part_of(row(self), rows), y = part_of(column(self), columns);
	double most = 0;

	for (int i = 0; i < x.n; i++)
		for (int j = 0; j < y.n; j++) {
			fftw_complex *v = z_plane(self, i) + j * z_row();
			const long first = ((x.first + i) * side + y.first + j) * side;

			for (int z = 0; z < side; z++) {
				const fftw_complex at = lines_input((uint64_t)seed, first + z);

				most = fmax(most, cabs(v[z] - at));
				if (set)
					v[z] = at;
			}
		}
	return most;
}

void Pencil_on_new(Pencil *self)
{
	const int n = (int)side;

	self->z_lines = get_numbers(z_count(self));
	self->x_lines = get_numbers(x_count(self));
	if (columns > 1) {
		self->y_lines = get_numbers(y_count(self));
		self->pieces = get_numbers(pieces_count(self));
	}
	make_plan(&self->z, (struct lines){ n, ny_early(self), 1, z_row() }, self->z_lines, measure);
	make_plan(&self->y, (struct lines){ n, nz(self), y_row(self), 1 }, y_plane(self, 0), measure);
	make_plan(&self->x, (struct lines){ n, nz(self), (int)x_stride(self), 1 }, self->x_lines, measure);
	memset(self->z_lines, 0, (size_t)z_count(self) * sizeof *self->z_lines);
	memset(self->x_lines, 0, (size_t)x_count(self) * sizeof *self->x_lines);
	input(self, true);
	connect_all(self);
	CkContributeBarrier(self, Main_cb_made(mainProxy));
}

/* The way there, from a plane of y lines on. */
static void split_plane(Pencil *self, int x)
{
	lines_forward(&self->y, y_plane(self, x));
	if (x == nx(self) - 1)
		arm_join_y(self);
	CkChannelPutAll(self->split_y_out + x * rows, (int)rows);
}

static void begin(Pencil *self)
{
	for (int x = 0; x < nx(self); x++) {
		lines_forward(&self->z, z_plane(self, x));
		if (columns == 1)
			split_plane(self, x);
		else
			CkChannelPutAll(self->split_z_out + x * columns, (int)columns);
	}
}

void Pencil_on_run(Pencil *self, int n)
{
	self->end += n;
	begin(self);
}

void Pencil_on_split_z(Pencil *self)
{
	for (int x = 0; x < nx(self); x++)
		split_plane(self, x);
}

/* How far this part of the spectrum is from that of one processor, for each number of the cube. */
static double spectrum_error(const Pencil *self)
{
	const struct part part_y = part_of(row(self), rows), part_z = part_of(column(self), columns);
	const long n = side * side * side;
	fftw_complex *all = get_numbers(n);
	fftw_plan plan = fftw_plan_dft_3d((int)side, (int)side, (int)side, all, all, FFTW_FORWARD,
					  FFTW_ESTIMATE);
	double most = 0;

	for (long i = 0; i < n; i++)
		all[i] = lines_input((uint64_t)seed, i);
	fftw_execute(plan);
	for (int x = 0; x < side; x++)
		for (int y = 0; y < part_y.n; y++) {
			const fftw_complex *v = x_plane(self, x) + y * y_row(self);
			const fftw_complex *right = all + (x * side + part_y.first + y) * side + part_z.first;

			for (int z = 0; z < part_z.n; z++)
				most = fmax(most, cabs(v[z] - right[z]));
		}
	fftw_destroy_plan(plan);
	CkDirect_free(all);
	return most / (double)n;
}

/* The spectrum is complete. A program would use it here; this one goes back. */
void Pencil_on_split_y(Pencil *self)
{
	for (int y = 0; y < ny(self); y++)
		lines_forward(&self->x, x_lines_at(self, y));
	if (verify && self->iteration == 0)
		self->error = spectrum_error(self);
	for (int y = 0; y < ny(self); y++)
		lines_backward(&self->x, x_lines_at(self, y));
	Pencil_split_y_ready(self);
	CkChannelPutAll(self->join_y_out, (int)side);
}

static void end_iteration(Pencil *self)
{
	if (++self->iteration == self->end) {
		const double error = fmax(self->error, input(self, false));

		CkContribute(self, &error, 1, CkReduction_max_double, Main_cb_ran(mainProxy));
	} else if (lb && self->iteration % lb == 0) {
		CkAtSync(self);
	} else {
		begin(self);
	}
}

void Pencil_on_resumeFromSync(Pencil *self)
{
	begin(self);
}

static void join_plane(Pencil *self, int x)
{
	const double scale = 1 / ((double)side * (double)side * (double)side);
	const int n = ny_early(self) * z_row();
	fftw_complex *v = z_plane(self, x);

	lines_backward(&self->z, v);
	for (int i = 0; i < n; i++)
		v[i] *= scale;
}

void Pencil_on_join_y(Pencil *self)
{
	for (int x = 0; x < nx(self); x++) {
		lines_backward(&self->y, y_plane(self, x));
		if (columns == 1) {
			join_plane(self, x);
			continue;
		}
		if (x == nx(self) - 1)
			Pencil_split_z_ready(self);
		CkChannelPutAll(self->join_z_out + x * columns, (int)columns);
	}
	if (columns == 1)
		end_iteration(self);
}

/* Piece i, line by line, to where the way there began. */
static void place_piece(Pencil *self, int i)
{
	const size_t n = (size_t)part_of(i % columns, columns).n;
	const fftw_complex *from = in_pieces(self, i);
	fftw_complex *to = in_z_lines(self, i);

	for (int y = 0; y < ny_early(self); y++, from += n + PAD, to += z_row())
		memcpy(to, from, n * sizeof *to);
}

void Pencil_on_join_z(Pencil *self)
{
	for (int i = 0; i < n_row(self); i++)
		place_piece(self, i);
	Pencil_join_z_ready(self);
	for (int x = 0; x < nx(self); x++)
		join_plane(self, x);
	end_iteration(self);
}

void Pencil_on_finish(Pencil *self)
{
	destroy(self->split_z_in, n_row(self));
	destroy(self->split_z_out, n_row(self));
	destroy(self->join_z_in, n_row(self));
	destroy(self->join_z_out, n_row(self));
	destroy(self->split_y_in, (int)side);
	destroy(self->join_y_out, (int)side);
	destroy(self->split_y_out, n_column(self));
	destroy(self->join_y_in, n_column(self));
	lines_forget(&self->z);
	lines_forget(&self->y);
	lines_forget(&self->x);
	CkDirect_free(self->z_lines);
	CkDirect_free(self->y_lines);
	CkDirect_free(self->x_lines);
	CkDirect_free(self->pieces);
	CkContributeBarrier(self, Main_cb_finished(mainProxy));
}

/* A plan belongs to its process. Where a pencil arrives, what that process has measured is used;
 * trying would overwrite the data. */
void lines_plan_pup(pup_er p, struct lines_plan *plan)
{
	pup_bytes(p, &plan->lines, sizeof plan->lines);
	pup_skip(p, plan->ways, sizeof plan->ways);
	if (pup_isUnpacking(p))
		make_plan(plan, plan->lines, NULL, false);
	if (pup_isDeleting(p))
		lines_forget(plan);
}
