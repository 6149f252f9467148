/* SPDX-License-Identifier: Apache-2.0 */
/* ucx_ep.c: endpoints: connections to other PEs, their capabilities, how they fail and close. */
#include "ucx_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../base/cmi_alloc.h"
#include "../base/cmi_env.h"
#include "../tools/cmi_random.h"
#include "../start/host_names.h"
#include "../base/die.h"
#include "../alive/host_watch.h"

/* Scheduler passes between two polls once tcp is connected: its poll is an epoll_wait of
 * about 390 ns, where shared memory costs 7 ns. */
enum { TCP_POLL_PERIOD = 16 };

/* How long closing waits for operations that should be over already. */
enum { CLOSE_TIMEOUT_S = 5 };

/* ---- what UCX chose ---------------------------------------------------------------- */

/** Whether a text that UCX prints names one of these transports. UCX 1.13 has no query for the
 * lanes of an endpoint, only the printed form ("rc_mlx5/mlx5_0:1"). */
static bool names_transport(const char *text, const char *const *names)
{
	for (; *names; names++)
		if (strstr(text, *names))
			return true;
	return false;
}

static const char *const RMA_TRANSPORTS[] = {" rc_", ":rc_", " dc_", ":dc_", "ugni_rdma", NULL};
static const char *const TCP_TRANSPORTS[] = {":tcp/", " tcp/", NULL};

/** The text is complete. Only now can a lack of memory for it be reported. */
static void close_text(FILE *f, char *const *text)
{
	if (fclose(f) || !*text)
		cmi_no_memory(0, "what UCX says about its transports");
}

/** CK_RANDOM_DELAY: tests want each stream of arrivals to be late by itself. */
static uint64_t delays_asked(const struct ucx_pe *w)
{
	const int64_t seed = cmi_env_number("CK_RANDOM_DELAY", -1, 0, INT64_MAX);

	return seed < 0 ? 0 : cmi_random_seed(cmi_random_seed((uint64_t)seed) + (uint64_t)w->base.pe);
}

/** Learn what an endpoint's lanes are; once for each. */
static void ep_look(struct ucx_ep *e)
{
	char *text = NULL;
	size_t len;
	FILE *f = cmi_must_have(open_memstream(&text, &len), 0, "a connection");

	ucp_ep_print_info(e->ep, f);
	close_text(f, &text);
	e->rma = names_transport(text, RMA_TRANSPORTS);
	e->tcp = names_transport(text, TCP_TRANSPORTS);
	if (e->tcp && e->w->poll_period != TCP_POLL_PERIOD) {
		e->w->poll_period = TCP_POLL_PERIOD;
		e->w->random = delays_asked(e->w);
	}
	HOST_WATCHES(e->w->base.m, connected, e->w->base.m, e->w->base.m->job.node_of[e->pe], text);
	free(text);
}

bool ucx_context_has_rma(ucp_context_h context)
{
	char *text = NULL;
	size_t len;
	FILE *f = cmi_must_have(open_memstream(&text, &len), 0, "the network");
	bool rma;

	ucp_context_print_info(context, f);
	close_text(f, &text);
	rma = names_transport(text, RMA_TRANSPORTS);
	free(text);
	return rma;
}

/* ---- endpoints --------------------------------------------------------------------- */

/* How long a launcher may take from a node's death to ours; 10 to 50 ms were measured. */
enum { LAUNCHER_US = 300 * 1000 };

/** What the user can do about an unreachable node. */
static const char *advice(ucs_status_t status)
{
	if (status == UCS_ERR_SHMEM_SEGMENT)
		return " (containers of their own? leave shared memory out of UCX_TLS: ^sm)";
	if (status == UCS_ERR_UNREACHABLE || status == UCS_ERR_ENDPOINT_TIMEOUT)
		return " (by a device that leads elsewhere? name those that lead there in UCX_NET_DEVICES)";
	return "";
}

/* The same words for a broken connection, whichever of our calls hears of it first. A connection is
 * made while messages wait for it already (UCX_TCP_CONN_NB), so one that timed out may never have
 * been there. */
