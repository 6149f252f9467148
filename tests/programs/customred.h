/* SPDX-License-Identifier: Apache-2.0 */
/* customred.h: what the program reduces. */
#ifndef CUSTOMRED_H
#define CUSTOMRED_H

/* A value and where it is. */
struct located {
	double value;
	long where;
};

#endif
