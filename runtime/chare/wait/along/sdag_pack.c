/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdag_pack.c: packs an element's Structured Dagger state: the runs of its bodies, the calls that
 * they have taken, and the calls that are kept for them; and the rounds of its [count] entries.
 *
 *   +-------+---------------------------------------+-----+----------------+
 *   | image | run_image, slots, what the body keeps | ... | kept calls ... |
 *   |       | its calls ...                         |     |                |
 *   +-------+---------------------------------------+-----+----------------+
 *         +--------------+----------------------------+-----+-----+
 *         | rounds_image | round_image, its calls ... | ... | sum |
 *         +--------------+----------------------------+-----+-----+
 *
 * A body's position, its variables and its pointers depend on each other in too many ways to check
 * each. So a hash of everything is appended, and an image with another hash is refused.
 *
 * A run is a struct that may be copied, except for its head, its calls, and parameters that point
 * into calls. Such a pointer is packed as its distance from the call's own parameter, which is
 * computed again from the call; so the program may have changed it within the call. Calls are
 * packed in the form in which they leave a node.
 */
#include "along.h"
#include "../extra.h"
#include "../../../machine/base/cmi_alloc.h"
#include "../../../machine/tools/cmi_hash.h"

#include <stdlib.h>
#include <string.h>

struct image {
	uint32_t n_runs, n_kept;
};

/* Only if there are rounds. */
struct rounds_image {
	uint32_t n, unused;
};

struct round_image {
	uint32_t entry;
	int32_t number;
	uint32_t n, left;
};

struct run_image {
	int32_t up;               /* number of the run around it, in the order of the image; -1: none */
	int32_t what;             /* entry of the body; or which branch of `up` */
	uint32_t at;
	int32_t found, inner, n_parts;
	int32_t turn;             /* among those that wait for calls; -1: it does not */
	uint32_t entry;           /* what it runs */
	bool joins, special, has_own, has_running;
	uint8_t pad[4];
};
_Static_assert(sizeof(struct run_image) % 8 == 0, "what follows stays aligned");

static const int64_t NO_POINTER = INT64_MIN;

/* ---- the runs in order ----------------------------------------------------------------------- */

/* In reverse, because the list begins with the newest; so the run around a branch comes first. */
static CkGenRun *older(const struct sdag *s, const CkGenRun *run)
{
	return run->link == &s->runs ?
		       NULL :
		       (CkGenRun *)(void *)((char *)run->link - offsetof(CkGenRun, next));
}

static CkGenRun *oldest(const struct sdag *s)
{
	CkGenRun *run = s->runs;

	while (run && run->next)
		run = run->next;
	return run;
}

static int32_t number_of(const struct sdag *s, const CkGenRun *wanted)
{
	int32_t n = 0;

	if (!wanted)
		return -1;
	for (CkGenRun *run = oldest(s); run != wanted; run = older(s, run))
		n++;
	return n;
}

static int32_t waiting_turn(const struct sdag *s, const CkGenRun *wanted)
{
	int32_t n = 0;

	if (!wanted->waits)
		return -1;
	for (const CkGenRun *run = s->waiting; run != wanted; run = run->behind)
		n++;
	return n;
}

static struct kept_running running_of(const CkGenRun *run)
{
	struct kept_running r;

	memcpy(&r, run->running, sizeof r);
	return r;
}

static void set_env(CkGenRun *run, struct ck_env *env)
{
	struct kept_running r = running_of(run);

	r.now.env = env;
	memcpy(run->running, &r, sizeof r);
}

/* The call of an opened item; NULL: the program has it. The innermost is the running one, unless
 * branches run inside it. */
static struct ck_env *call_of(CkGenRun *run, int slot)
{
	struct ck_env *running = slot == run->inner ? running_of(run).now.env : NULL;

	if (running)
		return running;
	return slot < 0 ? run->env : slots_of(run)[slot].env;
}

/* ---- pointers -------------------------------------------------------------------------------- */

/** Why a run cannot be packed: the variable 'p' is a pointer. `what` NULL: it can. */
struct obstacle {
	const char *what, *name, *why;
};

