/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf.c: a queue of bytes in one block. Its content moves to the front when the block is full, so a
 * queue that is emptied regularly stays small and never copies.
 */
#include "launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *launch_must_have(void *p, const char *what)
{
	if (p)
		return p;
	fprintf(stderr, "ckrun: no memory for %s; raise its limit (ulimit -v, the container's memory)\n",
		what);
	exit(1);
}

static void buf_make_room(struct launch_buf *b, size_t n)
{
	if (b->head > 0 && b->len > 0)
		memmove(b->data, b->data + b->head, b->len);
	b->head = 0;
	if (b->cap - b->len >= n)
		return;
	size_t cap = b->cap ? b->cap : 4096;
	while (cap - b->len < n)
		cap *= 2;
	b->data = launch_must_have(realloc(b->data, cap), "messages of the nodes");
	b->cap = cap;
}

char *launch_buf_room(struct launch_buf *b, size_t n)
{
	if (b->cap - b->head - b->len < n)
		buf_make_room(b, n);
	return b->data + b->head + b->len;
}

void launch_buf_append(struct launch_buf *b, const void *data, size_t n)
{
	if (n == 0)
		return;
	memcpy(launch_buf_room(b, n), data, n);
	b->len += n;
}

void launch_buf_consume(struct launch_buf *b, size_t n)
{
	b->head += n;
	b->len -= n;
	if (b->len == 0)
		b->head = 0;
}

void launch_buf_fini(struct launch_buf *b)
{
	free(b->data);
	*b = (struct launch_buf){ 0 };
}
