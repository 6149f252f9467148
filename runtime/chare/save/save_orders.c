/* SPDX-License-Identifier: Apache-2.0 */
/*
 * save_orders.c: what somebody outside the job asks of checkpoints (csd_order): "checkpoint [DIR]",
 * "set CK_CHECKPOINT_WAIT=S", and "set CK_CHECKPOINT=EVERY". PE 0.
 */
#include "save_int.h"

#include <stdlib.h>
#include <string.h>

static bool checkpoint(struct pe *pe, const struct csd_order *o)
{
	const struct save_when *w = &save_node_of(pe->node)->when;
	const CkCallback nobody = callback_make(CB_IGNORE);
	const char *where = o->arguments[0] ? o->arguments : w->where;

	if (!where)
		csd_answer(pe, o->id, false, "where to? Name a folder, or start the job with CK_CHECKPOINT");
	else
		save_wish(pe, strcmp(where, "memory") ? where : "", &nobody,
			  (struct save_then){ .order = o->id });
	return true;
}

void order_answer(struct pe *pe, const struct save_wish *w, int status)
{
	const struct csd_saved *saved = &pe->node->saved;

	if (status == CK_CHECKPOINT_SUCCESS)
		csd_answer(pe, w->then.order, true, "checkpoint %llu in %s: %llu bytes in %.3f s",
			   (unsigned long long)save_of(pe)->sequence, w->ask.dir[0] ? w->ask.dir : "memory",
			   (unsigned long long)atomic_load_explicit(&saved->bytes, memory_order_relaxed),
			   (double)atomic_load_explicit(&saved->took_ns, memory_order_relaxed) / 1e9);
	else
		csd_answer(pe, w->then.order, false, "no checkpoint: %s", save_of(pe)->why[0] ?
			   save_of(pe)->why : "the job has said why on its standard error");
}

static const char *set_wait(struct pe *pe, const char *text)
{
	char *end;
	const long s = strtol(text, &end, 10);

	if (end == text || *end || s < 1 || s > 1000000)
		return "it is a number of seconds, from 1";
	save_node_of(pe->node)->when.wait_s = s;
	return NULL;
}

static const char *set_every(struct pe *pe, const char *text)
{
	struct save_when *w = &save_node_of(pe->node)->when;

	if (!w->where)
		return "the job takes no checkpoints by itself: start it with CK_CHECKPOINT";
	return when_set_every(w, text) ? NULL : "it is how often: 60s, 500ms, 10m or 1h";
}

bool save_obey(struct pe *pe, const struct csd_order *o)
{
	static const struct csd_setting settings[] = {
		{ "CK_CHECKPOINT_WAIT=", set_wait }, { "CK_CHECKPOINT=", set_every }, { NULL, NULL },
	};

	if (!strcmp(o->word, "checkpoint"))
		return checkpoint(pe, o);
	return csd_obey_set(pe, o, settings, "checkpoint");
}
