/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_loop.c: the machine layer without a network, on one node and on nets of three nodes of two PEs each
 * inside this process. One thread drives a net, so a seed replays a run. The test also covers what both
 * back ends share: the memory allocator, sleeping, faults.
 */
#include "../../runtime/machine/cmi.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "check_skip.h"
#include "ways.h"

#ifdef __SANITIZE_THREAD__
enum { THREAD_SANITIZER = 1 };
#else
enum { THREAD_SANITIZER = 0 };
#endif

enum { NODES = 3, PES = 2, ALL = NODES * PES, MESSAGES = 3000 };

struct pe {
	struct cmi_pe *wire;
	int me;
	struct ways ways[ALL];        /* messages of each sender */
	uint64_t expected_puts[ALL]; /* next number of each sender */
	uint64_t n_arrived, n_wire, n_puts, n_done;
	long n_alive;
	struct cmi_msg *over;
};

struct world {
	struct cmi_loop_net *net;
	struct cmi *node[NODES];
	struct pe pe[ALL];
};

/* ---- a client --------------------------------------------------------------------- */

static struct cmi_msg *msg_alloc(void *owner, size_t size)
{
	struct pe *p = owner;
	struct cmi_msg *m = aligned_alloc(CMI_MSG_ALIGN, (size + 15) / 16 * 16);

	assert_non_null(m);
	memset(m, 0, size);
	m->size = size;
	m->origin = CMI_ORIGIN_POOL;
	m->size_class = 77;
	p->n_alive++;
	return m;
}

static void msg_free(void *owner, struct cmi_msg *m)
{
	struct pe *p = owner;

	if (m->origin == CMI_ORIGIN_WIRE) {
		p->n_wire++;
		cmi_release(p->wire, m);
		return;
	}
	assert_int_equal(m->size_class, 77);
	p->n_alive--;
	free(m);
}

static void fill(void *to, size_t bytes, uint64_t seed)
{
	for (size_t i = 0; i < bytes; i++)
		((unsigned char *)to)[i] = (unsigned char)(seed + i);
}

static void check(const void *from, size_t bytes, uint64_t seed)
{
	for (size_t i = 0; i < bytes; i++)
		assert_int_equal(((const unsigned char *)from)[i], (unsigned char)(seed + i));
}

static void msg_arrived(void *owner, struct cmi_msg *m)
{
	struct pe *p = owner;

	assert_int_equal((uintptr_t)m % CMI_MSG_ALIGN, 0);
	assert_int_equal(m->handler, 9);
	assert_true(comes_in_order(&p->ways[m->src_pe], (uint64_t)m->prio));
	check(m + 1, m->size - sizeof *m, (uint64_t)m->prio);
	p->n_arrived++;
	m->next = p->over;
	p->over = m;
}

static void put_arrived(void *owner, int src_pe, const struct cmi_put_head *h, const void *body,
			size_t bytes)
{
	struct pe *p = owner;

	assert_int_equal(h->channel, 3);
	assert_int_equal(h->iteration, p->expected_puts[src_pe]);
	check(body, bytes, p->expected_puts[src_pe]++);
	p->n_puts++;
}

static void op_done(struct cmi_op *op)
{
	((struct pe *)op->arg)->n_done++;
}

static enum cmi_way way(void *owner, const struct cmi_msg *m)
{
	(void)owner;
	return way_of_number((uint64_t)m->prio);
}

static const struct cmi_client CLIENT = {
	.msg_alloc = msg_alloc, .msg_free = msg_free, .msg_arrived = msg_arrived,
	.put_arrived = put_arrived, .way = way,
};

static int progress(struct pe *p)
{
	int n = cmi_progress(p->wire);

	while (p->over) {
		struct cmi_msg *m = p->over;

		p->over = m->next;
		msg_free(p, m);
	}
	return n;
}

/* ---- a world of three nodes -------------------------------------------------------- */

/* CK_WIRE: what nodes send each other is squeezed and sealed. */
static bool filtered(void)
{
	return getenv("CK_WIRE");
}

