/* SPDX-License-Identifier: Apache-2.0 */
/* ways.h: messages of one pair of PEs that need different orders (enum cmi_way), by number. */
#ifndef TEST_WAYS_H
#define TEST_WAYS_H

#include "../../runtime/machine/cmi.h"

/* What has come of a pair: lower numbers have, of the calls and of the urgent ones. */
struct ways {
	uint64_t below[2];
};

static inline enum cmi_way way_of_number(uint64_t n)
{
	static const enum cmi_way ways[] = {CMI_BEHIND_ALL, CMI_CALL, CMI_URGENT, CMI_CALL};

	return ways[(n * 0x9e3779b97f4a7c15u) >> 62];
}

static inline uint64_t next_number(bool urgent, uint64_t n)
{
	while ((way_of_number(n) == CMI_URGENT) != urgent)
		n++;
	return n;
}

/* Message n comes in the order that it needs. */
static inline bool comes_in_order(struct ways *w, uint64_t n)
{
	const enum cmi_way way = way_of_number(n);
	const bool urgent = way == CMI_URGENT, is_next = next_number(urgent, w->below[urgent]) == n;

	w->below[urgent] = n + 1;
	return is_next && (way != CMI_BEHIND_ALL || next_number(true, w->below[true]) > n);
}

#endif
