/* SPDX-License-Identifier: Apache-2.0 */
/*
 * newborn.c: which broadcasts an inserted element gets: those that its creator had not seen when it
 * inserted, once, and those of each root in order. Its creator is the PE that inserted. A PE has
 * seen a broadcast of its own when it sent it, and one of another root when it began to deliver it.
 *
 * Each root numbers its broadcasts to a collection (send_all), and each PE knows which it has
 * delivered (call_coll.seen). An insertion carries its creator's set of them, its stamp. The PE
 * where the element is made compares:
 *
 *	creator                             place
 *	   |--- insertion, stamp ----------->|   in the stamp, not delivered here: passed over (seen)
 *	   |                                 |   delivered here, not in the stamp: the element missed it
 *	   |<-- INSERTED, what was missed ---|   later ones of that root wait for it here (held)
 *	   |--- MISSED, a broadcast -------->|   as soon as the creator has seen it itself
 *
 * The creator keeps copies of the broadcasts that it sees while insertions of its own are under
 * way, because the element may miss them. A copy is freed when all earlier insertions are carried
 * out, so their number is bounded by the time that those take; without insertions nothing is kept.
 * In nearly all cases the two sets are equal, and INSERTED only reports that the insertion is done.
 * All these messages are counted, so quiescence waits for them: in a quiescent job there are no
 * records, and seats may move.
 *
 * Records lie at the element's seat, where its broadcasts are delivered (seat.c). So the
 * element may move at any time: late broadcasts go to its stub, and from there to the element.
 */
#include "place_record.h"
#include "../../core/shape.h"
#include "../../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

static struct newborns *newborns_get(struct collection *c)
{
	struct call_coll *k = call_coll_of(c);

	if (!k->newborns)
		k->newborns = cmi_alloc_zero(1, sizeof *k->newborns, "elements that are inserted");
	return k->newborns;
}

static void maybe_forget(struct collection *c)
{
	struct newborns *n = call_coll_of(c)->newborns;

	if (!n || n->by_index.n || n->n_kept || n->n_open || n->n_debts || n->ahead.n)
		return;
	idmap_free(&n->by_index);
	free(n->kept);
	free(n->debts);
	free(n);
	call_coll_of(c)->newborns = NULL;
}

/* ---- the creator: the broadcasts that it has seen -------------------------------------------- */

static void newborns_saw(struct pe *pe, struct collection *c, int root, uint64_t no)
{
	if (root != pe->id && !spans_has(&call_coll_of(c)->seen, root, no))
		spans_add(&newborns_get(c)->ahead, root, no);
}

static void add_ahead(const struct call_coll *k, struct spans *to)
{
	for (uint32_t i = 0; k->newborns && i < k->newborns->ahead.n; i++) {
		const struct span *at = &k->newborns->ahead.list[i];

		for (uint64_t no = at->from; no < at->to; no++)
			spans_add(to, at->root, no);
	}
}

/* The caller frees it. */
static struct spans seen_by(struct pe *pe, const struct collection *c)
{
	const struct newborn_more *more = place_node_of(pe->node)->more;
	const struct call_coll *k = call_coll_of(c);
	const struct span own = { .root = pe->id, .from = 1, .to = k->n_begun + 1 };
	struct spans all = { 0 };
	uint32_t i = 0;

	for (; i < k->seen.n && k->seen.list[i].root < pe->id; i++)
		spans_append(&all, k->seen.list[i]);
	if (k->n_begun)
		spans_append(&all, own);
	for (; i < k->seen.n; i++)
		if (k->seen.list[i].root != pe->id)
			spans_append(&all, k->seen.list[i]);
	add_ahead(k, &all);
	if (more)
		more->stamp(pe, c, &all);
	return all;
}

