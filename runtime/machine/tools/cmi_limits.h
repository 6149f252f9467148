/* SPDX-License-Identifier: Apache-2.0 */
/* cmi_limits.h: how much memory the system lets a process use. */
#ifndef CMI_LIMITS_H
#define CMI_LIMITS_H

#include <stdint.h>

/** The bytes that the processes of a control group may use together: the least of the host's memory
 * and the limits of this process's control group and of those above it (versions 2 and 1). */
uint64_t cmi_limit_shared(void);

/** The bytes of address space that this process may have (ulimit -v); UINT64_MAX: no limit. */
uint64_t cmi_limit_own(void);

/** The share of control groups in cmi_limit_shared; tests pass files of their own. `proc` stands
 * for /proc/self, `root` is prefixed to each mount point. UINT64_MAX: no limit is found. */
uint64_t cmi_limit_cgroups(const char *proc, const char *root);

#endif
