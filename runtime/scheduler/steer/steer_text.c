/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steer_text.c: the job as text.
 *
 * status: a line for the job, each host, each node and each PE: the kind, then NAME=VALUE, all
 * separated by one blank; "-" is a value that is not known. The last line is "end". Names may be
 * added, and none changes its meaning.
 *
 * metrics: the text of OpenMetrics 1.0.
 */
#include "steer_int.h"

#include <inttypes.h>
#include <string.h>

/* ---- sums ------------------------------------------------------------------------------------ */

/** Of several PEs. */
struct sum {
	struct look_rates r;           /* busy: the sum */
	double most;                   /* busy of the busiest */
	int n, seen;
};

static void add(struct sum *s, const struct look_rates *r)
{
	s->n++;
	if (r->busy < 0)
		return;
	s->seen++;
	s->most = r->busy > s->most ? r->busy : s->most;
	s->r.busy += r->busy;
	s->r.sent += r->sent;
	s->r.handled += r->handled;
	s->r.near += r->near;
	s->r.far += r->far;
	s->r.queue += r->queue;
}

/** host < 0: all. */
static struct sum sum_of(const struct look *l, int host)
{
	struct sum s = { .n = 0 };

	for (int pe = 0; pe < l->job->n_pes; pe++)
		if (host < 0 || l->host_of[l->job->node_of[pe]] == host) {
			const struct look_rates r = look_rates(l, pe);

			add(&s, &r);
		}
	return s;
}

static int n_nodes_of(const struct look *l, int host)
{
	int n = 0;

	for (int node = 0; node < l->job->n_nodes; node++)
		n += l->host_of[node] == host;
	return n;
}

static double since(uint64_t at_ns)
{
	const uint64_t now = csd_now_ns();

	return at_ns && now > at_ns ? (double)(now - at_ns) / 1e9 : 0;
}

/* ---- status ---------------------------------------------------------------------------------- */

static void say_busy(FILE *out, double busy)
{
	if (busy < 0)
		fputs(" busy=-", out);
	else
		fprintf(out, " busy=%.3f", busy);
}

static void say_rates(FILE *out, const struct look_rates *r)
{
	fprintf(out, " queue=%" PRIu64 " sent_per_s=%.0f handled_per_s=%.0f near_bytes_per_s=%.0f "
		"far_bytes_per_s=%.0f", r->queue, r->sent, r->handled, r->near, r->far);
}

/* The busiest PE's time over the mean: 1 is balanced. */
static void say_sum(FILE *out, const struct sum *s, bool imbalance)
{
	say_busy(out, s->seen ? s->r.busy / s->seen : -1);
	if (imbalance && s->seen && s->r.busy > 0)
		fprintf(out, " imbalance=%.3f", s->most * s->seen / s->r.busy);
	else if (imbalance)
		fputs(" imbalance=-", out);
	say_rates(out, &s->r);
}

/* Relaxed: see struct csd_saved. */
static void say_saved(FILE *out, const struct csd_saved *saved)
{
	const uint64_t sequence = atomic_load_explicit(&saved->sequence, memory_order_acquire);

	if (!sequence) {
		fputs(" checkpoint=- checkpoint_bytes=- checkpoint_s=- checkpoint_age_s=-", out);
		return;
	}
	fprintf(out, " checkpoint=%" PRIu64 " checkpoint_bytes=%" PRIu64 " checkpoint_s=%.3f "
		"checkpoint_age_s=%.1f", sequence,
		atomic_load_explicit(&saved->bytes, memory_order_relaxed),
		(double)atomic_load_explicit(&saved->took_ns, memory_order_relaxed) / 1e9,
		since(atomic_load_explicit(&saved->at_ns, memory_order_relaxed)));
}

static void status_job(FILE *out, const struct node *node, const struct look *l)
{
	const struct sum s = sum_of(l, -1);

	fprintf(out, "job hosts=%d nodes=%d pes=%d seen_pes=%d up_s=%.1f epoch=%" PRIu64, l->n_hosts,
		l->job->n_nodes, l->job->n_pes, s.seen, since(node->start_ns), node->epoch.no);
	say_saved(out, &node->saved);
	say_sum(out, &s, true);
	fputc('\n', out);
}