struct connect {
	struct cmi *m;
	uint64_t fingerprint;
	int rc;
	pthread_t thread;
};

static void *connect_one(void *arg)
{
	struct connect *c = arg;

	c->rc = cmi_connect(c->m, c->fingerprint);
	return NULL;
}

/** Connecting waits for the other nodes, so it takes a thread per node. */
static void connect_all(struct world *w, struct connect *c)
{
	for (int i = 0; i < NODES; i++) {
		c[i].m = w->node[i];
		assert_int_equal(pthread_create(&c[i].thread, NULL, connect_one, &c[i]), 0);
	}
	for (int i = 0; i < NODES; i++)
		pthread_join(c[i].thread, NULL);
}

static void world_open(struct world *w, uint64_t seed)
{
	memset(w, 0, sizeof *w);
	w->net = cmi_loop_net_create(NODES, seed);
	for (int i = 0; i < NODES; i++) {
		struct cmi_options o = {.n_pes = PES, .net = w->net, .loop_rank = i};

		assert_int_equal(cmi_open(&o, &CLIENT, &w->node[i]), 0);
		for (int k = 0; k < PES; k++) {
			struct pe *p = &w->pe[i * PES + k];

			p->me = i * PES + k;
			assert_int_equal(cmi_pe_open(w->node[i], k, p, &p->wire), 0);
		}
	}
}

static void world_start(struct world *w, uint64_t seed)
{
	struct connect c[NODES] = {{.fingerprint = 5}, {.fingerprint = 5}, {.fingerprint = 5}};

	world_open(w, seed);
	connect_all(w, c);
	for (int i = 0; i < NODES; i++)
		assert_int_equal(c[i].rc, 0);
}

static void world_end(struct world *w)
{
	for (int i = 0; i < ALL; i++) {
		assert_int_equal(w->pe[i].n_alive, 0);
		cmi_pe_close(w->pe[i].wire);
	}
	for (int i = 0; i < NODES; i++)
		cmi_close(w->node[i]);
	cmi_loop_net_destroy(w->net);
}

static uint64_t next_random(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	return *s ^= *s << 17;
}

/** Send message number `n` of its pair. */
static void send_one(struct pe *from, int to, uint64_t n, size_t payload)
{
	struct cmi_msg *m = msg_alloc(from, sizeof *m + payload);

	m->handler = 9;
	m->prio = (int32_t)n;
	fill(m + 1, payload, n);
	cmi_send(from->wire, to, m);
}

/** All PEs send to all of other nodes, messages and puts mixed; returns a hash of the order
 * in which the arrivals of different senders met. */
static uint64_t storm(uint64_t seed)
{
	static uint64_t sent[ALL][ALL], put[ALL][ALL];
	static struct cmi_op ops[MESSAGES];
	uint64_t s = 1234567, order = 0, n_arrived = 0, n_later = 0, n_done = 0;
	struct world w;
	unsigned char body[3000];

	memset(sent, 0, sizeof sent);
	memset(put, 0, sizeof put);
	world_start(&w, seed);
	for (int i = 0; i < MESSAGES; i++) {
		int from = (int)(next_random(&s) % ALL), to = (int)(next_random(&s) % ALL);
		size_t bytes = next_random(&s) % sizeof body;
		struct cmi_put_head h = {3, 1, 0, 0};

		if (from / PES == to / PES)
			to = (to + PES) % ALL;
		h.iteration = put[from][to];
		if (i % 3) {
			send_one(&w.pe[from], to, sent[from][to]++, bytes);
		} else {
			ops[i] = (struct cmi_op){.done = op_done, .arg = &w.pe[from]};
			fill(body, bytes, put[from][to]++);
			n_later += !cmi_put_am(w.pe[from].wire, to, &h, body, bytes, &ops[i]);
		}
		order = order * 31 + (uint64_t)progress(&w.pe[next_random(&s) % ALL]);
	}
	while (n_arrived < MESSAGES || n_done < n_later) {
		n_arrived = n_done = 0;
		for (int i = 0; i < ALL; i++) {
			order = order * 31 + (uint64_t)progress(&w.pe[i]);
			n_arrived += w.pe[i].n_arrived + w.pe[i].n_puts;
			n_done += w.pe[i].n_done;
		}
	}
	assert_int_equal(n_arrived, MESSAGES);
	assert_int_equal(n_done, n_later);
	assert_true(seed ? n_later > 0 : n_later == 0);
	assert_int_equal(w.pe[0].n_wire > 0, !filtered()); /* frames are opened in other memory */
	world_end(&w);
	return order;
}

