/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aggregate.c: sends calls of [aggregate] entries in batches, one per destination PE, as Charm++'s
 * TRAM does. The stub writes its parameters straight into the batch; the receiver calls the
 * handlers with pointers into it. There is no message per call.
 *
 * A batch is a message of runs. A run is a sequence of calls of one entry of one collection:
 *
 *	| struct ck_env | struct run | item | item | ... | pad to 16 | struct run | item | ...
 *
 *	item:	| place, 4 bytes, in a slot of 4, 8 or 16 | payload, padded to the slot |
 *
 * The slot is as large as the payload's alignment, so a call with one int takes 8 bytes: one cache
 * line carries eight calls between cores. (ARMI III-C names grouping by method as future work.) If
 * the PE has only one element, as with groups, the run omits the place, and a line carries 16: in
 * bench/kpings 10000 calls between processes then took 3.8 ns each instead of 5.3.
 *
 * The PE sends a batch
 *   - when it has its number of calls or of bytes;
 *   - when the queue has run empty, or has gone round TURNS_MOST times. The PE notices this by a
 *     message to itself, the mark;
 *   - when it answers quiescence's question, so that it never overlooks calls held back here;
 *   - on CkFlush.
 */
#include "call.h"
#include "../core/shape.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../machine/base/cmi_alloc.h"
#include "../../machine/base/cmi_env.h"

enum {
	/* From bench/kpings --aggregate: see docs/PERFORMANCE.md. */
	COUNT_DEFAULT = 512,
	BYTES_DEFAULT = 16 * 1024,
	COUNT_MOST = UINT16_MAX,
	BYTES_LEAST = 512,
	BYTES_MOST = 1 << 20,
	/* A PE that is never idle sends its batches after this many turns of its queue. */
	TURNS_MOST = 8,
	/* A batch that is at most a quarter full is sent as a copy: 1 call should not occupy 16 kB at the
	 * receiver, and the block stays in the sender's cache. Not if memory is short: a copy never waits
	 * for space, a new block does. */
	COPY_BELOW = 4,
};

/* The flags that an entry may have if its handler can be called in place, and if its calls can be
 * batched. */
enum {
	PLAIN = CKGEN_AGGREGATE | CKGEN_NOARGS | CKGEN_REDUCTION | CKGEN_NOTRACE,
	TRAVELS = PLAIN | CKGEN_THREADED | CKGEN_WHEN | CKGEN_PUP | CKGEN_AWAITED,
};

struct run {
	uint64_t coll;
	uint16_t entry;
	uint16_t n;
	uint32_t shape;           /* the low word of CkGen_itemKind; +1 if the items have no place */
};
_Static_assert(sizeof(struct run) == 16, "the first item is 16-aligned");

/* The calls held back for one PE. */
struct agg_to {
	CkGenBatch open;          /* the run that a call of the same kind continues */
	struct run *run;
	struct ck_env *env;       /* the batch, which this PE owns; NULL: none */
	size_t size;              /* of env */
	uint32_t left;            /* calls that fitted into the batch when the run was opened */
	int pe;
	bool listed;
	struct agg_to *next;      /* in the order in which their batches began */
};

/** The batches of one PE. */
struct aggregator {
	struct agg_to **to;       /* [n_pes]; NULL until the first call for that PE */
	CkGenBatch *by_place[CKGEN_BATCHES]; /* for stubs: CkGen_batches_ */
	struct agg_to *list, **tail; /* those that may have calls to send */
	bool marked;              /* the mark is in the queue */
	uint32_t turns;           /* of the queue, since the last flush */
	uint32_t count, bytes;    /* limits of a batch */
	const void *item;         /* while now.env is `batch`: the handler's parameters */
	uint32_t item_bytes;
	struct ck_env batch;      /* stands for the message of a batched call */
};

enum { H_BATCH, H_FLUSH };

static inline struct aggregator *agg_of(const struct pe *pe)
{
	return ck_state(pe, PART_AGGREGATE);
}

/* Never written: no call is of collection 0. */
static const CkGenBatch nothing;
#define NOTHING ((CkGenBatch *)(uintptr_t)&nothing)
static CkGenBatch *const all_nothing[CKGEN_BATCHES] = { [0 ... CKGEN_BATCHES - 1] = NOTHING };
__thread CkGenBatch *const *CkGen_batches_ = all_nothing;

