/* SPDX-License-Identifier: Apache-2.0 */
/* device_layer.h: the layer for channels into and out of devices' memory, for the start-up code. */
#ifndef DEVICE_LAYER_H
#define DEVICE_LAYER_H

#include "../scheduler/pe.h"

extern const struct csd_layer device_layer;

#endif
