/* SPDX-License-Identifier: Apache-2.0 */
/*
 * em3d: electric and magnetic values on an irregular graph, with its remote edges in five versions.
 *
 *	ckrun -n 2 ./em3d --version ghosts --remote 30 --iters 100
 *
 * Each E node reads some H nodes, and each H node some E nodes: its value becomes v - sum of weight
 * * value. First all E nodes do so, then all H nodes. A share of the edges leads to other PEs:
 *
 *	reads      a remote value is read where an edge needs it (CkRead), which waits each time
 *	bundled    all of them before a half-step, by CkGet and one CkSync
 *	ghosts     each only once, though several edges need it
 *	stores     whoever has a value stores it where it is needed (CkStore, CkAllStoreSync)
 *	channels   the same by one channel for each other PE: values are packed, and put at once
 *
 * Shows   global pointers after Split-C; a program that is one thread on each PE (SPMD); and what
 *         each step from plain reads to channels gains, and costs in lines.
 * Checks  every value, bit for bit, against one processor's.
 * Source  EM3D of Split-C (Culler and others, 1993).
 *
 * A checkpoint has no threads, so it cannot be saved as it runs. scc shows a program that can, at
 * fences.
 */
#include <stdlib.h>
#include <string.h>

#include "../args.h"
#include "../memory.h"
#include "ckdirect.h"
#include "ckglobal.h"
#include "cth.h"
#include "em3d.decl.h"
#include "graph.h"

enum { READS, BUNDLED, GHOSTS, STORES, CHANNELS };      /* --version */

struct Main {
	CkSpread values[KINDS];
};

struct edge {
	const double *from;     /* NULL: it is read through the next of `remote` */
	double weight;
};

/* What another PE reads of this one's values. */
struct link {
	int n;
	long *which;            /* of the nodes of this PE */
	CkGlobal ghosts;        /* where it has them: with stores */
	double *packed;         /* with channels */
	CkDirectHandle channel;
	CkDirectHandle from;    /* the channel from there into what this PE reads */
};

/* The nodes of one kind on this PE. */
struct half {
	double *value;
	CkSpread other;         /* values of the other kind */
	struct edge *edges;     /* [nodes * degree] that read them */
	long n_remote, *remote; /* other PEs' among them: for each edge, or ascending, each once */
	CkGlobal shown;         /* [n_remote] what they are, before each half-step: ghosts, */
	double *ghosts;         /* and where they are here */
	CkDirectSet *set;       /* of the channels into them */
	bool came;              /* what these bring */
	CthThread waiting;      /* for that */
	struct link *links;     /* [PEs] of those who read these */
};

struct Member {
	struct half half[KINDS];
	int n_heard;            /* its own begin, and what others want: two calls of each */
	CkCallback ready;       /* when all have heard all */
};

static struct graph the_graph(void)
{
	return (struct graph){ CkNumPes(), nodes, degree, remote, seed };
}

/* ---- who reads what ------------------------------------------------------------------------ */

static bool is_here(long node) { return node / nodes == CkMyPe(); }

/* What edge i of this PE's nodes reads. */
static long read_by(int kind, long i, double *weight_p)
{
	const struct graph g = the_graph();

	return graph_edge(&g, kind, CkMyPe() * nodes + i / degree, i % degree, weight_p);
}

/* Numbers the remote nodes that are read, from 1 on. */
static long *number_ghosts(struct half *h, int kind)
{
	long *number = get(nodes * CkNumPes(), sizeof *number);
	double weight;

	for (long i = 0; i < nodes * degree; i++)
		number[read_by(kind, i, &weight)] = 1;
	/* With channels, what comes from a PE also tells that it is ready: each sends its first. */
	for (long node = 0; node < nodes * CkNumPes(); node++)
		if (!is_here(node) && (number[node] || (version >= STORES && node % nodes == 0))) {
			h->remote[h->n_remote++] = node;
			number[node] = h->n_remote;
		}
	return number;
}

/* Each edge gets the place where it reads: a value of this PE, or a ghost. */
static void lead_edges(struct half *h, int kind, const double *other)
{
	long *number = NULL, most = nodes * degree + CkNumPes();

	h->edges = get(nodes * degree, sizeof *h->edges);
	h->remote = get(most, sizeof *h->remote);
	if (version >= GHOSTS)
		number = number_ghosts(h, kind);
	h->shown = CkGlobalAlloc((size_t)(version >= GHOSTS ? h->n_remote + 1 : most) * sizeof *h->ghosts);
	h->ghosts = CkGlobalLocal(h->shown);
	for (long i = 0; i < nodes * degree; i++) {
		struct edge *e = &h->edges[i];
		const long node = read_by(kind, i, &e->weight);

		if (is_here(node))
			e->from = other + node % nodes;
		else if (version >= GHOSTS)
			e->from = h->ghosts + number[node] - 1;
		else
			e->from = version == READS ? NULL : h->ghosts + h->n_remote;
		if (!is_here(node) && version < GHOSTS)
			h->remote[h->n_remote++] = node;
	}
	free(number);
}

