/* SPDX-License-Identifier: Apache-2.0 */
/* seen.c: see seen.h. */
#include "seen.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../base/cmi_dial.h"
#include "../shm/share.h"
#include "../tools/clock.h"
#include "machine_int.h"

static bool is_with(const struct cmi *m, int node, int other)
{
	return m->job.host_id[other] == m->job.host_id[node];
}

void seen_want(const struct cmi *m, uint64_t until_ns)
{
	for (int node = 0; node < m->job.n_nodes; node++)
		for (int pe = m->job.first_pe[node]; pe < m->job.first_pe[node + 1]; pe++) {
			struct cmi_dial *d = share_dial(m, pe);

			if (d)
				atomic_store_explicit(&d->wanted, until_ns, memory_order_relaxed);
		}
}

size_t seen_bytes(const struct cmi *m, int node)
{
	size_t n = sizeof(struct cmi_seen_host);

	for (int i = 0; i < m->job.n_nodes; i++)
		if (is_with(m, node, i))
			n += sizeof(struct cmi_seen_node) +
			     (size_t)(m->job.first_pe[i + 1] - m->job.first_pe[i]) * sizeof(struct cmi_seen);
	return n;
}

static uint64_t get(const _Atomic uint64_t *at)
{
	return atomic_load_explicit(at, memory_order_relaxed);
}

static uint16_t seconds(uint64_t now, uint64_t since)
{
	const uint64_t s = now > since ? (now - since) / 1000000000u : 0;

	return s < UINT16_MAX ? (uint16_t)s : UINT16_MAX;
}

/* It does not count. Its dial may still have what it has shown to somebody before. */
static uint8_t state_of_silent(const struct cmi_dial *d)
{
	return atomic_load_explicit(&d->asleep, memory_order_relaxed) ? SEEN_ASLEEP : SEEN_AWAY;
}

/* It has found work since it was idle, and is in a handler. */
static bool is_away(const struct cmi_dial *d, uint64_t now)
{
	const uint64_t at = get(&d->idle_at_ns);

	return !atomic_load_explicit(&d->asleep, memory_order_relaxed) && now > at &&
	       now - at > DIAL_AWAY_MS * (uint64_t)1000000;
}

static struct cmi_seen see_pe(const struct cmi *m, int pe, uint64_t now)
{
	const struct cmi_dial *d = share_dial(m, pe);
	struct cmi_seen s = { .state = SEEN_NOT };
	uint64_t idle, since, until = now;

	if (!d)
		return s;
	s.sent = get(&d->sent);
	s.handled = get(&d->handled);
	s.near = get(&d->near);
	s.far = get(&d->far);
	s.queue = atomic_load_explicit(&d->queue, memory_order_relaxed);
	s.state = state_of_silent(d);
	/* Acquire: pairs with the release when the PE began to count. */
	if (!atomic_load_explicit(&d->counts, memory_order_acquire))
		return s;
	since = get(&d->since_ns);
	idle = get(&d->idle_ns);
	s.state = atomic_load_explicit(&d->idle, memory_order_relaxed) ? SEEN_IDLE : SEEN_BUSY;
	if (s.state == SEEN_IDLE && is_away(d, now)) {
		s.state = SEEN_BUSY;
		until = get(&d->idle_at_ns);
	}
	if (s.state == SEEN_IDLE || until < now) {
		idle += until > since ? until - since : 0;
		since = until < now ? until : since;
	}
	s.idle_ms = (uint32_t)(idle / 1000000);
	s.counted_ms = (uint32_t)((now - get(&d->from_ns)) / 1000000);
	s.state_s = seconds(now, since);
	return s;
}

/** Of /proc/PID/statm. 0: it cannot be read. */
static uint64_t resident(int pid)
{
	char path[48];
	unsigned long long all, pages = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/statm", pid);
	f = pid ? fopen(path, "re") : NULL;
	if (f && fscanf(f, "%llu %llu", &all, &pages) != 2)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static struct cmi_seen_node see_node(const struct cmi *m, int node)
{
	struct cmi_seen_node s = { .pid = node == m->job.node ? getpid() : share_pid(m->share, node),
				   .first_pe = (uint32_t)m->job.first_pe[node] };

	s.resident = resident(s.pid);
	s.memory = share_used(m->share, node);
	return s;
}

/* The bytes need not be aligned. */
static char *put(char *to, const void *from, size_t n)
{
	memcpy(to, from, n);
	return to + n;
}

void seen_here(const struct cmi *m, char *to)
{
	const struct cmi_job *j = &m->job;
	struct cmi_seen_host h = { .at_ns = machine_now_ns() };
	char *at = to + sizeof h;

	for (int node = 0; node < j->n_nodes; node++)
		if (is_with(m, j->node, node)) {
			const struct cmi_seen_node n = see_node(m, node);

			h.n_nodes++;
			at = put(at, &n, sizeof n);
		}
	for (int node = 0; node < j->n_nodes; node++)
		for (int pe = j->first_pe[node]; is_with(m, j->node, node) && pe < j->first_pe[node + 1]; pe++) {
			const struct cmi_seen s = see_pe(m, pe, h.at_ns);

			h.n_pes++;
			at = put(at, &s, sizeof s);
		}
	put(to, &h, sizeof h);
}
