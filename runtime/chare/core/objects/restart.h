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

#endif
