/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.c: open and close a node's machine, choose the back end, and pass each call of cmi.h on
 * to it.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "bind.h"
#include "boot/boot.h"
#include "boot/launcher.h"
#include "base/frames.h"
#include "base/cmi_alloc.h"
#include "base/cmi_env.h"
#include "base/cmi_note.h"
#include "exchange.h"
#include "filter/filter.h"
#include "base/die.h"
#include "alive/fault.h"
#include "base/job.h"
#include "start/loop_net.h"
#include "machine_int.h"
#include "rooms.gen.h"
#include "start/host_names.h"
#include "start/meet.h"
#include "shm/near.h"
#include "alive/host_watch.h"
#include "alive/process.h"
#include "alive/traffic.h"
#include "alive/seen.h"
#include "base/say.h"
#include "shm/share.h"
#include "tools/clock.h"
#include "local/wake.h"

/* ---- opening ---------------------------------------------------------------------- */

/* The networks of rooms.list, then the back ends without a network. */
#define ADDRESS(ops) &ops,
static const struct cmi_ops *const back_ends[] = { NETWORK(ADDRESS) ADDRESS(loop_ops) };
static const struct host_watch *const host_watches[] = { HOST_WATCH(ADDRESS) NULL };
static const struct filters_room *const filters_rooms[] = { FILTERS(ADDRESS) NULL };
static const struct launcher *const launchers[] = { LAUNCHER(ADDRESS) NULL };

/** A network under a launcher, loopback without one; CK_MACHINE overrides that, for tests;
 * *asked_p: whether it does. A library without any network uses the memory of one host
 * (host_ops). */
static void choose_ops(struct cmi *m, bool *asked_p)
{
	enum { BACK_ENDS = sizeof back_ends / sizeof *back_ends };
	const char *names[BACK_ENDS];

	for (int i = 0; i < BACK_ENDS; i++)
		names[i] = back_ends[i]->name;
	const int n_nodes = boot_size(m->boot);
	const int asked = cmi_env_word("CK_MACHINE", names, BACK_ENDS, -1);

	*asked_p = asked >= 0;
	if (*asked_p)
		m->ops = back_ends[asked];
	else
		m->ops = boot_alone(m->boot) ? &loop_ops : BACK_ENDS > 1 ? back_ends[0] : &host_ops;
	if (m->ops == &loop_ops && n_nodes > 1)
		cmi_env_refuse("CK_MACHINE", loop_ops.name,
			       "ucx in a job of several nodes: loopback has no network");
}

static int copy_options(struct cmi *m, const struct cmi_options *o)
{
	if (o->n_pes < 1 || o->n_pes > UINT16_MAX) {
		machine_say("a node cannot have %d PEs; use 1 to %d", o->n_pes, UINT16_MAX);
		return -EINVAL;
	}
	m->o = *o;
	m->wire = cmi_alloc_zero((size_t)o->n_pes, sizeof *m->wire, "PEs");
	return 0;
}

/** Free the machine's plain memory. */
static void machine_free(struct cmi *m)
{
	if (m->filters)
		m->filters_room->close(m);
	traffic_close(m); /* heartbeats have read it */
	bind_close(m);
	exchange_free(m);
	share_close(m);
	free(m->wire);
	free(m);
}

/** Whether messages between nodes of one host go through shared memory. CK_SHARE=0 leaves them to
 * UCX, and so does a user who names UCX's transports. */
static bool share_wanted(void)
{
	return cmi_env_flag("CK_SHARE", !getenv("UCX_TLS"));
}

/** Whether all nodes reach each other through the memory of one host. */
static bool needs_no_network(const struct cmi *m)
{
	return !spans_hosts(m) && share_whole(m);
}

/** In a loopback net the job becomes known in cmi_connect, so that one thread may open all nodes.
 * The nodes of a shared net must know it before they open their wires. */
