/* SPDX-License-Identifier: Apache-2.0 */
/*
 * post.c: nocopypost arrays (Charm++'s Zero Copy Post API): the receiver names their buffers before
 * its handler runs.
 *
 * The generated code of such an entry calls CkGen_post, which runs X_on_f_post, copies the arrays
 * to the given buffers, and lets the handler run. So everything that can happen to a call before
 * its handler (conditions, threads, `when`, broadcasts) is as for other calls, and the buffer is
 * chosen last.
 *
 * With CkMatchBuffer a tag names the buffer, which may come later. Then the call waits: a thread
 * waits where it is; any other call is kept in a record of its PE, and runs from the loop when its
 * last buffer has been posted. The tables of tags belong to the node, under a mutex, because a
 * nodegroup's calls and its posts come on different PEs; a PE's own tag has the PE in its key.
 */
#include "../../scheduler/cth.h"
#include "../../machine/base/cmi_alloc.h"
#include "buffers.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum match { MATCH_NONE, MATCH_PE, MATCH_NODE };

/** A buffer that no call has requested yet. */
struct buffer {
	void *ptr;
	size_t bytes;
};

/** One array of a waiting call. */
struct place {
	struct waiting_call *call;
	uint64_t key;
	CkNcpyBufferPost *post;   /* of this array, in `posts`; bytes: the required size */
	bool missing;             /* the buffer; under the node's lock */
};

/** A call that waits for buffers. Its PE owns it, except for the members under the lock. */
struct waiting_call {
	struct waiting_call *next, **link; /* the PE's list */
	struct pe *pe;
	struct ck_obj *obj;       /* NULL: destroyed meanwhile */
	struct ck_env *env;       /* kept for a later run; of a thread: the thread's */
	const CkGenPost *what;
	CthThread thread;         /* NULL: the call is kept */
	bool ready;               /* all buffers are there; the thread continues */
	int n_missing;            /* under the node's lock */
	CkNcpyBufferPost *posts;  /* [what->n], after the places */
	struct place places[];    /* [what->n] */
};

/** On a node. */
struct tags {
	pthread_mutex_t lock;
	struct idmap buffers;     /* struct buffer: posted */
	struct idmap places;      /* struct place: requested */
};

/** A message of a node's PE to the PE of a call: all its buffers are there. */
struct ready_msg {
	struct cmi_msg head;
	struct waiting_call *call;
};

enum { H_READY };

static struct tags *tags_of(const struct pe *pe) { return ck_node_state(pe->node, PART_POST); }
static struct waiting_call **waiting_calls(const struct pe *pe) { return ck_state(pe, PART_POST); }

static uint64_t tag_key(const struct pe *pe, enum match match, int tag)
{
	const uint64_t whose = match == MATCH_NODE ? 0 : (uint64_t)pe->local + 1;

	return whose << 32 | (uint32_t)tag;
}

static void post_describe(struct pe *pe, struct csd_told *to)
{
	for (const struct waiting_call *c = *waiting_calls(pe); c; c = c->next) {
		if (c->thread)
			csd_tell(to, &(struct csd_wait){ .who = thread_thing(c->thread) },
				 "waits for buffers that nobody has posted (CkPostBuffer)");
		else if (c->obj)
			csd_tell(to, NULL, "a call of %s waits at %s for buffers that nobody has posted (CkPostBuffer)",
				 entry_thing(c->obj->coll->type, c->env->entry).name, obj_thing(c->obj).name);
	}
}

/* A PE's own tags, and those of the node on its first PE. */
static bool tag_is_told(const struct pe *pe, uint64_t key)
{
	return key >> 32 ? key >> 32 == (uint64_t)pe->local + 1 : pe->local == 0;
}

