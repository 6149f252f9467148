/* SPDX-License-Identifier: Apache-2.0 */
/* call_part.c: the table of the part: messages, callbacks to elements, start and stop. */
#include "call_int.h"
#include "../core/shape.h"

static void send_to_element(struct pe *pe, const CkCallback *cb, struct ck_env *env)
{
	const CkGenChare *type = callback_call(pe, cb, env);

	send_element(pe, type, &(CkElement){ cb->id, cb->index, 0 }, env);
}

static void send_to_all(struct pe *pe, const CkCallback *cb, struct ck_env *env)
{
	callback_call(pe, cb, env);
	send_all(pe, cb->id, env);
}

static void send_to_main(struct pe *pe, const CkCallback *cb, struct ck_env *env)
{
	callback_call(pe, cb, env);
	send_main(pe, cb->id, env);
}

static void give_element(const CkGenChare *chare, const CkCallback *cb, void *msg,
			 const CkGenMessage *type)
{
	(void)type;
	CkGen_send(chare, &(CkElement){ cb->id, cb->index, 0 }, cb->entry, msg, NULL);
}

static void give_all(const CkGenChare *chare, const CkCallback *cb, void *msg,
		     const CkGenMessage *type)
{
	(void)type;
	CkGen_sendAll(chare, (CkProxy){ cb->id }, cb->entry, msg, NULL);
}

static void give_main(const CkGenChare *chare, const CkCallback *cb, void *msg,
		      const CkGenMessage *type)
{
	(void)type;
	CkGen_sendMain(chare, (CkProxy){ cb->id }, cb->entry, msg, NULL);
}

static void call_fini(struct pe *pe, struct collection *c)
{
	closed_fini(pe, c);
	spans_free(&call_coll_of(c)->seen);
}

static void call_pe_start(struct pe *pe)
{
	ck_of(pe)->route = (struct cmi_msg){ .handler = ck_handler(pe, PART_CALL, H_ELEMENT),
					  .src_pe = pe->id }.route;
	bcast_pe_start(pe);
}

static const char *element_misfit(struct pe *pe, const struct cmi_msg *m)
{
	(void)pe;
	return ((const struct ck_env *)m)->flags & CK_CALL_POSTED ?
	       "it says that it has waited for its buffers" : NULL;
}

/* The parameters are checked before the message goes further down, so that one process reports an
 * error and not all. */
static const char *bcast_misfit(struct pe *pe, const struct cmi_msg *m)
{
	const struct ck_env *env = (const struct ck_env *)m;
	const char *why = shape_alone(pe, m);

	if (!why && (!env->place || spans_has(&call_coll_of(coll_get(pe, env->coll))->seen,
					      env->root, env->place)))
		return "its number is invalid, or it has come before";
	return why ? why : shape_call_of(pe, coll_get(pe, env->coll), env);
}

static const struct ck_handler handlers[] = {
	[H_ELEMENT] = { "ck.element", element_arrived,
			.shape = { CK_SHAPE_COLL_CALL, .order = CSD_ORDER_PRIORITY,
				   .misfit = element_misfit },
			.arrived = element_came, .trace = CSD_TRACE_CALL | CSD_TRACE_WORD },
	[H_BCAST] = { "ck.bcast", bcast_arrived, true,
		      .shape = { CK_SHAPE_COLL_CALL, CK_SHAPE_ROOT, .ways = { CSD_DOWN },
				 .misfit = bcast_misfit },
		      .trace = CSD_TRACE_WORD },
	[H_MADE] = { "ck.made", made_arrived,
		     .shape = { CK_SHAPE_STRUCT(struct made_msg), .always = CMI_F_SYSTEM } },
	[H_BCAST_HANDLED] = { "ck.bcast.handled", bcast_report_arrived, .apart = true,
			      .shape = { CK_SHAPE_STRUCT(struct bcast_report),
					 .always = CMI_F_SYSTEM,
					 .root_at = offsetof(struct bcast_report, root),
					 .ways = { CSD_UP },
					 .astray = "it did not come up the tree that it names",
					 .misfit = bcast_report_misfit } },
};
static const struct ck_callback_kind callbacks[] = {
	{ .kind = CB_ELEMENT, .names = CK_NAMES_ENTRY, .send = send_to_element, .give = give_element },
	{ .kind = CB_ALL, .names = CK_NAMES_ENTRY, .send = send_to_all, .give = give_all },
	{ .kind = CB_MAIN, .names = CK_NAMES_ENTRY, .send = send_to_main, .give = give_main },
};

static int call_node_start(struct node *node)
{
	for (int i = 0; i < CKGEN_TAKERS; i++)
		call_node_of(node)->takers[i] = deliver_attributed;
	return 0;
}

const struct ck_part call_part = {
	.name = "call",
	.number = PART_CALL,
	.node_start = call_node_start,
	.node_bytes = sizeof(struct call_node),
	.pe_bytes = sizeof(struct bcast_pe),
	.coll_bytes = sizeof(struct call_coll),
	.watch.fini = call_fini,
	.handlers = CK_LIST(handlers),
	.callbacks = CK_LIST(callbacks),
	.pe_start = call_pe_start,
	.pe_stop = bcast_pe_stop,
};
