/* SPDX-License-Identifier: Apache-2.0 */
/* frame.c: cuts items, squeezes and seals the pieces; opens frames and puts items together. */
#include "frame.h"

#include <stdlib.h>
#include <string.h>

#include "../alive/traffic.h"
#include "../base/cmi_alloc.h"
#include "../base/die.h"
#include "../shm/msg_local.h"
#include "../start/host_names.h"
#include "../tools/clock.h"
#include "filter_int.h"
#include "machine_int.h"

/* ---- state ----------------------------------------------------------------------------------- */

struct filter_pe *frames_open(const struct cmi *m)
{
	struct filter_pe *fp = cmi_alloc_zero(1, sizeof *fp, "CK_WIRE");

	fp->f = m->filters;
	fp->pair = cmi_alloc_zero((size_t)m->job.n_pes * ITEM_STREAMS, sizeof *fp->pair,
				  "CK_WIRE");
	fp->opened = cmi_alloc(FRAME_PLAIN_MOST, "CK_WIRE");
	fp->item = cmi_alloc(FRAME_PLAIN_MOST, "CK_WIRE");
	if (fp->f->squeezer) {
		fp->squeeze = fp->f->squeezer->open();
		fp->room = cmi_alloc_zero(1, FRAME_PLAIN_MOST, "CK_WIRE");
		/* The first time takes longer: it must not count. */
		fp->f->squeezer->squeeze(fp->squeeze, fp->opened, FRAME_PLAIN_MOST, fp->room,
					 FRAME_PLAIN_MOST);
	}
	return fp;
}

static void pair_close(const struct filter_pe *fp, struct pair *p)
{
	if (!p)
		return;
	seal_close(p->out);
	seal_close(p->in);
	if (!p->m && p->into != fp->item)
		free(p->into);
	free(p);
}

void frames_close(struct cmi_pe *w)
{
	struct filter_pe *fp = w->filter;

	for (int i = 0; i < w->m->job.n_pes * ITEM_STREAMS; i++)
		pair_close(fp, fp->pair[i]);
	while (fp->hosts) {
		struct host_pays *h = fp->hosts;

		fp->hosts = h->next;
		free(h);
	}
	if (fp->f->squeezer)
		fp->f->squeezer->close(fp->squeeze);
	free(fp->pair);
	free(fp->opened);
	free(fp->item);
	free(fp->room);
	free(fp);
	w->filter = NULL;
}

static struct host_pays *host_of(struct cmi_pe *w, int pe)
{
	const uint64_t id = w->m->job.host_id[w->m->job.node_of[pe]];
	struct filter_pe *fp = w->filter;
	struct host_pays *h = fp->hosts;

	while (h && h->host_id != id)
		h = h->next;
	if (h)
		return h;
	h = cmi_alloc_zero(1, sizeof *h, "CK_WIRE");
	h->host_id = id;
	h->next = fp->hosts;
	fp->hosts = h;
	return h;
}

/* Where the pair is, once it has been made. */
static struct pair **pair_at(const struct cmi_pe *w, int pe, unsigned stream)
{
	return &w->filter->pair[pe * ITEM_STREAMS + (int)stream];
}

static __attribute__((noinline)) struct pair *pair_open(struct cmi_pe *w, int pe, unsigned stream)
{
	struct pair *p = cmi_alloc_zero(1, sizeof *p, "CK_WIRE");

	if (w->filter->f->words & WIRE_SEAL)
		keys_open(w, pe, stream, p);
	if (w->filter->f->squeezer)
		p->host = host_of(w, pe);
	*pair_at(w, pe, stream) = p;
	return p;
}

static struct pair *pair_of(struct cmi_pe *w, int pe, unsigned stream)
{
	struct pair *p = *pair_at(w, pe, stream);

	return __builtin_expect(p != NULL, 1) ? p : pair_open(w, pe, stream);
}

/* ---- sending --------------------------------------------------------------------------------- */

