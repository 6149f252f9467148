/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nodes.c: see nodes.h.
 *
 * To start a child takes longer than to look at a message. A child therefore takes further inputs while they are
 * refused before they change anything. Where one ends badly that was not its first, the input is
 * tried again in a new child, and that one counts: in a real job the first message that is refused ends all.
 *
 * The nodes take turns, and time is the number of turns, so that every process that runs the program comes to the same
 * state. Otherwise an input that has broken something in one process might do nothing in the next.
 *
 * libFuzzer counts in this process which branches an input takes. The child does so in its copy of the counters;
 * with its answer it writes them to memory that both share, and we take them over.
 */
#include "nodes.h"
#include "fuzz.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../runtime/chare/chare_layer.h"
#include "../../runtime/chare/ckgen.h"
#include "../../runtime/direct/direct_layer.h"
#include "../../runtime/scheduler/cth.h"

enum { SECONDS_MOST = 60, TURNS = 200, INPUT_MOST = 1 << 16, INPUTS_MOST = 1000 };

extern const CkGenModule ck_module_zoo;

/* clang's branch counters, where there are any. */
extern uint8_t __start___sancov_cntrs[] __attribute__((weak, visibility("hidden")));
extern uint8_t __stop___sancov_cntrs[] __attribute__((weak, visibility("hidden")));

static struct {
	int argc;
	char **argv;
	struct shared {
		size_t size;
		uint8_t data[INPUT_MOST];
		uint8_t counters[];
	} *shared;           /* with children */
	bool in_child;
	jmp_buf refused;     /* in the child */
	uint64_t n_dispatched; /* before the input */
	pid_t child;         /* 0: none */
	int n_inputs;        /* that it had */
	int fd;              /* of the socket between us and it */
} here;

static struct {
	sem_t of[NODES];
	bool has_come[NODES]; /* written by the node */
	atomic_int n_here;    /* nodes that wait for their first turn, or have had it */
	uint64_t start_ns;
	uint64_t n;           /* written by the node whose turn it is; the semaphores hand it on */
} lockstep;

/* What PE 0 still has is not lost. A parameter that the program packs itself may ask for any memory, and the runtime
 * must bear that there is none. Visible, because gcc's sanitizer is a shared library. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=1000";
}

/* libFuzzer gives the sanitizers a copy of stderr for their reports. In a forked child they would open a file of their
 * own instead, .PID in the current folder, unless it is stderr itself. */
void __sanitizer_set_report_fd(void *fd) __attribute__((weak));
/* What libFuzzer has them call writes the input to a file. That is for the parent to do, if the input is a finding. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

/* ---- the child --------------------------------------------------------------------------- */

static size_t counters_bytes(void)
{
	return (size_t)(__stop___sancov_cntrs - __start___sancov_cntrs);
}

static void counters_give(void)
{
	if (counters_bytes())
		memcpy(here.shared->counters, __start___sancov_cntrs, counters_bytes());
}

static void counters_take(void)
{
	if (counters_bytes())
		memcpy(__start___sancov_cntrs, here.shared->counters, counters_bytes());
}

/* What an input has come to: the child takes another one, or has ended in order. */
enum answer { AGAIN = 'a', OVER = 'o' };

static void answer(enum answer a)
{
	const char byte = (char)a;

	counters_give();
	if (write(here.fd, &byte, 1) != 1)
		_exit(3);
}

_Noreturn static void leave(void)
{
	answer(OVER);
	_exit(0);
}

_Noreturn void __real_cmi_abort(struct cmi *m, int code, bool backtrace, const char *why);
_Noreturn void __wrap_cmi_abort(struct cmi *m, int code, bool backtrace, const char *why);

/* An orderly end. An input that does not fit (csd_misfit) is refused before anything is done with it, unless it had a
 * part that fitted, or a thread has found it. */
