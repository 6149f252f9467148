#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the model misses what is taken out of the notes, or sees what is put into them: for each part a small program runs
once, and then its notes are spoilt in several ways.

    tests/torture/spoilt.py [-b BUILD]
"""

import argparse
import copy
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True

import execute
import promises
from parts import Calls, Clock, Counted, Detectors, Globals, Moves, Named, Quiets, Rebirths, Reductions, SectionSums, Transfers
from program import Coll, Program


def program(*parts):
    p = Program(0)
    p.nodes, p.per_node, p.phases, p.ticks, p.env = 2, 2, 2, 3, {}
    p.colls = [Coll(0, 'main'), Coll(1, 'array', (8,)), Coll(2, 'nodegroup'), Coll(3, 'array', (6,), True, 'demand')]
    p.parts = [Clock(), *parts, Moves(9, 1, chance=30)]
    return p


# ---- ways to spoil: each returns false if there is nothing to spoil --------------------------------------------------


def notes(run, part, *kinds):
    return [n for n in run.kind(*kinds) if n.part == part]


def drop(run, part, *kinds):
    """The last note of a kind is not there."""
    found = notes(run, part, *kinds)
    if not found:
        return False
    gone = max(found, key=lambda n: n.time)
    run.by_kind[gone.kind].remove(gone)
    run.all.remove(gone)
    for n in run.all:
        if n.born == gone.born and n.seq > gone.seq:
            n.seq -= 1
    return True


def double(run, part, *kinds):
    """It is there twice."""
    found = notes(run, part, *kinds)
    if found:
        run.by_kind[found[0].kind].append(copy.copy(found[0]))
    return bool(found)


def other(field):
    def spoil(run, part, *kinds):
        found = notes(run, part, *kinds)
        if found:
            setattr(found[-1], field, getattr(found[-1], field) + 1)
        return bool(found)
    spoil.__doc__ = f'Its {field} is another one.'
    return spoil


def early(run, part, *kinds):
    """It was made before all others."""
    found = notes(run, part, *kinds)
    if found:
        found[-1].time = min(n.time for n in notes(run, part, 'GOT') or run.kind('GOT')) - 1
    return bool(found)


CASES = (
    ('get of buffers', Transfers(1, 1, 1), 'RESULT', (drop, double, other('flags'))),
    ('get of buffers, the source', Transfers(1, 1, 1), 'WENT_ON', (drop, double)),
    ('put of buffers', Transfers(1, 1, 1, put=True, rdma=3), 'RESULT', (drop, double, other('flags'))),
    ('global pointers', Globals(1, 1), 'RESULT', (drop, double, other('flags'))),
    ('nocopy', Calls(1, 1, 1, way='nocopy', sizes=(200,)), 'WENT_ON', (drop, double)),
    ('nocopy, the receiver', Calls(1, 1, 1, way='nocopy', sizes=(200,)), 'GOT', (drop, double, other('flags'))),
    ('[count]', Counted(1, 1), 'GOT', (drop, double, other('flags'))),
    ('sets of named channels', Named(1, 1, shifts=(1, 2), whole=True), 'LANDED', (drop, double, other('flags'), other('value'))),
    ('completion detectors', Detectors(1, 1), 'RESULT', (drop, double, early)),
    ('quiescence', Quiets(1, 1, only=0), 'RESULT', (double, other('target'), early)),
    ('section reductions', SectionSums(1, 0, 1, 1, target='all', refnum=5), 'RESULT',
     (drop, double, other('value'), other('more'), other('target'))),
    ('tuples of sections', SectionSums(1, 0, 1, 0, tuple=True), 'RESULT', (drop, double, other('value'), other('id'))),
    ('tuples', Reductions(1, 1, 0, tuple=True, refnum=5), 'RESULT', (drop, double, other('value'), other('target'))),
    ('reductions of elements that are inserted again', (Reductions(1, 1, 1, target='all', refnum=5), Rebirths(2, 1)), 'RESULT',
     (drop, double, other('value'), other('target'))),
    ('nodegroups', Calls(1, 1, 2), 'GOT', (drop, double, other('flags'))),
    ('nodegroups, all', Calls(1, 1, 2, mode='all', only=0), 'GOT', (drop, double, other('flags'))),
    ('reductions of nodegroups', Reductions(1, 2, 2, target='all'), 'RESULT', (drop, double, other('value'))),
    ('[createhere]', Calls(1, 1, 3, attribute='createhere'), 'GOT', (drop, double)),
    ('[createhome]', Calls(1, 1, 3, attribute='createhome'), 'GOT', (drop, double)),
)


def demanded_twice(run, part, *kinds):
    """An element that a call makes is born twice."""
    found = [n for n in run.kind('BORN') if n.coll == 3]
    run.by_kind['BORN'] += found[:1]
    return bool(found)


def failures(build, folder, name, parts, kind, ways):
    parts = parts if isinstance(parts, tuple) else (parts,)
    p = program(*map(copy.copy, parts))
    wrong = build.compile(p, folder)
    if wrong:
        return [f'{name}: {wrong}']
    run = build.run(p, folder)
    broken = promises.first_broken(p, run)
    if broken:
        return [f'{name}: {broken.promise}: {broken.promised}, {broken.seen}']
    found = []
    for way in ways + (demanded_twice,) * name.startswith('[create'):
        spoilt = copy.deepcopy(run)
        if not way(spoilt, parts[0].number, kind):
            found.append(f'{name}: no {kind} to spoil')
        elif not promises.first_broken(p, spoilt):
            found.append(f'{name}: nobody sees this of a {kind}: {way.__doc__}')
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('-b', '--build', default='build')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='spoilt') as folder:
        folder = pathlib.Path(folder)
        build, wrong = execute.Build(options.build, folder), []
        for case in CASES:
            wrong += failures(build, folder, *case)
    print(*wrong, f'{len(CASES)} parts, {len(wrong)} wrong', sep='\n')
    sys.exit(1 if wrong else 0)


if __name__ == '__main__':
    main()
