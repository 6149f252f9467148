/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe.h: the room observe/: observers are told when entry methods begin and end.
 *
 * Owns     a second table of each type's entries, in which functions of this room tell the
 *          observers and then call what the type's own table has. A collection that has this table
 *          is observed, from wherever its entries are called.
 * Called   by observers: while the node starts (observe_join), and before elements are constructed
 *          or come (observe_coll), on the PE of the collection.
 * Calls    wait/, core/.
 *
 * Without observers no collection has such a table, and the room costs nothing.
 */
#ifndef CK_OBSERVE_H
#define CK_OBSERVE_H

#include "../wait/wait.h"

enum { PART_OBSERVE = 24 };
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
	uint32_t except;          /* CKGEN_*: entries that have one of these do not concern it */
	/** When the program is known, once for each type, in their order. NULL: it needs no numbers. */
	struct observe_numbers (*type)(struct node *node, const CkGenChare *type);
	/** An entry with this number begins: `now` is what runs. Not those that run no handler, which are
	 * [when] entries of bodies. A body may wait between begin and end; its PE is the same, since a
	 * body that moves begins again, and has no end where it was. */
	void (*begin)(struct pe *pe, union observe_own *own, int number, const struct ck_running *now);
	void (*end)(struct pe *pe, union observe_own *own);
};

/** While the node starts: a part observes. The caller keeps *o and does not change it. Higher parts
 * are told of a begin first, and of an end last. */
void observe_join(struct node *node, int part, const struct observer *o);
/** When the program is known: make the tables. 0. */
int observe_program(struct node *node);

/** Observe the collection from now on. A part that observes all collections calls this in its
 * watches `constructed` and `created`. */
void observe_coll(struct pe *pe, struct collection *c);
/** Stop, if the caller is the only observer. */
void observe_coll_not(struct pe *pe, struct collection *c);
/** A part's number for the elements of a collection that is observed. */
int observe_elements(const struct collection *c, int part);

#endif
