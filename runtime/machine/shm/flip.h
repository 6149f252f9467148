/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flip.h: the calls by which the damage tests change a byte that another process has sent, before
 * it is read. Only objects built for these tests (-DCHARD_TEST_FLIP) call these functions, which
 * are in tests/damage/flip.c; elsewhere the calls compile to nothing.
 */
#ifndef FLIP_H
#define FLIP_H

#include <stddef.h>
#include <stdint.h>

struct ring_slot;

#ifdef CHARD_TEST_FLIP
/** A message, or messages and puts that came together. */
void flip_arrived(void *image, size_t bytes);
/** The header of a put that came alone. */
void flip_put(void *header, size_t bytes);
/** A slot of a ring: its tag except for the lap, and its contents. */
void flip_slot(uint64_t *tag_p, const struct ring_slot *slot);
#else
static inline void flip_arrived(void *image, size_t bytes) { (void)image; (void)bytes; }
static inline void flip_put(void *header, size_t bytes) { (void)header; (void)bytes; }
static inline void flip_slot(uint64_t *tag_p, const struct ring_slot *slot)
{
	(void)tag_p;
	(void)slot;
}
#endif

#endif
