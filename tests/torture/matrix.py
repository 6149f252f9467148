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

import draw


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


def crossed(program, build, folder, limit):
    """(pairs that are both there, pairs that are crossed) of one program."""
    def runs(p, count):
        if build.compile(p, folder):
            return []
        return [build.run(p, folder, limit) for _ in range(count)]
    names = features(program)
    whole = runs(program, 4)
    # Two features that are always the same parts are one.
    parts = {f: {p.number for p in program.parts if f in p.features(program)} for f in names}
    there = {pair for pair in itertools.combinations(names, 2) if not parts[pair[0]] & parts[pair[1]]}
    met = set()
    traces = {f: [events(program, f, r) for r in whole] for f in names}
    steady = [f for f in names if traces[f] and not differ(traces[f][:2], traces[f][2:])]
    for out in names if steady else []:
        less = runs(program.without(out), 2)
        for other in steady if less else []:
            pair = tuple(sorted((out, other)))
            if pair in there and pair not in met and differ(traces[other][:2], [events(program, other, r) for r in less]):
                met.add(pair)
    return there, met


def differ(a, b):
    return bool(a[0] & a[1] - b[0] - b[1] or b[0] & b[1] - a[0] - a[1])


def table(results):
    there, met = collections.Counter(), collections.Counter()
    for t, m in results:
        there.update(t)
        met.update(m)
    every = sorted({f for pair in there for f in pair})
    pairs = list(itertools.combinations(every, 2))
    lines = [f'{len(every)} features, {len(pairs)} pairs: {sum(1 for p in pairs if met[p])} crossed, '
             f'{sum(1 for p in pairs if there[p] and not met[p])} in one program and never crossed, '
             f'{sum(1 for p in pairs if not there[p])} never in one program']
    for f in every:
        mine = [p for p in pairs if f in p]
        lines.append(f'{f}:')
        for what, chosen in (('crossed', [p for p in mine if met[p]]), ('never', [p for p in mine if not met[p]])):
            names = [next(x for x in p if x != f) + (f' {met[p]}' if met[p] else '') for p in chosen]
            lines.append(f'    {what}: {", ".join(names) or "none"}')
    return '\n'.join(lines)


def of_seed(build, folder, limit, seed):
    folder.mkdir(parents=True, exist_ok=True)
    return crossed(draw.draw(seed), build, folder, limit)
