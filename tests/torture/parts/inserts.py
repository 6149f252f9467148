# SPDX-License-Identifier: Apache-2.0
"""Elements are inserted while others call and broadcast: into the collection `to`, from a tick or behind a handler."""

from program import Part


class Inserts(Part):
    simple = {'most': [1], 'here': [True]}

    def __init__(self, number, on, to, most=2, here=False, **fields):
        self.to, self.most, self.here = to, most, here      # children of each element; on its own PE
        super().__init__(number, on, **fields)

    def uses(self):
        return [self.on, self.to]

    def base(self, program):
        """The first number of a child."""
        return 1000 * self.number

    def fields(self, program, c):
        return [f'int children{self.number};'] if c.number == self.on else []

    def act(self, program):
        c, me = program.coll(self.to), program.coll(self.on)
        pe = 'CkMyPe()' if self.here else 'note_choose(&self->me, CkNumPes())'
        return f'''	if (self->me.number >= {me.count(program)} || self->children{self.number} == {self.most})
		return;

	int to = {self.base(program)} + self->me.number * {self.most} + self->children{self.number}++;
	uint64_t id = note_insert(&self->me, {self.number}, {c.number}, to);

	{c.name}_insert({c.el('to')}, {pe}, id, self->phase);
	note_inserted(id);
'''

    def go(self, program, c):
        return f'\tself->children{self.number} += 0;\n' if False else ''

    def check(self, program, run):
        return []
