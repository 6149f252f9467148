/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keepers.c: --replace on several hosts with images in memory: ckrun and the keepers of its hosts
 * (keeper/). It has them started by the launcher that starts the nodes, once for the whole job.
 * When nodes die, it stops all of them, and tells them how the job goes on.
 *
 * ckrun waits here, with bounds, while no node runs. A signal and --timeout end the job then, too.
 */
#include "launch.h"
#include "keeper/keeper_choose.h"
#include "../runtime/machine/filter/wire_key.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	COME_MS = 30000,      /* in which a keeper must have come */
	STOP_MS = 25000,      /* to kill its nodes; it gives up before */
	LOST_MS = 1000,       /* the same, on a host that is lost to the nodes */
	END_MS = 3000,        /* in which their launchers must end */
	NEWS_MS = 2000,
	SLICE_MS = 50,
	CALLERS = 64,
	NAMES = 40,
};

/** One that has come. */
struct keeper_of_host {
	struct keeper_link link; /* fd is -1: it is lost */
	struct keeper_hello hello;
	struct sockaddr_storage at; /* where other keepers reach it */
};

/** A launcher that starts keepers. */
struct keeper_launcher {
	pid_t pid;               /* 0: it has ended */
	int status;
	int out;                 /* what it prints */
	int n;                   /* keepers */
	char host[KEEPER_NAME];  /* "": several */
};

/** Somebody who calls, until he has proved to be a keeper. */
struct caller {
	struct keeper_link link; /* fd is -1: nobody */
	struct keeper_greeting greeting;
};

struct launch_keepers {
	char name[NAMES];        /* of the nodes' socket, with @ */
	struct cmi_key128 key;   /* as the keepers get it */
	struct keeper_secret secret;
	int listen_fd;
	uint16_t port;
	struct keeper_of_host *list;
	struct keeper_report *reports; /* of each */
	uint32_t n;
	struct keeper_launcher *launchers;
	int n_launchers;
	struct caller callers[CALLERS];
	struct keeper_choice choice;
	char said[IMAGE_KEEPER_TEXT]; /* by a keeper, for the user; "": nothing */
	int64_t lost_ms;         /* when one of them was last */
};

static const char WHAT[] = "the keepers";

static struct launch_keepers *of(const struct launch_job *job)
{
	return launch_again_keepers(&job->o);
}

/* ---- before the first start ---------------------------------------------------------------- */

struct launch_keepers *launch_keepers_new(void)
{
	struct launch_keepers *s = launch_must_have(calloc(1, sizeof(*s)), WHAT);
	uint64_t random[2];

	s->listen_fd = -1;
	for (int i = 0; i < CALLERS; i++)
		s->callers[i].link.fd = -1;
	if (getrandom(random, sizeof(random), 0) != sizeof(random) ||
	    getrandom(&s->key, sizeof(s->key), 0) != sizeof(s->key))
		launch_must_have(NULL, "random numbers");
	keeper_secret_open(&s->secret, s->key, wire_seals());
	snprintf(s->name, sizeof(s->name), "@ckrun-%016llx%016llx", (unsigned long long)random[0],
		 (unsigned long long)random[1]);
	return s;
}

const char *launch_keepers_name(const struct launch_keepers *s)
{
	return s->name;
}

/** Append the host's addresses that are, or are not, of itself alone. */
static void add_addresses(char *text, size_t cap, const struct ifaddrs *all, bool loopback)
{
	char address[INET6_ADDRSTRLEN];

	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		const int family = i->ifa_addr ? i->ifa_addr->sa_family : AF_UNSPEC;
		const struct sockaddr_in6 *six = (const void *)i->ifa_addr;
		const struct sockaddr_in *four = (const void *)i->ifa_addr;
		const size_t used = strlen(text);

		if ((family != AF_INET && family != AF_INET6) || !(i->ifa_flags & IFF_UP) ||
		    !(i->ifa_flags & IFF_LOOPBACK) == loopback ||
		    (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr)))
			continue;
		const void *at = family == AF_INET6 ? (const void *)&six->sin6_addr : &four->sin_addr;

		if (inet_ntop(family, at, address, sizeof(address)))
			snprintf(text + used, cap - used, " %s", address);
	}
}

void launch_addresses(char *text, size_t cap)
{
	struct ifaddrs *all = NULL;

	if (getifaddrs(&all))
		return;
	add_addresses(text, cap, all, false);
	add_addresses(text, cap, all, true);
	freeifaddrs(all);
}

