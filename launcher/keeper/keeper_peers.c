/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper_peers.c: copies of images from and to other keepers. An image that is being written has no
 * head, here as in the nodes (image_memory.h): the head comes last. After a STOP no connection of
 * before writes into a mirror any more.
 */
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	CALL_MS = 5000,
	LOOK_MS = 20,
	SHAKE_S = 10,         /* for a caller to prove who it is */
	CALLERS = 4096,       /* connections at most */
};

/** What is said of a keeper that is known by its address alone. */
struct at_address {
	char text[NI_MAXHOST + 16];
};

static struct at_address at_address(const struct sockaddr_storage *at)
{
	struct at_address t;
	char host[NI_MAXHOST] = "?";

	getnameinfo((const struct sockaddr *)at, sizeof *at, host, sizeof host, NULL, 0, NI_NUMERICHOST);
	snprintf(t.text, sizeof t.text, "that at %s", host);
	return t;
}

static bool lost(const struct keeper_link *l, const struct sockaddr_storage *at,
		 struct image_why *why)
{
	if (l->spoiled)
		return image_says(why, "what this host's keeper received from %s %s", at_address(at).text,
				  keeper_not_opened);
	return image_says(why, "the keeper of another host does not answer");
}

/* ---- calling ------------------------------------------------------------------------------- */

/** The connection for which this node waits. False: the nodes are being killed. */
static bool wait_on(struct keeper_line *line, unsigned run, int fd)
{
	struct keeper *k = line->k;
	bool ok;

	pthread_mutex_lock(&k->lock);
	ok = fd < 0 || (k->runs && k->run == run);
	line->peer = ok ? fd : -1;
	pthread_mutex_unlock(&k->lock);
	return ok;
}

static void hang_up(struct keeper_line *line, struct keeper_link *l)
{
	wait_on(line, 0, -1);
	keeper_close(l);
}

/** Call a keeper for this node. False: it does not answer. */
static bool call(struct keeper_line *line, const struct sockaddr_storage *to, unsigned run,
		 struct keeper_link *l)
{
	struct keeper_hello hello = line->k->hello;

	*l = (struct keeper_link){ .fd = keeper_call(to, CALL_MS) };
	if (l->fd < 0)
		return false;
	keeper_bound(l->fd, KEEPER_PEER_S);
	if (wait_on(line, run, l->fd) && keeper_greet(l, &line->k->secret, &hello))
		return true;
	hang_up(line, l);
	return false;
}

/** Take the other's answer. False without `why`: there is none. */
static bool take_answer(struct keeper_link *l, struct keeper_reply *r, struct image_why *why)
{
	if (!keeper_take(l, r, sizeof *r))
		return false;
	r->why[IMAGE_KEEPER_TEXT - 1] = '\0';
	return r->ok || image_says(why, "%s", r->why);
}

/* ---- an image that another keeper has ------------------------------------------------------ */

/** Its head, and then the rest, as it is sent. */
static bool take_into(struct keeper_link *l, char *to, uint64_t bytes)
{
	return keeper_take(l, to, IMAGE_PAGE) && keeper_take(l, to + IMAGE_PAGE, bytes - IMAGE_PAGE);
}

static bool receive(struct keeper_link *l, const struct sockaddr_storage *from, int to,
		    uint64_t bytes, struct image_why *why)
{
	void *at;
	bool ok;

	if (bytes < IMAGE_PAGE)
		return image_says(why, "an image of %llu bytes is none", (unsigned long long)bytes);
	if (ftruncate(to, (off_t)bytes) || fallocate(to, 0, 0, (off_t)bytes))
		return image_says(why, "there is no memory for an image of %llu bytes: %s",
				  (unsigned long long)bytes, strerror(errno));
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, to, 0);
	if (at == MAP_FAILED)
		return image_says(why, "an image cannot be mapped: %s", strerror(errno));
	ok = take_into(l, at, bytes);
	munmap(at, bytes);
	return ok || lost(l, from, why);
}

struct fetch {
	struct sockaddr_storage from;
	struct keeper_ask ask;
	unsigned run;
};

