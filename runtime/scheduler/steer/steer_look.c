/* SPDX-License-Identifier: Apache-2.0 */
/* steer_look.c: looks at the job; see steer_int.h. */
#include "steer_int.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

static const char WHAT[] = "what the job shows";

/* ---- where what is -------------------------------------------------------------------------- */

/* In the order of alive/seen.h: nodes of the host, then its PEs. */
static void place_host(struct look *l, int host)
{
	const struct cmi_job *j = l->job;
	size_t at = sizeof(struct cmi_seen_host);

	for (int node = 0; node < j->n_nodes; node++)
		if (l->host_of[node] == host) {
			l->node_at[node] = at;
			at += sizeof(struct cmi_seen_node);
		}
	for (int node = 0; node < j->n_nodes; node++)
		for (int pe = j->first_pe[node]; l->host_of[node] == host && pe < j->first_pe[node + 1]; pe++) {
			l->pe_at[pe] = at;
			at += sizeof(struct cmi_seen);
		}
}

static int host_of(const struct look *l, int node)
{
	for (int h = 0; h < l->n_hosts; h++)
		if (l->job->host_id[l->first[h]] == l->job->host_id[node])
			return h;
	return -1;
}

void look_open(struct look *l, struct cmi *machine)
{
	const struct cmi_job *j = cmi_job(machine);
	const size_t n = (size_t)j->n_nodes;

	*l = (struct look){ .machine = machine, .job = j };
	l->first = cmi_alloc_zero(n, sizeof *l->first, WHAT);
	l->host_of = cmi_alloc_zero(n, sizeof *l->host_of, WHAT);
	l->node_at = cmi_alloc_zero(n, sizeof *l->node_at, WHAT);
	l->pe_at = cmi_alloc_zero((size_t)j->n_pes, sizeof *l->pe_at, WHAT);
	for (int node = 0; node < j->n_nodes; node++) {
		l->host_of[node] = host_of(l, node);
		if (l->host_of[node] >= 0)
			continue;
		l->host_of[node] = l->n_hosts;
		l->first[l->n_hosts++] = node;
	}
	l->now = cmi_alloc_zero((size_t)l->n_hosts, sizeof *l->now, WHAT);
	l->before = cmi_alloc_zero((size_t)l->n_hosts, sizeof *l->before, WHAT);
	for (int h = 0; h < l->n_hosts; h++) {
		place_host(l, h);
		l->now[h].bytes = cmi_alloc_zero(cmi_seen_bytes(machine, l->first[h]), 1, WHAT);
		l->before[h].bytes = cmi_alloc_zero(cmi_seen_bytes(machine, l->first[h]), 1, WHAT);
	}
}

void look_close(struct look *l)
{
	for (int h = 0; h < l->n_hosts; h++) {
		free(l->now[h].bytes);
		free(l->before[h].bytes);
	}
	free(l->now);
	free(l->before);
	free(l->first);
	free(l->host_of);
	free(l->node_at);
	free(l->pe_at);
}

/* ---- looks ----------------------------------------------------------------------------------- */

/* The older look's memory takes the new one, unless that is still the same: another host has not
 * answered since. */
static void take_host(struct look *l, int host)
{
	struct look_host older = l->before[host];

	older.at_ns = cmi_seen(l->machine, l->first[host], older.bytes);
	if (!older.at_ns || older.at_ns == l->now[host].at_ns) {
		l->before[host] = older;
		l->before[host].at_ns = 0;
		return;
	}
	l->before[host] = l->now[host];
	l->now[host] = older;
}

void look_take(struct look *l)
{
	for (int h = 0; h < l->n_hosts; h++)
		take_host(l, h);
}

bool look_is_double(const struct look *l, int host)
{
	return l->now[host].at_ns && l->before[host].at_ns;
}

static struct cmi_seen pe_in(const struct look *l, const struct look_host *h, int pe)
{
	struct cmi_seen s;

	memcpy(&s, h->bytes + l->pe_at[pe], sizeof s);
	return s;
}

static int host_of_pe(const struct look *l, int pe)
{
	return l->host_of[l->job->node_of[pe]];
}

bool look_pe(const struct look *l, int pe, struct cmi_seen *s)
{
	const struct look_host *h = &l->now[host_of_pe(l, pe)];

	if (!h->at_ns)
		return false;
	*s = pe_in(l, h, pe);
	return s->state > SEEN_NOT && s->state < SEEN_STATES;
}

bool look_node(const struct look *l, int node, struct cmi_seen_node *s)
{
	const struct look_host *h = &l->now[l->host_of[node]];

	if (!h->at_ns)
		return false;
	memcpy(s, h->bytes + l->node_at[node], sizeof *s);
	return s->pid; /* 0: it shares no memory with the node that looked at its host */
}

/* ---- rates ----------------------------------------------------------------------------------- */

/* By the other host's clock. */
static double seconds_between(const struct look *l, int host)
{
	struct cmi_seen_host now, before;

	memcpy(&now, l->now[host].bytes, sizeof now);
	memcpy(&before, l->before[host].bytes, sizeof before);
	return now.at_ns > before.at_ns ? (double)(now.at_ns - before.at_ns) / 1e9 : 0;
}

static double rate(uint64_t now, uint64_t before, double s)
{
	return now > before && s > 0 ? (double)(now - before) / s : 0;
}

/* A PE that does not count yet shows where it is: it sleeps, or it has been in one handler since
 * somebody looks. One that began between the looks has counted since then. */
static double busy_of(const struct cmi_seen *now, const struct cmi_seen *before)
{
	uint32_t counted = now->counted_ms, idle = now->idle_ms;

	if (now->state == SEEN_ASLEEP || now->state == SEEN_AWAY)
		return now->state == SEEN_AWAY;
	if (before->state >= SEEN_IDLE && counted > before->counted_ms && idle >= before->idle_ms) {
		counted -= before->counted_ms;
		idle -= before->idle_ms;
	}
	return !counted ? now->state == SEEN_BUSY : idle < counted ? 1 - (double)idle / counted : 0;
}

struct look_rates look_rates(const struct look *l, int pe)
{
	const int host = host_of_pe(l, pe);
	struct look_rates r = { .busy = -1 };
	struct cmi_seen now, before = { .state = SEEN_NOT };
	double s;

	if (!look_pe(l, pe, &now))
		return r;
	if (!look_is_double(l, host)) {
		r.busy = busy_of(&now, &before);
		return r;
	}
	before = pe_in(l, &l->before[host], pe);
	s = seconds_between(l, host);
	r.busy = busy_of(&now, &before);
	r.queue = now.queue;
	/* Its figures were written before it counted, or never. */
	if (before.state < SEEN_IDLE || now.state < SEEN_IDLE)
		return r;
	r.sent = rate(now.sent, before.sent, s);
	r.handled = rate(now.handled, before.handled, s);
	r.near = rate(now.near, before.near, s);
	r.far = rate(now.far, before.far, s);
	return r;
}
