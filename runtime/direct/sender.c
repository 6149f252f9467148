/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sender.c: the sending end: bind, choose the path, put, local completion.
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
#include "direct_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Looks at the network before a put that finds the last one incomplete gives up. Completions that
 * were overtaken are there at the first or second look. */
enum { SETTLE_POLLS = 1000 };

static const char *const path_names[] = {"unbound", "memory", "rma", "message"};

/* ---- records ----------------------------------------------------------------------- */

/** DIRECT_BLOCK free records more. */
static void grow(struct pe *pe, struct direct_pe *d)
{
	uint32_t first = d->n_sender_blocks * DIRECT_BLOCK;
	struct direct_sender *block = calloc(DIRECT_BLOCK, sizeof(*block));
	struct direct_sender_hot *hot =
		realloc(d->senders, (first + DIRECT_BLOCK) * sizeof(*hot));
	struct direct_sender **blocks =
		realloc(d->sender_blocks, (d->n_sender_blocks + 1) * sizeof(*blocks));

	if (!block || !hot || !blocks)
		csd_abort(pe, "CkDirect_assocLocal: no memory for channels");
	d->senders = hot;
	d->sender_blocks = blocks;
	blocks[d->n_sender_blocks++] = block;
	for (uint32_t i = DIRECT_BLOCK; i-- > 0;) {
		hot[first + i] = (struct direct_sender_hot){.generation = 1};
		block[i].number = first + i;
		block[i].pe = pe;
		block[i].next = d->free_senders;
		d->free_senders = &block[i];
	}
}

static struct direct_sender *take_record(struct pe *pe, struct direct_pe *d)
{
	struct direct_sender *s;

	if (!d->free_senders)
		grow(pe, d);
	s = d->free_senders;
	d->free_senders = s->next;
	s->next = NULL;
	return s;
}

static struct direct_sender *sender_at(const struct direct_pe *d, uint32_t number)
{
	return &d->sender_blocks[number / DIRECT_BLOCK][number % DIRECT_BLOCK];
}

static inline bool is_busy(const struct direct_sender *s)
{
	return direct_hot(s)->not_plain & DIRECT_BUSY;
}

static inline bool is_checked(const struct direct_sender *s)
{
	return direct_hot(s)->not_plain & DIRECT_CHECK;
}

/* ---- choosing the path ------------------------------------------------------------- */

/** Attach what the paths need: the line for the memory path, and where the word is in it. */
static void attach(struct pe *pe, struct direct_sender *s, const struct direct_handle *h)
{
	s->recv_mem = cmi_attach(pe->wire, h->receiver, &h->recv_key, h->recv_addr);
	if (s->recv_mem)
		s->line_mem = cmi_attach(pe->wire, h->receiver, &h->line_key, h->line_addr);
}

static void detach(struct pe *pe, struct direct_sender *s)
{
	if (s->recv_mem)
		cmi_detach(pe->wire, s->recv_mem);
	if (s->line_mem)
		cmi_detach(pe->wire, s->line_mem);
	s->recv_mem = s->line_mem = NULL;
}

/** The receiver's buffer and line are at these addresses here. False if one is NULL. */
static bool map(struct direct_sender *s, unsigned char *dst, struct direct_line *line)
{
	if (!dst || !line)
		return false;
	s->dst = dst;
	s->line = line;
	s->word = s->mode == DIRECT_SEQ ? &line->seq
					: (_Atomic uint64_t *)(void *)(dst + s->body);
	return true;
}

static bool map_remote(struct direct_sender *s, const struct direct_handle *h)
{
	if (!s->recv_mem)
		return false;
	return map(s, cmi_remote_ptr(s->recv_mem, h->recv_addr),
		   s->line_mem ? cmi_remote_ptr(s->line_mem, h->line_addr) : NULL);
}

