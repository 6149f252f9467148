/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_sdag.c: checks the bodies of entry methods, and the entry methods that their whens name.
 * Such an entry method has the same parameters wherever it is named. It has no handler, so it may
 * not have attributes of handlers.
 */
#include "check_int.h"

#include <string.h>

static void refuse(struct checker *c, struct ci_entry *e, const struct ci_tok *at, const char *help,
		   const char *why)
{
	if (!e->bad)
		ci_error(c->ci, at->at, help, "%s", why);
	e->bad = true;
}

/* ---- attributes ------------------------------------------------------------------------------- */

/* The first of these attributes that the entry has, or NULL. */
static const struct ci_tok *has_any(const struct ci_entry *e, unsigned attrs)
{
	for (int i = 0; i < CI_N_ATTRS; i++) {
		if (e->attrs & attrs & 1u << i)
			return e->attr_at[i];
	}
	return NULL;
}

static void check_body(struct checker *c, const struct ci_chare *chare, struct ci_entry *e)
{
	const unsigned no = CI_SYNC | CI_INLINE | CI_LOCAL | CI_EXCLUSIVE | CI_IMMEDIATE | CI_WHENIDLE |
			    CI_ARRIVAL | CI_COUNT;
	const struct ci_tok *at = has_any(e, no);

	if (chare->kind == CI_NODEGROUP)
		refuse(c, e, e->tok, "write the body in a group; or the handler in C",
		       "a nodegroup's branch serves several PEs at once, so its entry methods "
		       "have no bodies here");
	else if (at != NULL && e->attrs & CI_COUNT)
		refuse(c, e, at, "write the handler in C, and have it call an entry method with a body",
		       ci_fmt(c->ci, "[%s] cannot be combined with a body", at->s));
	else if (at != NULL)
		refuse(c, e, at, "remove it: a body returns to its caller at once, and answers "
		       "through a CkCallback parameter",
		       ci_fmt(c->ci, "[%s] cannot be combined with a body", at->s));
	else if (e->awaited != NULL)
		refuse(c, e, e->awaited, "name an entry method without a body",
		       ci_fmt(c->ci, "'%s' has a body (line %d), so no 'when' can wait for it",
			      e->name, e->tok->line));
}

static void check_awaited(struct checker *c, struct ci_entry *e)
{
	const unsigned no = CI_SYNC | CI_INLINE | CI_LOCAL | CI_EXCLUSIVE | CI_IMMEDIATE |
			    CI_THREADED | CI_STACKSIZE | CI_WHEN | CI_WHENIDLE | CI_ARRIVAL | CI_COUNT;
	const struct ci_tok *at = has_any(e, no);

	if (at != NULL)
		refuse(c, e, at, ci_fmt(c->ci, "remove it: a 'when' (line %d) waits for '%s', which has "
					"no handler", e->awaited->line, e->name),
		       ci_fmt(c->ci, "[%s] cannot be combined with 'when %s(...)'", at->s, e->name));
}

/* ---- one `when` -------------------------------------------------------------------------------- */

static bool same_type(const struct ci_param *p, const struct ci_param *q)
{
	return p->kind == q->kind && p->posted == q->posted && p->type.stars == q->type.stars &&
	       (p->kind == CI_PARAM_STRING || strcmp(p->type.text, q->type.text) == 0);
}

/* Parameter names may differ: the body uses those of the `when`. */
static bool same_params(const struct ci_param *p, const struct ci_param *q)
{
	for (; p != NULL && q != NULL && same_type(p, q); p = p->next)
		q = q->next;
	return p == NULL && q == NULL;
}

/* Check the parameters in a `when` like those of a declaration. */
static void check_call_params(struct checker *c, struct ci_entry *from, struct ci_awaited *a)
{
	struct ci_entry said = {.tok = a->tok, .name = a->entry->name, .params = a->params};

	if (a->params == a->entry->params || a->entry->bad)
		return;
	if (!check_entry_params(c, &said)) {
		from->bad = true;
		return;
	}
	if (!same_params(a->params, a->entry->params))
		refuse(c, from, a->tok, "repeat its parameters as they are declared",
		       ci_fmt(c->ci, "'%s' has other parameters on line %d", a->entry->name,
			      a->entry->tok->line));
}

/* f[n]: messages, reduction results and calls without parameters carry a number; other calls have
 * it as first parameter. */
static void check_number(struct checker *c, struct ci_entry *from, const struct ci_awaited *a)
{
	const struct ci_param *q = a->entry->params;

	if (!a->by_number || a->entry->bad || q == NULL || q->kind >= CI_PARAM_MESSAGE ||
	    (q->kind == CI_PARAM_VALUE && q->type.class_ == CI_INTEGER))
		return;
	refuse(c, from, a->number.from,
	       ci_fmt(c->ci, "make an integer the first parameter, as in '%s(int iter, ...)'",
		      a->entry->name),
	       ci_fmt(c->ci, "'%s' has no number to select by", a->entry->name));
}

/* A body sees the parameters of all calls of its `when`, so their names must differ. */
static void check_names(struct checker *c, struct ci_entry *from, const struct ci_awaited *calls)
{
	for (const struct ci_awaited *a = calls; a != NULL; a = a->next) {
		for (const struct ci_awaited *b = calls; b != a; b = b->next) {
			for (const struct ci_param *q = a->params; q != NULL; q = q->next) {
				const struct ci_entry other = {.params = b->params};

				if (check_find_param(&other, q->name) != NULL)
					refuse(c, from, q->tok, "choose another name here",
					       ci_fmt(c->ci, "two parameters of this 'when' are "
						      "named '%s'", q->name));
			}
		}
	}
}

static void check_statements(struct checker *c, struct ci_entry *from, struct ci_sdag *x)
{
	for (; x != NULL; x = x->next) {
		for (struct ci_awaited *a = x->calls; a != NULL; a = a->next) {
			check_call_params(c, from, a);
			check_number(c, from, a);
		}
		check_names(c, from, x->calls);
		if (x->kind == CI_SDAG_CASE && x->body == NULL)
			refuse(c, from, x->tok, "write 'when f(...) ...' in it",
			       "this case has no alternatives");
		for (const struct ci_local *v = x->locals; v != NULL; v = v->next) {
			if (strcmp(v->name, "self") == 0)
				refuse(c, from, x->tok, "choose another name",
				       "'self' is the chare");
		}
		check_statements(c, from, x->body);
		check_statements(c, from, x->other);
	}
}

void check_sdag(struct checker *c, const struct ci_chare *chare)
{
	for (struct ci_entry *e = chare->entries; e != NULL; e = e->next) {
		if (e->awaited != NULL && e->body == NULL)
			check_awaited(c, e);
	}
	for (struct ci_entry *e = chare->entries; e != NULL; e = e->next) {
		if (e->body == NULL)
			continue;
		check_body(c, chare, e);
		check_statements(c, e, e->body);
	}
}
