/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pulse.c: see pulse.h. Main opens and closes; in between the thread owns all state, except
 * `wanted`.
 */
#include "pulse.h"
#include "../host_watch.h"
#include "../traffic.h"

#include <arpa/inet.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../tools/clock.h"
#include "../../base/cmi_alloc.h"
#include "../../base/cmi_env.h"
#include "../../base/cmi_note.h"
#include "../../start/host_names.h"
#include "../../base/die.h"
#include "machine_int.h"
#include "pulse_net.h"
#include "pulse_seen.h"
#include "../../base/say.h"

enum { DEFAULT_S = 30, MOST_S = 1000000 };

/* Questions in CK_PEER_TIMEOUT. A link counts as lost from the first unanswered question on, so
 * that time is accurate to a 64th; and a loaded network may drop some. Twice as many are
 * remembered. */
enum { ASKED_TIMES = 64, ASKED_KEPT = 2 * ASKED_TIMES };

/* Of a time in which this thread had no core, at most this much counts: nothing is known about
 * it. */
enum { AGED_MOST = 4 }; /* times the time between two questions */

/* Until a neighbour has answered once it is asked more often, for this long. All nodes start at
 * about the same time, so an answer takes as long as a packet does. */
static const uint64_t GREET_NS = 1000 * 1000 * 1000, GREET_EVERY_NS = 20 * 1000 * 1000;

/* Extra time, or the time between two questions if that is longer, for the answer of a node that
 * was silent for CK_PEER_TIMEOUT. Meanwhile the nodes that miss one tell each other, and the lowest
 * prints the line. The others end when they hear of it; otherwise they print it themselves after
 * MUTE_NS: the lowest may have had its answer, or be unreachable. */
static const uint64_t GRACE_NS = 100 * 1000 * 1000, MUTE_NS = 2ull * 1000 * 1000 * 1000;

/* Of two nodes that miss each other only the lower is sure to print for both, as no packet passes
 * between them. The other one waits this long for the launcher to end it. */
static const uint64_t LATER_NS = 1000 * 1000 * 1000;

/* A line needs this long to reach the launcher once it has been read from the pipe, for which we
 * wait READ_MOST_US at most. The launcher discards what comes after the end. */
enum { SPEAK_US = 100 * 1000, READ_MOST_US = 1000 * 1000, READ_LOOK_US = 1000 };

/* A bit of `wanted` for each of our devices that a connection uses, and one for the connection. */
enum { WANTED = 0x80 };
_Static_assert(PULSE_RAILS <= 7, "bits of wanted");

/** A node that we ask. */
struct peer {
	int node;
	bool warned; /* that it has never answered */
	uint64_t since_ns;
	uint64_t lost_ns;            /* since when it counts as lost; 0: it does not */
	uint64_t heard[PULSE_RAILS]; /* the last question that it has answered, by number; 0: none */
	uint64_t heard_ns[PULSE_RAILS]; /* when that answer came */
};

struct pulse {
	struct cmi *m;
	uint64_t patience_ns; /* CK_PEER_TIMEOUT */
	struct pulse_net net;
	struct pulse_name mine;
	struct pulse_rail *rail; /* [n_nodes][PULSE_RAILS] */
	struct peer *peer;       /* [n_peers] */
	int n_peers, n_room;
	int *peer_of;            /* [n_nodes], -1: we do not ask it */
	unsigned char *left;     /* [n_nodes], it has left in good order */
	unsigned char *asks;     /* [n_nodes], it has asked us */
	/* [n_nodes], WANTED and devices. PEs set bits, the thread reads them at its next turn. Relaxed: no
	 * other data depends on it. */
	_Atomic unsigned char *wanted;
	uint64_t turn_ns;        /* begin of the last turn, and of the last questions to all */
	uint64_t asked_ns;
	uint64_t age_ns;         /* the time that counts: this thread had a core */
	uint64_t n_asked;        /* questions to all; they have numbers from 1 on */
	uint64_t asked_age[ASKED_KEPT]; /* of the last ones, by number */
	struct traffic_sent *sent; /* [n_nodes], and what has come from there; in a sealed job */
	struct traffic_due *due;
	bool said;               /* the warning about nodes that never answer is printed; one is enough */
	int claimed;             /* the lowest node that claims that one is lost, and when; see
				  * lowest_claim */
	uint64_t claimed_ns;
	struct pulse_seen seen;
	int end_fd;              /* main writes it, when the thread is to end */
	pthread_t thread;
	bool running;
};

