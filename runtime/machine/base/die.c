/* SPDX-License-Identifier: Apache-2.0 */
/*
 * die.c: end a job that cannot go on: print one line and a back-trace, tell the launcher, exit.
 * The end of a forked child does not concern the job (process.c).
 */
#define UNW_LOCAL_ONLY
#include "die.h"

#include <libunwind.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "cmi_alloc.h"
#include "cmi_note.h"
#include "frames.h"
#include "job.h"
#include "machine_int.h"

/* With one system call: forked children of several PEs' handlers print at the same time. */
void die_write(const char *text)
{
	size_t len = strlen(text);
	bool ended = len > 0 && text[len - 1] == '\n';
	struct iovec part[2] = {{(char *)text, len}, {"\n", !ended}};

	while (part[0].iov_len + part[1].iov_len > 0) {
		ssize_t n = writev(STDERR_FILENO, part, 2);

		if (n <= 0)
			return;
		for (int i = 0; i < 2; i++) {
			size_t done = (size_t)n < part[i].iov_len ? (size_t)n : part[i].iov_len;

			part[i].iov_base = (char *)part[i].iov_base + done;
			part[i].iov_len -= done;
			n -= (ssize_t)done;
		}
	}
}

/** The name of the function at the cursor, if it is sure: without the table of all symbols it
 * could be that of another function before it. */
static bool name_of(unw_cursor_t *cursor, unw_word_t ip, char *name, size_t room,
		    unw_word_t *offset_p)
{
	unw_proc_info_t info;

	return unw_get_proc_name(cursor, name, room, offset_p) == 0 &&
	       unw_get_proc_info(cursor, &info) == 0 && ip - *offset_p == info.start_ip;
}

/** Print one line per frame, the innermost first, without libdw. Async-signal-safe: in glibc,
 * snprintf of numbers and strings takes no lock and allocates nothing. */
static void print_plain(unw_context_t *context, int flags)
{
	unw_cursor_t cursor;
	char name[128], line[192];

	if (unw_init_local2(&cursor, context, flags))
		return;
	for (int depth = 0; depth < FRAMES_MAX; depth++) {
		unw_word_t ip = 0, offset = 0;

		unw_get_reg(&cursor, UNW_REG_IP, &ip);
		if (name_of(&cursor, ip, name, sizeof name, &offset))
			snprintf(line, sizeof line, "chard:   #%d %s+%#lx\n", depth, name,
				 (unsigned long)offset);
		else
			snprintf(line, sizeof line, "chard:   #%d %#lx\n", depth,
				 (unsigned long)ip);
		die_write(line);
		if (unw_step(&cursor) <= 0)
			return;
	}
}

/** The first frame of a signal is where it came; so is the one behind a signal's frame. */
static void walk(unw_context_t *context, int flags, struct frames *f)
{
	bool exact = flags & UNW_INIT_SIGNAL_FRAME;
	unw_cursor_t cursor;

	f->by_fault = exact;
	if (unw_init_local2(&cursor, context, flags))
		return;
	while (f->n < FRAMES_MAX) {
		unw_word_t ip = 0;

		unw_get_reg(&cursor, UNW_REG_IP, &ip);
		f->at[f->n] = ip;
		f->exact[f->n++] = exact;
		exact = unw_is_signal_frame(&cursor) > 0;
		if (unw_step(&cursor) <= 0)
			return;
	}
}

static void print_frames(unw_context_t *context, int flags)
{
	struct frames f = {.wanted = frames_wish()};

	walk(context, flags, &f);
	if (f.wanted == FRAMES_PLAIN || !frames_print(&f))
		print_plain(context, flags);
}

/* What the nodes of a host that fail at once have printed: mostly all have the same back-trace, so
 * the first of them prints it. Relaxed: nothing else goes with it. */
enum frames_of_host { FRAMES_NONE, FRAMES_UNDER_WAY, FRAMES_TOLD };

/* The first node that ends has the launcher end the others, so those wait for the one that prints.
 * It takes frames.c's time at most, and may be killed. */
static void await_frames(atomic_int *frames)
{
	enum { MOST_MS = 6000 };
	const struct timespec one_ms = {0, 1000000};

	for (int i = 0; i < MOST_MS; i++) {
		if (atomic_load_explicit(frames, memory_order_relaxed) == FRAMES_TOLD)
			return;
		nanosleep(&one_ms, NULL);
	}
}