/* ---- how much ------------------------------------------------------------------------------- */

/* The limits from CK_AGGREGATE, for the whole node. */
struct agg_limits {
	long count, bytes;
};

static bool limits_fit(const struct agg_limits *l)
{
	return l->count >= 1 && l->count <= COUNT_MOST && l->bytes >= BYTES_LEAST &&
	       l->bytes <= BYTES_MOST;
}

static void set_limits(struct pe *pe, const struct agg_limits *l)
{
	agg_of(pe)->count = (uint32_t)l->count;
	agg_of(pe)->bytes = (uint32_t)l->bytes & ~15u; /* runs are padded */
}

/* "count" or "count,bytes", the bytes perhaps with K or M. */
static bool read_limits(const char *text, struct agg_limits *l)
{
	char *end;
	uint64_t bytes;

	if (!isdigit((unsigned char)*text)) /* strtol would skip blanks */
		return false;
	l->count = strtol(text, &end, 10);
	if (*end == ',') {
		if (!cmi_env_parse_bytes(end + 1, &bytes) || bytes > BYTES_MOST)
			return false;
		l->bytes = (long)bytes;
	} else if (*end) {
		return false;
	}
	return limits_fit(l);
}

static int aggregate_node_start(struct node *node)
{
	const char *text = cmi_env_text("CK_AGGREGATE");
	struct agg_limits *l = ck_node_state(node, PART_AGGREGATE);
	char allowed[128];

	*l = (struct agg_limits){ COUNT_DEFAULT, BYTES_DEFAULT };
	if (text && !read_limits(text, l)) {
		snprintf(allowed, sizeof allowed, "a number of calls from 1 to %d, or that, a comma and "
			 "a number of bytes from %d to %dM", COUNT_MOST, BYTES_LEAST, BYTES_MOST >> 20);
		cmi_env_refuse("CK_AGGREGATE", text, allowed);
	}
	return 0;
}

static void aggregate_pe_start(struct pe *pe)
{
	const struct agg_limits *l = ck_node_state(pe->node, PART_AGGREGATE);

	agg_of(pe)->tail = &agg_of(pe)->list;
	memcpy(agg_of(pe)->by_place, all_nothing, sizeof all_nothing);
	agg_of(pe)->batch.flags = CK_ENV_SPECIAL; /* CkKeepMsg must see that it is no message */
	set_limits(pe, l);
}

static void aggregate_pe_stop(struct pe *pe)
{
	struct aggregator *a = agg_of(pe);

	for (int i = 0; a->to && i < pe->node->job->n_pes; i++) {
		if (a->to[i] && a->to[i]->env)
			csd_msg_free(pe, &a->to[i]->env->head);
		free(a->to[i]);
	}
	free(a->to);
	CkGen_batches_ = all_nothing;
}

static void aggregate_forked(struct pe *pe)
{
	(void)pe;
	CkGen_batches_ = all_nothing;
}

static struct agg_to *to_pe(struct pe *pe, int dst)
{
	struct aggregator *a = agg_of(pe);

	if (CSD_LIKELY(a->to && a->to[dst]))
		return a->to[dst];
	if (!a->to)
		a->to = cmi_alloc_zero((size_t)pe->node->job->n_pes, sizeof *a->to,
				       "calls that travel together");
	a->to[dst] = cmi_alloc_zero(1, sizeof **a->to, "calls that travel together");
	a->to[dst]->pe = dst;
	return a->to[dst];
}

/* ---- sending -------------------------------------------------------------------------------- */

static void close_run(struct agg_to *to)
{
	if (!to->open.coll)
		return;
	char *at = to->open.at, *end = (char *)to->env + CkGen_align((size_t)(at - (char *)to->env));
	uint32_t n = (uint32_t)(at - (char *)(to->run + 1)) / to->open.stride;

	to->run->n = (uint16_t)n;
	to->left -= n;
	memset(at, 0, (size_t)(end - at));
	to->open.at = end;
	to->open.coll = 0;
}

static bool is_empty(const struct agg_to *to)
{
	return !to->env || to->open.at == payload_of(to->env);
}