struct ck_env *newborn_stamp(struct pe *pe, struct collection *c, struct ck_env *env)
{
	struct newborns *n = newborns_get(c);
	struct spans seen = seen_by(pe, c);
	const struct stamp s = { env->head.size - sizeof *env, n->first + n->n_kept, pe->id, seen.n };
	const size_t at = CkGen_align(s.params), bytes = seen.n * sizeof *seen.list;
	struct ck_env *to = env_new(pe, env->head.handler, at + bytes + sizeof s);
	char *behind = (char *)payload_of(to) + at;

	memcpy(payload_of(to), payload_of(env), s.params);
	memset((char *)payload_of(to) + s.params, 0, at - s.params);
	if (bytes)
		memcpy(behind, seen.list, bytes);
	memcpy(behind + bytes, &s, sizeof s);
	to->call = env->call;
	n->n_open++;
	spans_free(&seen);
	csd_msg_free(pe, &env->head);
	return to;
}

static struct stamp stamp_of(const struct ck_env *env)
{
	struct stamp s;

	memcpy(&s, (const char *)env + env->head.size - sizeof s, sizeof s);
	return s;
}

static struct span *spans_of(struct ck_env *env, const struct stamp *s)
{
	return (struct span *)(void *)((char *)payload_of(env) + CkGen_align(s->params));
}

/* How many of them are about broadcasts: they precede those of other parts. */
static uint32_t n_of_all(const struct span *list, uint32_t n)
{
	uint32_t i = 0;

	while (i < n && list[i].root >= 0)
		i++;
	return i;
}

/* Spans appended by other parts, each group after its head. */
static bool groups_fit(const struct span *list, uint32_t n, int n_pes)
{
	for (uint32_t i = 0; i < n; i += 1 + list[i].reserved)
		if (list[i].root != SPANS_OF || list[i].reserved > n - i - 1 || !(uint32_t)list[i].from ||
		    list[i].from >> 32 >= (uint64_t)n_pes || !spans_fit(&list[i + 1], list[i].reserved, n_pes))
			return false;
	return true;
}

void newborn_at_home(struct pe *pe, struct collection *c, CkIndex i, struct ck_env *env,
		     struct msg_fifo *waiting)
{
	const struct newborn_more *sections = place_node_of(pe->node)->more;
	struct stamp s = stamp_of(env);
	struct span *list = spans_of(env, &s);
	const uint32_t n = n_of_all(list, s.n), more = s.n - n;

	if (sections)
		sections->inserted(pe, c, i, list + n, more, waiting);
	if (!more)
		return;
	s.n = n;
	memcpy(list + n, &s, sizeof s);
	env->head.size -= more * sizeof *list;
}

static uint64_t *open_count(struct newborns *n, uint64_t epoch)
{
	return epoch == n->first + n->n_kept ? &n->n_open : &n->kept[epoch - n->first].n_open;
}

/* Whether an insertion of that epoch, which this PE has sent, is under way. */
static bool insertion_is_open(struct pe *pe, uint64_t coll, uint64_t epoch)
{
	struct newborns *n = call_coll_of(coll_get(pe, coll))->newborns;

	return n && epoch - n->first <= n->n_kept && *open_count(n, epoch);
}

const char *newborn_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct ck_env *env = (const struct ck_env *)m;
	const size_t room = m->size - sizeof *env;
	const struct span *list;
	struct stamp s;
	uint32_t n;

	if (room < sizeof s)
		return "it has no stamp";
	s = stamp_of(env);
	if (s.creator < 0 || s.creator >= pe->node->job->n_pes)
		return "it was made by a PE that does not exist";
	if (s.params > room || CkGen_align(s.params) + s.n * sizeof(struct span) + sizeof s != room)
		return "its stamp does not lie within it";
	list = (const struct span *)(const void *)((const char *)(env + 1) + CkGen_align(s.params));
	n = n_of_all(list, s.n);
	if (!spans_fit(list, n, pe->node->job->n_pes) ||
	    !groups_fit(list + n, s.n - n, pe->node->job->n_pes))
		return "its stamp is wrong";
	return s.creator != pe->id || insertion_is_open(pe, env->coll, s.epoch) ?
		       NULL :
		       "it is an insertion that this PE has not sent";
}

