/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe.h: the room observe/: observers are told when entry methods begin and end.
 *
 * Owns     a second table of each type's entries: its functions tell the observers, and call the
 *          function in the type's own table. A collection with this table is observed, no matter
 *          who calls its entries.
 * Called   by observers: while the node starts (observe_join), and on a PE before elements of the
 *          collection are constructed or arrive there (observe_coll).
 * Calls    wait/, core/.
 *
 * Without observers no collection has such a table, and the room costs nothing.
 */
#ifndef CK_OBSERVE_H
#define CK_OBSERVE_H

#include "../wait/wait.h"

enum { PART_OBSERVE = 25 };
extern const struct ck_part observe_part;

enum { OBSERVERS = 4 };           /* of one entry, at most */

/** What an observer stores from a begin to its end. */
union observe_own {
	int number;
	uint64_t *clock;
	struct count_run run;
};

/** An observer's numbers for a type: of its first entry, which the others follow, and for its
 * elements. */
struct observe_numbers { int entries, elements; };

struct observer {
	uint32_t except;          /* CKGEN_*: entries with any of these flags are not observed */
	/** Called once for each type, in order, when the program is known. NULL: needs no numbers. */
	struct observe_numbers (*type)(struct node *node, const CkGenChare *type);
	/** The entry with this number begins or ends; `now` describes the running call. [when] entries of
	 * bodies run no handler and are not told. A body may wait in between, but stays on its PE: one
	 * that moves begins again on its new PE, and does not end on the old one; so does one that a
	 * checkpoint has taken apart to read it (wait/along/saved.c). */
	void (*begin)(struct pe *pe, union observe_own *own, int number, const struct ck_running *now);
	void (*end)(struct pe *pe, union observe_own *own);
};

/** Add an observer, while the node starts. The caller keeps *o and does not change it. Higher parts
 * are told of a begin first, and of an end last. */
void observe_join(struct node *node, int part, const struct observer *o);
/** Make the tables when the program is known. Returns 0. */
int observe_program(struct node *node);

/** Observe the collection from now on. A part that observes all collections calls this in its
 * watches `constructed` and `created`. */
void observe_coll(struct pe *pe, struct collection *c);
/** Stop observing it, if the caller is the only observer. */
void observe_coll_not(struct pe *pe, struct collection *c);
/** A part's number for the elements of an observed collection. */
int observe_elements(const struct collection *c, int part);

#endif
