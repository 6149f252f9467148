/* SPDX-License-Identifier: Apache-2.0 */
/* tell.c: see tell.h. */
#include "tell.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "../../machine/base/cmi_alloc.h"
#include "../../machine/tools/clock.h"

enum {
	TEXT_MOST = 1024,
	/* Records; further lines are only counted. */
	LINES_OF_PART = 16, ASKED_OF_PART = 100,
	LINES_OF_PE = 60, ASKED_OF_PE = 500,
};

/* ---- writing -------------------------------------------------------------------------------- */

struct csd_thing csd_named(const struct csd_key *key, const char *fmt, ...)
{
	struct csd_thing t = { .key = { 0 } };
	va_list ap;

	if (key)
		t.key = *key;
	va_start(ap, fmt);
	vsnprintf(t.name, sizeof t.name, fmt, ap);
	va_end(ap);
	return t;
}

struct csd_plural csd_plural(uint64_t n, const char *one, const char *many)
{
	struct csd_plural c;

	snprintf(c.text, sizeof c.text, "%" PRIu64 " %s", n, n == 1 ? one : many);
	return c;
}

/* Whether the PE and its part may add another record. */
static bool has_room(struct csd_told *to, bool is_line)
{
	if (!is_line)
		return to->n_asked_of_part++ < ASKED_OF_PART && to->n_asked++ < ASKED_OF_PE;
	if (to->n_lines_of_part++ >= LINES_OF_PART)
		return false;
	to->n_cut += to->n_lines >= LINES_OF_PE;
	return to->n_lines++ < LINES_OF_PE;
}

static void add_record(struct csd_told *to, const struct csd_wait *w, const char *text)
{
	const size_t names = strlen(w->who.name) + strlen(w->on.name) + strlen(text) + 3;
	const size_t bytes = (sizeof(struct csd_record) + names + 7) & ~(size_t)7;
	struct csd_record *r;

	if (to->bytes + bytes > to->room) {
		to->room = 2 * (to->bytes + bytes);
		to->at = cmi_realloc(to->at, to->room, 1, "the watchdog's report");
	}
	r = memset(to->at + to->bytes, 0, bytes);
	to->bytes += bytes;
	r->bytes = (uint32_t)bytes;
	r->how = w->how;
	r->for_ns = w->since_ns ? machine_now_ns() - w->since_ns + 1 : 0;
	r->who = w->who.key;
	r->on = w->on.key;
	strcpy(stpcpy(stpcpy(r->names, w->who.name) + 1, w->on.name) + 1, text);
}

void csd_tell(struct csd_told *to, const struct csd_wait *w, const char *fmt, ...)
{
	static const struct csd_wait nobody;
	char text[TEXT_MOST];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	w = w ? w : &nobody;
	if (has_room(to, w->how == CSD_WAITS && text[0]))
		add_record(to, w, text);
}

void csd_tell_part(struct csd_told *to)
{
	const int n = to->n_lines_of_part - LINES_OF_PART;

	to->n_lines_of_part = to->n_asked_of_part = 0;
	if (n > 0)
		csd_tell(to, NULL, "and %d more like these", n);
	to->n_lines_of_part = 0;
}

void csd_tell_end(struct csd_told *to)
{
	csd_tell_part(to);
	if (to->n_cut)
		add_record(to, &(struct csd_wait){ .how = CSD_WAITS },
			   csd_named(NULL, "and %s", csd_plural((uint64_t)to->n_cut, "more line",
								"more lines").text).name);
}

/* ---- reading -------------------------------------------------------------------------------- */

static bool record_fits(const struct csd_record *r, size_t bytes)
{
	if (bytes < sizeof *r || r->bytes < sizeof *r || r->bytes > bytes || r->bytes % 8)
		return false;
	const char *at = r->names, *const end = (const char *)r + r->bytes;

	for (int i = 0; i < 3; i++) {
		at = memchr(at, 0, (size_t)(end - at));
		if (!at)
			return false;
		at++;
	}
	return r->how <= CSD_MAY_WAIT;
}

bool csd_told_fits(const struct csd_told *told)
{
	for (const struct csd_record *r = NULL; (r = csd_told_next(told, r));)
		if (!record_fits(r, told->bytes - (size_t)((const char *)r - told->at)))
			return false;
	return true;
}

const char *csd_record_on(const struct csd_record *r)
{
	return r->names + strlen(r->names) + 1;
}

const char *csd_record_text(const struct csd_record *r)
{
	return csd_record_on(r) + strlen(csd_record_on(r)) + 1;
}

void csd_record_print(FILE *out, const struct csd_record *r)
{
	const char *who = r->names, *text = csd_record_text(r);

	fprintf(out, "%s%s%s", who, who[0] && !strchr(",:", text[0]) ? " " : "", text);
	if (r->for_ns)
		fprintf(out, " for at least %.3f s", (double)r->for_ns / 1e9);
	fputc('\n', out);
}
