/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c: calls that wait, as bytes: for another process, or for a checkpoint.
 *
 *	| struct packed_call | what follows a message's head, padded | ...
 */
#include "along.h"

#include <string.h>

struct packed_call {
	uint64_t size;            /* of the message, its head included */
	uint16_t handler;
	uint8_t flags, reserved;
	int32_t src_pe;
	uint32_t word;
	uint32_t reserved_too[3];
};
_Static_assert(sizeof(struct packed_call) == sizeof(struct cmi_msg),
	       "as long as a head, so what follows is aligned");

static bool is_call(const struct pe *pe, const struct cmi_msg *m)
{
	return m->handler == ck_handler(pe, PART_CALL, H_ELEMENT);
}

struct cmi_msg *call_leaves(struct pe *pe, int dst_pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	const CkGenEntry *e;
	const int src = m->src_pe;

	if (!is_call(pe, m))
		return m;
	if (m->flags & CMI_F_HERE) {
		m = ck_leaving(pe, dst_pe, m);
	} else if (env->entry < coll_get(pe, env->coll)->type->n_entries) { /* else its receiver tells */
		e = &coll_get(pe, env->coll)->type->entries[env->entry];
		if ((e->flags & CKGEN_MESSAGE) && e->message && e->message->pack &&
		    !(env->flags & (CK_ENV_PACKED | CK_CALL_REDUCED)))
			m = &message_pack(pe, e->message, env)->head;
	}
	m->src_pe = src;
	return m;
}

size_t calls_leave(struct pe *pe, int dst_pe, struct msg_fifo *f, uint32_t *n_p)
{
	struct msg_fifo all;
	size_t bytes = 0;

	msg_fifo_move(&all, f);
	while (all.head) {
		struct cmi_msg *m = call_leaves(pe, dst_pe, msg_fifo_pop(&all));

		msg_fifo_push(f, m);
		bytes += CkGen_align(m->size);
		++*n_p;
	}
	return bytes;
}

char *call_put(const struct cmi_msg *m, char *at)
{
	const size_t rest = m->size - sizeof *m;
	const struct packed_call c = { .size = m->size,
				       .handler = m->handler,
				       .flags = m->flags & (uint8_t)~CMI_F_REMOTE,
				       .src_pe = m->src_pe,
				       .word = m->word };

	memcpy(at, &c, sizeof c);
	memcpy(at + sizeof c, m + 1, rest);
	memset(at + m->size, 0, CkGen_align(m->size) - m->size);
	return at + CkGen_align(m->size);
}

char *calls_pack(struct pe *pe, struct msg_fifo *f, char *at)
{
	while (f->head) {
		struct cmi_msg *m = msg_fifo_pop(f);

		at = call_put(m, at);
		csd_msg_free(pe, m);
	}
	return at;
}

struct cmi_msg *call_unpack(struct pe *pe, const char **at_p)
{
	struct packed_call c;
	struct cmi_msg *m;

	memcpy(&c, *at_p, sizeof c);
	m = csd_msg_alloc(pe, c.size);
	m->handler = c.handler;
	m->flags = c.flags;
	m->src_pe = c.src_pe;
	m->word = c.word;
	memcpy(m + 1, *at_p + sizeof c, c.size - sizeof *m);
	*at_p += CkGen_align(c.size);
	return m;
}

const char *calls_misfit(const char *at, const char *end, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		struct packed_call c;

		if ((size_t)(end - at) < sizeof c)
			return "its calls do not lie within it";
		memcpy(&c, at, sizeof c);
		if (c.size < sizeof(struct ck_env) || !lies_within(at, end, c.size))
			return "its calls do not lie within it";
		at += CkGen_align(c.size);
	}
	return at == end ? NULL : "it contains more than its calls";
}
