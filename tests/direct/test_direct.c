/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_direct.c: a correct program gets whole data from a channel and every put once, on every path and in
 * every way of arming.
 */
#include <setjmp.h>
#include <stddef.h>

#include "world.h"
#include "../../runtime/direct/core/direct_handle.h"

#include <cmocka.h>
#include <sched.h>

enum { CHANNELS_MAX = 200, SENDER = 0, RECEIVER = 1 };
enum { HANDLE, AGAIN, ARM }; /* kinds of messages */
enum arming { READY_IN_CALLBACK, READY_LATER, MARK_THEN_POLL };

#define OOB 0x7ff8dead0000beefu /* a NaN: patterns are compared as bits */

/* How a program uses its channels, and what became of it. Each field that changes belongs to one
 * PE, named at its group. */
struct flow {
	struct world w; /* first: the program of the node */
	size_t bytes, offset;
	bool seq, own_memory, with_completion;
	bool in_turn;                  /* two send buffers, by CkDirect_rebind */
	enum arming arming;
	int channels, puts;

	/* SENDER */
	CkDirectHandle to[CHANNELS_MAX];
	int n_bound, round, completions;
	unsigned char *source, *other;
	char path[16];

	/* RECEIVER */
	CkDirectHandle from[CHANNELS_MAX];
	unsigned char *buf[CHANNELS_MAX];
	int arrived, rounds_seen, bad;
	int called[CHANNELS_MAX];

	/* all PEs, at their end */
	atomic_llong created, processed;
};

static struct flow *flow_of(void)
{
	return (struct flow *)(uintptr_t)csd_self()->node->program;
}

static unsigned char content(int round, size_t i)
{
	return (unsigned char)((size_t)round * 37 + i * 5 + (i >> 8));
}

static void *new_buffer(struct flow *f)
{
	size_t bytes = f->bytes + f->offset + 64;
	unsigned char *p = f->own_memory ? calloc(1, bytes) : CkDirect_alloc(bytes);

	assert_non_null(p);
	return p + f->offset;
}

static void free_buffer(struct flow *f, unsigned char *p)
{
	if (f->own_memory)
		free(p - f->offset);
	else
		CkDirect_free(p - f->offset);
}

/* Put from the other buffer. The one that was used last is spoiled: nobody may read it any more. */
static void swap_sources(struct flow *f)
{
	unsigned char *old = f->source;

	f->source = f->other;
	f->other = old;
	memset(old, 0x55, f->bytes);
	for (int i = 0; i < f->channels; i++)
		CkDirect_rebind(&f->to[i], f->source, f->bytes);
}

static void next_round(struct flow *f)
{
	if (f->in_turn && f->round > 0)
		swap_sources(f);
	f->round++;
	for (size_t i = 0; i < f->bytes; i++)
		f->source[i] = content(f->round, i);
}

static void completed(void *data)
{
	struct flow *f = flow_of();
	int channel;

	memcpy(&channel, data, sizeof(channel));
	if (channel < 0 || channel >= f->channels)
		f->bad++;
	f->completions++;
}

static void put_all(struct flow *f)
{
	next_round(f);
	for (int i = 0; i < f->channels; i++) {
		if (f->with_completion)
			CkDirect_putData(&f->to[i], completed, &i, sizeof(i));
		else
			CkDirect_put(&f->to[i]);
	}
}

static void round_seen(struct flow *f)
{
	struct pe *pe = csd_self();

	f->arrived = 0;
	if (++f->rounds_seen == f->puts) {
		for (int i = 0; i < f->channels; i++) {
			CkDirect_destroyHandle(&f->from[i]);
			free_buffer(f, f->buf[i]);
		}
		csd_exit(pe, 0);
		return;
	}
	if (f->arming == READY_LATER)
		for (int i = 0; i < f->channels; i++)
			CkDirect_ready(&f->from[i]);
	world_send(pe, SENDER, AGAIN, 0, NULL);
	if (f->arming == MARK_THEN_POLL)
		for (int i = 0; i < f->channels; i++)
			world_send(pe, RECEIVER, ARM, i, NULL);
}

