/* SPDX-License-Identifier: Apache-2.0 */
/* put.c: see put.h and sender.h. */
#include "put.h"
#include "memory.h"
#include "staged_out.h"

static const char call[] = "CkDirect_put";

/* ---- the graph ------------------------------------------------------------------------------- */

/* One row of both. */
static struct cu_copy copy_of(const struct device_sender *ds)
{
	const size_t bytes = ds->end->bytes;

	return (struct cu_copy){
		.from = { .type = CU_MEMORY_DEVICE, .device = (uintptr_t)ds->end->src, .pitch = bytes },
		.to = { .type = CU_MEMORY_DEVICE, .device = ds->to, .pitch = bytes },
		.width = bytes,
		.height = 1,
		.depth = 1,
	};
}

/** Add a node with one operation on a word after `after`, or set it in a graph that was made. */
static void set_word(struct pe *pe, const struct device_sender *ds, cu_graph graph,
		     const cu_node *after, cu_node *node_p, struct cu_memop op)
{
	const struct device_driver *cu = ds->device->driver;
	const struct cu_memop_node node = { .ctx = ds->device->ctx, .n = 1, .ops = &op };

	if (graph)
		device_must(pe, call, cu, "cuGraphAddBatchMemOpNode",
			    cu->cuGraphAddBatchMemOpNode(node_p, graph, after, after ? 1 : 0, &node));
	else
		device_must(pe, call, cu, "cuGraphExecBatchMemOpNodeSetParams",
			    cu->cuGraphExecBatchMemOpNodeSetParams(ds->graph, *node_p, &node));
}

static struct cu_memop wait_for(const struct device_sender *ds, uint64_t value)
{
	return (struct cu_memop){ CU_OP_WAIT64, ds->credit, value, CU_WAIT_GEQ, 0, 0 };
}

static struct cu_memop write_of(const struct device_sender *ds, uint64_t value)
{
	return (struct cu_memop){ CU_OP_WRITE64, ds->word, value, 0, 0, 0 };
}

/** Wait for the credit, in checked mode; copy; store the word. */
static void make_graph(struct pe *pe, struct device_sender *ds, uint64_t value)
{
	const struct device_driver *cu = ds->device->driver;
	const struct cu_copy copy = copy_of(ds);
	cu_graph graph;
	cu_node copy_node;

	device_must(pe, call, cu, "cuGraphCreate", cu->cuGraphCreate(&graph, 0));
	if (ds->waits)
		set_word(pe, ds, graph, NULL, &ds->wait_node, wait_for(ds, value));
	device_must(pe, call, cu, "cuGraphAddMemcpyNode",
		    cu->cuGraphAddMemcpyNode(&copy_node, graph, &ds->wait_node, ds->waits, &copy,
					     ds->device->ctx));
	set_word(pe, ds, graph, &copy_node, &ds->write_node, write_of(ds, value));
	device_must(pe, call, cu, "cuGraphInstantiate",
		    cu->cuGraphInstantiateWithFlags(&ds->graph, graph, 0));
	cu->cuGraphDestroy(graph);
}

static void launch_graph(struct pe *pe, struct device_sender *ds, cu_stream stream, uint64_t value)
{
	const struct device_driver *cu = ds->device->driver;

	if (!ds->graph) {
		make_graph(pe, ds, value);
	} else {
		set_word(pe, ds, NULL, NULL, &ds->write_node, write_of(ds, value));
		if (ds->waits)
			set_word(pe, ds, NULL, NULL, &ds->wait_node, wait_for(ds, value));
	}
	device_must(pe, call, cu, "cuGraphLaunch", cu->cuGraphLaunch(ds->graph, stream));
}

