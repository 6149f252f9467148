/* SPDX-License-Identifier: Apache-2.0 */
/*
 * put.c: puts: by plain memory, by the network, in a message, and those that wait until they may be
 * made.
 *
 * The word that the receiver polls is always written separately, after all other bytes have
 * arrived. Bulk copies do not guarantee that: memcpy and the network's own copies may write the end
 * of a buffer first, and a receiver that polls the last word of one copy reads torn data.
 *
 *   memory   copy the body, then one release store of the word; then the bell, if the receiver
 *            does not poll the word
 *   here     the same PE, which polls nothing: note the arrival, then copy all
 *   rma      body, flush, word: chained by the machine layer
 *   message  one active message; the receiver's own thread copies, then stores the word
 *   device   by the layer above, with the word behind the data in a stream
 */
#include "put.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

#include "../ends/bells.h"
#include "../ends/channel.h"
#include "../core/direct_device.h"
#include "../core/gather.h"

/* ---- the written data ------------------------------------------------------------------ */

static _Noreturn __attribute__((noinline, cold)) void
ends_in_oob(struct pe *pe, const char *call, const struct direct_handle *h)
{
	const struct direct_sender *s = direct_sender_at(direct_of(pe), h->sender);

	direct_broken(pe, call, direct_id_of_sender(s), "choose a value that the data never has",
		      "the last 8 bytes of the data are the out-of-band value %#llx",
		      (unsigned long long)s->oob);
}

/** Pattern mode: the last word of the data signals its arrival. */
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

/** The same from the sending end's copy, not from the handle, so that a handle that the program has
 * overwritten is harmless. Only strided data is described by the handle alone. */
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
	else
		memcpy(dst, src, n);
}

enum { SEQ_WORD_MOST = 512 }; /* with more bytes to copy, the word's line is not requested early */

/** Before a copy of n bytes, and the store of the word: request all lines that the put will write,
 * or none. One that was left out came later than the others together (docs/decisions, page 106). */
static inline void own_before(const struct direct_handle *h, const unsigned char *dst, size_t n,
			      uint64_t word_addr)
{
	if (h->mode == DIRECT_PATTERN || n > SEQ_WORD_MOST) {
		cmi_own_shared(dst, h->bytes);
		return;
	}
	cmi_own_lines(dst, n);
	cmi_own_line((const void *)(uintptr_t)word_addr);
}

/** The same, of many contiguous bytes, to another PE. */
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
	struct direct_id id = direct_id_of_handle(pe, h);

	id.iteration = hot->iteration;
	direct_unexpected(pe, id, direct_channel_find(pe, h->channel, h->generation));
}

/** Copy the body, then store the word; then ring, if the receiver does not poll the word. `h` is
 * the handle through which the sending end was bound. */
static inline void put_memory(struct pe *pe, const char *call, const struct direct_handle *h,
			      const struct direct_sender_hot *hot, size_t body,
			      uint64_t word_addr, uint64_t word)
{
	unsigned char *dst = (unsigned char *)(uintptr_t)h->dst;
	uint8_t tell;

	if (CSD_UNLIKELY(body >= CMI_COPY_MIN && !h->strided)) {
		copy_out_large(pe, h, dst, body);
	} else if (CSD_LIKELY(body)) {
		if (CSD_LIKELY(!h->strided))
			own_before(h, dst, body, word_addr);
		copy_out(h, dst, body);
	}
	/* relaxed: ordered by the program; see struct direct_shared. Loaded before the word is stored: a
	 * receiver that polls may see the word at once, mark the channel again, and ask for a bell for the
	 * next put. Model: channel.pml, put_memory */
	tell = atomic_load_explicit(hot->tell, memory_order_relaxed);
	/* release: pairs with the acquire in pollset_scan. A receiver that sees the word sees the
	 * body, too. */
	atomic_store_explicit((_Atomic uint64_t *)(uintptr_t)word_addr, word,
			      memory_order_release);
	if (tell)
		direct_tell(pe, call, h, hot->bell);
}

/** A put within this PE: its arrival is in the list of those that run next. False: the channel
 * waits for none. Nothing of the receiver runs before the put returns, so the copy may come last,
 * where the compiler makes it a jump. */
static inline bool land_here(struct pe *pe, const struct direct_handle *h,
			     const struct direct_sender_hot *hot, enum direct_mode mode, uint64_t word)
{
	struct direct_channel_hot *end = hot->end;

	if (CSD_UNLIKELY(end->generation != h->generation || !direct_landed(direct_of(pe), end)))
		return false;
	if (mode == DIRECT_SEQ)
		/* relaxed: this thread reads it. */
		atomic_store_explicit((_Atomic uint64_t *)(uintptr_t)h->seq_addr, word,
				      memory_order_relaxed);
	return true;
}

