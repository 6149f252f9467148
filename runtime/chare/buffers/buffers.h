/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffers.h: the room buffers/: memory of the program that the runtime writes.
 *
 * Owns     get and put between two CkNcpyBuffers (getput.c), in checked mode the list of buffers
 *          (live.c), the buffers for which calls with nocopypost arrays wait (post.c).
 * Called   by programs and by printed code, on any PE.
 * Calls    wait/, call/, params/, core/, and the scheduler's threads (cth.h).
 */
#ifndef CK_BUFFERS_H
#define CK_BUFFERS_H

#include "../wait/wait.h"

enum { PART_GETPUT = 22, PART_LIVE = 23, PART_POST = 24 };
extern const struct ck_part getput_part, live_part, post_part;

/* ---- live.c: checked mode; any PE of the process that has the memory ------------------------- */

/** Note a new buffer; returns its number. */
uint64_t live_begin(struct pe *pe, const void *ptr, size_t bytes);
/** Abort if the buffer has ended. `call` and `side` are for the error line. */
void live_check(struct pe *pe, const char *call, const char *side, const CkNcpyBuffer *b);
void live_end(struct pe *pe, const CkNcpyBuffer *b);
/** End all buffers that lie in freed memory. */
void live_freed(struct pe *pe, const void *p, size_t bytes);

#endif
