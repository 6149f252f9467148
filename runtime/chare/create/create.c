/* SPDX-License-Identifier: Apache-2.0 */
/*
 * create.c: new arrays. The creator checks the options and sends one message to all PEs; each PE
 * creates its own elements from it. Groups are announced first (announce.c).
 */
#include "create_int.h"
#include "../core/shape.h"
#include "../../machine/base/cmi_alloc.h"

#include <string.h>

/* ---- elements ------------------------------------------------------------------------------- */

void coll_shape(struct pe *pe, struct collection *c, const CkGenChare *type,
		const struct ck_shape *shape)
{
	CkMapFn map = map_by_number(ck_node_of(pe->node), shape->map);

	if (c->type)
		return;
	if (!shape->sparse) {
		coll_type(pe, c, type, shape->dims, map);
		return;
	}
	coll_set_type(c, type);
	coll_set_more(pe, c);
	c->homes.dims = shape->dims;
	c->homes.map = map;
	c->sparse = true;
	memcpy(c->homes.start, shape->start, sizeof c->homes.start);
	memcpy(c->homes.step, shape->step, sizeof c->homes.step);
	ck_kind(pe, type)->sparse(pe, c, shape->empty);
	coll_spread(pe, c, coll_volume(&c->homes.dims));
	if (shape->empty)
		c->n_slots = c->n_local = 0;
}

/* An element of this PE, not constructed yet. */
struct ck_obj *obj_add(struct collection *c, CkIndex index, uint64_t slot)
{
	struct ck_obj *obj = obj_new(c, index);

	obj->ordinal = (uint32_t)slot;
	return c->elems[slot] = obj;
}

static void objs_create(struct pe *pe, struct collection *c)
{
	uint64_t total = coll_volume(&c->homes.dims);

	c->elems = cmi_alloc_zero(c->n_slots, sizeof(*c->elems), "elements");
	if (c->type->kind != CKGEN_ARRAY) { /* a group's branch, a main chare */
		obj_add(c, (CkIndex){ { pe->id, 0, 0 } }, 0);
		return;
	}
	if (!c->homes.map) {
		for (uint64_t i = 0; i < c->n_slots; i++)
			obj_add(c, index_at(c, c->first + i), i);
		return;
	}
	for (uint64_t i = 0, n = 0; i < total && n < c->n_slots; i++) {
		CkIndex index = index_at(c, i);

		if (coll_mapped_home(pe, c, index) != pe->id)
			continue;
		obj_add(c, index, n++);
		if (!c->sparse)
			idmap_add(&c->homes.slots, i, n); /* its slot + 1 */
	}
}

/* A stub is no element: the PE where that lives notifies its watchers. */
void tell_created(struct pe *pe, struct collection *c)
{
	const struct ck_node *ck = ck_node_of(pe->node);
	struct ck_obj *obj;

	for (int i = 0; i < CK_PARTS; i++)
		if (ck->parts[i] && ck->parts[i]->watch.constructed)
			ck->parts[i]->watch.constructed(pe, c);
	for (uint64_t at = 0; (obj = coll_each(c, &at));)
		ck_created(pe, obj);
}

void coll_construct(struct pe *pe, struct collection *c, void *payload)
{
	struct call_coll *calls = call_coll_of(c);

	objs_create(pe, c);
	calls->new_from = 0;
	calls->new_to = (uint32_t)c->n_slots;
	coll_line_up(c);
	tell_created(pe, c);
	c->constructed = true;
	/* A constructor may destroy its own element. */
	while (calls->new_from < calls->new_to) {
		struct ck_obj *obj = c->elems[calls->new_from++];

		if (obj)
			construct(pe, obj, payload);
	}
	coll_line_up(c);
	ready_constructed(pe, c);
	coll_resume(pe, c);
}

/* ---- arrivals -------------------------------------------------------------------------------- */

/* The PE that handles a message that came before the creation: mostly a call. A shorter message has
 * no flags, and was sent to this PE. */
static int home_of_early(struct pe *pe, struct collection *c, struct ck_env *env)
{
	const struct ck_kind *kind = ck_kind(pe, c->type);

	if (env->head.size < sizeof *env)
		return pe->id;
	const int other = kind->early ? kind->early(pe, c, &env->head) : -1;

	if (other >= 0)
		return other;
	if (!(env->flags & CK_ENV_UNPLACED))
		return pe->id;
	address_in_array(pe, c, env->index, env);
	return call_home(pe, c, env);
}

/* Calls that this PE made before the collection's creation arrived, because the proxy was faster.
 * Their homes are known now. They leave before the constructors run, so that no later call
 * overtakes them. */
static void route_early(struct pe *pe, struct collection *c)
{
	struct cmi_msg *m = c->waiting.head, *next;

	c->waiting.head = NULL;
	msg_fifo_init(&c->waiting);
	for (; m; m = next) {
		const int home = home_of_early(pe, c, (struct ck_env *)m);

		next = m->next;
		if (home == pe->id)
			coll_wait(c, m);
		else
			csd_send(pe, home, m);
	}
}

