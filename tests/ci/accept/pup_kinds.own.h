/* SPDX-License-Identifier: Apache-2.0 */
/* pup_kinds.own.h: the structs of pup_kinds.ci. */
struct Main { int n; };
struct Second { int n; };
struct One { int n; Word *kept; Point at; void *cache; };
struct Other { int n; };
struct G { int n; double *v; char *name; CkCallback done; };
struct Empty { double sum; };
struct N { int n; };
struct Light { void *file; };
struct A { int n; };