/* ---- who is asked -------------------------------------------------------------------- */

static void add_peer(struct pulse *p, int node)
{
	if (node == p->m->job.node || p->peer_of[node] >= 0)
		return;
	if (p->n_peers == p->n_room) {
		p->n_room = 2 * p->n_room + 4;
		p->peer = cmi_realloc(p->peer, (size_t)p->n_room, sizeof *p->peer, "heartbeats");
	}
	p->peer_of[node] = p->n_peers;
	p->peer[p->n_peers++] = (struct peer){.node = node, .since_ns = machine_now_ns()};
}

static void add_tree(struct pulse *p)
{
	const int node = p->m->job.node, n = p->m->job.n_nodes;

	if (node > 0)
		add_peer(p, (node - 1) / 2);
	for (int child = 2 * node + 1; child <= 2 * node + 2 && child < n; child++)
		add_peer(p, child);
}

static unsigned pulse_wanted(const struct pulse *p, int node)
{
	return atomic_load_explicit(&p->wanted[node], memory_order_relaxed);
}

static void add_wanted(struct pulse *p)
{
	for (int node = 0; node < p->m->job.n_nodes; node++)
		if (pulse_wanted(p, node))
			add_peer(p, node);
}

/* UCX prints "tcp/eth0", followed by a number or a blank. */
static bool names_device(const char *lanes, const char *device)
{
	char name[IFNAMSIZ + 4] = "tcp/";
	size_t n;

	strcat(name, device);
	n = strlen(name);
	for (const char *at = lanes; (at = strstr(at, name)); at += n)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", at[n]))
			return true;
	return false;
}

void pulse_watch(struct cmi *m, int node, const char *lanes)
{
	struct pulse *p = m->pulse;
	unsigned char bits = WANTED;

	if (!p)
		return;
	for (int i = 0; i < p->net.n; i++)
		if (names_device(lanes, p->net.at[i].device))
			bits |= (unsigned char)(1 << i);
	atomic_fetch_or_explicit(&p->wanted[node], bits, memory_order_relaxed);
}

/* ---- packets --------------------------------------------------------------------------- */

static const struct pulse_rail *rails_of(const struct pulse *p, int node)
{
	return p->rail + (size_t)node * PULSE_RAILS;
}

static uint32_t frames_to(struct pulse *p, int node)
{
	const struct cmi *m = p->m;

	return m->traffic ? traffic_told(&p->sent[node], traffic_out(m, node), traffic_quiet_ns(m),
					 machine_now_ns())
			  : 0;
}

static void send_to(struct pulse *p, int node, enum pulse_kind kind, int about, uint64_t stamp)
{
	const uint32_t frames = kind == PULSE_ASK ? frames_to(p, node) : 0;

	for (int r = 0; r < PULSE_RAILS; r++) {
		const struct pulse_rail *to = &rails_of(p, node)[r];
		int way = pulse_net_way(&p->net, to);
		struct pulse_packet q = {.kind = (uint8_t)kind, .rail = (uint8_t)r, .to = node, .about = about,
					 .frames = frames, .stamp = stamp};

		if (way >= 0)
			pulse_net_send(&p->net, way, to, &q);
	}
}

static void send_to_peers(struct pulse *p, enum pulse_kind kind, int about, uint64_t stamp)
{
	for (int i = 0; i < p->n_peers; i++)
		if (!p->left[p->peer[i].node])
			send_to(p, p->peer[i].node, kind, about, stamp);
}

/** Another node has reported the loss. All nodes that we ask are told, and we end. */
static _Noreturn void follow(struct pulse *p, int about)
{
	send_to_peers(p, PULSE_LOST, about, 0);
	die_quietly(p->m, 1);
}

/** The lowest node that is about to report; INT_MAX: none. A claim without a report is
 * forgotten. */
static int lowest_claim(const struct pulse *p)
{
	return machine_now_ns() - p->claimed_ns > MUTE_NS ? INT_MAX : p->claimed;
}

/** Tell the others of the lowest claim known. */
static void claim(struct pulse *p, int claimer, int about)
{
	if (claimer < 0 || claimer >= lowest_claim(p))
		return;
	p->claimed = claimer;
	p->claimed_ns = machine_now_ns();
	send_to_peers(p, PULSE_CLAIM, about, (uint64_t)claimer);
}

