/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pup_field.c: fields of an object other than bytes: targets of pointers, strings, callbacks,
 * messages that an element keeps. NULL stays NULL.
 */
#include "pup_er.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- pointers -------------------------------------------------------------------------------- */

/* Whether there is something to pack or unpack: a byte in the packed form. */
static bool is_there(pup_er p, const void *old)
{
	bool there = old != NULL;

	pup_bool(p, &there);
	return there;
}

static void check_count(pup_er p, long long n, size_t bytes, const char *name)
{
	if (n < 0 || (bytes && (unsigned long long)n > PTRDIFF_MAX / bytes))
		pup_fault(p, "has %lld values of '%s'", n, name);
}

void *CkGen_pupPointed(pup_er p, void *old, long long n, size_t bytes, CkPupFn pup, int memory,
		       const char *name)
{
	if (!is_there(p, old))
		return NULL;
	check_count(p, n, bytes, name);
	if (p->mode == UNPACKING && !pup)
		pup_must_have(p, (uint64_t)n, bytes, name);
	old = pup_alloc_of(p, old, (size_t)n * bytes, memory);
	for (long long i = 0; pup && i < n; i++)
		pup(p, (char *)old + (size_t)i * bytes);
	if (!pup)
		pup_bytes(p, old, (size_t)n * bytes);
	return old;
}

/* Each pointer takes a byte at least. */
void *CkGen_pupRow(pup_er p, void *old, long long n, const char *name)
{
	if (!is_there(p, old))
		return NULL;
	check_count(p, n, sizeof(void *), name);
	if (p->mode == UNPACKING)
		pup_must_have(p, (uint64_t)n, 1, name);
	return pup_alloc(p, old, (size_t)n * sizeof(void *));
}

char *CkGen_pupString(pup_er p, const char *old)
{
	char *s = (char *)(uintptr_t)old;
	uint64_t n = p->mode != UNPACKING && s ? strlen(s) + 1 : 0;

	pup_bytes(p, &n, sizeof n);
	if (p->mode == UNPACKING)
		pup_must_have(p, n, 1, "a string's bytes");
	if (!n)
		return NULL;
	s = pup_alloc(p, s, n);
	pup_bytes(p, s, n);
	if (p->mode == UNPACKING)
		s[n - 1] = 0;
	return s;
}

void pup_string(pup_er p, char **s)
{
	*s = CkGen_pupString(p, *s);
}

/* ---- callbacks ------------------------------------------------------------------------------- */

/* A callback in a call may have any target, because it returns to its PE when it fires. */
void pup_callback(pup_er p, CkCallback *cb)
{
	const struct ck_callback_kind *k = callback_kind_behind(ck_self(), cb);
	char name[128];

	if (p->mode == PACKING && p->obj && k && k->names == CK_NAMES_PE) {
		callback_describe(ck_self(), cb, name, sizeof name);
		pup_fault(p, "packs a callback to %s, which stays on PE %d: keep one to an entry method "
			  "(X_cb_f), or fire it before %s", name, cb->pe,
			  pup_moves(p) ? "the element moves" : "a checkpoint");
	}
	pup_bytes(p, cb, sizeof *cb);
}

/* ---- messages -------------------------------------------------------------------------------- */

/** The packed head of a kept message. Its section, if any, its wide priority, if any, and its
 * payload, in the form that may leave the node, follow. */
struct kept {
	uint64_t bytes;           /* of the payload */
	int32_t refnum, prio;
	uint32_t prio_bytes;      /* of the wide priority as csd_save_prio makes it */
	bool there;               /* false: NULL, and nothing follows */
	uint8_t flags;            /* CMI_F_PRIO, CMI_F_LIFO */
	uint8_t env_flags, more;  /* CK_ENV_PACKED, CK_MORE_SECTION */
};

static bool has_section(const struct ck_env *env) { return env->more & CK_MORE_SECTION; }
static bool has_wide(const struct ck_env *env) { return env->head.flags & CMI_F_WIDE; }

static size_t payload_bytes(const struct ck_env *env)
{
	return env->head.size - sizeof *env - (has_wide(env) ? msg_prio_of(&env->head)->bytes : 0) -
	       (has_section(env) ? sizeof(CkSection) : 0);
}

static uint32_t saved_bytes(const struct msg_prio *wide)
{
	return (uint32_t)(sizeof *wide + (wide->n_bits + 31) / 32 * sizeof(uint32_t));
}

static char *fixed_copy(const struct ck_env *env, size_t n, const CkGenMessage *type)
{
	char *copy = cmi_alloc_zero(1, CkGen_align(n), "a check of a message");

	memcpy(copy, env + 1, n);
	type->fix(copy);
	return copy;
}

/* Pack a message with arrays for a comparison: without its pointers to them, which differ between
 * two copies. */
static void write_compared(pup_er p, const struct ck_env *env, size_t n, const CkGenMessage *type)
{
	char *a = fixed_copy(env, n, type), *b = fixed_copy(env, n, type);

	for (size_t i = 0; i < n; i += sizeof(uintptr_t))
		if (memcmp(a + i, b + i, sizeof(uintptr_t)))
			memset(b + i, 0, sizeof(uintptr_t));
	pup_bytes(p, b, n);
	free(a);
	free(b);
}

