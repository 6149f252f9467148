/* SPDX-License-Identifier: Apache-2.0 */
/* vmm_export.c: the owner's side of vmm.h. */
#include "vmm.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "../machine/base/cmi_alloc.h"
#include "../machine/tools/abstract.h"

enum { ASK_S = 1, SHORT_NS = 10 * 1000 * 1000 };

struct device_export {
	struct device_export *next;
	const struct device *device;
	cu_handle handle;             /* held: so no other allocation gets this value */
	uint64_t number, bytes;
	uint32_t users;               /* receiving ends */
};

/** Made with the first export. */
struct device_exports {
	pthread_mutex_t lock;         /* of the list: PEs change it, the thread looks into it */
	struct device_export *first;
	uint64_t made;
	unsigned char process[16];
	int listens;
	pthread_t thread;
};

/* ---- the thread ------------------------------------------------------------------------------ */

void vmm_socket_name(const unsigned char process[16], char name[VMM_SOCKET_BYTES])
{
	int n = snprintf(name, VMM_SOCKET_BYTES, "@chard-vmm-");

	for (int i = 0; i < 16; i++)
		n += snprintf(name + n, (size_t)(VMM_SOCKET_BYTES - n), "%02x", process[i]);
}

/** A descriptor, which is made for each that asks: a process may have few. -1: there is none. */
static int descriptor_of(const struct device_export *e)
{
	const struct device_driver *cu = e->device->driver;
	int fd = -1;

	if (cu->cuCtxSetCurrent(e->device->ctx) != CU_OK ||
	    cu->cuMemExportToShareableHandle(&fd, e->handle, CU_HANDLE_FD, 0) != CU_OK)
		return -1;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
}

