/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sender.c: the sending end: put, local completion.
 *
 * The word that the receiver trusts is always written by itself, after the rest is known to be
 * there. Bulk copies give no such promise: memcpy and the network's own copies may write the end
 * of a buffer first, and a receiver that polls the last word of one copy reads torn data.
 *
 *   memory   copy the body, then one release store of the word; then the bell, if the receiver
 *            does not look at the word
 *   rma      body, flush, word: chained by the machine layer
 *   message  one active message; the receiver's own thread copies, then stores the word
 */
#include "sender.h"
#include "../machine/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

#include "bells.h"
#include "channel.h"
#include "gather.h"
#include "direct_control.h"

/* Looks at the network before a put that finds the last one incomplete gives up. Completions that
 * were overtaken are there at the first or second look. */
enum { SETTLE_POLLS = 1000 };

/* ---- records ----------------------------------------------------------------------- */

/** Add DIRECT_BLOCK free records. */
static void add_senders(struct pe *pe, struct direct_pe *d)
{
	uint32_t first = d->n_sender_blocks * DIRECT_BLOCK;
	struct direct_sender *block = cmi_alloc_zero(DIRECT_BLOCK, sizeof(*block), "channels");
	struct direct_sender_hot *hot =
		cmi_realloc(d->senders, first + DIRECT_BLOCK, sizeof(*hot), "channels");
	struct direct_sender **blocks =
		cmi_realloc(d->sender_blocks, d->n_sender_blocks + 1, sizeof(*blocks), "channels");

	d->senders = hot;
	d->sender_blocks = blocks;
	blocks[d->n_sender_blocks++] = block;
	for (uint32_t i = DIRECT_BLOCK; i-- > 0;) {
		/* Checked: a put through a handle whose number was changed to this one is found. */
		hot[first + i] = (struct direct_sender_hot){.generation = 1, .not_plain = DIRECT_CHECK};
		block[i].number = first + i;
		block[i].pe = pe;
		block[i].next = d->free_senders;
		d->free_senders = &block[i];
	}
}

static void put_done(struct cmi_op *op);

struct direct_sender *direct_sender_new(struct pe *pe)
{
	struct direct_pe *d = direct_of(pe);
	struct direct_sender_hot *hot;
	struct direct_sender *s;

	if (!d->free_senders)
		add_senders(pe, d);
	s = d->free_senders;
	d->free_senders = s->next;
	s->next = NULL;
	s->op.done = put_done;
	s->op.arg = s;
	s->fn = NULL;
	s->held = NULL;
	s->named = false;
	s->dst = NULL;
	s->line = NULL;
	hot = direct_hot(s);
	hot->iteration = 0;
	hot->not_plain = (pe->node->check ? DIRECT_CHECK : 0) | (pe->trace ? DIRECT_TRACE : 0) |
			 (pe->counts ? DIRECT_COUNT : 0);
	hot->bell = NULL;
	return s;
}

static inline bool is_busy(const struct direct_sender *s)
{
	return direct_hot(s)->not_plain & DIRECT_BUSY;
}

static inline bool is_checked(const struct direct_sender *s)
{
	return direct_hot(s)->not_plain & DIRECT_CHECK;
}

struct direct_id direct_id_of_sender(const struct direct_sender *s)
{
	return (struct direct_id){
		.channel = s->channel,
		.receiver = s->receiver,
		.sender = s->pe->id,
		.iteration = direct_hot(s)->iteration,
	};
}

void direct_sender_say(struct pe *pe, const struct direct_sender *s, enum direct_control kind)
{
	struct direct_control_msg c = {
		.kind = kind,
		.path = s->path,
		.channel = s->channel,
		.generation = s->channel_generation,
		.sender_generation = direct_hot(s)->generation,
		.iteration = direct_hot(s)->iteration,
		.sender = (uintptr_t)s,
	};

	direct_send_control(pe, s->receiver, &c);
}

