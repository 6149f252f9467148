/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct_describe.h: describes the waits of a PE's channels. A put that cannot be seen is lost,
 * such as one that came before the receiver's ready; what remains is a receiver that waits for put
 * n and a sender that has made it. These records show both.
 */
#ifndef DIRECT_DESCRIBE_H
#define DIRECT_DESCRIBE_H

#include "../scheduler/pe.h"
#include "core/direct_state.h"

/** Describe each receiving end of this PE that waits, and each sending end, which is printed if its
 * receiver waits. */
void direct_describe(struct pe *pe, struct csd_told *to);

/** Note which channels are armed at `now`, so that direct_describe can report for how long. */
void direct_look(struct pe *pe, uint64_t now);

/** The PE has stopped: free the data of direct_look. */
void direct_looks_free(struct direct_pe *d);

/** Puts that have arrived in channels that are marked and not polled, and those that wait until the
 * ends of a named channel are joined: they wait for the program. */
uint64_t direct_held(struct pe *pe);

#endif
