/* SPDX-License-Identifier: Apache-2.0 */
/* test_kinds.h: types of test_kinds.ci. */
#ifndef TEST_KINDS_H
#define TEST_KINDS_H

typedef struct Text {
	long *at;
} Text;

#endif
