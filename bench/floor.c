/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The physical limit that channels are measured against: a round trip between two bare processes
 * over mapped memory, with no runtime between them. Each side changes one word per cache line of
 * its source (as a program that computes does), copies all but the last word with memcpy, and
 * release-stores the last word; the other side polls that word with acquire, reads every word,
 * and answers in the same way.
 *
 *     build/bench/floor                 processes          floor          <bytes> <microseconds>
 *     build/bench/floor --threads       two threads        floor-threads  <bytes> <microseconds>
 *     build/bench/floor --no-touch      nothing rewritten or read: not a limit for a real program
 *     build/bench/floor --barrier       processes          floor-barrier  0 <microseconds>
 *                                       each side stores the number of the round into the
 *                                       other's word and waits for its own; no barrier of two
 *                                       is faster; also with --threads
 *     build/bench/floor --handover      processes          floor-handover 0 <microseconds>
 *                                       an object goes to and fro by pointer: its owner writes its
 *                                       head and stores its address into the other's word; the other
 *                                       reads the head. Two lines cross, one after the other,
 *                                       whatever the object's size; also with --threads
 *     build/bench/floor --apart         processes          floor-apart    <bytes> <microseconds>
 *                                       the word that tells of the payload lies in a line of its
 *                                       own, as that of a channel in sequence mode
 *     build/bench/floor --best          processes          floor-best     <bytes> <microseconds>
 *                                       the fastest of the ways to copy in ways.h: memcpy; round
 *                                       the caches; in chunks, each of which the reader fetches
 *                                       while the next is being copied
 *     build/bench/floor --memcpy        both sides in one thread: the work without the wire
 *     also: --sizes a,b,c  --reps n  --no-pin
 *
 *     cc -std=c11 -D_GNU_SOURCE -O2 -Ibench -o build/bench/floor bench/floor.c bench/bench.c \
 *         -pthread
 *
 * The sides are pinned to the first two CPUs of the affinity mask; where these are two threads of
 * one core, choose others: taskset -c 0,2 build/bench/floor.
 *
 * Limits: one copy in one block, except with --best.
 */
#include "bench.h"
#include "ways.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* After so many looks at an empty word, give the CPU away once and see whether the peer still
 * lives. Rare enough to cost nothing between two CPUs, frequent enough to move on when there is
 * but one. */
enum { LOOKS_BETWEEN_CHECKS = 1 << 16 };

enum mode { MODE_PROCESSES, MODE_THREADS, MODE_MEMCPY };
enum what { PAYLOADS, BARRIERS, HANDOVERS };
enum { WORD_BYTES = sizeof(uint64_t) }; /* of barriers and handovers: the payload is the word */

/* The first cache line of an object. */
struct ball {
	_Alignas(64) uint64_t trip;
};

/* How much of a payload has arrived: see ways.h. */
struct told {
	_Alignas(64) _Atomic uint64_t word;
};

struct floor {
	struct bench_options opt;
	struct bench_cpus cpus;
	enum mode mode;
	enum what what;
	bool best;
	bool apart;
	const struct way *way;
	struct told *told; /* [2], shared; told[s] is written by the other side */
	struct ball *ball; /* shared; of the side that has its address, at first of side 0 */
	void *inbox[2]; /* shared; inbox[s] is written by the other side and read by side s */
	/* of the run that goes on: */
	size_t bytes;
	long trips; /* warm-up and timed together */
};

/* One of the two ends. `peer` is the child's process id at the parent, 0 where none can die
 * alone. */
struct side {
	struct bench_payload source; /* private                             */
	struct bench_payload inbox;  /* read here, written by the other end */
	struct bench_payload outbox; /* the other end's inbox               */
	const struct way *way;
	bool apart;
	struct told *told_here, *told_there;
	void *area;
	bool touch;
	pid_t peer;
};

