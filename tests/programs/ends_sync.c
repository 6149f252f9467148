/* SPDX-License-Identifier: Apache-2.0 */
/* ends_sync: mistakes with CkAtSync, each the end of the job. `ends_sync MISTAKE`. */
#include "check.h"

struct Main { int unused; };
struct Cell { int unused; };
struct Mute { int unused; };
struct Member { int unused; };

#include "ends_sync.decl.h"

static bool is(const char *what, const char *mistake) { return strcmp(what, mistake) == 0; }

void Cell_on_new(Cell *self) { (void)self; }

void Cell_on_act(Cell *self, const char *what)
{
	static const double xyz[4];

	if (is(what, "load"))
		CkSetLoad(self, -1);
	if (is(what, "position"))
		CkSetPosition(self, xyz, 4);
	if (is(what, "one") && Cell_thisIndex(self) == 2)
		return;
	CkAtSync(self);
	if (is(what, "twice"))
		CkAtSync(self);
}

void Cell_on_resumeFromSync(Cell *self)
{
	if (Cell_thisIndex(self) == 0)
		CkExit(0);
}

void Mute_on_new(Mute *self) { (void)self; }
void Mute_on_act(Mute *self) { CkAtSync(self); }

void Member_on_new(Member *self) { (void)self; }

void Member_on_act(Member *self, const char *what)
{
	if (is(what, "group-pin"))
		CkPin(self, true);
	CkAtSync(self);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	const char *what = m->argc > 1 ? m->argv[1] : "";

	mainProxy = Main_thisProxy(self);
	if (is(what, "mute"))
		Mute_act(Mute_at(Mute_ckNew(CkDims(4)), 3));
	else if (is(what, "group") || is(what, "group-pin"))
		Member_act(Member_at(Member_ckNew(), 0), what);
	else
		Cell_act_all(Cell_ckNew(CkDims(4)), what);
}

#include "ends_sync.def.h"
