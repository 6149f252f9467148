/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeper.c: the process of a host that keeps the images of its nodes. ckrun starts it by the
 * launcher that starts the nodes. It does what ckrun says, and ends when ckrun's connection does,
 * however ckrun ends.
 */
#include "keeper.h"
#include "../launch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { CALL_MS = 3000, SHAKE_S = 10, STACK = 256 << 10, LOST = 1 };

/* ---- threads ------------------------------------------------------------------------------- */

void keeper_wait(struct keeper *k, int ms)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += ms * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&k->changed, &k->lock, &until);
}

static bool start_thread(void *(*serve)(void *), void *arg)
{
	pthread_attr_t a;
	pthread_t t;
	bool ok;

	pthread_attr_init(&a);
	pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&a, STACK);
	ok = !pthread_create(&t, &a, serve, arg);
	pthread_attr_destroy(&a);
	return ok;
}

bool keeper_line_start(struct keeper_line **list, struct keeper *k, int fd,
		       void *(*serve)(void *line))
{
	struct keeper_line *line = malloc(sizeof *line);

	if (line)
		*line = (struct keeper_line){
			.k = k, .next = *list, .link = { .fd = fd }, .process = -1, .peer = -1,
			.run = k->run,
		};
	if (line && start_thread(serve, line)) {
		*list = line;
		return true;
	}
	free(line);
	close(fd);
	return false;
}

void keeper_line_end(struct keeper_line **list, struct keeper_line *line)
{
	struct keeper *k = line->k;

	pthread_mutex_lock(&k->lock);
	while (*list != line)
		list = &(*list)->next;
	*list = line->next;
	keeper_close(&line->link);
	if (line->process >= 0)
		close(line->process);
	free(line);
	pthread_cond_broadcast(&k->changed);
	pthread_mutex_unlock(&k->lock);
}

/* ---- ckrun --------------------------------------------------------------------------------- */

/** What KEEPER_VARIABLE says. */
struct keeper_given {
	char key[33], wire[8], host[KEEPER_NAME];
	unsigned port;
	struct sockaddr_storage at[KEEPER_ADDRESSES];
	int n;
	bool refused;            /* somebody there saw no proof that we are of the job, or gave none */
};

static bool take_address(struct keeper_given *g, const char *text)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)g->port) };
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons((uint16_t)g->port) };

	if (g->n == KEEPER_ADDRESSES)
		return true;
	if (inet_pton(AF_INET, text, &four.sin_addr) == 1)
		memcpy(&g->at[g->n++], &four, sizeof four);
	else if (inet_pton(AF_INET6, text, &six.sin6_addr) == 1)
		memcpy(&g->at[g->n++], &six, sizeof six);
	else
		return false;
	return true;
}

static bool read_given(struct keeper *k, struct keeper_given *g)
{
	const char *text = getenv(KEEPER_VARIABLE);
	unsigned long long a, b;
	char address[64];
	int used = 0;

	if (!text ||
	    sscanf(text, "%63s %32s %7s %u %255s%n", k->name, g->key, g->wire, &g->port, g->host,
		   &used) != 5 ||
	    sscanf(g->key, "%16llx%16llx", &a, &b) != 2)
		return false;
	keeper_secret_open(&k->secret, (struct cmi_key128){ { a, b } }, !strcmp(g->wire, KEEPER_SEALED));
	for (text += used; sscanf(text, " %63s%n", address, &used) == 1; text += used)
		if (!take_address(g, address))
			return false;
	return g->n > 0;
}

/** Which of its addresses leads there is not known before. */
static bool reach(struct keeper *k, struct keeper_given *g)
{
	for (int i = 0; i < g->n; i++) {
		k->ckrun.fd = keeper_call(&g->at[i], CALL_MS);
		if (k->ckrun.fd < 0)
			continue;
		keeper_bound(k->ckrun.fd, SHAKE_S);
		if (keeper_greet(&k->ckrun, &k->secret, &k->hello)) {
			keeper_bound(k->ckrun.fd, 0);
			return true;
		}
		g->refused |= errno == EPERM;
		keeper_close(&k->ckrun);
	}
	return false;
}

/** Why there is no ckrun. */
static int not_reached(const struct keeper *k, const struct keeper_given *g)
{
	if (k->secret.seals && g->refused)
		return launch_wrong("keeper of images on %s: ckrun's host does not take it for one of this "
				    "job: CK_WIRE_KEY is another file here, or unset on one side (copy the "
				    "same file to all hosts), or somebody changed what they said",
				    k->hello.host);
	return launch_wrong("keeper of images on %s: ckrun's host does not answer, on port %u and %d "
			    "addresses", k->hello.host, g->port, g->n);
}

void keeper_tell(struct keeper *k, enum keeper_word word, uint32_t start, const char *text)
{
	struct keeper_say say = { .word = word, .start = start };

	snprintf(say.text, sizeof say.text, "%s", text);
	pthread_mutex_lock(&k->say_lock);
	keeper_send(&k->ckrun, &say, sizeof say);
	pthread_mutex_unlock(&k->say_lock);
}

