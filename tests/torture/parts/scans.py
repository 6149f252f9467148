# SPDX-License-Identifier: Apache-2.0
"""Scans: each element gets the sum of the contributions before its own."""

import collections

from program import Broken, Part


class Scans(Part):
    simple = {'exclusive': [False]}

    def __init__(self, number, on, exclusive=False, **fields):
        self.exclusive = exclusive
        super().__init__(number, on, **fields)

    def entries(self, program, c):
        return [f'entry [reductiontarget] void scan{self.number}(int n, uint64_t v[n]);'] if c.number == self.on else []

    def act(self, program):
        c = program.coll(self.on)
        return f'''	uint64_t v = note_mix((uint64_t)self->me.number ^ (uint64_t)(self->phase * TICKS + self->t));

	note_plain(&self->me, NOTE_GIVE, {self.number}, 0, v, 0);
	CkScan(self, &v, 1, CkReduction_sum_ulong, {'CK_SCAN_EXCLUSIVE' if self.exclusive else 'CK_SCAN_INCLUSIVE'},
	       {c.name}_cb_scan{self.number}({c.this()}));
'''

    def handlers(self, program, c):
        return '' if c.number != self.on else f'''
void {c.name}_on_scan{self.number}({c.name} *self, int n, const uint64_t *v)
{{
	note_plain(&self->me, NOTE_RESULT, {self.number}, n, v[0], 0);
}}
'''

    def wrong(self, program, got, sums):
        """The first result that is not as it must be; None: all are. Behind a step results come from other PEs than before it, so
        those before may come later."""
        if any(type(p).__name__ == 'Syncs' and p.on == self.on for p in program.parts):
            left = collections.Counter(sums)
            left.subtract(n.value for n in got)
            return next((k for k, n in enumerate(got) if left[n.value] < 0), None)
        return next((k for k, n in enumerate(got) if n.value != sums[k]), None)

    def check(self, program, run):
        given, broken = {}, []
        for n in sorted(run.of(self.number, 'GIVE'), key=lambda n: n.seq):
            given.setdefault(n.number, []).append(n.value)
        results = {}
        for n in sorted(run.of(self.number, 'RESULT'), key=lambda n: n.seq):
            results.setdefault(n.number, []).append(n)
        for number, got in results.items():
            sums = [sum(values[k] for i, values in given.items() if (i < number or i == number and not self.exclusive) and k < len(values))
                    % 2**64 for k in range(len(given[number]))]
            wrong = self.wrong(program, got, sums)
            if wrong is not None:
                broken.append(Broken('a scan gives the sum of those before, in the order of the scans', f'{sums[wrong]:#x} in scan {wrong}',
                                     f'{got[wrong].value:#x} at {run.who(got[wrong])}', got[wrong].time))
        if run.rest and not broken and any(len(results.get(i, [])) != len(v) for i, v in given.items()):
            broken.append(Broken('each scan gives each element a result', f'{ {i: len(v) for i, v in given.items()} }',
                                 f'{ {i: len(v) for i, v in results.items()} }'))
        return broken
