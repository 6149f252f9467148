/* SPDX-License-Identifier: Apache-2.0 */
/*
 * getput.c: CkNcpyBuffer: get and put, one copy from one buffer of the program to another.
 *
 * The calling PE copies at once if it can use both memories: they lie in its process, or in message
 * memory of a process of its host (CkRdmaAlloc), which it has mapped. A buffer carries the name of
 * such memory. Otherwise it sends messages:
 *
 *   get   H_SEND  to the source's PE: it copies into the destination if that is mapped there. If
 *                 not, it sends the data in pieces.
 *   put   H_FETCH to the destination's PE, if the source is mapped there: it copies. If not, the
 *                 data are
 *                 sent at once.
 *   both  H_DATA  to the destination's PE: one piece. WINDOW pieces are under way at a time: each
 *                 one that has been copied asks for another (H_SEND), so a transfer needs memory
 *                 for WINDOW pieces however large it is. Messages between two PEs keep their order,
 *                 so the last piece is the last to arrive, and nobody has to remember which ones
 *                 have.
 *
 * The messages contain the whole state: no PE keeps a record of a transfer. Every step is a counted
 * message or a callback's message, so quiescence waits for open transfers.
 *
 * In checked mode only a buffer's own process uses its memory, because only that process knows
 * whether the buffer has ended (live.c).
 */
#include "buffers.h"
#include "../core/shape.h"

#include <string.h>

enum {
	/* Bytes: a piece fits the second-level cache of the core that copies it out. */
	PIECE = 256 << 10,
	WINDOW = 2,               /* pieces: one is copied in while the other is copied out */
};

enum { H_SEND, H_FETCH, H_DATA };

/* `state` of a buffer. */
enum { MADE = 0x4d616465, ENDED = 0x456e6465 };

struct transfer_msg {
	struct cmi_msg head;
	CkNcpyBuffer dst, src;
	uint64_t at;              /* the piece's offset; SEND at 0: all of it */
	uint64_t n;               /* DATA: the piece's bytes */
	_Alignas(16) char data[];
};

/* ---- buffers --------------------------------------------------------------------------------- */

void CkNcpyBufferInit(CkNcpyBuffer *b, const void *ptr, size_t bytes, CkCallback done)
{
	struct pe *pe = ck_self();

	if (!ptr && bytes)
		csd_abort(pe, "CkNcpyBufferInit: %zu bytes at NULL", bytes);
	memset(b, 0, sizeof *b); /* padding too: it is sent */
	b->ptr = ptr;
	b->done = done;
	b->bytes = bytes;
	b->pe = pe->id;
	b->state = MADE;
	b->shared = cmi_shared_name(pe->wire, ptr, bytes);
	if (pe->node->check)
		b->number = live_begin(pe, ptr, bytes);
}

static void check_names_memory(struct pe *pe, const char *call, const char *side,
			       const CkNcpyBuffer *b)
{
	if (b->state == ENDED)
		csd_abort(pe, "%s: the %s has ended: it was given to CkNcpyBufferDeregister", call, side);
	if (b->state != MADE || b->pe < 0 || b->pe >= pe->node->job->n_pes)
		csd_abort(pe, "%s: the %s names no memory: CkNcpyBufferInit makes a buffer", call, side);
}

static void check_here(struct pe *pe, const char *call, const char *side, const CkNcpyBuffer *b)
{
	if (!pe_is_here(pe, b->pe))
		csd_abort(pe, "%s on PE %d: the %s lies in another process, that of PE %d; call it there, or "
			  "turn get into put", call, pe->id, side, b->pe);
}

void CkNcpyBufferDeregister(CkNcpyBuffer *b)
{
	static const char call[] = "CkNcpyBufferDeregister";
	struct pe *pe = ck_self();

	check_names_memory(pe, call, "buffer", b);
	check_here(pe, call, "buffer", b);
	if (pe->node->check)
		live_end(pe, b);
	b->state = ENDED;
}

/* The memory of a message that is never sent: other processes of the host can use it. */
void *CkRdmaAlloc(size_t bytes)
{
	struct pe *pe = ck_self();
	struct ck_env *env = env_new(pe, 0, bytes);

	env->head.mark = OWNER_PROGRAM;
	return payload_of(env);
}

void CkRdmaFree(void *p)
{
	struct pe *pe = ck_self();

	if (!p)
		return;
	if (!pe->node->check) {
		csd_msg_free(pe, &env_of(p)->head);
		return;
	}
	owner_check_use(pe, env_of(p), "CkRdmaFree");
	live_freed(pe, p, env_of(p)->head.size - sizeof(struct ck_env));
	owner_free(pe, env_of(p));
}

