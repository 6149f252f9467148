/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embedded: host programs that have Chard inside (ckembed.h).
 *
 *	embedded rounds R NODES PES   NODES processes, which this one forks, with PES PEs each, start and end R runs.
 *	                              They meet by an allgather through memory that they share. NODES 0: this process
 *	                              alone, without one. What a run leaves behind is found: descriptors, threads,
 *	                              handlers of signals, the binding of the host's thread, variables.
 *	embedded bound                the same for one run under CK_BIND=core
 *	embedded exit CODE NODES PES  a handler calls CkExit(CODE); CkRunUntil and CkFinalize return
 *	embedded rest NODES PES       all wait for a flag that nobody sets: the watchdog ends the run
 *	embedded slow NODES PES       the host programs are away between calls; no watchdog takes that for rest
 *	embedded slow_signals         the same for CK_WATCHDOG=1, which signals look after
 *	embedded killed NODES         the last process dies; the others notice in CkRunUntil
 *	embedded refused NODES        CkInit is refused, and succeeds afterwards
 *	embedded abort NODES          a handler calls CkAbort; the host program's abort is called
 *	embedded exiting NODES        the same, where that function calls exit
 *	embedded leave HOW NODES      the process goes without CkFinalize: exit or return between the calls, exit in a
 *	                              handler, or the end of the thread that has called CkInit
 *	embedded fork HOW             a child that is forked between the calls, and what it does
 *	embedded overflow BYTES WHERE a handler with such a frame, where the run catches faults and the host's thread is the
 *	                              main one, or another one with 256 KiB
 *	embedded signals              handlers of faults and of SIGUSR1 are there while the run asks for them
 *	embedded misuse PLACE-CALL    a wrong call ends the process with a line that names it
 */
#define CK_NO_MAIN
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "ckembed.h"
#include "embedded.decl.h"

extern char **environ;

#define NEED(what) ((what) ? (void)0 : fail(__LINE__, #what))

static _Noreturn void fail(int line, const char *what)
{
	fprintf(stderr, "embedded: line %d: not true: %s\n", line, what);
	_exit(3);
}

/* ---- the chares ------------------------------------------------------------------------------ */

struct Main { int unused; };
struct Cell { int sum, n; };

/* Of this process. Any PE of it may set the first. */
static int done;
static int total_seen;
static void misuse_in_handler(int what);
/* What a handler calls in a program that CkMain runs; 0: nothing. */
static int call_in_main;

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	addends = m->argc > 1 ? atoi(m->argv[1]) : CkNumNodes();
	cells = Cell_ckNew(CkDims(CkNumPes()));
	if (call_in_main)
		Cell_Misuse(Cell_at(cells, 0), call_in_main);
}

void Main_on_Sum(Main *self, int total)
{
	(void)self;
	Cell_Total_all(cells, total);
}

void Main_on_Quit(Main *self, int code)
{
	(void)self;
	CkPrintf("quit\n");
	CkExit(code);
}

void Cell_on_new(Cell *self)
{
	self->sum = self->n = 0;
}

/* Every process adds to all cells. When they have all sums, the cells bring them together. */
void Cell_on_Add(Cell *self, int n)
{
	self->sum += n;
	if (++self->n == addends)
		CkContribute(self, &self->sum, 1, CkReduction_sum_int, Main_cb_Sum(mainProxy));
}

/* The last PE of a process sets the flag, so that most times a thread does that which is not the host's. */
void Cell_on_Total(Cell *self, int total)
{
	self->sum = self->n = 0;
	if (CkMyRank() != CkMyNodeSize() - 1)
		return;
	__atomic_store_n(&total_seen, total, __ATOMIC_RELAXED);
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
}

void Cell_on_Token(Cell *self, int hops)
{
	if (hops)
		Cell_Token(Cell_at(cells, (Cell_thisIndex(self) + 1) % CkNumPes()), hops - 1);
	else
		Cell_Total_all(cells, -1);
}

void Cell_on_Misuse(Cell *self, int what)
{
	(void)self;
	misuse_in_handler(what);
}

#include "embedded.def.h"

/* ---- processes that meet in memory --------------------------------------------------------------- */

enum { MOST_NODES = 8, BLOCK = 1 << 18 };

