/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boot_pmix.c: the client of launchers that speak PMIx: Open MPI's mpirun, srun --mpi=pmix,
 * prterun.
 *
 * The library, libpmix.so.2, is loaded when such a launcher has started us, so a program runs
 * without it. Its headers are needed when this file is compiled; without them the client prints
 * that and fails.
 *
 * The library has a thread of its own, which serves the connection and calls us back. Requests that
 * depend on other nodes are made without blocking, and we wait with our own timeout (struct
 * answer), because a fence of the library waits for ever for a node that has died. A late answer
 * still finds its struct: after a failure nothing is freed, and all later calls fail at once with
 * -EPIPE.
 *
 * A signal handler may want to abort the job, and PMIx_Abort takes locks and memory. So a thread of
 * ours sleeps on an eventfd and calls it; an abort writes to that descriptor and waits on another
 * one for a while.
 */
#include "../boot.h"
#include "../launcher.h"
#include "../../base/cmi_alloc.h"
#include "../../base/say.h"

#include <errno.h>
#include <stdlib.h>

#if !__has_include(<pmix.h>)

static int pmix_join(struct boot **b_p)
{
	(void)b_p;
	machine_say(
		"the launcher speaks PMIx, and this Chard was built without it: install libpmix-dev and build "
		"Chard anew, or start the program with ckrun, mpiexec.hydra or srun --mpi=pmi2");
	return -ENOTSUP;
}

#else

#include <dlfcn.h>
#include <pmix.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static const char LIBRARY[] = "libpmix.so.2";

enum {
	REPLY_TIMEOUT_MS = 60000,  /* the answer of the host's own server, which may be loaded */
	ABORT_TIMEOUT_MS = 3000,   /* then the caller exits, which ends the job as well */
};

/** The library's functions. */
struct pmix_calls {
	__typeof__(PMIx_Init) *init;
	__typeof__(PMIx_Finalize) *finalize;
	__typeof__(PMIx_Put) *put;
	__typeof__(PMIx_Commit) *commit;
	__typeof__(PMIx_Fence_nb) *fence_nb;
	__typeof__(PMIx_Get_nb) *get_nb;
	__typeof__(PMIx_Abort) *abort;
	__typeof__(PMIx_Error_string) *error_string;
	__typeof__(PMIx_Register_event_handler) *register_event_handler;
	__typeof__(PMIx_Deregister_event_handler) *deregister_event_handler;
};

/** The library's answer to the current request. */
struct answer {
	pthread_mutex_t lock; /* guards the other members */
	pthread_cond_t came;
	bool here;
	pmix_status_t status;
	pmix_data_type_t type;
	uint32_t number;              /* the value of PMIX_UINT32 */
	char text[BOOT_TEXT_MAX + 1]; /* the value of PMIX_STRING; of longer ones, which are not ours, the
				       * beginning */
};

struct pmix {
	struct boot base;
	struct pmix_calls call;
	pmix_proc_t me;
	struct answer answer;
	bool broken;
	size_t lost_handler;
	/* for the abort */
	pthread_t aborter;
	int wake_fd, done_fd;
	/* The job's exit code; negative: the thread just ends. Release, acquire: the eventfd would order
	 * it anyway. */
	atomic_int abort_code;
};

static struct pmix *pmix_of(struct boot *b)
{
	return (struct pmix *)b; /* base is the first member */
}

/** The connection is lost. Print why, but only the first time; NULL leaves that to the caller. */
static int pmix_lose(struct pmix *p, int rc, const char *what)
{
	if (!p->broken && what)
		machine_say("node %d: the launcher's PMIx failed: %s", p->base.rank, what);
	p->broken = true;
	return rc;
}

static const char *words(const struct pmix *p, pmix_status_t status)
{
	return p->call.error_string(status);
}

/* ---- waiting for the library's thread ------------------------------------------------- */

static void answer_init(struct answer *a)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&a->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&a->came, &attr);
	pthread_condattr_destroy(&attr);
}

static void answer_fini(struct answer *a)
{
	pthread_cond_destroy(&a->came);
	pthread_mutex_destroy(&a->lock);
}

