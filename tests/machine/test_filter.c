/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_filter.c: the filters of CK_WIRE between two nodes of two PEs each, whose frames this test
 * carries by hand: what
 * leaves comes back as it was, and nothing that was changed, repeated, left out, moved or sent by
 * another is taken.
 * The linker leads the lines that end a process past it (rules.mk). What a network does is in
 * tests/rig.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../runtime/machine/alive/traffic.h"
#include "../../runtime/machine/cmi.h"
#include "../../runtime/machine/filter/filter.h"
#include "../../runtime/machine/filter/filter_int.h"
#include "../../runtime/machine/filter/pays.h"
#include "../../runtime/machine/machine_int.h"

enum { NODES = 2, PES = 2, ALL = NODES * PES, BATCH = 3, PUT = 2, MOST = 300000 };

static jmp_buf died;
static char said[1000];

_Noreturn void __wrap_cmi_env_refuse(const char *name, const char *value, const char *allowed);
void __wrap_machine_say(const char *format, ...);

_Noreturn void __wrap_cmi_env_refuse(const char *name, const char *value, const char *allowed)
{
	snprintf(said, sizeof said, "%s=%s is refused: it must be %s", name, value, allowed);
	longjmp(died, 1);
}

void __wrap_machine_say(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(said, sizeof said, format, ap);
	va_end(ap);
}

/* ---- two nodes ---------------------------------------------------------------------------------
 * */

struct world {
	struct cmi m[NODES];
	struct cmi_pe pe[ALL];
	struct cmi_pe *wire[NODES][PES];
	long n_alive; /* messages */
	int first_pe[NODES + 1], node_of[ALL];
	uint64_t host_id[NODES];
	char names[64];
};

static struct cmi_msg *msg_alloc(void *owner, size_t size)
{
	struct world *w = owner;
	struct cmi_msg *m = aligned_alloc(CMI_MSG_ALIGN, (size + 15) / 16 * 16);

	assert_non_null(m);
	*m = (struct cmi_msg){ .size = size };
	m->origin = CMI_ORIGIN_POOL;
	m->size_class = 77;
	w->n_alive++;
	return m;
}

static void msg_free(void *owner, struct cmi_msg *m)
{
	struct world *w = owner;

	assert_int_equal(m->size_class, 77);
	w->n_alive--;
	free(m);
}

static void node_open(struct world *w, int node)
{
	struct cmi *m = &w->m[node];

	m->filters_room = &filters_room;
	m->client = (struct cmi_client){ .msg_alloc = msg_alloc, .msg_free = msg_free };
	m->o.n_pes = PES;
	m->job = (struct cmi_job){ .node = node,
				   .n_nodes = NODES,
				   .n_pes = ALL,
				   .my_first_pe = node * PES,
				   .my_n_pes = PES,
				   .first_pe = w->first_pe,
				   .node_of = w->node_of,
				   .host_id = w->host_id };
	m->wire = w->wire[node];
	m->host_names = w->names;
	for (int i = 0; i < PES; i++) {
		w->pe[node * PES + i] =
			(struct cmi_pe){ .m = m, .owner = w, .local = i, .pe = node * PES + i };
		w->wire[node][i] = &w->pe[node * PES + i];
	}
	filters_room.open(m, true);
}

static void nodes_open(struct world *w)
{
	memset(w, 0, sizeof *w);
	for (int pe = 0; pe < ALL; pe++)
		w->node_of[pe] = pe / PES;
	for (int node = 0; node <= NODES; node++)
		w->first_pe[node] = node * PES;
	w->host_id[1] = 1;
	for (int node = 0; node < NODES; node++)
		node_open(w, node);
}

/* What the launcher carries; `change` may change what node 1 says. Returns what node 0 thinks of
 * it. */
static int meet(struct world *w, void (*change)(struct filter_name *))
{
	struct filter_name name;
	int rc[NODES];

	for (int from = 0; from < NODES; from++) {
		filters_room.describe(&w->m[from], &name);
		if (from == 1 && change)
			change(&name);
		for (int to = 0; to < NODES; to++)
			filters_room.learn(&w->m[to], from, &name);
	}
	for (int node = 0; node < NODES; node++)
		rc[node] = filters_room.agree(&w->m[node]);
	assert_int_equal(rc[0], rc[1]);
	return rc[0];
}

static void world_open(struct world *w, const char *words)
{
	setenv("CK_WIRE", words, 1);
	nodes_open(w);
	assert_int_equal(meet(w, NULL), 0);
}

