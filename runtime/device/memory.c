/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c: see memory.h. */
#include "memory.h"
#include "vmm.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../machine/base/cmi_alloc.h"

/** A piece of pinned memory. Of `memory`, from cmi_mem_alloc, it is the whole pages. */
struct device_pinned {
	void *memory;
	unsigned char *at;
	size_t bytes;
	bool used;
};

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* ---- words in host memory -------------------------------------------------------------------- */

/* In a test several nodes of a process may register one page. */
static cu_ptr register_page(struct pe *pe, const char *call, const struct device *dev,
			    uintptr_t page)
{
	const struct device_driver *cu = dev->driver;
	cu_ptr at;
	const cu_result result = cu->cuMemHostRegister_v2(
		(void *)page, page_bytes(), CU_REGISTER_PORTABLE | CU_REGISTER_MAPPED);

	if (result != CU_REGISTERED)
		device_must(pe, call, cu, "cuMemHostRegister", result);
	device_must(pe, call, cu, "cuMemHostGetDevicePointer",
		    cu->cuMemHostGetDevicePointer_v2(&at, (void *)page, 0));
	return at;
}

static const struct device_page *find_page(const struct device_node *dn, uintptr_t page)
{
	for (int i = 0; i < dn->n_pages; i++)
		if (dn->pages[i].at == page)
			return &dn->pages[i];
	return NULL;
}

cu_ptr device_word(struct pe *pe, const char *call, const struct device *dev, const void *word,
		   bool *fresh_p)
{
	struct device_node *dn = device_node_of(pe);
	const uintptr_t page = (uintptr_t)word / page_bytes() * page_bytes();
	cu_ptr at;

	pthread_mutex_lock(&dn->lock);
	*fresh_p = !find_page(dn, page);
	if (*fresh_p) {
		CMI_ONE_MORE(dn->pages, dn->n_pages, dn->max_pages, "a device's words");
		dn->pages[dn->n_pages++] =
			(struct device_page){ page, register_page(pe, call, dev, page) };
	}
	at = find_page(dn, page)->device + ((uintptr_t)word - page);
	pthread_mutex_unlock(&dn->lock);
	return at;
}

/* ---- pinned memory --------------------------------------------------------------------------- */

static struct device_pinned *find_unused(struct device_node *dn, size_t bytes)
{
	for (int i = 0; i < dn->n_pinned; i++)
		if (!dn->pinned[i].used && dn->pinned[i].bytes >= bytes && dn->pinned[i].bytes <= 2 * bytes)
			return &dn->pinned[i];
	return NULL;
}

/* Pages of its own, so that no other registration overlaps it: a copy must lie in one. */
static struct device_pinned *pin_more(struct pe *pe, const char *call, const struct device *dev,
				      size_t bytes)
{
	struct device_node *dn = device_node_of(pe);
	const size_t page = page_bytes(), whole = (bytes + page - 1) / page * page;
	struct device_pinned *p;

	CMI_ONE_MORE(dn->pinned, dn->n_pinned, dn->max_pinned, "a device's host memory");
	p = &dn->pinned[dn->n_pinned];
	p->bytes = whole;
	p->memory = cmi_must_have(cmi_mem_alloc(pe->node->machine, whole + page), whole + page,
				  "a copy of a device's buffer");
	p->at = (unsigned char *)(((uintptr_t)p->memory + page - 1) / page * page);
	device_must(pe, call, dev->driver, "cuMemHostRegister",
		    dev->driver->cuMemHostRegister_v2(p->at, whole, CU_REGISTER_PORTABLE | CU_REGISTER_MAPPED));
	dn->n_pinned++;
	return p;
}

unsigned char *device_pinned(struct pe *pe, const char *call, const struct device *dev,
			     size_t bytes)
{
	struct device_node *dn = device_node_of(pe);
	struct device_pinned *p;
	unsigned char *at;

	pthread_mutex_lock(&dn->lock);
	p = find_unused(dn, bytes);
	if (!p)
		p = pin_more(pe, call, dev, bytes);
	p->used = true;
	at = p->at;
	pthread_mutex_unlock(&dn->lock);
	return at;
}

void device_pinned_leave(struct pe *pe, unsigned char *at)
{
	struct device_node *dn = device_node_of(pe);

	pthread_mutex_lock(&dn->lock);
	for (int i = 0; i < dn->n_pinned; i++)
		if (dn->pinned[i].at == at)
			dn->pinned[i].used = false;
	pthread_mutex_unlock(&dn->lock);
}

/* ---- between processes ----------------------------------------------------------------------- */