/** The same for any data. */
static void put_here(struct pe *pe, const struct direct_handle *h,
		     const struct direct_sender_hot *hot, uint64_t word)
{
	if (!land_here(pe, h, hot, h->mode, word))
		unexpected_here(pe, h, hot);
	copy_out(h, (unsigned char *)(uintptr_t)h->dst, h->bytes);
}

/* CkDirect_put calls nothing that does not return: it only jumps to such functions, and needs no
 * stack. So the checks that failed are made again where they may end the job. */

/** No PE runs, or the handle names no sending end of this one. */
static __attribute__((noinline, cold)) void put_from_nowhere(const struct direct_handle *h)
{
	static const char call[] = "CkDirect_put";

	direct_own_sender(direct_self(call), call, h);
}

/** A put within this PE that cannot land. */
static __attribute__((noinline, cold)) void put_again_here(struct pe *pe,
							   const struct direct_handle *h,
							   const struct direct_sender_hot *hot)
{
	put_here(pe, h, hot, h->mode == DIRECT_SEQ ? direct_seq(h->generation, hot->iteration) :
						     last_word(pe, "CkDirect_put", h));
}

/** A plain put within this PE, of data in one piece. */
static inline __attribute__((always_inline)) void put_piece_here(
	struct pe *pe, const struct direct_handle *h, struct direct_sender_hot *hot,
	enum direct_mode mode)
{
	const unsigned char *src = (const unsigned char *)(uintptr_t)h->src;
	uint64_t word;

	hot->iteration++;
	pe->n_created++;
	if (mode == DIRECT_SEQ)
		word = direct_seq(h->generation, hot->iteration);
	else
		memcpy(&word, src + h->bytes - 8, 8);
	if (CSD_UNLIKELY((mode == DIRECT_PATTERN && word == h->oob) ||
			 !land_here(pe, h, hot, mode, word)))
		put_again_here(pe, h, hot);
	else
		memcpy((void *)(uintptr_t)h->dst, src, h->bytes);
}

static bool put_rma(struct direct_sender *s, uint64_t word)
{
	struct cmi_remote *tail = s->mode == DIRECT_SEQ ? s->line_mem : s->recv_mem;

	return cmi_put(s->pe->wire, s->recv_mem, s->recv_addr, s->src, s->body, tail,
		       s->word_addr, word, &s->op);
}

/* Inlined, because only checked mode calls it in a second place. */
static inline __attribute__((always_inline)) bool put_by_am(struct direct_sender *s,
							    uint64_t word)
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
static bool put_ask(struct pe *pe, struct direct_sender *s,
						    uint64_t word)
{
	s->head.word = word;
	direct_sender_say(pe, s, DIRECT_ASK);
	return false;
}

/** The end is not joined: the put waits in a copy of the data. */
static bool put_hold(struct pe *pe, const struct direct_handle *h,
						     struct direct_sender *s)
{
	const void *src = (const void *)(uintptr_t)h->src;

	if (s->held)
		direct_broken(pe, "CkDirect_put", direct_id_of_sender(s),
			      "wait until the receiver has had the last one",
			      "a second put before the ends of the channel are joined");
	s->held = cmi_alloc(h->bytes, "a put that waits");
	if (s->in_device)
		direct_node_of(pe)->device->read(pe, s->held, src, h->bytes);
	else if (h->strided)
		gather_bytes(s->held, src, &h->strides, h->bytes);
	else
		memcpy(s->held, src, h->bytes);
	direct_hot(s)->iteration--; /* it is made when they are joined */
	return true;
}

/** Not now, or not by this processor. */
static __attribute__((noinline, cold)) bool put_specially(struct pe *pe,
							  const struct direct_handle *h,
							  struct direct_sender *s, uint64_t word)
{
	if (s->way == DIRECT_BY_DEVICE)
		return direct_node_of(pe)->device->put(pe, s, word);
	return s->way == DIRECT_ASKING ? put_ask(pe, s, word) : put_hold(pe, h, s);
}

/** All paths but plain memory. Returns true when locally complete already. */
static bool put_by_path(struct pe *pe, const char *call, const struct direct_handle *h,
		     struct direct_sender *s, uint64_t word)
{
	if (s->way == DIRECT_MEMORY) {
		if (direct_is_checked(s))
			direct_check_put(pe, call, direct_id_of_sender(s), s->line,
					 s->channel_generation, s->dst, s->bytes);
		if (direct_hot(s)->not_plain & DIRECT_HERE)
			put_here(pe, h, direct_hot(s), word);
		else
			put_memory(pe, call, h, direct_hot(s), s->body, (uintptr_t)s->word, word);
		return true;
	}
	if (s->way == DIRECT_RMA)
		return put_rma(s, word);
	if (CSD_UNLIKELY(s->way >= DIRECT_ASKING))
		return put_specially(pe, h, s, word);
	return put_by_am(s, word);
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
	pe->node->count->put(pe, s->receiver, s->bytes);
}

