/* SPDX-License-Identifier: Apache-2.0 */
/*
 * section_make.c: makes a section. The PE that makes it sorts the members in the order of the tree:
 * its own process first, and in each process PE by PE. The list goes down the tree once: each PE
 * takes its own members from the front and cuts the remainder into pieces for its children.
 */
#include "section_int.h"
#include "../core/objects/index.h"
#include "../core/shape.h"

#include <stdlib.h>
#include <string.h>

/* A piece of the tree: the receiver's members first, then those of its process, then those of other
 * processes. The payload of SECTION_CREATE. Also the payload of SECTION_START, but without segments
 * and in the program's order. */
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
static CkElement *list_elements(struct section_list *l)
{
	return (CkElement *)(segments_of(l) + l->n_segments);
}
static const CkGenChare *list_type(struct pe *pe, const struct section_list *l)
{
	return l->chare < 0 ? NULL : ck_node_of(pe->node)->chares[l->chare];
}

const char *section_list_misfit(struct pe *pe, const struct ck_env *env)
{
	const size_t room = env->head.size - sizeof *env;
	const struct section_list *l = (const struct section_list *)(const void *)(env + 1);
	const struct segment *segments = (const struct segment *)(const void *)(l + 1);
	uint64_t n = 0;

	if (room < sizeof *l || l->n_segments < 1 || l->chare < 0 ||
	    l->chare >= ck_node_of(pe->node)->n_chares ||
	    room - sizeof *l != (uint64_t)l->n_segments * sizeof(struct segment) +
					(uint64_t)l->n_members * sizeof(CkElement))
		return "its list does not lie within it";
	if (segments->pe != pe->id)
		return "its list is that of another PE";
	for (uint32_t i = 0; i < l->n_segments; n += segments[i++].n)
		if ((uint32_t)segments[i].pe >= (uint32_t)pe->node->job->n_pes)
			return "its list names a PE that does not exist";
	for (uint32_t i = 0; i < l->n_members && n == l->n_members; i++)
		if (shape_id(pe, ((const CkElement *)(const void *)(segments + l->n_segments))[i].id))
			n = UINT64_MAX;
	return n == l->n_members ? NULL : "its list is wrong";
}

/* ---- the list of the whole tree -------------------------------------------------------------- */

_Noreturn static void outside(struct pe *pe, const struct collection *c, const CkGenChare *type,
			      CkIndex i)
{
	if (type->kind == CKGEN_GROUP)
		csd_abort(pe, "a section of group %s names PE %d; the job has PEs 0-%d",
			  type->name, i.v[0], pe->node->job->n_pes - 1);
	index_bad(pe, c, "a section", i);
}

struct listed {
	int node, pe;             /* in the order of the tree: the root's node and PE first */
	CkElement element;
};

static int compare_listed(const void *a_, const void *b_)
{
	const struct listed *a = a_, *b = b_;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->pe != b->pe)
		return a->pe < b->pe ? -1 : 1;
	if (a->element.id != b->element.id)
		return a->element.id < b->element.id ? -1 : 1;
	return index_compare(&a->element.index, &b->element.index);
}

/* Where members are counted, permanently: at home, or, in an array with cuts, at their first
 * home. */
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
	return coll_born_home(pe, c, i);
}

/* Sort the elements in the order of the tree, and drop duplicates. Returns how many remain; the
 * caller frees *v_p. */
static uint32_t sort_list(struct pe *pe, const CkGenChare *type, const CkElement *list, size_t n,
			  struct listed **v_p)
{
	const struct cmi_job *job = pe->node->job;
	struct listed *v = section_zeroed(n, sizeof *v);
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
		list_elements(l)[i] = v[i].element;
	}
	free(v);
	return env;
}

/* Send segments first .. end - 1, whose members begin at `member`, to the PE of the first one,
 * which becomes a child of this PE. Returns where the next piece's members begin. */
static uint32_t send_list_piece(struct pe *pe, struct section *s, struct section_list *l,
				uint32_t first, uint32_t end, uint32_t member)
{
	uint32_t n = 0;

	for (uint32_t i = first; i < end; i++)
		n += segments_of(l)[i].n;
	struct ck_env *env = list_env(pe, s->type, end - first, n);
	struct section_list *piece = payload_of(env);

	memcpy(segments_of(piece), segments_of(l) + first, (end - first) * sizeof(struct segment));
	memcpy(list_elements(piece), list_elements(l) + member, n * sizeof(CkElement));
	s->tree.children[s->tree.n_children++] = segments_of(l)[first].pe;
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

	s->tree.children = section_zeroed(here + CSD_TREE_ARITY, sizeof *s->tree.children);
	for (uint32_t i = 1; i < here; i++)
		member = send_list_piece(pe, s, l, i, i + 1, member);
	for (uint32_t i = here; i < l->n_segments; i = skip_node(pe, l, i))
		n_nodes++;
	uint32_t at = here;

	for (uint32_t pieces = CSD_TREE_ARITY; n_nodes; pieces--) {
		uint32_t take = (n_nodes + pieces - 1) / pieces, end = at;

		n_nodes -= take;
		while (take--)
			end = skip_node(pe, l, end);
		member = send_list_piece(pe, s, l, at, end, member);
		at = end;
	}
}

