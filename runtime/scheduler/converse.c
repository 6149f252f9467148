/* SPDX-License-Identifier: Apache-2.0 */
/*
 * converse.c: messages and handlers for programs, csd.h: the functions of pe.h and node.h as
 * library symbols, for the PE of the calling thread.
 */
#include "thread/thread.h"

int CmiRegisterHandler(const char *name, CmiHandler fn)
{
	struct node *node = (csd_early_ ? csd_early_ : pe_here("CmiRegisterHandler"))->node;
	int handler = csd_register(node, name, fn);

	csd_trace_handler(node, handler, CSD_OF_PROGRAM);
	return handler;
}

int CmiMyPe(void)
{
	return pe_here("CmiMyPe")->id;
}

int CmiNumPes(void)
{
	return pe_here("CmiNumPes")->node->job->n_pes;
}

void *CmiAlloc(size_t bytes)
{
	struct pe *pe = pe_here("CmiAlloc");

	if (bytes < sizeof(struct cmi_msg))
		csd_abort(pe, "CmiAlloc(%zu): a message begins with a struct cmi_msg of %zu bytes", bytes,
			  sizeof(struct cmi_msg));
	return csd_msg_alloc_call(pe, bytes);
}

void CmiFree(void *m)
{
	csd_msg_free(pe_here("CmiFree"), m);
}

void CmiSetHandler(void *m, int handler)
{
	struct pe *pe = pe_here("CmiSetHandler");

	if (handler < 0 || handler >= pe->node->n_handlers)
		csd_abort(pe, "CmiSetHandler: there is no handler %d", handler);
	((struct cmi_msg *)m)->handler = (uint16_t)handler;
}

void CmiSyncSendAndFree(int dst_pe, size_t bytes, void *m)
{
	struct pe *pe = pe_here("CmiSyncSendAndFree");
	struct cmi_msg *msg = m;

	if (bytes < sizeof *msg || bytes > msg->size)
		csd_abort(pe, "CmiSyncSendAndFree: %zu bytes of a message that has %zu", bytes,
			  (size_t)msg->size);
	msg->size = bytes;
	csd_send(pe, dst_pe, msg);
}
