/* SPDX-License-Identifier: Apache-2.0 */
/* flat.h: a struct that is a message; `message Body;` in flat.ci says so. */
#ifndef FLAT_H
#define FLAT_H

struct Body {
	char name[3];
	double x[3];
	struct { int laps : 8, hops : 24; } count;
	union { float f; unsigned u; } tag;
};

#endif
