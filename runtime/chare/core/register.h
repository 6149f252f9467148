/* SPDX-License-Identifier: Apache-2.0 */
/*
 * register.h: the program's tables by number and by name.
 */
#ifndef CK_REGISTER_H
#define CK_REGISTER_H

#include "state.h"

/** Main thread, before any PE runs. 0, or a negative errno after printing why. */
int register_program(struct node *node);
void unregister_program(struct node *node);

int chare_number(const struct ck_node *ck, const CkGenChare *type);
/** What a message from src_pe creates. */
const CkGenChare *chare_by_number(struct pe *pe, int number, CkGenKind kind, int src_pe);
/** NULL: the block map, number 0. */
CkMapFn map_by_number(const struct ck_node *ck, int number);
/** -1: there is none. */
int map_by_name(const struct ck_node *ck, const char *name);

#endif