static const char *what_failed(const char *what, ucs_status_t status)
{
	switch (status) {
	case UCS_ERR_ENDPOINT_TIMEOUT:
	case UCS_ERR_UNREACHABLE:
		return "cannot reach";
	case UCS_ERR_CONNECTION_RESET:
	case UCS_ERR_NOT_CONNECTED:
	case UCS_ERR_CANCELED:
		return "lost the connection to";
	default:
		return what;
	}
}

void ucx_failed(struct ucx_pe *w, int pe, const char *what, ucs_status_t status)
{
	struct cmi *m = w->base.m;
	const struct ucx *u = m->back;
	int node = m->job.node_of[pe];

	if (u->closing)
		return;
	/* If that node has died, the launcher knows, reports it and ends us: what we saw is only the
	 * consequence. If we are still here afterwards, we report it. */
	usleep(LAUNCHER_US);
	machine_die(m, "node %d PE %d: %s PE %d (node %d on %s): %s%s", m->job.node, w->base.pe,
		    what_failed(what, status), pe, node, host_name(m, node), ucs_status_string(status),
		    advice(status));
}

static void ep_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
	struct ucx_ep *e = arg;

	(void)ep;
	ucx_failed(e->w, e->pe, "lost the connection to", status);
}

static ucs_status_t ep_create(struct ucx_ep *e, ucp_err_handling_mode_t mode)
{
	const struct wire_addresses *a = &e->w->base.m->addresses;
	const ucp_ep_params_t params = {
		.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
			      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
			      UCP_EP_PARAM_FIELD_ERR_HANDLER,
		.address = (const ucp_address_t *)(a->bytes + a->at[e->pe]),
		.err_mode = mode,
		.err_handler = {.cb = ep_error, .arg = e},
	};

	return ucp_ep_create(e->w->worker, &params, &e->ep);
}

static struct ucx_ep *ep_new(struct ucx_pe *w, int pe)
{
	struct ucx_ep *e = cmi_alloc_zero(1, sizeof *e, "a connection");
	ucs_status_t status;

	e->w = w;
	e->pe = pe;
	status = ep_create(e, UCP_ERR_HANDLING_MODE_PEER);
	/* Transports that cannot report a dead peer (some for RDMA, and posix when
	 * UCX_POSIX_ERROR_HANDLING=n) are better than none; the launcher watches the processes. */
	if (status != UCS_OK)
		status = ep_create(e, UCP_ERR_HANDLING_MODE_NONE);
	if (status != UCS_OK)
		ucx_failed(w, pe, "cannot reach", status);
	ep_look(e);
	return e;
}

struct ucx_ep *ucx_ep_open(struct ucx_pe *w, int pe, enum ucx_stream stream)
{
	struct ucx_ep **of, *e;

	if (!w->ep)
		w->ep = cmi_alloc_zero((size_t)w->base.m->job.n_pes * UCX_STREAMS, sizeof *w->ep,
				       "connections");
	of = &w->ep[pe * UCX_STREAMS];
	e = ep_new(w, pe);
	of[stream] = e;
	e->stream = e->tcp ? stream : UCX_CALLS;
	for (int i = 0; !e->tcp && i < UCX_STREAMS; i++)
		of[i] = e;
	return e;
}

/* ---- closing ----------------------------------------------------------------------- */

bool ucx_await(struct ucx_pe *w, ucs_status_ptr_t request)
{
	time_t limit = time(NULL) + CLOSE_TIMEOUT_S;
	bool over;

	if (!UCS_PTR_IS_PTR(request))
		return true;
	while (!(over = ucp_request_check_status(request) != UCS_INPROGRESS) &&
	       time(NULL) < limit)
		ucp_worker_progress(w->worker);
	ucp_request_free(request);
	return over;
}

/* By force: after the closing fence nothing is under way, and a graceful close of a pair needs both
 * sides to progress at the same time. */
void ucx_eps_close(struct ucx_pe *w)
{
	const ucp_request_param_t param = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
		.flags = UCP_EP_CLOSE_FLAG_FORCE,
	};

	/* Backwards: what two slots have in common ends with the first of them. */
	for (int i = w->base.m->job.n_pes * UCX_STREAMS - 1; w->ep && i >= 0; i--) {
		if (!ucx_ep_is_first(w, i))
			continue;
		ucx_await(w, ucp_ep_close_nbx(w->ep[i]->ep, &param));
		free(w->ep[i]);
	}
	free(w->ep);
}
