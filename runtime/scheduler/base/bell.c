/* SPDX-License-Identifier: Apache-2.0 */
/* bell.c: see bell.h. This file has what happens at most once per lap. */
#include "bell.h"

void bell_write_init(struct bell_writer *w, struct bell *bell, uint32_t n_slots)
{
	*w = (struct bell_writer){
		.next = bell->slot,
		.stop = bell->slot + n_slots,
		.lap = BELL_LAP,
		.bell = bell,
		.n_slots = n_slots,
	};
}

void bell_read_init(struct bell_reader *r, struct bell *bell, uint32_t n_slots)
{
	*r = (struct bell_reader){
		.next = bell->slot,
		.end = bell->slot + n_slots,
		.lap = BELL_LAP,
		.bell = bell,
	};
}

uint64_t bell_pending(const struct bell_writer *w)
{
	uint64_t rung = w->laps + (uint64_t)(w->next - w->bell->slot);

	/* acquire: pairs with the release in bell_taken. Our store into a slot comes after the reader's
	 * load of the old word. */
	return rung - atomic_load_explicit(&w->bell->taken, memory_order_acquire);
}

bool bell_turn(struct bell_writer *w)
{
	_Atomic uint64_t *end = w->bell->slot + w->n_slots;
	uint64_t room;

	if (w->next == end) {
		w->next = w->bell->slot;
		w->lap ^= BELL_LAP;
		w->laps += w->n_slots;
	}
	room = w->n_slots - bell_pending(w);
	w->stop = room < (uint64_t)(end - w->next) ? w->next + room : end;
	return room > 0;
}
