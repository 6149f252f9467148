/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.h: the device's driver library, loaded when the first device channel is made: a table of
 * its functions, and the lines that say why it cannot be used.
 *
 * CK_DEVICE: "cuda" (what is taken without it), "none", or the path of a library with the same
 * functions.
 */
#ifndef DEVICE_DRIVER_H
#define DEVICE_DRIVER_H

#include "cu.h"

#include "../scheduler/pe.h"

/** The table, NULL where no library was loaded. A driver with other names (HIP) would fill one like
 * it. */
struct device_driver {
#define CU_MEMBER(name, parameters) cu_result(*name) parameters;
	CU_EACH(CU_MEMBER)
	CU_EACH_OF_VMM(CU_MEMBER)
#undef CU_MEMBER
	bool vmm;                     /* the driver has all of CU_EACH_OF_VMM */
};

/** Load it and call its cuInit; a library that cannot be used ends the job, naming `call`. */
void device_driver_load(struct pe *pe, const char *call, struct device_driver *driver);

/** End the job: `what` has failed in `call`. */
_Noreturn void device_failed(struct pe *pe, const char *call, const struct device_driver *driver,
			     const char *what, cu_result result) __attribute__((cold));

/** `result` is that of `what`; another than CU_OK ends the job. */
static inline void device_must(struct pe *pe, const char *call, const struct device_driver *driver,
			       const char *what, cu_result result)
{
	if (CSD_UNLIKELY(result != CU_OK))
		device_failed(pe, call, driver, what, result);
}

#endif