static void answered(struct pulse *p, const struct pulse_packet *q)
{
	struct peer *peer = p->peer_of[q->from] >= 0 ? &p->peer[p->peer_of[q->from]] : NULL;

	if (!peer || q->rail >= PULSE_RAILS || q->stamp <= peer->heard[q->rail])
		return;
	peer->heard[q->rail] = q->stamp;
	peer->heard_ns[q->rail] = machine_now_ns();
}

static void take_packet(struct pulse *p, int way, struct pulse_wire *wire, size_t more,
			const struct pulse_rail *from)
{
	struct pulse_packet *q = &wire->head;
	struct pulse_packet a = {.kind = PULSE_HERE, .rail = q->rail, .to = q->from, .stamp = q->stamp};

	if (q->from < 0 || q->from >= p->m->job.n_nodes)
		return;
	switch ((enum pulse_kind)q->kind) {
	case PULSE_ASK:
		p->asks[q->from] = 1;
		p->due[q->from].told = q->frames;
		pulse_net_send(&p->net, way, from, &a);
		break;
	case PULSE_HERE:
		answered(p, q);
		break;
	case PULSE_CLAIM:
		claim(p, (int)(q->stamp & INT_MAX), q->about);
		break;
	case PULSE_LOST:
		follow(p, q->about);
	case PULSE_BYE:
		p->left[q->from] = 1;
		break;
	case PULSE_LOOK:
		pulse_seen_answer(&p->seen, p->m, &p->net, way, from, q);
		break;
	case PULSE_SEEN:
		pulse_seen_came(&p->seen, p->m, wire, more);
		break;
	}
}

static void take_packets(struct pulse *p)
{
	struct pulse_wire q;
	struct pulse_rail from;
	size_t more;

	for (int way = 0; way < p->net.n; way++)
		while (pulse_net_receive(&p->net, way, &q, &more, &from))
			take_packet(p, way, &q, more, &from);
}

/** Sleep until a packet comes, the thread is to end, or the time is over. */
static bool pulse_nap(struct pulse *p, uint64_t ns)
{
	struct pollfd fds[PULSE_RAILS + 1] = {{.fd = p->end_fd, .events = POLLIN}};
	const struct timespec t = { .tv_sec = (time_t)(ns / 1000000000u),
				    .tv_nsec = (long)(ns % 1000000000u) };

	for (int i = 0; i < p->net.n; i++)
		fds[1 + i] = (struct pollfd){.fd = p->net.at[i].fd, .events = POLLIN};
	return ppoll(fds, 1 + (nfds_t)p->net.n, &t, NULL) <= 0 || !fds[0].revents;
}

/* ---- the verdict ------------------------------------------------------------------------ */

static void print_time(uint64_t heard_ns, char *text, size_t cap)
{
	time_t then = time(NULL) - (time_t)((machine_now_ns() - heard_ns) / 1000000000u);
	struct tm t;

	if (!localtime_r(&then, &t) || !strftime(text, cap, "%H:%M:%S", &t))
		text[0] = 0;
}

/** Whether UCX uses this rail, as far as it has told us. */
static bool in_use(const struct pulse *p, const struct peer *peer, int rail)
{
	int way = pulse_net_way(&p->net, &rails_of(p, peer->node)[rail]);

	return way >= 0 && pulse_wanted(p, peer->node) & 1u << way;
}

static void say_lost(const struct pulse *p, const struct peer *peer, int rail, bool others)
{
	const struct cmi_job *j = &p->m->job;
	char at[16], address[64], over[160] = "its host is down or stopped, or the link to it is cut";

	print_time(peer->heard_ns[rail], at, sizeof at);
	if (others) {
		pulse_net_print(&rails_of(p, peer->node)[rail], address, sizeof address);
		snprintf(
			over, sizeof over,
			"the link to %s is cut; it answers over another one, but UCX uses this one",
			address);
	}
	machine_say("node %d on %s: no sign of life from node %d on %s for %.1f s, the last at %s: %s "
		    "(CK_PEER_TIMEOUT=%d)",
		    j->node, host_name(p->m, j->node), peer->node, host_name(p->m, peer->node),
		    (double)(machine_now_ns() - peer->heard_ns[rail]) / 1e9, at, over,
		    (int)(p->patience_ns / 1000000000u));
}

