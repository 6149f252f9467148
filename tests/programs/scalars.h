/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCALARS_H
#define SCALARS_H

enum Suit { CLUBS = -3, HEARTS = 7 };
typedef enum { APPLE, PEAR = 1000000 } Fruit;

#endif
