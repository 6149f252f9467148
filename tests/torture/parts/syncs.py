# SPDX-License-Identifier: Apache-2.0
"""Elements sync (CkAtSync): the next tick comes when they may go on."""

from program import Part


class Syncs(Part):
    knobs = {}

    def entries(self, program, c):
        return ['entry void resumeFromSync();'] if c.number == self.on else []

    def fields(self, program, c):
        return ['bool syncs;'] if c.number == self.on else []

    def instead_of_next(self, program, c):
        return f'''	if (t % {max(self.every, 1)} == {self.first % max(self.every, 1)}) {{
		note_plain(&self->me, NOTE_WAIT, {self.number}, 0, (uint64_t)(self->phase * TICKS + t), 0);
		CkAtSync(self);
		return;
	}}
'''

    def handlers(self, program, c):
        if c.number != self.on:
            return ''
        return f'''
void {c.name}_on_resumeFromSync({c.name} *self)
{{
	note_plain(&self->me, NOTE_WENT_ON, {self.number}, 0, (uint64_t)(self->phase * TICKS + self->t), 0);
	{c.name}_next(self);
}}
'''
