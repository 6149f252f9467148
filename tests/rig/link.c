/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link: the cable between a host of the rig and its switch (rig.py), as good or bad as it is told to be. It owns a tap
 * at either end, and carries frames between the two:
 *
 *   link SEED SWITCH HOST
 *
 * An end is NAME, a tap that is made here; NAME@FILE, one in the network namespace that FILE stands for; or fd:N, a
 * socket for packets that the caller has opened, through which tests feed it frames of their own.
 *
 * Lines on stdin are commands. Each is answered by one line, "ok ..." or "no: WHY", after it has taken effect; an "ok"
 * also says at the start that both ends are there. It ends with its stdin.
 *
 *   WAY NAME=VALUE ...   settings. WAY is in (towards the host), out or both; a name that is not given keeps its value
 *     loss dup reorder flip   how likely a frame is to be lost, to come twice, to be overtaken by up to three others,
 *                             and to have one bit flipped, 0 to 1. Only IP packets are flipped, behind the header of
 *                             the frame: ARP has no sum, and on a real Ethernet the frame has one.
 *     forge head stream replay   how likely a TCP segment of FORGED_LEAST bytes and more is to be
 *                             changed by an attacker, who makes its sum right again: one bit
 *                             behind the first HEAD bytes, where UCX mostly has its own; or among
 *                             these; or among the first STREAM of these, which say how long a
 *                             message is; or all by the last segment of the same connection and
 *                             length
 *     wireup                  the same for one bit of the first segments, of any length, of a
 *                             connection of UCX
 *     port                    the attacker changes segments from or to this port only; 0: all
 *     delay jitter            ms that each frame takes, and at most takes longer. Frames keep their order.
 *     hold                    ms after which a frame that waits to be overtaken goes on without that
 *     rate                    Mbit/s; 0: as fast as it goes
 *     queue                   kB that may wait for the rate; what comes on top is dropped
 *     cut                     1: nothing comes through, what is under way included
 *   carrier 0|1          of the host's tap
 *   count                "ok in NAME=N ... out NAME=N ...": see enum count
 *
 * What becomes of a frame follows from the seed, the way and the number of the frame, whatever time it comes at; all but
 * what the queue drops.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { FRAME_ROOM = 2048, ETHERNET_HEADER = 14, TYPE_AT = 12 };
/* Frames on the way in one direction; those that are read at a time, so that no end waits for long. */
enum { RING = 4096, BATCH = 64 };
enum { MOST_OVERTAKE = 3 };
enum { FORGED_LEAST = 64, HEAD = 24, STREAM = 5 };
/* Of a connection; those that are remembered. */
enum { WIREUP_SEGMENTS = 6, CONNECTIONS = 64 };

/* Each frame that comes is counted as seen. seen + duplicated is carried + lost + cut + dropped, once none is on the
 * way. Dropped: the queue was full, or the device at the other end was down. */
enum count { SEEN, CARRIED, LOST, DUPLICATED, REORDERED, FLIPPED, CUT, DROPPED, FORGED,
	REPLAYED, COUNTS };
static const char *const count_names[COUNTS] = {"seen", "carried", "lost", "duplicated", "reordered", "flipped", "cut",
	"dropped", "forged", "replayed"};

struct settings {
	double loss, dup, reorder, flip, forge, head, stream, replay, wireup, port;
	double delay, jitter, hold, rate, queue, cut;
};

static const struct { const char *name; size_t at; double most; } known[] = {
	{"loss", offsetof(struct settings, loss), 1},
	{"dup", offsetof(struct settings, dup), 1},
	{"reorder", offsetof(struct settings, reorder), 1},
	{"flip", offsetof(struct settings, flip), 1},
	{"forge", offsetof(struct settings, forge), 1},
	{"head", offsetof(struct settings, head), 1},
	{"stream", offsetof(struct settings, stream), 1},
	{"wireup", offsetof(struct settings, wireup), 1},
	{"replay", offsetof(struct settings, replay), 1},
	{"port", offsetof(struct settings, port), 65535},
	{"delay", offsetof(struct settings, delay), 60000},
	{"jitter", offsetof(struct settings, jitter), 60000},
	{"hold", offsetof(struct settings, hold), 60000},
	{"rate", offsetof(struct settings, rate), 1000000},
	{"queue", offsetof(struct settings, queue), 1000000},
	{"cut", offsetof(struct settings, cut), 1},
};
enum { KNOWN = sizeof known / sizeof *known };

