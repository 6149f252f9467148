/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.c: --progress: a line on the terminal that is rewritten once a second. The PEs show
 * their state in memory that ckrun has made (cmi_gauge.h), so ckrun sends no requests, and also
 * sees PEs that do not respond.
 *
 * The line follows everything else that ckrun has written to its stderr. output.c removes it before
 * other text; it is drawn again when that text is written. If stderr is no terminal that can erase
 * a line, nothing is shown, and the nodes count nothing. Of a job on several hosts far.c makes the
 * line. --replace-hung (hung.c) reads the same
 * memory, with a terminal or without.
 */
#include "launch.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../runtime/machine/base/cmi_gauge.h"

enum {
	EVERY_MS = 1000,
	USUAL_COLUMNS = 80,       /* where the terminal does not say */
	LINE_MOST = 512,
};

/** The sums of all PEs. */
struct total {
	uint64_t ticks[GAUGE_STATES], handled;
	int64_t at_ms;
	int n_pes;                /* that have begun */
};

struct launch_progress {
	int fd;
	bool shown;               /* else only --replace-hung reads the gauges */
	struct launch_far *far;   /* on several hosts; then there are no gauges, and fd is -1 */
	struct gauge *gauges;     /* [n_pes]; the nodes write them */
	int n_pes;
	int64_t begun_ms, due_ms;
	struct total last;
	const struct image_page *page; /* what the job has saved; NULL: nobody knows */
	char line[LINE_MOST];     /* "": none yet */
};

static bool can_rewrite(int fd)
{
	const char *term = getenv("TERM");

	return isatty(fd) && term && *term && strcmp(term, "dumb");
}

void launch_progress_start(struct launch_job *job)
{
	const size_t bytes = (size_t)job->o.n_pes * sizeof(struct gauge);

	const bool shown = job->o.progress && can_rewrite(job->err->fd);

	if (!shown && !job->o.hung_ms)
		return;
	struct launch_progress *p = launch_must_have(calloc(1, sizeof(*p)), "the progress line");
	p->shown = shown;
	p->begun_ms = p->last.at_ms = launch_now_ms();
	if (job->o.delegate) {
		p->fd = -1;
		p->far = launch_far_new();
		job->progress = p;
		return;
	}
	p->n_pes = job->o.n_pes;
	p->page = job->images.page;
	p->fd = memfd_create("ckrun-progress", MFD_CLOEXEC);
	if (p->fd < 0 || ftruncate(p->fd, (off_t)bytes))
		launch_must_have(NULL, "the progress line");
	p->gauges = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
	launch_must_have(p->gauges == MAP_FAILED ? NULL : p->gauges, "the progress line");
	p->due_ms = p->begun_ms + EVERY_MS;
	job->progress = p;
}

int launch_progress_fd(const struct launch_job *job)
{
	return job->progress ? job->progress->fd : -1;
}

const struct gauge *launch_progress_gauges(const struct launch_job *job)
{
	return job->progress->gauges;
}

void launch_progress_forget(struct launch_job *job)
{
	struct launch_progress *p = job->progress;

	if (!p || p->far)
		return;
	memset(p->gauges, 0, (size_t)p->n_pes * sizeof(struct gauge));
	p->last = (struct total){ .at_ms = launch_now_ms() };
}

/* ---- the nodes' gauges ------------------------------------------------------------------ */

static uint64_t look(const _Atomic uint64_t *at)
{
	return atomic_load_explicit(at, memory_order_relaxed);
}

static void add_gauge(struct total *t, const struct gauge *g)
{
	/* Acquire: pairs with the release when the PE began, and makes `since` visible. */
	uint32_t clock = atomic_load_explicit(&g->clock, memory_order_acquire);
	uint32_t state = atomic_load_explicit(&g->state, memory_order_relaxed);
	if (clock == GAUGE_NONE)
		return;
	t->n_pes++;
	t->handled += look(&g->handled);
	for (int i = 0; i < GAUGE_STATES; i++)
		t->ticks[i] += look(&g->ticks[i]);
	uint64_t now = cmi_ticks(clock == GAUGE_COUNTER), since = look(&g->since);
	if (state < GAUGE_STATES && now > since)
		t->ticks[state] += now - since;
}

