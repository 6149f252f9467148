# SPDX-License-Identifier: Apache-2.0
"""Calls that wait for a condition: that their receiver has come as far as their sender was."""

from program import NO_ORDER, Broken, Part
from .clock import behind


class Whens(Part):
    simple = {'shift': [1], 'burst': [1]}

    def __init__(self, number, on, shift=1, burst=1, ahead=0, **fields):
        self.shift, self.burst, self.ahead = shift, burst, ahead
        super().__init__(number, on, **fields)

    def features(self, program):
        return ['[when]']

    def entries(self, program, c):
        return [f'entry [when(t <= self->t)] void w{self.number}(uint64_t id, int t);'] if c.number == self.on else []

    def act(self, program):
        c = program.coll(self.on)
        return f'''	int t = self->t + {self.ahead} < TICKS ? self->t + {self.ahead} : TICKS;

	for (int k = 0; k < {self.burst}; k++) {{
		int to = (self->me.number + {self.shift}) % {c.count(program)};

		{c.name}_w{self.number}({c.el('to')}, note_send(&self->me, {self.number}, {NO_ORDER}, {c.number}, to), t);
	}}
'''

    def handlers(self, program, c):
        return '' if c.number != self.on else f'''
void {c.name}_on_w{self.number}({c.name} *self, uint64_t id, int t)
{{
	note_got(&self->me, {self.number}, id, t <= self->t, 0);
{behind(program, c, self)}}}
'''

    def hook_names(self):
        return [(self.on, self.number)]
