/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commas: a program in a locale that writes 0,5. The runtime writes and reads 0.5 all the same. `commas load` also makes a
 * mistake whose line has a number.
 */
#define CK_NO_MAIN
#include <locale.h>

#include "check.h"
#include "commas.decl.h"

struct Main { int unused; };
struct Cell { int unused; };

void Main_on_new(Main *self, CkArgMsg *m)
{
	CkPrintf("the program's own: %.1f\n", 0.5);
	if (m->argc > 1)
		Cell_Load(Cell_at(Cell_ckNew(CkDims(1)), 0));
	else
		CkExit(0);
}

void Cell_on_new(Cell *self) { }
void Cell_on_Load(Cell *self) { CkSetLoad(self, -0.5); }

#include "commas.def.h"

int main(int argc, char **argv)
{
	if (!setlocale(LC_ALL, "") || strcmp(localeconv()->decimal_point, ",") != 0)
		return 98;
	return CkMain(argc, argv, &ck_module_commas);
}
