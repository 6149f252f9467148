/* SPDX-License-Identifier: Apache-2.0 */
/* What a program includes before index_before.decl.h. */
typedef struct Place {
	short row, column;
} Place;
