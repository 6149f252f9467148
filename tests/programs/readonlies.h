/* SPDX-License-Identifier: Apache-2.0 */
/* readonlies.h: a struct for readonlies.ci. */
#ifndef READONLIES_H
#define READONLIES_H

struct settings {
	char name[20];
	double weight[3];
	long big;
};

#endif
