/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_pmi.c: the texts between a launcher and its nodes, from both sides, and what a user writes on ckrun's
 * command line and into CK_ variables. The first byte of an input says which:
 *
 *   S   what nodes say to ckrun; a byte from 1 to 3 changes the node that speaks
 *   C   what a launcher answers to a node
 *   O   ckrun's arguments, one a line
 *   E   the value of a CK_ variable
 *
 * A value that is refused ends the process (_exit). The linker passes such an end to us (--wrap).
 */
#include "fuzz.h"

#include "../../launcher/launch.h"
#include "../../runtime/machine/boot/boot.h"
#include "../../runtime/machine/boot/pmi1/boot_pmi1.h"
#include "../../runtime/machine/base/cmi_env.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { NODES = 3, NO_PROCESS = INT32_MAX };

static void check(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz_pmi: %s\n", what);
	abort();
}

static void open_pair(int pair[2])
{
	check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "no socket");
}

/* ---- ckrun's side -------------------------------------------------------------------- */

struct server {
	struct launch_job job;
	struct launch_node node[NODES];
	int fd[NODES]; /* the nodes' ends */
};

static void server_open(struct server *s)
{
	*s = (struct server){ .job = { .nodes = s->node, .n_nodes = NODES, .n_started = NODES, .n_alive = NODES,
				       .timeout_at = -1, .err = &s->job.sinks[1] } };
	for (int i = 0; i < NODES; i++) {
		int pair[2];

		open_pair(pair);
		s->fd[i] = pair[0];
		s->node[i] = (struct launch_node){ .rank = i, .first_pe = i, .n_pes = 1, .pid = NO_PROCESS,
			.pmi_fd = pair[1], .streams = { { .fd = -1 }, { .fd = -1 } } };
	}
}

/* Every answer is whole lines. */
static void server_read_answers(struct server *s, int i)
{
	char text[4096], last = '\n';
	ssize_t n;

	do {
		launch_pmi_write(&s->node[i]);
		n = recv(s->fd[i], text, sizeof(text), MSG_DONTWAIT);
		if (n > 0)
			last = text[n - 1];
	} while (n > 0);
	check(last == '\n', "an answer that is no line");
}

static void server_close(struct server *s)
{
	for (int i = 0; i < NODES; i++) {
		server_read_answers(s, i);
		close(s->fd[i]);
		launch_pmi_read(&s->job, &s->node[i]); /* hangs up */
		check(s->node[i].pmi_fd < 0, "a node that has gone is still there");
		launch_buf_fini(&s->node[i].in);
		launch_buf_fini(&s->node[i].out);
	}
	launch_kvs_fini(&s->job.kvs);
	launch_buf_fini(&s->job.err->out);
}

static void serve(const uint8_t *data, size_t size)
{
	enum { PIECE = 1000 };
	struct server s;
	int speaker = 0;

	server_open(&s);
	for (size_t i = 0, n; i < size; i += n) {
		n = 0;
		while (i + n < size && n < PIECE && (data[i + n] < 1 || data[i + n] > NODES))
			n++;
		if (n > 0) {
			check(send(s.fd[speaker], data + i, n, MSG_NOSIGNAL) >= 0 || s.node[speaker].pmi_fd < 0,
			      "a connection is closed");
			launch_pmi_read(&s.job, &s.node[speaker]);
			server_read_answers(&s, speaker);
		} else {
			speaker = data[i] - 1;
			n = 1;
		}
	}
	server_close(&s);
}

/* ---- a node's side ------------------------------------------------------------------- */

static void meet(struct boot *b, const char *key, size_t cap)
{
	size_t len;

	if (boot_put(b, key, "0123456789", 10) || boot_fence(b, 1000))
		return;
	for (int rank = 0; rank < NODES; rank++) {
		uint8_t *value = malloc(cap);

		if (boot_get(b, rank, key, value, cap, &len) == 0)
			check(len <= cap, "a value longer than its room");
		free(value);
	}
}

/* The launcher has said all that it will say. A second descriptor of its end keeps ours open until we leave. */
static void listen_to(const uint8_t *data, size_t size)
{
	struct boot *b;
	int pair[2], room = 1 << 20;

	open_pair(pair);
	setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	if (send(pair[1], data, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		size = 0;
	shutdown(pair[1], SHUT_WR);
	if (boot_pmi1_init(pair[0], 1, NODES, false, &b) == 0) {
		meet(b, "host", 64);
		meet(b, "wires", 2000);
		boot_forget(b);
		boot_abort(b, 3);
		boot_finish(b);
	} else {
		close(pair[0]);
	}
	close(pair[1]);
}

/* ---- what a user writes -------------------------------------------------------------- */

static jmp_buf end;
static bool end_expected;

_Noreturn void __real__exit(int code);
_Noreturn void __wrap__exit(int code);

void __wrap__exit(int code)
{
	if (!end_expected)
		__real__exit(code);
	longjmp(end, 1);
}

static const char name[] = "CK_FUZZ";

enum { READERS = 5 };

/* A value that one reader refuses is still given to the others. */
static void read_one(int which)
{
	static const char *const words[] = { "core", "socket", "none" };

	if (which == 0)
		(void)cmi_env_flag(name, false);
	else if (which == 1)
		check(cmi_env_word(name, words, 3, -1) < 3, "a word that is not there");
	else if (which == 2)
		check(cmi_env_kib(name, 1, 1, 1 << 30) <= 1 << 30, "a size out of bounds");
	else if (which == 3)
		check(cmi_env_bytes(name, 1, 1, UINT64_MAX / 4) <= UINT64_MAX / 4, "a size out of bounds");
	else
		check(llabs(cmi_env_number(name, 1, -1000, 1000)) <= 1000, "a number out of bounds");
}

static void set_variable(const char *text)
{
	volatile int which = 0; /* longjmp keeps it */

	setenv(name, text, 1);
	end_expected = true;
	if (setjmp(end)) {
		funlockfile(stderr); /* cmi_env_refuse keeps it to the end */
		which++;
	}
	while (which < READERS) {
		read_one(which);
		which++;
	}
	end_expected = false;
	unsetenv(name);
}

static void run_ckrun(char *text)
{
	enum { MOST = 64 };
	char program[] = "ckrun", *argv[MOST + 2] = { program };
	struct launch_options o = { 0 };
	int argc = 1;

	for (char *line = text; line && argc <= MOST; argc++)
		argv[argc] = strsep(&line, "\n");
	if (launch_parse(argc, argv, &o) < 0) {
		check(o.n_pes >= 1 && o.ppn >= 1 && o.argv[0], "a job that makes no sense");
		check(o.timeout_ms != 0 && o.grace_ms >= 0, "a time that makes no sense");
	}
	launch_options_fini(&o);
}

/* ---- all ----------------------------------------------------------------------------- */

static int each(const uint8_t *data, size_t size)
{
	if (size == 0 || size > 65536)
		return 0;

	char *text = malloc(size);

	check(text, "no memory");
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	if (data[0] == 'S')
		serve(data + 1, size - 1);
	else if (data[0] == 'C')
		listen_to(data + 1, size - 1);
	else if (data[0] == 'O')
		run_ckrun(text);
	else if (data[0] == 'E')
		set_variable(text);
	free(text);
	return 0;
}

int main(int argc, char **argv)
{
	return LLVMFuzzerRunDriver(&argc, &argv, each);
}
