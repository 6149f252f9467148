/* SPDX-License-Identifier: Apache-2.0 */
/*
 * globals_misuse WHAT: a spread of 10 numbers, and 100 bytes of the last PE, used as they must not
 * be, mostly by PE 0.
 */
#include "check.h"

#include <string.h>

#include "globals_misuse.decl.h"

enum what { NONE, NULL_POINTER, DAMAGED, BEHIND, BEFORE, PART, FREED, NEVER, SYNC, READ, ATOMIC,
	    ALLOC, THREAD_ENDS, ELEMENT_ENDS, TWICE, FREE_FAR, FREE_TWICE, FREE_SPREAD, FREE_INSIDE,
	    ODD, FIVE, EMPTY, OUTSIDE, OLD, LEFT, AWAIT_STORES, AWAIT_ALL, AWAIT_CALLBACK, WHATS };
static const char *const names[WHATS] = {
	[NONE] = "none", [NULL_POINTER] = "null", [DAMAGED] = "damaged", [BEHIND] = "behind",
	[BEFORE] = "before", [PART] = "part", [FREED] = "freed", [NEVER] = "never", [SYNC] = "sync",
	[READ] = "read", [ATOMIC] = "atomic", [ALLOC] = "alloc", [THREAD_ENDS] = "thread-ends",
	[ELEMENT_ENDS] = "element-ends", [TWICE] = "twice", [FREE_FAR] = "free-far",
	[FREE_TWICE] = "free-twice", [FREE_SPREAD] = "free-spread", [FREE_INSIDE] = "free-inside",
	[ODD] = "odd", [FIVE] = "five", [EMPTY] = "empty", [OUTSIDE] = "outside", [OLD] = "old",
	[LEFT] = "left", [AWAIT_STORES] = "await-stores", [AWAIT_ALL] = "await-all",
	[AWAIT_CALLBACK] = "await-callback",
};

struct Main { int what; CkSpread s; };
struct Side { uint64_t got; };
struct Thing { uint64_t got; };

/* ---- without a thread ------------------------------------------------------------------------ */

static void get(Side *self, CkGlobal from) { CkGet(&self->got, from, sizeof self->got); }

static void free_wrongly(int what, CkSpread s, CkGlobal there)
{
	CkGlobal own = CkGlobalAlloc(8);

	if (what == FREE_FAR)
		CkGlobalFree(there);
	if (what == FREE_SPREAD)
		CkGlobalFree(CkSpreadAt(s, 0));
	if (what == FREE_INSIDE)
		CkGlobalFree(CkGlobalAdd(own, 8));
	CkGlobalFree(own);
	CkGlobalFree(own);
}

void Side_on_go(Side *self, int what, CkSpread s, CkGlobal there)
{
	switch ((enum what)what) {
	case NULL_POINTER: get(self, CkGlobalNull()); break;
	case DAMAGED: get(self, (CkGlobal){ 1000, 2, 64 }); break;
	case BEHIND: get(self, CkSpreadAt(s, s.n)); break;
	case BEFORE: get(self, CkGlobalAdd(CkSpreadAt(s, 0), -8)); break;
	case PART: CkPut(CkSpreadAt(s, 9), names, 16); break;
	case FREED: get(self, CkSpreadAt(s, 0)); break;
	case NEVER: get(self, CkSpreadAt((CkSpread){ 77, 8, 10 }, 0)); break;
	case SYNC: get(self, there); CkSync(); break;
	case READ: CkRead(&self->got, there); break;
	case ATOMIC: (void)CkFetchAdd(there, 1); break;
	case ALLOC: (void)CkSpreadAlloc(1, 1, 1); break;
	case ELEMENT_ENDS: Thing_ends_all(things, s); break;
	case TWICE:
		CkAllStoreSyncThen(CkCallbackIgnore());
		CkAllStoreSyncThen(CkCallbackIgnore());
		break;
	case FREE_FAR: case FREE_TWICE: case FREE_SPREAD: case FREE_INSIDE:
		free_wrongly(what, s, there);
		break;
	case ODD: CkAtomicGet(NULL, CK_ATOMIC_ADD, CkGlobalAdd(CkSpreadAt(s, 0), 3), 4, 1, 0); break;
	case FIVE: CkAtomicGet(NULL, CK_ATOMIC_ADD, CkSpreadAt(s, 0), 5, 1, 0); break;
	case EMPTY: CkSpreadNew(0, 8, 1, CkCallbackIgnore()); break;
	case OUTSIDE: CkPut(CkGlobalAdd(there, 96), self, 8); break;
	case OLD: get(self, there); break;
	case LEFT: CkStore(there, self, 8); CkStartQD(Main_cb_ended(mainProxy)); break;
	case AWAIT_CALLBACK: CkStoreSyncThen(12, Side_cb_nothing(Side_at(sides, 0))); break;
	default: Side_thread(Side_at(sides, 0), what, s, there);
	}
}

/* ---- in a thread ----------------------------------------------------------------------------- */

/* n is known only when it runs, so that the bytes are on the stack under sanitizers, too. */
static void get_here(CkGlobal from, size_t n)
{
	char here[n];

	CkGet(here, from, n);
}

void Side_on_thread(Side *self, int what, CkSpread s, CkGlobal there)
{
	(void)s;
	if (what == THREAD_ENDS)
		get_here(there, (size_t)what);
	if (what == AWAIT_STORES)
		CkStoreSync(12);
	if (what == AWAIT_ALL)
		CkAllStoreSync();
	if (what == NONE)
		Main_ended(mainProxy);
}

void Side_on_nothing(Side *self) { (void)self; }

void Thing_on_new(Thing *self) { self->got = 0; }

void Thing_on_ends(Thing *self, CkSpread s)
{
	for (uint64_t i = 0; i < s.n; i++)
		CkGet(&self->got, CkSpreadAt(s, i), sizeof self->got);
	CkDestroy(self);
}

/* ---- the program ----------------------------------------------------------------------------- */

void Side_on_new(Side *self) { self->got = 0; }

void Side_on_show(Side *self, int what)
{
	CkGlobal own = CkGlobalAlloc(100);

	(void)self;
	if (what == OLD)
		CkGlobalFree(own);
	Main_shown(mainProxy, own);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	CHECK_EQ(m->argc, 2);
	while (self->what < WHATS && strcmp(names[self->what], m->argv[1]))
		self->what++;
	CHECK(self->what < WHATS);
	mainProxy = Main_thisProxy(self);
	sides = Side_ckNew();
	things = Thing_ckNew(CkDims(2));
	CkSpreadNew(10, 8, 1, Main_cb_made(mainProxy));
}

void Main_on_made(Main *self, const CkReductionMsg *m)
{
	memcpy(&self->s, m + 1, sizeof self->s);
	if (self->what == FREED)
		CkSpreadFree(self->s);
	Side_show(Side_at(sides, CkNumPes() - 1), self->what);
}

void Main_on_shown(Main *self, CkGlobal there)
{
	Side_go(Side_at(sides, 0), self->what, self->s, there);
}

void Main_on_ended(Main *self)
{
	(void)self;
	CkExit(0);
}

#include "globals_misuse.def.h"
