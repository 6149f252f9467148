/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_direct_strided.c: puts that gather deliver whole data on every path. The shapes are random, and the
 * program overwrites the source field as soon as put has returned.
 *
 *     SEED=n test_direct_strided     the seed that a failing run has printed
 */
#include <setjmp.h>
#include <stddef.h>
#include <time.h>

#include "../../runtime/machine/tools/cmi_random.h"
#include "world.h"

#include <cmocka.h>

enum { CHANNELS = 12, PUTS = 15, FIELD = 1 << 17, STRIDE_MAX = 1200, PLANE_MAX = 9000 };
enum { HANDLE, AGAIN }; /* kinds of messages */
enum { SENDER = 0 };

#define OOB UINT64_MAX /* content() never gives eight 0xff */

struct gather {
	struct world w; /* first */
	int receiver;
	bool seq, with_completion;

	/* drawn before the start */
	CkDirectStrides shape[CHANNELS];
	size_t bytes[CHANNELS];

	/* sender */
	unsigned char *field, *other;
	CkDirectHandle to[CHANNELS];
	int n_bound, round, completions;
	bool asked;
	char path[16];

	/* receiver */
	CkDirectHandle from[CHANNELS];
	unsigned char *buf[CHANNELS];
	int arrived, rounds, bad;

	atomic_llong created, processed;
};

static uint64_t random_state;

static uint64_t draw(uint64_t n)
{
	return cmi_random_below(&random_state, n);
}

static struct gather *gather_of(void)
{
	return (struct gather *)(uintptr_t)csd_self()->node->program;
}

/* ---- what lies in the field, and what of it must arrive --------------------------------- */

/* At `place`, counted from the middle of the field. */
static unsigned char content(int round, ptrdiff_t place)
{
	return (unsigned char)((size_t)(round * 37 + place * 5 + place / 256) & 0x7f);
}

static void fill_field(struct gather *g, int round)
{
	for (ptrdiff_t i = 0; i < FIELD; i++)
		g->field[i] = content(round, i - FIELD / 2);
}

static int wrong_bytes(const struct gather *g, int c, int round)
{
	const CkDirectStrides *s = &g->shape[c];
	const unsigned char *p = g->buf[c];
	int wrong = 0;

	for (size_t plane = 0; plane < (s->planes ? s->planes : 1); plane++)
		for (size_t b = 0; b < s->blocks; b++)
			for (size_t i = 0; i < s->block_bytes; i++)
				wrong += *p++ != content(round, (ptrdiff_t)plane * s->plane_stride_bytes +
								(ptrdiff_t)b * s->stride_bytes +
								(ptrdiff_t)i);
	return wrong;
}

/* ---- the sender -------------------------------------------------------------------- */

static void completed(void *data);

/* Put from another field of the same shape. */
static void move_field(struct gather *g, int c)
{
	unsigned char *old = g->field;

	g->field = g->other;
	g->other = old;
	CkDirect_rebind(&g->to[c], g->field + FIELD / 2, g->bytes[c]);
}

static void put_all(struct gather *g)
{
	g->round++;
	for (int c = 0; c < CHANNELS; c++) {
		if (g->round > 1)
			move_field(g, c);
		fill_field(g, g->round);
		if (g->with_completion)
			CkDirect_putData(&g->to[c], completed, NULL, 0);
		else
			CkDirect_put(&g->to[c]);
		/* put has read it on every path */
		memset(g->field, 0x55, FIELD);
	}
}

/* The last puts have arrived, and they are locally complete if that is to be reported. */
static void go_on(struct gather *g)
{
	if (!g->asked || (g->with_completion && g->completions < g->round * CHANNELS))
		return;
	g->asked = false;
	if (g->round < PUTS)
		put_all(g);
	else
		csd_exit(csd_self(), 0);
}

static void completed(void *data)
{
	(void)data;
	gather_of()->completions++;
	go_on(gather_of());
}

static void bind(struct gather *g, int c, const CkDirectHandle *h)
{
	g->to[c] = *h;
	CkDirect_assocLocalStrided(&g->to[c], g->field + FIELD / 2, g->shape[c]);
	snprintf(g->path, sizeof(g->path), "%s", CkDirect_path(&g->to[c]));
	if (++g->n_bound == CHANNELS)
		put_all(g);
}

/* ---- the receiver ------------------------------------------------------------------ */

static void arrival(void *data)
{
	struct gather *g = gather_of();
	int c = (int)((CkDirectHandle *)data - g->from);

	g->bad += wrong_bytes(g, c, g->rounds + 1);
	CkDirect_ready(data);
	if (++g->arrived < CHANNELS)
		return;
	g->arrived = 0;
	world_send(csd_self(), SENDER, AGAIN, 0, NULL);
	if (++g->rounds == PUTS)
		for (int i = 0; i < CHANNELS; i++)
			CkDirect_destroyHandle(&g->from[i]);
}

