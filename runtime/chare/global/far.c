/* SPDX-License-Identifier: Apache-2.0 */
/*
 * far.c: operations on memory that load and store do not reach, by messages to its PE, which reads
 * or writes it there.
 *
 *	ASK   records, each a struct ask with what is to be written behind it
 *	TELL  records, each a struct told with what has been read behind it
 *
 * Small records to one PE travel together: they wait for the end of the scheduler's turn, that is
 * for a message that this PE sends to itself with the first of them, or until somebody waits. All
 * answers to a message come back in one. Gets and puts of more than SMALL bytes go in pieces of
 * their own, WINDOW at a time: each one that is done asks for another, so a transfer needs memory
 * for WINDOW pieces however large it is. A store has no answer, so all its pieces go at once.
 *
 * All these messages are counted, so quiescence waits for them.
 */
#include "global_int.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

enum {
	PACKET = 4096,            /* bytes of a message of small records */
	SMALL = 1024,             /* bytes of data of such a record */
	PIECE = 256 << 10,        /* fits the second-level cache of the core that copies it out */
	WINDOW = 4,               /* pieces */
};

/** What is asked. ASK_PIECE: of a put; its answer names the operation. */
enum { ASK_GET = 1, ASK_PUT, ASK_PIECE, ASK_STORE, ASK_ATOMIC };

struct ask {
	CkGlobal at;
	uint32_t no;              /* of the asking PE: a set (ASK_PUT), an operation, or 0 (stores) */
	uint32_t n;               /* bytes */
	uint8_t what;
	uint8_t atomic;           /* what CkAtomic does */
	uint8_t phase;            /* of a store, modulo PHASES */
	uint8_t unused;
	uint32_t piece;           /* the bytes begin so many PIECEs behind `at` in the PE's memory */
	_Alignas(8) char data[];  /* ASK_PUT, ASK_PIECE, ASK_STORE: [n]; ASK_ATOMIC: struct operands */
};

struct operands {
	uint64_t a, b;
};

/** Answers. DATA: of a get or an atomic. DONE: n puts of the set `no`. PIECE: n bytes of a put. */
enum { TELL_DATA = 1, TELL_DONE, TELL_PIECE };

struct told {
	uint32_t no;
	uint32_t n;
	uint32_t what, unused;
	_Alignas(8) char data[];  /* TELL_DATA: [n] */
};

/** A get, an atomic, or a put in pieces. */
struct op {
	uint32_t next;            /* free ones (slots.h) */
	uint32_t set;
	char *mem;                /* what is read or written here; NULL: nobody wants it */
	CkGlobal at;
	int32_t pe;
	bool puts;
	bool open;
	uint64_t bytes, asked, done;
};

/** Records that wait for the end of the turn. */
struct waiting {
	struct cmi_msg *m;        /* NULL: none */
	bool listed;
};

struct far {
	struct slots ops;
	struct waiting *waiting;  /* ours: [n_pes] */
	int *list, n_list;        /* ours: [n_pes]: for which PEs some may wait */
	bool flushes;             /* the message for the end of the turn is queued */
};

static struct far *far_of(struct pe *pe)
{
	struct global_pe *o = global_of(pe);
	const size_t n = (size_t)pe->node->job->n_pes;

	if (!o->far) {
		o->far = cmi_alloc_zero(1, sizeof *o->far, "gets and puts");
		o->far->ops.bytes = sizeof(struct op);
		o->far->waiting = cmi_alloc_zero(n, sizeof *o->far->waiting, "gets and puts");
		o->far->list = cmi_alloc_zero(n, sizeof *o->far->list, "gets and puts");
	}
	return o->far;
}

