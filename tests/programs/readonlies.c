/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readonlies: every constructor sees each kind of readonly variable as it was set. `readonlies late PE`
 * writes one afterwards on that PE, which checked mode reports.
 */
#include "check.h"

#include <stdlib.h>

#include "readonlies.decl.h"

struct Main { int unused; };
struct Cell { int unused; };
struct Watcher { int unused; };

static void check_all(void)
{
	CHECK(number == -5 && letter == 'q' && yes && ratio == 0.25 && precise == 1.0L / 3);
	CHECK(strcmp(settings.name, "settings") == 0 && settings.weight[2] == 2.5);
	CHECK_EQ(settings.big, 1L << 60);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(table[i], i * i);
	CHECK(grid[0][0] == 1 && grid[2][4] == 99);
	CHECK(strcmp(text, "a readonly text") == 0);
	CHECK(special.ck.id == cells.ck.id && special.ck.index.v[0] == 3);
	CHECK_EQ(zero, 0);
}

void Cell_on_new(Cell *self)
{
	check_all();
	if (Cell_thisIndex(self) == 3)
		CHECK(Cell_ckLocal(special) == self);
	CkContributeBarrier(self, finished);
}

void Watcher_on_new(Watcher *self, int late_pe)
{
	check_all();
	if (CkMyPe() == late_pe)
		Watcher_writes(Watcher_thisElement(self));
}

void Watcher_on_writes(Watcher *self)
{
	(void)self;
	untouched = 1;
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	mainProxy = Main_thisProxy(self);
	cells = Cell_ckNew(CkDims(20)); /* before the variables are set: they arrive first */
	special = Cell_at(cells, 3);
	finished = Main_cb_done(mainProxy);
	number = -5;
	letter = 'q';
	yes = true;
	ratio = 0.25;
	precise = 1.0L / 3;
	strcpy(settings.name, "settings");
	settings.weight[2] = 2.5;
	settings.big = 1L << 60;
	for (int i = 0; i < 4; i++)
		table[i] = i * i;
	grid[0][0] = 1;
	grid[2][4] = 99;
	strcpy(text, "a readonly text");
	Watcher_ckNew(m->argc > 2 && !strcmp(m->argv[1], "late") ? atoi(m->argv[2]) : -1);
}

void Main_on_done(Main *self)
{
	(void)self;
	CkPrintf("readonlies: the same on %d PEs\n", CkNumPes());
	CkExit(0);
}

#include "readonlies.def.h"
