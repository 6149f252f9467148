/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bigmsg: `bigmsg MB [array]`: a message of so many megabytes goes from PE 0 to the last PE and
 * back. With `array` an array parameter of that size does the same. The program writes and reads only
 * some bytes of every megabyte, so a message that is handed over by reference costs little.
 */
#include "check.h"

#include <stdlib.h>

#include "bigmsg.decl.h"

static const size_t MB = (size_t)1 << 20;

struct Main { size_t n; bool array; };
struct Member { int unused; };

static char mark(size_t i) { return (char)(check_mix(i) | 1); }

static void write_marks(char *a, size_t n)
{
	for (size_t i = 0; i < n; i += MB)
		a[i] = mark(i);
	a[n - 1] = mark(n - 1);
}

static void check_marks(const char *a, size_t n)
{
	for (size_t i = 0; i < n; i += MB)
		CHECK(a[i] == mark(i));
	CHECK(a[n - 1] == mark(n - 1));
}

static void check(const Big *b)
{
	check_marks(b->a, b->n);
	CHECK_EQ(b->after[0], 12345);
	CHECK(b->after == (const int *)(b->a + (b->n + 15) / 16 * 16));
}

void Member_on_new(Member *self) { (void)self; }

void Member_on_take(Member *self, Big *b)
{
	(void)self;
	check(b);
	Main_back(mainProxy, b);
}

void Member_on_array(Member *self, size_t n, const char *v, int tail)
{
	(void)self;
	CHECK_EQ(tail, 77);
	check_marks(v, n);
	Main_arrived(mainProxy, n);
}

void Main_on_back(Main *self, Big *b)
{
	char *v;

	CHECK_EQ(b->n, self->n);
	check(b);
	CkFreeMsg(b);
	if (!self->array) {
		Main_on_arrived(self, self->n);
		return;
	}
	v = calloc(1, self->n);
	CHECK(v);
	write_marks(v, self->n);
	Member_array(Member_at(members, CkNumPes() - 1), self->n, v, 77);
	free(v);
}

void Main_on_arrived(Main *self, size_t n)
{
	CHECK_EQ(n, self->n);
	CkPrintf("bigmsg: %zu MB on %d PEs\n", n / MB, CkNumPes());
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	size_t n = (m->argc > 1 ? strtoull(m->argv[1], NULL, 0) : 4200) * MB + 5;
	Big *b = Big_alloc(n, 1);

	mainProxy = Main_thisProxy(self);
	members = Member_ckNew();
	self->n = b->n = n;
	self->array = m->argc > 2;
	write_marks(b->a, n);
	b->after[0] = 12345;
	Member_take(Member_at(members, CkNumPes() - 1), b);
}

#include "bigmsg.def.h"
