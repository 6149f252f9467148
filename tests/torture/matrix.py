# SPDX-License-Identifier: Apache-2.0
"""Which pairs of features have met.

Two features of a program are crossed if the trace of one's events is another one when the other is taken out; that both are
there does not count. An event's trace is who noted it, for the how many-th time, on which PE, after how many moves, and the
value. Time decides some of that, so the program and the program without a feature run twice each: what counts is what both
runs of one have and no run of the other. A feature whose trace differs in that way between four runs of the same program is
left to time, and tells nothing in that program.
"""

import collections
import itertools
import shutil

import draw

NOTES = 2500      # about as many in a run: enough to see who meets whom
# Of the table: one feature of each kind of part.
KINDS = ('calls', 'broadcasts', 'sections', '[channel]', '[aggregate]', '[when]', '[createhere]', '[createhome]', 'with nocopy',
         'get of buffers', 'put of buffers', 'callbacks', 'threads', 'bodies', 'reductions', 'section reductions', 'tuples', 'scans', 'fences',
         'quiescence', 'completion detectors', 'inserts', 'destruction', 'moves', 'syncs', 'named channels', 'reducing channels',
         'raw channels')


def facts(run, parts):
    """The trace of the events of these parts."""
    times, found = collections.Counter(), set()
    for n in sorted((n for n in run.all if n.part in parts and n.part), key=lambda n: (n.coll, n.number, n.born, n.seq)):
        who = n.part, n.kind, n.coll, n.number
        times[who] += 1
        value = n.value if n.kind not in ('SEND', 'ALL', 'INSERT') else n.target
        found.add((*who, times[who], n.pe, n.stay, value))
    return found


def features(program):
    return sorted({f for p in program.parts for f in p.features(program)})


def events(program, feature, run):
    return facts(run, {p.number for p in program.parts if feature in p.features(program)})


def crossed(program, build, folder, limit, enough=lambda pair: False):
    """(pairs that are both there, pairs that are crossed) of one program. Pairs that are crossed often enough are left out."""
    def runs(p, count):
        if build.compile(p, folder):
            return []
        return [build.run(p, folder, limit) for _ in range(count)]
    names = features(program)
    # Two features that are always the same parts are one.
    parts = {f: {p.number for p in program.parts if f in p.features(program)} for f in names}
    there = {pair for pair in itertools.combinations(names, 2) if not parts[pair[0]] & parts[pair[1]]}
    left, met = {pair for pair in there if not enough(pair)}, set()
    whole = runs(program, 4) if left else []
    traces = {f: [events(program, f, r) for r in whole] for f in names}
    steady = [f for f in names if traces[f] and not differ(traces[f][:2], traces[f][2:])]
    for out in names:
        others = [f for f in steady if tuple(sorted((out, f))) in left - met]
        less = runs(program.without(out), 2) if others else []
        for other in others if less else []:
            if differ(traces[other][:2], [events(program, other, r) for r in less]):
                met.add(tuple(sorted((out, other))))
    return there, met


def differ(a, b):
    return bool(a[0] & a[1] - b[0] - b[1] or b[0] & b[1] - a[0] - a[1])


class Matrix:
    """How often each pair was there, and crossed, in the programs so far."""

    def __init__(self, enough):
        self.enough, self.there, self.met = enough, collections.Counter(), collections.Counter()
        self.seeds = 0

    def add(self, build, folder, limit, seed):
        folder.mkdir(parents=True, exist_ok=True)
        program = draw.draw(seed)
        draw.lighten(program, NOTES)
        there, met = crossed(program, build, folder, limit, lambda pair: self.met[pair] >= self.enough)
        self.seeds += 1
        self.there.update(there)
        self.met.update(met)
        shutil.rmtree(folder, ignore_errors=True)

    def text(self):
        every = sorted({f for pair in self.there for f in pair})
        pairs = list(itertools.combinations(every, 2))
        lines = [f'{len(every)} features, {len(pairs)} pairs: {sum(1 for p in pairs if self.met[p])} crossed, '
                 f'{sum(1 for p in pairs if self.there[p] and not self.met[p])} in one program and never crossed, '
                 f'{sum(1 for p in pairs if not self.there[p])} never in one program']
        for f in every:
            mine = [p for p in pairs if f in p]
            lines.append(f'{f}:')
            for what, chosen in (('crossed', [p for p in mine if self.met[p]]),
                                 ('together only', [p for p in mine if self.there[p] and not self.met[p]]),
                                 ('never together', [p for p in mine if not self.there[p]])):
                names = [next(x for x in p if x != f) + (f' {self.met[p]}' if self.met[p] else '') for p in chosen]
                lines.append(f'    {what}: {", ".join(names) or "none"}')
        return '\n'.join(lines)

    def table(self):
        """The kinds of parts against each other, as Markdown."""
        rows = sorted({f for pair in self.there for f in pair if self.rank(f) >= 0}, key=self.rank)
        head = '| | ' + ' | '.join(str(i + 1) for i in range(len(rows))) + ' |'
        lines = [head, '|---|' + '---|' * len(rows)]
        for i, a in enumerate(rows):
            cells = [self.cell(a, b) for b in rows[:i]] + ['.'] * (len(rows) - i)
            lines.append(f'| {i + 1} {a} | ' + ' | '.join(cells) + ' |')
        return '\n'.join(lines)

    @staticmethod
    def rank(feature):
        return KINDS.index(feature) if feature in KINDS else -1

    def cell(self, a, b):
        pair = tuple(sorted((a, b)))
        return str(self.met[pair]) if self.met[pair] else '0' if self.there[pair] else ''