static bool copy(struct keeper_line *line, const struct fetch *f, struct keeper_copy *c)
{
	struct keeper_link l;
	struct keeper_reply r;
	bool ok;

	if (!call(line, &f->from, f->run, &l))
		return lost(&l, &f->from, &c->why);
	ok = keeper_send(&l, &f->ask, sizeof f->ask);
	if (ok && take_answer(&l, &r, &c->why)) {
		c->fd = memfd_create("chard image of another host", MFD_CLOEXEC);
		ok = c->fd >= 0 && receive(&l, &f->from, c->fd, r.bytes, &c->why);
	} else {
		ok = false;
	}
	hang_up(line, &l);
	return ok || c->why.text[0] ? ok : lost(&l, &f->from, &c->why);
}

/** With the lock: the entry for this image, made if there is none. *mine: to be copied by us. */
static struct keeper_copy *entry(struct keeper *k, uint32_t node, bool *mine)
{
	struct keeper_copy *c = k->copies;

	while (c && c->node != node)
		c = c->next;
	*mine = !c;
	if (c)
		return c;
	c = calloc(1, sizeof *c);
	if (!c)
		return NULL;
	*c = (struct keeper_copy){ .next = k->copies, .node = node, .fd = -1 };
	return k->copies = c;
}

/** With the lock. */
static struct fetch fetch_of(const struct keeper *k, uint32_t node)
{
	return (struct fetch){
		.from = k->peers[k->places[node].peer], .run = k->run,
		.ask = { .word = KEEPER_FETCH, .node = node, .sequence = k->start.from.sequence,
			 .mirrored = k->places[node].mirrored },
	};
}

/* Entries are dropped only when no node waits for one: whoever waits has not said READ. */
bool keeper_fetch(struct keeper_line *line, uint32_t node, int *fd, struct image_why *why)
{
	struct keeper *k = line->k;
	struct keeper_copy *c;
	struct fetch f;
	bool mine, ok;

	pthread_mutex_lock(&k->lock);
	c = entry(k, node, &mine);
	if (c && mine) {
		f = fetch_of(k, node);
		pthread_mutex_unlock(&k->lock);
		ok = copy(line, &f, c);
		pthread_mutex_lock(&k->lock);
		c->is_there = ok;
		c->failed = !ok;
		pthread_cond_broadcast(&k->changed);
	}
	while (c && !c->is_there && !c->failed)
		keeper_wait(k, LOOK_MS);
	ok = c && c->is_there && (*fd = dup(c->fd)) >= 0;
	if (!ok)
		image_says(why, "the image of node %u cannot be copied from its host: %s", node,
			   c ? c->why.text : "no memory");
	pthread_mutex_unlock(&k->lock);
	return ok;
}

void keeper_copies_drop(struct keeper *k)
{
	for (struct keeper_copy *c; (c = k->copies);) {
		k->copies = c->next;
		if (c->fd >= 0)
			close(c->fd);
		free(c);
	}
}

/* ---- our node's image, to the neighbour ---------------------------------------------------- */

/** Its head, and then the rest. */
static bool send_image(struct keeper_link *l, int from, uint32_t node, uint64_t bytes)
{
	const uint64_t at = (uint64_t)node << IMAGE_NODE_SHIFT;

	return keeper_send_file(l, from, at, IMAGE_PAGE) &&
	       keeper_send_file(l, from, at + IMAGE_PAGE, bytes - IMAGE_PAGE);
}

/* The node waits for the answer before it writes this slot again. Should it not, the head shows
 * it. False without `why`: the neighbour does not answer. */
static bool put(struct keeper *k, struct keeper_link *l, const struct keeper_ask *ask,
		struct image_why *why)
{
	struct image_head h;
	struct keeper_reply r;
	uint32_t holds;

	if (!keeper_send(l, ask, sizeof *ask) ||
	    !send_image(l, k->own.slot[ask->sequence % IMAGE_SLOTS], ask->node, ask->bytes))
		return false;
	if (!take_answer(l, &r, why))
		return false;
	holds = keeper_head(&k->own, ask->sequence, ask->node, &h) && h.bytes == ask->bytes;
	if (!keeper_send(l, &holds, sizeof holds))
		return false;
	return take_answer(l, &r, why) &&
	       (holds || image_says(why, "the image has changed while it was mirrored"));
}

