# SPDX-License-Identifier: Apache-2.0
"""Completion detectors: one in each phase. All elements produce calls, which may cause others; when all have been consumed,
the main chare is told, whatever else goes on."""

from program import PLAIN, Broken, Part
from .clock import behind, gate


class Detectors(Part):
    simple = {'burst': [1], 'depth': [0, 1], 'shift': [1]}

    def __init__(self, number, on, burst=2, depth=2, shift=1, **fields):
        self.burst, self.depth, self.shift = burst, depth, shift
        super().__init__(number, on, **fields)

    def features(self, program):
        return ['completion detectors']

    def entries(self, program, c):
        p = self.number
        return [f'entry void begin{p}(uint64_t id, CkCompletion c, int phase);',
                f'entry void use{p}(uint64_t id, CkCompletion c, int phase, int depth);'] * (c.number == self.on) + \
            [f'entry void found{p}();'] * (c.kind == 'main')

    def go(self, program, c):
        p, on = self.number, program.coll(self.on)
        if c.kind != 'main':
            return ''
        return f'''	if ({gate(self)}) {{
		CkCompletion found = CkCompletionCreate();
		CkCallback cb = Main_cb_found{p}(mainProxy);

		CkCallbackSetRefNum(&cb, self->phase + 1);
		CkCompletionStart(found, {on.count(program)}, CkCallbackIgnore(), CkCallbackIgnore(), cb, 0);
		note_plain(&self->me, NOTE_GIVE, {p}, self->phase, 0, 0);
		{on.name}_begin{p}_all({on.proxy}, note_all(&self->me, {p}, {PLAIN}, {on.number}), found, self->phase);
	}}
'''

    def handlers(self, program, c):
        p, a = self.number, c.name
        if c.kind == 'main':
            return f'''
void Main_on_found{p}(Main *self)
{{
	note_plain(&self->me, NOTE_RESULT, {p}, CkGetRefNum(NULL) - 1, 0, 0);
{behind(program, c, self)}}}
'''
        if c.number != self.on:
            return ''
        n = c.count(program)
        send = f'{a}_use{p}({c.el("to")}, note_send(&self->me, {p}, {PLAIN}, {c.number}, to), c, phase, '
        return f'''
void {a}_on_begin{p}({a} *self, uint64_t id, CkCompletion c, int phase)
{{
	note_got(&self->me, {p}, id, true, phase);
	if (self->me.number >= {n})
		return;        /* inserted: no producer */
	for (int k = 0; k < {self.burst}; k++) {{
		int to = (self->me.number + k + {self.shift}) % {n};

		CkCompletionProduce(c, 1);
		{send}{self.depth});
	}}
	CkCompletionDone(c);
}}
void {a}_on_use{p}({a} *self, uint64_t id, CkCompletion c, int phase, int depth)
{{
	int to = (self->me.number + {self.shift}) % {n};

	note_got(&self->me, {p}, id, true, phase);
	if (depth) {{
		CkCompletionProduce(c, 1);
		{send}depth - 1);
	}}
{behind(program, c, self)}	CkCompletionConsume(c, 1);
}}
'''

    def hook_names(self):
        return [(self.on, self.number), (0, self.number)]

    def check(self, program, run):
        broken, told = [], {}
        for n in run.of(self.number, 'RESULT'):
            if n.target in told:
                broken.append(Broken('a completion detector tells once', f'phase {n.target}', 'twice', n.time))
            told[n.target] = n
        for n in run.of(self.number, 'GOT'):
            over = told.get(n.value)
            if over and n.time > over.time:
                broken.append(Broken('a completion detector waits for all that was produced', f'phase {n.value}',
                                     f'{run.who(n)} handled a call {(n.time - over.time) // 1000} us after it', n.time))
        if run.rest and not broken:
            broken = [Broken('a completion detector tells once', f'phase {n.target}', 'never', n.time)
                      for n in run.of(self.number, 'GIVE') if n.target not in told]
        return broken