/** Tell a launcher's keepers where we are. In the child. */
static void set_given(const struct launch_keepers *s, const char *host)
{
	char text[4096];

	snprintf(text, sizeof(text), "%s %016llx%016llx %s %u %s", s->name + 1,
		 (unsigned long long)s->key.k[0], (unsigned long long)s->key.k[1],
		 s->secret.seals ? KEEPER_SEALED : KEEPER_PLAIN, s->port, host[0] ? host : "-");
	launch_addresses(text, sizeof(text));
	if (setenv(KEEPER_VARIABLE, text, true))
		_exit(1);
}

_Noreturn static void run_launcher(const struct launch_job *job, const struct keeper_launcher *l,
				   char **line, pid_t ckrun)
{
	const int null = open("/dev/null", O_RDONLY);

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != ckrun)
		_exit(1);
	setpgid(0, 0);
	dup2(null, STDIN_FILENO);
	dup2(l->out, STDOUT_FILENO);
	dup2(l->out, STDERR_FILENO);
	set_given(of(job), l->host);
	launch_spawn_restore(job);
	execvp(line[0], line);
	dprintf(STDERR_FILENO, "cannot start %s: %s\n", line[0], strerror(errno));
	_exit(127);
}

/** Start `n` keepers by this line, which is freed. */
static void start_launcher(struct launch_job *job, char **line, const char *host, int n)
{
	struct launch_keepers *s = of(job);
	const pid_t ckrun = getpid();
	struct keeper_launcher *l;

	s->launchers = launch_must_have(realloc(s->launchers, (size_t)(s->n_launchers + 1) *
						sizeof(*s->launchers)), WHAT);
	l = &s->launchers[s->n_launchers++];
	*l = (struct keeper_launcher){ .out = memfd_create("keepers", MFD_CLOEXEC), .n = n };
	fcntl(l->out, F_SETFL, O_APPEND);
	snprintf(l->host, sizeof(l->host), "%s", host);
	if (job->o.verbose)
		launch_delegate_say(job, line);
	l->pid = fork();
	if (l->pid == 0)
		run_launcher(job, l, line, ckrun);
	launch_delegate_line_free(line);
}

static void start_launchers(struct launch_job *job)
{
	char host[KEEPER_NAME], **line;
	int n;

	for (int i = 0; (line = launch_delegate_keeper(&job->o, i, NULL, host, sizeof(host), &n)); i++)
		start_launcher(job, line, host, n);
}

/* ---- keepers come -------------------------------------------------------------------------- */

static void add_keeper(struct launch_keepers *s, const struct keeper_link *l,
		       const struct keeper_hello *hello)
{
	struct keeper_of_host k = { .link = *l, .hello = *hello };
	socklen_t n = sizeof(k.at);

	keeper_watch(l->fd);
	getpeername(l->fd, (struct sockaddr *)&k.at, &n);
	if (k.at.ss_family == AF_INET6)
		((struct sockaddr_in6 *)(void *)&k.at)->sin6_port = htons((uint16_t)hello->port);
	else
		((struct sockaddr_in *)(void *)&k.at)->sin_port = htons((uint16_t)hello->port);
	s->list = launch_must_have(realloc(s->list, (s->n + 1) * sizeof(*s->list)), WHAT);
	s->reports = launch_must_have(realloc(s->reports, (s->n + 1) * sizeof(*s->reports)), WHAT);
	s->reports[s->n] = (struct keeper_report){ 0 };
	s->list[s->n++] = k;
}

static void accept_caller(struct launch_keepers *s)
{
	const int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC);

	for (int i = 0; fd >= 0 && i < CALLERS; i++)
		if (s->callers[i].link.fd < 0) {
			s->callers[i].link.fd = fd;
			if (!keeper_challenge(&s->callers[i].link, &s->secret, &s->callers[i].greeting))
				keeper_close(&s->callers[i].link);
			return;
		}
	if (fd >= 0)
		close(fd);
}

/** What has been said so far; until it is all there nothing is taken. */
static void hear_caller(struct launch_keepers *s, struct caller *c)
{
	struct keeper_hello hello;
	const int rc = keeper_take_now(&c->link, &hello, sizeof(hello));

	if (rc == 0)
		return;
	if (rc > 0 && keeper_welcome(&c->link, &s->secret, &c->greeting, &hello))
		add_keeper(s, &c->link, &hello);
	else
		keeper_close(&c->link);
	explicit_bzero(c->greeting.secret_key, sizeof(c->greeting.secret_key));
	c->link = (struct keeper_link){ .fd = -1 };
}

