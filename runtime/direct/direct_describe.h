/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct_describe.h: say what the channels of a PE wait for. A put that nobody can see is lost, such as
 * one that came before the receiver's ready; all that is left of it is a receiver that waits for put n
 * and a sender that has made it. These lines show both.
 */
#ifndef DIRECT_DESCRIBE_H
#define DIRECT_DESCRIBE_H

#include "../scheduler/pe.h"

/** One line for each receiving end and for each sending end of this PE. */
void direct_describe(struct pe *pe, void (*line)(void *arg, const char *text), void *arg);

#endif
