/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node.c: start and end of a node. The main thread is PE 0 of the node; the others get threads. All
 * PEs go through the same stages, with a barrier of the node's threads between them:
 *
 *   open wires | exchange addresses (main) | layers start | loop, drain | fence (main) | close
 *
 * csd_run goes through all of them. A host program calls csd_start, which returns where PE 0 would
 * begin its loop; then csd_step and csd_until, which run pieces of that loop; and csd_stop.
 */
#include "layers.h"
#include "loop/loop.h"
#include "../machine/base/cmi_alloc.h"
#include "../machine/base/cmi_charm.h"
#include "../machine/base/cmi_env_names.h"
#include "../machine/base/cmi_env.h"
#include "../machine/tools/cmi_hash.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct csd_start {
	pthread_barrier_t stage;
	int failed;            /* written before a barrier by its reporter, read after it */
	int n_pes;
	pthread_t *threads;
};

/* ---- calls from the machine -------------------------------------------------------------- */

static struct cmi_msg *client_alloc(void *owner, size_t size)
{
	return csd_msg_alloc(owner, size);
}

static void client_free(void *owner, struct cmi_msg *m)
{
	csd_msg_free(owner, m);
}

static void client_put_arrived(void *owner, int src_pe, const struct cmi_put_head *h,
			       const void *body, size_t bytes)
{
	struct pe *pe = owner;

	pe->node->up.put_arrived(pe, src_pe, h, body, bytes);
}

static void client_put_piece(void *owner, int src_pe, const struct cmi_put_head *h, size_t at,
			     const void *piece, size_t bytes)
{
	struct pe *pe = owner;

	pe->node->up.put_piece(pe, src_pe, h, at, piece, bytes);
}

static const struct cmi_client client = {
	.msg_alloc = client_alloc,
	.msg_free = client_free,
	.msg_arrived = client_arrived,
	.put_arrived = client_put_arrived,
	.way = client_way,
	.put_piece = client_put_piece,
};
static const struct cmi_client client_checked = {
	.msg_alloc = client_alloc,
	.msg_free = client_free,
	.msg_arrived = client_arrived_hashed,
	.put_arrived = client_put_arrived,
	.way = client_way_hashed,
	.put_piece = client_put_piece,
};

static void whoami(char *buf, size_t len)
{
	if (csd_self_early())
		pe_describe(csd_self_early(), buf, len);
	else
		snprintf(buf, len, "not on a PE");
}

static const struct cmi_watcher watcher = { whoami, overflow_explain, child_begins };

/* ---- one PE ----------------------------------------------------------------------------- */

static struct pe *pe_create(struct node *node, int local)
{
	struct pe *pe = cmi_alloc_aligned(_Alignof(struct pe), sizeof *pe, "a PE");

	pe->node = node;
	pe->local = local;
	pe->id = node->job->my_first_pe + local;
	msg_pool_init(&pe->pool, local);
	msgq_init(&pe->queue);
	timers_init(pe);
	threads_init(pe);
	room_init(pe);
	return pe;
}

/* After every thread of the node has ended: memory may be freed in any order. */
static void pe_destroy(struct pe *pe)
{
	inbox_close(pe);
	timers_fini(pe);
	threads_fini(pe);
	msg_pool_fini(&pe->pool);
	free(pe);
}

static void pe_know_job(struct pe *pe)
{
	const struct cmi_job *job = pe->node->job;

	pe->id = job->my_first_pe + pe->local;
	pe->peers = cmi_alloc_zero((size_t)job->n_pes, sizeof *pe->peers, "the other PEs");
	inbox_open(pe);
	threads_know_job(pe);
	overflow_know_stack(pe);
	if (pe->node->random.order)
		msgq_set_random(&pe->queue, msgq_random_create(pe->node, pe->id, pe->id));
	if (pe->id == 0)
		msgq_random_print();
	pe->dial = cmi_dial(pe->node->machine, pe->id);
	pe->network = pe->listens_far = cmi_has_network(pe->wire);
	pe->idle.oversubscribed = job->pes_on_host > job->cores_on_host;
	pe->idle.patience = idle_patience(job);
}

static bool stage_ok(struct node *node, int err)
{
	if (err)
		node->start->failed = err;
	pthread_barrier_wait(&node->start->stage);
	bool ok = !node->start->failed;

	pthread_barrier_wait(&node->start->stage);
	return ok;
}

static void pe_begin(struct pe *pe)
{
	pe_know_job(pe);
	layers_pe_start(pe);
}

static void pe_end(struct pe *pe)
{
	layers_loop_ended(pe);
	exit_drain(pe);
	layers_pe_stop(pe);
	inbox_take(pe);
	if (pe->n_rings)
		inbox_take_rings(pe);
	node_queue_drop(pe);
	msgq_fini(pe, &pe->queue);
	hold_fini(pe);
	flow_fini(pe);
	msg_pool_send_parcels(pe);
}

