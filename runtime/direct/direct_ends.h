/* SPDX-License-Identifier: Apache-2.0 */
/* direct_ends.h: the interface for a layer that gives channels names and moves their ends. */
#ifndef DIRECT_ENDS_H
#define DIRECT_ENDS_H

#include "../scheduler/pe.h"

extern const struct csd_ends direct_ends;

#endif
