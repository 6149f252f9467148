/* SPDX-License-Identifier: Apache-2.0 */
/* steer_int.h: shared by the files of steer/. */
#ifndef CSD_STEER_INT_H
#define CSD_STEER_INT_H

#include <pthread.h>
#include <stdio.h>
#include <sys/un.h>

#include "../pe.h"
#include "../../machine/base/cmi_dial.h"
#include "../../machine/tools/cmi_mac.h"
#include "steer.h"

enum { STEER_CLIENTS = 16, STEER_LINE = 1024 };

/* ---- what is seen (steer_look.c) ------------------------------------------------------------- */

/** A host in one look. */
struct look_host {
	uint64_t at_ns;                /* when, by our clock; 0: it has not been seen */
	char *bytes;                   /* ours: alive/seen.h */
};

/** All hosts, twice. */
struct look {
	struct cmi *machine;
	const struct cmi_job *job;
	int n_hosts;
	int *first;                    /* [n_hosts]: the first node of each */
	int *host_of;                  /* [n_nodes] */
	struct look_host *now, *before; /* [n_hosts] */
	/* Of each PE, where its bytes are. */
	size_t *pe_at, *node_at;       /* [n_pes], [n_nodes]: offsets in its host's bytes */
};

/** What a PE, or several, did between two looks. */
struct look_rates {
	double busy;                   /* part of the time; < 0: unknown */
	double sent, handled, near, far; /* per second */
	uint64_t queue;
};

void look_open(struct look *l, struct cmi *machine);
void look_close(struct look *l);
/** Keep what all hosts show now; what was now is before. */
void look_take(struct look *l);
/** Whether there are two looks at a host, so that there are rates. */
bool look_is_double(const struct look *l, int host);
/** False: it is not seen. */
bool look_pe(const struct look *l, int pe, struct cmi_seen *s);
bool look_node(const struct look *l, int node, struct cmi_seen_node *s);
/** Between the looks. */
struct look_rates look_rates(const struct look *l, int pe);

/* ---- text (steer_text.c) --------------------------------------------------------------------- */

void text_status(FILE *out, const struct node *node, const struct look *l);
/** Of it, the lines of the PEs. */
void text_pes(FILE *out, const struct look *l);
void text_metrics(FILE *out, const struct node *node, const struct look *l);

/* ---- orders (steer.c) ------------------------------------------------------------------------ */

/** An order on its way to PE 0, or its answer on the way back. */
struct steer_note {
	struct steer_note *next;
	uint64_t id;                   /* of the client */
	bool ok;                       /* of an answer */
	char text[];                   /* the line's words; or the answer */
};

/** ckrun, which listens by TCP (steer_call.c). */
struct steer_call {
	struct cmi_key128 key;
	uint16_t port;                 /* 0: nobody is called */
	char addresses[1600];          /* with commas */
};
/** CK_CONTROL=tcp:... False: it is none of ckrun's. */
bool call_parse(const char *text, struct steer_call *c);
/** A connection to ckrun, which has proved to be the job's; -1: none. Takes seconds at most. */
int call_ckrun(struct steer_call *c);

struct steer {
	struct node *node;
	pthread_t thread;
	bool runs;
	int wake_fd;                   /* an eventfd: answers have come, or `over` */
	int listen_fd;                 /* at the path; or ckrun's pair (cmi_link.h); -1: none */
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* "": none */
	struct steer_call call;
	/* Both under the lock: in order, with the place for the next one. */
	pthread_mutex_t lock;
	struct steer_note *orders, **orders_end, *answers, **answers_end;
	bool over;
	/* PE 0's next message to itself; NULL: it is under way, or not ready. */
	_Atomic(struct cmi_msg *) ready;
	int handler;
};

/** The thread: PE 0 gets this line's words. */
void steer_order(struct steer *s, uint64_t id, const char *words);
/** The thread: take all answers; the caller frees each. */
struct steer_note *steer_answers(struct steer *s);
bool steer_is_over(struct steer *s);

/* ---- the thread (steer_net.c) ---------------------------------------------------------------- */

/** Node 0, if it has a path. Ends the process with a line if nobody can listen there. */
void steer_listen(struct steer *s);
/** steer_words.c: what becomes of a word. */
enum steer_way {
	WAY_STATUS, WAY_METRICS,       /* answered when there are two looks */
	WAY_ORDER,                     /* PE 0's */
	WAY_STOP,                      /* the same, but it does not wait for ever */
	WAY_REFUSED,                   /* *why_p says why */
};
enum steer_way steer_way_of(const char *words, const char **why_p);
/** The thread's body. */
void *steer_run(void *steer);

#endif
