/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c: the job's last line when a handler has no space for a message (room.c). The heads of
 * the messages that were sent and not freed are still in this PE's slabs and show what waits, for
 * which PE. Their receivers may change them meanwhile, so only few of their fields are trusted.
 */
#include "thread.h"
#include "../../machine/tools/cmi_plain.h"

#include <stdio.h>
#include <string.h>

enum {
	KINDS_MOST = 32,             /* kinds of messages that are distinguished */
	LOOKED_AT_MOST = 1 << 16,    /* messages; of more, every k-th slab is a sample */
};

struct message_kind {
	char what[160];
	int to;                            /* a PE; -1: unknown */
	uint64_t n;
};

struct tally {
	uint64_t n, bytes;                 /* all messages that wait */
	uint64_t looked_at;
	int n_kinds;
	struct message_kind kinds[KINDS_MOST];
};

int csd_message_kind(struct pe *pe, const struct cmi_msg *m, char *buf, size_t len)
{
	const struct node *node = pe->node;
	int to = -1;

	buf[0] = 0;
	if (node->up.describe_message)
		to = node->up.describe_message(pe, m, buf, len);
	if (!buf[0])
		snprintf(buf, len, "messages for %s", node->handlers[m->handler].name);
	return to;
}

static void count_message(struct pe *pe, struct tally *t, const struct cmi_msg *m)
{
	struct message_kind k;
	int i = 0;

	t->looked_at++;
	if (m->handler >= pe->node->n_handlers)
		return;
	k.n = 0;
	k.to = csd_message_kind(pe, m, k.what, sizeof k.what);
	while (i < t->n_kinds && (t->kinds[i].to != k.to || strcmp(t->kinds[i].what, k.what)))
		i++;
	if (i == KINDS_MOST)
		return;
	if (i == t->n_kinds)
		t->kinds[t->n_kinds++] = k;
	t->kinds[i].n++;
}

/* The job ends, so free blocks can be marked in the size field of a message. */
static void mark_free(struct pe *pe)
{
	for (unsigned cls = 0; cls < MSG_CLASSES; cls++)
		for (struct cmi_msg *m = pe->pool.free[cls]; m; m = m->next)
			m->size = 0;
}

static void count_slab(struct pe *pe, struct tally *t, const struct msg_slab *slab, bool look)
{
	for (uint32_t i = 0; i < msg_slab_blocks(slab->cls); i++) {
		const struct cmi_msg *m = msg_slab_block(slab, i);

		if (!m->size)
			continue;
		t->n++;
		t->bytes += msg_class_bytes(slab->cls);
		if (look) {
			csd_unpoison_block((struct cmi_msg *)(uintptr_t)m);
			count_message(pe, t, m);
		}
	}
}

static void count_all(struct pe *pe, struct tally *t)
{
	uint64_t blocks = 0, step;

	mark_free(pe);
	for (size_t i = 0; i < pe->pool.n_slabs; i++)
		blocks += msg_slab_blocks(pe->pool.slabs[i].cls);
	step = blocks / LOOKED_AT_MOST + 1;
	for (size_t i = 0; i < pe->pool.n_slabs; i++)
		if (!pe->pool.slabs[i].hollow)
			count_slab(pe, t, &pe->pool.slabs[i], i % step == 0);
}

static const struct message_kind *most_frequent(const struct tally *t)
{
	const struct message_kind *most = &t->kinds[0];

	for (int i = 1; i < t->n_kinds; i++)
		if (t->kinds[i].n > most->n)
			most = &t->kinds[i];
	return most;
}

static void say_kind(const struct tally *t, char *buf, size_t len)
{
	const struct message_kind *k = most_frequent(t);
	char to[32] = "";

	if (!t->n_kinds)
		return;
	if (k->to >= 0)
		snprintf(to, sizeof to, " for PE %d", k->to);
	snprintf(buf, len, ", %llu %% of them %s%s",
		 (unsigned long long)(k->n * 100 / t->looked_at), k->what, to);
}

static double mib(uint64_t bytes)
{
	return (double)bytes / (1 << 20);
}

_Noreturn void csd_no_room(struct pe *pe, size_t size, const char *waits)
{
	char where[256], why[1024];

	pe_describe(pe, where, sizeof where);
	cmi_plain_print(
		why, sizeof why,
		"chard: %s: no room for a message of %zu bytes (CK_MESSAGE_MEMORY: %.1f "
		"MiB). Of PE %d %s. A handler cannot wait for room: send from a [threaded] entry, let "
		"receivers answer before more is sent, or raise CK_MESSAGE_MEMORY",
		where, size, mib(pe->node->memory.most), pe->id, waits);
	cmi_abort(pe->node->machine, 1, false, why);
}

_Noreturn void report_no_room(struct pe *pe, size_t size)
{
	struct tally t = { 0 };
	char kind[256] = "", others[96] = "", waits[512];

	count_all(pe, &t);
	say_kind(&t, kind, sizeof kind);
	uint64_t taken = atomic_load_explicit(&pe->node->memory.taken, memory_order_relaxed);

	if (taken > 2 * t.bytes)
		cmi_plain_print(others, sizeof others, "; other PEs of the process have %.1f MiB",
			 mib(taken - t.bytes));
	cmi_plain_print(waits, sizeof waits, "%s (%.1f MiB)%s%s",
			csd_plural(t.n, "message waits", "messages wait").text, mib(t.bytes), kind, others);
	csd_no_room(pe, size, waits);
}
