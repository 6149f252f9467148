/* SPDX-License-Identifier: Apache-2.0 */
/* pup_lists.own.h: the structs of pup_lists.ci. */
typedef double vec3[3];
struct Block {
	struct point box;
	int iter, iters;
	double grid[2][3], edge[4];
	enum colour colour;
	unsigned char flag;
	double *field;
	const double *fixed;
	struct point *points;
	vec *parts, *one;
	vec v, vs[2];
	char *name;
	const char *title;
	char *text;
	M *kept;
	CkReductionMsg *result;
	P *packed;
	CkCallback done, more[2];
	CkCallback *each;
	CProxy_Block all;
	CProxyElement_Block next;
	double *shared;
	double *edges;
	struct point lone;
	vec3 x;
	int n;
	int u;
	int w[2];
	void (*fn)(void);
};
struct P { int n; };
