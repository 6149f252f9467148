#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws programs that compose features, runs them, and compares what came with what GUIDE.md promises.

    tests/torture/torture.py [-b BUILD] [--seeds A-B] [--runs N] [--minutes M] [--jobs N] [--shrink DIR] [--hosts N [--link SEED]]

A seed draws the same program each time. Each run of it has an environment of its own, also drawn. Most are saved while they
run; of these, nodes of some are killed (ckrun --replace), and some start again from their last checkpoint, if they can in
another shape. What the first broken
promise was, and what was seen instead, is printed for each seed that fails. With --shrink the first seed that fails in
each way becomes a small program in a folder of its own, with how to run it. --program FOLDER runs such a program again.
--hosts runs all on several hosts made of namespaces, --link over cables that lose, delay, double and swap frames.
--matrix checks nothing: it tells which pairs of features the seeds cross, and which they do not.
"""

import argparse
import concurrent.futures
import pathlib
import shutil
import sys
import tempfile
import threading
import time

import draw
import execute
import far
import matrix
import parts
import promises
import shrink


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('-b', '--build', default='build')
    parser.add_argument('--seeds', default='1-100', help='A-B, or one')
    parser.add_argument('--more', type=int, default=0, metavar='N', help='N seeds more, behind the last')
    parser.add_argument('--runs', type=int, default=3, help='of each seed')
    parser.add_argument('--without', default='', help='features, with commas between')
    parser.add_argument('--minutes', type=float, default=float('inf'), help='begin no seed later')
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--keep', type=pathlib.Path, help='a folder for the programs')
    parser.add_argument('--shrink', type=pathlib.Path, help='a folder for small programs')
    parser.add_argument('--shrink-minutes', type=float, default=5, help='for each')
    parser.add_argument('--program', type=pathlib.Path, help='the folder of a program that --shrink has left')
    parser.add_argument('--matrix', action='store_true', help='tell which pairs of features the seeds cross')
    parser.add_argument('--enough', type=int, default=3, help='with --matrix: pairs crossed in so many programs are not looked at again')
    parser.add_argument('--forget', action='store_true', help='forget one note of each run, which must be missed')
    parser.add_argument('--hosts', type=int, choices=(2, 3, 4))
    parser.add_argument('--link', type=int, metavar='SEED', help='with --hosts')
    parser.add_argument('--limit', type=int, default=60, help='seconds for one run')
    parser.add_argument('-v', '--verbose', action='store_true', help='a line for each seed')
    options = parser.parse_args()
    first, _, last = options.seeds.partition('-')
    options.seeds = range(int(first), int(last or first) + options.more + 1)
    return options


class Outcome:
    def __init__(self, seed, broken=None, program=None, run=0, notes=0, seconds=0.0):
        self.seed, self.broken, self.program, self.run, self.notes, self.seconds = \
            seed, broken, program, run, notes, seconds

    def __str__(self):
        p = self.program
        head = f'seed {self.seed} run {self.run} ({p.nodes}x{p.per_node}' + ''.join(f' {k}={v}' for k, v in p.env.items()) + ')'
        if not self.broken:
            return f'{head}: {self.notes} notes, {self.seconds:.2f} s'
        return f'{head}: {self.broken.promise}\n    promised: {self.broken.promised}\n    seen:     {self.broken.seen}'


def programs_of(options, seed):
    if options.program:
        return [shrink.from_json((options.program / 'program.json').read_text(), parts.CLASSES)] * options.runs
    programs = [draw.draw(seed, run) for run in range(options.runs)]
    for feature in filter(None, options.without.split(',')):
        programs = [p.without(feature) for p in programs]
    return programs


def one_seed(options, build, work, seed):
    began = time.monotonic()
    programs = programs_of(options, seed)
    folder = (options.keep or work) / f'seed{seed}'
    folder.mkdir(parents=True, exist_ok=True)
    wrong = build.compile(programs[0], folder)
    if wrong:
        return Outcome(seed, promises.Broken('the program compiles', 'no errors', wrong), programs[0])
    outcome = Outcome(seed)
    for outcome.run, outcome.program in enumerate(programs):
        run = build.run(outcome.program, folder, options.limit)
        outcome.notes += len(run.all)
        if options.forget:
            run.forget()
        outcome.broken = promises.first_broken(outcome.program, run)
        if outcome.broken:
            (folder / 'said').write_text(run.text)
            break
    if not options.keep:
        shutil.rmtree(folder, ignore_errors=True)
    outcome.seconds = time.monotonic() - began
    return outcome


def make_small(options, build, work, outcome):
    folder = options.shrink / f'seed{outcome.seed}'
    shrinker = shrink.Shrinker(build, work / f'shrink{outcome.seed}', options.limit, options.shrink_minutes * 60)
    small, broken = shrinker.shrink(outcome.program, shrink.kind(outcome.broken), lambda text: None)
    if not small:
        return f'seed {outcome.seed} run {outcome.run}: it did not fail again, so there is no small program'
    again = shrinker.failure(small, shrink.kind(broken), shrink.RUNS)[1]
    shrink.leave(build, small, broken, folder, again)
    lines = sum(1 for _ in open(folder / 'x.c'))
    return f'seed {outcome.seed}: a program of {lines} lines, {len(small.parts) - 1} parts, {small.nodes}x{small.per_node}, in {folder}'


class Torture:
    """All seeds, and what has failed so far."""

    def __init__(self, options, build, work):
        self.options, self.build, self.work = options, build, work
        self.began = time.monotonic()
        self.lock = threading.Lock()
        self.done, self.failed, self.kinds = 0, 0, {}

    def one(self, seed):
        if time.monotonic() - self.began > self.options.minutes * 60:
            return
        outcome = one_seed(self.options, self.build, self.work, seed)
        with self.lock:
            self.done += 1
            if outcome.broken:
                self.failed += 1
                seeds = self.kinds.setdefault(shrink.kind(outcome.broken), [])
                seeds.append(seed)
                new = len(seeds) == 1
            if outcome.broken or self.options.verbose:
                print(outcome, flush=True)
        if outcome.broken and new and self.options.shrink and outcome.broken.promise != 'the program compiles':
            text = make_small(self.options, self.build, self.work, outcome)
            with self.lock:
                print(text, flush=True)

    def all(self):
        seeds = self.options.seeds if not self.options.program else [0]
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            for future in [pool.submit(self.one, seed) for seed in seeds]:
                future.result()
        print(f'{self.done} seeds, {self.failed} failed, {time.monotonic() - self.began:.0f} s')
        for kind, seeds in self.kinds.items():
            print(f'    {len(seeds)}: {kind}: seeds {", ".join(map(str, seeds[:20]))}')


def show_matrix(options, work):
    build, began = execute.Build(options.build, work), time.monotonic()
    found = matrix.Matrix(options.enough)

    def one(seed):
        if time.monotonic() - began < options.minutes * 60:
            found.add(build, work / f'seed{seed}', options.limit, seed)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(one, options.seeds))
    print(f'{found.seeds} seeds, {time.monotonic() - began:.0f} s')
    print(found.text())
    print(found.table())


def torture(options, build, work):
    all_seeds = Torture(options, build, work)
    all_seeds.all()
    return 1 if all_seeds.failed else 0


def main():
    options = parse_options()
    with tempfile.TemporaryDirectory(prefix='torture') as work:
        work = pathlib.Path(work)
        if options.matrix:
            show_matrix(options, work)
            return
        if options.hosts:
            sys.exit(far.run(options, lambda build, folder: torture(options, build, folder)))
        sys.exit(torture(options, execute.Build(options.build, work), work))


if __name__ == '__main__':
    main()
