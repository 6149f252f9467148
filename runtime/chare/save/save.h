/* SPDX-License-Identifier: Apache-2.0 */
/*
 * save.h: the room save/: checkpoints of the job, and starting from one.
 *
 *	ask.c       who asks for a checkpoint, and who is told how it went
 *	freeze.c    the checkpoint itself: freeze, refuse, write, commit, thaw
 *	when.c      CK_CHECKPOINT: checkpoints that nobody asks for
 *	signal.c    checkpoints that somebody outside the program asks for
 *	store.c     where the bytes go
 *	disk.c      from there to a folder, while the program computes
 *	source.c    the images from which the job starts
 *	restore.c   starting from them
 *	figures.c   what CK_STATS says of all that
 *
 * Owns     the order of a checkpoint. What is saved belongs to the parts (`save` of struct ck_part).
 * Called   by programs, on any PE. It is the top room of the layer: nothing here calls it.
 * Calls    settle/ for quiescence, core/, and all parts through their tables.
 *
 * A checkpoint is taken while the job is quiescent: PE 0 asks for a quiescence detection of its own
 * (CB_AT_SAVE). Then all PEs freeze: timers, hooks and the program's messages wait, so nothing
 * changes until the copy is complete.
 *
 *	PE 0                                   each PE, over PE 0's tree
 *	FREEZE ------------------------------> freezes, counts its messages, lets the parts refuse and
 *	                                       measure
 *	        <----------------------------- FROZEN: sums; and the lines of refusals, straight to PE 0
 *	sums differ: a message had been sent meanwhile. THAW, and again from quiescence
 *	refused: THAW, and the lines
 *	WRITE -------------------------------> writes its block
 *	        <----------------------------- WRITTEN: an error, if any
 *	commit
 *	THAW --------------------------------> goes on
 */
#ifndef CK_SAVE_H
#define CK_SAVE_H

#include "../core/objects/state.h"

enum { PART_SAVE = 33 };
extern const struct ck_part save_part;
/** What CK_RESTART names; used when the node's restart.n_pes says that there is something. */
extern const struct ck_restarter save_restarter;

#endif
