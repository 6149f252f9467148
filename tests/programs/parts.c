/* SPDX-License-Identifier: Apache-2.0 */
/* parts: see parts.ci. A part that blocks the others makes the program hang; a wrong place in the table of calls gives
 * the handler the parameter of another call. */
#include "check.h"

#include "parts.decl.h"

struct Main { int n; };

static void send_last(const Main *self)
{
	Main_one(Main_thisProxy(self), 1);
	Main_three(Main_thisProxy(self), 42);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	Main_run(Main_thisProxy(self));
	Main_first(Main_thisProxy(self));
	Main_second(Main_thisProxy(self));
}

#include "parts.def.h"
