/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print.c: CkPrintf and CkError. Each PE collects text until a line is complete, and writes whole
 * lines in one write under the node's lock, so lines of two PEs never mix. ckrun does the same
 * between nodes.
 */
#include "print.h"
#include "../../machine/base/cmi_alloc.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "objects/state.h"

struct line_buffer {
	char *text;
	size_t len, cap;
};

struct print_pe {
	struct line_buffer out, err;
};

/* NULL in initnode functions: no PE has started yet. */
static struct print_pe *print_of(const struct pe *pe)
{
	return ck_of(pe) ? ck_state(pe, PART_PRINT) : NULL;
}

/* The lock allows one write at a time per node. */
static pthread_mutex_t *lock_of(const struct node *node)
{
	return ck_node_state(node, PART_PRINT);
}

static void print_write(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return; /* the output is closed: not the program's fault */
		text += n;
		len -= (size_t)n;
	}
}

static void write_lines(struct pe *pe, struct line_buffer *b, int fd, size_t len)
{
	if (!len)
		return;
	pthread_mutex_lock(lock_of(pe->node));
	print_write(fd, b->text, len);
	pthread_mutex_unlock(lock_of(pe->node));
	b->len -= len;
	memmove(b->text, b->text + len, b->len);
}

static void line_reserve(struct line_buffer *b, size_t more)
{
	if (b->len + more <= b->cap)
		return;
	size_t cap = (b->len + more) * 2;
	b->text = cmi_realloc(b->text, cap, 1, "a line of output");
	b->cap = cap;
}

static void print(struct line_buffer *b, int fd, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

/* Without a buffer, at once. */
static void print(struct line_buffer *b, int fd, const char *fmt, va_list ap)
{
	struct pe *pe = ck_self_early();
	va_list again;

	if (!b) {
		vdprintf(fd, fmt, ap);
		return;
	}
	va_copy(again, ap);
	int len = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (len <= 0)
		return;
	line_reserve(b, (size_t)len + 1);
	vsnprintf(b->text + b->len, (size_t)len + 1, fmt, ap);
	size_t old = b->len;

	b->len += (size_t)len;
	char *nl = memrchr(b->text + old, '\n', (size_t)len);

	if (nl)
		write_lines(pe, b, fd, (size_t)(nl + 1 - b->text));
}

void CkPrintf(const char *fmt, ...)
{
	struct print_pe *p = print_of(ck_self_early());
	va_list ap;

	va_start(ap, fmt);
	print(p ? &p->out : NULL, STDOUT_FILENO, fmt, ap);
	va_end(ap);
}

void CkError(const char *fmt, ...)
{
	struct print_pe *p = print_of(ck_self_early());
	va_list ap;

	va_start(ap, fmt);
	print(p ? &p->err : NULL, STDERR_FILENO, fmt, ap);
	va_end(ap);
}

void print_flush(struct pe *pe)
{
	struct print_pe *p = print_of(pe);

	if (!p)
		return;
	write_lines(pe, &p->out, STDOUT_FILENO, p->out.len);
	write_lines(pe, &p->err, STDERR_FILENO, p->err.len);
}

static int print_node_start(struct node *node)
{
	return -pthread_mutex_init(lock_of(node), NULL);
}

static void print_node_stop(struct node *node)
{
	pthread_mutex_destroy(lock_of(node));
}

static void print_pe_stop(struct pe *pe)
{
	free(print_of(pe)->out.text);
	free(print_of(pe)->err.text);
}

const struct ck_part print_part = {
	.name = "print",
	.number = PART_PRINT,
	.node_bytes = sizeof(pthread_mutex_t),
	.pe_bytes = sizeof(struct print_pe),
	.node_start = print_node_start,
	.node_stop = print_node_stop,
	.pe_stop = print_pe_stop,
};
