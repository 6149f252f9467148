/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmi_gauge.h: what a PE shows of itself while it runs: where its time goes, how much it has
 * handled, a line of the program's. Under `ckrun --progress` the gauges of all PEs are an array, by
 * PE, in memory that ckrun has made and reads: CK_GAUGES is the number of its file descriptor. So
 * ckrun also sees PEs that stay in one handler for ever, and showing costs a PE no message and no
 * timer.
 *
 * Each gauge has one writer, its PE. ckrun includes this header, which needs libc only.
 */
#ifndef CMI_GAUGE_H
#define CMI_GAUGE_H

#include <stdatomic.h>
#include <stdint.h>

#include "../tools/cmi_ticks.h"

enum gauge_state { GAUGE_OVERHEAD, GAUGE_IDLE, GAUGE_BUSY, GAUGE_STATES };

/** `clock`: the unit of the ticks. */
enum gauge_clock { GAUGE_NONE, GAUGE_COUNTER, GAUGE_NS };

enum { GAUGE_TEXT = 160 };  /* bytes of the program's line, its end included */

/** All relaxed, except `clock`, `text_seq` and `text` (see there): a reader that mixes a value with
 * an older one shows a figure that is slightly old. */
struct gauge {
	_Alignas(64) _Atomic uint64_t ticks[GAUGE_STATES]; /* spent in each state, up to `since` */
	_Atomic uint64_t since;            /* in `state` since then */
	_Atomic uint64_t handled;          /* messages and puts */
	_Atomic uint32_t state;            /* enum gauge_state */
	_Atomic uint32_t clock;            /* written last, by a release store: the PE has begun */
	/* Odd while the text is being written. The words of the text are stored with release and loaded
	 * with acquire, and so is this number at the end of writing and the start of reading: a reader
	 * that has seen a word of a newer text sees another number afterwards. So a reader that sees the
	 * same even number twice has a consistent text. */
	_Alignas(64) _Atomic uint64_t text_seq;
	_Atomic uint64_t text_ns;          /* CLOCK_MONOTONIC, when it was written */
	_Atomic uint64_t text[GAUGE_TEXT / 8];
};
_Static_assert(sizeof(struct gauge) == 256, "ckrun and the nodes agree");

/** The machine's functions, cmi_gauge.c. The memory that CK_GAUGES names, for `n` PEs; NULL: it is
 * not set. If the memory is unusable, the process ends with one line. Main thread; once, since it
 * unsets CK_GAUGES, which is not for the node's children. */
struct gauge *cmi_gauges_open(int n);
void cmi_gauges_close(struct gauge *g, int n);

#endif
