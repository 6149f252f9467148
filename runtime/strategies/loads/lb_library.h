/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lb_library.h: an optional library, loaded on first use; Chard is neither built nor linked with
 * it. It stays loaded until the process ends.
 */
#ifndef CK_LB_LIBRARY_H
#define CK_LB_LIBRARY_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

/** A function of the library, and the pointer to set. */
struct lb_symbol { const char *name; void *pointer_p; };

/** Load it and find its functions. Any thread; may be repeated for the same library. */
static inline bool lb_library_load(const char *file, const struct lb_symbol *symbol, size_t n)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);

	for (size_t k = 0; library && k < n; k++)
		if (!(*(void **)symbol[k].pointer_p = dlsym(library, symbol[k].name)))
			return false;
	return library;
}

#endif
