/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a channel ever deliver a body whose end has arrived before the rest? PE 0 puts as fast as
 * PE 1 re-arms; every put carries a stamp in every byte, and the arrival function compares all of
 * them at once, from the end backwards, where a late store would be missing. Sizes and offsets
 * from the start of a cache line are those at which copies were seen to store their end early.
 *
 *     build/bench/torn --path memory                   two nodes inside one process, no network
 *     ckrun -n 2 build/bench/torn --path rma           two processes
 *     --path memory|rma|message   a channel on this path; 0 torn is the only right answer
 *     --path bell                 memory; the doorbell tells the receiver, which does not poll
 *     --path naive|memcpy         one bulk write, its last word polled: must be caught
 *     --puts n                    in all, most of them small (default 2,000,000)
 *     --cases                     one line per size and offset as well
 *
 * Prints   torn <path> <puts> <torn>    exit code 0: as it should be, 1: otherwise.
 *
 * The way back is a channel, too, so that a put follows the last arrival within a microsecond.
 * The two sides must run on different cores: on one, no reader ever looks in the middle of a write.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../runtime/direct/ckdirect.h"
#include "../runtime/direct/direct_layer.h"
#include "../runtime/scheduler/pe.h"
#include "bench.h"

enum torn_message { ACK_HANDLE, CASE_HANDLE };
enum torn_way { WAY_CHANNEL, WAY_NAIVE, WAY_MEMCPY };
enum { DEFAULT_PUTS = 2000000, LINE = 64, PATIENCE_MS = 20000 };

