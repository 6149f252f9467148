/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print.c: CkPrintf and CkError. Each PE collects text until a line is complete; whole lines
 * leave in one write under the node's lock, so lines of two PEs never mix. ckrun does
 * the same between nodes.
 */
#include "ck_int.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return; /* nobody reads: that is not the program's fault */
		text += n;
		len -= (size_t)n;
	}
}

static void write_lines(struct pe *pe, struct line_buffer *b, int fd, size_t len)
{
	if (!len)
		return;
	pthread_mutex_lock(&pe->node->ck->print_lock);
	write_all(fd, b->text, len);
	pthread_mutex_unlock(&pe->node->ck->print_lock);
	b->len -= len;
	memmove(b->text, b->text + len, b->len);
}

static void reserve(struct pe *pe, struct line_buffer *b, size_t more)
{
	if (b->len + more <= b->cap)
		return;
	size_t cap = (b->len + more) * 2;
	char *text = realloc(b->text, cap);

	if (!text)
		csd_abort(pe, "no memory for a line of %zu bytes", b->len + more);
	b->text = text;
	b->cap = cap;
}

static void print(struct line_buffer *b, int fd, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

static void print(struct line_buffer *b, int fd, const char *fmt, va_list ap)
{
	struct pe *pe = ck_self();
	va_list again;

	va_copy(again, ap);
	int len = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (len <= 0)
		return;
	reserve(pe, b, (size_t)len + 1);
	vsnprintf(b->text + b->len, (size_t)len + 1, fmt, ap);
	size_t old = b->len;

	b->len += (size_t)len;
	char *nl = memrchr(b->text + old, '\n', (size_t)len);

	if (nl)
		write_lines(pe, b, fd, (size_t)(nl + 1 - b->text));
}

void CkPrintf(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print(&ck_self()->ck->out, STDOUT_FILENO, fmt, ap);
	va_end(ap);
}

void CkError(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print(&ck_self()->ck->err, STDERR_FILENO, fmt, ap);
	va_end(ap);
}

void print_flush(struct pe *pe)
{
	write_lines(pe, &pe->ck->out, STDOUT_FILENO, pe->ck->out.len);
	write_lines(pe, &pe->ck->err, STDERR_FILENO, pe->ck->err.len);
}

void print_fini(struct pe *pe)
{
	free(pe->ck->out.text);
	free(pe->ck->err.text);
}