static void gather_start(struct pe *pe)
{
	struct gather *g = gather_of();

	if (pe->id == SENDER) {
		g->field = calloc(1, FIELD);
		g->other = calloc(1, FIELD);
	}
	if (pe->id != g->receiver)
		return;
	for (int c = 0; c < CHANNELS; c++) {
		size_t pad = -g->bytes[c] % 8;

		g->buf[c] = (unsigned char *)CkDirect_alloc(g->bytes[c] + pad) + pad;
		g->from[c] = g->seq ? CkDirect_createHandleSeq(g->buf[c], g->bytes[c], arrival,
							       &g->from[c])
				    : CkDirect_createHandle(g->buf[c], g->bytes[c], OOB, arrival,
							    &g->from[c]);
		world_send(pe, SENDER, HANDLE, c, &g->from[c]);
	}
}

static void gather_message(struct pe *pe, int kind, int index, CkDirectHandle *h)
{
	struct gather *g = gather_of();

	(void)pe;
	if (kind == HANDLE) {
		bind(g, index, h);
	} else {
		g->asked = true;
		go_on(g);
	}
}

static void gather_stop(struct pe *pe)
{
	struct gather *g = gather_of();

	/* Half of the sending ends are left to the end of the node. */
	if (pe->id == SENDER) {
		for (int c = 0; c < CHANNELS; c += 2)
			CkDirect_destroyHandle(&g->to[c]);
		free(g->field);
		free(g->other);
	}
	atomic_fetch_add(&g->created, (long long)pe->n_created);
	atomic_fetch_add(&g->processed, (long long)pe->n_processed);
}

/* ---- shapes ------------------------------------------------------------------------ */

static ptrdiff_t draw_stride(ptrdiff_t most)
{
	return (ptrdiff_t)draw(2 * (uint64_t)most) - most;
}

static void draw_shape(struct gather *g, int c)
{
	static const size_t sizes[] = {1, 2, 3, 4, 7, 8, 12, 16, 24, 32, 64, 72, 128, 1000};
	CkDirectStrides *s = &g->shape[c];

	do {
		*s = (CkDirectStrides){
			.block_bytes = sizes[draw(sizeof(sizes) / sizeof(sizes[0]))],
			.blocks = 1 + draw(9),
			.stride_bytes = draw_stride(STRIDE_MAX),
			.planes = draw(5),
			.plane_stride_bytes = draw_stride(PLANE_MAX),
		};
		g->bytes[c] = s->block_bytes * s->blocks * (s->planes ? s->planes : 1);
	} while (!g->seq && g->bytes[c] < 8);
	if (c == 0) { /* one piece, and a large one */
		*s = (CkDirectStrides){.block_bytes = 50000, .blocks = 1};
		g->bytes[c] = 50000;
	}
}

static struct gather *new_gather(bool seq)
{
	struct gather *g = calloc(1, sizeof(*g));

	g->seq = seq;
	for (int c = 0; c < CHANNELS; c++)
		draw_shape(g, c);
	return g;
}

static void run(struct gather *g, int nodes, int receiver, const char *path)
{
	g->w.start = gather_start;
	g->w.message = gather_message;
	g->w.stop = gather_stop;
	g->w.nodes = nodes;
	g->w.pes = nodes > 1 ? 1 : receiver + 1;
	g->w.seed = nodes > 1 ? draw(1000) : 0;
	g->receiver = receiver;
	assert_int_equal(world_run(&g->w), 0);
	assert_int_equal(g->bad, 0);
	assert_int_equal(g->rounds, PUTS);
	if (g->with_completion)
		assert_int_equal(g->completions, PUTS * CHANNELS);
	assert_string_equal(g->path, path);
	assert_true(g->created == g->processed);
	free(g);
}

/* ---- tests ------------------------------------------------------------------------- */

static const char *const paths[] = {"memory", "rma", "message"};

static void a_put_gathers_within_a_pe_and_within_a_node(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		run(new_gather(i % 2), 1, 0, "memory");
		run(new_gather(i % 2), 1, 1, "memory");
	}
}

static void a_put_gathers_on_each_path_between_nodes(void **state)
{
	(void)state;
	for (int p = 0; p < 3; p++) {
		setenv("CK_DIRECT_PATH", paths[p], 1);
		for (int i = 0; i < 4; i++)
			run(new_gather(i % 2), 2, 1, paths[p]);
	}
	unsetenv("CK_DIRECT_PATH");
}

