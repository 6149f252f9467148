/* SPDX-License-Identifier: Apache-2.0 */
/* driver.c: see driver.h. */
#include "driver.h"

#include <dlfcn.h>
#include <string.h>

#include "../machine/base/cmi_env.h"

static const char LIBRARY[] = "libcuda.so.1";

/** The library's name; `none` ends the job. */
static const char *library_name(struct pe *pe, const char *call)
{
	const char *name = cmi_env_text("CK_DEVICE");

	if (!name || !strcmp(name, "cuda"))
		return LIBRARY;
	if (!strcmp(name, "none"))
		csd_abort(pe, "%s: a channel into device memory, but CK_DEVICE=none: unset it, or use host "
			  "memory", call);
	if (!strchr(name, '/'))
		cmi_env_refuse("CK_DEVICE", name, "cuda, none, or a library's path");
	return name;
}

static void find(struct pe *pe, const char *call, void *library, const char *name, void *call_p)
{
	void *at = dlsym(library, name);

	if (!at)
		csd_abort(pe, "%s: the device's driver has no %s: device channels need that of CUDA 11.7 or "
			  "newer", call, name);
	*(void **)call_p = at;
}

static bool has(void *library, const char *name, void *call_p)
{
	*(void **)call_p = dlsym(library, name);
	return *(void **)call_p;
}

static _Noreturn void no_library(struct pe *pe, const char *call, const char *name)
{
	const char *why = dlerror();

	csd_abort(pe, "%s: a channel into device memory needs the device's driver, which cannot be "
		  "loaded: %s; install it, or use host memory", call, why ? why : name);
}

/* The library stays loaded, as its threads do. */
void device_driver_load(struct pe *pe, const char *call, struct device_driver *driver)
{
	const char *name = library_name(pe, call);
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	cu_result result;

	if (!library)
		no_library(pe, call, name);
#define CU_FIND(f, parameters) find(pe, call, library, #f, &driver->f);
	CU_EACH(CU_FIND)
#undef CU_FIND
	driver->vmm = true;
#define CU_LOOK(f, parameters) driver->vmm = has(library, #f, &driver->f) && driver->vmm;
	CU_EACH_OF_VMM(CU_LOOK)
#undef CU_LOOK
	result = driver->cuInit(0);
	if (result == CU_NO_DEVICE)
		csd_abort(pe, "%s: the driver finds no device: use host memory, or see CUDA_VISIBLE_DEVICES",
			  call);
	device_must(pe, call, driver, "cuInit", result);
}

void device_failed(struct pe *pe, const char *call, const struct device_driver *driver,
		   const char *what, cu_result result)
{
	const char *name = NULL;

	driver->cuGetErrorName(result, &name);
	csd_abort(pe, "%s: the device's driver: %s has failed: %s (%d)", call, what,
		  name ? name : "an unknown error", result);
}