_Noreturn static void refuse_to_pack(struct pe *pe, const CkGenRun *run, struct obstacle o)
{
	const struct ck_obj *obj = run->obj;
	char who[128], in[128];

	csd_abort(pe, "%s cannot leave its process while %s (%s:%d) waits: %s '%s' %s",
		  obj_describe(obj, who, sizeof who),
		  describe_entry(obj->coll->type, run->body->entry, in, sizeof in), run->body->file,
		  run_place(run)->line, o.what, o.name, o.why);
}

static void *opened_at(CkGenRun *run, const CkGenOpened *o, const CkGenPointer *p)
{
	return (char *)run + o->at + (p ? p->at : 0);
}

/* A pointer into the call has the program's value. */
static bool has_strayed(const struct ck_env *env, const char *now)
{
	return now && (now < (const char *)env || now > (const char *)env + env->head.size);
}

static struct obstacle opened_obstacle(CkGenRun *run, const CkGenOpened *o)
{
	const struct ck_env *env = o->slot > -2 && o->n_pointers ? call_of(run, o->slot) : NULL;
	void *v;

	if (o->slot == -2) {
		memcpy(&v, opened_at(run, o, NULL), sizeof v);
		if (v)
			return (struct obstacle){ "the variable", o->name, "is a pointer" };
	}
	for (int i = 0; env && i < o->n_pointers; i++) {
		const CkGenPointer *p = &o->pointers[i];

		memcpy(&v, opened_at(run, o, p), sizeof v);
		if (p->target == CKGEN_OF_PROGRAM)
			return (struct obstacle){ "the array", p->name,
						  "lies where the program wanted it (nocopypost)" };
		if (p->target == CKGEN_OF_CALL && has_strayed(env, v))
			return (struct obstacle){ "the parameter", p->name, "does not point into its call any more" };
	}
	return (struct obstacle){ NULL, NULL, NULL };
}

static struct obstacle run_obstacle(CkGenRun *run)
{
	struct obstacle why = { NULL, NULL, NULL };

	if (run->thread)
		return (struct obstacle){ "its", "thread", "has a stack" };
	if (run->posted)
		return (struct obstacle){ "its", "call", "waits for buffers" };
	for (const CkGenOpened *o = run_place(run)->open; o && !why.what; o = o->up)
		why = opened_obstacle(run, o);
	return why;
}

void sdag_refuse(struct pe *pe, struct ck_obj *obj, struct csd_told *to)
{
	struct sdag *s = sdag_if(pe, obj);

	for (CkGenRun *run = s ? s->runs : NULL; run; run = run->next) {
		const struct obstacle o = run_obstacle(run);

		if (o.what)
			csd_tell(to, NULL, "%s at %s (%s:%d) waits: %s '%s' %s",
				 entry_thing(obj->coll->type, (uint32_t)run->body->entry).name, obj_thing(obj).name,
				 run->body->file, run_place(run)->line, o.what, o.name, o.why);
	}
}

/* The original parameters of a call. The caller frees them. */
static char *parameters(struct pe *pe, const CkGenRun *run, const CkGenOpened *o,
			struct ck_env *env)
{
	char *in = cmi_alloc(o->bytes ? o->bytes : 1, "the parameters of a call");

	take_params(pe, ((const struct ck_obj *)run->obj)->coll, env, in);
	return in;
}

static int64_t pointer_distance(const CkGenPointer *p, const char *now, const char *first)
{
	if (!now)
		return NO_POINTER;
	return p->target == CKGEN_OF_PUP ? 0 : now - first;
}

