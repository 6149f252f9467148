/* SPDX-License-Identifier: Apache-2.0 */
#include "board.h"

long board_count(const struct board *b, long n)
{
	uint32_t open = board_free(b, n);
	long count = 0;

	if (b->rows == n)
		return 1;
	for (; open; open &= open - 1) {
		struct board next = board_place(b, open & -open);

		count += board_count(&next, n);
	}
	return count;
}

long board_reachable(const struct board *b, long n, long rows)
{
	uint32_t open = board_free(b, n);
	long count = 1;

	if (b->rows >= rows)
		return count;
	for (; open; open &= open - 1) {
		struct board next = board_place(b, open & -open);

		count += board_reachable(&next, n, rows);
	}
	return count;
}
