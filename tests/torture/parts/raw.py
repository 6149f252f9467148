# SPDX-License-Identifier: Apache-2.0
"""Raw channels between the members of a group: handles travel in calls, and each put waits for the receiver's word."""

from program import NO_ORDER, PLAIN, Broken, Part
from .clock import behind, gate
from .named import OOB


class Raw(Part):
    simple = {'oob': [False], 'words': [1, 2], 'rounds': [1, 2, 4], 'strided': [False], 'rebind': [False], 'shift': [1]}

    def __init__(self, number, on, shift=1, oob=False, strided=False, rebind=False, words=4, rounds=3, **fields):
        self.shift, self.oob, self.strided, self.rebind, self.words, self.rounds = shift, oob, strided, rebind, words, rounds
        super().__init__(number, on, **fields)

    def features(self, program):
        return ['raw channels', 'raw ' + ('oob' if self.oob else 'seq')] + ['raw strided'] * self.strided + ['raw rebound'] * self.rebind

    def entries(self, program, c):
        p = self.number
        return [f'entry void bind{p}(uint64_t id, CkDirectHandle h);', f'entry void may{p}(uint64_t id);'] if c.number == self.on else []

    def fields(self, program, c):
        p = self.number
        return [f'CkDirectHandle from{p}, to{p};', f'int seen{p}, put{p}, bound{p}, may{p}, end{p};',
                f'uint64_t *in{p}, *out{p}[2];'] if c.number == self.on else []

    def go(self, program, c):
        p, n = self.number, c.count(program)
        if c.number != self.on:
            return ''
        return f'''	if ({gate(self)}) {{
		self->end{p} += {self.rounds};
		if (!self->in{p}) {{
			self->in{p} = CkDirect_alloc({self.words * 8});
			memset(self->in{p}, 0, {self.words * 8});
			self->from{p} = CkDirect_createHandle{'' if self.oob else 'Seq'}(self->in{p}, {self.words * 8}, {OOB + ', ' if self.oob else ''}c{p}_landed, self);
			{c.name}_bind{p}({c.el(f'(self->me.number + {n} * 8 - {self.shift}) % {n}')}, note_send(&self->me, {p}, {PLAIN}, {c.number},
				(self->me.number + {n} * 8 - {self.shift}) % {n}), self->from{p});
		}}
		c{p}_put(self);
	}}
'''

    def handlers(self, program, c):
        if c.number != self.on:
            return ''
        p, a, n = self.number, c.name, c.count(program)
        step = 2 if self.strided else 1
        bind = f'CkDirect_assocLocalStrided(&self->to{p}, self->out{p}[0], (CkDirectStrides){{.block_bytes = 8, .blocks = {self.words}, .stride_bytes = 16}});' \
            if self.strided else f'CkDirect_assocLocalBuffer(&self->to{p}, self->out{p}[0], {self.words * 8});'
        rebind = self.rebind and not self.strided
        return f'''
static uint64_t c{p}_key(int sender, int round) {{ return note_mix((uint64_t)(sender * 100003 + {p}) << 20 | (uint64_t)round); }}
static void c{p}_put(struct {a} *self)
{{
	if (!self->bound{p} || !self->may{p} || self->put{p} == self->end{p})
		return;

	uint64_t key = c{p}_key(self->me.number, self->put{p}), *out = self->out{p}[{f'self->put{p} % 2' if rebind else '0'}];

	for (int i = 0; i < {self.words}; i++)
		out[{step} * i] = i ? note_mix(key + (uint64_t)i) : (uint64_t)self->put{p};
	note_plain(&self->me, NOTE_PUT, {p}, 0, (uint64_t)self->put{p}, 0);
	self->put{p}++;
	self->may{p} = 0;
{f'	CkDirect_rebind(&self->to{p}, out, {self.words * 8});' + chr(10) if rebind else ''}	CkDirect_put(&self->to{p});
}}
static void c{p}_landed(void *arg)
{{
	struct {a} *self = arg;
	int sender = (self->me.number + {n} * 8 - {self.shift}) % {n};
	struct note *m = note_new(&self->me, NOTE_LANDED, {p});
	uint64_t key = c{p}_key(sender, self->seen{p});

	m->value = self->in{p}[0];
	m->more = (uint64_t)self->seen{p}++;
	for (int i = 1; i < {self.words}; i++)
		if (self->in{p}[i] != note_mix(key + (uint64_t)i))
			m->flags = NOTE_WRONG;
	CkDirect_ready(&self->from{p});
	{a}_may{p}({c.el('sender')}, note_send(&self->me, {p}, {NO_ORDER}, {c.number}, sender));
{behind(program, c, self)}}}
void {a}_on_bind{p}({a} *self, uint64_t id, CkDirectHandle h)
{{
	note_got(&self->me, {p}, id, true, 0);
	self->to{p} = h;
	self->out{p}[0] = calloc({step}, {self.words * 8});
	self->out{p}[1] = calloc({step}, {self.words * 8});
	{bind}
	self->bound{p} = self->may{p} = 1;
	c{p}_put(self);
}}
void {a}_on_may{p}({a} *self, uint64_t id)
{{
	note_got(&self->me, {p}, id, true, 0);
	self->may{p} = 1;
	c{p}_put(self);
}}
'''

    def prototypes(self, program, c):
        return f'static void c{self.number}_landed(void *arg);\nstatic void c{self.number}_put(struct {c.name} *self);\n' if c.number == self.on else ''

    def hook_names(self):
        return [(self.on, self.number)]

    def check(self, program, run):
        broken = [Broken('an arrival of a channel finds the data of its put', f'round {n.more}',
                         f'round {n.value}{", other words wrong" if n.flags else ""} at {run.who(n)}', n.time)
                  for n in run.of(self.number, 'LANDED') if n.flags or n.value != n.more]
        if run.rest and not broken and len(run.of(self.number, 'PUT')) != len(run.of(self.number, 'LANDED')):
            broken.append(Broken('each put arrives once', f"{len(run.of(self.number, 'PUT'))}", f"{len(run.of(self.number, 'LANDED'))}"))
        return broken
