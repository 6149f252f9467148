/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section.c: sections. A section is a set of elements of one collection, or of several collections
 * of one type; one multicast calls them all.
 *
 * The PE that makes a section is the root of its tree. The list of members, in the order of the
 * tree, goes down the tree once: each PE takes its own members from the front and cuts the rest
 * into pieces for its children. After that a multicast carries only the section's number. As in the
 * tree of broadcasts (tree.c), each process is entered once, and a PE has at most four children in
 * other processes. PEs without members are not in the tree.
 *
 * A multicast from another PE goes to the root first. So all multicasts of one PE take the same
 * path and arrive in order, and only the root must know whether a section still lives.
 */
#include "section_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A piece of the tree: the receiver's members first, then those of its process, then those of
 * other processes. The payload of SECTION_CREATE. Also the payload of SECTION_START, but without
 * segments and in the order that the program gave. */
struct section_list {
	int32_t chare;            /* the type's number; -1: not known yet */
	uint32_t n_segments, n_members, reserved;
	/* struct segment[n_segments], CkElement[n_members] follow */
};
struct segment {
	int32_t pe;
	uint32_t n;
};

static struct segment *segments_of(struct section_list *l) { return (struct segment *)(l + 1); }
static CkElement *elements_of(struct section_list *l)
{
	return (CkElement *)(segments_of(l) + l->n_segments);
}
static const CkGenChare *list_type(struct pe *pe, const struct section_list *l)
{
	return l->chare < 0 ? NULL : ck_node_of(pe->node)->chares[l->chare];
}

/* ---- by id ---------------------------------------------------------------------------------- */

/** On a PE. */
struct sections {
	struct idmap by_id;
	uint32_t n_made;          /* sections that this PE made */
};

static struct sections *sections_of(const struct pe *pe) { return ck_state(pe, PART_SECTION); }

struct section *section_find(const struct pe *pe, uint64_t id)
{
	return idmap_get(&sections_of(pe)->by_id, id);
}

static void *zeroed(struct pe *pe, size_t n, size_t bytes)
{
	void *p = calloc(n ? n : 1, bytes);

	if (!p)
		csd_abort(pe, "no memory for a section");
	return p;
}

struct section *section_get(struct pe *pe, uint64_t id)
{
	struct section *s = section_find(pe, id);

	if (s)
		return s;
	s = zeroed(pe, 1, sizeof *s);
	s->id = id;
	s->parent = -1;
	s->end = UINT64_MAX;
	s->waiting.tail = &s->waiting.head;
	idmap_add(&sections_of(pe)->by_id, id, (uintptr_t)s);
	return s;
}

static void section_free(struct pe *pe, struct section *s)
{
	while (s->waiting.head)
		csd_msg_free(pe, msg_fifo_pop(&s->waiting));
	section_close_reductions(pe, s);
	free(s->arrays);
	free(s->members);
	free(s->objs);
	free(s->children);
	free(s->pes);
	free(s);
}

static void section_pe_stop(struct pe *pe)
{
	struct idmap *all = &sections_of(pe)->by_id;
	const struct idmap_slot *at;

	for (size_t i = 0; (at = idmap_each(all, &i)); i++)
		section_free(pe, (struct section *)at->value);
	idmap_free(all);
}

/* ---- what a program can do wrong ------------------------------------------------------------ */

void section_check(struct pe *pe, uint64_t id)
{
	if (CSD_UNLIKELY(!id || section_root(id) >= pe->node->job->n_pes))
		csd_abort(pe, "a section was used before it was made (by X_ckSection)");
}

_Noreturn void section_gone(struct pe *pe, uint64_t id)
{
	csd_abort(pe, "section %u of PE %d was destroyed, or never made", section_no(id),
		  section_root(id));
}

/* At the root: find the section; abort unless it lives. */
static struct section *living(struct pe *pe, uint64_t id)
{
	struct section *s = section_find(pe, id);

	if (CSD_UNLIKELY(!s || s->end != UINT64_MAX))
		section_gone(pe, id);
	return s;
}

_Noreturn static void outside(struct pe *pe, const struct collection *c, const CkGenChare *type,
			      CkIndex i)
{
	if (type->kind == CKGEN_GROUP)
		csd_abort(pe, "a section of group %s names PE %d; the job has PEs 0-%d",
			  type->name, i.v[0], pe->node->job->n_pes - 1);
	csd_abort(pe, "a section of array %s names element (%d, %d, %d); the array has %d x %d x "
		  "%d elements, from 0", type->name, i.v[0], i.v[1], i.v[2], c->dims.n[0],
		  c->dims.n[1], c->dims.n[2]);
}