static void came(void *arg)
{
	struct half *h = arg;

	h->came = true;
	if (h->waiting)
		CthAwaken(h->waiting);
	h->waiting = NULL;
}

/* Stores and channels come from those who have the values: they hear which, and where these go. */
static void ask(struct half *h, int other)
{
	CkDirectHandle **all = get(CkNumPes(), sizeof *all);
	int n_all = 0;

	for (long i = 0, n = 0; i < h->n_remote; i += n, n = 0) {
		const int pe = (int)(h->remote[i] / nodes);
		CkDirectHandle *from = &h->links[pe].from;

		while (i + n < h->n_remote && h->remote[i + n] / nodes == pe)
			n++;
		if (version == CHANNELS) {
			*from = CkDirect_createHandleSeq(h->ghosts + i, (size_t)n * sizeof(double), came, h);
			all[n_all++] = from;
		}
		Member_wants(Member_at(members, pe), other, CkMyPe(),
			     CkGlobalAdd(h->shown, i * (long)sizeof(double)), *from, (int)n, h->remote + i);
	}
	if (n_all)
		h->set = CkDirect_createSet(all, n_all, came, h);
	free(all);
}

/* The last of them: all know what others want. */
static void heard(Member *self)
{
	if (++self->n_heard == 1 + (version >= STORES ? KINDS * (CkNumPes() - 1) : 0))
		CkContributeBarrier(self, self->ready);
}

void Member_on_new(Member *self)
{
	for (int kind = E; kind < KINDS; kind++)
		self->half[kind].links = get(CkNumPes(), sizeof *self->half[kind].links);
}

void Member_on_begin(Member *self, CkSpread e, CkSpread h, CkCallback ready)
{
	const CkSpread values[KINDS] = { e, h };
	const struct graph g = the_graph();
	uint64_t n;

	self->ready = ready;
	for (int kind = E; kind < KINDS; kind++) {
		self->half[kind].value = CkSpreadLocal(values[kind], &n);
		self->half[kind].other = values[!kind];
		for (long i = 0; i < nodes; i++)
			self->half[kind].value[i] = graph_first(&g, kind, CkMyPe() * nodes + i);
	}
	for (int kind = E; kind < KINDS; kind++) {
		lead_edges(&self->half[kind], kind, self->half[!kind].value);
		if (version >= STORES)
			ask(&self->half[kind], !kind);
	}
	heard(self);
}

void Member_on_wants(Member *self, int kind, int from, CkGlobal ghosts, CkDirectHandle channel,
		     int n, const long *which)
{
	struct link *l = &self->half[kind].links[from];

	l->n = n;
	l->which = get(n, sizeof *l->which);
	for (int i = 0; i < n; i++)
		l->which[i] = which[i] % nodes;
	l->ghosts = ghosts;
	l->packed = get(n, sizeof *l->packed);
	l->channel = channel;
	if (version == CHANNELS)
		CkDirect_assocLocalBuffer(&l->channel, l->packed, (size_t)n * sizeof *l->packed);
	heard(self);
}

/* ---- half-steps ------------------------------------------------------------------------------ */

static void fetch(struct half *h)
{
	for (long i = 0; i < h->n_remote; i++)
		CkGet(&h->ghosts[i], CkSpreadAt(h->other, (uint64_t)h->remote[i]), sizeof(double));
	CkSync();
}

static void update(struct half *h)
{
	const struct edge *e = h->edges;
	const long *next = h->remote;

	for (long i = 0; i < nodes; i++) {
		double sum = 0, x;

		for (long k = 0; k < degree; k++, e++) {
			if (e->from)
				x = *e->from;
			else
				CkRead(&x, CkSpreadAt(h->other, (uint64_t)*next++));
			sum += e->weight * x;
		}
		h->value[i] -= sum;
	}
}

static void store(const struct half *h, const struct link *l)
{
	for (int i = 0; i < l->n; i++)
		CkStoreValue(CkGlobalAdd(l->ghosts, i * (long)sizeof(double)), h->value[l->which[i]]);
}

static void put(const struct half *h, struct link *l)
{
	for (int i = 0; i < l->n; i++)
		l->packed[i] = h->value[l->which[i]];
	CkDirect_put(&l->channel);
}

static void wait_for(struct half *h)
{
	while (h->set && !h->came) {
		h->waiting = CthSelf();
		CthSuspend();
	}
	h->came = false;
}

