/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_messages.c: the messages of syncs and steps, along PE 0's tree.
 */
#include "balance_int.h"

struct sync_msg *sync_msg_new(struct pe *pe, const struct collection *c, enum sync_kind kind,
			      size_t bytes)
{
	struct sync_msg *m = ck_msg_new(pe, PART_BALANCE, H_SYNC, 0, sizeof *m + bytes);

	m->coll = c->id;
	m->kind = kind;
	m->round = sync_of(c)->round;
	m->wave = m->n = 0;
	m->sums = (struct sync_sums){ 0 };
	return m;
}

void sync_send(struct pe *pe, int dst_pe, struct sync_msg *m)
{
	csd_send(pe, dst_pe, &m->head);
}

void sync_forward(struct pe *pe, const struct sync_msg *m)
{
	for (int i = 0; i < csd_tree_n_children(pe, 0); i++) {
		struct cmi_msg *copy = csd_msg_copy(pe, &m->head);

		copy->handler = m->head.handler;
		csd_send(pe, csd_tree_child(pe, 0, i), copy);
	}
}

/* To the children, and to this PE, which handles it like any other. */
void sync_tell_all(struct pe *pe, const struct collection *c, enum sync_kind kind, uint32_t wave)
{
	struct sync_msg *m = sync_msg_new(pe, c, kind, 0);

	m->wave = wave;
	sync_send(pe, 0, m);
}
