/* SPDX-License-Identifier: Apache-2.0 */
/* ends_chares: `ends_chares what [PE]`. The job must end with a line that says what is wrong. */
#include "check.h"

#include <stdlib.h>

#include "ends_chares.decl.h"

struct Main { int unused; };
struct Single { int unused; };
struct Node { int unused; };
struct Member { int unused; };

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)self;
	CHECK(m->argc == 3);
	members = Member_ckNew();
	nodes = Node_ckNew();
	if (!strcmp(m->argv[1], "destroy-main"))
		CkDestroy(self);
	Member_act(Member_at(members, atoi(m->argv[2])), m->argv[1]);
}

void Single_on_new(Single *self) { (void)self; }
void Single_on_call(Single *self) { (void)self; }
void Single_on_end(Single *self) { CkDestroy(self); }
void Node_on_new(Node *self) { (void)self; }
void Node_on_call(Node *self) { (void)self; }
void Member_on_new(Member *self) { (void)self; }

void Single_on_act(Single *self, const char *what)
{
	if (!strcmp(what, "destroy-twice")) {
		CkDestroy(self);
		CkDestroy(self);
	}
	CkContributeBarrier(self, CkCallbackExit());
}

void Member_on_act(Member *self, const char *what)
{
	CProxy_Single s = Single_ckNew(CkMyPe()), unset = { { 0, 0, 0 } };

	if (!strcmp(what, "gone")) {
		Single_end(s);
		Single_call(s);
	} else if (!strcmp(what, "pe")) {
		Single_ckNew(CkNumPes());
	} else if (!strcmp(what, "unset")) {
		Single_call(unset);
	} else if (!strcmp(what, "node")) {
		Node_call(Node_at(nodes, CkNumNodes()));
	} else if (!strcmp(what, "destroy-group")) {
		CkDestroy(self);
	} else {
		Single_act(s, what);
	}
}

#include "ends_chares.def.h"
