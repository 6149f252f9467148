/* SPDX-License-Identifier: Apache-2.0 */
/*
 * single.c: singleton chares. Where one lives is decided when it is created (seed.c, if the
 * program leaves it open), and its proxy says so; so a call goes straight there.
 *
 * The name of a chare is its PE and a number that the creating PE takes from the count of those
 * which it has made on that PE: it is never used again. The PE keeps a table from names to chares,
 * and of each creator which of its creations have come. So a call of a chare that is not in the
 * table either comes before the creation and waits, or after the end.
 */
#include "ck_int.h"

#include <stdlib.h>
#include <string.h>

/* creator << NUMBER_BITS | number, from 1: 10^13 chares per pair of PEs, 10^6 PEs. */
enum { NUMBER_BITS = 44 };

/** Of one creator: creations 1 .. upto have come, and those later ones whose bit is set. Without
 * priorities they come in order, and there are no bits. */
struct born {
	uint64_t upto;
	uint64_t *bits;           /* a ring of n_bits, of number upto + 1 and those behind it */
	uint64_t n_bits;
};

/** What came before the creation. */
struct early {
	struct msg_fifo calls;
};

/** One place of the hash table: the chare of that name, or, when the lowest bit is set, a struct
 * early; free: id 0. */
struct single_slot {
	uint64_t id;
	uintptr_t what;
};

struct single {
	struct single_slot *slots;
	uint64_t mask, n;
	struct collection **types; /* [n_chares]: what the chares of a type point to */
	uint64_t *n_made;          /* [n_pes]: by this PE on that one */
	struct born *born;         /* [n_pes] */
};

/* ---- the table ------------------------------------------------------------------------------- */

static uint64_t place_of(const struct single *s, uint64_t id)
{
	return (id * 0x9e3779b97f4a7c15ull >> 20) & s->mask;
}

static bool is_early(const struct single_slot *at)
{
	return at->what & 1;
}

static struct ck_obj *chare_in(const struct single_slot *at)
{
	return (struct ck_obj *)at->what;
}

static struct early *early_in(const struct single_slot *at)
{
	return (struct early *)(at->what - 1);
}

static struct single_slot *find(const struct single *s, uint64_t id)
{
	uint64_t i = place_of(s, id);

	while (s->slots[i].id && s->slots[i].id != id)
		i = (i + 1) & s->mask;
	return s->slots[i].id ? &s->slots[i] : NULL;
}

static void put(struct single *s, struct single_slot what)
{
	uint64_t i = place_of(s, what.id);

	while (s->slots[i].id)
		i = (i + 1) & s->mask;
	s->slots[i] = what;
}

static void grow(struct pe *pe, struct single *s)
{
	struct single_slot *old = s->slots;
	uint64_t n_old = s->mask + 1;

	s->slots = calloc(n_old * 2, sizeof *s->slots);
	if (!s->slots)
		csd_abort(pe, "no memory for %llu chares", (unsigned long long)n_old);
	s->mask = n_old * 2 - 1;
	for (uint64_t i = 0; i < n_old; i++)
		if (old[i].id)
			put(s, old[i]);
	free(old);
}

/* At most three quarters full. */
static void add(struct pe *pe, struct single *s, uint64_t id, uintptr_t what)
{
	if (++s->n > s->mask / 4 * 3)
		grow(pe, s);
	put(s, (struct single_slot){ id, what });
}

/* Those behind move up into the hole, unless they stand before their place then. */
static void take_out(struct single *s, struct single_slot *at)
{
	uint64_t hole = (uint64_t)(at - s->slots);

	for (uint64_t i = hole; s->slots[i = (i + 1) & s->mask].id;) {
		uint64_t want = place_of(s, s->slots[i].id);

		if (((i - want) & s->mask) < ((i - hole) & s->mask))
			continue;
		s->slots[hole] = s->slots[i];
		hole = i;
	}
	s->slots[hole].id = 0;
	s->n--;
}

static struct single *state(struct pe *pe)
{
	struct single *s = pe->ck->single;
	size_t n_pes = (size_t)pe->node->job->n_pes, n_types = (size_t)pe->node->ck->n_chares;

