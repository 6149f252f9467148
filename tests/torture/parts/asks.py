# SPDX-License-Identifier: Apache-2.0
"""Callbacks: an element hands one out with a call, and whoever was called answers by it."""

from program import PLAIN, Broken, Part
from .clock import behind


class Asks(Part):
    simple = {'answer': ['one'], 'refnum': [0], 'shift': [1], 'burst': [1]}

    def __init__(self, number, on, to, answer='one', refnum=0, shift=1, burst=1, **fields):
        # The answer goes to the one that asked, to all of its collection, or to the main chare.
        self.to, self.answer, self.refnum, self.shift, self.burst = to, answer, refnum, shift, burst
        super().__init__(number, on, **fields)

    def features(self, program):
        return ['callbacks', 'answers to ' + self.answer] + ['callbacks with reference numbers'] * bool(self.refnum)

    def uses(self):
        return [self.on, self.to]

    def gets(self):
        return 0 if self.answer == 'main' else self.on

    def entries(self, program, c):
        return [f'entry void q{self.number}(uint64_t id, CkCallback cb);'] * (c.number == self.to) + \
            [f'entry [reductiontarget] void a{self.number}(int n, uint64_t v[n]);'] * (c.number == self.gets())

    def act(self, program):
        c, me = program.coll(self.to), program.coll(self.gets())
        stub = f'{me.name}_cb_a{self.number}' + ('_all' if self.answer == 'all' else '')
        whom = {'one': me.this(), 'all': me.proxy, 'main': 'mainProxy'}[self.answer]
        set_refnum = f'\t\tCkCallbackSetRefNum(&cb, {self.refnum});\n' if self.refnum else ''
        return f'''	for (int k = 0; k < {self.burst}; k++) {{
		int to = (self->me.number + {self.shift}) % {c.count(program)};
		CkCallback cb = {stub}({whom});

{set_refnum}		{c.name}_q{self.number}({c.el('to')}, note_send(&self->me, {self.number}, {PLAIN}, {c.number}, to), cb);
	}}
'''

    def handlers(self, program, c):
        text = ''
        if c.number == self.to:
            text += f'''
void {c.name}_on_q{self.number}({c.name} *self, uint64_t id, CkCallback cb)
{{
	uint64_t v[3] = {{id, note_mix(id), (uint64_t)self->me.number}};

	note_got(&self->me, {self.number}, id, true, 0);
	CkCallbackSendTyped(cb, CK_ULONG, v, 3);
}}
'''
        if c.number == self.gets():
            text += f'''
void {c.name}_on_a{self.number}({c.name} *self, int n, const uint64_t *v)
{{
	struct note *m = note_new(&self->me, NOTE_RESULT, {self.number});

	m->id = v[0];
	m->flags = n == 3 && v[1] == note_mix(v[0]) ? 0 : NOTE_WRONG;
	m->target = CkGetRefNum(NULL);
{behind(program, c, self)}}}
'''
        return text

    def hook_names(self):
        return [(self.gets(), self.number)]

    def check(self, program, run):
        broken, got = [], {}
        for n in run.of(self.number, 'RESULT'):
            asked = run.sent(n.id)
            if n.flags or asked is None or asked.part != self.number or \
                    self.answer == 'one' and (n.number, n.coll) != (asked.number, asked.coll):
                broken.append(Broken('a callback brings its data to its target', f'the answer to {n.id:#x}', f'at {run.who(n)}', n.time))
            elif n.target != self.refnum:
                broken.append(Broken('a callback brings its reference number', str(self.refnum), f'{n.target} at {run.who(n)}', n.time))
            elif (n.id, n.born) in got:
                broken.append(Broken('a callback fires once', 'once', f'twice at {run.who(n)}', n.time))
            got[n.id, n.born] = n
        if run.rest and not broken and self.answer != 'all':
            answered = {id_ for id_, _ in got}
            broken = [Broken('a callback fires once', f'the answer to part {n.part} of {run.who(n)}', 'none', n.time)
                      for n in run.of(self.number, 'SEND') if n.id not in answered]
        return broken