struct frame { uint64_t due_ns; size_t length; unsigned char data[FRAME_ROOM]; };

/** One direction. Frames keep their order, so one that is due waits for those before it in the ring. */
struct way {
	int from, to;
	struct settings set;
	uint64_t random, spite; /* of what happens by chance, and of what is done on purpose */
	struct segment {
		size_t length;
		unsigned char data[FRAME_ROOM + 4]; /* ports, then data */
	} last[FRAME_ROOM]; /* by the length */
	/* UCX's, and how many segments each has had: */
	struct { uint32_t ports; int n; } begun[CONNECTIONS];
	size_t n_begun;
	uint64_t count[COUNTS];
	uint64_t busy_ns;     /* until then it sends what has come, at its rate */
	size_t head, tail;    /* of the ring; there is always room for one frame more, at the tail */
	int behind;           /* so many frames are yet to overtake `held`; 0: none is held */
	uint64_t expires_ns;  /* then it goes on without that */
	bool overtaken;
	struct frame held, ring[RING];
};

enum { IN, OUT, WAYS };
static const char *const way_names[WAYS] = {"in", "out"};
static struct way ways[WAYS];

static void die(const char *what, const char *which)
{
	printf("no: %s %s: %s\n", what, which, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t ns_of_ms(double ms)
{
	return (uint64_t)(ms * 1e6);
}

/* ---- what becomes of a frame -------------------------------------------------------------------- */

/* splitmix64: any two seeds give unrelated numbers. */
static uint64_t draw_of(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static uint64_t draw(struct way *w)
{
	return draw_of(&w->random);
}

static double below_1(uint64_t random)
{
	return (double)(random >> 11) * 0x1p-53;
}

static double draw_below_1(struct way *w)
{
	return below_1(draw(w));
}

struct fate { bool lost, twice, late, bad; int behind; uint64_t bit; double jitter_ms; };

/* As many draws for each frame, whatever the settings are: the next frame's fate does not depend on this one's. */
static struct fate draw_fate(struct way *w)
{
	struct fate f;

	f.lost = draw_below_1(w) < w->set.loss;
	f.twice = draw_below_1(w) < w->set.dup;
	f.late = draw_below_1(w) < w->set.reorder;
	f.bad = draw_below_1(w) < w->set.flip;
	f.behind = 1 + (int)(draw(w) % MOST_OVERTAKE);
	f.bit = draw(w);
	f.jitter_ms = draw_below_1(w) * w->set.jitter;
	return f;
}

static struct frame *at(struct way *w, size_t n)
{
	return &w->ring[n % RING];
}

static bool is_ip(const struct frame *f)
{
	const unsigned char *type = f->data + TYPE_AT;

	return f->length > ETHERNET_HEADER && ((type[0] == 0x08 && type[1] == 0x00) || (type[0] == 0x86 && type[1] == 0xdd));
}

static void flip(struct way *w, struct frame *f, uint64_t bit)
{
	if (!is_ip(f))
		return;
	bit %= 8 * (f->length - ETHERNET_HEADER);
	f->data[ETHERNET_HEADER + bit / 8] ^= (unsigned char)(1 << bit % 8);
	w->count[FLIPPED]++;
}

/* ---- an attacker --------------------------------------------------------------------------------
 * */

/* The parts of a TCP segment over IPv4. */
struct tcp { unsigned char *ip, *tcp, *data; size_t bytes; };

static size_t number_at(const unsigned char *p)
{
	return (size_t)p[0] << 8 | p[1];
}

/* False: the frame is no such segment, or has no data. */
static bool find_tcp(struct frame *f, struct tcp *t)
{
	enum { IP = 20, TCP = 20, PROTOCOL_AT = 9, IS_TCP = 6, OFFSET_AT = 12 };

	if (f->length < ETHERNET_HEADER + IP + TCP || number_at(f->data + TYPE_AT) != 0x0800)
		return false;
	t->ip = f->data + ETHERNET_HEADER;
	t->tcp = t->ip + 4 * (t->ip[0] & 15);
	const size_t total = number_at(t->ip + 2);
	const size_t before = (size_t)(t->tcp - t->ip) + 4 * (size_t)(t->tcp[OFFSET_AT] >> 4);
	if (t->ip[PROTOCOL_AT] != IS_TCP || total > f->length - ETHERNET_HEADER ||
	    total <= before)
		return false;
	t->data = t->ip + before;
	t->bytes = total - before;
	return true;
}

static uint64_t sum_of(const unsigned char *p, size_t bytes)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < bytes; i++)
		sum += (uint64_t)p[i] << (i % 2 ? 0 : 8);
	return sum;
}

static void make_sum_right(const struct tcp *t)
{
	enum { SUM_AT = 16, ADDRESSES_AT = 12, ADDRESSES = 8, IS_TCP = 6 };
	const size_t bytes = (size_t)(t->data - t->tcp) + t->bytes;

	t->tcp[SUM_AT] = t->tcp[SUM_AT + 1] = 0;
	uint64_t sum = sum_of(t->tcp, bytes) + sum_of(t->ip + ADDRESSES_AT, ADDRESSES) + IS_TCP + bytes;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	t->tcp[SUM_AT] = (unsigned char)(~sum >> 8);
	t->tcp[SUM_AT + 1] = (unsigned char)~sum;
}

static void flip_bits(struct way *w, const struct tcp *t, size_t from, size_t to)
{
	const uint64_t bit = draw_of(&w->spite) % (8 * (to - from));

	t->data[from + bit / 8] ^= (unsigned char)(1 << bit % 8);
	make_sum_right(t);
	w->count[FORGED]++;
}

/* The segment is kept: ports, then data. False: there was none, or it says the same. */
static bool repeat(struct way *w, const struct tcp *t)
{
	enum { PORTS = 4 };
	struct segment *last = &w->last[t->bytes];
	const bool fits = last->length && memcmp(last->data, t->tcp, PORTS) == 0 &&
			  memcmp(last->data + PORTS, t->data, t->bytes) != 0;

	if (fits && below_1(draw_of(&w->spite)) < w->set.replay) {
		memcpy(t->data, last->data + PORTS, t->bytes);
		make_sum_right(t);
		w->count[REPLAYED]++;
		return true;
	}
	last->length = t->bytes;
	memcpy(last->data, t->tcp, PORTS);
	memcpy(last->data + PORTS, t->data, t->bytes);
	return false;
}

/* Whether the segment is one of the first of a connection of UCX's, which begins with a number of
 * its own. */
static bool begins(struct way *w, const struct tcp *t)
{
	static const uint64_t magic = UINT64_C(0xcafebabe12345678);
	uint32_t ports;
	size_t i = 0;

	memcpy(&ports, t->tcp, sizeof ports);
	while (i < w->n_begun && w->begun[i].ports != ports)
		i++;
	if (i == w->n_begun) {
		if (i == CONNECTIONS || t->bytes < sizeof magic ||
		    memcmp(t->data, &magic, sizeof magic) != 0)
			return false;
		w->begun[w->n_begun++].ports = ports;
	}
	return w->begun[i].n++ < WIREUP_SEGMENTS;
}

static bool is_spared(const struct way *w, const struct tcp *t)
{
	const size_t port = (size_t)w->set.port;

	return port && number_at(t->tcp) != port && number_at(t->tcp + 2) != port;
}

static void attack(struct way *w, struct frame *f)
{
	struct tcp t;

	if (w->set.forge + w->set.head + w->set.stream + w->set.replay + w->set.wireup <= 0 ||
	    !find_tcp(f, &t) || is_spared(w, &t))
		return;
	if (begins(w, &t) && below_1(draw_of(&w->spite)) < w->set.wireup)
		flip_bits(w, &t, 0, t.bytes);
	if (t.bytes < FORGED_LEAST)
		return;
	if (w->set.replay > 0 && repeat(w, &t))
		return;
	if (below_1(draw_of(&w->spite)) < w->set.forge)
		flip_bits(w, &t, HEAD, t.bytes);
	else if (below_1(draw_of(&w->spite)) < w->set.head)
		flip_bits(w, &t, 0, HEAD);
	else if (below_1(draw_of(&w->spite)) < w->set.stream)
		flip_bits(w, &t, 0, STREAM);
}

static void copy(struct frame *to, const struct frame *from)
{
	to->length = from->length;
	memcpy(to->data, from->data, from->length);
}

/* The frame at the tail takes its turn behind all that have come before it, or is dropped. */
static void line_up(struct way *w, double jitter_ms)
{
	struct frame *f = at(w, w->tail);
	const uint64_t now = now_ns(), waits_ns = w->busy_ns > now ? w->busy_ns - now : 0;
	const double waits_bytes = (double)waits_ns * w->set.rate / 8000;
	const double takes_ns = w->set.rate > 0 ? (double)f->length * 8000 / w->set.rate : 0;

	if (w->tail - w->head == RING - 1 || (waits_bytes > 0 && waits_bytes + (double)f->length > w->set.queue * 1000)) {
		w->count[DROPPED]++;
		return;
	}
	w->busy_ns = now + waits_ns + (uint64_t)takes_ns;
	f->due_ns = w->busy_ns + ns_of_ms(w->set.delay + jitter_ms);
	w->tail++;
}

static void hold_back(struct way *w, const struct fate *fate)
{
	copy(&w->held, at(w, w->tail));
	w->behind = fate->behind;
	w->overtaken = false;
	w->expires_ns = now_ns() + ns_of_ms(w->set.hold);
}

static void let_go(struct way *w)
{
	w->behind = 0;
	w->count[REORDERED] += w->overtaken;
	copy(at(w, w->tail), &w->held);
	line_up(w, 0);
}

/* The frame at the tail goes on, and past the one that is held back. */
static void go_on(struct way *w, double jitter_ms)
{
	line_up(w, jitter_ms);
	if (w->behind == 0)
		return;
	w->overtaken = true;
	if (--w->behind == 0)
		let_go(w);
}

/* A frame has come, and lies at the tail. */
static void meet(struct way *w)
{
	static struct frame twin;
	const struct fate fate = draw_fate(w);

	w->count[SEEN]++;
	if (w->set.cut > 0 || fate.lost) {
		w->count[w->set.cut > 0 ? CUT : LOST]++;
		return;
	}
	attack(w, at(w, w->tail));
	if (fate.twice)
		copy(&twin, at(w, w->tail));
	if (fate.bad)
		flip(w, at(w, w->tail), fate.bit);
	if (fate.late && w->behind == 0)
		hold_back(w, &fate);
	else
		go_on(w, fate.jitter_ms);
	if (fate.twice) {
		w->count[DUPLICATED]++;
		copy(at(w, w->tail), &twin);
		go_on(w, fate.jitter_ms);
	}
}

/* ---- its two ends ------------------------------------------------------------------------------- */

static void enter(const char *file)
{
	const int fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || setns(fd, CLONE_NEWNET) != 0)
		die("cannot enter the network", file);
	close(fd);
}

