/* SPDX-License-Identifier: Apache-2.0 */
/* call_int.h: shared by the files of this room. */
#ifndef CK_CALL_INT_H
#define CK_CALL_INT_H

#include "call.h"

/* deliver.c: handlers */
struct made_msg {
	struct cmi_msg head;
	uint64_t id;
};
void made_arrived(struct pe *pe, struct cmi_msg *m);
void bcast_arrived(struct pe *pe, struct cmi_msg *m);

/* The running handler's message; NULL if no handler runs or it has taken its message. */
static inline struct ck_env *current(const struct ck_pe *ck)
{
	return ck->now.obj ? ck->now.env : NULL;
}

/* Release the runtime's own message. */
static inline void message_done(struct pe *pe, struct ck_env *env)
{
	if (pe->node->check)
		owner_free(pe, env);
	else
		csd_msg_free(pe, &env->head);
}

#endif