/* ---- creation ------------------------------------------------------------------------------- */

struct listed {
	int node, pe;             /* in the order of the tree: the root's node and PE first */
	CkElement element;
};

static int compare_index(const CkIndex *a, const CkIndex *b)
{
	for (int d = 0; d < 3; d++)
		if (a->v[d] != b->v[d])
			return a->v[d] < b->v[d] ? -1 : 1;
	return 0;
}

static int compare_listed(const void *a_, const void *b_)
{
	const struct listed *a = a_, *b = b_;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->pe != b->pe)
		return a->pe < b->pe ? -1 : 1;
	if (a->element.id != b->element.id)
		return a->element.id < b->element.id ? -1 : 1;
	return compare_index(&a->element.index, &b->element.index);
}

/* The element's home: all calls of the element go through this PE, for ever. */
static int home_of(struct pe *pe, const CkGenChare *type, const CkElement *e)
{
	const struct collection *c = coll_get(pe, e->id);
	CkIndex i = e->index;

	if (c->type && c->type != type)
		csd_abort(pe, "a section of %s names an element of %s", type->name, c->type->name);
	if (type->kind == CKGEN_GROUP) {
		if ((uint32_t)i.v[0] >= (uint32_t)pe->node->job->n_pes)
			outside(pe, c, type, i);
		return i.v[0];
	}
	if (!c->sparse && index_place(c, i) == UINT64_MAX)
		outside(pe, c, type, i);
	return index_home(pe, c, i);
}

/* Sort the elements in the order of the tree, and drop duplicates. Returns how many are left;
 * the caller frees *v_p. */
static uint32_t sort_list(struct pe *pe, const CkGenChare *type, const CkElement *list, size_t n,
			  struct listed **v_p)
{
	const struct cmi_job *job = pe->node->job;
	struct listed *v = zeroed(pe, n, sizeof *v);
	uint32_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		int home = home_of(pe, type, &list[i]);
		int node = (job->node_of[home] - job->node + job->n_nodes) % job->n_nodes;

		v[i] = (struct listed){ node, home == pe->id ? -1 : home, list[i] };
	}
	qsort(v, n, sizeof *v, compare_listed);
	for (size_t i = 0; i < n; i++)
		if (!kept || compare_listed(&v[kept - 1], &v[i]))
			v[kept++] = v[i];
	*v_p = v;
	return kept;
}

static struct ck_env *list_env(struct pe *pe, const CkGenChare *type, uint32_t n_segments,
			       uint32_t n_members)
{
	struct ck_env *env = env_new(pe, ck_handler(pe, PART_SECTION, H_CONTROL),
				     sizeof(struct section_list) +
				     n_segments * sizeof(struct segment) +
				     n_members * sizeof(CkElement));

	*(struct section_list *)payload_of(env) = (struct section_list){
		type ? chare_number(ck_node_of(pe->node), type) : -1, n_segments, n_members, 0
	};
	return env;
}

/* Make the list of the whole tree. This PE is its first segment, with members or without. */
static struct ck_env *make_list(struct pe *pe, const CkGenChare *type, const CkElement *list,
				size_t n_listed)
{
	struct listed *v;
	uint32_t n = sort_list(pe, type, list, n_listed, &v), n_segments = 1;

	for (uint32_t i = 0; i < n; i++)
		n_segments += v[i].pe != (i ? v[i - 1].pe : -1);
	struct ck_env *env = list_env(pe, type, n_segments, n);
	struct section_list *l = payload_of(env);
	struct segment *s = segments_of(l);

	*s = (struct segment){ pe->id, 0 };
	for (uint32_t i = 0; i < n; i++) {
		if (v[i].pe != (i ? v[i - 1].pe : -1))
			*++s = (struct segment){ v[i].pe, 0 };
		s->n++;
		elements_of(l)[i] = v[i].element;
	}
	free(v);
	return env;
}

void section_post(struct pe *pe, int dst_pe, uint64_t id, enum section_kind kind,
		  struct ck_env *env)
{
	env->head.handler = ck_handler(pe, PART_SECTION, H_CONTROL);
	env->coll = id;
	env->flags = 0;
	env->section.kind = (uint8_t)kind;
	csd_send(pe, dst_pe, &env->head);
}

