/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forgets: a pup function that forgets a part of its element, which an image cannot show. The element is full of 0x77
 * first, so that its padding has something that does not come back either.
 *
 *	forgets WHAT         by CkPupCheck; the element stays
 *	forgets WHAT move    by moving, in checked mode
 */
#include "check.h"
#include "ckchannel.h"
#include "ckdirect.h"
#include "forgets.h"
#include "forgets.decl.h"

enum { N = 5, MANY = 128 };

struct Main { int unused; };

/* Padding of all lengths. */
struct odd {
	char c;
	/* 1 */
	short s;
	int i;
	double d;
	int a;
	char b;
	/* 1 */
	short t;
	char last;
	/* 7 */
};

struct inner { int id; struct { char tag; double x; } at[2]; };

struct Element {
	int n;
	/* 4 */
	double x;
	char flag;
	/* 3 */
	int beside;
	int vector[8];
	struct inner in;
	unsigned bits : 3, more : 7;
	int lucky, reset;
	double *v;
	struct odd *odd;
	void **table;
	double *shared;
	double *cache;
	char *name;
	int *derived;
	long late;
	char *many[MANY];
};

/* The ends of a named channel: 0 sends, 1 receives. */
struct Port {
	double *in, *out;
	CkChannel *from, *to;
};

struct List {
	int n, m;
	double *cache;
	int scratch[3];
	double *v;
};

/* Of two lengths, so that the last byte of some addresses is 0, wherever the heap begins. */
static size_t bytes_of_many(int i) { return i % 2 ? 40 : 1; }

static bool is(const char *word) { return strcmp(what.s, word) == 0; }

/* ---- the function ------------------------------------------------------------------------------------------- */

static void odd_pup(pup_er p, struct odd *x)
{
	pup_char(p, &x->c);
	pup_short(p, &x->s);
	pup_int(p, &x->i);
	pup_double(p, &x->d);
	if (!is("odd"))
		pup_int(p, &x->a);
	pup_char(p, &x->b);
	pup_short(p, &x->t);
	pup_char(p, &x->last);
}

static void inner_pup(pup_er p, struct inner *x)
{
	if (!is("nested"))
		pup_int(p, &x->id);
	for (int i = 0; i < 2; i++) {
		pup_char(p, &x->at[i].tag);
		if (!is("nested-twice") || i == 0)
			pup_double(p, &x->at[i].x);
	}
}

static void numbers(pup_er p, Element *self)
{
	int bits = (int)self->bits, more = (int)self->more;

	if (!is("number"))
		pup_double(p, &self->x);
	if (!is("flag"))
		pup_char(p, &self->flag);
	if (!is("beside"))
		pup_int(p, &self->beside);
	pup_ints(p, self->vector, is("vector") ? 5 : 8);
	inner_pup(p, &self->in);
	pup_int(p, &bits);
	pup_int(p, &more);
	self->bits = (unsigned)bits;
	if (!is("bits"))
		self->more = (unsigned)more;
	if (pup_isUnpacking(p) && !is("lucky"))
		self->lucky = (int)0xa5a5a5a5; /* what fills a copy */
	if (pup_isUnpacking(p) && !is("reset"))
		self->reset = 0;
}

/* Their sizes are the same in all modes, but for one. */
static size_t bytes(const Element *self)
{
	return (size_t)(is("late") ? self->late : is("small") ? N - 1 : is("large") ? 4 * N : N) * sizeof(double);
}

static void memory(pup_er p, Element *self)
{
	if (!is("pointer"))
		self->v = (is("kind-direct") ? pup_alloc_direct : pup_alloc)(p, self->v, bytes(self));
	if (!is("pointer") && !is("contents"))
		pup_doubles(p, self->v, is("tail") ? N - 1 : N);
	self->odd = pup_alloc(p, self->odd, 2 * sizeof *self->odd);
	odd_pup(p, &self->odd[0]);
	odd_pup(p, &self->odd[1]);
	self->table = pup_alloc(p, self->table, 2 * sizeof *self->table);
	self->table[0] = pup_alloc(p, self->table[0], 1);
	pup_char(p, self->table[0]);
	if (!is("table"))
		self->table[1] = pup_alloc(p, self->table[1], 1);
	self->shared = (is("kind") ? pup_alloc : pup_alloc_direct)(p, self->shared, N * sizeof(double));
	if (!is("direct"))
		pup_doubles(p, self->shared, N);
	pup_string(p, &self->name);
	for (int i = 0; i < MANY; i++)
		self->many[i] = pup_alloc(p, self->many[i], bytes_of_many(i));
}

/* What need not come back. */
static void others(pup_er p, Element *self)
{
	self->cache = pup_alloc(p, self->cache, N * sizeof(double));
	if (!is("cache"))
		pup_skip(p, self->cache, N * sizeof(double));
	else
		pup_skip(p, self->cache, 2 * sizeof(double));
	/* Of a copy it may be NULL, but nothing else. */
	if (!pup_isUnpacking(p) && self->derived)
		CHECK(self->derived == self->vector);
	if (is("null") && pup_isUnpacking(p))
		self->derived = NULL;
	else if (!is("derived") && !is("null"))
		pup_skip(p, &self->derived, sizeof self->derived);
}

void Element_pup(pup_er p, Element *self)
{
	if (!is("late"))
		pup_long(p, &self->late);
	pup_int(p, &self->n);
	numbers(p, self);
	memory(p, self);
	others(p, self);
	if (is("late"))
		pup_long(p, &self->late);
}

/* ---- the element ------------------------------------------------------------------------------------------------ */

