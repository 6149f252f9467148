/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boot_pmi1.c: the PMI-1 wire, from the node's side. The launcher leaves one socket open; each
 * request is one line of "name=value" words, and so is each answer. It needs no library.
 *
 *   cmd=init pmi_version=1 pmi_subversion=1     cmd=response_to_init rc=0 ...
 *   cmd=get_maxes                               cmd=maxes kvsname_max=.. vallen_max=..
 *   cmd=get_my_kvsname                          cmd=my_kvsname kvsname=..
 *   cmd=put kvsname=.. key=.. value=..          cmd=put_result rc=0
 *   cmd=barrier_in                              cmd=barrier_out, when all are in
 *   cmd=get kvsname=.. key=..                   cmd=get_result rc=0 value=..
 *   cmd=finalize                                cmd=finalize_ack
 *   cmd=abort exitcode=..                       nothing: the launcher ends the job
 *
 * When all N nodes read all puts, one server gets N^2 requests. ckrun therefore says ck_getall=1 in
 * its maxes, and answers "cmd=ck_getall from=E" with "cmd=ck_all entries=M" and M lines "key=..
 * value=..": the whole table from entry E on. Other servers do not know the word.
 *
 * Every wait is bounded. After a broken or late answer the position in the stream is unknown, so
 * all later calls fail at once with -EPIPE.
 */
#include "boot_pmi1.h"
#include "../boot.h"
#include "../launcher.h"
#include "../../base/cmi_alloc.h"
#include "../../base/say.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	REPLY_TIMEOUT_MS = 60000,  /* a request's answer: a loaded server with 1000s of nodes */
	FINISH_TIMEOUT_MS = 5000,  /* nothing depends on the last answer */
	HEARD_MS = 100,            /* other launchers than ckrun drop unread requests when they are asked
				    * to end */
	LINE_BYTES = 4096,         /* MPICH's own limit is 1024 for the value, 64 for the key */
};

struct pmi1 {
	struct boot base;
	int fd;
	bool borrowed;      /* MPI has said init on it, and will say finalize */
	bool broken;        /* the position in the stream is unknown */
	bool has_getall;
	bool table_stale;   /* a fence passed since the last bulk read */
	size_t n_read;      /* server's entries read so far; in the table until boot_forget */
	char kvsname[260];
	char line[LINE_BYTES];      /* the last line received, terminated */
	char in[LINE_BYTES];        /* received, not yet returned as lines */
	size_t in_len;
};

static struct pmi1 *pmi1_of(struct boot *b)
{
	return (struct pmi1 *)b; /* base is the first member */
}

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/** The connection is lost. Print why, but only the first time; NULL leaves that to the caller. */
static int pmi1_lose(struct pmi1 *p, int rc, const char *what)
{
	if (!p->broken && what)
		machine_say("node %d: the launcher's connection failed: %s", p->base.rank, what);
	p->broken = true;
	return rc;
}