/* Send segments first .. end - 1, whose members begin at `member`, to the PE of the first one,
 * which becomes a child of this PE. Returns where the next piece's members begin. */
static uint32_t send_piece(struct pe *pe, struct section *s, struct section_list *l, uint32_t first,
			   uint32_t end, uint32_t member)
{
	uint32_t n = 0;

	for (uint32_t i = first; i < end; i++)
		n += segments_of(l)[i].n;
	struct ck_env *env = list_env(pe, s->type, end - first, n);
	struct section_list *piece = payload_of(env);

	memcpy(segments_of(piece), segments_of(l) + first, (end - first) * sizeof(struct segment));
	memcpy(elements_of(piece), elements_of(l) + member, n * sizeof(CkElement));
	s->children[s->n_children++] = segments_of(l)[first].pe;
	section_post(pe, segments_of(l)[first].pe, s->id, SECTION_CREATE, env);
	return member + n;
}

/* Returns the first segment after those of segment i's node. */
static uint32_t skip_node(struct pe *pe, struct section_list *l, uint32_t i)
{
	const int *node_of = pe->node->job->node_of;
	int node = node_of[segments_of(l)[i].pe];

	while (i < l->n_segments && node_of[segments_of(l)[i].pe] == node)
		i++;
	return i;
}

/* The other PEs of this process are leaves; the other processes are cut into up to four pieces. */
static void send_pieces(struct pe *pe, struct section *s, struct section_list *l)
{
	uint32_t here = skip_node(pe, l, 0), member = s->n_members, n_nodes = 0;

	s->children = zeroed(pe, here + CSD_TREE_ARITY, sizeof *s->children);
	for (uint32_t i = 1; i < here; i++)
		member = send_piece(pe, s, l, i, i + 1, member);
	for (uint32_t i = here; i < l->n_segments; i = skip_node(pe, l, i))
		n_nodes++;
	uint32_t at = here;

	for (uint32_t pieces = CSD_TREE_ARITY; n_nodes; pieces--) {
		uint32_t take = (n_nodes + pieces - 1) / pieces, end = at;

		n_nodes -= take;
		while (take--)
			end = skip_node(pe, l, end);
		member = send_piece(pe, s, l, at, end, member);
		at = end;
	}
}

static void remember_pes(struct pe *pe, struct section *s, struct section_list *l)
{
	s->pes = zeroed(pe, l->n_segments, sizeof *s->pes);
	for (uint32_t i = 0; i < l->n_segments; i++)
		if (segments_of(l)[i].n)
			s->pes[s->n_pes++] = segments_of(l)[i].pe;
}

/* Take this PE's members, which are sorted by array. */
static void take_members(struct pe *pe, struct section *s, const CkElement *list)
{
	for (uint32_t i = 0; i < s->n_members; i++)
		s->n_arrays += !i || list[i].id != list[i - 1].id;
	s->arrays = zeroed(pe, s->n_arrays, sizeof *s->arrays);
	s->members = zeroed(pe, s->n_members, sizeof *s->members);
	s->objs = zeroed(pe, s->n_members, sizeof *s->objs);
	struct section_array *a = s->arrays - 1;

	for (uint32_t i = 0; i < s->n_members; i++) {
		if (!i || list[i].id != list[i - 1].id)
			*++a = (struct section_array){ coll_get(pe, list[i].id), i, 0 };
		a->n++;
		s->members[i].index = list[i].index;
	}
}

/* The section's list has come: take our part of it, send on the rest, and handle the messages
 * that came too early. */
static void install(struct pe *pe, struct section *s, struct section_list *l)
{
	s->type = list_type(pe, l);
	s->n_members = segments_of(l)->n;
	take_members(pe, s, elements_of(l));
	send_pieces(pe, s, l);
	struct msg_fifo early = s->waiting;

	s->waiting = (struct msg_fifo){ NULL, &s->waiting.head };
	while (early.head) {
		struct cmi_msg *m = msg_fifo_pop(&early);

		pe->node->handlers[m->handler].fn(pe, m);
	}
}

/* The first array whose extents this PE does not know; NULL: it knows all. A group's are always
 * known. */
static struct collection *unknown_array(struct pe *pe, struct section_list *l)
{
	const CkGenChare *type = list_type(pe, l);