static bool can_export(const struct device *dev, cu_ptr at)
{
	int can = 0;

	return dev->driver->cuPointerGetAttribute(&can, CU_POINTER_IPC, at) == CU_OK && can;
}

/** Whether another process of this host takes part. */
static bool has_neighbour(const struct pe *pe)
{
	return pe->node->job->pes_on_host > pe->node->job->my_n_pes;
}

/* The handle is that of the whole allocation, and mapping it gives its beginning: hence the
 * offset. */
uint8_t device_name_memory(struct pe *pe, const char *call, const struct device *dev, const void *p,
			   size_t bytes, struct direct_device_name *name_p,
			   struct device_export **export_p)
{
	const cu_ptr at = (uintptr_t)p;
	struct cu_ipc handle;
	struct vmm_name name;
	cu_ptr base;
	size_t size;

	*export_p = NULL;
	*name_p = (struct direct_device_name){ .offset = 0 };
	memcpy(name_p->uuid, dev->uuid.bytes, sizeof name_p->uuid);
	if (dev->driver->cuMemGetAddressRange_v2(&base, &size, at) != CU_OK)
		return DIRECT_IN_DEVICE_HIDDEN;
	if (bytes > size - (at - base)) {
		if (device_is_mapped(dev->driver, at, at + bytes))
			return DIRECT_IN_DEVICE_HIDDEN;
		csd_abort(pe, "%s: %zu bytes at %p, but its allocation ends after %zu", call, bytes, p,
			  size - (size_t)(at - base));
	}
	name_p->offset = at - base;
	if (!has_neighbour(pe))
		return DIRECT_IN_DEVICE_HIDDEN;
	if (can_export(dev, at) && dev->driver->cuIpcGetMemHandle(&handle, base) == CU_OK) {
		memcpy(name_p->handle, handle.bytes, sizeof name_p->handle);
		return DIRECT_IN_DEVICE;
	}
	*export_p = device_export(pe, dev, base, size, at, bytes, &name);
	if (!*export_p)
		return DIRECT_IN_DEVICE_HIDDEN;
	memcpy(name_p->handle, &name, sizeof name_p->handle);
	return DIRECT_IN_DEVICE_VMM;
}

static const struct device_mapping *find_mapping(const struct device_node *dn,
						 const struct device *dev, const struct cu_ipc *handle)
{
	for (int i = 0; i < dn->n_mappings; i++)
		if (dn->mappings[i].device == dev && !memcmp(&dn->mappings[i].handle, handle, sizeof *handle))
			return &dn->mappings[i];
	return NULL;
}

static void map_more(struct device_node *dn, struct device *dev, const struct cu_ipc *handle)
{
	cu_ptr base = 0;

	if (dev->driver->cuIpcOpenMemHandle_v2(&base, *handle, CU_IPC_LAZY_PEER) != CU_OK)
		base = 0;
	CMI_ONE_MORE(dn->mappings, dn->n_mappings, dn->max_mappings, "other processes' memory");
	dn->mappings[dn->n_mappings++] = (struct device_mapping){ *handle, dev, base };
}

cu_ptr device_map(struct pe *pe, struct device *dev, const struct direct_device_name *name)
{
	struct device_node *dn = device_node_of(pe);
	struct cu_ipc handle;
	cu_ptr base;

	memcpy(handle.bytes, name->handle, sizeof handle.bytes);
	pthread_mutex_lock(&dn->lock);
	if (!find_mapping(dn, dev, &handle))
		map_more(dn, dev, &handle);
	base = find_mapping(dn, dev, &handle)->base;
	pthread_mutex_unlock(&dn->lock);
	return base ? base + name->offset : 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

void device_memory_release(struct node *node, bool all_idle)
{
	struct device_node *dn = node->layer[DEVICE_SLOT];
	const struct device_driver *cu = &dn->driver;

	device_exports_release(dn);
	device_imports_release(dn, all_idle);
	for (int i = 0; all_idle && i < dn->n_mappings; i++)
		if (dn->mappings[i].base)
			cu->cuIpcCloseMemHandle(dn->mappings[i].base);
	for (int i = 0; all_idle && i < dn->n_pages; i++)
		cu->cuMemHostUnregister((void *)dn->pages[i].at);
	for (int i = 0; all_idle && i < dn->n_pinned; i++) {
		cu->cuMemHostUnregister(dn->pinned[i].at);
		cmi_mem_free(node->machine, dn->pinned[i].memory);
	}
	free(dn->pages);
	free(dn->mappings);
	free(dn->pinned);
}
