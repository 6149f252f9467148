/* SPDX-License-Identifier: Apache-2.0 */
/*
 * insert.c: insertion and destruction of elements. In an array with extents an element is made at
 * its home. In a sparse array it is made where it was inserted, and its home knows that PE
 * (home.c):
 *
 *	caller --call--> home --call--> its PE                  its home forwards calls
 *	                 home --make--> that PE --born--> home   an insertion; calls wait at home
 *
 * All creations of an element go through its home, and so do its calls, except those with a lease
 * (lease.c). So they stay in order without sequence numbers. An element that is destroyed away from
 * home leaves to nowhere (leave.c): first all messages to it arrive, and late ones return to its
 * home, in order, before home hears of its end. So an element that is inserted again gets
 * everything in order, wherever it lives.
 *
 * A call of an element that does not exist creates it if the entry method is [createhere] or
 * [createhome]. Any other call waits at the element's home, and is an error once inserting is over
 * (closing.c).
 */
#include "place_save.h"
#include "../core/shape.h"

#include <stdlib.h>
#include <string.h>

/* ---- records ------------------------------------------------------------------------------- */

static void dynamic_fini(struct pe *pe, struct collection *c)
{
	struct dynamic *dyn = place_of(c)->dyn;

	free(place_of(c)->closing);
	newborns_fini(pe, c);
	seats_fini(pe, c);
	routes_fini(pe, c);
	if (!dyn)
		return;
	away_fini(pe, c);
	stays_fini(pe, c);
	idmap_free(&dyn->away);
	idmap_free(&dyn->stays);
	free(dyn);
}

/* ---- at home --------------------------------------------------------------------------------- */

/* Whether the collection has not been created here yet. Its type can be read only afterwards. */
static bool coll_is_early(struct pe *pe, const struct collection *c, const struct cmi_msg *m)
{
	if (c->constructed && c->type->kind != CKGEN_ARRAY)
		csd_misfit(pe, m, "it is about an element of something that is not an array");
	return !c->constructed;
}

/* Once: at its first PE. Later puts would overtake the calls that have waited behind the message.
 * Model: pattern.pml, hear_once */
static void hear_once(struct pe *pe, const struct collection *c, struct ck_env *env)
{
	if (env->more & CK_MORE_HEARD)
		return;
	env->more |= CK_MORE_HEARD;
	call_hear(pe, c, env->head.src_pe);
}

/* A destruction, a SWITCH, or a part's message (place_tell). */
static void about_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct collection *c = coll_get(pe, env->coll);

	hear_once(pe, c, env);
	if (coll_is_early(pe, c, m))
		call_wait(pe, c, m);
	else
		seek(pe, c, env);
}

/* In an array with extents the map alone determines an element's PE. */
static void check_place(struct pe *pe, const struct collection *c, CkIndex i, int to, int from)
{
	int home = index_home(pe, c, i);

	if (to != CK_PE_ANY && to != home)
		csd_abort(pe, "%s_insert from PE %d: %s on PE %d: in an array with extents it lives on PE "
			  "%d; give CK_PE_ANY, or make the array with %s_ckNewEmpty", c->type->name, from,
			  element_thing(c->type, c->id, i).name, to, home, c->type->name);
}

static void insert_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct collection *c = coll_get(pe, env->coll);
	CkIndex i = env->index;

	if (coll_is_early(pe, c, m)) {
		call_wait(pe, c, m);
		return;
	}
	struct stay *s = stay_find(c, i);

	if (index_home(pe, c, i) != pe->id && !s)
		csd_misfit(pe, m, "this is not the home of the element that it inserts");
	/* The caller may not have known the kind of the array. */
	if (!c->sparse)
		check_place(pe, c, i, env->to_pe, m->src_pe);
	struct away *a = away_find(c, i);

	if (element_exists(pe, c, i))
		inserted_twice(pe, c, i, m->src_pe);
	if (a && a->pe >= 0 && !a->moving && !a->asked) {
		/* The element may have been destroyed without home knowing yet. */
		a->asked = true;
		tell_where(pe, a->pe, (struct where_msg){ .coll = c->id, .index = i,
		     .kind = WHERE_ASK, .count = { (uint64_t)m->src_pe } });
	}
	if (a && a->pe >= 0) {
		msg_fifo_push(&a->waiting, m);
		return;
	}
	if (s) {
		stay_late(pe, s, env); /* it was destroyed, and its last calls come first */
		return;
	}
	closing_count(pe, c, INSERTS_DONE);
	env->flags &= (uint8_t)~CK_ENV_UNPLACED;
	int to = env->to_pe;

	env->refnum = 0;
	element_make(pe, c, i, to, env);
}

