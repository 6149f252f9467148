/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_run.h: run the scheduler inside a test: one node of several PEs, or a net of nodes; also in
 * a child process, when it is expected to end that. Under CHECK_NET=shared the nodes of a net hand their
 * messages over in shared memory (cmi_loop_net_share) instead of by the net's queues.
 */
#ifndef CHECK_RUN_H
#define CHECK_RUN_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pe.h"

/** A net as CHECK_NET asks for it; NULL for a single node. */
static inline struct cmi_loop_net *check_net(int n_nodes, uint64_t seed)
{
	struct cmi_loop_net *net = n_nodes > 1 ? cmi_loop_net_create(n_nodes, seed) : NULL;
	const char *kind = getenv("CHECK_NET");

	if (net && kind && !strcmp(kind, "shared"))
		cmi_loop_net_share(net);
	return net;
}

struct check_node {
	struct csd_config cfg;
	int code;
	pthread_t thread;
	char *argv[4];
	char pes[16];
};

static inline void *check_node_main(void *arg)
{
	struct check_node *n = arg;

	n->code = csd_run(&n->cfg);
	return NULL;
}

/** Run n_nodes nodes of n_pes PEs with these layers in this process; returns the exit code of
 * node 0. seed: of the net's delays, 0 for none. */
static inline int check_run_layers(const struct csd_layer *const *layers, int n_layers,
				   const void *program, int n_nodes, int n_pes, uint64_t seed)
{
	struct cmi_loop_net *net = check_net(n_nodes, seed);
	struct check_node *nodes = calloc((size_t)n_nodes, sizeof *nodes);
	int code;

	for (int i = 0; i < n_nodes; i++) {
		struct check_node *n = &nodes[i];

		snprintf(n->pes, sizeof n->pes, "+p%d", n_pes);
		n->argv[0] = (char *)"test";
		n->argv[1] = n->pes;
		n->cfg = (struct csd_config){ .argc = 2, .argv = n->argv, .layers = layers,
			.n_layers = n_layers, .program = program, .net = net, .loop_rank = i };
		if (i)
			pthread_create(&n->thread, NULL, check_node_main, n);
	}
	check_node_main(&nodes[0]);
	for (int i = 1; i < n_nodes; i++)
		pthread_join(nodes[i].thread, NULL);
	code = nodes[0].code;
	free(nodes);
	if (net)
		cmi_loop_net_destroy(net);
	return code;
}

/** With one layer. */
static inline int check_run(const struct csd_layer *layer, const void *program, int n_nodes,
			    int n_pes, uint64_t seed)
{
	return check_run_layers(&layer, 1, program, n_nodes, n_pes, seed);
}

/** Run nodes in a child process. Returns its exit code, -1 when it did not exit by itself, and
 * in `said` what it wrote to standard error. */
static inline int check_run_nodes_apart(const struct csd_layer *const *layers, int n_layers, const void *program,
					int n_nodes, int n_pes, char *said, size_t cap)
{
	int fd[2], status;
	size_t n = 0;
	ssize_t got;

	fflush(NULL);
	if (pipe(fd))
		abort();
	pid_t child = fork();

	if (child == 0) {
		dup2(fd[1], STDERR_FILENO);
		close(fd[0]);
		close(fd[1]);
		_exit(check_run_layers(layers, n_layers, program, n_nodes, n_pes, 0));
	}
	close(fd[1]);
	while (n + 1 < cap && (got = read(fd[0], said + n, cap - 1 - n)) > 0)
		n += (size_t)got;
	said[n] = 0;
	close(fd[0]);
	if (child < 0 || waitpid(child, &status, 0) != child)
		abort();
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/** One node. */
static inline int check_run_apart(const struct csd_layer *const *layers, int n_layers,
				  const void *program, int n_pes, char *said, size_t cap)
{
	return check_run_nodes_apart(layers, n_layers, program, 1, n_pes, said, cap);
}

#endif
