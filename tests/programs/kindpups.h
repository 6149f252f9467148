/* SPDX-License-Identifier: Apache-2.0 */
/* kindpups.h: the type of a readonly of kindpups.ci. */
#ifndef KINDPUPS_H
#define KINDPUPS_H

typedef struct Fault { char word[16]; } Fault;

#endif
