/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collide.c: finds declarations that would make the same C name.
 *
 * Generated names are the chare's name with a prefix or suffix, and a user may have chosen the same
 * name for something else: an entry method `at`, an entry `x_all` beside `x`, a chare `Cell_go` beside
 * `Cell` with an entry `go`. The check lists all names with their owners and sorts them. Equal
 * neighbours of different owners are an error, reported once per owner. tests/ci/entry_names.py tries
 * every name that the generated headers have as the name of an entry method.
 */
#include "check_int.h"
#include "gen.h"

#include <stdlib.h>
#include <string.h>

enum how {
	GENERATED,                  /* ckci makes the name */
	WRITTEN,                    /* the user wrote it: a variable or a function */
	WRITTEN_TYPE,               /* the user wrote it: a chare or a message, which is a type in C */
};

struct made {
	const char *name;
	const struct ci_tok *tok;   /* the owner's token; equal names are sorted by its place in the file */
	const char *owner;          /* "entry method 'go' of 'Cell'" */
	const char *meaning;        /* "calls 'go' of all elements", or NULL */
	enum how how;
	bool quiet;                 /* reported only where the owner has no other name to report */
};

struct made_list {
	struct ci *ci;
	struct made *v;
	size_t n, room;
};

static void add(struct made_list *l, struct made made)
{
	if (l->n == l->room) {
		size_t room = l->room != 0 ? 2 * l->room : 256;
		struct made *v = ci_alloc(l->ci, room * sizeof *v);

		if (l->n != 0)
			memcpy(v, l->v, l->n * sizeof *v);
		l->v = v;
		l->room = room;
	}
	l->v[l->n++] = made;
}

enum {
	MAIN = 1 << CI_MAINCHARE,
	CHARE = 1 << CI_CHARE,
	ARRAY = 1 << CI_ARRAY,
	GROUPS = 1 << CI_GROUP | 1 << CI_NODEGROUP,
	COLLECTION = ARRAY | GROUPS,
	ANY = MAIN | CHARE | COLLECTION,
};

/* What an entry method has. */
enum {
	HANDLER = 1, SEND = 2, SYNC = 4, CALL = 8, CALLBACK = 16, POSTED = 32, IDLE = 64, ARRIVAL = 128,
	PREPARED = 256, COUNTED = 512, SINGLE = 1024, SET = 2048,
};

static unsigned parts_of(const struct ci_chare *c, const struct ci_entry *e)
{
	return HANDLER | (gen_has_stub(e) ? SEND : 0u) | (gen_is_target(e) ? CALLBACK : 0u) |
	       (e->attrs & CI_SYNC ? SYNC : e->attrs & CI_ARRIVAL ? 0u : CALL) | (gen_count_posted(e) != 0 ? POSTED : 0u) |
	       (e->attrs & CI_WHENIDLE ? IDLE : 0u) | (e->attrs & CI_ARRIVAL ? ARRIVAL : 0u) |
	       (gen_prepares(c, e) ? PREPARED : 0u) | (gen_has_call_struct(e) ? COUNTED : 0u) |
	       (gen_is_set(e) ? SET : e->attrs & CI_ARRIVAL ? SINGLE : 0u);
}

