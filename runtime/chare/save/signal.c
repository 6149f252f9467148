/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal.c: checkpoints that somebody outside the program asks for.
 *
 *	SIGUSR2      to any process of the job, or to all: a checkpoint of CK_CHECKPOINT's kind. With
 *	             CK_CHECKPOINT_EXIT=DIR: one in DIR, and the job ends with exit code 75
 *	ASK_SIGNAL   of ckrun, to node 0: it has written its wish into the page that it shares with the
 *	             nodes (image_talk.h)
 *
 * Without CK_CHECKPOINT and CK_CHECKPOINT_EXIT SIGUSR2 is the program's, and so it is where the
 * program installs a handler. Signals are heard by a node's first PE (knock.h). It tells PE 0, who
 * takes all that come within SAME_NS for one request: launchers send a signal to all processes.
 */
#include "save_int.h"
#include "../core/print.h"
#include "../../scheduler/loop/knock.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ASK_SIGNAL (SIGRTMAX - 6)
enum { KNOCK_USR2, KNOCK_ASK };
static const uint64_t SAME_NS = 1000 * 1000 * 1000;

struct image_talk *save_talk(const struct node *node)
{
	const struct image_memory *kept = store_kept(node);

	return kept ? &kept->page->talk : NULL;
}

/* ---- PE 0 ------------------------------------------------------------------------------------ */

static void wish(struct pe *pe, const char *dir, bool leaves, uint64_t asked)
{
	const CkCallback nobody = callback_make(CB_IGNORE);

	save_wish(pe, dir, &nobody, (struct save_then){ .leaves = leaves, .asked = asked });
}

void signal_told(struct pe *pe)
{
	const struct save_when *w = &save_node_of(pe->node)->when;
	struct save_pe *s = save_of(pe);
	const uint64_t now = csd_now_ns();

	if (s->told_ns && now - s->told_ns < SAME_NS)
		return;
	s->told_ns = now;
	if (w->exit_dir)
		wish(pe, w->exit_dir, true, 0);
	else if (w->where)
		when_save_now(pe);
}

/* Acquire: pairs with the launcher's store, made before its signal. */
static void look_at_page(struct pe *pe)
{
	const struct save_when *w = &save_node_of(pe->node)->when;
	struct image_talk *t = save_talk(pe->node);
	const uint64_t asked = atomic_load_explicit(&t->asked, memory_order_acquire);
	const enum image_wish what = (enum image_wish)(asked & ((1 << IMAGE_WISH_BITS) - 1));

	if (!asked || asked == atomic_load_explicit(&t->heard, memory_order_relaxed))
		return;
	atomic_store_explicit(&t->heard, asked, memory_order_release);
	if (what == IMAGE_WISH_EXIT && w->exit_dir)
		wish(pe, w->exit_dir, true, asked);
	else if (what == IMAGE_WISH_STAY)
		wish(pe, "", false, asked);
	else
		signal_answer(pe, asked, CK_CHECKPOINT_FAILURE);
}

void signal_why(struct pe *pe, const char *why)
{
	struct image_talk *t = save_talk(pe->node);

	snprintf(save_of(pe)->why, sizeof save_of(pe)->why, "%s", why);
	if (t)
		snprintf(t->why, sizeof t->why, "%s", why);
}

/* Release: pairs with the launcher's acquire, which reads the status and `why` then. */
void signal_answer(struct pe *pe, uint64_t asked, int status)
{
	struct image_talk *t = save_talk(pe->node);

	t->status = status;
	atomic_store_explicit(&t->answered, asked, memory_order_release);
}

bool signal_stays(struct pe *pe)
{
	const struct save_pe *s = save_of(pe);
	const struct save_wish *w = s->wishes;

	for (int i = 0; i < s->n_served; i++, w = w->next)
		if (w->then.asked && !w->then.leaves &&
		    image_talk_keeps(save_talk(pe->node), w->then.asked)) {
			signal_answer(pe, w->then.asked, CK_CHECKPOINT_SUCCESS);
			return true;
		}
	return false;
}

/* The job ends by itself: whoever starts it must not take that for a death. */
static void note_leaving(const struct node *node)
{
	struct image_talk *t = save_talk(node);

	if (t)
		atomic_store_explicit(&t->leaves, 1, memory_order_release);
}

static void leave(struct pe *pe, const struct save_wish *w)
{
	fprintf(stderr, "chard: saved as %s/ck-%06llu; the job ends with exit code %d\n", w->ask.dir,
		(unsigned long long)save_of(pe)->sequence, IMAGE_EXIT_CODE);
	note_leaving(pe->node);
	print_flush(pe);
	csd_exit(pe, IMAGE_EXIT_CODE);
}

/* Why not has been said. Who sent the signal wants the job to end now: it does as by SIGTERM. */
static void end_as_usual(struct pe *pe)
{
	note_leaving(pe->node);
	print_flush(pe);
	kill(getpid(), SIGTERM);
}

void signal_served(struct pe *pe, const struct save_wish *w, int status)
{
	if (w->then.leaves && status == CK_CHECKPOINT_SUCCESS)
		leave(pe, w);
	if (w->then.order)
		order_answer(pe, w, status);
	if (w->then.asked)
		signal_answer(pe, w->then.asked, status);
	else if (w->then.leaves && status != CK_CHECKPOINT_SUCCESS)
		end_as_usual(pe);
}

void signal_epoch(struct pe *pe)
{
	struct image_talk *t = save_talk(pe->node);

	if (t && !pe->id)
		atomic_store_explicit(&t->epoch, save_node_of(pe->node)->epoch, memory_order_relaxed);
}

/* ---- a node's first PE ----------------------------------------------------------------------- */

static void prepare(struct pe *pe)
{
	struct save_msg *m = save_msg_new(pe, SAVE_SIGNAL, 0, 0);

	m->head.src_pe = pe->id;
	knock_prepare(pe, &m->head);
}

static bool wants_usr2(const struct save_when *w)
{
	return w->where || w->exit_dir;
}

void signal_pe_start(struct pe *pe)
{
	struct image_talk *t = save_talk(pe->node);
	bool any = false;

	if (pe->local || !pe->node->program)
		return;
	if (wants_usr2(&save_node_of(pe->node)->when))
		any = knock_listen(pe, SIGUSR2, KNOCK_USR2);
	if (t && !pe->id && knock_listen(pe, ASK_SIGNAL, KNOCK_ASK)) {
		any = true;
		/* Release: pairs with the launcher's acquire. Its signal finds the handler. */
		atomic_store_explicit(&t->listens, (uint32_t)ASK_SIGNAL, memory_order_release);
	}
	if (any)
		prepare(pe);
}

static void knocked(struct pe *pe)
{
	unsigned came;

	prepare(pe);
	came = knock_came();
	if (came >> KNOCK_ASK & 1)
		look_at_page(pe);
	if (!(came >> KNOCK_USR2 & 1))
		return;
	if (pe->id == 0)
		signal_told(pe);
	else
		csd_send_now(pe, 0, &save_msg_new(pe, SAVE_SIGNAL, 0, 0)->head);
}

void signal_arrived(struct pe *pe, const struct save_msg *m)
{
	if (m->head.src_pe == pe->id)
		knocked(pe);
	else
		signal_told(pe);
}

void signal_pe_stop(struct pe *pe)
{
	if (!pe->local)
		knock_stop(pe);
}
