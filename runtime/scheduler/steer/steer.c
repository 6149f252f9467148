/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steer.c: the layer: starts the thread of node 0, and brings orders to PE 0 and answers back.
 *
 * The thread cannot allocate a message, so PE 0 prepares one (`ready`) and takes all orders when it
 * arrives. Orders and answers are lists under a lock, which is held for some instructions only.
 */
#include "steer_int.h"
#include "../queue/inbox.h"
#include "../../machine/base/cmi_alloc.h"
#include "../../machine/base/cmi_env.h"
#include "../../machine/base/cmi_link.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXIT_STOPPED = 128 + SIGTERM };

/* ---- notes ----------------------------------------------------------------------------------- */

static void append(struct steer_note ***end, uint64_t id, bool ok, const char *text)
{
	const size_t bytes = strlen(text) + 1;
	struct steer_note *n = cmi_alloc(sizeof *n + bytes, "an order");

	*n = (struct steer_note){ .id = id, .ok = ok };
	memcpy(n->text, text, bytes);
	**end = n;
	*end = &n->next;
}

static struct steer_note *take_all(struct steer *s, struct steer_note **list,
				   struct steer_note ***end)
{
	struct steer_note *all;

	pthread_mutex_lock(&s->lock);
	all = *list;
	*list = NULL;
	*end = list;
	pthread_mutex_unlock(&s->lock);
	return all;
}

static void free_all(struct steer_note *n)
{
	while (n) {
		struct steer_note *next = n->next;

		free(n);
		n = next;
	}
}

