/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.c: keeps lines whole. Each node's stdout and stderr is a stream that passes complete lines
 * to a sink; the sink writes them as fast as its reader takes them.
 *
 * Limits: a line longer than LINE_LIMIT is passed on in pieces. An unfinished last line is passed
 * on when its stream ends; a newline is added only if more output follows. A sink with SINK_LIMIT
 * bytes accepts no more, and its nodes then block in write. So nothing is lost, and nothing grows
 * without bound.
 */
#include "launch.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	SINK_LIMIT = 1 << 20,
	LINE_LIMIT = 1 << 20,
	READ_BYTES = 1 << 16, /* a pipe's usual capacity */
};

bool launch_sink_has_room(const struct launch_sink *s)
{
	return s->out.len < SINK_LIMIT;
}

/* We share the descriptor with the process that started us, so it must stay blocking. But a pipe
 * that polls writable takes PIPE_BUF bytes without blocking; hence the size. */
enum launch_write launch_sink_write(struct launch_sink *s)
{
	size_t n = s->out.len < PIPE_BUF ? s->out.len : PIPE_BUF;
	ssize_t done = write(s->fd, launch_buf_at(&s->out), n);
	if (done >= 0) {
		launch_buf_consume(&s->out, (size_t)done);
		return LAUNCH_WRITE_OK;
	}
	if (errno == EINTR || errno == EAGAIN)
		return LAUNCH_WRITE_OK;
	s->closed = true;
	launch_buf_consume(&s->out, s->out.len);
	return errno == EPIPE ? LAUNCH_WRITE_CLOSED : LAUNCH_WRITE_FAILED;
}

static const char clear_line[] = "\r\033[K";

void launch_sink_no_line(struct launch_sink *s)
{
	if (s->line && !s->closed)
		launch_buf_append(&s->out, clear_line, strlen(clear_line));
	s->line = false;
}

void launch_sink_line(struct launch_sink *s, const char *line, size_t columns)
{
	size_t n = strlen(line);
	if (s->closed || s->out.len || s->open_line)
		return;
	launch_buf_append(&s->out, clear_line, strlen(clear_line));
	launch_buf_append(&s->out, line, n < columns ? n : columns);
	s->line = true;
}

void launch_sink_end_line(struct launch_sink *s)
{
	if (s->open_line && !s->closed)
		launch_buf_append(&s->out, "\n", 1);
	s->open_line = NULL;
}

/** Queue text of `writer`, an address that is only compared. The text is whole lines or one
 * unfinished line. */
static void sink_add(struct launch_sink *s, const void *writer, int tag, const char *text, size_t n)
{
	if (s->closed || n == 0)
		return;
	launch_sink_no_line(s);
	if (s->open_line && s->open_line != writer)
		launch_buf_append(&s->out, "\n", 1);
	if (tag >= 0 && s->open_line != writer) {
		char head[16];
		int len = snprintf(head, sizeof(head), "[%d] ", tag);
		launch_buf_append(&s->out, head, (size_t)len);
	}
	launch_buf_append(&s->out, text, n);
	s->open_line = text[n - 1] == '\n' ? NULL : writer;
}

void launch_sink_say(struct launch_sink *s, const char *text)
{
	sink_add(s, s, -1, text, strlen(text));
}

/** Pass on the first n bytes of the stream's buffer. */
static void stream_pass_on(struct launch_stream *s, size_t n)
{
	const char *text = launch_buf_at(&s->line);
	if (s->tag < 0) {
		sink_add(s->sink, s, -1, text, n);
	} else {
		for (size_t left = n; left > 0;) {
			const char *end = memchr(text, '\n', left);
			size_t len = end ? (size_t)(end - text) + 1 : left;
			sink_add(s->sink, s, s->tag, text, len);
			text += len;
			left -= len;
		}
	}
	launch_buf_consume(&s->line, n);
}

/** Read once. Returns the number of bytes; 0: there are none now, or the stream has ended. */
static size_t read_once(struct launch_stream *s)
{
	char *room = launch_buf_room(&s->line, READ_BYTES);
	ssize_t n = read(s->fd, room, READ_BYTES);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n <= 0) {
		launch_stream_close(s);
		return 0;
	}
	s->line.len += (size_t)n;
	const char *last = memrchr(room, '\n', (size_t)n);
	if (last)
		stream_pass_on(s, (size_t)(last - launch_buf_at(&s->line)) + 1);
	if (s->line.len > LINE_LIMIT)
		stream_pass_on(s, s->line.len);
	return (size_t)n;
}

void launch_stream_read(struct launch_stream *s, size_t limit)
{
	for (size_t got = 0; s->fd >= 0 && got < limit;) {
		size_t n = read_once(s);
		if (n == 0)
			return;
		got += n;
	}
}

void launch_stream_close(struct launch_stream *s)
{
	if (s->fd < 0)
		return;
	stream_pass_on(s, s->line.len);
	launch_buf_fini(&s->line);
	close(s->fd);
	s->fd = -1;
}