const char *newborn_make_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const char *why = newborn_misfit(pe, m);
	const struct stamp s = why ? (struct stamp){ 0 } : stamp_of((const struct ck_env *)m);

	if (why)
		return why;
	return n_of_all(spans_of((struct ck_env *)(uintptr_t)m, &s), s.n) == s.n ?
		       NULL :
		       "its home has left something in its stamp";
}

/* ---- the creator: its copies ----------------------------------------------------------------- */

static void keep_copy(struct pe *pe, struct newborns *n, const struct ck_env *env)
{
	CMI_ONE_MORE(n->kept, n->n_kept, n->cap_kept, "broadcasts for new elements");
	n->kept[n->n_kept++] = (struct kept_bcast){ own_copy(pe, env), n->n_open };
	n->n_open = 0;
}

/* An insertion of that epoch is carried out, and its creator knows what the element misses. */
static void carried_out(struct pe *pe, struct collection *c, uint64_t epoch)
{
	struct newborns *n = call_coll_of(c)->newborns;
	uint32_t k = 0;

	--*open_count(n, epoch);
	while (k < n->n_kept && !n->kept[k].n_open)
		csd_msg_free(pe, &n->kept[k++].env->head);
	n->n_kept -= k;
	n->first += k;
	if (k)
		memmove(n->kept, n->kept + k, n->n_kept * sizeof *n->kept);
	maybe_forget(c);
}

static void debt_add(struct newborns *n, struct debt d)
{
	CMI_ONE_MORE(n->debts, n->n_debts, n->cap_debts, "broadcasts for new elements");
	n->debts[n->n_debts++] = d;
}

static void send_missed(struct pe *pe, const struct collection *c, const struct debt *to,
			const struct ck_env *env)
{
	const size_t rest = env->head.size - sizeof env->head;
	struct missed_msg *m = ck_msg_new(pe, PART_PLACE, H_MISSED, 0, sizeof *m + rest);

	m->coll = c->id;
	m->no = to->no;
	m->index = to->index;
	m->prio = env->head.prio;
	m->flags = env->head.flags & CSD_F_QUEUEING;
	memset(m->reserved, 0, sizeof m->reserved);
	memcpy(m + 1, &env->head + 1, rest);
	csd_send(pe, to->place, &m->head);
}

static void pay(struct pe *pe, struct collection *c, struct newborns *n, const struct ck_env *env)
{
	for (uint32_t i = 0; i < n->n_debts;) {
		struct debt *d = &n->debts[i];

		if (spans_take(&d->missed, env->root, env->place))
			send_missed(pe, c, d, env);
		if (d->missed.n)
			i++;
		else
			*d = n->debts[--n->n_debts];
	}
	maybe_forget(c);
}

static bool newborns_begin(struct pe *pe, struct collection *c, const struct ck_env *env)
{
	struct newborns *n = call_coll_of(c)->newborns;

	spans_take(&n->ahead, env->root, env->place);
	if (n->n_open || n->n_kept)
		keep_copy(pe, n, env);
	pay(pe, c, n, env);
	return call_coll_of(c)->newborns && n->by_index.n;
}

/* ---- the element's PE: records --------------------------------------------------------------- */

static struct newborn *newborn_find(const struct collection *c, CkIndex i)
{
	const struct newborns *n = call_coll_of(c)->newborns;

	return n && n->by_index.n ? index_find(&n->by_index, i) : NULL;
}

/* The element may have been destroyed, and made again. */
static struct newborn *newborn_of(const struct collection *c, CkIndex i, uint64_t no)
{
	struct newborn *y = newborn_find(c, i);

	return y && y->no == no ? y : NULL;
}

static bool is_done(const struct newborn *y) { return !y->seen.n && !y->missed.n && !y->n_held; }