void __wrap_cmi_abort(struct cmi *m, int code, bool backtrace, const char *why)
{
	if (!here.in_child)
		__real_cmi_abort(m, code, backtrace, why);
	fprintf(stderr, "%s\n", why);
	if (strstr(why, " does not fit: ") && csd_self()->n_dispatched == here.n_dispatched && !CthSelf())
		longjmp(here.refused, 1);
	leave();
}

/* Another one: a number in a message can ask for more memory than there is. */
_Noreturn void __real_cmi_no_memory(size_t bytes, const char *what);
_Noreturn void __wrap_cmi_no_memory(size_t bytes, const char *what);

void __wrap_cmi_no_memory(size_t bytes, const char *what)
{
	if (!here.in_child)
		__real_cmi_no_memory(bytes, what);
	fprintf(stderr, "no memory for %s (%zu bytes)\n", what, bytes);
	leave();
}

static void take_in(struct pe *pe)
{
	uint8_t *data = malloc(here.shared->size + 1);
	uint64_t n;
	int turns = 0;

	memcpy(data, here.shared->data, here.shared->size);
	counters_take();
	here.n_dispatched = pe->n_dispatched;
	fuzz_input(pe, data, here.shared->size);
	do {
		n = pe->n_dispatched;
		CsdScheduler(1);
	} while (!pe->stop && pe->n_dispatched != n && ++turns < TURNS);
	leave();
}

/* libFuzzer's handler prints where. */
static void hangs(int sig)
{
	(void)sig;
	abort();
}

_Noreturn static void serve(struct pe *pe)
{
	char byte;

	here.in_child = true;
	signal(SIGALRM, hangs);
	while (read(here.fd, &byte, 1) == 1) {
		alarm(SECONDS_MOST);
		if (setjmp(here.refused) == 0)
			take_in(pe);
		alarm(0);
		answer(AGAIN);
	}
	_exit(0);
}

/* ---- the parent ---------------------------------------------------------------------------- */

static void start_child(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		abort();
	here.child = fork();
	if (here.child < 0)
		abort();
	here.fd = pair[here.child == 0];
	close(pair[here.child != 0]);
	if (here.child == 0) {
		if (__sanitizer_set_report_fd)
			__sanitizer_set_report_fd((void *)2);
		if (__sanitizer_set_death_callback)
			__sanitizer_set_death_callback(NULL);
		serve(csd_self());
	}
	here.n_inputs = 0;
}

/* Returns how the child has ended, as waitpid does. */
static int end_child(void)
{
	int status;

	close(here.fd);
	if (TEMP_FAILURE_RETRY(waitpid(here.child, &status, 0)) != here.child)
		abort();
	here.child = 0;
	return status;
}

/* Give the input to a child. 0, or how that has ended. */
static int try_input(void)
{
	char byte = 0;

	if (!here.child)
		start_child();
	here.n_inputs++;
	counters_give();
	/* libFuzzer's clock interrupts them. */
	if (TEMP_FAILURE_RETRY(write(here.fd, &byte, 1)) != 1 || TEMP_FAILURE_RETRY(read(here.fd, &byte, 1)) != 1)
		return end_child();
	counters_take();
	return byte == OVER || here.n_inputs == INPUTS_MOST ? end_child() : 0;
}

static int each(const uint8_t *data, size_t size)
{
	int status;

	if (size > INPUT_MOST)
		return 0;
	memcpy(here.shared->data, data, size);
	here.shared->size = size;
	status = try_input();
	if (status && here.n_inputs > 1)
		status = try_input();
	if (status) {
		fprintf(stderr, "fuzz: a child has ended with status %#x\n", (unsigned)status);
		abort();
	}
	return 0;
}

/* ---- one node at a time ------------------------------------------------------------------ */

static void wait_for_turn(int me)
{
	if (lockstep.has_come[me]) {
		sem_post(&lockstep.of[(me + 1) % NODES]);
	} else {
		lockstep.has_come[me] = true;
		/* The last one starts the round. acq_rel: what the others did before is done. */
		if (atomic_fetch_add_explicit(&lockstep.n_here, 1, memory_order_acq_rel) == NODES - 1)
			sem_post(&lockstep.of[0]);
	}
	/* libFuzzer's clock interrupts it. */
	(void)TEMP_FAILURE_RETRY(sem_wait(&lockstep.of[me]));
}