/** Wait until the launcher has read our line, if it reads from a pipe. */
static void wait_for_reader(void)
{
	struct stat st;
	bool pipe = fstat(STDERR_FILENO, &st) == 0 && S_ISFIFO(st.st_mode);
	int unread = 0;

	for (int waited = 0; pipe && waited < READ_MOST_US; waited += READ_LOOK_US) {
		if (ioctl(STDERR_FILENO, FIONREAD, &unread) || unread == 0)
			break;
		usleep(READ_LOOK_US);
	}
	usleep(SPEAK_US);
}

static _Noreturn void pulse_end_job(struct pulse *p, const struct peer *peer, int rail, bool others)
{
	say_lost(p, peer, rail, others);
	cmi_note_end(CMI_NOTE_LOST, peer->node, host_name(p->m, peer->node));
	wait_for_reader();
	follow(p, peer->node);
}

/** It has never answered, so nothing is known: a firewall would look the same. The launcher bounds
 * the start-up, and the job may well run. */
static void warn(struct pulse *p, struct peer *peer)
{
	char address[64];

	peer->warned = true;
	if (p->said)
		return;
	p->said = true;
	pulse_net_print(rails_of(p, peer->node), address, sizeof address);
	machine_say(
		"node %d on %s: node %d on %s answers no heartbeat (UDP to %s port %d: a firewall?); "
		"if its host is "
		"lost, the job may hang (CK_PEER_TIMEOUT=0 sends none)",
		p->m->job.node, host_name(p->m, p->m->job.node), peer->node,
		host_name(p->m, peer->node), address, rails_of(p, peer->node)->port);
}

/** How long a rail that has answered once has been silent: since the first question after the last
 * one that it answered. */
static uint64_t silent_for(const struct pulse *p, const struct peer *peer, int rail)
{
	uint64_t first = peer->heard[rail] + 1;

	if (first + ASKED_KEPT <= p->n_asked)
		first = p->n_asked - ASKED_KEPT + 1;
	return first > p->n_asked ? 0 : p->age_ns - p->asked_age[first % ASKED_KEPT];
}

/** Whether a node is silent: on all rails, or on one over which UCX sends to it. *rail_p: the rail
 * to report. */
static bool is_silent(const struct pulse *p, const struct peer *peer, int *rail_p, bool *others_p)
{
	int newest = -1, used = -1;

	*others_p = false;
	for (int r = 0; r < PULSE_RAILS; r++) {
		if (!peer->heard[r])
			continue;
		if (newest < 0 || peer->heard[r] > peer->heard[newest])
			newest = r;
		if (silent_for(p, peer, r) <= p->patience_ns)
			*others_p = true;
		else if (in_use(p, peer, r))
			used = r;
	}
	*rail_p = *others_p ? used : newest;
	return *rail_p >= 0;
}

/** How much longer a silent node may take to answer. */
static uint64_t grace(const struct pulse *p, const struct peer *peer, uint64_t every_ns)
{
	const int me = p->m->job.node;
	uint64_t ns = every_ns > GRACE_NS ? every_ns : GRACE_NS;

	if (peer->node < me)
		ns += LATER_NS;
	if (lowest_claim(p) < me)
		ns += MUTE_NS;
	return ns;
}

/** Each check starts afresh, so a node that answers after all is not lost. */
static void judge_peer(struct pulse *p, struct peer *peer, uint64_t every_ns)
{
	const uint64_t now = machine_now_ns();
	int rail;
	bool others;

	if (!is_silent(p, peer, &rail, &others)) {
		peer->lost_ns = 0;
		if (!others && !peer->warned && now - peer->since_ns > p->patience_ns)
			warn(p, peer);
		return;
	}
	if (!peer->lost_ns) {
		peer->lost_ns = now;
		claim(p, p->m->job.node, peer->node);
	}
	if (now - peer->lost_ns >= grace(p, peer, every_ns))
		pulse_end_job(p, peer, rail, others);
}

/* Its heartbeats come, and frames that it has sent do not. */
static _Noreturn void end_job_without_frames(struct pulse *p, int node, uint64_t ns)
{
	const struct cmi *m = p->m;
	const struct traffic_due *d = &p->due[node];

	machine_say("node %d on %s: of the frames that node %d on %s sent, %u have not come for %.0f s, "
		    "though it lives: somebody changed on their way what UCX reads of them, or the network "
		    "lets heartbeats through and no TCP; see who can reach the network between these hosts",
		    m->job.node, host_name(m, m->job.node), node, host_name(m, node),
		    d->told - d->came, (double)ns / 1e9);
	wait_for_reader();
	follow(p, node);
}

