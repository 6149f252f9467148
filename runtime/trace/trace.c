/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c: see trace.h. */
#include "trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../machine/tools/clock.h"
#include "../machine/base/cmi_alloc.h"
#include "../machine/base/cmi_env.h"

enum {
	MB_DEFAULT = 32,             /* a million records */
	MB_MOST = 1 << 16,
	/* Ticks between two readings of both clocks. The first readings follow soon, so that the counter's
	 * rate is known even if the job is killed after milliseconds. */
	MOMENT_FIRST = 1 << 20,
	MOMENT_MOST = 1 << 28,
	/* Both clocks are read again, MOMENT_TRIES times at most, if reading took more than MOMENT_WIDE
	 * ticks: the thread lost its core meanwhile, and such a pair would give a wrong rate. */
	MOMENT_TRIES = 4,
	MOMENT_WIDE = 2000,
};

/* ---- CK_TRACE ---------------------------------------------------------------------------- */

_Noreturn static void trace_refuse(const char *text)
{
	char allowed[128];

	snprintf(allowed, sizeof allowed,
		 "a folder, or a folder, a comma and the MB of each PE's trace, from 1 "
		 "to %d",
		 MB_MOST);
	cmi_env_refuse("CK_TRACE", text, allowed);
}

struct trace_options trace_asked(void)
{
	struct trace_options o = { .bytes = (uint64_t)MB_DEFAULT << 20 };
	const char *text = cmi_env_text("CK_TRACE");

	if (!text)
		return o;
	const char *comma = strrchr(text, ',');
	size_t len = comma ? (size_t)(comma - text) : strlen(text);
	char *end = NULL;

	if (!len || len >= sizeof o.folder - 32)
		trace_refuse(text);
	if (comma) {
		long mb = strtol(comma + 1, &end, 10);

		if (comma[1] < '0' || comma[1] > '9' || *end || mb < 1 || mb > MB_MOST)
			trace_refuse(text);
		o.bytes = (uint64_t)mb << 20;
	}
	memcpy(o.folder, text, len);
	o.on = true;
	o.ticks = cmi_counter_is_sound();
	return o;
}

/* ---- the file ------------------------------------------------------------------------------ */

/* Of an earlier job that was larger, or was started again more often. */
static bool is_older(const char *name, const struct trace_writer *w)
{
	uint64_t epoch;
	int pe;

	return trace_file_is(name, &epoch, &pe) &&
	       (epoch > w->epoch || (epoch == w->epoch && pe >= w->n_pes));
}

/* PE 0 removes them, so that all files are of one job. */
static void remove_older(const struct trace_options *o, const struct trace_writer *w)
{
	DIR *folder = opendir(o->folder);
	const struct dirent *e;

	while (folder && (e = readdir(folder)))
		if (is_older(e->d_name, w))
			unlinkat(dirfd(folder), e->d_name, 0);
	if (folder)
		closedir(folder);
}

void trace_make_folder(const struct trace_options *o)
{
	char inside[TRACE_TEXT + 32], allowed[TRACE_TEXT];

	snprintf(inside, sizeof inside, "%s/.", o->folder); /* ENOTDIR if it is a file */
	if ((!mkdir(o->folder, 0777) || errno == EEXIST) && !access(inside, W_OK | X_OK))
		return;
	snprintf(allowed, sizeof allowed, "a folder in which files can be made (%s)", strerror(errno));
	cmi_env_refuse("CK_TRACE", o->folder, allowed);
}

/* The file is new, because an existing one may still be mapped by a job that is ending. Its blocks
 * are allocated now: on a full disk, a later store would raise SIGBUS. */
static int file_create(const char *name, size_t bytes)
{
	int fd, err;

	if (unlink(name) && errno != ENOENT)
		return -errno;
	fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	err = posix_fallocate(fd, 0, (off_t)bytes);
	if (!err)
		return fd;
	close(fd);
	unlink(name);
	return -err;
}

static void join_arguments(char *buf, size_t len, char *const *argv, int argc)
{
	size_t used = 0;

	for (int i = 0; i < argc && used < len; i++)
		used += (size_t)snprintf(buf + used, len - used, "%s%s", i ? " " : "", argv[i]);
}

static uint64_t real_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct trace_moment both_clocks(const struct trace *t)
{
	struct trace_moment m = { 0, 0 };
	uint64_t narrowest = UINT64_MAX;

	for (int i = 0; i < MOMENT_TRIES && narrowest > MOMENT_WIDE; i++) {
		const uint64_t before = trace_clock(t), ns = machine_now_ns(), wide = trace_clock(t) - before;

		if (wide >= narrowest)
			continue;
		narrowest = wide;
		m = (struct trace_moment){ before + wide / 2, ns };
	}
	return m;
}

