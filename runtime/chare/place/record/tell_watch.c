/* SPDX-License-Identifier: Apache-2.0 */
/* tell_watch.c: tells the parts that observe elements (create/place_watch.h) what happens. */
#include "place_record.h"

#include <string.h>

/* ---- elements -------------------------------------------------------------------------------- */

/* `event` is the offset in struct place_watch of a function that takes a PE and an element. */
void tell_watches(struct pe *pe, struct ck_obj *obj, size_t event)
{
	const struct place_watch *w;
	void (*fn)(struct pe *, struct ck_obj *);

	for (uint32_t part = 0; (w = watch_next(pe, &part));) {
		memcpy(&fn, (const char *)w + event, sizeof fn);
		if (fn)
			fn(pe, obj);
	}
}

bool watches_keep(struct pe *pe, struct ck_obj *obj)
{
	const struct place_watch *w;

	for (uint32_t part = 0; (w = watch_next(pe, &part));)
		if (w->leave_later && w->leave_later(pe, obj))
			return true;
	return false;
}

bool place_moves_alone(struct pe *pe, struct ck_obj *obj)
{
	for (const struct place_watch *const *w = watches_alone(pe); *w; w++)
		if ((*w)->alone(pe, obj))
			return true;
	return false;
}

/* ---- collections ----------------------------------------------------------------------------- */

void ask_still(struct pe *pe, struct collection *c, struct place_still *still)
{
	const struct place_watch *w;

	for (uint32_t part = 0; (w = watch_next(pe, &part));)
		if (w->still)
			w->still(pe, c, still);
}

void tell_reseated(struct pe *pe, struct collection *c, const struct place_still *still)
{
	const struct place_watch *w;

	for (uint32_t part = 0; (w = watch_next(pe, &part));)
		if (w->reseated)
			w->reseated(pe, c, still);
}

void tell_reopened(struct pe *pe, struct collection *c)
{
	const struct place_watch *w;

	for (uint32_t part = 0; (w = watch_next(pe, &part));)
		if (w->reopened)
			w->reopened(pe, c);
}
