/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rma.c: gets, puts and atomics that a network does by itself, without the PE that has the memory.
 * It needs the key of that memory, so the first operation on it asks its PE, once, and goes by
 * message meanwhile (far.c). Stores always do: that PE must be told anyway.
 *
 * What ends is noted in the machine's progress, and told by a message to this PE itself: callbacks
 * may not run in there. Each operation counts as a message, for quiescence.
 */
#include "global_int.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

/** Memory of another PE: of a spread, or what one key covers of its other memory. */
struct reached {
	struct reached *next;
	uint32_t of;              /* as CkGlobal.of */
	uint64_t low, high;       /* of a spread: offsets in the PE's part; else as CkGlobal.at */
	uint64_t base;            /* the address of `low` there */
	struct cmi_remote *remote; /* ours; NULL: it is not reached so */
};

struct rma_op {
	struct cmi_op op;
	struct rma_op *next;
	struct pe *pe;
	uint32_t set;
	uint64_t old;             /* of an atomic of which nobody wants it */
};

struct rma {
	struct reached **of_pe;   /* ours: [n_pes] */
	bool *asked;              /* ours: [n_pes]: an answer is on its way */
	struct rma_op *free;      /* ours */
	struct rma_op *done;      /* ... and those that have ended; not told yet */
};

/** A question, with `at`, and its answer. */
struct key_msg {
	struct cmi_msg head;
	uint32_t answers;
	uint32_t of;              /* the answer's: as in struct reached */
	CkGlobal at;
	uint64_t low, high, base;
	struct cmi_key key;
};

static struct rma *rma_of(struct pe *pe)
{
	struct global_pe *o = global_of(pe);
	const size_t n = (size_t)pe->node->job->n_pes;

	if (!o->rma) {
		o->rma = cmi_alloc_zero(1, sizeof *o->rma, "remote access");
		o->rma->of_pe = cmi_alloc_zero(n, sizeof *o->rma->of_pe, "remote access");
		o->rma->asked = cmi_alloc_zero(n, sizeof *o->rma->asked, "remote access");
	}
	return o->rma;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static struct key_msg *key_msg_new(struct pe *pe, uint32_t answers, CkGlobal at)
{
	struct key_msg *m = ck_msg_new(pe, PART_GLOBAL, H_KEY, 0, sizeof *m);

	memset(&m->answers, 0, sizeof *m - sizeof m->head);
	m->answers = answers;
	m->of = at.of;
	m->at = at;
	return m;
}

/* Of other memory than that of CkGlobalAlloc and spreads no key is made: it may be freed and be
 * memory of something else, while its key stays. */
static void answer(struct pe *pe, const struct key_msg *asked)
{
	struct cmi *m = pe->node->machine;
	const char *p = own_memory(pe, asked->at, 0, "an operation", asked->head.src_pe), *base;
	struct key_msg *a = key_msg_new(pe, 1, asked->at);
	size_t bytes;

	a->high = UINT64_MAX;
	base = cmi_mem_chunk(m, p, &bytes);
	if (base) {
		cmi_mem_key(m, p, 1, &a->key);
		a->low = a->at.of == GLOBAL_PLACE ? a->at.at - (uint64_t)(p - base) : (uintptr_t)base;
		a->high = a->low + bytes;
		a->base = (uintptr_t)base;
	}
	if (a->of >= GLOBAL_SPREADS) {
		const struct spread *s = spread_of(pe, a->of);

		a->low = 0;
		a->high = s->part;
		a->base = (uintptr_t)s->mine;
	}
	csd_send(pe, asked->head.src_pe, &a->head);
}

static void answered(struct pe *pe, const struct key_msg *a)
{
	struct rma *r = rma_of(pe);
	const int from = a->head.src_pe;
	struct reached *e = cmi_alloc_zero(1, sizeof *e, "remote access");

	r->asked[from] = false;
	*e = (struct reached){ r->of_pe[from], a->of, a->low, a->high, a->base, NULL };
	r->of_pe[from] = e;
	if (a->key.len)
		e->remote = cmi_attach(pe->wire, from, &a->key, a->base);
	if (e->remote && !cmi_remote_rma(e->remote) && global_path(pe) != GLOBAL_RMA) {
		cmi_detach(pe->wire, e->remote);
		e->remote = NULL;
	}
}

void key_arrived(struct pe *pe, struct cmi_msg *m)
{
	const struct key_msg *k = (const struct key_msg *)m;

	if (k->answers)
		answered(pe, k);
	else
		answer(pe, k);
	csd_msg_free(pe, m);
}

const char *key_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct key_msg *k = (const struct key_msg *)m;
	const struct rma *r = global_of(pe)->rma;

	if (m->size != sizeof *k || k->key.len > sizeof k->key.bytes || k->low > k->high)
		return "it has no key";
	if (k->answers && !(r && r->asked[m->src_pe]))
		return "it answers what nobody has asked";
	return NULL;
}

static void ask_key(struct pe *pe, int to, CkGlobal g)
{
	if (rma_of(pe)->asked[to])
		return;
	rma_of(pe)->asked[to] = true;
	csd_send(pe, to, &key_msg_new(pe, 0, g)->head);
}

