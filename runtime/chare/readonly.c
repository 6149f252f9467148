/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readonly.c: readonly variables. The main chares' constructors, on PE 0, set them. Then PE 0 seals
 * them and sends them to every node in one message, before any PE there starts to work. On each
 * node the PE that the message reaches first writes the variables, and then forwards the message to
 * the node's other PEs.
 *
 * The payload has the variables in the order of the tables. A plain variable is its bytes. A
 * message (`readonly M *m`) is the number of its bytes, and then the bytes at a multiple of 16,
 * packed if the program packs that type. Each node makes its own message from these bytes, which
 * lives as long as the job.
 */
#include "readonly.h"
#include "core/shape.h"

#include <stdlib.h>
#include <string.h>

#include "../image/image.h"
#include "../machine/base/cmi_alloc.h"
#include "../machine/tools/cmi_hash.h"

enum { H_READONLY };

/** On a node. */
struct readonlies {
	uint64_t *sealed;         /* a hash of each variable when it was sealed; NULL before */
	void *payload;            /* PE 0's node, if a message has to be packed: what was sent, for
				   * checkpoints; packing it again would take it from other PEs */
	size_t bytes;             /* of payload */
};

static struct readonlies *readonlies_of(const struct node *node)
{
	return ck_node_state(node, PART_READONLY);
}

typedef void (*readonly_fn)(struct pe *pe, const CkGenReadonly *r, void *arg);

static void for_each(struct pe *pe, const struct ck_node *ck, readonly_fn fn, void *arg)
{
	for (int m = 0; m < ck->n_modules; m++)
		for (int i = 0; i < ck->modules[m]->n_readonlies; i++)
			fn(pe, &ck->modules[m]->readonlies[i], arg);
}

/* ---- messages ----------------------------------------------------------------------------- */

static uint64_t readonly_bytes(const void *msg)
{
	return msg ? env_of((void *)(uintptr_t)msg)->head.size - sizeof(struct ck_env) : 0;
}

/* A message like that of a call, so that the type's functions may free it. */
static void *message_copy(struct pe *pe, const void *bytes, uint64_t n)
{
	void *msg = payload_of(env_new(pe, 0, n));

	memcpy(msg, bytes, n);
	return msg;
}

/* Convert PE 0's own message to the form for other nodes. */
static void to_travel(struct pe *pe, const CkGenReadonly *r, void *arg)
{
	void **msg = r->addr;

	(void)pe, (void)arg;
	if (r->message && *msg && r->message->pack)
		*msg = r->message->pack(*msg);
}