	for (uint32_t i = 0; i < l->n_members; i++) {
		struct collection *c = coll_get(pe, elements_of(l)[i].id);

		if (!c->type && !(type && type->kind == CKGEN_GROUP))
			return c;
	}
	return NULL;
}

/* Begin with a SECTION_START message; the call takes it over. Like calls, it waits until this PE
 * knows the extents of all its arrays. */
static void start(struct pe *pe, struct section *s, struct ck_env *env)
{
	struct section_list *l = payload_of(env);
	struct collection *c = unknown_array(pe, l);

	if (c) {
		env->coll = s->id;
		env->section.kind = SECTION_START;
		env->head.src_pe = pe->id;
		coll_wait(c, &env->head);
		return;
	}
	const CkGenChare *type = l->chare < 0 ? coll_get(pe, elements_of(l)->id)->type
					      : list_type(pe, l);
	struct ck_env *list = make_list(pe, type, elements_of(l), l->n_members);

	csd_msg_free(pe, &env->head);
	remember_pes(pe, s, payload_of(list));
	install(pe, s, payload_of(list));
	csd_msg_free(pe, &list->head);
}

/* A SECTION_START message whose list the caller fills. type NULL: not known yet; the collection
 * will tell. */
static struct ck_env *new_list(struct pe *pe, const CkGenChare *type, size_t n)
{
	if (!n || n > UINT32_MAX)
		csd_abort(pe, "a section of %s has %zu elements; it must have one at least",
			  type ? type->name : "an array", n);
	if (type && type->kind == CKGEN_NODEGROUP)
		csd_abort(pe, "%s is a nodegroup; only arrays and groups have sections", type->name);
	return list_env(pe, type, 0, (uint32_t)n);
}

/* mixed: 0 or SECTION_MIXED. */
static CkSection section_make(struct pe *pe, struct ck_env *env, uint32_t mixed)
{
	struct section *s = section_get(pe, (uint64_t)(uint32_t)pe->id << 32 | mixed |
					    ++sections_of(pe)->n_made);
	CkSection section = { elements_of(payload_of(env))->id, s->id };

	start(pe, s, env);
	return section;
}

CkSection CkGen_section(const CkGenChare *chare, CkProxy p, const CkIndex *list, size_t n)
{
	struct pe *pe = ck_self();
	struct ck_env *env = new_list(pe, chare, n);
	CkElement *to = elements_of(payload_of(env));

	for (size_t i = 0; i < n; i++)
		to[i] = (CkElement){ p.id, list[i], 0 };
	return section_make(pe, env, 0);
}

CkSection CkGen_sectionOf(const CkGenChare *chare, const CkElement *list, size_t n)
{
	struct pe *pe = ck_self();
	struct ck_env *env = new_list(pe, chare, n);

	memcpy(elements_of(payload_of(env)), list, n * sizeof *list);
	return section_make(pe, env, SECTION_MIXED);
}

static size_t range_count(CkRange r)
{
	if (r.step < 1)
		csd_abort(ck_self(), "the range %d..%d of a section has step %d; it must be at least 1",
			  r.lo, r.hi, r.step);
	return r.hi < r.lo ? 0 : ((size_t)r.hi - (size_t)r.lo) / (size_t)r.step + 1;
}

CkSection CkSectionRange3D(CkProxy p, CkRange x, CkRange y, CkRange z)
{
	struct pe *pe = ck_self();
	size_t nx = range_count(x), ny = range_count(y), nz = range_count(z), n = nx * ny * nz;
	struct ck_env *env = new_list(pe, coll_get(pe, p.id)->type, n);
	CkElement *to = elements_of(payload_of(env));

	for (size_t i = 0; i < n; i++)
		to[i] = (CkElement){ p.id, { { x.lo + (int)(i / nz / ny) * x.step,
					       y.lo + (int)(i / nz % ny) * y.step,
					       z.lo + (int)(i % nz) * z.step } }, 0 };
	return section_make(pe, env, 0);
}

/* ---- multicast ------------------------------------------------------------------------------ */

static void section_forward(struct pe *pe, struct section *s, struct ck_env *env)
{
	for (int i = 0; i < s->n_children; i++)
		csd_send(pe, s->children[i], csd_msg_copy(pe, &env->head));
	env->flags |= CK_ENV_FORWARDED;
	s->n_sent++;
}

