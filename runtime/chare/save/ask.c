/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.c: requests for checkpoints. PE 0 keeps them in a list. A checkpoint serves all requests at
 * the list's head that want the same; those that come later wait for the next one.
 */
#include "save_int.h"
#include "../core/describe.h"
#include "../core/objects/unset.h"
#include "../core/shape.h"
#include "../settle/settle.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

/* ---- messages -------------------------------------------------------------------------------- */

void *save_msg_zeroed(struct pe *pe, int handler, size_t bytes, size_t more)
{
	struct cmi_msg *m = ck_msg_new(pe, PART_SAVE, handler, CMI_F_SYSTEM | CMI_F_EXPEDITED,
				       bytes + more);

	memset(m + 1, 0, bytes - sizeof *m);
	return m;
}

struct save_msg *save_msg_new(struct pe *pe, enum save_kind kind, uint32_t no, size_t more)
{
	struct save_msg *m = save_msg_zeroed(pe, H_SAVE, sizeof *m, more);

	m->kind = kind;
	m->no = no;
	return m;
}

static void tell(struct pe *pe, int to, enum save_kind kind, uint32_t no)
{
	csd_send_now(pe, to, &save_msg_new(pe, kind, no, 0)->head);
}

void save_tell_children(struct pe *pe, enum save_kind kind, uint32_t no)
{
	for (int i = 0; i < csd_tree_n_children(pe, 0); i++)
		tell(pe, csd_tree_child(pe, 0, i), kind, no);
}

/* ---- at PE 0 --------------------------------------------------------------------------------- */

void save_await_rest(struct pe *pe)
{
	struct save_pe *s = save_of(pe);
	CkCallback cb = callback_make(CB_AT_SAVE);

	s->stage = SAVE_AWAITS_REST;
	cb.id = ++s->attempt;
	qd_start(pe, &cb);
}

static void no_rest(struct pe *pe, const char *why)
{
	save_of(pe)->attempt++; /* the detection's callback comes too late */
	fprintf(stderr, "chard: no checkpoint: %s\n", why);
	signal_why(pe, why);
	save_give_up(pe, CK_CHECKPOINT_FAILURE);
}

/* The timer of a checkpoint that is over does nothing: the next one has a later one. */
static void time_is_over(void *arg)
{
	struct pe *pe = arg;
	const struct save_pe *s = save_of(pe);
	char why[IMAGE_ANSWER];

	csd_chatter_timer(pe, -1);
	if (s->stage != SAVE_AWAITS_REST || csd_now_ns() < s->until_ns)
		return;
	snprintf(why, sizeof why, "the job did not come to rest within %lld s (CK_CHECKPOINT_WAIT); "
		 "something was always under way", (long long)save_node_of(pe->node)->when.wait_s);
	no_rest(pe, why);
}

/* The program goes on when the checkpoint is over, and only then will what is held back. */
bool save_let_go(struct pe *pe)
{
	if (save_of(pe)->stage != SAVE_AWAITS_REST)
		return false;
	no_rest(pe, "the job cannot come to rest: messages or puts are held back until the program does "
		"something (SIGUSR1 to a node prints which)");
	return true;
}

/* Serve the first requests of the list. */
static void begin(struct pe *pe)
{
	struct save_pe *s = save_of(pe);
	const struct save_wish *w = s->wishes;

	if (!w || s->stage != SAVE_NONE)
		return;
	s->n_served = 0;
	signal_why(pe, "");
	for (; w && !strcmp(w->ask.dir, s->wishes->ask.dir); w = w->next)
		s->n_served++;
	if (save_is_on_disk(pe)) {
		s->stage = SAVE_PREPARES;
		disk_prepare(pe, s->wishes->ask.dir, s->sequence + 1);
	} else {
		save_prepared(pe);
	}
}

bool save_is_on_disk(const struct pe *pe)
{
	return save_of(pe)->wishes->ask.dir[0];
}

void save_prepared(struct pe *pe)
{
	struct save_pe *s = save_of(pe);
	const int64_t wait_s = save_node_of(pe->node)->when.wait_s;

	s->until_ns = csd_now_ns() + (uint64_t)wait_s * 1000000000u;
	csd_chatter_timer(pe, 1);
	csd_timer(time_is_over, pe, (double)wait_s * 1e3);
	save_await_rest(pe);
}

void save_give_up(struct pe *pe, int status)
{
	when_thawed(pe);
	if (save_is_on_disk(pe))
		disk_abandon(pe, status);
	else
		save_over(pe, status);
}

