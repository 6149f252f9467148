/* SPDX-License-Identifier: Apache-2.0 */
/*
 * when.c: checkpoints that nobody asks for: CK_CHECKPOINT=WHERE,EVERY[,keep=N][,zstd]. One is due
 * when so much time has passed since the last one. It is taken at the next moment at which all of
 * the program waits anyway: when a sync or a fence is complete, or before a request for quiescence
 * is answered (settle_waits). A checkpoint that has been asked for holds the program back there,
 * too, so that the job comes to rest.
 */
#include "save_int.h"
#include "../settle/settle.h"
#include "../../machine/base/cmi_alloc.h"
#include "../../machine/base/cmi_env.h"

#include <stdlib.h>
#include <string.h>

/* ---- CK_CHECKPOINT --------------------------------------------------------------------------- */

/* "60s", "500ms", "10m", "1h", "60". Returns 0 if it is none of these. */
static uint64_t read_ns(const char *text)
{
	static const struct { const char *unit; double ns; } units[] = {
		{ "", 1e9 }, { "s", 1e9 }, { "ms", 1e6 }, { "m", 60e9 }, { "h", 3600e9 },
	};
	char *end;
	const double n = strtod(text, &end);

	for (size_t i = 0; end != text && n > 0 && n < 1e9 && i < sizeof units / sizeof *units; i++)
		if (!strcmp(end, units[i].unit))
			return (uint64_t)(n * units[i].ns);
	return 0;
}

static bool read_option(struct save_when *w, const char *text)
{
	if (!strncmp(text, "keep=", 5))
		return (w->keep = (unsigned)strtoul(text + 5, NULL, 10)) > 0;
	if (!strcmp(text, "zstd"))
		return w->zstd = true;
	return (w->every_ns = read_ns(text)) > 0;
}

static bool read_all_options(struct save_when *w, char *text)
{
	char *next = strchr(text, ',');
	bool good = next != NULL && next > text;

	while (good && next) {
		char *option = next + 1;

		*next = 0;
		next = strchr(option, ',');
		if (next)
			*next = 0;
		good = read_option(w, option);
		if (next)
			*next = ',';
	}
	return good && w->every_ns;
}

bool when_set_every(struct save_when *w, const char *text)
{
	const uint64_t ns = read_ns(text);

	if (ns)
		w->every_ns = ns;
	return ns > 0;
}

void when_read(struct node *node)
{
	const char *text = cmi_env_text("CK_CHECKPOINT");
	struct save_when *w = &save_node_of(node)->when;

	w->wait_s = cmi_env_number("CK_CHECKPOINT_WAIT", 10, 1, 1000000);
	w->keep = 2;
	w->exit_dir = cmi_env_text("CK_CHECKPOINT_EXIT");
	if (!text)
		return;
	w->where = cmi_must_have(strdup(text), strlen(text), "CK_CHECKPOINT");
	if (!read_all_options(w, w->where))
		cmi_env_refuse("CK_CHECKPOINT", text,
			       "a directory or \"memory\", and how often: DIR,60s; then perhaps keep=3 or zstd");
	w->last_ns = csd_now_ns();
}

void when_free(struct node *node)
{
	free(save_node_of(node)->when.where);
}

/* ---- at a pause of the program: PE 0 --------------------------------------------------------- */

static bool is_due(struct pe *pe)
{
	const struct save_when *w = &save_node_of(pe->node)->when;

	if (!w->where || csd_now_ns() - w->last_ns < w->every_ns)
		return false;
	if (save_of(pe)->stage == SAVE_STORES)
		disk_is_late(pe);
	return save_of(pe)->stage == SAVE_NONE;
}

/* Not while files are written: the PEs have thawed by then. */
static bool is_under_way(const struct save_pe *s)
{
	return s->stage != SAVE_NONE && s->stage != SAVE_STORES;
}

void when_save_now(struct pe *pe)
{
	struct save_when *w = &save_node_of(pe->node)->when;
	const CkCallback nobody = callback_make(CB_IGNORE);

	w->last_ns = csd_now_ns();
	save_wish(pe, strcmp(w->where, "memory") ? w->where : "", &nobody, (struct save_then){ 0 });
}

/* Requests for quiescence wait for one checkpoint. By the time quiescence is detected again, the
 * next one may be due; with CK_CHECKPOINT=memory,1ms it always is, and the requests would wait for
 * ever. */
static bool quiescence_waits(struct pe *pe)
{
	struct save_pe *s = save_of(pe);

	if (!s->quiescence_waited && is_due(pe))
		when_save_now(pe);
	return s->quiescence_waited = is_under_way(s);
}

bool when_waits(struct pe *pe, const CkCallback *then)
{
	struct save_pe *s = save_of(pe);

	if (!then)
		return quiescence_waits(pe);
	if (is_due(pe))
		when_save_now(pe);
	if (!is_under_way(s))
		return false;
	CMI_ONE_MORE(s->thens, s->n_thens, s->thens_room, "a checkpoint");
	s->thens[s->n_thens++] = *then;
	return true;
}

void when_thawed(struct pe *pe)
{
	struct save_pe *s = save_of(pe);

	for (size_t i = 0; i < s->n_thens; i++)
		callback_fire(pe, &s->thens[i], CK_NOTYPE, NULL, 0, 0);
	s->n_thens = 0;
}
