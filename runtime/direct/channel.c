/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.c: the receiving end: create, arm, arrive, destroy.
 *
 * A channel is in exactly one state (enum channel_state). It leaves the poll set before its
 * function is called, so the function may do anything to any channel of this PE; whoever runs
 * functions for a list of channels must look at each one's state again when its turn comes.
 */
#include "direct_int.h"

#include <stdlib.h>
#include <string.h>

/* ---- records ----------------------------------------------------------------------- */

/** Control lines for numbers [n_channels, n_channels + DIRECT_LINE_BLOCK). */
static void grow_lines(struct pe *pe, struct direct_pe *d)
{
	struct cmi *m = pe->node->machine;
	size_t bytes = DIRECT_LINE_BLOCK * sizeof(struct direct_line);
	struct direct_line_block *b;

	b = realloc(d->line_blocks, (d->n_line_blocks + 1) * sizeof(*b));
	if (!b)
		csd_abort(pe, "CkDirect_createHandle: no memory for channels");
	d->line_blocks = b;
	b += d->n_line_blocks;
	b->lines = cmi_mem_alloc(m, bytes);
	if (!b->lines)
		csd_abort(pe, "CkDirect_createHandle: no shared memory for %u channels",
			  d->n_channels + 1);
	cmi_mem_key(m, b->lines, bytes, &b->key);
	d->n_line_blocks++;
}

static struct direct_channel *new_record(struct pe *pe, struct direct_pe *d)
{
	struct direct_channel *ch = calloc(1, sizeof(*ch));

	if (d->n_channels == d->cap_channels) {
		uint32_t cap = d->cap_channels ? 2 * d->cap_channels : DIRECT_LINE_BLOCK;
		void *p = realloc(d->channels, cap * sizeof(struct direct_channel *));

		if (!p)
			csd_abort(pe, "CkDirect_createHandle: no memory for channels");
		d->channels = p;
		d->cap_channels = cap;
	}
	/* Reserved here, so that ready never allocates. */
	if (!ch || !pollset_reserve(&d->set, d->n_channels + 1))
		csd_abort(pe, "CkDirect_createHandle: no memory for channels");
	if (d->n_channels / DIRECT_LINE_BLOCK == d->n_line_blocks)
		grow_lines(pe, d);
	ch->number = d->n_channels++;
	ch->generation = 1;
	ch->line = &d->line_blocks[ch->number / DIRECT_LINE_BLOCK]
			    .lines[ch->number % DIRECT_LINE_BLOCK];
	d->channels[ch->number] = ch;
	return ch;
}

static struct direct_channel *take_record(struct pe *pe, struct direct_pe *d)
{
	struct direct_channel *ch = d->free_channels;

	if (!ch)
		return new_record(pe, d);
	d->free_channels = ch->next;
	return ch;
}

/** Unless something still points to it: then whoever lets go of it last calls again. */
static void free_record(struct direct_pe *d, struct direct_channel *ch)
{
	if (ch->running || ch->rung)
		return;
	ch->next = d->free_channels;
	d->free_channels = ch;
}

/* ---- arming ------------------------------------------------------------------------ */

static _Atomic uint64_t *last_word(const struct direct_channel *ch)
{
	return (_Atomic uint64_t *)(void *)(ch->buf + ch->bytes - 8);
}

/** Where arrival is told. The poll item's own pointer is const: a scan only reads. */
static _Atomic uint64_t *arrival_word(const struct direct_channel *ch)
{
	return ch->mode == DIRECT_SEQ ? &ch->line->seq : last_word(ch);
}

/** Checked mode: publish the mark and what the buffer holds now. */
static __attribute__((noinline)) void publish_mark(struct direct_channel *ch)
{
	/* relaxed, then release: whoever sees the mark (direct_check_put) sees its checksum. */
	atomic_store_explicit(&ch->line->checksum, direct_checksum(ch->buf, ch->bytes),
			      memory_order_relaxed);
	atomic_store_explicit(&ch->line->marks, ch->marks, memory_order_release);
}