/* ---- local completion -------------------------------------------------------------- */

/** The put is locally complete, and its function will run from the loop. Until then the channel stays
 * busy on every path, so that a program cannot come to depend on the fast one. */
static void push_done(struct direct_pe *d, struct direct_sender *s)
{
	s->next = NULL;
	*d->done_tail = s;
	d->done_tail = &s->next;
}

static void put_done(struct cmi_op *op)
{
	struct direct_sender *s = op->arg;

	if (s->fn)
		push_done(direct_of(s->pe), s);
	else
		direct_hot(s)->not_plain &= ~(uint32_t)DIRECT_BUSY;
}

int direct_run_completions(struct pe *pe)
{
	struct direct_pe *d = direct_of(pe);
	struct direct_sender *s = d->done;
	int n = 0;

	/* Each one that is here now, once. Puts of their functions wait for the next pass. */
	d->done = NULL;
	d->done_tail = &d->done;
	while (s) {
		struct direct_sender *next = s->next;
		_Alignas(16) unsigned char data[DIRECT_DATA_MAX];
		CkDirectFn fn = s->fn;

		/* Out of the record, because fn may put again or destroy the channel. */
		memcpy(data, s->copy, sizeof(data));
		s->fn = NULL;
		s->next = NULL;
		direct_hot(s)->not_plain &= ~(uint32_t)DIRECT_BUSY;
		fn(data);
		pe->n_processed++;
		n++;
		s = next;
	}
	return n;
}

/* ---- put --------------------------------------------------------------------------- */

/** The last put of this end is not complete. The receiver's answer to it may have overtaken the news
 * of its completion, so look at the network before calling it the program's mistake. A put with a
 * function is complete when the function has run, which only the loop can do. */
static __attribute__((noinline, cold)) void settle_put(struct pe *pe, const char *call,
						   const struct direct_sender *s)
{
	for (int i = 0; i < SETTLE_POLLS && is_busy(s) && !s->fn; i++)
		cmi_progress(pe->wire);
	if (is_busy(s))
		direct_broken(pe, call, direct_id_of_sender(s),
			      "wait for the completion that CkDirect_putData reports",
			      "the last put is not locally complete yet");
}

/** End the job: `h` names no sending end of this PE. Say why. */
static _Noreturn __attribute__((noinline, cold)) void
no_sender(struct pe *pe, const char *call, const struct direct_handle *h)
{
	const struct direct_pe *d = direct_of(pe);
	const struct direct_sender *s = NULL;

	if (h->magic == DIRECT_MAGIC && h->sender_pe == pe->id && direct_has_sender(pe, h))
		s = direct_sender_at(d, h->sender);
	if (s && s->path != DIRECT_UNBOUND && s->receiver == h->receiver &&
	    s->channel == h->channel && s->channel_generation == h->generation)
		direct_broken(pe, call, direct_id_of_sender(s),
			      "copy the handle after CkDirect_rebind, not before",
			      "the channel has another send buffer since this copy was made");
	direct_not_a_sender(pe, call, h);
}

/** The sending end that `h` names, which must live on this PE. The number in a handle is right unless the program
 * has written over it: that is not looked at here, where each instruction of a put counts. */
static inline struct direct_sender_hot *own_sender(struct pe *pe, const char *call,
						   const struct direct_handle *h)
{
	struct direct_sender_hot *hot;

	/* In this order: the number means something on the PE that gave it. */
	if (CSD_UNLIKELY(h->magic != DIRECT_MAGIC || h->sender_pe != pe->id))
		no_sender(pe, call, h);
	hot = &direct_of(pe)->senders[h->sender];
	if (CSD_UNLIKELY(hot->generation != h->sender_generation))
		no_sender(pe, call, h);
	return hot;
}

