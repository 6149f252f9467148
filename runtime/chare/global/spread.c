/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spread.c: spreads, arrays over all PEs. PE 0 numbers them and leads what all PEs do together,
 * down its tree and up again:
 *
 *	NEW     the program's PE -> PE 0
 *	MAKE    down: make the part        MADE    up: where the parts lie, of all PEs below
 *	TABLE   down: where all parts lie  READY   up: all PEs below know it; then PE 0 fires `done`
 *	END     the program's PE -> PE 0   FREE    down
 *
 * The program gets the CkSpread when all is done, so no PE can be asked for a spread that it does
 * not have. After a restart each PE has its part already; PE 0 sends MAKE again, because the parts
 * lie elsewhere. Until the TABLE comes, operations go as messages.
 */
#include "global_int.h"
#include "../core/shape.h"
#include "../../machine/base/cmi_alloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SPREAD_NEW, SPREAD_MAKE, SPREAD_MADE, SPREAD_TABLE, SPREAD_READY, SPREAD_END, SPREAD_FREE,
       SPREAD_KINDS };

/** Where the part of a PE lies. */
struct spread_shown {
	uint64_t name;            /* heap_name; 0: other processes do not reach it */
	uint64_t address;         /* in its process */
	uint32_t pe, unused;
};

struct spread_msg {
	struct cmi_msg head;
	uint32_t kind;
	uint32_t id;
	struct spread_shape shape; /* NEW, MAKE */
	CkCallback done;          /* NEW */
	uint32_t n_shown, unused;
	struct spread_shown shown[]; /* MADE, TABLE */
};

enum { SPREADS_MOST = 1 << 20 };

static struct spread_msg *spread_msg_new(struct pe *pe, uint32_t kind, uint32_t id,
					 uint32_t n_shown)
{
	const size_t bytes = sizeof(struct spread_msg) + n_shown * sizeof(struct spread_shown);
	struct spread_msg *m = ck_msg_new(pe, PART_GLOBAL, H_SPREAD, 0, bytes);

	memset(&m->kind, 0, sizeof *m - sizeof m->head);
	m->kind = kind;
	m->id = id;
	m->n_shown = n_shown;
	return m;
}

static void tell_parent(struct pe *pe, uint32_t kind, uint32_t id, const struct spread_shown *shown,
			uint32_t n)
{
	struct spread_msg *m = spread_msg_new(pe, kind, id, n);

	if (n)
		memcpy(m->shown, shown, n * sizeof *shown);
	csd_send(pe, csd_tree_parent(pe, 0), &m->head);
}

static void tell_children(struct pe *pe, const struct spread_msg *m)
{
	for (int i = 0; i < csd_tree_n_children(pe, 0); i++)
		csd_send(pe, csd_tree_child(pe, 0, i), csd_msg_copy(pe, &m->head));
}

/* ---- geometry -------------------------------------------------------------------------------- */

uint64_t spread_block(const struct spread_shape *shape, uint64_t n_pes)
{
	return shape->block ? shape->block : shape->n / n_pes + (shape->n % n_pes != 0);
}

uint64_t spread_count(uint64_t n, uint64_t block, uint64_t n_pes, uint64_t q)
{
	const uint64_t whole = n / block, turns = whole / n_pes, more = whole % n_pes;

	return turns * block + (q < more ? block : q == more ? n % block : 0);
}

/* NULL: it makes sense. */
static const char *wrong_shape(const struct spread_shape *s)
{
	if (!s->n || !s->bytes)
		return "it has no elements, or elements without bytes";
	if (s->bytes > UINT32_MAX || s->n > INT64_MAX / s->bytes || s->block > INT64_MAX / s->bytes)
		return "it is too large";
	return NULL;
}

/* ---- this PE's ------------------------------------------------------------------------------- */

struct spread spread_none;

static struct spread *spread_at(const struct pe *pe, uint32_t id)
{
	const struct global_pe *o = global_of(pe);

	return id < o->n_spreads && o->spreads[id] != &spread_none ? o->spreads[id] : NULL;
}

const struct spread *spread_of(struct pe *pe, uint32_t id)
{
	const struct spread *s = spread_at(pe, id);

	if (!s)
		csd_abort(pe, "a CkSpread or a CkGlobal names spread %u, which was never made", id);
	if (!s->all)
		csd_abort(pe, "spread %u has been freed", id);
	return s;
}