static struct meeting {
	pthread_barrier_t all;
	atomic_int n_allgathers;
	atomic_int away;                    /* abort was called */
	char block[MOST_NODES][BLOCK];
} *meeting;

static struct job {
	int rank, size;
	bool wrong;                         /* allgather puts the bytes into a wrong place ... */
	int broken;                         /* ... or fails at this call, counted from 1 */
	int n_calls;
} job;

static int allgather(const void *mine, void *all, size_t bytes, void *arg)
{
	struct job *j = arg;

	NEED(bytes <= BLOCK && j == &job);
	atomic_fetch_add(&meeting->n_allgathers, 1);
	if (++j->n_calls == j->broken)
		return 17;
	memcpy(meeting->block[j->rank], mine, bytes);
	pthread_barrier_wait(&meeting->all);
	for (int r = 0; r < j->size; r++)
		memcpy((char *)all + (size_t)(j->wrong ? (r + 1) % j->size : r) * bytes, meeting->block[r], bytes);
	pthread_barrier_wait(&meeting->all);
	return 0;
}

static bool ends_by_exit;

static void end_all(int code, void *arg)
{
	NEED(arg == &job && code == 1);
	printf("the host program ends all: %d\n", code);
	if (ends_by_exit)
		exit(7);
	fflush(stdout);
	_exit(7);
}

static void meeting_open(int n)
{
	pthread_barrierattr_t a;

	NEED(n <= MOST_NODES);
	meeting = mmap(NULL, sizeof *meeting, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	NEED(meeting != MAP_FAILED);
	pthread_barrierattr_init(&a);
	pthread_barrierattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&meeting->all, &a, (unsigned)n);
	pthread_barrierattr_destroy(&a);
}

/* A killed process is not ours to tell the others of. */
static bool alone_tells;

/* Run fn in n processes, or here if n is 0. Returns the first exit code that is not 0, and ends the others then. */
static int in_processes(int n, int (*fn)(void))
{
	pid_t child[MOST_NODES];
	int first = 0, status;

	job = (struct job){ 0, n, false, job.broken, 0 };
	if (n == 0)
		return fn();
	meeting_open(n);
	for (int r = 0; r < n; r++) {
		job.rank = r;
		child[r] = fork();
		NEED(child[r] >= 0);
		if (child[r] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			exit(fn());
		}
	}
	for (int left = n; left > 0; left--) {
		NEED(wait(&status) > 0);
		int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);

		if (alone_tells && code == 128 + SIGKILL)
			continue;
		for (int r = 0; !first && code && r < n; r++)
			kill(child[r], SIGKILL);
		first = first ? first : code;
	}
	return first;
}

/* ---- a run -------------------------------------------------------------------------------------- */

static char pes_flag[16];

static void start(bool signals)
{
	char name[] = "embedded", text[12], flag[16], *args[] = { name, flag, text, NULL }, **argv = args;
	CkBoot boot = { .rank = job.rank, .size = job.size, .allgather = job.size ? allgather : NULL,
			.abort = end_all, .arg = &job, .signals = signals };
	static char *kept[4]; /* until CkFinalize */
	static char words[3][16];
	int argc = 3;

	snprintf(text, sizeof text, "%d", job.size ? job.size : 1);
	memcpy(flag, pes_flag, sizeof flag);
	for (int i = 0; i < 3; i++)
		kept[i] = strcpy(words[i], args[i]);
	kept[3] = NULL;
	argv = kept;
	done = 0;
	NEED(CkInit(&argc, &argv, &ck_module_embedded, &boot) == 0);
	NEED(argc == 2 && argv == kept && !strcmp(argv[1], text) && !argv[2]);
	NEED(CkMyRank() == 0 && CkMyNode() == job.rank);
}

static void start_plainly(void)
{
	done = 0;
	NEED(CkInit(NULL, NULL, &ck_module_embedded, NULL) == 0);
}

/* Each process adds its rank + 1 to all cells, from outside a handler; all of them wait for the sum. */
static void add_up(bool by_passes)
{
	const int n = job.size ? job.size : 1;

	done = 0;
	Cell_Add_all(cells, job.rank + 1);
	if (by_passes)
		while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
			NEED(CkProgress(3) >= 0);
	else
		NEED(CkRunUntil(&done));
	NEED(total_seen == CkNumPes() * n * (n + 1) / 2);
	/* Nobody adds for the next sum before all have this one. */
	if (job.size)
		pthread_barrier_wait(&meeting->all);
}