static int join_net(struct cmi *m)
{
	int rc = share_open(m, m->o.net->shared);

	m->ops = &loop_ops;
	if (!rc)
		rc = loop_net_join(m->o.net, m->o.loop_rank, m);
	if (rc || !m->o.net->shared)
		return rc;
	rc = exchange_hosts(m);
	if (rc)
		return rc;
	if (!needs_no_network(m))
		return -EIO;
	m->ops = &host_ops;
	bind_open(m);
	return 0;
}

static int refuse_network(void)
{
	machine_say("this library has been built without a network, so all nodes must be on one "
		    "host and share memory: use one that has the room ucx, or start the program "
		    "there, with CK_SHARE=1 and without UCX_TLS");
	return -ENOTCONN;
}

/** Join the job and learn who is in it. */
static int join_job(struct cmi *m)
{
	bool asked;
	int rc;

	if (m->o.net)
		return join_net(m);
	m->ask_end = boot_abort;
	rc = m->o.boot ? boot_host_init(m->o.boot, &m->boot) : boot_init(launchers, &m->boot);
	if (rc)
		return rc;
	choose_ops(m, &asked);
	rc = share_open(m, share_wanted() && m->ops != &loop_ops);
	if (rc)
		return rc;
	rc = exchange_hosts(m);
	if (rc)
		return rc;
	if (m->ops != &loop_ops && !asked && needs_no_network(m))
		m->ops = &host_ops;
	else if (m->ops == &host_ops)
		return refuse_network();
	bind_open(m);
	return 0;
}

/** What the network carries, and not the memory of the host, is squeezed and sealed. */
static int open_filters(struct cmi *m)
{
	const bool network = m->ops != &host_ops && m->job.n_nodes > 1;

	if (!cmi_env_text("CK_WIRE"))
		return 0;
	if (!m->filters_room) {
		machine_say("CK_WIRE is set, and this library has been built without the room filter");
		return -ENOTSUP;
	}
	m->filters_room->open(m, network);
	return 0;
}

int cmi_open(const struct cmi_options *o, const struct cmi_client *client, struct cmi **m_p)
{
	struct cmi *m = cmi_alloc_zero(1, sizeof *m, "start-up");
	int rc;

	if (!o->net) /* signals belong to the process: not if it has several nodes */
		fault_let_signals_end_us();
	frames_check_wish();
	cmi_note_open();
	m->client = *client;
	m->host_watches = host_watches;
	m->filters_room = filters_rooms[0];
	meet_open(m);
	atomic_init(&m->ender, 0);
	mem_arena_init(&m->arena);
	rc = copy_options(m, o);
	if (!rc)
		rc = join_job(m);
	if (!rc && m->job_known)
		rc = open_filters(m);
	if (!rc)
		rc = m->ops->open(m);
	if (rc) {
		/* No boot_finish: for the launcher this node has failed. Some launchers still wait for the
		 * others, which may be unreachable. A host program goes on. */
		if (m->boot && o->boot)
			boot_finish(m->boot);
		else if (m->boot && rc == -ETIMEDOUT)
			boot_abort(m->boot, 1);
		machine_free(m);
		return rc;
	}
	*m_p = m;
	return 0;
}

int cmi_pe_open(struct cmi *m, int local, void *owner, struct cmi_pe **w_p)
{
	struct cmi_pe *w;
	int rc;

	/* Before any memory is touched: first touch decides where pages lie. */
	if (m->job_known)
		bind_thread(m, local);
	rc = m->ops->pe_open(m, &w);
	if (rc)
		return rc;
	w->m = m;
	w->ops = m->ops;
	w->owner = owner;
	w->local = local;
	w->pe = m->job_known ? m->job.my_first_pe + local : -1;
	w->network = m->job_known && m->job.n_nodes > 1;
	rc = wake_open(w);
	w->wake_pipe = m->job_known ? share_pe_open(m, local) : -1;
	w->neighbour = m->job_known && m->boot ? neighbour_open(m, local) : (struct neighbour){.fd = -1};
	m->wire[local] = w; /* the back end's close frees it */
	if (rc)
		return rc;
	w->alt_stack = m->o.guest && local == 0 && !job_takes_signals(m) ? NULL : fault_stack_open();
	*w_p = w;
	return 0;
}

