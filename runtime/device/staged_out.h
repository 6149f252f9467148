/* SPDX-License-Identifier: Apache-2.0 */
/* staged_out.h: the sending side of staging.h. */
#ifndef DEVICE_STAGED_OUT_H
#define DEVICE_STAGED_OUT_H

#include "sender.h"
#include "staging.h"

struct device_staged_out *device_staged_out_open(struct pe *pe, const char *call,
						 struct device_sender *ds,
						 const struct direct_handle *h);

/** JOINED has come. */
void device_joined_arrived(struct pe *pe, const struct device_msg *m);

/** As direct_device.put. */
bool device_staged_put(struct pe *pe, struct device_staged_out *out, cu_stream stream);

/** Whether the network still reads a piece of the last put. */
bool device_staged_busy(struct pe *pe, const struct device_staged_out *out);

void device_staged_out_rebind(struct pe *pe, struct device_staged_out *out);
void device_staged_out_end(struct pe *pe, struct device_staged_out *out);
/** The node stops: only the record. */
void device_staged_out_free(struct device_staged_out *out);

#endif
