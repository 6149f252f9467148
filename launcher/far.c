/* SPDX-License-Identifier: Apache-2.0 */
/*
 * far.c: --progress of a job on several hosts: ckrun asks node 0 for `status` each second, as a
 * client of its socket does (relay.c), and makes a line of the answer's first.
 */
#include "launch.h"
#include "../job-control/ckctl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LOOK_MS = 50, EVERY_MS = 1000 };

struct launch_far {
	int fd;                  /* to node 0, which has been asked; -1 */
	struct launch_buf answer; /* so far */
	int64_t ask_ms;          /* when it is asked next */
};

struct launch_far *launch_far_new(void)
{
	struct launch_far *f = launch_must_have(calloc(1, sizeof(*f)), "the progress line");

	f->fd = -1;
	return f;
}

static void hang_up(struct launch_far *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	launch_buf_consume(&f->answer, f->answer.len);
}

void launch_far_end(struct launch_far *f)
{
	hang_up(f);
	launch_buf_fini(&f->answer);
	free(f);
}

static void ask(struct launch_job *job, struct launch_far *f, int64_t now)
{
	static const char line[] = "chard 1 status\n";

	f->ask_ms = now + EVERY_MS;
	f->fd = launch_links_take(job);
	if (f->fd >= 0)
		(void)send(f->fd, line, sizeof(line) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/** True: the answer is complete; it ends with 0 then. */
static bool is_complete(struct launch_far *f)
{
	enum { PIECE = 1 << 14 };
	ssize_t n;

	do {
		n = recv(f->fd, launch_buf_room(&f->answer, PIECE), PIECE, MSG_DONTWAIT);
		f->answer.len += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	launch_buf_append(&f->answer, "", 1);
	return true;
}

static void rate_text(double per_s, char *buf, size_t cap)
{
	static const char *const units[] = { "", " k", " M", " G" };
	int i = 0;

	for (; per_s >= 999.5 && i < 3; i++)
		per_s /= 1000;
	snprintf(buf, cap, i ? "%.3g%s" : "%.0f%s", per_s > 0 ? per_s : 0, units[i]);
}

static void compose(const char *answer, int64_t s, char *line, size_t cap)
{
	const char *job = answer + strlen("ok ");
	const double busy = status_number(job, "busy"), seen = status_number(job, "seen_pes"),
		     age = status_number(job, "checkpoint_age_s");
	char rate[32], saved[64] = "";

	rate_text(status_number(job, "sent_per_s"), rate, sizeof(rate));
	if (age >= 0)
		snprintf(saved, sizeof(saved), ", saved %.0f %.0f s ago", status_number(job, "checkpoint"), age);
	snprintf(line, cap, "ckrun: %lld s, %.0f of %.0f PEs on %.0f hosts: %.0f %% busy, "
		 "%s messages/s%s, epoch %.0f", (long long)s,
		 seen, status_number(job, "pes"), status_number(job, "hosts"),
		 100 * (busy > 0 ? busy : 0), rate, saved, status_number(job, "epoch"));
}

bool launch_far_turn(struct launch_job *job, struct launch_far *f, int64_t since_ms, char *line,
		     size_t cap, int *wait_ms)
{
	const int64_t now = launch_now_ms();
	bool is_new = false;

	if (f->fd >= 0 && is_complete(f)) {
		const char *answer = launch_buf_at(&f->answer);

		is_new = !strncmp(answer, "ok job ", 7) && status_is_whole(answer);
		if (is_new)
			compose(answer, (now - since_ms) / 1000, line, cap);
		hang_up(f);
	}
	if (f->fd < 0 && now >= f->ask_ms && job->phase == LAUNCH_RUNNING)
		ask(job, f, now);
	*wait_ms = f->fd >= 0 ? LOOK_MS : f->ask_ms > now ? (int)(f->ask_ms - now) : LOOK_MS;
	return is_new;
}
