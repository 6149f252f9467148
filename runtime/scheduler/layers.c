/* SPDX-License-Identifier: Apache-2.0 */
/* layers.c: starts and stops the layers of a node, the scheduler's own first, and collects the
 * upcalls that they answer. */
#include "layers.h"
#include "rooms.gen.h"
#include "steer/steer.h"
#include "watch/watch.h"

/* The scheduler's own, of rooms.list; then NULL, since all of them may be left out. */
#define ADDRESS(layer) &layer,
static const struct csd_layer *const own_layers[] = { LAYER(ADDRESS) NULL };
enum { OWN_LAYERS = sizeof own_layers / sizeof own_layers[0] - 1 };

/* A layer keeps its state in a slot of its own. */
static void check_slot(const struct node *node, int at)
{
	const struct csd_layer *layer = node->layers[at];

	if (layer->slot < 0 || layer->slot >= CSD_SLOTS)
		csd_abort(NULL, "internal: the layer \"%s\" has slot %d of %d", layer->name,
			  layer->slot, CSD_SLOTS);
	for (int i = 0; i < at; i++)
		if (layer->slot && node->layers[i]->slot == layer->slot)
			csd_abort(NULL, "internal: the layers \"%s\" and \"%s\" have one slot",
				  node->layers[i]->name, layer->name);
}

static void answered_twice(const struct csd_layer *layer, const char *upcall)
{
	csd_abort(NULL, "internal: the layer \"%s\" is the second to answer the upcall %s",
		  layer->name, upcall);
}

#define ADD(upcall)                                            \
	do {                                                   \
		if (layer->up.upcall && all->upcall)           \
			answered_twice(layer, #upcall);        \
		if (layer->up.upcall)                          \
			all->upcall = layer->up.upcall;        \
	} while (0)

static void add_upcalls(struct csd_upcalls *all, const struct csd_layer *layer)
{
	ADD(poll);
	ADD(put_arrived);
	ADD(put_piece);
	ADD(describe);
	ADD(describe_fully);
	ADD(swap_running);
	ADD(leaving);
	ADD(may_wait);
	ADD(describe_message);
	ADD(gate_of);
	ADD(inside);
	ADD(ends);
	ADD(end_names);
	ADD(word_in_use);
}
#undef ADD

static void add_layers(struct node *node, const struct csd_layer *const *layers, int n)
{
	for (int i = 0; i < n; i++) {
		if (node->n_layers == CSD_LAYERS)
			csd_abort(NULL, "internal: more than %d layers", CSD_LAYERS);
		node->layers[node->n_layers++] = layers[i];
	}
}

void layers_ask(struct node *node)
{
	add_layers(node, own_layers, OWN_LAYERS);
	add_layers(node, node->cfg->layers, node->cfg->n_layers);
	for (int i = 0; i < node->n_layers; i++)
		if (node->layers[i]->asked)
			node->layers[i]->asked(node);
}

int layers_node_start(struct node *node)
{
	int err = 0;

	for (int i = 0; i < node->n_layers && !err; i++) {
		check_slot(node, i);
		add_upcalls(&node->up, node->layers[i]);
		if (node->layers[i]->node_start)
			err = node->layers[i]->node_start(node);
	}
	node->complete = true;
	for (int i = 0; i < node->n_layers && !err; i++)
		if (node->layers[i]->ready)
			node->layers[i]->ready(node);
	return err;
}

void layers_know_job(struct node *node)
{
	for (int i = 0; i < node->n_layers; i++)
		if (node->layers[i]->know_job)
			node->layers[i]->know_job(node);
}

void layers_pe_start(struct pe *pe)
{
	const struct node *node = pe->node;

	for (int i = 0; i < node->n_layers; i++) {
		if (node->layers[i]->pe_start)
			node->layers[i]->pe_start(pe);
		pe->n_layers = i + 1;
		if (node->layers[i]->up.poll)
			pe->poll = node->layers[i]->up.poll;
	}
}

void layers_loop_ended(struct pe *pe)
{
	for (int i = 0; i < pe->node->n_layers; i++)
		if (pe->node->layers[i]->loop_ended)
			pe->node->layers[i]->loop_ended(pe);
}

void layers_pe_stop(struct pe *pe)
{
	const struct node *node = pe->node;

	for (int i = node->n_layers; i-- > 0;) {
		pe->n_layers = i;
		if (node->layers[i]->up.poll)
			pe->poll = NULL;
		if (node->layers[i]->pe_stop)
			node->layers[i]->pe_stop(pe);
	}
}

void layers_node_stop(struct node *node)
{
	for (int i = node->n_layers; i-- > 0;)
		if (node->layers[i]->node_stop)
			node->layers[i]->node_stop(node);
}
