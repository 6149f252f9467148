/* SPDX-License-Identifier: Apache-2.0 */
/* put.h: puts that a device makes. */
#ifndef DEVICE_PUT_H
#define DEVICE_PUT_H

#include "kernels.h"
#include "sender.h"

/** CkDirect_putAllStream: puts that one launch will make. */
struct device_gather {
	cu_stream stream;
	struct device *device;        /* of all of them */
	uint64_t largest;             /* bytes of one */
	int n;
	struct device_puts puts;
};

/** Launch what has been gathered. */
void device_gather_launch(struct pe *pe, struct device_gather *g);

/** The next put makes a new graph. */
void device_graph_drop(struct device_sender *ds);

#endif
