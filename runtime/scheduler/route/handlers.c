/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handlers.c: the handlers of messages that the layers of a node register, and the check of
 * messages from other processes against the shape (struct csd_shape) stated with the handler.
 */
#include "msg_route.h"
#include "../../machine/tools/cmi_hash.h"

#include <stdio.h>
#include <string.h>

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
	node->handlers[node->n_handlers] = (struct csd_handler){ .name = name, .fn = fn,
							.arrived = arrival_handle };
	csd_fingerprint(node, name, strlen(name) + 1);
	return node->n_handlers++;
}

void csd_expect(struct node *node, int handler, const struct csd_shape *s, CmiHandler arrived)
{
	node->handlers[handler].shape = s;
	if (!arrived)
		return;
	node->handlers[handler].arrived = arrived;
	node->plain = (uint32_t)(struct cmi_msg){ .handler = (uint16_t)handler }.route;
}

void csd_own(struct node *node, int handler)
{
	node->handlers[handler].own = true;
}

void csd_order_apart(struct node *node, int handler)
{
	node->handlers[handler].apart = true;
}

void csd_handle_early(struct node *node, int handler)
{
	node->handlers[handler].early = true;
}

void csd_trace_handler(struct node *node, int handler, unsigned how)
{
	node->handlers[handler].trace = (uint8_t)how;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

_Noreturn void csd_misfit(struct pe *pe, const struct cmi_msg *m, const char *why)
{
	const struct node *node = pe->node;

	csd_abort(
		pe,
		"a message from PE %d for %s does not fit: %s; it was damaged on its way, or the nodes "
		"run different programs",
		m->src_pe,
		m->handler < node->n_handlers ? node->handlers[m->handler].name :
						"a handler that does not exist",
		why);
}

_Noreturn static void wrong_size(struct pe *pe, const struct cmi_msg *m, const struct csd_shape *s)
{
	char why[96];

	snprintf(why, sizeof why, "it has %llu bytes; it must have %s%u", (unsigned long long)m->size,
		 s->exact ? "" : "at least ", s->least);
	csd_misfit(pe, m, why);
}

/* `flags`: the message's, but CMI_F_REMOTE. */
static bool flags_fit(const struct csd_shape *s, uint8_t flags)
{
	return !(flags & ~(s->always | s->may)) && (flags & s->always) == s->always;
}

/* The number at that offset of a message, or 0. */
static uint32_t number_at(const struct cmi_msg *m, size_t at)
{
	uint32_t number = 0;

	if (at)
		memcpy(&number, (const char *)m + at, sizeof number);
	return number;
}

/* Whether its sender may send it, by the tree that its shape states. */
static bool came_so(const struct pe *pe, const struct cmi_msg *m, const struct csd_shape *s)
{
	const uint32_t root = number_at(m, s->root_at), kind = number_at(m, s->kind_at);

	if (root >= (uint32_t)pe->node->job->n_pes || kind >= sizeof s->ways)
		return false;
	return s->ways[kind] == CSD_DOWN ? csd_tree_parent(pe, (int)root) == m->src_pe :
	       s->ways[kind] == CSD_UP ? csd_tree_parent_of(pe, m->src_pe, (int)root) == pe->id :
	       s->ways[kind] == CSD_TO_ROOT && pe->id == (int)root;
}

/* The first error among the constants that its shape states. */
static const char *fields_misfit(struct pe *pe, const struct cmi_msg *m, const struct csd_shape *s)
{
	if (!flags_fit(s, m->flags & (uint8_t)~CMI_F_REMOTE))
		return "its flags are wrong for such a message";
	if (s->id_at && (!number_at(m, s->id_at) || !csd_can_make(pe->node, number_at(m, s->id_at + 4))))
		return s->nobody;
	if ((s->kind_at || s->ways[0]) && !came_so(pe, m, s))
		return s->astray ? s->astray : s->ways[0] == CSD_UP ? "its sender is not below this PE" :
		       "it did not come down the tree that it names";
	return NULL;
}

void csd_check_form(struct pe *pe, const struct cmi_msg *m)
{
	const struct csd_shape *s;
	const char *why;

	if (m->handler >= pe->node->n_handlers)
		csd_misfit(pe, m, "only these nodes' own handlers can be called");
	s = pe->node->handlers[m->handler].shape;
	if (!s) {
		if (m->flags & CMI_F_SYSTEM)
			csd_misfit(pe, m, "its flags are wrong for a handler of the program");
		return;
	}
	if (!s->least)
		csd_misfit(pe, m, "such messages do not leave their process");
	if (m->size < s->least || (s->exact && m->size != s->least))
		wrong_size(pe, m, s);
	why = fields_misfit(pe, m, s);
	if (why)
		csd_misfit(pe, m, why);
}

void csd_check(struct pe *pe, const struct cmi_msg *m)
{
	const struct csd_shape *s = pe->node->handlers[m->handler].shape;
	const char *why;

	csd_check_form(pe, m);
	why = s && s->misfit ? s->misfit(pe, m) : NULL;
	if (why)
		csd_misfit(pe, m, why);
}

void arrival_handle(struct pe *pe, struct cmi_msg *m)
{
	csd_check(pe, m);
	pe->node->handlers[m->handler].fn(pe, m);
}
