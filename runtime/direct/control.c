/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.c: the few messages between the two ends of a channel, all beside the data path.
 *
 *   BELL   sender -> receiver   where to hear the sender's bell. Once, and when it grows.
 *   BOUND  sender -> receiver   who has bound the channel, and how its puts come: to name it in
 *                               errors, and to catch a second one. Once, on the paths on which
 *                               the control line is not mapped.
 *   ASK    sender -> receiver   checked mode on the rma path: may put number i be written?
 *   GO     receiver -> sender   it may. (If it may not, the job has ended.)
 *
 * Quiescence does not count them: the put that ASK and GO belong to is counted itself.
 */
#include "direct_int.h"

#include <stddef.h>

enum control_kind { CONTROL_BELL, CONTROL_BOUND, CONTROL_ASK, CONTROL_GO };

struct control_msg {
	struct cmi_msg head;
	uint32_t kind;
	uint32_t path;     /* enum direct_path */
	uint32_t channel, generation;
	uint32_t sender_generation;
	uint64_t iteration;
	uint64_t sender;   /* struct direct_sender *, meaningful on the PE that sent it */
};

struct bell_msg {
	struct cmi_msg head;
	uint32_t kind;
	uint32_t n_slots;
	uint64_t addr;
	struct cmi_key key;
};

/** Before what is queued: a put may have rung the bell already. */
static void send_now(struct pe *pe, int dst_pe, struct cmi_msg *m)
{
	m->handler = (uint16_t)pe->node->direct->handler;
	m->flags = CMI_F_SYSTEM | CMI_F_EXPEDITED;
	csd_send(pe, dst_pe, m);
}

static void send(struct pe *pe, int dst_pe, const struct control_msg *content)
{
	struct control_msg *c;
	struct cmi_msg *m = csd_msg_alloc(pe, sizeof(*c));

	c = (struct control_msg *)m;
	c->kind = content->kind;
	c->path = content->path;
	c->channel = content->channel;
	c->generation = content->generation;
	c->sender_generation = content->sender_generation;
	c->iteration = content->iteration;
	c->sender = content->sender;
	m->handler = (uint16_t)pe->node->direct->handler;
	m->flags = CMI_F_SYSTEM;
	csd_send(pe, dst_pe, m);
}

void direct_send_bell(struct pe *pe, int receiver, struct bell *bell, uint32_t n_slots)
{
	struct bell_msg *b;
	struct cmi_msg *m = csd_msg_alloc(pe, sizeof(*b));

	b = (struct bell_msg *)m;
	b->kind = CONTROL_BELL;
	b->n_slots = n_slots;
	b->addr = (uintptr_t)bell;
	cmi_mem_key(pe->node->machine, bell, bell_bytes(n_slots), &b->key);
	send_now(pe, receiver, m);
}

static void send_from(struct pe *pe, const struct direct_sender *s, enum control_kind kind)
{
	struct control_msg c = {
		.kind = kind,
		.path = s->path,
		.channel = s->channel,
		.generation = s->channel_generation,
		.sender_generation = direct_hot(s)->generation,
		.iteration = direct_hot(s)->iteration,
		.sender = (uintptr_t)s,
	};

	send(pe, s->receiver, &c);
}

void direct_send_bound(struct pe *pe, const struct direct_sender *s)
{
	send_from(pe, s, CONTROL_BOUND);
}

void direct_send_ask(struct pe *pe, const struct direct_sender *s)
{
	send_from(pe, s, CONTROL_ASK);
}

static void bound_arrived(struct pe *pe, const struct control_msg *c)
{
	struct direct_channel_hot *hot = direct_channel_find(pe, c->channel, c->generation);

	if (!hot)
		return; /* destroyed meanwhile, which is the receiver's right */
	direct_claim(pe, direct_id_of_channel(pe, hot), direct_rest(hot)->line, c->head.src_pe);
	if (c->path == DIRECT_RMA)
		direct_make_rma(pe, hot);
	else
		direct_make_own(pe, hot);
}

static void ask_arrived(struct pe *pe, const struct control_msg *c)
{
	static const char call[] = "CkDirect_put";
	const struct direct_channel_hot *hot = direct_channel_find(pe, c->channel, c->generation);
	const struct direct_channel *ch;
	struct direct_id id = {c->channel, pe->id, c->head.src_pe, c->iteration};
	struct control_msg answer = *c;

	if (!hot)
		direct_broken(pe, call, id, "let the receiver tell the sender before it destroys",
			      "the receiver has destroyed this channel");
	ch = direct_rest(hot);
	direct_check_put(pe, call, id, ch->line, c->generation, ch->buf, ch->bytes);
	answer.kind = CONTROL_GO;
	send(pe, c->head.src_pe, &answer);
}

static void go_arrived(const struct control_msg *c)
{
	struct direct_sender *s = (struct direct_sender *)(uintptr_t)c->sender;
	const struct direct_sender_hot *hot = direct_hot(s);

	if (hot->generation == c->sender_generation && hot->iteration == c->iteration)
		direct_sender_go(s);
}

void direct_control_arrived(struct pe *pe, struct cmi_msg *m)
{
	const struct control_msg *c = (const struct control_msg *)m;
	const struct bell_msg *b = (const struct bell_msg *)m;

	switch ((enum control_kind)c->kind) {
	case CONTROL_BELL:
		direct_bell_attach(pe, m->src_pe, &b->key, b->addr, b->n_slots);
		break;
	case CONTROL_BOUND:
		bound_arrived(pe, c);
		break;
	case CONTROL_ASK:
		ask_arrived(pe, c);
		break;
	case CONTROL_GO:
		go_arrived(c);
		break;
	}
	csd_msg_free(pe, m);
}
