/* SPDX-License-Identifier: Apache-2.0 */
/* frame.h: items to frames and back; the functions of struct filters_room with these names. */
#ifndef FRAME_H
#define FRAME_H

#include "filter.h"

struct filter_pe;

/** Main. A wire's state. */
struct filter_pe *frames_open(const struct cmi *m);
void frames_close(struct cmi_pe *w);

size_t frame_next(struct cmi_pe *w, int pe, const struct item *item, size_t at);
size_t frame_encode(struct cmi_pe *w, int pe, const struct item *item, size_t at, size_t piece,
		    void *to);
const char *frame_decode(struct cmi_pe *w, void *frame, size_t bytes, struct item_arrived *a);
_Noreturn void frame_refuse(struct cmi_pe *w, const void *frame, size_t bytes, const char *why);
void frame_idle(struct cmi_pe *w);
const struct cmi_wire_counts *frame_counts(const struct cmi_pe *w);

#endif
