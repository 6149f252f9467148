/* SPDX-License-Identifier: Apache-2.0 */
/* The program's own types, which its .ci file does not name a header for. */
#ifndef TYPEDEFS_H
#define TYPEDEFS_H

typedef double real;
struct pair { int a, b; };
typedef struct Place { short row, column; } Place;

#endif
