/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join.c: matches sends and handlers, and aligns the clocks of all hosts.
 *
 * Most messages carry a number of their sender. The others (TRACE_KEYED), and puts, keep their
 * order among those with the same ends and the same key: the k-th that was sent is the k-th that
 * was handled. If the beginning of a ring is lost, they are counted from the end; a send that is
 * later than its handler was still under way when the trace ended, and is skipped. So no arrow runs
 * backward. That holds even where priorities let such messages overtake each other: the k-th
 * handler has at least k earlier sends.
 *
 * Clocks of hosts: a message is handled after it was sent. Messages in both directions between two
 * hosts thus bound the difference of their clocks from both sides, as closely as the fastest of
 * them; the middle is taken. If no constant difference fits the whole run, because the clocks run
 * at different rates, a line is taken, the one with the largest distance from all bounds. Bounds
 * are all messages that are matched without using the clocks.
 */
#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- time ------------------------------------------------------------------------------------- */

static double own_ns(const struct host *h, uint64_t ticks)
{
	return h->base_ns + (double)(int64_t)(ticks - h->base_ticks) * h->ns_per_tick;
}

static double common_ns(const struct job *j, const struct pe_trace *p, const struct trace_record *r)
{
	const struct host *h = &j->hosts[p->host];
	double ns = own_ns(h, r->time);

	return ns + h->shift + h->slope * (ns - h->base_ns);
}

int64_t record_ns(const struct job *j, const struct pe_trace *p, const struct trace_record *r)
{
	return (int64_t)common_ns(j, p, r) - j->start_ns;
}

static void find_range(struct job *j)
{
	bool any = false;

	for (int i = 0; i < j->n_pes; i++) {
		const struct pe_trace *p = &j->pes[i];

		if (!p->head || !p->n)
			continue;
		int64_t first = (int64_t)common_ns(j, p, record_at(p, 0));
		int64_t last = (int64_t)common_ns(j, p, record_at(p, p->n - 1));

		if (!any || first < j->start_ns)
			j->start_ns = first;
		if (!any || last > j->end_ns)
			j->end_ns = last;
		any = true;
	}
	j->end_ns -= j->start_ns;
}

/* ---- messages with a number ------------------------------------------------------------------------ */

static struct message *add_message(struct job *j)
{
	if (j->n_messages == j->cap_messages) {
		j->cap_messages = j->cap_messages ? 2 * j->cap_messages : 4096;
		j->messages = need(realloc(j->messages, j->cap_messages * sizeof *j->messages));
	}
	return &j->messages[j->n_messages++];
}

/* The message with this number of PE `from`, whose sends are messages first .. first + n - 1, with
 * rising numbers. */
static struct message *find_numbered(struct job *j, const size_t *first, int from, uint32_t seq)
{
	const struct pe_trace *p = &j->pes[from];
	size_t low = first[from], high = first[from + 1];

	if (low == high)
		return NULL;
	uint32_t base = record_at(p, j->messages[low].sent)->seq;

	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (record_at(p, j->messages[mid].sent)->seq - base <= seq - base)
			low = mid;
		else
			high = mid;
	}
	return record_at(p, j->messages[low].sent)->seq == seq ? &j->messages[low] : NULL;
}

static void list_numbered(struct job *j, size_t *first)
{
	for (int i = 0; i < j->n_pes; i++) {
		const struct pe_trace *p = &j->pes[i];

		first[i] = j->n_messages;
		for (uint32_t k = 0; p->head && k < p->n; k++) {
			const struct trace_record *r = record_at(p, k);

			j->n_left += r->kind == TRACE_LEAVE;
			j->n_came += r->kind == TRACE_COME;
			if (r->kind != TRACE_SEND)
				continue;
			j->n_sent++;
			if (!(r->flags & TRACE_KEYED))
				*add_message(j) = (struct message){ i, NONE, k, 0, false };
		}
	}
	first[j->n_pes] = j->n_messages;
}