static void begin_batch(struct agg_to *to, uint32_t count)
{
	to->open.at = payload_of(to->env);
	to->left = count;
}

/* The message to send: the block itself, or, if it is mostly empty, a copy of the used bytes. */
static struct ck_env *what_to_send(struct pe *pe, struct agg_to *to, size_t size)
{
	struct ck_env *env = to->env;

	if (size > to->size / COPY_BELOW || !csd_msg_try_room(pe, size)) {
		to->env = NULL;
		return env;
	}
	env->head.size = size;
	return (struct ck_env *)csd_msg_copy(pe, &env->head);
}

static void flush_one(struct pe *pe, struct agg_to *to)
{
	if (is_empty(to))
		return;
	close_run(to);
	size_t size = (size_t)(to->open.at - (char *)to->env);
	struct ck_env *env = what_to_send(pe, to, size);

	env->head.size = size;
	if (to->env)
		begin_batch(to, agg_of(pe)->count);
	csd_send(pe, to->pe, &env->head);
}

/* A listed batch may already have been sent because it was full. */
void aggregate_flush(struct pe *pe)
{
	struct aggregator *a = agg_of(pe);
	struct agg_to *to = a->list;

	a->list = NULL;
	a->tail = &a->list;
	a->turns = 0;
	for (; to; to = to->next) {
		to->listed = false;
		flush_one(pe, to);
	}
}

void aggregate_flush_to(struct pe *pe, int dst_pe)
{
	const struct aggregator *a = agg_of(pe);

	if (a->to && a->to[dst_pe])
		flush_one(pe, a->to[dst_pe]);
}

static void send_mark(struct pe *pe)
{
	struct cmi_msg *m = ck_msg_new(pe, PART_AGGREGATE, H_FLUSH, CMI_F_SYSTEM, sizeof *m);

	agg_of(pe)->marked = true;
	csd_send(pe, pe->id, m);
}

/* The mark has passed the queue: all messages before it have been handled. */
static void flush_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct aggregator *a = agg_of(pe);
	bool queue_empty = !pe->queue.mixed && !pe->queue.plain.head;

	csd_msg_free(pe, m);
	a->marked = false;
	if (!a->list)
		return;
	if (queue_empty || ++a->turns >= TURNS_MOST)
		aggregate_flush(pe);
	else
		send_mark(pe);
}

static void list(struct pe *pe, struct agg_to *to)
{
	struct aggregator *a = agg_of(pe);

	if (to->listed)
		return;
	to->listed = true;
	to->next = NULL;
	*a->tail = to;
	a->tail = &to->next;
	if (!a->marked)
		send_mark(pe);
}

/* Only what the calls need: with few calls per batch, many batches may be under way. */
static size_t block_size(const struct aggregator *a, uint32_t stride)
{
	size_t wanted = sizeof(struct ck_env) + sizeof(struct run) +
			CkGen_align((size_t)a->count * stride);

	return wanted < a->bytes ? wanted : a->bytes;
}

static void new_block(struct pe *pe, struct agg_to *to, uint32_t stride)
{
	const struct aggregator *a = agg_of(pe);

	if (to->env)
		csd_msg_free(pe, &to->env->head);
	to->size = block_size(a, stride);
	to->env = env_new(pe, ck_handler(pe, PART_AGGREGATE, H_BATCH), to->size - sizeof *to->env);
	begin_batch(to, a->count);
}

/* The number of places on a PE of a collection without a map. */
static uint64_t n_on(const struct collection *c, int on_pe)
{
	return coll_run_first(c, on_pe + 1) - coll_run_first(c, on_pe);
}

/* Whether the run can omit the place, which is then `first` on that PE. An empty item keeps its
 * place, because it would take no space otherwise. */
static bool needs_no_place(const struct agg_to *to, const struct collection *c, uint64_t kind)
{
	return !c->homes.map && n_on(c, to->pe) == 1 && CkGen_itemBytes(kind) > 0;
}

/* The number of items of a new run that fit into the block. */
static size_t room(const struct agg_to *to, uint32_t stride)
{
	size_t used = (size_t)(to->open.at - (char *)to->env) + sizeof(struct run);

	return used > to->size ? 0 : (to->size - used) / stride;
}