static void arrival(void *data)
{
	struct flow *f = flow_of();
	int c = (int)((CkDirectHandle *)data - f->from);

	f->called[c]++;
	for (size_t i = f->bytes; i-- > 0;)
		f->bad += f->buf[c][i] != content(f->rounds_seen + 1, i);
	if (f->rounds_seen + 1 < f->puts) {
		if (f->arming == READY_IN_CALLBACK)
			CkDirect_ready(data);
		else if (f->arming == MARK_THEN_POLL)
			CkDirect_readyMark(data);
	}
	if (++f->arrived == f->channels)
		round_seen(f);
}

static void receiver_start(struct pe *pe, struct flow *f)
{
	for (int i = 0; i < f->channels; i++) {
		f->buf[i] = new_buffer(f);
		f->from[i] = f->seq ? CkDirect_createHandleSeq(f->buf[i], f->bytes, arrival,
							       &f->from[i])
				    : CkDirect_createHandle(f->buf[i], f->bytes, OOB, arrival,
							    &f->from[i]);
		world_send(pe, SENDER, HANDLE, i, &f->from[i]);
	}
}

/* From here on the first record of the sender has another generation than that of the receiver. */
static void use_a_record(void)
{
	uint64_t buf[2] = {0};
	CkDirectHandle from = CkDirect_createHandle(&buf[0], 8, OOB, arrival, NULL), to = from;

	CkDirect_assocLocalBuffer(&to, &buf[1], 8);
	CkDirect_destroyHandle(&to);
	CkDirect_destroyHandle(&from);
}

static void flow_start(struct pe *pe)
{
	struct flow *f = flow_of();

	if (pe->id == SENDER) {
		use_a_record();
		f->source = new_buffer(f);
		f->other = new_buffer(f);
	}
	if (pe->id == RECEIVER)
		receiver_start(pe, f);
}

static void flow_message(struct pe *pe, int kind, int index, CkDirectHandle *h)
{
	struct flow *f = flow_of();

	(void)pe;
	switch (kind) {
	case HANDLE:
		f->to[index] = *h;
		CkDirect_assocLocalBuffer(&f->to[index], f->source, f->bytes);
		snprintf(f->path, sizeof(f->path), "%s", CkDirect_path(&f->to[index]));
		if (++f->n_bound == f->channels)
			put_all(f);
		break;
	case AGAIN:
		put_all(f);
		break;
	case ARM:
		CkDirect_readyPollQ(&f->from[index]);
		break;
	}
}

static void flow_stop(struct pe *pe)
{
	struct flow *f = flow_of();

	if (pe->id == SENDER) {
		for (int i = 0; i < f->channels; i++)
			CkDirect_destroyHandle(&f->to[i]);
		free_buffer(f, f->source);
		free_buffer(f, f->other);
	}
	atomic_fetch_add(&f->created, (long long)pe->n_created);
	atomic_fetch_add(&f->processed, (long long)pe->n_processed);
}

/* Run to the end and check what every flow must satisfy. */
static void run(struct flow *f, int nodes, const char *path)
{
	f->w.start = flow_start;
	f->w.message = flow_message;
	f->w.stop = flow_stop;
	f->w.nodes = nodes;
	f->w.pes = nodes > 1 ? 1 : 2;
	assert_int_equal(world_run(&f->w), 0);
	assert_int_equal(f->bad, 0);
	assert_int_equal(f->rounds_seen, f->puts);
	for (int i = 0; i < f->channels; i++)
		assert_int_equal(f->called[i], f->puts);
	if (f->with_completion)
		assert_int_equal(f->completions, f->puts * f->channels);
	assert_string_equal(f->path, path);
	assert_true(f->created == f->processed);
	free(f);
}

static struct flow *new_flow(size_t bytes, int channels, int puts)
{
	struct flow *f = calloc(1, sizeof(*f));

	f->bytes = bytes;
	f->channels = channels;
	f->puts = puts;
	return f;
}

static void data_arrives_whole_between_two_pes_of_a_node(void **state)
{
	static const size_t sizes[] = {8, 16, 100, 1024, 100000};

	(void)state;
	for (int i = 0; i < 5; i++) {
		struct flow *f = new_flow(sizes[i], 1, 200);

		f->offset = 8 - sizes[i] % 8; /* the end must be aligned, the start need not */
		run(f, 1, "memory");
	}
}

