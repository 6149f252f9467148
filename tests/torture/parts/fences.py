# SPDX-License-Identifier: Apache-2.0
"""Fences: when all elements of a collection have come to one, all that was sent before has been handled."""

from program import Broken, Part


class Fences(Part):
    def entries(self, program, c):
        return [f'entry void fence{self.number}();'] if c.number == self.on else []

    def act(self, program):
        c = program.coll(self.on)
        return f'''	if (self->t)
		return;         /* one in a phase: the next may come only behind it */
	note_plain(&self->me, NOTE_GIVE, {self.number}, 0, (uint64_t)self->phase, 0);
	CkFence(self, {c.name}_cb_fence{self.number}_all({c.proxy}));
'''

    def handlers(self, program, c):
        return '' if c.number != self.on else f'''
void {c.name}_on_fence{self.number}({c.name} *self)
{{
	note_plain(&self->me, NOTE_RESULT, {self.number}, 0, (uint64_t)self->phase, 0);
}}
'''

    def check(self, program, run):
        broken, come, told = [], {}, {}
        for kind, times, pick in (('GIVE', come, max), ('RESULT', told, min)):
            count = {}
            for n in sorted(run.of(self.number, kind), key=lambda n: n.seq):
                k = count[n.number] = count.get(n.number, 0) + 1     # each element comes to each fence
                times[k] = pick(times.get(k, n.time), n.time)
        for k, time in told.items():
            if time < come.get(k, 0):
                broken.append(Broken('a fence waits for all elements', f'fence {k}', 'it fired before the last came', time))
            for n in run.kind('GOT'):
                sent = run.sent(n.id)
                if sent is not None and sent.time < come.get(k, 0) and n.time > time:
                    broken.append(Broken('a fence waits for what was sent before', f'part {sent.part} to {run.who(n)}',
                                         f'handled {(n.time - time) // 1000} us after it', n.time))
        # One that waits when the program ends was as quiet as the end itself.
        if run.rest and not run.ended and not broken and len(told) != len(come):
            broken.append(Broken('a fence fires', f'{len(come)}', f'{len(told)}'))
        return broken
