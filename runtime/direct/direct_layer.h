/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct_layer.h: the channel layer for the start-up code. A program with channels puts this into
 * its table of layers; order among layers does not matter.
 */
#ifndef DIRECT_LAYER_H
#define DIRECT_LAYER_H

#include "../scheduler/pe.h"

extern const struct csd_layer direct_layer;

#endif