/* A tap belongs to the network in which /dev/net/tun was opened. Without IFF_VNET_HDR the kernel computes the sums of
 * TCP and UDP before we get a frame, and checks them behind us. Between a veth pair it does neither. */
static int make_tap(const char *name)
{
	struct ifreq wanted = {.ifr_flags = IFF_TAP | IFF_NO_PI};
	const int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		die("cannot open", "/dev/net/tun");
	strncpy(wanted.ifr_name, name, IFNAMSIZ - 1);
	if (ioctl(fd, TUNSETIFF, &wanted) != 0)
		die("cannot make the tap", name);
	return fd;
}

static int open_end(char *end)
{
	char *file = strchr(end, '@');
	int fd;

	if (strncmp(end, "fd:", 3) == 0) {
		fd = atoi(end + 3);
		if (fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) != 0)
			die("cannot use", end);
		return fd;
	}
	if (!file)
		return make_tap(end);
	*file++ = '\0';
	/* Back in the switch's network, we do not count as a process of the host. */
	const int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	enter(file);
	fd = make_tap(end);
	if (setns(home, CLONE_NEWNET) != 0)
		die("cannot leave the network", file);
	close(home);
	return fd;
}

/* Reads what has come, up to so many frames. */
static void take(struct way *w, int most)
{
	for (; most > 0; most--) {
		struct frame *f = at(w, w->tail);
		const ssize_t n = read(w->from, f->data, sizeof f->data);

		if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == EIO))
			return; /* EIO: it is down */
		if (n <= 0)
			exit(1); /* the end is gone, with its host */
		f->length = (size_t)n;
		meet(w);
	}
}

