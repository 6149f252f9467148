# SPDX-License-Identifier: Apache-2.0
"""Reductions over a collection, to every kind of target, whose callbacks have reference numbers."""

from program import Broken, Part
from .clock import behind
from .rebirths import Rebirths


class Reductions(Part):
    simple = {'index': [0], 'message': [False], 'tuple': [False], 'refnum': [0]}

    def __init__(self, number, on, to, target='one', index=0, refnum=0, message=False, tuple=False, **fields):
        self.to, self.target, self.index, self.refnum, self.message, self.tuple = to, target, index, refnum, message or tuple, tuple
        super().__init__(number, on, **fields)

    def features(self, program):
        return ['reductions', f'reduction to {self.target} of {program.coll(self.to).kind}'] + \
            ['callbacks with reference numbers'] * bool(self.refnum) + ['tuples'] * self.tuple

    def uses(self):
        return [self.on, self.to]

    def entries(self, program, c):
        if c.number != self.to:
            return []
        return [f'entry void r{self.number}(CkReductionMsg *m);' if self.message else
                f'entry [reductiontarget] void r{self.number}(int n, uint64_t v[n]);']

    def act(self, program):
        c = program.coll(self.to)
        stub = f'{c.name}_cb_r{self.number}' + ('_all' if self.target == 'all' else '')
        refnum = f'\tCkCallbackSetRefNum(&cb, {self.refnum} + round % 100);\n' if self.refnum else ''
        return f'''	int round = self->phase * TICKS + self->t;
	uint64_t v[2] = {{note_mix((uint64_t)self->me.number), (uint64_t)round}};
	CkCallback cb = {stub}({c.proxy if self.target == 'all' else c.el(self.index % c.count(program))});

{refnum}	note_plain(&self->me, NOTE_GIVE, {self.number}, 0, v[0], v[1]);
''' + ('''
	CkContributeTuple(self, (CkTupleElement[]){{CkReduction_max_ulong, 1, &v[0]}, {CkReduction_sum_ulong, 2, v}}, 2, cb);
''' if self.tuple else '''	CkContribute(self, v, 2, CkReduction_sum_ulong, cb);
''')

    def handlers(self, program, c):
        if c.number != self.to:
            return ''
        parameters, get = (', const CkReductionMsg *m', '\tconst uint64_t *v = CkReductionMsg_data(m);\n\n') if self.message else \
            (', int n, const uint64_t *v', '\t(void)n;\n')
        if self.tuple:
            get = get.replace('CkReductionMsg_data(m)', 'CkReductionMsg_data(CkReductionTuple_at(m, 1))')
        return f'''
void {c.name}_on_r{self.number}({c.name} *self{parameters})
{{
{get}	note_plain(&self->me, NOTE_RESULT, {self.number}, CkGetRefNum({'m' if self.message else 'NULL'}), v[0], v[1]);
{behind(program, c, self)}}}
'''

    def hook_names(self):
        return [(self.to, self.number)]

    def check(self, program, run):
        given, began, rounds = {}, {}, {}
        for n in run.of(self.number, 'GIVE'):
            k = n.more
            total, count = given.get(k, (0, 0))
            given[k] = (total + n.value) % 2**64, count + 1
            began[k] = min(began.get(k, n.time), n.time)
        lives = {n.born: n for n in run.lives(self.to)}
        c = program.coll(self.to)
        for n in run.of(self.number, 'RESULT'):
            # The sum of the rounds tells the round: all elements give the same.
            rounds.setdefault((n.coll, n.number, n.born), []).append(n)
        broken = []
        for who, results in rounds.items():
            results.sort(key=lambda n: n.seq)
            in_order = self.to == self.on
            mine = self.while_alive(program, run, lives[who[2]], began)
            left = {k: given[k] for k in mine}
            for i, n in enumerate(results):
                match = [k for k, (total, count) in left.items() if (total, k * count % 2**64) == (n.value, n.more)]
                if not match:
                    broken.append(Broken('the result of a reduction is its contributions\' sum, once',
                                         f'one of {[(hex(t), k * c) for k, (t, c) in left.items()][:4]}',
                                         f'{run.who(n)} got {n.value:#x}, {n.more} as its result number {i}', n.time))
                    continue
                k = match[0]
                del left[k]
                want = self.refnum + k % 100 if self.refnum else 0
                if n.target != want:
                    broken.append(Broken('a reduction brings its callback\'s reference number', f'{want}',
                                         f'{n.target} in round {k} at {run.who(n)}', n.time))
                if in_order and not any(b.promise.startswith('the result') for b in broken) and mine[i] != k:
                    broken.append(Broken('results reach an element of the collection in the order of the reductions',
                                         f'round {mine[i]}', f'round {k} at {run.who(n)}', n.time))
        if run.ended and not broken:
            for who in lives.values():
                if self.target == 'one' and who.number != self.index % c.count(program) or who.number >= c.count(program):
                    continue
                got = len(rounds.get((who.coll, who.number, who.born), []))
                want = len(self.while_alive(program, run, who, began))
                if got != want:
                    broken.append(Broken('each reduction gives one result', f'{want} results of part {self.number}',
                                         f'{got} at {run.who(who)}', who.time))
        return broken

    @staticmethod
    def while_alive(program, run, life, began):
        """The rounds that began in this life of an element. Only Rebirths end one, while no reduction is under way."""
        made = run.sent(life.id) if life.id else None
        born = life.time if made and isinstance(program.part(made.part), Rebirths) else 0
        ends = [n.time for n in run.kind('GONE') if (n.value, n.target) == (life.coll, life.number) and n.time > life.time]
        return [k for k in sorted(began) if born <= began[k] < min(ends, default=2**64)]
