/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steer_net.c: the thread that serves the job's control socket.
 *
 *	client:  chard 1 WORD ARGUMENTS      one line; 1 is the version of what is said here
 *	node 0:  ok TEXT                     or: no WHY; one line or more. Then it hangs up
 *
 * Only the owner of the job may connect. A client that says too much or something else is told so;
 * one that is slow or silent keeps its place, of which there are few, and is dropped after a while.
 * Nothing here waits for a client. The thread has the lowest priority, so a flood of requests takes
 * what the PEs leave.
 *
 * While somebody asks for what is seen, the thread looks at the job each second:
 *
 *   first question   PEs begin to count
 *   + SETTLE         look; + FIRST: look again, and answer: what happened in between
 *   + EVERY          look ... until nobody has asked for STAYS
 *
 * Other hosts are asked ANSWER before each look.
 */
#include "steer_int.h"
#include "../../machine/base/cmi_alloc.h"
#include "../../machine/base/cmi_env.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static const char GREETING[] = "chard 1 ";
static const uint64_t MS = 1000 * 1000;
enum { SETTLE_MS = 150, FIRST_MS = 500, EVERY_MS = 1000, ANSWER_MS = 30, STAYS_MS = 3000,
       IDLE_MS = 30000, CALL_EVERY_MS = 10000, STOP_MS = 5000, NICE = 19 };

struct client {
	int fd;                    /* -1: nobody */
	uint64_t id;               /* of its order */
	enum { READS, AWAITS_LOOK, AWAITS_ANSWER, WRITES } stage;
	enum steer_way way;
	/* READS, WRITES: it must move before; AWAITS_ANSWER of stop: PE 0 must; 0: no limit. */
	uint64_t until_ns;
	size_t n, sent;            /* of line, or of out */
	char line[STEER_LINE];
	char *out;                 /* ours */
	bool link;                 /* ckrun, which has not used this connection yet */
};

struct server {
	struct steer *s;
	struct client clients[STEER_CLIENTS];
	uint64_t last_id;
	struct look look;
	uint64_t looks_until;      /* nobody has asked since; 0: no looks */
	uint64_t ask_ns, take_ns;  /* when the hosts are asked, and looked at, next; 0: not */
	int n_looks;
	uint64_t call_ns;          /* when ckrun is called, unless there is a connection that waits */
};

/* ---- answers --------------------------------------------------------------------------------- */

static void drop(struct client *c)
{
	close(c->fd);
	free(c->out);
	*c = (struct client){ .fd = -1 };
}

