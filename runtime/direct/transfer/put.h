/* SPDX-License-Identifier: Apache-2.0 */
/*
 * put.h: puts, besides CkDirect_put and CkDirect_putData.
 */
#ifndef DIRECT_PUT_H
#define DIRECT_PUT_H

#include "../ends/sender.h"

/** GO has come: the put that was asked for may be written, if it is still under way. */
void direct_go_arrived(const struct direct_control_msg *c);

/** An end with a name is joined: make the put that has waited. Takes its data. */
void direct_put_held(struct pe *pe, const struct direct_handle *h, void *held);

#endif