	if (CSD_LIKELY(s != NULL))
		return s;
	pe->ck->single = s = calloc(1, sizeof *s);
	if (s) {
		s->mask = 63;
		s->slots = calloc(s->mask + 1, sizeof *s->slots);
		s->types = calloc(n_types, sizeof *s->types);
		s->n_made = calloc(n_pes, sizeof *s->n_made);
		s->born = calloc(n_pes, sizeof *s->born);
	}
	if (!s || !s->slots || !s->types || !s->n_made || !s->born)
		csd_abort(pe, "no memory for singleton chares");
	if (n_pes >> (64 - NUMBER_BITS))
		csd_abort(pe, "singleton chares: more than %d PEs", 1 << (64 - NUMBER_BITS));
	return s;
}

/* ---- which creations have come ------------------------------------------------------------------ */

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

static void make_room(struct pe *pe, struct born *b, uint64_t number)
{
	struct born wide = { b->upto, NULL, b->n_bits ? b->n_bits : 64 };

	while (number - b->upto > wide.n_bits)
		wide.n_bits *= 2;
	if (wide.n_bits == b->n_bits)
		return;
	wide.bits = calloc(wide.n_bits / 64, sizeof *wide.bits);
	if (!wide.bits)
		csd_abort(pe, "no memory for singleton chares");
	for (uint64_t n = b->upto + 1; n <= b->upto + b->n_bits; n++)
		set_bit(&wide, n, bit_of(b, n));
	free(b->bits);
	*b = wide;
}

/* In order nearly always; a priority lets later ones overtake. */
static void note_born(struct pe *pe, struct born *b, uint64_t number)
{
	if (CSD_UNLIKELY(number != b->upto + 1)) {
		make_room(pe, b, number);
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
	uint64_t creator = id >> NUMBER_BITS;

	if (creator >= (uint64_t)pe->node->job->n_pes)
		csd_abort(pe, "message from PE %d names a chare that PE %llu made; the job has PEs "
			  "0-%d", src_pe, (unsigned long long)creator, pe->node->job->n_pes - 1);
	return &state(pe)->born[creator];
}

static bool was_born(struct pe *pe, uint64_t id, int src_pe)
{
	const struct born *b = born_by(pe, id, src_pe);
	uint64_t number = id & ((1ull << NUMBER_BITS) - 1);

	return number <= b->upto || (number - b->upto <= b->n_bits && bit_of(b, number));
}

/* ---- creation ------------------------------------------------------------------------------------- */

CkChareID single_create(struct pe *pe, int where, struct ck_env *env)
{
	struct single *s = state(pe);
	const CkGenChare *type = pe->node->ck->chares[env->entry];

	env->spare = where == CK_PE_ANY;
	if (where == CK_PE_ANY)
		where = seed_place(pe);
	else if ((uint32_t)where >= (uint32_t)pe->node->job->n_pes)
		csd_abort(pe, "%s_ckNew: PE %d; the job has PEs 0-%d, or CK_PE_ANY", type->name,
			  where, pe->node->job->n_pes - 1);
	env->coll = (uint64_t)pe->id << NUMBER_BITS | ++s->n_made[where];
	env->head.handler = (uint16_t)pe->node->ck->h_chare_new;
	CkChareID id = { env->coll, where, 0 };

	csd_send(pe, where, &env->head);
	return id;
}

/* What ck_obj points to: for chares it stands for their type. */
static struct collection *type_of(struct pe *pe, struct single *s, int number)
{
	const CkGenChare *type = pe->node->ck->chares[number];
	struct collection *c = s->types[number];

	if (CSD_LIKELY(c != NULL))
		return c;
	c = s->types[number] = calloc(1, sizeof *c);
	if (!c)
		csd_abort(pe, "no memory for %s", type->name);
	c->type = type;
	c->entries = type->entries;
	c->n_entries = (uint32_t)type->n_entries;
	return c;
}

static struct ck_obj *chare_new(struct pe *pe, struct single *s, int number, uint64_t id)
{
	const CkGenChare *type = pe->node->ck->chares[number];
	struct ck_obj *obj = calloc(1, sizeof *obj + type->bytes);

	if (!obj)
		csd_abort(pe, "no memory for a chare %s (%zu bytes)", type->name, type->bytes);
	obj->coll = type_of(pe, s, number);
	memcpy(&obj->index, &id, sizeof id);
	return obj;
}

static uint64_t id_of(const struct ck_obj *obj)
{
	uint64_t id;

	memcpy(&id, &obj->index, sizeof id);
	return id;
}

void single_new_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct single *s = state(pe);
	uint64_t id = env->coll;
	bool seed = env->spare;
	int src_pe = m->src_pe;

	chare_by_number(pe, env->entry, CKGEN_CHARE, m->src_pe);
	note_born(pe, born_by(pe, id, m->src_pe), id & ((1ull << NUMBER_BITS) - 1));
	struct ck_obj *obj = chare_new(pe, s, env->entry, id);
	struct single_slot *at = find(s, id);
	struct early *early = at ? early_in(at) : NULL;

	if (at)
		at->what = (uintptr_t)obj;
	else
		add(pe, s, id, (uintptr_t)obj);
	deliver_new(pe, obj, env);
	while (early && early->calls.head)
		single_call_arrived(pe, msg_fifo_pop(&early->calls));
	free(early);
	if (seed)
		seed_started(pe, src_pe);
}

