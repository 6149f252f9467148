/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct_rules.h: when a program breaks a rule of channels, the job ends with one line that names
 * the call, the channel, both PEs, the iteration, the rule and the remedy. A channel that is used
 * wrongly loses or mixes data silently, so no broken rule is only a warning.
 */
#ifndef DIRECT_RULES_H
#define DIRECT_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "../../scheduler/pe.h"
#include "direct_handle.h"
#include "direct_line.h"

/** The channel and put that an error names. */
struct direct_id {
	uint32_t channel;
	int32_t receiver;
	int32_t sender;               /* -1: not known here */
	uint64_t iteration;           /* the put it is about */
	const void *owner;            /* who can name it (csd_end_names); NULL: nobody */
};

struct direct_id direct_id_of_handle(struct pe *pe, const struct direct_handle *h);

/** Write its name: "channel 3", or that of its owner. */
void direct_name(struct pe *pe, struct direct_id id, char *buf, size_t len);

/** End the job: `call` broke the rule in fmt; `fix` is the remedy. */
_Noreturn void direct_broken(struct pe *pe, const char *call, struct direct_id id,
			     const char *fix, const char *fmt, ...)
	__attribute__((format(printf, 5, 6), cold));

/** Note in the line that `binder` has bound channel `id`; a second binding ends the job. */
void direct_claim(struct pe *pe, struct direct_id id, struct direct_line *line, int binder);

_Noreturn void direct_no_pe(const char *call) __attribute__((cold));

/** The running PE; a thread that is no PE cannot use channels. */
static inline struct pe *direct_self(const char *call)
{
	struct pe *pe = csd_self();

	if (CSD_UNLIKELY(!pe))
		direct_no_pe(call);
	return pe;
}

/** End the job: `h` is no result of CkDirect_createHandle. */
_Noreturn void direct_no_channel(struct pe *pe, const char *call, const struct direct_handle *h)
	__attribute__((cold));

/** End the job saying why `h` does not name a receiving end of this PE. */
_Noreturn void direct_not_a_receiver(struct pe *pe, const char *call,
				     const struct direct_handle *h) __attribute__((cold));

/** End the job saying why `h` does not name a sending end of this PE. */
_Noreturn void direct_not_a_sender(struct pe *pe, const char *call,
				   const struct direct_handle *h) __attribute__((cold));

/** A checksum of a buffer. */
uint64_t direct_checksum(const unsigned char *p, size_t n);

/** The seal of a handle that is not bound yet: a checksum of all other fields. */
uint64_t direct_seal(const struct direct_handle *h);

/** Checked mode, just before put id.iteration writes: the channel is of this generation and marked
 * ready for that put, and the buffer is unchanged since readyMark. `line` and `buf` are addresses
 * of this process. */
void direct_check_put(struct pe *pe, const char *call, struct direct_id id,
		      const struct direct_line *line, uint32_t generation,
		      const unsigned char *buf, size_t bytes);

#endif