/* Replace the pointers into a call by distances. */
static void detach(struct pe *pe, CkGenRun *run, const CkGenOpened *o)
{
	struct ck_env *env = o->slot > -2 && o->n_pointers ? call_of(run, o->slot) : NULL;
	struct pup_block *unpacked = ck_of(pe)->unpacked;
	char *in;

	if (!o->n_pointers)
		return;
	ck_of(pe)->unpacked = NULL;
	in = env ? parameters(pe, run, o, env) : NULL;
	for (int i = 0; i < o->n_pointers; i++) {
		const CkGenPointer *p = &o->pointers[i];
		const char *now, *first;
		int64_t d = NO_POINTER;

		if (env) {
			memcpy(&now, opened_at(run, o, p), sizeof now);
			memcpy(&first, in + p->at, sizeof first);
			d = pointer_distance(p, now, first);
		}
		memcpy(opened_at(run, o, p), &d, sizeof d);
	}
	free(in);
	pup_forget(pe);
	ck_of(pe)->unpacked = unpacked;
}

/* The reverse, the outermost `when` first, because objects of pup functions end with their
 * `when`. */
static void attach(struct pe *pe, CkGenRun *run, const CkGenOpened *o)
{
	if (!o)
		return;
	attach(pe, run, o->up);
	if (o->slot >= 0 && o->slot == o->first)
		slots_of(run)[o->slot].before = ck_of(pe)->unpacked;
	struct ck_env *env = o->slot > -2 && o->n_pointers ? call_of(run, o->slot) : NULL;
	char *in = env ? parameters(pe, run, o, env) : NULL;

	for (int i = 0; i < o->n_pointers; i++) {
		const CkGenPointer *p = &o->pointers[i];
		char *v = NULL;
		int64_t d;

		memcpy(&d, opened_at(run, o, p), sizeof d);
		if (d != NO_POINTER) {
			memcpy(&v, in + p->at, sizeof v);
			v += d;
		}
		memcpy(opened_at(run, o, p), &v, sizeof v);
	}
	free(in);
}

/* ---- calls in the form for other nodes ------------------------------------------------------- */

struct ck_env *call_for_others(struct pe *pe, const struct ck_obj *obj, struct ck_env *env)
{
	if (!env)
		return NULL;
	if (env->head.flags & CMI_F_WIDE)
		csd_clear_prio(&env->head);
	return env_for_others(pe, &obj->coll->type->entries[env->entry], env);
}

/* Replace a shared message, which others read, too, by a copy. */
static void own_alone(struct pe *pe, CkGenRun *run)
{
	struct ck_env *env = call_of(run, -1), *copy;

	if (!run->shared)
		return;
	copy = env ? own_copy(pe, env) : NULL;
	if (run->holds)
		env_unref(pe, run->own);
	run->shared = run->holds = false;
	run->own = copy;
	if (running_of(run).now.env == env)
		set_env(run, copy);
	else
		run->env = copy;
}

static void run_prepare(struct pe *pe, CkGenRun *run)
{
	const struct ck_obj *obj = run->obj;
	const struct obstacle why = run_obstacle(run);

	if (why.what)
		refuse_to_pack(pe, run, why);
	for (const CkGenOpened *o = run_place(run)->open; o; o = o->up)
		detach(pe, run, o);
	own_alone(pe, run); /* then no pointer leads into the shared message */
	set_env(run, call_for_others(pe, obj, running_of(run).now.env));
	run->env = call_for_others(pe, obj, run->env);
	for (int i = 0; i < run->body->n_slots; i++)
		slots_of(run)[i].env = call_for_others(pe, obj, slots_of(run)[i].env);
}

