/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys.c: the keys of a pair of PEs.
 *
 * The nodes exchange public keys through the launcher. Both nodes of a pair compute the same two
 * session keys, one for each direction (crypto_kx), and from them a key for each two PEs. With
 * CK_WIRE_KEY each of these is a hash under the file's key, so whoever reads and changes what goes
 * through the launcher, but lacks the file, can neither read nor write a frame.
 */
#include <string.h>

#include "../base/die.h"
#include "filter_int.h"
#include "machine_int.h"

/* What the key of one direction is made of, besides the session's key. */
struct direction {
	char what[16];
	int32_t from, to; /* PEs */
	uint32_t stream;
};

static struct seal *direction_open(const struct filters *f, const uint8_t session[SEAL_KEY],
				   int from, int to, unsigned stream)
{
	const struct direction d = { "chard wire 1", from, to, stream };
	uint8_t key[SEAL_KEY];
	struct seal *s;

	seal_hash(key, sizeof key, &d, sizeof d, session);
	if (f->has_file)
		seal_hash(key, sizeof key, key, sizeof key, f->file_key);
	s = seal_open(f->aes, key);
	seal_wipe(key, sizeof key);
	return s;
}

void keys_open(const struct cmi_pe *w, int pe, unsigned stream, struct pair *p)
{
	const struct filters *f = w->m->filters;
	const struct cmi_job *j = &w->m->job;
	const int node = j->node_of[pe];
	uint8_t in[SEAL_KEY], out[SEAL_KEY];

	if (!seal_session(j->node < node, f->public_key, f->secret_key, f->name[node].public_key,
			  in, out))
		machine_die(w->m,
			    "node %d: the public key of node %d is none: it was changed on its way "
			    "through "
			    "the launcher",
			    j->node, node);
	p->in = direction_open(f, in, pe, w->pe, stream);
	p->out = direction_open(f, out, w->pe, pe, stream);
	seal_wipe(in, sizeof in);
	seal_wipe(out, sizeof out);
}

void keys_prove(const struct filters *f, const uint8_t public_key[SEAL_KEY], int node,
		uint8_t proof[16])
{
	struct {
		uint8_t public_key[SEAL_KEY];
		int32_t node;
	} said = { .node = node };

	memset(proof, 0, 16);
	memcpy(said.public_key, public_key, SEAL_KEY);
	if (f->has_file)
		seal_hash(proof, 16, &said, sizeof said, f->file_key);
}
