/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tell.h: records of what waits: who, for what, since when. The scheduler and the layers write them
 * (`describe` of struct csd_layer). They travel to PE 0, which prints a line for each and looks
 * for cycles (watch_text.c).
 */
#ifndef CSD_TELL_H
#define CSD_TELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** What tells a thing from all others of the job. */
struct csd_key {
	uint32_t kind;             /* a letter that no other kind has, in any layer; 0: nothing known */
	int32_t at[3];
	uint64_t id;
};

enum { CSD_THING_NAME = 320 };

/** Something that waits, or that others wait for. Functions return it by value, so that a name can
 * be an argument: csd_tell(to, NULL, "... %s ...", coll_thing(c).name). */
struct csd_thing {
	struct csd_key key;
	char name[CSD_THING_NAME];
};

/** A thing with that name. key NULL: nothing else tells it from others. */
struct csd_thing csd_named(const struct csd_key *key, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

enum csd_how {
	CSD_WAITS,
	/** It counts only if a record that CSD_WAITS, of whatever PE, names the same `who`. */
	CSD_IF_ASKED,
	/** The same; and `who` may wait for `on`: that counts towards a cycle if no other record says
	 * what `who` waits for. */
	CSD_MAY_WAIT,
};

struct csd_wait {
	struct csd_thing who;      /* the line begins with its name */
	struct csd_thing on;       /* its name is for cycles; in a line the text repeats it */
	uint64_t since_ns;         /* csd_now_ns; the line ends " for at least 1.204 s". 0: unknown */
	enum csd_how how;
};

/** What one PE tells. Zero at first; whoever has it frees `at`. */
struct csd_told {
	char *at;                  /* records, one behind the other */
	size_t bytes, room;
	int n_lines, n_asked;      /* of the PE: records that are lines, and others */
	int n_cut;                 /* lines that are left out, which only the last one counts */
	int n_lines_of_part, n_asked_of_part;
};

/** Add a record, unless the PE has told enough. The text goes on from the name of `who`. Without a
 * text it is no line, and only says that `who` waits for `on`. w NULL: only a line. */
void csd_tell(struct csd_told *to, const struct csd_wait *w, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** Another part begins to tell. Of the one before only the first lines are there; say so. */
void csd_tell_part(struct csd_told *to);
/** All parts have told. */
void csd_tell_end(struct csd_told *to);

/** A record as it travels. */
struct csd_record {
	uint32_t bytes;            /* all of it, a multiple of 8 */
	uint32_t how;
	uint64_t for_ns;           /* it has waited for so long at least; 0: unknown */
	struct csd_key who, on;
	char names[];              /* who's, on's, and the text, each with its end */
};

/** The record behind r; the first one for NULL. NULL: there is none. */
static inline const struct csd_record *csd_told_next(const struct csd_told *told,
						     const struct csd_record *r)
{
	const char *at = r ? (const char *)r + r->bytes : told->at;
	const bool any = told->bytes && at < told->at + told->bytes;

	return any ? (const struct csd_record *)(const void *)at : NULL;
}

/** Whether what another process sent, aligned to 8 bytes, is whole records and nothing else. */
bool csd_told_fits(const struct csd_told *told);

/** The name of what it waits for, and the text; "" if it has none. */
const char *csd_record_on(const struct csd_record *r);
const char *csd_record_text(const struct csd_record *r);
/** Print the line of a record that has a text. */
void csd_record_print(FILE *out, const struct csd_record *r);

#endif
