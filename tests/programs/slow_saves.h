/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLOW_SAVES_H
#define SLOW_SAVES_H

struct Main { char dir[256]; };
struct Cell { int n; };

#endif
