/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.h: the trace of one PE: a ring of records in a mapped file (trace_format.h). It manages
 * files, names and a clock; the scheduler and the layers above it decide what to record.
 *
 * Only its PE's thread writes a trace. Writing a record takes no system call and no lock.
 */
#ifndef TRACE_H
#define TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../machine/tools/cmi_ticks.h"
#include "trace_format.h"

/** The value of CK_TRACE. */
struct trace_options {
	bool on;
	char folder[TRACE_TEXT];
	uint64_t bytes;              /* of a PE's ring */
	bool ticks;                  /* the processor's counter tells the time; else CLOCK_MONOTONIC */
};

/** The writing process and PE. */
struct trace_writer {
	int pe, n_pes, node, n_nodes, first_pe;
	uint64_t epoch, checkpoint;  /* as in the file's head */
	uint64_t host_id;
	char *const *argv;
	int argc;
};

struct trace_event_name {
	const char *text;            /* as the program gave it */
	uint16_t id;
};

enum { TRACE_EVENT_NAMES = 1024 };   /* a power of two; one more than the most names */

struct trace {
	struct trace_record *ring;
	uint64_t at, n;              /* next index, number of records */
	uint64_t count;
	bool ticks;
	uint64_t moment_due;         /* ticks: when both clocks are read next */
	/* trace_take_moment, by a pointer, so that those who write records link without this folder. */
	void (*take_moment)(struct trace *t, uint64_t ticks);
	struct trace_head *head;
	size_t bytes;                /* of the mapping */
	size_t names_room;
	uint16_t n_events;
	struct trace_event_name events[TRACE_EVENT_NAMES]; /* by a hash of the pointer */
};

/** Read CK_TRACE. An invalid value ends the process with one line. */
struct trace_options trace_asked(void);

/** Create the folder if necessary. If no file can be made there, the process ends with one line. */
void trace_make_folder(const struct trace_options *o);

/** Create the file of this PE and epoch (trace_format.h), with `names` bytes for names. On failure
 * NULL, and the reason in `why`. */
struct trace *trace_create(const struct trace_options *o, const struct trace_writer *w,
			   size_t names, char *why, size_t len);
/** Close the file of a PE that has ended normally. */
void trace_close(struct trace *t);

/** Add a name. False if there is no space. */
bool trace_add_name(struct trace *t, enum trace_name_kind kind, uint16_t id, const char *text);
/** The number of a name of the program, a constant text. 0 if there are too many names. */
uint16_t trace_event(struct trace *t, const char *text);

/** Read both clocks, and set when to do so next. `ticks`: now. */
void trace_take_moment(struct trace *t, uint64_t ticks);

static inline uint64_t trace_clock(const struct trace *t)
{
	return cmi_ticks(t->ticks);
}

/** The next record, with its time and kind; the caller fills in the other fields and calls
 * trace_done. */
static inline struct trace_record *trace_next(struct trace *t, enum trace_kind kind)
{
	struct trace_record *r = &t->ring[t->at];

	r->time = trace_clock(t);
	r->kind = (uint8_t)kind;
	r->flags = 0;
	return r;
}

/* Release: a reader of the file that sees the count sees the record, too, even if the writer has
 * been killed. On x86 it is a plain store. */
static inline void trace_done(struct trace *t, const struct trace_record *r)
{
	t->at = t->at + 1 == t->n ? 0 : t->at + 1;
	atomic_store_explicit((_Atomic uint64_t *)&t->head->count, ++t->count, memory_order_release);
	if (__builtin_expect(r->time >= t->moment_due, 0))
		t->take_moment(t, r->time);
}

static inline uint32_t trace_bytes(uint64_t bytes)
{
	return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

static inline void trace_set_value(struct trace_record *r, uint64_t value)
{
	r->value[0] = (uint32_t)value;
	r->value[1] = (uint32_t)(value >> 32);
}

#endif
