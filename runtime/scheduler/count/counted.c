/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counted.c: where a PE's time goes. counted.h says how it counts without a test on the paths of a
 * job that does not; counted_join.c adds up the PEs, counted_print.c prints, counted_file.c makes
 * the file.
 */
#include "counted_int.h"
#include "../../machine/base/cmi_alloc.h"
#include "../../machine/base/cmi_env.h"

#include <stdlib.h>
#include <string.h>

/* The rate of the counter is measured over at least this time, to a ten thousandth. Only the bounds
 * of the histograms depend on it. */
enum { MEASURED_NS = 1000 * 1000 };

/* ---- CK_STATS ------------------------------------------------------------------------------- */

static bool is_file_name(const char *text)
{
	size_t len = strlen(text);

	return len > strlen(".json") && !strcmp(text + len - strlen(".json"), ".json");
}

/* NULL: neither CK_STATS nor CK_GAUGES. */
static struct csd_counting *asked(void)
{
	const char *text = cmi_env_text("CK_STATS");
	struct csd_counting k = { .handler = -1 };

	if (text && is_file_name(text))
		k.file = text;
	else if (text && !cmi_env_parse_flag(text, &k.report))
		cmi_env_refuse("CK_STATS", text, "0 or 1, or the name of a file that ends in .json");
	k.report |= k.file != NULL;
	if (!k.report && !cmi_env_text("CK_GAUGES"))
		return NULL;
	k.counter = cmi_counter_is_sound();
	k.from_ns = csd_now_ns();
	k.from_ticks = cmi_ticks(k.counter);
	struct csd_counting *p = cmi_alloc(sizeof *p, "statistics");

	*p = k;
	return p;
}

bool csd_counting(const struct node *node)
{
	return node->counting != NULL;
}

/* ---- names ----------------------------------------------------------------------------------- */

static int add_name(struct count_name **list, int *n_p, struct count_name name)
{
	*list = cmi_realloc(*list, (size_t)*n_p + 1, sizeof **list, "statistics");
	(*list)[*n_p] = name;
	return (*n_p)++;
}

int csd_count_row(struct node *node, const char *group, const char *name)
{
	return add_name(&node->counting->rows, &node->counting->n_rows,
			(struct count_name){ .group = group, .name = name });
}

int csd_count_number(struct node *node, const char *group, const char *name, enum count_unit unit)
{
	return add_name(&node->counting->numbers, &node->counting->n_numbers,
			(struct count_name){ .group = group, .name = name, .unit = unit });
}

/* ---- states ---------------------------------------------------------------------------------- */

