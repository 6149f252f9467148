/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdag.c: Structured Dagger: threads that wait for calls of their element. An entry method that a
 * `when` names has no handler. The element keeps its calls, in order of arrival, until a `when` takes
 * them. If a thread waits for a call that comes, the thread goes on at once.
 *
 * While no thread runs, no waiting thread could go on: a new thread looks at the kept calls before it
 * waits, and a new call completes what at most one thread waits for. So a new call only has to find
 * the first waiting thread that it completes.
 *
 * The calls that a `when` took are freed after its body, like a handler's message. The last of them is
 * the running message (now.env). The others, and what ran before, are lent (owner_lend), so the runtime
 * notices when the body sends or frees one of them.
 */
#include "../../scheduler/cth.h"
#include "../../machine/cmi_alloc.h"
#include "wait_int.h"

#include <stdio.h>
#include <stdlib.h>

/** A thread in CkGen_await, on its own stack. */
struct waiter {
	struct waiter *next;
	CthThread thread;
	CkGenWanted *w;
	int n;
	int found;                /* the alternative whose calls are there; -1: none yet */
};

/** The waiting threads and the kept calls of one element. */
struct sdag {
	struct waiter *waiters, **tail; /* in the order in which they began to wait */
	CkGenTook *took;          /* the calls that whens have taken and whose bodies have not ended */
	int n_entries;
	struct msg_fifo kept[];   /* by entry */
};

static struct sdag *sdag_of(struct pe *pe, struct ck_obj *obj)
{
	struct ck_extra *x = extra_make(pe, obj);
	int n = obj->coll->type->n_entries;
	struct sdag *s = x->sdag;

	if (CSD_LIKELY(s != NULL))
		return s;
	s = cmi_alloc_zero(1, sizeof *s + (size_t)n * sizeof s->kept[0], "the calls that wait on an element");
	s->tail = &s->waiters;
	s->n_entries = n;
	for (int i = 0; i < n; i++)
		s->kept[i].tail = &s->kept[i].head;
	return x->sdag = s;
}

/* ---- which calls ----------------------------------------------------------------------------------- */

static bool call_fits(const struct ck_obj *obj, const CkGenWanted *w, struct ck_env *env)
{
	const CkGenEntry *e = &obj->coll->entries[w->entry];

	if (!w->by_number)
		return true;
	if (e->when && !(env->flags & CK_CALL_REDUCED))
		return e->when(&w->number, payload_of(env));
	return env->refnum == w->number;
}

/* Whether another member of the same alternative has chosen this call. */
static bool chosen(const CkGenWanted *w, int from, int to, const struct ck_env *env)
{
	for (int i = from; i < to; i++)
		if (w[i].env == env)
			return true;
	return false;
}

static struct ck_env *choose(const struct ck_obj *obj, struct sdag *s, CkGenWanted *w, int from, int to,
			     int i)
{
	for (struct cmi_msg *m = s->kept[w[i].entry].head; m; m = m->next)
		if (call_fits(obj, &w[i], (struct ck_env *)m) &&
		    !chosen(w, from, to, (struct ck_env *)m))
			return (struct ck_env *)m;
	return NULL;
}

/* Choose all calls of the alternative w[from .. to - 1]. Members that want a number choose first,
 * because the others take any call. */
static bool choose_all(const struct ck_obj *obj, struct sdag *s, CkGenWanted *w, int from, int to)
{
	for (int i = from; i < to; i++)
		w[i].env = NULL;
	for (int by_number = 1; by_number >= 0; by_number--)
		for (int i = from; i < to; i++)
			if (w[i].by_number == by_number &&
			    !(w[i].env = choose(obj, s, w, from, to, i)))
				return false;
	return true;
}

static int group_end(const CkGenWanted *w, int n, int from)
{
	int to = from;

	while (to < n && w[to].alternative == w[from].alternative)
		to++;
	return to;
}