static void pass_token(void)
{
	done = 0;
	if (job.size) /* before that no process may set the flag of another */
		pthread_barrier_wait(&meeting->all);
	if (CkMyNode() == 0)
		Cell_Token(Cell_at(cells, 0), 100);
	NEED(CkRunUntil(&done) && total_seen == -1);
	/* Nobody ends the run before all have this one. */
	if (job.size)
		pthread_barrier_wait(&meeting->all);
}

/* ---- what a run leaves behind ---------------------------------------------------------------------- */

static int entries_of(const char *folder)
{
	DIR *d = opendir(folder);
	int n = 0;

	NEED(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* What a child's process may not find changed. */
static struct before {
	int fds, threads;
	struct sigaction signals[64];
	stack_t stack;
	cpu_set_t cores;
	char *variables;
} before;

static char *all_variables(void)
{
	size_t len = 0;
	char *all = NULL;
	FILE *f = open_memstream(&all, &len);

	for (char **v = environ; *v; v++)
		/* The runtime's for UCX, which is read where one is opened. */
		if (strncmp(*v, "UCX_POSIX_", 10) && strncmp(*v, "UCX_TCP_RX_SEG_SIZE=", 20) &&
		    strncmp(*v, "UCX_TCP_CONN_NB=", 16))
			fprintf(f, "%s\n", *v);
	fclose(f);
	return all;
}

static void look(struct before *b)
{
	memset(b, 0, sizeof *b);
	b->fds = entries_of("/proc/self/fd");
	b->threads = entries_of("/proc/self/task");
	for (int s = 1; s < 64; s++)
		sigaction(s, NULL, &b->signals[s]);
	sigaltstack(NULL, &b->stack);
	NEED(!sched_getaffinity(0, sizeof b->cores, &b->cores));
	b->variables = all_variables();
}

/* libc sets this bit in what it passes to the kernel. */
enum { KERNELS_RESTORER = 0x04000000 };

static void same_signals(const struct before *b)
{
	struct sigaction now;

	for (int s = 1; s < 64; s++)
		if (!sigaction(s, NULL, &now))
			NEED(now.sa_handler == b->signals[s].sa_handler &&
			     !((now.sa_flags ^ b->signals[s].sa_flags) & ~KERNELS_RESTORER));
}

/* A thread that has been joined may be in /proc for a moment longer. */
static void threads_end(int n)
{
	while (entries_of("/proc/self/task") != n)
		sched_yield();
}

static void *tell_number(void *number_p)
{
	*(pid_t *)number_p = gettid();
	return NULL;
}

/* A sanitizer starts a thread of its own with the first one of the program. So there is a first one, which goes again,
 * before threads are counted. */
static void have_had_a_thread(void)
{
	pthread_t thread;
	pid_t number;
	char path[64];

	NEED(!pthread_create(&thread, NULL, tell_number, &number));
	NEED(!pthread_join(thread, NULL));
	snprintf(path, sizeof path, "/proc/self/task/%d", (int)number);
	while (!access(path, F_OK))
		sched_yield();
}

static void same_as_before(const struct before *b)
{
	struct before now;

	threads_end(b->threads);
	look(&now);
	if (now.fds != b->fds)
		fprintf(stderr, "embedded: %d descriptors, were %d\n", now.fds, b->fds);
	NEED(now.fds == b->fds);
	NEED(CPU_EQUAL(&now.cores, &b->cores));
	NEED(now.stack.ss_sp == b->stack.ss_sp && now.stack.ss_flags == b->stack.ss_flags);
	if (strcmp(now.variables, b->variables))
		fprintf(stderr, "embedded: variables, before and now:\n%s---\n%s", b->variables, now.variables);
	NEED(!strcmp(now.variables, b->variables));
	same_signals(b);
	free(now.variables);
}

/* ---- modes ------------------------------------------------------------------------------------------ */

static int n_rounds, exit_code;

static void on_usr1(int sig)
{
	(void)sig;
}

static int rounds(void)
{
	/* A handler of the program's own stays. */
	signal(SIGHUP, on_usr1);
	signal(SIGUSR1, on_usr1);
	signal(SIGTERM, on_usr1);
	have_had_a_thread();
	look(&before);
	for (int r = 0; r < n_rounds; r++) {
		start(false);
		same_signals(&before);
		NEED(CkProgress(0) == 0);
		add_up(r & 1);
		add_up(!(r & 1));
		if (r % 4 == 3)
			pass_token();
		/* Some runs end by CkExit, and some because all come to CkFinalize. */
		if (r % 3 == 2 && CkMyNode() == 0)
			CkExit(r);
		NEED(CkFinalize() == (r % 3 == 2 ? r : 0));
		if (r == 0) { /* what a library opens once per process, it may keep */
			threads_end(before.threads);
			before.fds = entries_of("/proc/self/fd");
		}
		same_as_before(&before);
	}
	free(before.variables);
	if (job.rank == 0)
		printf("%d rounds: checked\n", n_rounds);
	return 0;
}

static int bound(void)
{
	cpu_set_t now;

	look(&before);
	start(false);
	NEED(!sched_getaffinity(0, sizeof now, &now) && CPU_COUNT(&now) < CPU_COUNT(&before.cores));
	add_up(false);
	NEED(CkFinalize() == 0);
	NEED(!sched_getaffinity(0, sizeof now, &now) && CPU_EQUAL(&now, &before.cores));
	free(before.variables);
	printf("bound: checked\n");
	return 0;
}

static int exits(void)
{
	struct sigaction hup;

	start(false);
	/* UCX's handler, which nobody has asked for, would let the program outlive its terminal. */
	NEED(!sigaction(SIGHUP, NULL, &hup) && hup.sa_handler == SIG_DFL);
	add_up(false);
	if (CkMyNode() == CkNumNodes() - 1)
		Main_Quit(mainProxy, exit_code);
	NEED(!CkRunUntil(NULL));
	NEED(CkProgress(1) == -1 && CkProgress(1) == -1);
	done = 1;
	NEED(CkRunUntil(&done));
	done = 0;
	NEED(!CkRunUntil(&done));
	int code = CkFinalize();

	/* The process goes on. */
	if (job.rank == 0)
		printf("the run has ended with %d\n", code);
	return code == exit_code ? 0 : 4;
}

static int rest(void)
{
	start(false);
	add_up(false);
	done = 0;
	NEED(!CkRunUntil(&done));
	int code = CkFinalize();

	if (job.rank == 0)
		printf("the run has ended with %d\n", code);
	return code == 125 ? 0 : 4;
}

static void wait_ms(int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) && errno == EINTR) /* a timer's signal */
		;
}

