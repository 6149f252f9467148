/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lend: ways in which one process can read an array of another one of its host, without a runtime
 * between them: what a nocopy parameter could cost. In a round trip one side changes a word per
 * cache line of its array and says so, and the other reads every word; then the other way round.
 *
 *	lend-copy   the sender copies its array to shared memory, where the other reads it
 *	lend-cma    the reader fetches it from the sender's private memory: process_vm_readv, which
 *	            UCX calls cma
 *	lend-map    the array lies in shared memory: nothing is copied
 *
 *     build/bench/lend                also: --sizes a,b,c  --reps n  --no-pin
 *
 * Prints `name bytes microseconds`. The first two copy once; the question is who copies, and what
 * that costs.
 */
#include "bench.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOKS_BETWEEN_CHECKS = 1 << 16 };
enum way { COPY, CMA, MAP, WAYS };
static const char *const names[WAYS] = {"lend-copy", "lend-cma", "lend-map"};

/** One direction. */
struct word {
	_Alignas(64) uint64_t stamp;       /* of the newest array; release, acquire */
	unsigned char *at;                 /* the array in its owner's memory: written before stamp */
};

struct shared {
	struct word word[2];               /* by sender */
};

struct lend {
	struct bench_options opt;
	struct bench_cpus cpus;
	struct shared *shared;
	void *area[2];                     /* shared */
	enum way way;
	size_t bytes;
	long trips;
};

/** One of the two ends. */
struct side {
	const struct lend *l;
	int me;
	pid_t peer;
	struct bench_payload mine;         /* what this side sends */
	struct bench_payload other;        /* where it reads the other's */
	void *own, *fetched;               /* private */
};

/* A payload in another area of the same layout. */
static struct bench_payload moved(const struct bench_payload *p, const void *from, void *to)
{
	struct bench_payload q = *p;

	q.start = (unsigned char *)to + (p->start - (const unsigned char *)from);
	q.words = (uint64_t *)(void *)(q.start + p->bytes % 8);
	return q;
}

static void side_init(struct side *s, const struct lend *l, int me, pid_t peer)
{
	*s = (struct side){.l = l, .me = me, .peer = peer};
	s->own = bench_alloc(bench_area_bytes(l->bytes));
	s->fetched = bench_alloc(bench_area_bytes(l->bytes));
	bench_payload_init(&s->mine, s->own, l->bytes);
	s->other = moved(&s->mine, s->own, l->way == CMA ? s->fetched : l->area[!me]);
	if (l->way == MAP) {
		s->mine = moved(&s->mine, s->own, l->area[me]);
		memcpy(l->area[me], s->own, bench_area_bytes(l->bytes));
	}
}

static void side_fini(struct side *s)
{
	free(s->own);
	free(s->fetched);
}

static void send(struct side *s, uint64_t stamp)
{
	struct word *w = &s->l->shared->word[s->me];

	bench_refresh(&s->mine, stamp);
	if (s->l->way == COPY)
		memcpy(moved(&s->mine, s->own, s->l->area[s->me]).start, s->mine.start, s->l->bytes);
	w->at = s->mine.start;
	/* release, pairs with the acquire in receive: the array and its address are there */
	__atomic_store_n(&w->stamp, stamp, __ATOMIC_RELEASE);
}

static void fetch(struct side *s, const struct word *w)
{
	const struct iovec to = {s->other.start, s->l->bytes}, from = {w->at, s->l->bytes};

	if (process_vm_readv(s->peer, &to, 1, &from, 1, 0) != (ssize_t)s->l->bytes) {
		fprintf(stderr, "lend: process_vm_readv: %s\n", strerror(errno));
		_exit(1);
	}
}

static void receive(struct side *s, uint64_t stamp)
{
	const struct word *w = &s->l->shared->word[!s->me];

	for (unsigned looks = 1; __atomic_load_n(&w->stamp, __ATOMIC_ACQUIRE) != stamp; looks++)
		if (looks % LOOKS_BETWEEN_CHECKS == 0 && s->me == 0 &&
		    waitpid(s->peer, NULL, WNOHANG) > 0)
			exit(1); /* it has said why */
	if (s->l->way == CMA)
		fetch(s, w);
	if (!bench_arrived_whole(&s->other, stamp)) {
		fprintf(stderr, "lend: stale words\n");
		_exit(1);
	}
}

static void echo(const struct lend *l, pid_t parent)
{
	struct side s;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* died before the line above took effect */
		_exit(1);
	if (l->opt.pin)
		bench_pin(&l->cpus, 1);
	side_init(&s, l, 1, parent);
	for (uint64_t stamp = 1; stamp <= (uint64_t)l->trips; stamp++) {
		receive(&s, stamp);
		send(&s, stamp);
	}
	/* The last array must stay until it has been read. */
	while (__atomic_load_n(&l->shared->word[0].stamp, __ATOMIC_ACQUIRE) != UINT64_MAX)
		;
	_exit(0);
}

/* A bench_run_fn: each run has a peer of its own. */
static double run(void *context, size_t bytes, long iterations)
{
	struct lend *l = context;
	pid_t self = getpid(), peer;
	struct side s;
	double begin = 0, us;

	l->bytes = bytes;
	l->trips = iterations + iterations / 8 + 1;
	memset(l->shared, 0, sizeof *l->shared);
	if ((peer = fork()) == 0)
		echo(l, self);
	if (peer < 0) {
		perror("lend: fork");
		exit(1);
	}
	side_init(&s, l, 0, peer);
	for (long trip = 1; trip <= l->trips; trip++) {
		if (trip == l->trips - iterations + 1)
			begin = bench_now_us();
		send(&s, (uint64_t)trip);
		receive(&s, (uint64_t)trip);
	}
	us = bench_now_us() - begin;
	__atomic_store_n(&l->shared->word[0].stamp, UINT64_MAX, __ATOMIC_RELEASE);
	waitpid(peer, NULL, 0);
	side_fini(&s);
	return us;
}

static void *map_shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("lend: mmap");
		exit(1);
	}
	return p;
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = {1000, 10000, 100000, 1000000, 10000000};
	struct lend l;

	bench_options_init(&l.opt);
	l.opt.nsizes = sizeof sizes / sizeof *sizes;
	memcpy(l.opt.bytes, sizes, sizeof sizes);
	for (int i = 1; i < argc; i++) {
		if (!bench_option(&l.opt, argc, argv, &i)) {
			fprintf(stderr, "usage: %s [--sizes a,b,c] [--reps n] [--no-pin]\n", argv[0]);
			return 2;
		}
	}
	bench_cpus_get(&l.cpus);
	if (l.opt.pin)
		bench_pin(&l.cpus, 0);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* the child may read us, where it is asked */
	l.shared = map_shared(sizeof *l.shared);
	for (int i = 0; i < 2; i++)
		l.area[i] = map_shared(bench_area_bytes(bench_largest(&l.opt)));
	for (l.way = COPY; l.way < WAYS; l.way++)
		bench_sweep(&l.opt, names[l.way], run, &l);
	return 0;
}