/** A consistent text, or false: none, or it is being written just now. */
static bool read_text(const struct gauge *g, char text[GAUGE_TEXT])
{
	uint64_t words[GAUGE_TEXT / 8];
	/* Acquire, here and for each word: see struct gauge. */
	uint64_t seq = atomic_load_explicit(&g->text_seq, memory_order_acquire);
	if (seq == 0 || seq % 2)
		return false;
	for (int i = 0; i < GAUGE_TEXT / 8; i++)
		words[i] = atomic_load_explicit(&g->text[i], memory_order_acquire);
	if (look(&g->text_seq) != seq)
		return false;
	memcpy(text, words, GAUGE_TEXT);
	text[GAUGE_TEXT - 1] = '\0';
	return true;
}

/** The newest text of any PE. It comes from outside, so it must not control the terminal. */
static void newest_text(const struct launch_progress *p, char newest[GAUGE_TEXT])
{
	uint64_t newest_ns = 0;
	newest[0] = '\0';
	for (int i = 0; i < p->n_pes; i++) {
		char text[GAUGE_TEXT];
		uint64_t ns = look(&p->gauges[i].text_ns);
		if (ns > newest_ns && read_text(&p->gauges[i], text)) {
			newest_ns = ns;
			memcpy(newest, text, GAUGE_TEXT);
		}
	}
	for (char *c = newest; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}

/* ---- the line -------------------------------------------------------------------------- */

static uint64_t grown(uint64_t now, uint64_t last)
{
	return now > last ? now - last : 0;
}

/** "950", "12.3 k", "1.23 M". */
static void rate_text(double per_s, char *buf, size_t cap)
{
	static const char *const units[] = { "", " k", " M", " G" };
	int i = 0;
	for (; per_s >= 999.5 && i < 3; i++)
		per_s /= 1000;
	snprintf(buf, cap, i ? "%.3g%s" : "%.0f%s", per_s, units[i]);
}

/** "1.2 GB": as much as reads well. */
static void bytes_text(double bytes, char *buf, size_t cap)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
	int i = 0;

	for (; bytes >= 999.5 && i < 4; i++)
		bytes /= 1000;
	snprintf(buf, cap, bytes < 9.95 && i ? "%.1f %s" : "%.0f %s", bytes, units[i]);
}

/** ", saved 42 (1.2 GB, 0.8 s) 35 s ago, epoch 2", as far as there is something to say. */
static void saved_text(const struct image_page *page, char *buf, size_t cap)
{
	struct image_saved saved;
	char size[32];
	size_t n = 0;

	buf[0] = '\0';
	if (!page)
		return;
	if (image_talk_last(&page->talk, &saved)) {
		bytes_text((double)saved.bytes, size, sizeof(size));
		n = (size_t)snprintf(buf, cap, ", saved %llu (%s, %.1f s) %lld s ago",
				     (unsigned long long)saved.sequence, size, (double)saved.took_ns / 1e9,
				     (long long)(launch_now_ms() - (int64_t)(saved.at_ns / 1000000)) / 1000);
	}
	/* A job that dies before its first checkpoint starts again at the beginning. */
	const uint64_t epoch = look(&page->talk.epoch), again = look(&page->restarts);
	if (n < cap && (epoch || again))
		snprintf(buf + n, cap - n, ", epoch %llu", (unsigned long long)(epoch > again ? epoch : again));
}