static void side_init(struct side *s, const struct floor *f, int which)
{
	s->area = bench_alloc(bench_area_bytes(f->bytes));
	s->touch = f->opt.touch;
	s->peer = 0;
	s->way = f->way;
	s->apart = f->apart;
	s->told_here = &f->told[which];
	s->told_there = &f->told[!which];
	bench_payload_init(&s->source, s->area, f->bytes);
	/* The inboxes hold stamp 0 since before the peer was started; only their layout is wanted,
	 * and computing it from a private copy leaves the shared words alone. */
	s->inbox = s->source;
	s->outbox = s->source;
	ptrdiff_t head = s->source.start - (unsigned char *)s->area;
	s->inbox.start = (unsigned char *)f->inbox[which] + head;
	s->outbox.start = (unsigned char *)f->inbox[!which] + head;
	s->inbox.words = (uint64_t *)(s->inbox.start + f->bytes % 8);
	s->outbox.words = (uint64_t *)(s->outbox.start + f->bytes % 8);
}

static void side_fini(struct side *s)
{
	free(s->area);
}

/* The word that tells the other side, and the one that it tells us with. */
static uint64_t *word_there(const struct side *s)
{
	return s->apart ? (uint64_t *)&s->told_there->word : bench_last(&s->outbox);
}

static uint64_t *word_here(const struct side *s)
{
	return s->apart ? (uint64_t *)&s->told_here->word : bench_last(&s->inbox);
}

static void side_send(struct side *s, uint64_t stamp)
{
	if (s->touch)
		bench_refresh(&s->source, stamp);
	if (s->apart)
		memcpy(s->outbox.start, s->source.start, s->source.bytes);
	else if (s->way == ways)
		memcpy(s->outbox.start, s->source.start, s->source.bytes - sizeof(uint64_t));
	else
		way_copy(s->way, s->outbox.start, s->source.start, s->source.bytes - sizeof(uint64_t),
			 &s->told_there->word, stamp);
	/* release, pairs with the acquire in side_receive: whoever sees this stamp sees the copy */
	__atomic_store_n(word_there(s), stamp, __ATOMIC_RELEASE);
}

