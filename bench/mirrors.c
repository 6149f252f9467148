/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mirrors: how fast a keeper sends an image to another one, as it lies and sealed, beside
 * libsodium's encryption of the same bytes in the same run. Both ends are threads of this process.
 *
 *	build/bench/mirrors [ROUNDS [MB]]
 *
 * Prints `name MB/s`, medians of the rounds:
 *	bare-out, bare-in   libsodium encrypts, decrypts the bytes in pieces of 64 kB
 *	plain, sealed       the image goes from one memory file to another
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../launcher/keeper/keeper_words.h"
#include "bench.h"

enum { ROUNDS_MOST = 1000 };

static struct {
	size_t bytes;
	int rounds, file;
	char *image, *copy;
	double mbs[ROUNDS_MOST];
} bench;

_Noreturn static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void *map_image(const char *name, int *file_p)
{
	const int file = memfd_create(name, 0);
	void *p;

	if (file < 0 || ftruncate(file, (off_t)bench.bytes))
		fail("a memory file");
	p = mmap(NULL, bench.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (p == MAP_FAILED)
		fail("mmap");
	for (size_t i = 0; i < bench.bytes; i++)
		((unsigned char *)p)[i] = (unsigned char)(i / 50);
	*file_p = file;
	return p;
}

/* ---- libsodium alone ------------------------------------------------------------------------- */

static void note(int round, double begin)
{
	if (round >= 0)
		bench.mbs[round] = (double)bench.bytes / (bench_now_us() - begin);
}

static void print_median(const char *name)
{
	printf("%s %.0f\n", name, bench_median(bench.mbs, bench.rounds));
}

/* A frame stays in the cache, as it does there. */
static void measure_bare(void)
{
	static const uint8_t key[SEAL_KEY] = "of nobody";
	static unsigned char frame[KEEPER_FRAME + SEAL_TAG];
	struct seal *s;

	seal_load();
	s = seal_open(seal_has_aes(), key);
	for (int i = -1; i < bench.rounds; i++) {
		const double begin = bench_now_us();

		for (size_t at = 0; at < bench.bytes; at += KEEPER_FRAME)
			seal_encode(s, at, NULL, 0, frame, bench.image + at, KEEPER_FRAME);
		note(i, begin);
	}
	print_median("bare-out");
	seal_encode(s, 0, NULL, 0, frame, bench.image, KEEPER_FRAME);
	for (int i = -1; i < bench.rounds; i++) {
		const double begin = bench_now_us();

		for (size_t at = 0; at < bench.bytes; at += KEEPER_FRAME)
			if (!seal_decode(s, 0, NULL, 0, bench.copy + at, frame, sizeof frame))
				fail("libsodium");
		note(i, begin);
	}
	print_median("bare-in");
	seal_close(s);
}

/* ---- a connection ---------------------------------------------------------------------------- */

struct job {
	struct keeper_secret secret;
	uint16_t port;
};

static void *take(void *arg)
{
	const struct job *j = arg;
	struct sockaddr_storage to = { 0 };
	struct sockaddr_in *four = (void *)&to;
	struct keeper_hello hello = { .host = "h" };
	struct keeper_link l = { .fd = -1 };
	char done = 1;

	four->sin_family = AF_INET;
	four->sin_port = htons(j->port);
	four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	l.fd = keeper_call(&to, 1000);
	if (l.fd < 0 || !keeper_greet(&l, &j->secret, &hello))
		fail("the connection");
	for (int i = -1; i < bench.rounds; i++)
		if (!keeper_take(&l, bench.copy, bench.bytes) || !keeper_send(&l, &done, 1))
			fail("taking an image");
	keeper_close(&l);
	return NULL;
}

static void measure(const char *name, bool seals)
{
	struct keeper_greeting g;
	struct keeper_hello hello;
	struct job j;
	struct keeper_link l = { .fd = -1 };
	pthread_t t;
	char done;
	const int listens = keeper_listen(&j.port);

	keeper_secret_open(&j.secret, (struct cmi_key128){ { 1, 2 } }, seals);
	if (pthread_create(&t, NULL, take, &j))
		fail("a thread");
	l.fd = accept(listens, NULL, NULL);
	keeper_watch(l.fd);
	if (!keeper_challenge(&l, &j.secret, &g) || !keeper_take(&l, &hello, sizeof hello) ||
	    !keeper_welcome(&l, &j.secret, &g, &hello))
		fail("the connection");
	for (int i = -1; i < bench.rounds; i++) {
		const double begin = bench_now_us();

		if (!keeper_send_file(&l, bench.file, 0, bench.bytes) || !keeper_take(&l, &done, 1))
			fail("sending an image");
		note(i, begin);
	}
	pthread_join(t, NULL);
	keeper_close(&l);
	close(listens);
	print_median(name);
}

int main(int argc, char **argv)
{
	int unused;

	bench.rounds = argc > 1 ? (int)bench_number("mirrors", "ROUNDS", argv[1], 1, ROUNDS_MOST) : 20;
	bench.bytes = (size_t)(argc > 2 ? bench_number("mirrors", "MB", argv[2], 1, 4096) : 128) << 20;
	unsetenv("CK_WIRE_KEY");
	bench.image = map_image("image", &bench.file);
	bench.copy = map_image("copy", &unused);
	measure_bare();
	measure("plain", false);
	measure("sealed", true);
	return 0;
}