/* For two seconds the watchdog finds no other PE at work than those that only the host programs can give some. */
static int slow(void)
{
	start(false);
	add_up(false);
	for (int i = 0; i < 100; i++) {
		if (job.rank == 0)
			NEED(CkProgress(1) >= 0);
		wait_ms(20);
	}
	done = 0;
	if (job.rank != 0)
		wait_ms(500); /* the first process is in CkRunUntil, and rests */
	add_up(false);
	NEED(CkFinalize() == 0);
	if (job.rank == 0)
		printf("slow: checked\n");
	return 0;
}

/* A timer looks every quarter of a second whether a handler takes more than one. */
static int slow_signals(void)
{
	start(true);
	add_up(false);
	wait_ms(2500);
	add_up(true);
	NEED(CkFinalize() == 0);
	printf("slow: checked\n");
	return 0;
}

static int killed(void)
{
	start(false);
	add_up(false);
	if (job.rank == job.size - 1)
		raise(SIGKILL);
	CkRunUntil(NULL);
	return 5;
}

static int aborts(void)
{
	start(false);
	if (CkMyNode() == CkNumNodes() - 1)
		Cell_Misuse(Cell_at(cells, CkMyPe()), 'a');
	CkRunUntil(NULL);
	return 5;
}

static int signals(void)
{
	struct sigaction now;

	start(true);
	NEED(!sigaction(SIGUSR1, NULL, &now) && now.sa_handler != SIG_DFL);
	NEED(!sigaction(SIGBUS, NULL, &now) && now.sa_handler != SIG_DFL);
	add_up(false);
	NEED(CkFinalize() == 0);
	NEED(!sigaction(SIGUSR1, NULL, &now) && now.sa_handler == SIG_DFL);
	start(true);
	add_up(false);
	Cell_Misuse(Cell_at(cells, 0), 's');
	CkRunUntil(NULL);
	return 5;
}

