/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steer.h: a job is seen and steered from outside, through a socket of node 0: CK_CONTROL=PATH, or
 * ckrun's. docs/man/ckctl.1 has the words and the forms of their answers.
 *
 * A thread of node 0 serves the socket. It is a thread because a PE may compute for as long as it
 * likes; it sleeps in poll while nobody asks.
 *
 *   steer.c        the layer: start, end, PE 0's part
 *   steer_net.c    the thread: clients, and when it looks at the job
 *   steer_call.c   ckrun on another host, which node 0 calls
 *   steer_words.c  the words
 *   steer_look.c   two looks at all dials of the job (cmi_dial.h), and what happened in between
 *   steer_text.c   that as text: `status` and `metrics`
 *
 * What the thread reads of the job is in memory that PEs write for others. What changes the job is
 * an order (csd_order): PE 0 gets a message, asks the layers, and one of them answers, now or
 * later.
 */
#ifndef CSD_STEER_H
#define CSD_STEER_H

struct csd_layer;
extern const struct csd_layer steer_layer;

#endif
