/* SPDX-License-Identifier: Apache-2.0 */
/* staged_in.h: the receiving side of staging.h. */
#ifndef DEVICE_STAGED_IN_H
#define DEVICE_STAGED_IN_H

#include "staging.h"

struct device_staged_in;

/** JOIN has come. */
void device_join_arrived(struct pe *pe, const struct device_msg *m);

/** The receiving end ends. */
void device_staged_in_end(struct pe *pe, struct device_staged_in *in);
/** The node stops: only the record. */
void device_staged_in_free(struct device_staged_in *in);

#endif
