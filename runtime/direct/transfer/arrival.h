/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrival.h: from the arrival of a put to the call of the channel's function.
 *
 * A channel leaves the poll set before its function is called, so the function may do anything to
 * any channel of this PE. Code that runs the functions of a list of channels must check the state
 * of each one again when its turn comes.
 */
#ifndef DIRECT_ARRIVAL_H
#define DIRECT_ARRIVAL_H

#include <stddef.h>

#include "../../scheduler/pe.h"

/** Functions run per pass of the loop, from each of the two sources: a flood must not starve
 * messages. */
enum { DIRECT_ARRIVALS_MAX = 64 };

/** Run the functions of signalled arrivals, or of those that a scan finds: at most
 * DIRECT_ARRIVALS_MAX. Return how many. */
int direct_run_rung(struct pe *pe);
int direct_run_polled(struct pe *pe);

/** A put by active message has come; body NULL: in pieces. */
void direct_put_arrived(struct pe *pe, int src_pe, const struct cmi_put_head *h,
			const void *body, size_t bytes);
/** A piece of one has come. */
void direct_put_piece(struct pe *pe, int src_pe, const struct cmi_put_head *h, size_t at,
		      const void *piece, size_t bytes);

struct direct_control_msg;

/** BOUND has come: claim the channel for the PE that sent it. */
void direct_bound_arrived(struct pe *pe, const struct direct_control_msg *c);

/** ASK has come: check the put, and answer with GO. */
void direct_ask_arrived(struct pe *pe, const struct direct_control_msg *c);

#endif
