/* SPDX-License-Identifier: Apache-2.0 */
/* filters.c: reads CK_WIRE, and compares what the nodes say about it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cmi_alloc.h"
#include "../base/cmi_env.h"
#include "../alive/traffic.h"
#include "../base/say.h"
#include "../start/host_names.h"
#include "frame.h"
#include "filter_int.h"
#include "machine_int.h"
#include "wire_key.h"

static const struct {
	const char *name;
	uint8_t word;
	const struct squeezer *squeezer;
} words[] = {
	{ "seal", WIRE_SEAL, NULL },
	{ "lz4", WIRE_LZ4, &lz4_squeezer },
	{ "zstd", WIRE_ZSTD, &zstd_squeezer },
};

/* One word of the list that begins at `text`; returns what follows it, NULL: it is none. */
static const char *take_word(struct filters *f, const char *text)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		const size_t n = strlen(words[i].name);

		if (strncmp(text, words[i].name, n) || (text[n] && text[n] != ','))
			continue;
		if (f->words & words[i].word || (words[i].squeezer && f->squeezer))
			return NULL;
		f->words |= words[i].word;
		if (words[i].squeezer)
			f->squeezer = words[i].squeezer;
		return text + n + (text[n] == ',' && text[n + 1] != '\0');
	}
	return NULL;
}

static void read_words(struct filters *f, const char *text)
{
	for (const char *at = text; *at;) {
		at = take_word(f, at);
		if (!at)
			cmi_env_refuse(
				"CK_WIRE", text,
				"seal, lz4, zstd, or seal with one of the others (zstd,seal)");
	}
}

static void filters_open(struct cmi *m, bool network)
{
	const char *text = cmi_env_text("CK_WIRE");
	struct filters *f;

	if (!text || !strcmp(text, "none"))
		return;
	f = m->filters = cmi_alloc_zero(1, sizeof *f, "CK_WIRE");
	read_words(f, text);
	if (!(f->words & WIRE_SEAL) && cmi_env_text("CK_WIRE_KEY"))
		cmi_env_refuse("CK_WIRE_KEY", cmi_env_text("CK_WIRE_KEY"),
			       "unset unless CK_WIRE has seal");
	if (!network) {
		if (m->o.verbose && m->job.node == 0)
			machine_say("CK_WIRE has nothing to do: no message leaves the memory of "
				    "one host");
		free(f);
		m->filters = NULL;
		return;
	}
	if (f->squeezer)
		f->squeezer->load();
	if (f->words & WIRE_SEAL) {
		seal_load();
		seal_keys(f->public_key, f->secret_key);
		f->has_file = wire_key_read(f->file_key);
	}
	f->name = cmi_alloc_zero((size_t)m->job.n_nodes, sizeof *f->name, "the job's nodes");
	m->job.filtered = true;
	m->job.sealed = f->words & WIRE_SEAL;
}

static void filters_close(struct cmi *m)
{
	struct filters *f = m->filters;

	if (!f)
		return;
	for (int i = 0; i < m->o.n_pes; i++)
		if (m->wire[i] && m->wire[i]->filter)
			frames_close(m->wire[i]);
	free(f->name);
	if (f->words & WIRE_SEAL)
		seal_wipe(f, sizeof *f);
	free(f);
	m->filters = NULL;
}

static void filters_describe(const struct cmi *m, struct filter_name *name_p)
{
	const struct filters *f = m->filters;

	memset(name_p, 0, sizeof *name_p);
	if (!f)
		return;
	name_p->words = f->words;
	if (!(f->words & WIRE_SEAL))
		return;
	name_p->aes = seal_has_aes();
	name_p->has_file = f->has_file;
	memcpy(name_p->public_key, f->public_key, SEAL_KEY);
	keys_prove(f, f->public_key, m->job.node, name_p->proof);
}

static void filters_learn(struct cmi *m, int node, const struct filter_name *name)
{
	if (m->filters)
		m->filters->name[node] = *name;
}

static bool proves(const struct filters *f, int node)
{
	uint8_t proof[16];

	if (!(f->words & WIRE_SEAL))
		return true;
	keys_prove(f, f->name[node].public_key, node, proof);
	return seal_equal(proof, f->name[node].proof, sizeof proof);
}

/* Why this node cannot work with `node`; NULL: it can. */
static const char *misfit(const struct filters *f, int node)
{
	const struct filter_name *theirs = &f->name[node];

	if (theirs->words != f->words)
		return "has another CK_WIRE: set the same on all nodes";
	if (theirs->has_file != f->has_file)
		return f->has_file
			       ? "has no CK_WIRE_KEY: set it on all nodes"
			       : "has a CK_WIRE_KEY, and this one has none: set it on all nodes";
	if (!proves(f, node))
		return "has another key in CK_WIRE_KEY, or somebody changed its public key on its "
		       "way through the "
		       "launcher: copy the same file to all hosts";
	return NULL;
}

/* Of the nodes that have CK_WIRE, all of which notice a misfit, the first one. */
static bool prints(const struct cmi *m, const struct filters *f)
{
	int node = 0;

	while (!f->name[node].words)
		node++;
	return node == m->job.node;
}

static void say_what(const struct filters *f)
{
	const bool seal = f->words & WIRE_SEAL;

	machine_say("what leaves a host is%s%s%s%s%s%s", f->squeezer ? " squeezed by " : "",
		    f->squeezer ? f->squeezer->name : "", f->squeezer ? " where that pays" : "",
		    f->squeezer && seal ? ", and" : "",
		    !seal    ? ""
		    : f->aes ? " sealed by AES-256-GCM"
			     : " sealed by ChaCha20-Poly1305",
		    f->has_file ? ", with the key of CK_WIRE_KEY" : "");
}

/* The job's key, which signs heartbeats, came through the launcher: with the file's it becomes one
 * that whoever reads there does not have. */
static void strengthen(struct cmi *m, const struct filters *f)
{
	struct cmi_key128 key;

	seal_hash((uint8_t *)&key, sizeof key, &m->key, sizeof m->key, f->file_key);
	m->key = key;
}

static int filters_agree(struct cmi *m)
{
	struct filters *f = m->filters;

	if (!f)
		return 0;
	f->aes = true;
	for (int node = 0; node < m->job.n_nodes; node++) {
		const char *why = misfit(f, node);

		f->aes &= f->name[node].aes;
		if (!why)
			continue;
		if (prints(m, f))
			machine_say("node %d on %s: node %d on %s %s", m->job.node,
				    host_name(m, m->job.node), node, host_name(m, node), why);
		return -EPROTO;
	}
	if (f->has_file)
		strengthen(m, f);
	if (f->words & WIRE_SEAL)
		traffic_open(m);
	for (int i = 0; i < m->o.n_pes; i++)
		m->wire[i]->filter = frames_open(m);
	if (m->o.verbose && m->job.node == 0)
		say_what(f);
	return 0;
}

const struct filters_room filters_room = {
	.open = filters_open,
	.close = filters_close,
	.describe = filters_describe,
	.learn = filters_learn,
	.agree = filters_agree,
	.next = frame_next,
	.encode = frame_encode,
	.decode = frame_decode,
	.refuse = frame_refuse,
	.idle = frame_idle,
	.counts = frame_counts,
};
