/* SPDX-License-Identifier: Apache-2.0 */
/* spans.c: see spans.h. */
#include "spans.h"
#include "../../../machine/base/cmi_alloc.h"

#include <stdlib.h>
#include <string.h>

void spans_free(struct spans *s)
{
	free(s->list);
	*s = (struct spans){ 0 };
}

/* The first span that ends after that number: the number is in it, or in none. */
static uint32_t span_find(const struct spans *s, int root, uint64_t no)
{
	uint32_t low = 0, high = s->n;

	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;
		const struct span *at = &s->list[mid];

		if (at->root < root || (at->root == root && at->to <= no))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool span_holds(const struct spans *s, uint32_t i, int root, uint64_t no)
{
	return i < s->n && s->list[i].root == root && s->list[i].from <= no;
}

bool spans_has(const struct spans *s, int root, uint64_t no)
{
	return span_holds(s, span_find(s, root, no), root, no);
}

bool spans_has_root(const struct spans *s, int root)
{
	const uint32_t i = span_find(s, root, 0);

	return i < s->n && s->list[i].root == root;
}

uint64_t spans_last(const struct spans *s, int root)
{
	const uint32_t i = span_find(s, root, UINT64_MAX);

	return i && s->list[i - 1].root == root ? s->list[i - 1].to - 1 : 0;
}

static void spans_put(struct spans *s, uint32_t i, struct span what)
{
	CMI_ONE_MORE(s->list, s->n, s->cap, "what was broadcast");
	memmove(s->list + i + 1, s->list + i, (s->n++ - i) * sizeof *s->list);
	s->list[i] = what;
	s->quick = NULL;
}

static void span_drop(struct spans *s, uint32_t i)
{
	memmove(s->list + i, s->list + i + 1, (--s->n - i) * sizeof *s->list);
	s->quick = NULL;
	if (!s->n)
		spans_free(s);
}

void spans_append(struct spans *s, struct span what)
{
	spans_put(s, s->n, what);
}

/* The number's span becomes the quick one, unless another of its root follows, which it may
 * touch. */
static void set_quick(struct spans *s, uint32_t i)
{
	s->quick = i + 1 == s->n || s->list[i + 1].root != s->list[i].root ? &s->list[i] : NULL;
}

bool spans_add(struct spans *s, int root, uint64_t no)
{
	const uint32_t i = span_find(s, root, no);
	const bool behind = i && s->list[i - 1].root == root && s->list[i - 1].to == no;
	const bool before = i < s->n && s->list[i].root == root && s->list[i].from == no + 1;

	if (span_holds(s, i, root, no))
		return false;
	if (behind && before) {
		s->list[i - 1].to = s->list[i].to;
		span_drop(s, i);
	} else if (behind) {
		s->list[i - 1].to++;
	} else if (before) {
		s->list[i].from--;
	} else {
		spans_put(s, i, (struct span){ .root = root, .from = no, .to = no + 1 });
	}
	set_quick(s, behind ? i - 1 : i);
	return true;
}

bool spans_take(struct spans *s, int root, uint64_t no)
{
	const uint32_t i = span_find(s, root, no);
	struct span *at;

	if (!span_holds(s, i, root, no))
		return false;
	at = &s->list[i];
	if (at->from == no && at->to == no + 1) {
		span_drop(s, i);
	} else if (at->from == no) {
		at->from++;
	} else if (at->to == no + 1) {
		at->to--;
	} else {
		const struct span behind = { .root = root, .from = no + 1, .to = at->to };

		at->to = no;
		spans_put(s, i + 1, behind);
	}
	return true;
}

/* The numbers of one span that are in none of those of b from *k on. */
static void cut_out(struct span a, const struct spans *b, uint32_t *k, struct spans *to)
{
	while (*k < b->n && (b->list[*k].root < a.root ||
			     (b->list[*k].root == a.root && b->list[*k].to <= a.from)))
		++*k;
	for (uint32_t i = *k;
	     i < b->n && b->list[i].root == a.root && b->list[i].from < a.to && a.from < a.to;
	     i++) {
		if (a.from < b->list[i].from)
			spans_append(to, (struct span){ .root = a.root, .from = a.from, .to = b->list[i].from });
		a.from = b->list[i].to;
	}
	if (a.from < a.to)
		spans_append(to, a);
}

struct spans spans_copy(const struct span *list, uint32_t n)
{
	struct spans s = { 0 };

	for (uint32_t i = 0; i < n; i++)
		spans_append(&s, list[i]);
	return s;
}

struct spans spans_minus(const struct spans *a, const struct spans *b)
{
	struct spans left = { 0 };
	uint32_t k = 0;

	for (uint32_t i = 0; i < a->n; i++)
		cut_out(a->list[i], b, &k, &left);
	return left;
}

bool spans_fit(const struct span *list, uint32_t n, int n_pes)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct span *at = &list[i];

		if (at->root < 0 || at->root >= n_pes || !at->from || at->from >= at->to)
			return false;
		if (i && (at[-1].root > at->root || (at[-1].root == at->root && at[-1].to >= at->from)))
			return false;
	}
	return true;
}
