/* SPDX-License-Identifier: Apache-2.0 */
/* landing.c: the receiver's side of calls that are put; see pattern_int.h. */
#include "pattern_int.h"
#include "../core/shape.h"
#include "../../machine/base/cmi_alloc.h"
#include "../../machine/tools/cmi_random.h"

#include <stdlib.h>
#include <string.h>

enum {
	/* Words taken from a bell at a time: their payloads are fetched together. */
	BATCH = 8,
	/* Calls that a pass of the loop handles of one PE. */
	PASS_MOST = 64,
	/* A PE with other work polls its bells in one of this many passes. */
	BUSY_PASSES = 8,
	/* CK_RANDOM_DELAY: all but one of this many polls miss the bell. */
	DEAF = 8,
};

/** A pattern of another PE. */
struct landing {
	struct standing_block *block; /* the caller's; NULL: closed */
	uint64_t coll, place;
	uint32_t size, call;
	uint32_t taken;           /* counted messages */
	bool open;
};

/** All patterns of one PE: its connection to this one. */
struct lane {
	struct bell_reader ring;
	int src_pe;
	bool away;                /* of another process */
	uint32_t n;
	struct landing *landings; /* ours, [n], by number */
	struct ck_env *call[BATCH]; /* calls that the bell has named; those from `at` on are not handled
				     * yet */
	unsigned at, end;
};

static struct lane *lane_of(const struct pe *pe, int src)
{
	const struct pattern_pe *t = pattern_of(pe);

	for (int i = 0; i < t->n_lanes; i++)
		if (t->lanes[i]->src_pe == src)
			return t->lanes[i];
	return NULL;
}

/* ---- calls that have been put ---------------------------------------------------------------- */

_Noreturn static void lane_broken(struct pe *pe, const struct lane *l, const char *what)
{
	csd_abort(
		pe,
		"PE %d has put a call that %s; its memory was damaged, or the nodes run different programs",
		l->src_pe, what);
}

/* The heads were written here, but the memory is another process's; and the parameters must lie
 * within the call. */
static inline void check_fits(struct pe *pe, const struct lane *l, const struct collection *c,
			      struct ck_env *env)
{
	if (CSD_UNLIKELY(!c->type || env->entry >= c->type->n_entries))
		lane_broken(pe, l, "names no entry");
	const CkGenEntry *e = &c->type->entries[env->entry];

	if (CSD_UNLIKELY(e->fits && !e->fits(payload_of(env), env->head.size - sizeof *env)))
		lane_broken(pe, l, "is shorter than its parameters");
}

/* Where calls are measured, an element is still found. Other handlers may keep the message, or
 * forward it: they get a copy. */
static __attribute__((noinline)) void land_slow(struct pe *pe, struct ck_env *env)
{
	const struct collection *c = coll_get(pe, env->coll);
	struct ck_obj *obj = coll_find(c, env->place);
	struct ck_env *copy;

	if (obj && !obj->extra && !(c->type->entries[env->entry].flags & CKGEN_SPECIAL)) {
		deliver_to(pe, obj, env, false);
		return;
	}
	copy = own_copy(pe, env);
	csd_msg_free(pe, &env->head);
	element_arrived(pe, &copy->head);
}

static inline void land(struct pe *pe, struct lane *l)
{
	struct ck_env *env = l->call[l->at++];

	if (l->away)
		check_fits(pe, l, coll_get(pe, env->coll), env);
	if (CSD_UNLIKELY(!element_runs(pe, env)))
		land_slow(pe, env);
	pe->n_processed++;
}

/* The call that a word names; begins to fetch its payload. */
static inline struct ck_env *named(struct pe *pe, const struct lane *l, uint64_t word)
{
	const uint64_t number = word / STANDING_MOST;

	if (CSD_UNLIKELY(number >= l->n || !l->landings[number].open ||
			 word % STANDING_MOST >= PATTERN_MESSAGES))
		lane_broken(pe, l, "has no pattern");

	const struct landing *g = &l->landings[number];
	const char *p = (const char *)standing_msg(g->block, g->size, word % STANDING_MOST);
	const size_t bytes = g->size < PATTERN_AHEAD ? g->size : PATTERN_AHEAD;

	for (size_t i = sizeof(struct ck_env); i < bytes; i += CMI_LINE)
		__builtin_prefetch(p + i);
	return (struct ck_env *)p;
}

static bool lane_take(struct pe *pe, struct lane *l)
{
	uint64_t word;

	l->at = l->end = 0;
	while (l->end < BATCH && bell_next(&l->ring, &word))
		l->call[l->end++] = named(pe, l, word);
	if (l->end)
		bell_taken(&l->ring);
	return l->end > 0;
}

/* A handler may re-enter this, in a loop inside it (CsdScheduler): that continues with the next
 * word. */
