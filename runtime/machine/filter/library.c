/* SPDX-License-Identifier: Apache-2.0 */
/* library.c: loads a library when CK_WIRE asks for it; without CK_WIRE none need be installed. */
#include "filter_int.h"

#include <dlfcn.h>
#include <stdio.h>

#include "../base/cmi_env.h"

void library_load(const char *word, const char *library, const char *package,
		  const struct library_call *calls, size_t n)
{
	void *const lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	char allowed[160];

	snprintf(allowed, sizeof allowed,
		 "a filter whose library can be loaded: %s %s (Debian: %s)", library,
		 lib ? "is too old" : "is not installed on this host", package);
	if (!lib)
		cmi_env_refuse("CK_WIRE", word, allowed);
	for (size_t i = 0; i < n; i++) {
		void *const found = dlsym(lib, calls[i].name);

		if (!found)
			cmi_env_refuse("CK_WIRE", word, allowed);
		*(void **)calls[i].function_p = found;
	}
}
