/* SPDX-License-Identifier: Apache-2.0 */
/* direct_rules.c: see direct_rules.h. */
#include "direct_rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct direct_id direct_id_of_handle(struct pe *pe, const struct direct_handle *h)
{
	const struct csd_end_names *names = pe->node->up.end_names;

	return (struct direct_id){
		.channel = h->channel,
		.receiver = h->receiver,
		.sender = h->sender_pe,
		.owner = names ? names->owner_of(pe, h) : NULL,
	};
}

/* ---- names ----------------------------------------------------------------------------------- */

enum { TEXT_BYTES = 1024 };

void direct_name(struct pe *pe, struct direct_id id, char *buf, size_t len)
{
	if (id.owner)
		pe->node->up.end_names->describe(pe, id.owner, buf, len);
	else
		snprintf(buf, len, "channel %u", id.channel);
}

static void name_pe(int32_t pe, char *buf, size_t len)
{
	snprintf(buf, len, pe < 0 ? "unknown" : "%d", pe);
}

static void name_pes(struct direct_id id, char *buf, size_t len)
{
	char receiver[16], sender[16];

	name_pe(id.receiver, receiver, sizeof receiver);
	name_pe(id.sender, sender, sizeof sender);
	snprintf(buf, len, "receiver PE %s, sender PE %s", receiver, sender);
}

static size_t word_length(const char *at)
{
	return strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_");
}

/* The text in the words of the channel's owner: its functions instead of those of ckdirect.h. */
static void put_words(const struct pe *pe, const char *text, char *buf, size_t len)
{
	size_t used = 0;
	char word[64];

	while (*text && used + sizeof word < len) {
		const size_t n = word_length(text);
		const char *own = NULL;

		if (n && n < sizeof word) {
			memcpy(word, text, n);
			word[n] = 0;
			own = pe->node->up.end_names->function(word);
		}
		used += (size_t)snprintf(buf + used, len - used, "%.*s", own ? (int)strlen(own) : n ? (int)n : 1,
					 own ? own : text);
		text += n ? n : 1;
	}
	buf[used] = 0;
}

static void say_words(const struct pe *pe, struct direct_id id, const char *text, char *buf,
		      size_t len)
{
	if (id.owner)
		put_words(pe, text, buf, len);
	else
		snprintf(buf, len, "%s", text);
}

void direct_broken(struct pe *pe, const char *call, struct direct_id id, const char *fix,
		   const char *fmt, ...)
{
	char rule[256], line[TEXT_BYTES], said[TEXT_BYTES], name[TEXT_BYTES / 2], pes[96];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(rule, sizeof(rule), fmt, ap);
	va_end(ap);
	direct_name(pe, id, name, sizeof name);
	name_pes(id, pes, sizeof pes);
	snprintf(line, sizeof line, "%s: %s (%s, iteration %llu): %s; %s", call, name, pes,
		 (unsigned long long)id.iteration, rule, fix);
	say_words(pe, id, line, said, sizeof said);
	csd_abort(pe, "%s", said);
}

void direct_claim(struct pe *pe, struct direct_id id, struct direct_line *line, int binder)
{
	uint64_t first = 0;

	if (atomic_compare_exchange_strong_explicit(&line->binder, &first, (uint64_t)binder + 1,
						    memory_order_relaxed, memory_order_relaxed))
		return;
	id.sender = (int32_t)first - 1;
	direct_broken(pe, "CkDirect_assocLocalBuffer", id,
		      "bind each channel once, then use copies of that handle",
		      "the channel is bound already, and PE %d binds it again", binder);
}

void direct_no_pe(const char *call)
{
	csd_no_pe(call);
}

void direct_no_channel(struct pe *pe, const char *call, const struct direct_handle *h)
{
	static const struct direct_handle empty;

	if (memcmp(h, &empty, sizeof(empty)) == 0)
		csd_abort(pe, "%s: the handle is empty: no channel has been stored in it yet; "
			  "begin when all handles have come", call);
	csd_abort(pe, "%s: the handle names no channel; it must come from CkDirect_createHandle, "
		  "unchanged", call);
}

