# SPDX-License-Identifier: Apache-2.0
"""Quiescence, which any element may ask for while others go on: all that had been called by then has been handled."""

from program import Broken, Part


class Quiets(Part):
    simple = {'answer': ['one']}

    def __init__(self, number, on, answer='one', **fields):
        self.answer = answer
        super().__init__(number, on, **fields)

    def features(self, program):
        return ['quiescence']

    def entries(self, program, c):
        return [f'entry [reductiontarget] void quiet{self.number}();'] if c.number == self.on else []

    def act(self, program):
        c = program.coll(self.on)
        cb = f'{c.name}_cb_quiet{self.number}' + (f'_all({c.proxy})' if self.answer == 'all' else f'({c.this()})')
        return f'''	CkCallback cb = {cb};

	CkCallbackSetRefNum(&cb, self->phase * TICKS + self->t + 1);
	note_plain(&self->me, NOTE_GIVE, {self.number}, self->phase * TICKS + self->t + 1, 0, 0);
	CkStartQD(cb);
'''

    def handlers(self, program, c):
        return '' if c.number != self.on else f'''
void {c.name}_on_quiet{self.number}({c.name} *self)
{{
	note_plain(&self->me, NOTE_RESULT, {self.number}, CkGetRefNum(NULL), 0, 0);
}}
'''

    def check(self, program, run):
        broken, got = [], {}
        asked = {(n.number, n.target) if self.answer == 'one' else n.target: n for n in run.of(self.number, 'GIVE')}
        for n in run.of(self.number, 'RESULT'):
            key = (n.number, n.target) if self.answer == 'one' else n.target
            if key not in asked:
                broken.append(Broken('quiescence is told with the callback\'s reference number', 'one of those that were given',
                                     f'{n.target} at {run.who(n)}', n.time))
            elif (key, n.born) in got:
                broken.append(Broken('quiescence is told once', 'once', f'twice at {run.who(n)}', n.time))
            got[key, n.born] = n
        first = {}
        for (key, _), n in got.items():
            first[key] = min(first.get(key, n.time), n.time)
        spans = [(asked[key].time, time) for key, time in first.items() if key in asked]
        waits = {p.number for p in program.parts if type(p).__name__ in ('Whens', 'Bodies')}
        for n in run.kind('GOT', 'BORN'):
            sent = run.sent(n.id)
            late = [q for a, q in spans if sent is not None and sent.time < a and q < n.time and n.part not in waits]
            if late:
                broken.append(Broken('quiescence waits for what was called before', f'part {sent.part} to {run.who(n)}',
                                     f'handled {(n.time - late[0]) // 1000} us after it', n.time))
        if run.rest and not run.ended and not broken and self.answer == 'one':
            broken = [Broken('quiescence is told', f'what {run.who(n)} has asked for', 'never', n.time)
                      for key, n in asked.items() if key not in first]
        return broken
