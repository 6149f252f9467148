/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine: what a message costs below the chares: round trip, bandwidth and rate by size between
 * two handlers of the scheduler. bench/rate measures the same with entry methods, so the
 * difference is the chare layer.
 *
 *	ckrun -n 2 build/bench/machine              between two nodes (processes)
 *	ckrun -n 2 --ppn 2 build/bench/machine      between two PEs of one node (threads)
 *
 * Options: bench.h's (sizes from the option start at 8), and --smoke for one short run.
 * Prints `name bytes value unit`, medians; "threads" instead of "nodes" within a node:
 *	cmi-rtt-nodes        us      there and back
 *	cmi-exchange-nodes   us      both send at once, and again when the other's has come: the
 *	                             part of a barrier or allreduce that the machine costs
 *	cmi-rate-nodes       Mmsg/s  one way, two windows of messages under way (bench/stream.h)
 *	cmi-bandwidth-nodes  MB/s    the same stream, counted in 10^6 bytes
 *
 * Every payload is copied into its message from a source that is new each time (as a stub copies
 * parameters), and read on arrival; --no-touch sends the same bytes for ever and reads nothing.
 *
 * Ancestor: chapter 6 of the thesis on Charm++ over VMI, which shows latency and bandwidth from
 * 1 byte to 1 MB for Converse (Figures 6.1, 6.3: this program) and for Charm++ (6.2, 6.4:
 * bench/rate). Its latency is one way: half of ours.
 */
#include <stdio.h>
#include <stdlib.h>

#include "pe.h"
#include "stream.h"

enum kind { RTT, EXCHANGE, STREAM };

/* What one PE knows. */
struct side {
	enum kind kind;
	size_t bytes;
	long window;
	uint64_t trips;                /* of an EXCHANGE, the first ones that are not timed too */
	uint64_t sent, seen;           /* messages with a payload; the n-th bears stamp n */
	struct stream_sources source;
	/* PE 0: what is measured. Trips, or windows; the first STREAM_WINDOWS are not timed, and
	 * have negative numbers. */
	struct plan *plan;
	long started, done;
	double t0;
};

/* One node. Constant after start, but for the sides, each of which is its PE's. */
struct machine {
	struct plan_options opt;
	const char *unknown;           /* option, or NULL */
	int h_order, h_ball, h_data, h_ack;
	struct side side[2];
};

struct order {
	struct cmi_msg head;
	int32_t kind;
	uint64_t bytes, trips;
};

static struct machine *machine_of(struct pe *pe)
{
	return *(struct machine *const *)pe->node->program;
}

static struct side *side_of(struct pe *pe)
{
	return &machine_of(pe)->side[pe->local];
}

/* ---- messages with a payload ------------------------------------------------------------- */

static void send_payload(struct pe *pe, struct side *s, int handler)
{
	struct cmi_msg *m = csd_msg_alloc(pe, sizeof *m + s->bytes);

	s->sent++;
	memcpy(m + 1,
	       stream_sources_next(&s->source, s->sent, machine_of(pe)->opt.common.touch),
	       s->bytes);
	m->handler = (uint16_t)handler;
	csd_send(pe, 1 - pe->id, m);
}

static void receive_payload(struct pe *pe, struct side *s, struct cmi_msg *m)
{
	s->seen++;
	if (m->size != sizeof *m + s->bytes ||
	    (machine_of(pe)->opt.common.touch &&
	     !stream_whole(&s->source.layout, (const char *)(m + 1), s->seen)))
		csd_abort(pe, "machine: message %llu of %zu bytes is not what was sent",
			  (unsigned long long)s->seen, s->bytes);
	csd_msg_free(pe, m);
}

/* Both sides forget the last run; PE 1 gets the order before anything that belongs to it. */
static void set_up(struct pe *pe, struct side *s, enum kind kind, size_t bytes, uint64_t trips)
{
	bool streams = kind == STREAM && pe->id == 0;

	s->kind = kind;
	s->bytes = bytes;
	s->window = stream_window(bytes);
	s->trips = trips;
	s->sent = s->seen = 0;
	stream_sources_init(&s->source, bytes, streams ? s->window * STREAM_WINDOWS : 1);
}

static void order_arrived(struct pe *pe, struct cmi_msg *m)
{
	const struct order *o = (const struct order *)m;

	set_up(pe, side_of(pe), (enum kind)o->kind, o->bytes, o->trips);
	if (o->kind == EXCHANGE)
		send_payload(pe, side_of(pe), machine_of(pe)->h_ball);
	csd_msg_free(pe, m);
}

/* ---- PE 0: one run after the other ------------------------------------------------------- */

static void send_window(struct pe *pe, struct side *s)
{
	s->started++;
	for (long i = 0; i < s->window; i++)
		send_payload(pe, s, machine_of(pe)->h_data);
}

static void start_run(struct pe *pe, struct side *s)
{
	const struct series *series = plan_current(s->plan);
	struct order *o = (struct order *)csd_msg_alloc(pe, sizeof *o);

	o->head.handler = (uint16_t)machine_of(pe)->h_order;
	o->kind = series->kind;
	o->bytes = series->parameter;
	o->trips = (uint64_t)(series->count + STREAM_WINDOWS);
	set_up(pe, s, (enum kind)series->kind, series->parameter, o->trips);
	csd_send(pe, 1, &o->head);
	s->started = s->done = -STREAM_WINDOWS;
	if (s->kind != STREAM)
		send_payload(pe, s, machine_of(pe)->h_ball);
	else
		while (s->started < 0)
			send_window(pe, s);
}

