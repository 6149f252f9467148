/* SPDX-License-Identifier: Apache-2.0 */
/* cmi_note.c: see cmi_note.h. The state is the process's, like the variable. */
#include "cmi_note.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cmi.h"
#include "../tools/abstract.h"
#include "../tools/clock.h"
#include "cmi_env.h"

static struct {
	bool is_open;             /* else nothing is noted */
	int keeper;               /* a socket; -1: notes are files */
	char path[PATH_MAX];      /* of the files: absolute */
	char start[16];           /* for the keeper: N */
	char job[NAME_MAX + 1];
	char host[256];
	/* Written once, and read by any thread that ends the job. Relaxed: a thread that does not see
	 * them yet notes nothing, as before the meeting. */
	_Atomic uint64_t met_ns;  /* 0: not yet */
	atomic_int node;
} note;

/* Absolute: the program may change its directory. */
static void take_path(const char *text)
{
	char here[PATH_MAX];
	int n;

	if (text[0] == '/' || !getcwd(here, sizeof here))
		here[0] = 0;
	n = snprintf(note.path, sizeof note.path, "%s%s%s", here, here[0] ? "/" : "", text);
	if (n >= (int)(sizeof note.path - sizeof ".came"))
		note.path[0] = 0;
}

/* The folder's name. False: there is no such folder. */
static bool take_job(void)
{
	char *last = strrchr(note.path, '/'), *first = last;
	bool is_there;

	if (!last || !last[1] || last[1 + strspn(last + 1, "0123456789")])
		return false;
	while (first > note.path && first[-1] != '/')
		first--;
	snprintf(note.job, sizeof note.job, "%.*s", (int)(last - first), first);
	*last = 0;
	is_there = access(note.path, W_OK | X_OK) == 0;
	*last = '/';
	return is_there;
}

static bool open_folder(const char *text)
{
	take_path(text);
	return strchr(text, '/') && take_job();
}

/* @NAME/N */
static bool open_keeper(const char *text)
{
	const char *number = strchr(text, '/');
	char at[sizeof note.job + sizeof ".notes"];

	if (!number || number == text + 1 || number - text > NAME_MAX || !number[1] ||
	    number[1 + strspn(number + 1, "0123456789")])
		return false;
	snprintf(note.start, sizeof note.start, "%s", number + 1);
	snprintf(note.job, sizeof note.job, "%.*s", (int)(number - text - 1), text + 1);
	snprintf(at, sizeof at, "@%s.notes", note.job);
	note.keeper = abstract_connect(at);
	return note.keeper >= 0;
}

static void make_file(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd < 0)
		return;
	if (text[0] && write(fd, text, strlen(text)) < 0)
		unlink(path); /* no note is better than half of one */
	close(fd);
}

/* The keeper has room for many packets, and a node sends four at most. */
static void tell_keeper(const char *text)
{
	char packet[440];
	const int n = snprintf(packet, sizeof packet, "%s %s", note.start, text);

	if (send(note.keeper, packet, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return; /* it has ended, and so has ckrun, or the job goes on without it */
}

/* A word of the start, not of its end. */
static void note_word(const char *word)
{
	char path[PATH_MAX + sizeof ".came"];

	snprintf(path, sizeof path, "%s.%s", note.path, word);
	if (note.keeper >= 0)
		tell_keeper(word);
	else
		make_file(path, "");
}

/* The variable is not for the node's children. */
void cmi_note_open(void)
{
	const char *text = cmi_env_text("CK_NOTES");

	if (!text)
		return;
	note.keeper = -1;
	note.is_open = text[0] == '@' ? open_keeper(text) : open_folder(text);
	if (!note.is_open)
		cmi_env_refuse("CK_NOTES", text, "set by ckrun only: the keeper's name, "
			       "or a folder that all hosts see, and a number");
	gethostname(note.host, sizeof note.host - 1);
	unsetenv("CK_NOTES");
	if (note.is_open)
		note_word("came");
}

void cmi_note_met(int node)
{
	if (!note.is_open)
		return;
	atomic_store_explicit(&note.node, node, memory_order_relaxed);
	atomic_store_explicit(&note.met_ns, machine_now_ns(), memory_order_relaxed);
	if (node == 0)
		note_word("met");
}

void cmi_note_end(enum cmi_note kind, int number, const char *host)
{
	static const char *const kinds[] = { "exit", "abort", "fault", "lost" };
	const uint64_t met_ns = atomic_load_explicit(&note.met_ns, memory_order_relaxed);
	char line[400];

	if (!met_ns || cmi_in_child())
		return;
	snprintf(line, sizeof line, "%s %d %d %s %llu\n", kinds[kind], number,
		 atomic_load_explicit(&note.node, memory_order_relaxed), host ? host : note.host,
		 (unsigned long long)(machine_now_ns() - met_ns) / 1000000);
	if (note.keeper >= 0)
		tell_keeper(line);
	else
		make_file(note.path, line);
}

const char *cmi_note_job(void)
{
	return note.job;
}
