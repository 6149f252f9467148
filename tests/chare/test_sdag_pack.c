/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sdag_pack.c: wherever a body of Structured Dagger waits, it can be packed, dropped, and made anew in another
 * element, and goes on with the same result. One element stays, and gives the sum that the others must have. Two
 * others take turns: after each call what the one has of Structured Dagger moves to the other.
 *
 *	test_sdag_pack WHAT    a body that cannot be packed, and says so: pointer, moved, posted, stack
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../runtime/chare/wait/along/along.h"
#include "sdag_pack.h"
#include "test_sdag_pack.decl.h"

#define CHECK(what) ((what) ? (void)0 : CkAbort("%s:%d: not true: %s", __FILE__, __LINE__, #what))
#define CHECK_EQ(is, should) check_eq((is), (should), #is, __LINE__)

static void check_eq(long is, long should, const char *what, int line)
{
	if (is != should)
		CkAbort("line %d: %s is %ld, not %ld", line, what, is, should);
}

enum { STAYS, FIRST, SECOND, BODIES };
enum { CALLS = 50 };

struct Main {
	CProxy_Body all;
	int at;                   /* the element that has the bodies */
	int step, n_done, n_moves;
	long sum;                 /* of the one that stays */
	double lent[3];
	const char *refused;
};

struct Body {
	int left, turn, mark;
	long sum;
	double far[4];
};


/* ---- what bodies do ---------------------------------------------------------------------------------- */

static void add(Body *self, long n)
{
	CHECK_EQ(self->mark, 4711); /* of an element that has no body any more, it is another */
	self->sum = (long)((unsigned long)self->sum * 31 + (unsigned long)n);
}

static void check_own(int n, const double *v, const char *s, const Row *row)
{
	CHECK_EQ(n, 4);
	CHECK(v[0] == 1.5 && v[1] == 2.5 && !strcmp(s, "own") && row->n == 2 && row->v[1] == 6);
}

static void check_vec(int k, const int *w)
{
	CHECK_EQ(k, 2);
	CHECK(w[0] == 30 && w[1] == 40);
}

static void finished(Body *self)
{
	Main_done(mainProxy, self->mark, self->sum);
}

void Row_pup(pup_er p, Row *x)
{
	pup_int(p, &x->n);
	x->v = (int *)pup_alloc(p, x->v, (size_t)x->n * sizeof *x->v);
	pup_bytes(p, x->v, (size_t)x->n * sizeof *x->v);
}

void *Own_pack(Own *m)
{
	int *buffer = (int *)CkAllocBuffer(m, 2 * sizeof(int));

	memcpy(buffer, m->far, 2 * sizeof(int));
	free(m->far);
	CkFreeMsg(m);
	return buffer;
}

Own *Own_unpack(void *buffer)
{
	Own *m = Own_alloc(0);

	m->far = (int *)malloc(2 * sizeof(int));
	memcpy(m->far, buffer, 2 * sizeof(int));
	CkFreeMsg(buffer);
	return m;
}

void Body_on_new(Body *self)
{
	self->left = 2;
	self->mark = 4711;
}

void Body_on_posted_post(Body *self, int n, double **v, CkNcpyBufferPost *post)
{
	(void)n, (void)post;
	*v = self->far;
}

/* ---- calls ---------------------------------------------------------------------------------------------- */

static Note *new_note(int n, int first)
{
	Note *m = Note_alloc((size_t)n);

	m->n = n;
	for (int i = 0; i < n; i++)
		m->v[i] = first + i;
	return m;
}

static Own *new_own(void)
{
	Own *m = Own_alloc(0);

	m->far = (int *)malloc(2 * sizeof(int));
	m->far[0] = 50;
	m->far[1] = 60;
	return m;
}

static void begin(Main *self, CProxyElement_Body to)
{
	double v[3] = { 0.5, 1.5, 2.5 };
	int in_row[2] = { 5, 6 };
	Row row = { 2, in_row };

	(void)self;
	Body_run(to, 3, v, "own", &row);
	Body_keep(to, new_note(3, 70));
}

static void rows(CProxyElement_Body to)
{
	int v[3] = { 7, 8, 9 };
	Row row = { 3, v };

	Body_rows(to, &row);
}

static void result(CProxyElement_Body to)
{
	int n = 17;

	CkCallback cb = Body_cb_result(to);
	CkCallbackSetRefNum(&cb, 6);
	CkCallbackSendTyped(cb, CK_INT, &n, 1);
}