/* ---- a process that goes, or is forked ------------------------------------------------------------------- */

static void *start_elsewhere(void *unused)
{
	start(false);
	return unused;
}

static const char *leave_how;

static int leaves(void)
{
	const char *how = leave_how;
	pthread_t t;

	if (!strcmp(how, "thread")) {
		NEED(!pthread_create(&t, NULL, start_elsewhere, NULL) && !pthread_join(t, NULL));
		return 5;
	}
	start(false);
	printf("kept in a buffer\n");
	if (!strcmp(how, "handler")) {
		Cell_Misuse(Cell_at(cells, 0), 'x');
		CkRunUntil(NULL);
	}
	if (!strcmp(how, "ended")) { /* the run has, but nobody has been told its code */
		CkExit(9);
		NEED(!CkRunUntil(NULL));
	}
	if (!strcmp(how, "exit"))
		exit(0);
	if (!strcmp(how, "finalized"))
		NEED(CkFinalize() == 0);
	return 0;
}

static int in_child(const char *how)
{
	if (!strcmp(how, "exit"))
		exit(3);
	if (!strcmp(how, "progress"))
		CkProgress(1);
	if (!strcmp(how, "finalize"))
		CkFinalize();
	if (!strcmp(how, "init"))
		start_plainly();
	if (!strcmp(how, "call"))
		Cell_Add_all(cells, 1);
	if (!strcmp(how, "crash"))
		raise(SIGBUS);
	_exit(5);
}

static int forks(const char *how)
{
	pid_t child;
	int status;

	start(true);
	add_up(false);
	fflush(stdout);
	child = fork();
	NEED(child >= 0);
	if (child == 0)
		in_child(how);
	NEED(waitpid(child, &status, 0) == child);
	add_up(true);
	NEED(CkFinalize() == 0);
	printf("the child has ended with %d, the run goes on: checked\n",
	       WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
	return 0;
}

static __attribute__((noinline)) char take_room(size_t bytes)
{
	volatile char room[bytes];

	room[0] = 1;
	return room[0];
}

static size_t overflow_bytes;

static int overflows(void)
{
	start(true);
	Cell_Misuse(Cell_at(cells, 0), 'o');
	CkRunUntil(NULL);
	return 5;
}

static void *overflow_thread(void *unused)
{
	overflows();
	return unused;
}

static int overflows_elsewhere(void)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	NEED(!pthread_attr_setstacksize(&attr, 256 << 10) && !pthread_attr_setguardsize(&attr, 16 << 20));
	NEED(!pthread_create(&t, &attr, overflow_thread, NULL) && !pthread_join(t, NULL));
	pthread_attr_destroy(&attr);
	return 5;
}

/* ---- wrong calls -------------------------------------------------------------------------------------- */

enum { PROGRESS = 1, UNTIL, FINALIZE, INIT, MAIN };

static void call(int what)
{
	static char name[] = "embedded", *argv[] = { name, NULL };

	switch (what) {
	case PROGRESS:
		CkProgress(1);
		break;
	case UNTIL:
		CkRunUntil(NULL);
		break;
	case FINALIZE:
		CkFinalize();
		break;
	case INIT:
		start_plainly();
		break;
	case MAIN:
		CkMain(1, argv, &ck_module_embedded);
		break;
	}
}

static void misuse_in_handler(int what)
{
	if (what == 'a')
		CkAbort("that is all");
	if (what == 's')
		raise(SIGSEGV);
	if (what == 'x')
		exit(0);
	if (what == 'o')
		take_room(overflow_bytes);
	call(what);
}

static void *on_thread(void *what)
{
	call(*(int *)what);
	return NULL;
}

static void call_on_thread(int what)
{
	pthread_t t;

	NEED(!pthread_create(&t, NULL, on_thread, &what));
	pthread_join(t, NULL);
}

static int number_of(const char *call)
{
	static const char *const names[] = { "CkProgress", "CkRunUntil", "CkFinalize", "CkInit", "CkMain" };

	for (int i = 0; i < 5; i++)
		if (!strcmp(call, names[i]))
			return i + 1;
	fail(__LINE__, call);
}

