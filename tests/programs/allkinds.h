/* SPDX-License-Identifier: Apache-2.0 */
/* allkinds.h: what each element of allkinds has, an index of the program's, and a message that it
 * packs. */
#ifndef ALLKINDS_H
#define ALLKINDS_H

#include <stdint.h>

#include "ckglobal.h"

typedef struct Sum { unsigned long sum; int n, gate; } Sum;
typedef struct Tag { int32_t level; int16_t x, y; uint8_t face, unused[3]; } Tag;
typedef struct Far {
	int no;
	long *at;
} Far;

#endif