/** Library's thread. Keep the value, if we know its type. */
static void take_value(struct answer *a, const pmix_value_t *v)
{
	a->type = v->type;
	if (v->type == PMIX_UINT32)
		a->number = v->data.uint32;
	else if (v->type == PMIX_STRING && v->data.string)
		snprintf(a->text, sizeof a->text, "%s", v->data.string);
	else
		a->type = PMIX_UNDEF;
}

static void answer_value(pmix_status_t status, pmix_value_t *v, void *answer)
{
	struct answer *a = answer;

	pthread_mutex_lock(&a->lock);
	a->status = status;
	a->type = PMIX_UNDEF;
	if (status == PMIX_SUCCESS && v)
		take_value(a, v);
	a->here = true;
	pthread_cond_signal(&a->came);
	pthread_mutex_unlock(&a->lock);
}

static void answer_plain(pmix_status_t status, void *answer)
{
	answer_value(status, NULL, answer);
}

static struct timespec deadline_in(int ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000L;
	if (t.tv_nsec >= 1000000000L) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000L;
	}
	return t;
}

/** Wait for the answer to a request that the library has accepted with this status. A negative time
 * is no limit. */
static int pmix_await(struct answer *a, pmix_status_t given, int timeout_ms)
{
	struct timespec deadline = deadline_in(timeout_ms < 0 ? 0 : timeout_ms);
	int rc = 0;

	if (given != PMIX_SUCCESS) { /* no answer will come; some requests are done at once */
		a->status = given == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : given;
		return 0;
	}
	pthread_mutex_lock(&a->lock);
	while (!a->here && !rc)
		rc = timeout_ms < 0 ? pthread_cond_wait(&a->came, &a->lock)
				    : pthread_cond_timedwait(&a->came, &a->lock, &deadline);
	if (a->here)
		rc = 0;
	a->here = false;
	pthread_mutex_unlock(&a->lock);
	return rc ? -ETIMEDOUT : 0;
}

/* ---- operations ----------------------------------------------------------------------- */

static pmix_info_t yes(const char *key)
{
	pmix_info_t info;

	memset(&info, 0, sizeof info);
	snprintf(info.key, sizeof info.key, "%s", key);
	info.value.type = PMIX_BOOL;
	info.value.data.flag = true;
	return info;
}

static int pmix_put(struct boot *b, const char *key, const char *text)
{
	struct pmix *p = pmix_of(b);
	pmix_value_t value;
	pmix_status_t status;

	if (p->broken)
		return -EPIPE;
	memset(&value, 0, sizeof value);
	value.type = PMIX_STRING;
	value.data.string = (char *)text; /* the library copies it */
	status = p->call.put(PMIX_GLOBAL, key, &value);
	return status == PMIX_SUCCESS ? 0 : pmix_lose(p, -EIO, words(p, status));
}

/** The fence collects all puts, so that later reads are answered on this host. The last one
 * collects, too, although nothing is read any more: fences that only wait are implemented
 * differently in Slurm 22.05, and on four hosts one in six did not hold. */
static int pmix_fence(struct boot *b, int timeout_ms)
{
	struct pmix *p = pmix_of(b);
	const pmix_info_t collect = yes(PMIX_COLLECT_DATA);
	pmix_status_t status;
	int rc;

	if (p->broken)
		return -EPIPE;
	status = p->call.commit();
	if (status == PMIX_SUCCESS)
		status = p->call.fence_nb(NULL, 0, &collect, 1, answer_plain, &p->answer);
	rc = pmix_await(&p->answer, status, timeout_ms);
	if (rc)
		return pmix_lose(p, rc, NULL);
	return p->answer.status == PMIX_SUCCESS ? 0 : pmix_lose(p, -EIO, words(p, p->answer.status));
}

/** Request a value of `rank`; it stays in p->answer. Does not wait for values that have not been
 * put. */
static int get_value(struct pmix *p, pmix_rank_t rank, const char *key)
{
	const pmix_info_t immediate = yes(PMIX_IMMEDIATE);
	pmix_proc_t whose = p->me;
	int rc;

	if (p->broken)
		return -EPIPE;
	whose.rank = rank;
	rc = pmix_await(&p->answer, p->call.get_nb(&whose, key, &immediate, 1, answer_value, &p->answer),
			REPLY_TIMEOUT_MS);
	if (rc)
		return pmix_lose(p, rc, "no answer in time");
	if (p->answer.status == PMIX_ERR_NOT_FOUND)
		return -ENOENT;
	return p->answer.status == PMIX_SUCCESS ? 0 : pmix_lose(p, -EIO, words(p, p->answer.status));
}

