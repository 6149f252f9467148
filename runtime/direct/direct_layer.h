/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct_layer.h: the channel layer as the start-up code sees it. A program that wants
 * channels puts this into its table of layers; order among layers does not matter.
 */
#ifndef DIRECT_LAYER_H
#define DIRECT_LAYER_H

#include "../scheduler/pe.h"

extern const struct csd_layer direct_layer;

#endif