static void join_numbered(struct job *j)
{
	size_t *first = need(calloc((size_t)j->n_pes + 1, sizeof *first));

	list_numbered(j, first);
	for (int i = 0; i < j->n_pes; i++) {
		const struct pe_trace *p = &j->pes[i];

		for (uint32_t k = 0; p->head && k < p->n; k++) {
			const struct trace_record *r = record_at(p, k);

			j->n_handled += record_is_handled(r);
			if (!record_is_handled(r) || (r->flags & TRACE_KEYED) || r->pe < 0 || r->pe >= j->n_pes)
				continue;
			struct message *m = find_numbered(j, first, r->pe, r->seq);

			if (m && m->to == NONE) {
				m->to = i;
				m->taken = k;
			}
		}
	}
	free(first);
}

/* ---- messages without one, puts ----------------------------------------------------------------------- */

/* Clocks differ by less: a good crystal's by 1e-4; a rate measured in a short run adds to it. */
static const double SLOPE_MOST = 0.01;
enum { SLOPE_STEPS = 100 };          /* (2/3)^100 of that is left: 1e-19 */

struct end {
	int32_t from, to;
	uint64_t key;
	double ns;
	int32_t pe;
	uint32_t record;
};

struct ends {
	struct end *at;
	size_t n, cap;
};

static void add_end(struct ends *all, struct end e)
{
	if (all->n == all->cap) {
		all->cap = all->cap ? 2 * all->cap : 1024;
		all->at = need(realloc(all->at, all->cap * sizeof *all->at));
	}
	all->at[all->n++] = e;
}

static int compare_group(const struct end *a, const struct end *b)
{
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->key > b->key) - (a->key < b->key);
}

static int compare_ends(const void *x, const void *y)
{
	const struct end *a = x, *b = y;
	int by_group = compare_group(a, b);

	if (by_group)
		return by_group;
	if (a->ns != b->ns)
		return a->ns < b->ns ? -1 : 1;
	return (a->record > b->record) - (a->record < b->record);
}

/* Handlers whose messages any PE of a node may handle. */
static bool *for_nodes(const struct job *j)
{
	bool *is = need(calloc(UINT16_MAX + 1, sizeof *is));

	for (int i = 0; i < j->n_pes; i++)
		for (uint32_t k = 0; k < j->pes[i].n; k++) {
			const struct trace_record *r = record_at(&j->pes[i], k);

			if (r->kind == TRACE_SEND && (r->flags & TRACE_TO_NODE))
				is[r->what] = true;
		}
	return is;
}

/* The group of a message to a PE: that PE, or for messages to a node a number below all PEs. */
static int32_t target(const struct job *j, const bool *to_node, const struct trace_record *r, int32_t pe)
{
	bool node = r->kind == TRACE_BEGIN ? r->flags & TRACE_TO_NODE : to_node[r->what];

	if (!node || pe < 0 || pe >= j->n_pes || !j->pes[pe].head)
		return pe;
	return -2 - j->pes[pe].head->node;
}

/* A put's receiver does not record the sender; a channel has one sender. */
static void list_ends(const struct job *j, bool puts, struct ends *sent, struct ends *taken)
{
	bool *to_node = for_nodes(j);

	for (int i = 0; i < j->n_pes; i++) {
		const struct pe_trace *p = &j->pes[i];

		for (uint32_t k = 0; p->head && k < p->n; k++) {
			const struct trace_record *r = record_at(p, k);
			bool keyed = r->flags & TRACE_KEYED;
			double ns = common_ns(j, p, r);
			uint64_t put = (record_value(r) & UINT32_MAX) << 32 | r->seq;

			if (puts && r->kind == TRACE_PUT)
				add_end(sent, (struct end){ NONE, r->pe, put, ns, i, k });
			else if (puts && r->kind == TRACE_PUT_BEGIN)
				add_end(taken, (struct end){ NONE, i, put, ns, i, k });
			else if (!puts && keyed && r->kind == TRACE_SEND)
				add_end(sent, (struct end){ i, target(j, to_node, r, r->pe), r->seq, ns, i, k });
			else if (!puts && keyed && record_is_handled(r))
				add_end(taken, (struct end){ r->pe, target(j, to_node, r, i), r->seq, ns, i, k });
		}
	}
	free(to_node);
	if (sent->n)
		qsort(sent->at, sent->n, sizeof *sent->at, compare_ends);
	if (taken->n)
		qsort(taken->at, taken->n, sizeof *taken->at, compare_ends);
}

