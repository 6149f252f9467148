/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_wire.c: messages as they arrive from another process: whether they fit (handlers.c and all shapes), and if
 * so, what their handlers do. An input is
 *
 *	| name of the handler | \n | PE that sends, flags: one byte each | word: 4 bytes | payload |
 *
 * or, with the name "put", a put by active message: | PE | struct cmi_put_head | body |. With FUZZ_RECORD=folder
 * the messages of the program go there as such files, a few of each kind: new seeds, for when what is on the wire has
 * changed.
 */
#include "nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/chare/core/objects/env.h"
#include "../../runtime/scheduler/loop/loop.h"

struct said {
	uint8_t src, flags;
	uint32_t word;
} __attribute__((packed));

/* ---- inputs ------------------------------------------------------------------------------- */

/* Made-up names stand for some handler or other, and now and then for one that does not exist. */
static int handler_of(const struct node *node, const char *name, size_t len)
{
	unsigned other = 0;

	for (int h = 0; h < node->n_handlers; h++)
		if (strlen(node->handlers[h].name) == len && memcmp(node->handlers[h].name, name, len) == 0)
			return h;
	for (size_t i = 0; i < len; i++)
		other += (uint8_t)name[i];
	return (int)(other % (unsigned)(node->n_handlers + 2));
}

static void put_arrived(struct pe *pe, const uint8_t *data, size_t size)
{
	struct cmi_put_head h;
	uint8_t *body;

	if (size < 1 + sizeof h)
		return;
	memcpy(&h, data + 1, sizeof h);
	size -= 1 + sizeof h;
	body = malloc(size + !size); /* of just its size */
	memcpy(body, data + 1 + sizeof h, size);
	pe->node->up.put_arrived(pe, 1 + data[0] % (NODES - 1), &h, body, size);
	free(body);
}

/* A callback to a C function brings its address, and whoever takes the message jumps there: that it
 * is the job's own is all that protects it (CK_WIRE=seal, CK_CHECK). So it is only checked, which
 * ends the process where it is refused. */
static bool would_jump(const struct pe *pe, int handler)
{
	return handler < pe->node->n_handlers && strcmp(pe->node->handlers[handler].name, "ck.call") == 0;
}

static void msg_arrived(struct pe *pe, int handler, const uint8_t *data, size_t size)
{
	struct said said;
	struct cmi_msg *m;

	if (size < sizeof said)
		return;
	memcpy(&said, data, sizeof said);
	data += sizeof said;
	size -= sizeof said;
	m = csd_msg_alloc(pe, sizeof *m + size);
	memcpy(m + 1, data, size);
	m->handler = (uint16_t)handler;
	m->flags = said.flags;
	m->src_pe = 1 + said.src % (NODES - 1);
	m->word = said.word;
	if (handler < pe->node->n_handlers)
		arrival_seal(pe, m); /* as its sender would, or nothing of it would be looked at */
	if (would_jump(pe, handler)) {
		/* As marked_arrived does, whose check of a priority comes before all others. */
		if ((m->flags & CMI_F_WIDE) && !csd_wide_fits(m))
			csd_misfit(pe, m, "it has a priority that does not lie within it");
		csd_check(pe, m);
		csd_msg_free(pe, m);
	} else {
		client_arrived(pe, m);
	}
}

void fuzz_input(struct pe *pe, const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, '\n', size);
	const size_t len = end ? (size_t)(end - data) : 0;

	if (!end)
		return;
	if (len == 3 && memcmp(data, "put", 3) == 0)
		put_arrived(pe, end + 1, size - len - 1);
	else
		msg_arrived(pe, handler_of(pe->node, (const char *)data, len), end + 1, size - len - 1);
}

/* ---- seeds --------------------------------------------------------------------------------- */

/* Of each kind as many messages as have a size of their own, FEW at most. */
static int of_kind(const struct cmi_msg *m)
{
	const struct ck_env *env = (const struct ck_env *)m;

	return m->size < sizeof *env ? 0 : env->entry | (int)(env->coll & 7) << 16;
}

static bool is_wanted(const struct cmi_msg *m)
{
	enum { FEW = 2, MOST = 4096 };
	static struct { int handler, kind, n; uint64_t size; } seen[MOST];
	static int n_seen;
	int i = 0;

	while (i < n_seen && (seen[i].handler != m->handler || seen[i].kind != of_kind(m)))
		i++;
	if (i == MOST || seen[i].n == FEW || (i < n_seen && seen[i].size == m->size))
		return false;
	n_seen += i == n_seen;
	seen[i].handler = m->handler;
	seen[i].kind = of_kind(m);
	seen[i].size = m->size;
	seen[i].n++;
	return true;
}

void fuzz_arrived(struct pe *pe, const struct cmi_msg *m)
{
	const char *folder = getenv("FUZZ_RECORD"), *name = pe->node->handlers[m->handler].name;
	const struct said said = { (uint8_t)(m->src_pe - 1), m->flags, m->word };
	static int n;
	char path[512];
	FILE *f;

	if (!folder || m->size > 1024 || !is_wanted(m))
		return;
	snprintf(path, sizeof path, "%s/%s-%03d", folder, name, n++);
	f = fopen(path, "wb");
	if (!f || fprintf(f, "%s\n", name) < 0 || fwrite(&said, sizeof said, 1, f) != 1 ||
	    fwrite(m + 1, 1, m->size - sizeof *m, f) != m->size - sizeof *m || fclose(f))
		abort();
}
