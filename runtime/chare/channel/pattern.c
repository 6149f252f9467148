/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.c: which calls repeat, and how they are put; see pattern_int.h. */
#include "pattern_int.h"
#include "../call/call_open.h"
#include "../core/shape.h"
#include "../../machine/base/cmi_alloc.h"
#include "../../machine/tools/cmi_copy.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
	TABLE_FIRST = 64,
	/* A pattern is old when the PE has made this many calls for each of its patterns without one of
	 * this. Each new pattern checks OLD_LOOKS others, so there are never many old ones. */
	OLD_ROUNDS = 64,
	OLD_LOOKS = 2,
};

/** What the calls of a pattern have in common. */
struct pattern_key {
	uint64_t coll, place;
	const struct ck_obj *from; /* the caller: only a name, it may be destroyed. NULL: no element */
	uint32_t call, size;      /* env->call, and bytes with the head */
};

/** A put reads one line of it. An iteration of the program may lie between two puts of a pattern,
 * so the line is probably not cached. */
struct pattern {
	_Alignas(CMI_LINE) struct pattern_key key;
	struct standing_block *block; /* ours, in message memory; NULL: not asked yet */
	uint64_t n_puts;          /* opened; each uses the next message of the block */
	int32_t to;               /* the PE */
	uint32_t number;          /* of the patterns to that PE */
	uint32_t n_maps;          /* of the collection when the place's home was `to`; 0: never at a put */
	uint8_t n_free;           /* messages known to be free, from the next one on */
	bool behind;              /* earlier messages may not have been handled yet */

	uint64_t used;            /* clock of the last call */
	struct pattern *next;     /* in its chain, or of those that end */
	uint32_t n_counted;       /* calls sent as counted messages */
};
_Static_assert(offsetof(struct pattern, used) == CMI_LINE, "a line");

/* CkGenOpen.away of a call that is being put: pattern and message, as a negative number; others
 * have the PE's number + 1. A pattern begins on a line, so its address has space for the number of
 * a message. */
static inline int64_t put_name(const struct pattern *p, unsigned i)
{
	return -(int64_t)((uintptr_t)p | i);
}
static inline struct pattern *put_pattern(int64_t away)
{
	return (struct pattern *)((uintptr_t)-away & ~(uintptr_t)(STANDING_MOST - 1));
}
static inline unsigned put_message(int64_t away) { return (unsigned)-away & (STANDING_MOST - 1); }
_Static_assert((int)PATTERN_MESSAGES <= (int)STANDING_MOST && (int)STANDING_MOST <= (int)CMI_LINE,
	       "the address has room");

/** To one PE. */
struct pattern_to {
	struct bell_writer ring;
	struct standing_block *bell; /* its memory: a message */
	uint32_t n_numbers;
	struct pattern *ending;   /* ours: closed; the receiver may still have messages of theirs */
	struct pattern *ended;    /* ours: only their numbers count */
};

/* ---- the table ------------------------------------------------------------------------------- */

/* Of a call that the running handler makes. */
static inline struct pattern_key pattern_key_of(const struct pe *pe, const struct ck_env *env)
{
	return (struct pattern_key){ env->coll, env->place, ck_of(pe)->now.obj, env->call,
				     (uint32_t)env->head.size };
}

static inline struct pattern **chain_of(const struct pattern_pe *t, struct pattern_key k)
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15),
		       x = (k.place + ((uint64_t)k.call << 32)) * odd ^ (uintptr_t)k.from;

	return &t->table[(x * odd >> 32) & (t->cap - 1)];
}

static inline struct pattern *pattern_find(const struct pattern_pe *t, struct pattern_key k)
{
	struct pattern *p = CSD_LIKELY(t->cap) ? *chain_of(t, k) : NULL;

	while (p && (p->key.place != k.place || p->key.from != k.from || p->key.size != k.size ||
		     p->key.call != k.call || p->key.coll != k.coll))
		p = p->next;
	return p;
}

static void table_resize(struct pattern_pe *t, uint32_t cap)
{
	struct pattern_pe old = *t;

	t->table = cmi_alloc_zero(cap, sizeof *t->table, "the patterns of calls");
	t->cap = cap;
	for (uint32_t i = 0; i < old.cap; i++)
		for (struct pattern *p = old.table[i], *next; p; p = next) {
			struct pattern **chain = chain_of(t, p->key);

			next = p->next;
			p->next = *chain;
			*chain = p;
		}
	free(old.table);
}

static void pattern_add(struct pattern_pe *t, struct pattern_key k)
{
	struct pattern *p = cmi_alloc_aligned(CMI_LINE, sizeof *p, "a pattern of calls"), **chain;

	if (t->n == t->cap)
		table_resize(t, t->cap ? 2 * t->cap : TABLE_FIRST);
	p->key = k;
	p->used = ++t->clock;
	chain = chain_of(t, k);
	p->next = *chain;
	*chain = p;
	t->n++;
}