static int node_join_job(struct node *node)
{
	int err = cmi_connect(node->machine, node->fingerprint);

	if (!err) {
		node_queue_init(node);
		room_limit(node);
		layers_know_job(node);
	}
	return err;
}

/* On the PE's thread: everything before its loop. False: this node cannot join the job. */
static bool pe_enter(struct pe *pe)
{
	struct node *node = pe->node;

	csd_self_ = pe;
	if (!stage_ok(node, cmi_pe_open(node->machine, pe->local, pe, &pe->wire)))
		return false;
	if (!stage_ok(node, pe->local == 0 ? node_join_job(node) : 0))
		return false;
	cmi_pe_watch(pe->wire);
	pe_begin(pe);
	return true;
}

/* Everything after it. */
static void pe_leave(struct pe *pe)
{
	struct node *node = pe->node;

	pe_end(pe);
	/* After this barrier no PE of the node frees a message: all of our memory has been returned. */
	stage_ok(node, 0);
	msg_pool_take_returns(pe);
	stage_ok(node, pe->local == 0 ? cmi_fence(node->machine) : 0);
	cmi_pe_close(pe->wire);
	csd_self_ = NULL;
}

static void *pe_thread(void *arg)
{
	struct pe *pe = arg;

	if (pe_enter(pe)) {
		loop_run(pe);
		pe_leave(pe);
	}
	return NULL;
}

/* ---- one node --------------------------------------------------------------------------- */

static bool is_number(const char *s)
{
	return *s && strspn(s, "0123456789") == strlen(s);
}

/* "+p4" or "+p 4": how many PEs. Returns the number of arguments used; 0: another argument. */
static int take_plus_p(char **arg, int left, const char *flag, int64_t *n_p)
{
	size_t len = strlen(flag);

	if (strncmp(arg[0], flag, len))
		return 0;
	const char *value = arg[0][len] ? arg[0] + len : left > 1 ? arg[1] : "";

	if (!is_number(value))
		return 0;
	*n_p = strtoll(value, NULL, 10);
	return arg[0][len] ? 1 : 2;
}

/* Remove the runtime's own arguments: +p N (also +ppn N) before the program's. */
static int parse_flags(struct csd_config *cfg, struct cmi_options *o)
{
	int64_t n = cfg->pes ? cfg->pes : cmi_env_number("CK_PES", 1, 1, UINT16_MAX);
	int out = 1, used;

	for (int i = 1; i < cfg->argc; i += used) {
		used = take_plus_p(cfg->argv + i, cfg->argc - i, "+ppn", &n);
		if (!used)
			used = take_plus_p(cfg->argv + i, cfg->argc - i, "+p", &n);
		if (!used) {
			cfg->argv[out++] = cfg->argv[i];
			used = 1;
		}
	}
	if (cfg->argc > 0) {
		cfg->argc = out;
		cfg->argv[out] = NULL;
	}
	if (n < 1 || n > UINT16_MAX) {
		fprintf(stderr, "chard: %s %" PRId64 " is refused: it must be a number from 1 to %d\n",
			cfg->pes && n == cfg->pes ? "CkBoot's pes" : "+p", n, UINT16_MAX);
		return -EINVAL;
	}
	o->n_pes = (int)n;
	return 0;
}

static int register_all(struct node *node)
{
	flow_register(node);
	room_register(node);
	exit_register(node);
	thread_register(node);
	flow_register_handled(node);
	loop_register(node);
	route_register(node);
	return layers_node_start(node);
}

static int pes_create(struct node *node, int n)
{
	node->pes = cmi_alloc_zero((size_t)n, sizeof *node->pes, "PEs");
	node->start->threads = cmi_alloc_zero((size_t)n, sizeof *node->start->threads, "PEs");
	for (int i = 0; i < n; i++)
		node->pes[i] = pe_create(node, i);
	return -pthread_barrier_init(&node->start->stage, NULL, (unsigned)n);
}

/* A handler's frame may be larger than libc's guard of one page. The main thread's stack has 100 MB
 * of unused address space below it. */
static int pe_thread_start(pthread_t *thread, struct pe *pe)
{
	enum { GUARD_BYTES = 16 << 20 };
	pthread_attr_t attr;
	int err;

	pthread_attr_init(&attr);
	if (overflow_guards_are_free())
		pthread_attr_setguardsize(&attr, GUARD_BYTES);
	err = pthread_create(thread, &attr, pe_thread, pe);
	pthread_attr_destroy(&attr);
	return err;
}

static void threads_start(struct node *node)
{
	for (int i = 1; i < node->start->n_pes; i++) {
		int err = pe_thread_start(&node->start->threads[i], node->pes[i]);

		if (err)
			csd_abort(NULL, "cannot start the thread of PE %d: %s; use fewer PEs, or raise the limits on "
				"threads and memory (ulimit -u, ulimit -v)", i, strerror(err));
	}
}

static void threads_join(struct node *node)
{
	for (int i = 1; i < node->start->n_pes; i++)
		pthread_join(node->start->threads[i], NULL);
}