/* Sends what is due. */
static void deliver(struct way *w)
{
	const uint64_t now = now_ns();

	if (w->behind > 0 && w->expires_ns <= now)
		let_go(w);
	for (; w->head != w->tail && at(w, w->head)->due_ns <= now; w->head++) {
		const struct frame *f = at(w, w->head);

		w->count[write(w->to, f->data, f->length) == (ssize_t)f->length ? CARRIED : DROPPED]++;
	}
	if (w->head == w->tail)
		w->head = w->tail = 0; /* a place that the cache knows */
}

static uint64_t next_ns(void)
{
	uint64_t next = UINT64_MAX;

	for (struct way *w = ways; w < ways + WAYS; w++) {
		if (w->behind > 0 && w->expires_ns < next)
			next = w->expires_ns;
		if (w->head != w->tail && at(w, w->head)->due_ns < next)
			next = at(w, w->head)->due_ns;
	}
	return next;
}

/* ---- commands ----------------------------------------------------------------------------------- */

static bool no(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("no: ");
	vprintf(format, args);
	printf("\n");
	va_end(args);
	return false;
}

/* What is under way never arrives, however soon the cable is mended. */
static void cut_off(struct way *w)
{
	w->count[CUT] += w->tail - w->head + (w->behind > 0);
	w->head = w->tail = 0;
	w->behind = 0;
	w->busy_ns = 0;
}

