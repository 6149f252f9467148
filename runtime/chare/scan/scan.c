/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.c: prefix scans: each element gets the combination of the contributions of all elements
 * before it. A PE needs one thing from the others: the prefix, which is the combination of what
 * comes before its own elements. There are two methods.
 *
 * Blocks (default map, groups, cuts): each PE has a run of consecutive elements, in the order of
 * the PEs. In round r PE p knows the combination of PEs p - 2^r + 1 .. p. It sends that to p + 2^r,
 * and prepends what comes from p - 2^r to its own. (Hillis, Steele: Data Parallel Algorithms, CACM
 * 1986.) PEs without elements are the last ones, and take no part.
 *
 *	PE            0     1     2      3      4
 *	round 0       0 ->  1 ->  2 ->   3 ->   4
 *	knows         0    0-1   1-2    2-3    3-4
 *	round 1       0 --------> 2 -----------> 4     1 -------> 3
 *	knows         0    0-1   0-2    0-3    1-4     and so on
 *
 * Runs (any other map, and cuts that leave out a PE before the last ones): each PE sends the sum of
 * each of its runs of consecutive elements to PE 0. PE 0 goes through the runs in index order and
 * sends back the prefix of each.
 *
 * A scan is a reduction's record (reduction.c) without an accumulator, in a list of its own.
 *
 * In both, the map and the number of PEs alone decide the order of combination. Results of one scan
 * leave a PE before those of the next, because no message of the next scan overtakes one of this
 * scan.
 */
#include "../reduce/reduce.h"
#include "../../machine/base/cmi_alloc.h"
#include "../core/shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Stages above all rounds. */
enum { SCAN_UP = 0xfe, SCAN_DOWN = 0xfd, SCAN_GONE = 0xfc };
enum { H_SCAN };

/** The scans of one collection on one PE. */
struct scans {
	struct reduction *open;
	int n_givers;             /* runs: PEs with elements; -1: not counted */
	uint32_t n_scanned[];     /* by ordinal: scans that the element took part in */
};

/* ---- records --------------------------------------------------------------------------------- */

static struct scans **scans_at(const struct collection *c) { return coll_state(c, PART_SCAN); }

static struct scans *scans_of(struct collection *c)
{
	struct scans *all = *scans_at(c);

	if (CSD_LIKELY(all != NULL))
		return all;
	*scans_at(c) = all = cmi_alloc_zero(1, sizeof *all + c->n_local * sizeof *all->n_scanned,
						   "a scan");
	all->n_givers = -1;
	return all;
}

static void scan_close(struct pe *pe, struct collection *c, struct reduction *s)
{
	reduction_close(pe, &(*scans_at(c))->open, s);
}

static void scan_coll_fini(struct pe *pe, struct collection *c)
{
	struct scans *all = *scans_at(c);

	if (all)
		reductions_close(pe, &all->open);
	free(all);
}

/* Each element has a callback of its own, so the record's callback has space for the kind. */
static bool is_exclusive(const struct reduction *s) { return s->cb.entry; }
static const char *kind_name(bool exclusive) { return exclusive ? "exclusive" : "inclusive"; }

/* The stash of a scan of n elements, by ordinal:
 *
 *	| n values | before | known, padded to 16 | n CkCallbacks |
 *
 * before: the prefix of our elements, if s->any. known: what a PE of blocks knows (see above). */
static char *value_of(const struct reduction *s, uint64_t ordinal)
{
	return s->stash + ordinal * s->bytes;
}
static char *before_of(const struct collection *c, const struct reduction *s)
{
	return value_of(s, c->n_local);
}
static char *known_of(const struct collection *c, const struct reduction *s)
{
	return value_of(s, c->n_local + 1);
}
static CkCallback *callbacks_of(const struct collection *c, const struct reduction *s)
{
	return (CkCallback *)(void *)(s->stash + CkGen_align((c->n_local + 2) * s->bytes));
}