/** Fill in s->path and the addresses; returns why, for --verbose. */
static const char *choose_path(struct pe *pe, struct direct_sender *s,
			       const struct direct_handle *h)
{
	enum direct_path force = pe->node->direct->force;
	const struct cmi_job *job = pe->node->job;
	bool mapped, rma;

	if (job->node_of[h->receiver] == job->node) {
		/* Within a process there is no wire that could carry anything else. */
		s->path = DIRECT_MEMORY;
		map(s, (unsigned char *)(uintptr_t)h->recv_addr,
		    (struct direct_line *)(uintptr_t)h->line_addr);
		return "same node";
	}
	attach(pe, s, h);
	mapped = map_remote(s, h);
	rma = s->recv_mem && (s->mode == DIRECT_PATTERN || s->line_mem);

	if (mapped && (force == DIRECT_MEMORY || force == DIRECT_UNBOUND)) {
		s->path = DIRECT_MEMORY;
		return "the receive buffer is mapped here";
	}
	if (rma && force == DIRECT_RMA) {
		s->path = DIRECT_RMA;
		return "CK_DIRECT_PATH=rma";
	}
	if (rma && force != DIRECT_MESSAGE && cmi_remote_rma(s->recv_mem)) {
		s->path = DIRECT_RMA;
		return "the network writes the receive buffer itself";
	}
	s->path = DIRECT_MESSAGE;
	if (force == DIRECT_MESSAGE)
		return "CK_DIRECT_PATH=message";
	return s->recv_mem ? "the network cannot write the receive buffer by itself"
			   : "the receive buffer is not from CkDirect_alloc, or on another host";
}

static void say_path(const struct pe *pe, const struct direct_sender *s, const char *why)
{
	enum direct_path force = pe->node->direct->force;
	bool refused = force != DIRECT_UNBOUND && force != s->path;

	fprintf(stderr,
		"chard: channel %u of PE %d, bound by PE %d, %zu bytes: path %s (%s)%s%s%s\n",
		s->channel, s->receiver, pe->id, s->bytes, path_names[s->path], why,
		refused ? "; CK_DIRECT_PATH=" : "", refused ? path_names[force] : "",
		refused ? " is not possible" : "");
}

/* ---- binding ----------------------------------------------------------------------- */

/** False also where the product does not fit. */
static bool adds_up_to(const struct copy_strides *s, uint64_t bytes)
{
	uint64_t n;

	return s->block_bytes && !__builtin_mul_overflow(s->block_bytes, s->blocks, &n) &&
	       !__builtin_mul_overflow(n, s->planes, &n) && n == bytes;
}

/** `strides` is NULL where the data lies in one piece. */
static void check_bindable(struct pe *pe, const char *call, const struct direct_handle *h,
			   const void *send_buf, const struct copy_strides *strides)
{
	struct direct_id id = direct_id_of_handle(h);

	if (h->magic != DIRECT_MAGIC)
		csd_abort(pe, "%s: the handle names no channel%s", call,
			  h->magic == DIRECT_DEAD
				  ? " any more: it was destroyed; create a new one"
				  : "; it must come from CkDirect_createHandle");
	if (direct_is_bound(h))
		direct_broken(pe, call, id, "bind each channel once",
			      "the channel is bound already");
	id.sender = pe->id;
	if (!send_buf)
		direct_broken(pe, call, id, "pass the buffer to send from",
			      "the send buffer is NULL");
	if (!strides && h->mode == DIRECT_PATTERN && ((uintptr_t)send_buf + h->bytes) % 8)
		direct_broken(pe, call, id,
			      "move the buffer, or use CkDirect_createHandleSeq",
			      "the end of the send buffer (%p + %zu) is not 8-aligned", send_buf,
			      (size_t)h->bytes);
	if (strides && !adds_up_to(strides, h->bytes))
		direct_broken(pe, call, id, "describe as many bytes as the channel moves",
			      "%llu x %llu blocks of %llu bytes, but the channel has %zu",
			      (unsigned long long)strides->planes,
			      (unsigned long long)strides->blocks,
			      (unsigned long long)strides->block_bytes, (size_t)h->bytes);
}

