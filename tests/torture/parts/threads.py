# SPDX-License-Identifier: Apache-2.0
"""Threads that wait: for [sync] calls, and for futures that others fill."""

from program import PLAIN, Broken, Part


class Threads(Part):
    simple = {'shift': [1], 'burst': [1], 'future': [False]}

    def __init__(self, number, on, to, shift=1, burst=1, future=False, **fields):
        self.to, self.shift, self.burst, self.future = to, shift, burst, future
        super().__init__(number, on, **fields)

    def features(self, program):
        return ['threads', 'futures' if self.future else '[sync]']

    def uses(self):
        return [self.on, self.to]

    def entries(self, program, c):
        ask = f'entry void ask{self.number}(uint64_t id, CkFuture f);' if self.future else \
            f'entry [sync] uint64_t ask{self.number}(uint64_t id);'
        return [f'entry [threaded] void thread{self.number}(uint64_t id);'] * (c.number == self.on) + [ask] * (c.number == self.to)

    def act(self, program):
        c = program.coll(self.on)
        return f'''	{c.name}_thread{self.number}({c.this()}, note_send(&self->me, {self.number}, {PLAIN}, {c.number}, self->me.number));
'''

    def handlers(self, program, c):
        n, to, text = self.number, program.coll(self.to), ''
        if c.number == self.to:
            text += f'''
void {c.name}_on_ask{n}({c.name} *self, uint64_t id, CkFuture f)
{{
	uint64_t v = note_mix(id);

	note_got(&self->me, {n}, id, true, 0);
	CkSendToFutureTyped(f, CK_ULONG, &v, 1);
}}
''' if self.future else f'''
uint64_t {c.name}_on_ask{n}({c.name} *self, uint64_t id)
{{
	note_got(&self->me, {n}, id, true, 0);
	return note_mix(id);
}}
'''
        if c.number == self.on:
            get = f'''		CkFuture f = CkCreateFutureTyped(CK_ULONG);

		{to.name}_ask{n}({to.el('to')}, asked, f);

		CkReductionMsg *m = CkWaitReleaseFuture(f);
		uint64_t v = *(const uint64_t *)CkReductionMsg_data(m);

		CkFreeMsg(m);
''' if self.future else f'''		uint64_t v = {to.name}_ask{n}_sync({to.el('to')}, asked);
'''
            text += f'''
void {c.name}_on_thread{n}({c.name} *self, uint64_t id)
{{
	note_got(&self->me, {n}, id, true, 0);
	for (int k = 0; k < {self.burst}; k++) {{
		int to = (self->me.number + {self.shift}) % {to.count(program)};
		uint64_t asked = note_send(&self->me, {n}, {PLAIN}, {to.number}, to);
{get}
		note_plain(&self->me, NOTE_WENT_ON, {n}, 0, v, note_mix(asked));
	}}
}}
'''
        return text

    def check(self, program, run):
        broken = [Broken('a waiting thread gets its answer', f'{n.more:#x}', f'{n.value:#x} at {run.who(n)}', n.time)
                  for n in run.of(self.number, 'WENT_ON') if n.value != n.more]
        if run.rest and not broken:
            asked = len(run.of(self.number, 'SEND'))      # one for each thread, and one for each question
            went = len(run.of(self.number, 'WENT_ON'))
            starts = asked - went
            if went % self.burst or went and starts * self.burst != went:
                broken.append(Broken('a waiting thread gets its answer', f'{self.burst} answers for each of {starts} threads', f'{went}'))
        return broken
