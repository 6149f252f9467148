/* SPDX-License-Identifier: Apache-2.0 */
/* vmm_import.c: the sender's side of vmm.h. */
#include "vmm.h"

#include <stdlib.h>
#include <string.h>

#include "../machine/base/cmi_alloc.h"
#include "../machine/tools/abstract.h"

enum { ANSWER_S = 10 };

/** An allocation of another process. */
struct device_import {
	struct device_import *next;
	struct vmm_name name;
	struct device *device;
	cu_ptr base;                  /* 0: it cannot be mapped */
	uint32_t users;               /* sending ends */
};

/* ---- the descriptor -------------------------------------------------------------------------- */

/** What comes with a packet; -1: none. */
static int receive_descriptor(int from)
{
	union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control;
	char some;
	struct iovec io = { &some, 1 };
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = sizeof control };
	const struct cmsghdr *c;
	int fd = -1;

	if (recvmsg(from, &m, MSG_CMSG_CLOEXEC) != 1)
		return -1;
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof fd))
		memcpy(&fd, CMSG_DATA(c), sizeof fd);
	return fd;
}

/* A process that is stopped does not answer. */
static int fetch(const struct vmm_name *name)
{
	const struct timeval patience = { .tv_sec = ANSWER_S };
	char at[VMM_SOCKET_BYTES];
	int from, fd = -1;

	vmm_socket_name(name->process, at);
	from = abstract_connect(at);
	if (from < 0)
		return -1;
	setsockopt(from, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	if (send(from, &name->number, sizeof name->number, MSG_NOSIGNAL) == sizeof name->number)
		fd = receive_descriptor(from);
	close(from);
	return fd;
}

/* ---- mappings -------------------------------------------------------------------------------- */

static bool map_at(const struct device *dev, cu_ptr at, size_t bytes, cu_handle handle)
{
	const struct device_driver *cu = dev->driver;
	const struct cu_access access = { { CU_PLACE_DEVICE, dev->number }, CU_ACCESS_BOTH };

	if (cu->cuMemMap(at, bytes, 0, handle, 0) != CU_OK)
		return false;
	if (cu->cuMemSetAccess(at, bytes, &access, 1) == CU_OK)
		return true;
	cu->cuMemUnmap(at, bytes);
	return false;
}

static cu_ptr map_handle(const struct device *dev, size_t bytes, cu_handle handle)
{
	const struct device_driver *cu = dev->driver;
	cu_ptr at;

	if (cu->cuMemAddressReserve(&at, bytes, 0, 0, 0) != CU_OK)
		return 0;
	if (map_at(dev, at, bytes, handle))
		return at;
	cu->cuMemAddressFree(at, bytes);
	return 0;
}

/* The mapping holds the allocation, so the handle is not needed any more. */
static cu_ptr map(const struct device *dev, const struct vmm_name *name)
{
	const struct device_driver *cu = dev->driver;
	const int fd = fetch(name);
	cu_handle handle;
	cu_result result;
	cu_ptr at;

	if (fd < 0)
		return 0;
	result = cu->cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd, CU_HANDLE_FD);
	close(fd);
	if (result != CU_OK)
		return 0;
	at = map_handle(dev, name->bytes, handle);
	cu->cuMemRelease(handle);
	return at;
}

static void unmap(const struct device_import *im)
{
	const struct device_driver *cu = im->device->driver;

	cu->cuMemUnmap(im->base, im->name.bytes);
	cu->cuMemAddressFree(im->base, im->name.bytes);
}

/* ---- users ----------------------------------------------------------------------------------- */

static struct device_import *find(const struct device_node *dn, const struct device *dev,
				  const struct vmm_name *name)
{
	struct device_import *im = dn->imports;

	while (im && (im->device != dev || memcmp(&im->name, name, sizeof *name)))
		im = im->next;
	return im;
}

static struct device_import *import_more(struct device_node *dn, struct device *dev,
					 const struct vmm_name *name)
{
	struct device_import *im = cmi_alloc_zero(1, sizeof *im, "other processes' memory");

	*im = (struct device_import){ dn->imports, *name, dev, map(dev, name), 0 };
	return dn->imports = im;
}

struct device_import *device_import(struct pe *pe, struct device *dev,
				    const struct direct_device_name *name, size_t bytes)
{
	struct device_node *dn = device_node_of(pe);
	struct device_import *im;
	struct vmm_name of;

	memcpy(&of, name->handle, sizeof of);
	if (!dev->driver->vmm || name->offset > of.bytes || bytes > of.bytes - name->offset)
		return NULL;
	pthread_mutex_lock(&dn->lock);
	im = find(dn, dev, &of);
	if (!im)
		im = import_more(dn, dev, &of);
	if (im->base)
		im->users++;
	else
		im = NULL;
	pthread_mutex_unlock(&dn->lock);
	return im;
}

cu_ptr device_import_at(const struct device_import *im, const struct direct_device_name *name)
{
	return im->base + name->offset;
}

static void drop(struct device_node *dn, struct device_import *im)
{
	struct device_import **p = &dn->imports;

	while (*p != im)
		p = &(*p)->next;
	*p = im->next;
	unmap(im);
	free(im);
}

/* Under the lock, so that no stream begins to wait meanwhile. One without users is found again. */
void device_import_leave(struct pe *pe, struct device_import *im)
{
	struct device_node *dn = device_node_of(pe);

	pthread_mutex_lock(&dn->lock);
	im->users--;
	if (!im->users && !device_imports_do_stay(pe))
		drop(dn, im);
	pthread_mutex_unlock(&dn->lock);
}

void device_imports_stay(struct pe *pe)
{
	struct device_node *dn = device_node_of(pe);

	if (device_imports_do_stay(pe))
		return;
	pthread_mutex_lock(&dn->lock);
	/* relaxed: who unmaps reads it under the same lock. */
	atomic_store_explicit(&dn->imports_stay, true, memory_order_relaxed);
	pthread_mutex_unlock(&dn->lock);
}

bool device_imports_do_stay(const struct pe *pe)
{
	/* relaxed: it only ever becomes true, and who must not miss that holds the lock. */
	return atomic_load_explicit(&device_node_of(pe)->imports_stay, memory_order_relaxed);
}

void device_imports_release(struct device_node *dn, bool all_idle)
{
	struct device_import *next;

	for (struct device_import *im = dn->imports; im; im = next) {
		next = im->next;
		if (all_idle && im->base)
			unmap(im);
		free(im);
	}
	dn->imports = NULL;
}
