/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NUMBERED_H
#define NUMBERED_H

/* A target has heard this reference number. */
void heard(int no);

#endif