void keeper_warn(struct keeper *k, const struct keeper_link *l, const char *sender)
{
	char text[IMAGE_KEEPER_TEXT];
	bool is_new;

	if (!l->spoiled)
		return;
	pthread_mutex_lock(&k->lock);
	is_new = !k->warned;
	k->warned = true;
	pthread_mutex_unlock(&k->lock);
	snprintf(text, sizeof text, "what the keeper of images on host %.80s received from %.80s %s",
		 k->hello.host, sender, keeper_not_opened);
	if (is_new)
		keeper_tell(k, KEEPER_WARN, 0, text);
}

/* ---- STOP ---------------------------------------------------------------------------------- */

/* Relaxed, here and below: no node runs. */
static uint64_t read_relaxed(const _Atomic uint64_t *from)
{
	return atomic_load_explicit(from, memory_order_relaxed);
}

static void write_relaxed(_Atomic uint64_t *to, uint64_t value)
{
	atomic_store_explicit(to, value, memory_order_relaxed);
}

/** The checkpoint of the page, and the one before: its information is there until the next is
 * being committed, which a later time shows. */
static void list_committed(const struct image_page *page, struct keeper_info info[IMAGE_SLOTS])
{
	const uint64_t s = atomic_load_explicit(&page->committed, memory_order_acquire);

	if (!s)
		return;
	info[0] = (struct keeper_info){ s, page->info[s % IMAGE_SLOTS] };
	info[1] = (struct keeper_info){ s - 1, page->info[(s - 1) % IMAGE_SLOTS] };
	if (!info[1].info.n_nodes || info[1].info.at_ns >= info[0].info.at_ns ||
	    info[1].info.job != info[0].info.job)
		info[1].sequence = 0;
}

static void note_deaths(struct keeper *k, struct keeper_state *s)
{
	struct image_since *since = &k->own.page->since;

	s->now_ns = keeper_now_ns();
	image_since_died(since, s->info[0].sequence ? s->info[0].info.at_ns : 0, s->now_ns);
	s->since = (struct keeper_since){
		.up_ns = read_relaxed(&since->up_ns), .died_ns = read_relaxed(&since->died_ns),
		.lost_ns = read_relaxed(&since->lost_ns), .down_ns = read_relaxed(&since->down_ns),
	};
}

static void stop(struct keeper *k)
{
	struct keeper_state s = { 0 };
	struct keeper_image *list = NULL;
	const struct keeper_say say = { .word = KEEPER_STOPPED };

	pthread_mutex_lock(&k->lock);
	k->runs = false;
	pthread_mutex_unlock(&k->lock);
	s.left = keeper_nodes_kill(k);
	keeper_peers_end(k);
	list_committed(k->own.page, s.info);
	pthread_mutex_lock(&k->lock);
	memcpy(s.info + IMAGE_SLOTS, k->mirrored, sizeof k->mirrored);
	pthread_mutex_unlock(&k->lock);
	note_deaths(k, &s);
	list = keeper_list(&k->own, false, list, &s.n_images);
	list = keeper_list(&k->mirror, true, list, &s.n_images);
	pthread_mutex_lock(&k->say_lock);
	if (keeper_send(&k->ckrun, &say, sizeof say) && keeper_send(&k->ckrun, &s, sizeof s) && list)
		keeper_send(&k->ckrun, list, s.n_images * sizeof *list);
	pthread_mutex_unlock(&k->say_lock);
	free(list);
}

/* ---- START --------------------------------------------------------------------------------- */

/** With the lock. No node has the page now. */
static void set_page(struct keeper *k)
{
	const uint64_t ours = keeper_now_ns(), theirs = k->start.now_ns;
	const struct keeper_since s = keeper_since_here(k->start.since, theirs, ours);
	struct keeper_info from = k->start.from;
	struct image_page *page = k->own.page;

	from.info.at_ns = keeper_time(from.info.at_ns, theirs, ours);
	memset(page->info, 0, sizeof page->info);
	page->info[from.sequence % IMAGE_SLOTS] = from.info;
	write_relaxed(&page->committed, from.sequence);
	write_relaxed(&page->restarts, k->start.restarts);
	memset(&page->talk, 0, sizeof page->talk);
	write_relaxed(&page->since.up_ns, s.up_ns);
	write_relaxed(&page->since.died_ns, s.died_ns);
	write_relaxed(&page->since.lost_ns, s.lost_ns);
	write_relaxed(&page->since.down_ns, s.down_ns);
}

