/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack.c: messages that the program packs itself (`message M;` in the .ci file). They may hold
 * pointers to whatever they like, and are handed over as they are within a node. What leaves
 * it, or has to be copied, is the form that M_pack makes of them, flagged CK_ENV_PACKED;
 * M_unpack takes it back when the handler's turn has come.
 *
 * Calls with nocopy arrays have two forms as well (ncpy.c). A message in the node's own form has
 * CMI_F_HERE, and csd_send asks ck_leaving before it goes elsewhere.
 */
#include "params.h"

#include <stdlib.h>

void *CkAllocBuffer(void *msg, size_t bytes)
{
	void *payload = CkGen_allocMsg(bytes);

	if (msg)
		env_of(payload)->refnum = env_of(msg)->refnum;
	return payload;
}

/* The program's function makes another message of it; the head goes along. */
static struct ck_env *convert(struct pe *pe, const CkGenMessage *type, void *(*fn)(void *),
			      struct ck_env *env)
{
	const struct ck_env was = *env;
	struct msg_prio *wide = was.head.flags & CMI_F_WIDE ? csd_save_prio(pe, &env->head) : NULL;
	struct ck_env *made;
	void *payload;

	csd_clear_prio(&env->head);
	env->head.mark = OWNER_PROGRAM; /* the function's, which frees it */
	/* For what it makes. */
	ck_of(pe)->prio_room = wide ? csd_prio_bytes(wide->n_bits) : 0;
	payload = fn(payload_of(env));
	ck_of(pe)->prio_room = 0;
	if (!payload || (uintptr_t)payload % CMI_MSG_ALIGN)
		csd_abort(pe, "%s_%s returned %p, which is no message; use CkAllocBuffer",
			  type->name, fn == type->pack ? "pack" : "unpack", payload);
	made = env_of(payload);
	made->head.route = was.head.route;
	made->head.mark = OWNER_UNKNOWN;
	made->head.prio = was.head.prio;
	made->coll = was.coll;
	made->index = was.index;
	made->call = was.call;
	made->refnum = was.refnum;
	/* What it has become may hold pointers to itself, so it must not move. The same memory has the
	 * priority behind it still. */
	if (wide && made == env) {
		made->head.size = was.head.size;
		free(wide);
	} else if (wide && fn == type->unpack && !csd_prio_fits(&made->head, wide->n_bits))
		free(wide);
	else if (wide)
		made = (struct ck_env *)csd_restore_prio(pe, &made->head, wide);
	return made;
}

struct ck_env *message_pack(struct pe *pe, const CkGenMessage *type, struct ck_env *env)
{
	env = convert(pe, type, type->pack, env);
	env->flags |= CK_ENV_PACKED;
	env->head.flags &= (uint8_t)~CMI_F_HERE;
	return env;
}

struct ck_env *message_unpack(struct pe *pe, const CkGenMessage *type, struct ck_env *env)
{
	env->flags &= (uint8_t)~CK_ENV_PACKED;
	return convert(pe, type, type->unpack, env);
}

/* For one PE of another node; -1: for several, or for whom is not known yet. */
struct ck_env *env_for_pe(struct pe *pe, int dst_pe, const CkGenEntry *e, struct ck_env *env)
{
	if ((e->flags & CKGEN_MESSAGE) && e->message->pack && !(env->flags & CK_ENV_PACKED))
		env = message_pack(pe, e->message, env);
	if ((e->flags & CKGEN_MESSAGE) && pe->node->check)
		return owner_leave(pe, env);
	return e->flags & CKGEN_NOCOPY ? ncpy_leave(pe, dst_pe, e, env) : env;
}

struct ck_env *env_for_others(struct pe *pe, const CkGenEntry *e, struct ck_env *env)
{
	return env_for_pe(pe, -1, e, env);
}

struct cmi_msg *ck_leaving(struct pe *pe, int dst_pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;

	/* By this PE, for this journey: send.c asks before it sends, too. */
	if ((env->flags & CK_CALL_LENT) && m->src_pe == pe->id)
		return m;
	const struct collection *c = coll_get(pe, env->coll);

	if (!c->type || env->entry >= c->type->n_entries)
		csd_abort(pe, "internal: a message of unknown type leaves the node");
	env = env_for_pe(pe, dst_pe, &c->type->entries[env->entry], env);
	env->head.src_pe = pe->id;
	return &env->head;
}