/** Take what comes within a slice of time. */
static void hear_callers(struct launch_keepers *s)
{
	struct pollfd p[1 + CALLERS];

	p[0] = (struct pollfd){ .fd = s->listen_fd, .events = POLLIN };
	for (int i = 0; i < CALLERS; i++)
		p[1 + i] = (struct pollfd){ .fd = s->callers[i].link.fd, .events = POLLIN };
	if (poll(p, 1 + CALLERS, SLICE_MS) <= 0)
		return;
	for (int i = 0; i < CALLERS; i++)
		if (p[1 + i].revents)
			hear_caller(s, &s->callers[i]);
	if (p[0].revents)
		accept_caller(s);
}

static void stop_listening(struct launch_keepers *s)
{
	for (int i = 0; i < CALLERS; i++)
		keeper_close(&s->callers[i].link);
	if (s->listen_fd >= 0)
		close(s->listen_fd);
	s->listen_fd = -1;
}

static bool is_called(const struct keeper_of_host *k, const char *host)
{
	return launch_same_host(k->hello.name, host) || launch_same_host(k->hello.host, host);
}

/** How many of those that it has started have come. */
static int n_come(const struct launch_keepers *s, const struct keeper_launcher *l)
{
	int n = 0;

	for (uint32_t i = 0; i < s->n; i++)
		n += s->list[i].link.fd >= 0 && (!l->host[0] || !strcmp(s->list[i].hello.name, l->host));
	return n;
}

static bool has_ended(struct keeper_launcher *l)
{
	if (l->pid > 0 && waitpid(l->pid, &l->status, WNOHANG) == l->pid)
		l->pid = 0;
	return l->pid == 0;
}

bool launch_keepers_reaped(struct launch_job *job, pid_t pid, int status)
{
	struct launch_keepers *s = of(job);

	for (int i = 0; s && i < s->n_launchers; i++)
		if (s->launchers[i].pid == pid) {
			s->launchers[i].pid = 0;
			s->launchers[i].status = status;
			return true;
		}
	return false;
}

/** The last line that a keeper has printed, or else its launcher; "" if there is none. */
static void last_line(const struct keeper_launcher *l, char *text, size_t cap)
{
	char all[4096], *rest = all;
	const off_t most = sizeof(all) - 1, size = lseek(l->out, 0, SEEK_END);
	const ssize_t n = size > 0 ? pread(l->out, all, (size_t)most, size > most ? size - most : 0) : 0;
	const char *last = "", *own = NULL;

	all[n > 0 ? n : 0] = '\0';
	for (char *line; (line = strtok_r(rest, "\r\n", &rest));) {
		if (line[strspn(line, " ")])
			last = line;
		if (!strncmp(line, "ckrun: ", 7) || !strncmp(line, "chard: ", 7))
			own = line;
	}
	snprintf(text, cap, "%s%.400s", last[0] ? ": " : "", own ? own : last);
}

/** What is said of keepers that do not come. */
static void describe_missing(const struct launch_job *job, const struct keeper_launcher *l,
			     char *text, size_t cap)
{
	char said[512], what[KEEPER_NAME + 64];

	last_line(l, said, sizeof(said));
	if (l->host[0])
		snprintf(what, sizeof(what), "no keeper of images has come from host %s", l->host);
	else
		snprintf(what, sizeof(what), "keepers of images have come from %d of %d hosts",
			 n_come(of(job), l), l->n);
	if (l->pid)
		snprintf(text, cap, "%s within %d s%s", what, COME_MS / 1000, said);
	else
		snprintf(text, cap, "%s, and %s has ended%s", what, job->o.delegate, said);
}

/** The first whose keepers have not all come; NULL: all have. Or the job has been ended. */
static struct keeper_launcher *await_all(struct launch_job *job, int first)
{
	struct launch_keepers *s = of(job);
	const int64_t until = launch_now_ms() + COME_MS;

	for (;;) {
		struct keeper_launcher *waits = NULL;
		bool ended = false;

		hear_callers(s);
		for (int i = first; i < s->n_launchers && !ended; i++)
			if (n_come(s, &s->launchers[i]) < s->launchers[i].n) {
				waits = &s->launchers[i];
				ended = has_ended(waits);
			}
		if (!waits || ended || launch_now_ms() >= until || launch_signals_end(job))
			return waits;
	}
}

