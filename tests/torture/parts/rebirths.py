# SPDX-License-Identifier: Apache-2.0
"""Elements that end between two phases, when all is quiet, and are inserted again: they take part in all that the next phase
does, at the PE that is their home now."""

from program import Part


class Rebirths(Part):
    simple = {'share': [1]}

    def __init__(self, number, on, share=2, **fields):
        self.share = share      # one of so many elements each time
        super().__init__(number, on, **fields)

    def features(self, program):
        return ['destruction']

    def between(self, program):
        c = program.coll(self.on)
        return f'''	for (int i = self->begun % {self.share}; i < {c.count(program)}; i += {self.share}) {{
		uint64_t id;

		note_plain(&self->me, NOTE_GONE, {self.number}, i, {c.number}, 0);
		{c.name}_ckDestroy({c.el('i')});
		id = note_insert(&self->me, {self.number}, {c.number}, i);
		{c.name}_insert({c.el('i')}, CK_PE_ANY, id, self->begun - 1);
		note_inserted(id);
	}}
'''