/** The buffer is the sender's from now on. */
static inline void mark(struct pe *pe, struct direct_channel *ch)
{
	/* relaxed: the sender's next put comes after some message that this PE sends later, and
	 * that message orders the store before it. */
	if (ch->mode == DIRECT_PATTERN)
		atomic_store_explicit(last_word(ch), ch->poll.idle, memory_order_relaxed);
	ch->marks++;
	ch->state = CHANNEL_MARKED;
	if (CSD_UNLIKELY(pe->node->check))
		publish_mark(ch);
}

/** It has arrived: its function runs in this pass or the next. */
static void ring(struct direct_pe *d, struct direct_channel *ch)
{
	ch->state = CHANNEL_FIRED;
	ch->rung = true;
	ch->next = NULL;
	*d->rung_tail = ch;
	d->rung_tail = &ch->next;
}

static inline void watch(struct pe *pe, struct direct_channel *ch)
{
	if (ch->here) {
		ch->state = CHANNEL_ARMED;
		/* relaxed: this PE itself has put. */
		if (atomic_load_explicit(ch->poll.word, memory_order_relaxed) != ch->poll.idle)
			ring(pe->direct, ch);
		return;
	}
	pollset_add(&pe->direct->set, &ch->poll);
	ch->state = CHANNEL_ARMED;
	pe->armed = pe->direct->set.n;
}

/** Checked mode ends the job; otherwise arming twice does nothing, because writing the idle
 * pattern again could wipe out data that has just arrived. */
static __attribute__((noinline)) void armed_already(struct pe *pe, const char *call,
						    const struct direct_channel *ch)
{
	if (pe->node->check)
		direct_broken(pe, call, direct_id_of_channel(pe, ch),
			      "call it once after each arrival",
			      "ready while the channel is armed");
}

/** Sequence mode: nobody has put since the last arrival. */
static inline void check_not_overrun(struct pe *pe, const char *call,
				     const struct direct_channel *ch)
{
	/* relaxed: only the value counts, nothing is read on the strength of it. */
	uint64_t seq = atomic_load_explicit(&ch->line->seq, memory_order_relaxed);

	if (CSD_UNLIKELY(seq != ch->poll.idle))
		direct_broken(pe, call, direct_id_of_channel(pe, ch),
			      "order CkDirect_ready before the sender's next put",
			      "a put came before the last one was consumed");
}

static inline bool try_mark(struct pe *pe, const char *call, struct direct_channel *ch)
{
	if (CSD_UNLIKELY(ch->state != CHANNEL_CONSUMED)) {
		armed_already(pe, call, ch);
		return false;
	}
	if (ch->mode == DIRECT_SEQ)
		check_not_overrun(pe, call, ch);
	mark(pe, ch);
	return true;
}

void CkDirect_readyMark(CkDirectHandle *h)
{
	static const char call[] = "CkDirect_readyMark";
	struct pe *pe = direct_self(call);

	try_mark(pe, call, direct_receiver(pe, call, direct_open(h)));
}

void CkDirect_readyPollQ(CkDirectHandle *h)
{
	static const char call[] = "CkDirect_readyPollQ";
	struct pe *pe = direct_self(call);
	struct direct_channel *ch = direct_receiver(pe, call, direct_open(h));

	if (CSD_UNLIKELY(ch->state == CHANNEL_CONSUMED))
		direct_broken(pe, call, direct_id_of_channel(pe, ch),
			      "call CkDirect_readyMark first, or CkDirect_ready for both",
			      "the channel was not marked ready since its last arrival");
	if (CSD_LIKELY(ch->state == CHANNEL_MARKED))
		watch(pe, ch);
	else
		armed_already(pe, call, ch);
}

