/* SPDX-License-Identifier: Apache-2.0 */
/* boot_pmi1.h: the client of PMI-1 on a given socket, for who has no environment to name it. */
#ifndef BOOT_PMI1_H
#define BOOT_PMI1_H

#include <stdbool.h>

struct boot;

/** Greet the launcher over the socket `fd`, which the client owns from then on if that succeeds,
 * unless it is borrowed from MPI, which does init and finalize. */
int boot_pmi1_init(int fd, int rank, int size, bool borrowed, struct boot **b_p);

#endif
