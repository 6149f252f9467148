/* SPDX-License-Identifier: Apache-2.0 */
/* ckctl.h: the command ckctl: asks a job for something through its control socket (ckctl(1)). */
#ifndef CKCTL_H
#define CKCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/** Say the words to the job. The whole answer without "ok " or "no "; the caller frees it. *ok_p:
 * which of the two it was. NULL: there is none; ckctl has said why. */
char *ask_job(const char *job, const char *words, bool *ok_p);

/** ckctl JOB top. Returns the exit code. */
int top(const char *job);

/* ---- status.c: what `status` answers -------------------------------------------------------- */

/** Of a line "KIND NAME=VALUE ...": the value of `name`, as text of at most cap - 1 bytes in `to`,
 * which is returned; "-": there is none. The line ends with \n or \0. */
const char *status_text(const char *line, const char *name, char *to, size_t cap);
/** The same as a number; -1: it is not known. */
double status_number(const char *line, const char *name);
/** Whether the line is of this kind; the next line, or NULL after the last one. */
bool status_is(const char *line, const char *kind);
const char *status_next(const char *line);
/** Whether it is whole: its last line is "end". */
bool status_is_whole(const char *text);

/** A picture of it for people, at most `rows` lines of `columns`; 0: no limit. */
void picture(FILE *out, const char *status, int rows, int columns);

#endif
