#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws programs that compose features, runs them, and compares what came with what GUIDE.md promises.

    tests/torture/torture.py [-b BUILD] [--seeds A-B] [--minutes M] [--jobs N] [--keep DIR]

The first broken promise of each seed that fails is printed. A seed draws the same program each time; what it does may
depend on time, so a failure may take several runs (--runs).
"""

import argparse
import concurrent.futures
import pathlib
import shutil
import sys
import tempfile
import time

import draw
import execute
import promises


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('-b', '--build', default='build')
    parser.add_argument('--seeds', default='1-100', help='A-B, or one')
    parser.add_argument('--runs', type=int, default=3, help='of each seed, each in an environment of its own')
    parser.add_argument('--without', default='', help='features, with commas between')
    parser.add_argument('--minutes', type=float, default=float('inf'), help='begin no run later')
    parser.add_argument('--jobs', type=int, default=2)
    parser.add_argument('--keep', type=pathlib.Path, help='a folder for the programs')
    parser.add_argument('--limit', type=int, default=60, help='seconds for one run')
    parser.add_argument('-v', '--verbose', action='store_true', help='a line for each seed')
    options = parser.parse_args()
    first, _, last = options.seeds.partition('-')
    options.seeds = range(int(first), int(last or first) + 1)
    return options


def one_seed(options, build, work, seed):
    """(seed, what is wrong or None, seconds)"""
    began = time.monotonic()
    programs = [draw.draw(seed, run) for run in range(options.runs)]
    for feature in filter(None, options.without.split(',')):
        programs = [p.without(feature) for p in programs]
    program = programs[0]
    folder = (options.keep or work) / f'seed{seed}'
    folder.mkdir(parents=True, exist_ok=True)
    wrong = build.compile(program, folder)
    if wrong:
        return seed, promises.Broken('the program compiles', 'no errors', wrong), 0
    count = 0
    for program in programs:
        run = build.run(program, folder, options.limit)
        count += len(run.all)
        wrong = promises.first_broken(program, run)
        if wrong:
            (folder / 'said').write_text(run.text)
            break
    if not options.keep:
        shutil.rmtree(folder, ignore_errors=True)
    return seed, wrong, time.monotonic() - began, count, program


def main():
    options = parse_options()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix='torture') as work:
        work = pathlib.Path(work)
        build = execute.Build(options.build, work)
        failed = done = 0
        kinds = {}
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            def guarded(seed):
                if time.monotonic() - began > options.minutes * 60:
                    return None
                return one_seed(options, build, work, seed)
            for result in pool.map(guarded, options.seeds):
                if result is None:
                    break
                seed, wrong = result[:2]
                done += 1
                if options.verbose and not wrong:
                    print(f'seed {seed}: {result[3]} notes, {result[2]:.2f} s, {shape(result[4])}', flush=True)
                if wrong:
                    failed += 1
                    kinds.setdefault(wrong.promise, []).append(seed)
                    say = shape(result[4]) if len(result) > 4 else ''
                    print(f'seed {seed} ({say}): {wrong.promise}\n    promised: {wrong.promised}\n    seen:     {wrong.seen}', flush=True)
        print(f'{done} seeds, {failed} failed, {time.monotonic() - began:.0f} s')
        for promise, seeds in kinds.items():
            print(f'    {len(seeds)}: {promise}: {", ".join(map(str, seeds[:20]))}')
    sys.exit(1 if failed else 0)


def shape(p):
    return f'{p.nodes}x{p.per_node}' + ''.join(f' {k}={v}' for k, v in p.env.items())


if __name__ == '__main__':
    main()