static void put_done(struct cmi_op *op);

/** Both ends are on this PE: the receiving end need not poll for our puts. */
static void bind_here(struct pe *pe, const char *call, const struct direct_sender *s)
{
	struct direct_channel_hot *hot =
		direct_channel_find(pe, s->channel, s->channel_generation);

	if (!hot)
		direct_broken(pe, call, direct_id_of_sender(s), "create a new channel",
			      "the receiver has destroyed this channel");
	direct_make_own(pe, hot);
}

/** The receiving end can be seen from here: the line, and the flag beside it. */
static void bind_memory(struct pe *pe, const char *call, struct direct_sender *s)
{
	struct direct_sender_hot *hot = direct_hot(s);

	if (s->receiver == pe->id)
		bind_here(pe, call, s);
	else
		hot->bell = direct_bell_open(pe, s->receiver);
	hot->tell = direct_tell_flag(s->line, s->channel);
	direct_claim(pe, direct_id_of_sender(s), s->line, pe->id);
}

/** What of the channel the sending end keeps for itself. */
static void copy_shape(struct direct_sender *s, const struct direct_handle *h,
		       const void *send_buf)
{
	s->mode = h->mode;
	s->src = send_buf;
	s->bytes = h->bytes;
	s->body = h->mode == DIRECT_PATTERN ? h->bytes - 8 : h->bytes;
	s->receiver = h->receiver;
	s->channel = h->channel;
	s->channel_generation = h->generation;
	s->recv_addr = h->recv_addr;
	s->word_addr = h->mode == DIRECT_PATTERN
			       ? h->recv_addr + s->body
			       : h->line_addr + offsetof(struct direct_line, seq);
}

/** Where nothing here can write into the receive buffer, strided data is gathered into memory of the
 * sending end first. It ends where the rules for send buffers want it to. */
static void stage(struct pe *pe, const char *call, struct direct_sender *s)
{
	size_t pad = -s->bytes % 8;

	s->staging = malloc(s->bytes + pad);
	if (!s->staging)
		csd_abort(pe, "%s: no memory for %zu bytes", call, s->bytes);
	s->src = (unsigned char *)s->staging + pad;
}

/** What a put reads. `strides`: see check_bindable. From here on the handle cannot be bound. */
static void name_sender(struct pe *pe, struct direct_handle *h, const struct direct_sender *s,
			const void *send_buf, const struct copy_strides *strides)
{
	h->sender_pe = pe->id;
	h->sender = s->number;
	h->sender_generation = direct_hot(s)->generation;
	h->here = h->receiver == pe->id;
	h->src = (uintptr_t)send_buf;
	h->dst = (uintptr_t)s->dst;
	if (h->mode == DIRECT_SEQ)
		h->seq_addr = (uintptr_t)s->word;
	h->strided = strides;
	if (strides)
		h->strides = *strides;
}

static void bind_sender(const char *call, struct direct_handle *h, const void *send_buf,
			const struct copy_strides *strides)
{
	struct pe *pe = direct_self(call);
	struct direct_sender *s;
	const char *why;

	check_bindable(pe, call, h, send_buf, strides);
	s = take_record(pe, pe->direct);
	copy_shape(s, h, send_buf);
	s->op.done = put_done;
	s->op.arg = s;
	s->fn = NULL;
	s->dst = NULL;
	s->line = NULL;
	direct_hot(s)->iteration = 0;
	direct_hot(s)->not_plain = pe->node->check ? DIRECT_CHECK : 0;
	direct_hot(s)->bell = NULL;
	why = choose_path(pe, s, h);
	if (s->path != DIRECT_MEMORY)
		direct_hot(s)->not_plain |= DIRECT_FAR;
	if (s->path != DIRECT_MEMORY && strides)
		stage(pe, call, s);
	if (pe->node->verbose)
		say_path(pe, s, why);
	name_sender(pe, h, s, send_buf, strides);
	if (s->path == DIRECT_MEMORY)
		bind_memory(pe, call, s);
	else
		direct_send_bound(pe, s);
}

