/* SPDX-License-Identifier: Apache-2.0 */
/*
 * single.c: singleton chares. The PE of a chare is chosen when the chare is created (by seed.c, if
 * the program leaves it open). The proxy contains that PE, so a call is sent straight there.
 *
 * The name of a chare is the creating PE and a number: how many chares the creator has made on the
 * chare's PE so far. A name is never reused. The chare's PE keeps a table from names to chares, and
 * notes for each creator which of its creations have arrived. So if a called chare is not in the
 * table, the PE knows why: its creation has not arrived yet, and the call waits; or the chare was
 * destroyed, and the call is an error.
 */
#include "seed.h"
#include "single.h"
#include "../core/shape.h"
#include "../../image/image.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>

/** Calls that came before the creation. */
struct early {
	struct msg_fifo calls;
};

enum { H_NEW, H_CALL };

static struct early *early_in(const struct idmap_slot *at)
{
	return (struct early *)(at->value - 1);
}

/* Allocate the tables, when the first chare is created or called. */
static __attribute__((noinline)) void single_begin(struct pe *pe, struct single *s)
{
	size_t n_pes = (size_t)pe->node->job->n_pes, n_types = (size_t)ck_node_of(pe->node)->n_chares;

	s->types = cmi_alloc_zero(n_types, sizeof *s->types, "singleton chares");
	s->n_made = cmi_alloc_zero(n_pes, sizeof *s->n_made, "singleton chares");
	s->born = cmi_alloc_zero(n_pes, sizeof *s->born, "singleton chares");
	if (n_pes >> (64 - CK_NAME_BITS))
		csd_abort(pe, "singleton chares: more than %d PEs", 1 << (64 - CK_NAME_BITS));
}

struct single *single_of(struct pe *pe)
{
	struct single *s = ck_state(pe, PART_SINGLE);

	if (CSD_UNLIKELY(!s->types))
		single_begin(pe, s);
	return s;
}

/* ---- which creations have come --------------------------------------------------------------- */

static bool bit_of(const struct born *b, uint64_t number)
{
	uint64_t i = number & (b->n_bits - 1);

	return b->bits[i / 64] >> i % 64 & 1;
}

static void set_bit(struct born *b, uint64_t number, bool on)
{
	uint64_t i = number & (b->n_bits - 1);

	b->bits[i / 64] = (b->bits[i / 64] & ~(1ull << i % 64)) | (uint64_t)on << i % 64;
}

static void born_make_room(struct born *b, uint64_t number)
{
	struct born wide = { b->upto, NULL, b->n_bits ? b->n_bits : 64 };

	while (number - b->upto > wide.n_bits)
		wide.n_bits *= 2;
	if (wide.n_bits == b->n_bits)
		return;
	wide.bits = cmi_alloc_zero(wide.n_bits / 64, sizeof *wide.bits, "singleton chares");
	for (uint64_t n = b->upto + 1; n <= b->upto + b->n_bits; n++)
		set_bit(&wide, n, bit_of(b, n));
	free(b->bits);
	*b = wide;
}

/* Creations nearly always come in order; a priority lets later ones overtake. */
static void note_born(struct born *b, uint64_t number)
{
	if (CSD_UNLIKELY(number != b->upto + 1)) {
		born_make_room(b, number);
		set_bit(b, number, true);
		return;
	}
	b->upto++;
	if (!b->bits)
		return;
	set_bit(b, b->upto, false);
	while (bit_of(b, b->upto + 1))
		set_bit(b, ++b->upto, false);
}

static struct born *born_by(struct pe *pe, uint64_t id, int src_pe)
{
	uint64_t creator = ck_name_creator(id);

	if (creator >= (uint64_t)pe->node->job->n_pes)
		csd_abort(pe, "message from PE %d names a chare that PE %llu made; the job has PEs "
			  "0-%d", src_pe, (unsigned long long)creator, pe->node->job->n_pes - 1);
	return &single_of(pe)->born[creator];
}

/* What a PE made, or had, that is no more has arrived long ago. */
static bool is_of_the_past(const struct pe *pe, uint64_t key)
{
	const uint64_t creator = ck_name_creator(key);

	return pe->node->earlier_pes && csd_can_make(pe->node, creator) &&
	       (creator >= (uint64_t)pe->node->job->n_pes || ck_name_number(key) >> CK_FOLD_AT);
}

