# SPDX-License-Identifier: Apache-2.0
"""Reducing channels: what several elements put is combined, and arrives once."""

from program import NO_ORDER, Broken, Part
from .clock import behind, gate


class Reducing(Part):
    simple = {'senders': [1, 2], 'words': [1], 'rounds': [1, 2, 4]}

    def __init__(self, number, on, senders=2, words=2, rounds=3, **fields):
        # Element 0 receives; elements 1 .. senders put, and 0 does, too, if there are no others.
        self.senders, self.words, self.rounds = senders, words, rounds
        super().__init__(number, on, **fields)

    def features(self, program):
        return ['named channels', 'reducing channels']

    def who(self, program):
        n = program.coll(self.on).count(program)
        return list(range(1, min(self.senders, n - 1) + 1)) or [0]

    def entries(self, program, c):
        p = self.number
        return [f'entry [arrival] void x{p}(int tag);', f'entry void may{p}(uint64_t id);'] if c.number == self.on else []

    def fields(self, program, c):
        p = self.number
        return [f'uint64_t *in{p}, *out{p};', f'CkReducing *from{p};', f'CkChannel *to{p};',
                f'int seen{p}, put{p}, may{p}, end{p}, takes{p}, puts{p};'] if c.number == self.on else []

    def pup(self, program, c):
        p, room = self.number, self.words * 8
        return '' if c.number != self.on else f'''	if (self->takes{p}) {{
		self->in{p} = pup_alloc(p, self->in{p}, {room});
		pup_bytes(p, self->in{p}, {room});
		pup_reducing(p, &self->from{p}, self->in{p});
	}}
	if (self->puts{p}) {{
		self->out{p} = pup_alloc(p, self->out{p}, {room});
		pup_bytes(p, self->out{p}, {room});
		pup_channel(p, &self->to{p}, self->out{p});
	}}
'''

    def go(self, program, c):
        if c.number != self.on:
            return ''
        p, who, a = self.number, self.who(program), c.name
        elements = ', '.join(f'{c.el(i)}.ck' for i in who)
        return f'''	if ({gate(self, f'self->me.number <= {max(who)}')}) {{
		if (self->me.number == 0 && !self->in{p}) {{
			CkElement from[] = {{{elements}}};

			self->takes{p} = 1;
			self->in{p} = calloc({self.words}, 8);
			self->from{p} = {a}_x{p}_reduced(self, from, {len(who)}, {p}, self->in{p}, {self.words * 8}, CkReduction_sum_ulong);
		}}
		if ({'self->me.number >= 1' if who != [0] else 'true'}) {{
			if (!self->out{p}) {{
				self->puts{p} = 1;
				self->out{p} = calloc({self.words}, 8);
				self->to{p} = {a}_x{p}_to(self, {c.el(0)}, {p}, self->out{p}, {self.words * 8});
				self->may{p} = 1;
			}}
			self->end{p} += {self.rounds};
			x{p}_put(self);
		}}
	}}
'''

    def prototypes(self, program, c):
        return f'static void x{self.number}_put(struct {c.name} *self);\n' if c.number == self.on else ''

    def handlers(self, program, c):
        if c.number != self.on:
            return ''
        p, a, who = self.number, c.name, self.who(program)
        return f'''
static uint64_t x{p}_word(int sender, int round, int i) {{ return note_mix((uint64_t)(sender * 100003 + {p}) << 20 | (uint64_t)(round * 512 + i)); }}
static void x{p}_put(struct {a} *self)
{{
	if (!self->may{p} || self->put{p} == self->end{p})
		return;
	for (int i = 0; i < {self.words}; i++)
		self->out{p}[i] = x{p}_word(self->me.number, self->put{p}, i);
	note_plain(&self->me, NOTE_PUT, {p}, 0, (uint64_t)self->put{p}, 0);
	self->put{p}++;
	self->may{p} = 0;
	CkChannelPut(self->to{p});
}}
void {a}_on_x{p}({a} *self, int tag)
{{
	struct note *m = note_new(&self->me, NOTE_LANDED, {p});
	const int who[] = {{{', '.join(map(str, who))}}};

	(void)tag;
	m->more = (uint64_t)self->seen{p};
	for (int i = 0; i < {self.words}; i++) {{
		uint64_t sum = 0;

		for (int k = 0; k < {len(who)}; k++)
			sum += x{p}_word(who[k], self->seen{p}, i);
		if (self->in{p}[i] != sum)
			m->flags = NOTE_WRONG;
	}}
	self->seen{p}++;
	CkReducingReady(self->from{p});
	for (int k = 0; k < {len(who)}; k++)
		{a}_may{p}({c.el('who[k]')}, note_send(&self->me, {p}, {NO_ORDER}, {c.number}, who[k]));
{behind(program, c, self)}}}
void {a}_on_may{p}({a} *self, uint64_t id)
{{
	note_got(&self->me, {p}, id, true, 0);
	self->may{p} = 1;
	x{p}_put(self);
}}
'''

    def hook_names(self):
        return [(self.on, self.number)]

    def check(self, program, run):
        broken = [Broken('a reducing channel combines what all have put', f'round {n.more}', f'something else at {run.who(n)}', n.time)
                  for n in run.of(self.number, 'LANDED') if n.flags]
        puts, landed = len(run.of(self.number, 'PUT')), len(run.of(self.number, 'LANDED'))
        if run.rest and not broken and puts != landed * len(self.who(program)):
            broken.append(Broken('each round of a reducing channel arrives once', f'{puts / len(self.who(program))}', f'{landed}'))
        return broken