static int lane_hear(struct pe *pe, struct lane *l, int most)
{
	int n = 0;

	while (n < most && (l->at < l->end || lane_take(pe, l))) {
		land(pe, l);
		n++;
	}
	pe->n_dispatched += (uint64_t)n;
	return n;
}

void landing_hear(struct pe *pe, int src)
{
	struct lane *l = lane_of(pe, src);

	/* Everything put before the current message was sent is in the ring, so this many words are
	 * enough. */
	if (l)
		lane_hear(pe, l, PATTERN_WORDS + BATCH);
}

/* Payloads are fetched while the PE does something else, if it has anything to do: then the calls
 * are handled in the next pass. */
static inline int listen(struct pe *pe, struct lane *l)
{
	int n = 0;

	while (l->at < l->end) {
		land(pe, l);
		n++;
	}
	if (!bell_rings(&l->ring))
		return n;
	if (!pe->queue.plain.head)
		return n + lane_hear(pe, l, PASS_MOST);
	lane_take(pe, l);
	return n + 1;
}

static int poll_lanes(struct pe *pe)
{
	struct pattern_pe *t = pattern_of(pe);
	int n = t->below ? t->below(pe) : 0;

	if (CSD_UNLIKELY(t->random) && cmi_random_below(&t->random, DEAF))
		return n;
	/* Polling a bell that another core rings fetches its line from there each time. A PE with other
	 * work polls it seldom: a message would wait behind that work, too. */
	if (pe->queue.plain.head && pe->passes % BUSY_PASSES)
		return n;
	for (int i = 0; i < t->n_lanes; i++)
		n += listen(pe, t->lanes[i]);
	return n;
}

/* ---- patterns begin and end ------------------------------------------------------------------ */

static void *lent(struct pe *pe, int src, uint64_t name)
{
	return pe_is_here(pe, src) ? (void *)(uintptr_t)name :
	       (void *)(uintptr_t)cmi_shared_ptr(pe->node->machine, name);
}

static struct lane *lane_new(struct pe *pe, int src, uint64_t bell)
{
	struct pattern_pe *t = pattern_of(pe);
	struct lane *l = cmi_alloc_zero(1, sizeof *l, "the patterns of calls");

	t->lanes = cmi_realloc(t->lanes, (size_t)t->n_lanes + 1, sizeof *t->lanes,
			       "the patterns of calls");
	t->lanes[t->n_lanes] = l;
	l->src_pe = src;
	l->away = !pe_is_here(pe, src);
	bell_read_init(&l->ring, (struct bell *)((struct standing_block *)lent(pe, src, bell) + 1),
		       PATTERN_WORDS);
	if (!t->n_lanes++) {
		t->below = pe->poll;
		pe->poll = poll_lanes;
		pe->listens = true;
		t->random = pe->node->random.delays ?
				    cmi_random_seed(pe->node->random.seed + (uint64_t)pe->id) :
				    0;
	}
	return l;
}

static struct landing *landing_new(struct lane *l, uint32_t number)
{
	const uint32_t n = l->n;

	if (number >= n) {
		l->n = number + 1 > 2 * n ? number + 1 : 2 * n;
		l->landings = cmi_realloc(l->landings, l->n, sizeof *l->landings, "the patterns of calls");
		memset(l->landings + n, 0, (l->n - n) * sizeof *l->landings);
	}
	return &l->landings[number];
}

static void write_heads(struct pe *pe, const struct lane *l, const struct landing *g)
{
	for (unsigned i = 0; i < PATTERN_MESSAGES; i++) {
		struct cmi_msg *m = standing_msg(g->block, g->size, i);
		struct ck_env *env = (struct ck_env *)env_fresh(m, g->size);

		m->route = ck_of(pe)->route;
		m->src_pe = l->src_pe;
		m->word = 0;
		m->next = NULL;
		env->coll = g->coll;
		env->place = g->place;
		env->call = g->call;
		standing_begin(m, pe->local, i);
	}
}

/* Only for an element that is here, so that puts are seldom forwarded as messages. */
static void open_if_here(struct pe *pe, const struct lane *l, struct landing *g)
{
	const struct collection *c = coll_get(pe, g->coll);

	if (!c->type || (uint16_t)g->call >= c->type->n_entries || !coll_find(c, g->place))
		return;
	write_heads(pe, l, g);
	g->open = true;
	/* release: pairs with the acquire in pattern_is_open. */
	atomic_store_explicit(&g->block->line.state, PATTERN_OPEN, memory_order_release);
}

