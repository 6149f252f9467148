/* SPDX-License-Identifier: Apache-2.0 */
/* layers.h: start and stop of the layers of a node. */
#ifndef CSD_LAYERS_H
#define CSD_LAYERS_H

#include "pe.h"

void layers_ask(struct node *node);           /* first of all */
int layers_node_start(struct node *node);     /* 0, or a negative errno after printing why */
void layers_know_job(struct node *node);
void layers_pe_start(struct pe *pe);
void layers_loop_ended(struct pe *pe);
void layers_pe_stop(struct pe *pe);
void layers_node_stop(struct node *node);

#endif
