/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.c: the back end of a job whose nodes are all on one host and reach each other through their
 * memory (share.h). It opens nothing for a network: no socket that others could connect to, no file
 * in /dev/shm that a killed node could leave behind, no registered memory.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/die.h"
#include "../base/cmi_alloc.h"
#include "machine_int.h"
#include "../start/meet.h"
#include "../shm/near.h"
#include "../base/say.h"

static int host_open(struct cmi *m)
{
	if (m->o.verbose && m->job.node == 0)
		machine_say("%d node%s on one host: no network is opened", m->job.n_nodes,
			    m->job.n_nodes == 1 ? "" : "s");
	return 0;
}

/* The nodes leave together, as over a network. */
static void host_close(struct cmi *m)
{
	if (m->job.n_nodes > 1 && meet_fence(m))
		machine_say("node %d closes without the others", m->job.node);
	for (int i = 0; i < m->o.n_pes; i++)
		free(m->wire[i]);
	mem_arena_fini(&m->arena, m);
}

static int host_pe_open(struct cmi *m, struct cmi_pe **w_p)
{
	(void)m;
	*w_p = cmi_alloc_zero(1, sizeof **w_p, "a PE");
	return 0;
}

static int host_pe_address(struct cmi_pe *w, struct wire_address *a)
{
	(void)w;
	a->len = 0;
	return 0;
}

static void host_pe_stop(struct cmi_pe *w)
{
	(void)w;
}

/* share_send has refused it. This cannot happen: host_ops is chosen only where it reaches all
 * nodes. */
static _Noreturn void no_way(const struct cmi_pe *w, int dst_pe)
{
	machine_die(w->m, "PE %d cannot reach PE %d: there is no network", w->pe, dst_pe);
}

static void host_send(struct cmi_pe *w, int dst_pe, struct cmi_msg *m)
{
	(void)m;
	no_way(w, dst_pe);
}

static bool host_put_am(struct cmi_pe *w, int dst_pe, const struct cmi_put_head *h, const void *src,
			size_t bytes, struct cmi_op *op)
{
	(void)h;
	(void)src;
	(void)bytes;
	(void)op;
	no_way(w, dst_pe);
}

static void host_flush(struct cmi_pe *w)
{
	(void)w;
}

static int host_progress(struct cmi_pe *w)
{
	(void)w;
	return 0;
}

static int host_poll_period(const struct cmi_pe *w)
{
	(void)w;
	return 1;
}

static int host_n_connections(const struct cmi_pe *w)
{
	(void)w;
	return 0;
}

static void host_release(struct cmi_pe *w, struct cmi_msg *m)
{
	(void)m;
	machine_die(w->m, "PE %d releases a network's buffer, but there is no network", w->pe);
}

/* Messages through memory wake us by our pipe (wake_host.c). */
static bool host_arm(struct cmi_pe *w, int *fd_p)
{
	(void)w;
	*fd_p = -1;
	return true;
}

/* ---- memory -------------------------------------------------------------------------- */

/* The memory is shared already; a node that is alone allocates its own. */
static int host_chunk_map(struct cmi *m, struct mem_chunk *c)
{
	enum { PAGE = 4096 };
	struct mem_key_head head = {.shared = c->shared};

	(void)m;
	if (!c->base) {
		c->bytes = (c->bytes + PAGE - 1) / PAGE * PAGE;
		c->base = c->back = aligned_alloc(PAGE, c->bytes);
	}
	if (!c->base)
		return -ENOMEM;
	head.base = (uintptr_t)c->base;
	near_key(&head, &c->key);
	return 0;
}

static void host_chunk_unmap(struct cmi *m, struct mem_chunk *c)
{
	(void)m;
	free(c->back);
}

static void host_foreign_key(struct cmi *m, const void *addr, size_t bytes, struct cmi_key *key_p)
{
	(void)m;
	(void)addr;
	(void)bytes;
	key_p->len = 0;
}

/* near_attach has handled all attachable memory. */
static struct cmi_remote *host_attach(struct cmi_pe *w, int pe, const struct cmi_key *key,
				      uint64_t addr)
{
	(void)w;
	(void)pe;
	(void)key;
	(void)addr;
	return NULL;
}

/* The operations on attached memory are not filled in: near.c implements them. */
const struct cmi_ops host_ops = {
	.name = "host",
	.open = host_open,
	.close = host_close,
	.pe_open = host_pe_open,
	.pe_address = host_pe_address,
	.pe_stop = host_pe_stop,
	.send = host_send,
	.flush = host_flush,
	.progress = host_progress,
	.poll_period = host_poll_period,
	.n_connections = host_n_connections,
	.release = host_release,
	.put_am = host_put_am,
	.arm = host_arm,
	.chunk_map = host_chunk_map,
	.chunk_unmap = host_chunk_unmap,
	.foreign_key = host_foreign_key,
	.attach = host_attach,
};