/* A forked child only reads what the nodes share. */
static bool frames_are_ours(const struct cmi *m)
{
	int none = FRAMES_NONE;

	if (!m || !m->frames || cmi_in_child() || frames_wish() == FRAMES_ALL)
		return true;
	return atomic_compare_exchange_strong_explicit(m->frames, &none, FRAMES_UNDER_WAY,
						       memory_order_relaxed, memory_order_relaxed);
}

/* Relaxed: as above. */
bool cmi_told_frames(const struct cmi *m)
{
	return m && m->frames && atomic_load_explicit(m->frames, memory_order_relaxed) != FRAMES_NONE;
}

static void print_once(const struct cmi *m, unw_context_t *context, int flags)
{
	if (!frames_are_ours(m)) {
		await_frames(m->frames);
		return;
	}
	print_frames(context, flags);
	if (m && m->frames && !cmi_in_child())
		atomic_store_explicit(m->frames, FRAMES_TOLD, memory_order_relaxed);
}

void cmi_remove_at_end(struct cmi *m, const char *path)
{
	strncpy(m->at_end, path, sizeof m->at_end - 1);
}

static _Noreturn void end_job(struct cmi *m, int code)
{
	if (m && m->at_end[0] && !cmi_in_child())
		unlink(m->at_end);
	if (m && m->boot && !cmi_in_child())
		m->ask_end(m->boot, code);
	_exit(code);
}

void die_here(struct cmi *m, int code)
{
	if (m && m->o.boot)
		_exit(code);
	end_job(m, code);
}

/* If reporting itself fails (on a smashed stack, say), the job just ends. */
void die_first(struct cmi *m, int code)
{
	int me = gettid(), ender = 0;

	if (!m || atomic_compare_exchange_strong_explicit(&m->ender, &ender, me,
							  memory_order_relaxed,
							  memory_order_relaxed))
		return;
	if (ender == me)
		end_job(m, code);
	for (;;)
		pause();
}

void die_quietly(struct cmi *m, int code)
{
	die_first(m, code);
	end_job(m, code);
}

bool die_is_ours(const struct cmi *m)
{
	return atomic_load_explicit(&m->ender, memory_order_relaxed) == gettid();
}

void die_say(struct cmi *m, int code, bool backtrace, const char *line)
{
	unw_context_t context;

	die_first(m, code);
	die_write(line);
	if (backtrace && unw_getcontext(&context) == 0)
		print_once(m, &context, 0);
}

void cmi_abort(struct cmi *m, int code, bool backtrace, const char *why)
{
	die_say(m, code, backtrace, why);
	cmi_note_end(CMI_NOTE_ABORT, code, NULL);
	end_job(m, code);
}

/* Not noted: mostly another node has died, and this one misses it. */
_Noreturn void machine_die(struct cmi *m, const char *format, ...)
{
	char line[512] = "chard: ";
	size_t used = strlen(line);
	va_list ap;

	va_start(ap, format);
	vsnprintf(line + used, sizeof line - used, format, ap);
	va_end(ap);
	die_say(m, 1, false, line);
	end_job(m, 1);
}

/* For programs, which report how to fix it. snprintf of numbers and strings allocates nothing. */
void cmi_no_memory(size_t bytes, const char *what)
{
	char who[160] = "", line[512];

	job_whoami(who, sizeof who);
	snprintf(line, sizeof line,
		 "chard: %s%sno memory for %s (%zu bytes); raise its limit (ulimit -v, the "
		 "container's memory), or start fewer nodes on a host",
		 who, who[0] ? ": " : "", what, bytes);
	cmi_abort(job_here(), 1, false, line);
}

void cmi_signal_say(const char *line)
{
	die_write(line);
}

void cmi_signal_trace(const char *line, void *context)
{
	die_write(line);
	print_frames(context, UNW_INIT_SIGNAL_FRAME);
}

void die_trace(struct cmi *m, const char *line, void *context)
{
	die_write(line);
	print_once(m, context, UNW_INIT_SIGNAL_FRAME);
}

void cmi_signal_abort(struct cmi *m, int code, const char *line, void *context)
{
	die_first(m, code);
	cmi_note_end(CMI_NOTE_ABORT, code, NULL);
	die_trace(m, line, context);
	die_here(m, code);
}