void save_wish(struct pe *pe, const char *dir, const CkCallback *done, struct save_then then)
{
	struct save_pe *s = save_of(pe);
	const size_t bytes = strlen(dir) + 1;
	struct save_wish *w = cmi_alloc(sizeof *w + bytes, "a request for a checkpoint");

	w->next = NULL;
	w->then = then;
	w->ask.done = *done;
	memcpy(w->ask.dir, dir, bytes);
	if (s->stage == SAVE_STORES)
		disk_is_late(pe);
	*(s->last ? s->last : &s->wishes) = w;
	s->last = &w->next;
	begin(pe);
}

void save_asked(struct pe *pe, const struct save_msg *m)
{
	const struct save_ask *ask = (const struct save_ask *)(const void *)m->more;

	save_wish(pe, ask->dir, &ask->done, (struct save_then){ 0 });
}

void save_at_rest(struct pe *pe, const CkCallback *cb, struct ck_env *env)
{
	struct save_pe *s = save_of(pe);

	csd_msg_free(pe, &env->head);
	if (s->stage != SAVE_AWAITS_REST || cb->id != s->attempt)
		return;
	s->stage = SAVE_FREEZES;
	s->rest_ns = csd_now_ns();
	tell(pe, pe->id, SAVE_FREEZE, s->attempt);
}

static void note_saved(struct pe *pe)
{
	const struct save_pe *s = save_of(pe);
	struct image_talk *t = save_talk(pe->node);
	const uint64_t now = csd_now_ns();
	const struct image_saved saved = { s->sequence, s->all_bytes, now - s->rest_ns, now };

	if (t)
		image_talk_saved(t, &saved);
	/* See struct csd_saved. */
	atomic_store_explicit(&pe->node->saved.bytes, saved.bytes, memory_order_relaxed);
	atomic_store_explicit(&pe->node->saved.took_ns, saved.took_ns, memory_order_relaxed);
	atomic_store_explicit(&pe->node->saved.at_ns, saved.at_ns, memory_order_relaxed);
	atomic_store_explicit(&pe->node->saved.sequence, saved.sequence, memory_order_release);
}

void save_over(struct pe *pe, int status)
{
	struct save_pe *s = save_of(pe);

	figures_saved(pe, status, s->all_bytes);
	s->stage = SAVE_NONE;
	if (status == CK_CHECKPOINT_SUCCESS)
		note_saved(pe);
	for (int n = s->n_served; n > 0; n--) {
		struct save_wish *w = s->wishes;

		s->wishes = w->next;
		if (!s->wishes)
			s->last = NULL;
		callback_fire(pe, &w->ask.done, CK_INT, &status, 1, sizeof status);
		signal_served(pe, w, status);
		free(w);
	}
	begin(pe);
}

void save_wishes_free(struct pe *pe)
{
	struct save_wish *w;

	while ((w = save_of(pe)->wishes)) {
		save_of(pe)->wishes = w->next;
		free(w);
	}
	free(save_of(pe)->thens);
	free(save_of(pe)->asked);
}

struct csd_thing save_describe_rest(struct pe *pe, const CkCallback *cb)
{
	const struct save_pe *s = save_of(pe);

	if (s->stage != SAVE_AWAITS_REST || cb->id != s->attempt)
		return csd_named(NULL, "a checkpoint that was given up");
	return csd_named(NULL, "the checkpoint for %s", callback_thing(pe, &s->wishes->ask.done).name);
}

/* PE 0, for the watchdog. */
void save_describe(struct pe *pe, struct csd_told *to)
{
	static const char *const stages[] = {
		[SAVE_PREPARES] = "its folder is made",
		[SAVE_AWAITS_REST] = "it waits for the job to come to rest",
		[SAVE_FREEZES] = "the PEs freeze", [SAVE_WRITES] = "the frozen PEs copy their state",
		[SAVE_STORES] = "the nodes write their files",
	};
	const struct save_pe *s = save_of(pe);
	const bool disk = s->stage != SAVE_NONE && save_is_on_disk(pe);

	if (s->stage != SAVE_NONE)
		csd_tell(to, NULL, "a checkpoint %s%s is under way: %s", disk ? "in " : "in memory",
			 s->wishes->ask.dir, !disk && s->stage == SAVE_STORES ?
			 "other hosts copy it" : stages[s->stage]);
}

/* ---- after a restart ------------------------------------------------------------------------- */

