# SPDX-License-Identifier: Apache-2.0
"""A program that breaks a promise -> a smaller one that breaks the same one."""

import copy
import json
import re
import shutil
import time

import promises
from program import Coll, Program

RUNS = 60         # at most, of a program that fails only sometimes


def kind(broken):
    """What a smaller program must break, too."""
    return broken.promise if 'to its end' not in broken.promise else \
        broken.promise + re.sub(r'\(.*?\)|[\d\W]+', ' ', broken.seen)[:120]


class Shrinker:
    def __init__(self, build, folder, limit, seconds):
        self.build, self.folder, self.limit = build, folder, limit
        self.until = time.monotonic() + seconds
        self.runs = RUNS

    def failure(self, program, like, runs):
        """The first broken promise of this kind in so many runs, and in which run."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        try:
            if self.build.compile(program, self.folder):
                return None, runs
        except Exception:        # a smaller program may make no sense
            return None, runs
        for i in range(runs):
            broken = promises.first_broken(program, self.build.run(program, self.folder, self.limit))
            if broken and (like is None or kind(broken) == like):
                return broken, i + 1
            if time.monotonic() > self.until:
                break
        return None, runs

    def shrink(self, program, like, say=print):
        """The smallest program found, and what it breaks; None if it never fails."""
        broken, run = self.failure(program, like, self.runs)
        if not broken:
            return None, None
        runs = [run]
        best, changed = program, True
        while changed and time.monotonic() < self.until:
            changed = False
            for what, smaller in list(candidates(best)):
                # Three times as many runs as it took so far, on average: a miss is a miss in one case of twenty.
                tries = min(self.runs, 3 + 3 * sum(runs[-5:]) // len(runs[-5:]))
                found, run = self.failure(smaller, like, tries)
                if found:
                    say(f'    without {what}: still so (run {run})')
                    best, broken, changed = smaller, found, True
                    runs.append(run)
                    break
                if time.monotonic() > self.until:
                    break
        return best, broken


def changed(program, **fields):
    p = copy.deepcopy(program)
    p.__dict__.update(fields)
    return p


def candidates(program):
    """Programs that are a little smaller, each with what it is without; large steps first."""
    numbers = [p.number for p in program.parts if p.number]
    for half in (numbers[:len(numbers) // 2], numbers[len(numbers) // 2:]):
        if len(numbers) > 3:
            yield f'parts {half}', without_parts(program, half)
    for n in numbers:
        yield f'part {n}', without_parts(program, [n])
    for name in program.env:
        yield name, changed(program, env={k: v for k, v in program.env.items() if k != name})
    for c in program.colls:
        if c.kind != 'main' and not any(c.number in p.uses() for p in program.parts if p.number):
            yield f'collection {c.number}', changed(program, colls=[x for x in program.colls if x.number != c.number])
    for field, value in (('phases', 1), ('phases', program.phases - 1), ('ticks', program.ticks // 2), ('ticks', program.ticks - 1)):
        if 1 <= value < getattr(program, field):
            yield field, changed(program, **{field: value})
    for field, value in (('pace', 'self'), ('quiet_start', True), ('optimize', '-O0')):
        if getattr(program, field) != value:
            yield field, changed(program, **{field: value})
    for nodes, per_node in ((1, 1), (2, 1), (1, 2), (3, 1), (2, 2), (4, 1), (3, 2)):
        if nodes * per_node < program.pes:
            yield f'shape {program.nodes}x{program.per_node}', changed(program, nodes=nodes, per_node=per_node)
    yield from smaller_collections(program)
    yield from simpler_parts(program)


def without_parts(program, numbers):
    p = copy.deepcopy(program)
    p.keep([x for x in p.parts if x.number not in numbers])
    return p


def smaller_collections(program):
    for i, c in enumerate(program.colls):
        if c.kind != 'array':
            continue
        n = c.count(program)
        options = [Coll(c.number, 'array', (m,), c.sparse, c.where, c.offset) for m in (2, n // 2, n - 1) if 2 <= m < n]
        if len(c.dims) > 1:
            options.insert(0, Coll(c.number, 'array', (n,), c.sparse, c.where, c.offset))
        if c.where != 'default' or c.offset:
            options.append(Coll(c.number, 'array', c.dims, c.sparse))
        for new in options:
            yield f'size or place of collection {c.number}', changed(program, colls=program.colls[:i] + [new] + program.colls[i + 1:])


def simpler_parts(program):
    for i, part in enumerate(program.parts):
        for field, values in {**simple(part), **part.simple}.items():
            now = getattr(part, field, None)
            for value in values:
                if value is not None and isinstance(now, (int, float)) and not isinstance(now, bool) and value >= now:
                    continue
                if value != now:
                    new = copy.copy(part)
                    setattr(new, field, value)
                    yield f'{field} of part {part.number}', changed(program, parts=program.parts[:i] + [new] + program.parts[i + 1:])


def simple(part):
    found = {}
    if part.hook is None and part.every > 1 and part.number:
        found['first'] = [0]
    if part.only:
        found['only'] = [0]
    return found


def to_json(program):
    return json.dumps({**program.__dict__, 'colls': [c.__dict__ for c in program.colls],
                       'parts': [{'class': type(p).__name__, **p.__dict__} for p in program.parts]}, indent=1)


def from_json(text, classes):
    data = json.loads(text)
    p = Program(data['seed'])
    p.__dict__.update({k: v for k, v in data.items() if k not in ('colls', 'parts')})
    p.colls = []
    for c in data['colls']:
        p.colls.append(Coll(c['number'], c['kind'], c['dims'], c['sparse'], c['where'], c['offset']))
    for fields in data['parts']:
        part = classes[fields.pop('class')]
        new = part.__new__(part)
        new.__dict__.update({k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()})
        p.parts.append(new)
    return p


def leave(build, program, broken, folder, runs):
    """The program in a folder of its own, with how to run it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    build.compile(program, folder)
    for name in ('note.h', 'note.c'):
        shutil.copy(build.here / name, folder)
    (folder / 'x').unlink(missing_ok=True)
    (folder / 'program.json').write_text(to_json(program))
    env = ''.join(f'{k}={v} ' for k, v in program.env.items())
    (folder / 'README').write_text(f'''Drawn by the torture from seed {program.seed} and made smaller. It fails in about one run of {max(runs, 1)}.

promise:  {broken.promise}
promised: {broken.promised}
seen:     {broken.seen}

ckci x.ci && cc -std=gnu11 x.c note.c -o x $(pkg-config --cflags --libs chard)
mkdir -p notes && TORTURE_NOTES=notes {env}ckrun -n {program.pes} --ppn {program.per_node} --timeout 60 ./x

The program itself checks nothing. This runs it and checks its notes:
tests/torture/torture.py --program THIS-FOLDER --runs 100
''')
