/* SPDX-License-Identifier: Apache-2.0 */
/* describe.c: see describe.h. */
#include "describe.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "index.h"
#include "message.h"

enum {
	LINE_BYTES = 512,
	LINES_OF_PART = 12,       /* more of one part are counted only */
	NAMES_MOST = 5,           /* in a row */
};

void say_line(csd_line_fn line, void *arg, const char *fmt, ...)
{
	char text[LINE_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	line(arg, text);
}

/* ---- calls where no PE runs --------------------------------------------------------------------- */

/* What ckci prints calls CkGen_f; the program has called X_f. */
void ck_no_pe(const char *function)
{
	char name[64];

	if (islower((unsigned char)function[0]) && strchr(function, '_'))
		csd_no_pe("a Ck function"); /* one of ours that several of them call */
	if (strncmp(function, "CkGen_", 6) != 0)
		csd_no_pe(function);
	snprintf(name, sizeof name, "X_%s", function + 6);
	csd_no_pe(name);
}

void ck_no_pe_of(const CkGenChare *chare, const char *function)
{
	char name[128];

	snprintf(name, sizeof name, "%s_%s", chare->name, function);
	csd_no_pe(name);
}

void ck_no_pe_calls(const CkGenChare *chare, int entry)
{
	char name[128];

	csd_no_pe(describe_entry(chare, entry, name, sizeof name));
}

/* ---- names ----------------------------------------------------------------------------------- */

static void name_chare(const CkGenChare *type, CkIndex index, char *buf, size_t len)
{
	uint64_t id;

	memcpy(&id, &index, sizeof id);
	snprintf(buf, len, "%s %llu of PE %llu", type->name,
		 (unsigned long long)ck_name_number(id),
		 (unsigned long long)ck_name_creator(id));
}

const char *element_describe(const CkGenChare *type, CkIndex index, char *buf, size_t len)
{
	char at[96];

	switch (type->kind) {
	case CKGEN_MAINCHARE:
		snprintf(buf, len, "%s", type->name);
		break;
	case CKGEN_ARRAY:
		index_describe(type, index, at, sizeof at);
		snprintf(buf, len, "%s%s", type->name, at);
		break;
	case CKGEN_GROUP:
		snprintf(buf, len, "%s of PE %d", type->name, index.v[0]);
		break;
	case CKGEN_CHARE:
		name_chare(type, index, buf, len);
		break;
	case CKGEN_NODEGROUP:
		snprintf(buf, len, "%s of node %d", type->name, index.v[0]);
		break;
	}
	return buf;
}

bool names_next(struct name_list *l)
{
	return l->n++ < NAMES_MOST && l->at < l->len;
}

void names_add(struct name_list *l, const char *name)
{
	l->at += (size_t)snprintf(l->buf + l->at, l->len - l->at, "%s%s", l->n > 1 ? ", " : "", name);
}

uint64_t names_end(struct name_list *l)
{
	if (!l->n)
		l->buf[0] = 0;
	if (l->n > NAMES_MOST && l->at < l->len)
		snprintf(l->buf + l->at, l->len - l->at, " and %llu more", (unsigned long long)(l->n - NAMES_MOST));
	return l->n;
}

const char *coll_describe(const struct collection *c, char *buf, size_t len)
{
	static const char *const kinds[] = {
		[CKGEN_MAINCHARE] = "mainchare", [CKGEN_ARRAY] = "array", [CKGEN_GROUP] = "group",
		[CKGEN_CHARE] = "chare", [CKGEN_NODEGROUP] = "nodegroup",
	};
	int n = snprintf(buf, len, "%s %s", c->type ? kinds[c->type->kind] : "a collection",
			 c->type ? c->type->name : "that is not known here");

	if (c->id && n > 0 && (size_t)n < len)
		snprintf(buf + n, len - (size_t)n, " (%u of PE %d)", (unsigned)(uint32_t)c->id,
			 (int)(c->id >> 32));
	return buf;
}

/* What runs on a thread begins with a struct ck_running (wait/threaded.c). */
static struct ck_running running_of(const uint64_t words[CSD_RUNNING_WORDS])
{
	struct ck_running now;

	memcpy(&now, words, sizeof now);
	return now;
}

static const char *name_thread(const uint64_t words[CSD_RUNNING_WORDS], char *buf, size_t len)
{
	const struct ck_running now = running_of(words);
	char who[128], entry[128];

	if (now.obj)
		snprintf(buf, len, "thread of %s in %s", obj_describe(now.obj, who, sizeof who),
			 describe_entry(now.obj->coll->type, (int)now.entry, entry, sizeof entry));
	else
		snprintf(buf, len, "a thread");
	return buf;
}

const char *thread_describe(CthThread t, char *buf, size_t len)
{
	return name_thread(csd_thread_tell(t), buf, len);
}

void say_waits_for(csd_line_fn line, void *arg, CthThread t, const char *what)
{
	const struct ck_running now = running_of(csd_thread_tell(t));
	char from[128];

	if (now.obj)
		say_line(line, arg, "\1%s\4%llx\t%s", obj_describe(now.obj, from, sizeof from),
			 (unsigned long long)now.obj->coll->id, what);
}

void say_waits(csd_line_fn line, void *arg, CthThread t, const CkGenChare *type, uint64_t coll, CkIndex index)
{
	char name[128], to[160];

	snprintf(to, sizeof to, "%s\4%llx", element_describe(type, index, name, sizeof name), (unsigned long long)coll);
	say_waits_for(line, arg, t, to);
}

/* ---- all parts -------------------------------------------------------------------------------- */

/* Passes on the first lines of a part. */
struct cut {
	csd_line_fn line;
	void *arg;
	int n;
};

static void line_of_part(void *arg, const char *text)
{
	struct cut *c = arg;
	const bool hidden = csd_line_is_hidden(text);

	if (hidden || c->n++ < LINES_OF_PART)
		c->line(c->arg, text);
}

static void silent_thread(void *arg, const uint64_t words[CSD_RUNNING_WORDS], bool begun)
{
	char name[320];

	say_line(line_of_part, arg, "%s %s", name_thread(words, name, sizeof name), begun ?
	    "is suspended (CthSuspend), and nobody has awakened it" : "was made, and nobody has awakened it");
}

static void say_rest(const struct cut *c)
{
	if (c->n > LINES_OF_PART)
		say_line(c->line, c->arg, "and %d more like these", c->n - LINES_OF_PART);
}

void ck_describe_waits(struct pe *pe, csd_line_fn line, void *arg)
{
	const struct ck_node *ck = ck_node_of(pe->node);
	struct cut threads = { line, arg, 0 };

	for (int i = 0; i < CK_PARTS; i++) {
		struct cut c = { line, arg, 0 };

		if (ck->parts[i] && ck->parts[i]->describe)
			ck->parts[i]->describe(pe, line_of_part, &c);
		say_rest(&c);
	}
	csd_each_silent_thread(pe, silent_thread, &threads);
	say_rest(&threads);
}
