/* SPDX-License-Identifier: Apache-2.0 */
/* chare_layer.h: the chare layer as the scheduler starts it. */
#ifndef CHARE_LAYER_H
#define CHARE_LAYER_H

#include "../scheduler/pe.h"

/** The layer of chares, arrays, groups, reductions and quiescence. node->program is a CkGenModule,
 * or NULL for a node without chares. */
extern const struct csd_layer chare_layer;

#endif