static void world_close(struct world *w)
{
	for (int node = 0; node < NODES; node++) {
		filters_room.close(&w->m[node]);
		traffic_close(&w->m[node]);
	}
	assert_int_equal(w->n_alive, 0);
}

/* ---- items and frames --------------------------------------------------------------------------
 * */

struct frame {
	size_t bytes;
	unsigned char *data; /* malloc, of just its size, so that reading beyond it is noticed */
};

static struct item item_of(unsigned id, const void *header, size_t header_len, const void *data,
			   size_t bytes)
{
	return (struct item){
		.id = id, .header = header, .header_len = header_len, .data = data, .bytes = bytes
	};
}

static struct frame encode(struct world *w, int from, int to, const struct item *item, size_t *at_p)
{
	const size_t piece = filters_room.next(&w->pe[from], to, item, *at_p);
	struct frame f = { 0, malloc(frame_most(piece)) };

	assert_non_null(f.data);
	f.bytes = filters_room.encode(&w->pe[from], to, item, *at_p, piece, f.data);
	assert_in_range(f.bytes, sizeof(struct frame_head), frame_most(piece));
	f.data = realloc(f.data, f.bytes);
	*at_p += piece;
	return f;
}

static struct frame one_frame(struct world *w, int from, int to, const struct item *item)
{
	size_t at = 0;

	return encode(w, from, to, item, &at);
}

/* A frame is opened in memory of its own, so it can be given again. */
static const char *decode(struct world *w, int to, const struct frame *f, struct item_arrived *a)
{
	unsigned char *copy = malloc(f->bytes + !f->bytes);
	const char *why;

	assert_non_null(copy);
	memcpy(copy, f->data, f->bytes);
	why = filters_room.decode(&w->pe[to], copy, f->bytes, a);
	free(copy);
	return why;
}

static void refused(struct world *w, int to, const struct frame *f)
{
	struct item_arrived a;

	assert_non_null(decode(w, to, f, &a));
	assert_false(a.whole);
}

static void taken(struct world *w, int to, const struct frame *f)
{
	struct item_arrived a;

	assert_null(decode(w, to, f, &a));
	if (a.m)
		msg_free(w, a.m);
}

static void fill(unsigned char *to, size_t bytes, unsigned seed, bool random)
{
	for (size_t i = 0; i < bytes; i++) {
		seed = seed * 1664525 + 1013904223;
		to[i] = random ? (unsigned char)(seed >> 24) : (unsigned char)(i / 50);
	}
}

static void check_item(struct world *w, const struct item *item, int from,
		       const struct item_arrived *a)
{
	assert_int_equal(a->id, item->id);
	assert_int_equal(a->src_pe, from);
	assert_int_equal(a->bytes, item->bytes);
	if (item->id == ITEM_MESSAGE) {
		assert_memory_equal(a->m + 1, (const struct cmi_msg *)item->data + 1,
				    item->bytes - sizeof *a->m);
		assert_int_equal(a->m->size_class, 77);
		assert_int_equal(a->m->origin, CMI_ORIGIN_POOL);
		msg_free(w, a->m);
		return;
	}
	assert_int_equal(a->header_len, item->header_len);
	assert_memory_equal(a->header, item->header_len ? item->header : a->header,
			    item->header_len);
	assert_memory_equal(a->data, item->data, item->bytes);
}

static void carry(struct world *w, int from, int to, const struct item *item)
{
	struct item_arrived a = { .whole = false };
	size_t at = 0;

	do {
		struct frame f = encode(w, from, to, item, &at);

		assert_false(a.whole);
		assert_null(decode(w, to, &f, &a));
		free(f.data);
	} while (at < item->header_len + item->bytes);
	assert_true(a.whole);
	check_item(w, item, from, &a);
}

static unsigned char *data;

/* A link so slow that squeezing pays however busy the machine is. */
static void slow_link(struct world *w)
{
	for (int pe = 0; pe < ALL; pe++)
		for (struct host_pays *h = w->pe[pe].filter->hosts; h; h = h->next)
			h->link_kbs = 1;
}

