/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forks: `forks HOW` has a handler on each PE fork while calls go round. `HOW` says what the children do. The parents tell
 * how their children have ended, and the job goes on to its end. `forks HOW-threaded` does it in threads, and
 * `forks HOW-in-thread` in threads that are no PE. forks.cases has the expected output.
 */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cth.h"
#include "forks.decl.h"

extern char **environ;

struct Main { int n; };
struct Cell {
	int passed;
	CProxyElement_Cell own, next; /* its address, and its neighbour's */
	CProxySection_Cell both;
};

enum { HOPS = 2000, VALUES = 1000, OF_A_CHILD = -1 };

static bool begins(const char *how, const char *name) { return strncmp(how, name, strlen(name)) == 0; }

/* ---- the child ------------------------------------------------------------------------------- */

/* All of these would reach an element in one of the ways in which calls go. */
static void call_an_element(Cell *self, const char *how)
{
	if (begins(how, "call-own"))
		Cell_pass(self->own, OF_A_CHILD);
	else if (begins(how, "call-next"))
		Cell_pass(self->next, OF_A_CHILD);
	else if (begins(how, "call-section"))
		Cell_pass_section(self->both, OF_A_CHILD);
	else if (begins(how, "call-inline"))
		Cell_now(self->own, OF_A_CHILD);
	else if (begins(how, "call-local"))
		Cell_here(self->own, OF_A_CHILD);
	else if (begins(how, "call-given"))
		Cell_given(self->own, 2, (int[]){ 1, 2 });
	else if (begins(how, "call-gathered"))
		Cell_gathered(self->next, OF_A_CHILD);
}

static void call_something(Cell *self, const char *how)
{
	call_an_element(self, how);
	if (begins(how, "call-entry"))
		Cell_pass_all(cells, OF_A_CHILD);
	else if (begins(how, "call-print"))
		CkPrintf("nobody reads this\n");
	else if (begins(how, "call-CkExit"))
		CkExit(9);
	else if (begins(how, "call-CkAbort"))
		CkAbort("nobody reads this");
	else if (begins(how, "call-CthYield"))
		CthYield();
}

static volatile int zero;

static void die(const char *how)
{
	if (begins(how, "die-raise"))
		raise(SIGSEGV);
	else if (begins(how, "die-fault"))
		*(volatile int *)(uintptr_t)zero = 1;
	else if (begins(how, "die-abort"))
		abort();
	else if (begins(how, "die-kill"))
		raise(SIGKILL);
}

/* A child of the child has no more to do with the job. */
static void end_by_grandchild(void)
{
	int status, fd = dup(STDIN_FILENO); /* a number that was the runtime's, perhaps */
	pid_t grandchild = fork();

	if (grandchild == 0) {
		if (fcntl(fd, F_GETFD) >= 0)
			raise(SIGSEGV);
		exit(0);
	}
	_exit(waitpid(grandchild, &status, 0) == grandchild && WIFSIGNALED(status) ? 0 : 20);
}

static void end(const char *how)
{
	if (begins(how, "end-exit"))
		exit(0);
	else if (begins(how, "end-quick"))
		quick_exit(0);
	else if (begins(how, "end-thread"))
		pthread_exit(NULL);
	else if (begins(how, "end-exec"))
		execl("/bin/true", "true", (char *)NULL);
	else if (begins(how, "end-grandchild"))
		end_by_grandchild();
	else
		_exit(0);
	_exit(17);
}

/* What it may do with the parameters of the handler: read them. */
static int sum_of(int n, const int *values)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += values[i];
	return sum;
}

/* The node that it comes from dies, and the launcher must hear of that while this child lives. The test kills it: its
 * number is in the file that LINGER names, and so is whether it came to its end. */
static int written[2]; /* a pipe that the child closes when its number is in the file */

static void linger(void)
{
	const char *path = getenv("LINGER");
	FILE *file = path ? fopen(path, "w") : NULL;

	for (int fd = 0; fd < 3; fd++)
		close(fd);
	if (!file)
		_exit(1);
	fprintf(file, "%d", (int)getpid());
	fflush(file);
	close(written[1]);
	sleep(40);
	fprintf(file, " waited in vain");
	fclose(file);
	_exit(0);
}

/* Some launchers end the child with its parent, so its number must be written before. */
static void die_beside_it(void)
{
	char none;

	close(written[1]);
	CHECK(read(written[0], &none, 1) == 0);
	raise(SIGKILL);
}

/* Returns only from "return". */
static void in_child(Cell *self, const char *how, int n, const int *values)
{
	call_something(self, how);
	die(how);
	if (begins(how, "end"))
		end(how);
	if (begins(how, "read"))
		_exit(sum_of(n, values) == VALUES * (VALUES - 1) / 2 ? 0 : 18);
	if (begins(how, "write"))
		((int *)(uintptr_t)values)[n - 1]++;
	if (begins(how, "ask"))
		for (;;)
			pause();
	if (begins(how, "linger"))
		linger();
	if (!begins(how, "return"))
		_exit(19);
}