static bool never(const struct pe *pe, int to)
{
	return pe->node->check || global_path(pe) == GLOBAL_MESSAGE ||
	       !cmi_has_rma(pe->wire, to, global_path(pe) == GLOBAL_RMA);
}

/* The memory that has these bytes, and their address there; NULL: it is not reached. */
static struct cmi_remote *find(struct pe *pe, int to, CkGlobal g, size_t bytes, uint64_t *addr_p)
{
	uint64_t at = g.at;
	int whose;

	if (never(pe, to))
		return NULL;
	if (g.of >= GLOBAL_SPREADS)
		at = spread_where(spread_of(pe, g.of), g.at, &whose);
	for (const struct reached *e = rma_of(pe)->of_pe[to]; e; e = e->next)
		if (e->of == g.of && at >= e->low && at < e->high && bytes <= e->high - at) {
			*addr_p = e->base + (at - e->low);
			return e->remote;
		}
	ask_key(pe, to, g);
	return NULL;
}

bool rma_reaches(struct pe *pe, int to, CkGlobal g)
{
	uint64_t addr;

	return find(pe, to, g, 1, &addr) != NULL;
}

/* ---- operations ------------------------------------------------------------------------------ */

static void told(struct pe *pe, struct rma_op *o)
{
	const uint32_t set = o->set;

	o->next = rma_of(pe)->free;
	rma_of(pe)->free = o;
	set_close(pe, set, 1);
}

void done_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct rma_op *o = rma_of(pe)->done, *next;

	csd_msg_free(pe, m);
	rma_of(pe)->done = NULL;
	for (; o; o = next) {
		next = o->next;
		told(pe, o);
	}
}

/* In the machine's progress. */
static void op_done(struct cmi_op *op)
{
	struct rma_op *o = op->arg;
	struct pe *pe = o->pe;
	struct cmi_msg *m;

	pe->n_processed++;
	o->next = rma_of(pe)->done;
	rma_of(pe)->done = o;
	if (o->next)
		return;
	m = ck_msg_new(pe, PART_GLOBAL, H_DONE, 0, sizeof *m);
	csd_send(pe, pe->id, m);
}

static struct rma_op *op_begin(struct pe *pe, uint32_t set)
{
	struct rma *r = rma_of(pe);
	struct rma_op *o = r->free;

	if (o)
		r->free = o->next;
	else
		o = cmi_alloc_zero(1, sizeof *o, "remote access");
	o->pe = pe;
	o->set = set;
	o->op.done = op_done;
	o->op.arg = o;
	pe->n_created++;
	return o;
}

/* What is over at once is not told by message. */
static bool op_began(struct pe *pe, struct rma_op *o, bool over)
{
	if (over) {
		pe->n_processed++;
		told(pe, o);
	}
	return true;
}

bool rma_get(struct pe *pe, int to, uint32_t set, void *dst, CkGlobal from, size_t bytes)
{
	uint64_t addr;
	struct cmi_remote *r = find(pe, to, from, bytes, &addr);
	struct rma_op *o = r ? op_begin(pe, set) : NULL;

	return r && op_began(pe, o, cmi_get(pe->wire, r, addr, dst, bytes, &o->op));
}

bool rma_put(struct pe *pe, int to, uint32_t set, CkGlobal at, const void *src, size_t bytes)
{
	uint64_t addr;
	struct cmi_remote *r = find(pe, to, at, bytes, &addr);
	struct rma_op *o = r ? op_begin(pe, set) : NULL;

	return r && op_began(pe, o, cmi_write(pe->wire, r, addr, src, bytes, &o->op));
}

bool rma_atomic(struct pe *pe, int to, uint32_t set, void *old, int what, CkGlobal g, size_t bytes,
		uint64_t a, uint64_t b)
{
	uint64_t addr;
	struct cmi_remote *r = find(pe, to, g, bytes, &addr);
	struct rma_op *o = r ? op_begin(pe, set) : NULL;
	const enum cmi_atomic as = (enum cmi_atomic)(what - CK_ATOMIC_ADD + CMI_ADD);

	return r && op_began(pe, o, cmi_atomic(pe->wire, r, addr, as, bytes, a, b, old ? old : &o->old,
					       &o->op));
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Operations that are still under way belong to a job that was ended early: the machine may write
 * to them until it is closed, so they are left. */
void rma_stop(struct pe *pe)
{
	struct rma *r = global_of(pe)->rma;
	struct rma_op *o;

	if (!r)
		return;
	for (int i = 0; i < pe->node->job->n_pes; i++)
		for (struct reached *e = r->of_pe[i], *next; e; e = next) {
			next = e->next;
			if (e->remote)
				cmi_detach(pe->wire, e->remote);
			free(e);
		}
	while ((o = r->free)) {
		r->free = o->next;
		free(o);
	}
	while ((o = r->done)) {
		r->done = o->next;
		free(o);
	}
	free(r->of_pe);
	free(r->asked);
	free(r);
	global_of(pe)->rma = NULL;
}
