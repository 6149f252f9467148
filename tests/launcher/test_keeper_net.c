/* SPDX-License-Identifier: Apache-2.0 */
/* Connections between keepers, with a cable between the two ends on which somebody listens, and
 * changes what he likes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* These come first. */
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../launcher/keeper/keeper_words.h"

enum { CALLER, CALLED, ENDS, MOST = 1 << 20, IMAGE = 3 * KEEPER_FRAME + 17 };

static const char SECRET[] = "the state of the program";

/* ---- the cable ------------------------------------------------------------------------------- */

/** What one end has sent. */
struct heard {
	unsigned char bytes[MOST];
	size_t n;
	int64_t flip;            /* the byte that is changed; -1: none */
};

struct cable {
	int plug[ENDS];
	struct heard heard[ENDS];
	struct keeper_link end[ENDS];
	pthread_t thread;
};

static void carry(struct cable *c, int from)
{
	struct heard *h = &c->heard[from];
	unsigned char *at = h->bytes + h->n;
	const ssize_t n = read(c->plug[from], at, MOST - h->n);

	if (n <= 0) {
		shutdown(c->plug[!from], SHUT_WR);
		c->plug[from] = -1;
		return;
	}
	if (h->flip >= (int64_t)h->n && h->flip < (int64_t)h->n + n)
		h->bytes[h->flip] ^= 1;
	h->n += (size_t)n;
	for (ssize_t sent = 0, more; sent < n; sent += more) {
		more = send(c->plug[!from], at + sent, (size_t)(n - sent), MSG_NOSIGNAL);
		if (more <= 0)
			return;
	}
}

static void *carry_all(void *arg)
{
	struct cable *c = arg;
	const int plug[ENDS] = { c->plug[CALLER], c->plug[CALLED] };

	while (c->plug[CALLER] >= 0 || c->plug[CALLED] >= 0) {
		struct pollfd p[ENDS] = { { .fd = c->plug[0], .events = POLLIN },
					  { .fd = c->plug[1], .events = POLLIN } };

		poll(p, ENDS, -1);
		for (int i = 0; i < ENDS; i++)
			if (p[i].revents)
				carry(c, i);
	}
	close(plug[CALLER]);
	close(plug[CALLED]);
	return NULL;
}

static struct cable *cable_new(void)
{
	struct cable *c = calloc(1, sizeof *c);

	assert_non_null(c);
	for (int i = 0; i < ENDS; i++) {
		int fds[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
		c->end[i].fd = fds[0];
		c->plug[i] = fds[1];
		c->heard[i].flip = -1;
		keeper_bound(c->end[i].fd, 20);
	}
	return c;
}

static void cable_connect(struct cable *c)
{
	assert_int_equal(pthread_create(&c->thread, NULL, carry_all, c), 0);
}

static void cable_free(struct cable *c)
{
	for (int i = 0; i < ENDS; i++)
		keeper_close(&c->end[i]);
	pthread_join(c->thread, NULL);
	free(c);
}

/** Whether somebody who listens can read the secret. */
static bool is_legible(const struct cable *c)
{
	for (int i = 0; i < ENDS; i++)
		if (memmem(c->heard[i].bytes, c->heard[i].n, SECRET, strlen(SECRET)))
			return true;
	return false;
}

/* ---- the two ends ---------------------------------------------------------------------------- */

static const struct cmi_key128 JOB = { { 1, 2 } };
static const char *no_aes; /* the end whose processor lacks it */

static _Thread_local const char *who;
static _Atomic int n_aes, n_chacha; /* seals that have been opened */

struct seal *__wrap_seal_open(bool aes, const uint8_t *key);
struct seal *__real_seal_open(bool aes, const uint8_t *key);
struct seal *__wrap_seal_open(bool aes, const uint8_t *key)
{
	/* Relaxed: it is read when the threads have ended. */
	atomic_fetch_add_explicit(aes ? &n_aes : &n_chacha, 1, memory_order_relaxed);
	return __real_seal_open(aes, key);
}

bool __wrap_seal_has_aes(void);
bool __real_seal_has_aes(void);
bool __wrap_seal_has_aes(void)
{
	return who != no_aes && __real_seal_has_aes();
}

static struct keeper_secret secret(bool seals)
{
	struct keeper_secret s;

	keeper_secret_open(&s, JOB, seals);
	return s;
}

struct caller {
	struct keeper_link *l;
	const struct keeper_secret *secret;
	bool greeted;
	int error;
};

static const char HIM[] = "the caller";

static void *greet(void *arg)
{
	struct caller *c = arg;
	struct keeper_hello hello = { .host = "h1", .name = "h1" };

	who = HIM;
	c->greeted = keeper_greet(c->l, c->secret, &hello);
	c->error = errno;
	return NULL;
}

/** The end that is called. False: it does not know the caller. */
static bool welcome(struct keeper_link *l, const struct keeper_secret *s)
{
	struct keeper_greeting g;
	struct keeper_hello hello;

	return keeper_challenge(l, s, &g) && keeper_take(l, &hello, sizeof hello) &&
	       keeper_welcome(l, s, &g, &hello);
}

/** Both greet each other. *error_p: the caller's, if it has not been welcome. */
static bool meet(struct cable *c, const struct keeper_secret *caller,
		 const struct keeper_secret *called, int *error_p)
{
	struct caller him = { .l = &c->end[CALLER], .secret = caller };
	pthread_t t;
	bool welcomed;

	cable_connect(c);
	assert_int_equal(pthread_create(&t, NULL, greet, &him), 0);
	welcomed = welcome(&c->end[CALLED], called);
	if (!welcomed)
		shutdown(c->end[CALLED].fd, SHUT_RDWR);
	pthread_join(t, NULL);
	*error_p = him.error;
	return welcomed && him.greeted;
}

static struct cable *met(bool seals)
{
	struct cable *c = cable_new();
	const struct keeper_secret s = secret(seals);
	int error;