/* ---- calls ------------------------------------------------------------------------------------------ */

void single_send(struct pe *pe, const CkGenChare *type, CkChareID id, struct ck_env *env)
{
	if (CSD_UNLIKELY(!id.id))
		coll_get_slow(pe, id.id); /* says why it cannot be */
	env->coll = id.id;
	env->place = (uint64_t)chare_number(pe->node->ck, type);
	env->head.handler = (uint16_t)pe->node->ck->h_chare_call;
	csd_send(pe, id.pe, &env->head);
}

static void too_early(struct pe *pe, struct ck_env *env)
{
	struct early *early = calloc(1, sizeof *early);

	if (!early)
		csd_abort(pe, "no memory for a call of a chare");
	early->calls.tail = &early->calls.head;
	msg_fifo_push(&early->calls, &env->head);
	add(pe, state(pe), env->coll, (uintptr_t)early | 1);
}

static __attribute__((noinline)) void not_there(struct pe *pe, struct single_slot *at,
						struct ck_env *env)
{
	const struct ck_node *ck = pe->node->ck;
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
	csd_abort(pe, "PE %d called %s of a chare that was destroyed (CkDestroy); whoever has its "
		  "proxy must know that it is over", env->head.src_pe, name);
}

void single_call_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct single_slot *at = find(state(pe), env->coll);

	if (CSD_LIKELY(at && !is_early(at)))
		deliver_to(pe, chare_in(at), env, false);
	else
		not_there(pe, at, env);
}

CkChareID CkGen_thisChare(const void *self)
{
	return (CkChareID){ id_of(obj_of(self)), ck_self()->id, 0 };
}

/* ---- the end ------------------------------------------------------------------------------------------ */

/* Nobody finds it any more; its memory is destroy.c's. */
void single_remove(struct pe *pe, struct ck_obj *obj)
{
	struct single_slot *at = find(state(pe), id_of(obj));

	if (!at || at->what != (uintptr_t)obj)
		csd_abort(pe, "CkDestroy: this chare %s is destroyed already, or lives on another PE",
			  obj->coll->type->name);
	take_out(state(pe), at);
}

static void drop(struct pe *pe, struct single_slot *at)
{
	if (at->id && is_early(at)) {
		struct early *early = early_in(at);

		while (early->calls.head)
			csd_msg_free(pe, msg_fifo_pop(&early->calls));
		free(early);
	} else if (at->id) {
		free(chare_in(at));
	}
}

void single_fini(struct pe *pe)
{
	struct single *s = pe->ck->single;

	if (!s)
		return;
	for (uint64_t i = 0; i <= s->mask; i++)
		drop(pe, &s->slots[i]);
	for (int i = 0; i < pe->node->ck->n_chares; i++)
		free(s->types[i]);
	for (int i = 0; i < pe->node->job->n_pes; i++)
		free(s->born[i].bits);
	free(s->slots);
	free(s->types);
	free(s->n_made);
	free(s->born);
	free(s);
}
