/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h: a job's trace in memory: the files of its PEs, one clock for all of them, and the origin
 * of each message. cktrace.c calls the stages in this order: trace_read, trace_join; then a writer
 * walks the records.
 *
 *   epochs.c        which files a folder has, by the starts of its job
 *   read.c          the files of one of them, mapped and checked
 *   join.c          sends and handlers joined, clocks of several hosts aligned
 *   walk.c          a PE's records as nested spans, in the order of time
 *   sums.c, path.c  sums of PEs and entries; the critical path
 *   elements.c      elements as text; the entry methods that messages lead to
 *   perfetto.c, projections.c, summary.c, html.c   writers
 *   otf2.c          one more, through libotf2; otf2_none.c where that is missing
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "trace_format.h"

enum { NONE = -1 };

/** A message, or a put, from its sender to the PE where it was first handled. */
struct message {
	int32_t from, to;            /* PEs; NONE: the trace does not have that end */
	uint32_t sent, taken;        /* records of these PEs */
	bool put;
};

struct names {
	char **text;                 /* [n], by number; NULL: no name */
	size_t n, cap;
};

struct pe_trace {
	const struct trace_head *head;
	const struct trace_record *ring;
	uint64_t first;              /* number of the oldest record that is there */
	uint32_t n;                  /* records that are there */
	bool whole;                  /* complete: the ring has not wrapped and was never off */
	int host;
	struct names names[TRACE_NAME_KINDS];
	uint16_t *event;             /* [names[TRACE_NAME_EVENT].n]: their numbers in the job */
	uint32_t *message;           /* [n]: 1 + the message that a record sends or handles; 0: none */
	size_t mapped;
};

/** PEs that share one clock. */
struct host {
	uint64_t id;
	double ns_per_tick;
	uint64_t base_ticks;
	double base_ns;
	double shift, slope;         /* add shift + slope * ns, to be on the first host's clock */
	bool aligned;
};

/** One of the starts of a job that was started again, from the heads of its files. */
struct epoch {
	uint64_t no, checkpoint;     /* as in struct trace_head */
	uint64_t start_real_ns;      /* of its first PE */
	int n_pes, n_files;
	bool ended;                  /* all of them normally */
};

struct job {
	struct epoch *epochs;        /* [n_epochs]: of the folder, the oldest first */
	int n_epochs;
	const struct epoch *epoch;   /* the one that was read; all else is about it */
	int n_pes, n_files;
	struct pe_trace *pes;        /* [n_pes]; head NULL: its file is missing */
	struct host *hosts;
	int n_hosts;
	struct names events;         /* of the program, on all PEs: each text once */
	struct message *messages;
	size_t n_messages, cap_messages;
	int64_t start_ns, end_ns;    /* of the first and last record */
	uint64_t n_sent, n_handled;  /* records of messages */
	uint64_t n_left, n_came;     /* elements that moved */
	uint64_t n_joined, n_backward; /* joined; not joined because the arrow would run backward */
};

/** Record number i of a PE, from the oldest. */
static inline const struct trace_record *record_at(const struct pe_trace *p, uint32_t i)
{
	return &p->ring[(p->first + i) % p->head->n_records];
}

static inline uint64_t record_value(const struct trace_record *r)
{
	return (uint64_t)r->value[1] << 32 | r->value[0];
}

/** When a record was written, in ns since the start of the trace, on the first host's clock. */
int64_t record_ns(const struct job *j, const struct pe_trace *p, const struct trace_record *r);

/** Whether a message is handled here for the first time. */
static inline bool record_is_handled(const struct trace_record *r)
{
	return !(r->flags & TRACE_AGAIN) &&
	       (r->kind == TRACE_HANDLE || r->kind == TRACE_TAKEN ||
		(r->kind == TRACE_BEGIN && (r->flags & TRACE_DIRECT)));
}

/** Never NULL. */
const char *trace_name_of(const struct pe_trace *p, enum trace_name_kind kind, unsigned id);

/** By the first PE that has it; never NULL. Entries and handlers have one number on all PEs. */
const char *trace_any_name(const struct job *j, enum trace_name_kind kind, unsigned id);

/** PEs number the program's events in order of use: the number in job.events of a PE's number. */
unsigned trace_event_of(const struct pe_trace *p, unsigned id);

/** Returns p, or ends the process if it is NULL. */
void *need(void *p);
/** One line on stderr, "cktrace: " before it (one_line.h). */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** Read an epoch of the job in a folder: number *epoch, or the last one if that is NULL. Prints a
 * line and exits with code 1 if it is not there. */
void trace_read(struct job *j, const char *folder, const uint64_t *epoch);
/** Print the folder's epochs, a line each, if the job was started again. */
void print_epochs(const struct job *j, FILE *f);
void trace_join(struct job *j);
void trace_free(struct job *j);

/* ---- walking ----------------------------------------------------------------------------------- */

enum span_kind {
	SPAN_HANDLER, SPAN_ENTRY, SPAN_PUT, SPAN_IDLE, SPAN_USER,       /* have an end */
	SPAN_SEND, SPAN_PUT_SENT, SPAN_TAKEN, SPAN_CREATE, SPAN_CONTRIBUTE, SPAN_MARK, SPAN_COUNTER, SPAN_ARRIVE,
	SPAN_LEAVE, SPAN_COME,
	SPAN_KINDS
};

struct span {
	enum span_kind kind;
	unsigned what;               /* as in its record */
	uint32_t record;             /* that began it */
	int64_t start, end;          /* ns */
	int depth;                   /* spans around it */
	bool resumed;                /* goes on after its thread has waited */
	int64_t inner;               /* ns of the spans directly inside it */
};

struct walker {
	void *arg;
	/** Spans begin and end in the order of time, properly nested; NULL: not wanted. */
	void (*begin)(void *arg, const struct span *s);
	void (*end)(void *arg, const struct span *s);
	/** Something without an end. */
	void (*moment)(void *arg, const struct span *s);
};

/** Numbers of names of a kind: the most that one PE has. */
size_t n_names(const struct job *j, enum trace_name_kind kind);
void trace_walk(const struct job *j, const struct pe_trace *p, const struct walker *w);
const char *span_name(const struct pe_trace *p, const struct span *s);

/* ---- elements, arrivals --------------------------------------------------------------------- */

/** How many numbers an element has in texts, by the entry of a record that names it. */
struct elements {
	unsigned char *dims;         /* [n] */
	size_t n;
};

void elements_init(struct elements *e, const struct job *j);
void elements_free(struct elements *e);
enum { ELEMENT_TEXT = 160 };
/** The element of a record with an index, as Block(0, 3); returns text, of ELEMENT_TEXT bytes. */
const char *element_text(const struct elements *e, const struct job *j,
			 const struct trace_record *r, char *text, size_t room);

/** The record that begins the entry method for which a handler, or a put's function, was called;
 * NULL: there is none at once. */
const struct trace_record *entry_begun(const struct pe_trace *p, uint32_t record);
/** By the record of an arrival: 1 + the one that handles the message; 0: the trace has none. The
 * caller frees it. */
uint32_t *trace_arrivals(const struct pe_trace *p);

/* ---- writers: print a line and exit with code 1 when the file cannot be written -------------- */

void write_perfetto(const struct job *j, FILE *f);
void write_projections(const struct job *j, const char *folder);
void write_otf2(const struct job *j, const char *folder);
/** At most this many MB of the PEs' data; the page and stderr say what is left out. */
void write_html(const struct job *j, FILE *f, unsigned mb);
void write_summary(const struct job *j, FILE *f);
FILE *open_output(const char *name);
void close_output(FILE *f, const char *name);

#endif
