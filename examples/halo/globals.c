/* SPDX-License-Identifier: Apache-2.0 */
/* globals.c: rows are stored into the neighbours' ghosts, which lie in a spread. */
#include <string.h>

#include "halo.h"

void globals_start(void)
{
	globals = Globals_ckNew();
	CkSpreadNew((uint64_t)(strip_rows() * CkNumPes()), row_bytes(), (uint64_t)strip_rows(),
		    Globals_cb_run_all(globals));
}

void Globals_on_new(Globals *self)
{
	(void)self;
}

void Globals_on_run(Globals *self, const CkReductionMsg *m)
{
	struct strip *s = &self->s;
	CkSpread field;
	uint64_t n;

	memcpy(&field, CkReductionMsg_data(m), sizeof field);
	strip_begin(s, CkSpreadLocal(field, &n));
	while (s->step < steps) {
		const int odd = s->step % 2;

		for (int side = ABOVE; side <= BELOW; side++) {
			const long there = neighbour(side) * strip_rows() + row_number(odd, ghost(side ^ 1));

			CkStore(CkSpreadAt(field, (uint64_t)there), strip_row(s, odd, border(side)), row_bytes());
		}
		CkAllStoreSync();
		strip_compute(s);
	}
	strip_end(s, self);
}
