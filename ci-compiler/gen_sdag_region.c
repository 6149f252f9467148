/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_sdag_region.c: regions: braces around code that does not wait. A region begins with a
 * variable for each one in scope, set from the run, and ends with storing those that its text
 * names. The notes of a machine are here, too: where it waits, and the contents of its run there.
 */
#include "sdag_int.h"

#include <string.h>

/* ---- places and open things -------------------------------------------------------------------- */

int sdag_new_place(struct machine *m, const struct ci_sdag *x, const struct at *at, int slot, int n,
		   int line)
{
	struct place *p = ci_alloc(m->o->ci, sizeof *p);

	*p = (struct place){.x = x, .slot = slot, .n = n, .line = line, .open = at->open};
	*m->last = p;
	m->last = &p->next;
	return ++m->n_places;
}

/* Note that something lies in the run at `member` from here on: the parameters of a call, or a
 * pointer. */
int sdag_new_open(struct machine *m, int up, int slot, int first, const char *member, const char *bytes,
		  const char *pointers)
{
	struct ci *ci = m->o->ci;
	const char *at = member != NULL ? ci_fmt(ci, "(uint32_t)offsetof(struct ck_run%s, %s)", m->suffix,
						 member) : "0";

	m->opens = ci_fmt(ci, "%sstatic const CkGenOpened ck_open%s_%d = {%s, %d, %d, %s, %s, %s};\n", m->opens,
			  m->suffix, m->n_open, up < 0 ? "NULL" : ci_fmt(ci, "&ck_open%s_%d", m->suffix, up), slot,
			  first, at, bytes, pointers);
	return m->n_open++;
}

/* ---- variables --------------------------------------------------------------------------------- */

static bool hidden(const struct scope *inner, const struct scope *s)
{
	for (; inner != s; inner = inner->up) {
		if (strcmp(inner->name, s->name) == 0)
			return true;
	}
	return false;
}

bool sdag_is_constant(const struct scope *s)
{
	return strncmp(s->type, "const ", 6) == 0 && strchr(s->type, '*') == NULL;
}

static bool text_names(const struct ci_expr *x, const char *name)
{
	for (const struct ci_tok *t = x->from; t != x->to; t++) {
		if (t->kind == TOK_NAME && strcmp(t->s, name) == 0)
			return true;
	}
	return false;
}

static bool statement_names(const struct ci_sdag *x, const char *name);

static bool statements_name(const struct ci_sdag *x, const struct ci_sdag *end, const char *name)
{
	for (; x != end; x = x->next) {
		if (statement_names(x, name))
			return true;
	}
	return false;
}

static bool statement_names(const struct ci_sdag *x, const char *name)
{
	return text_names(&x->text, name) || text_names(&x->high, name) || text_names(&x->step, name) ||
	       statements_name(x->body, NULL, name) || statements_name(x->other, NULL, name);
}

static const char *member_of(const struct machine *m, const struct scope *s)
{
	return s->level == m->level ? ci_fmt(m->o->ci, "ck_r->%s", s->member) :
	       ci_fmt(m->o->ci, "ck_up%d->%s", s->level, s->member);
}

/* Begin a region: declare the variables in scope. Those of the runs around a branch are
 * constant. */
void sdag_region(const struct machine *m, const struct scope *scope, int depth)
{
	PUT("{\n");
	depth++;
	for (const struct scope *s = scope; s != NULL; s = s->up) {
		const char *constant = s->level == m->level || sdag_is_constant(s) ? "" : "const ";

		if (hidden(scope, s))
			continue;
		if (*s->dims != '\0')
			PUT("%s%s%s;\n", s->type, s->name, s->dims);
		else
			PUT("%s%s%s = %s;\n", s->type, constant, s->name, member_of(m, s));
		if (*s->dims != '\0')
			PUT("memcpy(%s, %s, sizeof %s);\n", s->name, member_of(m, s), s->name);
		PUT("(void)%s;\n", s->name);
	}
}

void sdag_store(const struct machine *m, const struct scope *s, int depth)
{
	if (*s->dims != '\0')
		PUT("memcpy(ck_r->%s, %s, sizeof %s);\n", s->member, s->name, s->name);
	else
		PUT("ck_r->%s = %s;\n", s->member, s->name);
}

static bool printed_names(const struct printed *p, const char *name)
{
	for (const struct ci_awaited *a = p->calls; a != NULL; a = a->next) {
		if (text_names(&a->number, name))
			return true;
	}
	if (p->forall != NULL)
		return text_names(&p->forall->text, name) || text_names(&p->forall->high, name) ||
		       text_names(&p->forall->step, name);
	return (p->text != NULL && text_names(p->text, name)) || statements_name(p->from, p->end, name);
}

void sdag_store_changed(const struct machine *m, const struct scope *scope, const struct printed *p, int depth)
{
	for (const struct scope *s = scope; s != NULL; s = s->up) {
		if (s->level == m->level && !sdag_is_constant(s) && !hidden(scope, s) && printed_names(p, s->name))
			sdag_store(m, s, depth);
	}
}

void sdag_region_end(const struct machine *m, const struct scope *scope, const struct printed *p, int depth)
{
	sdag_store_changed(m, scope, p, depth + 1);
	PUT("}\n");
}
