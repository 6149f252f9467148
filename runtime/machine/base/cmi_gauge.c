/* SPDX-License-Identifier: Apache-2.0 */
/* cmi_gauge.c: see cmi_gauge.h. */
#include "cmi_gauge.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmi_env.h"

struct gauge *cmi_gauges_open(int n)
{
	const size_t bytes = (size_t)n * sizeof(struct gauge);
	struct stat st;

	if (!cmi_env_text("CK_GAUGES"))
		return NULL;
	const int fd = (int)cmi_env_number("CK_GAUGES", -1, 0, INT32_MAX);

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || (uint64_t)st.st_size < bytes)
		cmi_env_refuse("CK_GAUGES", getenv("CK_GAUGES"),
			       "set by ckrun only, which has opened what it names");
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	close(fd);
	unsetenv("CK_GAUGES");
	return p == MAP_FAILED ? NULL : p; /* only the progress line is missing then */
}

void cmi_gauges_close(struct gauge *g, int n)
{
	if (g)
		munmap(g, (size_t)n * sizeof *g);
}
