/* SPDX-License-Identifier: Apache-2.0 */
/* channel.c: the receiving end: create, arm, destroy. Arrivals are in arrival.c. */
#include "channel.h"
#include "set.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

/* ---- records ----------------------------------------------------------------------- */

/** Make space for one entry per channel, so that a put never allocates. */
static void reserve_rung(struct direct_rung *r, uint32_t n)
{
	struct direct_channel_hot **item;
	uint32_t cap = r->item ? r->mask + 1 : DIRECT_BLOCK;

	if (r->item && n <= cap)
		return;
	while (cap < n)
		cap *= 2;
	item = cmi_alloc(cap * sizeof(struct direct_channel_hot *), "channels");
	/* The same counters name the same entries under the new mask. */
	for (uint32_t i = r->head; i != r->tail; i++)
		item[i & (cap - 1)] = r->item[i & r->mask];
	free(r->item);
	r->item = item;
	r->mask = cap - 1;
}

/** Make space for all that may be polled when there are `n` channels, so that ready never
 * allocates. */
static void reserve_set(struct direct_pe *d, uint32_t n)
{
	pollset_reserve(&d->set, (n < d->poll_max ? n : d->poll_max) + d->n_rma);
}

/** Add records for numbers [n_channels, n_channels + DIRECT_BLOCK). */
static void add_block(struct pe *pe, struct direct_pe *d)
{
	struct cmi *m = pe->node->machine;
	uint32_t i = d->n_channels / DIRECT_BLOCK;
	size_t bytes = sizeof(struct direct_shared);
	struct direct_channel_block *b =
		cmi_alloc_aligned(_Alignof(struct direct_channel_block), sizeof(*b), "channels");
	struct direct_channel_block **blocks =
		cmi_realloc(d->channel_blocks, i + 1, sizeof(*blocks), "channels");

	reserve_set(d, d->n_channels + DIRECT_BLOCK);
	reserve_rung(&d->rung, d->n_channels + DIRECT_BLOCK);
	b->shared = cmi_must_have(cmi_mem_alloc(m, bytes), bytes, "channels");
	cmi_mem_key(m, b->shared, bytes, &b->line_key);
	d->channel_blocks = blocks;
	blocks[i] = b;
}

static struct direct_channel_hot *new_channel(struct pe *pe, struct direct_pe *d)
{
	uint32_t place = d->n_channels % DIRECT_BLOCK;
	struct direct_channel_block *b;

	if (place == 0)
		add_block(pe, d);
	b = d->channel_blocks[d->n_channels / DIRECT_BLOCK];
	b->hot[place].generation = 1;
	b->rest[place].number = d->n_channels++;
	b->rest[place].line = &b->shared->line[place];
	return &b->hot[place];
}

static struct direct_channel_hot *take_channel(struct pe *pe, struct direct_pe *d)
{
	struct direct_channel *ch = d->free_channels;

	if (!ch)
		return new_channel(pe, d);
	d->free_channels = ch->next;
	return direct_channel_at(d, ch->number);
}

void direct_channel_reuse(struct direct_pe *d, const struct direct_channel_hot *hot)
{
	struct direct_channel *ch = direct_rest(hot);

	if (hot->running || hot->rung)
		return;
	ch->next = d->free_channels;
	d->free_channels = ch;
}

void direct_channels_free(struct node *node, struct direct_pe *d)
{
	for (uint32_t i = 0; i < d->n_channels; i += DIRECT_BLOCK) {
		cmi_mem_free(node->machine, d->channel_blocks[i / DIRECT_BLOCK]->shared);
		free(d->channel_blocks[i / DIRECT_BLOCK]);
	}
	free(d->channel_blocks);
	free(d->rung.item);
}

const void *direct_owner(const struct pe *pe, const struct direct_channel_hot *hot)
{
	const void *data = hot->named ? direct_rest(hot)->data : NULL;

	return data && hot->mode == DIRECT_COUNTED ? direct_node_of(pe)->device->owner(data) : data;
}

