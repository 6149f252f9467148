/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core.h: the room core/, the lowest of the chare layer.
 *
 * Owns     the envelope of messages; the tables of the program, of collections and of parts; the
 *          names in error lines; callbacks as values; output.
 * Called   by all rooms, on the PE that the data belongs to. The program's tables and the parts'
 *          are constant while the loops run, so any thread may read them.
 * Calls    no other room, except through the tables of the parts (part.h).
 *
 *	part.h        the table that each part has
 *	state.h       the layer on a node and on a PE; the parts' own state
 *	env.h         the head of a message, with a view for each kind of message
 *	message.h     making messages, copying them, passing them down a tree, freeing them
 *	collection.h  finding collections and elements by id and by place
 *	index.h       indices: what they are, where they belong, tables by index
 *	callback.h    callbacks as values and messages; firing them; built_in.c has the runtime's
 *	              messages
 *	data.h        the types of values that callbacks bring
 *	register.h    the program's tables by number and by name
 *	elemmap.h     the table of elements that have moved
 *	idmap.h       the hash table      slots.h  records by number      wave.h  sums over all PEs
 *	print.h       CkPrintf
 *	describe.h    names of elements and threads in reports, and what waits
 */
#ifndef CK_CORE_H
#define CK_CORE_H

#include "callback.h"
#include "objects/collection.h"
#include "tables/data.h"
#include "describe.h"
#include "tables/elemmap.h"
#include "objects/env.h"
#include "tables/idmap.h"
#include "objects/index.h"
#include "message.h"
#include "objects/part.h"
#include "print.h"
#include "register.h"
#include "tables/slots.h"
#include "objects/state.h"
#include "tables/wave.h"

#endif
