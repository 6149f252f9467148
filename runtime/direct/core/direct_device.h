/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct_device.h: what this layer asks of the one above it, runtime/device, about channels with
 * an end in a device's memory. No such channel, no call.
 *
 * The receiving end of such a channel counts (DIRECT_COUNTED) and is always polled, as if the
 * network were its sender: a device stores the arrival word. The sending end has a path of its
 * own, and its puts are the device's.
 */
#ifndef DIRECT_DEVICE_H
#define DIRECT_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "../../scheduler/pe.h"
#include "direct_handle.h"

struct csd_receiving;
struct direct_channel_hot;
struct direct_sender;

struct direct_device {
	/** Bind `s` to a channel of which an end is in device memory: make s->device, choose
	 * s->path, map s->line where it can be reached. Returns why, for --verbose. */
	const char *(*bind)(struct pe *pe, const char *call, struct direct_sender *s,
			    const struct direct_handle *h, bool from_device);
	/** Put. True: locally complete, as far as the next put is concerned. */
	bool (*put)(struct pe *pe, struct direct_sender *s, uint64_t word);
	/** The sending end is bound to another buffer. */
	void (*rebind)(struct pe *pe, const char *call, struct direct_sender *s);
	/** The sending end, or the receiving end, ends. */
	void (*leave)(struct pe *pe, struct direct_sender *s);
	void (*end)(struct pe *pe, const struct direct_channel_hot *hot);

	/* Ends with names. */
	/** Make a receiving end into a device's memory, as direct_channel_receive. */
	void (*receive)(struct pe *pe, struct direct_handle *h, const struct csd_receiving *r);
	/** r->data of that. */
	const void *(*owner)(const void *data);
	/** Whether a put that is complete for the next one still reads the send buffer. */
	bool (*busy)(struct pe *pe, const struct direct_sender *s);
	/** Memory, and copies that are complete on return. */
	void *(*alloc)(struct pe *pe, size_t bytes);
	void (*free)(struct pe *pe, void *p);
	void (*read)(struct pe *pe, void *to, const void *from, size_t bytes);
	void (*write)(struct pe *pe, void *to, const void *from, size_t bytes);
};

/** What createHandle tells about device memory, in the place of a key: exactly as large. */
struct direct_device_name {
	unsigned char handle[64];     /* of the allocation, for other processes */
	unsigned char uuid[16];       /* the device's */
	uint64_t offset;              /* of the buffer in the allocation */
};
_Static_assert(sizeof(struct direct_device_name) == sizeof(struct cmi_key), "in its place");

/** direct_handle.device: where the receive buffer lies. */
enum {
	DIRECT_IN_HOST,
	DIRECT_IN_DEVICE,
	DIRECT_IN_DEVICE_HIDDEN,      /* not for other processes */
	DIRECT_IN_DEVICE_VMM,         /* for those that ask the receiver's for a descriptor */
};

#endif