/** A packet with the descriptor, if there is one. */
static void send_descriptor(int to, int fd)
{
	union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control = { { 0 } };
	char some = 0;
	struct iovec io = { &some, 1 };
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1 };

	if (fd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof control;
		*CMSG_FIRSTHDR(&m) = (struct cmsghdr){
			.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof fd),
		};
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &fd, sizeof fd);
	}
	sendmsg(to, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Whoever says nothing keeps others waiting for a second. */
static void answer(struct device_exports *all, int to)
{
	const struct timeval patience = { .tv_sec = ASK_S };
	uint64_t number;
	int fd = -1;

	setsockopt(to, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	if (!abstract_is_ours(to) || recv(to, &number, sizeof number, 0) != sizeof number)
		return;
	pthread_mutex_lock(&all->lock);
	for (const struct device_export *e = all->first; e; e = e->next)
		if (e->number == number)
			fd = descriptor_of(e);
	pthread_mutex_unlock(&all->lock);
	send_descriptor(to, fd);
	if (fd >= 0)
		close(fd);
}

/* It ends when its socket is shut down. Without descriptors for it a caller waits. */
static void *serve(void *arg)
{
	struct device_exports *all = arg;
	const struct timespec pause = { .tv_nsec = SHORT_NS };

	for (;;) {
		const int to = accept4(all->listens, NULL, NULL, SOCK_CLOEXEC);

		if (to >= 0) {
			answer(all, to);
			close(to);
		} else if (errno == EINVAL) {
			return NULL;
		} else if (errno != EINTR && errno != ECONNABORTED) {
			nanosleep(&pause, NULL);
		}
	}
}

static int listen_at(const unsigned char process[16])
{
	char name[VMM_SOCKET_BYTES];
	struct sockaddr_un at;
	socklen_t n;
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	vmm_socket_name(process, name);
	n = abstract_address(&at, name);
	if (fd < 0 || (!bind(fd, (const struct sockaddr *)&at, n) && !listen(fd, SOMAXCONN)))
		return fd;
	close(fd);
	return -1;
}

/* Signals are for the PEs' threads. */
static bool begin_to_serve(struct device_exports *all)
{
	sigset_t every, before;
	bool runs;

	if (getrandom(all->process, sizeof all->process, 0) != sizeof all->process)
		return false;
	all->listens = listen_at(all->process);
	if (all->listens < 0)
		return false;
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	runs = pthread_create(&all->thread, NULL, serve, all) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!runs)
		close(all->listens);
	return runs;
}

static struct device_exports *exports_of(struct device_node *dn)
{
	struct device_exports *all;

	if (dn->exports)
		return dn->exports;
	all = cmi_alloc_zero(1, sizeof *all, "a device's exports");
	pthread_mutex_init(&all->lock, NULL);
	if (begin_to_serve(all))
		return dn->exports = all;
	pthread_mutex_destroy(&all->lock);
	free(all);
	return NULL;
}

/* ---- allocations ----------------------------------------------------------------------------- */

/** Whether `at` is in the allocation, too. */
static bool has(const struct device_driver *cu, cu_handle handle, cu_ptr at)
{
	cu_handle other;

	if (cu->cuMemRetainAllocationHandle(&other, (void *)at) != CU_OK)
		return false;
	cu->cuMemRelease(other);
	return other == handle;
}

static bool is_made_for_it(const struct device_driver *cu, cu_handle handle)
{
	struct cu_prop prop = { .type = 0 };

	return cu->cuMemGetAllocationPropertiesFromHandle(&prop, handle) == CU_OK &&
	       (prop.handles & CU_HANDLE_FD);
}

/** For the allocation, whose handle becomes the export's. NULL: it cannot be exported. */
static struct device_export *export_more(struct device_exports *all, const struct device *dev,
					 cu_handle handle, uint64_t bytes)
{
	struct device_export *e;

	if (!is_made_for_it(dev->driver, handle))
		return NULL;
	e = cmi_alloc_zero(1, sizeof *e, "a device's exports");
	*e = (struct device_export){ all->first, dev, handle, ++all->made, bytes, 0 };
	return all->first = e;
}

/* An export that is there holds the handle already. */
static struct device_export *find_or_export(struct device_exports *all, const struct device *dev,
					    cu_handle handle, uint64_t bytes)
{
	struct device_export *e = all->first;

	while (e && (e->handle != handle || e->bytes != bytes))
		e = e->next;
	if (e)
		dev->driver->cuMemRelease(handle);
	else
		e = export_more(all, dev, handle, bytes);
	if (e)
		e->users++;
	else
		dev->driver->cuMemRelease(handle);
	return e;
}

static void drop(struct device_exports *all, struct device_export *e)
{
	struct device_export **p = &all->first;

	while (*p != e)
		p = &(*p)->next;
	*p = e->next;
	e->device->driver->cuMemRelease(e->handle);
	free(e);
}

/* What the driver calls the range of an address is one mapping; but that is not said of such
 * memory, hence `has`. */
struct device_export *device_export(struct pe *pe, const struct device *dev, cu_ptr base,
				    size_t mapped, cu_ptr at, size_t bytes, struct vmm_name *name_p)
{
	struct device_node *dn = device_node_of(pe);
	const struct device_driver *cu = dev->driver;
	struct device_exports *all;
	struct device_export *e;
	cu_handle handle;

	if (!cu->vmm || cu->cuMemRetainAllocationHandle(&handle, (void *)base) != CU_OK)
		return NULL;
	pthread_mutex_lock(&dn->lock);
	all = has(cu, handle, at) && has(cu, handle, at + bytes - 1) ? exports_of(dn) : NULL;
	pthread_mutex_unlock(&dn->lock);
	if (!all) {
		cu->cuMemRelease(handle);
		return NULL;
	}
	pthread_mutex_lock(&all->lock);
	e = find_or_export(all, dev, handle, mapped);
	pthread_mutex_unlock(&all->lock);
	if (!e)
		return NULL;
	*name_p = (struct vmm_name){ .number = e->number, .bytes = mapped };
	memcpy(name_p->process, all->process, sizeof name_p->process);
	return e;
}

void device_export_leave(struct pe *pe, struct device_export *e)
{
	struct device_exports *all = device_node_of(pe)->exports;

	pthread_mutex_lock(&all->lock);
	if (!--e->users)
		drop(all, e);
	pthread_mutex_unlock(&all->lock);
}

bool device_is_mapped(const struct device_driver *cu, cu_ptr at, cu_ptr end)
{
	while (cu->vmm && at < end) {
		cu_handle handle;
		cu_ptr base;
		size_t bytes;

		if (cu->cuMemRetainAllocationHandle(&handle, (void *)at) != CU_OK)
			return false;
		cu->cuMemRelease(handle);
		if (cu->cuMemGetAddressRange_v2(&base, &bytes, at) != CU_OK || base + bytes <= at)
			return false;
		at = base + bytes;
	}
	return at >= end;
}

void device_exports_release(struct device_node *dn)
{
	struct device_exports *all = dn->exports;

	if (!all)
		return;
	shutdown(all->listens, SHUT_RDWR);
	pthread_join(all->thread, NULL);
	close(all->listens);
	while (all->first)
		drop(all, all->first);
	pthread_mutex_destroy(&all->lock);
	free(all);
	dn->exports = NULL;
}
