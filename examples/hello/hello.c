/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hello: a greeting goes round a ring of chares, then all of them count themselves.
 *
 *	ckrun -n 2 ./hello 8
 */
#include <stdlib.h>

#include "hello.decl.h"

struct Main { CProxy_Hello ring; };
struct Hello { int greetings; };

void Main_on_new(Main *self, CkArgMsg *m)
{
	num = m->argc == 2 ? atoi(m->argv[1]) : 0;
	if (num < 1) {
		CkError("Usage: ckrun -n <PEs> hello <number of elements, 1 or more>\n");
		CkExit(1);
		return;
	}
	mainProxy = Main_thisProxy(self);
	self->ring = Hello_ckNew(CkDims(num));
	Hello_PrintHello(Hello_at(self->ring, 0));       /* call one element */
}

void Hello_on_new(Hello *self)
{
	self->greetings = 0;
}

void Hello_on_PrintHello(Hello *self)
{
	int i = Hello_thisIndex(self);

	CkPrintf("Hello World from element %d on PE %d of %d\n", i, CkMyPe(), CkNumPes());
	self->greetings++;
	if (i < num - 1)
		Hello_PrintHello(Hello_at(Hello_thisProxy(self), i + 1));
	else
		Main_Finished(mainProxy);
}

void Main_on_Finished(Main *self)
{
	Hello_Count_all(self->ring, 10);                 /* call all elements */
}

void Hello_on_Count(Hello *self, int weight)
{
	int mine = weight * self->greetings;

	CkContribute(self, &mine, 1, CkReduction_sum_int, Main_cb_Sum(mainProxy));
}

void Main_on_Sum(Main *self, int total)
{
	CkPrintf("The ring counts %d for %d elements\n", total, num);
	CkExit(total == 10 * num ? 0 : 1);
}

#include "hello.def.h"