int cmi_connect(struct cmi *m, uint64_t fingerprint)
{
	int rc;

	if (!m->job_known) {
		rc = exchange_hosts(m);
		if (!rc)
			rc = open_filters(m);
		if (rc)
			return rc;
		bind_open(m);
		for (int i = 0; i < m->o.n_pes; i++) {
			m->wire[i]->pe = m->job.my_first_pe + i;
			m->wire[i]->network = m->job.n_nodes > 1;
		}
	}
	HOST_WATCHES(m, open, m);
	rc = exchange_wires(m, fingerprint);
	if (rc)
		return rc;
	HOST_WATCHES(m, start, m);
	/* Detects a link that is cut after the second meeting, but before the first heartbeat. */
	rc = spans_hosts(m) ? meet_fence(m) : 0;
	if (rc)
		return rc;
	HOST_WATCHES(m, started, m);
	share_connect(m);
	cmi_note_met(m->job.node);
	return 0;
}

int cmi_fence(struct cmi *m)
{
	return meet_fence(m);
}

void cmi_pe_close(struct cmi_pe *w)
{
	w->ops->pe_stop(w);
	process_pe_leaves();
	fault_stack_close(w->alt_stack);
	w->alt_stack = NULL;
}

void cmi_close(struct cmi *m)
{
	for (int i = 0; i < m->o.n_pes; i++)
		if (m->wire[i]) {
			wake_close(m->wire[i]);
			if (m->wire[i]->wake_pipe >= 0)
				close(m->wire[i]->wake_pipe);
			neighbour_close(&m->wire[i]->neighbour);
			share_pe_close(m->wire[i]);
		}
	if (m->filters)
		m->filters_room->close(m);
	m->ops->close(m); /* its last step is a fence: a node that is silent afterwards may have left */
	HOST_WATCHES(m, close, m);
	process_forget(m);
	if (m->boot)
		boot_finish(m->boot);
	machine_free(m);
}

const struct cmi_job *cmi_job(const struct cmi *m)
{
	return &m->job;
}

const char *cmi_name(const struct cmi *m)
{
	return m->ops->name;
}

/* ---- sending ---------------------------------------------------------------------- */

void cmi_send(struct cmi_pe *w, int dst_pe, struct cmi_msg *m)
{
	m->src_pe = w->pe;
	if (!w->share || !share_send(w, dst_pe, m))
		w->ops->send(w, dst_pe, m);
}

void cmi_flush(struct cmi_pe *w)
{
	w->ops->flush(w);
}

int cmi_progress(struct cmi_pe *w)
{
	/* Messages that came through shared memory go first; the network is polled when there are none,
	 * and every so often. Where all nodes share memory nothing is expected from the network, so it is
	 * always polled only every so often, which saves 4 % of a round trip. */
	enum { NETWORK_PERIOD = 16 };
	int n = share_progress(w);

	if ((n || w->all_shared) && ++w->n_skipped % NETWORK_PERIOD)
		return n;
	return n + w->ops->progress(w);
}

int cmi_progress_near(struct cmi_pe *w)
{
	return share_progress(w);
}

uint64_t cmi_pass(struct cmi_pe *w)
{
	return w->holds ? w->ops->pass(w) : 0;
}

int cmi_poll_period(const struct cmi_pe *w)
{
	return w->ops->poll_period(w);
}

int cmi_n_connections(const struct cmi_pe *w)
{
	return w->ops->n_connections(w);
}

bool cmi_wire_counts(const struct cmi_pe *w, struct cmi_wire_counts *counts_p)
{
	if (w->filter)
		*counts_p = *w->m->filters_room->counts(w);
	return w->filter;
}

bool cmi_has_network(const struct cmi_pe *w)
{
	return w->network;
}