static void unlink_call(struct msg_fifo *f, struct ck_env *env)
{
	struct cmi_msg **p = &f->head;

	while (*p != &env->head)
		p = &(*p)->next;
	*p = env->head.next;
	if (f->tail == &env->head.next)
		f->tail = p;
}

/* Find the first alternative that is complete, and take its calls out of those kept. -1: none. */
static int find_complete(const struct ck_obj *obj, struct sdag *s, CkGenWanted *w, int n)
{
	int to;

	for (int from = 0; from < n; from = to) {
		to = group_end(w, n, from);
		if (w[from].alternative < 0 || !choose_all(obj, s, w, from, to))
			continue;
		for (int i = from; i < to; i++)
			unlink_call(&s->kept[w[i].entry], w[i].env);
		return w[from].alternative;
	}
	return -1;
}

static bool wants(const struct waiter *x, int entry)
{
	for (int i = 0; i < x->n; i++)
		if (x->w[i].entry == entry && x->w[i].alternative >= 0)
			return true;
	return false;
}

/* ---- a call comes ---------------------------------------------------------------------------------- */

static void wake(struct sdag *s, struct waiter **p, int found)
{
	struct waiter *x = *p;

	*p = x->next;
	if (s->tail == &x->next)
		s->tail = p;
	x->found = found;
	CthResume(x->thread);
}

bool sdag_takes(struct pe *pe, struct ck_obj *obj, struct ck_env *env, bool shared)
{
	struct sdag *s = sdag_of(pe, obj);

	if (shared)
		env = own_copy(pe, env);
	msg_fifo_push(&s->kept[env->entry], &env->head);
	for (struct waiter **p = &s->waiters; *p; p = &(*p)->next) {
		int found = wants(*p, env->entry) ? find_complete(obj, s, (*p)->w, (*p)->n) : -1;

		if (found >= 0) {
			wake(s, p, found);
			break;
		}
	}
	return true;
}

/* "left[3], or right and done" */
static void describe_wanted(const CkGenChare *type, const struct waiter *x, char *buf, size_t len)
{
	size_t at = 0;

	buf[0] = 0;
	for (int i = 0; i < x->n && at < len; i++) {
		const CkGenWanted *w = &x->w[i];
		const char *before = !at ? "" : w->alternative == x->w[i - 1].alternative ? " and " : ", or ";

		if (w->alternative < 0)
			continue;
		at += (size_t)snprintf(buf + at, len - at, "%s%s", before, type->entries[w->entry].name);
		if (w->by_number && at < len)
			at += (size_t)snprintf(buf + at, len - at, "[%lld]", (long long)w->number);
	}
}

void sdag_describe(const struct ck_extra *x, csd_line_fn line, void *arg)
{
	const CkGenChare *type = x->obj->coll->type;
	char who[320], what[160];

	for (const struct waiter *w = x->sdag->waiters; w; w = w->next) {
		describe_wanted(type, w, what, sizeof what);
		say_line(line, arg, "%s waits for a call: when %s", thread_describe(w->thread, who, sizeof who), what);
	}
	for (int e = 0; e < x->sdag->n_entries; e++) {
		size_t n = 0;

		for (const struct cmi_msg *m = x->sdag->kept[e].head; m; m = m->next)
			n++;
		if (n)
			say_line(line, arg, "%zu calls of %s are kept at %s, and no when takes them now", n,
			    describe_entry(type, e, what, sizeof what), obj_describe(x->obj, who, sizeof who));
	}
}

/* ---- a `when` has its calls -------------------------------------------------------------------------- */

static void lend(void **holder)
{
	owner_lend(*holder, holder);
}

/* Save what runs, because the calls w[0 .. n - 1] or parts of the body run on this thread now. */
static void set_aside(struct pe *pe, struct sdag *s, CkGenWanted *w, int n, CkGenTook *t)
{
	const struct ck_pe *ck = ck_of(pe);

	t->obj = ck->now.obj;
	t->env = ck->now.env;
	t->entry = ck->now.entry;
	t->shared = ck->shared;
	t->unpacked = ck->unpacked;
	t->first = w;
	t->n = n;
	t->next = s->took;
	t->link = &s->took;
	if (t->next)
		t->next->link = &t->next;
	s->took = t;
	if (t->env && !t->shared)
		lend(&t->env);
	ck_of(pe)->shared = false;
}

