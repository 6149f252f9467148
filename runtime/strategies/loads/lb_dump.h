/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lb_dump.h: statistics as text (CK_LB_DUMP), so that a strategy can be tried on what a program
 * really did; bench/lb_read.c reads it. A file is a row of records, one for each step; they can be
 * put together with cat and cut apart at the lines "end".
 *
 *	chard-lb 1
 *	array Block step 12 tolerance 0.05
 *	sizes 4 2 1000 1998                                PEs, processes, elements, edges
 *	pe 0 0.00125 1                                     process, background, speed; PE 0 first
 *	...
 *	element 2 0 0.00341 4096 17,4 0.5,2,0              PE, pinned, seconds, bytes, index, position
 *	...
 *	edge 0 1 12 98304                                  from, to, messages, bytes
 *	...
 *	end
 *
 * Numbers with a point are floats, written exactly. Trailing zeros of an index are omitted, and so
 * is a position equal to the index.
 */
#ifndef CK_LB_DUMP_H
#define CK_LB_DUMP_H

#include "../../chare/cklb.h"

#include <stdio.h>

/** Append a record. `array` is its type's name, one word. 0, or a negative errno of the file. */
int lb_dump_write(FILE *f, const char *array, const CkLBStats *s)
	__attribute__((warn_unused_result));

#endif