static int pmix_get(struct boot *b, int rank, const char *key, char *text)
{
	struct pmix *p = pmix_of(b);
	int rc = get_value(p, (pmix_rank_t)rank, key);

	if (rc)
		return rc;
	if (p->answer.type != PMIX_STRING)
		return -EPROTO;
	strcpy(text, p->answer.text);
	return 0;
}

/** The list of this host's ranks, "0,1,2", is in rising order. */
static int pmix_reader(struct boot *b)
{
	struct pmix *p = pmix_of(b);
	char *end;
	long first;

	if (get_value(p, PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS) || p->answer.type != PMIX_STRING)
		return -1;
	first = strtol(p->answer.text, &end, 10);
	return end == p->answer.text || first < 0 || first > b->rank ? -1 : (int)first;
}

/* ---- abort ---------------------------------------------------------------------------- */

static void *abort_when_told(void *pmix)
{
	struct pmix *p = pmix;
	uint64_t count;
	int code;

	while (read(p->wake_fd, &count, sizeof count) < 0 && errno == EINTR)
		continue;
	code = atomic_load_explicit(&p->abort_code, memory_order_acquire);
	if (code >= 0)
		(void)p->call.abort(code, NULL, NULL, 0);
	(void)!eventfd_write(p->done_fd, 1);
	return NULL;
}

