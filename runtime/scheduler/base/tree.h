/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.h: the spanning tree over all PEs that is rooted at `root`. Nodes form a 4-ary tree around
 * root's node; the PE through which a node is reached serves the node's other PEs. Computed from
 * the job: on any PE, any time after the job is known.
 */
#ifndef CSD_TREE_H
#define CSD_TREE_H

struct pe;

enum { CSD_TREE_ARITY = 4 };

int csd_tree_parent(const struct pe *pe, int root);               /* -1 for the root */
int csd_tree_parent_of(const struct pe *pe, int other, int root); /* the same for any PE */
int csd_tree_n_children(const struct pe *pe, int root);
int csd_tree_child(const struct pe *pe, int root, int i);
/** The number of children on other nodes. They come first; the others are leaves. */
int csd_tree_n_nodes(const struct pe *pe, int root);

#endif