static void to_use(struct pe *pe, const CkGenReadonly *r, void *arg)
{
	void **msg = r->addr;

	(void)pe, (void)arg;
	if (!r->message || !*msg)
		return;
	if (r->message->unpack)
		*msg = r->message->unpack(*msg);
	else if (r->message->fix)
		r->message->fix(*msg);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void readonly_measure(struct pe *pe, const CkGenReadonly *r, void *arg)
{
	size_t *bytes = arg;

	(void)pe;
	if (r->message)
		*bytes = CkGen_align(*bytes + sizeof(uint64_t)) +
			 CkGen_align(readonly_bytes(*(void **)r->addr));
	else
		*bytes += r->bytes;
}

struct payload {
	char *start, *at;
};

/* The aligned position of the next message. */
static char *aligned(const struct payload *p)
{
	return p->start + CkGen_align((size_t)(p->at - p->start));
}

static void readonly_pack(struct pe *pe, const CkGenReadonly *r, void *arg)
{
	struct payload *to = arg;
	const void *from = r->message ? *(void **)r->addr : r->addr;
	uint64_t n = r->message ? readonly_bytes(from) : r->bytes;

	(void)pe;
	if (r->message) {
		memcpy(to->at, &n, sizeof n);
		to->at += sizeof n;
		to->at = aligned(to);
	}
	if (n)
		memcpy(to->at, from, n);
	to->at += r->message ? CkGen_align(n) : n;
}

static void readonly_unpack(struct pe *pe, const CkGenReadonly *r, void *arg)
{
	struct payload *from = arg;
	uint64_t n;

	if (!r->message) {
		memcpy(r->addr, from->at, r->bytes);
		from->at += r->bytes;
		return;
	}
	memcpy(&n, from->at, sizeof n);
	from->at += sizeof n;
	from->at = aligned(from);
	*(void **)r->addr = n ? message_copy(pe, from->at, n) : NULL;
	from->at += CkGen_align(n);
}

/* Small variables always, since their hash takes a few microseconds in a job; large ones, and what
 * messages have, in checked mode. The runtime cannot read the targets of pointers in a user's
 * message, so they are left out. */
static uint64_t hash_of(const CkGenReadonly *r, bool all)
{
	enum { SMALL = 4096 };
	uint64_t h = CMI_HASH_START;

	if (all || r->bytes <= SMALL)
		h = cmi_hash(h, r->addr, r->bytes);
	if (all && r->message && !r->message->pack)
		h = cmi_hash(h, *(void **)r->addr, readonly_bytes(*(void **)r->addr));
	return h;
}

static void readonly_count(struct pe *pe, const CkGenReadonly *r, void *arg)
{
	(void)pe, (void)r;
	++*(size_t *)arg;
}

struct sealing {
	uint64_t *next;
	bool all;
};

static void readonly_seal(struct pe *pe, const CkGenReadonly *r, void *arg)
{
	struct sealing *s = arg;

	(void)pe;
	*s->next++ = hash_of(r, s->all);
}

static void seal(struct node *node)
{
	const struct ck_node *ck = ck_node_of(node);
	struct sealing s = { .all = node->check };
	size_t n = 0;

	for_each(NULL, ck, readonly_count, &n);
	s.next = readonlies_of(node)->sealed = cmi_alloc_zero(n + 1, sizeof *s.next, "the readonly variables");
	for_each(NULL, ck, readonly_seal, &s);
}

/* Down the tree on which the groups of the main chares were announced, and after them. At once,
 * even while the PE holds its messages back for these groups: the others wait for the variables. */
static void readonly_pass_on(struct pe *pe, struct ck_env *env)
{
	for (int i = 0; i < csd_tree_n_children(pe, env->root); i++)
		csd_send_now(pe, csd_tree_child(pe, env->root, i), csd_msg_copy(pe, &env->head));
	csd_msg_free(pe, &env->head);
}

static size_t payload_bytes(struct pe *pe)
{
	size_t bytes = 0;

	for_each(pe, ck_node_of(pe->node), readonly_measure, &bytes);
	return bytes;
}

static void put_payload(struct pe *pe, void *at)
{
	struct payload to = { at, at };

	for_each(pe, ck_node_of(pe->node), readonly_pack, &to);
}

static void readonly_packs(struct pe *pe, const CkGenReadonly *r, void *arg)
{
	(void)pe;
	*(bool *)arg |= r->message && r->message->pack;
}

static void keep_payload(struct pe *pe, const void *payload)
{
	struct readonlies *own = readonlies_of(pe->node);
	bool packs = false;

	for_each(pe, ck_node_of(pe->node), readonly_packs, &packs);
	if (!packs)
		return;
	own->bytes = payload_bytes(pe);
	own->payload = cmi_alloc(own->bytes, "the readonly variables");
	memcpy(own->payload, payload, own->bytes);
}

static void take_payload(struct pe *pe, const void *at)
{
	struct payload from = { (char *)(uintptr_t)at, (char *)(uintptr_t)at };

	for_each(pe, ck_node_of(pe->node), readonly_unpack, &from);
	for_each(pe, ck_node_of(pe->node), to_use, NULL);
}

void readonly_send(struct pe *pe)
{
	struct ck_node *ck = ck_node_of(pe->node);

	for_each(pe, ck, to_travel, NULL);
	struct ck_env *env = env_new(pe, ck_handler(pe, PART_READONLY, H_READONLY), payload_bytes(pe));

	put_payload(pe, payload_of(env));
	keep_payload(pe, payload_of(env));
	for_each(pe, ck, to_use, NULL);
	env->root = pe->id;
	readonly_pass_on(pe, env);
	seal(pe->node);
}

static void readonly_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;

	if (pe->node->job->node_of[m->src_pe] != pe->node->job->node) {
		take_payload(pe, payload_of(env));
		seal(pe->node);
	}
	readonly_pass_on(pe, env);
}

