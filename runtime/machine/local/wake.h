/* SPDX-License-Identifier: Apache-2.0 */
/* wake.h: the descriptor by which any thread of the node wakes a PE that sleeps (cmi_wake). */
#ifndef WAKE_H
#define WAKE_H

struct cmi_pe;

/** PE. 0, or a negative errno after printing why. */
int wake_open(struct cmi_pe *w);
/** Main. */
void wake_close(struct cmi_pe *w);
/** PE. Forget the wakes so far: w->wake_fd is readable no longer. */
void wake_forget(struct cmi_pe *w);

#endif