/* The calls of a run, one each time. False: there are no more. Some come before their `when`. */
static bool send(Main *self, int step, CProxyElement_Body to)
{
	static const int vec[] = { 10, 20, 30, 40 };

	switch (step) {
	case 0: begin(self, to); break;
	case 1: Body_vec(to, 5, 4, vec); break;              /* of another number: kept to the end */
	case 2: Body_one(to, 3); break;
	case 3: Body_text(to, 2, "long enough"); break;
	case 4: Body_vec(to, 4, 4, vec); break;
	case 5: rows(to); break;
	case 6: Body_turn(to); break;
	case 10: case 14: Body_two(to, 4); break;
	case 11: case 15: Body_two(to, 5); break;
	case 12: Body_turn(to); break;
	case 21: Body_two(to, 21); break;
	case 23: Body_item(to, 3); break;
	case 24: Body_two(to, 24); break;
	case 26: Body_turn(to); break;
	case 27: Body_note(to, new_note(4, 100)); break;
	case 28: Body_item(to, 2); break;
	case 29: Body_item(to, 21); break;
	case 31: Body_item(to, 0); break;
	case 32: Body_two(to, 32); break;
	case 33: Body_item(to, 2 * 10 + 2); break;
	case 34: Body_item(to, 4); break;
	case 35: Body_item(to, 1); break;
	case 36: Body_item(to, 41); break;
	case 38: Body_item(to, 42); break;
	case 39: Body_item(to, 2); break;
	case 41: Body_turn(to); break;
	case 42: Body_note(to, new_note(2, 200)); break;
	case 43: Body_own(to, new_own()); break;
	case 45: Body_lent(to, 3, CkSendBufferCb(self->lent, Main_cb_lentBack(mainProxy))); break;
	case 47: result(to); break;
	case CALLS: return false;
	default: Body_one(to, step);
	}
	return true;
}

/* ---- moves ----------------------------------------------------------------------------------------------- */

static void move(Main *self)
{
	struct pe *pe = ck_self();
	const int to = FIRST + SECOND - self->at;
	Body *a = Body_ckLocal(Body_at(self->all, self->at)), *b = Body_ckLocal(Body_at(self->all, to));
	size_t n = sdag_size(pe, obj_of(a));
	void *image = aligned_alloc(16, n ? n : 16);

	sdag_pack(pe, obj_of(a), image);
	obj_forget(pe, obj_of(a));
	*b = *a;
	memset(a, 0xee, sizeof *a);
	sdag_unpack(pe, obj_of(b), image, n);
	memset(image, 0xee, n);
	free(image);
	self->at = to;
	self->n_moves++;
}

/* Behind the call, whose handling is over. */
void Main_on_move(Main *self)
{
	if (self->refused) {
		sdag_size(ck_self(), obj_of(Body_ckLocal(Body_at(self->all, FIRST))));
		CkAbort("a body with '%s' was packed", self->refused);
	}
	if (self->n_done)
		move(self);
	Main_step(mainProxy);
}

void Main_on_step(Main *self)
{
	if (send(self, self->step, Body_at(self->all, self->at))) {
		self->step++;
		Main_move(mainProxy);
	} else if (self->at == STAYS) {
		CHECK_EQ(self->n_done, 1);
		self->step = 0;
		self->at = FIRST;
		Main_step(mainProxy);
	}
}

void Main_on_lentBack(Main *self) { (void)self; }

static void begin_refused(Main *self, const char *what)
{
	CProxyElement_Body to = Body_at(self->all, FIRST);
	double v[2] = { 1, 2 };

	self->refused = what;
	if (!strcmp(what, "pointer"))
		Body_pointer(to);
	else if (!strcmp(what, "moved"))
		Body_moved(to, 2, v);
	else if (!strcmp(what, "posted"))
		Body_posted(to, 2, CkSendBuffer(self->lent));
	else
		Body_stack(to);
	Main_move(mainProxy);
}

/* Run this program with `what`: it must end with that text. */
static void check_refused(const char *what, const char *text)
{
	char self[512], line[1024], all[4096] = "";
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	CHECK(n > 0);
	self[n] = 0;
	snprintf(line, sizeof line, "CK_BACKTRACE=plain %s %s 2>&1", self, what);
	FILE *f = popen(line, "r");

	CHECK(f != NULL);
	all[fread(all, 1, sizeof all - 1, f)] = 0;
	CHECK(pclose(f) != 0);
	if (!strstr(all, text))
		CkAbort("'%s' is not in: %s", text, all);
}

void Main_on_done(Main *self, int mark, long sum)
{
	CHECK_EQ(mark, 4711);
	if (!self->n_done++) {
		self->sum = sum;
		return;
	}
	CHECK_EQ(sum, self->sum);
	CHECK_EQ(self->n_moves, CALLS);
	CkPrintf("ok  a body goes on in another element, with the same sum, after each of %d moves\n", self->n_moves);
	check_refused("pointer", "Body(1) cannot leave its process while Body::pointer (test_sdag_pack.ci:111) waits: "
		      "the variable 'p' is a pointer");
	check_refused("moved", "waits: the parameter 'v' does not point into its call any more");
	check_refused("posted", "waits: the array 'v' lies where the program wanted it (nocopypost)");
	check_refused("stack", "waits: its 'thread' has a stack");
	CkPrintf("ok  what cannot be packed is refused by name\n");
	CkExit(0);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	self->all = Body_ckNew(CkDims(BODIES));
	self->at = STAYS;
	for (int i = 0; i < 3; i++)
		self->lent[i] = 300 + i;
	if (m->argc > 1)
		begin_refused(self, m->argv[1]);
	else
		Main_step(mainProxy);
}

#include "test_sdag_pack.def.h"
