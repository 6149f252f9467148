/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receiver.h: the receiving end of a channel into a device's memory.
 *
 * It is a receiving end in sequence mode, whose word a device counts up, so that the PE polls it
 * as all others. The second word of its line, the credit, is the number of the put that may come:
 * in checked mode the sender's stream waits for it, and where the data comes through host memory,
 * this PE's.
 */
#ifndef DEVICE_RECEIVER_H
#define DEVICE_RECEIVER_H

#include "../direct/ends/channel.h"
#include "device.h"

struct device_export;
struct device_staged_in;

struct device_receiver {
	struct direct_channel_hot *hot;
	struct device *device;
	CkDirectFn fn;                /* the program's */
	void *data;
	cu_ptr word, credit;          /* for the device */
	uint64_t waited;              /* the last put that a stream was told to wait for */
	uint64_t ahead;               /* puts after the next that a stream's ready has allowed */
	uint64_t by_stream;           /* the last put whose credit a stream writes */
	struct device_export *export; /* for other processes; NULL: none */
	struct device_staged_in *staged; /* NULL: no sender has asked for it */
	bool running, ended;          /* fn is on the stack; the end has ended meanwhile */
};

/** The record of the channel with this number; NULL: it is none into a device's memory. */
struct device_receiver *device_receiver_at(const struct pe *pe, uint32_t number);

/** The last put that may come, as the program has said so far. */
static inline uint64_t device_allowed(const struct device_receiver *r)
{
	return direct_marks(r->hot) + r->ahead;
}

/** Of struct direct_device: the same functions. */
void device_receive(struct pe *pe, struct direct_handle *h, const struct csd_receiving *in);
const void *device_owner(const void *data);

/** direct_device.end. */
void device_receiver_end(struct pe *pe, const struct direct_channel_hot *hot);

void device_receivers_free(struct device_pe *dp);

#endif