/* Every call may be replaced by another message, so the list is rebuilt. */
static uint32_t kept_prepare(struct pe *pe, struct ck_obj *obj, struct msg_fifo *kept)
{
	struct cmi_msg *m = kept->head, *next;
	uint32_t n = 0;

	kept->head = NULL;
	kept->tail = &kept->head;
	for (; m; m = next, n++) {
		next = m->next;
		msg_fifo_push(kept, &call_for_others(pe, obj, (struct ck_env *)m)->head);
	}
	return n;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* `to` is NULL when only the size is wanted. */
struct writer {
	char *to;
	size_t bytes;
};

static void image_put(struct writer *w, const void *from, size_t bytes)
{
	if (w->to && bytes) {
		memcpy(w->to + w->bytes, from, bytes);
		memset(w->to + w->bytes + bytes, 0, CkGen_align(bytes) - bytes);
	}
	w->bytes += CkGen_align(bytes);
}

static void put_call(struct writer *w, const struct ck_env *env)
{
	if (env)
		image_put(w, env, env->head.size);
}

static void put_run(struct writer *w, const struct sdag *s, CkGenRun *run)
{
	const CkGenBody *body = run->body;
	const struct kept_running r = running_of(run);
	struct run_image i = {
		.up = number_of(s, run->up), .what = body->entry, .at = run->at, .found = run->found,
		.inner = run->inner, .n_parts = run->n_parts, .turn = waiting_turn(s, run), .entry = r.now.entry,
		.joins = run->joins, .special = run->special, .has_own = run->env, .has_running = r.now.env,
	};

	if (run->up)
		for (i.what = 0; run->up->body->parts[i.what] != body; i.what++)
			;
	image_put(w, &i, sizeof i);
	image_put(w, run + 1, body->bytes - sizeof *run);
	put_call(w, r.now.env);
	put_call(w, run->env);
	for (int k = 0; k < body->n_slots; k++)
		put_call(w, slots_of(run)[k].env);
}

static void put_round(struct writer *w, const struct round *r)
{
	const struct round_image i = { round_entry(r), r->number, r->n, r->left };

	image_put(w, &i, sizeof i);
	for (const struct cmi_msg *m = r->calls.head; m; m = m->next)
		put_call(w, (const struct ck_env *)m);
}

static void put_rounds(struct writer *w, struct rounds *s)
{
	struct rounds_image rounds = { 0, 0 };

	for (struct round *r = NULL; (r = rounds_next(s, r));)
		rounds.n++;
	if (rounds.n)
		image_put(w, &rounds, sizeof rounds);
	for (struct round *r = NULL; (r = rounds_next(s, r));)
		put_round(w, r);
}

static size_t image_write(const struct sdag *s, struct rounds *rounds, char *to)
{
	struct writer w = { to, 0 };
	struct image image = { 0, 0 };
	uint64_t sum;

	for (const CkGenRun *run = s->runs; run; run = run->next)
		image.n_runs++;
	for (int e = 0; e < s->n_entries; e++)
		for (const struct cmi_msg *m = s->kept[e].head; m; m = m->next)
			image.n_kept++;
	image_put(&w, &image, sizeof image);
	for (CkGenRun *run = oldest(s); run; run = older(s, run))
		put_run(&w, s, run);
	for (int e = 0; e < s->n_entries; e++)
		for (const struct cmi_msg *m = s->kept[e].head; m; m = m->next)
			put_call(&w, (const struct ck_env *)m);
	if (rounds)
		put_rounds(&w, rounds);
	sum = to ? cmi_hash(CMI_HASH_START, to, w.bytes) : 0;
	image_put(&w, &sum, sizeof sum);
	return w.bytes;
}

/* The record of an element that has something to pack; an image has the state of bodies first. */
static struct ck_extra *extra_in(struct pe *pe, struct ck_obj *obj)
{
	struct ck_extra *x = obj->extra & OBJ_EXTRA ? extra_of(pe, obj) : NULL;

	if (!x || (!x->sdag && !(x->rounds && rounds_next(x->rounds, NULL))))
		return NULL;
	sdag_of(pe, obj);
	return x;
}

size_t sdag_size(struct pe *pe, struct ck_obj *obj)
{
	struct ck_extra *x = extra_in(pe, obj);
	struct sdag *s = x ? x->sdag : NULL;

	if (!s)
		return 0;
	for (CkGenRun *run = oldest(s); run; run = older(s, run))
		run_prepare(pe, run);
	for (int e = 0; e < s->n_entries; e++)
		kept_prepare(pe, obj, &s->kept[e]);
	for (struct round *r = NULL; x->rounds && (r = rounds_next(x->rounds, r));)
		kept_prepare(pe, obj, &r->calls);
	return image_write(s, x->rounds, NULL);
}

void sdag_pack(struct pe *pe, struct ck_obj *obj, void *to)
{
	const struct ck_extra *x = extra_in(pe, obj);

	if (x)
		image_write(x->sdag, x->rounds, to);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reader {
	struct pe *pe;
	struct ck_obj *obj;
	const char *at;
	size_t left;
};

_Noreturn static void image_damaged(const struct reader *r)
{
	csd_abort(r->pe, "the image of an element of %s that has come is damaged",
		  r->obj->coll->type->name);
}

static const void *image_get(struct reader *r, size_t bytes)
{
	const char *p = r->at;

	if (CkGen_align(bytes) > r->left)
		image_damaged(r);
	r->at += CkGen_align(bytes);
	r->left -= CkGen_align(bytes);
	return p;
}

static struct ck_env *get_call(struct reader *r)
{
	const CkGenChare *type = r->obj->coll->type;
	struct ck_env head;

	if (r->left < sizeof head)
		image_damaged(r);
	memcpy(&head, r->at, sizeof head);
	if (head.head.size < sizeof head || head.entry >= type->n_entries)
		image_damaged(r);
	const struct ck_env *from = image_get(r, head.head.size);
	struct ck_env *env = (struct ck_env *)csd_msg_alloc(r->pe, head.head.size);

	env->head.route = head.head.route;
	/* After a restart handlers and PEs may have other numbers. */
	env->head.handler = ck_handler(r->pe, PART_CALL, H_ELEMENT);
	env->head.src_pe %= r->pe->node->job->n_pes;
	env->head.prio = head.head.prio;
	env->head.mark = OWNER_HANDLER;
	memcpy(&env->head + 1, &from->head + 1, head.head.size - sizeof head.head);
	env->refs_and_refnum = (uint64_t)(uint32_t)head.refnum << 32 | 1;
	return env->flags & CK_ENV_PACKED ?
		       message_unpack(r->pe, type->entries[env->entry].message, env) :
		       env;
}

static const CkGenBody *body_of(const struct reader *r, const struct run_image *i,
				const CkGenRun *up)
{
	const CkGenChare *type = r->obj->coll->type;
	const CkGenBody *body = NULL;

	if (up && (uint32_t)i->what < (uint32_t)up->body->n_parts)
		body = up->body->parts[i->what];
	else if (!up && type->bodies && (uint32_t)i->what < (uint32_t)type->n_entries)
		body = type->bodies[i->what];
	if (!body || i->at >= (uint32_t)body->n_places || i->inner < -1 || i->inner >= body->n_slots)
		image_damaged(r);
	return body;
}

static void lend_all(CkGenRun *run)
{
	CkGenSlot *slot = slots_of(run);

	if (run->env)
		owner_lend(run->env, &run->env);
	for (int i = 0; i < run->body->n_slots; i++)
		if (slot[i].env)
			owner_lend(slot[i].env, &slot[i].env);
}

static void get_calls(struct reader *r, CkGenRun *run, const struct run_image *i)
{
	CkGenSlot *slot = slots_of(run);
	const struct kept_running k = {
		.now = { r->obj, i->has_running ? get_call(r) : NULL, i->entry },
		.body = (uint32_t)run->body->entry,
	};

	memcpy(run->running, &k, sizeof k);
	run->env = i->has_own ? get_call(r) : NULL;
	for (int n = 0; n < run->body->n_slots; n++)
		slot[n].env = slot[n].env ? get_call(r) : NULL;
	run->own = call_of(run, -1);
	if (!run->own)
		run->own = run; /* the program has it: it does not end with the body */
}

/* Set the run's pointers; the objects of pup functions are made anew. */
static void attach_all(struct pe *pe, CkGenRun *run)
{
	struct pup_block *unpacked = ck_of(pe)->unpacked;
	struct kept_running k;

	ck_of(pe)->unpacked = NULL;
	attach(pe, run, run_place(run)->open);
	k = running_of(run);
	k.unpacked = ck_of(pe)->unpacked;
	memcpy(run->running, &k, sizeof k);
	ck_of(pe)->unpacked = unpacked;
}

static CkGenRun *get_run(struct reader *r, CkGenRun *const *runs, uint32_t n)
{
	const struct run_image *i = image_get(r, sizeof *i);

	if (i->up >= (int32_t)n)
		image_damaged(r);
	CkGenRun *up = i->up < 0 ? NULL : runs[i->up];
	const CkGenBody *body = body_of(r, i, up);
	CkGenRun *run = run_new(r->pe, r->obj, body);

	memcpy(run + 1, image_get(r, body->bytes - sizeof *run), body->bytes - sizeof *run);
	run->up = up;
	run->at = i->at;
	run->found = i->found;
	run->inner = i->inner;
	run->n_parts = i->n_parts;
	run->joins = i->joins;
	run->special = i->special;
	get_calls(r, run, i);
	attach_all(r->pe, run);
	lend_all(run);
	run_arrived(r->pe, run);
	return run;
}

/* In the order in which they began to wait. */
static void wait_again(struct reader *r, struct sdag *s, CkGenRun *const *by_turn, uint32_t n)
{
	for (uint32_t i = 0; i < n && by_turn[i]; i++) {
		if (!run_place(by_turn[i])->wanted)
			image_damaged(r);
		sdag_wait(s, by_turn[i]);
	}
}

static void get_runs(struct reader *r, struct sdag *s, uint32_t n)
{
	CkGenRun **runs = cmi_alloc_zero(n ? 2 * (size_t)n : 1, sizeof *runs, "the bodies of an element");

	for (uint32_t i = 0; i < n; i++) {
		struct run_image image;

		if (r->left < sizeof image)
			image_damaged(r);
		memcpy(&image, r->at, sizeof image);
		if (image.turn >= (int32_t)n)
			image_damaged(r);
		runs[i] = get_run(r, runs, i);
		if (image.turn >= 0)
			runs[n + (uint32_t)image.turn] = runs[i];
	}
	wait_again(r, s, runs + n, n);
	free(runs);
}

static void get_round(struct reader *r)
{
	const struct round_image *i = image_get(r, sizeof *i);
	const CkGenChare *type = r->obj->coll->type;
	struct rounds *s = rounds_make(r->pe, r->obj);
	const uint32_t call = i->entry | CKGEN_SEEN;

	if (i->entry >= (uint32_t)type->n_entries ||
	    !(type->entries[i->entry].flags & CKGEN_COUNT) || !i->left || i->left >= i->n ||
	    rounds_find(s, call, i->number))
		image_damaged(r);
	struct round *round = rounds_begin(r->pe, s, call, i->number, i->n);

	for (; round->left > i->left; round->left--)
		msg_fifo_push(&round->calls, &get_call(r)->head);
}

static void get_rounds(struct reader *r)
{
	const struct rounds_image *rounds = image_get(r, sizeof *rounds);

	for (uint32_t i = 0; i < rounds->n; i++)
		get_round(r);
}

/* It comes last. */
static void check_sum(struct reader *r)
{
	uint64_t sum;

	if (r->left < CkGen_align(sizeof sum))
		image_damaged(r);
	r->left -= CkGen_align(sizeof sum);
	memcpy(&sum, r->at + r->left, sizeof sum);
	if (sum != cmi_hash(CMI_HASH_START, r->at, r->left))
		image_damaged(r);
}

void sdag_unpack(struct pe *pe, struct ck_obj *obj, const void *from, size_t n)
{
	struct reader r = { pe, obj, from, n };
	struct image image;

	if (!n)
		return;
	check_sum(&r);
	memcpy(&image, image_get(&r, sizeof image), sizeof image);
	struct sdag *s = sdag_of(pe, obj);

	if (image.n_runs > n / sizeof(struct run_image))
		image_damaged(&r);
	get_runs(&r, s, image.n_runs);
	for (uint32_t i = 0; i < image.n_kept; i++) {
		struct ck_env *env = get_call(&r);

		msg_fifo_push(&s->kept[env->entry], &env->head);
	}
	if (r.left)
		get_rounds(&r);
	if (r.left)
		image_damaged(&r);
}