/* ---- the parent ------------------------------------------------------------------------------ */

/* The question that ckrun asks ends no child, although it has no answer. */
static void ask(pid_t child)
{
	int status;

	usleep(20000);
	kill(child, SIGUSR1);
	usleep(20000);
	CHECK(waitpid(child, &status, WNOHANG) == 0);
	kill(child, SIGTERM);
}

static pid_t spawn(void)
{
	char name[] = "true", *argv[] = { name, NULL };
	pid_t child;

	CHECK(system("exit 3") == 3 << 8);
	FILE *f = popen("echo said; exit 4", "r");
	char text[8];

	CHECK(f && fgets(text, sizeof text, f) && !strcmp(text, "said\n") && pclose(f) == 4 << 8);
	CHECK(posix_spawn(&child, "/bin/true", NULL, NULL, argv, environ) == 0);
	return child;
}

/* Whether this is the child, which goes on as the parent does. */
static bool forks(Cell *self, const char *how, int n, const int *values, int *status_p)
{
	pid_t child;

	if (begins(how, "linger"))
		CHECK(pipe(written) == 0);
	child = begins(how, "spawn") ? spawn() : fork();
	if (child == 0) {
		in_child(self, how, n, values);
		return true;
	}
	CHECK(child > 0);
	if (begins(how, "ask"))
		ask(child);
	if (begins(how, "linger"))
		die_beside_it();
	CHECK(waitpid(child, status_p, 0) == child);
	return false;
}

struct thread {
	Cell *self;
	const char *how;
	int n, status;
	const int *values;
};

static void *fork_elsewhere(void *thread)
{
	struct thread *t = thread;

	forks(t->self, t->how, t->n, t->values, &t->status);
	return NULL;
}

/* Known before the fork, because a child may not ask. */
static void meet(Cell *self)
{
	const int next = (Cell_thisIndex(self) + 1) % CkNumPes();
	const CkIndex list[] = { Cell_index(Cell_thisIndex(self)), Cell_index(next) };

	self->own = Cell_thisElement(self);
	self->next = Cell_at(cells, next);
	self->both = Cell_ckSection(cells, list, CkNumPes() > 1 ? 2 : 1);
	Cell_gathered(self->next, HOPS); /* begins a batch, which another call would continue */
}

static void act(Cell *self, const char *how, int n, const int *values)
{
	struct thread t = { self, how, n, 0, values };
	pthread_t thread;

	if (begins(how, "call"))
		meet(self);
	if (strstr(how, "-in-thread")) {
		CHECK(!pthread_create(&thread, NULL, fork_elsewhere, &t));
		pthread_join(thread, NULL);
	} else if (forks(self, how, n, values, &t.status)) {
		return;
	}
	CkPrintf("the child has ended with %d\n",
		 WIFSIGNALED(t.status) ? 128 + WTERMSIG(t.status) : WEXITSTATUS(t.status));
	CHECK_EQ(sum_of(n, values), VALUES * (VALUES - 1) / 2);
	Cell_pass(Cell_at(cells, (Cell_thisIndex(self) + 1) % CkNumPes()), HOPS);
}

void Cell_on_new(Cell *self) { self->passed = 0; }
void Cell_on_act(Cell *self, const char *how, int n, const int *values) { act(self, how, n, values); }
void Cell_on_actThreaded(Cell *self, const char *how, int n, const int *values) { act(self, how, n, values); }

void Cell_on_gathered(Cell *self, int hops) { (void)self; CHECK_EQ(hops, HOPS); }

static void from_a_child(void) { CkAbort("an element got the call of a child"); }
void Cell_on_now(Cell *self, int hops) { (void)self, (void)hops; from_a_child(); }
int Cell_on_here(Cell *self, int hops) { (void)self; from_a_child(); return hops; }
void Cell_on_given(Cell *self, int n, const int *values)
{
	(void)self, (void)n, (void)values;
	from_a_child();
}

void Cell_on_pass(Cell *self, int hops)
{
	if (hops == OF_A_CHILD)
		from_a_child();
	self->passed++;
	if (hops > 0)
		Cell_pass(Cell_at(cells, (Cell_thisIndex(self) + 1) % CkNumPes()), hops - 1);
	else
		CkContributeBarrier(self, Main_cb_done(mainProxy));
}

void Main_on_done(Main *self)
{
	(void)self;
	CkPrintf("forks: checked\n");
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	const char *how = m->argc > 1 ? m->argv[1] : "end";
	static int values[VALUES];

	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(CkNumPes()));
	for (int i = 0; i < VALUES; i++)
		values[i] = i;
	if (strstr(how, "-threaded"))
		Cell_actThreaded_all(cells, how, VALUES, values);
	else
		Cell_act_all(cells, how, VALUES, values);
}

#include "forks.def.h"