static void carry_all(struct world *w, bool random)
{
	static const size_t sizes[] = { 32,
					33,
					100,
					1023,
					1024,
					5000,
					16 << 10,
					60 << 10,
					FRAME_PLAIN_MOST - 1,
					FRAME_PLAIN_MOST,
					FRAME_PLAIN_MOST + 1,
					2 * FRAME_PLAIN_MOST,
					MOST };
	const char header[40] = "of a put";

	fill(data, MOST, 7, random);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (int from = 0; from < ALL; from++) {
			const int to = (from + PES + (int)i % 2) % ALL == from
					       ? from
					       : (from / PES ? (int)i % 2 : 2 + (int)i % 2);
			struct item message = item_of(ITEM_MESSAGE, NULL, 0, data, sizes[i]);
			struct item put = item_of(PUT, header, sizeof header, data, sizes[i] - 32);
			struct item batch = item_of(BATCH, NULL, 0, data, sizes[i]);

			slow_link(w);
			carry(w, from, to, &message);
			carry(w, from, to, &put);
			carry(w, from, to, &batch);
		}
}

static const char *const all_words[] = { "seal", "lz4", "zstd", "lz4,seal", "seal,zstd" };
enum { N_WORDS = sizeof all_words / sizeof *all_words };

static void items_come_as_they_left(void **state)
{
	struct world w;

	(void)state;
	for (int i = 0; i < N_WORDS; i++) {
		world_open(&w, all_words[i]);
		carry_all(&w, false);
		carry_all(&w, true);
		/* Of what repeats nearly all frames are squeezed, of random bytes none. */
		if (w.m[0].filters->squeezer) {
			const struct cmi_wire_counts *c = filters_room.counts(&w.pe[0]);

			assert_in_range(c->squeezed, 10, c->frames / 2);
			assert_true(c->bytes_after < c->bytes_before * 3 / 4);
		}
		world_close(&w);
	}
}

static void no_aes(struct filter_name *name) { name->aes = 0; }

static void the_other_cipher_serves_all_if_one_lacks_aes(void **state)
{
	struct world w;

	(void)state;
	setenv("CK_WIRE", "seal", 1);
	nodes_open(&w);
	assert_int_equal(meet(&w, no_aes), 0);
	assert_false(w.m[0].filters->aes || w.m[1].filters->aes);
	carry_all(&w, true);
	world_close(&w);
}

static void nothing_is_legible(void **state)
{
	static const char secret[] = "the quick brown fox jumps over the lazy dog";
	const struct item item = item_of(PUT, secret, sizeof secret, secret, sizeof secret);
	struct world w;
	struct frame f, g;

	(void)state;
	world_open(&w, "seal");
	f = one_frame(&w, 0, 2, &item);
	g = one_frame(&w, 0, 2, &item);
	for (size_t i = 0; i + 8 <= sizeof secret; i++)
		assert_null(memmem(f.data, f.bytes, secret + i, 8));
	/* The same bytes never look the same. */
	assert_memory_not_equal(f.data + sizeof(struct frame_head),
				g.data + sizeof(struct frame_head), 8);
	free(f.data);
	free(g.data);
	world_close(&w);
}

/* ---- attacks -----------------------------------------------------------------------------------
 * */

static void changed_frames_are_refused(void **state)
{
	static const size_t sizes[] = { 32, 100, 2000 };
	struct world w;

	(void)state;
	fill(data, MOST, 7, false);
	for (int i = 0; i < N_WORDS; i++) {
		if (!strstr(all_words[i], "seal"))
			continue;
		world_open(&w, all_words[i]);
		for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
			const struct item item =
				item_of(s % 2 ? BATCH : ITEM_MESSAGE, NULL, 0, data, sizes[s]);
			struct frame f;

			carry(&w, 0, 2, &item);
			slow_link(&w);
			f = one_frame(&w, 0, 2, &item);
			for (size_t bit = 0; bit < 8 * f.bytes; bit += 1 + bit % 3) {
				f.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
				refused(&w, 2, &f);
				f.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
			}
			for (size_t n = 0; n < f.bytes; n += 1 + n / 10)
				refused(&w, 2, &(struct frame){ n, f.data });
			taken(&w, 2, &f);
			free(f.data);
		}
		world_close(&w);
	}
}

static void only_the_next_frame_is_taken(void **state)
{
	const struct item item = item_of(BATCH, NULL, 0, data, 500);
	struct frame f[4];
	struct world w;

	(void)state;
	world_open(&w, "seal");
	for (int i = 0; i < 4; i++)
		f[i] = one_frame(&w, 1, 3, &item);
	refused(&w, 3, &f[1]); /* the first one is missing */
	taken(&w, 3, &f[0]);
	refused(&w, 3, &f[0]); /* again */
	refused(&w, 3, &f[2]); /* too early */
	taken(&w, 3, &f[1]);
	refused(&w, 3, &f[0]);
	refused(&w, 3, &f[3]);
	taken(&w, 3, &f[2]);
	taken(&w, 3, &f[3]);
	for (int i = 0; i < 4; i++)
		free(f[i].data);
	world_close(&w);
}