/* ---- facts ------------------------------------------------------------------------- */

static void alone_it_is_one_node_without_a_network(void **state)
{
	struct cmi_options o = {.n_pes = 2};
	struct pe pe[2] = {{.me = 0}};
	struct cmi *m;

	(void)state;
	assert_int_equal(cmi_open(&o, &CLIENT, &m), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(cmi_pe_open(m, i, &pe[i], &pe[i].wire), 0);
	assert_int_equal(cmi_connect(m, 1), 0);
	assert_string_equal(cmi_name(m), "loopback");
	assert_int_equal(cmi_job(m)->n_nodes, 1);
	assert_int_equal(cmi_job(m)->n_pes, 2);
	assert_int_equal(cmi_job(m)->pes_on_host, 2);
	assert_false(cmi_has_network(pe[0].wire));
	assert_int_equal(cmi_progress(pe[1].wire), 0);
	assert_int_equal(cmi_fence(m), 0);
	for (int i = 0; i < 2; i++)
		cmi_pe_close(pe[i].wire);
	cmi_close(m);
}

static void three_nodes_agree_on_the_job(void **state)
{
	struct world w;

	(void)state;
	world_start(&w, 0);
	for (int i = 0; i < NODES; i++) {
		const struct cmi_job *j = cmi_job(w.node[i]);

		assert_int_equal(j->node, i);
		assert_int_equal(j->n_nodes, NODES);
		assert_int_equal(j->n_pes, ALL);
		assert_int_equal(j->my_first_pe, i * PES);
		assert_int_equal(j->pes_on_host, ALL);
		assert_int_equal(j->first_on_host, i * PES);
		for (int pe = 0; pe < ALL; pe++)
			assert_int_equal(j->node_of[pe], pe / PES);
		assert_true(cmi_has_network(w.pe[i * PES].wire));
	}
	world_end(&w);
}

/** All read from all, while some already publish for the second meeting. */
static void a_hundred_nodes_agree_on_the_job(void **state)
{
	enum { N = 100 };
	static struct connect c[N];
	static struct pe pe[N];
	struct cmi_loop_net *net = cmi_loop_net_create(N, 0);

	(void)state;
	assert_non_null(net);
	for (int i = 0; i < N; i++) {
		struct cmi_options o = {.n_pes = 1, .net = net, .loop_rank = i};

		c[i].fingerprint = 7;
		assert_int_equal(cmi_open(&o, &CLIENT, &c[i].m), 0);
		assert_int_equal(cmi_pe_open(c[i].m, 0, &pe[i], &pe[i].wire), 0);
	}
	for (int i = 0; i < N; i++)
		assert_int_equal(pthread_create(&c[i].thread, NULL, connect_one, &c[i]), 0);
	for (int i = 0; i < N; i++)
		pthread_join(c[i].thread, NULL);
	for (int i = 0; i < N; i++) {
		assert_int_equal(c[i].rc, 0);
		assert_int_equal(cmi_job(c[i].m)->n_pes, N);
		assert_int_equal(cmi_job(c[i].m)->pes_on_host, N);
		assert_int_equal(cmi_job(c[i].m)->first_on_host, i);
	}
	for (int i = 0; i < N; i++) {
		cmi_pe_close(pe[i].wire);
		cmi_close(c[i].m);
	}
	cmi_loop_net_destroy(net);
}

static void another_program_is_refused(void **state)
{
	struct connect c[NODES] = {{.fingerprint = 5}, {.fingerprint = 5}, {.fingerprint = 6}};
	struct world w;

	(void)state;
	world_open(&w, 0);
	connect_all(&w, c);
	for (int i = 0; i < NODES; i++)
		assert_true(c[i].rc < 0);
	world_end(&w);
}

static void a_missing_node_is_noticed_in_time(void **state)
{
	struct connect c = {.fingerprint = 5};
	struct world w;

	(void)state;
	setenv("CK_BOOT_TIMEOUT", "1", 1);
	world_open(&w, 0);
	unsetenv("CK_BOOT_TIMEOUT");
	c.m = w.node[1];
	connect_one(&c);
	assert_true(c.rc < 0);
	world_end(&w);
}

static void every_pair_keeps_its_order(void **state)
{
	(void)state;
	storm(0);
	for (uint64_t seed = 1; seed <= 20; seed++)
		storm(seed);
}

static void a_seed_replays(void **state)
{
	(void)state;
	assert_true(storm(7) == storm(7));
	assert_true(storm(7) != storm(8));
}

static void memory_is_aligned_zeroed_and_disjoint(void **state)
{
	enum { N = 300, ROUNDS = 20000 };
	static unsigned char *block[N];
	static size_t bytes[N];
	struct world w;
	uint64_t s = 99;

	(void)state;
	world_start(&w, 0);
	for (int round = 0; round < ROUNDS; round++) {
		size_t i = next_random(&s) % N;

		if (block[i]) {
			check(block[i], bytes[i], i);
			cmi_mem_free(w.node[0], block[i]);
			block[i] = NULL;
			continue;
		}
		bytes[i] = next_random(&s) % (round % 50 ? 5000 : 300000);
		block[i] = cmi_mem_alloc(w.node[0], bytes[i]);
		assert_non_null(block[i]);
		assert_int_equal((uintptr_t)block[i] % 64, 0);
		for (size_t k = 0; k < bytes[i]; k++)
			assert_int_equal(block[i][k], 0);
		fill(block[i], bytes[i], i);
	}
	for (int i = 0; i < N; i++)
		cmi_mem_free(w.node[0], block[i]);
	world_end(&w);
}

static void freed_memory_joins_again(void **state)
{
	enum { N = 100 };
	struct world w;
	char *block[N], *whole;

	(void)state;
	world_start(&w, 0);
	for (int i = 0; i < N; i++)
		block[i] = cmi_mem_alloc(w.node[0], 2000);
	for (int i = 0; i < N; i += 2)
		cmi_mem_free(w.node[0], block[i]);
	for (int i = 1; i < N; i += 2)
		cmi_mem_free(w.node[0], block[i]);
	whole = cmi_mem_alloc(w.node[0], N * 2000);
	assert_true(whole >= block[0] - 262144 && whole <= block[N - 1] + 262144);
	cmi_mem_free(w.node[0], whole);
	world_end(&w);
}

static void attached_memory_is_written_by_pointer_and_by_put(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 10; seed++) {
		uint64_t src[8] = {1, 2, 3, 4, 5, 6, 7, 8}, *dst;
		struct cmi_op op = {.done = op_done};
		struct cmi_remote *r;
		struct cmi_key key;
		struct world w;

		world_start(&w, seed);
		op.arg = &w.pe[0];
		cmi_mem_key(w.node[1], src, sizeof src, &key);
		assert_null(cmi_attach(w.pe[0].wire, PES, &key, (uintptr_t)src));
		dst = cmi_mem_alloc(w.node[1], sizeof src);
		cmi_mem_key(w.node[1], dst, sizeof src, &key);
		assert_null(cmi_attach(w.pe[0].wire, PES, &key, (uintptr_t)src));
		r = cmi_attach(w.pe[0].wire, PES, &key, (uintptr_t)dst);
		if (filtered()) { /* only messages pass the filters */
			assert_null(r);
			cmi_mem_free(w.node[1], dst);
			world_end(&w);
			continue;
		}
		assert_non_null(r);
		assert_ptr_equal(cmi_remote_ptr(r, (uintptr_t)dst), dst);
		assert_false(cmi_remote_rma(r));
		if (cmi_put(w.pe[0].wire, r, (uintptr_t)dst, src, 56, r, (uintptr_t)(dst + 7),
			    42, &op))
			w.pe[0].n_done++;
		while (w.pe[0].n_done < 1)
			progress(&w.pe[0]);
		assert_memory_equal(src, dst, 56);
		assert_int_equal(dst[7], 42);
		if (cmi_put_naive(w.pe[0].wire, r, (uintptr_t)dst, src, 64, &op))
			w.pe[0].n_done++;
		while (w.pe[0].n_done < 2)
			progress(&w.pe[0]);
		assert_memory_equal(src, dst, 64);
		cmi_detach(w.pe[0].wire, r);
		cmi_mem_free(w.node[1], dst);
		world_end(&w);
	}
}