static bool was_born(struct pe *pe, uint64_t id, int src_pe)
{
	if (CSD_UNLIKELY(is_of_the_past(pe, id)))
		return true;
	const struct born *b = born_by(pe, id, src_pe);
	uint64_t number = ck_name_number(id);

	return number <= b->upto || (number - b->upto <= b->n_bits && bit_of(b, number));
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* A chare of a PE that is no more: where it lives, and the key under which it is known there. */
static __attribute__((noinline)) CkChareID fold(struct pe *pe, CkChareID id)
{
	const int n_pes = pe->node->job->n_pes;

	if (!csd_can_make(pe->node, (uint32_t)id.pe))
		csd_abort(pe, "the name of a chare (CkChareID) says that it is on PE %d; the job has PEs 0-%d",
			  id.pe, n_pes - 1);
	return (CkChareID){ single_key(id.id, id.pe / n_pes), id.pe % n_pes, 0 };
}

/* Where to find it: mostly its name says so. */
static inline CkChareID found_at(struct pe *pe, CkChareID id)
{
	return CSD_LIKELY((uint32_t)id.pe < (uint32_t)pe->node->job->n_pes) ? id : fold(pe, id);
}

/* `id` is of found_at. */
static void single_send(struct pe *pe, const CkGenChare *type, CkChareID id, struct ck_env *env)
{
	if (CSD_UNLIKELY(!id.id))
		coll_get_slow(pe, id.id); /* aborts, and says why */
	env->coll = id.id;
	env->place = (uint64_t)chare_number(ck_node_of(pe->node), type);
	env->head.handler = ck_handler(pe, PART_SINGLE, H_CALL);
	csd_send(pe, id.pe, &env->head);
}

static void too_early(struct pe *pe, struct ck_env *env)
{
	struct early *early = cmi_alloc_zero(1, sizeof *early, "a call of a chare");

	msg_fifo_init(&early->calls);
	msg_fifo_push(&early->calls, &env->head);
	idmap_add(&single_of(pe)->names, env->coll, (uintptr_t)early | 1);
}

static __attribute__((noinline)) void not_there(struct pe *pe, struct idmap_slot *at,
						struct ck_env *env)
{
	const struct ck_node *ck = ck_node_of(pe->node);
	char name[128] = "an entry";

	if (at) {
		msg_fifo_push(&early_in(at)->calls, &env->head);
		return;
	}
	if (!was_born(pe, env->coll, env->head.src_pe)) {
		too_early(pe, env);
		return;
	}
	if (env->place < (uint64_t)ck->n_chares)
		describe_entry(ck->chares[env->place], env->entry, name, sizeof name);
	csd_abort(pe, "PE %d called %s of a chare that was destroyed (CkDestroy); its callers must know "
		"when it is destroyed", env->head.src_pe, name);
}

static void single_call_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct idmap_slot *at = idmap_find(&single_of(pe)->names, env->coll);

	if (CSD_LIKELY(at && !slot_is_early(at)))
		deliver_to(pe, chare_in(at), env, false);
	else
		not_there(pe, at, env);
}

/* ---- creation -------------------------------------------------------------------------------- */

static CkChareID single_create(struct pe *pe, int where, struct ck_env *env)
{
	struct single *s = single_of(pe);
	const CkGenChare *type = ck_node_of(pe->node)->chares[env->single.chare];

	env->single.seed = where == CK_PE_ANY;
	if (where == CK_PE_ANY)
		where = seed_place(pe);
	else if ((uint32_t)where >= (uint32_t)pe->node->job->n_pes)
		csd_abort(pe, "%s_ckNew: PE %d; the job has PEs 0-%d, or CK_PE_ANY", type->name,
			  where, pe->node->job->n_pes - 1);
	env->coll = (uint64_t)pe->id << CK_NAME_BITS | ++s->n_made[where];
	env->head.handler = ck_handler(pe, PART_SINGLE, H_NEW);
	CkChareID id = { env->coll, where, 0 };

	csd_send(pe, where, &env->head);
	return id;
}

