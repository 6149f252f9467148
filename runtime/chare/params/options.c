/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.c: the options of a call: priority, order among equals, a reference number. Calls without
 * options, of entries without attributes, do not use this file.
 */
#include "params.h"

/* ---- priority ---------------------------------------------------------------------------- */

/* Every group that a program can name is announced on this PE, so a call need not wait for
 * group_dep (create/announce.c). Only whether such a collection can exist is checked. */
static bool may_be_collection(const struct pe *pe, uint64_t id)
{
	return csd_can_make(pe->node, id >> 32) && (uint32_t)id;
}

_Noreturn static void bad_options(struct pe *pe, const CkGenChare *chare, int entry,
				  const CkEntryOptions *o)
{
	char name[128];

	describe_entry(chare, entry, name, sizeof name);
	if (o->queueing < CK_QUEUEING_FIFO || o->queueing > CK_QUEUEING_LLIFO)
		csd_abort(pe, "call of %s: queueing %d is not one of CK_QUEUEING_*", name,
			  o->queueing);
	if (o->group_dep.id && !may_be_collection(pe, o->group_dep.id))
		csd_abort(pe, "call of %s: group_dep %llx is not the proxy of a group; take it from X_ckNew",
			  name, (unsigned long long)o->group_dep.id);
	csd_abort(pe, "call of %s: a priority of %d bits at %p; give prio_bits and n_prio_bits", name,
		  o->n_prio_bits, (const void *)o->prio_bits);
}

static bool by_bits(const CkEntryOptions *o)
{
	return o->queueing == CK_QUEUEING_BFIFO || o->queueing == CK_QUEUEING_BLIFO;
}

static bool is_long(const CkEntryOptions *o)
{
	return o->queueing == CK_QUEUEING_LFIFO || o->queueing == CK_QUEUEING_LLIFO;
}

/* Odd strategies are last in first out. */
static struct ck_env *set_priority(struct pe *pe, struct ck_env *env, const CkEntryOptions *o)
{
	struct cmi_msg *m = &env->head;

	if (o->queueing & CK_QUEUEING_LIFO)
		m->flags |= CMI_F_LIFO;
	if (by_bits(o))
		m = csd_set_prio_bits(pe, m, o->prio_bits, (uint32_t)o->n_prio_bits);
	else
		m = csd_set_prio(pe, m, is_long(o) ? o->prio_long : o->prio);
	return (struct ck_env *)m;
}

/* Whether the message has to be packed now: a message with pack functions must not move, and the
 * priority needs a longer one. */
static bool must_pack(const CkGenEntry *e, const struct ck_env *env, const CkEntryOptions *o)
{
	if (!e->message || !e->message->pack || (env->flags & CK_ENV_PACKED))
		return false;
	if (by_bits(o))
		return o->n_prio_bits && !csd_prio_fits(&env->head, (uint32_t)o->n_prio_bits);
	return is_long(o) && o->prio_long != (int32_t)o->prio_long &&
	       !csd_prio_fits(&env->head, 0);
}

/* ---- options of a call ----------------------------------------------------------------------- */

/* `flags` are those of the message's previous send. The message keeps its priority and its
 * reference number unless the call has options. */