/* ---- one copy -------------------------------------------------------------------------------- */

static void tell_done(struct pe *pe, const CkNcpyBuffer *b)
{
	if (b->done.kind != CB_NONE && b->done.kind != CB_IGNORE)
		callback_fire(pe, &b->done, CK_BYTE, b, sizeof *b, sizeof *b);
}

/* The buffer's address in this process; NULL: it is not mapped. */
static void *buffer_address(const struct pe *pe, const CkNcpyBuffer *b)
{
	if (pe_is_here(pe, b->pe))
		return (void *)(uintptr_t)b->ptr;
	return pe->node->check ? NULL : cmi_shared_at(pe->wire, b->pe, b->shared);
}

/* The getting PE reads the data next. The memory of others is written as a message's is. */
static void copy_buffer(const struct pe *pe, const CkNcpyBuffer *dst, void *to, const void *from,
			size_t n)
{
	if (to == from)
		return;
	if (dst->pe == pe->id)
		memcpy(to, from, n);
	else
		CkGen_copyBulk(to, from, n);
}

/* Copy everything at once and tell both sides, if this process can. */
static bool copied(struct pe *pe, const CkNcpyBuffer *dst, const CkNcpyBuffer *src)
{
	void *to = buffer_address(pe, dst);
	const void *from = buffer_address(pe, src);

	if (src->bytes) {
		if (!to || !from)
			return false;
		copy_buffer(pe, dst, to, from, src->bytes);
	}
	tell_done(pe, src);
	tell_done(pe, dst);
	return true;
}

/* ---- in pieces ------------------------------------------------------------------------------- */

static struct transfer_msg *transfer_new(struct pe *pe, int handler, const CkNcpyBuffer *dst,
					 const CkNcpyBuffer *src, uint64_t at, uint64_t n)
{
	struct transfer_msg *t = ck_msg_new(pe, PART_GETPUT, handler, 0, sizeof *t + n);

	t->dst = *dst;
	t->src = *src;
	t->at = at;
	t->n = n;
	return t;
}

static void ask_for(struct pe *pe, const CkNcpyBuffer *dst, const CkNcpyBuffer *src, uint64_t at)
{
	csd_send(pe, src->pe, &transfer_new(pe, H_SEND, dst, src, at, 0)->head);
}

static void send_data(struct pe *pe, const CkNcpyBuffer *dst, const CkNcpyBuffer *src, uint64_t at)
{
	const uint64_t left = src->bytes - at, n = left < PIECE ? left : PIECE;
	struct transfer_msg *t = transfer_new(pe, H_DATA, dst, src, at, n);

	CkGen_copyBulk(t->data, (const char *)src->ptr + at, n);
	csd_send(pe, dst->pe, &t->head);
	if (n == left)
		tell_done(pe, src);
}

static void send_first(struct pe *pe, const CkNcpyBuffer *dst, const CkNcpyBuffer *src)
{
	for (uint64_t at = 0; at < src->bytes && at < WINDOW * PIECE; at += PIECE)
		send_data(pe, dst, src, at);
}

/* On the source's PE. */
static void send_arrived(struct pe *pe, struct cmi_msg *m)
{
	const struct transfer_msg *t = (const struct transfer_msg *)m;

	if (pe->node->check)
		live_check(pe, "CkNcpyGet or CkNcpyPut", "source", &t->src);
	if (t->at)
		send_data(pe, &t->dst, &t->src, t->at);
	else if (!copied(pe, &t->dst, &t->src))
		send_first(pe, &t->dst, &t->src);
	csd_msg_free(pe, m);
}

/* On the destination's PE. */
static void fetch_arrived(struct pe *pe, struct cmi_msg *m)
{
	const struct transfer_msg *t = (const struct transfer_msg *)m;

	if (pe->node->check)
		live_check(pe, "CkNcpyPut", "destination", &t->dst);
	if (!copied(pe, &t->dst, &t->src))
		ask_for(pe, &t->dst, &t->src, 0);
	csd_msg_free(pe, m);
}

static void data_arrived(struct pe *pe, struct cmi_msg *m)
{
	const struct transfer_msg *t = (const struct transfer_msg *)m;

	if (pe->node->check)
		live_check(pe, "CkNcpyGet or CkNcpyPut", "destination", &t->dst);
	memcpy((char *)(uintptr_t)t->dst.ptr + t->at, t->data, t->n);
	if (t->at + t->n == t->src.bytes)
		tell_done(pe, &t->dst);
	else if (t->at + WINDOW * PIECE < t->src.bytes)
		ask_for(pe, &t->dst, &t->src, t->at + WINDOW * PIECE);
	csd_msg_free(pe, m);
}

