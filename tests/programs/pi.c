/* SPDX-License-Identifier: Apache-2.0 */
/* pi: the first program of docs/CHARM.md, which shows it beside its Charm++ version. */
#include <math.h>
#include <stdlib.h>

#include "pi.decl.h"

struct Main { char unused; };
struct Part { int n; };

void Main_on_new(Main *self, CkArgMsg *m)
{
	int n = m->argc > 1 ? atoi(m->argv[1]) : 16;

	mainProxy = Main_thisProxy(self);
	slices = 100000;
	CProxy_Part parts = Part_ckNew(CkDims(n), n);
	Part_integrate_all(parts);
}

void Main_on_result(Main *self, double sum)
{
	(void)self;
	CkPrintf("pi is %.9f\n", sum);
	CkExit(fabs(sum - 3.141592654) < 1e-8 ? 0 : 1);
}

void Part_on_new(Part *self, int n)
{
	self->n = n;
}

void Part_on_integrate(Part *self)
{
	double h = 1.0 / slices, sum = 0;

	for (int i = Part_thisIndex(self); i < slices; i += self->n) {
		double x = (i + 0.5) * h;
		sum += 4 / (1 + x * x) * h;
	}
	CkContribute(self, &sum, 1, CkReduction_sum_double,
		     Main_cb_result(mainProxy));
}

#include "pi.def.h"