static void send_more(struct client *c)
{
	const ssize_t n = send(c->fd, c->out + c->sent, c->n - c->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		c->n = c->sent;
	if (n > 0) {
		c->sent += (size_t)n;
		c->until_ns = csd_now_ns() + IDLE_MS * MS;
	}
	if (c->sent == c->n)
		drop(c);
}

/** `out` is the client's from now on. */
static void give(struct client *c, char *out, size_t n)
{
	c->stage = WRITES;
	c->out = out;
	c->n = n;
	c->sent = 0;
	c->until_ns = csd_now_ns() + IDLE_MS * MS;
	send_more(c);
}

static FILE *begin_text(char **text, size_t *n)
{
	return cmi_must_have(open_memstream(text, n), sizeof(FILE), "an answer");
}

static void end_text(FILE *out)
{
	if (fclose(out))
		cmi_no_memory(1, "an answer");
}

static void reply(struct client *c, bool ok, const char *text)
{
	const size_t len = strlen(text);
	char *out;
	size_t n;
	FILE *f = begin_text(&out, &n);

	fprintf(f, "%s %s%s", ok ? "ok" : "no", text, len && text[len - 1] == '\n' ? "" : "\n");
	end_text(f);
	give(c, out, n);
}

static void reply_seen(struct server *v, struct client *c)
{
	char *out;
	size_t n;
	FILE *f = begin_text(&out, &n);

	fputs("ok ", f);
	(c->way == WAY_STATUS ? text_status : text_metrics)(f, v->s->node, &v->look);
	end_text(f);
	give(c, out, n);
}

/* ---- looks ----------------------------------------------------------------------------------- */

static void ask_hosts(struct server *v, uint64_t now)
{
	cmi_look(v->s->node->machine, now + STAYS_MS * MS);
}

static void want_looks(struct server *v, uint64_t now)
{
	if (!v->looks_until) {
		ask_hosts(v, now);
		v->ask_ns = now + SETTLE_MS * MS;
		v->n_looks = 0;
	}
	v->looks_until = now + STAYS_MS * MS;
}

static void answer_those_who_look(struct server *v)
{
	for (int i = 0; i < STEER_CLIENTS; i++)
		if (v->clients[i].fd >= 0 && v->clients[i].stage == AWAITS_LOOK)
			reply_seen(v, &v->clients[i]);
}

static void take_look(struct server *v)
{
	v->take_ns = 0;
	look_take(&v->look);
	if (++v->n_looks >= 2)
		answer_those_who_look(v);
}

/** Returns when the next one is due; 0: none is. */
static uint64_t looks_turn(struct server *v, uint64_t now)
{
	if (!v->looks_until)
		return 0;
	if (v->take_ns && now >= v->take_ns)
		take_look(v);
	if (!v->take_ns && now > v->looks_until)
		return v->looks_until = 0;
	if (now >= v->ask_ns) {
		ask_hosts(v, now);
		v->take_ns = now + ANSWER_MS * MS;
		v->ask_ns = now + (v->n_looks ? EVERY_MS : FIRST_MS) * MS;
	}
	return v->take_ns ? v->take_ns : v->ask_ns;
}

/* ---- clients --------------------------------------------------------------------------------- */

static void ask_pe_0(struct server *v, struct client *c, const char *words, uint64_t now)
{
	c->stage = AWAITS_ANSWER;
	c->id = ++v->last_id;
	c->until_ns = c->way == WAY_STOP ? now + STOP_MS * MS : 0;
	steer_order(v->s, c->id, words);
}

static void heard(struct server *v, struct client *c, uint64_t now)
{
	const char *words = c->line + sizeof GREETING - 1, *why = NULL;

	if (strncmp(c->line, GREETING, sizeof GREETING - 1)) {
		reply(c, false, "a line begins with \"chard 1 \" and a word");
		return;
	}
	c->way = steer_way_of(words, &why);
	if (c->way == WAY_REFUSED) {
		reply(c, false, why);
	} else if (c->way >= WAY_ORDER) {
		ask_pe_0(v, c, words, now);
	} else {
		c->stage = AWAITS_LOOK;
		c->until_ns = 0;
		want_looks(v, now);
		if (v->n_looks >= 2)
			reply_seen(v, c);
	}
}

/** Read until the end of the line. A client that has asked has nothing more to say, but may go. */
static void read_client(struct server *v, struct client *c, uint64_t now)
{
	char rest[STEER_LINE];
	const bool more = c->stage == READS;
	const ssize_t n = recv(c->fd, more ? c->line + c->n : rest,
			       more ? sizeof c->line - c->n : sizeof rest, MSG_DONTWAIT);
	char *end;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		drop(c);
		return;
	}
	if (!more)
		return;
	c->link = false;
	c->n += (size_t)n;
	end = memchr(c->line, '\n', c->n);
	if (end) {
		*end = '\0';
		heard(v, c, now);
	} else if (c->n == sizeof c->line) {
		reply(c, false, "the line is too long");
	}
}

/** Root may ask, too. */
static bool is_owner(int fd)
{
	struct ucred who;
	socklen_t n = sizeof who;

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) &&
	       (who.uid == geteuid() || who.uid == 0);
}

