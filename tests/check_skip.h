/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_skip.h: unit tests that cannot run here say so, with the reason; tests/run.py counts them as skipped. To be
 * included after cmocka.h.
 */
#ifndef CHECK_SKIP_H
#define CHECK_SKIP_H

/** Leave this test. */
#define CHECK_SKIP(why) \
	do { \
		print_message("skip  %s: %s\n", __func__, why); \
		skip(); \
	} while (0)

/** The same for a part of a test, which goes on without it. */
#define CHECK_SKIP_PART(part, why) print_message("skip  %s, %s: %s\n", __func__, part, why)

#endif