static int send_line(struct pmi1 *p, const char *text)
{
	for (size_t left = strlen(text); left > 0;) {
		ssize_t n = send(p->fd, text, left, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return pmi1_lose(p, -errno, strerror(errno));
		text += n;
		left -= (size_t)n;
	}
	return 0;
}

/** Wait until the socket has something to read; a negative deadline is none. */
static int await_input(struct pmi1 *p, int64_t deadline)
{
	for (;;) {
		int64_t left = deadline < 0 ? -1 : deadline - now_ms();
		if (deadline >= 0 && left < 0)
			left = 0;
		struct pollfd pfd = { .fd = p->fd, .events = POLLIN };
		int n = poll(&pfd, 1, left > INT32_MAX ? INT32_MAX : (int)left);
		if (n > 0)
			return 0;
		if (n == 0 && left <= INT32_MAX)
			return -ETIMEDOUT;
		if (n < 0 && errno != EINTR)
			return pmi1_lose(p, -errno, strerror(errno));
	}
}

static int receive_some(struct pmi1 *p)
{
	if (p->in_len == sizeof(p->in))
		return pmi1_lose(p, -EPROTO, "it sent a line that is too long");
	ssize_t n = recv(p->fd, p->in + p->in_len, sizeof(p->in) - p->in_len, MSG_DONTWAIT);
	if (n > 0)
		p->in_len += (size_t)n;
	else if (n == 0)
		return pmi1_lose(p, -ECONNRESET, "the launcher has closed it");
	else if (errno != EINTR && errno != EAGAIN)
		return pmi1_lose(p, -errno, strerror(errno));
	return 0;
}

/** Read the next line into p->line. -ETIMEDOUT may be retried. */
static int receive_line(struct pmi1 *p, int64_t deadline)
{
	for (;;) {
		char *end = memchr(p->in, '\n', p->in_len);
		if (end) {
			size_t len = (size_t)(end - p->in);
			memcpy(p->line, p->in, len);
			p->line[len] = '\0';
			p->in_len -= len + 1;
			memmove(p->in, end + 1, p->in_len);
			return 0;
		}
		int rc = await_input(p, deadline);
		if (!rc)
			rc = receive_some(p);
		if (rc)
			return rc;
	}
}

/** Find the word `name`=... in p->line; copies at most cap - 1 characters. */
static bool reply_word(const struct pmi1 *p, const char *name, char *out, size_t cap)
{
	size_t n = strlen(name);
	for (const char *s = p->line; *s; s += strcspn(s, " "), s += strspn(s, " ")) {
		if (strncmp(s, name, n) || s[n] != '=')
			continue;
		s += n + 1;
		size_t len = strcspn(s, " ");
		if (len >= cap)
			return false;
		memcpy(out, s, len);
		out[len] = '\0';
		return true;
	}
	return false;
}

static bool is_reply(const struct pmi1 *p, const char *cmd)
{
	char got[64];
	return reply_word(p, "cmd", got, sizeof(got)) && !strcmp(got, cmd);
}

/** Servers omit rc where nothing can fail. */
static bool says_ok(const struct pmi1 *p)
{
	char rc[16];
	return !reply_word(p, "rc", rc, sizeof(rc)) || !strcmp(rc, "0");
}

/** Send a request and read its answer, which must be `expect` and stays in p->line. If it does not
 * come within timeout_ms (negative: no limit), `late` is printed; NULL leaves that to the
 * caller. */
static int request_within(struct pmi1 *p, const char *line, const char *expect, int timeout_ms,
			  const char *late)
{
	if (p->broken)
		return -EPIPE;
	int rc = send_line(p, line);
	if (!rc)
		rc = receive_line(p, timeout_ms < 0 ? -1 : now_ms() + timeout_ms);
	if (rc == -ETIMEDOUT)
		return pmi1_lose(p, rc, late);
	if (!rc && !is_reply(p, expect))
		return pmi1_lose(p, -EPROTO, "it does not speak PMI-1");
	return rc;
}

static int request(struct pmi1 *p, const char *line, const char *expect)
{
	return request_within(p, line, expect, REPLY_TIMEOUT_MS, "no answer in time");
}

/* ---- operations --------------------------------------------------------------------- */

static int pmi1_put(struct boot *b, const char *key, const char *text)
{
	struct pmi1 *p = pmi1_of(b);
	char line[LINE_BYTES];
	snprintf(line, sizeof(line), "cmd=put kvsname=%s key=%s value=%s\n", p->kvsname, key, text);
	int rc = request(p, line, "put_result");
	return rc ? rc : says_ok(p) ? 0 : -EEXIST;
}

static int pmi1_fence(struct boot *b, int timeout_ms)
{
	struct pmi1 *p = pmi1_of(b);
	int rc = request_within(p, "cmd=barrier_in\n", "barrier_out", timeout_ms, NULL);
	p->table_stale = true;
	return rc ? rc : says_ok(p) ? 0 : -EIO;
}

/** Add the server's entries that the table does not have yet. */
static int read_table(struct pmi1 *p)
{
	char line[64], count[24], key[BOOT_WIRE_KEY_MAX + 1], text[BOOT_TEXT_MAX + 1];
	snprintf(line, sizeof(line), "cmd=ck_getall from=%zu\n", p->n_read);
	int rc = request(p, line, "ck_all");
	if (rc)
		return rc;
	if (!reply_word(p, "entries", count, sizeof(count)))
		return pmi1_lose(p, -EPROTO, "the bulk read has no size");
	int64_t deadline = now_ms() + REPLY_TIMEOUT_MS;
	for (unsigned long long left = strtoull(count, NULL, 10); left > 0; left--) {
		rc = receive_line(p, deadline);
		if (rc)
			return pmi1_lose(p, rc, "the bulk read broke off");
		if (!reply_word(p, "key", key, sizeof(key)) || !reply_word(p, "value", text, sizeof(text)))
			return pmi1_lose(p, -EPROTO, "the bulk read has a broken line");
		boot_table_add(&p->base.table, key, text);
		p->n_read++;
	}
	p->table_stale = false;
	return 0;
}

static int get_from_table(struct pmi1 *p, const char *key, char *text)
{
	const char *found = boot_table_find(&p->base.table, key);
	if (!found && p->table_stale) {
		int rc = read_table(p);
		if (rc)
			return rc;
		found = boot_table_find(&p->base.table, key);
	}
	if (!found)
		return -ENOENT;
	strcpy(text, found); /* read_table refuses longer ones */
	return 0;
}

/** One request for one key; `text` has space for `cap` bytes. */
static int get_single(struct pmi1 *p, const char *key, char *text, size_t cap)
{
	char line[LINE_BYTES];
	snprintf(line, sizeof(line), "cmd=get kvsname=%s key=%s\n", p->kvsname, key);
	int rc = request(p, line, "get_result");
	if (rc)
		return rc;
	if (!says_ok(p))
		return -ENOENT;
	return reply_word(p, "value", text, cap) ? 0 : -EPROTO;
}

static int pmi1_get(struct boot *b, int rank, const char *key, char *text)
{
	(void)rank; /* the key has it, too */
	struct pmi1 *p = pmi1_of(b);
	if (p->has_getall)
		return get_from_table(p, key, text);
	return get_single(p, key, text, BOOT_TEXT_MAX + 1);
}

/** The host of a rank according to "(vector,(H,N,P),...)": N hosts from number H on get P ranks
 * each. The blocks repeat. Returns -1 for any other text. */
static int mapped_host(const char *mapping, int rank)
{
	static const char head[] = "(vector";
	enum { MOST = 1 << 30 }; /* keeps sums within int */
	int host, n, per, skip;
	const char *at = mapping + strlen(head);

	if (strncmp(mapping, head, strlen(head)))
		return -1;
	for (int blocks = 0;; blocks++) {
		if (*at == ')' && blocks) { /* again */
			at = mapping + strlen(head);
			blocks = 0;
		}
		if (sscanf(at, ",(%d,%d,%d)%n", &host, &n, &per, &skip) != 3 || host < 0 || host > MOST ||
		    n < 1 || per < 1 || per > MOST / n)
			return -1;
		if (rank < n * per)
			return host + rank / per;
		rank -= n * per;
		at += skip;
	}
}

static int pmi1_reader(struct boot *b)
{
	struct pmi1 *p = pmi1_of(b);
	char mapping[LINE_BYTES];
	int host, reader = 0;

	if (get_single(p, "PMI_process_mapping", mapping, sizeof(mapping)))
		return -1;
	host = mapped_host(mapping, b->rank);
	while (host >= 0 && reader < b->rank && mapped_host(mapping, reader) != host)
		reader++;
	if (host >= 0 && reader != b->rank)
		p->has_getall = false; /* only some texts are wanted */
	return host < 0 ? -1 : reader;
}

/** Async-signal-safe: it copies some bytes and calls send(2), which unlike write(2) raises no
 * SIGPIPE when the launcher is gone. A line this short is sent atomically, so it cannot interrupt
 * another thread's request. The reason for the end has been printed before, and other launchers get
 * the time to read that. */
static void pmi1_abort(struct boot *b, int code)
{
	static const char head[] = "cmd=abort exitcode=";
	char line[sizeof(head) + 16], digits[12];
	size_t n = sizeof(head) - 1, d = 0;
	unsigned v = code < 0 ? 1 : (unsigned)code;

	memcpy(line, head, n);
	do
		digits[d++] = (char)('0' + v % 10);
	while (v /= 10);
	while (d > 0)
		line[n++] = digits[--d];
	line[n++] = '\n';
	if (!pmi1_of(b)->has_getall)
		poll(NULL, 0, HEARD_MS);
	while (send(pmi1_of(b)->fd, line, n, MSG_NOSIGNAL) < 0 && errno == EINTR)
		continue;
}

static void pmi1_forked(struct boot *b)
{
	if (!pmi1_of(b)->borrowed)
		close(pmi1_of(b)->fd);
}

static void pmi1_finish(struct boot *b)
{
	struct pmi1 *p = pmi1_of(b);
	if (!p->broken && !p->borrowed)
		(void)request_within(p, "cmd=finalize\n", "finalize_ack", FINISH_TIMEOUT_MS,
				     "no answer to the farewell");
	if (!p->borrowed)
		close(p->fd);
	boot_table_fini(&b->table);
	free(p);
}

static const struct boot_ops pmi1_ops = {
	.put = pmi1_put,
	.fence = pmi1_fence,
	.get = pmi1_get,
	.reader = pmi1_reader,
	.abort = pmi1_abort,
	.forked = pmi1_forked,
	.finish = pmi1_finish,
};

static int pmi1_greet(struct pmi1 *p)
{
	char yes[8];
	int rc = 0;
	if (!p->borrowed)
		rc = request(p, "cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init");
	if (!rc && !p->borrowed && !says_ok(p))
		rc = pmi1_lose(p, -EPROTO, "it refuses PMI version 1");
	if (!rc)
		rc = request(p, "cmd=get_maxes\n", "maxes");
	if (!rc) {
		p->has_getall = reply_word(p, "ck_getall", yes, sizeof(yes));
		rc = request(p, "cmd=get_my_kvsname\n", "my_kvsname");
	}
	if (!rc && !reply_word(p, "kvsname", p->kvsname, sizeof(p->kvsname)))
		rc = pmi1_lose(p, -EPROTO, "it names no key space");
	return rc;
}

int boot_pmi1_init(int fd, int rank, int size, bool borrowed, struct boot **b_p)
{
	struct pmi1 *p = cmi_alloc_zero(1, sizeof(*p), "start-up");
	p->base = (struct boot){ .ops = &pmi1_ops, .rank = rank, .size = size };
	p->fd = fd;
	p->borrowed = borrowed;
	p->table_stale = true;
	/* Our children must not keep the launcher's connection open, let alone use it. */
	if (!borrowed)
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	int rc = pmi1_greet(p);
	if (rc) {
		free(p);
		return rc;
	}
	*b_p = &p->base;
	return 0;
}

/** By the variables that the launcher has set. */
static int pmi1_from_environment(struct boot **b_p)
{
	int fd = launcher_number("PMI_FD", -1);
	int rank = launcher_number("PMI_RANK", -1);
	int size = launcher_number("PMI_SIZE", -1);

	if (fd < 0)
		return launcher_refuse("no launcher's connection: PMI_FD is ", "not set or not a number");
	if (!pmi1_is_alive())
		return launcher_refuse("PMI_FD is set but is not an open socket: ",
				       "a wrapper closed it, or it is left from another job");
	if (rank < 0 || size < 1 || rank >= size)
		return launcher_refuse("PMI_FD is set, but PMI_RANK or PMI_SIZE ",
				       "is missing or makes no sense");
	bool borrowed = mpi_is_up();
	int rc = boot_pmi1_init(fd, rank, size, borrowed, b_p);
	if (rc || borrowed)
		return rc;
	/* Our children do not inherit the socket. Without its number they start afresh. */
	unsetenv("PMI_FD");
	unsetenv("PMI_RANK");
	unsetenv("PMI_SIZE");
	return 0;
}

const struct launcher pmi1_launcher = { .word = "pmi1", .join = pmi1_from_environment };
