/* SPDX-License-Identifier: Apache-2.0 */
/*
 * misuse: `misuse WHAT PE` makes one mistake with a message or a parameter on one PE while the others are
 * busy. misuse.cases has the expected output. If the runtime misses the mistake, the exit code is 99.
 */
#include "misuse.h"

#include <stdlib.h>

#include "check.h"
#include "misuse.decl.h"

struct Main { int unused; };
struct Member { Note *kept; void *any; bool twice; int n_missing; };
struct Own { int n; };
struct Lost { int unused; };
struct Taker { int unused; };

static bool is(const char *what, const char *name) { return strcmp(what, name) == 0; }

void *Lost_pack(Lost *m)
{
	CkFreeMsg(m);
	return NULL;
}

Lost *Lost_unpack(void *buf) { return buf; }

void *Own_pack(Own *m) { return m; }
Own *Own_unpack(void *buf) { return buf; }

/* Until no block that was freed before can still be in quarantine. */
static void free_many(void)
{
	for (int i = 0; i < 1000; i++)
		CkFreeMsg(Note_alloc(3));
}

/* With a message without arrays, and with one that its program packs. */
static bool act_other(CProxyElement_Member me, const char *what)
{
	static const unsigned many_bits[200];
	Fixed *f = Fixed_alloc();
	Own *o = Own_alloc(8);

	if (is(what, "fixed-send-twice")) {
		Member_fixed(me, f);
		Member_fixed(me, f);
	} else if (is(what, "fixed-free-twice")) {
		CkFreeMsg(f);
		CkFreeMsg(f);
	} else if (is(what, "fixed-free-sent")) {
		Member_fixed(Member_at(members, 0), f);
		CkFreeMsg(f);
	} else if (is(what, "prio-room")) {
		CkSetPrioBits(f, many_bits, 6400);
	} else if (is(what, "own-send-twice")) {
		Member_own(me, o);
		Member_own(me, o);
	} else if (is(what, "own-send-freed")) {
		CkFreeMsg(o);
		Member_own(Member_at(members, 0), o);
	} else if (is(what, "own-free-twice")) {
		CkFreeMsg(o);
		CkFreeMsg(o);
	} else if (is(what, "own-free-far")) {
		Member_own(Member_at(members, 0), o);
		CkFreeMsg(o);
	} else if (is(what, "own-free-sent")) {
		Member_own(me, o);
		CkFreeMsg(o);
	} else {
		return false;
	}
	CkExit(99);
	return true;
}

/* A message is written after it was sent: to this PE, to another node, to all, as the parameter of
 * a constructor, as a future's value; or one that is too large to stay in quarantine. */
static bool act_written(CProxyElement_Member me, const char *what)
{
	Note *m = Note_alloc(is(what, "written-large") ? 20000 : 3);
	double *v = m->v;

	m->n = 0;
	if (is(what, "written") || is(what, "written-large"))
		Member_note(me, m);
	else if (is(what, "written-far"))
		Member_note(Member_at(members, 0), m);
	else if (is(what, "written-all"))
		Member_note_all(members, m);
	else if (is(what, "written-new"))
		Taker_ckNew(m);
	else if (is(what, "written-value"))
		CkSendToFuture(CkCreateFuture(), m);
	else
		return false;
	v[1] = 3;
	Member_plain(me);
	return true;
}

/* With a result that a handler was given, or with parameters that it kept. */
static bool act_handler(CProxyElement_Member me, const char *what)
{
	static const double v[2];

	if (strncmp(what, "result-", 7) == 0) {
		Member_ckLocalBranch(members)->twice = is(what, "result-free-twice");
		CkCallbackSend(Member_cb_result(me), v, sizeof v);
	} else if (is(what, "kept-free-twice")) {
		Member_keep(me, 0, 2, v);
	} else if (is(what, "kept-later")) {
		Member_keep(me, 1, 2, v);
	} else {
		return false;
	}
	return true;
}

void Member_on_fixed(Member *self, Fixed *m) { (void)self, (void)m; }
void Member_on_own(Member *self, Own *m) { (void)self, (void)m; }

void Member_on_keep(Member *self, int later, int n, const double *v)
{
	(void)n, (void)v;
	self->any = CkKeepMsg();
	CkFreeMsg(self->any);
	if (later) {
		Member_later(Member_thisElement(self));
		return;
	}
	CkFreeMsg(self->any);
	CkExit(99);
}

void Member_on_result(Member *self, const CkReductionMsg *m)
{
	self->any = (void *)(uintptr_t)m;
	Member_later(Member_thisElement(self));
	if (!self->twice)
		return;
	CkFreeMsg(self->any);
	CkFreeMsg(self->any);
	CkExit(99);
}