/* ckrun has checked its clients. When it ends, so does the job. */
static int take_passed(struct steer *s)
{
	union { struct cmsghdr head; char room[CMSG_SPACE(sizeof(int))]; } with;
	char byte;
	struct iovec in = { &byte, 1 };
	struct msghdr m = { .msg_iov = &in, .msg_iovlen = 1, .msg_control = &with,
			    .msg_controllen = sizeof with };
	const ssize_t n = recvmsg(s->listen_fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	int fd = -1;

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		close(s->listen_fd);
		s->listen_fd = -1;
	}
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(c), sizeof fd);
	return fd;
}

static void accept_client(struct server *v, uint64_t now)
{
	const bool named = v->s->path[0];
	const int fd = named ? accept4(v->s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) :
		       take_passed(v->s);
	struct client late = { .fd = fd };

	if (fd < 0)
		return;
	if (named && !is_owner(fd)) {
		reply(&late, false, "the job is somebody else's");
		if (late.fd >= 0)
			drop(&late);
		return;
	}
	for (int i = 0; i < STEER_CLIENTS; i++)
		if (v->clients[i].fd < 0) {
			v->clients[i] = (struct client){ .fd = fd, .until_ns = now + IDLE_MS * MS };
			return;
		}
	reply(&late, false, "too many ask at once; try again");
	if (late.fd >= 0)
		drop(&late);
}

/* One connection waits for ckrun's next client. Returns when the next call is due; 0: not. */
static uint64_t call_turn(struct server *v, uint64_t now)
{
	struct client *free_one = NULL;
	int fd;

	if (!v->s->call.port)
		return 0;
	for (int i = 0; i < STEER_CLIENTS; i++) {
		if (v->clients[i].fd >= 0 && v->clients[i].link)
			return 0;
		if (v->clients[i].fd < 0)
			free_one = &v->clients[i];
	}
	if (!free_one || now < v->call_ns)
		return v->call_ns > now ? v->call_ns : 0;
	fd = call_ckrun(&v->s->call);
	v->call_ns = csd_now_ns() + (fd < 0 ? CALL_EVERY_MS * MS : 0);
	if (fd >= 0)
		*free_one = (struct client){ .fd = fd, .link = true };
	return fd < 0 ? v->call_ns : 0;
}

static void take_answers(struct server *v)
{
	struct steer_note *n = steer_answers(v->s), *next;

	for (; n; n = next) {
		next = n->next;
		for (int i = 0; i < STEER_CLIENTS; i++) {
			struct client *c = &v->clients[i];

			if (c->fd >= 0 && c->stage == AWAITS_ANSWER && c->id == n->id)
				reply(c, n->ok, n->text);
		}
		free(n);
	}
}

/* ---- time ------------------------------------------------------------------------------------ */

/** Its time is over. PE 0 has not come back to its queue: the job ends as by any SIGTERM, which
 * also says what PE 0 is in. */
static void client_is_late(struct client *c)
{
	if (c->stage != AWAITS_ANSWER) {
		drop(c);
		return;
	}
	reply(c, true, "PE 0 has not come back to its queue: node 0 is ended by signal 15");
	kill(getpid(), SIGTERM);
}

/** Returns when the next one is late; 0: nobody will be. */
static uint64_t clients_turn(struct server *v, uint64_t now)
{
	uint64_t next = 0;

	for (int i = 0; i < STEER_CLIENTS; i++) {
		struct client *c = &v->clients[i];

		if (c->fd >= 0 && c->until_ns && now >= c->until_ns)
			client_is_late(c);
		if (c->fd >= 0 && c->until_ns && (!next || c->until_ns < next))
			next = c->until_ns;
	}
	return next;
}

static uint64_t first_of(uint64_t a, uint64_t b)
{
	return !a ? b : !b || a < b ? a : b;
}

static int wait_ms(uint64_t at, uint64_t now)
{
	return !at ? -1 : at <= now ? 0 : (int)((at - now) / MS + 1);
}

/* ---- the loop -------------------------------------------------------------------------------- */

enum { POLL_WAKE, POLL_LISTEN, POLL_CLIENTS, POLL_ALL = POLL_CLIENTS + STEER_CLIENTS };

