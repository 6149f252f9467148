# SPDX-License-Identifier: Apache-2.0
"""Elements move by CkMigrateMe, in a tick or behind the handler of another part."""

from program import Part


class Moves(Part):
    def __init__(self, number, on, chance=50, **fields):
        self.chance = chance      # percent
        super().__init__(number, on, **fields)

    def act(self, program):
        return f'''	if (note_choose(&self->me, 100) < {self.chance}) {{
		int pe = note_choose(&self->me, CkNumPes());

		note_plain(&self->me, NOTE_MOVE, {self.number}, pe, 0, 0);
		CkMigrateMe(self, pe);
	}}
'''