void CkDirect_assocLocal(CkDirectHandle *h, const void *send_buf)
{
	bind_sender("CkDirect_assocLocal", direct_open(h), send_buf, NULL);
}

void CkDirect_assocLocalStrided(CkDirectHandle *h, const void *base, CkDirectStrides shape)
{
	struct copy_strides s = {
		.block_bytes = shape.block_bytes,
		.blocks = shape.blocks,
		.planes = shape.planes ? shape.planes : 1,
		.stride = shape.stride_bytes,
		.plane_stride = shape.plane_stride_bytes,
	};

	bind_sender("CkDirect_assocLocalStrided", direct_open(h), base, &s);
}

const char *CkDirect_path(const CkDirectHandle *handle)
{
	const struct direct_handle *h = direct_open((CkDirectHandle *)(uintptr_t)handle);
	const struct pe *pe = csd_self();

	if (h->magic != DIRECT_MAGIC || !pe || h->sender_pe != pe->id ||
	    pe->direct->senders[h->sender].generation != h->sender_generation)
		return path_names[DIRECT_UNBOUND];
	return path_names[sender_at(pe->direct, h->sender)->path];
}

/* ---- local completion -------------------------------------------------------------- */

/** Its function will run from the loop. Until then the channel stays busy on every path, so that
 * a program cannot come to depend on the fast one. */
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
		push_done(s->pe->direct, s);
	else
		direct_hot(s)->not_plain &= ~(uint32_t)DIRECT_BUSY;
}