/* Bytes from one item of a new run to the next. */
static uint32_t new_stride(const struct agg_to *to, const struct collection *c, uint64_t kind)
{
	return CkGen_itemStride(kind) - (needs_no_place(to, c, kind) ? CkGen_itemSlot(kind) : 0);
}

/* If a run of this kind will need a block, reserve one in the pool. The thread may wait for it, and
 * others may make calls meanwhile, so check again. */
static void await_block(struct pe *pe, const struct agg_to *to, const struct collection *c,
			uint64_t kind)
{
	uint32_t stride = new_stride(to, c, kind);

	while ((!to->env || room(to, stride) < 2) &&
	       csd_msg_room(pe, block_size(agg_of(pe), stride)))
		;
}

static void open_run(struct pe *pe, struct agg_to *to, const struct collection *c, uint64_t kind)
{
	bool placeless = needs_no_place(to, c, kind);
	uint32_t lead = placeless ? 0 : CkGen_itemSlot(kind);
	uint32_t stride = new_stride(to, c, kind);

	close_run(to);
	if (to->env && !room(to, stride))
		flush_one(pe, to);
	if (!to->env || !room(to, stride))
		new_block(pe, to, stride);
	list(pe, to);
	size_t n = room(to, stride);

	to->run = (struct run *)(void *)to->open.at;
	*to->run = (struct run){ .coll = c->id, .entry = (uint16_t)(kind >> 32),
				 .shape = (uint32_t)kind | placeless };
	to->open.coll = c->id;
	to->open.kind = kind;
	to->open.lead = lead;
	to->open.stride = stride;
	to->open.at += sizeof *to->run;
	to->open.stop = to->open.at + (n < to->left ? n : to->left) * stride;
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* Note which places are on the same PE, so that calls of these continue the run without a
 * search. */
static void note_neighbours(struct agg_to *to, const struct collection *c, uint64_t place)
{
	to->open.first = place;
	to->open.n = 1;
	if (c->route) {
		to->open.n = !c->route->stop->every; /* else each call is checked */
		return;
	}
	if (c->homes.map)
		return;
	to->open.first = coll_run_first(c, to->pe);
	to->open.n = n_on(c, to->pe);
}

/* Whether an item of `bytes` bytes, with up to 15 bytes before and after it, fits into a batch. */
static bool fits(const struct pe *pe, uint64_t bytes)
{
	return bytes <= agg_of(pe)->bytes - sizeof(struct ck_env) - sizeof(struct run) - 32;
}

/* For a collection with a route: whether a call may be batched. If not, the element's earlier calls
 * here have been sent. */
static __attribute__((noinline)) bool may_join(struct pe *pe, struct collection *c, uint64_t place,
					       uint64_t kind, uint64_t bytes)
{
	const uint32_t takes = fits(pe, bytes) ? CkGen_itemStride(kind) : 0;

	return c->route->stop->batched(pe, c, c->route, place, takes);
}

/* The run to put an item into; NULL: it cannot be batched. */
static struct agg_to *run_for(struct pe *pe, struct collection *c, uint64_t place,
			      uint64_t kind, uint64_t bytes)
{
	/* With more than 32 bits of places no call is batched; so the order of calls does not depend on
	 * the place. */
	if (CSD_UNLIKELY(place >= c->homes.total || c->homes.total > UINT32_MAX))
		return NULL;
	if (CSD_UNLIKELY(c->route != NULL) && !may_join(pe, c, place, kind, bytes))
		return NULL;
	struct agg_to *to = to_pe(pe, coll_home(pe, c, place));

	if (to->open.coll != c->id || to->open.kind != kind) {
		if (CSD_UNLIKELY(!fits(pe, bytes))) {
			flush_one(pe, to); /* the call goes by itself, after these */
			return NULL;
		}
		await_block(pe, to, c, kind);
	}
	if (to->open.coll != c->id || to->open.kind != kind) {
		open_run(pe, to, c, kind);
		note_neighbours(to, c, place);
	}
	agg_of(pe)->by_place[place % CKGEN_BATCHES] = &to->open;
	CkGen_batches_ = agg_of(pe)->by_place;
	return to;
}

/* For a call to another PE or of another entry than the last one with such a place, or one that
 * cannot be batched. The stub itself appends the item, because all of `kind` is constant there. */
CkGenBatch *CkGen_batchFor(uint64_t id, int x, uint64_t kind)
{
	struct pe *pe = ck_self_in("an [aggregate] entry");
	struct agg_to *to = run_for(pe, coll_get(pe, id), (uint32_t)x, kind, CkGen_itemBytes(kind));

	return to ? &to->open : NULL;
}

CkGenOpen CkGen_openAlone(const CkGenChare *chare, uint64_t id, int x, int entry, size_t bytes)
{
	struct pe *pe = ck_self_calls(chare, entry);

	run_for(pe, coll_get(pe, id), (uint32_t)x, 0, UINT64_MAX);
	return CkGen_open(chare, id, x, entry, bytes);
}

void CkGen_sendBatch(CkGenBatch *b)
{
	flush_one(ck_self(), (struct agg_to *)(void *)b);
}

void CkGen_closeAggregate(CkGenOpen call)
{
	if (call.away > 0)
		CkGen_close(call);
	else
		CkGen_sendBatch((CkGenBatch *)(uintptr_t)-call.away);
}
_Static_assert(offsetof(struct agg_to, open) == 0, "a stub's batch is the head of a struct agg_to");

/* A call that the stub has packed already: of variable size, or of an element in several
 * dimensions. A call with options is sent by itself. */
void CkGen_sendAggregate(const CkGenChare *chare, const CkElement *e, int entry, void *payload,
			 const CkEntryOptions *o)
{
	struct pe *pe = ck_self_calls(chare, entry);
	struct collection *c = coll_get(pe, e->id);
	struct ck_env *env = env_of(payload);
	uint64_t bytes = env->head.size - sizeof *env, place = coll_linear(c, e->index);
	struct agg_to *to = NULL;

	if (!o && !ck_kind(pe, chare)->send &&
	    !(chare->entries[entry].flags & ~(uint32_t)TRAVELS))
		to = run_for(pe, c, place, CkGen_itemKind(entry, (uint32_t)bytes, 16), bytes);
	if (!to) {
		CkGen_send(chare, e, entry, payload, o);
		return;
	}
	memcpy(CkGen_itemAppend(&to->open, (uint32_t)place, to->open.kind), payload, bytes);
	csd_msg_free(pe, &env->head);
	if (to->open.at == to->open.stop)
		flush_one(pe, to);
}

void CkFlush(void)
{
	aggregate_flush(ck_self());
}

void CkSetAggregation(int count, size_t bytes)
{
	struct pe *pe = ck_self();

	const struct agg_limits l = { count, bytes > LONG_MAX ? LONG_MAX : (long)bytes };

	if (!limits_fit(&l))
		csd_abort(pe, "CkSetAggregation: %d calls, %zu bytes; it must be 1 to %d calls and %d to %d "
			  "bytes", count, bytes, COUNT_MOST, BYTES_LEAST, BYTES_MOST);
	aggregate_flush(pe);
	set_limits(pe, &l);
	for (int i = 0; agg_of(pe)->to && i < pe->node->job->n_pes; i++) {
		struct agg_to *to = agg_of(pe)->to[i];

		if (to && to->env) {
			csd_msg_free(pe, &to->env->head);
			to->env = NULL;
		}
	}
}

/* ---- arrival -------------------------------------------------------------------------------- */

/* Bytes from an item to its payload; 0: the items have no place. */
static uint32_t run_lead(const struct run *run)
{
	return run->shape & 1 ? 0 : CkGen_itemSlot(run->shape);
}

static uint32_t run_stride(const struct run *run)
{
	uint32_t kind = run->shape & ~1u;

	return CkGen_itemStride(kind) - (CkGen_itemSlot(kind) - run_lead(run));
}

/* Deliver the call as a message of its own; deliver_to and its callers handle special cases. Of a
 * batch from another process only the bounds have been checked. */
static void deliver_as_message(struct pe *pe, const CkGenEntry *e, const struct run *run,
			       int src_pe, uint64_t place, const void *payload)
{
	struct ck_env *env =
		env_new(pe, ck_handler(pe, PART_CALL, H_ELEMENT), CkGen_itemBytes(run->shape));

	env->head.src_pe = src_pe;
	env->coll = run->coll;
	env->place = place;
	env->call = run->entry;
	if (e->flags & CKGEN_SPECIAL)
		env->flags = CK_ENV_SPECIAL;
	memcpy(payload_of(env), payload, CkGen_itemBytes(run->shape));
	element_came(pe, &env->head);
}

static inline void call_in_place(struct pe *pe, struct ck_obj *obj, uint32_t entry, CkGenCall call,
				 const void *payload)
{
	agg_of(pe)->item = payload;
	ck_of(pe)->now = (struct ck_running){ obj, &agg_of(pe)->batch, entry };
	call(self_of(obj), (void *)(uintptr_t)payload);
}

/* Whether its handler can be called in place. */
static bool is_plain(const CkGenEntry *e)
{
	return !(e->flags & ~(uint32_t)PLAIN) && e->least != UINT32_MAX;
}

/* A call that is not found by its place alone, or needs more than its handler. */
static __attribute__((noinline)) void deliver_other(struct pe *pe, const struct collection *c,
						    const struct run *run, int src_pe,
						    uint64_t place, const void *payload)
{
	const CkGenEntry *e = &c->entries[run->entry];
	struct ck_obj *obj = is_plain(e) && run->entry < c->n_entries ? coll_find(c, place) : NULL;

	agg_of(pe)->item_bytes = CkGen_itemBytes(run->shape);
	if (obj)
		call_in_place(pe, obj, run->entry, e->call, payload);
	else
		deliver_as_message(pe, e, run, src_pe, place, payload);
}

/* As ckci prints it, for handlers that are observed. */
static const char *call_all(const CkGenCalls *calls, CkGenCall call)
{
	CkGenCalls c = *calls;

	while (c.of_one ? CkGen_nextOfOne(&c, c.kind) : CkGen_nextCall(&c, c.kind))
		call(c.self, c.payload);
	return c.at;
}

static void check_run(struct pe *pe, const CkGenChare *type, const struct run *run, int src_pe)
{
	const uint32_t bytes = CkGen_itemBytes(run->shape);

	if (CSD_UNLIKELY(run->entry >= (uint32_t)type->n_entries))
		csd_abort(pe, "a batch calls entry %u of %s; it has %d", run->entry, type->name, type->n_entries);
	if (CSD_UNLIKELY(is_plain(&type->entries[run->entry]) &&
			 sizeof(struct ck_env) + bytes < type->entries[run->entry].least))
		csd_abort(pe, "a batch from PE %d calls entry %u of %s with %u bytes, which are too few", src_pe,
			  run->entry, type->name, bytes);
}

/* The calls that need no more than their handler, from the first one on. Returns the position of
 * the first call that is left. */
static const char *call_usual(const struct collection *c, CkGenCalls *calls)
{
	const CkGenAll all = c->type->all ? c->type->all[calls->entry] : NULL;

	if (!is_plain(&c->type->entries[calls->entry]))
		return calls->at;
	calls->self = c->n_here ? self_of(c->elems[0]) : NULL;
	if (CSD_LIKELY(c->entries == c->type->entries && all))
		return all(calls);
	return call_all(calls, c->entries[calls->entry].call);
}

/* The others that follow: all, if elements are not found by their place. Handlers may change
 * that. */
static void call_unusual(struct pe *pe, const struct collection *c, const struct run *run,
			 CkGenCalls *calls, int src_pe)
{
	const uint32_t lead = run_lead(run);

	do {
		const uint64_t place = lead ? *(const uint32_t *)(const void *)calls->at : c->first;

		deliver_other(pe, c, run, src_pe, place, calls->at + lead);
		calls->at += run_stride(run);
	} while (calls->at < calls->end && (c->n_here == 0 || calls->entry >= c->n_entries));
}

static CkGenCalls calls_of(struct pe *pe, const struct collection *c, const struct run *run)
{
	return (CkGenCalls){
		.coll = (const CkGenCollection *)c, .now = (CkGenNow *)&ck_of(pe)->now,
		.batch = &agg_of(pe)->batch, .item = &agg_of(pe)->item, .at = (const char *)(run + 1),
		.end = (const char *)(run + 1) + (size_t)run->n * run_stride(run), .entry = run->entry,
		.kind = (uint64_t)run->entry << 32 | (run->shape & ~1u), .of_one = run->shape & 1,
	};
}

static void deliver_run(struct pe *pe, const struct collection *c, const struct run *run,
			int src_pe)
{
	CkGenCalls calls = calls_of(pe, c, run);

	check_run(pe, c->type, run, src_pe);
	agg_of(pe)->item_bytes = CkGen_itemBytes(run->shape);
	while ((calls.at = call_usual(c, &calls)) < calls.end)
		call_unusual(pe, c, run, &calls, src_pe);
	ck_of(pe)->now.obj = NULL;
}

/* If the elements do not exist yet, the run waits for them as a batch of its own. */
static void wait_for_elements(struct pe *pe, struct collection *c, const struct run *run,
			      size_t bytes, int src_pe)
{
	struct ck_env *env = env_new(pe, ck_handler(pe, PART_AGGREGATE, H_BATCH), bytes);

	env->head.src_pe = src_pe;
	memcpy(payload_of(env), run, bytes);
	call_wait(pe, c, &env->head);
}

static void aggregate_arrived(struct pe *pe, struct cmi_msg *m)
{
	const char *at = payload_of((struct ck_env *)m), *end = (const char *)m + m->size;

	while (at < end) {
		const struct run *run = (const struct run *)(const void *)at;
		size_t bytes = CkGen_align(sizeof *run + (size_t)run->n * run_stride(run));
		struct collection *c = coll_get(pe, run->coll);

		if (CSD_LIKELY(coll_there(pe, c)))
			deliver_run(pe, c, run, m->src_pe);
		else
			wait_for_elements(pe, c, run, bytes, m->src_pe);
		at += bytes;
	}
	csd_msg_free(pe, m);
}

bool aggregate_runs(const struct pe *pe)
{
	return ck_of(pe)->now.env == &agg_of(pe)->batch;
}

void *aggregate_keep(struct pe *pe)
{
	struct ck_env *env = env_new(pe, 0, agg_of(pe)->item_bytes);

	env->head.mark = OWNER_PROGRAM;
	memcpy(payload_of(env), agg_of(pe)->item, agg_of(pe)->item_bytes);
	return payload_of(env);
}

/* Runs follow one another and fill the batch. */
static const char *aggregate_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const char *at = (const char *)m + sizeof(struct ck_env), *end = (const char *)m + m->size;

	while (at < end) {
		const struct run *run = (const struct run *)(const void *)at;
		const size_t left = (size_t)(end - at),
			     slot = left < sizeof *run ? 0 : CkGen_itemSlot(run->shape & ~1u);

		if ((slot != 4 && slot != 8 && slot != 16) ||
		    CkGen_align(sizeof *run + (size_t)run->n * run_stride(run)) > left)
			return "its calls do not lie within it";
		if (shape_id(pe, run->coll))
			return shape_id(pe, run->coll);
		at += CkGen_align(sizeof *run + (size_t)run->n * run_stride(run));
	}
	return NULL;
}

