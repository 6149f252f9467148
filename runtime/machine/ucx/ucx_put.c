/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ucx_put.c: puts into attached memory: body, flush, word.
 *
 * The word that tells the arrival is written when a flush that began after the body was written has
 * completed. A flush completes all that was written on its connection before it began. So one flush
 * serves many puts, and a connection has at most one under way:
 *
 *	put 1: body, begin a flush
 *	put 2: body          put 3: body           both wait: that flush need not cover them
 *	flush over: begin one for 2 and 3, store 1's word
 *	flush over: store the words of 2 and 3
 *
 * The first put waits no longer than by itself. Later ones wait for the rest of a flush before
 * their own begins, but a flush that takes a round trip is not made for each of them.
 */
#include "ucx_int.h"

#include <string.h>

/* ---- the word ----------------------------------------------------------------------- */

static ucp_request_param_t param_of(ucp_send_nbx_callback_t cb, void *arg)
{
	return (ucp_request_param_t){
		.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
		.cb.send = cb,
		.user_data = arg,
	};
}

/** Whether a step is complete; an error ends the job. */
static bool step_over(struct ucx_ep *e, ucs_status_ptr_t request)
{
	if (UCS_PTR_IS_ERR(request))
		ucx_failed(e->w, e->pe, "cannot write to", UCS_PTR_STATUS(request));
	return !UCS_PTR_IS_PTR(request);
}

/** The same in a callback, to which the request belongs. */
static bool step_went_well(struct ucx_ep *e, void *request, ucs_status_t status)
{
	ucp_request_free(request);
	if (status != UCS_OK)
		ucx_failed(e->w, e->pe, "cannot write to", status);
	return status == UCS_OK;
}

static struct ucx_ep *ep_of(const struct cmi_op *op)
{
	return ((const struct ucx_remote *)op->tail)->e;
}

static void all_written(void *request, ucs_status_t status, void *arg)
{
	struct cmi_op *op = arg;

	if (step_went_well(ep_of(op), request, status))
		op->done(op);
}

/* A put without a word (cmi_write) is complete when the flush is. */
static bool has_no_word(const struct cmi_op *op)
{
	return !op->tail_addr;
}

/** Write the word that the reader polls, with one store and exactly once. If the memory is mapped
 * here, UCX would write it by memcpy, and glibc's memcpy stores a block of 8 bytes twice: a writer
 * preempted between the two would restore the word after the reader has re-armed it. A network
 * adapter writes it once, as far as the reader sees, and so does the target's own progress where
 * UCX emulates the put. True: complete. */
static bool store_word(struct cmi_op *op)
{
	const struct ucx_remote *tail = (const struct ucx_remote *)op->tail;
	const ucp_request_param_t param = param_of(all_written, op);
	void *p;

	if (has_no_word(op))
		return true;
	if (ucp_rkey_ptr(tail->rkey, op->tail_addr, &p) != UCS_OK)
		return step_over(tail->e, ucp_put_nbx(tail->e->ep, &op->word, sizeof op->word,
						      op->tail_addr, tail->rkey, &param));
	/* release: pairs with the reader's acquire. The flush has brought the body there. */
	atomic_store_explicit((_Atomic uint64_t *)p, op->word, memory_order_release);
	return true;
}

/** Of puts whose bodies are there. One that is done may be used again at once. */
static void store_words(struct cmi_op *op)
{
	while (op) {
		struct cmi_op *next = op->next;

		if (store_word(op))
			op->done(op);
		op = next;
	}
}

/* ---- the flush ---------------------------------------------------------------------- */

static void flushed(void *request, ucs_status_t status, void *arg);

/** Begin a flush for the puts of the list. True: it is complete already, and they are the caller's;
 * false: `flushed` will have them. ucp_worker_fence would not do: with UCX's newer protocols body
 * and word take different lanes, depending on their size, and nearly every word overtakes its
 * body. */
static bool flush_for(struct ucx_ep *e, struct cmi_op *list)
{
	const ucp_request_param_t param = param_of(flushed, e);

	e->covered = list;
	if (!step_over(e, ucp_ep_flush_nbx(e->ep, &param)))
		return false;
	e->covered = NULL;
	return true;
}

