/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz.h: what a harness (fuzz_X.c) and the two programs made of it share.
 *
 * A harness defines LLVMFuzzerTestOneInput. With libFuzzer (make fuzz) it gets inputs that are made up; with
 * files.c (make check) it gets files: the seeds, among which are all inputs that once found a fault. An input has
 * found one if the process ends in it, or writes or reads where a sanitizer sees it.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

/** Take in one input. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
