/* SPDX-License-Identifier: Apache-2.0 */
/* describe.c: see describe.h. */
#include "describe.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "objects/index.h"
#include "message.h"

/* ---- calls on threads that are no PE --------------------------------------------------------- */

/* Generated code calls CkGen_f; the program has called X_f. */
void ck_no_pe(const char *function)
{
	char name[64];

	if (islower((unsigned char)function[0]) && strchr(function, '_'))
		csd_no_pe("a Ck function"); /* an internal function that several of them call */
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
	switch (type->kind) {
	case CKGEN_MAINCHARE:
		snprintf(buf, len, "%s", type->name);
		break;
	case CKGEN_ARRAY:
		index_describe(type, index, buf, len);
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

/* ---- things that reports name --------------------------------------------------------------- */

struct csd_thing element_thing(const CkGenChare *type, uint64_t coll, CkIndex index)
{
	/* For a chare outside collections the index is enough. */
	struct csd_key key = { .kind = THING_ELEMENT, .id = type->kind == CKGEN_CHARE ? 0 : coll };
	char name[256];

	memcpy(key.at, &index, sizeof index);
	return csd_named(&key, "%s", element_describe(type, index, name, sizeof name));
}

struct csd_thing coll_thing(const struct collection *c)
{
	static const char *const kinds[] = {
		[CKGEN_MAINCHARE] = "mainchare", [CKGEN_ARRAY] = "array", [CKGEN_GROUP] = "group",
		[CKGEN_CHARE] = "chare", [CKGEN_NODEGROUP] = "nodegroup",
	};
	const char *kind = c->type ? kinds[c->type->kind] : "a collection";
	const char *name = c->type ? c->type->name : "that is not known here";

	if (!c->id)
		return csd_named(NULL, "%s %s", kind, name);
	return csd_named(NULL, "%s %s (%u of PE %d)", kind, name, (unsigned)c->id, (int)(c->id >> 32));
}

struct csd_thing entry_thing(const CkGenChare *type, uint32_t entry)
{
	char name[128];

	return csd_named(NULL, "%s", describe_entry(type, (int)entry, name, sizeof name));
}

/* The state of a thread begins with a struct ck_running (wait/threaded.c). */
static struct csd_thing running_thing(const uint64_t words[CSD_RUNNING_WORDS])
{
	struct ck_running now;
	struct csd_thing of;

	memcpy(&now, words, sizeof now);
	if (!now.obj)
		return csd_named(NULL, "a thread");
	of = obj_thing(now.obj);
	return csd_named(&of.key, "thread of %s in %s", of.name,
			 entry_thing(now.obj->coll->type, now.entry).name);
}

struct csd_thing thread_thing(CthThread t)
{
	return running_thing(csd_thread_tell(t));
}

/* ---- waits for all elements ------------------------------------------------------------------ */

enum { NAMES_MOST = 5 };          /* in a row */

void missing_add(struct missing *m, struct csd_thing element, bool away)
{
	if (!m->n)
		m->first = element;
	if (m->n++ < NAMES_MOST && m->len < sizeof m->names)
		m->len += (size_t)snprintf(m->names + m->len, sizeof m->names - m->len, "%s%s%s",
					   m->n > 1 ? ", " : "", element.name, away ? " (away)" : "");
}

void tell_for_all(struct csd_told *to, const struct for_all *w, const struct missing *m)
{
	const struct csd_wait wait = { .who = w->what, .on = m->first,
				       .how = w->is_open ? CSD_WAITS : CSD_IF_ASKED };
	char more[CSD_THING_NAME + 80] = "", rest[48] = "";

	if (w->more)
		snprintf(more, sizeof more, m->n ? "(%s) " : "(%s)", w->more);
	if (m->n > NAMES_MOST)
		snprintf(rest, sizeof rest, " and %" PRIu64 " more", m->n - NAMES_MOST);
	if (m->n)
		csd_tell(to, &wait, "%swaits for %s%s: %s%s", more,
			 csd_plural(m->n, "element here", "elements here").text, w->act, m->names, rest);
	else
		csd_tell(to, &wait, "%s: all elements here have %s; it waits for %s", more, w->done,
			 w->others);
}

/* ---- all parts ------------------------------------------------------------------------------ */

static void silent_thread(void *arg, const uint64_t words[CSD_RUNNING_WORDS], bool begun)
{
	const struct csd_wait w = { .who = running_thing(words) };

	csd_tell(arg, &w, begun ? "is suspended (CthSuspend), and nobody has awakened it" :
				  "was made, and nobody has awakened it");
}

void ck_describe_waits(struct pe *pe, struct csd_told *to)
{
	const struct ck_node *ck = ck_node_of(pe->node);

	for (int i = 0; i < CK_PARTS; i++) {
		csd_tell_part(to);
		if (ck->parts[i] && ck->parts[i]->describe)
			ck->parts[i]->describe(pe, to);
	}
	csd_tell_part(to);
	csd_each_silent_thread(pe, silent_thread, to);
}
