/* SPDX-License-Identifier: Apache-2.0 */
/* part.h: what part.c tells mains.c about the order of things. */
#ifndef PART_H
#define PART_H

#include <stdatomic.h>

extern atomic_int n_initnode;             /* functions that have run on this node */
extern _Thread_local int n_initproc;      /* on this PE */
extern int n_main;                        /* main chares constructed; PE 0 */
extern int n_guests;                      /* that have arrived; PE 0 */

#endif