/* Bytes, and where in its cache line the buffer begins; the end is 8-aligned as channels ask. */
static const struct torn_case {
	size_t bytes, offset;
} cases[] = {
	{8, 0},     {8, 56},    {16, 0},    {24, 8},    {61, 3},    {64, 0},     {64, 8},
	{100, 4},   {129, 7},   {136, 0},   {136, 8},   {256, 0},   {256, 8},    {384, 0},
	{384, 8},   {509, 3},   {512, 0},   {512, 8},   {1000, 0},  {1024, 0},   {1024, 8},
	{2048, 0},  {2048, 8},  {4093, 3},  {4096, 0},  {4096, 8},  {8192, 0},   {8192, 8},
	{32768, 0}, {32768, 8}, {70001, 7}, {100000, 0}, {100000, 8},
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

/* One run. The sides never share it: where both are in one process, each has its own. */
struct torn {
	/* what was asked */
	const char *name;          /* as the user called it */
	const char *path;
	enum torn_way way;
	long puts;
	bool list;

	struct pe *pe;
	int handler;
	int at;                    /* case */
	long left;                 /* puts of this case that are still to come */
	uint64_t stamp;            /* of the put that is on its way */

	/* sending side */
	unsigned char *source;
	CkDirectHandle to, ack_from;
	uint64_t *ack_word;
	struct cmi_remote *remote; /* naive and memcpy: the receiver's buffer */
	bool told;                 /* the first put of the case is behind us */
	uint64_t addr;
	unsigned char *mapped;
	struct cmi_op op;
	bool in_flight;

	/* receiving side */
	unsigned char *buf;
	CkDirectHandle from, ack;
	uint64_t ack_value;
	long torn, torn_here, puts_here, seen, seen_before;
};

struct torn_msg {
	struct cmi_msg head;
	enum torn_message kind;
	int32_t at;
	CkDirectHandle handle;
	struct cmi_key key;
	uint64_t addr;
};

static struct torn *self(void)
{
	return (struct torn *)(uintptr_t)csd_self()->node->program;
}

static void send_handle(struct torn *t, int dst_pe, enum torn_message kind,
			const CkDirectHandle *h)
{
	struct torn_msg *m = (struct torn_msg *)csd_msg_alloc(t->pe, sizeof(*m));

	m->kind = kind;
	m->at = t->at;
	m->handle = *h;
	m->addr = (uintptr_t)t->buf;
	m->key.len = 0;
	if (t->buf)
		cmi_mem_key(t->pe->node->machine, t->buf, cases[t->at].bytes, &m->key);
	m->head.handler = (uint16_t)t->handler;
	csd_send(t->pe, dst_pe, &m->head);
}

/* Equal time for each case: a put costs about as much as copying 400 bytes, and its bytes. */
static long share(const struct torn *t, int at)
{
	double sum = 0;

	for (int i = 0; i < CASES; i++)
		sum += 1.0 / (400.0 + (double)cases[i].bytes);
	return 1 + (long)((double)t->puts / (400.0 + (double)cases[at].bytes) / sum);
}

/* ---- content ----------------------------------------------------------------------- */

/* Words from the end backwards, then up to seven odd bytes in front of them. */
static void write_stamp(unsigned char *p, size_t bytes, uint64_t stamp)
{
	size_t odd = bytes % 8;

	memset(p, (int)(unsigned char)stamp, odd);
	for (size_t i = odd; i < bytes; i += 8)
		memcpy(p + i, &stamp, 8);
}

/* Backwards and in this order: a store that is still missing stands before the last word. */
static bool is_whole(const unsigned char *p, size_t bytes, uint64_t stamp)
{
	const volatile uint64_t *first = (const volatile uint64_t *)(const void *)(p + bytes % 8);
	uint64_t differ = 0;

	for (size_t i = bytes / 8; i-- > 0;)
		differ |= first[i] ^ stamp;
	for (size_t i = bytes % 8; i-- > 0;)
		differ |= p[i] ^ (unsigned char)stamp;
	return differ == 0;
}

/* ---- sending ----------------------------------------------------------------------- */

static void naive_done(struct cmi_op *op)
{
	((struct torn *)op->arg)->in_flight = false;
}

static void put_naive(struct torn *t, size_t bytes)
{
	while (t->in_flight)
		cmi_progress(t->pe->wire);
	t->in_flight = true;
	if (cmi_put_naive(t->pe->wire, t->remote, t->addr, t->source, bytes, &t->op))
		t->in_flight = false;
}

static void put_next(struct torn *t)
{
	size_t bytes = cases[t->at].bytes;

	if (t->left-- == 0)
		return;
	write_stamp(t->source, bytes, ++t->stamp);
	/* The first put goes through the channel, which tells the receiver; it would not look at a naive one. */
	switch (t->told ? t->way : WAY_CHANNEL) {
	case WAY_CHANNEL:
		CkDirect_put(&t->to);
		break;
	case WAY_NAIVE:
		put_naive(t, bytes);
		break;
	case WAY_MEMCPY:
		memcpy(t->mapped, t->source, bytes);
		break;
	}
	t->told = true;
}

static void acknowledged(void *arg)
{
	struct torn *t = arg;

	if (*t->ack_word != t->stamp)
		csd_abort(t->pe, "torn: after put %llu, put %llu is acknowledged",
			  (unsigned long long)t->stamp, (unsigned long long)*t->ack_word);
	CkDirect_ready(&t->ack_from);
	put_next(t);
}

static void sender_start(struct torn *t)
{
	t->source = CkDirect_alloc(LINE + cases[CASES - 1].bytes);
	t->ack_word = CkDirect_alloc(sizeof(*t->ack_word));
	t->op.done = naive_done;
	t->op.arg = t;
	t->ack_from = CkDirect_createHandle(t->ack_word, 8, 0, acknowledged, t);
	send_handle(t, t->pe->node->job->n_pes - 1, ACK_HANDLE, &t->ack_from);
}

static void attach_case(struct torn *t, const struct torn_msg *m)
{
	if (t->remote)
		cmi_detach(t->pe->wire, t->remote);
	t->addr = m->addr;
	t->remote = cmi_attach(t->pe->wire, m->head.src_pe, &m->key, m->addr);
	t->mapped = t->remote ? cmi_remote_ptr(t->remote, m->addr) : NULL;
	if (!t->remote || (t->way == WAY_MEMCPY && !t->mapped))
		csd_abort(t->pe, "torn: --path %s needs memory that the other node can write",
			  t->path);
}

static void begin_case(struct torn *t, const struct torn_msg *m)
{
	unsigned char *line = t->source - (uintptr_t)t->source % LINE;

	if (t->at != m->at)
		CkDirect_destroyHandle(&t->to);
	t->at = m->at;
	t->left = share(t, t->at);
	t->source = line + cases[t->at].offset;
	t->to = m->handle;
	t->told = false;
	CkDirect_assocLocalBuffer(&t->to, t->source, cases[t->at].bytes);
	if (t->way != WAY_CHANNEL)
		attach_case(t, m);
	else if (strcmp(CkDirect_path(&t->to), t->path) != 0)
		csd_abort(t->pe, "torn: --path %s is not possible here, it would be %s", t->path,
			  CkDirect_path(&t->to));
	put_next(t);
}

/* ---- receiving --------------------------------------------------------------------- */

static void arrived(void *arg);

static void open_case(struct torn *t)
{
	size_t bytes = cases[t->at].bytes;

	t->buf += cases[t->at].offset;
	t->left = t->puts_here = share(t, t->at);
	t->torn_here = 0;
	t->from = CkDirect_createHandle(t->buf, bytes, 0, arrived, t);
	send_handle(t, 0, CASE_HANDLE, &t->from);
}

static void report(struct torn *t)
{
	bool right = (t->torn > 0) == (t->way != WAY_CHANNEL);

	printf("torn %s %ld %ld\n", t->name, t->seen, t->torn);
	if (!right)
		fprintf(stderr, t->torn ? "torn: a channel has delivered torn data\n"
					: "torn: not caught; try more puts, or two free cores\n");
	csd_exit(t->pe, right ? 0 : 1);
}

static void close_case(struct torn *t)
{
	if (t->list)
		printf("torn-case %s %zu %zu %ld %ld\n", t->name, cases[t->at].bytes,
		       cases[t->at].offset, t->puts_here, t->torn_here);
	CkDirect_destroyHandle(&t->from);
	t->buf -= cases[t->at].offset;
	if (++t->at < CASES)
		open_case(t);
	else
		report(t);
}

/* A channel that has failed once has lost its step: nothing that follows would mean anything. */
static void give_up(struct torn *t)
{
	const struct torn_case *c = &cases[t->at];
	uint64_t last;

	memcpy(&last, t->buf + c->bytes - 8, sizeof(last));
	fprintf(stderr, "torn: %zu bytes at offset %zu: put %llu came with the last word of %llu\n",
		c->bytes, c->offset, (unsigned long long)t->stamp, (unsigned long long)last);
	report(t);
}

static void watch(void *arg)
{
	struct torn *t = arg;

	if (t->seen == t->seen_before)
		csd_abort(t->pe, "torn: put %llu of %zu bytes did not come in %d s",
			  (unsigned long long)t->stamp + 1, cases[t->at].bytes,
			  PATIENCE_MS / 1000);
	t->seen_before = t->seen;
	CcdCallFnAfter(watch, t, PATIENCE_MS);
}

/* A torn body is completed by stores that are still on their way, and a copy may even store its
 * last word twice, the second time into a buffer that is armed again: then this arrival is counted
 * as torn, and the put that it was taken for will come, because its acknowledgement is out. */
static void await_rest(const struct torn *t)
{
	while (!is_whole(t->buf, cases[t->at].bytes, t->stamp))
		cmi_progress(t->pe->wire);
}

static void arrived(void *arg)
{
	struct torn *t = arg;

	if (!is_whole(t->buf, cases[t->at].bytes, ++t->stamp)) {
		t->torn++;
		t->torn_here++;
		if (t->way == WAY_CHANNEL) {
			give_up(t);
			return;
		}
		await_rest(t);
	}
	t->seen++;
	t->ack_value = t->stamp;
	if (--t->left == 0) {
		close_case(t);
		return;
	}
	CkDirect_ready(&t->from);
	CkDirect_put(&t->ack);
}

static void bind_ack(struct torn *t, const CkDirectHandle *h)
{
	t->buf = CkDirect_alloc(LINE + cases[CASES - 1].bytes);
	t->ack = *h;
	CkDirect_assocLocalBuffer(&t->ack, &t->ack_value, sizeof(t->ack_value));
	CcdCallFnAfter(watch, t, PATIENCE_MS);
	open_case(t);
}

/* ---- start ------------------------------------------------------------------------- */

static void message_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct torn_msg c = *(struct torn_msg *)m;

	csd_msg_free(pe, m);
	if (c.kind == ACK_HANDLE)
		bind_ack(self(), &c.handle);
	else
		begin_case(self(), &c);
}