struct ck_env *options_apply(struct pe *pe, const CkGenChare *chare, int entry, struct ck_env *env,
			     uint8_t flags, const CkEntryOptions *o)
{
	const CkGenEntry *e = &chare->entries[entry];
	bool message = e->flags & CKGEN_MESSAGE;

	if (e->flags & CKGEN_EXPEDITED)
		env->head.flags |= CMI_F_EXPEDITED;
	if ((e->flags & CKGEN_SPECIAL) || (message && pe->node->check))
		env->flags |= CK_ENV_SPECIAL;
	if ((e->flags & CKGEN_NOCOPY) || (message && (e->message->pack || pe->node->check)))
		env->head.flags |= CMI_F_HERE;
	if (message) {
		env->head.flags |= flags & (CMI_F_PRIO | CMI_F_WIDE | CMI_F_LIFO);
		env->head.mark = OWNER_SENT;
	}
	if (!o)
		return env;
	if (o->queueing < CK_QUEUEING_FIFO || o->queueing > CK_QUEUEING_LLIFO ||
	    (by_bits(o) && (o->n_prio_bits < 0 || (o->n_prio_bits && !o->prio_bits))) ||
	    (o->group_dep.id && !may_be_collection(pe, o->group_dep.id)))
		bad_options(pe, chare, entry, o);
	if (!message || o->refnum)
		env->refnum = o->refnum;
	csd_clear_prio(&env->head);
	env->head.flags &= (uint8_t)~CMI_F_LIFO;
	if (must_pack(e, env, o))
		env = message_pack(pe, e->message, env);
	return set_priority(pe, env, o);
}

/* ---- for programs ---------------------------------------------------------------------------- */

static struct ck_env *program_env(void *msg, const char *who)
{
	struct pe *pe = ck_self_in(who);

	if (!msg)
		csd_abort(pe, "%s: the message is NULL", who);
	if (pe->node->check)
		owner_check_use(pe, env_of(msg), who);
	return env_of(msg);
}

void CkSetRefNum(void *msg, int n)
{
	program_env(msg, "CkSetRefNum")->refnum = n;
}

int CkGetRefNum(const void *msg)
{
	const struct ck_pe *ck = ck_of(ck_self());

	if (msg)
		return program_env((void *)(uintptr_t)msg, "CkGetRefNum")->refnum;
	return ck->now.obj && ck->now.env ? ck->now.env->refnum : 0;
}

void CkSetPrio(void *msg, int prio)
{
	struct ck_env *env = program_env(msg, "CkSetPrio");

	csd_set_prio(ck_self(), &env->head, prio);
}

void CkReservePrio(int n_bits)
{
	struct pe *pe = ck_self();

	if (n_bits < 0)
		csd_abort(pe, "CkReservePrio: a priority cannot have %d bits", n_bits);
	ck_of(pe)->prio_room = csd_prio_bytes((uint32_t)n_bits);
}

/* Abort if the message has no space for the priority; it must not move, because the program has a
 * pointer to it. n_bits 0: a 64-bit number. */
static void check_room(struct cmi_msg *m, uint32_t n_bits, const char *who)
{
	csd_clear_prio(m);
	if (!csd_prio_fits(m, n_bits))
		csd_abort(ck_self(), "%s: the message has no room for a priority of %u bits; call "
			  "CkReservePrio before X_alloc, or send it with options", who,
			  n_bits ? n_bits : 64);
}

void CkSetPrioLong(void *msg, int64_t prio)
{
	struct ck_env *env = program_env(msg, "CkSetPrioLong");

	check_room(&env->head, 0, "CkSetPrioLong");
	csd_set_prio(ck_self(), &env->head, prio);
}

void CkSetPrioBits(void *msg, const unsigned *bits, int n_bits)
{
	struct ck_env *env = program_env(msg, "CkSetPrioBits");

	if (n_bits < 0 || (n_bits && !bits))
		csd_abort(ck_self(), "CkSetPrioBits: a vector of %d bits at %p", n_bits,
			  (const void *)bits);
	check_room(&env->head, (uint32_t)n_bits, "CkSetPrioBits");
	csd_set_prio_bits(ck_self(), &env->head, bits, (uint32_t)n_bits);
}

void CkSetQueueing(void *msg, int queueing)
{
	struct ck_env *env = program_env(msg, "CkSetQueueing");

	env->head.flags &= (uint8_t)~CMI_F_LIFO;
	if (queueing & CK_QUEUEING_LIFO)
		env->head.flags |= CMI_F_LIFO;
}

void CkCallbackSetRefNum(CkCallback *cb, int n)
{
	cb->reserved[0] = (uint32_t)n;
}