static void frames_of_others_are_refused(void **state)
{
	const struct item item = item_of(BATCH, NULL, 0, data, 500);
	struct frame_head head;
	struct frame f;
	struct world w, later;

	(void)state;
	world_open(&w, "seal");
	world_open(&later, "seal");
	f = one_frame(&w, 0, 2, &item);
	refused(&w, 3, &f);     /* to another PE */
	refused(&w, 1, &f);     /* of the own node */
	refused(&later, 2, &f); /* of another run */
	memcpy(&head, f.data, sizeof head);
	for (head.src_pe = -1; head.src_pe <= ALL; head.src_pe++) {
		memcpy(f.data, &head, sizeof head);
		if (head.src_pe != 0)
			refused(&w, 2, &f); /* from another PE */
		refused(&w, 0, &f);         /* back where it came from */
	}
	free(f.data);
	world_close(&w);
	world_close(&later);
}

/* Streams overtake each other; none opens what another one carried. */
static void streams_are_numbered_apart(void **state)
{
	struct item calls = item_of(ITEM_MESSAGE, NULL, 0, data, 1000), urgent = calls;
	struct frame f, g, h;
	struct frame_head *head;
	struct world w;
	size_t at = 0;

	(void)state;
	urgent.stream = 1;
	world_open(&w, "seal");
	f = encode(&w, 0, 2, &calls, &at);
	at = 0;
	g = encode(&w, 0, 2, &urgent, &at);
	at = 0;
	h = encode(&w, 0, 2, &urgent, &at);
	/* One key for both would encrypt what has the same number in the same way. */
	assert_memory_not_equal(f.data + sizeof *head, g.data + sizeof *head, 1000);
	refused(&w, 2, &h);
	taken(&w, 2, &g);
	head = (struct frame_head *)f.data;
	head->stream = 2;
	refused(&w, 2, &f);
	head->stream = ITEM_STREAMS;
	refused(&w, 2, &f);
	head->stream = 0;
	taken(&w, 2, &f);
	taken(&w, 2, &h);
	free(f.data);
	free(g.data);
	free(h.data);
	world_close(&w);
}

/* Pieces of two items, and ends of others. */
static void pieces_stay_together(void **state)
{
	const struct item large = item_of(ITEM_MESSAGE, NULL, 0, data, MOST);
	size_t at = 0, other = 0;
	struct frame f, g;
	struct world w;

	(void)state;
	world_open(&w, "seal");
	f = encode(&w, 0, 2, &large, &at);
	taken(&w, 2, &f);
	g = encode(&w, 1, 2, &large, &other); /* from elsewhere, in between */
	taken(&w, 2, &g);
	refused(&w, 2, &f);
	free(f.data);
	free(g.data);
	while (at < MOST) {
		f = encode(&w, 0, 2, &large, &at);
		taken(&w, 2, &f);
		free(f.data);
	}
	while (other < MOST) {
		g = encode(&w, 1, 2, &large, &other);
		taken(&w, 2, &g);
		free(g.data);
	}
	world_close(&w);
}

/* Without a seal anything may come: it is taken or refused, and nothing else happens. */
static void damage_without_a_seal_is_bounded(void **state)
{
	const struct item item = item_of(BATCH, NULL, 0, data, 5000);
	struct item_arrived a;
	struct world w;
	struct frame f;
	unsigned seed = 1;

	(void)state;
	fill(data, MOST, 3, false);
	for (int i = 1; i <= 2; i++) {
		world_open(&w, all_words[i]);
		carry(&w, 0, 2, &item);
		slow_link(&w);
		for (int n = 0; n < 3000; n++) {
			f = one_frame(&w, 0, 2, &item);
			assert_in_range(f.bytes, sizeof(struct frame_head) + 1, 4000);
			seed = seed * 1664525 + 1013904223;
			f.data[sizeof(struct frame_head) +
			       seed % (f.bytes - sizeof(struct frame_head))] ^=
				(unsigned char)(1 + (seed >> 20) % 255);
			decode(&w, 2, &f, &a);
			free(f.data);
		}
		world_close(&w);
	}
}