struct direct_id direct_id_of_channel(const struct pe *pe, const struct direct_channel_hot *hot)
{
	const struct direct_channel *ch = direct_rest(hot);

	return (struct direct_id){
		.channel = ch->number,
		.receiver = pe->id,
		/* relaxed: a name in a message; the same in direct_claim. */
		.sender = (int32_t)atomic_load_explicit(&ch->line->binder,
							memory_order_relaxed) - 1,
		/* The put that is awaited, or the last one when none is. */
		.iteration = direct_marks(hot),
		.owner = direct_owner(pe, hot),
	};
}

void direct_unexpected(struct pe *pe, struct direct_id id, const struct direct_channel_hot *hot)
{
	static const char call[] = "CkDirect_put";

	if (!hot)
		direct_broken(pe, call, id, "let the receiver tell the sender before it destroys",
			      "the receiver has destroyed this channel");
	if (hot->state == CHANNEL_CONSUMED)
		direct_broken(pe, call, id, "order CkDirect_ready before the sender's next put",
			      "a put came before the receiver said ready");
	direct_broken(pe, call, id, "wait until the receiver has had the last one",
		      "a put came before the last one was consumed");
}

/* ---- arming ------------------------------------------------------------------------ */

/** Checked mode: publish the mark and the buffer's checksum. */
static void publish_mark(const struct direct_channel_hot *hot)
{
	const struct direct_channel *ch = direct_rest(hot);

	/* relaxed, then release: pairs with the acquire in direct_check_put, which sees the checksum
	 * of every mark that it sees. */
	atomic_store_explicit(&ch->line->checksum,
			      hot->mode == DIRECT_COUNTED ? 0 : direct_checksum(ch->buf, ch->bytes),
			      memory_order_relaxed);
	atomic_store_explicit(&ch->line->marks, direct_marks(hot), memory_order_release);
	/* release: the sender's stream waits for it and then overwrites what this PE has read. */
	if (hot->mode == DIRECT_COUNTED && !hot->streamed)
		atomic_store_explicit(&ch->line->credit, direct_seq(hot->generation, direct_marks(hot)),
				      memory_order_release);
}

/** In checked mode, or where waiting times are counted. */
static __attribute__((noinline, cold)) void mark_closely(struct pe *pe,
							 const struct direct_channel_hot *hot)
{
	if (pe->node->check)
		publish_mark(hot);
	if (pe->counts)
		direct_rest(hot)->marked_at = cmi_ticks(pe->counts->counter);
}

/** Tell the sender whether it must ring. */
static __attribute__((noinline)) void set_tell(struct direct_channel_hot *hot, bool tell)
{
	struct direct_channel_block *b = direct_block(hot);

	hot->tell = tell;
	/* relaxed: the program tells the sender of this ready before the sender puts again, and
	 * thereby orders the store before the load in the put: see struct direct_shared.
	 * Model: channel.pml, set_tell */
	atomic_store_explicit(&b->shared->tell[hot - b->hot], tell, memory_order_relaxed);
}

/** Whether the sender must ring for its next put into `hot`. Few channels are polled instead,
 * because a scan finds the end of the data itself, while a bell's slot is one more line to fetch:
 * see DIRECT_POLL_MAX. */
static inline bool must_tell(const struct direct_pe *d, const struct direct_channel_hot *hot)
{
	return hot->own || (d->n_open > d->poll_max && !hot->rma);
}

/** The value that a scan must find until the put has arrived. */
static inline void write_idle(const struct direct_channel_hot *hot)
{
	/* relaxed: ordered before the put in the same way as the flag (set_tell). The network begins its
	 * put after the message that orders it, as any sender does. Model: channel.pml, write_idle */
	if (hot->mode == DIRECT_PATTERN)
		atomic_store_explicit(direct_arrival_word(hot), hot->poll.idle, memory_order_relaxed);
}

