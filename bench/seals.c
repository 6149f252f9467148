/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seals: what CK_WIRE adds to a message, at the sender and at the receiver, beside libsodium's
 * encryption of the same
 * bytes in the same run. Two nodes of this process pass frames by hand; no network takes part.
 *
 *	build/bench/seals [ROUNDS]
 *
 * Prints `name bytes ns`, medians of the rounds, of one message:
 *	bare-out, bare-in   libsodium encrypts, decrypts the bytes in pieces of 60 kB
 *	seal-out, seal-in   the frames of CK_WIRE=seal are made, opened and put together
 *	lz4-out ...         the same with CK_WIRE=lz4 and zstd, of bytes that repeat
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../runtime/machine/alive/traffic.h"
#include "../runtime/machine/cmi.h"
#include "../runtime/machine/filter/filter.h"
#include "../runtime/machine/filter/filter_int.h"
#include "../runtime/machine/machine_int.h"
#include "bench.h"

enum { NODES = 2, MOST = 1 << 20, ROUNDS_MOST = 1000, FRAMES = MOST / (60 << 10) + 2 };

static struct world {
	struct cmi m[NODES];
	struct cmi_pe pe[NODES], *wire[NODES];
	int first_pe[NODES + 1], node_of[NODES];
	uint64_t host_id[NODES];
	char names[8];
} world;

static struct cmi_msg *block; /* for the message that arrives */

static struct cmi_msg *msg_alloc(void *owner, size_t size)
{
	(void)owner;
	(void)size;
	return block;
}

static void msg_free(void *owner, struct cmi_msg *m)
{
	(void)owner;
	(void)m;
}

static void open_nodes(const char *words)
{
	struct filter_name name;

	setenv("CK_WIRE", words, 1);
	memset(&world, 0, sizeof world);
	for (int i = 0; i < NODES; i++) {
		struct cmi *m = &world.m[i];

		world.first_pe[i + 1] = i + 1;
		world.node_of[i] = i;
		world.host_id[i] = (uint64_t)i;
		world.pe[i] = (struct cmi_pe){ .m = m, .pe = i };
		world.wire[i] = &world.pe[i];
		m->client = (struct cmi_client){ .msg_alloc = msg_alloc, .msg_free = msg_free };
		m->o.n_pes = 1;
		m->job = (struct cmi_job){ .node = i,
					   .n_nodes = NODES,
					   .n_pes = NODES,
					   .my_first_pe = i,
					   .my_n_pes = 1,
					   .first_pe = world.first_pe,
					   .node_of = world.node_of,
					   .host_id = world.host_id };
		m->wire = &world.wire[i];
		m->host_names = world.names;
		filters_room.open(m, true);
	}
	for (int i = 0; i < NODES; i++) {
		filters_room.describe(&world.m[i], &name);
		for (int to = 0; to < NODES; to++)
			filters_room.learn(&world.m[to], i, &name);
	}
	for (int i = 0; i < NODES; i++)
		if (filters_room.agree(&world.m[i]))
			exit(1);
}

static void close_nodes(void)
{
	for (int i = 0; i < NODES; i++) {
		filters_room.close(&world.m[i]);
		traffic_close(&world.m[i]);
	}
}

static struct frame {
	size_t bytes;
	unsigned char *data;
} frame[FRAMES];

static int send_message(const struct cmi_msg *m)
{
	const struct item item = { .id = ITEM_MESSAGE, .data = m, .bytes = m->size };
	int n = 0;

	for (size_t at = 0; at < item.bytes; n++) {
		const size_t piece = filters_room.next(&world.pe[0], 1, &item, at);

		frame[n].bytes =
			filters_room.encode(&world.pe[0], 1, &item, at, piece, frame[n].data);
		at += piece;
	}
	return n;
}

static void receive_message(int n)
{
	struct item_arrived a;

	for (int i = 0; i < n; i++)
		if (filters_room.decode(&world.pe[1], frame[i].data, frame[i].bytes, &a))
			exit(1);
}

static double ns_out[ROUNDS_MOST], ns_in[ROUNDS_MOST];

static void print_medians(const char *name, size_t bytes, int rounds)
{
	printf("%s-out %zu %.0f\n", name, bytes, bench_median(ns_out, rounds));
	printf("%s-in %zu %.0f\n", name, bytes, bench_median(ns_in, rounds));
}

static void measure(const char *words, struct cmi_msg *m, size_t bytes, int rounds)
{
	open_nodes(words);
	for (int i = -rounds / 10 - 1; i < rounds; i++) {
		double begin, middle;
		int n;

		/* A link of 10 MB/s, so that squeezing pays. */
		for (struct host_pays *h = world.pe[0].filter->hosts; h; h = h->next)
			h->link_kbs = 10000;
		m->size = sizeof *m + bytes;
		begin = bench_now_us();
		n = send_message(m);
		middle = bench_now_us();
		receive_message(n);
		if (i < 0)
			continue;
		ns_out[i] = 1e3 * (middle - begin);
		ns_in[i] = 1e3 * (bench_now_us() - middle);
	}
	print_medians(words, bytes, rounds);
	close_nodes();
}

static void measure_bare(const struct cmi_msg *m, size_t bytes, int rounds)
{
	static const uint8_t key[SEAL_KEY] = "of nobody";
	const size_t all = sizeof *m + bytes;
	struct seal *s;

	seal_load();
	s = seal_open(seal_has_aes(), key);
	for (int i = -rounds / 10 - 1; i < rounds; i++) {
		double begin = bench_now_us(), middle;

		for (size_t at = 0, n = 0; at < all; at += FRAME_PLAIN_MOST, n++)
			seal_encode(s, n, NULL, 0, frame[n].data, (const char *)m + at,
				    all - at < FRAME_PLAIN_MOST ? all - at : FRAME_PLAIN_MOST);
		middle = bench_now_us();
		for (size_t at = 0, n = 0; at < all; at += FRAME_PLAIN_MOST, n++)
			if (!seal_decode(
				    s, n, NULL, 0, (char *)block + at, frame[n].data,
				    (all - at < FRAME_PLAIN_MOST ? all - at : FRAME_PLAIN_MOST) +
					    SEAL_TAG))
				exit(1);
		if (i < 0)
			continue;
		ns_out[i] = 1e3 * (middle - begin);
		ns_in[i] = 1e3 * (bench_now_us() - middle);
	}
	print_medians("bare", bytes, rounds);
	seal_close(s);
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = { 8, 1 << 10, 60000, MOST - sizeof(struct cmi_msg) };
	const int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS_MOST;
	struct cmi_msg *m = aligned_alloc(64, MOST);

	block = aligned_alloc(64, MOST);
	if (!m || !block || rounds < 1 || rounds > ROUNDS_MOST)
		return 1;
	for (size_t i = 0; i < MOST; i++)
		((unsigned char *)m)[i] = (unsigned char)(i / 50);
	for (int i = 0; i < FRAMES; i++)
		if (!(frame[i].data = malloc(frame_most(FRAME_PLAIN_MOST))))
			return 1;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		measure_bare(m, sizes[i], rounds);
		measure("seal", m, sizes[i], rounds);
		measure("lz4", m, sizes[i], rounds);
		measure("zstd", m, sizes[i], rounds);
	}
	for (int i = 0; i < FRAMES; i++)
		free(frame[i].data);
	free(block);
	free(m);
	return 0;
}