static void local_completion_is_reported(void **state)
{
	(void)state;
	for (int p = 0; p < 3; p++) {
		struct gather *g = new_gather(p % 2);

		setenv("CK_DIRECT_PATH", paths[p], 1);
		g->with_completion = true;
		run(g, 2, 1, paths[p]);
	}
	unsetenv("CK_DIRECT_PATH");
}

static void checked_mode_accepts_correct_programs(void **state)
{
	(void)state;
	setenv("CK_CHECK", "1", 1);
	for (int p = 0; p < 3; p++) {
		setenv("CK_DIRECT_PATH", paths[p], 1);
		run(new_gather(p % 2), 2, 1, paths[p]);
		run(new_gather(p % 2), 1, 1, "memory");
	}
	unsetenv("CK_DIRECT_PATH");
	unsetenv("CK_CHECK");
}

/* ---- misuse ------------------------------------------------------------------------ */

struct misuse {
	struct world w; /* first */
	CkDirectStrides shape;
	const void *base;
	bool twice, put;
	uint64_t buf[8], src[64];
};

static void nothing(void *data)
{
	(void)data;
}

static void misuse_start(struct pe *pe)
{
	struct misuse *m = (struct misuse *)(uintptr_t)pe->node->program;
	CkDirectHandle h = CkDirect_createHandle(m->buf, sizeof(m->buf), OOB, nothing, NULL);

	CkDirect_assocLocalStrided(&h, m->base, m->shape);
	if (m->twice)
		CkDirect_assocLocalStrided(&h, m->base, m->shape);
	if (m->put)
		CkDirect_put(&h);
	csd_exit(pe, 0);
}

static void run_misuse(void *arg)
{
	_exit(world_run(arg));
}

static void must_say(struct misuse *m, const char *says)
{
	struct world_outcome o;

	m->w = (struct world){.start = misuse_start, .nodes = 1, .pes = 1};
	world_in_child(run_misuse, m, &o);
	if (o.code != 1 || !strstr(o.text, says))
		fail_msg("exit code %d, not \"%s\" but:\n%s", o.code, says, o.text);
}

static void the_shape_must_have_the_size_of_the_channel(void **state)
{
	struct misuse m = {.shape = {.block_bytes = 8, .blocks = 7, .stride_bytes = 16}};

	(void)state;
	m.base = m.src;
	must_say(&m, "1 x 7 blocks of 8 bytes, but the channel has 64");
	m.shape.blocks = 0;
	must_say(&m, "1 x 0 blocks of 8 bytes, but the channel has 64");
	/* 2^63 * 2 + 64, were it not for the carry */
	m.shape = (CkDirectStrides){.block_bytes = (size_t)1 << 63, .blocks = 2, .planes = 3};
	must_say(&m, "but the channel has 64");
}

static void a_shape_needs_a_base(void **state)
{
	struct misuse m = {.shape = {.block_bytes = 8, .blocks = 8, .stride_bytes = 16}};

	(void)state;
	must_say(&m, "CkDirect_assocLocalStrided: channel 0 (receiver PE 0, sender PE 0, "
		     "iteration 0): the send buffer is NULL");
}

static void a_handle_is_bound_once(void **state)
{
	struct misuse m = {.shape = {.block_bytes = 8, .blocks = 8, .stride_bytes = 16}};

	(void)state;
	m.base = m.src;
	m.twice = true;
	must_say(&m, "the channel is bound already");
}

static void gathered_data_must_not_end_in_the_out_of_band_value(void **state)
{
	struct misuse m = {.shape = {.block_bytes = 4, .blocks = 16, .stride_bytes = 8}};

	(void)state;
	m.base = m.src;
	m.put = true;
	memset(m.src, 0xff, sizeof(m.src));
	must_say(&m, "the last 8 bytes of the data are the out-of-band value");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_put_gathers_within_a_pe_and_within_a_node),
		cmocka_unit_test(a_put_gathers_on_each_path_between_nodes),
		cmocka_unit_test(local_completion_is_reported),
		cmocka_unit_test(checked_mode_accepts_correct_programs),
		cmocka_unit_test(the_shape_must_have_the_size_of_the_channel),
		cmocka_unit_test(a_shape_needs_a_base),
		cmocka_unit_test(a_handle_is_bound_once),
		cmocka_unit_test(gathered_data_must_not_end_in_the_out_of_band_value),
	};
	const char *seed = getenv("SEED");
	uint64_t first = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL);

	printf("SEED=%llu\n", (unsigned long long)first);
	random_state = cmi_random_seed(first);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