static void fill_poll(const struct server *v, struct pollfd p[POLL_ALL])
{
	p[POLL_WAKE] = (struct pollfd){ .fd = v->s->wake_fd, .events = POLLIN };
	p[POLL_LISTEN] = (struct pollfd){ .fd = v->s->listen_fd, .events = POLLIN };
	for (int i = 0; i < STEER_CLIENTS; i++) {
		const struct client *c = &v->clients[i];

		p[POLL_CLIENTS + i] = (struct pollfd){ .fd = c->fd,
						       .events = c->stage == WRITES ? POLLOUT : POLLIN };
	}
}

static void serve_client(struct server *v, struct client *c, const struct pollfd *p, uint64_t now)
{
	if (!p->revents || c->fd != p->fd)
		return;
	if (c->stage == WRITES)
		send_more(c);
	else
		read_client(v, c, now);
}

static void turn(struct server *v)
{
	struct pollfd p[POLL_ALL];
	uint64_t now = csd_now_ns(), told;
	const uint64_t looks = looks_turn(v, now), late = clients_turn(v, now), call = call_turn(v, now);

	fill_poll(v, p);
	if (poll(p, POLL_ALL, wait_ms(first_of(first_of(looks, late), call), csd_now_ns())) <= 0)
		return;
	now = csd_now_ns();
	if (p[POLL_WAKE].revents && read(v->s->wake_fd, &told, sizeof told) > 0)
		take_answers(v);
	for (int i = 0; i < STEER_CLIENTS; i++)
		serve_client(v, &v->clients[i], &p[POLL_CLIENTS + i], now);
	if (p[POLL_LISTEN].revents)
		accept_client(v, now);
}

/* What has been answered is sent, as far as it goes without waiting. */
static void close_all(struct server *v)
{
	take_answers(v);
	for (int i = 0; i < STEER_CLIENTS; i++) {
		struct client *c = &v->clients[i];

		if (c->fd >= 0 && c->stage != WRITES)
			reply(c, false, "the job has ended");
		if (c->fd >= 0)
			drop(c);
	}
	if (v->s->path[0])
		unlink(v->s->path);
	look_close(&v->look);
}

void *steer_run(void *steer)
{
	struct server v = { .s = steer };

	setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	for (int i = 0; i < STEER_CLIENTS; i++)
		v.clients[i].fd = -1;
	look_open(&v.look, v.s->node->machine);
	while (!steer_is_over(v.s))
		turn(&v);
	close_all(&v);
	return NULL;
}

/* ---- the socket ------------------------------------------------------------------------------ */

_Noreturn static void refuse(const struct steer *s, const char *why)
{
	char allowed[256];

	snprintf(allowed, sizeof allowed, "a path at which node 0 can listen: %s", why);
	cmi_env_refuse("CK_CONTROL", s->path, allowed);
}

/** Whether a dead process has left its socket there; then it is removed. */
static bool remove_stale(const struct sockaddr_un *at)
{
	struct stat st;
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const bool refused = connect(fd, (const struct sockaddr *)at, sizeof *at) && errno == ECONNREFUSED;

	close(fd);
	return refused && !lstat(at->sun_path, &st) && S_ISSOCK(st.st_mode) && st.st_uid == geteuid() &&
	       !unlink(at->sun_path);
}

/* The mode that the socket has before it has a name is that of its file: no one else connects. */
void steer_listen(struct steer *s)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int failed;

	memcpy(at.sun_path, s->path, sizeof at.sun_path);
	s->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listen_fd < 0 || fchmod(s->listen_fd, 0600))
		refuse(s, strerror(errno));
	failed = bind(s->listen_fd, (struct sockaddr *)&at, sizeof at);
	if (failed && errno == EADDRINUSE) {
		if (!remove_stale(&at))
			refuse(s, "something else is there");
		failed = bind(s->listen_fd, (struct sockaddr *)&at, sizeof at);
	}
	if (failed || listen(s->listen_fd, STEER_CLIENTS))
		refuse(s, strerror(errno));
	cmi_remove_at_end(s->node->machine, s->path);
}
