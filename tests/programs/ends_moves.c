/* SPDX-License-Identifier: Apache-2.0 */
/* ends_moves: mistakes with elements that move, each the end of the job. `ends_moves MISTAKE`. */
#include "check.h"

#include "ends_moves.decl.h"

enum what { NO_PE, NO_PUP, DESTROYED, CHANNEL, HANDLE, GROUP, SINGLE, WHATS };
static const char *const names[WHATS] = { "no-pe", "no-pup", "destroyed", "channel", "handle", "group", "single" };

struct Main { int unused; };
struct Bound { int unused; };
struct Free { double in[4]; CkDirectHandle handle; };
struct Member { int unused; };
struct Lone { int unused; };

static void arrived(void *arg) { (void)arg; }

void Bound_on_new(Bound *self) { (void)self; }
void Bound_on_move(Bound *self, int what)
{
	if (what == NO_PE)
		CkMigrateMe(self, CkNumPes());
	if (what == DESTROYED)
		CkDestroy(self);
	CkMigrateMe(self, CkNumPes() - 1); /* in another process */
}

void Free_pup(pup_er p, Free *self) { pup_bytes(p, self, sizeof *self); }
void Free_on_new(Free *self) { (void)self; }
void Free_on_move(Free *self, int what)
{
	static double apart[4];

	/* Its buffer, or only its handle. */
	self->handle = CkDirect_createHandle(what == CHANNEL ? self->in : apart, sizeof self->in,
					     0x7ff8123412341234u, arrived, NULL);
	CkMigrateMe(self, CkNumPes() - 1);
}
void Free_on_hello(Free *self) { (void)self; }

void Member_on_new(Member *self) { (void)self; }
void Member_on_move(Member *self) { CkMigrateMe(self, 0); }
void Lone_on_new(Lone *self) { CkMigrateMe(self, 0); }

void Main_on_new(Main *self, CkArgMsg *m)
{
	int what = 0;

	(void)self;
	mainProxy = Main_thisProxy(self);
	while (what < WHATS && (m->argc < 2 || strcmp(m->argv[1], names[what])))
		what++;
	switch ((enum what)what) {
	case NO_PE:
	case NO_PUP:
	case DESTROYED:
		Bound_move(Bound_at(Bound_ckNew(CkDims(4)), 0), what);
		break;
	case CHANNEL:
	case HANDLE:
		Free_move(Free_at(Free_ckNew(CkDims(4)), 0), what);
		break;
	case GROUP:
		Member_move(Member_at(Member_ckNew(), 0));
		break;
	case SINGLE:
		Lone_ckNew(0);
		break;
	case WHATS:
		CkAbort("which mistake?");
	}
}

#include "ends_moves.def.h"