/** In the order of the puts. */
static struct cmi_op *take_later(struct ucx_ep *e)
{
	struct cmi_op *list = NULL, *op = e->later;

	e->later = NULL;
	while (op) {
		struct cmi_op *before = op->next;

		op->next = list;
		list = op;
		op = before;
	}
	return list;
}

/* The next flush begins before the words are stored: it need not wait for them. */
static void flushed(void *request, ucs_status_t status, void *arg)
{
	struct ucx_ep *e = arg;
	struct cmi_op *there = e->covered, *later = take_later(e);
	bool also_there;

	e->covered = NULL;
	if (!step_went_well(e, request, status))
		return;
	also_there = later && flush_for(e, later);
	store_words(there);
	if (also_there)
		store_words(later);
}

/** The body is written; it may still be on its way. True: the put is complete. */
static bool after_body(struct cmi_op *op)
{
	struct ucx_ep *e = ep_of(op);

	op->next = NULL;
	if (e->covered) {
		op->next = e->later;
		e->later = op;
		return false;
	}
	return flush_for(e, op) && store_word(op);
}

/* ---- the body ----------------------------------------------------------------------- */

static void body_written(void *request, ucs_status_t status, void *arg)
{
	struct cmi_op *op = arg;

	if (step_went_well(ep_of(op), request, status) && after_body(op))
		op->done(op);
}

/* A put that is only a word needs no flush: nothing of it can come later than the word. */
bool ucx_put(struct cmi_remote *body, uint64_t body_addr, const void *src, size_t bytes,
	     struct cmi_op *op)
{
	const struct ucx_remote *r = (const struct ucx_remote *)body;
	const ucp_request_param_t param = param_of(body_written, op);

	ucx_batch_send(r->e); /* earlier sends go first */
	if (!bytes)
		return store_word(op);
	return step_over(r->e, ucp_put_nbx(r->e->ep, src, bytes, body_addr, r->rkey, &param)) &&
	       after_body(op);
}

bool ucx_get(struct cmi_remote *remote, uint64_t addr, void *dst, size_t bytes, struct cmi_op *op)
{
	const struct ucx_remote *r = (const struct ucx_remote *)remote;
	const ucp_request_param_t param = param_of(all_written, op);

	ucx_batch_send(r->e);
	return step_over(r->e, ucp_get_nbx(r->e->ep, dst, bytes, addr, r->rkey, &param));
}

/* What is compared or added must stay until the operation is complete: op->word. UCX takes what a
 * compare-and-swap stores from where the old value comes. */
bool ucx_atomic(struct cmi_remote *remote, uint64_t addr, enum cmi_atomic what, size_t bytes,
		uint64_t a, uint64_t b, void *old, struct cmi_op *op)
{
	static const ucp_atomic_op_t ops[] = { [CMI_ADD] = UCP_ATOMIC_OP_ADD,
					       [CMI_SWAP] = UCP_ATOMIC_OP_SWAP,
					       [CMI_COMPARE_SWAP] = UCP_ATOMIC_OP_CSWAP };
	const struct ucx_remote *r = (const struct ucx_remote *)remote;
	ucp_request_param_t param = param_of(all_written, op);

	param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER;
	param.datatype = ucp_dt_make_contig(bytes);
	param.reply_buffer = old;
	op->word = a;
	memcpy(old, &b, bytes);
	ucx_batch_send(r->e);
	return step_over(r->e, ucp_atomic_op_nbx(r->e->ep, ops[what], &op->word, 1, addr, r->rkey,
						 &param));
}

bool ucx_put_naive(struct cmi_remote *body, uint64_t body_addr, const void *src, size_t bytes,
		   struct cmi_op *op)
{
	const struct ucx_remote *r = (const struct ucx_remote *)body;
	const ucp_request_param_t param = param_of(all_written, op);

	op->tail = body;
	ucx_batch_send(r->e);
	return step_over(r->e, ucp_put_nbx(r->e->ep, src, bytes, body_addr, r->rkey, &param));
}
