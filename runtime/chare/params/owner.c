/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owner.c: in checked mode, the owner of a user's message. `mark` in the message's head names it,
 * and every Ck function that is given a message checks it. A freed message is quarantined for a
 * while, filled with a pattern, before its memory is reused. So the runtime detects a second free,
 * and a send or a write after the free. Elements that have left their process are quarantined, too.
 * Without CK_CHECK=1 nothing calls this file.
 */
#include "params.h"

#include <stdlib.h>
#include <string.h>

enum {
	QUARANTINED_MESSAGES = 256, /* freed messages in quarantine on a PE, at most */
	QUARANTINED_BYTES = 1 << 16, /* larger messages are not quarantined: they would cost too much
				      * memory */
	QUARANTINED_ELEMENTS = 64, /* elements in quarantine on a PE, at most */
	PATTERN = 0xd5,
};

/** The quarantine of messages and elements. */
struct quarantine {
	struct msg_fifo freed;
	int n;
	struct ck_obj *left[QUARANTINED_ELEMENTS]; /* a ring; NULL: none */
	unsigned n_left;          /* since the start */
};

static struct quarantine *quarantine_of(const struct pe *pe) { return ck_state(pe, PART_OWNER); }

static const char *state_of(const struct ck_env *env)
{
	switch (env->head.mark) {
	case OWNER_SENT:
		return "has been sent; a message is given away by sending it: send a new one, or a "
		       "copy";
	case OWNER_NOBODY:
		return "has been freed, by CkFreeMsg or behind its handler; free it once, and call "
		       "CkKeepMsg to use it behind its handler";
	case OWNER_HANDLER:
		return "belongs to a handler that has returned; call CkKeepMsg there to keep it";
	default:
		return NULL;
	}
}

/* Why the message must not be used; NULL: it may be. A handler may use its own message. */
static const char *fault(const struct pe *pe, const struct ck_env *env)
{
	if (env->head.mark == OWNER_HANDLER && ck_of(pe)->now.obj && env == ck_of(pe)->now.env)
		return NULL;
	return state_of(env);
}

void owner_check_use(struct pe *pe, struct ck_env *env, const char *who)
{
	const char *why = fault(pe, env);

	if (why)
		csd_abort(pe, "%s: the message %p %s", who, payload_of(env), why);
}

void owner_check_send(struct pe *pe, const CkGenChare *chare, int entry, struct ck_env *env)
{
	const char *why = fault(pe, env);
	char name[128];

	if (why)
		csd_abort(pe, "call of %s: the message %p %s",
			  describe_entry(chare, entry, name, sizeof name), payload_of(env), why);
}

/* Let go of a message; the last holder frees it, as in env_unref. */
void owner_check_free(struct pe *pe, struct ck_env *env)
{
	owner_check_use(pe, env, "CkFreeMsg");
	if (atomic_load_explicit(&env->refs, memory_order_acquire) == 1 ||
	    atomic_fetch_sub_explicit(&env->refs, 1, memory_order_acq_rel) == 1)
		owner_free(pe, env);
}

/* ---- quarantine ------------------------------------------------------------------------------ */

static size_t filled(const struct ck_env *env)
{
	return env->head.size - sizeof *env;
}

/* Where the pattern was overwritten; `bytes`: nowhere. */
static size_t written(const unsigned char *p, size_t bytes)
{
	size_t i = 0;

	while (i < bytes && p[i] == PATTERN)
		i++;
	return i;
}

static void release_oldest(struct pe *pe)
{
	struct ck_env *env = (struct ck_env *)msg_fifo_pop(&quarantine_of(pe)->freed);
	const size_t at = written(payload_of(env), filled(env));

	quarantine_of(pe)->n--;
	if (at < filled(env))
		csd_abort(pe, "a message was written to after it was freed (%p, at offset %zu)",
			  payload_of(env), at);
	csd_msg_free(pe, &env->head);
}

/* Only memory of this PE is quarantined. Other memory is returned at once, because its PE waits for
 * it. */
static void owner_quarantine(struct pe *pe, struct ck_env *env, enum owner owner)
{
	env->head.mark = (uint8_t)owner;
	if (env->head.origin != CMI_ORIGIN_POOL || env->head.home != pe->local ||
	    env->head.size > QUARANTINED_BYTES) {
		csd_msg_free(pe, &env->head);
		return;
	}
	memset(payload_of(env), PATTERN, filled(env));
	msg_fifo_push(&quarantine_of(pe)->freed, &env->head);
	if (++quarantine_of(pe)->n > QUARANTINED_MESSAGES)
		release_oldest(pe);
}

void owner_free(struct pe *pe, struct ck_env *env)
{
	owner_quarantine(pe, env, OWNER_NOBODY);
}

/* A copy leaves for the other node, and the message itself is quarantined. Otherwise the machine
 * would write its own mark into the message, and other processes would read what a second owner
 * writes to it. */
struct ck_env *owner_leave(struct pe *pe, struct ck_env *env)
{
	struct ck_env *copy = (struct ck_env *)csd_msg_copy(pe, &env->head);

	copy->head.flags &= (uint8_t)~CMI_F_HERE;
	copy->head.mark = OWNER_UNKNOWN;
	owner_quarantine(pe, env, OWNER_SENT);
	return copy;
}

/* ---- elements -------------------------------------------------------------------------------- */

static void release_element(struct pe *pe, struct ck_obj *obj)
{
	const size_t bytes = obj ? obj->coll->type->bytes : 0, at = obj ? written(self_of(obj), bytes) : 0;
	char name[128];

	if (at < bytes)
		csd_abort(
			pe,
			"%s was written to after it had left this process (%p, at offset %zu): by a pointer "
			"to it or a timer",
			obj_describe(obj, name, sizeof name), self_of(obj), at);
	free(obj);
}

void owner_free_element(struct pe *pe, struct ck_obj *obj)
{
	struct quarantine *q = quarantine_of(pe);
	struct ck_obj **place = &q->left[q->n_left++ % QUARANTINED_ELEMENTS];

	memset(self_of(obj), PATTERN, obj->coll->type->bytes);
	release_element(pe, *place);
	*place = obj;
}

/* ---- the part -------------------------------------------------------------------------------- */

static void owner_pe_start(struct pe *pe)
{
	msg_fifo_init(&quarantine_of(pe)->freed);
}

static void owner_pe_stop(struct pe *pe)
{
	while (quarantine_of(pe)->n)
		release_oldest(pe);
	for (int i = 0; i < QUARANTINED_ELEMENTS; i++)
		release_element(pe, quarantine_of(pe)->left[i]);
}

const struct ck_part owner_part = {
	.name = "owner",
	.number = PART_OWNER,
	.pe_bytes = sizeof(struct quarantine),
	.pe_start = owner_pe_start,
	.pe_stop = owner_pe_stop,
};
