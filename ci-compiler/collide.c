/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collide.c: finds declarations that would make the same C name.
 *
 * Generated names are the chare's name with a prefix or suffix, and a user may have chosen the same
 * name for something else: an entry method `at`, an entry `x_all` beside `x`, a chare `Cell_go` beside
 * `Cell` with an entry `go`. The check lists all names with their owners and sorts them. Equal
 * neighbours of different owners are an error, reported once per owner.
 */
#include "check_int.h"

#include <stdlib.h>
#include <string.h>

struct made {
	const char *name;
	const struct ci_tok *tok;   /* the owner's token; equal names are sorted by its place in the file */
	const char *owner;          /* "entry method 'go' of 'Cell'" */
	bool direct;                /* the user wrote the name itself; it is not generated */
};

struct made_list {
	struct ci *ci;
	struct made *v;
	size_t n, room;
};

static void add(struct made_list *l, const struct ci_tok *tok, const char *owner, bool direct,
		const char *name)
{
	if (l->n == l->room) {
		size_t room = l->room != 0 ? 2 * l->room : 256;
		struct made *v = ci_alloc(l->ci, room * sizeof *v);

		if (l->n != 0)
			memcpy(v, l->v, l->n * sizeof *v);
		l->v = v;
		l->room = room;
	}
	l->v[l->n++] = (struct made){name, tok, owner, direct};
}

enum {
	SINGLE = 1 << CI_MAINCHARE | 1 << CI_CHARE,
	COLLECTION = 1 << CI_ARRAY | 1 << CI_GROUP | 1 << CI_NODEGROUP,
	ANY = SINGLE | COLLECTION,
};

/* The names of the handler, the stubs and the callbacks. */
static void add_entry(struct made_list *l, const struct ci_chare *c, const struct ci_entry *e)
{
	static const struct { const char *infix, *suffix; unsigned kinds; bool sync; } forms[] = {
		{"_on_", "", ANY, true}, {"_", "_sync", ANY, true},
		{"_", "", ANY, false}, {"_", "_opt", ANY, false}, {"_cb_", "", ANY, false},
		{"_", "_all", COLLECTION, false}, {"_", "_all_opt", COLLECTION, false},
		{"_cb_", "_all", COLLECTION, false}, {"_", "_section", COLLECTION, false},
		{"_", "_section_opt", COLLECTION, false}, {"_cb_", "_section", COLLECTION, false},
	};
	const char *owner = ci_fmt(l->ci, "entry method '%s' of '%s'", e->name, c->name);

	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
		bool sync = (e->attrs & CI_SYNC) != 0;

		if (!(forms[i].kinds & 1u << c->kind) || (sync && !forms[i].sync) ||
		    (!sync && i == 1))
			continue;
		add(l, e->tok, owner, false,
		    ci_fmt(l->ci, "%s%s%s%s", c->name, forms[i].infix, e->name,
			   forms[i].suffix));
	}
	if (e->attrs & CI_WHENIDLE)
		add(l, e->tok, owner, false, ci_fmt(l->ci, "%s_%s_whenIdle", c->name, e->name));
}

static void add_chare(struct made_list *l, const struct ci_chare *c)
{
	static const char *const prefixes[] = {
		"CProxy_", "CProxyElement_", "CProxySection_", NULL
	};
	static const struct { const char *suffix; unsigned kinds; } own[] = {
		{"_thisProxy", ANY}, {"_on_new", ANY}, {"_ckNew", ANY}, {"_ckNew_opt", ANY},
		{"_at", COLLECTION}, {"_index", COLLECTION}, {"_thisIndex", COLLECTION},
		{"_thisElement", COLLECTION}, {"_ckLocal", COLLECTION},
		{"_ckLocalBranch", COLLECTION}, {"_ckSection", COLLECTION},
		{"_ckSectionOf", COLLECTION},
		{"_nextLocal", 1 << CI_ARRAY}, {"_insert", 1 << CI_ARRAY},
		{"_beginInserting", 1 << CI_ARRAY}, {"_doneInserting", 1 << CI_ARRAY},
		{"_ckNewEmpty", 1 << CI_ARRAY}, {"_ckNewEmpty_opt", 1 << CI_ARRAY},
		{"_ckDestroy", 1 << CI_ARRAY},
	};
	const char *owner = ci_fmt(l->ci, "chare '%s' itself", c->name);

	add(l, c->tok, owner, true, c->name);
	for (const char *const *s = prefixes; *s != NULL; s++)
		add(l, c->tok, owner, false, ci_fmt(l->ci, "%s%s", *s, c->name));
	for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
		if (own[i].kinds & 1u << c->kind)
			add(l, c->tok, owner, false, ci_fmt(l->ci, "%s%s", c->name, own[i].suffix));
	}
	for (const struct ci_entry *e = c->entries; e != NULL; e = e->next) {
		if (!e->bad)
			add_entry(l, c, e);
	}
}

