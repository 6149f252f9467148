/* SPDX-License-Identifier: Apache-2.0 */
/* dump.c: writes statistics as text; lb_dump.h has the format. */
#include "lb_dump.h"
#include "../../machine/tools/cmi_plain.h"

#include <errno.h>
#include <stdbool.h>

static bool is_index(const CkLBElement *e)
{
	for (int k = 0; k < 3; k++)
		if (e->position[k] != (float)e->index[k])
			return false;
	return true;
}

static void write_element(FILE *f, const CkLBElement *e)
{
	int nd = sizeof e->index / sizeof e->index[0];

	while (nd > 1 && !e->index[nd - 1])
		nd--;
	fprintf(f, "element %d %d %.9g %llu", e->pe, e->pinned != 0, (double)e->seconds,
		(unsigned long long)e->bytes);
	for (int k = 0; k < nd; k++)
		fprintf(f, "%c%d", k ? ',' : ' ', e->index[k]);
	if (!is_index(e))
		fprintf(f, " %.9g,%.9g,%.9g", (double)e->position[0], (double)e->position[1],
			(double)e->position[2]);
	fputc('\n', f);
}

int lb_dump_write(FILE *f, const char *array, const CkLBStats *s)
{
	locale_t before = cmi_plain_begin();

	fprintf(f, "chard-lb 1\narray %s step %llu tolerance %.17g\nsizes %d %d %zu %zu\n", array,
		(unsigned long long)s->step, s->tolerance, s->n_pes, s->n_nodes, s->n, s->n_edges);
	for (int p = 0; p < s->n_pes; p++)
		fprintf(f, "pe %d %.9g %.9g\n", s->node_of[p], (double)s->background[p], (double)s->speed[p]);
	for (size_t i = 0; i < s->n; i++)
		write_element(f, &s->element[i]);
	for (size_t k = 0; k < s->n_edges; k++)
		fprintf(f, "edge %u %u %u %llu\n", s->edge[k].from, s->edge[k].to, s->edge[k].messages,
			(unsigned long long)s->edge[k].bytes);
	fputs("end\n", f);
	cmi_plain_end(before);
	return fflush(f) || ferror(f) ? -(errno ? errno : EIO) : 0;
}
