/* SPDX-License-Identifier: Apache-2.0 */
/* under_ckrun.h: a test of several processes that is started alone runs itself under ckrun. In one of many processes
 * cmocka's assertions would be of no use; CHECK ends the job. */
#ifndef UNDER_CKRUN_H
#define UNDER_CKRUN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x) \
	do { \
		if (!(x)) { \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #x); \
			abort(); \
		} \
	} while (0)

/** The launcher of this build: build/bin/ckrun beside build/tests/machine/test_x; CKRUN names another. */
static inline void find_ckrun(const char *self, char *path, size_t cap)
{
	const char *given = getenv("CKRUN"), *slash = strrchr(self, '/');
	int dir = slash ? (int)(slash - self) : 1;

	if (given)
		snprintf(path, cap, "%s", given);
	else
		snprintf(path, cap, "%.*s/../../bin/ckrun", dir, slash ? self : ".");
}

#endif