/* The names of the handler, the stubs and the callbacks. */
static void add_entry(struct made_list *l, const struct ci_chare *c, const struct ci_entry *e)
{
	static const struct { const char *infix, *suffix; unsigned kinds, parts; const char *does; }
	forms[] = {
		{"_on_", "", ANY, HANDLER, "is the handler of '%s'"},
		{"_on_", "_post", ANY, POSTED, "says where the arrays of '%s' go"},
		{"_", "_sync", ANY, SYNC, "calls '%s' and waits"},
		{"_", "_whenIdle", ANY, IDLE, "has '%s' called when the PE is idle"},
		{"_", "_from", ANY, ARRIVAL, "makes a receiving end of '%s'"},
		{"_", "_from_oob", ANY, ARRIVAL, "makes a receiving end of '%s'"},
		{"_", "_from_device", ANY, ARRIVAL, "makes a receiving end of '%s'"},
		{"_", "_to", ANY, ARRIVAL, "makes a sending end of '%s'"},
		{"_", "_to_strided", ANY, ARRIVAL, "makes a sending end of '%s'"},
		{"_", "_to_device", ANY, ARRIVAL, "makes a sending end of '%s'"},
		{"_", "_reduced", ANY, SINGLE, "makes the receiving ends of several channels of '%s'"},
		{"_", "_ready", ANY, SET, "makes the channels of '%s' ready"},
		{"_", "", ANY, CALL, "calls '%s'"},
		{"_", "_prepare", ARRAY, PREPARED, "prepares a call of '%s'"},
		{"_", "_call", ANY, COUNTED, "has the parameters of a call of '%s'"},
		{"_", "_opt", ANY, SEND, "calls '%s' with options"},
		{"_", "_all", COLLECTION, SEND, "calls '%s' of all elements"},
		{"_", "_all_opt", COLLECTION, SEND, "calls '%s' of all elements with options"},
		{"_", "_section", COLLECTION, SEND, "calls '%s' of a section"},
		{"_", "_section_opt", COLLECTION, SEND, "calls '%s' of a section with options"},
		{"_cb_", "", ANY, CALLBACK, "makes a callback to '%s'"},
		{"_cb_", "_all", COLLECTION, CALLBACK, "makes a callback to '%s' of all elements"},
		{"_cb_", "_section", COLLECTION, CALLBACK, "makes a callback to '%s' of a section"},
	};
	const char *owner = ci_fmt(l->ci, "entry method '%s' of '%s'", e->name, c->name);

	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
		if ((forms[i].kinds & 1u << c->kind) && (forms[i].parts & parts_of(c, e)))
			add(l, (struct made){
				.name = ci_fmt(l->ci, "%s%s%s%s", c->name, forms[i].infix, e->name,
					       forms[i].suffix),
				.tok = e->tok, .owner = owner,
				.meaning = ci_fmt(l->ci, forms[i].does, e->name),
				.quiet = forms[i].parts == CALLBACK});
	}
	/* One of the static functions and structs of X.def.h; the others end the same way. */
	add(l, (struct made){.name = ci_fmt(l->ci, "ck_call_%s_%s", c->name, e->name),
			     .tok = e->tok, .owner = owner, .quiet = true});
}

/* The constructor's names; it has no stub of its own. */
static void add_constructor(struct made_list *l, const struct ci_chare *c, const char *owner)
{
	add(l, (struct made){.name = ci_fmt(l->ci, "%s_on_new", c->name), .tok = c->tok,
			     .owner = owner, .meaning = "is the constructor"});
	add(l, (struct made){.name = ci_fmt(l->ci, "ck_call_%s_new", c->name), .tok = c->tok,
			     .owner = owner, .quiet = true});
}