void create_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	const struct ck_node *ck = ck_node_of(pe->node);
	struct collection *c = coll_get(pe, env->coll);

	bcast_forward_from(pe, env, (int)(env->coll >> 32));
	if (env->create.chare >= ck->n_chares || env->create.map > ck->n_maps)
		csd_abort(pe, "message from PE %d creates chare %d with map %d: unknown here",
			  m->src_pe, env->create.chare, env->create.map);
	const CkGenChare *type = ck->chares[env->create.chare];

	if (env->flags & CK_CREATE_SHAPED) {
		struct ck_shape shape;

		memcpy(&shape, (char *)env + env->head.size - sizeof shape, sizeof shape);
		coll_shape(pe, c, type, &shape);
		if (shape.ready)
			ready_want(c, NULL);
	} else {
		coll_type(pe, c, type, CkDimsN(type->nd, env->create.extents[0],
					       env->create.extents[1], env->create.extents[2], 1, 1, 1),
			  map_by_number(ck, env->create.map));
	}
	route_early(pe, c);
	coll_construct(pe, c, payload_of(env));
	env_unref(pe, env);
}

bool extents_fit(const CkArrayDims *dims)
{
	uint64_t n = 1;

	for (int d = 0; d < dims->nd; d++) {
		if (dims->n[d] < 0 || (dims->n[d] && n > UINT64_MAX / 64 / (uint64_t)dims->n[d]))
			return false;
		n *= (uint64_t)dims->n[d];
	}
	return true;
}

const char *create_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct ck_node *ck = ck_node_of(pe->node);
	const struct ck_env *env = (const struct ck_env *)m;
	const CkGenChare *type = env->create.chare < ck->n_chares ? ck->chares[env->create.chare] : NULL;
	struct ck_shape shape = { .empty = false };
	size_t room = m->size - sizeof *env;

	if (!type || env->create.map > ck->n_maps)
		return "it creates a chare of a type, or with a map, that does not exist";
	if (shape_alone(pe, m))
		return shape_alone(pe, m);
	if (coll_get(pe, env->coll)->constructed)
		return "it creates a collection for the second time";
	if (env->flags & CK_CREATE_SHAPED) {
		if (room < sizeof shape)
			return "its shape does not lie within it";
		memcpy(&shape, (const char *)env + m->size - sizeof shape, sizeof shape);
		if (shape.dims.nd < 0 || shape.dims.nd > 6 || shape.map < 0 || shape.map > ck->n_maps ||
		    !extents_fit(&shape.dims))
			return "its extents are invalid";
		if (shape.sparse && !ck_kind(pe, type)->sparse)
			return "it creates an array without extents; no room place has been built";
		room -= sizeof shape;
	} else if (type->kind == CKGEN_ARRAY &&
		   (env->create.extents[0] < 1 || (type->nd > 1 && env->create.extents[1] < 1) ||
		    (type->nd > 2 && env->create.extents[2] < 1))) {
		return "its extents are invalid";
	}
	/* An empty array has no constructor's parameters. */
	return shape.empty ? NULL : shape_params(pe, type, 0, env, room);
}

/* ---- sending --------------------------------------------------------------------------------- */

struct ck_env *create_take(struct pe *pe, const CkGenChare *type, void *payload)
{
	const CkGenEntry *e = &type->entries[0];
	struct ck_env *env;

	if (e->flags & CKGEN_MESSAGE) {
		if (pe->node->check)
			owner_check_send(pe, type, 0, env_of(payload));
		owner_let_go(env_of(payload));
	}
	env = call_take_plain(pe, payload, 0);
	env->refnum = 0;
	env->head.mark = OWNER_SENT;
	if ((e->flags & CKGEN_MESSAGE) && pe->node->check)
		env = owner_give_call(pe, type, 0, env);
	env = env_for_others(pe, e, env);
	env->create.chare = (uint16_t)chare_number(ck_node_of(pe->node), type);
	return env;
}

static CkProxy create_send(struct pe *pe, uint64_t id, struct ck_env *env)
{
	env->coll = id;
	env->head.handler = ck_handler(pe, PART_CREATE, H_CREATE);
	bcast_forward_from(pe, env, pe->id);
	csd_send(pe, pe->id, &env->head);
	return (CkProxy){ id };
}

/* This PE learns the extents at once, so that it can make calls. Its elements are created when the
 * creation message arrives, as on every other PE. */
static CkProxy create(struct pe *pe, const CkGenChare *type, CkArrayDims dims, int map,
		      void *payload)
{
	struct ck_env *env = create_take(pe, type, payload);
	uint64_t id = coll_new_id(pe);

	coll_type(pe, coll_get(pe, id), type, dims, map_by_number(ck_node_of(pe->node), map));
	env->create.map = (uint8_t)map;
	for (int d = 0; d < 3; d++)
		env->create.extents[d] = dims.n[d];
	return create_send(pe, id, env);
}