void CkDirect_ready(CkDirectHandle *h)
{
	static const char call[] = "CkDirect_ready";
	struct pe *pe = direct_self(call);
	struct direct_channel *ch = direct_receiver(pe, call, direct_open(h));

	if (CSD_LIKELY(try_mark(pe, call, ch)) || ch->state == CHANNEL_MARKED)
		watch(pe, ch);
}

/* ---- creation ---------------------------------------------------------------------- */

static void check_shape(struct pe *pe, const char *call, const void *buf, size_t bytes,
			CkDirectFn fn, enum direct_mode mode)
{
	uintptr_t end = (uintptr_t)buf + bytes;

	if (!buf || !fn)
		csd_abort(pe, "%s: %s is NULL; a channel needs a receive buffer and a function",
			  call, buf ? "the arrival function" : "the receive buffer");
	if (mode == DIRECT_SEQ) {
		if (!bytes)
			csd_abort(pe, "%s: 0 bytes; a channel moves at least one", call);
		return;
	}
	if (bytes < 8)
		csd_abort(pe, "%s: %zu bytes, but the last 8 tell the arrival; "
			  "use at least 8, or CkDirect_createHandleSeq", call, bytes);
	if (end % 8)
		csd_abort(pe, "%s: the end of the receive buffer (%p + %zu) is not 8-aligned; "
			  "move the buffer, or use CkDirect_createHandleSeq", call, buf, bytes);
}

static void set_up(struct pe *pe, struct direct_channel *ch)
{
	ch->iteration = 0;
	ch->marks = 0;
	ch->here = false;
	ch->poll.slot = POLLSET_OUT;
	ch->poll.word = arrival_word(ch);
	/* relaxed: the handle travels to the sender in a message, which orders all of these
	 * before anything that the sender does. */
	atomic_store_explicit(&ch->line->generation, ch->generation, memory_order_relaxed);
	atomic_store_explicit(&ch->line->consumed, 0, memory_order_relaxed);
	atomic_store_explicit(&ch->line->binder, 0, memory_order_relaxed);
	if (ch->mode == DIRECT_SEQ) {
		ch->poll.idle = direct_seq(ch->generation, 0);
		atomic_store_explicit(&ch->line->seq, ch->poll.idle, memory_order_relaxed);
	}
	mark(pe, ch);
	watch(pe, ch);
}

static CkDirectHandle handle_of(struct pe *pe, const struct direct_channel *ch)
{
	CkDirectHandle handle = {{0}};
	struct direct_handle *h = direct_open(&handle);

	h->magic = DIRECT_MAGIC;
	h->receiver = pe->id;
	h->channel = ch->number;
	h->generation = ch->generation;
	h->bytes = ch->bytes;
	h->oob = ch->poll.idle;
	h->mode = ch->mode;
	h->recv_addr = (uintptr_t)ch->buf;
	h->line_addr = (uintptr_t)ch->line;
	if (pe->node->job->n_nodes > 1) {
		cmi_mem_key(pe->node->machine, ch->buf, ch->bytes, &h->recv_key);
		if (ch->mode == DIRECT_SEQ || pe->node->check)
			h->line_key = pe->direct->line_blocks[ch->number / DIRECT_LINE_BLOCK].key;
	}
	return handle;
}

static struct direct_channel *create(struct pe *pe, const char *call, void *buf, size_t bytes,
				     CkDirectFn fn, enum direct_mode mode, uint64_t oob)
{
	struct direct_channel *ch;

	check_shape(pe, call, buf, bytes, fn, mode);
	ch = take_record(pe, pe->direct);
	ch->buf = buf;
	ch->bytes = bytes;
	ch->fn = fn;
	ch->mode = (uint8_t)mode;
	ch->poll.idle = oob;
	set_up(pe, ch);
	return ch;
}

