/* SPDX-License-Identifier: Apache-2.0 */
/*
 * single.h: the tables of singleton chares on a PE, for single.c, and for single_save.c, which
 * writes them to checkpoints.
 *
 * A restart with fewer PEs folds names. In a job of n PEs the chare that PE q had lives on PE q
 * modulo n, and its name still says q. PEs with the same remainder have named their chares
 * independently. So a table's key has q / n, too, in bits that no number of a name reaches:
 *
 *	name   | creator (20) | number (44)             |
 *	key    | creator (20) | q / n (8) | number (36) |    the same for q < n
 *
 * No PE q makes chares any more, so one that is missing was destroyed. A restart with more PEs
 * unfolds them again, because images have names.
 */
#ifndef CK_SINGLE_H
#define CK_SINGLE_H

#include <string.h>

#include "kinds.h"

enum { CK_FOLD_BITS = 8, CK_FOLD_AT = CK_NAME_BITS - CK_FOLD_BITS };

/** The creations of one creator: 1 .. upto have arrived, and of the later ones those whose bit is
 * set. Without priorities creations come in order, and there are no bits. */
struct born {
	uint64_t upto;
	uint64_t *bits;           /* a ring of n_bits, for the numbers from upto + 1 on */
	uint64_t n_bits;
};

/** So many chares one PE has made on another. */
struct single_row {
	uint64_t pe, n;
};

/** Rows of a PE's tables for which this job has no PE: for the next checkpoint. */
struct single_past {
	struct single_past *next;
	uint32_t pe;              /* whose tables */
	uint32_t n_made, n_born;  /* rows: on PE row.pe; by PE row.pe */
	struct single_row rows[];
};

/** On a PE. */
struct single {
	/* By key: the chare, or a struct early if the lowest bit is set. */
	struct idmap names;
	struct collection **types; /* [n_chares]: the collection that all chares of a type point to */
	uint64_t *n_made;          /* [n_pes]: chares that this PE has made on each PE */
	struct born *born;         /* [n_pes] */
	struct single_past *past;  /* ours */
};

/** This PE's; made if there are none. */
struct single *single_of(struct pe *pe);

static inline bool slot_is_early(const struct idmap_slot *at)
{
	return at->value & 1;
}
static inline struct ck_obj *chare_in(const struct idmap_slot *at)
{
	return (struct ck_obj *)at->value;
}

/* A chare's index has its name, and q / n. */
static inline uint64_t single_id(const struct ck_obj *obj)
{
	uint64_t id;

	memcpy(&id, &obj->index, sizeof id);
	return id;
}
static inline int single_fold(const struct ck_obj *obj) { return obj->index.v[2]; }
static inline uint64_t single_key(uint64_t id, int fold)
{
	return id | (uint64_t)fold << CK_FOLD_AT;
}
/** The PE that its name says. */
static inline int single_pe(const struct pe *pe, const struct ck_obj *obj)
{
	return pe->id + pe->node->job->n_pes * single_fold(obj);
}

/** Memory of a chare of this type, which is in no table. */
struct ck_obj *single_new(struct pe *pe, const CkGenChare *type, uint64_t id, int fold);

/** Describe calls of chares whose creation has not come. */
void single_describe(struct pe *pe, struct csd_told *to);

/* single_save.c: functions of the part's tables */
extern const struct ck_saving single_saving;
void made_write(struct pe *pe, struct image_out *out);
bool made_is_mine(struct pe *pe, const struct image_name *name);
const char *made_read(struct pe *pe, const struct image_name *name, const void *bytes, size_t n);

#endif
