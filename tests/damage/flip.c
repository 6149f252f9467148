/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flip.c: damage for tests/damage/sweep.py. CK_FLIP=RANK,N,AT,MASK changes one byte in the N-th thing that
 * arrives from another process at the node RANK: the byte number AT, modulo what there is, by exclusive or with
 * MASK. CK_FLIP=RANK,N,AT,MASK,put counts the headers of puts alone, and ...,ref messages that are too long for a ring's
 * slot, which has a reference to them: what else arrives between them is a matter of time. It tells stderr what it did.
 */
#define CHARD_TEST_FLIP
#include "../../runtime/machine/shm/flip.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node.h"
#include "pe.h"
#include "../../runtime/machine/base/ring.h"

enum { TAG_BYTES = RING_LAP_SHIFT / 8 };

static struct { int rank, n, at, mask; char kind[4]; } asked;
static atomic_int n_arrived;

static __attribute__((constructor)) void read_wish(void)
{
	const char *flip = getenv("CK_FLIP"), *rank = getenv("PMI_RANK");

	if (!flip || !rank)
		return;
	if (sscanf(flip, "%d,%d,%d,%d,%3s", &asked.rank, &asked.n, &asked.at, &asked.mask, asked.kind) < 4 ||
	    atoi(rank) != asked.rank)
		asked.n = 0;
}

/* `kind`: of what has come; NULL: of none that can be counted alone. */
static bool is_turn(const char *kind)
{
	/* Relaxed: it only counts. */
	return asked.n && (!*asked.kind || (kind && !strcmp(kind, asked.kind))) &&
	       atomic_fetch_add_explicit(&n_arrived, 1, memory_order_relaxed) + 1 == asked.n;
}

/* Handlers have their names once the node's tables are complete; offers and puts have none. */
static const char *name_of(unsigned handler)
{
	const struct pe *pe = csd_self();

	return pe && handler < (unsigned)pe->node->n_handlers ? pe->node->handlers[handler].name : "machine";
}

static void tell(const char *what, unsigned handler, size_t at, size_t bytes)
{
	char line[128];
	int n = snprintf(line, sizeof line, "flip: %s %s: byte %zu of %zu\n", what, name_of(handler), at, bytes);

	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		_exit(99);
}

void flip_arrived(void *image, size_t bytes)
{
	unsigned char *p = image;
	uint16_t handler = UINT16_MAX;

	if (!bytes || !is_turn(bytes > sizeof(struct cmi_msg) + RING_BODY_MOST ? "ref" : NULL))
		return;
	if (bytes >= sizeof(struct cmi_msg))
		memcpy(&handler, p + offsetof(struct cmi_msg, handler), sizeof handler);
	p[(size_t)asked.at % bytes] ^= (unsigned char)asked.mask;
	tell("message", handler, (size_t)asked.at % bytes, bytes);
}

void flip_put(void *header, size_t bytes)
{
	size_t at = (size_t)asked.at % bytes;

	if (!is_turn("put"))
		return;
	((unsigned char *)header)[at] ^= (unsigned char)asked.mask;
	tell("put", UINT16_MAX, at, bytes);
}

/* The tag without its lap, then what lies behind the tag. What is told counts the word that a short
 * body lacks. */
void flip_slot(uint64_t *tag_p, const struct ring_slot *slot)
{
	const size_t head = TAG_BYTES + RING_HEAD_BYTES - sizeof(uint64_t);
	const size_t lacks = ring_lacks(*tag_p);
	size_t said = ring_size(*tag_p), body = said ? said - 32 - lacks : sizeof(uint64_t);
	size_t bytes = head + body, at;

	unsigned handler = ring_handler(*tag_p);

	if (!is_turn(NULL))
		return;
	at = (size_t)asked.at % bytes;
	if (at < TAG_BYTES)
		*tag_p ^= (uint64_t)asked.mask << 8 * at;
	else
		((unsigned char *)(uintptr_t)slot)[sizeof(uint64_t) + at - TAG_BYTES] ^=
			(unsigned char)asked.mask;
	tell(said ? "slot" : "reference", handler, at < head + CMI_USUAL_AT ? at : at + lacks,
	     bytes + lacks);
}
