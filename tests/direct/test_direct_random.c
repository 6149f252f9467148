/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_direct_random.c: many channels between all PEs, or from all to one, over a net with random delays and
 * a randomised queue. Each channel has its own size, mode and lifetime; it is polled or announced, and
 * armed in one step or in two. The test puts, destroys and creates channels at random moments. It compares
 * every byte of every put.
 *
 *     SEED=n test_direct_random     the seed that a failing run has printed
 */
#include <setjmp.h>
#include <stddef.h>
#include <time.h>

#include "../../runtime/machine/tools/cmi_random.h"
#include "world.h"

#include <cmocka.h>

enum { CHANNELS_MAX = 300, LIVES = 3, PES_MAX = 8, BYTES_MAX = 3000 };
enum { HANDLE, PUT, ARM, READY }; /* kinds of messages; index is the channel */

#define OOB UINT64_MAX /* content() never gives eight 0xff in a row */

struct link {
	int src, dst;
	size_t bytes;
	bool seq;

	/* dst */
	CkDirectHandle from;
	unsigned char *buf;
	int life, arrivals;

	/* src */
	CkDirectHandle to;
	uint64_t source[2][BYTES_MAX / 8 + 1];
	int at;                  /* which of the two is put from */
	int puts;                /* of all lives */
	bool bound, completing;
};

struct chaos {
	struct world w; /* first */
	uint64_t random[PES_MAX]; /* each PE its own */
	int channels, lifetime;   /* in puts */
	struct link link[CHANNELS_MAX];
	atomic_int left;          /* arrivals and completions that are still to come */
	atomic_int bad;
	atomic_llong created, processed;
};

static struct chaos *chaos(void)
{
	return (struct chaos *)(uintptr_t)csd_self()->node->program;
}

static uint64_t chance(uint64_t n)
{
	return cmi_random_below(&chaos()->random[csd_self()->id], n);
}

static unsigned char content(int channel, int put, size_t i)
{
	return (unsigned char)((unsigned)channel * 91 + (unsigned)put * 37 + i % 251);
}

/* The end of the source is 8-aligned, as pattern mode wants it. */
static unsigned char *source_of(struct link *l)
{
	return (unsigned char *)l->source[l->at] + (8 - l->bytes % 8) % 8;
}

static void one_less(void)
{
	if (atomic_fetch_sub(&chaos()->left, 1) == 1)
		csd_exit(csd_self(), 0);
}

/* ---- receiving --------------------------------------------------------------------- */

static void arrival(void *data);

static void create(struct link *l)
{
	int channel = (int)(l - chaos()->link);

	l->arrivals = 0;
	l->from = l->seq ? CkDirect_createHandleSeq(l->buf, l->bytes, arrival, l)
			 : CkDirect_createHandle(l->buf, l->bytes, OOB, arrival, l);
	world_send(csd_self(), l->src, HANDLE, channel, &l->from);
}

static void check_content(struct link *l)
{
	int channel = (int)(l - chaos()->link);
	int put = l->life * chaos()->lifetime + l->arrivals;

	for (size_t i = l->bytes; i-- > 0;)
		if (l->buf[i] != content(channel, put, i)) {
			atomic_fetch_add(&chaos()->bad, 1);
			return;
		}
}

/* The buffer has been used: arm the channel, now or later, and let the sender go on. */
static void arm_somehow(struct link *l, int channel)
{
	struct pe *pe = csd_self();

	switch (chance(3)) {
	case 0:
		CkDirect_ready(&l->from);
		world_send(pe, l->src, PUT, channel, NULL);
		break;
	case 1:
		CkDirect_readyMark(&l->from);
		world_send(pe, l->src, PUT, channel, NULL);
		world_send(pe, pe->id, ARM, channel, NULL);
		break;
	default:
		world_send(pe, pe->id, READY, channel, NULL);
	}
}

static void arrival(void *data)
{
	struct link *l = data;

	l->arrivals++;
	check_content(l);
	if (l->arrivals < chaos()->lifetime) {
		arm_somehow(l, (int)(l - chaos()->link));
	} else {
		CkDirect_destroyHandle(&l->from);
		if (++l->life < LIVES)
			create(l);
	}
	one_less();
}

/* ---- sending ----------------------------------------------------------------------- */

static void completed(void *data)
{
	struct link *l;

	memcpy(&l, data, sizeof(l));
	l->completing = false;
	one_less();
}

static void put(struct link *l, int channel)
{
	unsigned char *source;

	if (chance(3) == 0) {
		l->at ^= 1;
		CkDirect_rebind(&l->to, source_of(l), l->bytes);
	}
	source = source_of(l);
	l->puts++;
	for (size_t i = 0; i < l->bytes; i++)
		source[i] = content(channel, l->puts, i);
	if (chance(2)) {
		atomic_fetch_add(&chaos()->left, 1);
		l->completing = true;
		CkDirect_putData(&l->to, completed, &l, sizeof(l));
	} else {
		CkDirect_put(&l->to);
	}
}

