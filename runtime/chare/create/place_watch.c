/* SPDX-License-Identifier: Apache-2.0 */
/* place_watch.c: the parts that observe elements which come, go and move; see place_watch.h. */
#include "create_int.h"

static struct create_node *create_node_of(const struct node *node)
{
	return ck_node_state(node, PART_CREATE);
}

void place_join(struct node *node, int part, const struct place_watch *watch)
{
	struct create_node *n = create_node_of(node);
	int i = 0;

	n->watches[part] = watch;
	while (n->alone[i])
		i++;
	if (watch->alone)
		n->alone[i] = watch;
}

const struct place_watch *const *watches_alone(const struct pe *pe)
{
	return create_node_of(pe->node)->alone;
}

const struct place_watch *watch_of(const struct pe *pe, uint32_t part)
{
	return part < CK_PARTS ? create_node_of(pe->node)->watches[part] : NULL;
}

const struct place_watch *watch_next(const struct pe *pe, uint32_t *part)
{
	while (*part < CK_PARTS) {
		const struct place_watch *w = watch_of(pe, (*part)++);

		if (w)
			return w;
	}
	return NULL;
}

void coll_become_dynamic(struct pe *pe, struct collection *c)
{
	const struct place_watch *w;

	if (c->dynamic)
		return;
	c->dynamic = true;
	for (uint32_t part = 0; (w = watch_next(pe, &part));)
		if (w->dynamic)
			w->dynamic(pe, c);
}
