/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embed.h: what a host program sees of the chares. Plain C, without generated code, so that C++ and Python
 * (ctypes) can use it, too.
 */
#ifndef EMBED_H
#define EMBED_H

#include "ckembed.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** For CkInit. Printed by ckci. */
extern const struct CkGenModule ck_module_embed;

/** Ask how many primes there are in first .. last - 1. Each process of the job asks once, for numbers of its own; all
 * of them get the sum. Between CkInit and CkFinalize, on the thread that called CkInit. */
void embed_ask(long first, long last);

/** Not 0 when the answer is there; embed_ask makes it 0. For CkRunUntil. */
extern volatile int embed_done;
extern volatile long embed_answer;

/** The same count, by one thread; for checking. */
long embed_count(long first, long last);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
