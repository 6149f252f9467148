/* SPDX-License-Identifier: Apache-2.0 */
/*
 * along.h: the room wait/along/: what waits at an element that moves goes along.
 *
 *	along.c      calls and bodies, within a process
 *	sdag_pack.c  bodies of Structured Dagger and counted calls as bytes, for another process
 */
#ifndef CK_ALONG_H
#define CK_ALONG_H

#include "../wait.h"

struct sdag;
struct rounds;

/** The calls that wait at an element without threads, while it moves. */
struct obj_calls {
	struct msg_fifo when;     /* ours, as in struct ck_extra */
	struct sdag *sdag;        /* ours: within a process */
	struct rounds *rounds;    /* the same */
	void *image;              /* ours, malloc: the same as bytes, for another process (sdag_pack) */
	size_t image_bytes;
};
void obj_calls_init(struct obj_calls *k);
/** Before obj_calls_leave, for an element that leaves its process: convert its bodies to bytes. */
void obj_calls_pack(struct pe *pe, struct ck_obj *obj, struct obj_calls *k);
/** The element leaves: take them, and end its record. */
void obj_calls_leave(struct pe *pe, struct ck_obj *obj, struct obj_calls *k);
/** It is in this PE's tables: give them back. */
void obj_calls_arrive(struct pe *pe, struct ck_obj *obj, struct obj_calls *k);
/** At the end of the job. The messages lie in the PEs' memory, which is freed as a whole. */
void obj_calls_free(struct obj_calls *k);

/* sdag_pack.c */
/** The bytes of the element's bodies that wait, with the calls that they have taken, of the calls
 * that are kept for them, and of its rounds; 0: there are none. Between handlers of the element,
 * and only if none of them has a thread. Afterwards calls are in the form that leaves a node, and
 * no body can continue: sdag_pack and obj_forget must follow. Aborts by name if a body waits with a
 * pointer that is meaningless elsewhere. */
size_t sdag_size(struct pe *pe, struct ck_obj *obj);
/** Write them to `to`, which has space for the size from sdag_size. */
void sdag_pack(struct pe *pe, struct ck_obj *obj, void *to);
/** Make them anew in an element of the same type without bodies: they wait as before. `from` is
 * aligned to 16 bytes. Aborts if the bytes are not those of an image. */
void sdag_unpack(struct pe *pe, struct ck_obj *obj, const void *from, size_t n);

#endif