static int64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void a_wake_before_the_sleep_is_not_lost(void **state)
{
	struct world w;
	int64_t t;

	(void)state;
	world_start(&w, 0);
	cmi_wake(w.pe[0].wire);
	cmi_sleep(w.pe[0].wire, -1);
	t = now_us();
	cmi_sleep(w.pe[0].wire, 30000);
	assert_true(now_us() - t >= 29000);
	send_one(&w.pe[PES], 0, 0, 10);
	cmi_sleep(w.pe[0].wire, -1);
	assert_int_equal(progress(&w.pe[0]), 1);
	world_end(&w);
}

struct sleeper {
	struct pe *pe;
	uint64_t n;
};

static void *sleep_and_count(void *arg)
{
	struct sleeper *s = arg;

	while (s->pe->n_arrived < s->n)
		if (!progress(s->pe))
			cmi_sleep(s->pe->wire, -1);
	return NULL;
}

static void a_message_ends_a_sleep(void **state)
{
	struct world w;
	struct sleeper s = {&w.pe[0], 20000};
	pthread_t thread;

	(void)state;
	for (uint64_t seed = 0; seed < 2; seed++) {
		world_start(&w, seed);
		pthread_create(&thread, NULL, sleep_and_count, &s);
		for (uint64_t i = 0; i < s.n; i++)
			send_one(&w.pe[PES], 0, i, 10);
		pthread_join(thread, NULL);
		world_end(&w);
	}
}

