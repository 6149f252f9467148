/* SPDX-License-Identifier: Apache-2.0 */
/* nodes.c: which PEs each node of the job has, before any of them is started. */
#include "launch.h"

#include <stdlib.h>
#include <unistd.h>

static void init_node(struct launch_job *job, int rank)
{
	struct launch_node *n = &job->nodes[rank];
	int left = job->o.n_pes - rank * job->o.ppn;
	*n = (struct launch_node){
		.rank = rank,
		.first_pe = rank * job->o.ppn,
		.n_pes = left < job->o.ppn ? left : job->o.ppn,
		.launcher = job->o.delegate ? job->o.argv[0] : NULL,
		.pid = -1,
		.own_group = rank != 0 || !isatty(STDIN_FILENO),
		.ended = true, /* until it is started */
		.pmi_fd = -1,
	};
	for (int i = 0; i < 2; i++) {
		n->streams[i].fd = -1;
		n->streams[i].sink = i == 0 ? &job->sinks[0] : job->err;
		n->streams[i].tag = job->o.tag_output && !job->o.delegate ? rank : -1;
	}
}

void launch_make_nodes(struct launch_job *job)
{
	job->n_nodes = job->o.delegate ? 1 : (job->o.n_pes + job->o.ppn - 1) / job->o.ppn;
	job->nodes = launch_must_have(calloc((size_t)job->n_nodes, sizeof(*job->nodes)), "the nodes");
	for (int i = 0; i < job->n_nodes; i++)
		init_node(job, i);
}
