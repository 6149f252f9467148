/* SPDX-License-Identifier: Apache-2.0 */
/*
 * register.c: the program's tables on one node. ckci generates constant tables. This file orders
 * them, checks them, and adds them to the fingerprint that all nodes compare at start, so that two
 * different builds of a program never communicate.
 */
#include "register.h"
#include "../../machine/base/cmi_alloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(CkGenEntry) == 128, "a shift finds an entry");

static void fingerprint_name(struct node *node, const char *name)
{
	csd_fingerprint(node, name, strlen(name) + 1);
}

/* Add everything that must be equal for bytes to mean the same on both ends. */
static void fingerprint_abi(struct node *node)
{
	static const uint16_t sizes[] = { sizeof(int), sizeof(long), sizeof(size_t), sizeof(void *),
		sizeof(long double), sizeof(struct ck_env), sizeof(CkCallback), 0x0102 };

	csd_fingerprint(node, sizes, sizeof sizes);
}

static void fingerprint_chare(struct node *node, const CkGenChare *c)
{
	uint64_t shape[] = { (uint64_t)c->kind, (uint64_t)c->nd, (uint64_t)c->n_entries };

	fingerprint_name(node, c->name);
	csd_fingerprint(node, shape, sizeof shape);
	for (int i = 0; i < c->n_entries; i++) {
		fingerprint_name(node, c->entries[i].name);
		csd_fingerprint(node, &c->entries[i].flags, sizeof c->entries[i].flags);
	}
}

static int add_chare(struct node *node, const CkGenChare *c)
{
	struct ck_node *ck = ck_node_of(node);

	for (int i = 0; i < ck->n_chares; i++) {
		if (strcmp(ck->chares[i]->name, c->name) == 0) {
			fprintf(stderr, "chard: two modules define the chare %s\n", c->name);
			return -EEXIST;
		}
	}
	ck->chares = cmi_realloc(ck->chares, (size_t)ck->n_chares + 1, sizeof(*ck->chares), "chares");
	ck->chares[ck->n_chares++] = c;
	fingerprint_chare(node, c);
	return 0;
}

static bool is_registered(const struct ck_node *ck, const CkGenModule *m)
{
	for (int i = 0; i < ck->n_modules; i++)
		if (ck->modules[i] == m)
			return true;
	return false;
}

static int add_module(struct node *node, const CkGenModule *m)
{
	struct ck_node *ck = ck_node_of(node);
	int err = 0;

	ck->modules = cmi_realloc(ck->modules, (size_t)ck->n_modules + 1, sizeof(*ck->modules), "modules");
	ck->modules[ck->n_modules++] = m;
	fingerprint_name(node, m->name);
	for (int i = 0; i < m->n_chares && !err; i++)
		err = add_chare(node, m->chares[i]);
	for (int i = 0; i < m->n_readonlies; i++) {
		uint64_t bytes = m->readonlies[i].bytes;

		fingerprint_name(node, m->readonlies[i].name);
		csd_fingerprint(node, &bytes, sizeof bytes);
	}
	return err;
}

/** The modules on the path from the main module to this one. */
struct path {
	const CkGenModule *m;
	const struct path *from;
};

static bool on_path(const struct path *p, const CkGenModule *m)
{
	for (; p; p = p->from)
		if (p->m == m)
			return true;
	return false;
}

/* List the modules that a module names, then the module, each once. So a module's functions and
 * main chares can rely on the modules that it names. Modules may name each other. */
static int add_modules(struct node *node, const CkGenModule *m, const struct path *from)
{
	const struct path here = { m, from };
	int err = 0;

	if (is_registered(ck_node_of(node), m) || on_path(from, m))
		return 0;
	for (int i = 0; i < m->n_externs && !err; i++)
		err = add_modules(node, m->externs[i], &here);
	return err ? err : add_module(node, m);
}

int register_program(struct node *node)
{
	struct ck_node *ck = ck_node_of(node);

	fingerprint_abi(node);
	if (!node->program)
		return 0; /* a test of the layers without a program */
	int err = add_modules(node, node->program, NULL);

	for (int m = 0; m < ck->n_modules && !err; m++)
		for (int i = 0; i < ck->modules[m]->n_initnodes; i++)
			ck->modules[m]->initnodes[i]();
	return err;
}

void unregister_program(struct node *node)
{
	free(ck_node_of(node)->modules);
	free(ck_node_of(node)->chares);
}

int chare_number(const struct ck_node *ck, const CkGenChare *type)
{
	for (int i = 0; i < ck->n_chares; i++)
		if (ck->chares[i] == type)
			return i;
	csd_abort(csd_self(), "%s belongs to a module that the main module does not name; add "
		  "'extern module' to its .ci file", type->name);
}

/* The chare that a message from src_pe creates. */
const CkGenChare *chare_by_number(struct pe *pe, int number, CkGenKind kind, int src_pe)
{
	const struct ck_node *ck = ck_node_of(pe->node);

	if (number >= ck->n_chares || ck->chares[number]->kind != kind)
		csd_abort(pe, "message from PE %d creates chare %d: unknown here", src_pe, number);
	return ck->chares[number];
}

void CkRegisterMap(const char *name, CkMapFn fn)
{
	struct node *node = ck_self_early()->node;
	struct ck_node *ck = ck_node_of(node);

	if (map_by_name(ck, name) >= 0)
		csd_abort(NULL, "CkRegisterMap: \"%s\" is registered twice", name);
	if (ck->n_maps == CK_MAX_MAPS)
		csd_abort(NULL, "CkRegisterMap: more than %d maps", CK_MAX_MAPS);
	ck->maps[ck->n_maps++] = (struct ck_map){ name, fn };
	fingerprint_name(node, name);
}

CkMapFn map_by_number(const struct ck_node *ck, int number)
{
	return number ? ck->maps[number - 1].fn : NULL;
}

int map_by_name(const struct ck_node *ck, const char *name)
{
	for (int i = 0; i < ck->n_maps; i++)
		if (strcmp(ck->maps[i].name, name) == 0)
			return i + 1;
	return -1;
}