static void join_two(struct job *j, const struct end *s, const struct end *t, bool put)
{
	*add_message(j) = (struct message){ s->pe, t ? t->pe : NONE, s->record, t ? t->record : 0, put };
}

/* Whether the trace has all of them. */
static bool are_whole(const struct job *j, const struct end *e, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!j->pes[e[i].pe].whole)
			return false;
	return true;
}

/* Their clocks may not be aligned yet. */
static void join_from_front(struct job *j, const struct end *s, size_t n_s, const struct end *t, size_t n_t, bool put)
{
	for (size_t i = 0; i < n_s; i++)
		join_two(j, &s[i], i < n_t ? &t[i] : NULL, put);
}

static void join_from_end(struct job *j, const struct end *s, size_t n_s, const struct end *t, size_t n_t, bool put)
{
	while (n_s) {
		const struct end *last = &s[n_s - 1], *to = n_t ? &t[n_t - 1] : NULL;
		bool fits = to && last->ns <= to->ns;

		join_two(j, last, fits ? to : NULL, put);
		n_s--;
		n_t -= fits;
	}
}

static size_t group_end(const struct ends *e, size_t i)
{
	size_t k = i;

	while (k < e->n && compare_group(&e->at[k], &e->at[i]) == 0)
		k++;
	return k;
}

/* Those that the trace has completely, or those of which some are missing. */
static void join_ordered(struct job *j, bool puts, bool of_whole)
{
	struct ends sent = { 0 }, taken = { 0 };
	size_t t = 0;

	list_ends(j, puts, &sent, &taken);
	for (size_t s = 0, s_end; s < sent.n; s = s_end) {
		s_end = group_end(&sent, s);
		while (t < taken.n && compare_group(&taken.at[t], &sent.at[s]) < 0)
			t++;
		size_t t_end = t < taken.n && compare_group(&taken.at[t], &sent.at[s]) == 0 ? group_end(&taken, t) : t;
		bool whole = are_whole(j, sent.at + s, s_end - s) && are_whole(j, taken.at + t, t_end - t);

		if (whole == of_whole)
			(whole ? join_from_front : join_from_end)(j, sent.at + s, s_end - s, taken.at + t, t_end - t, puts);
		t = t_end;
	}
	free(sent.at);
	free(taken.at);
}

/* ---- clocks of hosts ---------------------------------------------------------------------------------- */

/* A message between host h and an aligned one bounds h's shift at one moment. */
struct bound {
	double at;                   /* by h's own clock, since its base */
	double shift;                /* the shift is not below it / not above it */
	bool is_low;
};

struct bounds {
	struct bound *all;           /* [n] */
	size_t n, cap;
};

static void add_bound(struct bounds *b, double at, double shift, bool is_low)
{
	if (b->n == b->cap) {
		b->cap = b->cap ? 2 * b->cap : 1024;
		b->all = need(realloc(b->all, b->cap * sizeof *b->all));
	}
	b->all[b->n++] = (struct bound){ at, shift, is_low };
}

static struct bounds bounds_of(const struct job *j, int number)
{
	const struct host *h = &j->hosts[number];
	struct bounds b = { 0 };

	for (size_t i = 0; i < j->n_messages; i++) {
		const struct message *m = &j->messages[i];

		if (m->to == NONE)
			continue;
		const struct pe_trace *a = &j->pes[m->from], *c = &j->pes[m->to];
		const struct trace_record *s = record_at(a, m->sent), *t = record_at(c, m->taken);

		if (a->host == number && c->host != number && j->hosts[c->host].aligned)
			add_bound(&b, own_ns(h, s->time) - h->base_ns, common_ns(j, c, t) - own_ns(h, s->time), false);
		else if (c->host == number && a->host != number && j->hosts[a->host].aligned)
			add_bound(&b, own_ns(h, t->time) - h->base_ns, common_ns(j, a, s) - own_ns(h, t->time), true);
	}
	return b;
}

