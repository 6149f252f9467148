/* SPDX-License-Identifier: Apache-2.0 */
/* arrival.c: see arrival.h. */
#include "arrival.h"

#include <string.h>

#include "../ends/channel.h"
#include "../core/direct_control.h"

enum {
	/* How many functions ahead of the running one the record of an arrival is fetched, and the target
	 * of the user's `data`. Beyond a function that does real work the processor cannot look ahead by
	 * itself: in a stencil of 512 blocks arrivals took 0.48 of the kernel's time without this, 0.17
	 * with it, and 0.22 at a quarter of these distances. */
	PREFETCH_REST = 16,
	PREFETCH_DATA = 8,
	/* Polled channels up to which an idle PE checks the progress of large puts. */
	AHEAD_MAX = 8,
	/* How much of the buffer is fetched while the function is being called: four cache lines. */
	PREFETCH_BYTES = 256,
};

/** Sequence mode: the put that has arrived must be the next one, of this channel. */
static inline void take_sequence(struct pe *pe, struct direct_channel_hot *hot)
{
	static const char call[] = "CkDirect_put";
	/* relaxed: the scan has acquired this word already; a later value would be an error. */
	uint64_t seq = atomic_load_explicit(hot->poll.word, memory_order_relaxed);

	if (CSD_UNLIKELY(seq >> 40 != hot->poll.idle >> 40))
		direct_broken(pe, call, direct_id_of_channel(pe, hot),
			      "destroy a channel only when no put is on its way",
			      "a put through the handle of a destroyed channel came in");
	if (CSD_UNLIKELY(seq != hot->poll.idle + 1))
		direct_broken(pe, call, direct_id_of_channel(pe, hot),
			      "order CkDirect_ready before the sender's next put",
			      "%llu puts came before the first was consumed",
			      (unsigned long long)(seq - hot->poll.idle));
	hot->poll.idle = seq;
}

static void record_function(struct pe *pe, enum trace_kind kind, const struct direct_channel *ch,
			    uint64_t iteration)
{
	struct trace_record *r;

	if (!pe->trace || !pe->trace->on)
		return;
	r = csd_trace_next(pe->trace, kind, 0, -1);
	r->seq = (uint32_t)iteration;
	r->bytes = trace_bytes(ch->bytes);
	trace_set_value(r, ch->number);
	trace_done(pe->trace->file, r);
}

static void add_waited(struct pe_counts *c, const struct direct_node *dn, uint64_t since)
{
	const uint64_t now = cmi_ticks(c->counter), ticks = now > since ? now - since : 0;

	c->numbers[dn->count_waited] += ticks;
	if (ticks > c->numbers[dn->count_waited + 1])
		c->numbers[dn->count_waited + 1] = ticks;
}

/** Call the function, and count it and how its arrival was found: `hot` has when it was marked. */
static void call_counted(struct pe *pe, const struct direct_channel_hot *hot,
			 const struct direct_channel *ch)
{
	const struct direct_node *dn = direct_node_of(pe);
	struct pe_counts *c = pe->counts;
	struct count_run run;

	c->numbers[dn->count_found + (!hot->tell ? DIRECT_FOUND_POLLED : hot->own ? DIRECT_FOUND_HERE :
				      DIRECT_FOUND_BELL)]++;
	add_waited(c, dn, ch->marked_at);
	pe->node->count->begin(pe, &run, dn->count_row);
	ch->fn(ch->data);
	pe->node->count->end(pe, &run);
}

/** The function, in checked mode, with a trace, or counted. It may destroy the channel, and create
 * another one in the same record. What is the layer for devices' own is no function of the
 * program's. */
static __attribute__((noinline)) void call_closely(struct pe *pe,
						   const struct direct_channel_hot *hot)
{
	struct direct_channel *ch = direct_rest(hot);
	const struct direct_channel was = *ch;

	/* relaxed: direct_check_put uses it only to word an error. */
	if (pe->node->check)
		atomic_store_explicit(&ch->line->consumed, ch->iteration, memory_order_relaxed);
	if (hot->inner) {
		ch->fn(ch->data);
		return;
	}
	record_function(pe, TRACE_PUT_BEGIN, &was, was.iteration);
	if (pe->counts)
		call_counted(pe, hot, ch);
	else
		ch->fn(ch->data);
	record_function(pe, TRACE_PUT_END, &was, was.iteration);
}

static inline __attribute__((always_inline)) void run_function(struct pe *pe,
							      struct direct_channel_hot *hot, bool closely)
{
	struct direct_channel *ch = direct_rest(hot);

	if (hot->mode == DIRECT_SEQ)
		take_sequence(pe, hot);
	ch->iteration++;
	ch->fetched = 0;
	hot->state = CHANNEL_CONSUMED;
	hot->running = true;
	if (CSD_UNLIKELY(closely))
		call_closely(pe, hot);
	else
		ch->fn(ch->data);
	hot->running = false;
	pe->n_processed++;
	if (CSD_UNLIKELY(hot->state == CHANNEL_FREE))
		direct_channel_reuse(direct_of(pe), hot);
}

