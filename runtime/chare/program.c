/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.c: the functions by which a program asks about its job and ends it.
 */
#include "call/call.h"

#include <stdarg.h>
#include <stdio.h>

int CkMyPe(void) { return ck_self_early()->id; }
int CkNumPes(void) { return ck_self_early()->node->job->n_pes; }
int CkMyNode(void) { return ck_self_early()->node->job->node; }
int CkNumNodes(void) { return ck_self_early()->node->job->n_nodes; }
int CkMyRank(void) { return ck_self_early()->local; }
int CkMyNodeSize(void) { return ck_self_early()->node->job->my_n_pes; }

static int checked(const char *what, int i, int n)
{
	if (i < 0 || i >= n)
		csd_abort(ck_self_early(), "%s(%d): the job has 0-%d", what, i, n - 1);
	return i;
}

int CkNodeOf(int pe)
{
	return ck_self_early()->node->job->node_of[checked("CkNodeOf", pe, CkNumPes())];
}

int CkNodeFirst(int node)
{
	return ck_self_early()->node->job->first_pe[checked("CkNodeFirst", node, CkNumNodes())];
}

int CkRankOf(int pe)
{
	return pe - CkNodeFirst(CkNodeOf(pe));
}

int CkNodeSize(int node)
{
	const int *first = ck_self_early()->node->job->first_pe;

	checked("CkNodeSize", node, CkNumNodes());
	return first[node + 1] - first[node];
}

double CkWallTimer(void)
{
	return (double)(csd_now_ns() - ck_self_early()->node->start_ns) * 1e-9;
}

void (CkExit)(int code)
{
	struct pe *pe = ck_self_early();

	if (!ck_of(pe))
		csd_abort(pe, "CkExit: the job has not begun; CkAbort ends it");
	print_flush(pe);
	aggregate_flush(pe);
	csd_exit(pe, code);
}

void CkAbort(const char *fmt, ...)
{
	struct pe *pe = ck_self_early();
	char why[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	print_flush(pe);
	csd_abort(pe, "%s", why);
}