/* The distance that a line of this slope can keep from all bounds, and its shift then. Below 0: it
 * violates some. Infinite: the bounds are on one side only. */
static double margin(const struct bounds *b, double slope, double *shift_p)
{
	double low = -INFINITY, high = INFINITY;

	for (size_t i = 0; i < b->n; i++) {
		const double shift = b->all[i].shift - slope * b->all[i].at;

		if (b->all[i].is_low)
			low = fmax(low, shift);
		else
			high = fmin(high, shift);
	}
	*shift_p = isfinite(low) && isfinite(high) ? low + (high - low) / 2 : isfinite(low) ? low : high;
	return (high - low) / 2;
}

/* The margin first rises with the slope and then falls, so each step can exclude a third. */
static void fit_line(const struct bounds *b, struct host *h)
{
	double from = -SLOPE_MOST, to = SLOPE_MOST, shift;

	for (int i = 0; i < SLOPE_STEPS; i++) {
		const double third = (to - from) / 3;

		if (margin(b, from + third, &shift) < margin(b, to - third, &shift))
			from += third;
		else
			to -= third;
	}
	h->slope = from + (to - from) / 2;
	margin(b, h->slope, &h->shift);
}

static void align(const struct job *j, int number, double guess)
{
	struct host *h = &j->hosts[number];
	struct bounds b = bounds_of(j, number);
	double bound, m = margin(&b, 0, &bound);

	if (isinf(m))
		h->shift = !b.n ? guess : b.all[0].is_low ? fmax(guess, bound) : fmin(guess, bound);
	else if (m >= 0)
		h->shift = bound;
	else
		fit_line(&b, h);
	free(b.all);
}

static int64_t real_minus_monotonic(const struct job *j, int host)
{
	for (int i = 0; i < j->n_pes; i++)
		if (j->pes[i].head && j->pes[i].host == host)
			return (int64_t)(j->pes[i].head->start_real_ns - j->pes[i].head->start.ns);
	return 0;
}

static bool talks_to_aligned(const struct job *j, int host)
{
	for (size_t i = 0; i < j->n_messages; i++) {
		const struct message *m = &j->messages[i];

		if (m->to == NONE)
			continue;
		const int a = j->pes[m->from].host, c = j->pes[m->to].host;

		if ((a == host && c != host && j->hosts[c].aligned) || (c == host && a != host && j->hosts[a].aligned))
			return true;
	}
	return false;
}

/* First those that exchange messages with an aligned host. */
static void align_hosts(struct job *j)
{
	j->hosts[0].aligned = true;
	for (int left = j->n_hosts - 1; left > 0; left--) {
		int next = -1;

		for (int h = 1; h < j->n_hosts; h++)
			if (!j->hosts[h].aligned && (next < 0 || talks_to_aligned(j, h)))
				next = h;
		align(j, next, (double)(real_minus_monotonic(j, next) - real_minus_monotonic(j, 0)));
		j->hosts[next].aligned = true;
	}
}

/* ---- all together ------------------------------------------------------------------------------------- */

/* An arrow that would still run backward, between hosts whose clocks neither line fits, is
 * dropped. */
static void index_messages(struct job *j)
{
	for (size_t i = 0; i < j->n_messages; i++) {
		struct message *m = &j->messages[i];

		j->pes[m->from].message[m->sent] = (uint32_t)i + 1;
		if (m->to == NONE)
			continue;
		const struct pe_trace *a = &j->pes[m->from], *c = &j->pes[m->to];

		if (record_ns(j, a, record_at(a, m->sent)) > record_ns(j, c, record_at(c, m->taken))) {
			m->to = NONE;
			j->n_backward++;
			continue;
		}
		j->pes[m->to].message[m->taken] = (uint32_t)i + 1;
		j->n_joined += !m->put;
	}
}

void trace_join(struct job *j)
{
	join_numbered(j);
	join_ordered(j, false, true);
	join_ordered(j, true, true);
	align_hosts(j);
	join_ordered(j, false, false);
	join_ordered(j, true, false);
	find_range(j);
	index_messages(j);
}
