/* SPDX-License-Identifier: Apache-2.0 */
/* lb_read.c: reads statistics that a program has written (CK_LB_DUMP); lb_dump.h has the format. */
#include "lb_read.h"
#include "../runtime/machine/tools/cmi_plain.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { INDEX_MOST = 6, PES_MOST = 1 << 20 };

struct reader {
	FILE *f;
	size_t *line;             /* of the next one */
	char *text, *at;          /* the present line, and what of it is still to be read */
	size_t room;
	char *why;
	size_t len;
};

/* Always -1. The line is the one that was read last. */
__attribute__((format(printf, 2, 3))) static int damaged(struct reader *r, const char *fmt, ...)
{
	int n = snprintf(r->why, r->len, "line %zu: ", *r->line - 1);
	va_list ap;

	va_start(ap, fmt);
	if (n >= 0 && (size_t)n < r->len)
		vsnprintf(r->why + n, r->len - (size_t)n, fmt, ap);
	va_end(ap);
	return -1;
}

/* The next line, which must begin with this word. 1; 0 at the end of the file; -1. */
static int next_line(struct reader *r, const char *word)
{
	size_t n = strlen(word);

	if (getline(&r->text, &r->room, r->f) < 0)
		return ferror(r->f) ? damaged(r, "%s", strerror(errno)) : 0;
	++*r->line;
	r->text[strcspn(r->text, "\r\n")] = '\0';
	r->at = r->text + n;
	if (strncmp(r->text, word, n) != 0 || (*r->at && *r->at != ' '))
		return damaged(r, "\"%.40s\" where \"%s\" is expected", r->text, word);
	return 1;
}

static int need_line(struct reader *r, const char *word)
{
	int is = next_line(r, word);

	return is ? is : (++*r->line, damaged(r, "the file ends where \"%s\" is expected", word));
}

/* Behind one blank, or a comma. */
static bool read_whole(struct reader *r, char behind, long long least, long long most, long long *x)
{
	char *end;

	if (*r->at != behind)
		return false;
	errno = 0;
	*x = strtoll(r->at + 1, &end, 10);
	if (end == r->at + 1 || errno || *x < least || *x > most)
		return false;
	r->at = end;
	return true;
}

static bool read_float(struct reader *r, char behind, double *x)
{
	char *end;

	if (*r->at != behind)
		return false;
	*x = strtod(r->at + 1, &end);
	if (end == r->at + 1)
		return false;
	r->at = end;
	return true;
}

static bool read_word(struct reader *r, const char *word)
{
	size_t n = strlen(word);

	if (*r->at != ' ' || strncmp(r->at + 1, word, n) != 0)
		return false;
	r->at += 1 + n;
	return true;
}

static int read_head(struct reader *r, struct lb_dump *d)
{
	long long step, pes, nodes, n, edges;
	size_t name;

	if (need_line(r, "array") < 0)
		return -1;
	name = *r->at ? strcspn(r->at + 1, " ") : 0;
	if (!name || name >= sizeof d->array)
		return damaged(r, "the array has no name, or a long one");
	memcpy(d->array, r->at + 1, name);
	r->at += 1 + name;
	if (!read_word(r, "step") || !read_whole(r, ' ', 0, INT64_MAX, &step) ||
	    !read_word(r, "tolerance") || !read_float(r, ' ', &d->s.tolerance) || *r->at)
		return damaged(r, "no step and tolerance");
	if (need_line(r, "sizes") < 0)
		return -1;
	if (!read_whole(r, ' ', 1, PES_MOST, &pes) || !read_whole(r, ' ', 1, pes, &nodes) ||
	    !read_whole(r, ' ', 0, INT32_MAX, &n) || !read_whole(r, ' ', 0, INT32_MAX, &edges) || *r->at)
		return damaged(r, "bad sizes");
	d->s.step = (uint64_t)step;
	d->s.n_pes = (int)pes;
	d->s.n_nodes = (int)nodes;
	d->s.n = (size_t)n;
	d->s.n_edges = (size_t)edges;
	return 1;
}

static int read_pe(struct reader *r, const CkLBStats *s, int32_t *node, float *background,
		   float *speed)
{
	long long number;
	double b, v;

	if (need_line(r, "pe") < 0)
		return -1;
	if (!read_whole(r, ' ', 0, s->n_nodes - 1, &number) || !read_float(r, ' ', &b) ||
	    !read_float(r, ' ', &v) || *r->at)
		return damaged(r, "a bad PE");
	*node = (int32_t)number;
	*background = (float)b;
	*speed = (float)v;
	return 1;
}

