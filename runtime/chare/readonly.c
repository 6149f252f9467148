/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readonly.c: readonly variables. The main chares' constructors, on PE 0, set them; then they
 * are sealed and sent to every node in one message, before any PE there starts to work.
 * On each node the PE that the message reaches first writes them; the node's other PEs get
 * the message from that PE, after the writing.
 */
#include "ck_int.h"

#include <string.h>

typedef void (*readonly_fn)(const CkGenReadonly *r, void *arg);

static void for_each(const struct ck_node *ck, readonly_fn fn, void *arg)
{
	for (int m = 0; m < ck->n_modules; m++)
		for (int i = 0; i < ck->modules[m]->n_readonlies; i++)
			fn(&ck->modules[m]->readonlies[i], arg);
}

static void pack(const CkGenReadonly *r, void *arg)
{
	char **to = arg;

	memcpy(*to, r->addr, r->bytes);
	*to += r->bytes;
}

static void unpack(const CkGenReadonly *r, void *arg)
{
	const char **from = arg;

	memcpy(r->addr, *from, r->bytes);
	*from += r->bytes;
}

static void hash(const CkGenReadonly *r, void *arg)
{
	uint64_t *h = arg;
	const unsigned char *p = r->addr;

	for (size_t i = 0; i < r->bytes; i++)
		*h = (*h ^ p[i]) * 0x100000001b3ull;
}

static void seal(struct node *node)
{
	if (!node->check)
		return;
	node->ck->readonly_hash = 0xcbf29ce484222325ull; /* not 0, which zeros would leave at 0 */
	for_each(node->ck, hash, &node->ck->readonly_hash);
}

void readonly_send(struct pe *pe)
{
	struct ck_node *ck = pe->node->ck;
	struct ck_env *env = env_new(pe, ck->h_readonly, ck->readonly_bytes);
	char *to = payload_of(env);

	for_each(ck, pack, &to);
	env->root = pe->id;
	bcast_forward(pe, env);
	env_unref(pe, env);
	seal(pe->node);
}

void readonly_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	const char *from = payload_of(env);

	if (m->size != sizeof *env + pe->node->ck->readonly_bytes)
		csd_abort(pe, "the readonly variables are %zu bytes here and %zu on PE 0",
			  pe->node->ck->readonly_bytes, (size_t)m->size - sizeof *env);
	if (pe->node->job->node_of[m->src_pe] != pe->node->job->node) {
		for_each(pe->node->ck, unpack, &from);
		seal(pe->node);
	}
	env->flags = 0;
	bcast_forward(pe, env);
	env_unref(pe, env);
}

/* Checked mode, at the end of the node: nobody may have written a sealed variable. */
void readonly_check(struct node *node)
{
	uint64_t was = node->ck->readonly_hash;

	if (!node->check || !was)
		return;
	seal(node);
	if (node->ck->readonly_hash != was)
		csd_abort(NULL, "node %d: a readonly variable was written after the main chare's "
			  "constructor returned; only there may they be set", node->job->node);
}
