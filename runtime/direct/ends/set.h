/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set.h: sets of channels: one function for all receiving ends of a set, when each has had a put.
 *
 * A member is a receiving end like any other. Its function counts down, and its data is the set.
 */
#ifndef DIRECT_SET_H
#define DIRECT_SET_H

#include "channel.h"

/** The function of a member. */
void direct_set_arrived(void *set);

/** The set of a receiving end, or NULL. */
static inline struct CkDirectSet *direct_set_of(const struct direct_channel_hot *hot)
{
	const struct direct_channel *ch = direct_rest(hot);

	return ch->fn == direct_set_arrived ? ch->data : NULL;
}

/** The argument of the function that the program gave: of the channel's, or of its set's. */
const void *direct_data_of(const struct direct_channel_hot *hot);

/** End the job if the channel is one of a set whose round has begun: others of it are still to
 * come. */
void direct_set_check_ready(struct pe *pe, const char *call, const struct direct_channel_hot *hot);

#endif
