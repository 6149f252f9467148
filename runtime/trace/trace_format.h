/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_format.h: the file that a PE writes under CK_TRACE, which cktrace reads. All numbers are in
 * the byte order of the machine.
 *
 *   0          4096             head_bytes                            head_bytes + 32 * n_records
 *   +----------+----------------+-------------------------------------+
 *   | head     | names ...      | ring of records, 32 bytes each      |
 *   +----------+----------------+-------------------------------------+
 *
 * The PE maps the file and stores records straight into it, so they survive kill -9. Record number
 * i is at i % n_records of the ring. `count` rises after a record is complete. If the ring has
 * wrapped, the oldest record may be half overwritten, and readers skip it.
 *
 * A job that is started again, from a checkpoint or after a death, is in its next epoch. Its files
 * have other names, so those of the dead nodes stay: pe3.trace, then e1-pe3.trace, e2-pe3.trace.
 */
#ifndef TRACE_FORMAT_H
#define TRACE_FORMAT_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define TRACE_MAGIC "cktrace"
enum { TRACE_VERSION = 1, TRACE_HEAD_BYTES = 4096, TRACE_TEXT = 1024, TRACE_HOST = 64 };

/** Kinds of records. In brackets: their fields. */
enum trace_kind {
	TRACE_NONE,
	TRACE_SEND,       /* a message leaves its sender [what: handler; pe: to; seq; bytes] */
	TRACE_ARRIVE,     /* a message of another PE enters the run queue [handler; from; seq; bytes] */
	TRACE_HANDLE,     /* a message's handler begins [handler; from; seq; bytes] ... */
	TRACE_HANDLE_END, /* ... and ends [handler] */
	/* A call was handled, and its entry has not begun: the call waits, was forwarded, or was taken by
	 * a `when` [handler; from; seq]. */
	TRACE_TAKEN,
	/* An entry method begins [entry; from, -1: nobody; index; with TRACE_DIRECT: seq] ... */
	TRACE_BEGIN,
	TRACE_END,        /* ... and ends [entry] */
	TRACE_IDLE,       /* the PE finds nothing to do ... */
	TRACE_BUSY,       /* ... and finds something */
	TRACE_PUT,        /* CkDirect_put [pe: to; seq: the put's number; bytes; value: channel] */
	TRACE_PUT_BEGIN,  /* the function of a put that has come begins [as TRACE_PUT, no pe] ... */
	TRACE_PUT_END,    /* ... and ends */
	TRACE_RESUME,     /* a thread gets the PE [value: which] ... */
	TRACE_SUSPEND,    /* ... and leaves it [value] */
	TRACE_CREATE,     /* an element is made [entry: its constructor; index] */
	TRACE_CONTRIBUTE, /* CkContribute [entry: the type's first; seq: the reduction's; index] */
	TRACE_USER_BEGIN, /* CkTraceBegin [what: name] ... */
	TRACE_USER_END,   /* ... CkTraceEnd */
	TRACE_USER_MARK,  /* CkTraceMark [what: name] */
	TRACE_USER_COUNTER, /* CkTraceCounter [what: name; value: a double] */
	TRACE_ON,           /* CkTraceOn: records follow again */
	TRACE_OFF,          /* CkTraceOff */
	/* An element leaves for another PE [entry: the type's first; pe: to, -1: not known; index] ... */
	TRACE_LEAVE,
	TRACE_COME,         /* ... and has come there [entry; index] */
	TRACE_KINDS
};

enum {
	/* In records of messages: seq is a hash of the message's subject, because its head has no space
	 * for a number. Messages between the same two PEs with the same seq are matched in order. Without
	 * the flag, seq is a number that the sender gives to no other message. */
	TRACE_KEYED = 1,
	/* TRACE_BEGIN: its message has just been handled, without TRACE_HANDLE and TRACE_TAKEN. */
	TRACE_DIRECT = 2,
	/* TRACE_SEND: to any PE of the node of `pe`. TRACE_BEGIN with TRACE_DIRECT: perhaps sent so. */
	TRACE_TO_NODE = 4,
	/* TRACE_HANDLE, TRACE_TAKEN, TRACE_BEGIN with TRACE_DIRECT: the message was handled before, and
	 * has waited since. */
	TRACE_AGAIN = 8,
};

struct trace_record {
	uint64_t time;        /* ticks of trace_clock */
	uint8_t kind, flags;
	uint16_t what;
	int32_t pe;
	uint32_t seq;
	union {
		int32_t index[3];
		struct {
			uint32_t bytes;      /* UINT32_MAX: at least that */
			uint32_t value[2];   /* one value of 8 bytes, low half first */
		};
	};
};

/** A moment on both clocks. */
struct trace_moment {
	uint64_t ticks, ns;   /* ns: CLOCK_MONOTONIC */
};

struct trace_head {
	char magic[8];
	uint32_t version, record_bytes;
	uint64_t head_bytes, n_records;
	int32_t pe, n_pes, node, n_nodes;
	int32_t first_pe, pid;
	uint64_t host_id;            /* equal for PEs that share a clock */
	uint64_t start_real_ns;      /* CLOCK_REALTIME at `start` */
	struct trace_moment start;
	char host[TRACE_HOST];
	char command[TRACE_TEXT];
	_Alignas(64) uint64_t count; /* records written since the start */
	uint64_t names_bytes;
	struct trace_moment last;    /* the newest; `start` in the first milliseconds */
	uint64_t ended;              /* 1: the PE has ended normally */
	uint64_t epoch;              /* how often the job had been started again */
	uint64_t checkpoint;         /* from which it goes on; 0: from the beginning */
};
_Static_assert(sizeof(struct trace_head) <= TRACE_HEAD_BYTES, "the names begin behind it");
_Static_assert(sizeof(struct trace_record) == 32, "two on a cache line");

/** The name of a PE's file. */
static inline void trace_file_name(char *name, size_t len, const char *folder, uint64_t epoch,
				   int pe)
{
	char before[32] = "";

	if (epoch)
		snprintf(before, sizeof before, "e%" PRIu64 "-", epoch);
	snprintf(name, len, "%s/%spe%d.trace", folder, before, pe);
}

/** Whether a file of a folder is one of these, and of which epoch and PE. */
static inline bool trace_file_is(const char *name, uint64_t *epoch, int *pe)
{
	char same[80];

	*epoch = 0;
	if (sscanf(name, "e%" SCNu64 "-pe%d", epoch, pe) != 2 && sscanf(name, "pe%d", pe) != 1)
		return false;
	trace_file_name(same, sizeof same, "", *epoch, *pe);
	return *pe >= 0 && !strcmp(same + 1, name);
}

enum trace_name_kind { TRACE_NAME_HANDLER, TRACE_NAME_ENTRY, TRACE_NAME_EVENT, TRACE_NAME_KINDS };

/** A name, at a multiple of 8 bytes. */
struct trace_name {
	uint16_t kind, id;
	uint32_t bytes;              /* of the whole struct, a multiple of 8 */
	char text[];                 /* ends with 0. An entry's is "Chare::entry" */
};

#endif
