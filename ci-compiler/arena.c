/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.c: memory that ckci allocates in pieces and frees all at once.
 *
 * ckci runs briefly over one small file; tracking an owner for every list node would take more
 * code than the compiler itself.
 */
#include "ci.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 64 * 1024 };   /* a usual .ci file needs one */

struct ci_chunk {
	struct ci_chunk *next;
	size_t used, size;
	_Alignas(16) char data[];
};

static struct ci_chunk *chunk_create(size_t bytes)
{
	size_t size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
	struct ci_chunk *c = calloc(1, sizeof *c + size);

	if (c == NULL) {
		fprintf(stderr, "ckci: no memory for %zu bytes; raise its limit (ulimit -v)\n", size);
		exit(1);
	}
	c->size = size;
	return c;
}

void *ci_alloc(struct ci *ci, size_t bytes)
{
	size_t need = (bytes + 15) & ~(size_t)15;
	struct ci_chunk *c = ci->chunks;
	void *p;

	if (c == NULL || c->size - c->used < need) {
		c = chunk_create(need);
		c->next = ci->chunks;
		ci->chunks = c;
	}
	p = c->data + c->used;
	c->used += need;
	return p;
}

char *ci_dup(struct ci *ci, const char *s, size_t len)
{
	char *d = ci_alloc(ci, len + 1);

	memcpy(d, s, len);
	return d;
}

char *ci_fmt(struct ci *ci, const char *fmt, ...)
{
	va_list ap;
	char *s;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	s = ci_alloc(ci, (size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(s, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return s;
}

void ci_free_all(struct ci *ci)
{
	while (ci->chunks != NULL) {
		struct ci_chunk *c = ci->chunks;

		ci->chunks = c->next;
		free(c);
	}
}