/* A launch that is under way goes on. */
void device_graph_drop(struct device_sender *ds)
{
	if (ds->graph)
		ds->device->driver->cuGraphExecDestroy(ds->graph);
	ds->graph = NULL;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static struct device_put kernel_put(struct pe *pe, struct device_sender *ds, uint64_t value)
{
	if (!ds->counter)
		ds->counter = device_counter(pe, call, ds->device);
	return (struct device_put){
		.to = ds->to,
		.from = (uintptr_t)ds->end->src,
		.bytes = ds->end->bytes,
		.word = ds->word,
		.value = value,
		.counter = ds->counter,
	};
}

static void launch_kernel(struct pe *pe, struct device_sender *ds, cu_stream stream, uint64_t value)
{
	struct device_puts puts;

	puts.put[0] = kernel_put(pe, ds, value);
	device_launch(pe, call, ds->device, stream, &puts, 1, ds->end->bytes);
}

void device_gather_launch(struct pe *pe, struct device_gather *g)
{
	if (g->n)
		device_launch(pe, call, g->device, g->stream, &g->puts, g->n, g->largest);
	g->n = 0;
	g->largest = 0;
}

/* The credits of all are waited for before the launch. */
static void gather(struct pe *pe, struct device_gather *g, struct device_sender *ds, uint64_t value)
{
	if (g->n == DEVICE_PUTS_MOST || (g->n && g->device != ds->device))
		device_gather_launch(pe, g);
	if (ds->waits)
		device_wait(pe, call, ds->device, g->stream, ds->credit, value);
	g->device = ds->device;
	g->puts.put[g->n++] = kernel_put(pe, ds, value);
	if (ds->end->bytes > g->largest)
		g->largest = ds->end->bytes;
}

/* ---- a put ----------------------------------------------------------------------------------- */

/* What the receiver has had is known from its word, of which the loads below only make errors. */
static void check_ahead(struct pe *pe, const struct device_sender *ds, uint64_t word)
{
	const struct direct_sender *s = ds->end;
	/* relaxed: nothing that is read depends on it. */
	const uint64_t seen = atomic_load_explicit(&s->line->seq, memory_order_relaxed);

	if (word - seen > DEVICE_AHEAD_MOST && seen >> 40 == word >> 40)
		direct_broken(pe, call, direct_id_of_sender(s), "let the sender hear of arrivals",
			      "more than %d puts are under way", DEVICE_AHEAD_MOST);
	if (direct_is_checked(s) && (seen >> 40 != word >> 40 || !ds->waits))
		direct_check_put(pe, call, direct_id_of_sender(s), s->line, s->channel_generation, NULL, 0);
}

/** The send buffer may be reused. */
static void put_over(void *data)
{
	struct device_sender *ds = data;

	direct_take_one(csd_self(), ds->done, 0);
	ds->end->op.done(&ds->end->op);
}

/* A word of this end's own, behind the put: the receiver's may change its meaning before this PE
 * looks. */
static void await_done(struct pe *pe, struct device_sender *ds, cu_stream stream)
{
	bool fresh;

	if (!ds->done) {
		ds->done = direct_word_open(pe, put_over, ds);
		ds->done_word =
			device_word(pe, call, ds->device, &direct_rest(ds->done)->line->seq, &fresh);
	}
	device_write(pe, call, ds->device, stream, ds->done_word,
		     direct_word_value(ds->done, ++ds->n_done));
	pe->n_created++;
	direct_word_await(pe, ds->done);
}

/* What waited in host memory. It has been read on return, as it is not registered. */
static void put_held(struct pe *pe, const struct device_sender *ds, uint64_t word)
{
	const struct direct_sender *s = ds->end;

	if (direct_is_checked(s))
		direct_check_put(pe, call, direct_id_of_sender(s), s->line, s->channel_generation, NULL, 0);
	device_must(pe, call, ds->device->driver, "cuMemcpyHtoDAsync",
		    ds->device->driver->cuMemcpyHtoDAsync_v2(ds->to, s->src, s->bytes, ds->stream));
	device_write(pe, call, ds->device, ds->stream, ds->word, word);
}

/* Without a function it is complete for the next put, which is behind it in the stream, or comes
 * when the program knows that this one is there. */
bool device_put(struct pe *pe, struct direct_sender *s, uint64_t word)
{
	struct device_sender *ds = s->device;
	struct device_gather *all = device_pe_of(pe)->gather;
	const cu_stream stream = ds->streamed ? ds->into : ds->stream;

	if (ds->device)
		device_enter(pe, call, ds->device);
	if (ds->staged)
		return device_staged_put(pe, ds->staged, stream);
	if (s->held) {
		put_held(pe, ds, word);
		return true;
	}
	check_ahead(pe, ds, word);
	if (all)
		gather(pe, all, ds, word);
	else if (ds->device->memops)
		launch_graph(pe, ds, stream, word);
	else
		launch_kernel(pe, ds, stream, word);
	if (!s->fn)
		return true;
	await_done(pe, ds, stream);
	return false;
}
