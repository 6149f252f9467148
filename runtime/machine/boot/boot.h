/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boot.h: the launcher's services for a node: a rank, exchange of small blobs before there is a
 * network, and the report of the node's end. boot_init finds the launcher in the environment: one
 * that speaks PMI-1 over PMI_FD (ckrun, MPICH's hydra, srun --mpi=pmi2), one that speaks PMIx (Open
 * MPI's mpirun, srun --mpi=pmix), or none, when the process is the whole job. Main thread only,
 * except boot_abort.
 */
#ifndef BOOT_H
#define BOOT_H

#include <stdbool.h>
#include <stddef.h>

struct boot;
struct launcher;

/** Join the job that the environment names: through PMI_FD if that is an open socket, else through
 * PMIx if PMIX_NAMESPACE and PMIX_RANK are set, alone (rank 0 of 1) without any sign of a launcher.
 * A launcher's variables without a service that answers are an error, never a silent job of one.
 * `clients` are those that the library has, and then NULL. Returns 0, or a negative errno after
 * printing the reason. */
int boot_init(const struct launcher *const *clients, struct boot **b_p)
	__attribute__((warn_unused_result));

/** Join the job of a host program, by its functions; *h must stay valid. Checks their results. */
struct cmi_host_boot;
int boot_host_init(const struct cmi_host_boot *h, struct boot **b_p)
	__attribute__((warn_unused_result));

int boot_rank(const struct boot *b);
int boot_size(const struct boot *b);
/** Whether there is no launcher: this process is the whole job. */
bool boot_alone(const struct boot *b);

/** Publish bytes under `key`: at most 32 letters, digits, '_' and '-'. Ranks may use equal keys. */
int boot_put(struct boot *b, const char *key, const void *value, size_t len)
	__attribute__((warn_unused_result));

/** Barrier of all ranks; earlier puts are visible afterwards. Returns -ETIMEDOUT after timeout_ms
 * (negative: never), so that the death of a rank does not hang the others. */
int boot_fence(struct boot *b, int timeout_ms) __attribute__((warn_unused_result));

/** Read what `rank` put under `key`; *len_p gets its size. -ENOENT: nothing; -EMSGSIZE: more than
 * `cap` bytes. */
int boot_get(struct boot *b, int rank, const char *key, void *value, size_t cap, size_t *len_p)
	__attribute__((warn_unused_result));

/** The rank of this host that may read for all ranks there: the lowest one that the launcher
 * reports here. -1: unknown. On other ranks single reads follow. */
int boot_reader(struct boot *b);

/** Nothing more will be read: drop the local copies of what the others have put. */
void boot_forget(struct boot *b);

/** Ask the launcher to end the job with `code`. Any thread, and any signal handler. It returns, and
 * the caller exits itself. */
void boot_abort(struct boot *b, int code);

/** In a forked child: close the launcher's connection, which would otherwise hide the parent's
 * end. */
void boot_forked(struct boot *b);

/** Leave normally; to the launcher an exit without this is a failure. Frees b. */
void boot_finish(struct boot *b);

#endif
