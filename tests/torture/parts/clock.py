# SPDX-License-Identifier: Apache-2.0
"""The frame of every program: the main chare begins each phase by a call of all; elements tick, each at its own pace."""

from program import PLAIN, Part


class Clock(Part):
    def __init__(self, number=0, **fields):
        super().__init__(number, 0, **fields)

    def features(self, program):
        return []

    def entries(self, program, c):
        echo = ['entry void echo(uint64_t id, int from, int t);'] if program.pace == 'echo' and c.kind in ('array', 'group') else []
        return ['entry void go(uint64_t id, int phase);', 'entry void tick(uint64_t id, int t);'] + echo

    def handlers(self, program, c):
        n, count, echo, begun, over = c.name, c.count(program), '', '', ''
        if counts_ends(program) and c.kind == 'array':
            begun = f"\tMain_ticking(mainProxy, note_send(&self->me, 0, {PLAIN}, 0, 0), 1);\n"
            over = f"\telse\n\t\tMain_ticking(mainProxy, note_send(&self->me, 0, {PLAIN}, 0, 0), -1);\n"
        tick = f'{n}_tick({c.this()}, note_send(&self->me, 0, {PLAIN}, {c.number}, self->me.number), self->t);'
        if program.pace == 'echo' and c.kind in ('array', 'group'):
            # The next tick is the answer of a neighbour, so nobody runs far ahead of all others.
            tick = f'''{{
		int to = (self->me.number + 1 + self->t) % {count};

		{n}_echo({c.el('to')}, note_send(&self->me, 0, {PLAIN}, {c.number}, to), self->me.number, self->t);
	}}'''
            echo = f'''void {n}_on_echo(struct {n} *self, uint64_t id, int from, int t)
{{
	note_got(&self->me, 0, id, true, 0);
	{n}_tick({c.el('from')}, note_send(&self->me, 0, {PLAIN}, {c.number}, from), t);
}}
'''
        return f'''{echo}
static void {n}_next(struct {n} *self)
{{
	if (++self->t < TICKS)
		{tick}
{over}}}
void {n}_on_tick(struct {n} *self, uint64_t id, int t)
{{
	note_got(&self->me, 0, id, t == self->t, 0);
{ticking(program, c)}	{n}_next(self);
}}
void {n}_on_go(struct {n} *self, uint64_t id, int phase)
{{
	note_got(&self->me, 0, id, true, 0);
	if (phase <= self->phase)
		return;        /* born in it: the first ticks are those of the next phase */
	self->phase = phase;
	self->t = -1;
{begun}{going(program, c)}	{n}_next(self);
}}
'''


def counts_ends(program):
    """An element that syncs may stand still when all is quiet, so the main chare counts those that tick."""
    return any(hasattr(p, 'instead_of_next') for p in program.parts)


def gate(part, others=''):
    """The C condition under which a part acts."""
    conditions = [f'0x{part.phases & 0xff:x} >> (self->phase & 7) & 1'] if part.phases & 0xff != 0xff else []
    if part.only is not None:
        conditions.append(f'self->me.number == {part.only}')
    return ' && '.join([others] * bool(others) + conditions) or 'true'


def ticking(program, c):
    text = ''
    for p in program.parts:
        if p.act(program) and p.on == c.number and p.hook is None:
            when = f't % {p.every} == {p.first % p.every}' if p.every > 1 else ''
            text += f'\tif ({gate(p, when)})\n\t\t{c.name}_act{p.number}(self);\n'
        if hasattr(p, 'instead_of_next') and p.on == c.number:
            text += p.instead_of_next(program, c)
    return text


def going(program, c):
    return ''.join(p.go(program, c) for p in program.parts)


def behind(program, c, part, where=0):
    """What other parts do behind a handler of this one."""
    text = ''
    for p in program.parts:
        if p.act(program) and p.on == c.number and p.hook == part.number:
            text += f'\tif ({gate(p)})\n\t\t{c.name}_act{p.number}(self);\n'
    return text
