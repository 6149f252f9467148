/* SPDX-License-Identifier: Apache-2.0 */
/* image_name.c: names of records, for people. */
#include "image_in.h"

#include <inttypes.h>
#include <stdio.h>

enum { HAS_COLL = 1, HAS_INDEX = 2 };

static const struct {
	const char *text;
	int has;
} kinds[IMAGE_KINDS] = {
	[IMAGE_READONLY] = { "readonly variables", 0 },
	[IMAGE_COLLECTION] = { "description", HAS_COLL },
	[IMAGE_COUNTS] = { "counts", 0 },
	[IMAGE_BRANCH] = { "branch", HAS_COLL | HAS_INDEX },
	[IMAGE_NODEGROUP] = { "nodegroup's branch", HAS_COLL | HAS_INDEX },
	[IMAGE_MAIN] = { "main chare", HAS_COLL },
	[IMAGE_SINGLE] = { "chare", HAS_COLL | HAS_INDEX },
	[IMAGE_ELEMENT] = { "element", HAS_COLL | HAS_INDEX },
	[IMAGE_MISSING] = { "calls for a missing element", HAS_COLL | HAS_INDEX },
	[IMAGE_SECTION] = { "section", HAS_COLL },
	[IMAGE_CLOSING] = { "open insertion", HAS_COLL },
	[IMAGE_DETECTOR] = { "completion detector", HAS_COLL },
	[IMAGE_QUIESCENCE] = { "callbacks for quiescence", 0 },
	[IMAGE_IDLE] = { "[whenidle] call", HAS_COLL | HAS_INDEX },
	[IMAGE_SPREAD] = { "part of a spread", HAS_COLL },
	[IMAGE_ASKED]      = { "callbacks for the checkpoint", 0 },
};

const char *image_kind_name(uint32_t kind)
{
	return kind < IMAGE_KINDS && kinds[kind].text ? kinds[kind].text : "?";
}

/* An id has the PE that gave it above its number. */
static int collection_text(char *to, size_t n, uint64_t coll)
{
	const uint32_t creator = (uint32_t)(coll >> 32);

	if (creator)
		return snprintf(to, n, " of collection %" PRIu32 " of PE %" PRIu32, (uint32_t)coll, creator);
	return snprintf(to, n, " of collection %" PRIu32, (uint32_t)coll);
}

char *image_name_text(char *to, size_t n, const struct image_name *name)
{
	const int has = name->kind < IMAGE_KINDS ? kinds[name->kind].has : HAS_COLL | HAS_INDEX;
	size_t at = (size_t)snprintf(to, n, "%s", image_kind_name(name->kind));

	if (has & HAS_INDEX && at < n)
		at += (size_t)snprintf(to + at, n - at, " (%" PRId32 ", %" PRId32 ", %" PRId32 ")",
				       name->index[0], name->index[1], name->index[2]);
	if (has & HAS_COLL && at < n)
		collection_text(to + at, n - at, name->coll);
	return to;
}