static void remember_pes(struct section *s, struct section_list *l)
{
	s->pes = section_zeroed(l->n_segments, sizeof *s->pes);
	for (uint32_t i = 0; i < l->n_segments; i++)
		if (segments_of(l)[i].n)
			s->pes[s->n_pes++] = segments_of(l)[i].pe;
}

/* Take this PE's members, which are sorted by array. */
static void take_members(struct pe *pe, struct section *s, const CkElement *list)
{
	for (uint32_t i = 0; i < s->n_members; i++)
		s->n_arrays += !i || list[i].id != list[i - 1].id;
	s->arrays = section_zeroed(s->n_arrays, sizeof *s->arrays);
	s->members = section_zeroed(s->n_members, sizeof *s->members);
	s->objs = section_zeroed(s->n_members, sizeof *s->objs);
	struct section_array *a = s->arrays - 1;

	for (uint32_t i = 0; i < s->n_members; i++) {
		if (!i || list[i].id != list[i - 1].id)
			*++a = (struct section_array){ coll_get(pe, list[i].id), i, 0 };
		a->n++;
		s->members[i].index = list[i].index;
	}
}

void section_install(struct pe *pe, struct section *s, struct section_list *l)
{
	s->type = list_type(pe, l);
	s->n_members = segments_of(l)->n;
	take_members(pe, s, list_elements(l));
	if (s->n_members && s->type->kind == CKGEN_ARRAY)
		section_list_seen(pe, s, s->arrays->coll);
	send_pieces(pe, s, l);
	section_sure(pe, s);
	struct msg_fifo early = s->waiting;

	msg_fifo_init(&s->waiting);
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
		struct collection *c = coll_get(pe, list_elements(l)[i].id);

		if (!c->type && !(type && type->kind == CKGEN_GROUP))
			return c;
	}
	return NULL;
}

void section_start(struct pe *pe, struct section *s, struct ck_env *env)
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
	const CkGenChare *type = l->chare < 0 ? coll_get(pe, list_elements(l)->id)->type
					      : list_type(pe, l);
	struct ck_env *list = make_list(pe, type, list_elements(l), l->n_members);

	csd_msg_free(pe, &env->head);
	remember_pes(s, payload_of(list));
	section_install(pe, s, payload_of(list));
	csd_msg_free(pe, &list->head);
}

void section_remake(struct pe *pe, struct section *s, const CkGenChare *type, const CkElement *list,
		    uint32_t n)
{
	struct ck_env *env = list_env(pe, type, 0, n);

	memcpy(list_elements(payload_of(env)), list, n * sizeof *list);
	if (n)
		section_list_seen(pe, s, coll_get(pe, list->id));
	section_start(pe, s, env);
}

/* A SECTION_START message whose list the caller fills. type NULL: not known yet; the collection
 * will tell. */
static struct ck_env *new_list(struct pe *pe, const CkGenChare *type, size_t n)
{
	if (!n || n > UINT32_MAX)
		csd_abort(pe, "a section of %s has %s; it must have at least one",
			  type ? type->name : "an array",
			  csd_plural(n, "element", "elements").text);
	if (type && type->kind == CKGEN_NODEGROUP)
		csd_abort(pe, "%s is a nodegroup; only arrays and groups have sections", type->name);
	return list_env(pe, type, 0, (uint32_t)n);
}

/* mixed: 0 or SECTION_MIXED. */
static CkSection section_make(struct pe *pe, struct ck_env *env, uint32_t mixed)
{
	struct section *s = section_get(pe, section_new_id(pe) | mixed);
	CkSection section = { list_elements(payload_of(env))->id, s->id };

	section_list_seen(pe, s, coll_get(pe, section.coll));
	section_start(pe, s, env);
	return section;
}

CkSection CkGen_section(const CkGenChare *chare, CkProxy p, const CkIndex *list, size_t n)
{
	struct pe *pe = ck_self_of(chare, "ckSection");
	struct ck_env *env = new_list(pe, chare, n);
	CkElement *to = list_elements(payload_of(env));

	for (size_t i = 0; i < n; i++)
		to[i] = (CkElement){ p.id, list[i], 0 };
	return section_make(pe, env, 0);
}

CkSection CkGen_sectionOf(const CkGenChare *chare, const CkElement *list, size_t n)
{
	struct pe *pe = ck_self_of(chare, "ckSectionOf");
	struct ck_env *env = new_list(pe, chare, n);

	memcpy(list_elements(payload_of(env)), list, n * sizeof *list);
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
	CkElement *to = list_elements(payload_of(env));

	for (size_t i = 0; i < n; i++)
		to[i] = (CkElement){ p.id, { { x.lo + (int)(i / nz / ny) * x.step,
					       y.lo + (int)(i / nz % ny) * y.step,
					       z.lo + (int)(i % nz) * z.step } }, 0 };
	return section_make(pe, env, 0);
}