static void write_section(pup_er p, const struct ck_env *env)
{
	CkSection section = env_section(env);

	pup_bytes(p, &section, sizeof section);
}

static void write_env(pup_er p, struct ck_env *env, const CkGenMessage *type)
{
	struct msg_prio *wide = has_wide(env) ? csd_save_prio(&env->head) : NULL;
	struct kept kept = {
		.bytes = payload_bytes(env), .refnum = env->refnum, .prio = env->head.prio,
		.prio_bytes = wide ? saved_bytes(wide) : 0, .there = true,
		.flags = env->head.flags & (CMI_F_PRIO | CMI_F_LIFO),
		.env_flags = env->flags & CK_ENV_PACKED, .more = env->more & CK_MORE_SECTION,
	};

	pup_bytes(p, &kept, sizeof kept);
	if (has_section(env))
		write_section(p, env);
	pup_bytes(p, wide, kept.prio_bytes);
	free(wide);
	if (p->look && type && type->fix)
		write_compared(p, env, kept.bytes, type);
	else
		pup_bytes(p, payload_of(env), kept.bytes);
}

static void check_owned(struct pe *pe, const struct CkPupEr *p, struct ck_env *env)
{
	char name[128] = "an object", who[160];

	if (p->obj)
		obj_describe(p->obj, name, sizeof name);
	snprintf(who, sizeof who, "packing %s", name);
	owner_check_use(pe, env, who);
}

/* Size or pack. A message with pack functions is converted for that, and back. */
static void *write_message(pup_er p, void *msg, const CkGenMessage *type)
{
	struct pe *pe = ck_self();
	struct ck_env *env = env_of(msg);
	const bool own = type && type->pack;

	/* M_pack takes the message, and the caller's copy of the object would not be told. */
	if (own && !p->obj)
		pup_fault(p, "packs a message %s, which has functions of its own: only an element may keep it",
			  type->name);
	if (pe->node->check)
		check_owned(pe, p, env);
	if (own)
		env = message_pack(pe, type, env);
	write_env(p, env, type);
	if (own)
		env = message_unpack(pe, type, env);
	env->head.mark = OWNER_PROGRAM;
	return payload_of(env);
}

/* The section and the priority are read into the message's memory after the payload, so they come
 * first. */
static struct ck_env *read_env(pup_er p, const struct kept *kept)
{
	struct pe *pe = ck_self();
	struct msg_prio *wide = kept->prio_bytes ? cmi_alloc(kept->prio_bytes, "a priority") : NULL;
	CkSection section = { 0, 0 };
	struct ck_env *env;

	if (kept->more)
		pup_bytes(p, &section, sizeof section);
	pup_bytes(p, wide, kept->prio_bytes);
	pup_must_have(p, kept->bytes, 1, "a message's bytes");
	ck_of(pe)->prio_room =
		(kept->more ? sizeof section : 0) + (wide ? csd_prio_bytes(wide->n_bits) : 0);
	env = env_of(CkGen_allocMsg(kept->bytes));
	pup_bytes(p, payload_of(env), kept->bytes);
	env->refnum = kept->refnum;
	env->flags = kept->env_flags;
	env->head.flags |= kept->flags;
	env->head.prio = kept->prio;
	if (kept->more)
		env_add_section(env, section);
	return wide ? (struct ck_env *)csd_restore_prio(pe, &env->head, wide) : env;
}

static void *read_message(pup_er p, const CkGenMessage *type)
{
	struct kept kept;
	struct ck_env *env;

	pup_bytes(p, &kept, sizeof kept);
	if (!kept.there)
		return NULL;
	env = read_env(p, &kept);
	if (type && type->fits && !type->fits(payload_of(env), kept.bytes))
		pup_fault(p, "unpacks %llu bytes that are not a message %s", (unsigned long long)kept.bytes,
			  type->name);
	if (type && type->pack)
		env = message_unpack(ck_self(), type, env);
	else if (type && type->fix)
		type->fix(payload_of(env));
	env->head.mark = OWNER_PROGRAM;
	return payload_of(env);
}

void *CkGen_pupMessage(pup_er p, void *old, const CkGenMessage *type)
{
	struct kept none = { .there = false };

	if (p->made)
		pup_fault(p, "packs a kept message in a parameter: send the message by itself");
	switch (p->mode) {
	case UNPACKING:
		return read_message(p, type);
	case DELETING:
		pup_let_go(p, (struct pup_gone){ .p = old, .memory = GONE_MESSAGE,
						  .type = type && type->pack ? type : NULL });
		return old;
	default:
		break;
	}
	if (old)
		return write_message(p, old, type);
	pup_bytes(p, &none, sizeof none);
	return NULL;
}

void *pup_message(pup_er p, void *msg)
{
	return CkGen_pupMessage(p, msg, NULL);
}
