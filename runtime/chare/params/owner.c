/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owner.c: in checked mode, the owner of a user's message. `mark` in the message's head names it,
 * and every Ck function that is given a message checks it. A freed message is quarantined for a
 * while, filled with a pattern, before its memory is reused. So the runtime detects a second free,
 * and a send or a write after the free. A message that is sent is quarantined, too, and a copy goes
 * on in its place; when the handlers of this pass have returned, it must still have the pattern.
 * Elements that have left their process are quarantined as well. Without CK_CHECK=1 nothing calls
 * this file.
 */
#include "params.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	QUARANTINED_MESSAGES = 256, /* freed messages in quarantine on a PE, at most */
	QUARANTINED_BYTES = 1 << 16, /* larger messages are not quarantined: they would cost too much
				      * memory */
	QUARANTINED_ELEMENTS = 64, /* elements in quarantine on a PE, at most */
	FRESH_MESSAGES = 64,       /* sent by handlers that may still run, at most */
	PATTERN = 0xd5,
};

/** A message in quarantine. */
struct kept {
	struct ck_env *env;
	char by[96];              /* the code that has sent it, "" outside entry methods */
	char how[112];            /* by what; "": it was freed, or its program packs it */
};

/** The quarantine of messages and elements. */
struct quarantine {
	struct kept *kept;        /* a ring of QUARANTINED_MESSAGES; NULL: none yet */
	unsigned n_kept, n_out;   /* since the start */
	struct kept *fresh;       /* [FRESH_MESSAGES]: sent, and not looked at yet */
	int n_fresh;
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

_Noreturn static void was_written(struct pe *pe, const struct kept *k, size_t at)
{
	if (k->how[0])
		csd_abort(pe,
			  "the message that %s gave away by %s was written to afterwards (%p, at offset "
			  "%zu); fill a message before it is sent, or send a copy",
			  k->by[0] ? k->by : "the program", k->how, payload_of(k->env), at);
	if (k->env->head.mark == OWNER_SENT)
		csd_abort(pe, "a message was written to after it was sent (%p, at offset %zu)",
			  payload_of(k->env), at);
	csd_abort(pe, "a message was written to after it was freed (%p, at offset %zu)",
		  payload_of(k->env), at);
}

static void check_kept(struct pe *pe, const struct kept *k)
{
	const size_t at = written(payload_of(k->env), filled(k->env));

	if (at < filled(k->env))
		was_written(pe, k, at);
}

static void release_oldest(struct pe *pe)
{
	struct quarantine *q = quarantine_of(pe);
	struct kept *k = &q->kept[q->n_out++ % QUARANTINED_MESSAGES];

	check_kept(pe, k);
	csd_msg_free(pe, &k->env->head);
}

/* Only checked mode takes the room, with the first message. */
static struct quarantine *quarantine_in_use(struct pe *pe)
{
	struct quarantine *q = quarantine_of(pe);