CkDirectHandle CkDirect_createHandle(void *recv_buf, size_t bytes, uint64_t oob, CkDirectFn fn,
				     void *data)
{
	static const char call[] = "CkDirect_createHandle";
	struct pe *pe = direct_self(call);
	struct direct_channel *ch = create(pe, call, recv_buf, bytes, fn, DIRECT_PATTERN, oob);

	ch->data = data;
	return handle_of(pe, ch);
}

CkDirectHandle CkDirect_createHandleData(void *recv_buf, size_t bytes, uint64_t oob,
					 CkDirectFn fn, const void *data, size_t data_bytes)
{
	static const char call[] = "CkDirect_createHandleData";
	struct pe *pe = direct_self(call);
	struct direct_channel *ch;

	if (data_bytes > DIRECT_DATA_MAX)
		csd_abort(pe, "%s: %zu bytes of data for the function; at most %d, "
			  "pass a pointer instead", call, data_bytes, DIRECT_DATA_MAX);
	ch = create(pe, call, recv_buf, bytes, fn, DIRECT_PATTERN, oob);
	if (data_bytes)
		memcpy(ch->copy, data, data_bytes);
	ch->data = ch->copy;
	return handle_of(pe, ch);
}

CkDirectHandle CkDirect_createHandleSeq(void *recv_buf, size_t bytes, CkDirectFn fn, void *data)
{
	static const char call[] = "CkDirect_createHandleSeq";
	struct pe *pe = direct_self(call);
	struct direct_channel *ch = create(pe, call, recv_buf, bytes, fn, DIRECT_SEQ, 0);

	ch->data = data;
	return handle_of(pe, ch);
}

/* ---- arrival ----------------------------------------------------------------------- */

/** Sequence mode: the put that has come must be the next one, of this channel. */
static inline void take_sequence(struct pe *pe, struct direct_channel *ch)
{
	static const char call[] = "CkDirect_put";
	/* relaxed: the scan has acquired this word already; a later value would be an error. */
	uint64_t seq = atomic_load_explicit(&ch->line->seq, memory_order_relaxed);

	if (CSD_UNLIKELY(seq >> 40 != ch->poll.idle >> 40))
		direct_broken(pe, call, direct_id_of_channel(pe, ch),
			      "destroy a channel only when no put is on its way",
			      "a put through the handle of a destroyed channel came in");
	if (CSD_UNLIKELY(seq != ch->poll.idle + 1))
		direct_broken(pe, call, direct_id_of_channel(pe, ch),
			      "order CkDirect_ready before the sender's next put",
			      "%llu puts came before the first was consumed",
			      (unsigned long long)(seq - ch->poll.idle));
	ch->poll.idle = seq;
}

static inline void run_function(struct pe *pe, struct direct_channel *ch)
{
	if (ch->mode == DIRECT_SEQ)
		take_sequence(pe, ch);
	ch->iteration++;
	/* relaxed: a hint for the wording of an error, see direct_check_put. */
	if (pe->node->check)
		atomic_store_explicit(&ch->line->consumed, ch->iteration, memory_order_relaxed);
	ch->state = CHANNEL_CONSUMED;
	ch->running = true;
	ch->fn(ch->data);
	ch->running = false;
	pe->n_processed++;
	if (ch->state == CHANNEL_FREE)
		free_record(pe->direct, ch);
}

void direct_bound_here(struct pe *pe, struct direct_channel *ch)
{
	bool armed = ch->state == CHANNEL_ARMED;

	if (armed)
		pollset_remove(&pe->direct->set, &ch->poll);
	ch->here = true;
	if (armed)
		watch(pe, ch);
	pe->armed = pe->direct->set.n;
}

void direct_landed_here(struct direct_sender *s)
{
	/* Marked only: readyPollQ will look. Of another generation: nobody's any more. */
	if (s->here->state == CHANNEL_ARMED && s->here->generation == s->channel_generation)
		ring(s->pe->direct, s->here);
}

