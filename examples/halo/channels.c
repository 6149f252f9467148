/* SPDX-License-Identifier: Apache-2.0 */
/* channels.c: rows go by channels into the neighbours' ghosts. */
#include "halo.h"

static void advance(void *self);

void channels_start(void)
{
	channels = Channels_ckNew();
	Channels_connect_all(channels);
}

void Channels_on_new(Channels *self)
{
	strip_begin(&self->s, CkDirect_alloc((size_t)strip_rows() * row_bytes()));
}

/* Two channels from each neighbour: one is ready while what came by the other is read. */
void Channels_on_connect(Channels *self)
{
	for (int odd = 0; odd < 2; odd++) {
		CkDirectHandle *both[2];

		for (int side = ABOVE; side <= BELOW; side++) {
			both[side] = &self->from[odd][side];
			*both[side] = CkDirect_createHandleSeq(strip_row(&self->s, odd, ghost(side)),
							       row_bytes(), advance, self);
			Channels_bind(Channels_at(channels, neighbour(side)), side ^ 1, odd, *both[side]);
		}
		self->set[odd] = CkDirect_createSet(both, 2, advance, self);
	}
}

void Channels_on_bind(Channels *self, int side, int odd, CkDirectHandle h)
{
	self->to[odd][side] = h;
	CkDirect_assocLocalBuffer(&self->to[odd][side], strip_row(&self->s, odd, border(side)),
				  row_bytes());
	if (++self->n_bound == 4)
		CkContributeBarrier(self, Channels_cb_run_all(channels));
}

static void put_rows(Channels *self)
{
	for (int side = ABOVE; side <= BELOW; side++)
		CkDirect_put(&self->to[self->s.step % 2][side]);
	self->n_puts++;
}

/* This step's rows are on their way, and both neighbours' are there. Those of the next step may
 * have been seen before. */
static bool is_complete(const Channels *self)
{
	const int step = self->s.step;

	return self->n_puts > step && CkDirect_setRounds(self->set[step % 2]) > (uint64_t)step / 2;
}

/* No put is on its way: each exchange of a step has been waited for. */
static void end(Channels *self)
{
	strip_end(&self->s, self);
	for (int odd = 0; odd < 2; odd++)
		CkDirect_destroySet(self->set[odd]);
	CkDirect_free(self->s.u);
}

/* A neighbour puts into these ghosts again when it has what this strip puts next. */
static void advance(void *arg)
{
	Channels *self = arg;

	while (is_complete(self)) {
		const int odd = self->s.step % 2;

		strip_compute(&self->s);
		CkDirect_readySet(self->set[odd]);
		if (self->s.step < steps)
			put_rows(self);
		else
			end(self);
	}
}

void Channels_on_run(Channels *self)
{
	self->s.began = CkWallTimer();
	put_rows(self);
	advance(self);
}
