/* SPDX-License-Identifier: Apache-2.0 */
/* cmi_space.h: what a process needs to start; for the runtime, and for ckrun, which asks first. */
#ifndef CMI_SPACE_H
#define CMI_SPACE_H

/** GiB of address space that a process reserves for its messages, at least. */
enum { CMI_SPACE_GIB = 4 };

#endif
