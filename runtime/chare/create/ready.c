/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ready.c: tells the creator of a new array when all its elements are constructed. The reports go
 * up the tree on which the creation message came down.
 */
#include "create_int.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>

struct ready {
	int n_in;                 /* children whose whole subtree is constructed */
	bool constructed;         /* this PE's elements are constructed */
	CkCallback cb;            /* on the creator's PE */
};

static struct ready **ready_of(const struct collection *c) { return &create_coll_of(c)->ready; }

void ready_want(struct collection *c, const CkCallback *cb)
{
	struct ready **r = ready_of(c);

	if (!*r)
		*r = cmi_alloc_zero(1, sizeof **r, "a collection");
	if (cb)
		(*r)->cb = *cb;
}

void ready_fini(struct pe *pe, struct collection *c)
{
	(void)pe;
	free(*ready_of(c));
	*ready_of(c) = NULL;
}

static void ready_report(struct pe *pe, struct collection *c)
{
	struct ready *r = *ready_of(c);
	int root = (int)(c->id >> 32);
	const CkArrayID aid = { c->id };

	if (!r->constructed || r->n_in < csd_tree_n_children(pe, root))
		return;
	if (pe->id == root) {
		callback_fire(pe, &r->cb, CK_ARRAYID, &aid, 1, sizeof aid);
	} else {
		struct ready_msg *m = ck_msg_new(pe, PART_CREATE, H_READY, 0, sizeof *m);

		m->coll = c->id;
		csd_send(pe, csd_tree_parent(pe, root), &m->head);
	}
	ready_fini(pe, c);
}

void ready_constructed(struct pe *pe, struct collection *c)
{
	if (CSD_LIKELY(!*ready_of(c)))
		return;
	(*ready_of(c))->constructed = true;
	ready_report(pe, c);
}

void ready_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct collection *c = coll_get(pe, ((const struct ready_msg *)m)->coll);

	csd_msg_free(pe, m);
	ready_want(c, NULL);
	(*ready_of(c))->n_in++;
	ready_report(pe, c);
}
