# SPDX-License-Identifier: Apache-2.0
"""Elements sync (CkAtSync): the next tick comes when they may go on."""

from program import Broken, Part


class Syncs(Part):
    def __init__(self, number, on, last=False, **fields):
        self.last = last        # only in the last tick of a phase
        super().__init__(number, on, **fields)

    def entries(self, program, c):
        return ['entry void resumeFromSync();'] if c.number == self.on else []

    def instead_of_next(self, program, c):
        when = 't == TICKS - 1' if self.last else f't % {self.every} == {self.first % self.every}'
        return f'''	if ({when}) {{
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

    def check(self, program, run):
        broken, waits = [], {}
        for n in sorted(run.of(self.number, 'WAIT') + run.of(self.number, 'WENT_ON'), key=lambda n: (n.born, n.seq)):
            before = waits.pop(n.born, None)
            if n.kind == 'WAIT':
                if before:
                    broken.append(Broken('resumeFromSync comes once for each CkAtSync', f'one for that of tick {before.value}',
                                         f'none before the next at {run.who(n)}', n.time))
                waits[n.born] = n
            elif not before or before.value != n.value:
                broken.append(Broken('resumeFromSync comes once for each CkAtSync', 'one', f'one more at {run.who(n)}', n.time))
        if run.rest and not broken:
            broken = [Broken('resumeFromSync comes once for each CkAtSync', f'one for that of tick {n.value}',
                             f'none at {run.who(n)}', n.time) for n in waits.values()]
        return broken