/* ---- on the element's PE --------------------------------------------------------------------- */

static void make_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct collection *c = coll_get(pe, env->coll);

	if (coll_is_early(pe, c, m)) {
		call_wait(pe, c, m);
		return;
	}
	if (!c->sparse || coll_local(c, env->index))
		csd_misfit(pe, m, "no such element is expected here");
	/* Sent before the constructor runs, because it may destroy the element. */
	tell_where(pe, m->src_pe, where_about(c, env->index, WHERE_BORN));
	element_make_here(pe, c, env->index, env);
}

/* ---- messages about elements ----------------------------------------------------------------- */

static void where_arrived(struct pe *pe, struct cmi_msg *m)
{
	const struct where_msg w = *(const struct where_msg *)m;
	struct collection *c = coll_get(pe, w.coll);

	csd_msg_free(pe, m);
	switch ((enum where_kind)w.kind) {
	case WHERE_BORN:
	case WHERE_WANT:
	case WHERE_EXISTS:
		home_arrived(pe, c, &w);
		break;
	case WHERE_ASK:
	case WHERE_GO:
	case WHERE_FLUSH:
		call_hear(pe, c, w.head.src_pe);
		stay_arrived(pe, c, &w);
		break;
	case WHERE_OFFER:
	case WHERE_GRANT:
	case WHERE_DENY:
	case WHERE_RECALL:
	case WHERE_LEASE_AGAIN:
		route_arrived(pe, c, &w);
		break;
	case WHERE_CHECK:
	case WHERE_WAVE:
	case WHERE_SUM:
	case WHERE_VERDICT:
		break; /* these go to closing.c */
	}
}

/* ---- for programs ---------------------------------------------------------------------------- */

static void check_array(struct pe *pe, const CkGenChare *type, const char *what)
{
	if (type->kind != CKGEN_ARRAY)
		csd_abort(pe, "%s: %s is no array", what, type->name);
}

void CkGen_insert(const CkGenChare *chare, const CkElement *e, int to, void *payload)
{
	struct pe *pe = ck_self_of(chare, "insert");
	struct ck_env *env = create_take(pe, chare, payload);
	struct collection *c = coll_get(pe, e->id);

	check_array(pe, chare, "insert");
	if (to != CK_PE_ANY && (to < 0 || to >= pe->node->job->n_pes))
		csd_abort(pe, "%s_insert: PE %d; the job has PEs 0-%d", chare->name, to,
			  pe->node->job->n_pes - 1);
	if (c->type && !c->sparse)
		check_place(pe, c, e->index, to, pe->id);
	env = newborn_stamp(pe, c, env);
	env->to_pe = to;
	closing_count(pe, c, INSERTS_SENT);
	env->head.handler = ck_handler(pe, PART_PLACE, H_INSERT);
	env->coll = e->id;
	if (c->type) {
		address_by_index(e->index, env);
		call_send(pe, c, env);
	} else {
		address_later(pe, c, e->index, env);
	}
}

void CkGen_destroy(const CkElement *e)
{
	struct pe *pe = ck_self_in("X_ckDestroy");
	const struct collection *c = coll_get(pe, e->id);

	if (c->type)
		check_array(pe, c->type, "ckDestroy");
	send_about(pe, c->type, e, env_new(pe, 0, 0), ck_handler(pe, PART_PLACE, H_DESTROY));
}

/* ---- before the creation --------------------------------------------------------------------- */

/* An array without extents. If it begins without elements, its creator begins a phase of
 * inserting. */
static void place_sparse(struct pe *pe, struct collection *c, bool empty)
{
	dynamic_get(c);
	coll_become_dynamic(pe, c);
	if (empty)
		closing_open(pe, c);
	if (empty && (int)(c->id >> 32) == pe->id)
		closing_count(pe, c, PHASES_BEGUN);
}

/* An insertion has an index, but not the flag of a call that has one. */
static int place_early(struct pe *pe, const struct collection *c, const struct cmi_msg *m)
{
	return m->handler == ck_handler(pe, PART_PLACE, H_INSERT) ?
		       index_home(pe, c, ((const struct ck_env *)m)->index) : -1;
}

/* ---- checks of messages from other processes ------------------------------------------------- */

static const char *insert_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const int to = ((const struct ck_env *)m)->to_pe;

	return to != CK_PE_ANY && (uint32_t)to >= (uint32_t)pe->node->job->n_pes ?
	       "it names a PE that does not exist" : newborn_misfit(pe, m);
}