static void maybe_end(struct pe *pe, struct section *s);

/* Deliver to our members of one array that live here; send copies on to those that do not. */
static void deliver_to_array(struct pe *pe, struct section *s, const struct section_array *a,
			     struct ck_env *env)
{
	struct collection *c = a->coll;
	uint64_t n = 0;

	for (uint32_t i = a->first; i < a->first + a->n; i++) {
		CkElement e = { c->id, s->members[i].index, 0 };
		struct ck_obj *obj = c->type->kind == CKGEN_GROUP ?
					     c->elems[0] : coll_local(c, e.index);

		if (CSD_LIKELY(obj != NULL))
			s->objs[n++] = obj;
		else
			send_element(pe, c->type, &e, (struct ck_env *)csd_msg_copy(pe, &env->head));
	}
	deliver_some(pe, c, s->objs, n, env);
}

/* Deliver array after array: elements of the second array that the handlers of the first destroy
 * get nothing. Every array but the last gets a copy, because an entry method may keep its
 * message. */
static void section_deliver(struct pe *pe, struct section *s, struct ck_env *env)
{
	env->flags &= (uint8_t)~CK_ENV_FORWARDED;
	for (uint32_t i = 0; i + 1 < s->n_arrays; i++)
		deliver_to_array(pe, s, &s->arrays[i],
				 (struct ck_env *)csd_msg_copy(pe, &env->head));
	if (s->n_arrays)
		deliver_to_array(pe, s, &s->arrays[s->n_arrays - 1], env);
	else
		env_unref(pe, env);
	s->n_delivered++;
	maybe_end(pe, s);
}

/* At the root: send a multicast down the tree at once, and to our own members through the queue,
 * like any call. */
static void send_down(struct pe *pe, struct section *s, struct ck_env *env)
{
	if (CSD_UNLIKELY(!section_known(s))) {
		env->head.src_pe = pe->id;
		msg_fifo_push(&s->waiting, &env->head);
		return;
	}
	section_forward(pe, s, env);
	if (s->n_members) {
		csd_send(pe, pe->id, &env->head);
		return;
	}
	s->n_delivered++;
	env_unref(pe, env);
}

static void section_send(struct pe *pe, const CkSection *to, struct ck_env *env)
{
	section_check(pe, to->id);
	env->head.handler = ck_handler(pe, PART_SECTION, H_MULTICAST);
	env->coll = to->coll;
	env->section.number = to->id;
	if (section_root(to->id) == pe->id)
		send_down(pe, living(pe, to->id), env);
	else
		csd_send(pe, section_root(to->id), &env->head);
}

static void section_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	bool passed_on = env->flags & CK_ENV_FORWARDED;
	struct section *s = section_root(env->section.number) == pe->id && !passed_on ?
				    living(pe, env->section.number) : section_get(pe, env->section.number);

	if (CSD_UNLIKELY(!section_known(s))) {
		msg_fifo_push(&s->waiting, m);
		return;
	}
	if (!passed_on)
		section_forward(pe, s, env);
	for (uint32_t i = 0; i < s->n_arrays; i++)
		if (CSD_UNLIKELY(!coll_there(pe, s->arrays[i].coll))) {
			coll_wait(s->arrays[i].coll, m);
			return;
		}
	section_deliver(pe, s, env);
}

/* ---- the end -------------------------------------------------------------------------------- */

/* End the section once all its multicasts have been delivered here; one with a priority may be
 * late. */
static void maybe_end(struct pe *pe, struct section *s)
{
	if (CSD_LIKELY(s->n_delivered < s->end))
		return;
	if (s->reductions)
		csd_abort(pe, "section %u of PE %d, of %s, is destroyed in the middle of its "
			  "reduction %u", section_no(s->id), section_root(s->id), s->type->name,
			  s->reductions->no);
	for (int i = 0; i < s->n_children; i++) {
		struct ck_env *env = env_new(pe, 0, 0);

		env->section.number = s->n_sent;
		section_post(pe, s->children[i], s->id, SECTION_DESTROY, env);
	}
	idmap_remove(&sections_of(pe)->by_id, idmap_find(&sections_of(pe)->by_id, s->id));
	section_free(pe, s);
}

static void destroy(struct pe *pe, struct section *s, uint64_t n_sent)
{
	s->end = section_root(s->id) == pe->id ? s->n_sent : n_sent;
	maybe_end(pe, s);
}

