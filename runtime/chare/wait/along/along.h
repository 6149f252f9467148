/* SPDX-License-Identifier: Apache-2.0 */
/*
 * along.h: the room wait/along/: what waits at an element that moves goes along; and what waits at
 * an object is saved in checkpoints.
 *
 *	along.c      calls and bodies, within a process
 *	calls.c      calls as bytes
 *	saved.c      calls and bodies in a checkpoint; the object keeps them
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

/* calls.c */
/** Whether `bytes` bytes at `at`, and what pads them to 16, end at `end` or before. */
static inline bool lies_within(const char *at, const char *end, uint64_t bytes)
{
	return bytes <= (size_t)(end - at) && CkGen_align(bytes) <= (size_t)(end - at);
}
/** Convert a call to the form that may leave the process; dst_pe -1: for no PE in particular. Other
 * messages stay as they are. Takes the message, and returns it or another. */
struct cmi_msg *call_leaves(struct pe *pe, int dst_pe, struct cmi_msg *m);
/** The same for all. Adds their number to *n_p; returns the bytes that they take. */
size_t calls_leave(struct pe *pe, int dst_pe, struct msg_fifo *f, uint32_t *n_p);
/** Write one such message, or all, and return where the bytes end. calls_pack frees them. */
char *call_put(const struct cmi_msg *m, char *at);
char *calls_pack(struct pe *pe, struct msg_fifo *f, char *at);
/** Make the message at *at_p anew, and set *at_p to what follows. The caller checks what it is. */
struct cmi_msg *call_unpack(struct pe *pe, const char **at_p);
/** Whether n of them lie between `at` and `end`, and nothing else: NULL, or the error. */
const char *calls_misfit(const char *at, const char *end, uint64_t n);

/* saved.c */
/** Write what waits at an object, which keeps it. Returns the bytes, a multiple of 16; 0: nothing
 * waits. to NULL: only measure. Not if sdag_refuse or wait/ refuses something of it. */
size_t obj_calls_copy(struct pe *pe, struct ck_obj *obj, void *to);
/** A restart: make it anew, from bytes that are aligned to 16. The object is in its tables. Returns
 * NULL, or what is wrong with the bytes. */
const char *obj_calls_remake(struct pe *pe, struct ck_obj *obj, const void *from, size_t n);

/* sdag_pack.c */
/** Convert a call of the object to the form that may leave the process, whatever the object's kind.
 * Takes the message, and returns it or another. NULL stays NULL. */
struct ck_env *call_for_others(struct pe *pe, const struct ck_obj *obj, struct ck_env *env);
/** Describe the bodies of an object that cannot be packed, one record each. */
void sdag_refuse(struct pe *pe, struct ck_obj *obj, struct csd_told *to);
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
