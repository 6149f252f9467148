/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ucx.c: the UCX back end's context and workers; its table of operations.
 *
 * A UCX variable that the user sets takes precedence; the settings here are defaults, each with its
 * reason. Written for UCX 1.13; nothing here depends on which of its two protocol engines
 * (UCX_PROTO_ENABLE) is on.
 */
#include "ucx_int.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/cmi_alloc.h"
#include "../base/cmi_env.h"
#include "../start/host_names.h"
#include "../start/meet.h"
#include "../base/say.h"
#include "../shm/share.h"

/* ---- settings ---------------------------------------------------------------------- */

/** ckrun makes, and removes, a folder for UCX's files where it knows that nodes may not share their
 * memory. Where a node only finds that out itself, because its mmap has failed, say, the folder's
 * name is empty, and files elsewhere would outlive a killed node. */
static bool files_would_stay(void)
{
	const char *folder = getenv("CK_UCX_DIR");

	return folder && !*folder;
}

/** Whether UCX may use its posix transport: where the user's UCX_TLS allows it; without UCX_TLS,
 * where nodes of this host cannot reach each other through their memory. */
static bool posix_is_possible(const struct cmi *m)
{
	static const char *const NAMES[] = {"posix", "sm", "shm", "all", "^"};
	const char *tls = getenv("UCX_TLS");

	for (size_t i = 0; tls && i < sizeof NAMES / sizeof *NAMES; i++)
		if (strstr(tls, NAMES[i]))
			return true;
	return !tls && !share_whole(m) && !files_would_stay() && !m->apart;
}

/** Without these settings UCX would fail later, so a failure to set one must be noticed. */
static void set_variable(const char *name, const char *value)
{
	if (setenv(name, value, 0))
		cmi_no_memory(strlen(name) + strlen(value), "UCX's settings");
}

/** Options of UCX's posix transport can only be set by the environment: in 1.13 ucp_config_modify
 * returns success without any effect. UCX warns of unused variables, so they are set only when
 * posix reads them. */
static void set_posix_options(const struct cmi *m)
{
	const char *folder = cmi_env_text("CK_UCX_DIR");

	if (!posix_is_possible(m))
		return;
	/* A node killed while UCX makes a file leaves it behind. The launcher removes this folder. */
	if (folder && access(folder, W_OK | X_OK))
		cmi_env_refuse("CK_UCX_DIR", folder, "a folder to write to");
	if (folder)
		set_variable("UCX_POSIX_DIR", folder);
	/* Segments of 32 KB: messages of 10 to 30 KB have fewer fragments and are twice as fast as with 8
	 * KB. Never 64 KB or more: UCX keeps the length in 16 bits and truncates messages. */
	set_variable("UCX_POSIX_SEG_SIZE", "32k");
	/* Receive buffers in small steps: a worker takes 0.5 MB instead of 4 MB. */
	set_variable("UCX_POSIX_RX_BUFS_GROW", "64");
	/* Without this a pair with error handling silently uses tcp, which is 10 times slower. */
	set_variable("UCX_POSIX_ERROR_HANDLING", "y");
}

/** Whether UCX will open its tcp transport; false if that is uncertain. */
static bool tcp_is_certain(const struct cmi *m)
{
	const char *tls = getenv("UCX_TLS"), *devices = getenv("UCX_NET_DEVICES");

	if (devices && strchr(devices, ':'))
		return false; /* a port of an RDMA device, and perhaps no other */
	if (!tls)
		return spans_hosts(m) || m->apart;
	return tls[0] == '^' ? !strstr(tls, "tcp") : strstr(tls, "tcp") || strstr(tls, "all");
}

/** The same for UCX's tcp transport. */
static void set_tcp_options(const struct cmi *m)
{
	/* What is larger than a segment takes several. With UCX's 64 KB such a segment is a little larger
	 * than the kernel's largest packet (GSO), and the excess becomes a packet of its own each time: 12
	 * % at 500 kB. 61 kB is the largest that is a single packet with Ethernet's usual MTU of 1500 and
	 * with 9000; two of them in a segment take 0.86 to 0.96 of the time from 100 kB on. */
	if (!tcp_is_certain(m))
		return;
	set_variable("UCX_TCP_RX_SEG_SIZE", "122k");
	/* Otherwise the PE stands still until the other host has answered: for a round trip each time, and
	 * for a second if the first packet is lost. */
	set_variable("UCX_TCP_CONN_NB", "y");
}