int __real_cmi_progress(struct cmi_pe *w);
int __wrap_cmi_progress(struct cmi_pe *w);

/* Messages come only here, so the order of the turns decides everything. In a child only PE 0 is there. */
int __wrap_cmi_progress(struct cmi_pe *w)
{
	if (!here.in_child)
		wait_for_turn(csd_self()->id);
	lockstep.n++;
	return __real_cmi_progress(w);
}

void __wrap_cmi_sleep(struct cmi_pe *w, int64_t timeout_us);

/* Its turn comes. */
void __wrap_cmi_sleep(struct cmi_pe *w, int64_t timeout_us)
{
	(void)w;
	(void)timeout_us;
}

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);

/* The runtime's clock. While the nodes start it stands still at the time of the process's start. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	enum { TURN_NS = 1000, SECOND_NS = 1000 * 1000 * 1000 };
	const uint64_t now = lockstep.start_ns + lockstep.n * TURN_NS;

	(void)clock;
	*t = (struct timespec){ .tv_sec = (time_t)(now / SECOND_NS), .tv_nsec = (long)(now % SECOND_NS) };
	return 0;
}

static void lockstep_init(void)
{
	struct timespec t;

	for (int i = 0; i < NODES; i++)
		sem_init(&lockstep.of[i], 0, 0);
	__real_clock_gettime(CLOCK_MONOTONIC, &t);
	lockstep.start_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the nodes --------------------------------------------------------------------------- */

/* PE 0 keeps its turn for ever, so the other nodes stand still. */
static void run_inputs(void *arg)
{
	(void)arg;
	here.shared = mmap(NULL, sizeof *here.shared + counters_bytes(), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (here.shared == MAP_FAILED)
		abort();
	signal(SIGPIPE, SIG_IGN);
	fflush(NULL);
	LLVMFuzzerRunDriver(&here.argc, &here.argv, each);
}

/* From the loop, where no handler runs. A damaged name can make the program say it again. */
void zoo_is_quiet(void)
{
	if (!here.in_child)
		CcdCallFnAfter(run_inputs, NULL, 0);
}

/* The machine's way to the scheduler, as node.c takes it. */
void __real_client_arrived(void *pe, struct cmi_msg *m);
void __wrap_client_arrived(void *pe, struct cmi_msg *m);

void __wrap_client_arrived(void *pe, struct cmi_msg *m)
{
	if (((struct pe *)pe)->id == 0 && !here.in_child)
		fuzz_arrived(pe, m);
	__real_client_arrived(pe, m);
}

static void *run_node(void *arg)
{
	static const struct csd_layer *const layers[] = { &chare_layer, &direct_layer };
	struct csd_config *cfg = arg;
	char name[] = "zoo", *argv[] = { name, NULL };

	cfg->argc = 1;
	cfg->argv = argv;
	cfg->layers = layers;
	cfg->n_layers = 2;
	cfg->program = &ck_module_zoo;
	exit(csd_run(cfg)); /* only if the program ends before it is quiet */
}

int main(int argc, char **argv)
{
	static struct csd_config cfg[NODES];
	struct cmi_loop_net *net = cmi_loop_net_create(NODES, 0);
	const char *kind = getenv("CHECK_NET");
	pthread_t thread;

	if (kind && strcmp(kind, "shared") == 0)
		cmi_loop_net_share(net);
	here.argc = argc;
	here.argv = argv;
	lockstep_init();
	for (int i = NODES - 1; i >= 0; i--) {
		cfg[i] = (struct csd_config){ .net = net, .loop_rank = i };
		if (i == 0)
			run_node(&cfg[i]);
		else if (pthread_create(&thread, NULL, run_node, &cfg[i]))
			abort();
	}
}
