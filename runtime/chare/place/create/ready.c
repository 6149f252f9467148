/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ready.c: tells the creator of a new array when all its elements are constructed. The reports go
 * up the tree on which the creation message came down.
 */
#include "place_create.h"
#include "../../../machine/base/cmi_alloc.h"

#include <stdlib.h>

struct ready {
	int n_in;                 /* children whose whole subtree is constructed */
	bool constructed;         /* this PE's elements are constructed */
	CkCallback cb;            /* on the creator's PE */
};

void ready_want(struct collection *c, const CkCallback *cb)
{
	if (!place_of(c)->ready)
		place_of(c)->ready = cmi_alloc_zero(1, sizeof *place_of(c)->ready, "a collection");
	if (cb)
		place_of(c)->ready->cb = *cb;
}

static void ready_report(struct pe *pe, struct collection *c)
{
	struct ready *r = place_of(c)->ready;
	int root = (int)(c->id >> 32);
	const CkArrayID aid = { c->id };

	if (!r->constructed || r->n_in < csd_tree_n_children(pe, root))
		return;
	if (pe->id == root)
		callback_fire(pe, &r->cb, CK_ARRAYID, &aid, 1, sizeof aid);
	else
		where_send(pe, csd_tree_parent(pe, root), H_READY, 0,
			   (struct where_msg){ .coll = c->id });
	free(r);
	place_of(c)->ready = NULL;
}

void ready_constructed(struct pe *pe, struct collection *c)
{
	if (CSD_LIKELY(!place_of(c)->ready))
		return;
	place_of(c)->ready->constructed = true;
	ready_report(pe, c);
}

void ready_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct collection *c = coll_get(pe, ((const struct where_msg *)m)->coll);

	csd_msg_free(pe, m);
	ready_want(c, NULL);
	place_of(c)->ready->n_in++;
	ready_report(pe, c);
}