/* ---- the meeting -------------------------------------------------------------------------------
 * */

static void other_words(struct filter_name *name) { name->words ^= WIRE_LZ4; }

static void other_key(struct filter_name *name) { name->public_key[3] ^= 1; }

static void no_file(struct filter_name *name) { name->has_file = 0; }

static void meet_badly(const char *words, void (*change)(struct filter_name *), const char *says)
{
	struct world w;

	setenv("CK_WIRE", words, 1);
	nodes_open(&w);
	said[0] = 0;
	assert_int_equal(meet(&w, change), -EPROTO);
	assert_non_null(strstr(said, says));
	world_close(&w);
}

static char key_path[] = "/tmp/chard-test-filter-XXXXXX";

static void write_key(size_t bytes, mode_t mode)
{
	int fd = open(key_path, O_WRONLY | O_TRUNC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, bytes), bytes);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void open_refused(const char *says)
{
	static struct world w; /* as longjmp may forget others */

	said[0] = 0;
	if (setjmp(died) == 0) {
		nodes_open(&w);
		fail_msg("CK_WIRE=%s is taken", getenv("CK_WIRE"));
	}
	assert_non_null(strstr(said, says));
	filters_room.close(&w.m[0]);
}

static void nodes_that_differ_do_not_begin(void **state)
{
	(void)state;
	meet_badly("seal", other_words, "has another CK_WIRE");
	meet_badly("lz4", other_words, "has another CK_WIRE");
}

static void the_file_proves_public_keys(void **state)
{
	const struct item item = item_of(BATCH, NULL, 0, data, 500);
	struct cmi_key128 without;
	struct world w;

	(void)state;
	fill(data, MOST, 11, true);
	setenv("CK_WIRE_KEY", key_path, 1);
	write_key(32, 0600);
	meet_badly("seal", other_key, "changed its public key");
	meet_badly("seal", no_file, "has no CK_WIRE_KEY");
	nodes_open(&w);
	without = w.m[0].key;
	assert_int_equal(meet(&w, NULL), 0);
	carry(&w, 0, 3, &item);
	/* The job's key is another, but the same for all. */
	assert_memory_not_equal(&w.m[0].key, &without, sizeof without);
	assert_memory_equal(&w.m[0].key, &w.m[1].key, sizeof without);
	world_close(&w);
	unsetenv("CK_WIRE_KEY");
}

/* Without the file whoever changes what goes through the launcher is the other node. */
static void a_changed_key_opens_nothing(void **state)
{
	const struct item item = item_of(BATCH, NULL, 0, data, 500);
	struct world w;
	struct frame f;

	(void)state;
	setenv("CK_WIRE", "seal", 1);
	nodes_open(&w);
	assert_int_equal(meet(&w, other_key), 0);
	f = one_frame(&w, 2, 0, &item);
	refused(&w, 0, &f);
	free(f.data);
	world_close(&w);
}

static void bad_values_are_refused(void **state)
{
	static const char *const bad[] = { "sael", "seal,seal", "lz4,zstd", "seal,",
					   ",seal", "seal lz4", "sealed" };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		setenv("CK_WIRE", bad[i], 1);
		open_refused("it must be seal, lz4, zstd");
	}
	setenv("CK_WIRE_KEY", key_path, 1);
	setenv("CK_WIRE", "lz4", 1);
	open_refused("CK_WIRE_KEY");
	setenv("CK_WIRE", "seal", 1);
	write_key(31, 0600);
	open_refused("32 or more random bytes");
	write_key(40, 0640);
	open_refused("only its owner");
	write_key(40, 0604);
	open_refused("only its owner");
	setenv("CK_WIRE_KEY", "/nowhere/at/all", 1);
	open_refused("can be read on every host");
	unsetenv("CK_WIRE_KEY");
}

/* ---- whether it pays ----------------------------------------------------------------------------
 * */

/* How many of n items of 60 kB are squeezed, each to `ratio`, at so many ns a byte. */
static int n_tried(struct host_pays *h, int n, double ratio, double ns)
{
	enum { BYTES = 60 << 10 };
	int tried = 0;

	for (int i = 0; i < n; i++)
		if (pays_to_try(h, 1, BYTES)) {
			pays_learn(h, 1, BYTES, (size_t)(ratio * BYTES), (uint64_t)(ns * BYTES));
			tried++;
		}
	return tried;
}

