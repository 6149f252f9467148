/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_driver.h: calls of the driver that the job uses, for test programs: they fill buffers and
 * look at streams as a user's program would.
 */
#ifndef DEVICE_DRIVER_H
#define DEVICE_DRIVER_H

#include <dlfcn.h>

#include "../../runtime/device/cu.h"
#include "check.h"
#include "ckdevice.h"

/** Find a function of the driver, which the runtime has loaded for the first device channel:
 * *call_p is a pointer to it. */
static inline void driver_call(const char *call, void *call_p)
{
	const char *name = getenv("CK_DEVICE");
	void *library = dlopen(name ? name : "libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	CHECK(library && dlsym(library, call));
	*(void **)call_p = dlsym(library, call);
}

/** A stream of its own (CU_STREAM_NON_BLOCKING). */
static inline void *driver_stream(int priority)
{
	int (*create)(void **stream_p, unsigned flags, int priority);
	void *stream;

	driver_call("cuStreamCreateWithPriority", &create);
	CHECK(create(&stream, 1, priority) == 0);
	return stream;
}

/** The kernels of a text in PTX. */
static inline void *driver_module(const char *ptx)
{
	int (*load)(void **module_p, const void *text);
	void *module;

	driver_call("cuModuleLoadData", &load);
	CHECK(load(&module, ptx) == 0);
	return module;
}

static inline void *driver_kernel(void *module, const char *name)
{
	int (*find)(void **function_p, void *module, const char *name);
	void *kernel;

	driver_call("cuModuleGetFunction", &find);
	CHECK(find(&kernel, module, name) == 0);
	return kernel;
}

/** Copy between host and device memory; complete on return. */
static inline void driver_copy(void *host, cu_ptr at, size_t n, bool to_device)
{
	void *stream = driver_stream(0);
	int (*read)(void *to, cu_ptr from, size_t bytes, void *stream);
	int (*write)(cu_ptr to, const void *from, size_t bytes, void *stream);
	int (*query)(void *stream);
	int (*destroy)(void *stream);

	driver_call("cuMemcpyDtoHAsync_v2", &read);
	driver_call("cuMemcpyHtoDAsync_v2", &write);
	driver_call("cuStreamQuery", &query);
	driver_call("cuStreamDestroy_v2", &destroy);
	CHECK((to_device ? write(at, host, n, stream) : read(host, at, n, stream)) == CU_OK);
	while (query(stream))
		;
	CHECK(destroy(stream) == CU_OK);
}

/* ---- memory of cuMemCreate ------------------------------------------------------------------- */

typedef cu_result (*driver_attribute_fn)(void *value_p, int attribute, cu_ptr p);
typedef cu_result (*driver_grain_fn)(size_t *bytes_p, const struct cu_prop *prop, uint32_t option);
typedef cu_result (*driver_reserve_fn)(cu_ptr *p, size_t bytes, size_t alignment, cu_ptr hint,
				       unsigned long long flags);
typedef cu_result (*driver_create_fn)(cu_handle *handle_p, size_t bytes, const struct cu_prop *prop,
				      unsigned long long flags);
typedef cu_result (*driver_map_fn)(cu_ptr p, size_t bytes, size_t offset, cu_handle handle,
				   unsigned long long flags);
typedef cu_result (*driver_access_fn)(cu_ptr p, size_t bytes, const struct cu_access *access,
				      size_t n);
typedef cu_result (*driver_release_fn)(cu_handle handle);
typedef cu_result (*driver_range_fn)(cu_ptr p, size_t bytes);

/** What it needs to know of the device that CkDirect_allocDevice takes; its driver is loaded. */
static inline struct cu_prop driver_prop(bool exported)
{
	void *there = check_there(CkDirect_allocDevice(1), 1);
	struct cu_prop prop = { .type = CU_ALLOCATION_PINNED,
				.handles = exported ? CU_HANDLE_FD : 0,
				.place = { .type = CU_PLACE_DEVICE } };
	driver_attribute_fn attribute;

	driver_call("cuPointerGetAttribute", &attribute);
	CHECK(attribute(&prop.place.id, CU_POINTER_ORDINAL, (uintptr_t)there) == CU_OK);
	CkDirect_freeDevice(there);
	return prop;
}

/** So many bytes, in whole grains of the device. */
static inline size_t driver_whole(size_t least)
{
	const struct cu_prop prop = driver_prop(true);
	driver_grain_fn grain;
	size_t one;

	driver_call("cuMemGetAllocationGranularity", &grain);
	CHECK(grain(&one, &prop, 0) == CU_OK);
	return (least + one - 1) / one * one;
}

/** n mappings of `each` bytes, one behind the other, each of an allocation of its own. */
static inline cu_ptr driver_create(int n, size_t each, bool exported)
{
	const struct cu_prop prop = driver_prop(exported);
	const struct cu_access access = { prop.place, CU_ACCESS_BOTH };
	driver_reserve_fn reserve;
	driver_create_fn create;
	driver_map_fn map;
	driver_access_fn set_access;
	driver_release_fn release;
	cu_ptr at;

	driver_call("cuMemAddressReserve", &reserve);
	driver_call("cuMemCreate", &create);
	driver_call("cuMemMap", &map);
	driver_call("cuMemSetAccess", &set_access);
	driver_call("cuMemRelease", &release);
	CHECK(reserve(&at, (size_t)n * each, 0, 0, 0) == CU_OK);
	for (int i = 0; i < n; i++) {
		cu_handle handle;

		CHECK(create(&handle, each, &prop, 0) == CU_OK);
		CHECK(map(at + (size_t)i * each, each, 0, handle, 0) == CU_OK);
		CHECK(release(handle) == CU_OK);
	}
	CHECK(set_access(at, (size_t)n * each, &access, 1) == CU_OK);
	return at;
}

static inline void driver_unmap(cu_ptr at, size_t whole)
{
	driver_range_fn unmap, leave;

	driver_call("cuMemUnmap", &unmap);
	driver_call("cuMemAddressFree", &leave);
	CHECK(unmap(at, whole) == CU_OK);
	CHECK(leave(at, whole) == CU_OK);
}

#endif