static void report(struct pe *pe, struct side *s)
{
	const struct bench_options *o = &machine_of(pe)->opt.common;
	const char *between = pe->node->job->n_nodes > 1 ? "nodes" : "threads";

	for (int i = 0; i < o->nsizes; i++) {
		size_t bytes = o->bytes[i];
		double per_us = (double)stream_window(bytes) / plan_us(s->plan, STREAM, bytes);

		printf("cmi-rtt-%s %zu %.3f us\n", between, bytes, plan_us(s->plan, RTT, bytes));
		printf("cmi-exchange-%s %zu %.3f us\n", between, bytes,
		       plan_us(s->plan, EXCHANGE, bytes));
		printf("cmi-rate-%s %zu %.4g Mmsg/s\n", between, bytes, per_us);
		printf("cmi-bandwidth-%s %zu %.4g MB/s\n", between, bytes, per_us * (double)bytes);
	}
	fflush(stdout);
}

/* One trip or window is done. True when that was the last one of the run. */
static bool count_one(struct side *s)
{
	if (++s->done == 0)
		s->t0 = bench_now_us();
	return s->done == plan_current(s->plan)->count;
}

static void end_run(struct pe *pe, struct side *s)
{
	if (plan_record(s->plan, bench_now_us() - s->t0)) {
		start_run(pe, s);
		return;
	}
	report(pe, s);
	csd_exit(pe, 0);
}

static void ball_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct side *s = side_of(pe);

	receive_payload(pe, s, m);
	if (pe->id == 0 && count_one(s))
		end_run(pe, s);
	else if (s->kind == RTT || s->seen < s->trips)
		send_payload(pe, s, machine_of(pe)->h_ball);
}

static void ack_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct side *s = side_of(pe);

	csd_msg_free(pe, m);
	if (count_one(s))
		end_run(pe, s);
	else if (s->started < plan_current(s->plan)->count)
		send_window(pe, s);
}

/* ---- PE 1 -------------------------------------------------------------------------------- */

static void data_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct side *s = side_of(pe);

	receive_payload(pe, s, m);
	if (s->seen % (uint64_t)s->window)
		return;
	struct cmi_msg *ack = csd_msg_alloc(pe, sizeof *ack);

	ack->handler = (uint16_t)machine_of(pe)->h_ack;
	csd_send(pe, 0, ack);
}

/* ---- start and stop ---------------------------------------------------------------------- */

static void parse(struct machine *b, int argc, char **argv)
{
	stream_options_init(&b->opt);
	for (int i = 1; i < argc; i++)
		if (!plan_option(&b->opt, argc, argv, &i))
			b->unknown = argv[i];
	stream_options_end(&b->opt);
}

/* Every PE finds out, and the first one prints it. */
static bool usable(struct pe *pe)
{
	const char *unknown = machine_of(pe)->unknown;

	if (!unknown && pe->node->job->n_pes == 2)
		return true;
	if (pe->id == 0 && unknown)
		fprintf(stderr, "machine: unknown option %s\n", unknown);
	else if (pe->id == 0)
		fprintf(stderr, "machine: needs 2 PEs: ckrun -n 2 [--ppn 2] machine\n");
	return false;
}

/* The runtime has taken its own flags out of argv. */
static int node_start(struct node *node)
{
	struct machine *b = *(struct machine *const *)node->program;

	b->h_order = csd_register(node, "order", order_arrived);
	b->h_ball = csd_register(node, "ball", ball_arrived);
	b->h_data = csd_register(node, "data", data_arrived);
	b->h_ack = csd_register(node, "ack", ack_arrived);
	parse(b, node->cfg->argc, node->cfg->argv);
	return 0;
}

static void pe_start(struct pe *pe)
{
	const struct bench_options *o = &machine_of(pe)->opt.common;

	if (!usable(pe)) {
		csd_exit(pe, 2);
		return;
	}
	struct side *s = side_of(pe);

	s->source.memory = bench_alloc(stream_sources_bytes(o));
	if (pe->id != 0)
		return;
	s->plan = bench_alloc(sizeof *s->plan);
	plan_init(s->plan, &machine_of(pe)->opt);
	for (int i = 0; i < o->nsizes; i++) {
		plan_add(s->plan, RTT, o->bytes[i]);
		plan_add(s->plan, EXCHANGE, o->bytes[i]);
		plan_add(s->plan, STREAM, o->bytes[i]);
	}
	start_run(pe, s);
}

static void pe_stop(struct pe *pe)
{
	if (pe->node->job->n_pes != 2)
		return;
	free(side_of(pe)->source.memory);
	free(side_of(pe)->plan);
}

int main(int argc, char **argv)
{
	static const struct csd_layer layer = {
		.name = "bench", .node_start = node_start, .pe_start = pe_start, .pe_stop = pe_stop,
	};
	const struct csd_layer *layers[] = { &layer };
	struct machine *b = calloc(1, sizeof *b);
	struct csd_config cfg = {
		.argc = argc,
		.argv = argv,
		.layers = layers,
		.n_layers = 1,
		.program = &b,
	};
	int code = b ? csd_run(&cfg) : 1;

	free(b);
	return code;
}
