/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sender.h: the sending end of a channel of which an end is in a device's memory.
 *
 * Where a device can write the receive buffer, a put is one launch: of a graph that was made at
 * the first put, a copy and behind it the store of the arrival word; or of the kernel, where the
 * driver cannot store words in streams. A stream's store of a word fences what the stream has done
 * before (CUDA Driver API, CUstreamWriteValue_flags), and the kernel fences itself, so a PE that
 * sees the word can launch what reads the data.
 */
#ifndef DEVICE_SENDER_H
#define DEVICE_SENDER_H

#include "../direct/ends/channel.h"
#include "../direct/ends/sender.h"
#include "device.h"

struct device_import;
struct device_staged_out;

struct device_sender {
	struct direct_sender *end;
	struct device *device;        /* of the send buffer; NULL: that is in host memory */
	cu_stream stream;             /* of CkDirect_put */
	cu_stream into;               /* CkDirect_putStream, while it runs */
	bool streamed;
	struct device_staged_out *staged; /* NULL: the device writes the receive buffer */

	/* Then: */
	cu_ptr to, word, credit;      /* the receiver's, for the device */
	struct device_import *import; /* where `to` is; NULL: elsewhere */
	bool waits;                   /* checked mode: puts wait for the credit */
	cu_exec graph;                /* NULL: no put yet, or the kernel puts */
	cu_node wait_node, write_node;
	cu_ptr counter;               /* of the kernel; 0: none yet */

	/* CkDirect_putData. */
	struct direct_channel_hot *done; /* NULL: not yet used */
	cu_ptr done_word;
	uint64_t n_done;
};

/** direct_device. */
const char *device_bind(struct pe *pe, const char *call, struct direct_sender *s,
			const struct direct_handle *h, bool from_device);
bool device_put(struct pe *pe, struct direct_sender *s, uint64_t word);
void device_rebind(struct pe *pe, const char *call, struct direct_sender *s);
void device_leave(struct pe *pe, struct direct_sender *s);
bool device_busy(struct pe *pe, const struct direct_sender *s);

/** The node stops. */
void device_senders_free(struct direct_pe *d);

#endif
