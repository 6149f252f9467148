/* SPDX-License-Identifier: Apache-2.0 */
/* data.h: the types of values in callbacks (CkDataType). */
#ifndef CK_DATA_H
#define CK_DATA_H

#include <stdbool.h>
#include <stddef.h>

#include "../../ck.h"

/** Bytes of one value; 0: the type has no fixed size. */
size_t data_type_bytes(CkDataType type);
const char *data_type_name(CkDataType type);
/** Whether the message has values of this type. Plain bytes become values of it if the size
 * fits. */
bool data_as(CkReductionMsg *m, CkDataType type);

#endif
