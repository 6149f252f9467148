/* SPDX-License-Identifier: Apache-2.0 */
/*
 * movable.c: whether an element can move. Ends of channels and futures that it has made cannot:
 * they stay on their PE.
 */
#include "place_move.h"

#include <stdlib.h>
#include <string.h>

bool has_ends(struct pe *pe)
{
	return pe->node->up.inside && pe->node->up.inside(pe, NULL, 0, NULL, 0);
}

/* The ends of a channel stay on their PEs. */
static void check_channels(struct pe *pe, const struct csd_piece *pieces, size_t n_pieces,
			   const char *who)
{
	char first[64];
	size_t n = n_pieces && pe->node->up.inside ?
		   pe->node->up.inside(pe, pieces, n_pieces, first, sizeof first) : 0;

	if (n)
		csd_abort(
			pe,
			"%s cannot move: it holds %s on %s PE; the first is %s. "
			"Call CkDirect_destroyHandle before, and make them anew",
			who, csd_plural(n, "channel end, which stays", "channel ends, which stay").text,
			n == 1 ? "its" : "their", first);
}

static struct csd_piece struct_of(struct ck_obj *obj)
{
	return (struct csd_piece){ self_of(obj), obj->coll->type->bytes };
}

/* In checked mode. The threads that wait for the value, and the code that could ask for it, are on
 * this PE. */
static void check_futures(struct pe *pe, const struct ck_obj *obj, const struct csd_piece *pieces,
			  size_t n, const char *who)
{
	CkFuture f;

	for (size_t i = 0; i < n; i++)
		if (future_of_element(pe, obj, pieces[i].at, pieces[i].bytes, &f))
			csd_abort(pe, "%s cannot move: it has made %s, which stays on this PE; wait for its value and "
				  "release it before (CkReleaseFuture)", who, future_thing(f).name);
}

bool holds_ends(struct pe *pe, struct ck_obj *obj)
{
	struct csd_piece *pieces;
	char first[64];
	size_t n;

	if (!has_ends(pe))
		return false;
	n = element_pieces(pe, obj, &pieces);
	n = pe->node->up.inside(pe, pieces, n, first, sizeof first);
	free(pieces);
	return n > 0;
}

/* Its struct was checked when it asked to leave. Its pup function knows what that points to. */
void check_leaving(struct pe *pe, struct ck_obj *obj)
{
	struct csd_piece *pieces;
	char name[128];
	size_t n;

	if (!has_ends(pe) && !pe->node->check)
		return;
	n = element_pieces(pe, obj, &pieces);
	obj_describe(obj, name, sizeof name);
	check_channels(pe, pieces, n, name);
	if (pe->node->check)
		check_futures(pe, obj, pieces, n, name);
	free(pieces);
}

void check_move(struct pe *pe, struct ck_obj *obj, int to)
{
	const CkGenChare *type = obj->coll->type;
	char name[128];

	if (type->kind != CKGEN_ARRAY)
		csd_abort(pe, "CkMigrateMe: %s is not an array; only elements of arrays can move", type->name);
	obj_describe(obj, name, sizeof name);
	if (to < 0 || to >= pe->node->job->n_pes)
		csd_abort(pe, "CkMigrateMe of %s: PE %d; the job has PEs 0-%d", name, to,
			  pe->node->job->n_pes - 1);
	if (!element_is_there(obj))
		csd_abort(pe, "CkMigrateMe of %s: it is destroyed already", name);
	check_channels(pe, (const struct csd_piece[1]){ struct_of(obj) }, 1, name);
	if (!pe_is_here(pe, to) && !element_has_pup(type))
		csd_abort(pe, "CkMigrateMe of %s to PE %d: %s cannot leave its process: declare 'pup %s;' in the "
			  ".ci file", name, to, type->name, type->name);
}