/* TCP sends a lost packet again and again, at growing intervals, so that takes longer than a
 * heartbeat. */
enum { FRAMES_TIMES = 4 };

static void judge_frames(struct pulse *p)
{
	const struct cmi *m = p->m;
	const uint64_t now = machine_now_ns();

	if (!m->traffic)
		return;
	for (int node = 0; node < m->job.n_nodes; node++) {
		const uint64_t ns =
			p->asks[node] && !p->left[node]
				? traffic_due_ns(&p->due[node], traffic_in(m, node),
						 traffic_quiet_ns(m), now)
				: 0;

		if (ns > FRAMES_TIMES * p->patience_ns)
			end_job_without_frames(p, node, ns);
	}
}

/* ---- turns ------------------------------------------------------------------------------ */

static void ask_peers(struct pulse *p, uint64_t now)
{
	p->asked_ns = now;
	p->n_asked++;
	p->asked_age[p->n_asked % ASKED_KEPT] = p->age_ns;
	send_to_peers(p, PULSE_ASK, -1, p->n_asked);
}

/** One turn. `every_ns` is the time between questions. Returns the time until the next turn. */
static uint64_t turn(struct pulse *p, uint64_t every_ns)
{
	const uint64_t most = AGED_MOST * every_ns;
	uint64_t now, gap;

	take_packets(p);
	now = machine_now_ns();
	gap = now - p->turn_ns;
	p->turn_ns = now;
	p->age_ns += gap < most ? gap : most;
	if (now - p->asked_ns < every_ns)
		return every_ns - (now - p->asked_ns);
	add_wanted(p);
	ask_peers(p, now);
	return every_ns;
}

static void *pulse_run(void *arg)
{
	struct pulse *p = arg;
	const uint64_t every_ns = p->patience_ns / ASKED_TIMES;
	uint64_t left;

	do {
		left = turn(p, every_ns);
		for (int i = 0; i < p->n_peers; i++)
			if (!p->left[p->peer[i].node])
				judge_peer(p, &p->peer[i], every_ns);
		judge_frames(p);
	} while (pulse_nap(p, left));
	return NULL;
}

static bool all_heard(const struct pulse *p)
{
	for (int i = 0; i < p->n_peers; i++) {
		bool heard = false;

		for (int r = 0; r < PULSE_RAILS; r++)
			heard |= p->peer[i].heard[r] != 0;
		if (!heard)
			return false;
	}
	return true;
}

static void pulse_greet(struct pulse *p)
{
	const uint64_t end = machine_now_ns() + GREET_NS;

	p->turn_ns = machine_now_ns();
	while (turn(p, GREET_EVERY_NS), !all_heard(p) && machine_now_ns() < end)
		pulse_nap(p, GREET_EVERY_NS);
}

/* ---- what is seen on other hosts ---------------------------------------------------------- */

/* On one rail: it need not be sure. */
static void ask_first(const struct pulse *p, int node, uint64_t stamp)
{
	for (int r = 0; r < PULSE_RAILS; r++) {
		const struct pulse_rail *to = &rails_of(p, node)[r];
		const int way = pulse_net_way(&p->net, to);
		struct pulse_packet q = {.kind = PULSE_LOOK, .rail = (uint8_t)r, .to = node, .stamp = stamp};

		if (way < 0)
			continue;
		pulse_net_send(&p->net, way, to, &q);
		return;
	}
}

/* Any thread: the sockets may be written by two. */
static void pulse_look(struct cmi *m)
{
	struct pulse *p = m->pulse;
	uint64_t stamp;

	if (!p)
		return;
	pthread_mutex_lock(&p->seen.lock);
	stamp = ++p->seen.asked;
	pthread_mutex_unlock(&p->seen.lock);
	for (int node = 0; node < m->job.n_nodes; node++)
		if (m->job.host_id[node] != m->job.host_id[m->job.node] &&
		    pulse_seen_first(m, node) == node)
			ask_first(p, node, stamp);
}

static uint64_t pulse_seen(struct cmi *m, int node, char *to)
{
	return m->pulse ? pulse_seen_last(&m->pulse->seen, m, node, to) : 0;
}