void spread_beyond(struct pe *pe, CkGlobal g, size_t bytes)
{
	const struct spread *s = spread_of(pe, g.of);
	int whose = 0;
	uint64_t at = 0;

	if (g.at < s->all)
		at = spread_where(s, g.at, &whose);
	if (g.at >= s->all)
		csd_abort(pe, "element %" PRId64 " of spread %u, which has %" PRIu64 " elements",
			  (int64_t)g.at / (int64_t)s->shape.bytes, g.of, s->shape.n);
	if (bytes <= s->part - at)
		csd_abort(pe, "element %" PRIu64 " of spread %u is PE %d's, not that of PE %d",
			  g.at / s->shape.bytes, g.of, whose, pe->id);
	csd_abort(pe, "%zu bytes at element %" PRIu64 " of spread %u: PE %d has only %" PRIu64
		  " from there", bytes, g.at / s->shape.bytes, g.of, whose, s->part - at);
}

static void room_for(struct pe *pe, uint32_t id)
{
	struct global_pe *o = global_of(pe);
	uint32_t n = o->n_spreads ? o->n_spreads : 2 * GLOBAL_SPREADS;

	while (n <= id)
		n *= 2;
	if (n == o->n_spreads)
		return;
	o->spreads = cmi_realloc(o->spreads, n, sizeof(struct spread *), "spreads");
	while (o->n_spreads < n)
		o->spreads[o->n_spreads++] = &spread_none;
}

/* Every PE's part has the same size, so nobody need know that of others. */
static struct spread *spread_make(struct pe *pe, uint32_t id, const struct spread_shape *shape)
{
	struct spread *s = cmi_alloc_zero(1, sizeof *s, "a spread");
	uint64_t blocks;

	s->n_pes = (uint64_t)pe->node->job->n_pes;
	s->shape = *shape;
	s->block = spread_block(shape, s->n_pes);
	s->block_bytes = s->block * shape->bytes;
	s->all = shape->n * shape->bytes;
	blocks = shape->n / s->block + (shape->n % s->block != 0);
	s->part = (blocks / s->n_pes + (blocks % s->n_pes != 0)) * s->block_bytes;
	s->by_block = fast_divisor(s->block_bytes, s->all);
	s->by_pes = fast_divisor(s->n_pes, blocks);
	s->here = cmi_alloc_zero(s->n_pes, sizeof(char *), "a spread");
	s->mine = heap_new(pe, s->part, "a spread");
	s->here[pe->id] = pe->node->check ? NULL : s->mine;
	room_for(pe, id);
	global_of(pe)->spreads[id] = s;
	return s;
}

struct spread *spread_restored(struct pe *pe, uint32_t id, const struct spread_shape *shape)
{
	struct spread *s = spread_at(pe, id);

	if (id < GLOBAL_SPREADS || id > SPREADS_MOST || wrong_shape(shape))
		return NULL;
	if (!s)
		return spread_make(pe, id, shape);
	return memcmp(&s->shape, shape, sizeof *shape) ? NULL : s;
}

/* It stays in the table, so that its number says that it has been freed. */
static void spread_free(struct pe *pe, struct spread *s)
{
	if (!s->all)
		return;
	heap_end(pe, s->mine, "CkSpreadFree");
	free(s->here);
	free(s->shown);
	s->all = s->part = 0;
	s->here = NULL;
	s->shown = NULL;
	s->mine = NULL;
}

/* ---- together -------------------------------------------------------------------------------- */

static char *part_here(const struct pe *pe, const struct spread_shown *shown)
{
	const int whose = (int)shown->pe;

	if (whose == pe->id || is_far(pe, whose))
		return NULL;
	if (pe_is_here(pe, whose))
		return (char *)(uintptr_t)shown->address;
	return cmi_shared_at(pe->wire, whose, shown->name);
}

static void ready(struct pe *pe, struct spread *s, uint32_t id)
{
	const CkSpread spread = { id, (uint32_t)s->shape.bytes, s->shape.n };

	if (s->n_in < csd_tree_n_children(pe, 0))
		return;
	s->n_in = 0;
	if (pe->id)
		tell_parent(pe, SPREAD_READY, id, NULL, 0);
	else
		callback_fire(pe, &s->done, CK_BYTE, &spread, sizeof spread, sizeof spread);
}

