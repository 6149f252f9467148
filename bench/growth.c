/* SPDX-License-Identifier: Apache-2.0 */
/*
 * growth: what a node that does almost nothing costs in a job of N nodes: time to start, memory,
 * endpoints. The suite runs it for growing N and works out the law: bench/suite.py -g growth build.
 *
 *	ckrun -n 16 build/bench/growth            16 real nodes (processes)
 *	ckrun -n 16 --ppn 16 build/bench/growth   16 PEs of one node (threads)
 *	build/bench/growth --nodes 256            256 nodes of one PE inside one process, joined
 *	                                          by queues: no network, all tables
 *	--all      every PE also sends to every other one: the worst case
 *	--smoke    a short run
 *
 * Each PE sends one message to the next, and the figures of all go up a tree. Prints
 * `name N value unit`. Names begin with "sim-" for simulated nodes, and with "threads-" for N PEs of
 * one node:
 *	start      ms from the start of a node's program to its first message, the slowest
 *	memory     kB of a node, or PE: real ones their proportional share of what they map (Pss);
 *	           in a simulation what the process has grown by, divided by N
 *	endpoints  of the network, opened by a PE: the most that one has. On one host all messages
 *	           may go another way, which needs none: UCX_TLS=tcp shows them
 *	peers      with which a PE has begun to count credits: the most that one has
 *	files      open in a process, the most
 *
 * Simulated nodes share the cores and one process's memory, so their time to start is not that of a
 * real job; the growth of their tables is real.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "pe.h"

enum { STACK_BYTES = 256 << 10, NODES_MAX = 16384 };

enum figure { START, MEMORY, ENDPOINTS, PEERS, FILES, FIGURES };
static const struct {
	const char *name, *unit;
	bool sum;                 /* divided by N, where the others are the most of all */
} figures[FIGURES] = {
	{"start", "ms", false},  {"memory", "kB", true},  {"endpoints", "", false},
	{"peers", "", false},    {"files", "", false},
};

struct report {
	struct cmi_msg head;
	double value[FIGURES];
};

/* One node. */
struct growth {
	struct cmi_loop_net *net;
	int rank;
	bool all;
	double memory_before;     /* of the process, before its nodes */
	int touch, report;        /* handlers */
	int code;
};

/* One PE: what it waits for, and the figures of its part of the tree. */
struct part {
	int touches_left, parts_left;
	double value[FIGURES];
};

static _Thread_local struct part part; /* a PE is a thread */

static struct growth *growth_of(const struct pe *pe)
{
	return (struct growth *)(uintptr_t)pe->node->program;
}

/* ---- what there is to count --------------------------------------------------------- */

/* The number behind `key` in a file of lines `key number kB`. */
static double number_in(const char *path, const char *key)
{
	char line[256];
	double kb = 0;
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, key, strlen(key)) == 0)
			kb += atof(line + strlen(key));
	if (f)
		fclose(f);
	return kb;
}

static double count_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n - 3; /* the folder itself, "." and ".." */
}

static double count_endpoints(const struct pe *pe)
{
	return strcmp(cmi_name(pe->node->machine), "ucx") ? 0 : cmi_n_connections(pe->wire);
}

static double count_peers(const struct pe *pe)
{
	int n = 0;

	for (int i = 0; i < pe->node->job->n_pes; i++)
		n += pe->peers[i] != NULL;
	return n;
}

/* ---- up the tree ---------------------------------------------------------------------- */

static void print(struct pe *pe)
{
	const struct growth *g = growth_of(pe);
	const struct cmi_job *job = pe->node->job;
	bool threads = job->n_nodes == 1 && job->n_pes > 1;
	int n = threads ? job->n_pes : job->n_nodes;

	if (g->net)
		part.value[MEMORY] = number_in("/proc/self/status", "VmRSS:") -
				     g->memory_before;
	for (int f = 0; f < FIGURES; f++)
		if (!g->net || f != FILES)
			printf("%s%s%s %d %.3f %s\n",
			       g->net ? "sim-" : threads ? "threads-" : "", figures[f].name,
			       g->all ? "-all" : "", n,
			       figures[f].sum ? part.value[f] / n : part.value[f],
			       *figures[f].unit ? figures[f].unit : "-");
	fflush(stdout);
}

static void merge(double *value, const double *other)
{
	for (int f = 0; f < FIGURES; f++)
		if (figures[f].sum)
			value[f] += other[f];
		else if (other[f] > value[f])
			value[f] = other[f];
}

