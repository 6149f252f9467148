/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edges.c: which elements of an array call which, or put into which, for strategies with
 * CK_LB_EDGES. While they are recorded, this is a stop on the route of the array's calls
 * (call/call_route.h); no other call is slower. Puts are counted by their channels anyway.
 *
 * Calls of other chares are not recorded: an edge needs two ends that can move. Nor are broadcasts
 * and multicasts: one of them enters each process once, by a fixed tree, wherever the elements
 * live. As edges from the caller to all members they would draw the members together for nothing.
 *
 * An edge is found by a hash of 64 bits of its ends. Two of a million edges collide once in 10^7
 * runs, and are one edge then.
 */
#include "balance_int.h"
#include "../channel/named.h"
#include "../core/objects/index.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>

static uint64_t edge_mix(uint64_t x, uint64_t more)
{
	x = (x ^ more) + UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static uint64_t edge_hash(uint64_t from, CkIndex i)
{
	return edge_mix(edge_mix(from, (uint64_t)(uint32_t)i.v[0] << 32 | (uint32_t)i.v[1]),
			(uint32_t)i.v[2]);
}

static struct edge_record *edge_of(struct edges *e, CkIndex from, CkIndex to)
{
	const uint64_t key = edge_hash(edge_hash(0, from), to);
	const uintptr_t at = (uintptr_t)idmap_get(&e->at, key);

	if (at)
		return &e->list[at - 1];
	CMI_ONE_MORE(e->list, e->n, e->cap, "load balancing");
	e->list[e->n] = (struct edge_record){ .from = from, .to = to };
	idmap_add(&e->at, key, e->n + 1);
	return &e->list[e->n++];
}

static void edge_add(struct collection *c, CkIndex from, CkIndex to, uint64_t messages,
		     uint64_t bytes)
{
	struct edge_record *e = edge_of(&sync_of(c)->edges, from, to);

	e->messages += (uint32_t)messages;
	e->bytes += bytes;
}

/* This PE sends a call of one element, of this many bytes. */
static void called(struct pe *pe, struct collection *c, CkIndex to, uint64_t bytes)
{
	const struct ck_obj *obj = ck_of(pe)->now.obj;

	if (obj && obj->coll == c)
		edge_add(c, obj->index, to, 1, bytes);
}

/* A message about an element is no call. */
static int edges_address(struct pe *pe, struct collection *c, struct call_route *r,
			 struct ck_env *env)
{
	if (env->head.handler == ck_handler(pe, PART_CALL, H_ELEMENT))
		called(pe, c, env->flags & CK_ENV_UNPLACED ? env->index : index_at(c, env->place),
		       env->head.size);
	return call_to_below(pe, c, r, env);
}

/* A call that is sent by itself is counted where it is sent. */
static bool edges_batched(struct pe *pe, struct collection *c, struct call_route *r, uint64_t place,
			  uint64_t bytes)
{
	if (!call_batched_below(pe, c, r, place, bytes))
		return false;
	if (bytes)
		called(pe, c, index_at(c, place), bytes);
	return true;
}

static const struct call_stop stop = { ROUTE_COUNTED, true, edges_address, edges_batched };

void edges_want(struct collection *c) { call_route_add(c, &sync_of(c)->counted, &stop); }

static bool is_counted(const struct collection *c) { return sync_of(c)->counted.stop; }

static void add_put(struct ck_obj *from, const CkElement *to, uint64_t n, uint64_t bytes)
{
	if (to->id == from->coll->id)
		edge_add(from->coll, from->index, to->index, n, bytes);
}

void edges_add_puts(struct pe *pe, struct collection *c)
{
	struct ck_obj *obj;

	for (uint64_t at = 0; is_counted(c) && (obj = coll_each(c, &at));)
		named_puts(pe, obj, add_put);
}

void edges_begin(struct pe *pe, struct collection *c)
{
	struct ck_obj *obj;

	edges_free(&sync_of(c)->edges);
	for (uint64_t at = 0; is_counted(c) && (obj = coll_each(c, &at));)
		named_puts_anew(pe, obj);
}

void edges_free(struct edges *e)
{
	idmap_free(&e->at);
	free(e->list);
	*e = (struct edges){ .list = NULL };
}

/* ---- PE 0: for the strategy ------------------------------------------------------------------ */

static int compare_edges(const void *a_, const void *b_)
{
	const CkLBEdge *a = a_, *b = b_;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/* An element that has moved has edges from two PEs. */
static size_t join_equal(CkLBEdge *e, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (k && e[k - 1].from == e[i].from && e[k - 1].to == e[i].to) {
			e[k - 1].messages += e[i].messages;
			e[k - 1].bytes += e[i].bytes;
		} else {
			e[k++] = e[i];
		}
	return k;
}

CkLBEdge *edges_number(const struct edge_record *list, size_t n, const CkIndex *elements,
		       size_t n_elements, size_t *n_p)
{
	CkLBEdge *all = cmi_alloc_zero(n + 1, sizeof *all, "load balancing");
	struct idmap numbers = { 0 };
	size_t k = 0;

	for (size_t i = 0; i < n_elements; i++)
		idmap_add(&numbers, edge_hash(0, elements[i]), i + 1);
	for (size_t i = 0; i < n; i++) {
		const uintptr_t from = (uintptr_t)idmap_get(&numbers, edge_hash(0, list[i].from));
		const uintptr_t to = (uintptr_t)idmap_get(&numbers, edge_hash(0, list[i].to));

		if (from && to) /* else one of them has been destroyed */
			all[k++] = (CkLBEdge){ (uint32_t)from - 1, (uint32_t)to - 1, list[i].messages, list[i].bytes };
	}
	idmap_free(&numbers);
	qsort(all, k, sizeof *all, compare_edges);
	*n_p = join_equal(all, k);
	return all;
}
