/* SPDX-License-Identifier: Apache-2.0 */
/* gen_sdag_when.c: `when`, `case`, and an `overlap` of plain branches: the machine waits for
 * calls. */
#include "sdag_int.h"

/* Set the numbers of the calls, which are evaluated once. */
static void numbers(const struct machine *m, const struct ci_sdag *first, bool all, const struct at *at, int depth)
{
	int slot = at->slot;

	for (const struct ci_sdag *x = first; x != NULL; x = all ? x->next : NULL) {
		for (const struct ci_awaited *a = x->calls; a != NULL; a = a->next, slot++) {
			struct ci_awaited only = *a;

			if (!a->by_number)
				continue;
			only.next = NULL;
			sdag_region(m, at->scope, depth);
			PUT("\tck_r->ck_slot[%d].number = (int)(\n", slot);
			sdag_text(m->o, &a->number);
			PUT("\t);\n");
			sdag_region_end(m, at->scope, &(struct printed){.calls = &only}, depth);
		}
	}
}

static bool has_posted(const struct ci_entry *e)
{
	return gen_count_posted(e) != 0;
}

/* Print how the parameters of one call are taken: directly, if the runtime allows. For nocopypost
 * arrays this may have to wait. */
static void take(struct machine *m, const struct ci_awaited *a, const char *in, int slot, bool last,
		 const struct at *at, int depth)
{
	if (!has_posted(a->entry)) {
		const char *plain = last ? "ck_run->plain" :
				    ci_fmt(m->o->ci, "CkGen_plain(&ck_r->ck_slot[%d])", slot);

		PUT("if (%s != NULL)\n", plain);
		PUT("\tck_call_%s_%s(&ck_r->%s, %s);\n", m->c->name, a->entry->name, in, plain);
		PUT("else\n");
		PUT("\tCkGen_take(ck_run, %d, &ck_r->%s);\n", slot, in);
		return;
	}
	const int place = sdag_new_place(m, NULL, at, slot, last ? 1 : 0, a->tok->line);

	ci_put(m->o, "ck_at%d:;\n", place);
	PUT("if (!CkGen_takePosted(ck_run, %d, &ck_r->%s))\n", place, in);
	PUT("\treturn false;\n");
}

static bool any_lends(const struct ci_sdag *when)
{
	for (const struct ci_awaited *a = when->calls; a != NULL; a = a->next) {
		if (gen_count_nocopy(a->entry) != 0 || gen_has_pup(a->entry))
			return true;
	}
	return false;
}

static void done(struct machine *m, const struct ci_sdag *when, int slot, int around, int depth)
{
	const int n = sdag_count_calls(when);

	if (any_lends(when)) {
		PUT("CkGen_doneAll(ck_run, %d, %d, %d);\n", slot, n, around);
		return;
	}
	for (int i = 0; i < n - 1; i++)
		PUT("CkGen_doneOne(ck_run, %d);\n", slot + i);
	PUT("CkGen_done(ck_run, %d, %d);\n", slot + n - 1, around);
}

/* Print the body of one alternative; its calls begin at `slot`. */
static void taken(struct machine *m, const struct ci_sdag *when, int slot, const struct at *at, int depth)
{
	struct ci *ci = m->o->ci;
	const int n = sdag_count_calls(when);
	struct at in = *at;
	int i = 0;

	in.around = slot + n - 1;
	for (const struct ci_awaited *a = when->calls; a != NULL; a = a->next, i++) {
		const struct ci_param *of = a->entry->params;
		const char *member = ci_fmt(ci, "ck_i%d_%d", when->number, i);
		const char *x = ci_fmt(ci, "%s_%s", m->c->name, a->entry->name);

		in.open = sdag_new_open(m, in.open, slot + i, slot, of != NULL ? member : NULL,
					of != NULL ? ci_fmt(ci, "sizeof(struct ck_in_%s)", x) : "0",
					gen_has_pointers(a->entry) ? ci_fmt(ci, "ck_pointers_%s, %d, NULL", x,
									    gen_count_pointers(a->entry)) : "NULL, 0, NULL");
		if (of != NULL)
			take(m, a, member, slot + i, i == n - 1, &in, depth);
		for (const struct ci_param *q = a->params; q != NULL; q = q->next, of = of->next) {
			struct scope *s = ci_alloc(ci, sizeof *s);

			*s = (struct scope){in.scope, gen_param_type(ci, q, true), q->name, "",
					    ci_fmt(ci, "%s.%s", member, of->name), m->level};
			in.scope = s;
		}
	}
	sdag_statements(m, when->body, &in, depth);
	done(m, when, slot, at->around, depth);
}

/* Wait for the calls of x. */
static void wait_for(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth)
{
	const int place = sdag_new_place(m, x, at, at->slot, sdag_count_all_calls(x), x->tok->line);

	PUT("if (!CkGen_wait(ck_run, %d))\n", place);
	PUT("\treturn false;\n");
	ci_put(m->o, "ck_at%d:;\n", place);
}

static void ask(struct machine *m, const struct ci_sdag *first, bool all, int n, const struct at *at, int depth)
{
	numbers(m, first, all, at, depth);
	PUT("CkGen_ask(&ck_r->ck_slot[%d], %d);\n", at->slot, n);
}

void sdag_when(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth)
{
	struct at in = *at;

	ask(m, x, false, sdag_count_calls(x), at, depth);
	wait_for(m, x, at, depth);
	in.slot += sdag_count_calls(x);
	taken(m, x, at->slot, &in, depth);
}

/* Wait for the first alternative whose calls have come, and run its body. */
static void alternatives(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth)
{
	struct at in = *at;
	int i = 0, slot = at->slot;

	wait_for(m, x, at, depth);
	in.slot += sdag_count_all_calls(x);
	for (const struct ci_sdag *w = x->body; w != NULL; w = w->next) {
		if (w->kind != CI_SDAG_WHEN)
			continue;
		PUT("if (ck_run->found != %d)\n", i);
		PUT("\tgoto ck_other%d_%d;\n", x->number, i);
		taken(m, w, slot, &in, depth);
		ci_put(m->o, "ck_other%d_%d:;\n", x->number, i);
		slot += sdag_count_calls(w);
		i++;
	}
}

void sdag_case(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth)
{
	ask(m, x->body, true, sdag_count_all_calls(x), at, depth);
	alternatives(m, x, at, depth);
}

/* Run the branches that do not wait first, then each `when` as its calls arrive. */
void sdag_plain_overlap(struct machine *m, const struct ci_sdag *x, const struct at *at, int depth)
{
	int n = 0;

	for (const struct ci_sdag *part = x->body; part != NULL; part = part->next) {
		if (part->kind == CI_SDAG_WHEN) {
			n++;
			continue;
		}
		sdag_region(m, at->scope, depth);
		sdag_plain_statement(m, part, depth + 1);
		sdag_region_end(m, at->scope, &(struct printed){.from = part, .end = part->next}, depth);
	}
	if (n == 0)
		return;
	ask(m, x->body, true, sdag_count_all_calls(x), at, depth);
	PUT("ck_r->ck_n%d = 0;\n", x->number);
	ci_put(m->o, "ck_top%d:;\n", x->number);
	alternatives(m, x, at, depth);
	PUT("if (++ck_r->ck_n%d < %d)\n", x->number, n);
	PUT("\tgoto ck_top%d;\n", x->number);
}