size_t frame_next(struct cmi_pe *w, int pe, const struct item *item, size_t at)
{
	const size_t rest = item->header_len + item->bytes - at;
	struct pair *p = pair_of(w, pe, item->stream);

	if (rest > FRAME_PLAIN_MOST)
		return FRAME_PLAIN_MOST;
	return at == 0 && p->host && pays_to_cut(p->host, rest, w->filter->n_gaps++) ? rest / 2
										     : rest;
}

/* Bytes [at, at + piece) of header and data together: in place if they lie together, else copied to
 * `to`. */
static const void *piece_of(const struct item *item, size_t at, size_t piece, void *to)
{
	const size_t of_header = at < item->header_len ? item->header_len - at : 0;
	const size_t from_header = of_header < piece ? of_header : piece;

	if (from_header == 0)
		return (const char *)item->data + (at - item->header_len);
	memcpy(to, (const char *)item->header + at, from_header);
	if (piece > from_header)
		memcpy((char *)to + from_header, item->data, piece - from_header);
	return to;
}

/* Returns the bytes in fp->room; 0: the piece leaves as it is. */
static size_t squeezed(struct filter_pe *fp, struct pair *p, unsigned kind, const void *from,
		       size_t bytes, bool first)
{
	uint64_t began;
	size_t packed;

	if (!p->host || (!first && pays_to_measure(p->host, bytes)) ||
	    !pays_to_try(p->host, kind, bytes))
		return 0;
	began = machine_now_ns();
	packed = fp->f->squeezer->squeeze(fp->squeeze, fp->room, bytes - 1, from, bytes);
	pays_learn(p->host, kind, bytes, packed ? packed : bytes, machine_now_ns() - began);
	return packed;
}

const struct cmi_wire_counts *frame_counts(const struct cmi_pe *w) { return &w->filter->counts; }

/* Relaxed: traffic.h has the argument. */
static void tell_traffic(const struct cmi_pe *w, int pe, bool out)
{
	const struct cmi *m = w->m;
	struct traffic_counts *n;

	if (!m->traffic)
		return;
	n = traffic_of(m, w->pe - m->job.my_first_pe, m->job.node_of[pe]);
	traffic_count(out ? &n->out : &n->in);
}

static void count(struct filter_pe *fp, size_t plain, size_t frame, bool was_squeezed)
{
	fp->counts.frames++;
	fp->counts.squeezed += was_squeezed;
	fp->counts.bytes_before += plain;
	fp->counts.bytes_after += frame;
}

/* The first kinds of each id differ. */
static unsigned kind_of(const struct item *item)
{
	return item->id * (PAYS_KINDS / 4 + 1) + item->kind;
}

size_t frame_encode(struct cmi_pe *w, int pe, const struct item *item, size_t at, size_t piece,
		    void *to)
{
	struct filter_pe *fp = w->filter;
	struct pair *p = pair_of(w, pe, item->stream);
	unsigned char *body = (unsigned char *)to + sizeof(struct frame_head);
	const void *from = piece_of(item, at, piece, body);
	const size_t packed = squeezed(fp, p, kind_of(item), from, piece, at == 0),
		     n = packed ? packed : piece;
	const size_t all = item->header_len + item->bytes;
	const struct frame_head head = {
		.all = all,
		.number = p->n_out++,
		.src_pe = w->pe,
		.seen_kbs = p->host ? p->host->came_kbs : 0,
		.plain = (uint16_t)piece,
		.id = (uint8_t)item->id,
		.header_len = (uint8_t)item->header_len,
		.flags = (uint8_t)((packed ? FRAME_SQUEEZED : 0) |
				   (at + piece < all ? FRAME_MORE : 0)),
		.stream = (uint8_t)item->stream,
	};
	const size_t frame = sizeof head + n + (p->out ? FRAME_TAG : 0);

	if (packed)
		from = fp->room;
	memcpy(to, &head, sizeof head);
	if (p->out)
		seal_encode(p->out, head.number, &head, sizeof head, body, from, n);
	else if (from != body)
		memcpy(body, from, n);
	count(fp, piece, frame, packed);
	tell_traffic(w, pe, true);
	return frame;
}

/* ---- arrival --------------------------------------------------------------------------------- */

static const char *const NOT_OPENED =
	"its seal does not open: it was changed, repeated, left out or forged on its way";
