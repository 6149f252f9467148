/* SPDX-License-Identifier: Apache-2.0 */
/* diff.c: ckpt diff: which records two checkpoints do not share. Records are compared by their names,
 * whichever PE has written them, so the checkpoints may be of different shapes. */
#include "ckpt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED_MOST = 20 }; /* of each sort */

struct sort {
	const char *what;
	uint64_t n;
};

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* A PE's own numbers are of that PE; everything else may be anywhere. */
static int compare_names(const struct image_name *a, const struct image_name *b)
{
	int c = compare(a->kind, b->kind);

	c = c ? c : compare(a->coll, b->coll);
	for (int i = 0; i < 3 && !c; i++)
		c = (a->index[i] > b->index[i]) - (a->index[i] < b->index[i]);
	c = c ? c : compare(a->flags, b->flags);
	return c || a->kind != IMAGE_COUNTS ? c : compare(a->pe, b->pe);
}

static int by_name(const void *a, const void *b)
{
	const struct image_record *x = *(const struct image_record *const *)a;
	const struct image_record *y = *(const struct image_record *const *)b;

	return compare_names(&x->name, &y->name);
}

static bool is_same(const struct image_record *a, const struct image_record *b)
{
	return a->bytes == b->bytes && memcmp(a + 1, b + 1, a->bytes) == 0;
}

static void say(struct sort *s, const struct image_name *name)
{
	char text[CKPT_NAME_TEXT];

	if (s->n++ < NAMED_MOST)
		printf("%s  %s\n", s->what, image_name_text(text, sizeof text, name));
	else if (s->n == NAMED_MOST + 1)
		printf("%s  and more\n", s->what);
}

static uint64_t compare_all(struct ckpt *a, struct ckpt *b)
{
	struct sort in_a = { .what = "only in A" }, in_b = { .what = "only in B" };
	struct sort differ = { .what = "differs  " };
	size_t i = 0, k = 0;

	while (i < a->n_records || k < b->n_records) {
		const int c = i == a->n_records ? 1 : k == b->n_records ? -1 :
			      compare_names(&a->records[i]->name, &b->records[k]->name);

		if (c < 0)
			say(&in_a, &a->records[i++]->name);
		else if (c > 0)
			say(&in_b, &b->records[k++]->name);
		else if (!is_same(a->records[i++], b->records[k++]))
			say(&differ, &a->records[i - 1]->name);
	}
	printf("%zu records in A, %zu in B: %" PRIu64 " only in A, %" PRIu64 " only in B, %" PRIu64
	       " differ\n", a->n_records, b->n_records, in_a.n, in_b.n, differ.n);
	return in_a.n + in_b.n + differ.n;
}

int ckpt_diff(const char *a, const char *b)
{
	struct ckpt x, y;

	ckpt_load(&x, a);
	ckpt_load(&y, b);
	qsort(x.records, x.n_records, sizeof *x.records, by_name);
	qsort(y.records, y.n_records, sizeof *y.records, by_name);

	const uint64_t n = compare_all(&x, &y);

	ckpt_free(&x);
	ckpt_free(&y);
	return n != 0;
}