void cmi_give_back(struct cmi *m, struct cmi_msg *msg)
{
	share_give_back(m, msg);
}

void *cmi_message_memory(struct cmi *m, size_t bytes)
{
	return share_alloc(m->share, bytes);
}

bool cmi_message_memory_back(struct cmi *m, void *p, size_t bytes)
{
	return share_back(m->share, p, bytes);
}

uint64_t cmi_shared_ref(const struct cmi_pe *w, int dst_pe, const void *p, size_t bytes)
{
	return share_ref(w->m->share, w->m->job.node_of[dst_pe], p, bytes);
}

const void *cmi_shared_ptr(const struct cmi *m, uint64_t ref)
{
	return share_ptr(m->share, ref);
}

bool cmi_shared_fits(const struct cmi *m, uint64_t ref, size_t bytes)
{
	return share_fits(m->share, ref, bytes);
}

uint64_t cmi_shared_name(const struct cmi_pe *w, const void *p, size_t bytes)
{
	return share_name_of(w->m->share, p, bytes);
}

void *cmi_shared_at(const struct cmi_pe *w, int pe, uint64_t name)
{
	return share_at(w->m->share, w->m->job.node_of[pe], name);
}

struct cmi_dial *cmi_dial(const struct cmi *m, int pe)
{
	return share_dial(m, pe);
}

void cmi_look(struct cmi *m, uint64_t until_ns)
{
	seen_want(m, until_ns);
	HOST_WATCHES(m, look, m);
}

size_t cmi_seen_bytes(const struct cmi *m, int node)
{
	return seen_bytes(m, node);
}

uint64_t cmi_seen(struct cmi *m, int node, char *to)
{
	if (m->job.host_id[node] == m->job.host_id[m->job.node]) {
		seen_here(m, to);
		return machine_now_ns();
	}
	for (const struct host_watch *const *hw = m->host_watches; *hw; hw++)
		if ((*hw)->seen)
			return (*hw)->seen(m, node, to);
	return 0;
}

const char *cmi_host_name(const struct cmi *m, int node)
{
	return host_name(m, node);
}

void cmi_show(const struct cmi_pe *w, const void *p)
{
	share_show(w, p);
}

void *cmi_shown(const struct cmi_pe *w, int pe)
{
	return share_shown(w, pe);
}

void cmi_release(struct cmi_pe *w, struct cmi_msg *m)
{
	w->ops->release(w, m);
}

/* The longest sleep that only others end. UCX 1.13 can lose a wake-up (ucx.c), and
 * share_sleep_begin may miss a message. 100 polls a second cost 0.03 % of a core, and a hang is
 * worse. */
enum { NETWORK_NAP_US = 10000 };

bool cmi_look_at_core(struct cmi_pe *w, uint64_t now_ns)
{
	return bind_look(w->m, w->local, now_ns);
}

void cmi_sleep(struct cmi_pe *w, int64_t timeout_us)
{
	struct pollfd fds[4] = {{.fd = w->wake_fd, .events = POLLIN},
				{.events = POLLIN},
				{.fd = w->wake_pipe, .events = POLLIN},
				{.fd = w->neighbour.fd, .events = POLLIN}};
	struct timespec t;
	int64_t most_us;

	if (!w->ops->arm(w, &fds[1].fd) || !share_sleep_begin(w))
		return;
	most_us = w->nap_us ? w->nap_us : NETWORK_NAP_US;
	if ((fds[1].fd >= 0 || w->share) && (timeout_us < 0 || timeout_us > most_us))
		timeout_us = most_us;
	t.tv_sec = timeout_us / 1000000;
	t.tv_nsec = timeout_us % 1000000 * 1000;
	if (ppoll(fds, 4, timeout_us < 0 ? NULL : &t, NULL) < 0)
		fds[0].revents = fds[3].revents = 0;
	share_sleep_end(w);
	if (w->filter)
		w->m->filters_room->idle(w);
	if (fds[0].revents)
		wake_forget(w);
	if (fds[3].revents || w->neighbour.seen_ns)
		neighbour_died(w);
}