static void squeezing_stops_where_it_does_not_pay(void **state)
{
	struct host_pays h = { .link_kbs = 0 };

	(void)state;
	assert_int_equal(n_tried(&h, 100, 0.3, 2), 0); /* the link is unknown */
	h.link_kbs = 100000;                           /* 10 ns a byte */
	assert_int_equal(n_tried(&h, 100, 0.3, 2), 100);
	h.link_kbs = 1000000; /* 1 ns */
	assert_in_range(n_tried(&h, 10000, 0.3, 2), 10000 / 140, 10000 / 120);
	h.link_kbs = 10000; /* the link became slow */
	assert_int_equal(n_tried(&h, 100, 0.3, 2), 100);
	/* The data became random. */
	assert_in_range(n_tried(&h, 10000, 1, 20), 10000 / 20, 10000 / 10);
	assert_in_range(n_tried(&h, 10000, 0.3, 2), 9000, 10000 - 1); /* and changed again */
	assert_false(pays_to_try(&h, 1, 1000));                       /* too small */
}

/* `n` frames of 60 kB that were waited for, of which each `every`th took `seldom` us and the others
 * `us`. */
static void come(struct host_pays *h, int n, int us, int every, int seldom)
{
	for (int i = 0; i < n; i++)
		pays_came(h, 60000, (i % every == every - 1 ? seldom : us) / 60., true);
}

static void the_link_is_measured_by_gaps(void **state)
{
	struct host_pays h = { .link_kbs = 0 };

	(void)state;
	come(&h, 7, 600, 1, 600);
	assert_int_equal(h.came_kbs, 0); /* too few */
	come(&h, 1, 600, 1, 600);
	assert_in_range(h.came_kbs, 99000, 101000);
	assert_true(pays_to_cut(&h, 60000, 1)); /* the other side has not told */
	h.link_kbs = 100000;
	assert_false(pays_to_cut(&h, 60000, 1));
	assert_true(pays_to_cut(&h, 60000, 64));
	assert_false(pays_to_cut(&h, 1000, 64));
	come(&h, 5, 150, 1, 150); /* it became faster: seen at once */
	assert_in_range(h.came_kbs, 390000, 410000);
	come(&h, 11, 600, 1, 600); /* and slow again: doubted for a while */
	assert_in_range(h.came_kbs, 390000, 410000);
	come(&h, 1, 600, 1, 600);
	assert_in_range(h.came_kbs, 99000, 101000);
	pays_came(&h, 8000, 1, true); /* too small to tell */
	assert_int_equal(h.n_gaps, 8 + 5 + 11 + 1);
}

static void what_holds_up_frames_is_not_the_link(void **state)
{
	struct host_pays h = { .link_kbs = 0 };

	(void)state;
	/* The sender loses its core for 4 ms in three of four gaps: the others still tell. */
	for (int i = 0; i < 1000; i++) {
		come(&h, 1, i % 4 ? 4000 : 100, 1, i % 4 ? 4000 : 100);
		if (h.came_kbs)
			assert_in_range(h.came_kbs, 14000, 610000);
	}
	come(&h, 16, 4000, 2, 100);
	assert_in_range(h.came_kbs, 590000, 610000);
	/* A bucket lets each eighth frame pass at once: the link is as slow as it is behind that. */
	come(&h, 100, 6000, 8, 30);
	assert_in_range(h.came_kbs, 9900, 10100);
}

/* A receiver that never waits is slow itself: nobody knows how fast the link is. */
static void a_link_that_is_seldom_waited_for_is_fast(void **state)
{
	struct host_pays h = { .link_kbs = 0 };

	(void)state;
	for (int i = 0; i < 1000; i++) {
		pays_came(&h, 60000, 4000 / 60., i % 6 == 0);
		if (i >= 16)
			assert_int_equal(h.came_kbs, UINT32_MAX);
	}
	h.link_kbs = h.came_kbs;
	assert_in_range(n_tried(&h, 10000, 0.1, 0.2), 1, 10000 / 1024 + 1);
	come(&h, 16, 600, 1, 600);
	assert_in_range(h.came_kbs, 99000, 101000);
}

static void some_frames_are_left_for_measuring(void **state)
{
	struct host_pays h = { .link_kbs = 10000 };
	int left = 0;

	(void)state;
	for (int i = 0; i < 10000; i++)
		if (pays_to_measure(&h, 60000))
			left++;
		else
			pays_learn(&h, 1, 60000, 10000, 100000);
	assert_in_range(left, 10000 / 100, 10000 / 94); /* one of 16 * 60000 bytes after squeezing */
	assert_false(pays_to_measure(&h, 1000));
}

