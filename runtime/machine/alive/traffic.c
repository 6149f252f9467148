/* SPDX-License-Identifier: Apache-2.0 */
/* traffic.c: see traffic.h. */
#include "traffic.h"

#include <stdlib.h>

#include "../base/cmi_alloc.h"
#include "machine_int.h"

/* A PE that has not polled for so long computes, and what is due may be there. */
static const uint64_t LOOKED_NS = 1000 * 1000 * 1000;

void traffic_open(struct cmi *m)
{
	const size_t pes = (size_t)m->o.n_pes;

	m->traffic = cmi_alloc_zero(1, sizeof *m->traffic, "CK_WIRE");
	m->traffic->quiet_ns = cmi_alloc_zero(pes, sizeof *m->traffic->quiet_ns, "CK_WIRE");
	m->traffic->of = cmi_alloc_zero(pes * (size_t)m->job.n_nodes, sizeof *m->traffic->of,
					"CK_WIRE");
}

void traffic_close(struct cmi *m)
{
	if (!m->traffic)
		return;
	free(m->traffic->quiet_ns);
	free(m->traffic->of);
	free(m->traffic);
	m->traffic = NULL;
}

struct traffic_counts *traffic_of(const struct cmi *m, int rank, int node)
{
	return &m->traffic->of[rank * m->job.n_nodes + node];
}

uint32_t traffic_out(const struct cmi *m, int node)
{
	uint32_t sum = 0;

	for (int i = 0; i < m->o.n_pes; i++)
		sum += atomic_load_explicit(&traffic_of(m, i, node)->out, memory_order_relaxed);
	return sum;
}

uint32_t traffic_in(const struct cmi *m, int node)
{
	uint32_t sum = 0;

	for (int i = 0; i < m->o.n_pes; i++)
		sum += atomic_load_explicit(&traffic_of(m, i, node)->in, memory_order_relaxed);
	return sum;
}

uint64_t traffic_quiet_ns(const struct cmi *m)
{
	uint64_t first = UINT64_MAX;

	for (int i = 0; i < m->o.n_pes; i++) {
		const uint64_t ns =
			atomic_load_explicit(&m->traffic->quiet_ns[i], memory_order_relaxed);

		first = ns < first ? ns : first;
	}
	return first;
}

uint32_t traffic_told(struct traffic_sent *s, uint32_t out, uint64_t quiet_ns, uint64_t now_ns)
{
	if (quiet_ns > s->next_ns) {
		s->told = s->next;
		s->next = out;
		s->next_ns = now_ns;
	}
	return s->told;
}

uint64_t traffic_due_ns(struct traffic_due *d, uint32_t in, uint64_t quiet_ns, uint64_t now_ns)
{
	const bool looked = quiet_ns + LOOKED_NS > now_ns, due = (int32_t)(d->told - in) > 0;

	if (due && looked && in == d->came && d->since_ns)
		return now_ns - d->since_ns;
	d->came = in;
	d->since_ns = now_ns;
	return 0;
}
