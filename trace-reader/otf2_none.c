/* SPDX-License-Identifier: Apache-2.0 */
/* otf2_none.c: replaces otf2.c if the headers or the library of OTF2 are missing. */
#include "model.h"

#include <stdlib.h>

void write_otf2(const struct job *j, const char *folder)
{
	(void)j;
	complain("--otf2 %s: this cktrace was built without OTF2. Install libotf2-trace-dev, and build "
		"Chard again", folder);
	exit(1);
}
