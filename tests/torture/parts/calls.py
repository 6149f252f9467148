# SPDX-License-Identifier: Apache-2.0
"""Calls: of one element, of all, of a section; with each kind of parameters, each attribute, each option."""

from program import AGGREGATE, CHANNEL, EXPEDITED, NO_ORDER, PLAIN, PRIO, SECTION, Broken, Part
from .clock import behind

# What a call brings besides its number: parameters in the .ci file, in C, how the caller makes it, its arguments, and
# whether it came right.
WAYS = {
    'nothing': ('', '', '', '', 'true'),
    'words': ('int n, uint64_t v[n]', 'int n, const uint64_t *v', 'uint64_t v[{n}];\n\t\tnote_fill(v, n, id);', 'n, v',
              'note_same(v, n, id)'),
    'text': ('int n, const char *s', 'int n, const char *s', 'char s[8 * {n} + 1];\n\t\tnote_text(s, n, id);', 'n, s',
             '!strcmp(s, note_text((char[8 * {n} + 1]){{0}}, n, id))'),
    'struct': ('struct load l', 'struct load l', 'struct load l;\n\t\tnote_fill(l.v, 3, id);', 'l', 'note_same(l.v, 3, id)'),
    'pup': ('pile p', 'const pile *p', 'uint64_t v[{n}];\n\t\tnote_fill(v, n, id);\n\t\tpile p = {{n, v}};', '&p',
            'note_same(p->v, p->n, id)'),
    'nocopy': ('int n, nocopy uint64_t v[n]', 'int n, const uint64_t *v', 'struct lent *l = note_lend(id, {n}, k % 2);\n\t\tnote_fill(l->v, n, id);',
               'n, CkSendBufferCb(l->v, CkCallbackFunction(sentNUMBER, l))', 'note_same(v, n, id)'),
    'message': ('', '', '', '', ''),
}