/* ---- the end of a pattern -------------------------------------------------------------------- */

static inline struct pattern_to *way_of(const struct pattern_pe *t, const struct pattern *p)
{
	return t->to[p->to];
}

static bool is_free(const struct pattern *p, unsigned i)
{
	return standing_is_free(
		p->block, i, (uint32_t)((p->n_puts + PATTERN_MESSAGES - 1 - i) / PATTERN_MESSAGES));
}

/* The receiver no longer uses the block. */
static bool is_over(const struct pattern *p)
{
	/* acquire, here and in standing_is_free: the receiver's reads come before the memory's reuse.
	 * Model: pattern.pml, is_over */
	bool over = atomic_load_explicit(&p->block->line.state, memory_order_acquire) == PATTERN_CLOSED;

	for (unsigned i = 0; i < PATTERN_MESSAGES && over; i++)
		over = is_free(p, i);
	return over;
}

static void collect_ended(struct pe *pe, struct pattern_to *w)
{
	for (struct pattern **at = &w->ending, *p; (p = *at);) {
		if (!is_over(p)) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		p->block->head.handler = 0; /* the mark */
		csd_msg_free(pe, &p->block->head);
		p->next = w->ended;
		w->ended = p;
	}
}

static void close_pattern(struct pe *pe, struct pattern *p)
{
	struct ck_env *env = env_new(pe, ck_handler(pe, PART_PATTERN, H_CLOSE), 0);
	struct pattern_to *way = way_of(pattern_of(pe), p);

	env->coll = p->key.coll;
	env->place = p->number;
	csd_send(pe, p->to, &env->head);
	p->next = way->ending;
	way->ending = p;
}

/* Takes it out of its chain, in which *at is the link to it. */
static void pattern_end(struct pe *pe, struct pattern **at)
{
	struct pattern *p = *at;

	*at = p->next;
	pattern_of(pe)->n--;
	if (p->block)
		close_pattern(pe, p);
	else
		free(p);
}

static void forget(struct pe *pe, const struct pattern *p)
{
	struct pattern **at = chain_of(pattern_of(pe), p->key);

	while (*at != p)
		at = &(*at)->next;
	pattern_end(pe, at);
}

static void forget_old(struct pe *pe, struct pattern_pe *t)
{
	const uint64_t long_ago = (uint64_t)(t->n + TABLE_FIRST) * OLD_ROUNDS;

	for (int i = 0; i < OLD_LOOKS && t->cap; i++)
		for (struct pattern **at = &t->table[t->hand++ & (t->cap - 1)]; *at;)
			if (t->clock - (*at)->used > long_ago)
				pattern_end(pe, at);
			else
				at = &(*at)->next;
}

/* ---- the beginning --------------------------------------------------------------------------- */

/* Message memory with a zeroed line; NULL: it cannot be lent to that PE. */
static struct standing_block *block_for(struct pe *pe, int to, size_t bytes,
					enum pattern_block what, uint64_t *name_p)
{
	struct standing_block *b = (struct standing_block *)csd_msg_alloc(pe, bytes);

	b->head.src_pe = pe->id;
	b->head.handler = pattern_mark(pe, what);
	memset(&b->line, 0, sizeof b->line);
	*name_p = pe_is_here(pe, to) ? (uintptr_t)b : cmi_shared_ref(pe->wire, to, b, bytes);
	if (*name_p)
		return b;
	csd_msg_free(pe, &b->head);
	return NULL;
}

static struct pattern_to *way_to(struct pe *pe, int to)
{
	struct pattern_pe *t = pattern_of(pe);
	uint64_t name;

	if (!t->to)
		t->to = cmi_alloc_zero((size_t)pe->node->job->n_pes, sizeof *t->to, "the patterns of calls");
	if (!t->to[to]) {
		struct pattern_to *w = cmi_alloc_zero(1, sizeof *w, "the patterns of calls");

		w->bell = block_for(pe, to, pattern_bell_bytes(), PATTERN_BELL, &name);
		if (w->bell) {
			memset(w->bell + 1, 0, bell_bytes(PATTERN_WORDS));
			bell_write_init(&w->ring, (struct bell *)(w->bell + 1), PATTERN_WORDS);
		}
		t->to[to] = w;
	}
	return t->to[to];
}

static uint32_t number_new(struct pattern_to *w)
{
	struct pattern *p = w->ended;
	uint32_t number;

	if (!p)
		return w->n_numbers++;
	number = p->number;
	w->ended = p->next;
	free(p);
	return number;
}