static void newborn_free(struct pe *pe, struct newborn *y)
{
	for (uint32_t i = 0; i < y->n_held; i++)
		env_unref(pe, y->held[i]);
	free(y->held);
	spans_free(&y->seen);
	spans_free(&y->missed);
	free(y);
}

static void newborn_end(struct pe *pe, struct collection *c, struct newborn *y)
{
	index_remove(&call_coll_of(c)->newborns->by_index, y->index);
	newborn_free(pe, y);
}

void newborn_slot(struct ck_obj *obj)
{
	struct newborn *y = newborn_find(obj->coll, obj->index);

	if (y)
		y->at = obj;
}

void newborn_gone(struct pe *pe, struct collection *c, CkIndex i)
{
	struct newborn *y = newborn_find(c, i);

	if (!y)
		return;
	newborn_end(pe, c, y);
	maybe_forget(c);
}

/* ---- the element's PE: deliveries ------------------------------------------------------------ */

static void newborn_hold(struct newborn *y, struct ck_env *env)
{
	CMI_ONE_MORE(y->held, y->n_held, y->cap_held, "broadcasts for new elements");
	/* Relaxed: this PE holds a reference already, so the count cannot reach 0 meanwhile. */
	atomic_fetch_add_explicit(&env->refs, 1, memory_order_relaxed);
	y->held[y->n_held++] = env;
}

static void newborns_pass(struct pe *pe, struct collection *c, struct ck_env *env, bool *passed)
{
	struct idmap *all = &call_coll_of(c)->newborns->by_index;
	const struct idmap_slot *s;

	for (size_t i = 0; (s = idmap_each(all, &i)); i++) {
		struct newborn *y = (struct newborn *)s->value;
		const bool had = spans_take(&y->seen, env->root, env->place),
			   waits = spans_has_root(&y->missed, env->root);

		passed[y->at->ordinal] = had || waits;
		if (!had && waits)
			newborn_hold(y, env);
	}
	/* Removing one may move later ones into its slot of the table. */
	for (size_t i = 0; (s = idmap_each(all, &i));)
		if (is_done((struct newborn *)s->value))
			newborn_end(pe, c, (struct newborn *)s->value);
		else
			i++;
	maybe_forget(c);
}

const struct call_newborns newborn_calls = { newborns_begin, newborns_pass, newborns_saw };

/* The first held one of a root of which the element misses none. */
static struct ck_env *take_due(struct newborn *y)
{
	for (uint32_t i = 0; i < y->n_held; i++) {
		struct ck_env *env = y->held[i];

		if (spans_has_root(&y->missed, env->root))
			continue;
		memmove(y->held + i, y->held + i + 1, (--y->n_held - i) * sizeof *y->held);
		return env;
	}
	return NULL;
}

/* The handlers that run here may end the element, and with it the record. */
static void catch_up(struct pe *pe, struct collection *c, CkIndex i, uint64_t no)
{
	struct newborn *y;
	struct ck_env *env;

	while ((y = newborn_of(c, i, no)) && (env = take_due(y))) {
		deliver_copy(pe, c, y->at, env);
		env_unref(pe, env);
	}
	if (y && is_done(y))
		newborn_end(pe, c, y);
	maybe_forget(c);
}

/* A broadcast from the creator. An element that is destroyed needs nothing more. */
static void missed_came(struct pe *pe, struct collection *c, CkIndex i, uint64_t no,
			const struct ck_env *env)
{
	struct newborn *y = newborn_of(c, i, no);

	if (!y || !spans_take(&y->missed, env->root, env->place))
		return;
	deliver_copy(pe, c, y->at, env);
	catch_up(pe, c, i, no);
}

/* ---- the element's PE: an element is made ---------------------------------------------------- */