/* The same, with a struct ck_shape after the parameters. */
static CkProxy create_shaped(struct pe *pe, const CkGenChare *type, const struct ck_shape *shape,
			     const CkCallback *ready, void *payload)
{
	struct ck_env *params = payload ? create_take(pe, type, payload) : NULL;
	size_t bytes = params ? params->head.size - sizeof *params : 0;
	struct ck_env *env = env_new(pe, 0, CkGen_align(bytes) + sizeof *shape);
	uint64_t id = coll_new_id(pe);
	struct collection *c = coll_get(pe, id);

	if (bytes)
		memcpy(payload_of(env), payload_of(params), bytes);
	memcpy((char *)payload_of(env) + CkGen_align(bytes), shape, sizeof *shape);
	env->call = (uint32_t)chare_number(ck_node_of(pe->node), type);
	env->flags = (uint8_t)((params ? params->flags : 0) | CK_CREATE_SHAPED);
	if (params)
		csd_msg_free(pe, &params->head);
	coll_shape(pe, c, type, shape);
	if (ready)
		ready_want(c, ready);
	return create_send(pe, id, env);
}

/* ---- options --------------------------------------------------------------------------------- */

_Noreturn static void bad_extent(struct pe *pe, const CkGenChare *type, int d, int n)
{
	csd_abort(pe, "%s_ckNew: extent %d is %d; it must be at least 1. %s_ckNewEmpty makes an "
		  "array to insert into", type->name, d, n, type->name);
}

static void check_short(struct pe *pe, const CkGenChare *type, int d, int64_t last)
{
	if (type->nd > 3 && last > INT16_MAX)
		csd_abort(pe, "%s_ckNew: dimension %d goes up to %lld; with %d dimensions an index "
			  "has 16 bits", type->name, d, (long long)last, type->nd);
}

static void plain_extents(struct pe *pe, const CkGenChare *type, const CkArrayDims *dims)
{
	if (dims->nd != type->nd)
		csd_abort(pe, "%s_ckNew: %d extents given, the array has %d dimensions", type->name,
			  dims->nd, type->nd);
	for (int d = 0; d < dims->nd; d++) {
		if (dims->n[d] < 1)
			bad_extent(pe, type, d, dims->n[d]);
		check_short(pe, type, d, (int64_t)dims->n[d] - 1);
	}
}

/* Indices start, start + step, ... below end. */
static void lattice(struct pe *pe, const CkGenChare *type, const CkArrayOptions *o,
		    struct ck_shape *shape)
{
	shape->sparse = true;
	shape->dims.nd = type->nd;
	for (int d = 0; d < type->nd; d++) {
		int64_t step = o->step[d] ? o->step[d] : 1, span = (int64_t)o->end[d] - o->start[d];

		if (step < 0 || span <= 0)
			csd_abort(pe, "%s_ckNew: dimension %d has start %d, end %d, step %d; it needs "
				  "start < end and a step above 0", type->name, d, o->start[d],
				  o->end[d], o->step[d]);
		shape->start[d] = o->start[d];
		shape->step[d] = (int32_t)step;
		shape->dims.n[d] = (int32_t)((span + step - 1) / step);
		check_short(pe, type, d, o->end[d] - 1);
		check_short(pe, type, d, -(int64_t)o->start[d] - 1);
	}
}

static bool has_lattice(const CkArrayOptions *o)
{
	for (int d = 0; d < 6; d++)
		if (o->start[d] || o->end[d] || o->step[d])
			return true;
	return false;
}

static int map_of(struct pe *pe, const CkGenChare *type, const CkArrayOptions *o)
{
	int map = o->map ? map_by_name(ck_node_of(pe->node), o->map) : 0;

	if (map < 0)
		csd_abort(pe, "%s_ckNew: no map is called \"%s\"; register it with CkRegisterMap "
			  "in an initnode function", type->name, o->map);
	return map;
}

CkProxy CkGen_newArray(const CkGenChare *chare, const CkArrayOptions *o, void *payload)
{
	struct pe *pe = ck_self_of(chare, "ckNew");
	struct ck_shape shape;

	memset(&shape, 0, sizeof shape); /* its padding is sent, too */
	shape.map = map_of(pe, chare, o);
	shape.ready = o->ready != NULL;
	shape.empty = !payload;
	if (chare->nd && has_lattice(o)) {
		lattice(pe, chare, o, &shape);
	} else if (payload || (chare->nd && o->dims.nd)) {
		plain_extents(pe, chare, &o->dims);
		shape.dims = o->dims;
		for (int d = 0; d < 6; d++)
			shape.step[d] = 1;
	}
	shape.sparse |= shape.empty;
	if (shape.sparse && !ck_kind(pe, chare)->sparse)
		csd_abort(pe, "%s_ckNew: an array without extents, or with start, end and step, needs the room "
			  "chare/place, which this library has been built without", chare->name);
	if (shape.sparse || shape.ready || chare->nd > 3)
		return create_shaped(pe, chare, &shape, o->ready, payload);
	return create(pe, chare, shape.dims, shape.map, payload);
}