/** The same for calls other than CkDirect_put, where all is looked at. */
static struct direct_sender *checked_sender(struct pe *pe, const char *call, const struct direct_handle *h)
{
	if (!direct_has_sender(pe, h))
		no_sender(pe, call, h);
	own_sender(pe, call, h);
	return direct_sender_at(direct_of(pe), h->sender);
}

static _Noreturn __attribute__((noinline, cold)) void
ends_in_oob(struct pe *pe, const char *call, const struct direct_handle *h)
{
	const struct direct_sender *s = direct_sender_at(direct_of(pe), h->sender);

	direct_broken(pe, call, direct_id_of_sender(s), "choose a value that the data never has",
		      "the last 8 bytes of the data are the out-of-band value %#llx",
		      (unsigned long long)s->oob);
}

/** Pattern mode: the last word of the data tells its arrival. */
static inline uint64_t last_word(struct pe *pe, const char *call, const struct direct_handle *h)
{
	uint64_t word;

	if (CSD_UNLIKELY(h->strided))
		word = gather_last_word((const unsigned char *)(uintptr_t)h->src, &h->strides);
	else
		memcpy(&word, (const unsigned char *)(uintptr_t)h->src + h->bytes - 8, 8);
	if (CSD_UNLIKELY(word == h->oob))
		ends_in_oob(pe, call, h);
	return word;
}

/** The same by what the sending end has kept, not by the handle: a handle that the program has written
 * over does no harm then. Only strided data is described by the handle alone. */
static uint64_t kept_last_word(struct pe *pe, const char *call, const struct direct_handle *h,
			       const struct direct_sender *s)
{
	uint64_t word;

	if (h->strided)
		return last_word(pe, call, h);
	memcpy(&word, s->src + s->body, 8);
	if (CSD_UNLIKELY(word == s->oob))
		ends_in_oob(pe, call, h);
	return word;
}

/** The first n bytes of the data that `h` is bound to. */
static inline void copy_out(const struct direct_handle *h, unsigned char *dst, size_t n)
{
	const unsigned char *src = (const unsigned char *)(uintptr_t)h->src;

	if (CSD_UNLIKELY(h->strided))
		gather_bytes(dst, src, &h->strides, n);
	else if (h->here)
		memcpy(dst, src, n);
	else
		cmi_copy_shared(dst, src, n);
}

/** The same, of many bytes in one piece, to another PE. */
static __attribute__((noinline)) void copy_out_large(struct pe *pe, const struct direct_handle *h,
						     unsigned char *dst, size_t n)
{
	const struct direct_sender *s = direct_sender_at(direct_of(pe), h->sender);

	cmi_copy_awaited(&direct_of(pe)->copy_way, dst, (const unsigned char *)(uintptr_t)h->src, n,
			 &s->line->written, direct_hot(s)->iteration);
}

/** A put within this PE has landed in a channel that waits for none. */
static _Noreturn __attribute__((noinline, cold)) void
unexpected_here(struct pe *pe, const struct direct_handle *h, const struct direct_sender_hot *hot)
{
	struct direct_id id = direct_id_of_handle(h);

	id.iteration = hot->iteration;
	direct_unexpected(pe, id, direct_channel_find(pe, h->channel, h->generation));
}

/** Copy the body, then store the word; then ring, if the receiver does not look at the word. `h` is
 * the handle through which the sending end was bound. */
