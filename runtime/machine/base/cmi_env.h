/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmi_env.h: the one reader of the runtime's environment variables, CK_*.
 *
 * An unset or empty variable gives `otherwise`. A bad value ends the process with exit code 1,
 * after one line that names the variable, its value and what is allowed; "32x" is not 32. The job
 * then ends as a whole, because a launcher ends it when a node exits with a code other than 0.
 *
 * Any thread may call these, but should while the node starts: a bad value must not end a long run.
 */
#ifndef CMI_ENV_H
#define CMI_ENV_H

#include <stdbool.h>
#include <stdint.h>

/** 1, yes, on, true, or 0, no, off, false; in either case of letters. */
bool cmi_env_flag(const char *name, bool otherwise);

/** A decimal number, or a hexadecimal one after 0x, from `least` to `most`. */
int64_t cmi_env_number(const char *name, int64_t otherwise, int64_t least, int64_t most);

/** A number of bytes from `least` to `most`. K, M or G behind it, in either case, multiplies it by
 * 1024, 1024^2 or 1024^3. */
uint64_t cmi_env_bytes(const char *name, uint64_t otherwise, uint64_t least, uint64_t most);

/** The same, also in bytes, for a variable in which a number without K, M or G counts KiB. */
uint64_t cmi_env_kib(const char *name, uint64_t otherwise, uint64_t least, uint64_t most);

/** One of n words; returns its index. `otherwise` may be any number, such as -1. */
int cmi_env_word(const char *name, const char *const *words, int n, int otherwise);

/** Any text; NULL when the variable is unset or empty. */
const char *cmi_env_text(const char *name);

/** A piece of such a text as a number of bytes, in the form of cmi_env_bytes; false: it is none. */
bool cmi_env_parse_bytes(const char *text, uint64_t *bytes_p);

/** The same as one of the words of cmi_env_flag. */
bool cmi_env_parse_flag(const char *text, bool *on_p);

/** End the process in the same way because of a value of cmi_env_text that the caller cannot use.
 * `allowed` completes the sentence "it must be ...". */
_Noreturn void cmi_env_refuse(const char *name, const char *value, const char *allowed);

#endif