/** With the lock: what is to be sent, and where. */
static bool ask_for(struct keeper_line *line, uint64_t sequence, const struct image_info *info,
		    struct keeper_ask *ask, int32_t *mirror, struct sockaddr_storage *to)
{
	struct keeper *k = line->k;
	struct image_head h;

	if (!k->runs || !line->has_node || !keeper_head(&k->own, sequence, line->node, &h))
		return false;
	*ask = (struct keeper_ask){
		.word = KEEPER_PUT, .node = line->node, .sequence = sequence, .bytes = h.bytes,
		.committed = info != NULL, .now_ns = keeper_now_ns(),
	};
	if (info)
		ask->info = *info;
	*mirror = k->start.mirror;
	if (*mirror >= 0)
		*to = k->peers[*mirror];
	keeper_tidy_own(k, sequence);
	return true;
}

/** The neighbour does not answer. The checkpoint is as good as on a single host then, so the job
 * goes on; ckrun names another neighbour as soon as it knows. */
static bool go_on(struct keeper *k, int32_t mirror)
{
	char text[KEEPER_NAME + 160];
	bool is_new;

	pthread_mutex_lock(&k->lock);
	is_new = k->runs && k->deaf != mirror;
	k->deaf = mirror;
	pthread_mutex_unlock(&k->lock);
	snprintf(text, sizeof text, "the neighbour of host %s does not answer: no other host has copies "
		 "of its images now", k->hello.host);
	if (is_new)
		keeper_tell(k, KEEPER_SAY, 0, text);
	return true;
}

bool keeper_mirror(struct keeper_line *line, uint64_t sequence, const struct image_info *info,
		   struct image_why *why)
{
	struct keeper *k = line->k;
	struct sockaddr_storage to;
	struct keeper_ask ask;
	struct image_why why_not = { "" };
	int32_t mirror;
	struct keeper_link l;
	unsigned run;
	bool ok;

	pthread_mutex_lock(&k->lock);
	ok = ask_for(line, sequence, info, &ask, &mirror, &to);
	run = k->run;
	pthread_mutex_unlock(&k->lock);
	if (!ok)
		return image_says(why, "there is no image of checkpoint %llu to mirror",
				  (unsigned long long)sequence);
	if (mirror < 0)
		return true;
	if (!call(line, &to, run, &l))
		return go_on(k, mirror);
	ok = put(k, &l, &ask, &why_not);
	keeper_warn(k, &l, at_address(&to).text);
	hang_up(line, &l);
	if (ok || !why_not.text[0])
		return ok || go_on(k, mirror);
	*why = why_not;
	return false;
}

/* ---- called -------------------------------------------------------------------------------- */

static bool reply(struct keeper_link *l, bool ok, uint64_t bytes, const struct image_why *why)
{
	struct keeper_reply r = { .ok = ok, .bytes = bytes };

	if (!ok)
		memcpy(r.why, why->text, sizeof r.why - 1);
	return keeper_send(l, &r, sizeof r);
}

static void serve_fetch(struct keeper_line *line, const struct keeper_ask *ask)
{
	struct keeper *k = line->k;
	const struct image_memory *m = ask->mirrored ? &k->mirror : &k->own;
	struct image_why why = { "" };
	struct image_head h;

	if (!keeper_head(m, ask->sequence, ask->node, &h))
		image_says(&why, "it is not there");
	if (reply(&line->link, !why.text[0], h.bytes, &why) && !why.text[0])
		send_image(&line->link, m->slot[ask->sequence % IMAGE_SLOTS], ask->node, h.bytes);
}

/** With the lock: the image is complete, unless a STOP came before. */
static bool hold(struct keeper_line *line, const struct keeper_ask *ask, void *to, const void *head)
{
	struct keeper *k = line->k;

	if (!k->runs || line->run != k->run)
		return false;
	memcpy(to, head, IMAGE_PAGE);
	if (ask->committed) {
		struct keeper_info *i = &k->mirrored[ask->sequence % IMAGE_SLOTS];

		*i = (struct keeper_info){ ask->sequence, ask->info };
		i->info.at_ns = keeper_time(i->info.at_ns, ask->now_ns, keeper_now_ns());
	}
	keeper_tidy_mirror(k, ask->sequence);
	return true;
}