/* Under no lock: nothing runs. */
static void post_refuse(struct pe *pe, struct csd_told *to)
{
	const struct idmap_slot *s;

	for (size_t i = 0; (s = idmap_each(&tags_of(pe)->buffers, &i)); i++)
		if (tag_is_told(pe, s->key))
			csd_tell(to, NULL, "the buffer with tag %d waits for its call (%s)", (int)(uint32_t)s->key,
				 s->key >> 32 ? "CkPostBuffer" : "CkPostNodeBuffer");
	post_describe(pe, to);
}

/* ---- results of X_on_f_post ------------------------------------------------------------------ */

static void match(CkNcpyBufferPost *post, int i, int tag, enum match how, const char *call)
{
	struct pe *pe = ck_self_in(call);

	if (i < 0 || (uint32_t)i >= post->left)
		csd_abort(pe, "%s: array %d: the entry has %u nocopypost arrays", call, i, post->left);
	post[i].match = how;
	post[i].tag = tag_key(pe, how, tag);
}

void CkMatchBuffer(CkNcpyBufferPost *post, int i, int tag)
{
	match(post, i, tag, MATCH_PE, "CkMatchBuffer");
}

void CkMatchNodeBuffer(CkNcpyBufferPost *post, int i, int tag)
{
	match(post, i, tag, MATCH_NODE, "CkMatchNodeBuffer");
}

/* Call X_on_f_post, and check its result. Returns how many arrays have a tag. */
static int ask_program(struct pe *pe, const CkGenPost *what, struct ck_env *env,
		       CkNcpyBufferPost *post)
{
	int n_tags = 0;

	for (int i = 0; i < what->n; i++)
		post[i] = (CkNcpyBufferPost){ .bytes = ncpy_at(env, what->ncpy[i])->bytes,
					      .left = (uint32_t)(what->n - i) };
	what->post(self_of(ck_of(pe)->now.obj), payload_of(env), post);
	for (int i = 0; i < what->n; i++) {
		const size_t bytes = ncpy_at(env, what->ncpy[i])->bytes;

		n_tags += post[i].match != MATCH_NONE;
		if (post[i].bytes > bytes)
			csd_abort(pe, "the post handler wants %zu bytes of '%s'; PE %d has sent %zu",
				  post[i].bytes, what->names[i], env->head.src_pe, bytes);
		if (post[i].bytes && !post[i].ptr && post[i].match == MATCH_NONE)
			csd_abort(pe, "the post handler has given no memory for '%s': set the pointer, or call "
				  "CkMatchBuffer", what->names[i]);
	}
	return n_tags;
}

static void copy_all(struct pe *pe, const CkGenPost *what, struct ck_env *env,
		     const CkNcpyBufferPost *post)
{
	for (int i = 0; i < what->n; i++)
		ncpy_copy_out(pe, env, ncpy_at(env, what->ncpy[i]), post[i].ptr, post[i].bytes);
}

/* ---- tags ------------------------------------------------------------------------------------ */

_Noreturn static void tag_in_use(struct pe *pe, const char *call, uint64_t key)
{
	csd_abort(pe, "%s: tag %d is in use%s: nobody has named it on the other side yet", call,
		  (int)(uint32_t)key, key >> 32 ? " on this PE" : " on this node");
}

_Noreturn static void too_small(struct pe *pe, uint64_t key, size_t bytes, const struct place *p)
{
	char name[128];

	describe_entry(p->call->obj->coll->type, p->call->env->entry, name, sizeof name);
	csd_abort(pe, "the buffer posted with tag %d has %zu bytes; '%s' of %s, from PE %d, has %zu",
		  (int)(uint32_t)key, bytes, p->call->what->names[p - p->call->places], name,
		  p->call->env->head.src_pe, p->post->bytes);
}

/* Under the lock. */
static void post_fill(struct pe *pe, struct place *p, void *ptr, size_t bytes)
{
	if (bytes < p->post->bytes)
		too_small(pe, p->key, bytes, p);
	p->post->ptr = ptr;
	p->missing = false;
	p->call->n_missing--;
}