static inline void put_memory(struct pe *pe, const char *call, const struct direct_handle *h,
			      const struct direct_sender_hot *hot, size_t body,
			      uint64_t word_addr, uint64_t word)
{
	unsigned char *dst = (unsigned char *)(uintptr_t)h->dst;
	uint8_t tell;

	if (CSD_UNLIKELY(body >= CMI_COPY_MIN && !h->here && !h->strided))
		copy_out_large(pe, h, dst, body);
	else if (CSD_LIKELY(body))
		copy_out(h, dst, body);
	/* relaxed: ordered by the program; see struct direct_shared. Loaded before the word is stored: a
	 * receiver that polls may see the word at once, mark the channel again, and ask to be told of the
	 * next put. Model: channel.pml, put_memory */
	tell = atomic_load_explicit(hot->tell, memory_order_relaxed);
	/* release: pairs with the acquire in pollset_scan. A receiver that sees the word sees the
	 * body, too. */
	atomic_store_explicit((_Atomic uint64_t *)(uintptr_t)word_addr, word,
			      memory_order_release);
	if (!tell)
		return;
	if (hot->bell)
		direct_tell(pe, call, h, hot->bell);
	else if (CSD_UNLIKELY(!direct_landed_here(direct_of(pe), h->channel, h->generation)))
		unexpected_here(pe, h, hot);
}

static bool put_rma(struct direct_sender *s, uint64_t word)
{
	struct cmi_remote *tail = s->mode == DIRECT_SEQ ? s->line_mem : s->recv_mem;

	return cmi_put(s->pe->wire, s->recv_mem, s->recv_addr, s->src, s->body, tail,
		       s->word_addr, word, &s->op);
}

/* Inlined, because only checked mode calls it in a second place. */
static inline __attribute__((always_inline)) bool put_message(struct direct_sender *s, uint64_t word)
{
	s->head = (struct cmi_put_head){
		.channel = s->channel,
		.generation = s->channel_generation,
		.iteration = direct_hot(s)->iteration,
		.word = word,
	};
	return cmi_put_am(s->pe->wire, s->receiver, &s->head, s->src, s->body, &s->op);
}

/** The put itself follows when the receiver has answered. */
static __attribute__((noinline, cold)) bool ask(struct pe *pe, struct direct_sender *s,
						uint64_t word)
{
	s->head.word = word;
	direct_sender_say(pe, s, DIRECT_ASK);
	return false;
}

/** The end is not joined: the put waits in a copy of the data. */
static __attribute__((noinline, cold)) bool hold(struct pe *pe, const struct direct_handle *h, struct direct_sender *s)
{
	const void *src = (const void *)(uintptr_t)h->src;

	if (s->held)
		csd_abort(pe, "CkChannelPut: a second put before the ends of the channel are joined; wait until the "
			  "receiver has had the last one");
	s->held = cmi_alloc(h->bytes, "a put that waits");
	if (h->strided)
		gather_bytes(s->held, src, &h->strides, h->bytes);
	else
		memcpy(s->held, src, h->bytes);
	direct_hot(s)->iteration--; /* it is made when they are joined */
	return true;
}

/** Everything but the plain memory path. Returns true when locally complete already. */
static bool put_by_path(struct pe *pe, const char *call, const struct direct_handle *h,
		     struct direct_sender *s, uint64_t word)
{
	if (s->way == DIRECT_MEMORY) {
		if (is_checked(s))
			direct_check_put(pe, call, direct_id_of_sender(s), s->line,
					 s->channel_generation, s->dst, s->bytes);
		put_memory(pe, call, h, direct_hot(s), s->body, (uintptr_t)s->word, word);
		return true;
	}
	if (s->way == DIRECT_RMA)
		return put_rma(s, word);
	if (CSD_UNLIKELY(s->way >= DIRECT_ASKING))
		return s->way == DIRECT_ASKING ? ask(pe, s, word) : hold(pe, h, s);
	return put_message(s, word);
}

static void record_put(struct pe *pe, const struct direct_sender *s)
{
	struct trace_record *r;

	if (!pe->trace->on)
		return;
	r = csd_trace_next(pe->trace, TRACE_PUT, 0, s->receiver);
	r->seq = (uint32_t)direct_hot(s)->iteration + 1;
	r->bytes = trace_bytes(s->bytes);
	trace_set_value(r, s->channel);
	trace_done(pe->trace->file, r);
}