int direct_run_completions(struct pe *pe)
{
	struct direct_pe *d = pe->direct;
	struct direct_sender *s = d->done;
	int n = 0;

	/* All that are here now, once each; what their functions put waits for the next pass. */
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

/** The last put on this end is not complete. The receiver's answer to it may have overtaken the
 * news of its completion, so look at the network before calling it the program's mistake. A put
 * with a function is complete when that has run, which only the loop can do. */
static __attribute__((noinline, cold)) void settle(struct pe *pe, const char *call,
						   const struct direct_sender *s)
{
	for (int i = 0; i < SETTLE_POLLS && is_busy(s) && !s->fn; i++)
		cmi_progress(pe->wire);
	if (is_busy(s))
		direct_broken(pe, call, direct_id_of_sender(s),
			      "wait for the completion that CkDirect_putData reports",
			      "the last put is not locally complete yet");
}

/** The sending end that `h` names, which must live on this PE. */
static inline struct direct_sender_hot *own_sender(struct pe *pe, const char *call,
						   const struct direct_handle *h)
{
	struct direct_sender_hot *hot;

	/* In this order: the number means something on the PE that gave it. */
	if (CSD_UNLIKELY(h->magic != DIRECT_MAGIC || h->sender_pe != pe->id))
		direct_not_a_sender(pe, call, h);
	hot = &pe->direct->senders[h->sender];
	if (CSD_UNLIKELY(hot->generation != h->sender_generation))
		direct_not_a_sender(pe, call, h);
	return hot;
}

static _Noreturn __attribute__((noinline, cold)) void
ends_in_oob(struct pe *pe, const char *call, const struct direct_handle *h)
{
	direct_broken(pe, call, direct_id_of_sender(sender_at(pe->direct, h->sender)),
		      "choose a value that the data never has",
		      "the last 8 bytes of the data are the out-of-band value %#llx",
		      (unsigned long long)h->oob);
}

/** Pattern mode: the last word of the data tells its arrival. */
static inline uint64_t last_word(struct pe *pe, const char *call, const struct direct_handle *h)
{
	uint64_t word;

	if (CSD_UNLIKELY(h->strided))
		word = copy_last_word((const unsigned char *)(uintptr_t)h->src, &h->strides);
	else
		memcpy(&word, (const unsigned char *)(uintptr_t)h->src + h->bytes - 8, 8);
	if (CSD_UNLIKELY(word == h->oob))
		ends_in_oob(pe, call, h);
	return word;
}

/** The first n bytes of the data that `h` is bound to. */
static inline void copy_out(const struct direct_handle *h, unsigned char *dst, size_t n)
{
	const unsigned char *src = (const unsigned char *)(uintptr_t)h->src;

	if (CSD_UNLIKELY(h->strided))
		copy_gather(dst, src, &h->strides, n);
	else if (h->here)
		memcpy(dst, src, n);
	else
		cmi_copy_shared(dst, src, n);
}

/** To another PE, from one piece: told ahead where caches are used. */
static __attribute__((noinline)) void copy_out_large(struct pe *pe, const struct direct_handle *h,
						     unsigned char *dst, size_t n)
{
	const struct direct_sender *s = sender_at(pe->direct, h->sender);
	const unsigned char *src = (const unsigned char *)(uintptr_t)h->src;

	if (cmi_copy_streams())
		copy_large(&pe->direct->copy_way, dst, src, n);
	else
		ahead_copy(dst, src, n, &s->line->written, direct_hot(s)->iteration);
}

/** `h` is the handle through which the sending end was bound: a copy of the body, then the word;
 * and a word to the receiver, if it does not look. */
static inline void put_memory(struct pe *pe, const char *call, const struct direct_handle *h,
			      const struct direct_sender_hot *hot, size_t body,
			      uint64_t word_addr, uint64_t word)
{
	unsigned char *dst = (unsigned char *)(uintptr_t)h->dst;

	if (CSD_UNLIKELY(body >= CMI_COPY_MIN && !h->here && !h->strided))
		copy_out_large(pe, h, dst, body);
	else if (CSD_LIKELY(body))
		copy_out(h, dst, body);
	/* release: pairs with the acquire in pollset_scan; the body is visible to whoever sees
	 * the word. */
	atomic_store_explicit((_Atomic uint64_t *)(uintptr_t)word_addr, word,
			      memory_order_release);
	/* relaxed: ordered by the program; see struct direct_shared. */
	if (!atomic_load_explicit(hot->tell, memory_order_relaxed))
		return;
	if (hot->bell)
		direct_tell(pe, call, h, hot->bell);
	else
		direct_landed_here(pe->direct, h->channel, h->generation);
}

static bool put_rma(struct direct_sender *s, uint64_t word)
{
	struct cmi_remote *tail = s->mode == DIRECT_SEQ ? s->line_mem : s->recv_mem;

	return cmi_put(s->pe->wire, s->recv_mem, s->recv_addr, s->src, s->body, tail,
		       s->word_addr, word, &s->op);
}

static bool put_message(struct direct_sender *s, uint64_t word)
{
	s->head = (struct cmi_put_head){
		.channel = s->channel,
		.generation = s->channel_generation,
		.iteration = direct_hot(s)->iteration,
		.word = word,
	};
	return cmi_put_am(s->pe->wire, s->receiver, &s->head, s->src, s->body, &s->op);
}

/** Everything but the plain memory path. Returns true when locally complete already. */
static bool put_word(struct pe *pe, const char *call, const struct direct_handle *h,
		     struct direct_sender *s, uint64_t word)
{
	switch ((enum direct_path)s->path) {
	case DIRECT_MEMORY:
		if (is_checked(s))
			direct_check_put(pe, call, direct_id_of_sender(s), s->line,
					 s->channel_generation, s->dst, s->bytes);
		put_memory(pe, call, h, direct_hot(s), s->body, (uintptr_t)s->word, word);
		return true;
	case DIRECT_RMA:
		if (!is_checked(s))
			return put_rma(s, word);
		/* Nothing here can see the receiver's state: ask first. */
		s->head.word = word;
		direct_send_ask(pe, s);
		return false;
	default:
		return put_message(s, word);
	}
}

/** Count this put, and return the word that tells its arrival. From here on all paths but the memory
 * path read s->src. */
static uint64_t begin(struct pe *pe, const char *call, const struct direct_handle *h,
		      struct direct_sender *s)
{
	if (CSD_UNLIKELY(is_busy(s)))
		settle(pe, call, s);
	direct_hot(s)->iteration++;
	pe->n_created++;
	if (s->staging)
		copy_out(h, (unsigned char *)(uintptr_t)s->src, s->body);
	return s->mode == DIRECT_SEQ ? direct_seq(s->channel_generation, direct_hot(s)->iteration)
				     : last_word(pe, call, h);
}

void direct_sender_go(struct direct_sender *s)
{
	if (put_rma(s, s->head.word))
		put_done(&s->op);
}

static __attribute__((noinline)) void put_general(struct pe *pe, const char *call,
						  const struct direct_handle *h)
{
	struct direct_sender *s = sender_at(pe->direct, h->sender);
	uint64_t word = begin(pe, call, h, s);

	direct_hot(s)->not_plain |= DIRECT_BUSY;
	if (put_word(pe, call, h, s, word))
		direct_hot(s)->not_plain &= ~(uint32_t)DIRECT_BUSY;
}

/* A plain put touches, beside the two buffers, the front of the handle, the small part of the sending
 * end, and that of the receiving end when it is here: once the handle has come, nothing waits for
 * anything else, and the other misses overlap. */
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
	struct direct_sender *s;
	uint64_t word;

	own_sender(pe, call, h);
	s = sender_at(pe->direct, h->sender);
	word = begin(pe, call, h, s);
	if (CSD_UNLIKELY(!fn || data_bytes > DIRECT_DATA_MAX))
		direct_broken(pe, call, direct_id_of_sender(s), "pass a function and a pointer",
			      "%zu bytes of data (at most %d) for %s function", data_bytes,
			      DIRECT_DATA_MAX, fn ? "the" : "no");
	s->fn = fn;
	if (data_bytes)
		memcpy(s->copy, data, data_bytes);
	pe->n_created++; /* the completion: quiescence waits for its function, too */
	direct_hot(s)->not_plain |= DIRECT_BUSY;
	if (put_word(pe, call, h, s, word))
		push_done(pe->direct, s);
}

