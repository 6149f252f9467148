/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tell.h: records of what waits, for what, since when. The scheduler and the layers write them
 * (`describe` of struct csd_layer) and send them to PE 0, which prints a line for each and searches
 * for cycles (watch_text.c).
 */
#ifndef CSD_TELL_H
#define CSD_TELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** Identifies a thing among all of the job. */
struct csd_key {
	uint32_t kind;             /* a letter, unique in all layers; 0: unknown */
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

/** A thing with that name. key NULL: nothing else identifies it. */
struct csd_thing csd_named(const struct csd_key *key, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** "1 call", "3 calls": a number with what is counted, by value as csd_named. */
struct csd_plural {
	char text[96];
};
struct csd_plural csd_plural(uint64_t n, const char *one, const char *many);

enum csd_how {
	CSD_WAITS,
	/** It counts only if a CSD_WAITS record of some PE names the same `who`. */
	CSD_IF_ASKED,
	/** The same; and `who` may wait for `on`: it counts towards a cycle if no other record says what
	 * `who` waits for. */
	CSD_MAY_WAIT,
};

struct csd_wait {
	struct csd_thing who;      /* the line begins with its name */
	struct csd_thing on;       /* its name is for cycles; in a line the text repeats it */
	uint64_t since_ns;         /* csd_now_ns; the line ends " for at least 1.204 s". 0: unknown */
	enum csd_how how;
};

/** The records of one PE. Zero at first; its owner frees `at`. */
struct csd_told {
	char *at;                  /* records, concatenated */
	size_t bytes, room;
	int n_lines, n_asked;      /* of the PE: records that are lines, and others */
	int n_cut;                 /* lines left out, counted in the last line */
	int n_lines_of_part, n_asked_of_part;
};

/** Add a record, unless the PE has written enough. The text continues after the name of `who`.
 * Without a text it is no line, and only says that `who` waits for `on`. w NULL: only a line. */
void csd_tell(struct csd_told *to, const struct csd_wait *w, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** Another part begins to write records. If lines of the previous part were cut, say so. */
void csd_tell_part(struct csd_told *to);
/** All parts have written theirs. */
void csd_tell_end(struct csd_told *to);

/** A record as it is sent. */
struct csd_record {
	uint32_t bytes;            /* all of it, a multiple of 8 */
	uint32_t how;
	uint64_t for_ns;           /* it has waited at least this long; 0: unknown */
	struct csd_key who, on;
	char names[];              /* who's, on's, and the text, each zero-terminated */
};

/** The record after r; NULL: the first one. Returns NULL at the end. */
static inline const struct csd_record *csd_told_next(const struct csd_told *told,
						     const struct csd_record *r)
{
	const char *at = r ? (const char *)r + r->bytes : told->at;
	const bool any = told->bytes && at < told->at + told->bytes;

	return any ? (const struct csd_record *)(const void *)at : NULL;
}

/** Whether received data, aligned to 8 bytes, consists of whole records. */
bool csd_told_fits(const struct csd_told *told);

/** The name of what it waits for, and the text; "" if it has none. */
const char *csd_record_on(const struct csd_record *r);
const char *csd_record_text(const struct csd_record *r);
/** Print the line of a record that has a text. */
void csd_record_print(FILE *out, const struct csd_record *r);

#endif