static void count_put(struct pe *pe, const struct direct_sender *s)
{
	pe->counts->numbers[direct_node_of(pe)->count_puts + s->path - DIRECT_MEMORY]++;
	csd_count_put(pe, s->receiver, s->bytes);
}

/** Of a put that has waited: when it is made. */
static void tell_put(struct pe *pe, const struct direct_sender *s)
{
	if (pe->trace)
		record_put(pe, s);
	if (pe->counts)
		count_put(pe, s);
}

/** Checked mode: the program has not written to the handle since it was bound. */
static void check_unchanged(struct pe *pe, const char *call, struct direct_id id,
			    const struct direct_handle *h, const struct direct_sender *s)
{
	if (direct_checksum((const unsigned char *)h, sizeof(*h)) != s->seal)
		direct_broken(pe, call, id,
			      "only the functions of ckdirect.h may write to one",
			      "the handle was changed after it was bound");
}

/** Before a put that is checked, recorded or counted, or whose last one was not complete. */
static __attribute__((noinline, cold)) void look_before_put(struct pe *pe, const char *call,
							const struct direct_handle *h,
							struct direct_sender *s)
{
	struct direct_id id = direct_id_of_sender(s);

	if (is_busy(s))
		settle_put(pe, call, s);
	if (s->way != DIRECT_HOLDING)
		tell_put(pe, s);
	if (!is_checked(s))
		return;
	id.iteration++;
	check_unchanged(pe, call, id, h, s);
	if (s->way == DIRECT_ASKING && !s->staging)
		s->sum = direct_checksum(s->src, s->bytes);
}

/** Checked mode, not on the memory path: nobody has read the data yet. Afterwards a look would come too
 * late: the news of local completion may be overtaken by an answer that lets the program write. */
static void check_source(const struct direct_sender *s)
{
	if (!s->staging && direct_checksum(s->src, s->bytes) != s->sum)
		direct_broken(s->pe, "CkDirect_put", direct_id_of_sender(s),
			      "leave it alone until the function of CkDirect_putData has run",
			      "the send buffer changed before the put was locally complete");
}

/** Count this put, and return the word that tells its arrival. All paths but the memory path read
 * s->src from here on. */
static uint64_t begin_put(struct pe *pe, const char *call, const struct direct_handle *h,
		      struct direct_sender *s)
{
	if (CSD_UNLIKELY(direct_hot(s)->not_plain & (DIRECT_BUSY | DIRECT_CHECK | DIRECT_TRACE | DIRECT_COUNT)))
		look_before_put(pe, call, h, s);
	direct_hot(s)->iteration++;
	pe->n_created++;
	if (s->staging)
		copy_out(h, (unsigned char *)(uintptr_t)s->src, s->body);
	return s->mode == DIRECT_SEQ ? direct_seq(s->channel_generation, direct_hot(s)->iteration)
				     : kept_last_word(pe, call, h, s);
}

void direct_go_arrived(const struct direct_control_msg *c)
{
	struct direct_sender *s = (struct direct_sender *)(uintptr_t)c->sender;
	const struct direct_sender_hot *hot = direct_hot(s);

	if (hot->generation != c->sender_generation || hot->iteration != c->iteration)
		return;
	check_source(s);
	if (s->path == DIRECT_RMA ? put_rma(s, s->head.word) : put_message(s, s->head.word))
		s->op.done(&s->op);
}

static __attribute__((noinline)) void put_general(struct pe *pe, const char *call,
						  const struct direct_handle *h)
{
	struct direct_sender *s = direct_sender_at(direct_of(pe), h->sender);
	uint64_t word = begin_put(pe, call, h, s);

	direct_hot(s)->not_plain |= DIRECT_BUSY;
	if (put_by_path(pe, call, h, s, word))
		direct_hot(s)->not_plain &= ~(uint32_t)DIRECT_BUSY;
}

/* Besides the two buffers, a plain put touches the front of the handle, the small part of the sending
 * end, and the small part of the receiving end when that is here. Once the handle has come, no access
 * waits for another, so the other misses overlap. */
