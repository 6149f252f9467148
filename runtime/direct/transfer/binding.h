/* SPDX-License-Identifier: Apache-2.0 */
/* binding.h: bind the sending end of a channel for the layer itself; programs use ckdirect.h. */
#ifndef DIRECT_BINDING_H
#define DIRECT_BINDING_H

#include "../core/direct_handle.h"
#include "../../scheduler/pe.h"

/** Join a sending end, made by direct_sender_open or joined before, to the channel that *to names.
 * Its last put must be locally complete; the put that waits is made now. */
void direct_join(struct pe *pe, struct direct_handle *h, const struct direct_handle *to,
		 const struct csd_sending *s);

/** Bind the sending end to a buffer in a device's memory. */
void direct_bind_from_device(struct pe *pe, const char *call, struct direct_handle *h,
			     const void *send_buf, size_t bytes);

#endif