static void data_arrives_whole_on_each_path_between_nodes(void **state)
{
	static const char *const paths[] = {"memory", "rma", "message"};
	static const size_t sizes[] = {8, 104, 5000};

	(void)state;
	for (int p = 0; p < 3; p++) {
		setenv("CK_DIRECT_PATH", paths[p], 1);
		for (int i = 0; i < 3; i++)
			for (uint64_t seed = 0; seed < 3; seed++) {
				struct flow *f = new_flow(sizes[i], 3, 100);

				f->w.seed = seed;
				run(f, 2, paths[p]);
			}
	}
	unsetenv("CK_DIRECT_PATH");
}

static void sequence_mode_takes_any_size_and_alignment(void **state)
{
	static const char *const paths[] = {"memory", "rma", "message"};
	static const size_t sizes[] = {1, 7, 8, 101, 5003};

	(void)state;
	for (int p = 0; p < 3; p++) {
		setenv("CK_DIRECT_PATH", paths[p], 1);
		for (int i = 0; i < 5; i++) {
			struct flow *f = new_flow(sizes[i], 2, 50);

			f->seq = true;
			f->offset = (size_t)i;
			run(f, 2, paths[p]);
			f = new_flow(sizes[i], 2, 50);
			f->seq = true;
			f->offset = (size_t)i;
			run(f, 1, "memory");
		}
	}
	unsetenv("CK_DIRECT_PATH");
}

static void one_send_buffer_serves_many_channels(void **state)
{
	(void)state;
	run(new_flow(256, CHANNELS_MAX, 20), 1, "memory");
}

static void ready_may_be_said_after_the_function(void **state)
{
	struct flow *f = new_flow(512, 3, 100);

	(void)state;
	f->arming = READY_LATER;
	run(f, 1, "memory");
}

static void data_that_came_between_mark_and_poll_is_found(void **state)
{
	(void)state;
	for (int nodes = 1; nodes <= 2; nodes++) {
		struct flow *f = new_flow(512, 3, 100);

		f->arming = MARK_THEN_POLL;
		run(f, nodes, "memory");
		f = new_flow(33, 3, 100);
		f->seq = true;
		f->arming = MARK_THEN_POLL;
		run(f, nodes, "memory");
	}
}

static void local_completion_is_reported_once_per_put(void **state)
{
	static const char *const paths[] = {"memory", "rma", "message"};

	(void)state;
	for (int p = 0; p < 3; p++) {
		struct flow *f = new_flow(256, 5, 50);

		setenv("CK_DIRECT_PATH", paths[p], 1);
		f->with_completion = true;
		run(f, 2, paths[p]);
	}
	unsetenv("CK_DIRECT_PATH");
}

static void two_send_buffers_may_be_used_in_turn(void **state)
{
	static const char *const paths[] = {"memory", "rma", "message"};

	(void)state;
	for (int p = 0; p < 3; p++)
		for (int way = 0; way < 4; way++) {
			struct flow *f = new_flow(way & 1 ? 33 : 4096, 3, 40);

			setenv("CK_DIRECT_PATH", paths[p], 1);
			if (way & 2)
				setenv("CK_CHECK", "1", 1);
			f->in_turn = true;
			f->seq = way & 1;
			run(f, 2, paths[p]);
			unsetenv("CK_CHECK");
		}
	unsetenv("CK_DIRECT_PATH");
}

static void checked_mode_accepts_correct_programs(void **state)
{
	static const char *const paths[] = {"memory", "rma", "message"};

	(void)state;
	setenv("CK_CHECK", "1", 1);
	for (int p = 0; p < 3; p++)
		for (int seq = 0; seq < 2; seq++)
			for (int arming = 0; arming < 3; arming++) {
				struct flow *f = new_flow(200, 4, 40);

				setenv("CK_DIRECT_PATH", paths[p], 1);
				f->seq = seq;
				f->arming = (enum arming)arming;
				f->with_completion = arming == 1;
				run(f, 2, paths[p]);
			}
	unsetenv("CK_DIRECT_PATH");
	unsetenv("CK_CHECK");
}

static void within_a_node_the_path_is_always_memory(void **state)
{
	(void)state;
	setenv("CK_DIRECT_PATH", "message", 1);
	run(new_flow(64, 1, 10), 1, "memory");
	unsetenv("CK_DIRECT_PATH");
}

static void memory_of_the_user_works_too(void **state)
{
	struct flow *f = new_flow(64, 2, 50);

	(void)state;
	f->own_memory = true;
	run(f, 1, "memory");
}

/* ---- a function may do anything to channels ---------------------------------------- */

