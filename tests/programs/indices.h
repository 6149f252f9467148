/* SPDX-License-Identifier: Apache-2.0 */
/* indices.h: an index type of the program's, without gaps: all its bytes are the index. */
#ifndef INDICES_H
#define INDICES_H

#include <stdint.h>

typedef struct Cell_id { int32_t level; int16_t x, y; uint8_t face, unused[3]; } Cell_id;

#endif