/* The collection to which a chare's ck_obj points. It represents the chare's type. */
static struct collection *coll_of_chares(struct pe *pe, struct single *s, int number)
{
	const CkGenChare *type = ck_node_of(pe->node)->chares[number];
	struct collection *c = s->types[number];

	return CSD_LIKELY(c != NULL) ? c : (s->types[number] = coll_of_type(pe, type));
}

struct ck_obj *single_new(struct pe *pe, const CkGenChare *type, uint64_t id, int fold)
{
	const int number = chare_number(ck_node_of(pe->node), type);
	CkIndex name = { { 0, 0, fold } };

	memcpy(&name, &id, sizeof id);
	return obj_new(coll_of_chares(pe, single_of(pe), number), name);
}

static void single_new_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct single *s = single_of(pe);
	uint64_t id = env->coll;
	bool seed = env->single.seed;
	int src_pe = m->src_pe;

	const CkGenChare *type = chare_by_number(pe, env->single.chare, CKGEN_CHARE, m->src_pe);

	note_born(born_by(pe, id, m->src_pe), ck_name_number(id));
	struct ck_obj *obj = single_new(pe, type, id, 0);
	struct idmap_slot *at = idmap_find(&s->names, id);
	struct early *early = at ? early_in(at) : NULL;

	if (at)
		at->value = (uintptr_t)obj;
	else
		idmap_add(&s->names, id, (uintptr_t)obj);
	ck_created(pe, obj);
	deliver_new(pe, obj, env);
	while (early && early->calls.head)
		single_call_arrived(pe, msg_fifo_pop(&early->calls));
	free(early);
	if (seed)
		seed_started(pe, src_pe);
}

CkChareID CkGen_thisChare(const void *self)
{
	const struct ck_obj *obj = obj_of(self);

	return (CkChareID){ single_id(obj), single_pe(ck_self(), obj), 0 };
}

/* ---- the end --------------------------------------------------------------------------------- */

static void single_destroy(struct pe *pe, struct ck_obj *obj)
{
	struct idmap *names = &single_of(pe)->names;
	struct idmap_slot *at = idmap_find(names, single_key(single_id(obj), single_fold(obj)));

	if (!at || at->value != (uintptr_t)obj)
		csd_abort(pe, "CkDestroy: this chare %s is destroyed already, or lives on another PE",
			  obj->coll->type->name);
	idmap_remove(names, at);
	destroy_later(pe, obj);
	ck_destroyed(pe, obj);
}

static void drop_name(struct pe *pe, const struct idmap_slot *at)
{
	if (slot_is_early(at)) {
		struct early *early = early_in(at);

		while (early->calls.head)
			csd_msg_free(pe, msg_fifo_pop(&early->calls));
		free(early);
	} else {
		free(chare_in(at));
	}
}

static void single_pe_free(struct pe *pe)
{
	struct single *s = ck_state(pe, PART_SINGLE);
	const struct idmap_slot *at;

	for (struct single_past *p = s->past, *next; p; p = next) {
		next = p->next;
		free(p);
	}
	if (!s->types)
		return;
	for (size_t i = 0; (at = idmap_each(&s->names, &i)); i++)
		drop_name(pe, at);
	for (int i = 0; i < ck_node_of(pe->node)->n_chares; i++)
		free(s->types[i]);
	for (int i = 0; i < pe->node->job->n_pes; i++)
		free(s->born[i].bits);
	idmap_free(&s->names);
	free(s->types);
	free(s->n_made);
	free(s->born);
}

/* ---- stubs ----------------------------------------------------------------------------------- */

CkChareID CkGen_newChare(const CkGenChare *chare, int where, void *payload, const CkEntryOptions *o)
{
	struct pe *pe = ck_self_of(chare, "ckNew");
	struct ck_env *env = create_take(pe, chare, payload);
	uint16_t number = env->single.chare;

	if (o)
		env = options_apply(pe, chare, 0, env, 0, o);
	env->head.flags &= (uint8_t)~CMI_F_HERE; /* create_take has converted it for other nodes already */
	env->single.chare = number;
	return single_create(pe, where, env);
}