void direct_not_a_receiver(struct pe *pe, const char *call, const struct direct_handle *h)
{
	struct direct_id id = direct_id_of_handle(pe, h);

	if (id.owner)
		direct_broken(pe, call, id, "call it with what X_f_from has returned",
			      "this is the channel's sending end");
	if (h->magic == DIRECT_DEAD)
		direct_broken(pe, call, id, "create a new one",
			      "the channel was destroyed through this handle");
	if (h->magic != DIRECT_MAGIC)
		direct_no_channel(pe, call, h);
	if (h->receiver != pe->id)
		direct_broken(pe, call, id, "call it on the receiving PE", "called on PE %d",
			      pe->id);
	direct_broken(pe, call, id, "create a new one", "the channel was destroyed");
}

void direct_not_a_sender(struct pe *pe, const char *call, const struct direct_handle *h)
{
	struct direct_id id = direct_id_of_handle(pe, h);

	if (id.owner)
		direct_broken(pe, call, id, "call it with what X_f_to has returned",
			      "this is the channel's receiving end");
	if (h->magic == DIRECT_DEAD)
		direct_broken(pe, call, id, "create and bind a new channel",
			      "the sending end was destroyed through this handle");
	if (h->magic != DIRECT_MAGIC)
		direct_no_channel(pe, call, h);
	if (!direct_is_bound(h))
		direct_broken(pe, call, id, "call CkDirect_assocLocalBuffer on this handle first",
			      "this handle has no send buffer");
	if (h->sender_pe != pe->id)
		direct_broken(pe, call, id, "call it on the PE that bound the send buffer",
			      "called on PE %d", pe->id);
	direct_broken(pe, call, id, "create and bind a new channel",
		      "the sending end was destroyed");
}

uint64_t direct_checksum(const unsigned char *p, size_t n)
{
	uint64_t sum = n, w;

	for (; n >= 8; p += 8, n -= 8) {
		memcpy(&w, p, 8);
		sum = (sum ^ w) * 0x9e3779b97f4a7c15u;
		sum ^= sum >> 32;
	}
	for (; n; p++, n--)
		sum = (sum ^ *p) * 0x9e3779b97f4a7c15u;
	return sum;
}

uint64_t direct_seal(const struct direct_handle *h)
{
	struct direct_handle rest = *h;

	rest.seal = 0;
	return direct_checksum((const unsigned char *)&rest, sizeof(rest));
}

void direct_check_put(struct pe *pe, const char *call, struct direct_id id,
		      const struct direct_line *line, uint32_t generation,
		      const unsigned char *buf, size_t bytes)
{
	/* acquire: pairs with the release store in readyMark, so that the checksum and the buffer read
	 * below are those of that mark. In a correct program the program's own messages have ordered this
	 * already. */
	uint64_t marks = atomic_load_explicit(&line->marks, memory_order_acquire);
	uint64_t consumed = atomic_load_explicit(&line->consumed, memory_order_relaxed);

	if (atomic_load_explicit(&line->generation, memory_order_relaxed) != generation)
		direct_broken(pe, call, id, "let the receiver tell the sender before it destroys",
			      "the receiver has destroyed this channel");
	if (marks < id.iteration && consumed + 1 < id.iteration)
		direct_broken(pe, call, id, "wait until the receiver has had the last one",
			      "a put before the last one was consumed");
	if (marks < id.iteration)
		direct_broken(pe, call, id, "order CkDirect_ready before the sender's next put",
			      "a put before the receiver said ready");
	/* relaxed: ordered by the load of marks. */
	if (atomic_load_explicit(&line->checksum, memory_order_relaxed) !=
	    direct_checksum(buf, bytes))
		direct_broken(pe, call, id, "write to it only between the arrival and ready",
			      "the receive buffer changed while it was the sender's");
}
