/* SPDX-License-Identifier: Apache-2.0 */
/*
 * when_idle.c: [whenidle] entry methods: functions of elements that the PE calls while it is idle,
 * until they return false or their element is gone.
 *
 * One hook on the scheduler's "still idle" condition serves all of them. It is set while the list
 * is not empty.
 */
#include "extra.h"
#include "../../machine/base/cmi_alloc.h"

#include <stdlib.h>

#include "../../scheduler/csd.h"

struct idle_call {
	struct idle_call *next;
	const CkGenChare *chare;
	CkElement element;
	int entry;
	CkGenIdle call;
};

static bool call_again(const struct idle_call *x)
{
	CkGenFrame frame;
	void *self = CkGen_enter(x->chare, &x->element, x->entry, &frame);
	bool again;

	if (!self)
		return false;
	again = x->call(self);
	CkGen_leave(&frame);
	return again;
}

/* A handler may add calls, which go to the head of the list and wait for the next turn. */
static void run_idle(void *arg)
{
	struct wait_pe *w = wait_of(arg);
	struct idle_call *list = w->idle;

	w->idle = NULL;
	while (list) {
		struct idle_call *x = list;

		list = x->next;
		if (!call_again(x)) {
			free(x);
			continue;
		}
		x->next = w->idle;
		w->idle = x;
	}
	w->idle_hook = w->idle != NULL;
	if (w->idle_hook)
		csd_hook(CcdPROCESSOR_STILL_IDLE, run_idle, arg, false);
}

void CkGen_whenIdle(const CkGenChare *chare, const void *self, int entry, CkGenIdle call)
{
	struct pe *pe = ck_self();
	struct wait_pe *w = wait_of(pe);
	struct idle_call *x = cmi_alloc(sizeof *x, "a [whenidle] call");

	*x = (struct idle_call){ w->idle, chare, { CkGen_thisProxy(self).id, CkGen_thisIndex(self), 0 },
				 entry, call };
	w->idle = x;
	if (w->idle_hook)
		return;
	w->idle_hook = true;
	csd_hook(CcdPROCESSOR_STILL_IDLE, run_idle, pe, false);
}

void idle_drop(struct pe *pe)
{
	struct wait_pe *w = wait_of(pe);

	while (w->idle) {
		struct idle_call *x = w->idle;

		w->idle = x->next;
		free(x);
	}
}

void idle_refuse(const struct pe *pe, struct csd_told *to)
{
	for (const struct idle_call *x = wait_of(pe)->idle; x; x = x->next)
		csd_tell(to, NULL, "%s of %s is called when PE %d is idle ([whenidle])",
			 entry_thing(x->chare, (uint32_t)x->entry).name,
			 element_thing(x->chare, x->element.id, x->element.index).name, pe->id);
}