static void add_message(struct made_list *l, const struct ci_message *x)
{
	static const char *const suffixes[] = {"_alloc", "_sendToFuture", "_waitFuture", "_pack",
					       "_unpack"};
	const char *owner = ci_fmt(l->ci, "message '%s'", x->name);

	add(l, x->tok, owner, true, x->name);
	for (int i = 0; i < (x->own ? 5 : 3); i++)
		add(l, x->tok, owner, false, ci_fmt(l->ci, "%s%s", x->name, suffixes[i]));
}

/* A module before m says `pup T;`. Every module that uses T says it, and all share one T_pup. */
static bool said_before(const struct checker *c, const struct ci_module *m, const char *name)
{
	for (const struct ci_module *b = c->modules; b != m; b = b->next) {
		for (const struct ci_item *x = b->pups; x != NULL; x = x->next) {
			if (strcmp(x->name, name) == 0)
				return true;
		}
	}
	return false;
}

static void add_module(struct made_list *l, const struct checker *c, const struct ci_module *m)
{
	for (const struct ci_field *r = m->readonlies; r != NULL; r = r->next)
		add(l, r->tok, ci_fmt(l->ci, "readonly '%s'", r->name), true, r->name);
	for (const struct ci_item *f = m->initnodes; f != NULL; f = f->next)
		add(l, f->tok, ci_fmt(l->ci, "initnode '%s'", f->name), true, f->name);
	for (const struct ci_item *f = m->initprocs; f != NULL; f = f->next)
		add(l, f->tok, ci_fmt(l->ci, "initproc '%s'", f->name), true, f->name);
	for (const struct ci_item *x = m->pups; x != NULL; x = x->next) {
		if (!said_before(c, m, x->name))
			add(l, x->tok, ci_fmt(l->ci, "'pup %s'", x->name), false,
			    ci_fmt(l->ci, "%s_pup", x->name));
	}
	for (const struct ci_message *x = m->messages; x != NULL; x = x->next)
		add_message(l, x);
	for (const struct ci_chare *y = m->chares; y != NULL; y = y->next)
		add_chare(l, y);
}

static int by_name(const void *a, const void *b)
{
	const struct made *x = a;
	const struct made *y = b;
	int order = strcmp(x->name, y->name);

	return order != 0 ? order : x->tok->at < y->tok->at ? -1 : x->tok->at > y->tok->at;
}

static void report(struct checker *c, const struct made *first, const struct made *second)
{
	if (first->direct && second->direct && c->ci->had_directive)
		return;
	if (first->direct && second->direct)
		ci_error(c->ci, second->tok->at, "choose another name",
			 "'%s' is declared twice, first in line %d", second->name,
			 first->tok->line);
	else
		ci_error(c->ci, second->tok->at, "choose another name",
			 "%s makes the C name %s, and so does %s (line %d)", second->owner,
			 second->name, first->owner, first->tok->line);
}

/* The user may not choose names that the generated code or the runtime's headers use. */
static void check_reserved(struct checker *c, const struct made *m)
{
	static const char *const prefixes[] = {
		"Ck", "CK_", "ck_", "Cmi", "Csd", "Ccd", "CProxy", NULL
	};

	if (!m->direct)
		return;
	for (const char *const *p = prefixes; *p != NULL; p++) {
		if (strncmp(m->name, *p, strlen(*p)) == 0)
			ci_error(c->ci, m->tok->at, "choose another name",
				 "'%s': names that begin with %s belong to the runtime", m->name,
				 *p);
	}
	if (strcmp(m->name, "main") == 0)
		ci_error(c->ci, m->tok->at, "choose another name",
			 "'main' is the program's start, which ckci writes");
	if (ci_is_cpp_keyword(m->name))
		ci_error(c->ci, m->tok->at, "choose another name",
			 "'%s' is a keyword of C++, which may read the generated header too",
			 m->name);
}

void check_modules(struct checker *c)
{
	for (const struct ci_module *m = c->modules; m != NULL && !ci_gave_up(c->ci); m = m->next) {
		for (const struct ci_module *x = c->modules; x != m; x = x->next) {
			if (strcmp(x->name, m->name) == 0)
				ci_error(c->ci, m->tok->at, "choose another name",
					 "module '%s' is declared twice, first in line %d", m->name,
					 x->tok->line);
		}
	}
}

void check_collisions(struct checker *c)
{
	struct made_list l = {.ci = c->ci};
	size_t first = 0;       /* the first entry with the current name */

	for (const struct ci_module *m = c->modules; m != NULL; m = m->next)
		add_module(&l, c, m);
	if (l.n == 0)
		return;
	qsort(l.v, l.n, sizeof l.v[0], by_name);
	for (size_t i = 0; i < l.n; i++) {
		check_reserved(c, &l.v[i]);
		if (strcmp(l.v[i].name, l.v[first].name) != 0)
			first = i;
		else if (l.v[i].tok->at != l.v[first].tok->at)
			report(c, &l.v[first], &l.v[i]);
	}
}