bool aggregate_describe(struct pe *pe, const struct cmi_msg *m, char *buf, size_t len)
{
	const struct run *run = (const void *)((const char *)m + sizeof(struct ck_env));
	const struct collection *c;
	char name[128];

	if (m->handler != ck_handler(pe, PART_AGGREGATE, H_BATCH))
		return false;
	c = idmap_get(&ck_of(pe)->colls, run->coll);
	if (c && c->type && run->entry < c->type->n_entries)
		snprintf(buf, len, "batches of calls of %s",
			 describe_entry(c->type, run->entry, name, sizeof name));
	else
		snprintf(buf, len, "batches of [aggregate] calls");
	return true;
}

static const struct ck_handler handlers[] = {
	[H_BATCH] = { "ck.batch", aggregate_arrived,
		      .shape = { CK_SHAPE_ENV, .misfit = aggregate_misfit } },
	[H_FLUSH] = { "ck.flush", flush_arrived, .apart = false },
};

const struct ck_part aggregate_part = {
	.name = "aggregate",
	.number = PART_AGGREGATE,
	.node_bytes = sizeof(struct agg_limits),
	.pe_bytes = sizeof(struct aggregator),
	.node_start = aggregate_node_start,
	.handlers = CK_LIST(handlers),
	.pe_start = aggregate_pe_start,
	.pe_stop = aggregate_pe_stop,
	.forked = aggregate_forked,
};
