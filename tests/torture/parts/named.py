# SPDX-License-Identifier: Apache-2.0
"""Named channels between the elements of an array: each kind of end, ready at once, later, or marked and polled; a send
buffer serves several receivers; ends are made while others put already, and are made anew in later phases. Each element
puts to those `shifts` before and behind it, when all of them have told it that they are ready (by calls). With
`whole` the receiving ends of an element are a set, whose handler runs once for all of them."""

from program import PLAIN, Broken, Part
from .clock import behind, gate

OOB = '0x7ff8dead0000beefu'


class Named(Part):
    simple = {'shifts': [(1,)], 'strided': [False], 'direct': [False], 'renew': [False], 'whole': [False], 'oob': [False], 'ready': ['now', 'later'],
              'words': [1, 2], 'rounds': [1, 2, 4, 8]}

    def __init__(self, number, on, shifts=(1,), oob=False, strided=False, direct=True, words=4, rounds=3, ready='now',
                 renew=False, whole=False, **fields):
        self.shifts, self.oob, self.strided, self.direct, self.words, self.rounds, self.ready, self.renew, self.whole = \
            shifts, oob, strided, direct, words, rounds, ready, renew, whole
        super().__init__(number, on, **fields)

    def features(self, program):
        return ['named channels', 'named ' + ('oob' if self.oob else 'seq'), 'ready ' + self.ready] + \
            ['named strided'] * self.strided + ['named multicast'] * (len(self.shifts) > 1) + ['named renewed'] * self.renew + ['named sets'] * self.whole

    def entries(self, program, c):
        p = self.number
        return [] if c.number != self.on else \
            [f'entry [arrival, count(self->made{p} ? {len(self.shifts)} : 0)] void n{p}();' if self.whole else f'entry [arrival] void n{p}(int tag);',
             f'entry void credit{p}(uint64_t id);', f'entry void later{p}(uint64_t id, int k);'] 

    def fields(self, program, c):
        p, n = self.number, len(self.shifts)
        return [] if c.number != self.on else [
            f'uint64_t *in{p}[{n}], *out{p};', f'CkChannel *from{p}[{n}], *to{p}[{n}];',
            f'int seen{p}[{n}], put{p}, owed{p}, end{p}, made{p};']

    def pup(self, program, c):
        if c.number != self.on:
            return ''
        p, n, room = self.number, len(self.shifts), self.words * 8
        alloc = 'pup_alloc_direct' if self.direct else 'pup_alloc'
        return f'''	if (self->made{p}) {{
		for (int k = 0; k < {n}; k++) {{
			self->in{p}[k] = {alloc}(p, self->in{p}[k], {room});
			pup_bytes(p, self->in{p}[k], {room});
			pup_channel(p, &self->from{p}[k], self->in{p}[k]);
		}}
		self->out{p} = pup_alloc(p, self->out{p}, {room * (2 if self.strided else 1)});
		pup_bytes(p, self->out{p}, {room * (2 if self.strided else 1)});
		for (int k = 0; k < {n}; k++)
			pup_channel(p, &self->to{p}[k], self->out{p});
	}}
'''

    def act_functions(self, program, c):
        """What the handlers use; stands before them."""
        p, n, count, a = self.number, len(self.shifts), c.count(program), c.name
        shifts = f'(const int[]){{{", ".join(map(str, self.shifts))}}}[k]'
        to = f'{c.el(f"(self->me.number + {shifts}) % {count}")}'
        source = f'{c.el(f"(self->me.number + {count} * 8 - {shifts}) % {count}")}'
        tag = f'{p} + 100 * k' + (' + 10000 * self->phase' if self.renew else '')
        alloc = f'CkDirect_alloc({self.words * 8})' if self.direct else f'aligned_alloc(64, {(self.words * 8 + 63) // 64 * 64})'
        free = 'CkDirect_free' if self.direct else 'free'
        end = f', {OOB}' if self.oob else ''
        make_to = f'''{a}_n{p}_to_strided(self, {to}, {tag}, self->out{p},
			(CkDirectStrides){{.block_bytes = 8, .blocks = {self.words}, .stride_bytes = 16}})''' if self.strided else \
            f'{a}_n{p}_to(self, {to}, {tag}, self->out{p}, {self.words * 8})'
        step = 2 if self.strided else 1
        return f'''
/* Part {p}: the word 0 of what is put is the round; the others follow from sender and round. */
static uint64_t n{p}_key(int sender, int round) {{ return note_mix((uint64_t)(sender * 100003 + {p}) << 20 | (uint64_t)round); }}
static int n{p}_source(struct {a} *self, int k) {{ return (self->me.number + {count} * 8 - {shifts}) % {count}; }}
static void n{p}_drop(struct {a} *self)
{{
	for (int k = 0; k < {n}; k++) {{
		CkChannelDestroy(self->from{p}[k]);
		CkChannelDestroy(self->to{p}[k]);
		{free}(self->in{p}[k]);
	}}
	free(self->out{p});
}}
static void n{p}_make(struct {a} *self)
{{
	if (self->made{p}{' == self->phase + 1' if self.renew else ''})
		return;
	if (self->made{p})
		n{p}_drop(self);
	self->made{p} = self->phase + 1;
	self->out{p} = calloc({step}, {self.words * 8});
	for (int k = 0; k < {n}; k++) {{
		self->in{p}[k] = {alloc};
		memset(self->in{p}[k], 0, {self.words * 8});
		self->from{p}[k] = {a}_n{p}_from{'_oob' if self.oob else ''}(self, {source}.ck, {tag}, self->in{p}[k], {self.words * 8}{end});
		self->to{p}[k] = {make_to};
	}}
}}
static void n{p}_put(struct {a} *self)
{{
	if (self->owed{p} || self->put{p} == self->end{p})
		return;

	uint64_t key = n{p}_key(self->me.number, self->put{p});

	for (int i = 0; i < {self.words}; i++)
		self->out{p}[{step} * i] = i ? note_mix(key + (uint64_t)i) : (uint64_t)self->put{p};
	note_plain(&self->me, NOTE_PUT, {p}, 0, (uint64_t)self->put{p}, 0);
	self->put{p}++;
	self->owed{p} = {n};
	{f'CkChannelPut(self->to{p}[0])' if n == 1 else f'CkChannelPutAll(self->to{p}, {n})'};
}}
/* What has landed has been read: the sender may put again. */
static void n{p}_ready(struct {a} *self, int k)
{{
	{'' if self.whole else f'CkChannelReadyMark(self->from{p}[k]);' if self.ready == 'marked' else f'CkChannelReady(self->from{p}[k]);'}
	{a}_credit{p}({c.el(f'n{p}_source(self, k)')}, note_send(&self->me, {p}, {PLAIN}, {c.number}, n{p}_source(self, k)));
}}
'''

    def go(self, program, c):
        p = self.number
        if c.number != self.on:
            return ''
        n = c.count(program)
        return f'''	if ({gate(self, f'self->me.number < {n}')}) {{
		n{p}_make(self);
		self->end{p} += {self.rounds};
		n{p}_put(self);
	}}
'''

    def handlers(self, program, c):
        if c.number != self.on:
            return ''
        p, a = self.number, c.name
        later = f'{a}_later{p}({c.this()}, note_send(&self->me, {p}, {PLAIN}, {c.number}, self->me.number), k);'
        take = {'now': f'	n{p}_ready(self, k);', 'later': f'	{later}', 'marked': f'	n{p}_ready(self, k);\n	{later}'}[self.ready]
        then = {'now': '', 'later': f'	n{p}_ready(self, k);', 'marked': f'	CkChannelReadyPollQ(self->from{p}[k]);'}[self.ready]
        came = f'''void {a}_on_n{p}({a} *self, int tag)
{{
	n{p}_came(self, tag / 100 % 100);'''
        if self.whole:
            take, then = '', f'	n{p}_all_ready(self);'
            took = f'	{later.replace(" k)", " 0)")}' if self.ready == 'later' else then
            came = f'''static void n{p}_all_ready({a} *self)
{{
	{a}_n{p}_ready(self);
	for (int k = 0; k < {len(self.shifts)}; k++)
		n{p}_ready(self, k);
}}
void {a}_on_n{p}({a} *self)
{{
	for (int k = 0; k < {len(self.shifts)}; k++)
		n{p}_came(self, k);
{took}'''
        return self.act_functions(program, c) + f'''
static void n{p}_came({a} *self, int k)
{{
	const uint64_t *v = self->in{p}[k];
	uint64_t key = n{p}_key(n{p}_source(self, k), self->seen{p}[k]);
	struct note *n = note_new(&self->me, NOTE_LANDED, {p});

	n->target = k;
	n->value = v[0];
	n->more = (uint64_t)self->seen{p}[k]++;
	for (int i = 1; i < {self.words}; i++)
		if (v[i] != note_mix(key + (uint64_t)i))
			n->flags = NOTE_WRONG;
{take}
}}
{came}
{behind(program, c, self)}}}
void {a}_on_credit{p}({a} *self, uint64_t id)
{{
	note_got(&self->me, {p}, id, true, 0);
	self->owed{p}--;
	n{p}_put(self);
}}
void {a}_on_later{p}({a} *self, uint64_t id, int k)
{{
	note_got(&self->me, {p}, id, true, 0);
	(void)k;
{then}
}}
'''

    def hook_names(self):
        return [(self.on, self.number)]

    def check(self, program, run):
        broken = []
        for n in run.of(self.number, 'LANDED'):
            if n.flags or n.value != n.more:
                broken.append(Broken('an arrival of a named channel finds the data of its put',
                                     f'round {n.more} of Element {n.target} of shifts {self.shifts}',
                                     f'round {n.value}{", other words wrong" if n.flags else ""} at {run.who(n)}', n.time))
        if run.ended and not broken:
            puts, landed = len(run.of(self.number, 'PUT')), len(run.of(self.number, 'LANDED'))
            if landed != puts * len(self.shifts):
                broken.append(Broken('each put arrives once', f'{puts * len(self.shifts)} arrivals', f'{landed}'))
        return broken