void Member_on_later(Member *self)
{
	CkFreeMsg(self->any);
	CkExit(99);
}

/* With one message. Returns whether it was one of these. */
static bool act_message(CProxyElement_Member me, const char *what)
{
	Note *m = Note_alloc(3);
	double *v = m->v;

	if (is(what, "send-twice")) {
		Member_note(me, m);
		Member_note(me, m);
	} else if (is(what, "send-freed")) {
		CkFreeMsg(m);
		Member_note(me, m);
	} else if (is(what, "all-freed")) {
		CkFreeMsg(m);
		Member_note_all(members, m);
	} else if (is(what, "free-twice")) {
		CkFreeMsg(m);
		CkFreeMsg(m);
	} else if (is(what, "free-sent")) {
		Member_note(me, m);
		CkFreeMsg(m);
	} else if (is(what, "number-sent")) {
		Member_note(me, m);
		CkSetRefNum(m, 5);
	} else if (is(what, "write-freed")) {
		CkFreeMsg(m);
		v[1] = 3;
		free_many();
	} else if (is(what, "free-handled")) {
		m->n = 1; /* see note */
		Member_note(me, m);
		return true;
	} else {
		return false;
	}
	CkExit(99);
	return true;
}

static void act_call(CProxyElement_Member me, const char *what)
{
	static const int three[3];
	Shifty x = { .how = SHIFTY_FAIR };

	if (is(what, "queueing"))
		Member_plain_opt(&(CkEntryOptions){ .queueing = 8 }, me);
	else if (is(what, "bits"))
		Member_plain_opt(&(CkEntryOptions){ .queueing = CK_QUEUEING_BFIFO,
						    .n_prio_bits = 5 }, me);
	else if (is(what, "keep-nocopy"))
		Member_lend(me, 3, CkSendBuffer(three));
	else if (is(what, "keep-pup"))
		Member_shift(me, &x);
	else if (is(what, "pack-nothing"))
		Member_lost_all(members, Lost_alloc(0));
	else if (is(what, "count-none"))
		Member_counted(me);
	else if (is(what, "count-keeps"))
		Member_keeps(me, Note_alloc(1));
	else if (is(what, "number-null"))
		CkSetRefNum(NULL, 1);
	x.how = is(what, "pup-reads-more") ? SHIFTY_READS_MORE : SHIFTY_PACKS_MORE;
	if (strncmp(what, "pup-", 4) == 0)
		Member_shift(me, &x);
}

/* A pointer to a message outlives the handler. */
void Member_on_note(Member *self, Note *m)
{
	self->kept = m;
	if (m->n)
		Member_again(Member_thisElement(self));
}

void Member_on_again(Member *self)
{
	CkFreeMsg(self->kept);
	CkExit(99);
}

void Member_on_act(Member *self, const char *what)
{
	CProxyElement_Member me = Member_thisElement(self);

	Member_spin(me);
	if (!act_message(me, what) && !act_other(me, what) && !act_handler(me, what) &&
	    !act_written(me, what))
		act_call(me, what);
}

void Member_on_lend(Member *self, int n, const int *v)
{
	(void)self, (void)n, (void)v;
	CkKeepMsg();
	CkExit(99);
}

void Member_on_shift(Member *self, const Shifty *x)
{
	(void)self, (void)x;
	CkKeepMsg();
	CkExit(99);
}

void Member_on_lost(Member *self, Lost *m) { (void)self, (void)m; CkExit(99); }
void Member_on_counted(Member *self, int number, int n)
{
	CkAbort("%d %d %p", number, n, (void *)self);
}

void Member_on_keeps(Member *self, int number, int n, Note **m)
{
	self->kept = m[0];
	CkFreeMsg(m[0]);
	CkFreeMsg(self->kept);
	CkExit(number + n);
}
void Member_on_fails(Member *self) { CkAbort("%p fails", (void *)self); }
void Member_on_plain(Member *self) { (void)self; CkExit(99); }
void Member_on_new(Member *self) { (void)self; }
void Taker_on_new(Taker *self, Note *m) { (void)self, (void)m; }
void Member_on_spin(Member *self) { Member_spin(Member_thisElement(self)); }

void Main_on_new(Main *self, CkArgMsg *m)
{
	const char *what = m->argc > 1 ? m->argv[1] : "send-twice";
	int pe = m->argc > 2 ? atoi(m->argv[2]) : 0;

	mainProxy = Main_thisProxy(self);
	members = Member_ckNew();
	if (is(what, "all-fail"))
		Member_fails_all(members);
	else
		Member_act(Member_at(members, pe), what);
}

#include "misuse.def.h"
