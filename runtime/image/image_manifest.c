/* SPDX-License-Identifier: Apache-2.0 */
/* image_manifest.c: a manifest as text, both ways. */
#include "image_manifest.h"
#include "image_sum.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../machine/tools/one_line.h"

enum { FORMAT = 1, NODES_MOST = 1 << 22, SUM_LINE = sizeof "xxh3 0123456789abcdef\n" - 1 };

/* One line for each member, in this order. */
enum kind { TEXT, NUMBER, HEX, SMALL };

static const struct key {
	const char *name;
	enum kind kind;
	size_t at;
} keys[] = {
	{ "chard", TEXT, offsetof(struct image_manifest, version) },
	{ "abi", TEXT, offsetof(struct image_manifest, abi) },
	{ "program", TEXT, offsetof(struct image_manifest, program) },
	{ "fingerprint", HEX, offsetof(struct image_manifest, fingerprint) },
	{ "args", TEXT, offsetof(struct image_manifest, args) },
	{ "job", HEX, offsetof(struct image_manifest, job) },
	{ "sequence", NUMBER, offsetof(struct image_manifest, sequence) },
	{ "epoch", NUMBER, offsetof(struct image_manifest, epoch) },
	{ "time", NUMBER, offsetof(struct image_manifest, time) },
	{ "wall", NUMBER, offsetof(struct image_manifest, wall) },
	{ "pes", SMALL, offsetof(struct image_manifest, n_pes) },
	{ "most_pes", SMALL, offsetof(struct image_manifest, most_pes) },
	{ "nodes", SMALL, offsetof(struct image_manifest, n_nodes) },
};

enum { KEYS = sizeof keys / sizeof *keys };

const char *image_abi(char text[IMAGE_TEXT], size_t index_bytes)
{
	const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

	snprintf(text, IMAGE_TEXT, "%s, long %zu, pointer %zu, index %zu", little ? "little" : "big",
		 sizeof(long), sizeof(void *), index_bytes);
	return text;
}

/* ---- to text ------------------------------------------------------------------------------ */

static void print_key(FILE *f, const struct key *k, const struct image_manifest *m)
{
	const void *p = (const char *)m + k->at;
	char text[IMAGE_TEXT];

	fprintf(f, "%s ", k->name);
	if (k->kind == NUMBER)
		fprintf(f, "%" PRIu64, *(const uint64_t *)p);
	else if (k->kind == HEX)
		fprintf(f, "%016" PRIx64, *(const uint64_t *)p);
	else if (k->kind == SMALL)
		fprintf(f, "%" PRIu32, *(const uint32_t *)p);
	else {
		snprintf(text, sizeof text, "%s", (const char *)p);
		one_line_mask(text);
		fputs(text, f);
	}
	fputc('\n', f);
}

static void print_all(FILE *f, const struct image_manifest *m)
{
	fprintf(f, "format %d\n", FORMAT);
	for (int i = 0; i < KEYS; i++)
		print_key(f, &keys[i], m);
	for (uint32_t i = 0; i < m->n_nodes; i++)
		fprintf(f, "file %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu64 " %016" PRIx64 "\n",
			m->files[i].node, m->files[i].first_pe, m->files[i].n_pes, m->files[i].bytes,
			m->files[i].sum);
}

char *image_manifest_text(const struct image_manifest *m, size_t *bytes)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, bytes);

	if (!f)
		return NULL;
	print_all(f, m);
	if (fflush(f) == 0)
		fprintf(f, "xxh3 %016" PRIx64 "\n", image_sum(text, *bytes));

	const bool bad = ferror(f);

	if (fclose(f) == 0 && !bad)
		return text;
	free(text);
	return NULL;
}

/* ---- from text ---------------------------------------------------------------------------- */

struct lines {
	const char *name;
	char *at;                    /* of a copy that ends in 0 */
	struct image_why *why;
};

/* Its last line is right, so what follows was written so, if not by us. */
static bool sum_fits(const char *name, const char *text, size_t bytes, struct image_why *why)
{
	char line[SUM_LINE + 1];

	if (bytes >= SUM_LINE) {
		snprintf(line, sizeof line, "xxh3 %016" PRIx64 "\n", image_sum(text, bytes - SUM_LINE));
		if (memcmp(line, text + bytes - SUM_LINE, SUM_LINE) == 0)
			return true;
	}
	return image_says(why, "%s is damaged: its sum does not fit", name);
}

