# SPDX-License-Identifier: Apache-2.0
"""Elements that are destroyed and inserted again, anywhere, while they are called: what is under way reaches the next one."""

from program import PLAIN, Part

FIRST = 20000       # their numbers, which must fit 16 bits (arrays of four dimensions)
NEVER = 1 << 20     # a phase that never comes: they do not tick


class Destroys(Part):
    simple = {'burst': [1]}

    def __init__(self, number, on, to, burst=2, **fields):
        self.to, self.burst = to, burst
        super().__init__(number, on, **fields)

    def features(self, program):
        return ['destruction']

    def uses(self):
        return [self.on, self.to]

    def entries(self, program, c):
        return [f'entry void d{self.number}(uint64_t id);'] if c.number == self.to else []

    def fields(self, program, c):
        return [f'int lives{self.number};'] if c.number == self.on else []

    def act(self, program):
        c, me = program.coll(self.to), program.coll(self.on)
        insert = f'''id = note_insert(&self->me, {self.number}, {c.number}, to);
	{c.name}_insert({c.el('to')}, note_choose(&self->me, CkNumPes()), id, {NEVER});
	note_inserted(id);
'''
        calls = f'''	for (int k = 0; k < {self.burst}; k++)
		{c.name}_d{self.number}({c.el('to')}, note_send(&self->me, {self.number}, {PLAIN}, {c.number}, to));
'''
        return f'''	if (self->me.number >= {me.count(program)})
		return;

	int to = {FIRST + self.number * 100} + self->me.number;
	uint64_t id;

	if (self->lives{self.number}++) {{
	{calls.replace(chr(10) + chr(9), chr(10) + chr(9) * 2)}		note_plain(&self->me, NOTE_GONE, {self.number}, to, {c.number}, 0);
		{c.name}_ckDestroy({c.el('to')});
	{calls.replace(chr(10) + chr(9), chr(10) + chr(9) * 2)}	}}
	{insert}{calls}'''

    def handlers(self, program, c):
        return '' if c.number != self.to else f'''
void {c.name}_on_d{self.number}({c.name} *self, uint64_t id)
{{
	note_got(&self->me, {self.number}, id, true, 0);
}}
'''
