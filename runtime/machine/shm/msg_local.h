/* SPDX-License-Identifier: Apache-2.0 */
/*
 * msg_local.h: the fields of a message that describe the memory it lies in (next, home, size_class,
 * origin). A message that arrives brings the sender's, which must not survive here.
 */
#ifndef MSG_LOCAL_H
#define MSG_LOCAL_H

#include <stddef.h>
#include <string.h>

#include "../base/cmi_msg.h"

/** Give `m`, whose head has just been overwritten, its own local fields back. */
static inline void msg_local_restore(struct cmi_msg *m, const struct cmi_msg *local)
{
	m->next = NULL;
	m->origin = local->origin;
	m->home = local->home;
	m->size_class = local->size_class;
}

/** Copy what travels of a message into memory of our own. */
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
