/* SPDX-License-Identifier: Apache-2.0 */
/*
 * knock.h: a signal becomes a message to the node's first PE. A signal's handler may neither
 * allocate a message nor send one, so the PE prepares one and lays it out.
 *
 * Signals belong to the process, so this does, too: one node at a time. Nothing is looked at while
 * no signal comes.
 */
#ifndef CSD_KNOCK_H
#define CSD_KNOCK_H

#include "../pe.h"

/** The first PE: from now on the signal sets bit `bit` (0 to 31) of those that have come. False:
 * the program or somebody else has the signal, or the process is not ours. */
bool knock_listen(struct pe *pe, int sig, unsigned bit);
/** The first PE: the next signal sends it this message. At once, if one has come already. It has to
 * be prepared again when it arrives. */
void knock_prepare(struct pe *pe, struct cmi_msg *m);
/** The first PE: the bits that have come since the last call. After knock_prepare, so that none is
 * missed. */
unsigned knock_came(void);
/** The first PE's end: no more signals. In a process of ours those that still come are ignored. */
void knock_stop(struct pe *pe);

#endif
