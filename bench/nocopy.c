/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nocopy: a round trip of arrays between two PEs. The sender changes one word per cache line before each
 * trip, and the receiver reads the whole array where its handler gets it.
 *
 *	ckrun -n 2 build/bench/nocopy                two processes
 *	ckrun -n 2 --ppn 2 build/bench/nocopy        two PEs of one process
 *
 * Options: --sizes, --reps. Prints `name bytes microseconds`, medians. bench/lend shows what is
 * possible between processes:
 *	nocopy-array   an array parameter: copied by the call
 *	nocopy-malloc  a nocopy array in memory of the program's own: between processes the runtime
 *	               copies it; the program writes it again after its callback
 *	nocopy-rdma    a nocopy array in CkRdmaAlloc's memory: read where it lies
 *	nocopy-post    a nocopypost array in CkRdmaAlloc's memory: copied to private memory of the receiver
 *	nocopy-get     a CkNcpyBuffer of such memory: the receiver gets it into private memory
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "nocopy.decl.h"

enum way { ARRAY, MALLOC, RDMA, POST, GET, WAYS };
static const char *const names[WAYS] = {
	"nocopy-array", "nocopy-malloc", "nocopy-rdma", "nocopy-post", "nocopy-get"
};

struct Main {
	struct bench_options opt;
	int rep, size;
	enum way way;
	double t0, us[BENCH_SIZES_MAX][WAYS][BENCH_REPEATS_MAX];
};

struct Peer {
	enum way way;
	size_t bytes;
	long trips, n_in;
	bool mine, answered;               /* my array is mine again; the other's has come */
	void *area[RDMA + 1], *into;       /* sent from; received into */
	uint64_t stamp;                    /* of what is being got */
	struct bench_payload out;
};

/* What one trip costs, roughly, in us; it decides the number of trips. */
static long trips_for(size_t bytes)
{
	return (long)(20000 / (1 + (double)bytes / 4000)) + 2;
}

static void go_on(Peer *self);

static void send_out(Peer *self, CProxyElement_Peer to, uint64_t stamp, CkCallback mine)
{
	CkNcpyBuffer b;

	switch (self->way) {
	case ARRAY:
		Peer_array(to, stamp, self->bytes, (const char *)self->out.start);
		break;
	case POST:
		Peer_post(to, stamp, self->bytes, CkSendBufferCb(self->out.start, mine));
		break;
	case GET:
		CkNcpyBufferInit(&b, self->out.start, self->bytes, mine);
		Peer_offer(to, stamp, b);
		break;
	default:
		Peer_lend(to, stamp, self->bytes, CkSendBufferCb(self->out.start, mine));
	}
}

static void send(Peer *self)
{
	CProxyElement_Peer to = Peer_at(peers, !CkMyPe());
	uint64_t stamp = (uint64_t)++self->trips;

	self->answered = false;
	self->mine = self->way == ARRAY;
	bench_refresh(&self->out, stamp);
	send_out(self, to, stamp, Peer_cb_mine(Peer_at(peers, CkMyPe())));
	go_on(self);
}

static void go_on(Peer *self)
{
	bool last = self->trips == self->n_in;

	/* Nobody answers PE 1's last one. */
	if (!self->mine || (!self->answered && !(last && CkMyPe() == 1)))
		return;
	if (!last)
		send(self);
	else
		CkContributeBarrier(self, Main_cb_next(mainProxy));
}

static void take(Peer *self, uint64_t stamp, size_t n, const char *v)
{
	struct bench_payload in = self->out;

	in.start = (unsigned char *)(uintptr_t)v;
	in.words = (uint64_t *)(void *)in.start;
	if (n != self->bytes || !bench_arrived_whole(&in, stamp))
		CkAbort("nocopy: stale words");
	self->answered = true;
	go_on(self);
}

void Peer_on_array(Peer *self, uint64_t stamp, size_t n, const char *v) { take(self, stamp, n, v); }
void Peer_on_lend(Peer *self, uint64_t stamp, size_t n, const char *v) { take(self, stamp, n, v); }

void Peer_on_post_post(Peer *self, uint64_t stamp, size_t n, char **v, CkNcpyBufferPost *post)
{
	(void)stamp, (void)n, (void)post;
	*v = self->into;
}

void Peer_on_post(Peer *self, uint64_t stamp, size_t n, char *v) { take(self, stamp, n, v); }

void Peer_on_offer(Peer *self, uint64_t stamp, CkNcpyBuffer from)
{
	CkNcpyBuffer to;

	self->stamp = stamp;
	CkNcpyBufferInit(&to, self->into, self->bytes, Peer_cb_got(Peer_at(peers, CkMyPe())));
	CkNcpyGet(&to, &from);
}

void Peer_on_got(Peer *self) { take(self, self->stamp, self->bytes, self->into); }

void Peer_on_mine(Peer *self)
{
	self->mine = true;
	go_on(self);
}

void Peer_on_new(Peer *self) { (void)self; }

/* PE 0 sends first; PE 1 answers what comes, and has nothing under way before. */
void Peer_on_begin(Peer *self, int way, size_t bytes, long trips)
{
	size_t area = bench_area_bytes(bytes);
	void *memory = way >= RDMA ? CkRdmaAlloc(area) : bench_alloc(area);

	if (self->area[RDMA])
		CkRdmaFree(self->area[RDMA]);
	free(self->area[MALLOC]);
	free(self->into);
	self->area[RDMA] = way >= RDMA ? memory : NULL;
	self->area[MALLOC] = way >= RDMA ? NULL : memory;
	self->into = bench_alloc(area);
	self->way = (enum way)way;
	self->bytes = bytes;
	self->n_in = trips;
	self->trips = 0;
	self->mine = true;
	self->answered = false;
	bench_payload_init(&self->out, memory, bytes);
	if (CkMyPe() == 0)
		send(self);
}

/* ---- main ------------------------------------------------------------------------------------- */

static void start(Main *self)
{
	size_t bytes = self->opt.bytes[self->size];

	self->t0 = bench_now_us();
	Peer_begin_all(peers, self->way, bytes, trips_for(bytes));
}

static void print(Main *self)
{
	for (int w = 0; w < WAYS; w++)
		for (int s = 0; s < self->opt.nsizes; s++)
			CkPrintf("%s %zu %.3f\n", names[w], self->opt.bytes[s],
				 bench_median(self->us[s][w], self->opt.repeats));
}

/* All ways and sizes, then the next repeat. */
void Main_on_next(Main *self)
{
	size_t bytes = self->opt.bytes[self->size];

	self->us[self->size][self->way][self->rep] =
		(bench_now_us() - self->t0) / (double)trips_for(bytes);
	if (++self->way == WAYS) {
		self->way = ARRAY;
		if (++self->size == self->opt.nsizes) {
			self->size = 0;
			if (++self->rep == self->opt.repeats) {
				print(self);
				CkExit(0);
				return;
			}
		}
	}
	start(self);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	static const size_t sizes[] = {1000, 4000, 10000, 20000, 100000, 1000000, 10000000};

	if (CkNumPes() != 2)
		CkAbort("nocopy: run it on two PEs");
	bench_options_init(&self->opt);
	self->opt.nsizes = sizeof sizes / sizeof *sizes;
	memcpy(self->opt.bytes, sizes, sizeof sizes);
	for (int i = 1; i < m->argc; i++)
		if (!bench_option(&self->opt, m->argc, m->argv, &i))
			CkAbort("nocopy: what is %s?", m->argv[i]);
	mainProxy = Main_thisProxy(self);
	peers = Peer_ckNew();
	start(self);
}

#include "nocopy.def.h"