/* NAME=VALUE */
static bool set_one(struct settings *set, const char *word)
{
	const size_t length = strcspn(word, "=");
	char *end;

	for (int i = 0; i < KNOWN; i++) {
		if (strlen(known[i].name) != length || memcmp(known[i].name, word, length) != 0)
			continue;
		const char *text = word + length + (word[length] == '=');
		const double value = strtod(text, &end);
		if (end == text || *end != '\0' || !(value >= 0 && value <= known[i].most))
			return no("%s wants a number from 0 to %g", known[i].name, known[i].most);
		*(double *)((char *)set + known[i].at) = value;
		return true;
	}
	return no("there is no setting %.*s", (int)length, word);
}

/* All that the line says, or nothing of it. */
static void set_way(const char *name, char **rest)
{
	struct settings set[WAYS] = {ways[IN].set, ways[OUT].set};
	bool any = false;

	for (char *word; (word = strtok_r(NULL, " ", rest)); any = true)
		for (int i = 0; i < WAYS; i++)
			if ((strcmp(name, "both") == 0 || strcmp(name, way_names[i]) == 0) && !set_one(&set[i], word))
				return;
	if (!any) {
		no("%s wants NAME=VALUE", name);
		return;
	}
	for (int i = 0; i < WAYS; i++) {
		ways[i].set = set[i];
		if (set[i].cut > 0)
			cut_off(&ways[i]);
	}
	printf("ok\n");
}

