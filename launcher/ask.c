/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.c: ckrun asks PE 0 for a checkpoint, through the page that it shares with the nodes
 * (runtime/image/image_talk.h). One wish at a time. PE 0's answer lies in that page, so ckrun looks
 * there until it has come.
 *
 * A wish that was not answered when the nodes start again (--replace) is made again.
 */
#include "launch.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LOOK_MS = 5,
	WAIT_S = 10,          /* CK_CHECKPOINT_WAIT's default */
	MORE_MS = 1000,       /* PE 0 gives up first, and knows why */
};

static struct image_talk *talk_of(const struct launch_job *job)
{
	return job->images.page ? &job->images.page->talk : NULL;
}

/** How long PE 0 may take until it has heard of a wish. */
static int64_t wait_ms(void)
{
	const char *text = getenv("CK_CHECKPOINT_WAIT");
	const long s = text ? strtol(text, NULL, 10) : 0;

	return (s >= 1 && s <= 1000000 ? (int64_t)s : WAIT_S) * 1000 + MORE_MS;
}

bool launch_can_ask(const struct launch_job *job)
{
	return talk_of(job) && !job->ask.wish;
}

void launch_ask(struct launch_job *job, enum image_wish wish)
{
	job->ask = (struct launch_ask){ .wish = wish, .number = job->ask.number,
					.until = launch_now_ms() + wait_ms() };
}

void launch_ask_again(struct launch_job *job)
{
	struct image_talk *t = talk_of(job);

	/* There is no node now, so nobody else writes. */
	atomic_store_explicit(&t->listens, 0, memory_order_relaxed);
	atomic_store_explicit(&t->asked, 0, memory_order_relaxed);
	job->ask.word = 0;
	job->ask.until = launch_now_ms() + wait_ms();
}

bool launch_ask_not(struct launch_job *job)
{
	const uint64_t word = job->ask.word;

	if (word && !image_talk_take_back(talk_of(job), word))
		return false;
	job->ask.wish = 0;
	return true;
}

/* Release: pairs with PE 0's acquire. The signal finds a handler: see `listens`. */
static void send_wish(struct launch_job *job, uint32_t signal)
{
	job->ask.word = ++job->ask.number << IMAGE_WISH_BITS | (uint64_t)job->ask.wish;
	atomic_store_explicit(&talk_of(job)->asked, job->ask.word, memory_order_release);
	kill(job->nodes[0].pid, (int)signal);
}

static void answer(struct launch_job *job, bool ok, const char *why)
{
	const enum image_wish wish = job->ask.wish;

	job->ask.wish = 0;
	job->ask.word = 0;
	if (wish == IMAGE_WISH_EXIT)
		launch_leave_answered(job, ok, why);
	else
		launch_resize_answered(job, ok, why);
}

/** Acquire: pairs with PE 0's release; status and text are valid. */
static void look(struct launch_job *job, int64_t now)
{
	const struct image_talk *t = talk_of(job);
	const uint64_t word = job->ask.word;
	char why[IMAGE_ANSWER];

	if (atomic_load_explicit(&t->answered, memory_order_acquire) == word) {
		snprintf(why, sizeof(why), "%.*s", IMAGE_ANSWER - 1, t->why);
		answer(job, t->status == 0, why[0] ? why : "see the lines before this one");
	} else if (now >= job->ask.until &&
		   atomic_load_explicit(&t->heard, memory_order_relaxed) != word && launch_ask_not(job)) {
		job->ask.wish = (enum image_wish)(word & ((1 << IMAGE_WISH_BITS) - 1));
		answer(job, false, "PE 0 has not come back to its queue");
	}
}

/** Not sent yet: the nodes may not be so far. */
static void try_to_send(struct launch_job *job, int64_t now)
{
	/* Acquire: pairs with node 0's release. */
	const uint32_t signal = atomic_load_explicit(&talk_of(job)->listens, memory_order_acquire);

	if (signal && !job->nodes[0].ended)
		send_wish(job, signal);
	else if (now >= job->ask.until)
		answer(job, false, "it is no Chard program, or has not begun");
}

int launch_ask_turn(struct launch_job *job, int timeout_ms)
{
	const int64_t now = launch_now_ms();

	if (!job->ask.wish || job->phase != LAUNCH_RUNNING)
		return timeout_ms;
	if (job->ask.word)
		look(job, now);
	else
		try_to_send(job, now);
	return timeout_ms >= 0 && timeout_ms < LOOK_MS ? timeout_ms : LOOK_MS;
}
