/* SPDX-License-Identifier: Apache-2.0 */
/* links.c: node 0 of a job on several hosts. */
#include "launch.h"

int launch_links_take(const struct launch_job *job)
{
	(void)job;
	return -1;
}