static void table_came(struct pe *pe, const struct spread_msg *m)
{
	struct spread *s = spread_at(pe, m->id);

	tell_children(pe, m);
	for (uint32_t i = 0; i < m->n_shown; i++) {
		char *there = part_here(pe, &m->shown[i]);

		if (there)
			s->here[m->shown[i].pe] = there;
	}
	ready(pe, s, m->id);
}

/* All parts below are made. */
static void made(struct pe *pe, struct spread *s, uint32_t id)
{
	struct spread_msg *m;

	if (s->n_in < csd_tree_n_children(pe, 0))
		return;
	s->n_in = 0;
	if (pe->id) {
		tell_parent(pe, SPREAD_MADE, id, s->shown, s->n_shown);
	} else {
		m = spread_msg_new(pe, SPREAD_TABLE, id, s->n_shown);
		memcpy(m->shown, s->shown, s->n_shown * sizeof *m->shown);
		table_came(pe, m);
		csd_msg_free(pe, &m->head);
	}
	free(s->shown);
	s->shown = NULL;
	s->n_shown = 0;
}

static void shown_add(struct spread *s, const struct spread_shown *shown, uint32_t n)
{
	s->shown = cmi_realloc(s->shown, s->n_shown + n, sizeof *shown, "a spread");
	memcpy(s->shown + s->n_shown, shown, n * sizeof *shown);
	s->n_shown += n;
}

static void make_came(struct pe *pe, const struct spread_msg *m)
{
	struct spread *s = spread_at(pe, m->id);
	struct spread_shown own = { .pe = (uint32_t)pe->id };

	tell_children(pe, m);
	if (!s)
		s = spread_make(pe, m->id, &m->shape);
	own.address = (uintptr_t)s->mine;
	own.name = heap_name(pe, s->mine, s->part);
	shown_add(s, &own, 1);
	made(pe, s, m->id);
}

static void free_came(struct pe *pe, const struct spread_msg *m)
{
	tell_children(pe, m);
	spread_free(pe, spread_at(pe, m->id));
}

/* PE 0. */
static void lead(struct pe *pe, uint32_t id, const struct spread_shape *shape,
		 const CkCallback *done)
{
	struct spread_msg *m = spread_msg_new(pe, SPREAD_MAKE, id, 0);

	m->shape = *shape;
	if (!spread_at(pe, id))
		spread_make(pe, id, shape);
	spread_at(pe, id)->done = *done;
	make_came(pe, m);
	csd_msg_free(pe, &m->head);
}

static uint32_t next_id(const struct pe *pe)
{
	const struct global_pe *o = global_of(pe);
	uint32_t id = o->n_spreads ? o->n_spreads : GLOBAL_SPREADS;

	while (id > GLOBAL_SPREADS && !spread_at(pe, id - 1))
		id--;
	return id;
}

static void end_came(struct pe *pe, uint32_t id)
{
	struct spread_msg *m = spread_msg_new(pe, SPREAD_FREE, id, 0);

	(void)spread_of(pe, id);
	free_came(pe, m);
	csd_msg_free(pe, &m->head);
}

void spread_arrived(struct pe *pe, struct cmi_msg *msg)
{
	const struct spread_msg *m = (const struct spread_msg *)msg;
	struct spread *s = spread_at(pe, m->id);

	switch (m->kind) {
	case SPREAD_NEW:
		lead(pe, next_id(pe), &m->shape, &m->done);
		break;
	case SPREAD_MAKE:
		make_came(pe, m);
		break;
	case SPREAD_MADE:
		s->n_in++;
		shown_add(s, m->shown, m->n_shown);
		made(pe, s, m->id);
		break;
	case SPREAD_TABLE:
		table_came(pe, m);
		break;
	case SPREAD_READY:
		s->n_in++;
		ready(pe, s, m->id);
		break;
	case SPREAD_END:
		end_came(pe, m->id);
		break;
	case SPREAD_FREE:
		free_came(pe, m);
		break;
	}
	csd_msg_free(pe, msg);
}

void spreads_meet(struct pe *pe)
{
	const CkCallback nobody = CkCallbackIgnore();

	for (uint32_t id = GLOBAL_SPREADS; id < global_of(pe)->n_spreads; id++) {
		const struct spread *s = spread_at(pe, id);

		if (s && s->all)
			lead(pe, id, &s->shape, &nobody);
	}
}

/* ---- for programs ---------------------------------------------------------------------------- */