/** From now on the sender must ring, if it can: until it has, the network may be the sender
 * (direct_make_rma), whose put only the word signals. Model: channel.pml, begin_telling */
static __attribute__((noinline)) void begin_telling(struct direct_channel_hot *hot)
{
	write_idle(hot);
	set_tell(hot, true);
}

/** The buffer is the sender's from now on. */
static inline void mark(struct pe *pe, struct direct_channel_hot *hot, bool tell)
{
	if (tell) {
		if (CSD_UNLIKELY(!hot->tell))
			begin_telling(hot);
	} else {
		if (CSD_UNLIKELY(hot->tell))
			set_tell(hot, false);
		write_idle(hot);
	}
	hot->state = CHANNEL_MARKED;
	if (CSD_UNLIKELY(pe->node->closely))
		mark_closely(pe, hot);
}

/** An arrival runs the function from now on. */
static inline void watch(struct pe *pe, struct direct_channel_hot *hot)
{
	struct direct_pe *d = direct_of(pe);

	hot->state = CHANNEL_ARMED;
	if (hot->landed) {
		hot->landed = false;
		direct_ring(d, hot);
	} else if (!hot->tell) {
		pollset_add(&d->set, &hot->poll);
		pe->armed++;
	} else if (!hot->own) {
		d->n_bell++;
		pe->armed++;
	}
}

/** Checked mode ends the job. Otherwise arming twice does nothing: if it wrote the idle pattern
 * again, it could wipe out data that has just arrived. */
static __attribute__((noinline, cold)) void armed_already(struct pe *pe, const char *call,
							  const struct direct_channel_hot *hot)
{
	if (pe->node->check)
		direct_broken(pe, call, direct_id_of_channel(pe, hot),
			      "call it once after each arrival",
			      "ready while the channel is armed");
}

/** Sequence mode: there was no put since the last arrival. */
static inline void check_not_overrun(struct pe *pe, const char *call,
				     const struct direct_channel_hot *hot)
{
	/* relaxed: only the value counts, and no data depends on it. */
	uint64_t seq = atomic_load_explicit(hot->poll.word, memory_order_relaxed);

	if (CSD_UNLIKELY(seq != hot->poll.idle))
		direct_broken(pe, call, direct_id_of_channel(pe, hot),
			      "order CkDirect_ready before the sender's next put",
			      "a put came before the last one was consumed");
}

static inline bool try_mark(struct pe *pe, const char *call, struct direct_channel_hot *hot)
{
	if (CSD_UNLIKELY(hot->state != CHANNEL_CONSUMED)) {
		armed_already(pe, call, hot);
		return false;
	}
	if (hot->mode == DIRECT_SEQ)
		check_not_overrun(pe, call, hot);
	if (CSD_UNLIKELY(pe->node->check))
		direct_set_check_ready(pe, call, hot);
	mark(pe, hot, must_tell(direct_of(pe), hot));
	return true;
}

void direct_channel_mark(struct pe *pe, const char *call, struct direct_channel_hot *hot)
{
	try_mark(pe, call, hot);
}

void CkDirect_readyMark(CkDirectHandle *h)
{
	static const char call[] = "CkDirect_readyMark";
	struct pe *pe = direct_self(call);

	try_mark(pe, call, direct_receiver(pe, call, direct_open(h)));
}

void direct_channel_poll(struct pe *pe, const char *call, struct direct_channel_hot *hot)
{
	if (CSD_UNLIKELY(hot->state == CHANNEL_CONSUMED))
		direct_broken(pe, call, direct_id_of_channel(pe, hot),
			      "call CkDirect_readyMark first, or CkDirect_ready for both",
			      "the channel was not marked ready since its last arrival");
	if (CSD_LIKELY(hot->state == CHANNEL_MARKED))
		watch(pe, hot);
	else
		armed_already(pe, call, hot);
}