/* ---- begin and end ------------------------------------------------------------------------ */

void pulse_open(struct cmi *m)
{
	const int64_t s = cmi_env_number("CK_PEER_TIMEOUT", DEFAULT_S, 0, MOST_S);
	const size_t n = (size_t)m->job.n_nodes;
	struct pulse *p;

	if (s == 0 || !spans_hosts(m))
		return;
	p = m->pulse = cmi_alloc_zero(1, sizeof *p, "heartbeats");
	p->m = m;
	p->patience_ns = (uint64_t)s * 1000000000u;
	p->claimed = INT_MAX;
	p->rail = cmi_alloc_zero(n * PULSE_RAILS, sizeof *p->rail, "heartbeats");
	p->peer_of = cmi_alloc_zero(n, sizeof *p->peer_of, "heartbeats");
	p->left = cmi_alloc_zero(n, sizeof *p->left, "heartbeats");
	p->asks = cmi_alloc_zero(n, sizeof *p->asks, "heartbeats");
	p->wanted = cmi_alloc_zero(n, sizeof *p->wanted, "heartbeats");
	p->sent = cmi_alloc_zero(n, sizeof *p->sent, "heartbeats");
	p->due = cmi_alloc_zero(n, sizeof *p->due, "heartbeats");
	memset(p->peer_of, -1, n * sizeof *p->peer_of);
	pulse_seen_open(&p->seen, m->job.n_nodes);
	p->end_fd = eventfd(0, EFD_CLOEXEC);
	pulse_net_open(&p->net, m->job.node, &p->mine);
}

/* Zeroes when there is no pulse. */
static void pulse_describe(const struct cmi *m, struct pulse_name *name_p)
{
	memset(name_p, 0, sizeof *name_p);
	if (m->pulse)
		*name_p = m->pulse->mine;
}

void pulse_learn(struct cmi *m, int node, const struct pulse_name *name)
{
	struct pulse *p = m->pulse;

	if (!p)
		return;
	memcpy(p->rail + (size_t)node * PULSE_RAILS, name->rail, sizeof name->rail);
}

void pulse_start(struct cmi *m)
{
	struct pulse *p = m->pulse;
	sigset_t all, before;

	if (!p)
		return;
	p->net.key = m->key;
	add_tree(p);
	pulse_greet(p);
	/* Signals are for the PEs' threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	p->running = pthread_create(&p->thread, NULL, pulse_run, p) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!p->running)
		machine_die(
			m,
			"node %d cannot start the thread of its heartbeat; raise the limit on threads (ulimit -u), "
			"or go without (CK_PEER_TIMEOUT=0)",
			m->job.node);
}

unsigned *pulse_addresses(const struct cmi *m, size_t *n_p)
{
	const size_t most = (size_t)m->job.n_nodes * PULSE_RAILS;
	unsigned *address = cmi_alloc(most * sizeof *address, "heartbeats");
	uint32_t a;

	*n_p = 0;
	for (size_t i = 0; i < most; i++)
		if (m->pulse->rail[i].family == 4) {
			memcpy(&a, m->pulse->rail[i].bytes, sizeof a);
			address[(*n_p)++] = ntohl(a);
		}
	return address;
}

static void say_bye(struct pulse *p)
{
	for (int node = 0; node < p->m->job.n_nodes; node++)
		if (p->asks[node] && !p->left[node])
			send_to(p, node, PULSE_BYE, -1, 0);
}

void pulse_close(struct cmi *m)
{
	struct pulse *p = m->pulse;
	const uint64_t one = 1;

	if (!p)
		return;
	m->pulse = NULL;
	if (p->running && write(p->end_fd, &one, sizeof one) == sizeof one) {
		pthread_join(p->thread, NULL);
		say_bye(p);
	}
	pulse_net_close(&p->net);
	close(p->end_fd);
	pulse_seen_close(&p->seen, m->job.n_nodes);
	free(p->rail);
	free(p->peer);
	free(p->peer_of);
	free(p->left);
	free(p->asks);
	free(p->wanted);
	free(p->sent);
	free(p->due);
	free(p);
}

const struct host_watch pulse_host_watch = {
	.open = pulse_open,
	.describe = pulse_describe,
	.learn = pulse_learn,
	.start = pulse_start,
	.close = pulse_close,
	.connected = pulse_watch,
	.look = pulse_look,
	.seen = pulse_seen,
};