void CkGen_sendChare(const CkGenChare *chare, CkChareID id, int entry, void *payload,
		     const CkEntryOptions *o)
{
	struct pe *pe = ck_self_calls(chare, entry);
	struct ck_env *env = call_take(pe, chare, entry, payload, o);

	id = found_at(pe, id);
	if (CSD_UNLIKELY(env->head.flags & CMI_F_HERE) && !pe_is_here(pe, id.pe))
		env = env_for_pe(pe, id.pe, &chare->entries[entry], env);
	single_send(pe, chare, id, env);
}

void CkGen_syncChare(const CkGenChare *chare, CkChareID id, int entry, void *payload, void *reply)
{
	struct pe *pe = ck_self_calls(chare, entry);
	CkElement callee = { .id = id.id };

	memcpy(&callee.index, &id.id, sizeof id.id);
	callee.index.v[2] = id.pe / pe->node->job->n_pes;
	uint32_t slot = sync_ask(pe, chare, entry, &callee, payload);

	CkGen_sendChare(chare, id, entry, payload, NULL);
	sync_take_answer(pe, &chare->entries[entry], slot, reply);
}

CkCallback CkGen_cbChare(const CkGenChare *chare, CkChareID id, int entry)
{
	return callback_of_entry(CB_CHARE, chare, id.id, (CkIndex){ { id.pe, 0, 0 } }, entry);
}

/* ---- for the watchdog ------------------------------------------------------------------------ */

void single_describe(struct pe *pe, struct csd_told *to)
{
	const struct single *s = ck_state(pe, PART_SINGLE);
	const struct idmap_slot *at;

	for (size_t i = 0; (at = idmap_each(&s->names, &i)); i++)
		if (slot_is_early(at))
			csd_tell(to, NULL, "%s for a chare whose creation by PE %llu has not come (number %llu)",
				 csd_plural(msg_fifo_count(&early_in(at)->calls), "call waits",
					    "calls wait").text,
				 (unsigned long long)ck_name_creator(at->key),
				 (unsigned long long)ck_name_number(at->key));
}

/* ---- the part -------------------------------------------------------------------------------- */

static void send_to_chare(struct pe *pe, const CkCallback *cb, struct ck_env *env)
{
	const CkGenChare *type = callback_call(pe, cb, env);

	single_send(pe, type, found_at(pe, (CkChareID){ cb->id, cb->index.v[0], 0 }), env);
}

static const char *new_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const uint64_t id = ((const struct ck_env *)m)->coll;

	return !ck_name_number(id) || was_born(pe, id, m->src_pe) ?
	       "its chare has been created already" : NULL;
}

static const struct ck_handler handlers[] = {
	[H_NEW] = { "ck.chare.new", single_new_arrived, .shape = { CK_SHAPE_CALL, .misfit = new_misfit } },
	[H_CALL] = { "ck.chare.call", single_call_arrived,
		     .shape = { CK_SHAPE_CALL, .order = CSD_ORDER_PRIORITY },
		     .trace = CSD_TRACE_CALL | CSD_TRACE_WORD },
};
static void give_chare(const CkGenChare *chare, const CkCallback *cb, void *msg,
		       const CkGenMessage *type)
{
	(void)type;
	CkGen_sendChare(chare, (CkChareID){ cb->id, cb->index.v[0], 0 }, cb->entry, msg, NULL);
}

static const struct ck_callback_kind callbacks[] = {
	{ .kind = CB_CHARE, .names = CK_NAMES_ENTRY, .send = send_to_chare, .give = give_chare },
};
static const struct ck_kind kinds[] = {
	{ .kind = CKGEN_CHARE, .destroy = single_destroy, .saving = &single_saving },
};

const struct ck_part single_part = {
	.name = "single",
	.number = PART_SINGLE,
	.pe_bytes = sizeof(struct single),
	.handlers = CK_LIST(handlers),
	.callbacks = CK_LIST(callbacks),
	.kinds = CK_LIST(kinds),
	.pe_free = single_pe_free,
	.describe = single_describe,
	.save = { .write = made_write, .kinds = UINT32_C(1) << IMAGE_COUNTS, .mine = made_is_mine,
		  .read = made_read },
};
