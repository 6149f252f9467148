/* SPDX-License-Identifier: Apache-2.0 */
/* What each element of test_saved has, and a message that the program packs. */
#ifndef TEST_SAVED_H
#define TEST_SAVED_H

typedef struct Sum {
	long sum;                 /* of all that it got, in order */
	int n, gate;
	int arrived;              /* calls of X_on_arrived */
} Sum;
typedef struct Far {
	int no;
	long *at;
} Far;

#endif