void CkDirect_readyPollQ(CkDirectHandle *h)
{
	static const char call[] = "CkDirect_readyPollQ";
	struct pe *pe = direct_self(call);

	direct_channel_poll(pe, call, direct_receiver(pe, call, direct_open(h)));
}

__attribute__((noinline)) void direct_channel_ready(struct pe *pe, const char *call,
						    struct direct_channel_hot *hot)
{
	if (CSD_LIKELY(try_mark(pe, call, hot)) || hot->state == CHANNEL_MARKED)
		watch(pe, hot);
}

/** No PE runs, or the handle names no receiving end of this one: end the job. It is not declared to
 * do so, so gcc jumps to it, and CkDirect_ready needs no stack. */
static __attribute__((noinline, cold)) void ready_of_none(const struct direct_handle *h)
{
	static const char call[] = "CkDirect_ready";

	direct_receiver(direct_self(call), call, h);
}

void CkDirect_ready(CkDirectHandle *handle)
{
	const struct direct_handle *h = direct_open(handle);
	struct pe *pe = csd_self();
	struct direct_channel_hot *hot = CSD_LIKELY(pe != NULL) ? direct_find_receiver(pe, h) : NULL;

	/* Only this thread stores the word, and only into a channel that it has marked. */
	if (CSD_UNLIKELY(!hot))
		ready_of_none(h);
	else if (hot->easy && hot->state == CHANNEL_CONSUMED)
		hot->state = CHANNEL_ARMED;
	else
		direct_channel_ready(pe, "CkDirect_ready", hot);
}

/* ---- creation ---------------------------------------------------------------------- */