static void status_host(FILE *out, const struct look *l, int host)
{
	const struct sum s = sum_of(l, host);

	fprintf(out, "host id=%d name=%s nodes=%d pes=%d", host, cmi_host_name(l->machine, l->first[host]),
		n_nodes_of(l, host), s.n);
	if (l->now[host].at_ns)
		fprintf(out, " seen_s=%.1f", since(l->now[host].at_ns));
	else
		fputs(" seen_s=-", out);
	say_sum(out, &s, false);
	fputc('\n', out);
}

static void status_node(FILE *out, const struct look *l, int node)
{
	struct cmi_seen_node s;

	fprintf(out, "node id=%d host=%d pes=%d-%d", node, l->host_of[node], l->job->first_pe[node],
		l->job->first_pe[node + 1] - 1);
	if (look_node(l, node, &s))
		fprintf(out, " pid=%d resident_bytes=%" PRIu64 " message_bytes=%" PRIu64 "\n", (int)s.pid,
			s.resident, s.memory);
	else
		fputs(" pid=- resident_bytes=- message_bytes=-\n", out);
}

static void status_pe(FILE *out, const struct look *l, int pe)
{
	static const char *const states[SEEN_STATES] = {
		[SEEN_ASLEEP] = "idle", [SEEN_AWAY] = "busy", [SEEN_IDLE] = "idle", [SEEN_BUSY] = "busy",
	};
	const struct look_rates r = look_rates(l, pe);
	struct cmi_seen s;

	fprintf(out, "pe id=%d node=%d", pe, l->job->node_of[pe]);
	if (!look_pe(l, pe, &s)) {
		fputs(" state=- state_s=- busy=- queue=- sent_per_s=- handled_per_s=- near_bytes_per_s=- "
		      "far_bytes_per_s=-\n", out);
		return;
	}
	fprintf(out, " state=%s state_s=", states[s.state]);
	if (s.state >= SEEN_IDLE)
		fprintf(out, "%u", s.state_s);
	else
		fputc('-', out);
	say_busy(out, r.busy);
	say_rates(out, &r);
	fputc('\n', out);
}

void text_pes(FILE *out, const struct look *l)
{
	for (int pe = 0; pe < l->job->n_pes; pe++)
		status_pe(out, l, pe);
}

void text_status(FILE *out, const struct node *node, const struct look *l)
{
	status_job(out, node, l);
	for (int h = 0; h < l->n_hosts; h++)
		status_host(out, l, h);
	for (int i = 0; i < l->job->n_nodes; i++)
		status_node(out, l, i);
	text_pes(out, l);
	fputs("end\n", out);
}

/* ---- metrics --------------------------------------------------------------------------------- */

static void family(FILE *out, const char *name, const char *type, const char *unit,
		   const char *help)
{
	fprintf(out, "# TYPE %s %s\n", name, type);
	if (unit)
		fprintf(out, "# UNIT %s %s\n", name, unit);
	fprintf(out, "# HELP %s %s\n", name, help);
}