static uint64_t record(struct ck_obj *obj, struct spans seen, struct spans missed)
{
	struct collection *c = obj->coll;
	struct newborn *y = cmi_alloc_zero(1, sizeof *y, "elements that are inserted");

	y->at = obj;
	y->index = obj->index;
	y->no = ++call_coll_of(c)->n_newborns;
	y->seen = seen;
	y->missed = missed;
	index_add(&newborns_get(c)->by_index, y);
	return y->no;
}

static bool equal(const struct spans *a, const struct spans *b)
{
	return a->n == b->n && (!a->n || !memcmp(a->list, b->list, a->n * sizeof *a->list));
}

struct newborn_birth newborn_begin(struct pe *pe, struct ck_obj *obj, struct ck_env *env)
{
	const struct stamp s = stamp_of(env);
	const struct spans had = { spans_of(env, &s), s.n, s.n, NULL };
	const struct spans *here = &call_coll_of(obj->coll)->seen;
	struct newborn_birth b = { obj->index, s.creator, s.epoch, 0 };

	(void)pe;
	env->head.size = sizeof *env + s.params;
	if (!equal(&had, here))
		b.no = record(obj, spans_minus(&had, here), spans_minus(here, &had));
	return b;
}

/* The creator learns of the element: forward what it has seen, and note what it will see. */
static void born(struct pe *pe, struct collection *c, const struct newborn_birth *b, int place,
		 struct spans missed)
{
	struct debt d = { place, b->index, b->no, missed };

	for (uint64_t e = b->epoch;
	     d.missed.n && e < call_coll_of(c)->newborns->first + call_coll_of(c)->newborns->n_kept;
	     e++) {
		const struct newborns *n = call_coll_of(c)->newborns;
		const struct ck_env *env = n->kept[e - n->first].env;

		if (!spans_take(&d.missed, env->root, env->place))
			continue;
		if (place == pe->id)
			missed_came(pe, c, d.index, d.no, env);
		else
			send_missed(pe, c, &d, env);
	}
	if (d.missed.n)
		debt_add(call_coll_of(c)->newborns, d);
	carried_out(pe, c, b->epoch);
}

static void send_inserted(struct pe *pe, const struct collection *c, const struct newborn_birth *b,
			  const struct spans *missed)
{
	const size_t bytes = missed->n * sizeof *missed->list;
	struct inserted_msg *m = ck_msg_new(pe, PART_PLACE, H_INSERTED, 0, sizeof *m + bytes);

	m->coll = c->id;
	m->epoch = b->epoch;
	m->no = b->no;
	m->index = b->index;
	m->n = missed->n;
	if (bytes)
		memcpy(m->missed, missed->list, bytes);
	csd_send(pe, b->creator, &m->head);
}

/* If the creator makes the element itself, nothing that it misses is still to be seen: what was
 * delivered here is what the creator has seen. */
void newborn_made(struct pe *pe, struct collection *c, const struct newborn_birth *b)
{
	const struct newborn *y = newborn_of(c, b->index, b->no);
	const struct spans missed = y ? y->missed : (struct spans){ 0 };

	if (b->creator == pe->id)
		born(pe, c, b, pe->id, spans_copy(missed.list, missed.n));
	else
		send_inserted(pe, c, b, &missed);
}

/* ---- what comes from other PEs --------------------------------------------------------------- */

const char *newborn_inserted_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct inserted_msg *b = (const struct inserted_msg *)m;

	if ((m->size - sizeof *b) / sizeof *b->missed != b->n ||
	    (m->size - sizeof *b) % sizeof *b->missed ||
	    !spans_fit(b->missed, b->n, pe->node->job->n_pes))
		return "its list does not lie within it, or is wrong";
	return insertion_is_open(pe, b->coll, b->epoch) ?
		       NULL :
		       "it is about an insertion that this PE has not sent";
}

void newborn_inserted_arrived(struct pe *pe, struct cmi_msg *m)
{
	const struct inserted_msg *b = (const struct inserted_msg *)m;
	const struct newborn_birth birth = { b->index, pe->id, b->epoch, b->no };
	struct spans missed = spans_copy(b->missed, b->n);
	const int place = m->src_pe;
	struct collection *c = coll_get(pe, b->coll);

	csd_msg_free(pe, m);
	born(pe, c, &birth, place, missed);
}

