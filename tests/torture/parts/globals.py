# SPDX-License-Identifier: Apache-2.0
"""Global pointers: an element puts a number to its place in a spread, takes a ticket by a fetch-add at a place that it shares
with others, and gets its number back, perhaps from another PE. It moves when its operations have ended, not before. Each
ticket is given once."""

import collections

from program import Broken, Part

COUNTERS = 3


class Globals(Part):
    simple = {'block': [0, 1]}

    def __init__(self, number, on, block=1, **fields):
        self.block = block
        super().__init__(number, on, **fields)

    def features(self, program):
        return ['global pointers']

    def types(self, program):
        return '#include "ckglobal.h"\n'

    def entries(self, program, c):
        p = self.number
        return [f'entry void spread{p}(CkReductionMsg *m);', f'entry void put{p}();', f'entry void got{p}();'] * (c.number == self.on)

    def fields(self, program, c):
        p = self.number
        return [f'CkSpread s{p};', f'uint64_t out{p}, in{p}, ticket{p};', f'int busy{p};'] * (c.number == self.on)

    def main_starts(self, program):
        c = program.coll(self.on)
        return f'\tCkSpreadNew({COUNTERS + c.count(program)}, 8, {self.block}, {c.name}_cb_spread{self.number}_all({c.proxy}));\n'

    def act(self, program):
        c, p = program.coll(self.on), self.number
        return f'''	const uint64_t me = (uint64_t)self->me.number;

	if (!self->s{p}.n || self->busy{p})
		return;         /* it may come with the first phase */
	self->busy{p} = 1;
	self->out{p} = note_mix(me << 32 | self->me.seq);
	note_plain(&self->me, NOTE_GIVE, {p}, 0, 0, 0);
	CkPut(CkSpreadAt(self->s{p}, {COUNTERS} + me), &self->out{p}, 8);
	CkAtomicGet(&self->ticket{p}, CK_ATOMIC_ADD, CkSpreadAt(self->s{p}, me % {COUNTERS}), 8, 1, 0);
	CkSyncThen({c.name}_cb_put{p}({c.this()}));
'''

    def handlers(self, program, c):
        p, name = self.number, c.name
        return '' if c.number != self.on else f'''
void {name}_on_spread{p}({name} *self, const CkReductionMsg *m)
{{
	self->s{p} = *(const CkSpread *)(const void *)(m + 1);
}}

void {name}_on_put{p}({name} *self)
{{
	self->in{p} = 0;
	CkGet(&self->in{p}, CkSpreadAt(self->s{p}, {COUNTERS} + (uint64_t)self->me.number), 8);
	CkSyncThen({name}_cb_got{p}({c.this()}));
}}

void {name}_on_got{p}({name} *self)
{{
	struct note *n = note_new(&self->me, NOTE_RESULT, {p});

	n->value = self->ticket{p};
	n->flags = self->in{p} == self->out{p} ? 0 : NOTE_WRONG;
	self->busy{p} = 0;
}}
'''

    def check(self, program, run):
        broken, tickets = [], collections.defaultdict(list)
        results = run.of(self.number, 'RESULT')
        for n in results:
            if n.flags:
                broken.append(Broken('a get brings what a put has put', 'the own number', f'another one at {run.who(n)}', n.time))
            tickets[n.number % COUNTERS].append(n.value)
        for k, given in tickets.items():
            twice = [t for t, times in collections.Counter(given).items() if times > 1]
            if twice:
                broken.append(Broken('a fetch-add gives each number once', f'ticket {twice[0]} of {k} once', 'twice'))
            elif run.rest and sorted(given) != list(range(len(given))):
                broken.append(Broken('a fetch-add adds one', f'{len(given)} tickets of {k} from 0 on', f'up to {max(given)}'))
        if run.rest and not broken and len(results) != len(run.of(self.number, 'GIVE')):
            broken.append(Broken('gets and puts end', f'{len(run.of(self.number, "GIVE"))} times', f'{len(results)} times'))
        return broken