static void metrics_job(FILE *out, const struct node *node, const struct look *l)
{
	const uint64_t saved = atomic_load_explicit(&node->saved.sequence, memory_order_acquire);

	family(out, "chard_hosts", "gauge", NULL, "Hosts of the job.");
	fprintf(out, "chard_hosts %d\n", l->n_hosts);
	family(out, "chard_nodes", "gauge", NULL, "Processes of the job.");
	fprintf(out, "chard_nodes %d\n", l->job->n_nodes);
	family(out, "chard_pes", "gauge", NULL, "PEs of the job.");
	fprintf(out, "chard_pes %d\n", l->job->n_pes);
	family(out, "chard_uptime_seconds", "gauge", "seconds", "Since node 0 was started.");
	fprintf(out, "chard_uptime_seconds %.3f\n", since(node->start_ns));
	family(out, "chard_epoch", "gauge", NULL, "How often the job has been started again.");
	fprintf(out, "chard_epoch %" PRIu64 "\n", node->epoch.no);
	family(out, "chard_checkpoint_sequence", "gauge", NULL, "The last complete checkpoint; 0: none.");
	fprintf(out, "chard_checkpoint_sequence %" PRIu64 "\n", saved);
	if (!saved)
		return;
	family(out, "chard_checkpoint_size_bytes", "gauge", "bytes", "Of the last complete checkpoint.");
	fprintf(out, "chard_checkpoint_size_bytes %" PRIu64 "\n",
		atomic_load_explicit(&node->saved.bytes, memory_order_relaxed));
	family(out, "chard_checkpoint_age_seconds", "gauge", "seconds", "Since it was complete.");
	fprintf(out, "chard_checkpoint_age_seconds %.3f\n",
		since(atomic_load_explicit(&node->saved.at_ns, memory_order_relaxed)));
}

static void metrics_nodes(FILE *out, const struct look *l)
{
	struct cmi_seen_node s;

	family(out, "chard_node_resident_bytes", "gauge", "bytes", "Memory of the process.");
	for (int i = 0; i < l->job->n_nodes; i++)
		if (look_node(l, i, &s))
			fprintf(out, "chard_node_resident_bytes{node=\"%d\",host=\"%s\"} %" PRIu64 "\n", i,
				cmi_host_name(l->machine, i), s.resident);
	family(out, "chard_node_message_bytes", "gauge", "bytes", "Of it, memory for messages.");
	for (int i = 0; i < l->job->n_nodes; i++)
		if (look_node(l, i, &s))
			fprintf(out, "chard_node_message_bytes{node=\"%d\",host=\"%s\"} %" PRIu64 "\n", i,
				cmi_host_name(l->machine, i), s.memory);
}

static void metrics_pes(FILE *out, const struct look *l)
{
	struct cmi_seen s;

	family(out, "chard_pe_busy_ratio", "gauge", "ratio", "Of the last second, the busy part.");
	for (int pe = 0; pe < l->job->n_pes; pe++)
		if (look_pe(l, pe, &s))
			fprintf(out, "chard_pe_busy_ratio{pe=\"%d\"} %.3f\n", pe, look_rates(l, pe).busy);
	family(out, "chard_pe_queue", "gauge", NULL, "Messages in the run queue, at most 10000.");
	for (int pe = 0; pe < l->job->n_pes; pe++)
		if (look_pe(l, pe, &s))
			fprintf(out, "chard_pe_queue{pe=\"%d\"} %u\n", pe, s.queue);
	family(out, "chard_pe_sent", "counter", NULL, "Messages and puts of the program.");
	for (int pe = 0; pe < l->job->n_pes; pe++)
		if (look_pe(l, pe, &s))
			fprintf(out, "chard_pe_sent_total{pe=\"%d\"} %" PRIu64 "\n", pe, s.sent);
	family(out, "chard_pe_handled", "counter", NULL, "Messages and puts of the program.");
	for (int pe = 0; pe < l->job->n_pes; pe++)
		if (look_pe(l, pe, &s))
			fprintf(out, "chard_pe_handled_total{pe=\"%d\"} %" PRIu64 "\n", pe, s.handled);
	family(out, "chard_pe_sent_bytes", "counter", "bytes", "Of messages to other nodes, by wire.");
	for (int pe = 0; pe < l->job->n_pes; pe++)
		if (look_pe(l, pe, &s))
			fprintf(out, "chard_pe_sent_bytes_total{pe=\"%d\",wire=\"memory\"} %" PRIu64 "\n"
				"chard_pe_sent_bytes_total{pe=\"%d\",wire=\"network\"} %" PRIu64 "\n",
				pe, s.near, pe, s.far);
}

void text_metrics(FILE *out, const struct node *node, const struct look *l)
{
	metrics_job(out, node, l);
	metrics_nodes(out, l);
	metrics_pes(out, l);
	fputs("# EOF\n", out);
}
