/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boot.h: how a node meets the others before it has a network: rank, size, an exchange of
 * small blobs with a fence, abort and finish. One interface; wire clients behind it, chosen
 * from the environment by boot_init: PMI-1 text over PMI_FD (ckrun, MPICH's hydra,
 * srun --mpi=pmi2), or alone. Main thread only, except boot_abort (any thread).
 */
#ifndef BOOT_H
#define BOOT_H

#include <stdbool.h>
#include <stddef.h>

struct boot;

/** Join the job that the environment names. PMI_FD that is a live socket with PMI_RANK:
 * PMI-1. No launcher's variables: alone (rank 0 of 1). A launcher's variables without a
 * service that answers is an error, never a silent singleton. 0 or a negative errno, the
 * reason printed once. */
int boot_init(struct boot **b_p) __attribute__((warn_unused_result));

int boot_rank(const struct boot *b);
int boot_size(const struct boot *b);
/** Whether no launcher is there: this process is the whole job. */
bool boot_alone(const struct boot *b);

/** Publish bytes under `key` (<= 32 characters, made unique per rank by the callee). */
int boot_put(struct boot *b, const char *key, const void *value, size_t len)
	__attribute__((warn_unused_result));

/** Wait for all ranks; what they put before is visible after. -ETIMEDOUT after timeout_ms
 * (< 0: none): a rank that died before the fence must not hang the others. */
int boot_fence(struct boot *b, int timeout_ms) __attribute__((warn_unused_result));

/** Read what `rank` put under `key`. *len_p gets the size; -ENOENT, -EMSGSIZE. */
int boot_get(struct boot *b, int rank, const char *key, void *value, size_t cap, size_t *len_p)
	__attribute__((warn_unused_result));

/** Nothing more will be got: drop the local copies of what the others have put. */
void boot_forget(struct boot *b);

/** Ask the launcher to end the job with `code`. Any thread, also from a fault handler
 * (only write(2) is called). Returns: the caller exits itself. */
void boot_abort(struct boot *b, int code);

/** Leave in good order: exit without this counts as a failure. Frees b. */
void boot_finish(struct boot *b);

#endif
