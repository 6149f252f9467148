/* SPDX-License-Identifier: Apache-2.0 */
/* keeper_choose.h: from which checkpoint a job goes on, as its keepers report what they have. */
#ifndef KEEPER_CHOOSE_H
#define KEEPER_CHOOSE_H

#include "keeper_words.h"

/** What a keeper has. */
struct keeper_report {
	bool answers;            /* else nothing else counts */
	uint64_t heard_ns;       /* our clock when it said so */
	struct keeper_state state;
	struct keeper_image *images; /* state.n_images */
};

/** Times are of our clock. */
struct keeper_choice {
	struct keeper_info from; /* sequence 0: none */
	struct keeper_place *places; /* [from.info.n_nodes]; owned */
	struct keeper_since since;
	uint64_t newest;         /* that any of them knows to have been complete; 0: none */
	uint32_t missing;        /* the first node whose image of that is nowhere */
};

/** The newest checkpoint of which all images are there. False: there is none, or no memory. */
bool keeper_choose(struct keeper_choice *c, const struct keeper_report *r, uint32_t n);
void keeper_choice_fini(struct keeper_choice *c);

#endif