/** With the lock: take what follows the word. False: ckrun's connection is broken. */
static bool take_start(struct keeper *k)
{
	struct keeper_start *s = &k->start;

	free(k->peers);
	free(k->places);
	free(k->here);
	k->peers = NULL;
	k->places = NULL;
	k->here = NULL;
	if (!keeper_take(&k->ckrun, s, sizeof *s))
		return false;
	k->peers = launch_must_have(calloc(s->n_peers, sizeof *k->peers), "the keepers");
	k->places = launch_must_have(calloc(s->n_nodes, sizeof *k->places), "the nodes");
	k->here = launch_must_have(calloc(s->n_nodes, sizeof *k->here), "the nodes");
	k->n_here = s->n_nodes;
	return keeper_take(&k->ckrun, k->peers, s->n_peers * sizeof *k->peers) &&
	       keeper_take(&k->ckrun, k->places, s->n_nodes * sizeof *k->places);
}

/** False: ckrun's connection is broken. */
static bool start(struct keeper *k)
{
	const struct keeper_say say = { .word = KEEPER_READY };
	bool *here, ok;

	pthread_mutex_lock(&k->lock);
	here = k->here; /* until the images are tidied */
	k->here = NULL;
	const uint32_t n = k->n_here;
	ok = take_start(k);
	if (ok) {
		bool *now = k->here;

		k->here = here;
		k->n_here = n;
		keeper_tidy_start(k, k->start.from.sequence);
		k->here = now;
		k->n_here = k->start.n_nodes;
		keeper_copies_drop(k);
		set_page(k);
		k->runs = true;
		k->deaf = -1;
		k->warned = false;
		k->run++;
	}
	free(here);
	pthread_mutex_unlock(&k->lock);
	return ok && keeper_send(&k->ckrun, &say, sizeof say);
}

/* ---- the process --------------------------------------------------------------------------- */

static void set_neighbour(struct keeper *k, int32_t neighbour)
{
	pthread_mutex_lock(&k->lock);
	k->start.mirror = neighbour;
	pthread_mutex_unlock(&k->lock);
}

/** False: there is no such word, or ckrun's connection is broken. */
static bool serve_word(struct keeper *k, const struct keeper_say *say)
{
	switch (say->word) {
	case KEEPER_STOP:
		stop(k);
		return true;
	case KEEPER_NEIGHBOUR:
		set_neighbour(k, say->neighbour);
		return true;
	case KEEPER_START:
		return start(k);
	default:
		return false;
	}
}

static void serve_ckrun(struct keeper *k)
{
	struct keeper_say say;

	while (keeper_take(&k->ckrun, &say, sizeof say) && serve_word(k, &say))
		;
	keeper_warn(k, &k->ckrun, "ckrun");
}

/** Nothing but what is needed to say who we are. */
static int open_all(struct keeper *k)
{
	struct image_why why = { "" };
	uint16_t port = 0;

	if (!image_memory_make(&k->own, &why) || !image_memory_make(&k->mirror, &why))
		return launch_wrong("keeper of images on %s: %s", k->hello.host, why.text);
	k->peers_fd = keeper_listen(&port);
	k->hello.port = port;
	if (k->peers_fd < 0)
		return launch_wrong("keeper of images on %s: cannot listen: %s", k->hello.host, strerror(errno));
	if (!keeper_nodes_listen(k)) {
		if (errno != EADDRINUSE)
			return launch_wrong("keeper of images on %s: cannot listen for nodes: %s", k->hello.host,
					    strerror(errno));
		k->hello.idle = 1; /* and nobody calls */
		close(k->peers_fd);
	}
	return -1;
}

static void name_host(struct keeper *k, const struct keeper_given *g)
{
	const char *of_slurm = getenv("SLURMD_NODENAME");

	gethostname(k->hello.host, sizeof k->hello.host - 1);
	snprintf(k->hello.name, sizeof k->hello.name, "%s",
		 strcmp(g->host, "-") ? g->host : of_slurm ? of_slurm : k->hello.host);
}

/** Signals are for the nodes. Neither the launcher's end (SIGTERM) nor the terminal's ends a keeper
 * before ckrun does. */
static void ignore_signals(void)
{
	static const int all[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		signal(all[i], SIG_IGN);
}

/** Each node has two connections, and three descriptors of us. */
static void raise_files(void)
{
	struct rlimit l;

	if (!getrlimit(RLIMIT_NOFILE, &l)) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

int keeper_main(void)
{
	static struct keeper k = {
		.ckrun = { .fd = -1 }, .lock = PTHREAD_MUTEX_INITIALIZER, .say_lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};
	struct keeper_given given = { .n = 0 };

	prctl(PR_SET_NAME, "ckrun-keeper");
	if (!read_given(&k, &given))
		return launch_wrong(KEEPER_OPTION " is for ckrun's own use");
	unsetenv(KEEPER_VARIABLE);
	ignore_signals();
	raise_files();
	name_host(&k, &given);
	if (open_all(&k) >= 0)
		return LOST;
	if (!reach(&k, &given))
		return not_reached(&k, &given);
	if (k.hello.idle ||
	    (start_thread(keeper_nodes_serve, &k) && start_thread(keeper_notes_serve, &k) &&
	     start_thread(keeper_peers_serve, &k)))
		serve_ckrun(&k);
	/* Whoever still copies ends with us; so do nodes whose keeper is gone, by themselves. */
	return 0;
}