static void put_back(struct pe *pe, CkGenTook *t)
{
	struct ck_env *env = t->env;

	*t->link = t->next;
	if (t->next)
		t->next->link = t->link;
	ck_of(pe)->now = (struct ck_running){ t->obj, env, t->entry };
	ck_of(pe)->shared = t->shared;
	if (env && !t->shared)
		env->head.mark = OWNER_HANDLER;
}

static void begin(struct pe *pe, struct ck_obj *obj, struct sdag *s, CkGenWanted *w, int n,
		  CkGenTook *t)
{
	struct ck_env *last = w[n - 1].env;

	set_aside(pe, s, w, n, t);
	for (int i = 0; i < n - 1; i++)
		lend(&w[i].env);
	ck_of(pe)->now = (struct ck_running){ obj, last, (uint32_t)w[n - 1].entry };
	last->head.mark = OWNER_HANDLER;
}

int CkGen_await(void *self, CkGenWanted *w, int n, CkGenTook *took)
{
	struct pe *pe = ck_self();
	struct ck_obj *obj = obj_of(self);
	struct sdag *s = sdag_of(pe, obj);
	struct waiter me = { .thread = CthSelf(), .w = w, .n = n };
	int from = 0;

	me.found = find_complete(obj, s, w, n);
	if (me.found < 0) {
		*s->tail = &me;
		s->tail = &me.next;
	}
	/* Other code may awaken this thread before its calls are there. */
	while (me.found < 0)
		CthSuspend();
	while (w[from].alternative != me.found)
		from++;
	begin(pe, obj, s, &w[from], group_end(w, n, from) - from, took);
	return me.found;
}

void CkGen_take(const CkGenWanted *w, void *in)
{
	struct pe *pe = ck_self();
	const struct collection *c = ck_of(pe)->now.obj->coll;
	struct ck_env *env = w->env;

	if (env->flags & CK_CALL_LENT)
		ncpy_arrived(pe, &c->entries[env->entry], env);
	checked_call(pe, c, env)(in, payload_of(env));
}

static void free_call(struct pe *pe, struct ck_env *env)
{
	if (pe->node->check)
		owner_free(pe, env);
	else
		csd_msg_free(pe, &env->head);
}

static void call_done(struct pe *pe, const struct ck_obj *obj, const CkGenWanted *w)
{
	const CkGenEntry *e = &obj->coll->entries[w->entry];

	if (!w->env)
		return;
	if (e->flags & CKGEN_NOCOPY)
		ncpy_done(pe, e, w->env);
	free_call(pe, w->env);
}

void CkGen_done(CkGenTook *t)
{
	struct pe *pe = ck_self();
	const struct ck_obj *obj = ck_of(pe)->now.obj;

	t->first[t->n - 1].env = ck_of(pe)->now.env;
	for (int i = 0; i < t->n; i++) {
		call_done(pe, obj, &t->first[i]);
		t->first[i].alternative = -1;
	}
	pup_forget_until(pe, t->unpacked);
	put_back(pe, t);
}

/* ---- parts side by side -------------------------------------------------------------------------------- */

/* Lies on the stack of the code that starts the part; it is gone when the part waits. */
struct part {
	struct pe *pe;
	struct ck_obj *obj;
	CkGenParts *parts;
	uint32_t entry;
	void (*fn)(const void *scope, int i);
	const void *scope;
	int i;
};