void CkDirect_put(CkDirectHandle *handle)
{
	static const char call[] = "CkDirect_put";
	struct pe *pe = direct_self(call);
	const struct direct_handle *h = direct_open(handle);
	struct direct_sender_hot *hot = own_sender(pe, call, h);

	if (CSD_UNLIKELY(hot->not_plain)) {
		put_general(pe, call, h);
		return;
	}
	hot->iteration++;
	pe->n_created++;
	if (h->mode == DIRECT_PATTERN)
		put_memory(pe, call, h, hot, h->bytes - 8, h->dst + h->bytes - 8,
			   last_word(pe, call, h));
	else
		put_memory(pe, call, h, hot, h->bytes, h->seq_addr,
			   direct_seq(h->generation, hot->iteration));
}

void CkDirect_putData(CkDirectHandle *handle, CkDirectFn fn, const void *data, size_t data_bytes)
{
	static const char call[] = "CkDirect_putData";
	struct pe *pe = direct_self(call);
	const struct direct_handle *h = direct_open(handle);
	struct direct_sender *s = checked_sender(pe, call, h);
	uint64_t word = begin_put(pe, call, h, s);

	if (CSD_UNLIKELY(!fn || data_bytes > DIRECT_DATA_MAX))
		direct_broken(pe, call, direct_id_of_sender(s), "pass a function and a pointer",
			      "%zu bytes of data (at most %d) for %s function", data_bytes,
			      DIRECT_DATA_MAX, fn ? "the" : "no");
	s->fn = fn;
	if (data_bytes)
		memcpy(s->copy, data, data_bytes);
	pe->n_created++; /* the completion: quiescence waits for its function, too */
	direct_hot(s)->not_plain |= DIRECT_BUSY;
	if (put_by_path(pe, call, h, s, word))
		push_done(direct_of(pe), s);
}

/* ---- ends with names --------------------------------------------------------------- */

void direct_sender_open(struct pe *pe, struct direct_handle *h, const struct csd_sending *sending)
{
	struct direct_sender *s = direct_sender_new(pe);

	s->path = DIRECT_UNBOUND;
	s->way = DIRECT_HOLDING;
	s->named = true;
	s->mode = DIRECT_SEQ; /* no word of the data is looked at */
	s->src = sending->buf;
	s->bytes = s->body = sending->bytes;
	s->receiver = -1;
	s->channel = s->channel_generation = 0;
	s->held = sending->held;
	direct_hot(s)->not_plain |= DIRECT_STOPPED;
	*h = (struct direct_handle){
		.magic = DIRECT_MAGIC,
		.receiver = -1,
		.sender_pe = pe->id,
		.sender = s->number,
		.sender_generation = direct_hot(s)->generation,
		.mode = DIRECT_SEQ,
		.bytes = sending->bytes,
		.src = (uintptr_t)sending->buf,
		.strided = sending->shape != NULL,
	};
	if (sending->shape)
		h->strides = gather_shape_of(sending->shape);
	if (pe->node->check)
		s->seal = direct_checksum((const unsigned char *)h, sizeof(*h));
}

uint64_t direct_sender_stop(struct pe *pe, const struct direct_handle *h)
{
	struct direct_sender *s = checked_sender(pe, "a channel's sending end", h);

	s->way = DIRECT_HOLDING;
	direct_hot(s)->not_plain |= DIRECT_STOPPED;
	return direct_hot(s)->iteration;
}

/* A put that has waited may still be under way. */
bool direct_sender_holds(struct pe *pe, const struct direct_handle *h)
{
	return checked_sender(pe, "a channel's sending end", h)->held;
}

bool direct_sender_busy(struct pe *pe, const struct direct_handle *h)
{
	return is_busy(checked_sender(pe, "a channel's sending end", h));
}