void CkSpreadNew(uint64_t n, size_t bytes, uint64_t block, CkCallback done)
{
	struct pe *pe = ck_self();
	const struct spread_shape shape = { n, bytes, block };
	const char *wrong = wrong_shape(&shape);
	struct spread_msg *m;

	if (wrong)
		csd_abort(pe, "CkSpreadNew: %" PRIu64 " elements of %zu bytes in blocks of %" PRIu64
			  ": %s", n, bytes, block, wrong);
	m = spread_msg_new(pe, SPREAD_NEW, 0, 0);
	m->shape = shape;
	m->done = done;
	csd_send(pe, 0, &m->head);
}

CkSpread CkSpreadAlloc(uint64_t n, size_t bytes, uint64_t block)
{
	CkSpread spread;
	CkFuture f;
	void *msg;

	check_thread(ck_self(), "CkSpreadAlloc", "CkSpreadNew");
	f = CkCreateFuture();
	CkSpreadNew(n, bytes, block, CkCallbackFuture(f));
	msg = CkWaitReleaseFuture(f);
	memcpy(&spread, (const CkReductionMsg *)msg + 1, sizeof spread);
	CkFreeMsg(msg);
	return spread;
}

void CkSpreadFree(CkSpread s)
{
	struct pe *pe = ck_self();

	(void)spread_of(pe, s.id);
	csd_send(pe, 0, &spread_msg_new(pe, SPREAD_END, s.id, 0)->head);
}

void *CkSpreadLocal(CkSpread spread, uint64_t *n_p)
{
	struct pe *pe = ck_self();
	const struct spread *s = spread_of(pe, spread.id);

	if (n_p)
		*n_p = spread_count(s->shape.n, s->block, s->n_pes, (uint64_t)pe->id);
	return s->mine;
}

uint64_t CkSpreadIndex(CkSpread spread, uint64_t k)
{
	struct pe *pe = ck_self();
	const struct spread *s = spread_of(pe, spread.id);

	if (k >= spread_count(s->shape.n, s->block, s->n_pes, (uint64_t)pe->id))
		return s->shape.n;
	return (k / s->block * s->n_pes + (uint64_t)pe->id) * s->block + k % s->block;
}

/* ---- checks, the end ------------------------------------------------------------------------- */

static const char *parts_wrong(const struct pe *pe, const struct spread_msg *m)
{
	const struct spread *s = spread_at(pe, m->id);

	for (uint32_t i = 0; i < m->n_shown; i++) {
		const struct spread_shown *shown = &m->shown[i];

		if (shown->pe >= (uint32_t)pe->node->job->n_pes)
			return "it names a PE that does not exist";
		if (part_here(pe, shown) && !pe_is_here(pe, (int)shown->pe) &&
		    !cmi_shared_fits(pe->node->machine, shown->name, s->part))
			return "a part does not lie in shared memory";
	}
	return NULL;
}

const char *spread_misfit(struct pe *pe, const struct cmi_msg *msg)
{
	const struct spread_msg *m = (const struct spread_msg *)msg;
	const struct spread *s = spread_at(pe, m->id);
	const bool shows = m->kind == SPREAD_MADE || m->kind == SPREAD_TABLE;

	if (m->kind >= SPREAD_KINDS || msg->size - sizeof *m != m->n_shown * sizeof *m->shown ||
	    (m->n_shown && !shows))
		return "it is none of the messages about spreads";
	if (m->kind == SPREAD_NEW)
		return pe->id || wrong_shape(&m->shape) ? "it describes no spread" :
		       shape_callback(pe, &m->done);
	if (m->kind == SPREAD_MAKE)
		return m->id < GLOBAL_SPREADS || m->id > SPREADS_MOST || wrong_shape(&m->shape) ||
		       (s && memcmp(&s->shape, &m->shape, sizeof s->shape)) ?
			       "it describes no spread" : NULL;
	if (!s || !s->all)
		return "it names a spread that does not exist";
	if ((m->kind == SPREAD_MADE || m->kind == SPREAD_READY) && s->n_in >= csd_tree_n_children(pe, 0))
		return "it answers what nobody has asked";
	return shows ? parts_wrong(pe, m) : NULL;
}

void spreads_stop(struct pe *pe)
{
	struct global_pe *o = global_of(pe);

	for (uint32_t id = 0; id < o->n_spreads; id++) {
		struct spread *s = spread_at(pe, id);

		if (!s)
			continue;
		free(s->here);
		free(s->shown);
		free(s);
	}
	free(o->spreads);
	o->spreads = NULL;
	o->n_spreads = 0;
}