/* Under the lock. Find the buffer, or request it. */
static void post_look_for(struct pe *pe, struct tags *tags, struct place *p)
{
	struct idmap_slot *s = idmap_find(&tags->buffers, p->key);

	p->missing = true;
	p->call->n_missing++;
	if (!s) {
		if (idmap_find(&tags->places, p->key))
			tag_in_use(pe, "CkMatchBuffer", p->key);
		idmap_add(&tags->places, p->key, (uintptr_t)p);
		return;
	}
	struct buffer *b = (struct buffer *)s->value;

	idmap_remove(&tags->buffers, s);
	post_fill(pe, p, b->ptr, b->bytes);
	free(b);
}

/* Under the lock. Keep a buffer that no call has requested. */
static void keep_buffer(struct pe *pe, struct tags *tags, uint64_t key, void *ptr, size_t bytes)
{
	struct buffer *b = cmi_alloc(sizeof *b, "a posted buffer");

	if (idmap_find(&tags->buffers, key))
		tag_in_use(pe, "CkPostBuffer", key);
	*b = (struct buffer){ ptr, bytes };
	idmap_add(&tags->buffers, key, (uintptr_t)b);
}

/* Under the lock. Returns the call that has all its buffers now, or NULL. */
static struct waiting_call *post_one(struct pe *pe, struct tags *tags, uint64_t key, void *ptr,
				     size_t bytes)
{
	struct idmap_slot *s = idmap_find(&tags->places, key);

	if (!s) {
		keep_buffer(pe, tags, key, ptr, bytes);
		return NULL;
	}
	struct place *p = (struct place *)s->value;

	idmap_remove(&tags->places, s);
	post_fill(pe, p, ptr, bytes);
	return p->call->n_missing ? NULL : p->call;
}

static void post_buffer(void *ptr, size_t bytes, int tag, enum match how, const char *call)
{
	struct pe *pe = ck_self();
	struct tags *tags = tags_of(pe);
	struct waiting_call *complete;

	if (!ptr && bytes)
		csd_abort(pe, "%s: %zu bytes at NULL", call, bytes);
	pthread_mutex_lock(&tags->lock);
	complete = post_one(pe, tags, tag_key(pe, how, tag), ptr, bytes);
	pthread_mutex_unlock(&tags->lock);
	if (!complete)
		return;
	/* A handler is running here, so the call runs from the loop, on its own PE. */
	struct ready_msg *m = ck_msg_new(pe, PART_POST, H_READY, 0, sizeof *m);

	m->call = complete;
	csd_send(pe, complete->pe->id, &m->head);
}

void CkPostBuffer(void *ptr, size_t bytes, int tag)
{
	post_buffer(ptr, bytes, tag, MATCH_PE, "CkPostBuffer");
}

void CkPostNodeBuffer(void *ptr, size_t bytes, int tag)
{
	post_buffer(ptr, bytes, tag, MATCH_NODE, "CkPostNodeBuffer");
}

/* ---- calls that wait ------------------------------------------------------------------------- */

static struct waiting_call *call_new(struct pe *pe, const CkGenPost *what, struct ck_env *env,
				     const CkNcpyBufferPost *post)
{
	struct waiting_call *c =
		cmi_alloc_zero(1, sizeof *c + (size_t)what->n * (sizeof *c->places + sizeof *post),
			       "a call that waits for its buffers");

	*c = (struct waiting_call){ .pe = pe, .obj = ck_of(pe)->now.obj, .env = env, .what = what,
				    .thread = CthSelf() };
	c->posts = (CkNcpyBufferPost *)(void *)&c->places[what->n];
	for (int i = 0; i < what->n; i++) {
		c->posts[i] = post[i];
		c->places[i] = (struct place){ .call = c, .key = post[i].tag, .post = &c->posts[i] };
	}
	c->next = *waiting_calls(pe);
	c->link = waiting_calls(pe);
	if (c->next)
		c->next->link = &c->next;
	return *waiting_calls(pe) = c;
}