static int set_option(ucp_config_t *config, const char *name, const char *value)
{
	char variable[64];
	ucs_status_t status;

	snprintf(variable, sizeof variable, "UCX_%s", name);
	if (getenv(variable))
		return 0;
	status = ucp_config_modify(config, name, value);
	if (status == UCS_OK)
		return 0;
	machine_say("UCX refuses %s=%s: %s", variable, value, ucs_status_string(status));
	return -EINVAL;
}

static int set_options(const struct cmi *m, ucp_config_t *config)
{
	int rc;

	/* Segments of sysv are a scarce resource of the whole system and outlive a killed process. cma
	 * stays in: without it UCX adds a tcp lane between processes of one host. A job on one host has no
	 * tcp at all, because every worker would open a listener. posix makes files in /dev/shm, which a
	 * node killed at the wrong moment leaves behind; it is only for nodes that have no other transport
	 * within their host. Between user namespaces UCX chooses posix and fails too late, and the kernel
	 * refuses cma's copies. */
	rc = set_option(config, "TLS", m->apart ? "^sysv,posix,cma" : !posix_is_possible(m) ? "^sysv,posix"
				       : spans_hosts(m) ? "^sysv" : "^sysv,tcp");
	/* For 10 to 100 KB eager is 1.8 times (shared memory) to 5 times (tcp) faster than rendezvous,
	 * which very large messages request themselves (ucx_am.c). */
	if (!rc)
		rc = set_option(config, "RNDV_THRESH", "inf");
	/* Atomics of processors and of adapters on one place are not indivisible to each other. */
	if (!rc)
		rc = set_option(config, "ATOMIC_MODE", "cpu");
	/* A fallback for deaths that the launcher does not notice; UCX's default is 20 s. */
	if (!rc)
		rc = set_option(config, "KEEPALIVE_INTERVAL", "1s");
	return rc;
}

/* ---- context ----------------------------------------------------------------------- */

static ucs_status_t context_open(const struct cmi *m, const ucp_config_t *config,
				 ucp_context_h *context_p)
{
	const ucp_params_t params = {
		.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED |
			      UCP_PARAM_FIELD_ESTIMATED_NUM_EPS,
		.features = UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_AMO32 |
			    UCP_FEATURE_AMO64 | UCP_FEATURE_WAKEUP,
		.mt_workers_shared = m->o.n_pes > 1,
		.estimated_num_eps = (size_t)(m->job.n_pes - m->job.my_n_pes),
	};

	return ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, context_p);
}

static int ucx_open(struct cmi *m)
{
	struct ucx *u = cmi_alloc_zero(1, sizeof *u, "the network");
	ucp_config_t *config;
	ucs_status_t status;
	int rc;

	rc = ucx_load(m->job.node);
	if (rc) {
		free(u);
		return rc;
	}
	pthread_mutex_init(&u->lock, NULL);
	set_posix_options(m);
	if (spans_hosts(m))
		devices_choose(&m->devices, m->o.verbose && m->job.first_on_host == 0 ?
						    host_name(m, m->job.node) :
						    NULL);
	set_tcp_options(m);
	status = ucp_config_read(NULL, NULL, &config);
	if (status == UCS_OK) {
		rc = set_options(m, config);
		if (!rc)
			status = context_open(m, config, &u->context);
		ucp_config_release(config);
		if (rc)
			goto fail;
	}
	if (status != UCS_OK) {
		machine_say("node %d cannot open UCX: %s (UCX_TLS=%s)", m->job.node,
			    ucs_status_string(status), getenv("UCX_TLS") ? getenv("UCX_TLS") : "");
		rc = -EIO;
		goto fail;
	}
	rc = ucx_packs_open(u);
	if (rc) {
		machine_say("node %d: no memory for the network", m->job.node);
		ucx_packs_close(u);
		ucp_cleanup(u->context);
		goto fail;
	}
	u->true_rma = ucx_context_has_rma(u->context);
	m->back = u;
	if (m->o.verbose && m->apart && m->job.first_on_host == 0)
		machine_say(
			"nodes of host %s are in user namespaces of their own: they share no memory, and the network is "
			"between them",
			host_name(m, m->job.node));
	if (m->o.verbose && m->job.node == 0)
		machine_say("UCX %s, %d node%s on %s", ucp_get_version_string(),
			    m->job.n_nodes, m->job.n_nodes == 1 ? "" : "s",
			    spans_hosts(m) ? "several hosts" : m->apart ? "one host" : "one host: no tcp");
	return 0;
fail:
	pthread_mutex_destroy(&u->lock);
	free(u);
	return rc;
}

