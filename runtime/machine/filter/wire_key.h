/* SPDX-License-Identifier: Apache-2.0 */
/* wire_key.h: what CK_WIRE and CK_WIRE_KEY say to all who seal: nodes, and ckrun's keepers. */
#ifndef WIRE_KEY_H
#define WIRE_KEY_H

#include <stdbool.h>

#include "seal.h"

/** Whether CK_WIRE has the word "seal". What is wrong with its other words is for the nodes to
 * say. */
bool wire_seals(void);
/** A hash of the file of CK_WIRE_KEY; false: that is not set. A file that cannot be used ends the
 * process with a line. After seal_load. */
bool wire_key_read(uint8_t key[SEAL_KEY]);

#endif
