# SPDX-License-Identifier: Apache-2.0
"""Get and put: an element offers memory of its process to another, which gets what is there or puts something there. Each
transfer fires both callbacks once; the source's memory is spoilt as soon as its callback says that it may be. The callbacks
are functions on a PE: who made them may have moved."""

from program import PLAIN, Broken, Part


class Transfers(Part):
    simple = {'words': [1, 2], 'burst': [1], 'shift': [1], 'rdma': [0], 'put': [False]}

    def __init__(self, number, on, to, put=False, words=20, burst=1, shift=1, rdma=0, **fields):
        self.to, self.put, self.words, self.burst, self.shift, self.rdma = to, put, words, burst, shift, rdma
        super().__init__(number, on, **fields)

    def features(self, program):
        return ['put of buffers' if self.put else 'get of buffers'] + ['CkRdmaAlloc'] * bool(self.rdma)

    def uses(self):
        return [self.on, self.to]

    def entries(self, program, c):
        return [f'entry void offer{self.number}(uint64_t id, CkNcpyBuffer b);'] if c.number == self.to else []

    def prototypes(self, program, c):
        """Whose memory may change, and who has got the data."""
        if c.number != min(self.on, self.to):
            return ''
        p = self.number
        return f'''static void given{p}(void *arg, const CkReductionMsg *m)
{{
	struct lent *l = arg;

	(void)m;
	note_plain(note_lender(), NOTE_WENT_ON, {p}, 0, l->id, 0);
	CkNcpyBufferDeregister(&l->b);
	note_spoil(l);
}}
static void taken{p}(void *arg, const CkReductionMsg *m)
{{
	struct lent *l = arg;
	struct note *n = note_new(note_lender(), NOTE_RESULT, {p});

	(void)m;
	n->value = l->id;
	n->flags = note_same(l->v, l->words, l->id) ? 0 : NOTE_WRONG;
	CkNcpyBufferDeregister(&l->b);
	note_spoil(l);
}}
'''

    def act(self, program):
        c, p = program.coll(self.to), self.number
        fill, done = ('', 'taken') if self.put else ('\t\tnote_fill(l->v, l->words, id);\n', 'given')
        return f'''	for (int k = 0; k < {self.burst}; k++) {{
		int to = (self->me.number + {self.shift}) % {c.count(program)};
		uint64_t id = note_send(&self->me, {p}, {PLAIN}, {c.number}, to);
		struct lent *l = note_lend(id, {self.words}, {self.rdma & 1});

{fill}		CkNcpyBufferInit(&l->b, l->v, {8 * self.words}, CkCallbackFunction({done}{p}, l));
		{c.name}_offer{p}({c.el('to')}, id, l->b);
	}}
'''

    def handlers(self, program, c):
        if c.number != self.to:
            return ''
        p = self.number
        fill, done, move = ('\tnote_fill(l->v, l->words, id);\n', 'given', 'CkNcpyPut(&l->b, &b)') if self.put else \
            ('', 'taken', 'CkNcpyGet(&l->b, &b)')
        return f'''
void {c.name}_on_offer{p}({c.name} *self, uint64_t id, CkNcpyBuffer b)
{{
	struct lent *l = note_lend(id, {self.words}, {self.rdma >> 1});

	note_got(&self->me, {p}, id, true, 0);
{fill}	CkNcpyBufferInit(&l->b, l->v, {8 * self.words}, CkCallbackFunction({done}{p}, l));
	{move};
}}
'''

    def check(self, program, run):
        broken, offered = [], {n.id: n for n in run.of(self.number, 'SEND')}
        for kind, what in (('RESULT', 'the destination'), ('WENT_ON', 'the source')):
            got = set()
            for n in run.of(self.number, kind):
                if n.value not in offered or n.value in got:
                    broken.append(Broken('a transfer fires the callbacks of both buffers once', f'{what}, once', f'twice on PE {n.pe}', n.time))
                if n.flags:
                    broken.append(Broken('a transfer brings the data', f'those of {n.value:#x}', f'others on PE {n.pe}', n.time))
                got.add(n.value)
            if run.rest and not broken:
                broken = [Broken('a transfer fires the callbacks of both buffers once', f'{what} of part {n.part} of {run.who(n)}', 'never',
                                 n.time) for n in offered.values() if n.id not in got]
        return broken