/* A piece of an item comes; before it a poll has found nothing. */
static void comes(struct world *w, const struct item *item, size_t *at)
{
	struct frame f = encode(w, 0, 2, item, at);

	filters_room.idle(&w->pe[2]);
	taken(w, 2, &f);
	free(f.data);
}

/* The same, a second after the poll before. */
static void comes_late(struct world *w, const struct item *item, size_t *at)
{
	w->pe[2].filter->pair[0]->before_ns -= 1000 * 1000 * 1000;
	comes(w, item, at);
}

/* The bound of a frame goes back to the last poll that found nothing before its predecessor, and
 * counts all that came since. */
static void bounds_hold_whoever_loses_his_core(void **state)
{
	const struct item item = item_of(BATCH, NULL, 0, data, 4 * FRAME_PLAIN_MOST);
	const struct link_gap *gap;
	struct world w;
	size_t at = 0;

	(void)state;
	world_open(&w, "lz4");
	comes(&w, &item, &at);
	gap = w.pe[2].filter->hosts->gap;
	w.pe[2].filter->idle_ns -= 1000 * 1000 * 1000; /* it was away then, and finds all there */
	w.pe[2].filter->pair[0]->before_ns -= 1000 * 1000 * 1000;
	while (at < item.bytes) {
		struct frame f = encode(&w, 0, 2, &item, &at);

		taken(&w, 2, &f);
		free(f.data);
	}
	assert_int_equal(w.pe[2].filter->hosts->n_gaps, 3);
	for (int i = 0; i < 3; i++) {
		const double ns = gap[i].most * (i + 1) * FRAME_PLAIN_MOST;

		assert_false(gap[i].waited);
		assert_true(ns > 0.99e9 && ns < 2e9);
	}
	/* Now it waits: what came before counts no more. */
	at = 0;
	comes(&w, &item, &at);
	while (at < item.bytes)
		comes_late(&w, &item, &at);
	for (int i = 3; i < 6; i++) {
		const double ns = gap[i].most * FRAME_PLAIN_MOST;

		assert_true(gap[i].waited);
		assert_true(ns > 0.99e9 && ns < 2e9);
	}
	world_close(&w);
}

/* The receiver tells the sender with a frame of its own, if it has waited for the second of two
 * frames. */
static void the_receiver_tells_the_sender(void **state)
{
	const struct item item = item_of(BATCH, NULL, 0, data, 40000),
			  large = item_of(BATCH, NULL, 0, data, 4 * FRAME_PLAIN_MOST);
	struct host_pays *there;
	struct world w;
	size_t at;

	(void)state;
	world_open(&w, "lz4");
	fill(data, MOST, 7, true);
	for (size_t i = 0; i < MOST; i += 1024) /* squeezed, it is still much */
		memset(data + i, 0, MOST - i < 400 ? MOST - i : 400);
	for (int i = 0; i < 8; i++) {
		at = 0;
		comes(&w, &item, &at);
		assert_true(at < 40000); /* cut, as the link is unknown */
		comes_late(&w, &item, &at);
	}
	there = w.pe[2].filter->hosts;
	assert_in_range(there->came_kbs, 1, 21);
	carry(&w, 2, 0, &item);
	assert_in_range(w.pe[0].filter->pair[2 * ITEM_STREAMS]->host->link_kbs, 1, 21);
	/* Squeezed ones are not measured, but some are left as they are. */
	for (int i = 0; i < 800; i++)
		for (at = 0; at < large.bytes;)
			comes(&w, &large, &at);
	assert_in_range(there->n_gaps, 9, 8 + 3 * 800 / 8);
	world_close(&w);
}

/* ---- what does not come any more ----------------------------------------------------------- */

static const uint64_t S = 1000 * 1000 * 1000;

/* What a PE has counted may still lie in UCX until it polls. */
static void frames_are_told_once_all_have_polled(void **state)
{
	struct traffic_sent s = { .told = 0 };

	(void)state;
	assert_int_equal(traffic_told(&s, 5, 1 * S, 2 * S), 0);
	assert_int_equal(traffic_told(&s, 7, 1 * S, 3 * S), 0); /* one PE computes */
	assert_int_equal(traffic_told(&s, 9, 4 * S, 5 * S), 5); /* not 7: that is younger */
	assert_int_equal(traffic_told(&s, 9, 6 * S, 7 * S), 9);
}