/* ---- for programs ---------------------------------------------------------------------------- */

static void check_pair(struct pe *pe, const char *call, const CkNcpyBuffer *dst,
		       const CkNcpyBuffer *src)
{
	check_names_memory(pe, call, "source", src);
	check_names_memory(pe, call, "destination", dst);
	if (src->bytes > dst->bytes)
		csd_abort(pe, "%s: the source, of PE %d, has %zu bytes; the destination, of PE %d, has room for "
			  "%zu", call, src->pe, src->bytes, dst->pe, dst->bytes);
	if (pe->node->check && pe_is_here(pe, src->pe))
		live_check(pe, call, "source", src);
	if (pe->node->check && pe_is_here(pe, dst->pe))
		live_check(pe, call, "destination", dst);
}

bool CkNcpyGet(const CkNcpyBuffer *dst, const CkNcpyBuffer *src)
{
	static const char call[] = "CkNcpyGet";
	struct pe *pe = ck_self();

	check_pair(pe, call, dst, src);
	check_here(pe, call, "destination", dst);
	if (copied(pe, dst, src))
		return true;
	ask_for(pe, dst, src, 0);
	return false;
}

bool CkNcpyPut(const CkNcpyBuffer *src, const CkNcpyBuffer *dst)
{
	static const char call[] = "CkNcpyPut";
	struct pe *pe = ck_self();

	check_pair(pe, call, dst, src);
	check_here(pe, call, "source", src);
	if (copied(pe, dst, src))
		return true;
	if (pe->node->check || cmi_shared_ref(pe->wire, dst->pe, src->ptr, src->bytes))
		csd_send(pe, dst->pe, &transfer_new(pe, H_FETCH, dst, src, 0, 0)->head);
	else
		send_first(pe, dst, src);
	return false;
}

/* ---- checks of messages from other processes ------------------------------------------------- */

/* The runtime keeps no list of buffers, except in checked mode, so an address cannot be checked;
 * but both buffers are complete, and the source fits the destination. */
static const char *buffers_misfit(struct pe *pe, const struct transfer_msg *t,
				  const CkNcpyBuffer *mine)
{
	const CkNcpyBuffer *both[] = { &t->dst, &t->src };

	for (int i = 0; i < 2; i++) {
		const CkNcpyBuffer *b = both[i];

		if (b->state != MADE || b->pe < 0 || b->pe >= pe->node->job->n_pes)
			return "it names no buffer";
		if (b->done.kind != CB_NONE && shape_callback(pe, &b->done))
			return shape_callback(pe, &b->done);
		/* The name of a buffer on another host means nothing here, and is not used. */
		if (!pe_is_here(pe, b->pe) && cmi_shared_at(pe->wire, b->pe, b->shared) &&
		    !cmi_shared_fits(pe->node->machine, b->shared, b->bytes))
			return "its buffer does not lie in shared memory";
	}
	if (mine->pe != pe->id || (!mine->ptr && mine->bytes))
		return "its buffer is not one of this PE";
	return t->src.bytes <= t->dst.bytes ? NULL : "its source is larger than its destination";
}

static const char *send_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct transfer_msg *t = (const struct transfer_msg *)m;

	return t->n || t->at % PIECE || (t->at && t->at >= t->src.bytes) ?
		       "it asks for no piece of the source" :
		       buffers_misfit(pe, t, &t->src);
}

static const char *fetch_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct transfer_msg *t = (const struct transfer_msg *)m;

	return t->n || t->at ? "it is not a request" : buffers_misfit(pe, t, &t->dst);
}

static const char *data_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct transfer_msg *t = (const struct transfer_msg *)m;
	const uint64_t left = t->at <= t->src.bytes ? t->src.bytes - t->at : 0;

	return t->n != m->size - sizeof *t || t->at % PIECE || t->n != (left < PIECE ? left : PIECE) ?
	       "it is not a piece of the source" : buffers_misfit(pe, t, &t->dst);
}

static const struct ck_handler handlers[] = {
	[H_SEND] = { "ck.buffer.send", send_arrived,
		     .shape = { CK_SHAPE_STRUCT(struct transfer_msg), .misfit = send_misfit } },
	[H_FETCH] = { "ck.buffer.fetch", fetch_arrived,
		      .shape = { CK_SHAPE_STRUCT(struct transfer_msg), .misfit = fetch_misfit } },
	[H_DATA] = { "ck.buffer.data", data_arrived,
		     .shape = { .least = sizeof(struct transfer_msg), .misfit = data_misfit } },
};

const struct ck_part getput_part = {
	.name = "getput",
	.number = PART_GETPUT,
	.handlers = CK_LIST(handlers),
};
