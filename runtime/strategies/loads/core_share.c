/* SPDX-License-Identifier: Apache-2.0 */
/* core_share.c: which share of its core a PE gets; see share.h. */
#include "core_share.h"

/* After this many seconds measurements count half, or less. Other programs get the core for some ms
 * at a time, so it takes about a hundred of these turns to know a share to a tenth. */
static const double WINDOW = 0.5;
/* Seconds needed for a result. A PE that was idle for seconds counts as undisturbed. */
static const double LEAST = 0.02;
/* Everything on the machine takes some of the core. Elements need not move for that. */
static const double NEARLY_ALL = 0.95;
/* A PE that seems to stand still still gets some work, or it could never be measured again. */
static const double SLOWEST = 0.02;

enum {
	/* A hundred times the cost of measuring a stretch. On average measured stretches begin at least
	 * this far apart. */
	APART_NS = 200 * 1000,
	/* The sampling rate is adapted after this many stretches. */
	COUNT = 256
};
static const uint32_t ALL = UINT32_C(1) << 31;

static void adapt_rate(struct share *s, uint64_t now_ns)
{
	const uint64_t passed = s->counted_ns ? now_ns - s->counted_ns : UINT64_MAX,
		       want = passed / APART_NS;

	s->left_out = want < COUNT ? ALL - (uint32_t)(want * (ALL / COUNT)) : 0;
	s->counted_ns = now_ns;
	s->n = 0;
}

bool share_wants(struct share *s, uint64_t wall_ns)
{
	if (++s->n == COUNT)
		adapt_rate(s, wall_ns);
	s->draw = s->draw * 6364136223846793005u + 1442695040888963407u;
	return s->draw >> 33 >= s->left_out;
}

static double limited(double share)
{
	return share < SLOWEST ? SLOWEST : share < 1 ? share : 1;
}

static void share_time_add(struct share_time *t, double cpu, double wall)
{
	t->cpu += cpu;
	t->wall += wall;
}

static void multiply(struct share_time *t, double by)
{
	t->cpu *= by;
	t->wall *= by;
}

/* A stretch in which the thread has waited for a file or a lock says nothing about the core. */
static void add_stretch(struct share *s, const struct moment *now)
{
	const double cpu = (double)(now->cpu_ns - s->from.cpu_ns) * 1e-9;
	const double wall = (double)(now->wall_ns - s->from.wall_ns) * 1e-9;

	if (now->n_blocked != s->from.n_blocked)
		return;
	share_time_add(&s->all, cpu, wall);
	share_time_add(&s->recent, cpu, wall);
	if (wall - cpu > s->worst.wall - s->worst.cpu)
		s->worst = (struct share_time){ cpu, wall };
}

void share_begin(struct share *s, const struct moment *now)
{
	s->on = true;
	s->from = *now;
}

void share_end(struct share *s, const struct moment *now)
{
	add_stretch(s, now);
	s->on = false;
}

static void age(struct share *s, uint64_t now_ns)
{
	const double passed = s->aged_ns ? (double)(now_ns - s->aged_ns) * 1e-9 : 0,
		     kept = WINDOW / (WINDOW + passed);

	s->aged_ns = now_ns;
	multiply(&s->recent, kept);
	multiply(&s->worst, kept);
}

void share_look(struct share *s, const struct moment *now)
{
	if (s->on) {
		add_stretch(s, now);
		s->from = *now;
	}
	age(s, now->wall_ns);
}

static double recent_share(const struct share *s)
{
	return limited(s->recent.cpu / s->recent.wall);
}

/* A single disturbance predicts nothing. */
static bool has_its_core(const struct share *s)
{
	const double cpu = s->recent.cpu - s->worst.cpu, wall = s->recent.wall - s->worst.wall;

	return s->recent.wall < LEAST || recent_share(s) >= NEARLY_ALL ||
	       (wall >= LEAST && cpu >= NEARLY_ALL * wall);
}

double share_speed(const struct share *s)
{
	return has_its_core(s) ? 1 : recent_share(s);
}

double share_evens(const struct share *s, const struct share_time *before, double busy_seconds)
{
	const double cpu = s->all.cpu - before->cpu, wall = s->all.wall - before->wall;

	if (has_its_core(s) || wall <= 0 || wall < busy_seconds / 2)
		return 1;
	return limited(cpu / wall) / recent_share(s);
}
