/* SPDX-License-Identifier: Apache-2.0 */
/* random.c: a random PE for each element. The number of the step is the seed, so that faults can be
 * reproduced. */
#include "strategies.h"
#include "../machine/tools/cmi_random.h"

int lb_random(const CkLBStats *s, int32_t *to, void *arg)
{
	uint64_t state = cmi_random_seed(s->step);

	(void)arg;
	for (size_t i = 0; i < s->n; i++)
		to[i] = (int32_t)cmi_random_below(&state, (uint64_t)s->n_pes);
	return 0;
}