static const char *where_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct where_msg *w = (const struct where_msg *)m;
	const struct collection *c = coll_get(pe, w->coll);

	/* A PE may call elements before its own exist. While elements move in bulk, PEs that are open
	 * already send. */
	if (w->kind < WHERE_OFFER ? !c->constructed && !call_is_closed(c) : !c->type)
		return "its collection does not exist yet";
	if (c->type->kind != CKGEN_ARRAY || (!c->sparse && index_place(c, w->index) == UINT64_MAX))
		return "it is about no element";
	return w->kind <= WHERE_LEASE_AGAIN ? NULL : "its kind is unknown";
}

static const char *switch_misfit(struct pe *pe, const struct cmi_msg *m)
{
	return (uint32_t)((const struct ck_env *)m)->to_pe >= (uint32_t)pe->node->job->n_pes ?
	       "it names a PE that does not exist" : NULL;
}

#define WHERE_SHAPE CK_SHAPE_STRUCT(struct where_msg), CK_SHAPE_ID(struct where_msg, coll)

static const struct ck_handler handlers[] = {
	[H_INSERT] = { "ck.insert", insert_arrived,
		       .shape = { CK_SHAPE_COLL_CALL, .misfit = insert_misfit } },
	[H_MAKE] = { "ck.make", make_arrived,
		     .shape = { CK_SHAPE_COLL_CALL, .misfit = newborn_make_misfit } },
	[H_DESTROY] = { "ck.destroy", about_arrived, .shape = { CK_SHAPE_COLL } },
	[H_SWITCH] = { "ck.switch", about_arrived, .shape = { CK_SHAPE_COLL, .misfit = switch_misfit } },
	[H_TELL] = { "ck.tell", about_arrived, .shape = { CK_SHAPE_COLL, .misfit = told_misfit } },
	[H_LEAVE] = { "ck.leave", leave_arrived, .apart = false },
	[H_MOVE] = { "ck.move", travel_arrived, .apart = false },
	[H_MOVE_PACKED] = { "ck.move.packed", packed_arrived,
			    .shape = { .least = sizeof(struct packed), CK_SHAPE_ID(struct packed, coll),
				       .misfit = packed_misfit } },
	[H_WHERE] = { "ck.where", where_arrived, .shape = { WHERE_SHAPE, .misfit = where_misfit } },
	[H_CLOSING] = { "ck.closing", closing_arrived,
			.shape = { WHERE_SHAPE, .always = CMI_F_SYSTEM, .kind_at = offsetof(struct where_msg, kind),
				   .ways = { [WHERE_CHECK] = CSD_TO_ROOT, [WHERE_WAVE] = CSD_DOWN,
					     [WHERE_SUM] = CSD_UP, [WHERE_VERDICT] = CSD_DOWN },
				   .astray = "its sender cannot have sent it" } },
	[H_INSERTED] = { "ck.inserted", newborn_inserted_arrived, .apart = true,
			 .shape = { .least = sizeof(struct inserted_msg),
				    CK_SHAPE_ID(struct inserted_msg, coll),
				    .misfit = newborn_inserted_misfit } },
	[H_MISSED] = { "ck.missed", newborn_missed_arrived, .apart = true,
		       .shape = { .least = sizeof(struct missed_msg) + sizeof(struct ck_env) -
					   sizeof(struct cmi_msg),
				  CK_SHAPE_ID(struct missed_msg, coll),
				  .misfit = newborn_missed_misfit } },
	[H_SEAT] = { "ck.seat", seat_arrived, .shape = { CK_SHAPE_COLL, .misfit = seat_misfit } },
};
static const struct ck_kind kinds[] = {
	{ .kind = CKGEN_ARRAY, .replaces = true, .missing = seek, .local = array_local,
	  .destroy = element_destroy, .sparse = place_sparse, .early = place_early,
	  .seat_send = send_to_seat },
};

static int place_node_start(struct node *node)
{
	call_node_of(node)->newborns = &newborn_calls;
	return travels_init(node);
}

const struct ck_part place_part = {
	.name = "place",
	.number = PART_PLACE,
	.coll_bytes = sizeof(struct place_coll),
	.handlers = CK_LIST(handlers),
	.kinds = CK_LIST(kinds),
	.watch = { .constructed = dynamic_constructed, .fini = dynamic_fini },
	.describe = place_describe,
	.save = { .refuse = place_refuse, .write = place_write, .kinds = PLACE_RECORDS,
		  .mine = place_is_mine, .read = place_read, .read_all = place_read_all },
	.node_bytes = sizeof(struct place_node),
	.node_start = place_node_start,
	.node_stop = travels_free,
};
