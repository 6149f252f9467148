/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h: host memory that devices reach, devices' memory that other processes reach.
 *
 * What is registered or mapped stays so until the node stops, except in vmm.h: to undo it stops the
 * thread while a stream waits (device.h). An allocation that its owner frees while others have it
 * mapped would lose puts without an error.
 */
#ifndef DEVICE_MEMORY_H
#define DEVICE_MEMORY_H

#include "../direct/core/direct_device.h"
#include "device.h"

/** The address for the device of a word in host memory that this process maps; its page is
 * registered. *fresh_p: only now. */
cu_ptr device_word(struct pe *pe, const char *call, const struct device *dev, const void *word,
		   bool *fresh_p);

/** Memory of at least `bytes` bytes that other nodes of the host can write and the device copies
 * fast, and back. */
unsigned char *device_pinned(struct pe *pe, const char *call, const struct device *dev,
			     size_t bytes);
void device_pinned_leave(struct pe *pe, unsigned char *p);

/** What other processes must know of [p, p + bytes), a buffer of `dev`: returns the value of
 * direct_handle.device. *export_p: what must be left with the channel, or NULL. A buffer that goes
 * beyond its allocation ends the job. */
uint8_t device_name_memory(struct pe *pe, const char *call, const struct device *dev, const void *p,
			   size_t bytes, struct direct_device_name *name_p,
			   struct device_export **export_p);

/** Where another process's buffer is mapped here; 0: it cannot be. */
cu_ptr device_map(struct pe *pe, struct device *dev, const struct direct_device_name *name);

/** The node stops. */
void device_memory_release(struct node *node, bool all_idle);

#endif
