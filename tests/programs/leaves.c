/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaves: a process, or the thread of a PE, that goes before the job's end. `leaves WHAT PE CODE` does that on one PE while
 * the others are busy; leaves.cases has the expected output. What it has printed into stdio's buffer comes out.
 */
#include "check.h"

#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "leaves.decl.h"

struct Main { int unused; };
struct Member { int unused; };

static bool is(const char *what, const char *name) { return strcmp(what, name) == 0; }

static void *exit_elsewhere(void *code_p)
{
	exit(*(int *)code_p);
}

/* A thread of the program's own, which is no PE. */
static void exit_on_thread(int code)
{
	pthread_t t;

	CHECK(!pthread_create(&t, NULL, exit_elsewhere, &code));
	pthread_join(t, NULL);
}

static pthread_barrier_t locked;

static void *hold_lock(void *file)
{
	flockfile(file);
	pthread_barrier_wait(&locked);
	for (;;)
		pause();
	return NULL;
}

/* Nobody can flush that stream. */
static void lock_stream_for_ever(FILE *f)
{
	pthread_t t;

	CHECK(f && !pthread_barrier_init(&locked, NULL, 2));
	CHECK(!pthread_create(&t, NULL, hold_lock, f));
	pthread_barrier_wait(&locked);
}

static void at_our_exit(void)
{
	CkPrintf("the program's exit handler has run\n");
}

static void leave(const char *what, int code)
{
	printf("kept in a buffer");
	if (is(what, "exit") || is(what, "exit-threaded")) {
		exit(code);
	} else if (is(what, "exit-thread")) {
		exit_on_thread(code);
	} else if (is(what, "exit-late")) {
		CkExit(0);
		exit(code);
	} else if (is(what, "exit-handler")) {
		atexit(at_our_exit);
		exit(code);
	} else if (is(what, "exit-locked")) {
		lock_stream_for_ever(stdin);
		exit(code);
	} else if (is(what, "errx")) {
		errx(code, "a library gives up");
	} else if (is(what, "quick_exit")) {
		quick_exit(code);
	} else if (is(what, "_exit")) {
		_exit(code);
	} else if (is(what, "pthread_exit") || is(what, "pthread_exit-threaded")) {
		pthread_exit(NULL);
	} else if (is(what, "cancel")) {
		pthread_cancel(pthread_self());
		pthread_testcancel();
	}
}

void prepares(void)
{
	const char *what = getenv("LEAVES_INITNODE");

	if (what)
		leave(what, 0);
}

void Member_on_new(Member *self) { (void)self; }
void Member_on_spin(Member *self) { Member_spin(Member_thisElement(self)); }

void Member_on_act(Member *self, const char *what, int code)
{
	Member_spin(Member_thisElement(self));
	leave(what, code);
}

void Member_on_actThreaded(Member *self, const char *what, int code)
{
	(void)self;
	leave(what, code);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	const char *what = m->argc > 1 ? m->argv[1] : "well";
	int pe = m->argc > 2 ? atoi(m->argv[2]) : 0, code = m->argc > 3 ? atoi(m->argv[3]) : 0;

	mainProxy = Main_thisProxy(self);
	members = Member_ckNew();
	if (is(what, "main"))
		leave("exit", code);
	else if (is(what, "well"))
		CkExit(code);
	else if (strstr(what, "-threaded"))
		Member_actThreaded(Member_at(members, pe), what, code);
	else
		Member_act(Member_at(members, pe), what, code);
}

#include "leaves.def.h"