/* ---- the end ----------------------------------------------------------------------- */

void direct_sender_destroy(struct pe *pe, const struct direct_handle *h)
{
	static const char call[] = "CkDirect_destroyHandle";
	struct direct_sender *s;

	own_sender(pe, call, h);
	s = sender_at(pe->direct, h->sender);
	if (is_busy(s))
		settle(pe, call, s);
	detach(pe, s);
	if (direct_hot(s)->bell)
		direct_bell_close(direct_hot(s)->bell);
	free(s->staging);
	s->staging = NULL;
	direct_hot(s)->generation++;
	s->path = DIRECT_UNBOUND;
	s->next = pe->direct->free_senders;
	pe->direct->free_senders = s;
}

void direct_senders_stop(struct pe *pe)
{
	struct direct_pe *d = pe->direct;

	for (uint32_t i = 0; i < d->n_sender_blocks * DIRECT_BLOCK; i++)
		/* A put in flight still uses its attachment; closing the wire ends both. */
		if (!is_busy(sender_at(d, i)))
			detach(pe, sender_at(d, i));
}

void direct_senders_free(struct direct_pe *d)
{
	for (uint32_t i = 0; i < d->n_sender_blocks * DIRECT_BLOCK; i++)
		free(sender_at(d, i)->staging);
	for (uint32_t i = 0; i < d->n_sender_blocks; i++)
		free(d->sender_blocks[i]);
	free(d->sender_blocks);
	free(d->senders);
}