static bool listen_for_keepers(struct launch_job *job)
{
	struct launch_keepers *s = of(job);

	s->listen_fd = keeper_listen(&s->port);
	if (s->listen_fd < 0)
		launch_job_end(job, 1, 0, NULL, "cannot listen for the keepers of images: %s; nothing is started",
			       strerror(errno));
	return s->listen_fd >= 0;
}

bool launch_keepers_start(struct launch_job *job)
{
	const struct keeper_launcher *missing;
	char text[900];

	if (!listen_for_keepers(job))
		return false;
	start_launchers(job);
	missing = await_all(job, 0);
	stop_listening(of(job));
	if (!missing)
		return launch_keepers_go(job);
	describe_missing(job, missing, text, sizeof(text));
	launch_job_end(job, 1, 0, NULL, "%s; the job is ended", text);
	return false;
}

/* ---- words --------------------------------------------------------------------------------- */

static void lose(struct launch_job *job, uint32_t i)
{
	struct launch_keepers *s = of(job);

	if (s->list[i].link.spoiled)
		launch_say(job, "what ckrun received from the keeper of images on host %s %s",
			   s->list[i].hello.host, keeper_not_opened);
	keeper_close(&s->list[i].link);
	s->reports[i].answers = false;
	free(s->reports[i].images);
	s->reports[i].images = NULL;
}

static bool serves(const struct launch_keepers *s, uint32_t i)
{
	return s->list[i].link.fd >= 0 && !s->list[i].hello.idle;
}

/** A node's, which the keeper hands on. */
static void hear_word(struct launch_job *job, const struct keeper_say *say)
{
	char text[IMAGE_KEEPER_TEXT];

	snprintf(text, sizeof(text), "%.*s", IMAGE_KEEPER_TEXT - 1, say->text);
	if (say->word == KEEPER_CAME)
		launch_again_came(&job->o, say->start);
	else if (say->word == KEEPER_MET || say->word == KEEPER_NOTE)
		launch_again_noted(&job->o, say->start, say->word == KEEPER_MET ? NULL : text);
	else if (say->word == KEEPER_WARN)
		launch_say(job, "%s", text);
	else if (say->word == KEEPER_SAY)
		snprintf(of(job)->said, sizeof(of(job)->said), "%s", text);
}

/** The next one on another host; -1: there is none. */
static int32_t neighbour(const struct launch_job *job, uint32_t me)
{
	const struct launch_keepers *s = of(job);

	for (uint32_t k = 1; k < s->n; k++) {
		const uint32_t i = (me + k) % s->n;

		if (serves(s, i) && !launch_again_lost(&job->o, s->list[i].hello.name) &&
		    !launch_again_lost(&job->o, s->list[i].hello.host))
			return (int32_t)i;
	}
	return -1;
}

/** One of them is lost, and another takes its place. A word that does not arrive is no loss: the
 * keeper is lost, too. */
static void send_neighbours(struct launch_job *job)
{
	struct launch_keepers *s = of(job);

	for (uint32_t i = 0; i < s->n; i++) {
		const struct keeper_say say = { .word = KEEPER_NEIGHBOUR, .neighbour = neighbour(job, i) };

		if (serves(s, i))
			keeper_send(&s->list[i].link, &say, sizeof(say));
	}
}

/** What a keeper says of another one that is lost is no news. */
static void pass_on(struct launch_job *job)
{
	struct launch_keepers *s = of(job);

	if (s->said[0] && launch_now_ms() - s->lost_ms >= NEWS_MS)
		launch_say(job, "%s", s->said);
	s->said[0] = '\0';
}

void launch_keepers_read(struct launch_job *job)
{
	struct launch_keepers *s = of(job);
	struct keeper_say say;
	int rc = 0;

	for (uint32_t i = 0; s && i < s->n; i++) {
		while (s->list[i].link.fd >= 0 &&
		       (rc = keeper_take_now(&s->list[i].link, &say, sizeof(say))) > 0)
			hear_word(job, &say);
		if (s->list[i].link.fd < 0 || rc == 0)
			continue;
		if (serves(s, i))
			launch_say(job, "the keeper of images on host %s is lost, and with it the images there; the job "
				   "goes on without", s->list[i].hello.host);
		lose(job, i);
		s->lost_ms = launch_now_ms();
		send_neighbours(job);
	}
	if (s)
		pass_on(job);
}

enum heard { HEARD, BROKEN, INTERRUPTED };

