/* SPDX-License-Identifier: Apache-2.0 */
/* word.h: what parts of a graph tell each other about a vertex. */
#ifndef SCC_WORD_H
#define SCC_WORD_H

struct word {
	long vertex;
	long value;             /* the tail of an edge, a color, or which edge is gone */
};

#endif
