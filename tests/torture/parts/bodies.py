# SPDX-License-Identifier: Apache-2.0
"""Structured Dagger: each element exchanges something with two others in each round, and waits for theirs."""

from program import NO_ORDER, PLAIN, Broken, Part
from .clock import gate


class Bodies(Part):
    simple = {'rounds': [1, 2, 4], 'shift': [1]}

    def __init__(self, number, on, rounds=3, shift=1, **fields):
        self.rounds, self.shift = rounds, shift
        super().__init__(number, on, **fields)

    def entries(self, program, c):
        if c.number != self.on:
            return []
        p = self.number
        when = 'when {0}{1}[self->i{1}](int i, uint64_t id) serial {{{{ b{1}_got(self, i, id); }}}}'
        return [f'entry void left{p}(int i, uint64_t id);', f'entry void right{p}(int i, uint64_t id);',
                f'''entry void b{p}(uint64_t id) {{
			serial {{ note_got(&self->me, {p}, id, true, 0); }}
			for (; self->i{p} < self->end{p}; self->i{p}++) {{
				serial {{ b{p}_send(self); }}
				overlap {{
					{when.format('left', p).replace('{{', '{').replace('}}', '}')}
					{when.format('right', p).replace('{{', '{').replace('}}', '}')}
				}}
			}}
		}};''']

    def prototypes(self, program, c):
        return '' if c.number != self.on else f'''struct {c.name};
void b{self.number}_send(struct {c.name} *self);
void b{self.number}_got(struct {c.name} *self, int i, uint64_t id);
'''

    def fields(self, program, c):
        return [f'int i{self.number}, end{self.number};'] if c.number == self.on else []

    def go(self, program, c):
        if c.number != self.on:
            return ''
        p = self.number
        return f'''	if ({gate(self, f'self->me.number < {c.count(program)}')}) {{
		self->end{p} += {self.rounds};
		{c.name}_b{p}({c.this()}, note_send(&self->me, {p}, {PLAIN}, {c.number}, self->me.number));
	}}
'''

    def handlers(self, program, c):
        if c.number != self.on:
            return ''
        p, n = self.number, c.count(program)
        return f'''
void b{p}_send(struct {c.name} *self)
{{
	int left = (self->me.number + {n} * 8 - {self.shift}) % {n}, right = (self->me.number + {self.shift}) % {n};

	{c.name}_right{p}({c.el('left')}, self->i{p}, note_send(&self->me, {p}, {NO_ORDER}, {c.number}, left));
	{c.name}_left{p}({c.el('right')}, self->i{p}, note_send(&self->me, {p}, {NO_ORDER}, {c.number}, right));
}}
void b{p}_got(struct {c.name} *self, int i, uint64_t id)
{{
	note_got(&self->me, {p}, id, i == self->i{p}, 0);
}}
'''