/** Async-signal-safe, and on any thread: it writes to a descriptor and waits for another one. */
static void wake_aborter(struct pmix *p, int code)
{
	const uint64_t one = 1;

	atomic_store_explicit(&p->abort_code, code, memory_order_release);
	while (write(p->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
		continue;
}

static void pmix_abort(struct boot *b, int code)
{
	struct pmix *p = pmix_of(b);
	struct pollfd done = {.fd = p->done_fd, .events = POLLIN};

	wake_aborter(p, code > 0 ? code : 1);
	while (poll(&done, 1, ABORT_TIMEOUT_MS) < 0 && errno == EINTR)
		continue;
}

/** Threads that are made while this is in effect take no signals of the program, except faults of
 * their own. */
static void block_signals(sigset_t *old_p)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
	sigset_t most;

	sigfillset(&most);
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		sigdelset(&most, faults[i]);
	pthread_sigmask(SIG_SETMASK, &most, old_p);
}

static int start_aborter(struct pmix *p)
{
	p->wake_fd = eventfd(0, EFD_CLOEXEC);
	p->done_fd = eventfd(0, EFD_CLOEXEC);
	if (p->wake_fd >= 0 && p->done_fd >= 0 && !pthread_create(&p->aborter, NULL, abort_when_told, p))
		return 0;
	machine_say(
		"there is no thread or no descriptor left at start-up; raise their limits (ulimit -u, -n)");
	return -EAGAIN;
}

static void stop_aborter(struct pmix *p)
{
	wake_aborter(p, -1);
	pthread_join(p->aborter, NULL);
	close(p->wake_fd);
	close(p->done_fd);
}

/* ---- begin and end -------------------------------------------------------------------- */

/** Library's thread. The server of this host is gone, and the launcher with it: nothing else will
 * end us. */
static void on_lost(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
		    size_t n_info, pmix_info_t *results, size_t n_results,
		    pmix_event_notification_cbfunc_fn_t done, void *done_arg)
{
	(void)id, (void)status, (void)source, (void)info, (void)n_info;
	(void)results, (void)n_results, (void)done, (void)done_arg;
	machine_say("the launcher has gone (its PMIx connection is closed); this process ends");
	_exit(1);
}

static int watch_connection(struct pmix *p)
{
	pmix_status_t lost = PMIX_ERR_LOST_CONNECTION;
	pmix_status_t status = p->call.register_event_handler(&lost, 1, NULL, 0, on_lost, NULL, NULL);

	if (status < 0)
		return pmix_lose(p, -EIO, words(p, status));
	p->lost_handler = (size_t)status;
	return 0;
}

/** To the launcher a node without a farewell has failed. If the connection has failed there is no
 * receiver, and the library may still write an answer. */
static void pmix_finish(struct boot *b)
{
	struct pmix *p = pmix_of(b);

	if (p->broken)
		return;
	(void)p->call.deregister_event_handler(p->lost_handler, NULL, NULL);
	stop_aborter(p);
	/* The library counts: if MPI has also opened it, it stays open for MPI. */
	(void)p->call.finalize(NULL, 0);
	answer_fini(&p->answer);
	free(p);
}

static const struct boot_ops pmix_ops = {
	.put = pmix_put,
	.fence = pmix_fence,
	.get = pmix_get,
	.reader = pmix_reader,
	.abort = pmix_abort,
	.finish = pmix_finish,
};

static int load(struct pmix_calls *c)
{
	const struct { const char *name; void *at; } all[] = {
		{"PMIx_Init", &c->init}, {"PMIx_Finalize", &c->finalize}, {"PMIx_Put", &c->put},
		{"PMIx_Commit", &c->commit}, {"PMIx_Fence_nb", &c->fence_nb}, {"PMIx_Get_nb", &c->get_nb},
		{"PMIx_Abort", &c->abort}, {"PMIx_Error_string", &c->error_string},
		{"PMIx_Register_event_handler", &c->register_event_handler},
		{"PMIx_Deregister_event_handler", &c->deregister_event_handler},
	};
	/* It is never closed: it has a thread, and MPI may have opened it, too. */
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	void *function = library;

	for (size_t i = 0; function && i < sizeof all / sizeof *all; i++) {
		function = dlsym(library, all[i].name);
		memcpy(all[i].at, &function, sizeof function); /* ISO C has no cast from an object to a
							        * function */
	}
	if (function)
		return 0;
	machine_say(
		"the launcher speaks PMIx, whose library cannot be loaded: %s; install libpmix2 on this host, or "
		"start the program with ckrun, mpiexec.hydra or srun --mpi=pmi2",
		dlerror());
	return -ELIBACC;
}

static int join_server(struct pmix *p)
{
	pmix_status_t status = p->call.init(&p->me, NULL, 0);
	int rc;

	if (status != PMIX_SUCCESS) {
		machine_say(
			"PMIX_NAMESPACE and PMIX_RANK are set, but no launcher answers (PMIx_Init: %s): they are left "
			"from another job, or the launcher has ended (alone on purpose: CK_BOOT=alone)",
			words(p, status));
		return -ENOTCONN;
	}
	p->base.rank = (int)p->me.rank;
	rc = get_value(p, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
	if (rc || p->answer.type != PMIX_UINT32 || p->answer.number == 0 || p->answer.number > INT32_MAX ||
	    p->me.rank >= p->answer.number)
		return pmix_lose(p, -EPROTO, "it does not tell the size of the job");
	p->base.size = (int)p->answer.number;
	return watch_connection(p);
}

/** Greet the launcher that the variables PMIX_* name. */
static int pmix_join(struct boot **b_p)
{
	struct pmix *p = cmi_alloc_zero(1, sizeof *p, "start-up");
	sigset_t old;
	int rc = load(&p->call);

	if (rc) {
		free(p);
		return rc;
	}
	p->base.ops = &pmix_ops;
	answer_init(&p->answer);
	block_signals(&old);
	rc = join_server(p);
	if (!rc)
		rc = start_aborter(p);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc)
		return rc; /* p stays: the library may know it */
	*b_p = &p->base;
	return 0;
}

#endif

/** By the variables that the launcher has set. */
static int pmix_from_environment(struct boot **b_p)
{
	if (!pmix_is_named())
		return launcher_refuse("no launcher's connection: ", "PMIX_NAMESPACE or PMIX_RANK is not set");
	int rc = pmix_join(b_p);
	if (rc || mpi_is_up())
		return rc;
	/* A child with these would act under our identity. */
	unsetenv("PMIX_NAMESPACE");
	unsetenv("PMIX_RANK");
	return 0;
}

const struct launcher pmix_launcher = { .word = "pmix", .join = pmix_from_environment };