static void report_if_done(struct pe *pe)
{
	struct report *r;
	double own[FIGURES];

	if (part.touches_left || part.parts_left)
		return;
	own[START] = 0;
	own[MEMORY] = !growth_of(pe)->net && pe->local == 0
			      ? number_in("/proc/self/smaps_rollup", "Pss:")
			      : 0;
	own[ENDPOINTS] = count_endpoints(pe);
	own[PEERS] = count_peers(pe);
	own[FILES] = count_files();
	merge(part.value, own);
	if (pe->id == 0) {
		print(pe);
		csd_exit(pe, 0);
		return;
	}
	r = (struct report *)csd_msg_alloc(pe, sizeof *r);
	r->head.handler = (uint16_t)growth_of(pe)->report;
	memcpy(r->value, part.value, sizeof r->value);
	csd_send(pe, csd_tree_parent(pe, 0), &r->head);
}

static void on_report(struct pe *pe, struct cmi_msg *m)
{
	merge(part.value, ((struct report *)m)->value);
	csd_msg_free(pe, m);
	part.parts_left--;
	report_if_done(pe);
}

static void on_touch(struct pe *pe, struct cmi_msg *m)
{
	csd_msg_free(pe, m);
	part.touches_left--;
	report_if_done(pe);
}

/* ---- nodes ------------------------------------------------------------------------------ */

static int node_start(struct node *node)
{
	struct growth *g = (struct growth *)(uintptr_t)node->program;

	g->touch = csd_register(node, "growth touch", on_touch);
	g->report = csd_register(node, "growth report", on_report);
	return 0;
}

static void touch(struct pe *pe, int to)
{
	struct cmi_msg *m = csd_msg_alloc(pe, sizeof *m);

	m->handler = (uint16_t)growth_of(pe)->touch;
	csd_send(pe, to, m);
}

static void pe_start(struct pe *pe)
{
	int n = pe->node->job->n_pes;

	memset(&part, 0, sizeof part);
	part.value[START] = (double)(csd_now_ns() - pe->node->start_ns) * 1e-6;
	part.parts_left = csd_tree_n_children(pe, 0);
	part.touches_left = growth_of(pe)->all ? n - 1 : 1;
	if (!growth_of(pe)->all)
		touch(pe, (pe->id + 1) % n);
	for (int to = 0; growth_of(pe)->all && to < n; to++)
		if (to != pe->id)
			touch(pe, to);
}

static const struct csd_layer growth_layer = {
	.name = "growth",
	.node_start = node_start,
	.pe_start = pe_start,
};

static void *run_node(void *arg)
{
	static const struct csd_layer *const layers[] = {&growth_layer};
	struct growth *g = arg;
	char program[] = "growth", *argv[] = {program, NULL};
	struct csd_config cfg = {
		.argc = 1,
		.argv = argv,
		.layers = layers,
		.n_layers = 1,
		.program = g,
		.net = g->net,
		.loop_rank = g->rank,
	};

	g->code = csd_run(&cfg);
	return NULL;
}

static int simulate(int n, bool all)
{
	double before = number_in("/proc/self/status", "VmRSS:");
	struct cmi_loop_net *net = cmi_loop_net_create(n, 0);
	struct growth *g = bench_alloc((size_t)n * sizeof *g);
	pthread_t *thread = bench_alloc((size_t)n * sizeof *thread);
	pthread_attr_t small;
	int code = 0;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_BYTES);
	for (int i = 0; i < n; i++) {
		g[i] = (struct growth){.net = net, .rank = i, .all = all,
				       .memory_before = before};
		if (!net || pthread_create(&thread[i], &small, run_node, &g[i])) {
			fprintf(stderr, "growth: cannot start node %d of %d\n", i, n);
			return 1;
		}
	}
	for (int i = 0; i < n; i++) {
		pthread_join(thread[i], NULL);
		code |= g[i].code;
	}
	pthread_attr_destroy(&small);
	cmi_loop_net_destroy(net);
	free(thread);
	free(g);
	return code;
}

int main(int argc, char **argv)
{
	struct growth g = {0};
	int nodes = 0;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--all") == 0) {
			g.all = true;
		} else if (strcmp(argv[i], "--smoke") == 0) {
			g.all = true; /* short as it is */
		} else if (strcmp(argv[i], "--nodes") == 0) {
			nodes = (int)bench_number("growth", "--nodes",
						  i + 1 < argc ? argv[i + 1] : NULL, 1,
						  NODES_MAX);
			i++;
		} else {
			fprintf(stderr, "usage: growth [--nodes n] [--all] [--smoke]\n");
			return 2;
		}
	}
	if (nodes)
		return simulate(nodes, g.all);
	run_node(&g);
	return g.code;
}
