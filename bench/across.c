/* SPDX-License-Identifier: Apache-2.0 */
/*
 * across: calls between two processes of a host, for counting instructions (bench/across.sh).
 *
 *	ACROSS_PIPE=FIFO ckrun -n 2 across count | array | string | struct | message
 *	ACROSS_PIPE=FIFO ckrun -n 3 across lease
 *
 * The calls have one int (count), or beside it 8 bytes in an array, a string, a struct; or they have a message object. With `lease`
 * the called element has moved to PE 1 from PE 2, its home, and PE 0 has a lease of it.
 * PE 0 sends a burst of calls while PE 1 stands in a handler, and then says so in the pipe. So no PE looks for messages
 * in vain while its instructions are counted: all are there. They fit into the pair's ring. The first round makes
 * the ring. Calls of functions that are not inlined mark what is counted.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ck.h"
#include "across.decl.h"

/* The sender counts BURST - TO - 1 calls, the receiver FROM - TO: two passes of QUEUE_BATCH. */
enum { WARM = 20, ROUNDS = 3, BURST = 40, FROM = 35, TO = 3 };

enum { COUNT, ARRAY, STRING, STRUCT, MESSAGE, LEASE, KINDS };
static const char *const KIND[KINDS] = { "count", "array", "string", "struct", "message", "lease" };

struct Main {
	int unused;
};

struct End {
	int round;
};

/* Their texts differ, or the compiler would make one function of all. */
static __attribute__((noinline)) void counting_begins(void) { __asm__ volatile("# begins"); }
static __attribute__((noinline)) void sending_ends(void) { __asm__ volatile("# sent"); }
static __attribute__((noinline)) void receiving_ends(void) { __asm__ volatile("# received"); }

static int open_pipe(int flags)
{
	const char *name = getenv("ACROSS_PIPE");

	return name ? open(name, flags) : -1;
}

static void touch_pipe(int flags)
{
	int fd = open_pipe(flags);
	char c = 0;

	if (fd < 0 || (flags == O_RDONLY ? read(fd, &c, 1) : write(fd, &c, 1)) != 1)
		CkAbort("across: cannot use the pipe ACROSS_PIPE");
	close(fd);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)self;
	while (m->argc > 1 && kind < KINDS && strcmp(m->argv[1], KIND[kind]) != 0)
		kind++;
	if (kind == KINDS)
		CkAbort("across: unknown word %s", m->argv[1]);
	receiver = kind == LEASE ? 2 : 1;
	ends = End_ckNew(CkDims1(receiver + 1));
	if (receiver == 2)
		End_settle(End_at(ends, 2));
	else
		End_back(End_at(ends, 0), WARM);
}

void End_on_new(End *self) { self->round = 0; }

static void send_note(CProxyElement_End to, int left)
{
	Note *m = Note_alloc(8);

	m->left = left;
	memset(m->v, 0, 8);
	End_note(to, m);
}

static void call(CProxyElement_End to, int left)
{
	static const char v[8];
	static const struct across_point p;

	switch (kind) {
	case ARRAY: End_array(to, left, sizeof v, v); break;
	case STRING: End_text(to, left, "7 bytes"); break;
	case STRUCT: End_value(to, left, p); break;
	case MESSAGE: send_note(to, left); break;
	default: End_count(to, left);
	}
}

/* Whether the receiver stands: it has said so in the pipe. The scheduler runs between two looks,
 * because the call that lets the receiver stand may not have left yet. The pipe stays open meanwhile, as
 * a writer without a reader would be killed. */
static bool receiver_stands(void)
{
	static int fd = -1;
	char c = 0;

	if (fd < 0 && (fd = open_pipe(O_RDONLY | O_NONBLOCK)) < 0)
		CkAbort("across: cannot open the pipe ACROSS_PIPE");
	if (read(fd, &c, 1) != 1)
		return false;
	close(fd);
	fd = -1;
	return true;
}

void End_on_begin(End *self, int round)
{
	self->round = round;
	End_stand(End_at(ends, receiver));
	End_burst(End_at(ends, 0));
}

void End_on_burst(End *self)
{
	const int round = self->round;

	if (!receiver_stands()) {
		End_burst(End_at(ends, 0));
		return;
	}
	if (round == ROUNDS - 1)
		counting_begins();
	for (int left = BURST; left--;) {
		if (round == ROUNDS - 1 && left == TO)
			sending_ends();
		call(End_at(ends, receiver), left);
	}
	touch_pipe(O_WRONLY);
}

void End_on_settle(End *self)
{
	CkMigrateMe(self, 1);
	End_back(End_at(ends, 0), WARM);
}

void End_on_there(End *self, int left)
{
	(void)self;
	End_back(End_at(ends, 0), left);
}

/* Some calls there and back: PE 0 gets the lease, and PEs that stand in handlers have all their connections. */
void End_on_back(End *self, int left)
{
	(void)self;
	if (left)
		End_there(End_at(ends, receiver), left - 1);
	else
		End_begin(End_at(ends, 0), 0);
}

void End_on_stand(End *self)
{
	(void)self;
	touch_pipe(O_WRONLY);
	touch_pipe(O_RDONLY);
}

static void came(End *self, int left)
{
	if (self->round == ROUNDS - 1 && left == FROM)
		counting_begins();
	if (self->round == ROUNDS - 1 && left == TO)
		receiving_ends();
	if (left)
		return;
	if (++self->round == ROUNDS)
		CkExit(0);
	else
		End_begin(End_at(ends, 0), self->round);
}

void End_on_count(End *self, int left) { came(self, left); }
void End_on_note(End *self, Note *m) { came(self, m->left); }

void End_on_array(End *self, int left, int n, const char *v)
{
	(void)n;
	(void)v;
	came(self, left);
}

void End_on_text(End *self, int left, const char *s)
{
	(void)s;
	came(self, left);
}

void End_on_value(End *self, int left, struct across_point p)
{
	(void)p;
	came(self, left);
}

#include "across.def.h"