/* Forced inline: gcc considers a function that only prefetches to have no effect, and drops the
 * call before it would inline it. */
static inline __attribute__((always_inline)) void prefetch_rest(
	const struct direct_channel_hot *hot)
{
	__builtin_prefetch(hot, 1);
	__builtin_prefetch(direct_rest(hot), 1);
}

static inline __attribute__((always_inline)) void prefetch_data(
	const struct direct_channel_hot *hot)
{
	__builtin_prefetch(direct_rest(hot)->data);
}

/* The scan has seen only the end of the buffer. Its first lines are fetched while the function is
 * being called: a round trip of 100 bytes between processes took 0.86 to 0.94 of its time without
 * this (Intel Xeon, 11 and 9 runs in turn). Four lines instead of one: 0.90 of the time at 104
 * bytes, 0.92 at 200, 0.91 at 1000 (Intel Xeon, 8 runs in turn). */
static inline __attribute__((always_inline)) void prefetch_buffer(
	const struct direct_channel_hot *hot)
{
	const struct direct_channel *ch = direct_rest(hot);
	const size_t most = ch->bytes < PREFETCH_BYTES ? ch->bytes : PREFETCH_BYTES;

	for (size_t at = 0; at < most; at += CSD_CACHE_LINE)
		__builtin_prefetch(ch->buf + at);
}

static inline struct direct_channel_hot *rung_at(const struct direct_rung *r, uint32_t i)
{
	return r->item[i & r->mask];
}

static inline __attribute__((always_inline)) void fetch_next(const struct direct_rung *r,
								   uint32_t listed)
{
	const struct direct_channel_hot *next;

	if (listed > PREFETCH_REST)
		prefetch_rest(rung_at(r, r->head + PREFETCH_REST));
	next = rung_at(r, r->head + PREFETCH_DATA);
	prefetch_data(next);
	/* The bell fetched one line. Puts of 104 bytes in a stream between threads came at 1.14 of the
	 * rate without this, those of 200 to 10000 at 1.01 to 1.04 (Intel Xeon, 24 runs in turn). */
	if (!next->own && direct_rest(next)->bytes > CSD_CACHE_LINE)
		prefetch_buffer(next);
}

/** The channel was destroyed, or retired, while it waited in the list. */
static __attribute__((noinline, cold)) void leave_rung(struct pe *pe,
							struct direct_channel_hot *hot)
{
	hot->rung = false;
	if (hot->state == CHANNEL_FREE)
		direct_channel_reuse(direct_of(pe), hot);
}

/* Only those that are in the list now: additions by their functions wait for the next pass. */
int direct_run_rung(struct pe *pe)
{
	struct direct_rung *r = &direct_of(pe)->rung;
	const bool closely = pe->node->closely;
	uint32_t listed = r->tail - r->head;
	const uint32_t n = listed < DIRECT_ARRIVALS_MAX ? listed : DIRECT_ARRIVALS_MAX;

	for (uint32_t left = n; left; left--, listed--) {
		struct direct_channel_hot *hot = rung_at(r, r->head);

		if (listed > PREFETCH_DATA)
			fetch_next(r, listed);
		r->head++;
		if (CSD_LIKELY(hot->state == CHANNEL_FIRED))
			run_function(pe, hot, closely);
		else
			leave_rung(pe, hot);
	}
	return (int)n;
}

/* Nothing has arrived, and there is nothing else to do: prefetch the arrived bytes of large
 * puts. */
static __attribute__((noinline)) void fetch_ahead(const struct pollset *set)
{
	for (uint32_t i = 0; i < set->n; i++) {
		struct direct_channel *ch = direct_rest((struct direct_channel_hot *)set->item[i]);

		if (ch->bytes >= CMI_COPY_MIN)
			cmi_fetch_told(ch->buf, &ch->fetched, &ch->line->written, ch->iteration + 1);
	}
}

int direct_run_polled(struct pe *pe)
{
	struct direct_pe *d = direct_of(pe);
	struct poll_item *fired[DIRECT_ARRIVALS_MAX];
	uint32_t n = pollset_scan(&d->set, fired, DIRECT_ARRIVALS_MAX);

	if (CSD_LIKELY(!n)) {
		if (d->n_large && pe->idle.polls && d->set.n <= AHEAD_MAX)
			fetch_ahead(&d->set);
		return 0;
	}
	for (uint32_t i = 0; i < n && i < PREFETCH_DATA; i++)
		prefetch_buffer((struct direct_channel_hot *)fired[i]);
	direct_count_armed(pe);
	for (uint32_t i = 0; i < n; i++)
		((struct direct_channel_hot *)fired[i])->state = CHANNEL_FOUND;
	for (uint32_t i = 0; i < n; i++) {
		struct direct_channel_hot *hot = (struct direct_channel_hot *)fired[i];

		if (i + PREFETCH_REST < n)
			prefetch_rest((struct direct_channel_hot *)fired[i + PREFETCH_REST]);
		if (i + PREFETCH_DATA < n)
			prefetch_data((struct direct_channel_hot *)fired[i + PREFETCH_DATA]);
		/* An earlier function of this pass may have destroyed it, and even created
		 * another channel in the same record. */
		if (CSD_LIKELY(hot->state == CHANNEL_FOUND))
			run_function(pe, hot, pe->node->closely);
	}
	return (int)n;
}