/* One PE, channels to itself. */
struct chain {
	struct world w;
	CkDirectHandle from[3], to[3];
	uint64_t buf[3], src[3];
	int steps, recreated;
};

static struct chain *chain_of(void)
{
	return (struct chain *)(uintptr_t)csd_self()->node->program;
}

static void chain_put(struct chain *c, int i)
{
	c->src[i] = (uint64_t)c->steps + 1;
	CkDirect_put(&c->to[i]);
}

static void chain_arrival(void *data);

static void chain_create(struct chain *c, int i)
{
	c->from[i] = CkDirect_createHandleData(&c->buf[i], 8, 0, chain_arrival, &i, sizeof(i));
	c->to[i] = c->from[i];
	CkDirect_assocLocalBuffer(&c->to[i], &c->src[i], sizeof(c->src[i]));
}

/* Arms itself, puts on the next, and every tenth time destroys both ends of its own channel and
 * creates it anew: everything inside the function. */
static void chain_arrival(void *data)
{
	struct chain *c = chain_of();
	int i, again;

	memcpy(&i, data, sizeof(i));
	assert_int_equal(c->buf[i], c->steps + 1);
	if (++c->steps == 1000) {
		csd_exit(csd_self(), 0);
		return;
	}
	if (c->steps % 10) {
		CkDirect_ready(&c->from[i]);
	} else {
		CkDirect_destroyHandle(&c->to[i]);
		CkDirect_destroyHandle(&c->from[i]);
		chain_create(c, i);
		c->recreated++;
		/* The private data lives until the function returns. */
		memcpy(&again, data, sizeof(again));
		assert_int_equal(again, i);
	}
	chain_put(c, (i + 1) % 3);
}

static void chain_start(struct pe *pe)
{
	struct chain *c = chain_of();

	(void)pe;
	for (int i = 0; i < 3; i++)
		chain_create(c, i);
	chain_put(c, 0);
}

static void a_function_may_arm_put_destroy_and_create(void **state)
{
	struct chain c = {.w = {.start = chain_start, .nodes = 1, .pes = 1}};

	(void)state;
	assert_int_equal(world_run(&c.w), 0);
	assert_int_equal(c.steps, 1000);
	assert_int_equal(c.recreated, 99);
}

/* Two channels have arrived in the same pass; the first function destroys the second channel. */
struct pair {
	struct world w;
	CkDirectHandle from[2], to[2];
	uint64_t buf[2], src[2];
	int calls;
	bool completed;
};

static struct pair *pair_of(void)
{
	return (struct pair *)(uintptr_t)csd_self()->node->program;
}

static void pair_arrival(void *data)
{
	struct pair *p = pair_of();
	int other = !(int)((uint64_t *)data - p->buf);

	p->calls++;
	CkDirect_destroyHandle(&p->from[other]);
	world_send(csd_self(), 0, 0, 0, NULL);
}

static void pair_completed(void *data)
{
	(void)data;
	pair_of()->completed = true;
}

static void pair_start(struct pe *pe)
{
	struct pair *p = pair_of();

	(void)pe;
	for (int i = 0; i < 2; i++) {
		p->from[i] = CkDirect_createHandle(&p->buf[i], 8, 0, pair_arrival, &p->buf[i]);
		p->to[i] = p->from[i];
		p->src[i] = 1;
		CkDirect_assocLocalBuffer(&p->to[i], &p->src[i], sizeof(p->src[i]));
	}
	CkDirect_put(&p->to[0]);
	CkDirect_putData(&p->to[1], pair_completed, NULL, 0);
}

/* The record of the destroyed channel: for one new channel, and for no other one. */
static void pair_create_again(struct pair *p)
{
	CkDirectHandle more[2];

	for (int i = 0; i < 2; i++)
		more[i] = CkDirect_createHandle(&p->buf[i], 8, 0, pair_arrival, &p->buf[i]);
	assert_int_equal(direct_open(&more[0])->channel, direct_open(&p->from[1])->channel);
	assert_int_not_equal(direct_open(&more[1])->channel, direct_open(&more[0])->channel);
}

static void pair_message(struct pe *pe, int kind, int index, CkDirectHandle *h)
{
	(void)kind;
	(void)index;
	(void)h;
	pair_create_again(pair_of());
	/* The unseen put has been counted, too, and the completion; this message itself not yet. */
	assert_int_equal(pe->n_created, pe->n_processed + 1 + !pair_of()->completed);
	csd_exit(pe, 0);
}