void landing_open_arrived(struct pe *pe, struct cmi_msg *msg)
{
	const struct pattern_msg *m = (const struct pattern_msg *)msg;
	struct lane *l = lane_of(pe, msg->src_pe);
	struct landing *g;

	if (!l)
		l = lane_new(pe, msg->src_pe, m->bell);
	call_coll_of(coll_get(pe, m->env.coll))->heard = landing_hear;
	g = landing_new(l, m->number);
	*g = (struct landing){ .block = lent(pe, l->src_pe, m->block), .coll = m->env.coll,
			       .place = m->env.place, .size = m->size, .call = m->call };
	open_if_here(pe, l, g);
	csd_msg_free(pe, msg);
}

void landing_counted_arrived(struct pe *pe, struct cmi_msg *msg)
{
	struct ck_env *env = (struct ck_env *)msg;
	struct lane *l = lane_of(pe, msg->src_pe);
	const uint32_t number = (uint32_t)env->refnum;
	const struct csd_handler *h = &pe->node->handlers[ck_handler(pe, PART_CALL, H_ELEMENT)];

	lane_hear(pe, l, PATTERN_WORDS + BATCH);
	struct landing *g = &l->landings[number]; /* a handler may have moved them */

	if (!g->open)
		open_if_here(pe, l, g);
	/* release: pairs with the acquire in may_put. This call is handled before the next put is
	 * heard. Model: pattern.pml, landing_counted_arrived */
	atomic_store_explicit(&g->block->line.taken, ++g->taken, memory_order_release);
	env->refnum = 0;
	env->head.handler = ck_handler(pe, PART_CALL, H_ELEMENT);
	(l->away ? h->arrived : h->fn)(pe, msg);
}

void landing_close_arrived(struct pe *pe, struct cmi_msg *msg)
{
	const struct ck_env *env = (const struct ck_env *)msg;
	struct lane *l = lane_of(pe, msg->src_pe);
	struct landing *g;
	struct standing_block *b;

	lane_hear(pe, l, PATTERN_WORDS + BATCH);
	g = &l->landings[env->place];
	b = g->block;
	*g = (struct landing){ 0 };
	/* release: pairs with the acquire in pattern.c's is_over. Model: pattern.pml,
	 * landing_close_arrived */
	atomic_store_explicit(&b->line.state, PATTERN_CLOSED, memory_order_release);
	csd_msg_free(pe, msg);
}

/* ---- the shapes of messages from other processes --------------------------------------------- */

/* Memory that the sender has made for this. Otherwise its contents are arbitrary, and only read. */
static __attribute__((no_sanitize("address"))) bool is_lent(struct pe *pe, int src, uint64_t name,
							    size_t bytes, enum pattern_block what)
{
	const struct cmi *machine = pe->node->machine;

	if (name % CMI_LINE || !cmi_shared_fits(machine, name, bytes))
		return false;
	const struct cmi_msg *head = cmi_shared_ptr(machine, name);

	return head->handler == pattern_mark(pe, what) && head->src_pe == src && head->size == bytes;
}

const char *landing_open_misfit(struct pe *pe, const struct cmi_msg *msg)
{
	const struct pattern_msg *m = (const struct pattern_msg *)msg;
	const struct lane *l = lane_of(pe, msg->src_pe);

	if (m->size < sizeof(struct ck_env) || m->size > PATTERN_MOST ||
	    m->number > (l ? 2 * l->n + 1 : 1) + PATTERN_WORDS)
		return "the size or number of its pattern is invalid";
	if (l && m->number < l->n && l->landings[m->number].block)
		return "its pattern has begun already";
	if (!is_lent(pe, msg->src_pe, m->block, standing_bytes(m->size, PATTERN_MESSAGES),
		     PATTERN_BLOCK) ||
	    !is_lent(pe, msg->src_pe, m->bell, pattern_bell_bytes(), PATTERN_BELL))
		return "its memory was not lent for it";
	return NULL;
}

static const char *number_misfit(struct pe *pe, const struct cmi_msg *m, uint64_t number)
{
	const struct lane *l = lane_of(pe, m->src_pe);

	return l && number < l->n && l->landings[number].block ? NULL : "it has no pattern";
}

const char *landing_counted_misfit(struct pe *pe, const struct cmi_msg *m)
{
	return number_misfit(pe, m, (uint32_t)((const struct ck_env *)m)->refnum);
}

const char *landing_close_misfit(struct pe *pe, const struct cmi_msg *m)
{
	return number_misfit(pe, m, ((const struct ck_env *)m)->place);
}

/* ---- the end --------------------------------------------------------------------------------- */

void landings_stop(struct pe *pe)
{
	struct pattern_pe *t = pattern_of(pe);

	if (pe->poll == poll_lanes)
		pe->poll = t->below;
	for (int i = 0; i < t->n_lanes; i++) {
		free(t->lanes[i]->landings);
		free(t->lanes[i]);
	}
	free(t->lanes);
}
