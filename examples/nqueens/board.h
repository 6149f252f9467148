/* SPDX-License-Identifier: Apache-2.0 */
/*
 * board.h: n queens on an n x n board, one per row, none attacking another. A board says how many
 * rows from the top have their queen, and what these queens attack in the next row, one bit per
 * column.
 */
#ifndef NQUEENS_BOARD_H
#define NQUEENS_BOARD_H

#include <stdint.h>

struct board {
	int rows;               /* that have their queen */
	uint32_t columns;       /* with a queen above */
	uint32_t left, right;   /* attacked along the diagonals */
};

/** The columns where the next row's queen is safe. */
static inline uint32_t board_free(const struct board *b, long n)
{
	return ~(b->columns | b->left | b->right) & (uint32_t)((UINT64_C(1) << n) - 1);
}

/** The board with a queen in one more row; `column` is one bit. */
static inline struct board board_place(const struct board *b, uint32_t column)
{
	return (struct board){b->rows + 1, b->columns | column, (b->left | column) << 1,
			      (b->right | column) >> 1};
}

/** How many ways there are to place the queens that are missing. */
long board_count(const struct board *b, long n);

/** The boards with at most `rows` queens that can be reached from `b`, itself included. */
long board_reachable(const struct board *b, long n, long rows);

#endif