static void a_destroyed_channel_is_not_called_any_more(void **state)
{
	struct pair p = {.w = {.start = pair_start, .message = pair_message, .nodes = 1, .pes = 1}};

	(void)state;
	assert_int_equal(world_run(&p.w), 0);
	assert_int_equal(p.calls, 1);
}

/* ---- many channels within one PE --------------------------------------------------- */

enum { OWN = 150, OWN_PUTS = 3 };

/* Each channel's data is its number plus how often it was put. */
struct own {
	struct world w;
	CkDirectHandle from[OWN], to[OWN];
	uint64_t buf[OWN], src[OWN];
	int calls[OWN], total, bad;
};

static void own_put(struct own *o, int i)
{
	o->src[i] = (uint64_t)(1000 * (o->calls[i] + 1) + i);
	CkDirect_put(&o->to[i]);
}

static void own_arrival(void *data)
{
	struct own *o = (struct own *)(uintptr_t)csd_self()->node->program;
	int i = *(int *)data;

	o->bad += i != o->total++ % OWN;
	o->bad += o->buf[i] != (uint64_t)(1000 * ++o->calls[i] + i);
	if (o->calls[i] < OWN_PUTS) {
		CkDirect_readyMark(&o->from[i]);
		own_put(o, i);
		CkDirect_readyPollQ(&o->from[i]);
	} else if (o->total == OWN * OWN_PUTS) {
		csd_exit(csd_self(), 0);
	}
}

/* Nothing is called in between, so those that have arrived wait while the records grow. */
static void own_start(struct pe *pe)
{
	struct own *o = (struct own *)(uintptr_t)pe->node->program;

	for (int i = 0; i < OWN; i++) {
		o->from[i] = CkDirect_createHandleData(&o->buf[i], 8, 0, own_arrival, &i,
						       sizeof(i));
		o->to[i] = o->from[i];
		CkDirect_assocLocalBuffer(&o->to[i], &o->src[i], sizeof(o->src[i]));
		own_put(o, i);
	}
}

static void puts_within_a_pe_arrive_in_their_order(void **state)
{
	struct own o = {.w = {.start = own_start, .nodes = 1, .pes = 1}};

	(void)state;
	assert_int_equal(world_run(&o.w), 0);
	assert_int_equal(o.total, OWN * OWN_PUTS);
	assert_int_equal(o.bad, 0);
}

/* ---- moments ---------------------------------------------------------------------- */

/* PE 1 puts into channels of PE 0, while that is in a handler. So all puts are there when PE 0 looks. */
enum { FAR = 65, SOME = 3, GO, BIND, PUT, OVER };

struct far {
	struct world w;
	CkDirectHandle from[FAR], to[FAR];
	uint64_t buf[FAR], src[FAR];
	int n, n_came, n_bound;
	atomic_int n_put;
};

static struct far *far_of(void)
{
	return (struct far *)(uintptr_t)csd_self()->node->program;
}

static void far_await(struct far *f, int n)
{
	while (atomic_load(&f->n_put) < n)
		sched_yield();
}

static void far_put(struct far *f, int i)
{
	f->src[i]++;
	CkDirect_put(&f->to[i]);
	atomic_fetch_add(&f->n_put, 1);
}

static void far_create(struct pe *pe, struct far *f, CkDirectFn fn)
{
	for (int i = 0; i < f->n; i++) {
		f->from[i] = CkDirect_createHandle(&f->buf[i], 8, 0, fn, &f->buf[i]);
		world_send(pe, 1, BIND, i, &f->from[i]);
	}
	world_send(pe, 0, GO, 0, NULL);
}

static void far_bind(struct far *f, int i, const CkDirectHandle *h)
{
	f->to[i] = *h;
	CkDirect_assocLocalBuffer(&f->to[i], &f->src[i], sizeof(f->src[i]));
	f->n_bound++;
}

/* The first puts are told. After the second ones, of polled channels, the function that runs first destroys the
 * other channels. They are three, because of two a scan leaves one for the next scan. */
static void some_arrival(void *data)
{
	struct far *f = far_of();
	int i = (int)((uint64_t *)data - f->buf);

	f->n_came++;
	if (f->buf[i] == 1) {
		CkDirect_ready(&f->from[i]);
		if (f->n_came == SOME)
			world_send(csd_self(), 0, PUT, 0, NULL);
		return;
	}
	for (int other = 0; other < SOME; other++)
		if (other != i)
			CkDirect_destroyHandle(&f->from[other]);
	world_send(csd_self(), 0, OVER, 0, NULL);
}