static void check_peer(const struct side *s)
{
	siginfo_t info = {0};

	sched_yield();
	/* A child that ended with 0 has sent all its answers, and they will be found. */
	if (s->peer && waitid(P_PID, (id_t)s->peer, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    info.si_pid && !(info.si_code == CLD_EXITED && info.si_status == 0)) {
		fprintf(stderr, "floor: the peer process died\n");
		exit(1);
	}
}

static void side_receive(struct side *s, uint64_t stamp)
{
	uint32_t fetched = 0;

	/* acquire, pairs with the release in side_send; the answer that follows is in turn the
	 * permission to overwrite this inbox, because the sender acquires it before it copies
	 * again */
	for (unsigned looks = 1; __atomic_load_n(word_here(s), __ATOMIC_ACQUIRE) != stamp;
	     looks++) {
		if (s->way->chunk)
			way_fetch(s->inbox.start, &fetched, &s->told_here->word, stamp);
		if (looks % LOOKS_BETWEEN_CHECKS == 0)
			check_peer(s);
	}
	if (s->touch && !bench_arrived_whole(&s->inbox, stamp)) {
		fprintf(stderr, "floor: %zu bytes, trip %llu: stale words in the payload\n",
			s->inbox.bytes, (unsigned long long)stamp);
		exit(1);
	}
}

/* The other side may be one round ahead: it stores again as soon as it has seen ours. */
static void barriers(struct side *s, long first, long last)
{
	for (uint64_t round = (uint64_t)first; round <= (uint64_t)last; round++) {
		/* release and acquire as in a payload: what was done before the barrier is seen
		 * behind it */
		__atomic_store_n(bench_last(&s->outbox), round, __ATOMIC_RELEASE);
		for (unsigned looks = 1;
		     __atomic_load_n(bench_last(&s->inbox), __ATOMIC_ACQUIRE) < round; looks++)
			if (looks % LOOKS_BETWEEN_CHECKS == 0)
				check_peer(s);
	}
}

/* release and acquire as in a payload: whoever sees the address sees the head. The same address comes
 * each time, so the parity of the trip goes with it. */
static void hand_over(struct side *s, struct ball *b, uint64_t trip)
{
	b->trip = trip;
	__atomic_store_n(bench_last(&s->outbox), (uintptr_t)b | (trip & 1), __ATOMIC_RELEASE);
}

static struct ball *take_over(struct side *s, uint64_t trip)
{
	struct ball *b;
	uint64_t word;

	for (unsigned looks = 1;
	     ((word = __atomic_load_n(bench_last(&s->inbox), __ATOMIC_ACQUIRE)) & 1) != (trip & 1);
	     looks++)
		if (looks % LOOKS_BETWEEN_CHECKS == 0)
			check_peer(s);
	b = (struct ball *)(uintptr_t)(word & ~(uint64_t)1);
	if (b->trip != trip) {
		fprintf(stderr, "floor: trip %llu: a stale head\n", (unsigned long long)trip);
		exit(1);
	}
	return b;
}

static void echo(const struct floor *f)
{
	struct side s;

	if (f->opt.pin)
		bench_pin(&f->cpus, 1);
	side_init(&s, f, 1);
	if (f->what == BARRIERS)
		barriers(&s, 1, f->trips);
	for (uint64_t trip = 1; f->what == HANDOVERS && trip <= (uint64_t)f->trips; trip++)
		hand_over(&s, take_over(&s, trip), trip);
	for (uint64_t stamp = 1; f->what == PAYLOADS && stamp <= (uint64_t)f->trips; stamp++) {
		side_receive(&s, stamp);
		side_send(&s, stamp);
	}
	side_fini(&s);
}

static void *echo_thread(void *f)
{
	echo(f);
	return NULL;
}

_Noreturn static void echo_process(const struct floor *f, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* died before the line above took effect */
		_exit(1);
	echo(f);
	_exit(0);
}

static double ping(const struct floor *f, pid_t peer, long timed)
{
	struct ball *b = f->ball;
	struct side s;
	double begin = 0;

	side_init(&s, f, 0);
	s.peer = peer;
	if (f->what == BARRIERS) {
		barriers(&s, 1, f->trips - timed);
		begin = bench_now_us();
		barriers(&s, f->trips - timed + 1, f->trips);
	}
	for (long trip = 1; f->what != BARRIERS && trip <= f->trips; trip++) {
		if (trip == f->trips - timed + 1)
			begin = bench_now_us();
		if (f->what == HANDOVERS) {
			hand_over(&s, b, (uint64_t)trip);
			b = take_over(&s, (uint64_t)trip);
		} else {
			side_send(&s, (uint64_t)trip);
			side_receive(&s, (uint64_t)trip);
		}
	}
	double us = bench_now_us() - begin;
	side_fini(&s);
	return us;
}

static double ping_alone(const struct floor *f, long timed)
{
	struct side s[2];
	double begin = 0;

	side_init(&s[0], f, 0);
	side_init(&s[1], f, 1);
	for (long trip = 1; trip <= f->trips; trip++) {
		if (trip == f->trips - timed + 1)
			begin = bench_now_us();
		for (int from = 0; from < 2; from++) {
			side_send(&s[from], (uint64_t)trip);
			side_receive(&s[!from], (uint64_t)trip);
		}
	}
	double us = bench_now_us() - begin;
	side_fini(&s[0]);
	side_fini(&s[1]);
	return us;
}

static double ping_thread(struct floor *f, long timed)
{
	pthread_t peer;

	if (pthread_create(&peer, NULL, echo_thread, f)) {
		fprintf(stderr, "floor: cannot start a thread\n");
		exit(1);
	}
	double us = ping(f, 0, timed);
	pthread_join(peer, NULL);
	return us;
}

static double ping_process(struct floor *f, long timed)
{
	pid_t self = getpid();
	pid_t peer = fork();

	if (peer < 0) {
		perror("floor: fork");
		exit(1);
	}
	if (peer == 0)
		echo_process(f, self);
	double us = ping(f, peer, timed);
	int status;
	if (waitpid(peer, &status, 0) != peer || status) {
		fprintf(stderr, "floor: the peer process failed\n");
		exit(1);
	}
	return us;
}

/* Each run has a peer of its own, so that nothing must be agreed on while it runs. */
static double run_way(struct floor *f, size_t bytes, long iterations)
{
	struct bench_payload empty;

	f->bytes = bytes = f->what == PAYLOADS ? bytes : WORD_BYTES;
	f->trips = iterations + iterations / 8 + 1;
	/* plain stores: no peer exists yet, and starting one orders them */
	memset(f->told, 0, 2 * sizeof *f->told);
	bench_payload_init(&empty, f->inbox[0], bytes);
	bench_payload_init(&empty, f->inbox[1], bytes);
	switch (f->mode) {
	case MODE_THREADS:
		return ping_thread(f, iterations);
	case MODE_MEMCPY:
		return ping_alone(f, iterations);
	default:
		return ping_process(f, iterations);
	}
}

/* A bench_run_fn. */
static double run(void *context, size_t bytes, long iterations)
{
	struct floor *f = context;
	double us, least;

	f->way = ways;
	least = run_way(f, bytes, iterations);
	for (int i = 1; f->best && i < N_WAYS; i++) {
		f->way = &ways[i];
		us = run_way(f, bytes, iterations);
		if (us < least)
			least = us;
	}
	return least;
}

static void *map_shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		perror("floor: mmap");
		exit(1);
	}
	return p;
}

