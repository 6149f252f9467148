/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nodegroup_int.h: shared by the files of this room.
 *
 *	nodegroup.c       branches, their calls and reductions
 *	nodegroup_save.c  branches in checkpoints
 */
#ifndef CK_NODEGROUP_INT_H
#define CK_NODEGROUP_INT_H

#include <pthread.h>

#include "../kinds.h"

/** All PEs of the node find it. It is never freed while they run. */
struct nodegroup {
	struct collection coll;     /* first; the branch uses its id and type, constant once it is
				     * announced */
	struct csd_gate birth, exclusive;
	/* NULL until the constructor has run. The release store that sets it pairs with the
	 * acquire loads of the PEs that use it, so they see the whole branch. */
	_Atomic(struct ck_obj *) obj;
	/* Its creation, until the constructor begins. The release store that sets it pairs with the
	 * acquire load of the PE that constructs, so that PE sees the message and the type. */
	_Atomic(struct ck_env *) announced;
	/* Whether it has been announced here. The release store that sets it pairs with the acquire load
	 * in nodegroup_call_misfit: a call from another node may be checked by a PE that has not used the
	 * nodegroup. */
	_Atomic bool typed;
	struct ck_obj *half;        /* while the constructor runs: for the PE that runs it */
	struct msg_fifo waiting;    /* [when] calls; only the call that has passed the exclusive gate uses
				     * it */
	/* Contributions of the branch. Relaxed: only the number counts, and a handler that another one
	 * precedes, such as an [exclusive] one, gets the later number, because both modify one object. */
	_Atomic uint64_t n_contributed;
	uint64_t n_filed;           /* these three: of the node's first PE; contributions that it has
				     * taken, by number */
	struct msg_fifo early;      /* those that came before one with a lower number */
	bool filing;                /* one of them is being filed */
	struct nodegroup *chain;
};

enum { NODEGROUP_BUCKETS = 64 };

/** On a node. Not an idmap, because PEs search it while one of them adds to it. */
struct nodegroups {
	_Atomic(struct nodegroup *) bucket[NODEGROUP_BUCKETS];
	pthread_mutex_t lock;       /* held while adding one */
	pthread_mutex_t build;      /* held while a branch is constructed; see branch_of */
	_Atomic(struct pe *) builder; /* the PE that holds `build`, or NULL */
	_Atomic bool arrived;       /* a restart: the node's first PE has made the branches anew */
};

static inline struct nodegroups *nodegroups_of(const struct pe *pe)
{
	return ck_node_state(pe->node, PART_NODEGROUP);
}

/** Find a nodegroup. The first PE that names it adds it. */
struct nodegroup *nodegroup_get(struct pe *pe, uint64_t id);
/** Its waiting calls, described by the node's first PE. Only in a quiescent job: otherwise other
 * PEs use the branch. */
void describe_nodegroup(struct pe *pe, const struct nodegroup *g, struct csd_told *to);

/* nodegroup_save.c */
extern const struct ck_saving nodegroup_saving;

#endif