static void part_body(void *arg)
{
	const struct part x = *(const struct part *)arg;

	ck_of(x.pe)->now = (struct ck_running){ x.obj, NULL, x.entry };
	x.fn(x.scope, x.i);
	ck_of(x.pe)->now.obj = NULL;
	thread_ended(x.pe, x.obj);
	if (--x.parts->n == 0 && x.parts->waiting)
		CthResume(x.parts->waiting);
}

/* What runs around the parts stays valid for them. It is lent, so the runtime notices when a part sends
 * or frees its message. */
void CkGen_split(void *self, CkGenParts *parts)
{
	struct pe *pe = ck_self();

	parts->waiting = NULL;
	parts->n = 0;
	set_aside(pe, sdag_of(pe, obj_of(self)), NULL, 0, &parts->around);
	ck_of(pe)->now.env = NULL;
}

void CkGen_part(void *self, CkGenParts *parts, int entry, void (*fn)(const void *scope, int i),
		const void *scope, int i)
{
	struct pe *pe = ck_self();
	struct ck_obj *obj = obj_of(self);
	struct part x = { pe, obj, parts, (uint32_t)entry, fn, scope, i };

	parts->n++;
	extra_make(pe, obj)->n_threads++;
	CthResume(CthCreate(part_body, &x, obj->coll->entries[entry].stack_bytes));
}

void CkGen_join(CkGenParts *parts)
{
	while (parts->n) {
		parts->waiting = CthSelf();
		CthSuspend();
	}
	put_back(ck_self(), &parts->around);
}

int CkGen_steps(int low, int high, int step)
{
	int64_t n;

	if (!step)
		csd_abort(ck_self(), "a forall from %d to %d has the step 0", low, high);
	n = ((int64_t)high - low) / step + 1;
	if ((step > 0 && high < low) || (step < 0 && high > low))
		return 0;
	if (n > INT32_MAX)
		csd_abort(ck_self(), "a forall from %d to %d with the step %d has too many parts", low, high,
			  step);
	return (int)n;
}

/* ---- the end ------------------------------------------------------------------------------------------- */

static void report_kept(struct pe *pe, const struct ck_obj *obj, const struct sdag *s)
{
	const struct cmi_msg *first = NULL;
	size_t n = 0;
	char name[128];

	for (int i = s->n_entries - 1; i >= 0; i--) {
		for (const struct cmi_msg *m = s->kept[i].head; m; m = m->next)
			n++;
		first = s->kept[i].head ? s->kept[i].head : first;
	}
	if (!first)
		return;
	describe_entry(obj->coll->type, ((const struct ck_env *)first)->entry, name, sizeof name);
	fprintf(stderr, "chard: PE %d: at exit %zu calls of element (%d, %d, %d) still wait for a 'when', "
		"the first is %s\n", pe->id, n, obj->index.v[0], obj->index.v[1], obj->index.v[2], name);
}

/* The element is being destroyed, so no `when` will take its calls. Its threads may still wait. */
void sdag_drop_calls(struct pe *pe, struct ck_extra *x)
{
	struct sdag *s = x->sdag;

	for (int i = 0; s && i < s->n_entries; i++)
		while (s->kept[i].head)
			csd_msg_free(pe, msg_fifo_pop(&s->kept[i]));
}

/* No thread of the element is left. */
void sdag_drop(struct pe *pe, struct ck_extra *x)
{
	sdag_drop_calls(pe, x);
	free(x->sdag);
	x->sdag = NULL;
}

/* At the end of the job: drop the calls that whens have taken; the threads' stacks are still there.
 * threads_drop drops the messages that the threads themselves run with. */
void sdag_leave(struct pe *pe, struct ck_extra *x)
{
	const struct sdag *s = x->sdag;

	if (!s)
		return;
	if (pe->node->check)
		report_kept(pe, x->obj, s);
	for (const CkGenTook *t = s->took; t; t = t->next) {
		if (t->env)
			env_unref(pe, t->env);
		for (int i = 0; i < t->n - 1; i++)
			if (t->first[i].env)
				csd_msg_free(pe, t->first[i].env);
	}
	sdag_drop(pe, x);
}
