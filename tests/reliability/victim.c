/* SPDX-License-Identifier: Apache-2.0 */
/*
 * victim: a job in which calls, puts, reductions, threads and quiescence are under way at once, until one
 * process dies at a place that the environment names:
 *
 *   VICTIM=PLACE,HOW,NODE,N     when node NODE comes to PLACE for the N-th time, it prints "victim: here PID"
 *                               and does HOW
 *
 * The places are the calls of at() below. HOW is a name in `ways`; "wait" waits there for somebody else's
 * signal, and "go" goes on. Without VICTIM the job ends by itself after a few rounds, with "victim: done".
 * deaths.py says what must come of it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ck.h"
#include "ckdirect.h"
#include "csd.h"

#include "victim.decl.h"

enum { CALLS = 6, HOPS = 4, PUT_WORDS = 64, SOME_ROUNDS = 3, LONG_S = 1000, NO_DATA = -1 };

struct Main { int round; };
struct Peer { int64_t *seen, out[PUT_WORDS]; CkDirectHandle from, to; };

/* ---- ways to die ------------------------------------------------------------------------------ */

static volatile int zero;

static void segv(void)
{
	*(volatile int *)(intptr_t)(zero + 8) = 1;
}

static void bus(void)
{
	int fd = memfd_create("victim", 0); /* a page of a file without bytes */
	volatile char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	*p = 1;
}

static void fpe(void)
{
	zero = 7 / zero; /* of 1 the compiler knows the quotient */
}

static void ill(void)
{
	__builtin_trap();
}

/* glibc finds out while it holds its own locks. */
static void heap(void)
{
	char *p = malloc(100);

	free(p + zero + 16);
}

static int descend(volatile char *from)
{
	volatile char room[4096];

	room[0] = *from;
	return zero ? 0 : descend(room) + room[0];
}

static void overflow(void)
{
	char c = 0;

	zero = descend(&c);
}

/* Nobody can follow this stack, and no return leads anywhere. */
enum { SMASHED = 200 };
__attribute__((noinline)) static void smash_above(void)
{
	volatile long here[2] = { 0, 0 };

	for (int i = 0; i < SMASHED + zero; i++)
		*(volatile long *)((char *)here + 8 * i) = 0x4141414141414141;
}

/* A thread's stack may end just above, and what lies behind it belongs to others. */
static void smash(void)
{
	volatile long room[SMASHED];

	room[0] = room[SMASHED - 1] = zero;
	smash_above();
	room[0] = room[SMASHED - 1];
}

static void *segv_thread(void *unused)
{
	segv();
	return unused;
}

static void thread(void)
{
	pthread_t t;

	if (!pthread_create(&t, NULL, segv_thread, NULL))
		pthread_join(t, NULL);
}

static void abort_job(void) { CkAbort("the victim aborts"); }
static void assert_job(void) { CkAssert(zero); }
static void exit_3(void) { exit(3); }
static void exit_0(void) { exit(0); }
static void exit_at_once(void) { _exit(0); }
static void kill_self(void) { raise(SIGKILL); }
static void raise_segv(void) { raise(SIGSEGV); }
static void stop(void) { raise(SIGSTOP); }
static void go(void) {}
static void spin(void)
{
	while (!zero)
		;
}
static void hold(void)
{
	for (;;)
		sleep(LONG_S);
}

static const struct { const char *name; void (*die)(void); } ways[] = {
	{ "segv", segv }, { "raise-segv", raise_segv }, { "bus", bus }, { "fpe", fpe }, { "ill", ill },
	{ "abort", abort }, { "heap", heap }, { "overflow", overflow }, { "smash", smash },
	{ "thread", thread }, { "ckabort", abort_job }, { "ckassert", assert_job }, { "exit-3", exit_3 },
	{ "exit-0", exit_0 }, { "_exit-0", exit_at_once }, { "kill", kill_self }, { "stop", stop },
	{ "spin", spin }, { "wait", hold }, { "go", go },
};

/* ---- where ------------------------------------------------------------------------------------ */

static struct { char place[16], how[16]; int node, n; } plan;
static int our_node;
static atomic_int visits;

/* May be called from inside send() and the like, so it uses no streams. */
static void at(const char *place)
{
	char here[40];

	if (strcmp(place, plan.place) || our_node != plan.node || atomic_fetch_add(&visits, 1) + 1 != plan.n)
		return;
	if (write(STDOUT_FILENO, here, (size_t)sprintf(here, "victim: here %d\n", getpid())) < 0)
		_exit(97);
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		if (!strcmp(ways[i].name, plan.how))
			ways[i].die();
}

/* As early as our code can run: there is no main yet, and no runtime. */
__attribute__((constructor)) static void load(void)
{
	const char *text = getenv("VICTIM"), *rank = getenv("PMI_RANK");

	our_node = rank ? atoi(rank) : 0;
	if (text && sscanf(text, "%15[^,],%15[^,],%d,%d", plan.place, plan.how, &plan.node, &plan.n) != 4)
		_exit(98);
	at("load");
}

