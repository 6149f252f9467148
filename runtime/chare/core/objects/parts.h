/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h: starts and stops all parts, for layer.c, which has the list. */
#ifndef CK_PARTS_H
#define CK_PARTS_H

#include "state.h"

/** Parts start in the order of the list, and stop in reverse. */
int parts_node_start(struct node *node, const struct ck_part *const list[], int n);
void parts_node_stop(struct node *node);
void parts_pe_start(struct pe *pe);
void parts_forked(struct pe *pe);
/** As csd_layer.obey: the first part that knows the word. */
bool parts_obey(struct pe *pe, const struct csd_order *o);
/** As csd_layer.let_go: the first part that has something to give up. */
bool parts_let_go(struct pe *pe);
/** First all stop, then all free. */
void parts_pe_stop(struct pe *pe);

#endif
