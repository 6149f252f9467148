/* SPDX-License-Identifier: Apache-2.0 */
/*
 * windows: whether what comes over tcp makes a process bound the windows of its connections
 * (runtime/machine/ucx/window.h), whichever way it comes. Two elements throw each other a ball.
 *
 *	windows KIND
 *
 * KIND  0: a message of 20 kB; 1: a put of 20 kB; 2: a put of 100 kB, which travels in pieces; 3: several small messages,
 *       which travel together; 4: one small message, which needs no bound; 5: a stream of large messages one way, from
 *       which the bound is taken again
 */
#include "check.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ckdirect.h"
#include "windows.decl.h"

enum { MESSAGE, PUT, PIECES, BATCH, SMALL, STREAM, KINDS };
enum { TRIPS = 40, WORDS_MOST = 12500 };
static const struct { int calls, words; } KIND[KINDS] = {
	[MESSAGE] = { 1, 2500 }, [PUT] = { 0, 2500 }, [PIECES] = { 0, 12500 }, [BATCH] = { 20, 60 }, [SMALL] = { 1, 60 },
	[STREAM] = { 200, 5000 },
};

struct Main { char unused; };
struct Peer {
	uint64_t out[WORDS_MOST], *in;
	CkDirectHandle here, there;
	int came, trips;
};

/* The connection whose window was bounded last, and what to; 0: none, or it has got its whole window back. ever: any was. */
static atomic_int bounded_fd, bound, ever;

static int window_of(int fd)
{
	int window = 0;
	socklen_t size = sizeof window;

	return getsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &window, &size) ? 0 : window;
}

/* In place of the C library's. Only the PE's own thread sets windows, so relaxed will do. */
int setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
	const int before = window_of(fd);
	long rc = syscall(SYS_setsockopt, fd, level, name, value, size);

	if (level == IPPROTO_TCP && name == TCP_WINDOW_CLAMP && rc == 0) {
		atomic_store_explicit(&ever, 1, memory_order_relaxed);
		atomic_store_explicit(&bounded_fd, fd, memory_order_relaxed);
		atomic_store_explicit(&bound, window_of(fd) < before ? window_of(fd) : 0, memory_order_relaxed);
	}
	return (int)rc;
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)self;
	kind = check_argument(m, 1, MESSAGE);
	CHECK(kind >= 0 && kind < KINDS);
	mainProxy = Main_thisProxy(self);
	peers = Peer_ckNew(CkDims(2));
}

void Main_on_bounded(Main *self, int n)
{
	(void)self;
	CkPrintf("windows: bounded in %d of %d processes\n", n, CkNumNodes());
	CkExit(0);
}

static void throw_ball(Peer *self)
{
	self->out[KIND[kind].words - 1]++;
	if (KIND[kind].calls == 0)
		CkDirect_put(&self->there);
	for (int i = 0; i < KIND[kind].calls; i++)
		Peer_ball(Peer_at(peers, 1 - Peer_thisIndex(self)), 8 * KIND[kind].words, (const char *)self->out);
}

static void caught(Peer *self, const uint64_t *v)
{
	CHECK_EQ(v[KIND[kind].words - 1], self->trips + 1);
	self->trips++;
	if (kind == STREAM) {
		Peer_end_all(peers);
		return;
	}
	if (self->trips < TRIPS || Peer_thisIndex(self) == 0)
		throw_ball(self);
	if (self->trips == TRIPS)
		Peer_end(Peer_at(peers, Peer_thisIndex(self)));
}

static void put_came(void *arg)
{
	Peer *self = arg;

	CkDirect_ready(&self->here);
	caught(self, self->in);
}

void Peer_on_new(Peer *self)
{
	const size_t bytes = 8 * (size_t)KIND[kind].words;

	self->in = CkDirect_alloc(bytes);
	self->here = CkDirect_createHandle(self->in, bytes, UINT64_MAX, put_came, self);
	Peer_begin(Peer_at(peers, 1 - Peer_thisIndex(self)), self->here);
}

/* Element 1 throws first, when both can: a put may be faster than a message that was sent before it. */
void Peer_on_begin(Peer *self, CkDirectHandle theirs)
{
	self->there = theirs;
	CkDirect_assocLocalBuffer(&self->there, self->out, 8 * (size_t)KIND[kind].words);
	if (Peer_thisIndex(self) == 0)
		Peer_go(Peer_at(peers, 1));
}

void Peer_on_go(Peer *self)
{
	throw_ball(self);
}

void Peer_on_ball(Peer *self, int n, const char *v)
{
	CHECK_EQ(n, 8 * KIND[kind].words);
	if (++self->came % KIND[kind].calls == 0)
		caught(self, (const uint64_t *)(const void *)v);
}

void Peer_on_end(Peer *self)
{
	const int window = window_of(atomic_load_explicit(&bounded_fd, memory_order_relaxed));
	const bool now = window && window == atomic_load_explicit(&bound, memory_order_relaxed);
	/* The kernel may have forgotten a bound since the last turn. */
	int bounded = kind == STREAM ? now : atomic_load_explicit(&ever, memory_order_relaxed);

	CkContribute(self, &bounded, 1, CkReduction_sum_int, Main_cb_bounded(mainProxy));
}

#include "windows.def.h"
