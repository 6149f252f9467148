/* SPDX-License-Identifier: Apache-2.0 */
/* neighbour.c: see neighbour.h. */
#include "neighbour.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "../boot/boot.h"
#include "../tools/clock.h"
#include "../base/die.h"
#include "machine_int.h"
#include "../shm/share.h"

/* ckrun ends a job within milliseconds, on a busy machine within a hundred. The guide promises a
 * second in total. */
static const uint64_t PATIENCE_NS = 500 * 1000 * 1000;

/* The next node of the host, in a ring; ours, if there is no other. */
static int next_of_host(const struct cmi *m)
{
	const int n = m->job.n_nodes;
	int node = m->job.node;

	do
		node = (node + 1) % n;
	while (node != m->job.node && !share_reaches(m->share, node));
	return node;
}

/* Old kernels lack pidfd_open. Then only the launcher notices. */
static int open_process(int pid)
{
#ifdef SYS_pidfd_open
	return (int)syscall(SYS_pidfd_open, pid, 0);
#else
	(void)pid;
	return -1;
#endif
}

struct neighbour neighbour_open(const struct cmi *m, int local)
{
	struct neighbour n = {.fd = -1, .node = local == 0 ? next_of_host(m) : m->job.node};

	if (n.node != m->job.node)
		n.fd = open_process(share_pid(m->share, n.node));
	return n;
}

void neighbour_close(struct neighbour *n)
{
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
}

/* A live node leaves only when all have left their loops, so this never sees a normal end. */
void neighbour_died(struct cmi_pe *w)
{
	struct cmi *m = w->m;
	struct neighbour *n = &w->neighbour;

	if (share_has_fled(m->share, n->node)) { /* its own neighbour is dead, and it has reported that */
		share_flee(m->share);
		boot_abort(m->boot, 1);
		_exit(1);
	}
	neighbour_close(n); /* it would stay readable and wake us all the time */
	if (!n->seen_ns)
		n->seen_ns = machine_now_ns();
	if (machine_now_ns() - n->seen_ns < PATIENCE_NS)
		return;
	share_flee(m->share);
	machine_die(
		m,
		"node %d: node %d (process %d) of this host has died, and no launcher has ended the job",
		m->job.node, n->node, share_pid(m->share, n->node));
}