static int node_start(struct node *node)
{
	struct torn *t = (struct torn *)(uintptr_t)node->program;

	t->handler = csd_register(node, "torn", message_arrived);
	return 0;
}

static void pe_start(struct pe *pe)
{
	struct torn *t = self();

	if (pe->node->job->n_nodes != 2 || pe->node->job->n_pes != 2)
		csd_abort(pe, "torn: needs two nodes of one PE: ckrun -n 2");
	t->pe = pe;
	if (pe->id == 0)
		sender_start(t);
}

static const struct csd_layer torn_layer = {
	.name = "torn",
	.node_start = node_start,
	.pe_start = pe_start,
};

struct side {
	struct torn t;
	struct cmi_loop_net *net;
	int rank, code;
};

static void *run_side(void *arg)
{
	static const struct csd_layer *const layers[] = {&direct_layer, &torn_layer};
	struct side *s = arg;
	char program[] = "torn", *argv[] = {program, NULL};
	struct csd_config cfg = {
		.argc = 1,
		.argv = argv,
		.layers = layers,
		.n_layers = 2,
		.program = &s->t,
		.net = s->net,
		.loop_rank = s->rank,
	};

	s->code = csd_run(&cfg);
	return NULL;
}

/* Two nodes in this process. */
static int run_loopback(const struct torn *t)
{
	struct cmi_loop_net *net = cmi_loop_net_create(2, 0);
	struct side side[2] = {{*t, net, 0, 0}, {*t, net, 1, 0}};
	pthread_t thread;

	if (!net || pthread_create(&thread, NULL, run_side, &side[1])) {
		fprintf(stderr, "torn: cannot start a second node\n");
		return 1;
	}
	run_side(&side[0]);
	pthread_join(thread, NULL);
	cmi_loop_net_destroy(net);
	return side[1].code;
}

