/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.h: what the nodes tell each other before there is a network. Main thread only. */
#ifndef EXCHANGE_H
#define EXCHANGE_H

#include <stdint.h>

struct cmi;

/** First meeting: learn who is there and on which host; fills m->job. */
int exchange_hosts(struct cmi *m);
/** Second meeting: compare fingerprints, swap wire addresses; fills m->addresses. */
int exchange_wires(struct cmi *m, uint64_t fingerprint);
/** Free what both have filled. */
void exchange_free(struct cmi *m);

#endif
