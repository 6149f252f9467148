/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_own.c: reducers that the program registers by name before the loops run. Their numbers
 * follow those of the built-in reducers. They are part of the fingerprint that all nodes compare at
 * start.
 */
#include "reduce_int.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

/* ---- registration ---------------------------------------------------------------------------- */

static struct reduce_node *own_of(const struct ck_node *ck) { return ck->state[PART_REDUCE]; }

static int own_by_name(const struct ck_node *ck, const char *name)
{
	for (int i = 0; i < own_of(ck)->n_reducers; i++)
		if (strcmp(own_of(ck)->reducers[i].name, name) == 0)
			return i;
	return -1;
}

static int built_in_by_name(const struct ck_node *ck, const char *name)
{
	for (int i = 0; i < CkReduction_N; i++)
		if (strcmp(reducer_find(ck, (uint32_t)i)->name, name) == 0)
			return i;
	return -1;
}

/* The tables are constant while the loops run: other PEs read them without a lock. */
static CkReduction reducer_add(const char *what, const struct reducer *r)
{
	struct pe *pe = ck_self_early_in(what);
	struct ck_node *ck = ck_node_of(pe->node);
	struct reduce_node *own = own_of(ck);
	uint32_t shape[] = { r->value_bytes, r->merge != NULL, r->streamable };

	if (ck_of(pe))
		csd_abort(pe, "%s: \"%s\" is too late; register it in an initnode function", what,
			  r->name);
	if (own_by_name(ck, r->name) >= 0 || built_in_by_name(ck, r->name) >= 0)
		csd_abort(NULL, "%s: \"%s\" is registered twice", what, r->name);
	if (own->n_reducers == CkReduction_most - CkReduction_N)
		csd_abort(NULL, "%s: more than %d reducers", what, own->n_reducers);
	own->reducers = cmi_realloc(own->reducers, (size_t)own->n_reducers + 1, sizeof *own->reducers,
				    "reducers");
	own->reducers[own->n_reducers] = *r;
	csd_fingerprint(pe->node, r->name, strlen(r->name) + 1);
	csd_fingerprint(pe->node, shape, sizeof shape);
	return (CkReduction)(CkReduction_N + own->n_reducers++);
}

CkReduction CkRegisterReducer(const char *name, CkReducerFn fn, bool streamable)
{
	struct reducer r = { .name = name, .type = CK_BYTE, .merge = fn,
			     .streamable = streamable };

	return reducer_add("CkRegisterReducer", &r);
}

CkReduction CkRegisterValueReducer(const char *name, size_t bytes, CkValueReducerFn fn,
				   const void *identity, bool streamable)
{
	struct reducer r = { .name = name, .type = CK_BYTE, .value_bytes = (uint32_t)bytes,
			     .own = fn, .identity = identity, .ordered = !streamable };

	if (!bytes || bytes > UINT32_MAX)
		csd_abort(NULL, "CkRegisterValueReducer: \"%s\" has values of %zu bytes", name,
			  bytes);
	return reducer_add("CkRegisterValueReducer", &r);
}

CkReduction CkReducer(const char *name)
{
	const struct ck_node *ck = ck_node_of(ck_self_early()->node);
	int i = built_in_by_name(ck, name);

	if (i >= 0)
		return (CkReduction)i;
	i = own_by_name(ck, name);
	if (i < 0)
		csd_abort(ck_self_early(), "CkReducer: no reducer is called \"%s\"", name);
	return (CkReduction)(CkReduction_N + i);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The program's function knows one order only. So `in op acc` is computed in a buffer, piece by
 * piece, and copied back. */
static void combine_in_first(const struct reducer *how, char *acc, const char *in, size_t n)
{
	_Alignas(16) char room[1024];
	size_t most = sizeof room / how->value_bytes;
	char *beside = most ? room : cmi_alloc(how->value_bytes, "a reduction");

	if (!most)
		most = 1;
	for (size_t k; n; n -= k) {
		k = n < most ? n : most;
		size_t bytes = k * how->value_bytes;

		memcpy(beside, in, bytes);
		how->own(beside, acc, k);
		memcpy(acc, beside, bytes);
		acc += bytes;
		in += bytes;
	}
	if (beside != room)
		free(beside);
}

void reducer_combine_own(const struct reducer *how, void *acc, const void *in, size_t n,
			 bool in_first)
{
	if (in_first)
		combine_in_first(how, acc, in, n);
	else
		how->own(acc, in, n);
}

/* ---- messages -------------------------------------------------------------------------------- */

CkReductionMsg *CkReductionMsg_buildNew(size_t bytes, const void *data)
{
	CkReductionMsg *m = payload_of(callback_msg(ck_self(), CK_BYTE, bytes, bytes));

	if (bytes && data)
		memcpy(m + 1, data, bytes);
	return m;
}
