/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_driver.h: calls of the driver that the job uses, for test programs: they fill buffers and
 * look at streams as a user's program would.
 */
#ifndef DEVICE_DRIVER_H
#define DEVICE_DRIVER_H

#include <dlfcn.h>

#include "check.h"

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

#endif
