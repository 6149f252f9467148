/* SPDX-License-Identifier: Apache-2.0 */
/*
 * msg_local.h: the fields of a message that describe its memory (next, home, size_class, origin).
 * An arriving message brings the sender's, which must be replaced.
 */
#ifndef MSG_LOCAL_H
#define MSG_LOCAL_H

#include <stddef.h>
#include <string.h>

#include "../base/cmi_msg.h"

/** Restore the local fields of `m`, whose header has just been overwritten. */
static inline void msg_local_restore(struct cmi_msg *m, const struct cmi_msg *local)
{
	m->next = NULL;
	m->origin = local->origin;
	m->home = local->home;
	m->size_class = local->size_class;
}

/** Copy a message, except its local fields, into memory of our own. */
static inline void msg_local_fill(struct cmi_msg *to, const void *from, size_t bytes)
{
	const struct cmi_msg local = *to;

	memcpy(to, from, bytes);
	msg_local_restore(to, &local);
}

/** `m` stays in the receive buffer of the node's PE `home`, until cmi_release. */
static inline void msg_local_hold(struct cmi_msg *m, int home)
{
	m->next = NULL;
	m->origin = CMI_ORIGIN_WIRE;
	m->home = (uint16_t)home;
}

#endif
