/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layers.c: the layers of a node: their start and stop, the upcalls that they answer, and the
 * handlers that they register.
 */
#include "csd_int.h"
#include "../machine/tools/cmi_hash.h"

#include <string.h>

/* ---- handlers ---------------------------------------------------------------------------- */

void csd_fingerprint(struct node *node, const void *data, size_t bytes)
{
	node->fingerprint = cmi_hash(node->fingerprint, data, bytes);
}

int csd_register(struct node *node, const char *name, CmiHandler fn)
{
	if (node->complete)
		csd_abort(csd_self(), "the message handler \"%s\" is registered too late: register "
			  "handlers in an initnode function", name);
	if (node->n_handlers == CSD_MAX_HANDLERS)
		csd_abort(NULL, "more than %d message handlers (at \"%s\")", CSD_MAX_HANDLERS, name);
	node->handlers[node->n_handlers] = (struct csd_handler){ .name = name, .fn = fn, .arrived = fn };
	csd_fingerprint(node, name, strlen(name) + 1);
	return node->n_handlers++;
}

void csd_expect(struct node *node, int handler, const struct csd_shape *s, CmiHandler arrived)
{
	node->handlers[handler].shape = s;
	node->handlers[handler].arrived = arrived ? arrived : arrival_handle;
	if (arrived)
		node->plain = (uint32_t)(struct cmi_msg){ .handler = (uint16_t)handler }.route;
}

void csd_order_apart(struct node *node, int handler)
{
	node->handlers[handler].apart = true;
}

void csd_handle_early(struct node *node, int handler)
{
	node->handlers[handler].early = true;
}

/* ---- start and stop ------------------------------------------------------------------------ */

/* A layer keeps its state in a slot of its own. */
static void check_slot(const struct csd_config *cfg, int at)
{
	const struct csd_layer *layer = cfg->layers[at];

	if (layer->slot < 0 || layer->slot >= CSD_SLOTS)
		csd_abort(NULL, "internal: the layer \"%s\" has slot %d of %d", layer->name,
			  layer->slot, CSD_SLOTS);
	for (int i = 0; i < at; i++)
		if (layer->slot && cfg->layers[i]->slot == layer->slot)
			csd_abort(NULL, "internal: the layers \"%s\" and \"%s\" have one slot",
				  cfg->layers[i]->name, layer->name);
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
	ADD(idle);
	ADD(put_arrived);
	ADD(put_piece);
	ADD(describe);
	ADD(swap_running);
	ADD(leaving);
	ADD(may_wait);
	ADD(describe_message);
	ADD(gate_of);
	ADD(inside);
	ADD(ends);
	ADD(word_in_use);
}
#undef ADD

int layers_node_start(struct node *node)
{
	const struct csd_config *cfg = node->cfg;
	int err = 0;

	for (int i = 0; i < cfg->n_layers && !err; i++) {
		check_slot(cfg, i);
		add_upcalls(&node->up, cfg->layers[i]);
		if (cfg->layers[i]->node_start)
			err = cfg->layers[i]->node_start(node);
	}
	node->complete = true;
	return err;
}

void layers_pe_start(struct pe *pe)
{
	const struct csd_config *cfg = pe->node->cfg;

	for (int i = 0; i < cfg->n_layers; i++) {
		if (cfg->layers[i]->pe_start)
			cfg->layers[i]->pe_start(pe);
		if (cfg->layers[i]->up.poll)
			pe->poll = cfg->layers[i]->up.poll;
	}
}

void layers_pe_stop(struct pe *pe)
{
	const struct csd_config *cfg = pe->node->cfg;

	for (int i = cfg->n_layers; i-- > 0;) {
		if (cfg->layers[i]->up.poll)
			pe->poll = NULL;
		if (cfg->layers[i]->pe_stop)
			cfg->layers[i]->pe_stop(pe);
	}
}

void layers_node_stop(struct node *node)
{
	const struct csd_config *cfg = node->cfg;

	for (int i = cfg->n_layers; i-- > 0;)
		if (cfg->layers[i]->node_stop)
			cfg->layers[i]->node_stop(node);
}
