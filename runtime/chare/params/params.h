/* SPDX-License-Identifier: Apache-2.0 */
/*
 * params.h: the room params/: parameters other than plain bytes.
 *
 * Owns     the owner of a user's message (owner.c, checked mode), its packed form (pack.c), nocopy
 *          arrays (ncpy.c), what pup functions pack: objects (pup.c, pup_object.c, pup_field.c) and
 *          elements (pup_element.c; pup_check.c in checked mode); priorities and other options
 *          (options.c).
 * Called   by the rooms above, on the PE that sends or runs the call.
 * Calls    core/.
 */
#ifndef CK_PARAMS_H
#define CK_PARAMS_H

#include "../core/core.h"

enum { PART_OWNER = 2 };
extern const struct ck_part owner_part;

/* ---- owner.c: who owns a user's message, in checked mode ------------------------------------- */

void owner_check_send(struct pe *pe, const CkGenChare *chare, int entry, struct ck_env *env);
void owner_check_use(struct pe *pe, struct ck_env *env, const char *who);
void owner_check_free(struct pe *pe, struct ck_env *env);
/** Free a message in checked mode: its memory is quarantined before it is reused. */
void owner_free(struct pe *pe, struct ck_env *env);
/** Free the memory of an element that has left its process: it is quarantined, too. Takes obj. */
void owner_free_element(struct pe *pe, struct ck_obj *obj);
/** A program sends the message: `how` says by what. Takes it, and returns the copy that goes on in
 * its place. */
struct ck_env *owner_give(struct pe *pe, struct ck_env *env, const char *how);
/** The same by a call of an entry that takes a message; one that its program packs goes on
 * itself. */
struct ck_env *owner_give_call(struct pe *pe, const CkGenChare *chare, int entry,
			       struct ck_env *env);
/** The copy that leaves for another node instead of `env`. Takes `env`. */
struct ck_env *owner_leave(struct pe *pe, struct ck_env *env);

/** Note that a `when` has the message while other code runs. *holder points to the message; it
 * becomes NULL when the program gives the message away or frees it. */
static inline void owner_lend(struct ck_env *env, void **holder)
{
	env->head.mark = OWNER_WHEN;
	env->holder = holder;
}
static inline void owner_let_go(struct ck_env *env)
{
	if (CSD_LIKELY(env->head.mark != OWNER_WHEN))
		return;
	*env->holder = NULL;
	env->head.mark = OWNER_PROGRAM;
}

/* ---- pack.c: messages that the program packs itself ------------------------------------------ */

struct ck_env *message_pack(struct pe *pe, const CkGenMessage *type, struct ck_env *env);
struct ck_env *message_unpack(struct pe *pe, const CkGenMessage *type, struct ck_env *env);
/** Convert a call to the form that may leave the node, for one PE. Takes the message. */
struct ck_env *env_for_pe(struct pe *pe, int dst_pe, const CkGenEntry *e, struct ck_env *env);
/** The same for several PEs, or for a PE that is not known yet. */
struct ck_env *env_for_others(struct pe *pe, const CkGenEntry *e, struct ck_env *env);
/** The scheduler calls this when a message with CMI_F_HERE is about to leave the node. */
struct cmi_msg *ck_leaving(struct pe *pe, int dst_pe, struct cmi_msg *m);

/* ---- ncpy.c: nocopy arrays ------------------------------------------------------------------- */

struct ck_env *ncpy_leave(struct pe *pe, int dst_pe, const CkGenEntry *e, struct ck_env *env);
/** Before the handler: set the pointers to arrays that were lent to this process. */
void ncpy_arrived(struct pe *pe, const CkGenEntry *e, struct ck_env *env);
static inline CkGenNcpy *ncpy_at(struct ck_env *env, uint32_t offset)
{
	return (CkGenNcpy *)(void *)((char *)payload_of(env) + offset);
}
/** Copy the first `bytes` bytes of an array, which has arrived, to the receiver's buffer, and tell
 * the caller. */
void ncpy_copy_out(struct pe *pe, struct ck_env *env, CkGenNcpy *d, void *to, size_t bytes);
/** After the handler: tell the caller that it may reuse its memory. */
void ncpy_done(struct pe *pe, const CkGenEntry *e, struct ck_env *env);

/* ---- pup_object.c ---------------------------------------------------------------------------- */

/** Free the objects that were unpacked for the running handler: all, or those made after
 * `until`. */
void pup_forget(struct pe *pe);
void pup_forget_until(struct pe *pe, struct pup_block *until);

/* ---- pup.c, for pup functions of other rooms ------------------------------------------------- */

/** The element being packed; NULL: another object. */
struct ck_obj *pup_element(pup_er p);
/** End the job because of an error in a pup function; the line begins with the object's name. */
_Noreturn void pup_fault(const struct CkPupEr *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), cold));

/** Whether the elements of this type can be packed: `pup X;`. */
static inline bool element_has_pup(const CkGenChare *type) { return type->pup != NULL; }
/* ---- options.c ------------------------------------------------------------------------------- */

/** Apply the entry's attributes and the caller's options to the message. Takes the message. `flags`
 * are those of the message's previous send. */
struct ck_env *options_apply(struct pe *pe, const CkGenChare *chare, int entry, struct ck_env *env,
			     uint8_t flags, const CkEntryOptions *o);

#endif