static bool read_index(struct reader *r, int32_t *index)
{
	long long x;
	char behind = ' ';

	for (int k = 0; k < INDEX_MOST && *r->at == behind; k++, behind = ',') {
		if (!read_whole(r, behind, INT32_MIN, INT32_MAX, &x))
			return false;
		index[k] = (int32_t)x;
	}
	return behind == ',';
}

/* Left out, it is the index. */
static bool read_position(struct reader *r, CkLBElement *e)
{
	bool is_there = *r->at;
	double x;

	for (int k = 0; k < 3; k++) {
		e->position[k] = (float)e->index[k];
		if (!is_there)
			continue;
		if (!read_float(r, k ? ',' : ' ', &x))
			return false;
		e->position[k] = (float)x;
	}
	return !*r->at;
}

static int read_element(struct reader *r, const CkLBStats *s, CkLBElement *e)
{
	long long pe, pinned, bytes;
	double seconds;

	if (need_line(r, "element") < 0)
		return -1;
	if (!read_whole(r, ' ', 0, s->n_pes - 1, &pe) || !read_whole(r, ' ', 0, 1, &pinned) ||
	    !read_float(r, ' ', &seconds) || !read_whole(r, ' ', 0, INT64_MAX, &bytes) ||
	    !read_index(r, e->index) || !read_position(r, e))
		return damaged(r, "a bad element");
	e->pe = (int32_t)pe;
	e->pinned = (uint32_t)pinned;
	e->seconds = (float)seconds;
	e->bytes = (uint64_t)bytes;
	return 1;
}

static int read_edge(struct reader *r, const CkLBStats *s, const CkLBEdge *before, CkLBEdge *e)
{
	long long from, to, messages, bytes, most = (long long)s->n - 1;

	if (need_line(r, "edge") < 0)
		return -1;
	if (!read_whole(r, ' ', 0, most, &from) || !read_whole(r, ' ', 0, most, &to) ||
	    !read_whole(r, ' ', 0, UINT32_MAX, &messages) ||
	    !read_whole(r, ' ', 0, INT64_MAX, &bytes) || *r->at)
		return damaged(r, "a bad edge");
	*e = (CkLBEdge){ (uint32_t)from, (uint32_t)to, (uint32_t)messages, (uint64_t)bytes };
	if (before && (before->from > e->from || (before->from == e->from && before->to >= e->to)))
		return damaged(r, "the edge does not follow the one before");
	return 1;
}

static int read_record(struct reader *r, struct lb_dump *d)
{
	int is = read_head(r, d);

	if (is < 0)
		return is;
	CkLBStats *s = &d->s;
	int32_t *node = calloc((size_t)s->n_pes, sizeof *node);
	float *background = calloc(2 * (size_t)s->n_pes, sizeof *background), *speed;
	CkLBElement *element = calloc(s->n + 1, sizeof *element);
	CkLBEdge *edge = calloc(s->n_edges + 1, sizeof *edge);

	s->node_of = node;
	s->background = background;
	s->element = element;
	s->edge = edge;
	if (!node || !background || !element || !edge)
		return damaged(r, "no memory for so much");
	s->speed = speed = background + s->n_pes;
	for (int p = 0; p < s->n_pes && is > 0; p++)
		is = read_pe(r, s, &node[p], &background[p], &speed[p]);
	for (size_t i = 0; i < s->n && is > 0; i++)
		is = read_element(r, s, &element[i]);
	for (size_t k = 0; k < s->n_edges && is > 0; k++)
		is = read_edge(r, s, k ? &edge[k - 1] : NULL, &edge[k]);
	return is < 0 ? is : need_line(r, "end");
}

int lb_dump_read(FILE *f, size_t *line, struct lb_dump *d, char *why, size_t len)
{
	struct reader r = { .f = f, .line = line, .why = why, .len = len };
	locale_t before = cmi_plain_begin();
	int is = next_line(&r, "chard-lb");

	memset(d, 0, sizeof *d);
	if (is > 0 && strcmp(r.at, " 1") != 0)
		is = damaged(&r, "version%s of statistics; this one reads version 1", r.at);
	if (is > 0)
		is = read_record(&r, d);
	if (is < 0)
		lb_dump_free(d);
	free(r.text);
	cmi_plain_end(before);
	return is;
}

void lb_dump_free(struct lb_dump *d)
{
	free((void *)d->s.node_of);
	free((void *)d->s.background); /* and speed */
	free((void *)d->s.element);
	free((void *)d->s.edge);
	memset(d, 0, sizeof *d);
}
