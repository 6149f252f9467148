/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nodes.h: runs zoo.ci on four nodes of one PE inside this process, until it is quiet. Then three of them stand
 * still, and PE 0 gets inputs. It gets them in children of this process, so each finds everything as it was.
 *
 * An input passes if the child comes through or ends in an orderly way, with a line of the runtime. It has found
 * something if the child ends otherwise, or hangs.
 */
#ifndef NODES_H
#define NODES_H

#include <stddef.h>
#include <stdint.h>

#include "../../runtime/scheduler/pe.h"

enum { NODES = 4 };

/** What a harness does with an input, on PE 0 of the child. May return before the loop has served what it sent. */
void fuzz_input(struct pe *pe, const uint8_t *data, size_t size);

/** A message has come to PE 0 while the program still runs. */
void fuzz_arrived(struct pe *pe, const struct cmi_msg *m);

/** The program is quiet; PE 0. */
void zoo_is_quiet(void);

/** The arrival function of the program's channels. */
void Zoo_arrived(void *data);

#endif