/** For a put that has waited: when it is made. Of a put in pieces only itself is told. */
static void tell_put(struct pe *pe, const struct direct_sender *s)
{
	if (s->inner)
		return;
	if (pe->trace)
		record_put(pe, s);
	if (pe->counts)
		count_put(pe, s);
}

/** Before a put that is checked, recorded or counted, or whose last one was not complete. */
static __attribute__((noinline, cold)) void look_before_put(struct pe *pe, const char *call,
							const struct direct_handle *h,
							struct direct_sender *s)
{
	struct direct_id id = direct_id_of_sender(s);

	if (direct_is_busy(s))
		direct_settle_put(pe, call, s);
	if (s->way != DIRECT_HOLDING)
		tell_put(pe, s);
	if (!direct_is_checked(s))
		return;
	id.iteration++;
	direct_check_unchanged(pe, call, id, h, s);
	if (s->way == DIRECT_ASKING && !s->staging)
		s->sum = direct_checksum(s->src, s->bytes);
}

/** Checked mode, not on the memory path: the data has not been read yet. A later check would be too
 * late: the news of local completion may be overtaken by an answer that lets the program write. */
static void check_source(const struct direct_sender *s)
{
	if (!s->staging && direct_checksum(s->src, s->bytes) != s->sum)
		direct_broken(s->pe, "CkDirect_put", direct_id_of_sender(s),
			      "leave it alone until the function of CkDirect_putData has run",
			      "the send buffer changed before the put was locally complete");
}

/** Count this put, and return the word that signals its arrival. All paths but the memory path read
 * s->src from here on. */
static uint64_t begin_put(struct pe *pe, const char *call, const struct direct_handle *h,
		      struct direct_sender *s)
{
	if (CSD_UNLIKELY(direct_hot(s)->not_plain &
			 (DIRECT_BUSY | DIRECT_CHECK | DIRECT_TRACE | DIRECT_COUNT)))
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
	if (s->path == DIRECT_RMA ? put_rma(s, s->head.word) : put_by_am(s, s->head.word))
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

/** Into memory that another PE polls. */
static __attribute__((noinline)) void put_plain(struct pe *pe, const char *call,
						const struct direct_handle *h,
						struct direct_sender_hot *hot)
{
	hot->iteration++;
	pe->n_created++;
	if (h->mode == DIRECT_PATTERN)
		put_memory(pe, call, h, hot, h->bytes - 8, h->dst + h->bytes - 8,
			   last_word(pe, call, h));
	else
		put_memory(pe, call, h, hot, h->bytes, h->seq_addr,
			   direct_seq(h->generation, hot->iteration));
}

/* Besides the two buffers, a plain put uses the front of the handle, the hot half of the sending
 * end, and the hot half of the receiving end if that is here. Once the handle has been loaded, no
 * access waits for another, so the other misses overlap. */
void CkDirect_put(CkDirectHandle *handle)
{
	static const char call[] = "CkDirect_put";
	const struct direct_handle *h = direct_open(handle);
	struct pe *pe = csd_self();
	struct direct_sender_hot *hot = CSD_LIKELY(pe != NULL) ? direct_find_sender(pe, h) : NULL;

	if (CSD_UNLIKELY(!hot))
		put_from_nowhere(h);
	else if (hot->not_plain == DIRECT_HERE)
		put_piece_here(pe, h, hot, DIRECT_PATTERN);
	else if (!hot->not_plain)
		put_plain(pe, call, h, hot);
	else if (hot->not_plain == (DIRECT_HERE | DIRECT_HERE_SEQ))
		put_piece_here(pe, h, hot, DIRECT_SEQ);
	else
		put_general(pe, call, h);
}

void CkDirect_putData(CkDirectHandle *handle, CkDirectFn fn, const void *data, size_t data_bytes)
{
	static const char call[] = "CkDirect_putData";
	struct pe *pe = direct_self(call);
	const struct direct_handle *h = direct_open(handle);
	struct direct_sender *s = direct_checked_sender(pe, call, h);
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
		direct_push_done(direct_of(pe), s);
}

/* ---- a put that has waited ----------------------------------------------------------- */

/** A put that had waited is locally complete. */
static void held_done(struct cmi_op *op)
{
	struct direct_sender *s = op->arg;

	free(s->held);
	s->held = NULL;
	s->src = s->own_src;
	op->done = direct_put_done;
	direct_put_done(op);
}

/* It has counted as under way since the program made it. */
void direct_put_held(struct pe *pe, const struct direct_handle *h, void *held)
{
	static const char call[] = "CkChannelPut";
	struct direct_sender *s = direct_checked_sender(pe, call, h);
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
	if (direct_is_checked(s) && s->way == DIRECT_ASKING && !s->staging)
		s->sum = direct_checksum(s->src, s->bytes);
	direct_hot(s)->not_plain |= DIRECT_BUSY;
	s->op.done = held_done;
	if (put_by_path(pe, call, &as, s, word))
		held_done(&s->op);
}