	if (!q->kept) {
		q->kept = cmi_alloc_zero(QUARANTINED_MESSAGES, sizeof *q->kept, "freed messages");
		q->fresh = cmi_alloc_zero(FRESH_MESSAGES, sizeof *q->fresh, "sent messages");
	}
	return q;
}

/* Only memory of this PE stays long. Other memory is returned at once, because its PE waits for
 * it. */
static void keep_or_free(struct pe *pe, const struct kept *k)
{
	struct quarantine *q = quarantine_in_use(pe);
	struct cmi_msg *m = &k->env->head;

	if (m->origin != CMI_ORIGIN_POOL || m->home != pe->local || m->size > QUARANTINED_BYTES) {
		csd_msg_free(pe, m);
		return;
	}
	if (q->n_kept - q->n_out == QUARANTINED_MESSAGES)
		release_oldest(pe);
	q->kept[q->n_kept++ % QUARANTINED_MESSAGES] = *k;
}

static void owner_fill(struct ck_env *env, enum owner owner)
{
	env->head.mark = (uint8_t)owner;
	memset(payload_of(env), PATTERN, filled(env));
}

static void owner_quarantine(struct pe *pe, struct ck_env *env, enum owner owner)
{
	const struct kept k = { .env = env };

	owner_fill(env, owner);
	keep_or_free(pe, &k);
}

void owner_free(struct pe *pe, struct ck_env *env)
{
	owner_quarantine(pe, env, OWNER_NOBODY);
}

/* ---- messages that are sent ------------------------------------------------------------------ */

static void look_at_fresh(struct pe *pe)
{
	struct quarantine *q = quarantine_of(pe);

	for (int i = 0; i < q->n_fresh; i++) {
		check_kept(pe, &q->fresh[i]);
		keep_or_free(pe, &q->fresh[i]);
	}
	q->n_fresh = 0;
}

/* A timer without delay: at the end of this pass, whose handlers have returned. */
static void pass_ended(void *pe)
{
	look_at_fresh(pe);
}

/* With the room that the program has reserved for a priority (CkReservePrio). */
static struct ck_env *owner_copy(struct pe *pe, const struct ck_env *env)
{
	const struct cmi_msg *m = &env->head;
	const size_t room = m->origin == CMI_ORIGIN_POOL ? msg_class_bytes(m->size_class) : m->size;
	struct cmi_msg *copy = csd_msg_alloc(pe, room);

	copy->size = m->size;
	copy->route = m->route;
	copy->flags &= (uint8_t) ~(CMI_F_REMOTE | CMI_F_HERE);
	copy->mark = OWNER_COPY;
	copy->prio = m->prio;
	memcpy(copy + 1, m + 1, m->size - sizeof *m);
	return (struct ck_env *)copy;
}

struct ck_env *owner_give(struct pe *pe, struct ck_env *env, const char *how)
{
	struct quarantine *q = quarantine_in_use(pe);
	struct ck_env *copy = owner_copy(pe, env);
	struct kept *k;

	owner_fill(env, OWNER_SENT);
	if (q->n_fresh == FRESH_MESSAGES)
		look_at_fresh(pe);
	if (!q->n_fresh)
		csd_timer(pass_ended, pe, 0);
	k = &q->fresh[q->n_fresh++];
	k->env = env;
	k->by[0] = '\0';
	pe->node->up.describe(pe, k->by, sizeof k->by);
	snprintf(k->how, sizeof k->how, "%s", how);
	return copy;
}

struct ck_env *owner_give_call(struct pe *pe, const CkGenChare *chare, int entry,
			       struct ck_env *env)
{
	const CkGenEntry *e = &chare->entries[entry];
	char name[96], how[112];

	/* Acquire: as in env_unref. Other holders may still read a message of several. */
	if ((e->message->pack && !(env->flags & CK_ENV_PACKED)) ||
	    atomic_load_explicit(&env->refs, memory_order_acquire) != 1)
		return env;
	snprintf(how, sizeof how, "its call of %s", describe_entry(chare, entry, name, sizeof name));
	return owner_give(pe, env, how);
}

/* A copy leaves for the other node, and the message itself, which its program packs, is
 * quarantined. Otherwise the machine would write its own mark into the message, and other processes
 * would read what a second owner writes to it. */
struct ck_env *owner_leave(struct pe *pe, struct ck_env *env)
{
	struct ck_env *copy;

	if (env->head.mark == OWNER_COPY) {
		env->head.flags &= (uint8_t)~CMI_F_HERE;
		env->head.mark = OWNER_UNKNOWN;
		return env;
	}
	copy = (struct ck_env *)csd_msg_copy(pe, &env->head);
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

static void owner_pe_stop(struct pe *pe)
{
	struct quarantine *q = quarantine_of(pe);

	look_at_fresh(pe);
	while (q->n_out != q->n_kept)
		release_oldest(pe);
	for (int i = 0; i < QUARANTINED_ELEMENTS; i++)
		release_element(pe, q->left[i]);
	free(q->kept);
	free(q->fresh);
}

const struct ck_part owner_part = {
	.name = "owner",
	.number = PART_OWNER,
	.pe_bytes = sizeof(struct quarantine),
	.pe_stop = owner_pe_stop,
};