static void add_chare(struct made_list *l, const struct ci_chare *c)
{
	static const char *const prefixes[] = {
		"CProxy_", "CProxyElement_", "CProxySection_", NULL
	};
	static const struct { const char *suffix; unsigned kinds; const char *does; } own[] = {
		{"_thisProxy", ANY, "is the proxy of 'self'"},
		{"_ckNew", ANY & ~MAIN, "creates it"},
		{"_ckNew_opt", CHARE | ARRAY, "creates it with options"},
		{"_at", COLLECTION, "is the proxy of one element"},
		{"_index", COLLECTION, "is an index for the list of a section"},
		{"_thisIndex", COLLECTION, "is the index of 'self'"},
		{"_thisElement", COLLECTION, "is the proxy of 'self' as an element"},
		{"_ckLocal", COLLECTION, "finds an element on this PE"},
		{"_ckLocalBranch", GROUPS, "is the member of this PE or node"},
		{"_ckSection", COLLECTION, "makes a section"},
		{"_ckSectionOf", COLLECTION, "makes a section of several collections"},
		{"_nextLocal", ARRAY, "iterates over the elements of this PE"},
		{"_insert", ARRAY, "inserts an element"},
		{"_beginInserting", ARRAY, "begins inserting"},
		{"_doneInserting", ARRAY, "ends inserting"},
		{"_ckNewEmpty", ARRAY, "creates an empty array"},
		{"_ckNewEmpty_opt", ARRAY, "creates an empty array with options"},
		{"_ckDestroy", ARRAY, "ends an element"},
	};
	const char *owner = ci_fmt(l->ci, "chare '%s' itself", c->name);
	const struct made proxy = {.tok = c->tok, .owner = owner, .meaning = "is a proxy's type"};

	add(l, (struct made){.name = c->name, .tok = c->tok, .owner = owner, .how = WRITTEN_TYPE});
	for (const char *const *s = prefixes; *s != NULL; s++) {
		struct made made = proxy;

		made.name = ci_fmt(l->ci, "%s%s", *s, c->name);
		add(l, made);
	}
	for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
		if (own[i].kinds & 1u << c->kind)
			add(l, (struct made){.name = ci_fmt(l->ci, "%s%s", c->name, own[i].suffix),
					     .tok = c->tok, .owner = owner, .meaning = own[i].does});
	}
	add_constructor(l, c, owner);
	for (const struct ci_entry *e = c->entries; e != NULL; e = e->next) {
		if (!e->bad)
			add_entry(l, c, e);
	}
}

static void add_message(struct made_list *l, const struct ci_message *x)
{
	static const struct { const char *suffix; bool plain, packed; const char *does; } own[] = {
		{"_alloc", true, true, "makes a message"},
		{"_sendToFuture", true, true, "sends the message to a future"},
		{"_waitFuture", true, true, "waits for a message of this type"},
		{"_sendToCallback", true, true, "sends the message to a callback"},
		{"_pup", true, true, "packs a message that an element keeps"},
		{"_toMessage", true, false, "converts it to a CkMessage"},
		{"_fromMessage", true, false, "converts a CkMessage to it"},
		{"_pack", false, true, "packs the message"},
		{"_unpack", false, true, "unpacks the message"},
	};
	const char *owner = ci_fmt(l->ci, "message '%s'", x->name);

	add(l, (struct made){.name = x->name, .tok = x->tok, .owner = owner, .how = WRITTEN_TYPE});
	for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
		if (x->packed ? own[i].packed : own[i].plain)
			add(l, (struct made){.name = ci_fmt(l->ci, "%s%s", x->name, own[i].suffix),
					     .tok = x->tok, .owner = owner, .meaning = own[i].does});
	}
}

/* A module before m says `pup T;`. Every module that uses T says it, and all share one T_pup. */
static bool said_before(const struct checker *c, const struct ci_module *m, const char *name)
{
	for (const struct ci_module *b = c->modules; b != m; b = b->next) {
		for (const struct ci_pup *x = b->pups; x != NULL; x = x->next) {
			if (strcmp(x->name, name) == 0)
				return true;
		}
	}
	return false;
}

static bool is_array(const struct ci_pup *x)
{
	return x->chare != NULL && x->chare->kind == CI_ARRAY;
}

static void add_pup(struct made_list *l, const struct ci_pup *x)
{
	struct made made = {
		.name = ci_fmt(l->ci, "%s_pup", x->name), .tok = x->tok,
		.owner = ci_fmt(l->ci, "'pup %s'", x->name),
		.meaning = x->chare == NULL ? "packs the type" :
			is_array(x) ? "packs its elements" : "packs it",
	};

	add(l, made);
	if (x->on_arrived == NULL)
		return;
	made.name = ci_fmt(l->ci, "%s_on_arrived", x->name);
	made.meaning = is_array(x) ? "is called where an element has arrived" :
		"is called after a restart";
	add(l, made);
}

