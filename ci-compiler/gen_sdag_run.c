/* SPDX-License-Identifier: Apache-2.0 */
/* gen_sdag_run.c: the struct of a run: everything that lives across a `when`. */
#include "sdag_int.h"

static void members_of_calls(struct ci_out *o, const struct ci_chare *c, const struct ci_sdag *x)
{
	int i = 0;

	for (const struct ci_awaited *a = x->calls; a != NULL; a = a->next, i++) {
		if (a->entry->params != NULL)
			ci_put(o, "\tstruct ck_in_%s_%s ck_i%d_%d;\n", c->name, a->entry->name, x->number, i);
	}
}

static void members_of_locals(struct ci_out *o, const struct ci_sdag *x)
{
	for (const struct ci_local *v = x->locals; v != NULL; v = v->next) {
		const struct scope s = {.type = v->type};

		ci_put_line(o, x->tok);
		ci_put(o, "\t%s%s%s;\n", v->type + (sdag_is_constant(&s) ? 6 : 0), sdag_local_member(o->ci, x, v), v->dims);
		ci_put_line_back(o);
	}
}

/* Everything in these statements that lives across a when; not in branches. */
static void members(struct ci_out *o, const struct ci_chare *c, const struct ci_sdag *x)
{
	for (; x != NULL; x = x->next) {
		if (!sdag_waits(x) || sdag_has_parts(x))
			continue;
		members_of_calls(o, c, x);
		if (x->kind == CI_SDAG_FOR)
			members_of_locals(o, x);
		if (x->kind == CI_SDAG_OVERLAP)
			ci_put(o, "\tint ck_n%d;\n", x->number);
		members(o, c, x->body);
		members(o, c, x->other);
	}
}

static int slots_of(const struct ci_sdag *x)
{
	int in = sdag_slots_in(x->body), other = sdag_slots_in(x->other);

	if (x->kind == CI_SDAG_WHEN)
		return sdag_count_calls(x) + in;
	if (x->kind != CI_SDAG_CASE && x->kind != CI_SDAG_OVERLAP)
		return in > other ? in : other;
	in = 0;
	for (const struct ci_sdag *w = x->body; w != NULL; w = w->next) {
		const int inside = sdag_slots_in(w->body);

		in = inside > in ? inside : in;
	}
	return sdag_count_all_calls(x) + in;
}

/* The slots that the calls of these statements need at a time. */
int sdag_slots_in(const struct ci_sdag *x)
{
	int most = 0;

	for (; x != NULL; x = x->next) {
		const int n = sdag_waits(x) && !sdag_has_parts(x) ? slots_of(x) : 0;

		most = n > most ? n : most;
	}
	return most;
}

void sdag_run_struct(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e, const char *suffix,
		     const struct ci_sdag *first, const struct ci_sdag *forall, bool is_part)
{
	const int n_slots = sdag_slots_in(first);

	ci_put(o, "struct ck_run%s {\n\tCkGenRun ck;\n", suffix);
	if (n_slots != 0)
		ci_put(o, "\tCkGenSlot ck_slot[%d];\n", n_slots);
	if (!is_part && e->params != NULL)
		ci_put(o, "\tstruct ck_in_%s_%s ck_in;\n", c->name, e->name);
	if (forall != NULL)
		members_of_locals(o, forall);
	members(o, c, first);
	ci_put(o, "};\n\n");
}

void sdag_part_structs(struct ci_out *o, const struct ci_chare *c, const struct ci_entry *e,
		       const struct ci_sdag *x)
{
	for (; x != NULL; x = x->next) {
		sdag_part_structs(o, c, e, x->body);
		sdag_part_structs(o, c, e, x->other);
		if (!sdag_has_parts(x))
			continue;
		if (x->kind == CI_SDAG_FORALL) {
			sdag_run_struct(o, c, e, sdag_part_suffix(o->ci, c, e, x, NULL), x->body, x, true);
			continue;
		}
		for (const struct ci_sdag *part = x->body; part != NULL; part = part->next)
			sdag_run_struct(o, c, e, sdag_part_suffix(o->ci, c, e, NULL, part), sdag_alone(o->ci, part), NULL, true);
	}
}