/* The values of a kind are new. Behind this, the nodes of the other kind may be computed. */
static void share(Member *self, int kind)
{
	struct half *h = &self->half[kind];

	for (int i = 1; i < CkNumPes(); i++) {
		struct link *l = &h->links[(CkMyPe() + i) % CkNumPes()];

		if (version == STORES)
			store(h, l);
		else if (version == CHANNELS)
			put(h, l);
	}
	/* Behind it all PEs have called it, stores or not: what they computed before can be read. */
	if (version != CHANNELS)
		CkAllStoreSync();
	else
		wait_for(&self->half[!kind]);
}

static void half_step(Member *self, int kind)
{
	struct half *h = &self->half[kind];

	if (version == BUNDLED || version == GHOSTS)
		fetch(h);
	update(h);
	/* Others put again when they have what this PE puts next. */
	if (h->set)
		CkDirect_readySet(h->set);
	share(self, kind);
}

void Member_on_run(Member *self, CkCallback done)
{
	double seconds;

	share(self, H);
	seconds = CkWallTimer();
	for (long i = 0; i < iters; i++) {
		half_step(self, E);
		half_step(self, H);
	}
	seconds = CkWallTimer() - seconds;
	CkContribute(self, &seconds, 1, CkReduction_max_double, done);
}

static void end_half(struct half *h)
{
	for (int pe = 0; pe < CkNumPes(); pe++) {
		free(h->links[pe].which);
		free(h->links[pe].packed);
	}
	free(h->links);
	free(h->edges);
	free(h->remote);
	if (h->set)
		CkDirect_destroySet(h->set);
	CkGlobalFree(h->shown);
}

/* All that was stored and put has arrived. */
void Member_on_end(Member *self, CkCallback done)
{
	for (int kind = E; kind < KINDS; kind++)
		end_half(&self->half[kind]);
	CkContributeBarrier(self, done);
}

/* ---- the main chare -------------------------------------------------------------------------- */

void Main_on_new(Main *self, CkArgMsg *m)
{
	const struct arg args[] = {
		{"nodes", &nodes, 500, 1, 1000000, "of each kind, on each PE"},
		{"degree", &degree, 10, 1, 1000, "edges of each node"},
		{"remote", &remote, 30, 0, 100, "percent of the edges, which lead to other PEs"},
		{"iters", &iters, 10, 1, 100000, "iterations"},
		{"version", &version, READS, READS, CHANNELS, "reads|bundled|ghosts|stores|channels"},
		{"seed", &seed, 1, 0, 1000000000, "which graph"},
	};

	if (!args_read("em3d", m, args, sizeof args / sizeof *args))
		return;
	mainProxy = Main_thisProxy(self);
	members = Member_ckNew();
	Main_drive(mainProxy);
}

static bool is_right(const Main *self)
{
	const struct graph g = the_graph();
	const long n = nodes * CkNumPes();
	double *serial[KINDS] = { get(n, sizeof(double)), get(n, sizeof(double)) };
	double *of = get(n, sizeof *of);
	bool right = true;

	graph_serial(&g, iters, serial);
	for (int kind = E; kind < KINDS; kind++) {
		for (long first = 0; first < n; first += nodes)
			CkGet(of + first, CkSpreadAt(self->values[kind], (uint64_t)first),
			      (size_t)nodes * sizeof *of);
		CkSync();
		right &= memcmp(of, serial[kind], (size_t)n * sizeof *of) == 0;
		free(serial[kind]);
	}
	free(of);
	return right;
}

void Main_on_drive(Main *self)
{
	static const char *const names[] = { "reads", "bundled", "ghosts", "stores", "channels" };
	CkCallback cb = CkCallbackResumeThread();
	CkReductionMsg *m;
	double seconds;
	bool right;

	for (int kind = E; kind < KINDS; kind++)
		self->values[kind] = CkSpreadAlloc((uint64_t)(nodes * CkNumPes()), sizeof(double), 0);
	Member_begin_all(members, self->values[E], self->values[H], cb);
	CkFreeMsg(CkCallbackThreadDelay(cb));
	cb = CkCallbackResumeThread();
	Member_run_all(members, cb);
	m = CkCallbackThreadDelay(cb);
	seconds = *(const double *)CkReductionMsg_data(m);
	CkFreeMsg(m);
	right = is_right(self);
	CkPrintf("em3d: %ld E and %ld H nodes of degree %ld on each of %d PEs, %ld %% remote, by %s: "
		 "%.4f us per edge: %s\n", nodes, nodes, degree, CkNumPes(), remote, names[version],
		 seconds * 1e6 / (double)(iters * KINDS * nodes * degree), right ? "checked" : "WRONG");
	cb = CkCallbackResumeThread();
	Member_end_all(members, cb);
	CkFreeMsg(CkCallbackThreadDelay(cb));
	CkExit(right ? 0 : 1);
}

#include "em3d.def.h"