/* Signals and CK_CHECKPOINT have no callback. They may come while all PEs are frozen; a program's
 * request is a counted message and cannot. */
static const struct save_wish *next_asked(const struct save_wish *w)
{
	while (w && w->ask.done.kind == CB_IGNORE)
		w = w->next;
	return w;
}

/* Whoever waits for the next checkpoint while this one is taken goes on from this one, too. */
void asked_write(struct pe *pe, struct image_out *out)
{
	const struct save_pe *s = save_of(pe);
	const struct image_name name = { .kind = IMAGE_ASKED };
	CkCallback *to;
	size_t n = 0;

	if (pe->id)
		return;
	for (const struct save_wish *w = next_asked(s->wishes); w; w = next_asked(w->next))
		n++;
	to = out->add(out, &name, n * sizeof *to);
	for (const struct save_wish *w = next_asked(s->wishes); to && w; w = next_asked(w->next))
		*to++ = w->ask.done;
}

bool asked_is_mine(struct pe *pe, const struct image_name *name)
{
	(void)name;
	return !pe->id;
}

const char *asked_read(struct pe *pe, const struct image_name *name, const void *bytes, size_t n)
{
	struct save_pe *s = save_of(pe);
	const char *why = NULL;

	(void)name;
	if (n % sizeof *s->asked)
		return "its size is not that of callbacks";
	s->asked = cmi_alloc(n + 1, "a checkpoint");
	s->n_asked = n / sizeof *s->asked;
	memcpy(s->asked, bytes, n);
	for (size_t i = 0; i < s->n_asked && !why; i++)
		why = shape_callback(pe, &s->asked[i]);
	return why;
}

void asked_read_all(struct pe *pe)
{
	static const int status = CK_CHECKPOINT_RESTARTED;
	struct save_pe *s = save_of(pe);

	for (size_t i = 0; i < s->n_asked; i++)
		callback_fire(pe, &s->asked[i], CK_INT, &status, 1, sizeof status);
	free(s->asked);
	s->asked = NULL;
	s->sequence = save_node_of(pe->node)->sequence;
	signal_epoch(pe);
}

/* ---- programs -------------------------------------------------------------------------------- */

static void ask(struct pe *pe, const char *dir, const CkCallback *done)
{
	const size_t bytes = sizeof(struct save_ask) + strlen(dir) + 1;
	struct save_msg *m = save_msg_new(pe, SAVE_ASK, 0, bytes);
	struct save_ask *a = (struct save_ask *)(void *)m->more;

	a->done = *done;
	memcpy(a->dir, dir, strlen(dir) + 1);
	m->head.flags &= (uint8_t)~CMI_F_SYSTEM; /* counted: no checkpoint is taken without it */
	csd_send(pe, 0, &m->head);
}

/* It fires again in another process, so it cannot name a function, a future or a thread. */
static void check_done(struct pe *pe, const CkCallback *done, const char *function)
{
	const struct ck_callback_kind *k = callback_kind_of(pe, done);

	if (done->kind == CB_NONE)
		unset_abort(pe, "CkCallback ", csd_named(NULL, "%s: the callback was never set",
							 function).name);
	if (!k || k->names == CK_NAMES_PE)
		csd_abort(pe, "%s: the callback is %s; it must be an entry method, because it is called again "
			  "in a job that starts from the checkpoint", function, callback_thing(pe, done).name);
}

void CkStartMemCheckpoint(CkCallback done)
{
	struct pe *pe = ck_self();

	check_done(pe, &done, "CkStartMemCheckpoint");
	ask(pe, "", &done);
}

void CkStartCheckpoint(const char *dir, CkCallback done)
{
	enum { LONGEST = 3900 };
	struct pe *pe = ck_self();

	check_done(pe, &done, "CkStartCheckpoint");
	if (!dir || !*dir || strlen(dir) > LONGEST)
		csd_abort(pe, "CkStartCheckpoint: the directory's name has %zu bytes; it must have 1 to %d",
			  dir ? strlen(dir) : 0, LONGEST);
	ask(pe, dir, &done);
}

bool CkRestartedFrom(CkRestart *r)
{
	const struct node *node = ck_self_early()->node;
	const struct ck_restart *from = &ck_node_of(node)->restart;
	const struct save_node *n = save_node_of(node);

	if (r)
		*r = (CkRestart){ from->n_pes, from->n_nodes, n->sequence, n->epoch, n->seconds };
	return from->n_pes;
}
