/* SPDX-License-Identifier: Apache-2.0 */
/* check_told.h: what a PE tells of what waits there (tell.h), as lines. */
#ifndef CHECK_TOLD_H
#define CHECK_TOLD_H

#include <stdio.h>
#include <stdlib.h>

#include "../runtime/scheduler/base/tell.h"

/** Add a line for each record that has a text, asked for or not, to `lines`; frees the records. */
static inline void check_told_lines(struct csd_told *told, char *lines, size_t bytes)
{
	FILE *out = fmemopen(lines, bytes, "a");

	for (const struct csd_record *r = NULL; (r = csd_told_next(told, r));)
		if (csd_record_text(r)[0])
			csd_record_print(out, r);
	fclose(out);
	free(told->at);
}

#endif