static const char *const DAMAGED = "the network damaged it, or the nodes run different programs";

static bool is_of_other(const struct cmi_job *j, int pe)
{
	return pe >= 0 && pe < j->n_pes && j->node_of[pe] != j->node;
}

void frame_refuse(struct cmi_pe *w, const void *frame, size_t bytes, const char *why)
{
	const struct cmi_job *j = &w->m->job;
	struct frame_head h = { .src_pe = -1 };
	const struct pair *p;

	if (bytes >= sizeof h)
		memcpy(&h, frame, sizeof h);
	if (!is_of_other(j, h.src_pe))
		machine_die(
			w->m,
			"node %d PE %d received %zu bytes that say they are a frame of PE %d: %s",
			j->node, w->pe, bytes, h.src_pe, why);
	p = h.stream < ITEM_STREAMS ? *pair_at(w, h.src_pe, h.stream) : NULL;
	machine_die(w->m,
		    "node %d PE %d received from PE %d (node %d on %s) what says it is frame %llu, "
		    "where frame %llu is "
		    "expected: %s; see who can reach the network between these hosts",
		    j->node, w->pe, h.src_pe, j->node_of[h.src_pe],
		    host_name(w->m, j->node_of[h.src_pe]), (unsigned long long)h.number,
		    (unsigned long long)(p ? p->n_in : 0), why);
}

/* Whether the head of a frame of `bytes` bytes fits what has come of its item. */
static bool fits(const struct pair *p, const struct frame_head *h, size_t bytes)
{
	const size_t body = bytes - sizeof *h;

	if (h->plain > FRAME_PLAIN_MOST || h->header_len > h->all || h->plain > h->all - p->at)
		return false;
	if ((h->flags & FRAME_MORE) ? h->plain == 0 || p->at + h->plain >= h->all
				    : p->at + h->plain != h->all)
		return false;
	if (p->at && (h->all != p->all || h->id != p->id || h->header_len != p->header_len))
		return false;
	if (h->id == ITEM_MESSAGE && (h->header_len || h->all < sizeof(struct cmi_msg)))
		return false;
	if (p->in)
		return (h->flags & FRAME_SQUEEZED)
			       ? body >= FRAME_TAG && body - FRAME_TAG < h->plain
			       : body == h->plain + (size_t)FRAME_TAG;
	return (h->flags & FRAME_SQUEEZED) ? body < h->plain : body == h->plain;
}

/* Memory for the item of which a first frame has been opened. */
static void item_begin(struct cmi_pe *w, struct pair *p, const struct frame_head *h)
{
	p->all = h->all;
	p->id = h->id;
	p->header_len = h->header_len;
	p->m = NULL;
	if (h->id == ITEM_MESSAGE) {
		p->m = w->m->client.msg_alloc(w->owner, h->all);
		p->local = *p->m;
		p->into = (unsigned char *)p->m;
	} else if (h->flags & FRAME_MORE) {
		p->into = cmi_alloc(h->all, "an arriving put");
	} else {
		p->into = w->filter->item;
	}
}

/* Of an item whose first frame was not genuine. */
static void item_forget(struct cmi_pe *w, struct pair *p)
{
	if (p->at)
		return;
	if (p->m) {
		*p->m = p->local; /* what could not be opened lies over it */
		w->m->client.msg_free(w->owner, p->m);
	}
	p->m = NULL;
	p->into = NULL;
}

/* Undo the seal. The result is what it held: `body` itself without one. */
static const unsigned char *unsealed(const struct pair *p, const struct frame_head *h,
				     const unsigned char *body, size_t bytes, unsigned char *to)
{
	if (!p->in)
		return body;
	return seal_decode(p->in, p->n_in, h, sizeof *h, to, body, bytes) ? to : NULL;
}

