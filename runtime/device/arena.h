/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.h: CkDirect_allocDevice: devices' memory cut from large allocations, so that another
 * process maps one for many buffers, and that a buffer is freed without a call that stops while a
 * stream waits.
 */
#ifndef DEVICE_ARENA_H
#define DEVICE_ARENA_H

#include "device.h"

/** CkDirect_allocDevice and CkDirect_freeDevice. */
void *device_arena_take(struct pe *pe, size_t bytes);
void device_arena_give(struct pe *pe, void *p);

/** The node stops. */
void device_arena_release(struct device_node *dn, bool all_idle);

#endif