static void wake(struct steer *s)
{
	const uint64_t one = 1;

	while (write(s->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
		continue;
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Acquire: pairs with the release in prepare. */
static void push_ready(struct steer *s)
{
	struct cmi_msg *m = atomic_exchange_explicit(&s->ready, NULL, memory_order_acquire);

	if (m)
		inbox_push(s->node->pes[0], m);
}

/* Once PE 0 has left its loop nobody takes the order; then the job ends, which the client hears. */
void steer_order(struct steer *s, uint64_t id, const char *words)
{
	pthread_mutex_lock(&s->lock);
	append(&s->orders_end, id, true, words);
	if (!s->over)
		push_ready(s);
	pthread_mutex_unlock(&s->lock);
}

struct steer_note *steer_answers(struct steer *s)
{
	return take_all(s, &s->answers, &s->answers_end);
}

bool steer_is_over(struct steer *s)
{
	bool over;

	pthread_mutex_lock(&s->lock);
	over = s->over;
	pthread_mutex_unlock(&s->lock);
	return over;
}

/* ---- PE 0 ------------------------------------------------------------------------------------ */

/* An order that came while there was no message is found here. Release: pairs with push_ready. */
static void prepare(struct pe *pe, struct steer *s)
{
	struct cmi_msg *m = csd_msg_alloc(pe, sizeof *m);
	bool any;

	m->handler = (uint16_t)s->handler;
	m->flags = CMI_F_SYSTEM | CMI_F_EXPEDITED;
	m->src_pe = pe->id;
	pthread_mutex_lock(&s->lock);
	any = s->orders != NULL;
	m = atomic_exchange_explicit(&s->ready, m, memory_order_release);
	if (any)
		push_ready(s);
	pthread_mutex_unlock(&s->lock);
	if (m)
		csd_msg_free(pe, m);
}

static void answer(struct node *node, uint64_t id, bool ok, const char *text)
{
	struct steer *s = node->steer;

	pthread_mutex_lock(&s->lock);
	append(&s->answers_end, id, ok, text);
	pthread_mutex_unlock(&s->lock);
	wake(s);
}

static bool ask_layers(struct pe *pe, const struct csd_order *o)
{
	const struct node *node = pe->node;

	for (int i = 0; i < node->n_layers; i++)
		if (node->layers[i]->obey && node->layers[i]->obey(pe, o))
			return true;
	return false;
}

/* Words whose part is off in this job, or that nobody knows. */
static void say_unknown(struct pe *pe, const struct csd_order *o)
{
	static const struct { const char *word, *why; } lacks[] = {
		{ "trace", "the job has no trace: start it with CK_TRACE=1" },
		{ "balance", "the job measures no loads: start it with CK_LB" },
		{ "set", "of variables only CK_LB, CK_LB_PERIOD, CK_LB_TOLERANCE and CK_SYNC_MS (in a job "
		  "with CK_LB), CK_CHECKPOINT_WAIT and how often CK_CHECKPOINT saves can change while the "
		  "job runs" },
		{ "checkpoint", "this library was built without checkpoints" },
		{ "report", "this library was built without the watchdog" },
	};

	for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++)
		if (!strcmp(o->word, lacks[i].word)) {
			csd_answer(pe, o->id, false, "%s", lacks[i].why);
			return;
		}
	csd_answer(pe, o->id, false, "this job knows no word \"%.40s\"", o->word);
}

static void obey(struct pe *pe, char *words, uint64_t id)
{
	char *arguments = words + strcspn(words, " ");
	struct csd_order o = { .word = words, .id = id };

	o.arguments = *arguments ? arguments + 1 : arguments;
	*arguments = '\0';
	if (!strcmp(o.word, "stop")) {
		csd_answer(pe, id, true, "the job ends with exit code %d", EXIT_STOPPED);
		csd_exit(pe, EXIT_STOPPED);
	} else if (!ask_layers(pe, &o)) {
		say_unknown(pe, &o);
	}
}

static void orders_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct steer *s = pe->node->steer;
	struct steer_note *all;

	csd_chatter(pe, m);
	csd_msg_free(pe, m);
	if (!s)
		return;
	all = take_all(s, &s->orders, &s->orders_end);
	prepare(pe, s);
	for (struct steer_note *n = all; n; n = n->next)
		obey(pe, n->text, n->id);
	free_all(all);
}

/* ---- start and end --------------------------------------------------------------------------- */

/* The node's children get no part of it. */
static bool take_pair(struct steer *s, const char *number)
{
	struct stat st;
	char *end;
	const long fd = strtol(number, &end, 10);

	if (end == number || *end || fd < 0 || fd > INT32_MAX || fstat((int)fd, &st) ||
	    !S_ISSOCK(st.st_mode))
		return false;
	fcntl((int)fd, F_SETFD, FD_CLOEXEC);
	s->listen_fd = (int)fd;
	return true;
}

static void steer_asked(struct node *node)
{
	const char *text = cmi_env_text("CK_CONTROL");
	struct steer *s;

	if (!text)
		return;
	s = cmi_alloc_zero(1, sizeof *s, "CK_CONTROL");
	s->listen_fd = s->wake_fd = -1;
	if (!strncmp(text, CMI_LINK, strlen(CMI_LINK)) ||
	    !strncmp(text, CMI_LINK_PAIR, strlen(CMI_LINK_PAIR))) {
		if (!call_parse(text, &s->call) && !take_pair(s, text + strlen(CMI_LINK_PAIR)))
			cmi_env_refuse("CK_CONTROL", text, "set by ckrun only, where it begins with "
				       CMI_LINK " or " CMI_LINK_PAIR);
	} else if (snprintf(s->path, sizeof s->path, "%s", text) >= (int)sizeof s->path)
		cmi_env_refuse("CK_CONTROL", text, "a path of at most 107 bytes, at which node 0 listens");
	s->node = node;
	node->steer = s;
	/* Not for the programs that this one starts. */
	unsetenv("CK_CONTROL");
}

static int steer_register(struct node *node)
{
	static const struct csd_shape shape = { .least = 0 };
	const int handler = csd_register(node, "csd.steer", orders_arrived);

	csd_own(node, handler);
	csd_expect(node, handler, &shape, NULL);
	if (node->steer)
		node->steer->handler = handler;
	return 0;
}

static void steer_free(struct node *node)
{
	struct steer *s = node->steer;

	node->steer = NULL;
	node->answer = NULL;
	if (s->wake_fd >= 0)
		close(s->wake_fd);
	if (s->listen_fd >= 0)
		close(s->listen_fd);
	free_all(s->orders);
	free_all(s->answers);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* The job is known: only node 0 listens. */
static void steer_know_job(struct node *node)
{
	struct steer *s = node->steer;

	if (!s)
		return;
	pthread_mutex_init(&s->lock, NULL);
	s->orders_end = &s->orders;
	s->answers_end = &s->answers;
	if (node->job->node) {
		steer_free(node);
		return;
	}
	if (s->path[0])
		steer_listen(s);
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	node->answer = answer;
}

static void steer_pe_start(struct pe *pe)
{
	struct steer *s = pe->node->steer;
	sigset_t all, before;

	if (!s || pe->id)
		return;
	prepare(pe, s);
	/* Signals are for the PEs' threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	s->runs = pthread_create(&s->thread, NULL, steer_run, s) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!s->runs)
		csd_abort(pe, "cannot start the thread of CK_CONTROL; raise the limit on threads (ulimit -u)");
}

/* PE 0 takes no more messages: the thread must push none, and can be joined. */
static void steer_pe_stop(struct pe *pe)
{
	struct steer *s = pe->node->steer;
	struct cmi_msg *m;

	if (!s || pe->id)
		return;
	pthread_mutex_lock(&s->lock);
	s->over = true;
	pthread_mutex_unlock(&s->lock);
	wake(s);
	pthread_join(s->thread, NULL);
	m = atomic_exchange_explicit(&s->ready, NULL, memory_order_acquire);
	if (m)
		csd_msg_free(pe, m);
}

static void steer_node_stop(struct node *node)
{
	if (node->steer)
		steer_free(node);
}

const struct csd_layer steer_layer = {
	.name = "the control socket", .asked = steer_asked, .node_start = steer_register,
	.know_job = steer_know_job, .pe_start = steer_pe_start, .pe_stop = steer_pe_stop,
	.node_stop = steer_node_stop,
};