static void gauge_add(_Atomic uint64_t *to, uint64_t n)
{
	atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

/* Charge the time since the last change to what used it. Counters of two cores may differ slightly,
 * and a thread may move. */
static void charge(struct pe *pe, struct pe_counts *c)
{
	const uint64_t now = cmi_ticks(c->counter), passed = now > c->since ? now - c->since : 0;

	c->since += passed;
	gauge_add(&c->gauge->ticks[c->run ? GAUGE_BUSY : c->base], passed);
	if (c->run)
		c->run->ticks += passed;
	atomic_store_explicit(&c->gauge->since, c->since, memory_order_relaxed);
	atomic_store_explicit(&c->gauge->handled, pe->n_processed, memory_order_relaxed);
}

static void set_run(struct pe_counts *c, struct count_run *run)
{
	c->run = run;
	atomic_store_explicit(&c->gauge->state, run ? GAUGE_BUSY : c->base, memory_order_relaxed);
}

void csd_count_begin(struct pe *pe, struct count_run *run, int row)
{
	struct pe_counts *c = pe->counts;

	charge(pe, c);
	*run = (struct count_run){ .row = &c->rows[row], .outer = c->run };
	set_run(c, run);
}

static unsigned bucket_of(const struct pe_counts *c, uint64_t ticks)
{
	const uint64_t ns = (uint64_t)((unsigned __int128)ticks * c->ns_per_tick >> 32);
	const unsigned lg = 63u - (unsigned)__builtin_clzll(ns | 1);

	return lg < COUNT_BUCKETS ? lg : COUNT_BUCKETS - 1;
}

void csd_count_end(struct pe *pe, struct count_run *run)
{
	struct pe_counts *c = pe->counts;
	struct count_row *row = run->row;

	charge(pe, c);
	row->calls++;
	row->ticks += run->ticks;
	if (run->ticks > row->longest)
		row->longest = run->ticks;
	row->buckets[bucket_of(c, run->ticks)]++;
	set_run(c, run->outer);
}

/* A thread gets the PE or leaves it. The word of the watches is the saved run: while the thread
 * runs, its resumer's calls; else its own. */
static void count_swap(struct pe *pe, uint64_t running[CSD_RUNNING_WORDS + 1], bool after)
{
	struct pe_counts *c = pe->counts;
	uint64_t *aside = running + CSD_RUNNING_WORDS;

	if (!c || after)
		return;
	struct count_run *theirs = (struct count_run *)(uintptr_t)*aside;

	charge(pe, c);
	*aside = (uintptr_t)c->run;
	set_run(c, theirs);
}

/* A handler may run the loop, which may become idle. The pass that finds work still counts as idle,
 * except for the calls in it: the loop reports that it is busy when such a pass ends. */
static void counts_idle(void *arg)
{
	struct pe *pe = arg;
	struct pe_counts *c = pe->counts;

	if (!c)
		return;
	charge(pe, c);
	c->set_aside = c->run;
	c->base = GAUGE_IDLE;
	set_run(c, NULL);
}

static void counts_busy(void *arg)
{
	struct pe *pe = arg;
	struct pe_counts *c = pe->counts;

	if (!c || c->base != GAUGE_IDLE)
		return;
	charge(pe, c);
	c->base = GAUGE_OVERHEAD;
	set_run(c, c->set_aside);
	c->set_aside = NULL;
}

/* ---- the program's handlers ------------------------------------------------------------------ */

static void handle_counted(struct pe *pe, struct cmi_msg *m)
{
	const struct csd_counting *k = pe->node->counting;
	const uint16_t handler = m->handler;
	struct count_run run;

	csd_count_begin(pe, &run, k->row_of[handler]);
	k->fn[handler](pe, m);
	csd_count_end(pe, &run);
}

static void count_handlers(struct node *node)
{
	struct csd_counting *k = node->counting;

	for (int i = 0; i < node->n_handlers; i++) {
		struct csd_handler *h = &node->handlers[i];

		if (!(h->trace & CSD_OF_PROGRAM))
			continue;
		k->row_of[i] = csd_count_row(node, "handler", h->name);
		k->fn[i] = h->fn;
		h->fn = h->arrived = handle_counted;
	}
}

/* ---- links, the line of progress ------------------------------------------------------------- */

void csd_count_put(struct pe *pe, int to, uint64_t bytes)
{
	struct count_link *l = &pe->counts->links[pe->node->job->node_of[to]];

	l->puts++;
	l->put_bytes += bytes;
}

bool csd_progress_shown(const struct pe *pe)
{
	return pe->counts && pe->node->counting->gauges;
}

void csd_progress_text(struct pe *pe, const char *text)
{
	struct gauge *g = pe->counts->gauge;
	uint64_t words[GAUGE_TEXT / 8] = { 0 };
	const uint64_t seq = atomic_load_explicit(&g->text_seq, memory_order_relaxed);

	strncpy((char *)words, text, sizeof words - 1);
	atomic_store_explicit(&g->text_seq, seq + 1, memory_order_relaxed);
	atomic_store_explicit(&g->text_ns, csd_now_ns(), memory_order_relaxed);
	for (int i = 0; i < GAUGE_TEXT / 8; i++)
		/* Release: a reader of a new word sees that the number has become odd. */
		atomic_store_explicit(&g->text[i], words[i], memory_order_release);
	atomic_store_explicit(&g->text_seq, seq + 2, memory_order_release);
}

static const struct csd_count count_calls = {
	csd_count_row, csd_count_number, csd_count_begin, csd_count_end, csd_count_put,
};

static void counts_asked(struct node *node)
{
	node->counting = asked();
	node->count = node->counting ? &count_calls : NULL;
	node->closely |= node->counting != NULL;
}

/* ---- start and stop -------------------------------------------------------------------------- */

static void counts_ready(struct node *node)
{
	if (!node->counting)
		return;
	count_handlers(node);
	csd_watch_swaps(node, count_swap);
}

/* What CK_WIRE does: struct cmi_wire_counts, in its order. */
static void name_filtered(struct node *node)
{
	node->counting->filtered = csd_count_number(node, "network", "frames", COUNT_TIMES);
	csd_count_number(node, "network", "squeezed", COUNT_TIMES);
	csd_count_number(node, "network", "before", COUNT_BYTES);
	csd_count_number(node, "network", "after", COUNT_BYTES);
}

static void count_filtered(const struct pe *pe)
{
	uint64_t *n = pe->counts->numbers + pe->node->counting->filtered;
	struct cmi_wire_counts counts;

	if (!cmi_wire_counts(pe->wire, &counts))
		return;
	n[0] = counts.frames;
	n[1] = counts.squeezed;
	n[2] = counts.bytes_before;
	n[3] = counts.bytes_after;
}

static void counts_know_job(struct node *node)
{
	struct csd_counting *k = node->counting;

	if (!k)
		return;
	k->n_gauges = node->job->n_pes;
	k->gauges = cmi_gauges_open(k->n_gauges);
	if (node->job->filtered)
		name_filtered(node);
	if (k->file && node->job->node == 0)
		counts_check_file(k);
}

static uint64_t measure_speed(const struct csd_counting *k)
{
	uint64_t ns, ticks;

	do {
		ns = csd_now_ns() - k->from_ns;
		ticks = cmi_ticks(k->counter) - k->from_ticks;
	} while (ns < MEASURED_NS);
	return (uint64_t)((double)ns / (double)(ticks ? ticks : 1) * 4294967296.0);
}

static void counts_pe_start(struct pe *pe)
{
	const struct csd_counting *k = pe->node->counting;

	if (!k)
		return;
	struct pe_counts *c = cmi_alloc_aligned(_Alignof(struct pe_counts), sizeof *c, "statistics");

	c->counter = k->counter;
	c->rows = cmi_alloc_zero((size_t)k->n_rows + 1, sizeof *c->rows, "statistics");
	c->numbers = cmi_alloc_zero((size_t)k->n_numbers + 1, sizeof *c->numbers, "statistics");
	c->links = cmi_alloc_zero((size_t)pe->node->job->n_nodes, sizeof *c->links, "statistics");
	c->gauge = k->gauges ? &k->gauges[pe->id] : &c->own;
	c->ns_per_tick = measure_speed(k);
	c->from_ns = csd_now_ns();
	c->from_ticks = c->since = cmi_ticks(k->counter);
	atomic_store_explicit(&c->gauge->since, c->since, memory_order_relaxed);
	/* Release: a reader of it sees `since`. */
	atomic_store_explicit(&c->gauge->clock, k->counter ? GAUGE_COUNTER : GAUGE_NS,
			      memory_order_release);
	pe->counts = c;
	csd_hook(CcdPROCESSOR_BEGIN_IDLE, counts_idle, pe, true);
	csd_hook(CcdPROCESSOR_BEGIN_BUSY, counts_busy, pe, true);
}

static void counts_loop_ended(struct pe *pe)
{
	struct pe_counts *c = pe->counts;

	if (!c)
		return;
	counts_busy(pe);
	charge(pe, c);
	const uint64_t to_ns = csd_now_ns();

	count_filtered(pe);
	if (pe->node->counting->report)
		counts_add_own(pe, c->since, to_ns);
}

static void counts_pe_stop(struct pe *pe)
{
	struct pe_counts *c = pe->counts;

	if (!c)
		return;
	pe->counts = NULL;
	if (c->sum)
		counts_sum_free(c);
	free(c->rows);
	free(c->numbers);
	free(c->links);
	free(c);
}

static void counts_node_stop(struct node *node)
{
	struct csd_counting *k = node->counting;

	if (!k)
		return;
	cmi_gauges_close(k->gauges, k->n_gauges);
	free(k->rows);
	free(k->numbers);
	free(k->path);
	free(k);
	node->counting = NULL;
	node->count = NULL;
}

const struct csd_layer count_layer = {
	.name = "statistics", .asked = counts_asked, .node_start = counts_register, .ready = counts_ready,
	.know_job = counts_know_job, .pe_start = counts_pe_start, .loop_ended = counts_loop_ended,
	.all_ended = counts_subtree_ended, .pe_stop = counts_pe_stop, .node_stop = counts_node_stop,
};