static char *next_line(struct lines *l)
{
	char *line = l->at, *end = strchr(line, '\n');

	if (!end)
		return NULL;
	*end = '\0';
	l->at = end + 1;
	return line;
}

static bool parse_number(const char *text, int base, uint64_t most, uint64_t *to)
{
	char *end;

	if (*text < '0' || *text > 'f')
		return false;
	*to = strtoull(text, &end, base);
	return !*end && *to <= most;
}

static bool parse_value(const struct key *k, struct image_manifest *m, const char *value)
{
	void *p = (char *)m + k->at;
	uint64_t n = 0;

	if (k->kind == TEXT) {
		snprintf(p, IMAGE_TEXT, "%s", value);
		one_line_mask(p);
		return true;
	}
	if (!parse_number(value, k->kind == HEX ? 16 : 10, k->kind == SMALL ? UINT32_MAX : UINT64_MAX, &n))
		return false;
	if (k->kind == SMALL)
		*(uint32_t *)p = (uint32_t)n;
	else
		*(uint64_t *)p = n;
	return true;
}

static bool parse_key(struct lines *l, const struct key *k, struct image_manifest *m)
{
	const size_t n = strlen(k->name);
	char *line = next_line(l);

	if (line && strncmp(line, k->name, n) == 0 && line[n] == ' ' && parse_value(k, m, line + n + 1))
		return true;
	return image_says(l->why, "%s: the line \"%s\" is missing, or has no right value", l->name, k->name);
}

static bool parse_format(struct lines *l)
{
	char *line = next_line(l);
	uint64_t n;

	if (!line || strncmp(line, "format ", 7) || !parse_number(line + 7, 10, UINT64_MAX, &n))
		return image_says(l->why, "%s is not the manifest of a checkpoint", l->name);
	return n == FORMAT || image_says(l->why, "%s has format %" PRIu64 "; this is Chard %s, which reads "
					 "format %d", l->name, n, CHARD_VERSION, FORMAT);
}

/* The PEs of a job are numbered node by node. */
static bool parse_file(struct lines *l, struct image_file *f, uint32_t node, uint32_t first_pe)
{
	char *line = next_line(l);
	int n = -1;

	if (line && sscanf(line, "file %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNx64 "%n",
			   &f->node, &f->first_pe, &f->n_pes, &f->bytes, &f->sum, &n) == 5 && n >= 0 &&
	    !line[n] && f->node == node && f->first_pe == first_pe && f->n_pes)
		return true;
	return image_says(l->why, "%s: the line of node %" PRIu32 " is missing, or damaged", l->name, node);
}

static bool parse_files(struct lines *l, struct image_manifest *m)
{
	uint64_t pes = 0;

	if (m->n_nodes == 0 || m->n_nodes > NODES_MOST || m->n_nodes > m->n_pes)
		return image_says(l->why, "%s: %" PRIu32 " nodes and %" PRIu32 " PEs cannot be", l->name,
				  m->n_nodes, m->n_pes);
	m->files = calloc(m->n_nodes, sizeof *m->files);
	if (!m->files)
		return image_says(l->why, "%s: no memory", l->name);
	for (uint32_t i = 0; i < m->n_nodes; i++) {
		if (!parse_file(l, &m->files[i], i, (uint32_t)pes))
			return false;
		pes += m->files[i].n_pes;
	}
	return pes == m->n_pes || image_says(l->why, "%s: the nodes have %" PRIu64 " PEs, the job %" PRIu32,
					     l->name, pes, m->n_pes);
}

static bool parse_all(struct lines *l, struct image_manifest *m)
{
	if (!parse_format(l))
		return false;
	for (int i = 0; i < KEYS; i++)
		if (!parse_key(l, &keys[i], m))
			return false;
	if (!parse_files(l, m))
		return false;
	return strlen(l->at) == SUM_LINE || image_says(l->why, "%s: there are lines too many", l->name);
}

bool image_manifest_parse(struct image_manifest *m, const char *name, const char *text,
			  size_t bytes, struct image_why *why)
{
	*m = (struct image_manifest){ 0 };
	if (!sum_fits(name, text, bytes, why))
		return false;

	char *copy = malloc(bytes + 1);

	if (!copy)
		return image_says(why, "%s: no memory", name);
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';

	const bool ok = parse_all(&(struct lines){ .name = name, .at = copy, .why = why }, m);

	free(copy);
	if (!ok)
		image_manifest_free(m);
	return ok;
}

void image_manifest_free(struct image_manifest *m)
{
	free(m->files);
	m->files = NULL;
}