const char *newborn_missed_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct missed_msg *b = (const struct missed_msg *)m;

	if (b->flags & (uint8_t)~CSD_F_QUEUEING)
		return "it carries a broadcast that nobody can have sent";
	return coll_get(pe, b->coll)->constructed ? NULL : "its collection does not exist yet";
}

/* The broadcast as it was when the creator saw it. */
static struct ck_env *missed_unpack(struct pe *pe, const struct missed_msg *b)
{
	const size_t rest = b->head.size - sizeof *b;
	struct cmi_msg *m = ck_msg_new(pe, PART_CALL, H_BCAST, b->flags, sizeof *m + rest);
	struct ck_env *env = (struct ck_env *)m;

	m->src_pe = b->head.src_pe;
	m->prio = b->prio;
	memcpy(m + 1, b + 1, rest);
	atomic_store_explicit(&env->refs, 1, memory_order_relaxed); /* only this thread has it */
	return env;
}

static void check_missed(struct pe *pe, const struct collection *c, const struct ck_env *env,
			 const struct cmi_msg *m)
{
	if (env->head.flags & CMI_F_WIDE && !csd_wide_fits(&env->head))
		csd_misfit(pe, m, "its priority does not lie within it");
	if (env->coll != c->id || shape_call_of(pe, c, env))
		csd_misfit(pe, m, "it carries a broadcast that nobody can have sent");
}

void newborn_missed_arrived(struct pe *pe, struct cmi_msg *m)
{
	const struct missed_msg *b = (const struct missed_msg *)m;
	struct collection *c = coll_get(pe, b->coll);
	struct ck_env *env = missed_unpack(pe, b);

	check_missed(pe, c, env, m);
	missed_came(pe, c, b->index, b->no, env);
	csd_msg_free(pe, m);
	csd_msg_free(pe, &env->head);
}

/* ---- the watchdog, the end ------------------------------------------------------------------- */

void newborns_describe(const struct collection *c, struct csd_told *to)
{
	const struct newborns *n = call_coll_of(c)->newborns;
	const struct idmap_slot *s;
	size_t n_open;

	if (!n)
		return;
	n_open = (size_t)n->n_open;
	for (uint32_t i = 0; i < n->n_kept; i++)
		n_open += (size_t)n->kept[i].n_open;
	if (n_open)
		csd_tell(to, NULL, "insertions of this PE into %s under way: %zu; broadcasts kept for them: %u",
			 coll_thing(c).name, n_open, n->n_kept);
	for (size_t i = 0; (s = idmap_each(&n->by_index, &i)); i++) {
		const struct newborn *y = (const struct newborn *)s->value;
		const struct csd_wait w = { .who = element_thing(c->type, c->id, y->index) };

		if (y->missed.n)
			csd_tell(to, &w, "waits for broadcasts that its creator hands on: the next is "
				 "number %llu of PE %d", (unsigned long long)y->missed.list[0].from, y->missed.list[0].root);
	}
}

void newborns_fini(struct pe *pe, struct collection *c)
{
	struct newborns *n = call_coll_of(c)->newborns;
	const struct idmap_slot *s;

	if (!n)
		return;
	for (size_t i = 0; (s = idmap_each(&n->by_index, &i)); i++)
		newborn_free(pe, (struct newborn *)s->value);
	for (uint32_t i = 0; i < n->n_kept; i++)
		csd_msg_free(pe, &n->kept[i].env->head);
	for (uint32_t i = 0; i < n->n_debts; i++)
		spans_free(&n->debts[i].missed);
	spans_free(&n->ahead);
	idmap_free(&n->by_index);
	free(n->kept);
	free(n->debts);
	free(n);
	call_coll_of(c)->newborns = NULL;
}