static void parse(struct floor *f, int argc, char **argv)
{
	bench_options_init(&f->opt);
	f->mode = MODE_PROCESSES;
	f->what = PAYLOADS;
	f->best = f->apart = false;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--threads")) {
			f->mode = MODE_THREADS;
		} else if (!strcmp(argv[i], "--barrier")) {
			f->what = BARRIERS;
		} else if (!strcmp(argv[i], "--handover")) {
			f->what = HANDOVERS;
		} else if (!strcmp(argv[i], "--best")) {
			f->best = true;
		} else if (!strcmp(argv[i], "--apart")) {
			f->apart = true;
		} else if (!strcmp(argv[i], "--memcpy")) {
			f->mode = MODE_MEMCPY;
		} else if (!bench_option(&f->opt, argc, argv, &i)) {
			fprintf(stderr,
				"usage: %s [--threads|--memcpy] [--barrier|--handover|--best|--apart] [--no-touch] "
				"[--sizes a,b,c] [--reps n] [--no-pin]\n",
				argv[0]);
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	static const char *const names[][3] = {
		[PAYLOADS] = {"floor", "floor-threads", "floor-memcpy"},
		[BARRIERS] = {"floor-barrier", "floor-barrier-threads"},
		[HANDOVERS] = {"floor-handover", "floor-handover-threads"},
	};
	struct floor f;
	char name[32];

	parse(&f, argc, argv);
	bench_cpus_get(&f.cpus);
	if (f.cpus.n < 2 && f.mode != MODE_MEMCPY)
		fprintf(stderr, "floor: one CPU only: both sides share it, which is no limit\n");
	if (f.opt.pin)
		bench_pin(&f.cpus, 0);
	if (f.mode == MODE_MEMCPY)
		f.what = PAYLOADS;
	f.best = f.best && f.what == PAYLOADS && f.mode != MODE_MEMCPY;
	f.apart = f.apart && f.what == PAYLOADS && !f.best;
	if (f.what != PAYLOADS) {
		f.opt.bytes[0] = 0;
		f.opt.nsizes = 1;
	}
	f.inbox[0] = map_shared(bench_area_bytes(bench_largest(&f.opt) + WORD_BYTES));
	f.inbox[1] = map_shared(bench_area_bytes(bench_largest(&f.opt) + WORD_BYTES));
	f.ball = map_shared(sizeof *f.ball);
	f.told = map_shared(2 * sizeof *f.told);
	snprintf(name, sizeof name, "%s%s%s", names[f.what][f.mode],
		 f.best ? "-best" : f.apart ? "-apart" : "", f.opt.touch ? "" : "-notouch");
	bench_sweep(&f.opt, name, run, &f);
	return 0;
}
