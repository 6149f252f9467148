/* SPDX-License-Identifier: Apache-2.0 */
/* set.c: see set.h. */
#include "set.h"
#include "bells.h"
#include "../ckdirect.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>

struct CkDirectSet {
	uint32_t left; /* puts until the function runs */
	uint32_t n;
	uint64_t rounds;
	CkDirectFn fn;
	void *data; /* the program's */
	struct pe *pe;
	struct direct_channel_hot *member[];
};

/* The function may destroy the set. */
void direct_set_arrived(void *arg)
{
	CkDirectSet *set = arg;

	if (--set->left)
		return;
	set->left = set->n;
	set->rounds++;
	set->fn(set->data);
}

const void *direct_data_of(const struct direct_channel_hot *hot)
{
	const CkDirectSet *set = direct_set_of(hot);

	return set ? set->data : direct_rest(hot)->data;
}

void direct_set_check_ready(struct pe *pe, const char *call, const struct direct_channel_hot *hot)
{
	const CkDirectSet *set = direct_set_of(hot);

	if (set && set->left != set->n)
		direct_broken(
			pe, call, direct_id_of_channel(pe, hot),
			"call CkDirect_readySet in the function of the set, or after it",
			"ready of a channel in a set, before %u others of it have had their puts",
			set->left);
}

/* ---- the beginning and the end --------------------------------------------------------------- */

static void add_member(struct pe *pe, const char *call, CkDirectSet *set, CkDirectHandle *h)
{
	struct direct_channel_hot *hot = direct_receiver(pe, call, direct_open(h));

	if (hot->mode == DIRECT_COUNTED)
		direct_broken(pe, call, direct_id_of_channel(pe, hot), "count in its function",
			      "a channel into a device's memory can be in no set");
	if (direct_set_of(hot))
		direct_broken(pe, call, direct_id_of_channel(pe, hot),
			      "put each channel into one set", "the channel is in a set already");
	if (hot->state == CHANNEL_CONSUMED)
		direct_broken(pe, call, direct_id_of_channel(pe, hot),
			      "make the set before the first put, or call CkDirect_ready first",
			      "the channel has had a put, and is not ready for the next");
	direct_rest(hot)->fn = direct_set_arrived;
	direct_rest(hot)->data = set;
	set->member[set->n++] = hot;
}

CkDirectSet *CkDirect_createSet(CkDirectHandle *const *h, int n, CkDirectFn fn, void *data)
{
	static const char call[] = "CkDirect_createSet";
	struct pe *pe = direct_self(call);
	CkDirectSet *set;

	if (n < 1 || !fn)
		csd_abort(pe, "%s: %s", call,
			  fn ? "the set has no channels" : "the function is NULL");
	set = cmi_alloc(sizeof *set + (size_t)n * sizeof *set->member, "a set of channels");
	*set = (CkDirectSet){ .left = (uint32_t)n, .fn = fn, .data = data, .pe = pe };
	for (int i = 0; i < n; i++)
		add_member(pe, call, set, h[i]);
	return set;
}

static struct pe *set_pe(const char *call, const CkDirectSet *set)
{
	struct pe *pe = direct_self(call);

	if (CSD_UNLIKELY(set->pe != pe))
		csd_abort(pe, "%s: the set is one of PE %d", call, set->pe->id);
	return pe;
}

/* There is space for all arrivals: each channel is in `rung` once. */
void CkDirect_destroySet(CkDirectSet *set)
{
	struct pe *pe = set_pe("CkDirect_destroySet", set);

	direct_bells_take(pe, UINT32_MAX);
	for (uint32_t i = 0; i < set->n; i++)
		direct_channel_end(pe, set->member[i]);
	free(set);
}

uint64_t CkDirect_setRounds(const CkDirectSet *set) { return set->rounds; }

/* ---- ready ----------------------------------------------------------------------------------- */

void CkDirect_readySet(CkDirectSet *set)
{
	static const char call[] = "CkDirect_readySet";
	struct pe *pe = set_pe(call, set);

	for (uint32_t i = 0; i < set->n; i++) {
		struct direct_channel_hot *hot = set->member[i];

		if (hot->easy && hot->state == CHANNEL_CONSUMED)
			hot->state = CHANNEL_ARMED;
		else
			direct_channel_ready(pe, call, hot);
	}
}

void CkDirect_readyMarkSet(CkDirectSet *set)
{
	static const char call[] = "CkDirect_readyMarkSet";
	struct pe *pe = set_pe(call, set);

	for (uint32_t i = 0; i < set->n; i++)
		direct_channel_mark(pe, call, set->member[i]);
}

void CkDirect_readyPollQSet(CkDirectSet *set)
{
	static const char call[] = "CkDirect_readyPollQSet";
	struct pe *pe = set_pe(call, set);

	for (uint32_t i = 0; i < set->n; i++)
		direct_channel_poll(pe, call, set->member[i]);
}
