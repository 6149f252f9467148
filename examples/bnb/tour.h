/* SPDX-License-Identifier: Apache-2.0 */
/* tour.h: round trips through some cities: how long one is, and how short one can be. */
#ifndef BNB_TOUR_H
#define BNB_TOUR_H

#include <stdint.h>

enum { TOUR_MAX = 16 };         /* cities */

/** The first n cities of a round trip that begins in city 0. */
struct tour {
	int n;
	int length;             /* of the n - 1 roads; when n is all, with the road back */
	uint8_t city[TOUR_MAX];
};

/** From a to b; `road` is symmetric. */
static inline int tour_road(const int *road, int a, int b)
{
	return road[a * TOUR_MAX + b];
}

/** `cities` places in a plane, and the roads between them. */
void tour_make_roads(int *road, long cities, long seed);

/** One city more; the last one closes the trip. */
struct tour tour_extend(const struct tour *t, const int *road, int cities, int next);

/** Bit c: the tour has been in city c. */
unsigned tour_visited(const struct tour *t);

/** No trip that begins like t can be shorter than this; exact when t is complete. */
int tour_bound(const struct tour *t, const int *road, int cities);

/** The length of a trip that is given city by city; -1 if it is not one through all. */
int tour_length(const struct tour *t, const int *road, int cities);

/** The length of the shortest trip, without a search: cities^2 2^cities steps. */
int tour_shortest(const int *road, int cities);

#endif