static void frames_that_do_not_come_are_noticed(void **state)
{
	struct traffic_due d = { .told = 0 }, first = { .told = 2 };

	(void)state;
	/* The first word from there may tell of frames that are on their way. */
	assert_int_equal(traffic_due_ns(&first, 0, 10 * S, 10 * S), 0);
	assert_int_equal(traffic_due_ns(&first, 0, 13 * S, 13 * S), 3 * S);
	assert_int_equal(traffic_due_ns(&d, 0, 10 * S, 10 * S), 0); /* none is due */
	d.told = 3;
	assert_int_equal(traffic_due_ns(&d, 1, 11 * S, 11 * S), 0); /* one came */
	assert_int_equal(traffic_due_ns(&d, 1, 15 * S, 15 * S), 4 * S);
	assert_int_equal(traffic_due_ns(&d, 1, 15 * S, 17 * S), 0); /* a PE computes, and has not looked */
	assert_int_equal(traffic_due_ns(&d, 1, 19 * S, 19 * S), 2 * S);
	assert_int_equal(traffic_due_ns(&d, 3, 20 * S, 20 * S), 0); /* all came */
	assert_int_equal(traffic_due_ns(&d, 4, 30 * S, 30 * S), 0); /* and more than was told */
	assert_int_equal(traffic_due_ns(&d, 4, 40 * S, 40 * S), 0);
	d.told = 2; /* numbers go round */
	assert_int_equal(traffic_due_ns(&d, UINT32_MAX, 50 * S, 50 * S), 0);
	assert_int_equal(traffic_due_ns(&d, UINT32_MAX, 60 * S, 60 * S), 10 * S);
}

/* Each PE counts for its node; polls of all of them count. */
static void traffic_is_counted(void **state)
{
	const struct item item = item_of(BATCH, NULL, 0, data, 40000);
	struct world w;

	(void)state;
	world_open(&w, "seal");
	carry(&w, 0, 2, &item);
	carry(&w, 1, 2, &item);
	carry(&w, 1, 3, &item);
	assert_int_equal(traffic_out(&w.m[0], 1), 3);
	assert_int_equal(traffic_in(&w.m[0], 1), 0);
	assert_int_equal(traffic_in(&w.m[1], 0), 3);
	filters_room.idle(&w.pe[3]);
	assert_int_equal(traffic_quiet_ns(&w.m[1]), 0);
	filters_room.idle(&w.pe[2]);
	assert_true(traffic_quiet_ns(&w.m[1]) > 0);
	world_close(&w);
	world_open(&w, "lz4");
	assert_null(w.m[0].traffic);
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_come_as_they_left),
		cmocka_unit_test(the_other_cipher_serves_all_if_one_lacks_aes),
		cmocka_unit_test(nothing_is_legible),
		cmocka_unit_test(changed_frames_are_refused),
		cmocka_unit_test(only_the_next_frame_is_taken),
		cmocka_unit_test(frames_of_others_are_refused),
		cmocka_unit_test(streams_are_numbered_apart),
		cmocka_unit_test(pieces_stay_together),
		cmocka_unit_test(damage_without_a_seal_is_bounded),
		cmocka_unit_test(nodes_that_differ_do_not_begin),
		cmocka_unit_test(the_file_proves_public_keys),
		cmocka_unit_test(a_changed_key_opens_nothing),
		cmocka_unit_test(bad_values_are_refused),
		cmocka_unit_test(squeezing_stops_where_it_does_not_pay),
		cmocka_unit_test(the_link_is_measured_by_gaps),
		cmocka_unit_test(what_holds_up_frames_is_not_the_link),
		cmocka_unit_test(a_link_that_is_seldom_waited_for_is_fast),
		cmocka_unit_test(some_frames_are_left_for_measuring),
		cmocka_unit_test(bounds_hold_whoever_loses_his_core),
		cmocka_unit_test(the_receiver_tells_the_sender),
		cmocka_unit_test(frames_are_told_once_all_have_polled),
		cmocka_unit_test(frames_that_do_not_come_are_noticed),
		cmocka_unit_test(traffic_is_counted),
	};
	int failed;

	data = malloc(MOST);
	close(mkstemp(key_path));
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(key_path);
	free(data);
	return failed;
}