/* Find or open scan `no`; abort if the caller's terms differ from those of the record. */
static struct reduction *scan_join(struct pe *pe, struct collection *c, uint32_t no,
				   const struct contributed *in, bool exclusive)
{
	struct scans *all = scans_of(c);
	struct reduction *s = reduction_at(all->open, no);

	if (CSD_UNLIKELY(!s)) {
		s = reduction_open(pe, &all->open, no, in);
		s->cb.entry = exclusive;
		s->n_missing = c->n_local;
		reduction_room(s, CkGen_align((c->n_local + 2) * s->bytes) + c->n_local * sizeof(CkCallback));
	} else if (CSD_UNLIKELY(s->op != in->op || s->count != in->count || s->cb.entry != exclusive)) {
		csd_abort(pe, "elements of %s disagree in scan %u: %s of %llu x %s on PE %d, and %s of "
			  "%llu x %s on PE %d", c->type->name, s->no, kind_name(is_exclusive(s)),
			  (unsigned long long)s->count, s->how->name, s->from_pe, kind_name(exclusive),
			  (unsigned long long)in->count, in->how->name, in->pe);
	}
	return s;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* in_first: `in` precedes the value of `acc`. */
static void scan_combine(const struct reduction *s, char *acc, const void *in, bool in_first)
{
	if (s->bytes)
		reducer_combine(s->how, acc, in, s->count, in_first);
}

/* Mostly for one number, where calling memcpy would take longer than the copy. */
static inline void scan_copy(const struct reduction *s, char *to, const void *from)
{
	if (s->bytes == sizeof(uint64_t))
		__builtin_memcpy(to, from, sizeof(uint64_t));
	else if (s->bytes == sizeof(uint32_t))
		__builtin_memcpy(to, from, sizeof(uint32_t));
	else if (s->bytes)
		memcpy(to, from, s->bytes);
}

static void set_identity(const struct reduction *s, char *to)
{
	if (!s->how->identity && s->bytes)
		memset(to, 0, s->bytes);
	for (uint64_t i = 0; s->how->identity && i < s->count; i++)
		memcpy(to + i * s->how->value_bytes, s->how->identity, s->how->value_bytes);
}

/* Deliver the results of n consecutive elements from `ordinal` on. before: their prefix, valid if
 * `any` is set; it is changed. */
static void scan_deliver(struct pe *pe, const struct collection *c, struct reduction *s,
			 uint64_t ordinal, uint64_t n, char *before, bool any)
{
	const CkCallback *cbs = callbacks_of(c, s);

	for (uint64_t i = ordinal; i < ordinal + n; i++, any = true) {
		struct ck_env *env = callback_msg(pe, s->how->type, s->count, s->bytes);

		if (is_exclusive(s) && !any)
			set_identity(s, values_of(env));
		else if (is_exclusive(s))
			scan_copy(s, values_of(env), before);
		if (any)
			scan_combine(s, before, value_of(s, i), false);
		else
			scan_copy(s, before, value_of(s, i));
		if (!is_exclusive(s))
			scan_copy(s, values_of(env), before);
		callback_send(pe, &cbs[i], env);
	}
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Envelopes use the view `part`; its `entry` says whether the scan is exclusive. */
static struct ck_env *scan_part_new(struct pe *pe, const struct collection *c,
				    const struct reduction *s, int stage, size_t bytes)
{
	struct ck_env *env = env_new(pe, ck_handler(pe, PART_SCAN, H_SCAN), bytes);

	wire_set(env, c->id, s);
	env->part.entry = s->cb.entry;
	env->part.stage = (uint8_t)stage;
	return env;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool in_blocks(const struct pe *pe, const struct collection *c)
{
	return coll_n_runs(pe, c);
}

/* Send what is known, and return the PE that sends to this one in the round; below 0: none does. */
static int enter_round(struct pe *pe, struct collection *c, struct reduction *s, int round)
{
	int to = pe->id + (1 << round);

	s->stage = (uint8_t)round;
	if (to < coll_n_runs(pe, c)) {
		struct ck_env *env = scan_part_new(pe, c, s, round, s->bytes);

		scan_copy(s, payload_of(env), known_of(c, s));
		csd_send(pe, to, &env->head);
	}
	return pe->id - (1 << round);
}

static void scan_absorb(struct pe *pe, struct collection *c, struct reduction *s,
			struct ck_env *env)
{
	const void *in = payload_of(env);

	scan_combine(s, known_of(c, s), in, true);
	if (s->any)
		scan_combine(s, before_of(c, s), in, true);
	else
		scan_copy(s, before_of(c, s), in);
	s->any = true;
	csd_msg_free(pe, &env->head);
}

/* Continue through the rounds whose messages have arrived. */
static void scan_go_on(struct pe *pe, struct collection *c, struct reduction *s, int round)
{
	int n = coll_n_runs(pe, c);
	struct ck_env *env;

	for (; 1 << round < n; round++) {
		if (s->stage != round && enter_round(pe, c, s, round) < 0)
			continue;
		env = take_early(s, round);
		if (!env)
			return;
		scan_absorb(pe, c, s, env);
	}
	scan_deliver(pe, c, s, 0, c->n_local, before_of(c, s), s->any);
	scan_close(pe, c, s);
}

static void start_block(struct pe *pe, struct collection *c, struct reduction *s)
{
	char *known = known_of(c, s);

	scan_copy(s, known, value_of(s, 0));
	for (uint64_t i = 1; i < c->n_local; i++)
		scan_combine(s, known, value_of(s, i), false);
	scan_go_on(pe, c, s, 0);
}

static void block_part(struct pe *pe, struct collection *c, struct reduction *s, struct ck_env *env)
{
	int stage = env->part.stage;

	keep_early(s, env);
	if (s->stage == stage)
		scan_go_on(pe, c, s, stage);
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* The sums of a PE's runs go up, and their prefixes come down in the same order:
 *
 *	| n | first place of each, padded to 16 | values of each |
 */
static size_t runs_head(uint64_t n) { return CkGen_align((1 + n) * sizeof(uint64_t)); }

static uint64_t n_runs(struct ck_env *env) { return *(uint64_t *)payload_of(env); }

static uint64_t *run_places(struct ck_env *env) { return (uint64_t *)payload_of(env) + 1; }

static char *run_value(const struct reduction *s, struct ck_env *env, uint64_t k)
{
	return (char *)payload_of(env) + runs_head(n_runs(env)) + k * s->bytes;
}

static uint64_t ordinal_place(const struct collection *c, uint64_t ordinal)
{
	return index_place(c, c->elems[ordinal]->index);
}

/* The end of the run that begins with this element. Ordinals are in index order. */
static uint64_t run_end(const struct collection *c, uint64_t ordinal)
{
	uint64_t place = ordinal_place(c, ordinal);

	for (uint64_t i = ordinal + 1; i < c->n_local; i++)
		if (ordinal_place(c, i) != place + (i - ordinal))
			return i;
	return c->n_local;
}

static uint64_t scan_count_runs(const struct collection *c)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < c->n_local; i = run_end(c, i))
		n++;
	return n;
}

static void scan_send_up(struct pe *pe, struct collection *c, struct reduction *s)
{
	uint64_t n = scan_count_runs(c), end, k = 0;
	struct ck_env *env = scan_part_new(pe, c, s, SCAN_UP, runs_head(n) + n * s->bytes);

	*(uint64_t *)payload_of(env) = n;
	for (uint64_t i = 0; i < c->n_local; i = end, k++) {
		char *sum = run_value(s, env, k);

		end = run_end(c, i);
		run_places(env)[k] = ordinal_place(c, i);
		scan_copy(s, sum, value_of(s, i));
		for (uint64_t j = i + 1; j < end; j++)
			scan_combine(s, sum, value_of(s, j), false);
	}
	csd_send(pe, 0, &env->head);
}

struct run {
	uint64_t place;
	char *sum;
};

static int compare_runs(const void *a_, const void *b_)
{
	uint64_t a = ((const struct run *)a_)->place, b = ((const struct run *)b_)->place;

	return (a > b) - (a < b);
}

static struct run *list_runs(const struct reduction *s, uint64_t *n_p)
{
	struct run *runs = NULL;
	uint64_t n = 0;

	for (struct cmi_msg *m = s->early; m; m = m->next) {
		struct ck_env *env = (struct ck_env *)m;
		uint64_t more = n_runs(env);

		runs = cmi_realloc(runs, n + more, sizeof *runs, "a scan");
		for (uint64_t i = 0; i < more; i++)
			runs[n++] = (struct run){ run_places(env)[i], run_value(s, env, i) };
	}
	qsort(runs, n, sizeof *runs, compare_runs);
	*n_p = n;
	return runs;
}

/* PE 0 has all sums: replace each sum by its prefix, and send its message back. */
static void scan_answer(struct pe *pe, struct reduction *s)
{
	uint64_t n;
	struct run *runs = list_runs(s, &n);
	char *sum = cmi_alloc(s->bytes + 1, "a scan"), *before = cmi_alloc(s->bytes + 1, "a scan");

	for (uint64_t i = 0; i < n; i++) {
		scan_copy(s, sum, runs[i].sum);
		if (i)
			scan_copy(s, runs[i].sum, before);
		if (i)
			scan_combine(s, before, sum, false);
		else
			scan_copy(s, before, sum);
	}
	free(before);
	free(sum);
	free(runs);
	while (s->early) {
		struct cmi_msg *m = s->early;
		int to = m->src_pe;

		s->early = m->next;
		m->route = ck_of(pe)->route;
		m->handler = ck_handler(pe, PART_SCAN, H_SCAN);
		((struct ck_env *)m)->part.stage = SCAN_DOWN;
		csd_send(pe, to, m);
	}
}

static int count_givers(struct pe *pe, struct collection *c)
{
	int n_pes = pe->node->job->n_pes, n = 0;
	bool *has = cmi_alloc_zero((size_t)pe->node->job->n_pes, sizeof *has, "a scan");

	coll_who_has(pe, c, has);
	for (int i = 0; i < n_pes; i++)
		n += has[i];
	free(has);
	return n;
}

static void scan_sums_came(struct pe *pe, struct collection *c, struct reduction *s,
			   struct ck_env *env)
{
	keep_early(s, env);
	struct scans *all = *scans_at(c);

	if (all->n_givers < 0)
		all->n_givers = count_givers(pe, c);
	if (++s->n_children_in < all->n_givers)
		return;
	scan_answer(pe, s);
	if (!c->n_local)
		scan_close(pe, c, s);
}

static void befores_came(struct pe *pe, struct collection *c, struct reduction *s,
			 struct ck_env *env)
{
	uint64_t end, k = 0;

	for (uint64_t i = 0; i < c->n_local && k < n_runs(env); i = end, k++) {
		end = run_end(c, i);
		scan_deliver(pe, c, s, i, end - i, run_value(s, env, k), ordinal_place(c, i) > 0);
	}
	csd_msg_free(pe, &env->head);
	scan_close(pe, c, s);
}

/* ---- messages from other PEs ----------------------------------------------------------------- */

static void part_came(struct pe *pe, struct collection *c, struct reduction *s, struct ck_env *env)
{
	bool up = env->part.stage == SCAN_UP && pe->id == 0 && !in_blocks(pe, c);
	bool down = env->part.stage == SCAN_DOWN && s->local_done && !in_blocks(pe, c);

	if (up)
		scan_sums_came(pe, c, s, env);
	else if (down)
		befores_came(pe, c, s, env);
	else if (env->part.stage < 32 && c->n_local && in_blocks(pe, c))
		block_part(pe, c, s, env);
	else
		csd_abort(pe, "message from PE %d belongs to no scan here", env->head.src_pe);
}

/* An element's prefix is only defined while all elements exist. */
_Noreturn static void elements_change(struct pe *pe, const struct collection *c)
{
	csd_abort(pe, "CkScan: elements of %s are inserted or were destroyed; only an array that has all "
		  "its elements from the beginning to the end can be scanned", c->type->name);
}

/* An element of this PE is about to be destroyed, or has moved. With a map this PE tells PE 0,
 * which would otherwise wait for a PE that has lost all its elements. Blocks detect that
 * themselves. */
static void scans_dynamic(struct pe *pe, struct collection *c)
{
	if (*scans_at(c) && (*scans_at(c))->open)
		elements_change(pe, c);
	if (in_blocks(pe, c) || !c->constructed || pe->id == 0)
		return;
	struct ck_env *env = env_new(pe, ck_handler(pe, PART_SCAN, H_SCAN), 0);

	env->coll = c->id;
	env->part.stage = SCAN_GONE;
	csd_send(pe, 0, &env->head);
}

static void scan_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	struct collection *c = coll_get(pe, env->coll);

	if (CSD_UNLIKELY(!coll_there(pe, c))) {
		call_wait(pe, c, m);
		return;
	}
	if (CSD_UNLIKELY(env->part.stage == SCAN_GONE)) {
		coll_become_dynamic(pe, c);
		csd_msg_free(pe, m);
		return;
	}
	static const CkCallback none;
	const struct reducer *how = reducer_find(ck_node_of(pe->node), env->part.op);

	if (!how || how->merge)
		csd_abort(pe, "message from PE %d belongs to no scan here", m->src_pe);
	if (c->dynamic)
		elements_change(pe, c);
	const struct contributed in = { NULL, env->part.count, (CkReduction)env->part.op, m->src_pe, how,
					&none, NULL, 0, 0 };

	part_came(pe, c, scan_join(pe, c, env->part.no, &in, env->part.entry), env);
}

static void scan_check(struct pe *pe, const struct collection *c, const struct reducer *how,
		  CkReduction op)
{
	if (!how)
		csd_abort(pe, "CkScan: there is no reduction %d", (int)op);
	if (how->merge)
		csd_abort(pe, "CkScan: %s does not work value by value", how->name);
	if (c->type->kind != CKGEN_ARRAY && c->type->kind != CKGEN_GROUP)
		csd_abort(pe, "CkScan: %s is neither an array nor a group", c->type->name);
	if (c->dynamic)
		elements_change(pe, c);
}

/* ---- seats move in bulk ---------------------------------------------------------------------- */

static void scans_still(struct pe *pe, struct collection *c, struct place_still *still)
{
	const struct scans *all = *scans_at(c);

	(void)pe;
	still->fixed |= all && all->open;
	if (c->dynamic || !c->n_local)
		return;
	still->scans = all ? all->n_scanned[0] : 0;
	for (uint64_t i = 0; all && i < c->n_local; i++)
		still->fixed |= all->n_scanned[i] != still->scans;
}

/* All elements have called equally many scans, so they count from 0 again. */
static void scans_reseated(struct pe *pe, struct collection *c, const struct place_still *still)
{
	(void)pe;
	(void)still;
	free(*scans_at(c));
	*scans_at(c) = NULL;
}

/* obj: the element, or its stub. */
static void take_part_in(struct pe *pe, struct collection *c, const struct ck_obj *obj,
			 const struct contributed *in, bool exclusive)
{
	result_check(pe, in, c->type);
	struct reduction *s = scan_join(pe, c, scans_of(c)->n_scanned[obj->ordinal]++, in, exclusive);

	scan_copy(s, value_of(s, obj->ordinal), in->data);
	callbacks_of(c, s)[obj->ordinal] = *in->cb;
	if (--s->n_missing)
		return;
	s->local_done = true;
	if (in_blocks(pe, c))
		start_block(pe, c, s);
	else
		scan_send_up(pe, c, s);
}

void CkScan(void *self, const void *data, size_t count, CkReduction op, int kind, CkCallback cb)
{
	struct pe *pe = ck_self();
	struct ck_obj *obj = obj_of(self);
	const struct reducer *how = reducer_find(ck_node_of(pe->node), op);
	const struct contributed in = { data, op == CkReduction_nop ? 0 : count, op, pe->id, how, &cb,
					&obj->index, 0, 0 };

	scan_check(pe, obj->coll, how, op);
	if (CSD_UNLIKELY(obj->extra & OBJ_AWAY))
		seat_send(pe, obj, PART_SCAN, contribution_msg(pe, &in, kind == CK_SCAN_EXCLUSIVE));
	else
		take_part_in(pe, obj->coll, obj, &in, kind == CK_SCAN_EXCLUSIVE);
}

/* An element with a seat here called a scan while it was away. */
static void scan_filed(struct pe *pe, struct ck_obj *seat, struct ck_env *env, int from)
{
	uint64_t exclusive;
	const struct contributed in = contribution_read(pe, env, from, &seat->index, &exclusive);

	scan_check(pe, seat->coll, in.how, in.op);
	take_part_in(pe, seat->coll, seat, &in, exclusive);
	csd_msg_free(pe, &env->head);
}

/* ---- for the watchdog ------------------------------------------------------------------------ */

static uint32_t n_scanned(const struct collection *c, uint64_t ordinal)
{
	const struct scans *all = *scans_at(c);

	return all ? all->n_scanned[ordinal] : 0;
}

/* The wait of a scan that all elements of this PE have called. */
static void describe_stage(const struct pe *pe, const struct collection *c,
			   const struct reduction *s, char *buf, size_t len)
{
	const struct scans *all = *scans_at(c);

	if (pe->id == 0 && !in_blocks(pe, c))
		snprintf(buf, len, "the sums of %d of %d PEs",
			 all->n_givers < 0 ? 0 : all->n_givers - s->n_children_in,
			 all->n_givers);
	else if (!in_blocks(pe, c))
		snprintf(buf, len, "PE 0, which puts the sums of all PEs together");
	else
		snprintf(buf, len, "the sum of PE %d (round %d)", pe->id - (1 << s->stage), s->stage);
}

/* s NULL: no element here has called scan `no`. */
static void describe_scan(struct pe *pe, const struct collection *c, uint32_t no,
			  const struct reduction *s, struct csd_told *to)
{
	const struct csd_key key = { THING_SCAN, { (int32_t)no }, c->id };
	char more[80], stage[128] = "";
	struct for_all w = { .act = "", .done = "come to it", .others = stage };
	struct missing m = { 0 };

	w.what = csd_named(&key, "scan %u of %s", no, coll_thing(c).name);
	for (uint64_t i = 0; i < c->n_local; i++)
		if ((int32_t)(n_scanned(c, i) - no) <= 0)
			missing_add(&m, obj_thing(c->elems[i]), false);
	if (s) {
		snprintf(more, sizeof more, "%s, %s", s->how->name, kind_name(is_exclusive(s)));
		w.more = more;
		w.is_open = true;
		if (!m.n) /* otherwise it has no stage yet */
			describe_stage(pe, c, s, stage, sizeof stage);
	}
	tell_for_all(to, &w, &m);
}

/* The next scan of the slowest element of this PE. */
static uint32_t next_scan(const struct collection *c)
{
	uint32_t no = n_scanned(c, 0);

	for (uint64_t i = 1; i < c->n_local; i++)
		if ((int32_t)(n_scanned(c, i) - no) < 0)
			no = n_scanned(c, i);
	return no;
}

static void describe_scans(struct pe *pe, const struct collection *c, struct csd_told *to)
{
	const uint32_t next = c->n_local ? next_scan(c) : 0;
	bool is_open = !c->n_local || (c->type->kind != CKGEN_ARRAY && c->type->kind != CKGEN_GROUP);

	for (const struct reduction *s = *scans_at(c) ? (*scans_at(c))->open : NULL; s; s = s->next) {
		describe_scan(pe, c, s->no, s, to);
		is_open |= s->no == next;
	}
	if (!is_open)
		describe_scan(pe, c, next, NULL, to);
}

static void scans_describe(struct pe *pe, struct csd_told *to)
{
	const struct idmap_slot *slot;

	for (size_t i = 0; (slot = idmap_each(&ck_of(pe)->colls, &i)); i++) {
		const struct collection *c = (const struct collection *)slot->value;

		if (c->type && c->constructed && !c->dynamic && c->n_slots == c->n_local)
			describe_scans(pe, c, to);
	}
}

/* A checkpoint does not save open ones. */
static void scans_refuse(struct pe *pe, struct csd_told *to)
{
	const struct idmap_slot *slot;

	for (size_t i = 0; (slot = idmap_each(&ck_of(pe)->colls, &i)); i++) {
		const struct collection *c = (const struct collection *)slot->value;
		const struct scans *all = *scans_at(c);

		for (const struct reduction *s = all ? all->open : NULL; s; s = s->next)
			describe_scan(pe, c, s->no, s, to);
	}
}

/* ---- the part -------------------------------------------------------------------------------- */

static const char *scan_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct ck_env *env = (const struct ck_env *)m;
	const struct reducer *how = reducer_find(ck_node_of(pe->node), env->part.op);
	const int stage = env->part.stage;
	const size_t room = m->size - sizeof *env;
	size_t bytes;

	if (stage == SCAN_GONE)
		return NULL;
	if (!how || how->merge)
		return "it belongs to no scan here";
	bytes = env->part.count * (size_t)how->value_bytes;
	if (stage == SCAN_UP || stage == SCAN_DOWN) {
		const uint64_t n = room < sizeof n ? UINT64_MAX : *(const uint64_t *)(const void *)(env + 1);

		if (n > room / sizeof n || runs_head(n) > room || (bytes && n > (room - runs_head(n)) / bytes))
			return "its values do not lie within it";
	} else if (room != bytes) {
		return "its size is not that of its values";
	}
	return NULL;
}

static const struct ck_handler handlers[] = {
	[H_SCAN] = { "ck.scan", scan_arrived, .shape = { CK_SHAPE_COLL, .misfit = scan_misfit } },
};

static const struct place_watch watch = {
	.dynamic = scans_dynamic,
	.still = scans_still,
	.reseated = scans_reseated,
	.filed = scan_filed,
	.filed_misfit = contribution_misfit,
};

static int scan_node_start(struct node *node)
{
	place_join(node, PART_SCAN, &watch);
	return 0;
}

const struct ck_part scan_part = {
	.name = "scan",
	.number = PART_SCAN,
	.coll_bytes = sizeof(struct scans *),
	.handlers = CK_LIST(handlers),
	.describe = scans_describe,
	.save.refuse = scans_refuse,
	.watch.fini = scan_coll_fini,
	.node_start = scan_node_start,
};