static struct odd *odd_new(void)
{
	struct odd *x = memset(malloc(2 * sizeof *x), 0x77, 2 * sizeof *x);

	for (int i = 0; i < 2; i++) {
		x[i].c = 0;
		x[i].s = (short)i;
		x[i].i = 0;
		x[i].d = 1;
		x[i].a = 3;
		x[i].b = 0;
		x[i].t = 5;
		x[i].last = 6;
	}
	return x;
}

static double *ones(double *v)
{
	for (int i = 0; i < N; i++)
		v[i] = 1;
	return v;
}

/* Elements live until the job ends, and so does their memory: it is not looked for then. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) { return 1; }

static char *one_char(void)
{
	char *c = malloc(1);

	*c = 9;
	return c;
}

void Element_on_new(Element *self)
{
	memset(self, 0x77, sizeof *self);
	self->n = 0;
	self->x = 1;
	self->flag = 1;
	self->beside = 2;
	for (int i = 0; i < 8; i++)
		self->vector[i] = i;
	self->in.id = 4;
	for (int i = 0; i < 2; i++) {
		self->in.at[i].tag = (char)i;
		self->in.at[i].x = i + 0.5;
	}
	self->bits = 5;
	self->more = 77;
	self->lucky = 0x70000007; /* no part of an address */
	self->reset = 8;
	self->v = ones(malloc(N * sizeof *self->v));
	self->odd = odd_new();
	self->table = malloc(2 * sizeof *self->table);
	self->table[0] = one_char();
	self->table[1] = is("table") ? one_char() : calloc(1, 1);
	self->shared = ones(CkDirect_alloc(N * sizeof *self->shared));
	self->cache = ones(malloc(N * sizeof *self->cache));
	self->name = strdup("element");
	self->derived = self->vector;
	self->late = N;
	for (int i = 0; i < MANY; i++)
		self->many[i] = calloc(1, bytes_of_many(i));
}

/* Where it moves, it goes on as it was. Within a process it kept its memory. */
void Element_on_arrived(Element *self)
{
	CHECK(self->x == 1 && self->flag == 1 && self->vector[7] == 7);
	CHECK(self->in.at[1].x == 1.5 && self->bits == 5 && self->more == 77);
	CHECK(self->v[N - 1] == 1 && self->odd[1].last == 6 && self->shared[0] == 1);
	CHECK(strcmp(self->name, "element") == 0);
	CHECK(self->derived == self->vector || (!self->derived && self->cache[0] == 0));
	ones(self->cache);
	self->derived = self->vector;
	self->lucky = 0x70000007; /* no part of an address */
	self->reset = 8;
}

void Element_on_check(Element *self)
{
	if (moving)
		CkMigrateMe(self, (CkMyPe() + 1) % CkNumPes());
	else
		CkPupCheck(self);
	Element_arrive(Element_thisElement(self));
}

void Element_on_arrive(Element *self) { CkContributeBarrier(self, Main_cb_finished(mainProxy)); }

/* ---- buffers of channels ---------------------------------------------------------------------------------------- */

void Port_pup(pup_er p, Port *self)
{
	self->in = pup_alloc_direct(p, self->in, N * sizeof(double));
	self->out = pup_alloc(p, self->out, N * sizeof(double));
	pup_channel(p, &self->from, self->in);
	pup_channel(p, &self->to, self->out);
}

void Port_on_new(Port *self)
{
	self->in = ones(CkDirect_alloc(N * sizeof(double)));
	self->out = ones(malloc(N * sizeof(double)));
}

static void port_check(Port *self)
{
	CkPupCheck(self);
	CkContributeBarrier(self, Main_cb_finished(mainProxy));
}

/* Its other buffer is nobody's. */
void Port_on_connect(Port *self)
{
	if (Port_thisIndex(self)) {
		memset(self->out, 0, N * sizeof(double));
		self->from = Port_side_from(self, Port_at(ports, 0), 0, self->in, N * sizeof(double));
		return;
	}
	memset(self->in, 0, N * sizeof(double));
	self->to = Port_side_to(self, Port_at(ports, 1), 0, self->out, N * sizeof(double));
	CkChannelPut(self->to);
	port_check(self);
}

/* What has come may be needed until the next put may come. */
void Port_on_side(Port *self, int tag)
{
	CHECK_EQ(tag, 0);
	if (is("answered"))
		CkChannelReady(self->from);
	port_check(self);
}

/* ---- lists -------------------------------------------------------------------------------------------------- */

/* A list forgets nothing, and says itself what it skips. */
void List_on_new(List *self)
{
	memset(self, 0x77, sizeof *self);
	self->n = 2;
	self->cache = self->v = calloc(2, sizeof *self->v);
}

void List_on_check(List *self)
{
	CkPupCheck(self);
	CkContributeBarrier(self, Main_cb_finished(mainProxy));
}

/* ---- main ------------------------------------------------------------------------------------------------------- */

void Main_on_finished(Main *self)
{
	(void)self;
	CkPrintf("forgets: nothing\n");
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)self;
	CHECK(m->argc == 2 || m->argc == 3);
	strncpy(what.s, m->argv[1], sizeof what.s - 1);
	moving = m->argc == 3;
	mainProxy = Main_thisProxy(self);
	if (is("list"))
		List_check_all(List_ckNew(CkDims(4)));
	else if (is("answered") || is("unanswered"))
		Port_connect_all(ports = Port_ckNew(CkDims(2)));
	else
		Element_check_all(Element_ckNew(CkDims(4)));
}

#include "forgets.def.h"
