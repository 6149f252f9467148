/* SPDX-License-Identifier: Apache-2.0 */
/*
 * converse: messages below the chares (csd.h) in a program of chares. Each PE sends numbered
 * messages to all PEs, some straight and some by way of a third PE. Their handler calls a chare of
 * its PE. Quiescence waits for both kinds; then none is missing.
 */
#include "check.h"

#include "csd.h"
#include "converse.decl.h"

enum { EACH = 30, LONGEST = 3000 };

struct Main { int unused; };
struct Member { int n_heard; };

struct hail {
	struct cmi_msg head;
	int from, no, hops;
	unsigned char filler[LONGEST];
};

static int h_hail;

static size_t filler_bytes(int no)
{
	return (size_t)no * 131 % LONGEST;
}

static size_t bytes_of(int no)
{
	return offsetof(struct hail, filler) + filler_bytes(no);
}

static void hail_arrived(struct pe *pe, struct cmi_msg *m)
{
	struct hail *h = (struct hail *)m;

	(void)pe;
	CHECK_EQ(m->size, bytes_of(h->no));
	for (size_t i = 0; i < filler_bytes(h->no); i++)
		CHECK_EQ(h->filler[i], (unsigned char)(h->from + h->no));
	if (h->hops-- > 0) {
		CmiSyncSendAndFree((CmiMyPe() + 1) % CmiNumPes(), m->size, m);
		return;
	}
	Member_heard(Member_at(members, CmiMyPe()), h->from, h->no);
	CmiFree(m);
}

void register_handlers(void)
{
	h_hail = CmiRegisterHandler("hail", hail_arrived);
}

void Main_on_new(Main *self, CkArgMsg *m)
{
	(void)m;
	mainProxy = Main_thisProxy(self);
	members = Member_ckNew();
	Member_start_all(members);
	CkStartQD(Main_cb_quiet(mainProxy));
}

void Main_on_quiet(Main *self)
{
	(void)self;
	Member_report_all(members);
}

void Main_on_total(Main *self, int heard)
{
	(void)self;
	CHECK_EQ(heard, CkNumPes() * CkNumPes() * EACH);
	CkPrintf("converse: right on %d nodes, %d PEs\n", CkNumNodes(), CkNumPes());
	CkExit(0);
}

void Member_on_new(Member *self)
{
	self->n_heard = 0;
}

void Member_on_start(Member *self)
{
	(void)self;
	CHECK_EQ(CmiMyPe(), CkMyPe());
	CHECK_EQ(CmiNumPes(), CkNumPes());
	for (int to = 0; to < CmiNumPes(); to++) {
		for (int no = 0; no < EACH; no++) {
			struct hail *h = CmiAlloc(sizeof *h);

			h->from = CmiMyPe();
			h->no = no;
			h->hops = no % 3;
			memset(h->filler, h->from + no, filler_bytes(no));
			CmiSetHandler(h, h_hail);
			CmiSyncSendAndFree(to, bytes_of(no), h);
		}
	}
}

void Member_on_heard(Member *self, int from, int no)
{
	CHECK(from >= 0 && from < CkNumPes() && no >= 0 && no < EACH);
	self->n_heard++;
}

void Member_on_report(Member *self)
{
	CkContribute(self, &self->n_heard, 1, CkReduction_sum_int, Main_cb_total(mainProxy));
}

#include "converse.def.h"
