/* SPDX-License-Identifier: Apache-2.0 */
/*
 * misuse: `misuse WHAT PE` makes one mistake with a message or a parameter on one PE; the others are
 * kept busy meanwhile. What must come out stands in run.sh. A mistake that is not caught ends
 * in exit code 99.
 */
#include "misuse.h"

#include <stdlib.h>

#include "check.h"
#include "misuse.decl.h"

struct Main { int unused; };
struct Member { Note *kept; int n_in; };
struct Lost { int unused; };

static bool is(const char *what, const char *name) { return strcmp(what, name) == 0; }

void *Lost_pack(Lost *m)
{
	CkFreeMsg(m);
	return NULL;
}

Lost *Lost_unpack(void *buf) { return buf; }

/* Until nothing that was freed before can still be resting. */
static void free_many(void)
{
	for (int i = 0; i < 1000; i++)
		CkFreeMsg(Note_alloc(3));
}

/* With one message. Whether it was one of these. */
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
	if (!act_message(me, what))
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
void Member_on_plain(Member *self) { (void)self; CkExit(99); }
void Member_on_new(Member *self) { (void)self; }
void Member_on_spin(Member *self) { Member_spin(Member_thisElement(self)); }

void Main_on_new(Main *self, CkArgMsg *m)
{
	const char *what = m->argc > 1 ? m->argv[1] : "send-twice";
	int pe = m->argc > 2 ? atoi(m->argv[2]) : 0;

	mainProxy = Main_thisProxy(self);
	members = Member_ckNew();
	Member_act(Member_at(members, pe), what);
}

#include "misuse.def.h"