static int parse(struct torn *t, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--cases") == 0) {
			t->list = true;
		} else if (strcmp(argv[i], "--puts") == 0 && i + 1 < argc) {
			t->puts = bench_number(argv[0], "--puts", argv[++i], CASES, 1000000000000);
		} else if (strcmp(argv[i], "--path") == 0 && i + 1 < argc) {
			t->name = argv[++i];
		} else {
			fprintf(stderr, "usage: torn [--puts n] [--cases] "
				"[--path memory|bell|rma|message|naive|memcpy]\n");
			return -1;
		}
	}
	t->path = strcmp(t->name, "bell") == 0 ? "memory" : t->name;
	t->way = strcmp(t->path, "naive") == 0	  ? WAY_NAIVE
		 : strcmp(t->path, "memcpy") == 0 ? WAY_MEMCPY
						  : WAY_CHANNEL;
	return 0;
}

int main(int argc, char **argv)
{
	struct side alone = {.t = {.name = "memory", .puts = DEFAULT_PUTS}};

	if (parse(&alone.t, argc, argv))
		return 2;
	if (alone.t.way == WAY_CHANNEL)
		setenv("CK_DIRECT_PATH", alone.t.path, 1);
	if (strcmp(alone.t.name, "bell") == 0)
		setenv("CK_DIRECT_POLL_MAX", "0", 1);
	if (!getenv("PMI_FD") && !getenv("PMIX_NAMESPACE"))
		return run_loopback(&alone.t);
	run_side(&alone);
	return alone.code;
}