static void print_counts(void)
{
	printf("ok");
	for (int way = 0; way < WAYS; way++) {
		printf(" %s", way_names[way]);
		for (int i = 0; i < COUNTS; i++)
			printf(" %s=%llu", count_names[i], (unsigned long long)ways[way].count[i]);
	}
	printf("\n");
}

static void set_carrier(const char *word)
{
	const unsigned int on = word && strcmp(word, "1") == 0;

	if (!on && (!word || strcmp(word, "0") != 0))
		no("carrier wants 0 or 1");
	else if (ioctl(ways[IN].to, TUNSETCARRIER, &on) != 0)
		no("cannot set the carrier: %s", strerror(errno));
	else
		printf("ok\n");
}

static void obey(char *line)
{
	char *rest, *verb = strtok_r(line, " ", &rest);

	/* What was sent before the command meets the link as it was. */
	for (struct way *w = ways; w < ways + WAYS; w++) {
		take(w, RING);
		deliver(w);
	}
	if (!verb)
		no("an empty line");
	else if (strcmp(verb, "count") == 0)
		print_counts();
	else if (strcmp(verb, "carrier") == 0)
		set_carrier(strtok_r(NULL, " ", &rest));
	else if (strcmp(verb, "both") == 0 || strcmp(verb, way_names[IN]) == 0 || strcmp(verb, way_names[OUT]) == 0)
		set_way(verb, &rest);
	else
		no("%s is none of in, out, both, carrier, count", verb);
}

/* Reads stdin once; false at its end. */
static bool commands(void)
{
	static char text[4096];
	static size_t length;
	const ssize_t n = read(STDIN_FILENO, text + length, sizeof text - 1 - length);
	char *end;

	if (n <= 0)
		return n < 0 && errno == EINTR;
	length += (size_t)n;
	text[length] = '\0';
	while ((end = strchr(text, '\n'))) {
		*end++ = '\0';
		length -= (size_t)(end - text);
		obey(text);
		memmove(text, end, length + 1);
	}
	return length < sizeof text - 1;
}

/* ---- all of it ---------------------------------------------------------------------------------- */

static void wait_for_next(struct pollfd *p, nfds_t n)
{
	const uint64_t next = next_ns(), now = now_ns(), left = next > now ? next - now : 0;
	const struct timespec t = {.tv_sec = (time_t)(left / 1000000000), .tv_nsec = (long)(left % 1000000000)};

	if (ppoll(p, n, next == UINT64_MAX ? NULL : &t, NULL) < 0)
		for (nfds_t i = 0; i < n; i++)
			p[i].revents = 0;
}

static void carry(void)
{
	struct pollfd p[1 + WAYS] = {{.fd = STDIN_FILENO, .events = POLLIN}};

	for (int i = 0; i < WAYS; i++)
		p[1 + i] = (struct pollfd){.fd = ways[i].from, .events = POLLIN};
	do {
		wait_for_next(p, 1 + WAYS);
		for (int i = 0; i < WAYS; i++) {
			if (p[1 + i].revents)
				take(&ways[i], BATCH);
			deliver(&ways[i]);
		}
	} while (!p[0].revents || commands());
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 4) {
		fprintf(stderr, "usage: link SEED SWITCH HOST\n");
		return 2;
	}
	const int at_switch = open_end(argv[2]), at_host = open_end(argv[3]);
	for (int i = 0; i < WAYS; i++) {
		ways[i].from = i == IN ? at_switch : at_host;
		ways[i].to = i == IN ? at_host : at_switch;
		ways[i].set = (struct settings){.hold = 5, .queue = 128};
		ways[i].random = strtoull(argv[1], NULL, 10) * WAYS + (uint64_t)i;
		ways[i].spite = ~ways[i].random;
	}
	printf("ok\n");
	carry();
	return 0;
}