/** Wait for this word; others are heard meanwhile. */
static enum heard await_word(struct launch_job *job, uint32_t i, enum keeper_word word,
			     int64_t until)
{
	struct keeper_link *l = &of(job)->list[i].link;
	struct keeper_say say;

	for (;;) {
		struct pollfd p = { .fd = l->fd, .events = POLLIN };
		int rc;

		while ((rc = keeper_take_now(l, &say, sizeof(say))) > 0) {
			if (say.word == word)
				return HEARD;
			hear_word(job, &say);
		}
		if (rc < 0 || launch_now_ms() >= until)
			return BROKEN;
		if (launch_signals_end(job))
			return INTERRUPTED;
		poll(&p, 1, SLICE_MS);
	}
}

/* ---- STOP ---------------------------------------------------------------------------------- */

/** What follows STOPPED. */
static bool take_report(struct launch_keepers *s, uint32_t i)
{
	struct keeper_report *r = &s->reports[i];
	struct keeper_link *l = &s->list[i].link;
	bool ok;

	free(r->images);
	r->images = NULL;
	keeper_bound(l->fd, KEEPER_SILENT_S);
	ok = keeper_take(l, &r->state, sizeof(r->state));
	r->heard_ns = launch_now_ns();
	if (ok && r->state.n_images) {
		r->images = launch_must_have(malloc(r->state.n_images * sizeof(*r->images)), "the images");
		ok = keeper_take(l, r->images, r->state.n_images * sizeof(*r->images));
	}
	keeper_bound(l->fd, 0);
	return r->answers = ok;
}

/** Ask those on lost hosts, or the others. False: interrupted. */
static bool hear_reports(struct launch_job *job, const char *lost_host, bool lost, int ms)
{
	struct launch_keepers *s = of(job);
	const int64_t until = launch_now_ms() + ms;

	for (uint32_t i = 0; i < s->n; i++) {
		if (!serves(s, i) || is_called(&s->list[i], lost_host) != lost)
			continue;
		const enum heard heard = await_word(job, i, KEEPER_STOPPED, until);

		if (heard == INTERRUPTED)
			return false;
		if (heard == BROKEN || !take_report(s, i))
			lose(job, i);
	}
	return true;
}

static uint32_t n_left(const struct launch_keepers *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n; i++)
		n += s->reports[i].answers ? s->reports[i].state.left : 0;
	return n;
}

bool launch_keepers_stop(struct launch_job *job)
{
	const struct keeper_say say = { .word = KEEPER_STOP };
	struct launch_keepers *s = of(job);
	const char *lost;

	for (uint32_t i = 0; i < s->n; i++)
		if (serves(s, i) && !keeper_send(&s->list[i].link, &say, sizeof(say)))
			lose(job, i);
	/* What the others say may name the lost host. */
	lost = launch_again_lost_host(&job->o);
	if (!hear_reports(job, lost, false, STOP_MS))
		return false;
	if (!hear_reports(job, launch_again_lost_host(&job->o), true, LOST_MS))
		return false;
	keeper_choose(&s->choice, s->reports, s->n);
	if (n_left(s))
		launch_job_end(job, 1, 0, NULL, "the nodes were killed, but %u are still there; the job is "
			       "ended", n_left(s));
	return !n_left(s);
}

const struct keeper_choice *launch_keepers_choice(const struct launch_keepers *s)
{
	return &s->choice;
}

/* ---- START --------------------------------------------------------------------------------- */

static bool send_start(const struct launch_job *job, uint32_t i,
		       const struct sockaddr_storage *peers)
{
	const struct launch_keepers *s = of(job);
	struct keeper_link *l = &s->list[i].link;
	const struct keeper_say say = { .word = KEEPER_START };
	const uint32_t n_nodes = (uint32_t)(job->o.n_pes / job->o.ppn);
	struct keeper_place *none = NULL;
	const struct keeper_start start = {
		.now_ns = launch_now_ns(), .since = s->choice.since, .from = s->choice.from,
		.restarts = (uint64_t)job->n_replaced, .n_peers = s->n,
		.n_nodes = s->choice.from.sequence ? s->choice.from.info.n_nodes : n_nodes, .me = i,
		.mirror = neighbour(job, i),
	};
	bool ok;

	if (!s->choice.places)
		none = launch_must_have(calloc(n_nodes, sizeof(*none)), "the nodes");
	ok = keeper_send(l, &say, sizeof(say)) && keeper_send(l, &start, sizeof(start)) &&
	     keeper_send(l, peers, s->n * sizeof(*peers)) &&
	     keeper_send(l, none ? none : s->choice.places, start.n_nodes * sizeof(*none));
	free(none);
	return ok;
}

