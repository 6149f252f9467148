/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmi_dial.h: the dial of a PE: what it shows to whoever looks at the job while it runs (ckctl). It
 * lies in memory that all processes of the host map, so a PE is seen without being asked, also
 * while it computes for a long time.
 *
 * A PE looks at `wanted` where it reads the clock anyway, at most every DIAL_MS. While somebody
 * looks it writes its figures there, and tells its dial when it becomes idle and busy; while idle,
 * where it has read the clock or has slept. Else it
 * writes `asleep` before it sleeps, and nothing more. So nothing is counted while nobody looks.
 *
 * (cmi_gauge.h has the gauges of `ckrun --progress`, which count each call.)
 */
#ifndef CMI_DIAL_H
#define CMI_DIAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	DIAL_MS = 100,
	DIAL_AWAY_MS = 50,       /* idle, a PE that is awake reads the clock more often */
	DIAL_QUEUE_MOST = 10000, /* a longer queue is not counted to its end */
};

/** All relaxed, but `counts`: a reader that mixes a figure with an older one shows one that is
 * slightly old. Two lines, because they have different writers. */
struct cmi_dial {
	/* Written by readers. */
	_Alignas(64) _Atomic uint64_t wanted; /* somebody looks until then, CLOCK_MONOTONIC in ns; 0 */
	/* Written by the PE. */
	_Alignas(64) _Atomic uint32_t counts; /* the rest is valid. Release: a reader sees it (acquire) */
	_Atomic uint32_t asleep;
	_Atomic uint32_t idle;       /* its state, since since_ns */
	_Atomic uint32_t queue;      /* messages in the run queue, at most DIAL_QUEUE_MOST */
	_Atomic uint64_t from_ns, since_ns, idle_ns; /* idle_ns: from from_ns to since_ns */
	_Atomic uint64_t idle_at_ns; /* idle, it has last been here; if that is long ago and it does not
				      * sleep, it has been in a handler since then */
	_Atomic uint64_t sent, handled;   /* messages and puts of the program */
	_Atomic uint64_t near, far;  /* bytes to other nodes of this host, and of others */
};
_Static_assert(sizeof(struct cmi_dial) == 192, "all nodes of a host agree");

/** What is seen of a PE; sent as it is. Differences of two are what happened in between. */
struct cmi_seen {
	uint64_t sent, handled, near, far;
	uint32_t idle_ms, counted_ms; /* since it counts; they go round */
	uint32_t queue;
	uint8_t state;               /* enum cmi_seen_state */
	uint8_t spare;
	uint16_t state_s;            /* for so long; UINT16_MAX: or longer */
};
_Static_assert(sizeof(struct cmi_seen) == 48, "wire format");

enum cmi_seen_state {
	SEEN_NOT,                    /* its dial cannot be read */
	SEEN_ASLEEP,                 /* it does not count, and sleeps */
	SEEN_AWAY,                   /* it does not count yet, and is awake: in one handler */
	SEEN_IDLE, SEEN_BUSY,        /* it counts */
	SEEN_STATES
};

/** What is seen of a node; sent as it is. */
struct cmi_seen_node {
	uint64_t resident, memory;   /* bytes: of the process, and of its message memory */
	int32_t pid;
	uint32_t first_pe;
};
_Static_assert(sizeof(struct cmi_seen_node) == 24, "wire format");

/** What is seen of a host; its nodes and then its PEs follow. Sent as it is. */
struct cmi_seen_host {
	uint64_t at_ns;              /* when, by its own clock */
	uint32_t n_nodes, n_pes;
};

#endif
