/* SPDX-License-Identifier: Apache-2.0 */
/* epochs.h: what read.c and epochs.c have of each other. */
#ifndef EPOCHS_H
#define EPOCHS_H

#include "model.h"

/** List the folder's epochs, and choose number *epoch, or the last one if that is NULL. */
void epochs_find(struct job *j, const char *folder, const uint64_t *epoch);

/** What a head says that cannot be, in a file of this size; NULL: nothing. */
const char *what_is_wrong(const struct trace_head *h, size_t bytes);
_Noreturn void bad_file(const char *name, const char *why);

#endif
