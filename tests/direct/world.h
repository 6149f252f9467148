/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world.h: a small job inside one test process: one node, or several joined by a loopback net,
 * running a layer of the test's own beside the channel layer. The test gives two functions, one
 * for the start of each PE and one for messages; both find the test's data in pe->node->program.
 *
 * Tests of aborts run their world in a child (world_in_child), because an abort ends the process.
 */
#ifndef TEST_WORLD_H
#define TEST_WORLD_H

#include <assert.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../runtime/direct/ckdirect.h"
#include "../../runtime/direct/direct_layer.h"
#include "../../runtime/scheduler/pe.h"
#include "../check_run.h"

enum { WORLD_TIMEOUT_S = 60 };

struct world_msg {
	struct cmi_msg head;
	int32_t kind, index;
	CkDirectHandle handle;
};

struct world {
	void (*start)(struct pe *pe);  /* on each PE */
	void (*message)(struct pe *pe, int kind, int index, CkDirectHandle *h);
	void (*stop)(struct pe *pe);   /* NULL allowed */
	int nodes, pes;                /* PEs of each node */
	uint64_t seed;                 /* of the net's delays; 0: none */
	_Atomic int handler;           /* the same on all nodes */
};

static inline struct world *world_of(const struct pe *pe)
{
	return (struct world *)(uintptr_t)pe->node->program;
}

static void world_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct world_msg c = *(struct world_msg *)m;

	csd_msg_free(pe, m);
	world_of(pe)->message(pe, c.kind, c.index, &c.handle);
}

/** Send a word, and a handle if there is one, to any PE. */
static inline void world_send(struct pe *pe, int dst_pe, int kind, int index,
			      const CkDirectHandle *h)
{
	struct world_msg *m = (struct world_msg *)csd_msg_alloc(pe, sizeof(*m));

	m->kind = kind;
	m->index = index;
	if (h)
		m->handle = *h;
	else
		memset(&m->handle, 0, sizeof(m->handle));
	m->head.handler = (uint16_t)atomic_load(&world_of(pe)->handler);
	csd_send(pe, dst_pe, &m->head);
}

static int world_node_start(struct node *node)
{
	struct world *w = (struct world *)(uintptr_t)node->program;

	atomic_store(&w->handler, csd_register(node, "test", world_arrived));
	return 0;
}

static void world_pe_start(struct pe *pe)
{
	world_of(pe)->start(pe);
}

static void world_pe_stop(struct pe *pe)
{
	if (world_of(pe)->stop)
		world_of(pe)->stop(pe);
}

static const struct csd_layer world_layer = {
	.name = "test",
	.node_start = world_node_start,
	.pe_start = world_pe_start,
	.pe_stop = world_pe_stop,
};

struct world_node {
	struct world *w;
	struct cmi_loop_net *net;
	int rank, code;
};

static void *world_node_main(void *arg)
{
	static const struct csd_layer *const layers[] = {&direct_layer, &world_layer};
	struct world_node *n = arg;
	char program[] = "test", flag[] = "+p", pes[16];
	char *argv[] = {program, flag, pes, NULL};
	struct csd_config cfg = {
		.argc = 3,
		.argv = argv,
		.layers = layers,
		.n_layers = 2,
		.program = n->w,
		.net = n->net,
		.loop_rank = n->rank,
	};

	snprintf(pes, sizeof(pes), "%d", n->w->pes);
	n->code = csd_run(&cfg);
	return NULL;
}

/** Run the world to its end; returns the exit code. Every node gets a thread of its own, which
 * also keeps the binding of PEs to cores away from the caller. */
static inline int world_run(struct world *w)
{
	struct cmi_loop_net *net = check_net(w->nodes, w->seed);
	struct world_node node[8];
	pthread_t thread[8];
	int code = 0;

	assert(w->nodes <= 8);
	alarm(WORLD_TIMEOUT_S);
	for (int i = 0; i < w->nodes; i++) {
		node[i] = (struct world_node){w, net, i, 0};
		if (pthread_create(&thread[i], NULL, world_node_main, &node[i]))
			abort();
	}
	for (int i = 0; i < w->nodes; i++) {
		pthread_join(thread[i], NULL);
		code = code ? code : node[i].code;
	}
	if (net)
		cmi_loop_net_destroy(net);
	alarm(0);
	return code;
}

struct world_outcome {
	int code;        /* exit code; 128 + n for signal n */
	char text[16384]; /* what was printed on stderr */
};

/** Run fn(arg) in a child and collect how it ended. */
static inline void world_in_child(void (*fn)(void *arg), void *arg, struct world_outcome *o)
{
	size_t used = 0;
	ssize_t n;
	int status, p[2];

	fflush(NULL);
	if (pipe(p))
		abort();
	pid_t pid = fork();

	if (pid == 0) {
		dup2(p[1], STDERR_FILENO);
		close(p[0]);
		close(p[1]);
		fn(arg);
		_exit(0);
	}
	close(p[1]);
	while (used < sizeof(o->text) - 1 &&
	       (n = read(p[0], o->text + used, sizeof(o->text) - 1 - used)) > 0)
		used += (size_t)n;
	o->text[used] = '\0';
	close(p[0]);
	waitpid(pid, &status, 0);
	o->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#endif