/** Those that are in the list now, at most DIRECT_ARRIVALS_MAX. */
static int run_rung(struct pe *pe)
{
	struct direct_pe *d = pe->direct;
	struct direct_channel **end = d->rung_tail;
	int n = 0;
	bool last = !d->rung;

	while (!last && n < DIRECT_ARRIVALS_MAX) {
		struct direct_channel *ch = d->rung;

		last = &ch->next == end;
		d->rung = ch->next;
		if (!d->rung)
			d->rung_tail = &d->rung;
		ch->rung = false;
		n++;
		if (ch->state == CHANNEL_FIRED)
			run_function(pe, ch);
		else
			free_record(d, ch); /* destroyed while it waited here */
	}
	return n;
}

static int run_polled(struct pe *pe)
{
	struct poll_item *fired[DIRECT_ARRIVALS_MAX];
	uint32_t n = pollset_scan(&pe->direct->set, fired, DIRECT_ARRIVALS_MAX);

	if (!n)
		return 0;
	pe->armed = pe->direct->set.n;
	for (uint32_t i = 0; i < n; i++)
		((struct direct_channel *)fired[i])->state = CHANNEL_FIRED;
	for (uint32_t i = 0; i < n; i++) {
		struct direct_channel *ch = (struct direct_channel *)fired[i];

		/* An earlier function of this pass may have destroyed it, and even created
		 * another channel in the same record. */
		if (ch->state == CHANNEL_FIRED)
			run_function(pe, ch);
	}
	return (int)n;
}

int direct_run_arrivals(struct pe *pe)
{
	return run_rung(pe) + (pe->direct->set.n ? run_polled(pe) : 0);
}

void direct_put_arrived(struct pe *pe, int src_pe, const struct cmi_put_head *h,
			const void *body, size_t bytes)
{
	static const char call[] = "CkDirect_put";
	struct direct_channel *ch = direct_channel_find(pe, h->channel, h->generation);
	struct direct_id id = {h->channel, pe->id, src_pe, h->iteration};

	if (CSD_UNLIKELY(!ch))
		direct_broken(pe, call, id, "destroy a channel only when no put is on its way",
			      "the receiver has destroyed this channel");
	if (CSD_UNLIKELY(bytes != ch->bytes - (ch->mode == DIRECT_PATTERN ? 8 : 0)))
		direct_broken(pe, call, id, "do not change a handle",
			      "%zu bytes came, the channel has %zu", bytes, ch->bytes);
	if (CSD_UNLIKELY(pe->node->check))
		direct_check_put(pe, call, id, ch->line, h->generation, ch->buf, ch->bytes);
	if (bytes)
		memcpy(ch->buf, body, bytes);
	/* release: this same thread scans the word, so any order would do here; the store is
	 * written as on the other paths, body first. */
	atomic_store_explicit(arrival_word(ch), h->word, memory_order_release);
}

/* ---- the end ----------------------------------------------------------------------- */

/** A put that nobody will see any more must still be counted as handled, or quiescence would
 * wait for it. */
static bool unseen_put(const struct direct_channel *ch)
{
	/* relaxed: the data is not looked at. */
	return ch->state != CHANNEL_CONSUMED &&
	       atomic_load_explicit(ch->poll.word, memory_order_relaxed) != ch->poll.idle;
}

void direct_channel_destroy(struct pe *pe, const struct direct_handle *h)
{
	struct direct_channel *ch = direct_receiver(pe, "CkDirect_destroyHandle", h);

	if (ch->state == CHANNEL_ARMED && !ch->here)
		pollset_remove(&pe->direct->set, &ch->poll);
	pe->armed = pe->direct->set.n;
	if (unseen_put(ch))
		pe->n_processed++;
	ch->generation++;
	ch->state = CHANNEL_FREE;
	/* relaxed: a sender that reads it has no right to put any more; seeing it late only
	 * makes the check miss, as without checked mode. */
	atomic_store_explicit(&ch->line->generation, ch->generation, memory_order_relaxed);
	free_record(pe->direct, ch);
}
