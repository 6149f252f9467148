/* SPDX-License-Identifier: Apache-2.0 */
/* restart.h: the job whose saved state this job continues. */
#ifndef CK_RESTART_H
#define CK_RESTART_H

/** As the image says; constant once the loops run. All zero: this job continues none. */
struct ck_restart {
	int n_pes, n_nodes;       /* of the job that wrote the image */
	int most_pes;             /* the most that it and those before it ever had: ids name their creators
				   * below this */
};

#include <stdbool.h>

struct node;
struct pe;

/** What begins the program in place of the main chares' constructors, if the user wants that. */
struct ck_restarter {
	/** Find the images, and set restart of the node, before any PE starts; the job is known. */
	void (*open)(struct node *node);
	/** Whether the user wants it; after `open`. */
	bool (*wanted)(const struct node *node);
	/** PE 0: set the readonly variables. */
	void (*read_readonly)(struct pe *pe);
	/** Every PE, when it has the readonly variables: make everything else. */
	void (*read_all)(struct pe *pe);
};

#endif