static void add_written(struct made_list *l, const char *what, const struct ci_tok *tok,
			const char *name)
{
	add(l, (struct made){.name = name, .tok = tok, .how = WRITTEN,
			     .owner = ci_fmt(l->ci, "%s '%s'", what, name)});
}

static void add_module(struct made_list *l, const struct checker *c, const struct ci_module *m)
{
	for (const struct ci_field *r = m->readonlies; r != NULL; r = r->next)
		add_written(l, "readonly", r->tok, r->name);
	for (const struct ci_item *f = m->initnodes; f != NULL; f = f->next)
		add_written(l, "initnode", f->tok, f->name);
	for (const struct ci_item *f = m->initprocs; f != NULL; f = f->next)
		add_written(l, "initproc", f->tok, f->name);
	for (const struct ci_pup *x = m->pups; x != NULL; x = x->next) {
		/* `pup M;` of a message has been refused. */
		if (!said_before(c, m, x->name) && check_find_message(c, x->name) == NULL)
			add_pup(l, x);
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
	const char *help = first->meaning == NULL ? "choose another name" :
		ci_fmt(c->ci, "choose another name: %s %s", first->name, first->meaning);

	if (first->how != GENERATED && second->how != GENERATED && c->ci->had_directive)
		return;
	if (first->how != GENERATED && second->how != GENERATED)
		ci_error(c->ci, second->tok->at, "choose another name",
			 "'%s' is declared twice, first on line %d", second->name,
			 first->tok->line);
	else
		ci_error(c->ci, second->tok->at, help,
			 "%s makes the C name %s, and so does %s (line %d)", second->owner,
			 second->name, first->owner, first->tok->line);
}

static void reserved(struct checker *c, const struct made *m, const char *prefix)
{
	if (strncmp(m->name, prefix, strlen(prefix)) != 0)
		return;
	if (m->how == GENERATED)
		ci_error(c->ci, m->tok->at, "choose another name",
			 "%s makes the C name %s, and names that begin with %s belong to the runtime",
			 m->owner, m->name, prefix);
	else
		ci_error(c->ci, m->tok->at, "choose another name",
			 "'%s': names that begin with %s belong to the runtime", m->name, prefix);
}

/* The user may not choose names that the generated code or the runtime's headers use. A chare or message
 * called `main` does no harm: X.def.h defines the function under another name. */
static void check_reserved(struct checker *c, const struct made *m)
{
	static const char *const prefixes[] = {
		"Ck", "CK_", "ck_", "Cmi", "Csd", "Ccd", "CProxy", NULL
	};

	reserved(c, m, "pup_");
	if (m->how == GENERATED)
		return;
	for (const char *const *p = prefixes; *p != NULL; p++)
		reserved(c, m, *p);
	if (m->how == WRITTEN && strcmp(m->name, "main") == 0)
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
					 "module '%s' is declared twice, first on line %d", m->name,
					 x->tok->line);
		}
	}
}

/* Report the equal names of different owners, of which the later one is quiet or not. */
static void report_equal(struct checker *c, const struct made_list *l, bool quiet)
{
	size_t first = 0;       /* the first entry with the current name */

	for (size_t i = 0; i < l->n; i++) {
		if (strcmp(l->v[i].name, l->v[first].name) != 0)
			first = i;
		else if (l->v[i].tok->at != l->v[first].tok->at && l->v[i].quiet == quiet)
			report(c, &l->v[first], &l->v[i]);
	}
}

void check_collisions(struct checker *c)
{
	struct made_list l = {.ci = c->ci};

	for (const struct ci_module *m = c->modules; m != NULL; m = m->next)
		add_module(&l, c, m);
	if (l.n == 0)
		return;
	qsort(l.v, l.n, sizeof l.v[0], by_name);
	for (size_t i = 0; i < l.n; i++)
		check_reserved(c, &l.v[i]);
	report_equal(c, &l, false);
	report_equal(c, &l, true);
}