static void bind(struct pe *pe, struct link *l, int channel, const CkDirectHandle *h)
{
	if (l->bound)
		CkDirect_destroyHandle(&l->to);
	l->bound = true;
	l->to = *h;
	CkDirect_assocLocalBuffer(&l->to, source_of(l), l->bytes);
	world_send(pe, pe->id, PUT, channel, NULL);
}

/* ---- the world --------------------------------------------------------------------- */

static void chaos_message(struct pe *pe, int kind, int index, CkDirectHandle *h)
{
	struct link *l = &chaos()->link[index];
	bool sending = kind == HANDLE || kind == PUT;

	/* Everything may come later than it could. */
	if (chance(3) == 0 || (sending && l->completing)) {
		world_send(pe, pe->id, kind, index, h);
		return;
	}
	switch (kind) {
	case HANDLE:
		bind(pe, l, index, h);
		break;
	case PUT:
		put(l, index);
		break;
	case ARM:
		CkDirect_readyPollQ(&l->from);
		break;
	case READY:
		CkDirect_ready(&l->from);
		world_send(pe, l->src, PUT, index, NULL);
		break;
	}
}

static void chaos_start(struct pe *pe)
{
	struct chaos *c = chaos();

	for (int i = 0; i < c->channels; i++) {
		struct link *l = &c->link[i];

		if (l->dst != pe->id)
			continue;
		l->buf = (unsigned char *)CkDirect_alloc(BYTES_MAX + 8) + (8 - l->bytes % 8) % 8;
		create(l);
	}
}

static void chaos_stop(struct pe *pe)
{
	atomic_fetch_add(&chaos()->created, (long long)pe->n_created);
	atomic_fetch_add(&chaos()->processed, (long long)pe->n_processed);
}

static void set(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

/* Few for long or many for a short time, so that bells grow; each anywhere or all to PE 0. */
static void draw_links(struct chaos *c, uint64_t *x)
{
	uint64_t n_pes = (uint64_t)(c->w.nodes * c->w.pes);
	bool many = cmi_random_below(x, 2), to_one = cmi_random_below(x, 2);

	c->channels = many ? CHANNELS_MAX : 40;
	c->lifetime = many ? 4 : 20;
	for (int i = 0; i < c->channels; i++) {
		struct link *l = &c->link[i];

		l->src = (int)cmi_random_below(x, n_pes);
		l->dst = to_one ? 0 : (int)cmi_random_below(x, n_pes);
		l->seq = cmi_random_below(x, 2);
		l->bytes = cmi_random_below(x, cmi_random_below(x, 2) ? 64 : BYTES_MAX - 8) + (l->seq ? 1 : 8);
	}
}

static void run_chaos(uint64_t seed)
{
	static const char *const paths[] = {NULL, NULL, "memory", "rma", "message"};
	static const char *const polled[] = {NULL, "0", "2", "10", "1000"};
	struct chaos *c = calloc(1, sizeof(*c));
	uint64_t x = cmi_random_seed(seed);
	bool net = cmi_random_below(&x, 3) > 0, check = cmi_random_below(&x, 3) == 0;
	bool shuffle = cmi_random_below(&x, 2);
	const char *path = paths[cmi_random_below(&x, 5)];
	const char *poll_max = polled[cmi_random_below(&x, 5)];
	char text[32];

	c->w = (struct world){.start = chaos_start, .message = chaos_message, .stop = chaos_stop,
			      .nodes = net ? 2 : 1, .pes = net ? 2 : 3, .seed = seed};
	draw_links(c, &x);
	atomic_store(&c->left, c->channels * LIVES * c->lifetime);
	for (int i = 0; i < PES_MAX; i++)
		c->random[i] = cmi_random_seed(cmi_random_next(&x));
	snprintf(text, sizeof(text), "%llu", (unsigned long long)seed);
	print_message("SEED=%s: %d nodes, %d channels, path %s, %s polled%s%s\n", text,
		      c->w.nodes, c->channels, path ? path : "any", poll_max ? poll_max : "few",
		      check ? ", checked" : "", shuffle ? ", random queue" : "");
	set("CK_DIRECT_PATH", path);
	set("CK_DIRECT_POLL_MAX", poll_max);
	set("CK_CHECK", check ? "1" : NULL);
	set("CK_RANDOM_QUEUE", shuffle ? text : NULL);
	assert_int_equal(world_run(&c->w), 0);
	assert_int_equal(c->bad, 0);
	assert_true(c->created == c->processed);
	free(c);
}

static void all_data_arrives_whatever_the_order(void **state)
{
	const char *given = getenv("SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) % 1000000 * 100;

	(void)state;
	for (int i = 0; i < (given ? 1 : 12); i++)
		run_chaos(seed + (uint64_t)i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_data_arrives_whatever_the_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