void readonly_await(struct pe *pe)
{
	csd_wait_for(pe, ck_handler(pe, PART_READONLY, H_READONLY));
}

struct checking {
	const struct node *node;
	const uint64_t *next;
};

static void readonly_check(struct pe *pe, const CkGenReadonly *r, void *arg)
{
	struct checking *c = arg;

	(void)pe;
	if (*c->next++ != hash_of(r, c->node->check))
		csd_abort(NULL, "node %d: a readonly variable was written after the main chare's "
			  "constructor returned; only there may they be set: %s", c->node->job->node, r->name);
}

/* Abort if the program has written a sealed variable: other nodes do not see it. */
static void readonly_node_stop(struct node *node)
{
	struct checking c = { node, readonlies_of(node)->sealed };

	if (!c.next)
		return; /* it never began */
	for_each(NULL, ck_node_of(node), readonly_check, &c);
	free(readonlies_of(node)->sealed);
	free(readonlies_of(node)->payload);
}

struct walk {
	const char *at;
	size_t used, room;
};

static void readonly_walk(struct pe *pe, const CkGenReadonly *r, void *arg)
{
	struct walk *w = arg;
	uint64_t n = r->bytes;

	(void)pe;
	if (r->message) {
		if (w->used > w->room || w->room - w->used < sizeof n) {
			w->used = SIZE_MAX / 2;
			return;
		}
		memcpy(&n, w->at + w->used, sizeof n);
		w->used = CkGen_align(w->used + sizeof n);
		if (n && (n > w->room || w->used > w->room - n ||
			  (r->message->fits && !r->message->fits(w->at + w->used, n))))
			n = SIZE_MAX / 4;
		n = CkGen_align(n);
	}
	w->used = w->used > w->room ? SIZE_MAX / 2 : w->used + n;
}

/* The variables lie within it, one after another. */
static const char *payload_misfit(struct pe *pe, const void *at, size_t bytes)
{
	struct walk w = { at, 0, bytes };

	for_each(pe, ck_node_of(pe->node), readonly_walk, &w);
	return w.used == w.room ? NULL : "its size is not that of the readonly variables";
}

static const char *readonly_misfit(struct pe *pe, const struct cmi_msg *m)
{
	return payload_misfit(pe, (const struct ck_env *)m + 1, m->size - sizeof(struct ck_env));
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

/* On PE 0. A restart reads them there before all else, and PE 0 sends them. */
static void readonly_write(struct pe *pe, struct image_out *out)
{
	const struct readonlies *own = readonlies_of(pe->node);
	const struct image_name name = { .kind = IMAGE_READONLY };
	void *at;

	if (pe->id)
		return;
	at = out->add(out, &name, own->payload ? own->bytes : payload_bytes(pe));
	if (at && own->payload)
		memcpy(at, own->payload, own->bytes);
	else if (at)
		put_payload(pe, at);
}

static bool readonly_is_mine(struct pe *pe, const struct image_name *name)
{
	(void)name;
	return !pe->id;
}

static const char *readonly_read(struct pe *pe, const struct image_name *name, const void *bytes,
				 size_t n)
{
	const char *why = payload_misfit(pe, bytes, n);

	(void)name;
	if (!why)
		take_payload(pe, bytes);
	return why;
}

static const struct ck_handler handlers[] = {
	[H_READONLY] = { "ck.readonly", readonly_arrived,
			 .shape = { CK_SHAPE_ENV, CK_SHAPE_ROOT, .ways = { CSD_DOWN }, .misfit = readonly_misfit } },
};

const struct ck_part readonly_part = {
	.name = "readonly",
	.number = PART_READONLY,
	.node_bytes = sizeof(struct readonlies),
	.handlers = CK_LIST(handlers),
	.node_stop = readonly_node_stop,
	.save = { .write = readonly_write, .kinds = UINT32_C(1) << IMAGE_READONLY,
		  .mine = readonly_is_mine, .read = readonly_read },
};
