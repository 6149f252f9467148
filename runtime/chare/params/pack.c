/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack.c: messages that the program packs itself (`message [packed] M;` in the .ci file). They may
 * contain any pointers. Within a node they are sent as they are. A message that leaves the node, or
 * has to be copied, is converted by M_pack and flagged CK_ENV_PACKED. M_unpack converts it back
 * just before the handler.
 *
 * Calls with nocopy arrays also have two forms (ncpy.c). A message in the form for this node only
 * has CMI_F_HERE; csd_send calls ck_leaving before it sends such a message elsewhere.
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

/* Let the program's function make another message of this one, and give it the same head. */
static struct ck_env *convert(struct pe *pe, const CkGenMessage *type, void *(*fn)(void *),
			      struct ck_env *env)
{
	const struct ck_env was = *env;
	struct msg_prio *wide = was.head.flags & CMI_F_WIDE ? csd_save_prio(&env->head) : NULL;
	const bool of_section = was.more & CK_MORE_SECTION;
	const CkSection section = of_section ? env_section(env) : (CkSection){ 0, 0 };
	struct ck_env *made;
	void *payload;

	csd_clear_prio(&env->head);
	if (of_section)
		env_drop_section(env);
	env->head.mark = OWNER_PROGRAM; /* fn owns it, and frees it */
	/* Space for both in the message that fn makes. */
	ck_of(pe)->prio_room = (wide ? csd_prio_bytes(wide->n_bits) : 0) +
			       (of_section ? sizeof section : 0);
	payload = fn(payload_of(env));
	ck_of(pe)->prio_room = 0;
	if (!payload || (uintptr_t)payload % CMI_MSG_ALIGN)
		csd_abort(pe, "%s_%s returned %p, which is not a message; use CkAllocBuffer",
			  type->name, fn == type->pack ? "pack" : "unpack", payload);
	made = env_of(payload);
	made->head.route = was.head.route;
	made->head.mark = OWNER_UNKNOWN;
	made->head.prio = was.head.prio;
	made->coll = was.coll;
	made->index = was.index;
	made->call = was.call;
	made->refnum = was.refnum;
	/* An unpacked message may contain pointers to itself, so it must not move. If fn returned the same
	 * message, the section and the priority still follow it. */
	if (of_section && made != env) {
		made->more &= (uint8_t)~CK_MORE_SECTION;
		env_add_section(made, section);
	}
	if (made == env) {
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

/* dst_pe: a PE of another node; -1: several PEs, or not known yet. */
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

	/* This PE has already lent the arrays for this send, in env_for_pe. */
	if ((env->flags & CK_CALL_LENT) && m->src_pe == pe->id)
		return m;
	const struct collection *c = coll_get(pe, env->coll);

	if (!c->type || env->entry >= c->type->n_entries)
		csd_abort(pe, "internal: a message of unknown type leaves the node");
	env = env_for_pe(pe, dst_pe, &c->type->entries[env->entry], env);
	env->head.src_pe = pe->id;
	return &env->head;
}
