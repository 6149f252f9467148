/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.c: a child that the program has forked. It is no PE: its calls of the runtime end with the
 * same line as those of a thread of the program's own. It has the stack of the handler that forked,
 * and below that the scheduler. If it returns to that, the next message in its copy of the queue
 * ends it.
 */
#include "loop.h"
#include "../../machine/base/cmi_alloc.h"

static void handler_returned(struct pe *pe, struct cmi_msg *m)
{
	(void)pe, (void)m;
	csd_abort(NULL, "the handler that called fork has returned; a child must end with _exit or exec");
}

/* All of this is the child's own copy. */
void child_begins(void)
{
	struct pe *pe = csd_self();

	csd_self_ = NULL;
	csd_early_ = NULL;
	if (!pe)
		return;
	for (int i = 0; i < pe->node->n_layers; i++)
		if (pe->node->layers[i]->forked)
			pe->node->layers[i]->forked(pe);
	pe->thread = (struct csd_thread *)pe; /* so that no call is made without csd_self() */
	for (int i = 0; i < pe->node->n_handlers; i++)
		pe->node->handlers[i].fn = pe->node->handlers[i].arrived = handler_returned;
	msgq_init(&pe->queue);
	msgq_push(&pe->queue, cmi_alloc_zero(1, sizeof(struct cmi_msg),
					     "a child's last message")); /* for any handler */
}