/* ---- workers ----------------------------------------------------------------------- */

/* SERIALIZED, not SINGLE: the PE's thread uses the worker alone, but when the PE has stopped the
 * main thread destroys it. UCX takes no lock in either mode. */
static ucs_status_t worker_open(struct ucx_pe *w, ucp_context_h context)
{
	const ucp_worker_params_t params = {
		.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE |
			      UCP_WORKER_PARAM_FIELD_AM_ALIGNMENT,
		.thread_mode = UCS_THREAD_MODE_SERIALIZED,
		.am_alignment = CMI_MSG_ALIGN,
	};
	ucs_status_t status = ucp_worker_create(context, &params, &w->worker);

	if (status != UCS_OK)
		return status;
	status = ucp_worker_get_efd(w->worker, &w->event_fd);
	if (status != UCS_OK)
		ucp_worker_destroy(w->worker);
	return status;
}

static int ucx_pe_open(struct cmi *m, struct cmi_pe **w_p)
{
	struct ucx *u = m->back;
	struct ucx_pe *w = cmi_alloc_zero(1, sizeof *w, "a PE");
	ucs_status_t status;

	w->poll_period = 1;
	w->came = w->until_windows = 1;
	status = worker_open(w, u->context);
	if (status == UCS_OK && ucx_am_open(w, m)) {
		ucp_worker_destroy(w->worker);
		status = UCS_ERR_NO_MEMORY;
	}
	if (status != UCS_OK) {
		machine_say("node %d cannot open a UCX worker: %s", m->job.node,
			    ucs_status_string(status));
		free(w);
		return -EIO;
	}
	*w_p = &w->base;
	return 0;
}

static int ucx_pe_address(struct cmi_pe *base, struct wire_address *a)
{
	struct ucx_pe *w = ucx_pe(base);
	ucp_address_t *address;
	ucs_status_t status = ucp_worker_get_address(w->worker, &address, &a->len);

	if (status != UCS_OK) {
		machine_say("PE %d has no UCX address: %s", base->pe, ucs_status_string(status));
		return -EIO;
	}
	if (a->len <= sizeof a->bytes)
		memcpy(a->bytes, address, a->len);
	ucp_worker_release_address(w->worker, address);
	if (a->len <= sizeof a->bytes)
		return 0;
	machine_say("PE %d's UCX address has %zu bytes, more than %zu: name the network "
		    "devices to use in UCX_NET_DEVICES",
		    base->pe, a->len, sizeof a->bytes);
	a->len = 0;
	return -EMSGSIZE;
}

static int ucx_progress(struct cmi_pe *base)
{
	struct ucx_pe *w = ucx_pe(base);
	int n;

	if (base->holds)
		ucx_batch_pass(base);
	if (__builtin_expect(w->random && w->n_late, 0))
		ucx_late_poll(w);
	if (w->tails)
		ucx_tails_look(w);
	n = (int)ucp_worker_progress(w->worker);
	if (__builtin_expect(w->n_hellos > 0 && !w->ends, 0))
		ucx_hellos_answer(w);
	if (n == 0 && base->filter)
		base->m->filters_room->idle(base);
	return n;
}

/* While a batch waits, the end of the pass matters as over tcp. */
static int ucx_poll_period(const struct cmi_pe *base)
{
	return ((const struct ucx_pe *)base)->poll_period + base->holds;
}

static int ucx_n_connections(const struct cmi_pe *base)
{
	const struct ucx_pe *w = (const struct ucx_pe *)base;
	int n = 0;

	for (int i = 0; w->ep && i < base->m->job.n_pes * UCX_STREAMS; i++)
		n += ucx_ep_is_first(w, i);
	return n;
}