class Calls(Part):
    simple = {'mode': ['one'], 'attribute': [''], 'prepare': [False], 'prio': [None], 'refnum': [None], 'burst': [1, 2, 4],
              'sizes': [(1,), (3,)], 'way': ['nothing', 'words'], 'shift': [1]}

    def __init__(self, number, on, to, way='words', attribute='', mode='one', shift=1, burst=1, sizes=(2,), prio=None,
                 refnum=None, prepare=False, moving=False, **fields):
        self.to, self.way, self.attribute, self.mode, self.shift, self.burst, self.sizes = \
            to, way, attribute, mode, shift, burst, sizes
        self.prio, self.refnum, self.prepare = prio, refnum, prepare
        super().__init__(number, on, **fields)

    def features(self, program):
        return [{'one': 'calls', 'all': 'broadcasts', 'section': 'sections'}[self.mode], 'with ' + self.way] + \
            [f'[{self.attribute}]'] * bool(self.attribute) + ['priorities'] * (self.prio is not None) + \
            ['reference numbers'] * (self.refnum is not None)

    def uses(self):
        return [self.on, self.to]

    def lane(self, n):
        if self.attribute == 'channel':
            return f'{CHANNEL + self.number * 4096} + {n}'
        if self.mode == 'section':
            return str(SECTION + self.number)
        if self.attribute in ('expedited', 'aggregate', 'inline'):
            return str({'expedited': EXPEDITED, 'aggregate': AGGREGATE if self.mode == 'one' else PLAIN,
                        'inline': NO_ORDER if self.mode == 'one' else PLAIN}[self.attribute])
        return str(PRIO + self.prio if self.prio else PLAIN)

    def most(self):
        return max(self.sizes)

    def declarations(self, program):
        lines = []
        if self.way == 'message':
            lines += [f'message M{self.number} {{ uint64_t id; int n; uint64_t v[]; }};']
        if self.mode == 'section':
            lines += [f'readonly CProxySection_{program.coll(self.to).name} s{self.number};']
        return lines

    def entries(self, program, c):
        if c.number != self.to:
            return []
        attribute = f'[{self.attribute}] ' if self.attribute else ''
        parameters = f'M{self.number} *m' if self.way == 'message' else ', '.join(['uint64_t id'] + [WAYS[self.way][0]] * bool(WAYS[self.way][0]))
        return [f'entry {attribute}void f{self.number}({parameters});']

    def main_starts(self, program):
        if self.mode != 'section':
            return ''
        c = program.coll(self.to)
        members = [i for i in range(c.count(program)) if (i * 7 + self.shift) % 3] or [0]
        return f'''	CkIndex members{self.number}[] = {{{', '.join(c.name + '_ix(' + str(i) + ')' for i in members)}}};

	s{self.number} = {c.name}_ckSection({c.proxy}, members{self.number}, {len(members)});
'''

    def members(self, program):
        c = program.coll(self.to)
        return [i for i in range(c.count(program)) if (i * 7 + self.shift) % 3] or [0]

    def act(self, program):
        c, way = program.coll(self.to), WAYS[self.way]
        n, count = self.most(), c.count(program)
        stub = f'{c.name}_f{self.number}' + {'one': '', 'all': '_all', 'section': '_section'}[self.mode]
        sizes = str(self.sizes[0]) if len(self.sizes) == 1 else \
            '(const int[]){' + ', '.join(map(str, self.sizes)) + '}' + f'[k % {len(self.sizes)}]'
        text = f'	for (int k = 0; k < {self.burst}; k++) {{\n\t\tint n = {sizes};\n'
        if self.mode == 'one':
            text += f'		int to = (self->me.number + {self.shift}) % {count};\n'
            text += f'		uint64_t id = note_send(&self->me, {self.number}, {self.lane("n")}, {c.number}, to);\n'
        else:
            text += f'		uint64_t id = note_all(&self->me, {self.number}, {self.lane("n")}, {c.number});\n'
        whom = {'one': c.el('to'), 'all': c.proxy, 'section': f's{self.number}'}[self.mode]
        first = whom
        if self.prio is not None or self.refnum is not None:
            stub += '_opt'
            first = '&o, ' + whom
            text += f'		CkEntryOptions o = {{.prio = {self.prio or 0}, .refnum = {self.refnum or 0}}};\n'
        text += '\n\t\t(void)n;\n'
        if self.way == 'message':
            text += f'''		M{self.number} *m = M{self.number}_alloc((size_t)n);

		m->id = id;
		m->n = n;
		note_fill(m->v, n, id);
		{stub}({first}, m);
'''
        elif self.prepare and self.attribute == 'channel' and self.way == 'words':
            text += f'''		if (k % 2) {{
			uint64_t *v;
			CkPrepared call = {stub}_prepare({first}, id, n, &v);

			note_fill(v, n, id);
			CkCommit(call);
			continue;
		}}
'''
        if self.way != 'message':
            arguments = way[3].replace('{number}', str(self.number))
            text += f'\t\t{way[2].format(n=n)}\n' * bool(way[2])
            arguments = way[3].replace('NUMBER', str(self.number))
            text += f'\t\t{stub}({", ".join([first, "id"] + [arguments] * bool(arguments))});\n'
        return text + '\t}\n'

    def handlers(self, program, c):
        if c.number != self.to:
            return ''
        way = WAYS[self.way]
        parameters = f', M{self.number} *m' if self.way == 'message' else ', uint64_t id' + (', ' + way[1]) * bool(way[1])
        right = 'note_same(m->v, m->n, m->id)' if self.way == 'message' else way[4].format(n=self.most())
        return f'''
void {c.name}_on_f{self.number}({c.name} *self{parameters})
{{
	note_got(&self->me, {self.number}, {'m->id' if self.way == 'message' else 'id'}, {right}, CkGetRefNum(NULL));
{behind(program, c, self)}}}
'''

    def prototypes(self, program, c):
        return '' if self.way != 'nocopy' or c.number != self.on else f'''static void sent{self.number}(void *arg, const CkReductionMsg *m)
{{
	struct lent *l = arg;

	(void)m;
	note_plain(note_lender(), NOTE_WENT_ON, {self.number}, 0, l->id, 0);
	note_spoil(l);
}}
'''

    def check(self, program, run):
        if self.way != 'nocopy':
            return []
        broken, left = [], {n.id: n for n in run.kind('SEND', 'ALL') if n.part == self.number}
        for n in run.of(self.number, 'WENT_ON'):
            if not left.pop(n.value, None):
                broken.append(Broken('whoever lends an array gets it back once', 'once', f'twice on PE {n.pe}', n.time))
        if run.rest and not broken:
            broken = [Broken('whoever lends an array gets it back once', f'that of part {n.part} of {run.who(n)}', 'never', n.time)
                      for n in left.values()]
        return broken

    def hook_names(self):
        return [(self.to, self.number)]
