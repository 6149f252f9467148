/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.h: between html.c, which writes the page, and page_data.c, which writes a PE's data into it.
 * The page's page/data.js reads that data.
 */
#ifndef PAGE_H
#define PAGE_H

#include "model.h"

/** The names of a job, in one table: first a name for each kind of span, then entries, handlers and
 * the events of the program. Each PE numbers events itself; here equal names have one number. */
struct page_names {
	size_t n_entries, n_handlers, n_events;
	const char **event;              /* [n_events] */
	unsigned **event_of;             /* [n_pes]: by the PE's own number */
};

void page_names_init(struct page_names *names, const struct job *j);
void page_names_free(struct page_names *names, const struct job *j);
size_t page_names_count(const struct page_names *names);
unsigned page_name_of(const struct page_names *names, const struct pe_trace *p, const struct span *s);

enum { PAGE_DEPTH_MOST = 24 };       /* bars inside so many others are left out */

/** What a page does not show individually. */
struct page_left_out {
	int64_t shorter_ns;              /* bars shorter than that may be drawn as blocks; 0: none are */
	uint64_t bars, blocks;           /* this many bars became this many blocks */
	uint64_t arrows, moments, deep;  /* not in the page */
};

struct page_data {
	const struct job *j;
	const struct page_names *names;
	const uint8_t *sent_depth;       /* [n_messages], of page_sent_depths */
	FILE *f;                         /* NULL: only count */
	uint64_t chars;                  /* that were written, or would have been */
	struct page_left_out out;
};

/** For each message 1 + the depth of the span that sent it, or 0 if there was none. The caller frees it. */
uint8_t *page_sent_depths(const struct job *j);
/** Add what one PE did, as base64. */
void page_data_write(struct page_data *d, const struct pe_trace *p);

#endif
