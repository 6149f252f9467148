/* SPDX-License-Identifier: Apache-2.0 */
/* messages.c: rows as parameters of calls, which halo.ci waits for. */
#include <string.h>

#include "halo.h"

void messages_start(void)
{
	messages = Messages_ckNew();
	Messages_run_all(messages);
}

void Messages_on_new(Messages *self)
{
	(void)self;
}

/* To the strip above this one is the one below. */
void send_rows(const Messages *self)
{
	const struct strip *s = &self->s;

	Messages_below(Messages_at(messages, neighbour(ABOVE)), s->step, (int)columns,
		       strip_row(s, s->step % 2, border(ABOVE)));
	Messages_above(Messages_at(messages, neighbour(BELOW)), s->step, (int)columns,
		       strip_row(s, s->step % 2, border(BELOW)));
}

void take_rows(Messages *self, const double *above, const double *below)
{
	const struct strip *s = &self->s;

	memcpy(strip_row(s, s->step % 2, ghost(ABOVE)), above, row_bytes());
	memcpy(strip_row(s, s->step % 2, ghost(BELOW)), below, row_bytes());
}