/* The second call goes to PE `to`. */
static void pattern_ask(struct pe *pe, struct pattern *p, int to)
{
	struct pattern_to *w = way_to(pe, to);
	struct pattern_msg m = { .size = p->key.size, .call = p->key.call };
	struct ck_env *env;

	if (!w->bell)
		return; /* on another host */
	collect_ended(pe, w);
	p->block = block_for(pe, to, standing_bytes(p->key.size, PATTERN_MESSAGES), PATTERN_BLOCK,
			     &m.block);
	if (!p->block)
		return;
	m.bell = pe_is_here(pe, to) ? (uintptr_t)w->bell :
				      cmi_shared_ref(pe->wire, to, w->bell, pattern_bell_bytes());
	m.number = p->number = number_new(w);
	p->to = to;
	env = env_new(pe, ck_handler(pe, PART_PATTERN, H_OPEN), sizeof m - sizeof *env);
	memcpy(env + 1, (const struct ck_env *)&m + 1, sizeof m - sizeof *env);
	env->coll = p->key.coll;
	env->place = p->key.place;
	csd_send(pe, to, &env->head);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static bool pattern_is_open(const struct pattern *p)
{
	/* acquire: pairs with the release of landing.c's open: the heads have been written. */
	return atomic_load_explicit(&p->block->line.state, memory_order_acquire) == PATTERN_OPEN;
}

/* If no message was known to be free, count those that are, from the next one on. */
static __attribute__((noinline)) bool pattern_look(struct pattern *p)
{
	if (!pattern_is_open(p))
		return false;
	while (p->n_free < PATTERN_MESSAGES && is_free(p, (p->n_puts + p->n_free) % PATTERN_MESSAGES))
		p->n_free++;
	return p->n_free > 0;
}

/* Whether all earlier messages have been handled. */
static __attribute__((noinline)) bool all_taken(struct pattern *p)
{
	/* acquire: pairs with the release in landing_counted_arrived. Model: pattern.pml, may_put */
	p->behind = atomic_load_explicit(&p->block->line.taken, memory_order_acquire) != p->n_counted;
	return !p->behind;
}

static bool may_put(const struct pe *pe, struct pattern *p)
{
	struct bell_writer *ring = &way_of(pattern_of(pe), p)->ring;

	if (p->behind && !all_taken(p))
		return false;
	if (ring->next == ring->stop && !bell_turn(ring))
		return false;
	return (p->n_free || pattern_look(p)) && !pe->hold;
}

/* The receiver has these lines. They are fetched together while the stub continues: stores would
 * wait for one after the other. */
static inline void ask_for_lines(const struct pattern *p, const struct pattern_to *way,
				 const char *msg)
{
	const size_t bytes = p->key.size < PATTERN_AHEAD ? p->key.size : PATTERN_AHEAD;

	cmi_own_lines(msg + sizeof(struct ck_env), bytes - sizeof(struct ck_env));
	cmi_own_line(way->ring.next);
	if (CSD_UNLIKELY(!p->n_free))
		__builtin_prefetch(&p->block->line); /* for CkGen_closeChannel */
}

/* Takes the message. */
static inline CkGenOpen open_put(struct pe *pe, struct pattern *p, const struct pattern_to *way,
				 struct ck_env *env)
{
	const unsigned i = p->n_puts++ % PATTERN_MESSAGES;
	struct cmi_msg *m = standing_msg(p->block, p->key.size, i);

	csd_msg_free(pe, &env->head);
	p->used = ++pattern_of(pe)->clock;
	p->n_free--;
	ask_for_lines(p, way, (const char *)m);
	return (CkGenOpen){ payload_of((struct ck_env *)m), put_name(p, i) };
}

static CkGenOpen counted(struct pe *pe, struct pattern *p, struct ck_env *env, CkGenOpen call)
{
	env->head.handler = ck_handler(pe, PART_PATTERN, H_COUNTED);
	env->refnum = (int32_t)p->number;
	p->n_counted++;
	p->behind = true;
	return call;
}

static __attribute__((noinline)) CkGenOpen no_put(struct pe *pe, struct pattern *p,
						  struct ck_env *env, CkGenOpen call)
{
	struct pattern_pe *t = pattern_of(pe);

	if (!p && call.away && env->head.size <= PATTERN_MOST) {
		forget_old(pe, t);
		pattern_add(t, pattern_key_of(pe, env));
		return call;
	}
	if (!p)
		return call;
	p->used = ++t->clock;
	if (!p->block && call.away)
		pattern_ask(pe, p, (int)call.away - 1);
	if (p->block && call.away - 1 == p->to)
		return counted(pe, p, env, call);
	if (p->block || !call.away)
		forget(pe, p); /* it is sent otherwise, or waits */
	return call;
}

/* A call that leaves this PE, or waits; its destination is decided. It may get another payload to
 * fill instead of the message's, which this has taken then. Calls of sparse arrays have no
 * place. */
static CkGenOpen repeats(struct pe *pe, struct ck_env *env, CkGenOpen call)
{
	struct pattern_pe *t = pattern_of(pe);
	struct pattern *p;

	if (CSD_UNLIKELY(env->flags & CK_ENV_UNPLACED || pe->node->closely))
		return call;
	p = pattern_find(t, pattern_key_of(pe, env));
	if (CSD_UNLIKELY(!p || !p->block || call.away - 1 != p->to || !may_put(pe, p)))
		return no_put(pe, p, env, call);
	const struct collection *c = coll_get(pe, env->coll);

	p->n_maps = c->route ? 0 : c->homes.n_maps;
	return open_put(pe, p, way_of(t, p), env);
}

/* The destination needs no decision if the call went home at an earlier put, no call of the
 * collection is routed otherwise now, and homes are unchanged. Other special cases are for
 * `repeats`, so that this calls no other function: then the payload is NULL. The message is not
 * addressed yet. */
static CkGenOpen pattern_put(struct pe *pe, const CkElement *e, struct ck_env *env)
{
	struct pattern_pe *t = pattern_of(pe);
	const struct collection *c = ck_of(pe)->last;
	struct pattern *p =
		pattern_find(t, (struct pattern_key){ e->id, coll_linear(c, e->index), ck_of(pe)->now.obj,
					      env->call, (uint32_t)env->head.size });

	if (CSD_UNLIKELY(!p || c->id != e->id || c->route || p->n_maps != c->homes.n_maps ||
			 p->behind || !p->n_free || pe->hold))
		return (CkGenOpen){ NULL, 0 };
	const struct pattern_to *way = way_of(t, p);

	return CSD_LIKELY(way->ring.next != way->ring.stop) ? open_put(pe, p, way, env) :
							      (CkGenOpen){ NULL, 0 };
}

/* A call that waits for its route is also reported: no later one may be put. */
static __attribute__((noinline)) CkGenOpen open_channel_away(const CkGenChare *chare,
							     const CkElement *e, struct pe *pe,
							     struct ck_env *env)
{
	CkGenOpen call = pattern_put(pe, e, env);

	return CSD_LIKELY(call.payload) ? call : repeats(pe, env, call_open_away(chare, e, pe, env));
}

CkGenOpen CkGen_openChannelClass(const CkGenChare *chare, const CkElement *e, int entry,
				 size_t size, size_t cls)
{
	return open_element(chare, e, entry, size, cls, open_channel_away, CkGen_openChannelClass);
}

void CkGen_closeChannel(CkGenOpen call)
{
	struct pe *pe = ck_self();

	if (CSD_UNLIKELY(call.away > 0)) {
		CkGen_close(call);
		return;
	}
	struct pattern *p = put_pattern(call.away);
	const unsigned i = put_message(call.away);

	pe->n_created++;
	bell_ring(&way_of(pattern_of(pe), p)->ring,
		  pattern_word(p->number, i)); /* may_put has checked for space */
	if (CSD_UNLIKELY(!p->n_free))
		pattern_look(p); /* now, while the line is cached, and not at the next call */
}

/* ---- the part -------------------------------------------------------------------------------- */

static void free_list(struct pattern *p)
{
	for (struct pattern *next; p; p = next) {
		next = p->next;
		free(p);
	}
}

static void pattern_pe_stop(struct pe *pe)
{
	struct pattern_pe *t = pattern_of(pe);

	landings_stop(pe);
	for (uint32_t i = 0; i < t->cap; i++)
		free_list(t->table[i]);
	free(t->table);
	for (int to = 0; t->to && to < pe->node->job->n_pes; to++) {
		if (!t->to[to])
			continue;
		free_list(t->to[to]->ending);
		free_list(t->to[to]->ended);
		free(t->to[to]);
	}
	free(t->to);
}

static const struct ck_handler handlers[] = {
	[H_OPEN] = { "ck.pattern.open", landing_open_arrived,
		     .shape = { CK_SHAPE_STRUCT(struct pattern_msg), CK_SHAPE_ID(struct pattern_msg, env.coll),
				.misfit = landing_open_misfit } },
	[H_COUNTED] = { "ck.pattern.call", landing_counted_arrived,
			.shape = { CK_SHAPE_COLL_CALL, .misfit = landing_counted_misfit } },
	[H_CLOSE] = { "ck.pattern.close", landing_close_arrived,
		      .shape = { CK_SHAPE_COLL, .exact = true, .misfit = landing_close_misfit } },
};

const struct ck_part pattern_part = {
	.name = "pattern",
	.number = PART_PATTERN,
	.pe_bytes = sizeof(struct pattern_pe),
	.handlers = CK_LIST(handlers),
	.pe_stop = pattern_pe_stop,
	.describe = prepared_tell,
};