/** The number of bytes of a put besides the word. */
static size_t body_bytes(const struct direct_channel_hot *hot)
{
	return direct_rest(hot)->bytes - (hot->mode == DIRECT_PATTERN ? 8 : 0);
}

static struct direct_id id_of_put(const struct pe *pe, int src_pe, const struct cmi_put_head *h,
				  const struct direct_channel_hot *hot)
{
	return (struct direct_id){ h->channel, pe->id, src_pe, h->iteration,
				   hot ? direct_owner(pe, hot) : NULL };
}

void direct_put_piece(struct pe *pe, int src_pe, const struct cmi_put_head *h, size_t at,
		      const void *piece, size_t bytes)
{
	static const char call[] = "CkDirect_put";
	struct direct_channel_hot *hot = direct_channel_find(pe, h->channel, h->generation);
	struct direct_id id = id_of_put(pe, src_pe, h, hot);
	struct direct_channel *ch;

	if (CSD_UNLIKELY(!hot))
		direct_unexpected(pe, id, NULL);
	ch = direct_rest(hot);
	if (CSD_UNLIKELY(at > body_bytes(hot) || bytes > body_bytes(hot) - at))
		direct_broken(pe, call, id, "do not change a handle",
			      "%zu bytes came, the channel has %zu", at + bytes, ch->bytes);
	if (CSD_UNLIKELY(pe->node->check && at == 0))
		direct_check_put(pe, call, id, ch->line, h->generation, ch->buf, ch->bytes);
	memcpy(ch->buf + at, piece, bytes);
}

void direct_put_arrived(struct pe *pe, int src_pe, const struct cmi_put_head *h,
			const void *body, size_t bytes)
{
	static const char call[] = "CkDirect_put";
	struct direct_channel_hot *hot = direct_channel_find(pe, h->channel, h->generation);
	struct direct_channel *ch;
	struct direct_id id = id_of_put(pe, src_pe, h, hot);
	const bool in_pieces = bytes && !body;

	if (CSD_UNLIKELY(!hot))
		direct_unexpected(pe, id, NULL);
	ch = direct_rest(hot);
	if (CSD_UNLIKELY(bytes != body_bytes(hot)))
		direct_broken(pe, call, id, "do not change a handle",
			      "%zu bytes came, the channel has %zu", bytes, ch->bytes);
	/* In pieces, only the first one was checked; the others see a changed buffer. */
	if (CSD_UNLIKELY(pe->node->check && !in_pieces))
		direct_check_put(pe, call, id, ch->line, h->generation, ch->buf, ch->bytes);
	if (bytes && !in_pieces)
		memcpy(ch->buf, body, bytes);
	/* relaxed: this same thread reads it. */
	atomic_store_explicit(direct_arrival_word(hot), h->word, memory_order_relaxed);
	direct_make_own(pe, hot);
	/* A correct program's ready came before the put. It ran on this thread, so we see it. */
	if (CSD_UNLIKELY(!direct_landed(direct_of(pe), hot)))
		direct_unexpected(pe, id, hot);
}

/* ---- control messages -------------------------------------------------------------- */

void direct_bound_arrived(struct pe *pe, const struct direct_control_msg *c)
{
	struct direct_channel_hot *hot = direct_channel_find(pe, c->channel, c->generation);

	if (!hot)
		return; /* destroyed meanwhile, which the receiver may do */
	direct_claim(pe, direct_id_of_channel(pe, hot), direct_rest(hot)->line, c->head.src_pe);
	if (hot->mode == DIRECT_COUNTED)
		return; /* it is polled in any case */
	if (c->path == DIRECT_RMA)
		direct_make_rma(pe, hot);
	else
		direct_make_own(pe, hot);
}

void direct_ask_arrived(struct pe *pe, const struct direct_control_msg *c)
{
	static const char call[] = "CkDirect_put";
	const struct direct_channel_hot *hot = direct_channel_find(pe, c->channel, c->generation);
	const struct direct_channel *ch;
	struct direct_id id = { c->channel, pe->id, c->head.src_pe, c->iteration,
				hot ? direct_owner(pe, hot) : NULL };
	struct direct_control_msg answer = *c;

	if (!hot)
		direct_broken(pe, call, id, "let the receiver tell the sender before it destroys",
			      "the receiver has destroyed this channel");
	ch = direct_rest(hot);
	direct_check_put(pe, call, id, ch->line, c->generation, ch->buf, ch->bytes);
	answer.kind = DIRECT_GO;
	direct_send_control(pe, c->head.src_pe, &answer);
}
