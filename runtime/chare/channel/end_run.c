/* SPDX-License-Identifier: Apache-2.0 */
/* end_run.c: begins, stops and ends an end of a channel, and runs its function. */
#include "named_int.h"

#include <stdlib.h>

void ends_fewer(struct pe *pe, struct ends *o)
{
	ends_may_leave(pe, o);
	if (o->first)
		return;
	ends_remove(pe, o);
	free(o);
}

bool end_over(struct pe *pe, CkChannel *c)
{
	if (!c->destroyed || c->running || c->answered)
		return false;
	layer_ends(pe)->take(pe, c->end);
	end_free(c);
	return true;
}

/* After the function of an arrival. */
static __attribute__((noinline)) void behind(struct pe *pe, CkChannel *c)
{
	struct ends *o = c->of;

	c->odd = false;
	if (!end_over(pe, c))
		end_join(pe, c);
	ends_fewer(pe, o);
}

/* Called by the channel layer when a put has arrived. */
static void end_put_arrived(void *data)
{
	struct pe *pe = ck_self();
	CkChannel *c = data;

	ck_of(pe)->now = (struct ck_running){ c->of->obj, NULL, (uint32_t)c->name.entry };
	c->running = true;
	c->call(c->self, &c->name.tag);
	c->running = false;
	ck_of(pe)->now.obj = NULL;
	if (CSD_UNLIKELY(c->odd))
		behind(pe, c);
}

void end_begin(struct pe *pe, CkChannel *c)
{
	struct ck_obj *obj = c->of->obj;

	if (c->sends) {
		layer_ends(pe)->send(pe, c->end,
				     &(struct csd_sending){ c->buf, c->bytes, c->device,
							    c->strided ? c->shape : NULL,
							    c->held, c });
		c->held = NULL;
	} else {
		c->call = c->group ? c->group->came : end_call(pe, obj, c->name.entry);
		c->self = c->group ? (void *)c->group : self_of(obj);
		c->in.fn = end_put_arrived;
		c->in.data = c;
		layer_ends(pe)->receive(pe, c->end, &c->in);
		c->announced = false;
	}
	c->live = true;
	c->packed = false;
}

void end_rest(struct pe *pe, CkChannel *c)
{
	c->base = end_puts(pe, c, &c->in);
	if (c->sends)
		c->held = layer_ends(pe)->leave(pe, c->end);
	else
		layer_ends(pe)->take(pe, c->end);
	c->live = false;
}
