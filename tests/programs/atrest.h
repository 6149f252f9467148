/* SPDX-License-Identifier: Apache-2.0 */
/* atrest.h: the types of atrest.ci. */
#ifndef ATREST_H
#define ATREST_H

#include "../../runtime/chare/place/record/place.h"

typedef struct place_still Still;
typedef struct place_move Move;

#endif
