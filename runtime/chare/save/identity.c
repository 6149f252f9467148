/* SPDX-License-Identifier: Apache-2.0 */
/* identity.c: whether a checkpoint is this program's. */
#include "save_int.h"
#include "../../machine/tools/cmi_hash.h"

#include <string.h>

const char *save_program_name(const struct node *node)
{
	const char *path = node->cfg->argc > 0 ? node->cfg->argv[0] : "";
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static uint64_t hash_text(uint64_t h, const char *text)
{
	return cmi_hash(h, text, strlen(text) + 1);
}

/* Elements are bytes of the program's structs; waiting calls name entries by number. */
static uint64_t hash_chare(uint64_t h, const CkGenChare *c)
{
	const uint64_t sizes[] = { c->kind, (uint64_t)c->nd, c->bytes, (uint64_t)c->n_entries,
				   (uint64_t)c->index_bytes, c->pup != NULL };

	h = cmi_hash(hash_text(h, c->name), sizes, sizeof sizes);
	for (int e = 0; e < c->n_entries; e++)
		h = hash_text(h, c->entries[e].name);
	return h;
}

static uint64_t hash_module(uint64_t h, const CkGenModule *m)
{
	for (int i = 0; i < m->n_readonlies; i++) {
		h = hash_text(h, m->readonlies[i].name);
		h = cmi_hash(h, &m->readonlies[i].bytes, sizeof m->readonlies[i].bytes);
	}
	return h;
}

uint64_t save_fingerprint(const struct ck_node *ck)
{
	uint64_t h = CMI_HASH_START;

	for (int i = 0; i < ck->n_chares; i++)
		h = hash_chare(h, ck->chares[i]);
	for (int m = 0; m < ck->n_modules; m++)
		h = hash_module(h, ck->modules[m]);
	return h;
}

int save_most_pes(const struct node *node)
{
	return node->job->n_pes > node->earlier_pes ? node->job->n_pes : node->earlier_pes;
}