/* Records begin at multiples of 8. */
static size_t record_bytes(size_t head, size_t data)
{
	return (head + data + 7) & ~(size_t)7;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* A message for records: `size` is what they use. */
static struct cmi_msg *packet_new(struct pe *pe, int handler, size_t room)
{
	struct cmi_msg *m = ck_msg_new(pe, PART_GLOBAL, handler, 0, sizeof *m + room);

	m->size = sizeof *m;
	return m;
}

static void *packet_take(struct cmi_msg *m, size_t bytes)
{
	void *at = (char *)m + m->size;

	m->size += bytes;
	return at;
}

static void send_waiting(struct pe *pe, int to)
{
	struct waiting *w = &far_of(pe)->waiting[to];

	if (w->m)
		csd_send(pe, to, w->m);
	w->m = NULL;
}

void far_flush(struct pe *pe)
{
	struct far *a = global_of(pe)->far;

	while (a && a->n_list) {
		const int to = a->list[--a->n_list];

		a->waiting[to].listed = false;
		send_waiting(pe, to);
	}
}

void far_flush_arrived(struct pe *pe, struct cmi_msg *m)
{
	csd_msg_free(pe, m);
	far_of(pe)->flushes = false;
	far_flush(pe);
}

static void flush_soon(struct pe *pe)
{
	struct cmi_msg *m;

	if (far_of(pe)->flushes)
		return;
	far_of(pe)->flushes = true;
	m = ck_msg_new(pe, PART_GLOBAL, H_FLUSH, 0, sizeof *m);
	csd_send(pe, pe->id, m);
}

/* A record that travels with others. */
static struct ask *ask_small(struct pe *pe, int to, size_t data)
{
	struct far *a = far_of(pe);
	struct waiting *w = &a->waiting[to];
	const size_t bytes = record_bytes(sizeof(struct ask), data);

	if (w->m && w->m->size + bytes > PACKET)
		send_waiting(pe, to);
	if (!w->m)
		w->m = packet_new(pe, H_ASK, PACKET - sizeof *w->m);
	if (!w->listed)
		a->list[a->n_list++] = to;
	w->listed = true;
	flush_soon(pe);
	return packet_take(w->m, bytes);
}

/* A record of its own; those that wait go first. */
static void ask_alone(struct pe *pe, int to, const struct ask *what, const void *data, size_t n)
{
	const size_t bytes = record_bytes(sizeof *what, n);
	struct cmi_msg *m = packet_new(pe, H_ASK, bytes);
	struct ask *ask = packet_take(m, bytes);

	*ask = *what;
	if (n)
		CkGen_copyBulk(ask->data, data, n);
	send_waiting(pe, to);
	csd_send(pe, to, m);
}

/* ---- operations ------------------------------------------------------------------------------ */

static struct op *op_at(struct pe *pe, uint32_t no)
{
	return slot_at(&far_of(pe)->ops, no);
}

static uint32_t op_new(struct pe *pe, int to, uint32_t set, void *mem, CkGlobal at, size_t bytes)
{
	const uint32_t no = slot_take(&far_of(pe)->ops, "gets and puts");

	*op_at(pe, no) = (struct op){ .set = set, .mem = mem, .at = at, .pe = to, .open = true,
				      .bytes = bytes };
	return no;
}

static void op_over(struct pe *pe, uint32_t no)
{
	const uint32_t set = op_at(pe, no)->set;

	op_at(pe, no)->open = false;
	slot_give(&far_of(pe)->ops, no);
	set_close(pe, set, 1);
}

static void piece_ask(struct pe *pe, uint32_t no)
{
	struct op *o = op_at(pe, no);
	const uint64_t left = o->bytes - o->asked, n = left < PIECE ? left : PIECE;
	const struct ask ask = { .at = o->at, .no = no, .n = (uint32_t)n,
				 .what = o->puts ? ASK_PIECE : ASK_GET, .piece = (uint32_t)(o->asked / PIECE) };
	const char *from = o->mem + o->asked;

	o->asked += n;
	ask_alone(pe, o->pe, &ask, from, o->puts ? n : 0);
}

static void pieces_begin(struct pe *pe, uint32_t no)
{
	for (int i = 0; i < WINDOW && op_at(pe, no)->asked < op_at(pe, no)->bytes; i++)
		piece_ask(pe, no);
}

void far_get(struct pe *pe, int to, uint32_t set, void *dst, CkGlobal from, size_t bytes)
{
	uint32_t no;

	if (rma_get(pe, to, set, dst, from, bytes))
		return;
	no = op_new(pe, to, set, dst, from, bytes);
	if (bytes > SMALL) {
		pieces_begin(pe, no);
		return;
	}
	op_at(pe, no)->asked = bytes;
	*ask_small(pe, to, 0) =
		(struct ask){ .at = from, .no = no, .n = (uint32_t)bytes, .what = ASK_GET };
}

void far_put(struct pe *pe, int to, uint32_t set, CkGlobal at, const void *src, size_t bytes)
{
	struct ask *ask;
	uint32_t no;

	if (rma_put(pe, to, set, at, src, bytes))
		return;
	if (bytes <= SMALL) {
		ask = ask_small(pe, to, bytes);
		*ask = (struct ask){ .at = at, .no = set, .n = (uint32_t)bytes, .what = ASK_PUT };
		memcpy(ask->data, src, bytes);
		return;
	}
	/* It is only read. */
	no = op_new(pe, to, set, (void *)(uintptr_t)src, at, bytes);
	op_at(pe, no)->puts = true;
	pieces_begin(pe, no);
}

void far_atomic(struct pe *pe, int to, uint32_t set, void *old, int what, CkGlobal g, size_t bytes,
		 uint64_t a, uint64_t b)
{
	const struct operands operands = { a, b };
	struct ask *ask;
	uint32_t no;

	if (rma_atomic(pe, to, set, old, what, g, bytes, a, b))
		return;
	no = op_new(pe, to, set, old, g, bytes);
	ask = ask_small(pe, to, sizeof operands);
	op_at(pe, no)->asked = bytes;
	*ask = (struct ask){ .at = g, .no = no, .n = (uint32_t)bytes, .what = ASK_ATOMIC,
			     .atomic = (uint8_t)what };
	memcpy(ask->data, &operands, sizeof operands);
}

void far_store(struct pe *pe, int to, CkGlobal at, const void *src, size_t bytes, unsigned phase)
{
	struct ask ask = { .at = at, .what = ASK_STORE, .phase = (uint8_t)phase }, *small;

	if (bytes <= SMALL) {
		ask.n = (uint32_t)bytes;
		small = ask_small(pe, to, bytes);
		*small = ask;
		memcpy(small->data, src, bytes);
		return;
	}
	for (size_t done = 0; done < bytes; done += ask.n, ask.piece++) {
		ask.n = (uint32_t)(bytes - done < PIECE ? bytes - done : PIECE);
		ask_alone(pe, to, &ask, (const char *)src + done, ask.n);
	}
}

/* ---- on the PE that has the memory ----------------------------------------------------------- */

/** The answers to one message. */
struct answer {
	struct pe *pe;
	int to;
	struct cmi_msg *m;        /* NULL: there is none yet */
	size_t room;              /* of m, head included */
	struct told *last;        /* in m */
};

static void answer_send(struct answer *a)
{
	if (a->m)
		csd_send(a->pe, a->to, a->m);
	a->m = NULL;
	a->last = NULL;
}

static struct told *tell(struct answer *a, unsigned what, uint32_t no, uint32_t n, size_t data)
{
	const size_t bytes = record_bytes(sizeof(struct told), data);

	if (a->m && a->m->size + bytes > a->room)
		answer_send(a);
	if (!a->m) {
		a->room = sizeof *a->m + (bytes > PACKET - sizeof *a->m ? bytes : PACKET - sizeof *a->m);
		a->m = packet_new(a->pe, H_TELL, a->room - sizeof *a->m);
	}
	a->last = packet_take(a->m, bytes);
	*a->last = (struct told){ .no = no, .n = n, .what = what };
	return a->last;
}

/* Puts of one set that follow each other have one answer. */
static void tell_put(struct answer *a, uint32_t set)
{
	if (a->last && a->last->what == TELL_DONE && a->last->no == set)
		a->last->n++;
	else
		tell(a, TELL_DONE, set, 1, 0);
}

static const char *const calls[] = {
	[ASK_GET] = "CkGet", [ASK_PUT] = "CkPut", [ASK_PIECE] = "CkPut", [ASK_STORE] = "CkStore",
	[ASK_ATOMIC] = "CkAtomic",
};

static void do_atomic(struct answer *a, const struct ask *ask, char *p)
{
	struct operands with;
	uint64_t old;

	memcpy(&with, ask->data, sizeof with);
	if ((uintptr_t)p % ask->n)
		csd_abort(a->pe, "CkAtomic by PE %d: the %u bytes are not aligned", a->to, ask->n);
	old = atomic_on(p, ask->atomic, ask->n, with.a, with.b);
	memcpy(tell(a, TELL_DATA, ask->no, ask->n, ask->n)->data, &old, ask->n);
}

static void do_ask(struct answer *a, const struct ask *ask)
{
	const size_t skip = (size_t)ask->piece * PIECE;
	char *p = own_memory(a->pe, ask->at, skip + ask->n, calls[ask->what], a->to) + skip;

	switch (ask->what) {
	case ASK_GET:
		shared_load(tell(a, TELL_DATA, ask->no, ask->n, ask->n)->data, p, ask->n);
		break;
	case ASK_PUT:
		shared_store(p, ask->data, ask->n);
		tell_put(a, ask->no);
		break;
	case ASK_PIECE:
		shared_store(p, ask->data, ask->n);
		tell(a, TELL_PIECE, ask->no, ask->n, 0);
		break;
	case ASK_STORE:
		shared_store(p, ask->data, ask->n);
		stores_came(a->pe, ask->phase, ask->n);
		break;
	case ASK_ATOMIC:
		do_atomic(a, ask, p);
		break;
	}
}

static size_t ask_data(const struct ask *ask)
{
	return ask->what == ASK_GET ? 0 : ask->what == ASK_ATOMIC ? sizeof(struct operands) : ask->n;
}

/* The record at *at, which moves on; NULL: no more. */
static const struct ask *ask_next(const struct cmi_msg *m, size_t *at)
{
	const struct ask *ask = (const struct ask *)(const void *)((const char *)m + *at);

	if (*at >= m->size)
		return NULL;
	*at += record_bytes(sizeof *ask, ask_data(ask));
	return ask;
}

void far_ask_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct answer a = { .pe = pe, .to = m->src_pe };
	const struct ask *ask;

	for (size_t at = sizeof *m; (ask = ask_next(m, &at));)
		do_ask(&a, ask);
	answer_send(&a);
	csd_msg_free(pe, m);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void op_progress(struct pe *pe, uint32_t no, uint32_t n)
{
	struct op *o = op_at(pe, no);

	o->done += n;
	if (o->asked < o->bytes)
		piece_ask(pe, no);
	else if (o->done == o->bytes)
		op_over(pe, no);
}

static void do_told(struct pe *pe, const struct told *t)
{
	const struct op *o;

	switch (t->what) {
	case TELL_DATA:
		/* Pieces of a get are answered in the order in which they were asked for. */
		o = op_at(pe, t->no);
		if (o->mem)
			memcpy(o->mem + o->done, t->data, t->n);
		op_progress(pe, t->no, t->n);
		break;
	case TELL_PIECE:
		op_progress(pe, t->no, t->n);
		break;
	case TELL_DONE:
		set_close(pe, t->no, t->n);
		break;
	}
}

static const struct told *told_next(const struct cmi_msg *m, size_t *at)
{
	const struct told *t = (const struct told *)(const void *)((const char *)m + *at);

	if (*at >= m->size)
		return NULL;
	*at += record_bytes(sizeof *t, t->what == TELL_DATA ? t->n : 0);
	return t;
}

void far_tell_arrived(struct pe *pe, struct cmi_msg *m)
{
	const struct told *t;

	for (size_t at = sizeof *m; (t = told_next(m, &at));)
		do_told(pe, t);
	csd_msg_free(pe, m);
}

/* ---- checks of messages from other processes ------------------------------------------------- */

static const char *ask_wrong(const struct pe *pe, const struct ask *ask)
{
	if (ask->what < ASK_GET || ask->what > ASK_ATOMIC || ask->phase >= PHASES)
		return "it asks for nothing that exists";
	if (ask->what == ASK_ATOMIC && ((ask->n != 4 && ask->n != 8) || ask->atomic < CK_ATOMIC_ADD ||
					ask->atomic > CK_ATOMIC_COMPARE_SWAP))
		return "it asks for an atomic that does not exist";
	if (ask->n > PIECE || (ask->at.of < GLOBAL_SPREADS && ask->at.pe != pe->id))
		return "it asks for memory that this PE does not have";
	return NULL;
}

const char *far_ask_misfit(struct pe *pe, const struct cmi_msg *m)
{
	static const char beyond[] = "a record does not lie within it";
	const char *why;

	for (size_t at = sizeof *m; at < m->size;) {
		const struct ask *ask = (const struct ask *)(const void *)((const char *)m + at);

		if (m->size - at < sizeof *ask)
			return beyond;
		why = ask_wrong(pe, ask);
		if (why)
			return why;
		if (record_bytes(sizeof *ask, ask_data(ask)) > m->size - at)
			return beyond;
		(void)ask_next(m, &at);
	}
	return NULL;
}

static bool op_fits(struct pe *pe, const struct told *t, int from)
{
	const struct op *o = t->no && t->no < far_of(pe)->ops.n ? op_at(pe, t->no) : NULL;

	return o && o->open && o->pe == from && t->n <= o->asked - o->done &&
	       o->puts == (t->what == TELL_PIECE);
}

const char *far_tell_misfit(struct pe *pe, const struct cmi_msg *m)
{
	for (size_t at = sizeof *m; at < m->size;) {
		const struct told *t = (const struct told *)(const void *)((const char *)m + at);

		if (m->size - at < sizeof *t || (t->what == TELL_DATA && (t->n > m->size - at ||
		    record_bytes(sizeof *t, t->n) > m->size - at)))
			return "a record does not lie within it";
		if (t->what == TELL_DONE ? !set_has(pe, t->no, t->n) :
		    (t->what != TELL_DATA && t->what != TELL_PIECE) || !op_fits(pe, t, m->src_pe))
			return "it answers what nobody has asked";
		(void)told_next(m, &at);
	}
	return NULL;
}

/* ---- the end --------------------------------------------------------------------------------- */

void far_stop(struct pe *pe)
{
	struct far *a = global_of(pe)->far;

	if (!a)
		return;
	for (int i = 0; i < pe->node->job->n_pes; i++)
		if (a->waiting[i].m)
			csd_msg_free(pe, a->waiting[i].m);
	slots_free(&a->ops);
	free(a->waiting);
	free(a->list);
	free(a);
	global_of(pe)->far = NULL;
}