	assert_true(meet(c, &s, &s, &error));
	return c;
}

static bool passes(struct cable *c, int from, const char *text)
{
	char came[64] = "";

	assert_true(keeper_send(&c->end[from], text, strlen(text)));
	return keeper_take(&c->end[!from], came, strlen(text)) && !strcmp(came, text);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void nobody_reads_what_is_sealed(void **state)
{
	struct cable *c = met(true);

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_true(passes(c, CALLER, SECRET));
		assert_true(passes(c, CALLED, SECRET));
	}
	assert_false(is_legible(c));
	cable_free(c);
	c = met(false);
	assert_true(passes(c, CALLER, SECRET));
	assert_true(is_legible(c));
	cable_free(c);
}

static void the_same_text_looks_different(void **state)
{
	struct cable *c = met(true);
	const struct heard *h = &c->heard[CALLER];
	const size_t n = strlen(SECRET) + SEAL_TAG;

	(void)state;
	assert_true(passes(c, CALLER, SECRET));
	assert_true(passes(c, CALLER, SECRET));
	assert_memory_not_equal(h->bytes + h->n - n, h->bytes + h->n - 2 * n, n);
	cable_free(c);
}

/** An image: by a file, and of several frames. */
static void images_arrive(void **state)
{
	(void)state;
	for (int seals = 0; seals < 2; seals++) {
		struct cable *c = met(seals);
		const int file = memfd_create("image", 0);
		char *image = malloc(IMAGE), *came = malloc(IMAGE);

		for (size_t i = 0; i < IMAGE; i++)
			image[i] = (char)(i * 2654435761u >> 9);
		memcpy(image + 2 * KEEPER_FRAME - 5, SECRET, strlen(SECRET));
		assert_int_equal(pwrite(file, image, IMAGE, 100), IMAGE);
		assert_true(keeper_send_file(&c->end[CALLER], file, 100, IMAGE));
		assert_true(keeper_take(&c->end[CALLED], came, IMAGE));
		assert_memory_equal(came, image, IMAGE);
		assert_int_equal(is_legible(c), !seals);
		close(file);
		free(image);
		free(came);
		cable_free(c);
	}
}

static void a_changed_bit_is_noticed(void **state)
{
	struct cable *c = met(true);
	char came[64];

	(void)state;
	assert_true(passes(c, CALLER, SECRET));
	c->heard[CALLER].flip = (int64_t)c->heard[CALLER].n + 3;
	assert_false(passes(c, CALLER, SECRET));
	assert_true(c->end[CALLED].spoiled);
	/* Nothing counts after it. */
	assert_true(keeper_send(&c->end[CALLER], SECRET, 5));
	assert_false(keeper_take(&c->end[CALLED], came, 5));
	assert_false(c->end[CALLER].spoiled);
	cable_free(c);
}

/** What has been sent once comes instead of what is sent now, or goes back to whoever sent it. */
static void no_frame_counts_elsewhere(void **state)
{
	const size_t n = strlen(SECRET), frame = n + SEAL_TAG;

	(void)state;
	for (int to = 0; to < ENDS; to++) {
		struct cable *c = met(true);
		char came[64];
		unsigned char *sent;

		assert_true(passes(c, CALLER, SECRET));
		assert_true(passes(c, CALLED, SECRET));
		sent = c->heard[CALLER].bytes + c->heard[CALLER].n - frame;
		/* The thread that carries is asleep until somebody sends. */
		assert_int_equal(send(c->plug[to], sent, frame, 0), frame);
		c->end[to].in->number -= to == CALLER; /* this direction has not used its number */
		assert_false(keeper_take(&c->end[to], came, n));
		assert_true(c->end[to].spoiled);
		cable_free(c);
	}
}

static void an_end_that_does_not_seal_is_not_heard(void **state)
{
	struct cable *c = met(true);
	char came[64];

	(void)state;
	keeper_seal_end(&c->end[CALLER]);
	assert_true(keeper_send(&c->end[CALLER], SECRET, strlen(SECRET)));
	assert_false(keeper_take(&c->end[CALLED], came, strlen(SECRET) - SEAL_TAG));
	assert_true(c->end[CALLED].spoiled);
	cable_free(c);
}

/** Each byte of what both say before anything is sealed. */
static void greetings_cannot_be_changed(void **state)
{
	static const size_t bytes[ENDS] = {
		[CALLER] = sizeof(struct keeper_hello),
		[CALLED] = sizeof(struct keeper_challenge) + sizeof(struct keeper_welcome),
	};
	const struct keeper_secret s = secret(true);
	int error;

	(void)state;
	for (int from = 0; from < ENDS; from++)
		for (size_t i = 0; i < bytes[from]; i++) {
			struct cable *c = cable_new();

			c->heard[from].flip = (int64_t)i;
			error = 0;
			assert_false(meet(c, &s, &s, &error));
			assert_int_equal(error, EPERM);
			cable_free(c);
		}
}

static void each_connection_has_keys_of_its_own(void **state)
{
	struct cable *c = met(true), *other = met(true);
	const size_t n = strlen(SECRET);
	const struct heard *h = &c->heard[CALLER];
	char came[64];

	(void)state;
	assert_true(passes(c, CALLER, SECRET));
	assert_int_equal(send(other->plug[CALLED], h->bytes + h->n - n - SEAL_TAG, n + SEAL_TAG, 0),
			 n + SEAL_TAG);
	assert_false(keeper_take(&other->end[CALLED], came, n));
	cable_free(c);
	cable_free(other);
}

static void a_processor_may_lack_aes(void **state)
{
	static const char me[] = "the one who is called";
	const char *const lacks[] = { HIM, me };

	(void)state;
	who = me;
	for (size_t i = 0; i < 2; i++) {
		struct cable *c;

		n_aes = n_chacha = 0;
		no_aes = lacks[i];
		c = met(true);
		assert_int_equal(n_aes, 0);
		assert_int_equal(n_chacha, 4);
		assert_true(passes(c, CALLER, SECRET));
		assert_true(passes(c, CALLED, SECRET));
		cable_free(c);
	}
	no_aes = NULL;
}

/** A file of CK_WIRE_KEY, of n equal bytes. */
static void set_file(char *path, char byte)
{
	char bytes[40];
	int fd;

	strcpy(path, "/tmp/chard-keeper-key-XXXXXX");
	fd = mkstemp(path);
	memset(bytes, byte, sizeof bytes);
	assert_int_equal(write(fd, bytes, sizeof bytes), sizeof bytes);
	close(fd);
	setenv("CK_WIRE_KEY", path, true);
}

static void both_need_the_same_file(void **state)
{
	struct keeper_secret none, one, other;
	struct cable *c;
	char path[64];
	int error = 0;

	(void)state;
	none = secret(true);
	set_file(path, 1);
	one = secret(true);
	unlink(path);
	set_file(path, 2);
	other = secret(true);
	unlink(path);
	unsetenv("CK_WIRE_KEY");
	assert_true(one.has_file && other.has_file && !none.has_file);
	c = cable_new();
	assert_true(meet(c, &one, &one, &error));
	assert_true(passes(c, CALLER, SECRET));
	cable_free(c);
	c = cable_new();
	assert_false(meet(c, &one, &other, &error));
	assert_int_equal(error, EPERM);
	cable_free(c);
	c = cable_new();
	assert_false(meet(c, &one, &none, &error));
	cable_free(c);
	/* Who has the job's key, and not the file, gets past the greeting if nobody looks, and reads
	 * nothing. */
	one.key = other.key;
	c = cable_new();
	assert_true(meet(c, &one, &other, &error));
	assert_false(passes(c, CALLER, SECRET));
	cable_free(c);
}

static void words_are_taken_when_they_are_whole(void **state)
{
	const size_t n = strlen(SECRET);

	(void)state;
	for (int seals = 0; seals < 2; seals++) {
		struct cable *c = met(seals);
		struct keeper_link *l = &c->end[CALLED];
		struct pollfd p = { .fd = l->fd, .events = POLLIN };
		char came[64] = "";
		int rc;

		assert_int_equal(keeper_take_now(l, came, n), 0);
		assert_true(keeper_send(&c->end[CALLER], SECRET, n));
		while (!(rc = keeper_take_now(l, came, n)))
			poll(&p, 1, 100);
		assert_int_equal(rc, 1);
		assert_string_equal(came, SECRET);
		keeper_close(&c->end[CALLER]);
		while (!(rc = keeper_take_now(l, came, n)))
			poll(&p, 1, 100);
		assert_int_equal(rc, -1);
		assert_false(l->spoiled);
		cable_free(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_reads_what_is_sealed),
		cmocka_unit_test(the_same_text_looks_different),
		cmocka_unit_test(images_arrive),
		cmocka_unit_test(a_changed_bit_is_noticed),
		cmocka_unit_test(no_frame_counts_elsewhere),
		cmocka_unit_test(an_end_that_does_not_seal_is_not_heard),
		cmocka_unit_test(greetings_cannot_be_changed),
		cmocka_unit_test(each_connection_has_keys_of_its_own),
		cmocka_unit_test(a_processor_may_lack_aes),
		cmocka_unit_test(both_need_the_same_file),
		cmocka_unit_test(words_are_taken_when_they_are_whole),
	};

	unsetenv("CK_WIRE_KEY");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
