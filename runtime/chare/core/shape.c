/* SPDX-License-Identifier: Apache-2.0 */
/* shape.c: see shape.h. */
#include "shape.h"

#include "callback.h"
#include "tables/data.h"

const char *shape_alone(struct pe *pe, const struct cmi_msg *m)
{
	const struct ck_env *env = (const struct ck_env *)m;

	(void)pe;
	/* Relaxed: it has just arrived, so no other thread has it. */
	if (atomic_load_explicit(&env->refs, memory_order_relaxed) != 1 || env->flags & CK_ENV_FORWARDED)
		return "it says that others have it, too";
	return NULL;
}

size_t shape_room(const struct ck_env *env)
{
	size_t room = env->head.size - sizeof *env;
	size_t behind = env->head.flags & CMI_F_WIDE ? msg_prio_of(&env->head)->bytes : 0;

	if (env->more & CK_MORE_SECTION)
		behind += sizeof(CkSection);
	if (env->more & (CK_MORE_OF_ALL | CK_MORE_NUMBERED))
		behind += sizeof(struct ck_of_all);
	return behind <= room ? room - behind : 0;
}

bool CkGen_resultFits(const void *msg, size_t bytes)
{
	const CkReductionMsg *m = msg;

	return bytes >= sizeof *m && m->bytes <= bytes - sizeof *m;
}

const char *shape_result(const struct ck_env *env, size_t behind)
{
	const size_t room = shape_room(env);
	const CkReductionMsg *m = (const CkReductionMsg *)(const void *)(env + 1);

	if (room < behind || !CkGen_resultFits(m, room - behind))
		return "its values do not lie within it";
	/* callback_at rounds up to a callback. */
	if (behind && m->bytes > room - behind - sizeof *m)
		return "its callback does not lie within it";
	return NULL;
}

/* The values that a handler reads are there. */
const char *shape_values(const struct ck_env *env)
{
	const CkReductionMsg *m = (const CkReductionMsg *)(const void *)(env + 1);
	const char *why = shape_result(env, 0);
	const size_t each = why ? 0 : data_type_bytes((CkDataType)m->type);

	return why ? why : each && m->count > m->bytes / each ? "it has fewer values than it says" : NULL;
}

const char *shape_callback(struct pe *pe, const CkCallback *cb)
{
	const struct ck_node *ck = ck_node_of(pe->node);
	const struct ck_callback_kind *k = callback_kind_behind(pe, cb);

	if (!k || k->names == CK_NAMES_UNSENT)
		return "its callback is of no kind";
	if (k->names == CK_NAMES_ENTRY &&
	    (cb->pe < 0 || cb->pe >= ck->n_chares || cb->entry >= ck->chares[cb->pe]->n_entries))
		return "its callback names an entry that does not exist";
	if (k->names == CK_NAMES_PE && (cb->pe < 0 || cb->pe >= pe->node->job->n_pes))
		return "its callback names a PE that does not exist";
	return NULL;
}

/* nocopy arrays: a copy lies in the payload; a lent array lies in memory that this process has
 * mapped; a plain pointer is valid in the caller's process only. */
static bool ncpy_fit(struct pe *pe, const CkGenEntry *e, const struct ck_env *env, size_t room)
{
	const struct cmi_job *job = pe->node->job;
	/* A call that has waited for its buffers was checked before. */
	const bool away = job->node_of[env->head.src_pe] != job->node && !(env->flags & CK_CALL_POSTED);

	for (int i = 0; i < e->n_ncpy; i++) {
		const CkGenNcpy *d = (const CkGenNcpy *)(const void *)((const char *)(env + 1) + e->ncpy[i]);

		if (d->at ? d->at % 16 || d->at > room || d->bytes > room - d->at :
		    d->ref ? !cmi_shared_fits(pe->node->machine, d->ref, d->bytes) : away && d->bytes)
			return false;
		if (shape_callback(pe, &d->done) && d->done.kind != CB_NONE)
			return false;
	}
	return true;
}

const char *shape_params(struct pe *pe, const CkGenChare *type, int entry, const struct ck_env *env,
			 size_t room)
{
	const CkGenEntry *e = &type->entries[entry];

	if ((!e->call && !e->answer) || (e->flags & CKGEN_ARRIVAL))
		return "it calls an entry that no message can call";
	if (env->flags & CK_CALL_REDUCED && entry == 0)
		return "it constructs an object from a reduction's result";
	if (env->flags & CK_CALL_REDUCED)
		return env->flags & (CK_ENV_PACKED | CK_CALL_LENT | CK_CALL_POSTED) ?
		       "it is a result, and a call with parameters" : shape_values(env);
	if (env->flags & CK_ENV_PACKED)
		return e->flags & CKGEN_MESSAGE && e->message->unpack ?
			       NULL :
			       "its message is packed and should not be";
	if (e->least != UINT32_MAX)
		return room + sizeof *env >= e->least ? NULL : "it is too short for the entry's parameters";
	if ((e->fits && !e->fits(env + 1, room)) || (e->n_ncpy && !ncpy_fit(pe, e, env, room)))
		return e->flags & CKGEN_MESSAGE ? "its message is too short, or its arrays do not lie within it" :
		       "a parameter does not lie within it";
	return NULL;
}

const char *shape_call(struct pe *pe, const CkGenChare *type, int entry, const struct ck_env *env)
{
	return shape_params(pe, type, entry, env, shape_room(env));
}

const char *shape_call_of(struct pe *pe, const struct collection *c, const struct ck_env *env)
{
	if (!c->type)
		return NULL;
	return env->entry < c->type->n_entries ? shape_call(pe, c->type, env->entry, env) :
	       "it calls an entry that does not exist";
}
