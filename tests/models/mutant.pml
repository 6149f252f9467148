/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mutant.pml: which fault is planted in the model. `mutant` is a number from the environment, so that a
 * checker is compiled once for all faults of a model; 0: none. It never changes, so it is no part of the state.
 *
 * A model lists its faults as lines "mutant N: ..."; run.sh runs each of them.
 */
c_decl {
\#include <stdlib.h>
}
hidden byte mutant;

inline mutant_from_environment()
{
	c_code { mutant = getenv("MUTANT") ? atoi(getenv("MUTANT")) : 0; }
}
