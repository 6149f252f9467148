/* SPDX-License-Identifier: Apache-2.0 */
/* ucx_load.c: see ucx_calls.h. */
#include "ucx_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "../alive/fault.h"
#include "../base/say.h"

static const char LIBRARY[] = "libucp.so.0";

struct ucx_calls ucx_calls;

/* Among all libraries of the process, as if the program had been linked with UCX. So a program may
 * put a function of its own before UCX's. */
static bool find(void *call_p, const char *name)
{
	void *at = dlsym(RTLD_DEFAULT, name);

	*(void **)call_p = at;
	return at;
}

static bool find_all(void)
{
	bool found = find(&ucx_calls.status_string, "ucs_status_string");

#define UCX_FIND(name) found = found && find(&ucx_calls.name, "ucp_" #name);
	UCX_EACH(UCX_FIND)
#undef UCX_FIND
	return found;
}

/* UCX handles signals from then on, and where UCX_HANDLE_ERRORS asks for it on a stack of its own.
 * If the program had loaded it before, that is the program's affair. The library stays loaded,
 * because it leaves functions with libc. */
int ucx_load(int node)
{
	const bool there = dlopen(LIBRARY, RTLD_NOW | RTLD_NOLOAD);
	const bool theirs = getenv("UCX_HANDLE_ERRORS");
	const char *why;
	void *library;
	stack_t stack;

	/* UCX reads it when it is loaded, and the program has its own environment back. What it prints
	 * otherwise is our back-trace once more. */
	setenv("UCX_HANDLE_ERRORS", "none", 0);
	sigaltstack(NULL, &stack);
	library = dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL);
	if (!theirs)
		unsetenv("UCX_HANDLE_ERRORS");
	if (library && !there) {
		fault_ucx_has_come();
		sigaltstack(&stack, NULL);
	}
	if (library && find_all())
		return 0;
	why = dlerror();
	machine_say("node %d needs a network, and UCX cannot be loaded: %s; install libucx (Debian: "
		    "libucx0), 1.13 or newer", node, why ? why : LIBRARY);
	return -ENOENT;
}
