/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz.h: where a harness (fuzz_X.c) gets its inputs. With libFuzzer (make fuzz) they are made up; with files.c
 * (make check) they are files: the seeds, among which are all inputs that once found a fault. An input has found one
 * if the process ends in it, or reads or writes where a sanitizer sees it.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

/** Call `each`, which returns 0, with one input after the other. libFuzzer's name. */
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*each)(const uint8_t *data, size_t size));

#endif