void *direct_sender_leave(struct pe *pe, const struct direct_handle *h)
{
	struct direct_sender *s = direct_sender_at_rest(pe, "a channel's sending end", h);
	void *held = s->held;

	s->held = NULL;
	direct_sender_destroy(pe, h);
	return held;
}

/** A put that had waited is locally complete. */
static void held_done(struct cmi_op *op)
{
	struct direct_sender *s = op->arg;

	free(s->held);
	s->held = NULL;
	s->src = s->own_src;
	op->done = put_done;
	put_done(op);
}

/* It was counted as under way when the program made it. */
void direct_sender_release(struct pe *pe, const struct direct_handle *h, void *held)
{
	static const char call[] = "CkChannelPut";
	struct direct_sender *s = checked_sender(pe, call, h);
	struct direct_handle as = *h;
	uint64_t word;

	as.src = (uintptr_t)held;
	as.strided = false;
	s->own_src = s->src;
	s->src = s->held = held;
	tell_put(pe, s);
	direct_hot(s)->iteration++;
	word = s->mode == DIRECT_SEQ ? direct_seq(s->channel_generation, direct_hot(s)->iteration) :
				       kept_last_word(pe, call, &as, s);
	if (is_checked(s) && s->way == DIRECT_ASKING && !s->staging)
		s->sum = direct_checksum(s->src, s->bytes);
	direct_hot(s)->not_plain |= DIRECT_BUSY;
	s->op.done = held_done;
	if (put_by_path(pe, call, &as, s, word))
		held_done(&s->op);
}

/* ---- the end ----------------------------------------------------------------------- */

static void detach_receiver(struct pe *pe, struct direct_sender *s)
{
	if (s->recv_mem)
		cmi_detach(pe->wire, s->recv_mem);
	if (s->line_mem)
		cmi_detach(pe->wire, s->line_mem);
	s->recv_mem = s->line_mem = NULL;
}

struct direct_sender *direct_sender_at_rest(struct pe *pe, const char *call,
					    const struct direct_handle *h)
{
	struct direct_sender *s = checked_sender(pe, call, h);

	if (is_busy(s))
		settle_put(pe, call, s);
	if (is_checked(s))
		check_unchanged(pe, call, direct_id_of_sender(s), h, s);
	return s;
}

void direct_sender_destroy(struct pe *pe, const struct direct_handle *h)
{
	struct direct_sender *s = direct_sender_at_rest(pe, "CkDirect_destroyHandle", h);

	detach_receiver(pe, s);
	if (direct_hot(s)->bell)
		direct_bell_close(direct_hot(s)->bell);
	free(s->staging);
	s->staging = NULL;
	if (s->held)
		pe->n_processed++; /* nobody will make the put that waits */
	free(s->held);
	s->held = NULL;
	direct_hot(s)->generation++;
	direct_hot(s)->not_plain = DIRECT_CHECK;
	s->seal = 0;
	s->path = DIRECT_UNBOUND;
	s->next = direct_of(pe)->free_senders;
	direct_of(pe)->free_senders = s;
}

void direct_senders_stop(struct pe *pe)
{
	struct direct_pe *d = direct_of(pe);

	for (uint32_t i = 0; i < d->n_sender_blocks * DIRECT_BLOCK; i++)
		/* A put in flight still uses its attachments; closing the wire ends them all. */
		if (!is_busy(direct_sender_at(d, i)))
			detach_receiver(pe, direct_sender_at(d, i));
}

void direct_senders_free(struct direct_pe *d)
{
	for (uint32_t i = 0; i < d->n_sender_blocks * DIRECT_BLOCK; i++) {
		free(direct_sender_at(d, i)->staging);
		free(direct_sender_at(d, i)->held);
	}
	for (uint32_t i = 0; i < d->n_sender_blocks; i++)
		free(d->sender_blocks[i]);
	free(d->sender_blocks);
	free(d->senders);
}