/* PLACE-CALL */
static int wrong(const char *name)
{
	char place[16] = "";
	const char *dash = strchr(name, '-');

	NEED(dash && dash - name < 16);
	memcpy(place, name, (size_t)(dash - name));
	int what = number_of(dash + 1);

	if (!strcmp(place, "before")) {
		call(what);
	} else if (!strcmp(place, "again")) {
		start_plainly();
		call(what);
	} else if (!strcmp(place, "after")) {
		start_plainly();
		NEED(CkFinalize() == 0);
		call(what);
	} else if (!strcmp(place, "handler")) { /* on the last PE */
		start_plainly();
		Cell_Misuse(Cell_at(cells, CkNumPes() - 1), what);
		CkRunUntil(NULL);
	} else if (!strcmp(place, "main")) {
		call_in_main = what;
		call(MAIN);
	} else if (!strcmp(place, "thread")) {
		start_plainly();
		call_on_thread(what);
	}
	return 5; /* it did nothing */
}

/* No run begins, and the next one can. */
static int refused_then_good(void)
{
	CkBoot boot = { .rank = job.size, .size = job.size, .allgather = allgather, .arg = &job };

	NEED(CkInit(NULL, NULL, &ck_module_embedded, &boot) != 0);
	boot.rank = job.rank;
	job.broken = 1;
	NEED(CkInit(NULL, NULL, &ck_module_embedded, &boot) != 0);
	job.broken = job.n_calls + 3;
	NEED(CkInit(NULL, NULL, &ck_module_embedded, &boot) != 0);
	job.broken = 0;
	job.wrong = true;
	NEED(CkInit(NULL, NULL, &ck_module_embedded, &boot) != 0);
	job.wrong = false;
	snprintf(pes_flag, sizeof pes_flag, "+p1");
	start(false);
	add_up(false);
	NEED(CkFinalize() == 0);
	if (job.rank == 0)
		printf("refused: checked\n");
	return 0;
}

static void set_pes(const char *n)
{
	snprintf(pes_flag, sizeof pes_flag, "+p%d", atoi(n));
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	set_pes(argc > 2 ? argv[argc - 1] : "1");
	if (!strcmp(mode, "rounds") && argc == 5) {
		n_rounds = atoi(argv[2]);
		return in_processes(atoi(argv[3]), rounds);
	}
	if (!strcmp(mode, "exit") && argc == 5) {
		exit_code = atoi(argv[2]);
		return in_processes(atoi(argv[3]), exits);
	}
	if (!strcmp(mode, "rest") && argc == 4)
		return in_processes(atoi(argv[2]), rest);
	if (!strcmp(mode, "slow") && argc == 4)
		return in_processes(atoi(argv[2]), slow);
	set_pes("1");
	if (!strcmp(mode, "bound"))
		return in_processes(0, bound);
	if (!strcmp(mode, "abort") && argc == 3)
		return in_processes(atoi(argv[2]), aborts);
	if (!strcmp(mode, "exiting") && argc == 3) {
		ends_by_exit = true;
		return in_processes(atoi(argv[2]), aborts);
	}
	if (!strcmp(mode, "leave") && argc == 4) {
		leave_how = argv[2];
		return in_processes(atoi(argv[3]), leaves);
	}
	if (!strcmp(mode, "fork") && argc == 3)
		return forks(argv[2]);
	if (!strcmp(mode, "overflow") && argc == 4) {
		overflow_bytes = strtoul(argv[2], NULL, 10);
		return in_processes(0, strcmp(argv[3], "main") ? overflows_elsewhere : overflows);
	}
	if (!strcmp(mode, "refused") && argc == 3)
		return in_processes(atoi(argv[2]), refused_then_good);
	if (!strcmp(mode, "killed") && argc == 3) {
		alone_tells = true;
		return in_processes(atoi(argv[2]), killed);
	}
	if (!strcmp(mode, "slow_signals"))
		return in_processes(0, slow_signals);
	if (!strcmp(mode, "signals"))
		return in_processes(0, signals);
	if (!strcmp(mode, "misuse") && argc == 3)
		return wrong(argv[2]);
	fprintf(stderr, "embedded: see the top of embedded.c\n");
	return 2;
}