static void check_shape(struct pe *pe, const char *call, const void *buf, size_t bytes,
			CkDirectFn fn, enum direct_mode mode)
{
	uintptr_t end = (uintptr_t)buf + bytes;

	if (!buf || !fn)
		csd_abort(pe, "%s: %s is NULL; a channel needs a receive buffer and a function",
			  call, buf ? "the arrival function" : "the receive buffer");
	if (mode != DIRECT_PATTERN) {
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

static void set_up(struct pe *pe, struct direct_channel_hot *hot)
{
	struct direct_channel *ch = direct_rest(hot);

	ch->iteration = 0;
	ch->fetched = 0;
	direct_of(pe)->n_large += ch->bytes >= CMI_COPY_MIN;
	hot->own = hot->rma = hot->tell = hot->landed = hot->named = hot->retired = hot->easy = false;
	hot->streamed = hot->inner = false;
	hot->poll.slot = POLLSET_OUT;
	direct_of(pe)->n_open++;
	/* relaxed: the handle travels to the sender in a message, which orders these stores before
	 * anything that the sender does. */
	atomic_store_explicit(&ch->line->generation, hot->generation, memory_order_relaxed);
	atomic_store_explicit(&ch->line->consumed, 0, memory_order_relaxed);
	atomic_store_explicit(&ch->line->written, 0, memory_order_relaxed);
	atomic_store_explicit(&ch->line->binder, 0, memory_order_relaxed);
	atomic_store_explicit(&ch->line->credit, direct_seq(hot->generation, 1), memory_order_relaxed);
	if (hot->mode != DIRECT_PATTERN) {
		hot->poll.word = &ch->line->seq;
		hot->poll.idle = direct_seq(hot->generation, 0);
		atomic_store_explicit(&ch->line->seq, hot->poll.idle, memory_order_relaxed);
	} else {
		hot->poll.word = (_Atomic uint64_t *)(void *)(ch->buf + ch->bytes - 8);
	}
	/* The sender rings for the first put, so an unused channel is not polled. */
	mark(pe, hot, true);
	watch(pe, hot);
}

/** `name`: the buffer is in a device's memory. */
static CkDirectHandle handle_of(struct pe *pe, const struct direct_channel_hot *hot, uint8_t device,
				const struct direct_device_name *name)
{
	const struct direct_channel *ch = direct_rest(hot);
	CkDirectHandle handle = {{0}};
	struct direct_handle *h = direct_open(&handle);

	h->magic = DIRECT_MAGIC;
	h->receiver = pe->id;
	h->sender_pe = -1;
	h->channel = ch->number;
	h->generation = hot->generation;
	h->bytes = ch->bytes;
	h->oob = hot->poll.idle;
	h->mode = hot->mode == DIRECT_COUNTED ? DIRECT_SEQ : hot->mode;
	h->recv_addr = (uintptr_t)ch->buf;
	h->line_addr = (uintptr_t)ch->line;
	h->device = device;
	if (name)
		memcpy(&h->recv_key, name, sizeof *name);
	else if (pe->node->job->n_nodes > 1)
		cmi_mem_key(pe->node->machine, ch->buf, ch->bytes, &h->recv_key);
	if (pe->node->job->n_nodes > 1)
		h->line_key = direct_block(hot)->line_key;
	h->seal = direct_seal(h);
	return handle;
}

static struct direct_channel_hot *create_channel(struct pe *pe, const char *call, void *buf,
						 size_t bytes, CkDirectFn fn,
						 enum direct_mode mode, uint64_t oob)
{
	struct direct_channel_hot *hot;
	struct direct_channel *ch;

	check_shape(pe, call, buf, bytes, fn, mode);
	hot = take_channel(pe, direct_of(pe));
	ch = direct_rest(hot);
	ch->buf = buf;
	ch->bytes = bytes;
	ch->fn = fn;
	hot->mode = (uint8_t)mode;
	hot->poll.idle = oob;
	set_up(pe, hot);
	return hot;
}

CkDirectHandle CkDirect_createHandle(void *recv_buf, size_t bytes, uint64_t oob, CkDirectFn fn,
				     void *data)
{
	static const char call[] = "CkDirect_createHandle";
	struct pe *pe = direct_self(call);
	struct direct_channel_hot *hot =
		create_channel(pe, call, recv_buf, bytes, fn, DIRECT_PATTERN, oob);

	direct_rest(hot)->data = data;
	return handle_of(pe, hot, DIRECT_IN_HOST, NULL);
}

CkDirectHandle CkDirect_createHandleData(void *recv_buf, size_t bytes, uint64_t oob,
					 CkDirectFn fn, const void *data, size_t data_bytes)
{
	static const char call[] = "CkDirect_createHandleData";
	struct pe *pe = direct_self(call);
	struct direct_channel_hot *hot;
	void *copy;

	if (data_bytes > DIRECT_DATA_MAX)
		csd_abort(pe, "%s: %zu bytes of data for the function; at most %d, "
			  "pass a pointer instead", call, data_bytes, DIRECT_DATA_MAX);
	hot = create_channel(pe, call, recv_buf, bytes, fn, DIRECT_PATTERN, oob);
	copy = direct_block(hot)->copy[direct_rest(hot)->number % DIRECT_BLOCK];
	if (data_bytes)
		memcpy(copy, data, data_bytes);
	direct_rest(hot)->data = copy;
	return handle_of(pe, hot, DIRECT_IN_HOST, NULL);
}

CkDirectHandle CkDirect_createHandleSeq(void *recv_buf, size_t bytes, CkDirectFn fn, void *data)
{
	static const char call[] = "CkDirect_createHandleSeq";
	struct pe *pe = direct_self(call);
	struct direct_channel_hot *hot = create_channel(pe, call, recv_buf, bytes, fn, DIRECT_SEQ, 0);

	direct_rest(hot)->data = data;
	return handle_of(pe, hot, DIRECT_IN_HOST, NULL);
}

/* ---- for the layer for devices -------------------------------------------------------- */

struct direct_channel_hot *direct_channel_on_device(struct pe *pe, const char *call, void *buf,
						    size_t bytes, CkDirectFn fn, void *data,
						    uint8_t device,
						    const struct direct_device_name *name,
						    CkDirectHandle *h_p)
{
	struct direct_channel_hot *hot = create_channel(pe, call, buf, bytes, fn, DIRECT_COUNTED, 0);

	direct_rest(hot)->data = data;
	direct_make_rma(pe, hot);
	*h_p = handle_of(pe, hot, device, name);
	return hot;
}

struct direct_channel_hot *direct_word_open(struct pe *pe, CkDirectFn fn, void *data)
{
	static unsigned char nothing[8];
	struct direct_channel_hot *hot =
		create_channel(pe, "a device's word", nothing, sizeof nothing, fn,
			       DIRECT_COUNTED, 0);

	direct_rest(hot)->data = data;
	hot->inner = true;
	direct_make_rma(pe, hot);
	pollset_remove(&direct_of(pe)->set, &hot->poll);
	hot->state = CHANNEL_CONSUMED;
	direct_count_armed(pe);
	return hot;
}

void direct_take_one(struct pe *pe, struct direct_channel_hot *hot, uint64_t ahead)
{
	/* relaxed: the scan has acquired this word already; a later value may be there by now. */
	const uint64_t n = atomic_load_explicit(hot->poll.word, memory_order_relaxed) - hot->poll.idle;

	if (!n || n > 1 + ahead)
		direct_broken(pe, "CkDirect_put", direct_id_of_channel(pe, hot),
			      "order CkDirect_ready before the sender's next put",
			      "%llu puts came before the first was consumed", (unsigned long long)n);
	hot->poll.idle++;
}

void direct_word_await(struct pe *pe, struct direct_channel_hot *hot)
{
	if (hot->state != CHANNEL_CONSUMED)
		return;
	hot->state = CHANNEL_MARKED;
	watch(pe, hot);
}

/* ---- ends with names ---------------------------------------------------------------- */

/** Stop polling: as when created, the channel is armed and its sender rings. */
static void unwatch(struct pe *pe, struct direct_channel_hot *hot)
{
	direct_of(pe)->n_bell--;
	direct_count_armed(pe);
	hot->state = CHANNEL_MARKED;
}

/** A put has arrived before the end was moved. */
static void land_again(struct pe *pe, struct direct_channel_hot *hot, bool armed)
{
	if (hot->mode == DIRECT_SEQ)
		/* relaxed: only this thread reads it until the channel has a sender. */
		atomic_store_explicit(direct_arrival_word(hot), hot->poll.idle + 1, memory_order_relaxed);
	hot->landed = true;
	if (armed)
		watch(pe, hot);
}

/** Nothing has arrived since the last ready, and the receiver has not called ready again. */
static void consume_again(struct pe *pe, struct direct_channel_hot *hot)
{
	hot->state = CHANNEL_CONSUMED;
	if (pe->node->check)
		publish_mark(hot);
}

/** The buffer has the receiver's data, or a put that has landed: the word is not idle, so the next
 * mark must write it. */
static void put_back(struct direct_channel_hot *hot, uint64_t word)
{
	/* relaxed: only this thread reads it until the channel has a sender. */
	if (hot->mode == DIRECT_PATTERN)
		atomic_store_explicit(direct_arrival_word(hot), word, memory_order_relaxed);
	set_tell(hot, false);
}

/* Creating it writes the idle value into the buffer. */
void direct_channel_receive(struct pe *pe, struct direct_handle *h, const struct csd_receiving *r)
{
	static const char call[] = "a channel's receiving end";
	const enum direct_mode mode = r->counted ? DIRECT_SEQ : DIRECT_PATTERN;
	struct direct_channel_hot *hot;
	uint64_t last = 0;
	CkDirectHandle made;

	check_shape(pe, call, r->buf, r->bytes, r->fn, mode);
	if (mode == DIRECT_PATTERN)
		memcpy(&last, (const unsigned char *)r->buf + r->bytes - 8, sizeof last);
	hot = create_channel(pe, call, r->buf, r->bytes, r->fn, mode, r->oob);
	hot->named = true;
	direct_rest(hot)->data = r->data;
	made = handle_of(pe, hot, DIRECT_IN_HOST, NULL);
	*h = *direct_open(&made);
	if (r->landed || r->state == CSD_END_CONSUMED)
		put_back(hot, last);
	if (r->landed || r->state != CSD_END_ARMED)
		unwatch(pe, hot);
	if (r->landed)
		land_again(pe, hot, r->state == CSD_END_ARMED);
	else if (r->state == CSD_END_CONSUMED)
		consume_again(pe, hot);
}

/* A put that has landed is found by a scan, as on every such end. */
void direct_channel_on_device_again(struct pe *pe, struct direct_channel_hot *hot,
				    const struct csd_receiving *r)
{
	hot->named = true;
	if (r->landed)
		/* relaxed: only this thread reads it until the channel has a sender. */
		atomic_store_explicit(direct_arrival_word(hot), hot->poll.idle + 1, memory_order_relaxed);
	if (r->state == CSD_END_ARMED)
		return;
	pollset_remove(&direct_of(pe)->set, &hot->poll);
	direct_count_armed(pe);
	if (r->state == CSD_END_MARKED)
		hot->state = CHANNEL_MARKED;
	else
		consume_again(pe, hot);
}

uint64_t direct_channel_look(const struct direct_channel_hot *hot, struct csd_receiving *now)
{
	now->state = hot->state == CHANNEL_CONSUMED ? CSD_END_CONSUMED :
		     hot->state == CHANNEL_MARKED ? CSD_END_MARKED : CSD_END_ARMED;
	now->landed = direct_unseen_put(hot);
	/* acquire, behind the load of the word: pairs with the sender's release store, as a scan does. */
	atomic_thread_fence(memory_order_acquire);
	return direct_rest(hot)->iteration;
}

/* ---- the kind of sender --------------------------------------------------------------- */

void direct_make_own(struct pe *pe, struct direct_channel_hot *hot)
{
	struct direct_pe *d = direct_of(pe);

	if (hot->own)
		return;
	if (hot->state == CHANNEL_ARMED && hot->tell)
		d->n_bell--;
	else if (hot->state == CHANNEL_ARMED)
		pollset_remove(&d->set, &hot->poll);
	d->n_open--;
	hot->own = true;
	hot->easy = !pe->node->closely;
	set_tell(hot, true);
	direct_count_armed(pe);
}

void direct_make_rma(struct pe *pe, struct direct_channel_hot *hot)
{
	struct direct_pe *d = direct_of(pe);

	if (hot->rma)
		return;
	d->n_open--;
	d->n_rma++;
	reserve_set(d, d->n_channels);
	hot->rma = true;
	if (!hot->tell)
		return;
	/* This is the first mark that asks for a bell, as none has rung: the word is idle unless the
	 * network has written it since
	 * (begin_telling). */
	set_tell(hot, false);
	if (hot->state != CHANNEL_ARMED)
		return;
	d->n_bell--;
	pollset_add(&d->set, &hot->poll);
	direct_count_armed(pe);
}

/* ---- checks ------------------------------------------------------------------------ */

void direct_check_free(struct pe *pe, const void *p, size_t bytes)
{
	const struct direct_pe *d = direct_of(pe);

	for (uint32_t i = 0; i < d->n_channels; i++) {
		const struct direct_channel_hot *hot = direct_channel_at(d, i);

		/* One subtraction checks both bounds: below p it wraps. */
		if (hot->state != CHANNEL_FREE && !hot->retired &&
		    (uintptr_t)direct_rest(hot)->buf - (uintptr_t)p < bytes)
			direct_broken(pe, "CkDirect_free", direct_id_of_channel(pe, hot),
				      "call CkDirect_destroyHandle first",
				      "the receive buffer is freed, but the channel lives");
	}
}

/* ---- the end ----------------------------------------------------------------------- */

/* When its channel is destroyed it must be counted as handled, or quiescence would wait for it. */
bool direct_unseen_put(const struct direct_channel_hot *hot)
{
	if (hot->landed || hot->state == CHANNEL_FIRED || hot->state == CHANNEL_FOUND)
		return true;
	if (hot->state == CHANNEL_CONSUMED || hot->own)
		return false;
	/* Once a put was signalled, all are. Until then the sender may be the network. */
	if (hot->tell && direct_rest(hot)->iteration)
		return false;
	/* relaxed: the data is not read. Model: channel.pml, direct_unseen_put */
	return atomic_load_explicit(hot->poll.word, memory_order_relaxed) != hot->poll.idle;
}

/** Remove the channel from the poll set and from all counts. */
static void leave_pollset(struct direct_pe *d, struct direct_channel_hot *hot)
{
	if (hot->state == CHANNEL_ARMED && !hot->tell)
		pollset_remove(&d->set, &hot->poll);
	else if (hot->state == CHANNEL_ARMED && !hot->own)
		d->n_bell--;
	if (hot->rma)
		d->n_rma--;
	else if (!hot->own)
		d->n_open--;
}

/** Remove the channel from all counts. Once it is retired, it is in none any more. */
static void uncount(struct pe *pe, struct direct_channel_hot *hot)
{
	if (hot->retired)
		return;
	leave_pollset(direct_of(pe), hot);
	direct_of(pe)->n_large -= direct_rest(hot)->bytes >= CMI_COPY_MIN;
	direct_count_armed(pe);
}

/** The function of an arrival that is in the list runs no more. */
static void silence(struct direct_channel_hot *hot)
{
	if (hot->state == CHANNEL_FIRED)
		hot->rung = true;
}

static void end_channel(struct pe *pe, struct direct_channel_hot *hot)
{
	struct direct_pe *d = direct_of(pe);

	if (hot->mode == DIRECT_COUNTED && !hot->inner)
		direct_node_of(pe)->device->end(pe, hot);
	uncount(pe, hot);
	silence(hot);
	/* A put that still comes must ring, so that direct_unexpected reports it. */
	if (!hot->tell)
		set_tell(hot, true);
	/* 31 bits: a bell's word has no space for more. */
	hot->generation = (hot->generation + 1) & INT32_MAX;
	hot->state = CHANNEL_FREE;
	/* relaxed: a sender that reads it may not put any more. If it sees the old value, the check
	 * misses, as if checked mode were off. */
	atomic_store_explicit(&direct_rest(hot)->line->generation, hot->generation,
			      memory_order_relaxed);
	direct_channel_reuse(d, hot);
}

void direct_channel_end(struct pe *pe, struct direct_channel_hot *hot)
{
	if (direct_unseen_put(hot))
		pe->n_processed++;
	end_channel(pe, hot);
}

void direct_channel_destroy(struct pe *pe, const struct direct_handle *h)
{
	static const char call[] = "CkDirect_destroyHandle";
	struct direct_channel_hot *hot = direct_receiver(pe, call, h);

	if (CSD_UNLIKELY(direct_set_of(hot) != NULL))
		direct_broken(pe, call, direct_id_of_channel(pe, hot),
			      "call CkDirect_destroySet, which ends all of the set's channels",
			      "the channel is one of a set");
	direct_channel_end(pe, hot);
}

void direct_channel_take(struct pe *pe, const struct direct_handle *h)
{
	end_channel(pe, direct_receiver(pe, "a channel's receiving end", h));
}

/* A sender that is joined now changes nothing: own and rma are set. */
void direct_channel_retire(struct pe *pe, const struct direct_handle *h)
{
	struct direct_channel_hot *hot = direct_receiver(pe, "a channel's receiving end", h);

	if (direct_unseen_put(hot))
		pe->n_processed++;
	uncount(pe, hot);
	silence(hot);
	hot->own = hot->rma = hot->retired = true;
	hot->state = CHANNEL_CONSUMED;
	set_tell(hot, true);
}