/* ---- ends: each in a child, whose words are read ------------------------------------ */

static void whoami(char *buf, size_t len)
{
	snprintf(buf, len, "node 7 PE 3 in Cell::ghost");
}

static volatile int *volatile nowhere;

__attribute__((no_sanitize("undefined"))) /* on purpose */
static void fault_segv(struct cmi *m)
{
	cmi_watch(m, &(struct cmi_watcher){.whoami = whoami}, true);
	*nowhere = 1;
}

static void fault_abort(struct cmi *m)
{
	cmi_watch(m, &(struct cmi_watcher){.whoami = whoami}, true);
	abort();
}

static void end_by_request(struct cmi *m)
{
	cmi_abort(m, 9, true, "chard: PE 4: the cat is on the table");
}

static struct cmi *all_end;
static pthread_barrier_t together;

static void *end_one(void *arg)
{
	pthread_barrier_wait(&together);
	cmi_abort(all_end, 9, true, arg);
	return NULL;
}

static void end_from_all_threads(struct cmi *m)
{
	enum { N = 8 };
	static char why[] = "chard: so it ends";
	pthread_t thread;

	all_end = m;
	pthread_barrier_init(&together, NULL, N);
	for (int i = 1; i < N; i++)
		pthread_create(&thread, NULL, end_one, why);
	end_one(why);
}

static void free_twice(struct cmi *m)
{
	char *before = cmi_mem_alloc(m, 100), *p = cmi_mem_alloc(m, 100);

	cmi_mem_free(m, before);
	cmi_mem_free(m, p);
	cmi_mem_free(m, p);
}

static void end_before_opening(struct cmi *m)
{
	(void)m;
	cmi_abort(NULL, 8, false, "chard: nothing works");
}