static void node_destroy(struct node *node)
{
	struct csd_start *start = node->start;

	layers_node_stop(node);
	node_queue_fini(node);
	for (int i = 0; i < start->n_pes; i++)
		pe_destroy(node->pes[i]);
	pthread_barrier_destroy(&start->stage);
	free(start->threads);
	free(node->pes);
}

static struct node *node_create(struct csd_config *cfg)
{
	struct node *node = cmi_alloc_aligned(CSD_CACHE_LINE, sizeof *node, "start-up");

	node->cfg = cfg;
	node->program = cfg->program;
	node->start = cmi_alloc_zero(1, sizeof *node->start, "start-up");
	node->fingerprint = CMI_HASH_START;
	node->start_ns = csd_now_ns();
	node->check = cmi_env_flag("CK_CHECK", false);
	node->verbose = cmi_env_flag("CK_VERBOSE", false);
	node->random = msgq_random_asked();
	node->closely = node->check;
	layers_ask(node);
	return node;
}

static void node_free(struct node *node)
{
	free(node->start);
	free(node);
}

/* They may be the program's own, so it still gets them. The check ends at "--", as in ckrun. */
static void say_charm_options(const struct csd_config *cfg)
{
	for (int i = 1; i < cfg->argc && strcmp(cfg->argv[i], "--") != 0; i++) {
		const char *here = cmi_charm_option(cfg->argv[i]);

		if (here)
			fprintf(stderr,
				"chard: the program gets the argument %s; if you mean Charm++'s option: here %s\n",
				cfg->argv[i], here);
	}
}

#ifdef __SANITIZE_THREAD__
static bool is_blind(void) { return false; }
#else
extern void __tsan_init(void) __attribute__((weak));

/* The thread sanitizer watches the program but not this library, by which its PEs synchronise. */
static bool is_blind(void) { return __tsan_init != NULL; }
#endif

/* Join the job; 0, or an exit code after printing why. */
static int node_open(struct node *node, struct csd_config *cfg)
{
	struct cmi_options o = { .net = cfg->net, .loop_rank = cfg->loop_rank, .boot = cfg->boot,
				 .guest = cfg->guest, .verbose = node->verbose };

	if (parse_flags(cfg, &o))
		return 2;
	if (o.n_pes > 1 && is_blind()) {
		fputs("chard: the program is built with -fsanitize=thread and the library is not, so false races "
			"would be reported: build it against a library of its own (make SANITIZE=thread install "
			"PREFIX=...), or use one PE per "
		      "process\n",
		      stderr);
		return 1;
	}
	if (cmi_open(&o, node->check ? &client_checked : &client, &node->machine))
		return 1;
	node->job = cmi_job(node->machine);
	if (node->job->node == 0) {
		say_charm_options(cfg);
		cmi_env_say_unknown();
	}
	node->start->n_pes = o.n_pes;
	if (pes_create(node, o.n_pes))
		csd_abort(NULL, "no memory for %d PEs", o.n_pes);
	return 0;
}

/* After all threads of the node but this one have ended. */
static int node_close(struct node *node)
{
	const bool failed = node->start->failed;
	int code;

	node_destroy(node);
	if (failed)
		cmi_abort(node->machine, 1, false, "chard: this node could not join the job");
	cmi_close(node->machine);
	code = atomic_load_explicit(&node->exit_code, memory_order_relaxed);
	node_free(node);
	return code;
}

int csd_start(struct csd_config *cfg, struct node **node_p)
{
	struct node *node = node_create(cfg);
	int code = node_open(node, cfg);

	if (code) {
		node_free(node);
		return code;
	}
	csd_early_ = node->pes[0];
	if (!cfg->net)
		cmi_watch(node->machine, &watcher, uses_signals(node));
	if (register_all(node)) /* runs code of the program, too */
		cmi_abort(node->machine, 1, false, "chard: the program's tables are wrong");
	csd_early_ = NULL;
	threads_start(node);
	if (pe_enter(node->pes[0])) {
		node->pes[0]->away = cfg->guest;
		*node_p = node;
		return 0;
	}
	threads_join(node);
	return node_close(node); /* ends the process */
}

int csd_step(struct node *node, int n)
{
	return loop_some(node->pes[0], n);
}

bool csd_until(struct node *node, const volatile int *flag)
{
	return loop_until(node->pes[0], flag);
}

/* Continue after csd_start; returns the exit code of the job. */
static int run_to_end(struct node *node)
{
	loop_run(node->pes[0]);
	pe_leave(node->pes[0]);
	threads_join(node);
	return node_close(node);
}

int csd_stop(struct node *node)
{
	node->pes[0]->away = false;
	exit_host_done(node->pes[0]);
	return run_to_end(node);
}

int csd_run(struct csd_config *cfg)
{
	struct node *node;
	int code = csd_start(cfg, &node);

	return code ? code : run_to_end(node);
}