/** Its bytes, into the region; and then its head, if they hold. */
static void take_image(struct keeper_line *line, const struct keeper_ask *ask, char *to)
{
	static const struct image_why late = { "the nodes are being killed" };
	struct keeper *k = line->k;
	struct keeper_link *l = &line->link;
	char head[IMAGE_PAGE];
	uint32_t holds = 0;

	if (!keeper_take(l, head, sizeof head) ||
	    !keeper_take(l, to + IMAGE_PAGE, ask->bytes - IMAGE_PAGE) || !reply(l, true, 0, NULL) ||
	    !keeper_take(l, &holds, sizeof holds))
		return;
	if (holds) {
		pthread_mutex_lock(&k->lock);
		holds = hold(line, ask, to, head);
		pthread_mutex_unlock(&k->lock);
		reply(l, holds, 0, &late);
	} else {
		reply(l, true, 0, NULL);
	}
}

/** The region is unlocked memory of this connection alone: of each node there is one at a time. */
static void serve_put(struct keeper_line *line, const struct keeper_ask *ask)
{
	struct keeper *k = line->k;
	struct image_region r = { 0 };
	struct image_why why = { "" };
	bool ok;

	if (ask->bytes < IMAGE_PAGE)
		return;
	pthread_mutex_lock(&k->lock);
	ok = (k->runs && line->run == k->run) || image_says(&why, "the nodes are being killed");
	ok = ok && image_region_reserve(&k->mirror, &r, ask->sequence, ask->node, ask->bytes, &why);
	pthread_mutex_unlock(&k->lock);
	if (ok)
		take_image(line, ask, r.base);
	else
		reply(&line->link, false, 0, &why);
	image_region_unmap(&r);
}

static bool knows_us(struct keeper_line *line, struct keeper_hello *hello)
{
	struct keeper_link *l = &line->link;
	struct keeper_greeting g;
	bool ok;

	keeper_bound(l->fd, SHAKE_S);
	ok = keeper_challenge(l, &line->k->secret, &g) && keeper_take(l, hello, sizeof *hello) &&
	     keeper_welcome(l, &line->k->secret, &g, hello);
	explicit_bzero(g.secret_key, sizeof g.secret_key);
	return ok;
}

static void serve_ask(struct keeper_line *line)
{
	struct keeper_ask ask;

	if (!keeper_take(&line->link, &ask, sizeof ask))
		return;
	if (ask.word == KEEPER_FETCH)
		serve_fetch(line, &ask);
	else if (ask.word == KEEPER_PUT)
		serve_put(line, &ask);
}

static void *serve(void *arg)
{
	struct keeper_line *line = arg;
	struct keeper_hello hello;
	char sender[KEEPER_NAME + 16];

	keeper_watch(line->link.fd);
	if (knows_us(line, &hello)) {
		keeper_bound(line->link.fd, KEEPER_PEER_S);
		serve_ask(line);
		snprintf(sender, sizeof sender, "that on host %s", hello.host);
		keeper_warn(line->k, &line->link, sender);
	}
	keeper_line_end(&line->k->callers, line);
	return NULL;
}

static int n_callers(const struct keeper *k)
{
	int n = 0;

	for (const struct keeper_line *l = k->callers; l; l = l->next)
		n++;
	return n;
}

void *keeper_peers_serve(void *arg)
{
	struct keeper *k = arg;

	for (;;) {
		const int fd = accept4(k->peers_fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0) {
			poll(NULL, 0, LOOK_MS); /* too many are open */
			continue;
		}
		pthread_mutex_lock(&k->lock);
		if (n_callers(k) >= CALLERS)
			close(fd);
		else
			keeper_line_start(&k->callers, k, fd, serve);
		pthread_mutex_unlock(&k->lock);
	}
}

void keeper_peers_end(struct keeper *k)
{
	pthread_mutex_lock(&k->lock);
	while (k->callers) {
		for (const struct keeper_line *l = k->callers; l; l = l->next)
			shutdown(l->link.fd, SHUT_RDWR);
		keeper_wait(k, LOOK_MS);
	}
	pthread_mutex_unlock(&k->lock);
}