void CkSectionDestroy(CkSection section)
{
	struct pe *pe = ck_self();

	section_check(pe, section.id);
	section_post(pe, section_root(section.id), section.id, SECTION_DESTROY, env_new(pe, 0, 0));
}

/* ---- what else arrives ---------------------------------------------------------------------- */

/* Answer a PE that asked because it does not know a section to which one of its elements
 * contributed. If the PE has members, the list is on its way there; if not, the job aborts. */
static void section_answer(struct pe *pe, const struct section *s, const struct ck_env *env)
{
	for (int i = 0; i < s->n_pes; i++)
		if (s->pes[i] == env->head.src_pe)
			return;
	csd_abort(pe, "on PE %d, element (%d, %d, %d) contributed to section %u of PE %d, of %s: "
		  "it is no member", env->head.src_pe, env->index.v[0], env->index.v[1],
		  env->index.v[2], section_no(s->id), pe->id, s->type->name);
}

static void section_handle(struct pe *pe, struct section *s, struct ck_env *env)
{
	switch ((enum section_kind)env->section.kind) {
	case SECTION_START:
		start(pe, s, env);
		return; /* start has taken the message */
	case SECTION_CREATE:
		s->parent = env->head.src_pe;
		install(pe, s, payload_of(env));
		break;
	case SECTION_CONTRIBUTE:
		section_contribution(pe, s, env);
		break;
	case SECTION_PART:
		section_part_came(pe, s, env);
		return; /* the reduction keeps or frees the message */
	case SECTION_ASK:
		section_answer(pe, s, env);
		break;
	case SECTION_DESTROY:
		destroy(pe, s, env->section.number);
		break;
	}
	csd_msg_free(pe, &env->head);
}

static void section_ctl_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct ck_env *env = (struct ck_env *)m;
	bool makes_it = env->section.kind == SECTION_START || env->section.kind == SECTION_CREATE;
	bool root = section_root(env->coll) == pe->id;
	struct section *s = root ? section_find(pe, env->coll) : section_get(pe, env->coll);

	if (CSD_UNLIKELY(!s || (s->end != UINT64_MAX && root && env->section.kind != SECTION_PART)))
		section_gone(pe, env->coll);
	if (section_known(s) || makes_it) {
		section_handle(pe, s, env);
		return;
	}
	if (env->section.kind == SECTION_CONTRIBUTE)
		section_ask(pe, s, env->index);
	msg_fifo_push(&s->waiting, m);
}

/* ---- stubs ---------------------------------------------------------------------------------- */

void CkGen_sendSection(const CkGenChare *chare, const CkSection *s, int entry, void *payload,
		       const CkEntryOptions *o)
{
	struct pe *pe = ck_self();
	struct ck_env *env = call_take(pe, chare, entry, payload, o);

	if (CSD_UNLIKELY(env->head.flags & CMI_F_HERE))
		env = env_for_others(pe, &chare->entries[entry], env);
	section_send(pe, s, env);
}

/* The section's number goes into a field that other callbacks do not use. */
CkCallback CkGen_cbSection(const CkGenChare *chare, const CkSection *s, int entry)
{
	CkCallback cb = callback_of_entry(CB_SECTION, chare, s->coll, (CkIndex){ { 0, 0, 0 } }, entry);

	cb.reserved[0] = s->id;
	return cb;
}

/* ---- the part ------------------------------------------------------------------------------- */

static void send_to_section(struct pe *pe, const CkCallback *cb, struct ck_env *env)
{
	callback_call(pe, cb, env);
	section_send(pe, &(CkSection){ cb->id, cb->reserved[0] }, env);
}

static const struct ck_handler handlers[] = {
	[H_MULTICAST] = { "ck.section", section_arrived, false },
	[H_CONTROL] = { "ck.section.ctl", section_ctl_arrived, false },
};
static const struct ck_callback_kind callbacks[] = { { CB_SECTION, send_to_section, NULL } };

const struct ck_part section_part = {
	.name = "section",
	.number = PART_SECTION,
	.pe_bytes = sizeof(struct sections),
	.handlers = handlers,
	.n_handlers = sizeof handlers / sizeof *handlers,
	.callbacks = callbacks,
	.n_callbacks = sizeof callbacks / sizeof *callbacks,
	.pe_stop = section_pe_stop,
};
