# SPDX-License-Identifier: Apache-2.0
"""Reductions of a section: a multicast asks its members, and each contributes. The section that was called is found by
CkGetSectionInfo. Each section counts by itself: the n-th contributions of all members make the n-th result."""

from program import SECTION, Broken, Part
from .clock import behind


class SectionSums(Part):
    simple = {'tuple': [False], 'refnum': [0], 'shift': [0]}

    def __init__(self, number, on, over, to, target='one', shift=0, tuple=False, refnum=0, **fields):
        # `over` has the members; the result goes to `to`.
        self.over, self.to, self.target, self.shift, self.tuple, self.refnum = over, to, target, shift, tuple, refnum
        super().__init__(number, on, **fields)

    def features(self, program):
        return ['section reductions', f'section reduction to {self.target} of {program.coll(self.to).kind}'] + \
            ['tuples'] * self.tuple + ['callbacks with reference numbers'] * bool(self.refnum)

    def uses(self):
        return [self.on, self.over, self.to]

    def members(self, program):
        c = program.coll(self.over)
        return [i for i in range(c.count(program)) if (i * 5 + self.shift) % 3] or [0]

    def declarations(self, program):
        return [f'readonly CProxySection_{program.coll(self.over).name} s{self.number};']

    def entries(self, program, c):
        p = self.number
        return [f'entry void give{p}(uint64_t id);'] * (c.number == self.over) + [f'entry void sum{p}(CkReductionMsg *m);'] * (c.number == self.to)

    def fields(self, program, c):
        return [f'int given{self.number};'] if c.number == self.over else []

    def main_starts(self, program):
        c, members = program.coll(self.over), self.members(program)
        return f'''	CkIndex members{self.number}[] = {{{', '.join(f'{c.name}_ix({i})' for i in members)}}};

	s{self.number} = {c.name}_ckSection({c.proxy}, members{self.number}, {len(members)});
'''

    def act(self, program):
        c, p = program.coll(self.over), self.number
        return f'	{c.name}_give{p}_section(s{p}, note_all(&self->me, {p}, {SECTION + p}, {c.number}));\n'

    def handlers(self, program, c):
        p, text, to = self.number, '', program.coll(self.to)
        if c.number == self.over:
            cb = f'{to.name}_cb_sum{p}' + (f'_all({to.proxy})' if self.target == 'all' else f'({to.el(0)})')
            refnum = f'\tCkCallbackSetRefNum(&cb, {self.refnum} + round % 100);\n' if self.refnum else ''
            give = f'''	CkTupleElement both[] = {{{{CkReduction_sum_ulong, 2, v}}, {{CkReduction_max_ulong, 1, &v[0]}}}};

	CkContributeSection(self, CkGetSectionInfo(NULL), both, 2, CkReduction_tuple, cb);
''' if self.tuple else '	CkContributeSection(self, CkGetSectionInfo(NULL), v, 2, CkReduction_sum_ulong, cb);\n'
            text += f'''
void {c.name}_on_give{p}({c.name} *self, uint64_t id)
{{
	int round = self->given{p}++;
	uint64_t v[2] = {{note_mix((uint64_t)(self->me.number + 1000 * round)), (uint64_t)round}};
	CkCallback cb = {cb};

{refnum}	note_got(&self->me, {p}, id, true, 0);
	note_plain(&self->me, NOTE_GIVE, {p}, round, v[0], v[1]);
{give}}}
'''
        if c.number == self.to:
            get = '''	const uint64_t *v = CkReductionMsg_data(CkReductionTuple_at(m, 0));
	const uint64_t *max = CkReductionMsg_data(CkReductionTuple_at(m, 1));
''' if self.tuple else '	const uint64_t *v = CkReductionMsg_data(m), *max = v;\n'
            text += f'''
void {c.name}_on_sum{p}({c.name} *self, const CkReductionMsg *m)
{{
{get}	struct note *n = note_new(&self->me, NOTE_RESULT, {p});

	n->target = CkGetRefNum(m);
	n->value = v[0];
	n->more = v[1];
	n->id = max[0];
{behind(program, c, self)}}}
'''
        return text

    def hook_names(self):
        return [(self.to, self.number)]

    def check(self, program, run):
        rounds, broken, members = {}, [], len(self.members(program))
        for n in run.of(self.number, 'GIVE'):
            rounds.setdefault(n.target, []).append(n.value)
        want = {(sum(v) % 2**64, k * len(v)): (k, max(v)) for k, v in rounds.items() if len(v) == members}
        got = {}
        for n in sorted(run.of(self.number, 'RESULT'), key=lambda n: n.seq):
            who, (k, most) = (n.coll, n.number, n.born), want.get((n.value, n.more), (None, 0))
            if k is None or k in got.setdefault(who, set()) or self.tuple and n.id != most:
                broken.append(Broken('the result of a section\'s reduction is its members\' sum, once', f'one of rounds 0 to {len(want) - 1}',
                                     f'{run.who(n)} got {n.value:#x}, {n.more}' + f', max {n.id:#x}' * self.tuple, n.time))
            elif self.refnum and n.target != self.refnum + k % 100:
                broken.append(Broken('a reduction brings its callback\'s reference number', f'{self.refnum + k % 100}',
                                     f'{n.target} in round {k} at {run.who(n)}', n.time))
            if k is not None:
                got[who].add(k)
        if run.ended and not broken:
            count = program.coll(self.to).count(program)
            for life in run.lives(self.to):
                if (life.number == 0 or self.target == 'all' and life.number < count) and \
                        len(got.get((life.coll, life.number, life.born), ())) != len(rounds):
                    broken.append(Broken('each reduction of a section gives one result', f'{len(rounds)} of part {self.number}',
                                         f'{len(got.get((life.coll, life.number, life.born), ()))} at {run.who(life)}', life.time))
        return broken
