/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.c: the spanning tree of broadcasts and reductions, computed, not stored. Nodes are numbered
 * from the root's node and form a 4-ary tree (Charm++'s and VMI's factor); one PE of each node, its
 * leader, is connected to other nodes and serves the node's other PEs as leaves: so a broadcast
 * crosses to each process once. The leader of the root's node is the root, elsewhere the node's
 * first PE.
 */
#include "base.h"

static int leader_of(const struct cmi_job *job, int node, int root)
{
	return node == job->node_of[root] ? root : job->first_pe[node];
}

/* Number of a node in the tree of `root`, and back. Without a division: each broadcast asks several
 * times. */
static int to_tree(const struct cmi_job *job, int node, int root)
{
	const int t = node - job->node_of[root];

	return t < 0 ? t + job->n_nodes : t;
}

static int from_tree(const struct cmi_job *job, int t, int root)
{
	const int node = t + job->node_of[root];

	return node < job->n_nodes ? node : node - job->n_nodes;
}

int csd_tree_parent_of(const struct pe *pe, int other, int root)
{
	const struct cmi_job *job = pe->node->job;
	int node = job->node_of[other], leader = leader_of(job, node, root);

	if (other == root)
		return -1;
	if (other != leader)
		return leader;
	int t = to_tree(job, node, root);

	return leader_of(job, from_tree(job, (t - 1) / CSD_TREE_ARITY, root), root);
}

int csd_tree_parent(const struct pe *pe, int root)
{
	return csd_tree_parent_of(pe, pe->id, root);
}

static int n_child_nodes(const struct cmi_job *job, int root)
{
	int first = to_tree(job, job->node, root) * CSD_TREE_ARITY + 1;
	int n = job->n_nodes - first;

	return n < 0 ? 0 : n > CSD_TREE_ARITY ? CSD_TREE_ARITY : n;
}

int csd_tree_n_children(const struct pe *pe, int root)
{
	const struct cmi_job *job = pe->node->job;

	if (pe->id != leader_of(job, job->node, root))
		return 0;
	return n_child_nodes(job, root) + job->my_n_pes - 1;
}

int csd_tree_n_nodes(const struct pe *pe, int root)
{
	const struct cmi_job *job = pe->node->job;

	return pe->id == leader_of(job, job->node, root) ? n_child_nodes(job, root) : 0;
}

/* Other nodes first: they have further to go. */
int csd_tree_child(const struct pe *pe, int root, int i)
{
	const struct cmi_job *job = pe->node->job;
	int n = n_child_nodes(job, root);

	if (i < n) {
		int t = to_tree(job, job->node, root) * CSD_TREE_ARITY + 1 + i;

		return leader_of(job, from_tree(job, t, root), root);
	}
	int local = i - n;

	return job->my_first_pe + (local < pe->local ? local : local + 1);
}
