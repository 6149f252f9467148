/* SPDX-License-Identifier: Apache-2.0 */
/*
 * register.h: the program's tables by number and by name.
 */
#ifndef CK_REGISTER_H
#define CK_REGISTER_H

#include "objects/state.h"

/** Called on the main thread, before any PE runs. Returns 0, or a negative errno after printing
 * why. */
int register_program(struct node *node);
void unregister_program(struct node *node);

int chare_number(const struct ck_node *ck, const CkGenChare *type);
/** The chare that a message from src_pe creates. A number that is no chare of this kind aborts. */
const CkGenChare *chare_by_number(struct pe *pe, int number, CkGenKind kind, int src_pe);
/** The map with this number on the wire. Number 0 is the block map: NULL. */
CkMapFn map_by_number(const struct ck_node *ck, int number);
/** The number of a map; -1: no map has this name. */
int map_by_name(const struct ck_node *ck, const char *name);

#endif