/** Tell all. False: one of them is lost (it is no more in the list), or interrupted. */
static bool start_all(struct launch_job *job, bool *interrupted)
{
	struct launch_keepers *s = of(job);
	struct sockaddr_storage *peers = launch_must_have(calloc(s->n, sizeof(*peers)), WHAT);
	const int64_t until = launch_now_ms() + STOP_MS;
	bool ok = true;

	for (uint32_t i = 0; i < s->n; i++)
		peers[i] = s->list[i].at;
	for (uint32_t i = 0; i < s->n; i++)
		if (serves(s, i) && !send_start(job, i, peers)) {
			lose(job, i);
			ok = false;
		}
	for (uint32_t i = 0; i < s->n && !*interrupted; i++) {
		const enum heard heard = serves(s, i) ? await_word(job, i, KEEPER_READY, until) : HEARD;

		*interrupted = heard == INTERRUPTED;
		if (heard != BROKEN)
			continue;
		lose(job, i);
		ok = false;
	}
	free(peers);
	return ok && !*interrupted;
}

/** Whether nodes may come to the host of this keeper, which is lost. */
static bool needs_another(const struct launch_job *job, const struct keeper_of_host *k)
{
	return k->link.fd < 0 && !k->hello.idle && !launch_again_lost(&job->o, k->hello.name) &&
	       !launch_again_lost(&job->o, k->hello.host);
}

/** A host without a keeper gets another. If none comes, the host is lost. */
static bool renew_one(struct launch_job *job, struct keeper_of_host *k)
{
	struct launch_keepers *s = of(job);
	char host[KEEPER_NAME], name[KEEPER_NAME], text[900], **line;
	struct keeper_launcher *missing = NULL;
	int n;

	snprintf(name, sizeof(name), "%s", k->hello.name);
	k->hello.idle = 1; /* its successor serves the host */
	line = launch_delegate_keeper(&job->o, 0, name, host, sizeof(host), &n);
	if (line && !listen_for_keepers(job))
		return false;
	if (line) {
		start_launcher(job, line, host, n);
		missing = await_all(job, s->n_launchers - 1);
	}
	stop_listening(s);
	if (!missing || job->phase == LAUNCH_ENDING || job->phase == LAUNCH_KILLED)
		return !missing;
	describe_missing(job, missing, text, sizeof(text));
	return launch_again_leave_out(job, name, text);
}

static bool renew(struct launch_job *job)
{
	struct launch_keepers *s = of(job);
	const uint32_t n = s->n;

	for (uint32_t i = 0; i < n; i++)
		if (needs_another(job, &s->list[i]) && !renew_one(job, &s->list[i]))
			return false;
	return true;
}

bool launch_keepers_go(struct launch_job *job)
{
	bool interrupted = false;

	for (;;) {
		if (!renew(job))
			return false;
		if (start_all(job, &interrupted))
			return true;
		if (interrupted || !launch_keepers_stop(job))
			return false;
		if (launch_again_can(job))
			continue;
		return false;
	}
}

/* ---- the end ------------------------------------------------------------------------------- */

static bool all_have_ended(struct launch_keepers *s)
{
	bool all = true;

	for (int i = 0; i < s->n_launchers; i++)
		all &= has_ended(&s->launchers[i]);
	return all;
}

static void await_end(struct launch_keepers *s, int ms)
{
	const int64_t until = launch_now_ms() + ms;

	while (!all_have_ended(s) && launch_now_ms() < until)
		poll(NULL, 0, 5);
}

static void signal_launchers(struct launch_keepers *s, int sig)
{
	for (int i = 0; i < s->n_launchers; i++)
		if (s->launchers[i].pid > 0)
			kill(-s->launchers[i].pid, sig);
}

void launch_keepers_end(struct launch_keepers *s)
{
	stop_listening(s);
	for (uint32_t i = 0; i < s->n; i++) {
		keeper_close(&s->list[i].link);
		free(s->reports[i].images);
	}
	await_end(s, END_MS);
	signal_launchers(s, SIGTERM);
	await_end(s, END_MS / 3);
	signal_launchers(s, SIGKILL);
	await_end(s, END_MS / 3);
	for (int i = 0; i < s->n_launchers; i++)
		close(s->launchers[i].out);
	keeper_choice_fini(&s->choice);
	free(s->list);
	free(s->reports);
	free(s->launchers);
	free(s);
}