static bool ucx_arm(struct cmi_pe *base, int *fd_p)
{
	struct ucx_pe *w = ucx_pe(base);
	const struct cmi_job *j = &base->m->job;

	*fd_p = base->network ? w->event_fd : -1;
	if (!base->network)
		return true;
	if (base->holds)
		ucx_batch_pass(base);
	if (w->random && w->n_late)
		return false;
	base->nap_us = ucx_tails_us(w);
	/* UCX's own thread watches transports without endpoints, and can lose a wake-up (1 start of a job
	 * of 2 nodes in 13 hung). So make an endpoint before the first sleep. */
	if (!w->ep && !w->ends)
		ucx_ep_open(w, j->first_pe[(j->node + 1) % j->n_nodes], UCX_CALLS);
	/* BUSY: events have come since the last progress. After any other failure a sleep might not end
	 * either. In both cases progress again. */
	return ucp_worker_arm(w->worker) == UCS_OK;
}

/* ---- closing ----------------------------------------------------------------------- */

/* A PE flushes twice at its end. Until the first time is over everybody polls, so all connections
 * come about. At the second one others may have left, and a connection that was made in between
 * would never be there: to answer a HELLO or to sleep none is made, and for one that was needed (a
 * credit) the wait is bounded. */
static void ucx_flush(struct cmi_pe *base)
{
	const ucp_request_param_t param = {.op_attr_mask = 0};
	struct ucx_pe *w = ucx_pe(base);
	const bool last = w->ends;
	ucs_status_ptr_t request;

	w->ends = true;
	ucx_batch_pass(base);
	request = ucp_worker_flush_nbx(w->worker, &param);
	if (last) {
		ucx_await(w, request);
		return;
	}
	if (!UCS_PTR_IS_PTR(request))
		return;
	while (ucp_request_check_status(request) == UCS_INPROGRESS)
		ucp_worker_progress(w->worker);
	ucp_request_free(request);
}

static void ucx_pe_stop(struct cmi_pe *base)
{
	const ucp_request_param_t param = {.op_attr_mask = 0};
	struct ucx_pe *w = ucx_pe(base);

	ucx_batch_pass(base);
	if (!ucx_await(w, ucp_worker_flush_nbx(w->worker, &param)))
		machine_say("PE %d closes with unfinished sends", base->pe);
	if (w->n_held)
		machine_say("PE %d closes while %d messages still hold receive buffers", base->pe,
			    w->n_held);
}

static void ucx_close(struct cmi *m)
{
	struct ucx *u = m->back;

	/* A node that closes its endpoints looks dead to one that has not stopped. So all wait here until
	 * all have stopped; from then on lost connections are no errors. */
	if (m->job.n_nodes > 1 && meet_fence(m))
		machine_say("node %d closes without the others", m->job.node);
	u->closing = true;
	for (int i = 0; i < m->o.n_pes; i++) {
		struct ucx_pe *w = (struct ucx_pe *)m->wire[i];

		if (!w)
			continue;
		ucx_remotes_free(w);
		ucx_eps_close(w);
		ucx_am_close(w);
		windows_free(&w->windows);
		ucp_worker_destroy(w->worker);
		free(w);
	}
	mem_arena_fini(&m->arena, m);
	ucx_foreign_free(u);
	ucx_packs_close(u);
	ucp_cleanup(u->context);
	pthread_mutex_destroy(&u->lock);
	free(u);
}

const struct cmi_ops ucx_ops = {
	.name = "ucx",
	.open = ucx_open,
	.close = ucx_close,
	.pe_open = ucx_pe_open,
	.pe_address = ucx_pe_address,
	.pe_stop = ucx_pe_stop,
	.send = ucx_send,
	.flush = ucx_flush,
	.progress = ucx_progress,
	.pass = ucx_batch_pass,
	.poll_period = ucx_poll_period,
	.n_connections = ucx_n_connections,
	.release = ucx_release,
	.put_am = ucx_put_am,
	.arm = ucx_arm,
	.chunk_map = ucx_chunk_map,
	.chunk_unmap = ucx_chunk_unmap,
	.foreign_key = ucx_foreign_key,
	.attach = ucx_attach,
	.detach = ucx_detach,
	.remote_ptr = ucx_remote_ptr,
	.remote_rma = ucx_remote_rma,
	.put = ucx_put,
	.put_naive = ucx_put_naive,
	.has_rma = ucx_has_rma,
	.get = ucx_get,
	.atomic = ucx_atomic,
};