static const char *open_into(struct cmi_pe *w, struct pair *p, const struct frame_head *h,
			     const unsigned char *body, size_t bytes)
{
	struct filter_pe *fp = w->filter;
	const bool squeezed = h->flags & FRAME_SQUEEZED, first = p->at == 0;
	/* Memory for the rest of an item is not taken before its first frame has proved genuine. */
	const bool straight = !squeezed && !(first && h->flags & FRAME_MORE);
	const unsigned char *plain;

	if (first && straight)
		item_begin(w, p, h);
	plain = unsealed(p, h, body, bytes, straight ? p->into + p->at : fp->opened);
	if (!plain) {
		item_forget(w, p);
		return NOT_OPENED;
	}
	if (first && !straight)
		item_begin(w, p, h);
	if (squeezed)
		return fp->f->squeezer->unsqueeze(fp->squeeze, p->into + p->at, h->plain, plain,
						  bytes - (p->in ? FRAME_TAG : 0))
			       ? NULL
			       : DAMAGED;
	if (plain != p->into + p->at)
		memcpy(p->into + p->at, plain, h->plain);
	return NULL;
}

/* What a frame that was seen at `now` tells about the link. */
static void measure(struct filter_pe *fp, struct pair *p, const struct frame_head *h, size_t bytes,
		    uint64_t now)
{
	if (h->seen_kbs)
		p->host->link_kbs = h->seen_kbs;
	p->run = p->at ? p->run + bytes : 0;
	if (p->at && !(h->flags & FRAME_SQUEEZED))
		pays_came(p->host, bytes, (double)(now - p->before_ns) / (double)p->run,
			  fp->idle_ns != p->before_ns);
	if (fp->idle_ns != p->before_ns)
		p->run = 0;
	p->before_ns = fp->idle_ns;
}

void frame_idle(struct cmi_pe *w)
{
	const struct traffic *t = w->m->traffic;
	uint64_t now;

	if (!t && !w->filter->squeeze)
		return;
	now = w->filter->idle_ns = machine_now_ns();
	if (t) /* relaxed: traffic.h has the argument */
		atomic_store_explicit(&t->quiet_ns[w->pe - w->m->job.my_first_pe], now,
				      memory_order_relaxed);
}

/* The item is whole. */
static void hand_up(struct pair *p, const struct frame_head *h, struct item_arrived *a)
{
	a->whole = true;
	a->id = h->id;
	p->at = 0;
	if (p->m) {
		msg_local_restore(p->m, &p->local);
		a->m = p->m;
		a->bytes = p->all;
		p->m = NULL;
		p->into = NULL;
		return;
	}
	a->header = p->into;
	a->header_len = p->header_len;
	a->data = p->into + p->header_len;
	a->bytes = p->all - p->header_len;
}

/* What the last item came in; it is only needed until the next frame. */
static void let_go(struct filter_pe *fp, struct pair *p)
{
	if (p->at == 0 && p->into != fp->item && !p->m)
		free(p->into);
	if (p->at == 0)
		p->into = NULL;
}

const char *frame_decode(struct cmi_pe *w, void *frame, size_t bytes, struct item_arrived *a)
{
	const struct cmi_job *j = &w->m->job;
	struct filter_pe *fp = w->filter;
	struct frame_head h = { .src_pe = -1 };
	const char *why;
	struct pair *p;
	uint64_t now;

	memset(a, 0, sizeof *a);
	if (bytes < sizeof h)
		return "it is too short";
	memcpy(&h, frame, sizeof h);
	if (!is_of_other(j, h.src_pe))
		return "no other node has that PE";
	if (h.stream >= ITEM_STREAMS)
		return "there is no such stream";
	a->src_pe = h.src_pe;
	a->stream = h.stream;
	p = pair_of(w, h.src_pe, h.stream);
	let_go(fp, p);
	now = p->host ? machine_now_ns() : 0; /* opening it takes time, too */
	if (!fits(p, &h, bytes))
		return p->in ? NOT_OPENED : DAMAGED;
	why = open_into(w, p, &h, (const unsigned char *)frame + sizeof h, bytes - sizeof h);
	if (why)
		return why;
	if (p->host)
		measure(fp, p, &h, bytes, now);
	p->n_in++;
	tell_traffic(w, h.src_pe, false);
	p->at += h.plain;
	if (p->at == p->all)
		hand_up(p, &h, a);
	return NULL;
}