static void compose(struct launch_progress *p, int64_t now_ms)
{
	struct total t = { .at_ms = now_ms };
	uint64_t ticks[GAUGE_STATES], all = 0;
	char rate[32], text[GAUGE_TEXT], saved[160];

	for (int i = 0; i < p->n_pes; i++)
		add_gauge(&t, &p->gauges[i]);
	for (int i = 0; i < GAUGE_STATES; i++)
		all += ticks[i] = grown(t.ticks[i], p->last.ticks[i]);
	long long s = (now_ms - p->begun_ms) / 1000;
	if (t.n_pes == 0 || all == 0) {
		snprintf(p->line, sizeof(p->line), "ckrun: %lld s, %d of %d PE%s begun", s, t.n_pes, p->n_pes,
			 p->n_pes == 1 ? " has" : "s have");
	} else {
		int64_t ms = now_ms > p->last.at_ms ? now_ms - p->last.at_ms : 1;
		rate_text((double)grown(t.handled, p->last.handled) * 1000 / (double)ms, rate, sizeof(rate));
		newest_text(p, text);
		saved_text(p->page, saved, sizeof(saved));
		snprintf(p->line, sizeof(p->line), "ckrun: %lld s, %d PE%s: %.0f %% busy, %.0f %% overhead, "
			 "%s messages/s%s%s%s", s, t.n_pes, t.n_pes == 1 ? "" : "s",
			 100.0 * (double)ticks[GAUGE_BUSY] / (double)all,
			 100.0 * (double)ticks[GAUGE_OVERHEAD] / (double)all, rate, saved, *text ? " | " : "", text);
	}
	p->last = t;
}

/** The terminal's current width, less one column: some move to the next line after the last one. */
static size_t columns(int fd)
{
	struct winsize w;
	size_t n = ioctl(fd, TIOCGWINSZ, &w) || w.ws_col == 0 ? USUAL_COLUMNS : w.ws_col;
	return n - 1;
}

static int far_turn(struct launch_job *job, struct launch_progress *p, int timeout_ms)
{
	int wait_ms;
	const bool is_new = launch_far_turn(job, p->far, p->begun_ms, p->line, sizeof(p->line), &wait_ms);

	if (p->line[0] && (is_new || !job->err->line))
		launch_sink_line(job->err, p->line, columns(job->err->fd));
	return timeout_ms >= 0 && timeout_ms < wait_ms ? timeout_ms : wait_ms;
}

int launch_progress_turn(struct launch_job *job, int timeout_ms)
{
	struct launch_progress *p = job->progress;
	if (!p || !p->shown)
		return timeout_ms;
	if (p->far)
		return far_turn(job, p, timeout_ms);
	int64_t now = launch_now_ms();
	bool due = now >= p->due_ms;
	if (due) {
		compose(p, now);
		p->due_ms = now + EVERY_MS;
	}
	if (p->line[0] && (due || !job->err->line))
		launch_sink_line(job->err, p->line, columns(job->err->fd));
	int64_t left = p->due_ms - now;
	return timeout_ms >= 0 && timeout_ms < left ? timeout_ms : (int)left;
}

void launch_progress_hide(struct launch_job *job)
{
	struct pollfd writable = { .fd = job->err->fd, .events = POLLOUT };
	launch_sink_no_line(job->err);
	if (job->err->out.len && poll(&writable, 1, 0) == 1)
		(void)launch_sink_write(job->err);
}

void launch_progress_anew(struct launch_job *job)
{
	if (!job->progress)
		return;
	const int64_t begun_ms = job->progress->begun_ms;
	launch_progress_end(job);
	launch_progress_start(job);
	if (job->progress)
		job->progress->begun_ms = begun_ms;
}

void launch_progress_end(struct launch_job *job)
{
	struct launch_progress *p = job->progress;
	if (!p)
		return;
	launch_sink_no_line(job->err);
	if (p->far) {
		launch_far_end(p->far);
		free(p);
		job->progress = NULL;
		return;
	}
	munmap(p->gauges, (size_t)p->n_pes * sizeof(struct gauge));
	close(p->fd);
	free(p);
	job->progress = NULL;
}
