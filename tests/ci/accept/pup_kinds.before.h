/* SPDX-License-Identifier: Apache-2.0 */
/* pup_kinds.before.h: a type of the program. */
typedef struct Point { double x, y; } Point;