static void call_free(struct waiting_call *c)
{
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	free(c);
}

/* Whether buffers are missing. */
static bool look_for_all(struct pe *pe, struct waiting_call *c)
{
	struct tags *tags = tags_of(pe);
	bool missing;

	pthread_mutex_lock(&tags->lock);
	for (int i = 0; i < c->what->n; i++)
		if (c->posts[i].match != MATCH_NONE)
			post_look_for(pe, tags, &c->places[i]);
	missing = c->n_missing;
	pthread_mutex_unlock(&tags->lock);
	return missing;
}

static void copy_posts(const struct waiting_call *c, CkNcpyBufferPost *post)
{
	for (int i = 0; i < c->what->n; i++)
		post[i] = c->posts[i];
}

/* The call has told the program that it is here, so it runs here: its element must not move
 * meanwhile. Threads ensure that themselves. */
static bool holds_element(const struct waiting_call *c)
{
	return c->obj && !c->thread && c->obj->coll->type->kind == CKGEN_ARRAY;
}

static void check_may_wait(struct pe *pe, const struct ck_env *env)
{
	const CkGenEntry *e = &ck_of(pe)->now.obj->coll->entries[env->entry];

	if (e->flags & (CKGEN_SYNC | CKGEN_EXCLUSIVE | CKGEN_IMMEDIATE))
		csd_abort(pe, "a call of this entry cannot wait for a buffer: post the buffer first");
}

/* The runtime takes the message, or a copy of a shared one. Later code still reads the message, but
 * its handler has not run: CK_CALL_POSTED says so. */
static void post_keep(struct pe *pe, struct waiting_call *c)
{
	if (ck_of(pe)->shared)
		c->env = own_copy(pe, c->env);
	else
		ck_of(pe)->now.env = NULL;
	c->env->flags |= CK_CALL_POSTED;
}

/* The arrays have tags: find their buffers. False: the call waits. */
static bool find_buffers(struct pe *pe, const CkGenPost *what, struct ck_env *env,
			 CkNcpyBufferPost *post)
{
	struct waiting_call *c = call_new(pe, what, env, post);
	const bool missing = look_for_all(pe, c);

	if (missing && !c->thread) {
		check_may_wait(pe, env);
		post_keep(pe, c);
		if (holds_element(c))
			obj_hold(pe, c->obj);
		return false;
	}
	while (missing && !c->ready)
		CthSuspend();
	copy_posts(c, post);
	call_free(c);
	return true;
}

/* The second run of a call that has waited: its arrays are in place. From here on it is like any
 * other call. */
static void posted_before(const CkGenPost *what, struct ck_env *env, CkNcpyBufferPost *post)
{
	env->flags &= (uint8_t)~CK_CALL_POSTED;
	for (int i = 0; i < what->n; i++)
		post[i].ptr = (void *)(uintptr_t)ncpy_at(env, what->ncpy[i])->ptr;
}

bool CkGen_post(const CkGenPost *what, void *payload, CkNcpyBufferPost *post)
{
	struct pe *pe = ck_self();
	struct ck_env *env = env_of(payload);

	if (env->flags & CK_CALL_POSTED) {
		posted_before(what, env, post);
		return true;
	}
	if (ask_program(pe, what, env, post) && !find_buffers(pe, what, env, post))
		return false;
	copy_all(pe, what, env, post);
	return true;
}

/* ---- continuing ------------------------------------------------------------------------------ */

/* Run a kept call again. Its descriptors get the addresses of the data. The handler may destroy the
 * element, which is freed later; then this call is not among those dropped. */