__attribute__((destructor)) static void unload(void)
{
	at("unload");
}

/* The words that the node says to its launcher: init, put, barrier_in, ck_getall, finalize. */
ssize_t send(int fd, const void *data, size_t n, int flags)
{
	static ssize_t (*libc_send)(int, const void *, size_t, int);
	char word[16] = "";

	if (!libc_send)
		*(void **)&libc_send = dlsym(RTLD_NEXT, "send");
	if (n > 4 && n < 100000 && !memcmp(data, "cmd=", 4)) {
		sscanf((const char *)data + 4, "%15[a-z_]", word);
		at(word);
	}
	return libc_send(fd, data, n, flags);
}

/* UCX's, through which its users open it. The runtime looks for it among all libraries. */
__attribute__((visibility("default")))
int ucp_init_version(unsigned major, unsigned minor, const void *params, const void *config, void *context_p);
int ucp_init_version(unsigned major, unsigned minor, const void *params, const void *config, void *context_p)
{
	int (*real)(unsigned, unsigned, const void *, const void *, void *), rc;

	*(void **)&real = dlsym(RTLD_NEXT, "ucp_init_version");
	at("ucx");
	rc = real(major, minor, params, config, context_p);
	at("ucx-open");
	return rc;
}

void on_node(void) { at("initnode"); }
void on_pe(void) { at("initproc"); }

/* ---- the job ---------------------------------------------------------------------------------- */

static void came(void *self)
{
	Peer *p = self;

	at("arrival");
	CkDirect_ready(&p->from);
}

void Peer_on_new(Peer *self)
{
	int to_us = (CkMyPe() + CkNumPes() - 1) % CkNumPes();

	at("construct");
	self->seen = CkDirect_alloc(sizeof self->out);
	self->from = CkDirect_createHandle(self->seen, sizeof self->out, NO_DATA, came, self);
	Peer_bind(Peer_at(Peer_thisProxy(self), to_us), self->from);
}

void Peer_on_bind(Peer *self, CkDirectHandle h)
{
	self->to = h;
	CkDirect_assocLocalBuffer(&self->to, self->out, sizeof self->out);
	CkContribute(self, NULL, 0, CkReduction_nop, Main_cb_bound(mainProxy));
}

/* Every size takes another way to the other process. */
static void hit(int hops)
{
	static const int sizes[] = { 0, 4, 100, 20000 };
	static const double zeros[20000];
	int n = sizes[rand() % 4];

	Peer_hit(Peer_at(peers, rand() % CkNumPes()), hops, n, zeros);
}

void Peer_on_hit(Peer *self, int hops, int n, const double *v)
{
	(void)self, (void)n, (void)v;
	at("call");
	if (hops > 0)
		hit(hops - 1);
}

void Peer_on_go(Peer *self, int round)
{
	int one = 1;

	self->out[PUT_WORDS - 1] = round;
	CkDirect_put(&self->to);
	for (int i = 0; i < CALLS; i++)
		hit(HOPS);
	Peer_think(Peer_thisElement(self));
	CkContribute(self, &one, 1, CkReduction_sum_int, Main_cb_total(mainProxy));
	at("reduce");
}

int Peer_on_ask(Peer *self, int x)
{
	(void)self;
	return 2 * x;
}

void Peer_on_think(Peer *self)
{
	(void)self;
	at("thread");
	if (Peer_ask_sync(Peer_at(peers, (CkMyPe() + 1) % CkNumPes()), 21) != 42)
		CkAbort("the victim got a wrong answer");
	at("resumed");
}

static void late(void *unused) { (void)unused; }

/* Nothing happens any more; but something will, in a quarter of an hour. */
void Peer_on_rest(Peer *self)
{
	CcdCallFnAfter(late, self, LONG_S * 1000.0);
	at("rest");
}

static void next_round(Main *self)
{
	Peer_go_all(peers, self->round++);
	CkStartQD(Main_cb_quiet(mainProxy));
	at("quiet");
}

void Main_on_bound(Main *self) { next_round(self); }

void Main_on_total(Main *self, int n)
{
	(void)self;
	if (n != CkNumPes())
		CkAbort("the victim counted %d of %d", n, CkNumPes());
}

void Main_on_quiet(Main *self)
{
	if (!strcmp(plan.place, "rest")) {
		Peer_rest_all(peers);
	} else if (self->round < rounds) {
		next_round(self);
	} else {
		CkPrintf("victim: done\n");
		CkExit(0);
		at("exit");
	}
}

/* Deaths at work are waited for. */
void Main_on_new(Main *self, CkArgMsg *m)
{
	static const char *const at_work[] = { "arrival", "call", "reduce", "thread", "resumed", "quiet" };

	rounds = m->argc > 1 ? atoi(m->argv[1]) : SOME_ROUNDS;
	for (size_t i = 0; i < sizeof at_work / sizeof *at_work; i++)
		if (!strcmp(plan.place, at_work[i]))
			rounds = 1 << 30;
	mainProxy = Main_thisProxy(self);
	peers = Peer_ckNew();
	at("main-chare");
}

#include "victim.def.h"
