# SPDX-License-Identifier: Apache-2.0
"""Counted calls: each element calls its neighbours in rounds, and the handler runs once for all calls of a round. Elements are
ahead of each other by as many rounds as they like."""

from program import NO_ORDER, SECTION, Part
from .calls import WAYS
from .clock import behind


class Counted(Part):
    in_rounds = True     # calls of a round wait for each other, so they have no order
    simple = {'fan': [1, 2], 'way': ['nothing', 'words'], 'numbered': ['name'], 'attribute': [''], 'words': [1], 'section': [False]}

    def __init__(self, number, on, fan=2, shift=0, way='words', words=3, numbered='name', attribute='', section=False, **fields):
        self.fan, self.shift, self.way, self.words, self.numbered, self.attribute, self.section = \
            fan, shift, way, words, numbered, attribute, section
        super().__init__(number, on, **fields)

    def features(self, program):
        return ['[count]', 'counted with ' + self.way] + [f'[{self.attribute}]'] * bool(self.attribute) + \
            ['counted by reference numbers'] * (self.numbered == 'reference') + ['counted in sections'] * self.section

    def members(self, program):
        return list(range(program.coll(self.on).count(program)))

    def n(self, program):
        """The calls of a round."""
        return program.coll(self.on).count(program) if self.section else self.fan

    def declarations(self, program):
        p, c = self.number, program.coll(self.on)
        return [f'message M{p} {{ uint64_t id; int r, n; uint64_t v[]; }};'] * (self.way == 'message') + \
            [f'readonly CProxySection_{c.name} s{p};'] * self.section

    def main_starts(self, program):
        if not self.section:
            return ''
        p, c = self.number, program.coll(self.on)
        every = ', '.join(f'{c.name}_ix({i})' for i in self.members(program))
        return f'''	CkIndex members{p}[] = {{{every}}};

	s{p} = {c.name}_ckSection({c.proxy}, members{p}, {c.count(program)});
'''

    def entries(self, program, c):
        p = self.number
        if c.number != self.on:
            return []
        attributes = ', '.join([f'count(self->me.coll == {c.number} ? {self.n(program)} : 0' +
                                (', round' if self.numbered == 'name' else '') + ')'] + [self.attribute] * bool(self.attribute))
        if self.way == 'message':
            parameters = f'M{p} *m'
        else:
            parameters = ', '.join(['uint64_t id', 'int r'] + ['int round'] * (self.numbered == 'name') + [WAYS[self.way][0]] * bool(WAYS[self.way][0]))
        return [f'entry [{attributes}] void c{p}({parameters});']

    def fields(self, program, c):
        return [f'int round{self.number};'] if c.number == self.on else []

    def act(self, program):
        p, c, way = self.number, program.coll(self.on), WAYS[self.way]
        stub = f'{c.name}_c{p}' + '_section' * self.section + '_opt' * (self.numbered == 'reference')
        whom = f's{p}' if self.section else c.el('to')
        first = ('&o, ' if self.numbered == 'reference' else '') + whom
        text = f'''	const int n = {self.words}, r = self->round{p}++, round = r * 7919 - {p};

	(void)n;
	(void)round;
	if (self->me.number >= {c.count(program)})
		return;
	for (int k = 0; k < {1 if self.section else self.fan}; k++) {{
'''
        if self.section:
            text += f'		uint64_t id = note_all(&self->me, {p}, {SECTION + p}, {c.number});\n'
        else:
            text += f'''		int to = (self->me.number + {self.shift} + k) % {c.count(program)};
		uint64_t id = note_send(&self->me, {p}, {NO_ORDER}, {c.number}, to);
'''
        if self.numbered == 'reference':
            text += '		CkEntryOptions o = {.refnum = round};\n'
        if self.way == 'message':
            text += f'''		M{p} *m = M{p}_alloc((size_t)n);

		m->id = id;
		m->r = r;
		m->n = n;
		note_fill(m->v, n, id);
		{stub}({first}, m);
'''
        else:
            arguments = ['id', 'r'] + ['round'] * (self.numbered == 'name') + [way[3].replace('NUMBER', str(p))] * bool(way[3])
            text += f'\t\t{way[2].format(n=self.words)}\n' * bool(way[2])
            text += f'\t\t{stub}({first}, {", ".join(arguments)});\n'
        return text + '\t}\n'

    def handlers(self, program, c):
        if c.number != self.on:
            return ''
        p, n = self.number, self.n(program)
        taken = f'M{p} **messages' if self.way == 'message' else f'const {c.name}_c{p}_call *calls'
        get = {'message': '', 'nothing': '', 'words': 'const int n = calls[i].n;\n\t\tconst uint64_t *v = calls[i].v;',
               'text': 'const int n = calls[i].n;\n\t\tconst char *s = calls[i].s;', 'struct': 'const struct load l = calls[i].l;',
               'pup': 'const pile *p = calls[i].p;'}[self.way]
        id, r, right = ('messages[i]->id', 'messages[i]->r', 'note_same(messages[i]->v, messages[i]->n, id)') \
            if self.way == 'message' else ('calls[i].id', 'calls[i].r', WAYS[self.way][4].format(n=self.words))
        return f'''
/* A round that is too small, or mixed with another one, is wrong data of its calls. */
void {c.name}_on_c{p}({c.name} *self, int number, int many, {taken})
{{
	for (int i = 0; i < many; i++) {{
		const uint64_t id = {id};
		{get}

		note_got(&self->me, {p}, id, many == {n} && number == {r} * 7919 - {p} && {right}, 0);
	}}
{behind(program, c, self)}}}
'''

    def hook_names(self):
        return [(self.on, self.number)]
