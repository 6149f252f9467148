/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boot_host.c: the nodes are the processes of a host program, which provides an allgather, of MPI
 * for instance. A node's puts wait here for the next fence. There all nodes exchange them, first
 * their sizes, then, if any has some, blocks as long as the longest. So the first allgather is the
 * fence itself, and a host program needs no barrier.
 *
 * No wait is bounded here: the host program's own launcher must end processes that wait for a dead
 * one.
 */
#include "boot.h"
#include "launcher.h"
#include "cmi.h"
#include "../base/cmi_alloc.h"
#include "../base/say.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct host {
	struct boot base;
	const struct cmi_host_boot *by;
	/* Put since the last fence: key, its 0, text, its 0, ... */
	char *put;
	size_t used, cap;
};

static struct host *host_of(struct boot *b)
{
	return (struct host *)b; /* base is the first member */
}

static void host_append(struct host *h, const char *text)
{
	size_t len = strlen(text) + 1;

	if (h->used + len > h->cap) {
		h->cap = 2 * (h->used + len);
		h->put = cmi_realloc(h->put, h->cap, 1, "start-up");
	}
	memcpy(h->put + h->used, text, len);
	h->used += len;
}

static int host_put(struct boot *b, const char *key, const char *text)
{
	host_append(host_of(b), key);
	host_append(host_of(b), text);
	return 0;
}

/* Every rank's bytes, which the caller frees; NULL after printing why. */
static char *host_gather(const struct host *h, const void *mine, size_t bytes)
{
	const struct boot *b = &h->base;
	char *all = cmi_alloc_zero((size_t)b->size, bytes, "start-up");
	const int rc = h->by->allgather(mine, all, bytes, h->by->arg);

	if (!rc && !memcmp(all + (size_t)b->rank * bytes, mine, bytes))
		return all;
	if (rc)
		machine_say("rank %d: the host program's allgather failed: it returned %d", b->rank, rc);
	else
		machine_say(
			"rank %d: the host program's allgather is wrong: of %zu bytes of each rank, those of rank R "
			"must come to all[R * %zu], but rank %d does not find its own there",
			b->rank, bytes, bytes, b->rank);
	free(all);
	return NULL;
}

/* The next text of a rank's block; NULL: it is not terminated there. */
static const char *next_text(const char **at, const char *end)
{
	const char *text = *at, *stop = memchr(text, 0, (size_t)(end - text));

	*at = stop ? stop + 1 : end;
	return stop ? text : NULL;
}

static int take_block(struct boot *b, const char *at, size_t len)
{
	const char *const end = at + len;

	while (at < end) {
		const char *key = next_text(&at, end), *text = next_text(&at, end);

		if (!key || !text || strlen(text) > BOOT_TEXT_MAX)
			return -EPROTO;
		boot_table_add(&b->table, key, text);
	}
	return 0;
}

/* `lens`: how much each rank has put, at most `most`. */
static int exchange(struct host *h, const uint64_t *lens, size_t most)
{
	char *mine = cmi_alloc_zero(1, most, "start-up"), *all;
	int rc = 0;

	if (h->used)
		memcpy(mine, h->put, h->used);
	all = host_gather(h, mine, most);
	for (int r = 0; all && !rc && r < h->base.size; r++)
		rc = take_block(&h->base, all + (size_t)r * most, (size_t)lens[r]);
	free(mine);
	rc = all ? rc : -EIO;
	free(all);
	return rc;
}

static int host_fence(struct boot *b, int timeout_ms)
{
	struct host *h = host_of(b);
	const uint64_t mine = h->used;
	uint64_t *lens = (uint64_t *)(void *)host_gather(h, &mine, sizeof mine), most = 0;
	int rc = 0;

	(void)timeout_ms;
	if (!lens)
		return -EIO;
	for (int r = 0; r < b->size; r++)
		if (lens[r] > most)
			most = lens[r];
	if (most)
		rc = exchange(h, lens, (size_t)most);
	free(lens);
	h->used = 0;
	return rc;
}

static int host_get(struct boot *b, int rank, const char *key, char *text)
{
	(void)rank; /* keys contain the rank */
	const char *found = boot_table_find(&b->table, key);

	if (!found)
		return -ENOENT;
	strcpy(text, found); /* take_block refuses longer ones */
	return 0;
}

/* Not async-signal-safe: signal handlers leave it out (fault.c). */
static void host_abort(struct boot *b, int code)
{
	const struct cmi_host_boot *by = host_of(b)->by;

	if (by->abort)
		by->abort(code, by->arg);
}

static void host_finish(struct boot *b)
{
	free(host_of(b)->put);
	boot_table_fini(&b->table);
	free(b);
}

static const struct boot_ops host_boot_ops = {
	.put = host_put,
	.fence = host_fence,
	.get = host_get,
	.comes_back = true,
	.abort = host_abort,
	.finish = host_finish,
};

int boot_host_init(const struct cmi_host_boot *by, struct boot **b_p)
{
	struct host *h;

	if (by->size < 1 || by->rank < 0 || by->rank >= by->size) {
		machine_say(
			"CkInit: its CkBoot says rank %d of size %d; ranks go from 0 to size - 1",
			by->rank, by->size);
		return -EINVAL;
	}
	h = cmi_alloc_zero(1, sizeof *h, "start-up");
	h->base = (struct boot){
		.ops = &host_boot_ops, .rank = by->rank, .size = by->size, .alone = by->size == 1
	};
	h->by = by;
	*b_p = &h->base;
	return 0;
}
