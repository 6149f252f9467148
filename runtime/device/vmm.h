/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vmm.h: memory that the program made by cuMemCreate, between the processes of a host.
 *
 * cuIpcGetMemHandle refuses such memory. Where it was made to be exported as a file descriptor, the
 * receiver's process gives one to those that ask for it at an abstract socket, whose random name is
 * in the channel's handle, while a channel into the allocation is there. The sender's process maps
 * the allocation. Whatever fails on the way, the puts are staged.
 *
 * An export holds the allocation, and so does a mapping, as long as there is a channel to it.
 */
#ifndef DEVICE_VMM_H
#define DEVICE_VMM_H

#include "../direct/core/direct_device.h"
#include "device.h"

/** What is in direct_device_name.handle of such memory: an export, and how much of the allocation
 * is mapped in its process, from its beginning. */
struct vmm_name {
	unsigned char process[16];    /* random: of its socket */
	uint64_t number;              /* of its exports, used once */
	uint64_t bytes;
	unsigned char zero[32];
};
_Static_assert(sizeof(struct vmm_name) == sizeof(struct cu_ipc),
	       "in its place");

enum { VMM_SOCKET_BYTES = sizeof "@chard-vmm-" + 2 * 16 };

/** The name of a process's socket (abstract.h). */
void vmm_socket_name(const unsigned char process[16], char name[VMM_SOCKET_BYTES]);

/* ---- the owner ------------------------------------------------------------------------------- */

/** Export the allocation that is mapped at [base, base + mapped) and has all of [at, at + bytes),
 * and fill in its name. NULL: it was not made by cuMemCreate, not to be exported, or cannot be. */
struct device_export *device_export(struct pe *pe, const struct device *dev, cu_ptr base,
				    size_t mapped, cu_ptr at, size_t bytes, struct vmm_name *name_p);
void device_export_leave(struct pe *pe, struct device_export *e);

/** Whether [at, end) is all in mappings of allocations, one behind the other. */
bool device_is_mapped(const struct device_driver *cu, cu_ptr at, cu_ptr end);

/** The node stops: nobody else can ask any more. */
void device_exports_release(struct device_node *dn);

/* ---- others ---------------------------------------------------------------------------------- */

/** Map the allocation of such a buffer here, unless it is. NULL: it cannot be. */
struct device_import *device_import(struct pe *pe, struct device *dev,
				    const struct direct_device_name *name, size_t bytes);

/** Where the buffer is mapped. */
cu_ptr device_import_at(const struct device_import *im, const struct direct_device_name *name);

/** A channel ends, whose puts have left their streams. With the last one the mapping goes, unless
 * mappings must stay. */
void device_import_leave(struct pe *pe, struct device_import *im);

/** From now on mappings stay until the node stops: a stream may wait, which cuMemUnmap might wait
 * for, or the program's streams have puts. */
void device_imports_stay(struct pe *pe);
bool device_imports_do_stay(const struct pe *pe);

/** The node stops. */
void device_imports_release(struct device_node *dn, bool all_idle);

#endif