static void some_message(struct pe *pe, int kind, int index, CkDirectHandle *h)
{
	struct far *f = far_of();

	if (kind == BIND) {
		far_bind(f, index, h);
		far_put(f, index);
	} else if (kind == PUT && pe->id == 0) {
		world_send(pe, 1, PUT, 0, NULL);
		far_await(f, 2 * SOME);
	} else if (kind == PUT) {
		for (int i = 0; i < SOME; i++)
			far_put(f, i);
	} else if (kind == OVER) {
		assert_int_equal(f->n_came, SOME + 1);
		csd_exit(pe, 0);
	}
}

static void some_start(struct pe *pe)
{
	if (pe->id == 0)
		far_create(pe, far_of(), some_arrival);
}

static void a_destroyed_channel_is_not_called_in_the_same_pass(void **state)
{
	struct far f = {.w = {.start = some_start, .message = some_message, .nodes = 1, .pes = 2}, .n = SOME};

	(void)state;
	assert_int_equal(world_run(&f.w), 0);
}

/* As many channels as the smallest bell has slots, and all of them have been put into. Then comes one more, for which
 * a larger bell is made; the old one must have room for the word that says so. */
static void many_arrival(void *data)
{
	(void)data;
	if (++far_of()->n_came == FAR)
		csd_exit(csd_self(), 0);
}

static void many_message(struct pe *pe, int kind, int index, CkDirectHandle *h)
{
	struct far *f = far_of();

	(void)pe;
	if (kind == GO)
		far_await(f, FAR);
	if (kind != BIND)
		return;
	far_bind(f, index, h);
	for (int i = 0; f->n_bound == FAR - 1 && i < FAR - 1; i++)
		far_put(f, i);
	if (f->n_bound == FAR)
		far_put(f, FAR - 1);
}

static void many_start(struct pe *pe)
{
	if (pe->id == 0)
		far_create(pe, far_of(), many_arrival);
}

static void a_full_bell_is_left_for_a_larger_one(void **state)
{
	struct far f = {.w = {.start = many_start, .message = many_message, .nodes = 1, .pes = 2}, .n = FAR};

	(void)state;
	assert_int_equal(world_run(&f.w), 0);
	assert_int_equal(f.n_came, FAR);
}

/* Whether the receiver polls its channels or is told by a bell must not show. */
static int all_told(void **state)
{
	(void)state;
	return setenv("CK_DIRECT_POLL_MAX", "0", 1);
}

static int some_told(void **state)
{
	(void)state;
	return setenv("CK_DIRECT_POLL_MAX", "2", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_arrives_whole_between_two_pes_of_a_node),
		cmocka_unit_test(data_arrives_whole_on_each_path_between_nodes),
		cmocka_unit_test(sequence_mode_takes_any_size_and_alignment),
		cmocka_unit_test(one_send_buffer_serves_many_channels),
		cmocka_unit_test(ready_may_be_said_after_the_function),
		cmocka_unit_test(data_that_came_between_mark_and_poll_is_found),
		cmocka_unit_test(local_completion_is_reported_once_per_put),
		cmocka_unit_test(two_send_buffers_may_be_used_in_turn),
		cmocka_unit_test(checked_mode_accepts_correct_programs),
		cmocka_unit_test(within_a_node_the_path_is_always_memory),
		cmocka_unit_test(memory_of_the_user_works_too),
		cmocka_unit_test(a_function_may_arm_put_destroy_and_create),
		cmocka_unit_test(a_destroyed_channel_is_not_called_any_more),
		cmocka_unit_test(puts_within_a_pe_arrive_in_their_order),
		cmocka_unit_test(a_destroyed_channel_is_not_called_in_the_same_pass),
		cmocka_unit_test(a_full_bell_is_left_for_a_larger_one),
	};

	setenv("CK_WATCHDOG", "0", 1); /* its questions would wake a PE that sleeps for ever */
	return cmocka_run_group_tests_name("polled", tests, NULL, NULL) +
	       cmocka_run_group_tests_name("told", tests, all_told, NULL) +
	       cmocka_run_group_tests_name("polled and told", tests, some_told, NULL);
}
