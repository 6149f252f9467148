/* SPDX-License-Identifier: Apache-2.0 */
/* guide.h: what guide.ci includes. */
#ifndef GUIDE_H
#define GUIDE_H

typedef struct spot { double value; int where; } spot;

#endif
