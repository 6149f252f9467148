/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct_control.h: the few messages between the two ends of a channel, all beside the data path.
 *
 *   BELL   sender -> receiver   where the sender's bell is. Once, and when it grows.
 *   BOUND  sender -> receiver   who has bound the channel, and how its puts come: to name the
 *                               sender in errors, and to catch a second one. Once, on the paths on
 *                               which the control line is not mapped.
 *   ASK    sender -> receiver   checked mode on the rma path: may put number i be written?
 *   GO     receiver -> sender   it may. (If it may not, the job has ended.)
 *
 * This file only sends them. direct_layer.c passes each arrival to the right file, so these files
 * need not know each other. Quiescence does not count the messages: the put that ASK and GO belong
 * to is counted itself.
 */
#ifndef DIRECT_CONTROL_H
#define DIRECT_CONTROL_H

#include <stdint.h>

#include "../../scheduler/pe.h"
#include "../../scheduler/base/bell.h"

enum direct_control { DIRECT_BELL, DIRECT_BOUND, DIRECT_ASK, DIRECT_GO };

struct direct_control_msg {
	struct cmi_msg head;
	uint32_t kind;     /* enum direct_control; the same offset in all of them */
	uint32_t path;     /* enum direct_path */
	uint32_t channel, generation;
	uint32_t sender_generation;
	uint64_t iteration;
	uint64_t sender;   /* struct direct_sender *, valid on the PE that sent it */
};

struct direct_bell_msg {
	struct cmi_msg head;
	uint32_t kind;
	uint32_t n_slots;
	uint64_t addr;
	struct cmi_key key;
};

/** BOUND, ASK, GO: send a copy of the data after the head of `content`. */
void direct_send_control(struct pe *pe, int dst_pe, const struct direct_control_msg *content);

/** BELL: tell PE `receiver` where our bell is. It overtakes queued messages, because a put may have
 * rung already. */
void direct_send_bell(struct pe *pe, int receiver, struct bell *bell, uint32_t n_slots);

#endif