static void head_fill(struct trace *t, const struct trace_writer *w, size_t head_bytes)
{
	struct trace_head *h = t->head;

	h->version = TRACE_VERSION;
	h->record_bytes = sizeof(struct trace_record);
	h->head_bytes = head_bytes;
	h->n_records = t->n;
	h->pe = w->pe;
	h->n_pes = w->n_pes;
	h->node = w->node;
	h->n_nodes = w->n_nodes;
	h->first_pe = w->first_pe;
	h->epoch = w->epoch;
	h->checkpoint = w->checkpoint;
	h->pid = (int32_t)getpid();
	h->host_id = w->host_id;
	if (gethostname(h->host, sizeof h->host - 1))
		strcpy(h->host, "?");
	join_arguments(h->command, sizeof h->command, w->argv, w->argc);
	h->start_real_ns = real_ns();
	h->start = both_clocks(t);
	h->last = h->start;
	t->moment_due = h->start.ticks + MOMENT_FIRST;
	memcpy(h->magic, TRACE_MAGIC, sizeof TRACE_MAGIC);
}

struct trace *trace_create(const struct trace_options *o, const struct trace_writer *w,
			   size_t names, char *why, size_t len)
{
	char name[TRACE_TEXT + 32];
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t head = (TRACE_HEAD_BYTES + names + page - 1) / page * page, bytes = head + o->bytes;
	struct trace *t = cmi_alloc_zero(1, sizeof *t, "the trace");

	trace_file_name(name, sizeof name, o->folder, w->epoch, w->pe);
	if (w->pe == 0)
		remove_older(o, w);
	int fd = file_create(name, bytes);
	void *p = fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED) {
		snprintf(why, len, "CK_TRACE: cannot make %s of %zu MB: %s", name, bytes >> 20,
			 strerror(fd < 0 ? -fd : errno));
		if (fd >= 0)
			close(fd);
		free(t);
		return NULL;
	}
	close(fd);
	t->head = p;
	t->ring = (struct trace_record *)(void *)((char *)p + head);
	t->n = o->bytes / sizeof *t->ring;
	t->ticks = o->ticks;
	t->take_moment = trace_take_moment;
	t->bytes = bytes;
	t->names_room = head - TRACE_HEAD_BYTES;
	head_fill(t, w, head);
	return t;
}

void trace_take_moment(struct trace *t, uint64_t ticks)
{
	uint64_t passed = ticks - t->head->start.ticks;

	t->head->last = both_clocks(t);
	t->moment_due = ticks + (passed < MOMENT_MOST ? passed : MOMENT_MOST);
}

void trace_close(struct trace *t)
{
	trace_take_moment(t, trace_clock(t));
	t->head->ended = 1;
	munmap(t->head, t->bytes);
	free(t);
}

/* ---- names ----------------------------------------------------------------------------------- */

bool trace_add_name(struct trace *t, enum trace_name_kind kind, uint16_t id, const char *text)
{
	size_t used = t->head->names_bytes, len = strlen(text) + 1;
	size_t bytes = (sizeof(struct trace_name) + len + 7) & ~(size_t)7;

	if (used + bytes > t->names_room)
		return false;
	struct trace_name *n = (struct trace_name *)(void *)((char *)t->head + TRACE_HEAD_BYTES + used);

	n->kind = (uint16_t)kind;
	n->id = id;
	n->bytes = (uint32_t)bytes;
	memcpy(n->text, text, len);
	/* Release: a reader that sees the size sees the name, too. */
	atomic_store_explicit((_Atomic uint64_t *)&t->head->names_bytes, used + bytes,
			      memory_order_release);
	return true;
}

/* Equal names at different addresses have one number. */
static uint16_t event_number(const struct trace *t, const char *text)
{
	for (int i = 0; i < TRACE_EVENT_NAMES; i++)
		if (t->events[i].text && strcmp(t->events[i].text, text) == 0)
			return t->events[i].id;
	return 0;
}

uint16_t trace_event(struct trace *t, const char *text)
{
	uint32_t i = (uint32_t)(((uintptr_t)text * 0x9e3779b97f4a7c15u) >> 32) % TRACE_EVENT_NAMES;

	for (int n = 0; n < TRACE_EVENT_NAMES - 1; n++, i = (i + 1) % TRACE_EVENT_NAMES) {
		struct trace_event_name *e = &t->events[i];

		if (e->text == text)
			return e->id;
		if (e->text)
			continue;
		uint16_t id = event_number(t, text);

		if (!id && trace_add_name(t, TRACE_NAME_EVENT, (uint16_t)(t->n_events + 1), text))
			id = ++t->n_events;
		*e = (struct trace_event_name){ text, id };
		return id;
	}
	return 0;
}