static void run_again(struct pe *pe, struct waiting_call *c)
{
	struct ck_env *env = c->env;
	struct ck_obj *obj = c->obj;

	copy_all(pe, c->what, env, c->posts);
	for (int i = 0; i < c->what->n; i++) {
		CkGenNcpy *d = ncpy_at(env, c->what->ncpy[i]);

		d->ptr = c->posts[i].ptr;
		d->at = d->ref = 0;
	}
	if (holds_element(c))
		obj_release(pe, obj);
	call_free(c);
	execute(pe, obj, env, false);
	obj_calls_test(pe, obj);
}

static void posted_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct waiting_call *c = ((struct ready_msg *)m)->call;

	csd_msg_free(pe, m);
	if (c->thread) {
		c->ready = true;
		CthResume(c->thread);
		return;
	}
	if (c->obj)
		run_again(pe, c);
	else
		call_free(c);
}

static void drop_post(struct pe *pe, const struct waiting_call *c)
{
	const CkGenEntry *e = &c->obj->coll->entries[c->env->entry];

	c->env->flags &= (uint8_t)~CK_CALL_POSTED;
	ncpy_done(pe, e, c->env);
	csd_msg_free(pe, &c->env->head);
}

/* Whether the message that reports the call's buffers is under way. */
static bool forget_places(struct pe *pe, struct waiting_call *c)
{
	struct tags *tags = tags_of(pe);
	bool ready;

	pthread_mutex_lock(&tags->lock);
	ready = !c->n_missing;
	for (int i = 0; i < c->what->n; i++)
		if (c->places[i].missing)
			idmap_remove(&tags->places, idmap_find(&tags->places, c->places[i].key));
	pthread_mutex_unlock(&tags->lock);
	return ready;
}

/* The chare ends. Its threads continue. */
static void post_destroyed(struct pe *pe, struct ck_obj *obj)
{
	for (struct waiting_call *c = *waiting_calls(pe), *next; c; c = next) {
		next = c->next;
		if (c->obj != obj || c->thread)
			continue;
		const bool ready = forget_places(pe, c);

		drop_post(pe, c);
		if (holds_element(c))
			obj_release(pe, obj);
		c->obj = NULL;
		if (!ready)
			call_free(c);
	}
}

/* ---- the part -------------------------------------------------------------------------------- */

static void report_post(const struct pe *pe, const struct waiting_call *c)
{
	char name[128];

	describe_entry(c->obj->coll->type, c->env->entry, name, sizeof name);
	fprintf(stderr, "chard: PE %d: at exit a call of %s still waits at %s for %s\n", pe->id, name,
		obj_thing(c->obj).name, csd_plural((uint64_t)c->n_missing, "buffer", "buffers").text);
}

/* threads_drop frees the messages of threads. */
static void post_pe_stop(struct pe *pe)
{
	while (*waiting_calls(pe)) {
		struct waiting_call *c = *waiting_calls(pe);

		if (c->obj && c->n_missing && pe->node->check)
			report_post(pe, c);
		if (c->obj && !c->thread)
			csd_msg_free(pe, &c->env->head);
		call_free(c);
	}
}

static int post_node_start(struct node *node)
{
	struct tags *tags = ck_node_state(node, PART_POST);

	return -pthread_mutex_init(&tags->lock, NULL);
}

static void post_node_stop(struct node *node)
{
	struct tags *tags = ck_node_state(node, PART_POST);

	idmap_free_all(&tags->buffers);
	idmap_free(&tags->places);
	pthread_mutex_destroy(&tags->lock);
}

static const struct ck_handler handlers[] = { [H_READY] = { "ck.posted", posted_arrived,
							    .apart = false } };

const struct ck_part post_part = {
	.name = "post",
	.number = PART_POST,
	.describe = post_describe,
	.save.refuse = post_refuse,
	.node_bytes = sizeof(struct tags),
	.pe_bytes = sizeof(struct waiting_call *),
	.handlers = CK_LIST(handlers),
	.watch = { .destroyed = post_destroyed },
	.node_start = post_node_start,
	.node_stop = post_node_stop,
	.pe_stop = post_pe_stop,
};