/** Run `end` in a child; returns its exit code, and what it wrote to stderr. */
static int run(void (*end)(struct cmi *m), char *text, size_t cap)
{
	size_t used = 0;
	int fd[2], status;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(fd), 0);
	pid = fork();
	if (pid == 0) {
		struct cmi_options o = {.n_pes = 1};
		struct pe pe = {.me = 0};
		struct cmi *m;

		for (int s = 1; s < 32; s++) /* cmocka catches faults itself */
			if (s == SIGSEGV || s == SIGABRT)
				signal(s, SIG_DFL);
		dup2(fd[1], STDERR_FILENO);
		if (cmi_open(&o, &CLIENT, &m) || cmi_pe_open(m, 0, &pe, &pe.wire))
			_exit(1);
		end(m);
		_exit(0);
	}
	close(fd[1]);
	while ((n = read(fd[0], text + used, cap - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = 0;
	close(fd[0]);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void a_fault_names_place_and_reason(void **state)
{
	char text[8192];

	(void)state;
	assert_int_equal(run(fault_segv, text, sizeof text), 128 + SIGSEGV);
	assert_non_null(strstr(text, "chard: node 7 PE 3 in Cell::ghost: Segmentation fault at "
				     "address (nil)"));
	assert_non_null(strstr(text, "#0 fault_segv"));
	assert_int_equal(run(fault_abort, text, sizeof text), 128 + SIGABRT);
	assert_non_null(strstr(text, "chard: node 7 PE 3 in Cell::ghost: Aborted"));
	if (THREAD_SANITIZER)
		CHECK_SKIP_PART("back-trace of an abort", "the thread sanitizer runs handlers later, from elsewhere");
	else
		assert_non_null(strstr(text, " fault_abort"));
}

static void an_abort_says_why_and_where(void **state)
{
	char text[8192];

	(void)state;
	assert_int_equal(run(end_by_request, text, sizeof text), 9);
	assert_non_null(strstr(text, "chard: PE 4: the cat is on the table\n"));
	assert_non_null(strstr(text, " end_by_request"));
	assert_int_equal(run(end_before_opening, text, sizeof text), 8);
	assert_string_equal(text, "chard: nothing works\n");
}

static void of_all_threads_that_abort_one_says_so(void **state)
{
	char text[8192];

	/* On two cores one try in ten lets two threads come at once. */
	enum { TRIES = 80 };

	(void)state;
	for (int i = 0; i < TRIES; i++) {
		assert_int_equal(run(end_from_all_threads, text, sizeof text), 9);
		const char *line = strstr(text, "so it ends");

		assert_non_null(line);
		assert_null(strstr(line + 1, "so it ends"));
	}
}

static void memory_freed_twice_ends_the_job(void **state)
{
	char text[8192];

	(void)state;
	assert_int_equal(run(free_twice, text, sizeof text), 1);
	assert_non_null(strstr(text, " is not allocated, was freed before, "));
}

int main(void)
{
	const struct CMUnitTest facts[] = {
		cmocka_unit_test(alone_it_is_one_node_without_a_network),
		cmocka_unit_test(three_nodes_agree_on_the_job),
		cmocka_unit_test(a_hundred_nodes_agree_on_the_job),
		cmocka_unit_test(another_program_is_refused),
		cmocka_unit_test(a_missing_node_is_noticed_in_time),
		cmocka_unit_test(every_pair_keeps_its_order),
		cmocka_unit_test(a_seed_replays),
		cmocka_unit_test(memory_is_aligned_zeroed_and_disjoint),
		cmocka_unit_test(freed_memory_joins_again),
		cmocka_unit_test(attached_memory_is_written_by_pointer_and_by_put),
		cmocka_unit_test(a_wake_before_the_sleep_is_not_lost),
		cmocka_unit_test(a_message_ends_a_sleep),
		cmocka_unit_test(a_fault_names_place_and_reason),
		cmocka_unit_test(an_abort_says_why_and_where),
		cmocka_unit_test(of_all_threads_that_abort_one_says_so),
		cmocka_unit_test(memory_freed_twice_ends_the_job),
	};

	alarm(120);
	return cmocka_run_group_tests(facts, NULL, NULL);
}
