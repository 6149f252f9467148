/* SPDX-License-Identifier: Apache-2.0 */
/* mega_groupchain.h: what travels through the job in mega_groupchain. */
#ifndef MEGA_GROUPCHAIN_H
#define MEGA_GROUPCHAIN_H

#include "ck.h"

/* A walk shows a group and a nodegroup around. */
typedef struct walk {
	CkGroupID thing;
	CkNodeGroupID node_thing;
	int no;                /* of the walk; the group's members know it, too */
	int left;              /* how many hops there will be */
	uint64_t random;       /* draws the next hop */
	long uses;             /* how often the branches will have been used so far */
} walk;

#endif