/* ---- remote memory ---------------------------------------------------------------- */

struct cmi_remote *cmi_attach(struct cmi_pe *w, int pe, const struct cmi_key *key, uint64_t addr)
{
	struct cmi_remote *near;

	if (key->len == 0 || key->len > sizeof key->bytes)
		return NULL;
	near = near_attach(w, pe, key, addr);
	if (near || w->filter) /* a network that writes memory by itself passes no filter */
		return near;
	return w->ops->attach(w, pe, key, addr);
}

void cmi_detach(struct cmi_pe *w, struct cmi_remote *r)
{
	if (r->here)
		near_detach(r);
	else
		w->ops->detach(w, r);
}

void *cmi_remote_ptr(struct cmi_remote *r, uint64_t addr)
{
	return r->here ? near_ptr(r, addr) : r->w->ops->remote_ptr(r, addr);
}

bool cmi_remote_rma(const struct cmi_remote *r)
{
	return r->here || r->w->ops->remote_rma(r);
}

bool cmi_put(struct cmi_pe *w, struct cmi_remote *body, uint64_t body_addr, const void *src,
	     size_t bytes, struct cmi_remote *tail, uint64_t word_addr, uint64_t word,
	     struct cmi_op *op)
{
	op->w = w;
	op->pe = body->pe;
	op->tail = tail;
	op->tail_addr = word_addr;
	op->word = word;
	if (body->here)
		return near_put(body, body_addr, src, bytes, op);
	return w->ops->put(body, body_addr, src, bytes, op);
}

bool cmi_put_naive(struct cmi_pe *w, struct cmi_remote *body, uint64_t body_addr,
		   const void *src, size_t bytes, struct cmi_op *op)
{
	op->w = w;
	op->pe = body->pe;
	if (body->here)
		return near_put_naive(body, body_addr, src, bytes);
	return w->ops->put_naive(body, body_addr, src, bytes, op);
}

/* Memory that the host's processes share is not attached by a network. */
bool cmi_has_rma(const struct cmi_pe *w, int pe, bool emulated)
{
	return w->ops->has_rma && !w->filter && !share_reaches(w->m->share, w->m->job.node_of[pe]) &&
	       (emulated || w->ops->has_rma(w->m));
}

static void op_begin(struct cmi_pe *w, struct cmi_remote *r, struct cmi_op *op)
{
	op->w = w;
	op->pe = r->pe;
	op->tail = r;
	op->tail_addr = 0;
}

bool cmi_get(struct cmi_pe *w, struct cmi_remote *r, uint64_t addr, void *dst, size_t bytes,
	     struct cmi_op *op)
{
	op_begin(w, r, op);
	return w->ops->get(r, addr, dst, bytes, op);
}

bool cmi_write(struct cmi_pe *w, struct cmi_remote *r, uint64_t addr, const void *src, size_t bytes,
	       struct cmi_op *op)
{
	op_begin(w, r, op);
	return w->ops->put(r, addr, src, bytes, op);
}

bool cmi_atomic(struct cmi_pe *w, struct cmi_remote *r, uint64_t addr, enum cmi_atomic what,
		size_t bytes, uint64_t a, uint64_t b, void *old, struct cmi_op *op)
{
	op_begin(w, r, op);
	return w->ops->atomic(r, addr, what, bytes, a, b, old, op);
}

bool cmi_put_am(struct cmi_pe *w, int dst_pe, const struct cmi_put_head *h, const void *src,
		size_t bytes, struct cmi_op *op)
{
	op->w = w;
	op->pe = dst_pe;
	if (share_reaches(w->m->share, w->m->job.node_of[dst_pe]))
		return share_put_am(w, dst_pe, h, src, bytes);
	return w->ops->put_am(w, dst_pe, h, src, bytes, op);
}
