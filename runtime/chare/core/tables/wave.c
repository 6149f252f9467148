/* SPDX-License-Identifier: Apache-2.0 */
/* wave.c: the pauses between two waves. */
#include "wave.h"

void wave_soon(struct wave_pause *p)
{
	p->ms = WAVE_SHORTEST_US * 1e-3;
}

void wave_after(struct wave_pause *p, CcdVoidFn fn, void *arg)
{
	csd_timer(fn, arg, p->ms);
	p->ms = p->ms * 1e3 < WAVE_LONGEST_US ? p->ms * 2 : p->ms;
}
