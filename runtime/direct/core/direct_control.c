/* SPDX-License-Identifier: Apache-2.0 */
/* direct_control.c: see direct_control.h. */
#include "direct_control.h"

#include "direct_state.h"

void direct_send_control(struct pe *pe, int dst_pe, const struct direct_control_msg *content)
{
	struct direct_control_msg *c;
	struct cmi_msg *m = csd_msg_alloc(pe, sizeof(*c));

	c = (struct direct_control_msg *)m;
	c->kind = content->kind;
	c->path = content->path;
	c->channel = content->channel;
	c->generation = content->generation;
	c->sender_generation = content->sender_generation;
	c->iteration = content->iteration;
	c->sender = content->sender;
	m->handler = (uint16_t)direct_node_of(pe)->handler;
	m->flags = CMI_F_SYSTEM;
	csd_send(pe, dst_pe, m);
}

void direct_send_bell(struct pe *pe, int receiver, struct bell *bell, uint32_t n_slots)
{
	struct direct_bell_msg *b;
	struct cmi_msg *m = csd_msg_alloc(pe, sizeof(*b));

	b = (struct direct_bell_msg *)m;
	b->kind = DIRECT_BELL;
	b->n_slots = n_slots;
	b->addr = (uintptr_t)bell;
	cmi_mem_key(pe->node->machine, bell, bell_bytes(n_slots), &b->key);
	m->handler = (uint16_t)direct_node_of(pe)->handler;
	m->flags = CMI_F_SYSTEM | CMI_F_EXPEDITED;
	csd_send(pe, receiver, m);
}
