#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""In how many seeds the torture finds a mutant that is planted where features meet (planted.list).

    tests/torture/planted.py [--seeds A-B] [--runs N] [--minutes M] [NAME ...]
    tests/torture/planted.py --check

All happens in a copy of the tree in a temporary folder. The search for a mutant ends at the first seed that finds it.
"""

import argparse
import os
import pathlib
import signal
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent / 'mutants'), str(HERE.parent)]

import execute
import listing
import scratch
import shrink
import torture

LIBRARY = 'build/libchard.so'


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('names', nargs='*')
    parser.add_argument('--seeds', default='1-2000')
    parser.add_argument('--runs', type=int, default=3)
    parser.add_argument('--minutes', type=float, default=10, help='for each mutant')
    parser.add_argument('--check', action='store_true', help='only look whether the list names mutants')
    options = parser.parse_args()
    first, _, last = options.seeds.partition('-')
    options.seeds = range(int(first), int(last or first) + 1)
    # What torture.one_seed looks at.
    options.program, options.keep, options.without, options.forget, options.limit = None, None, '', False, 30
    return options


def wanted(names):
    lines = [line.split('|') for line in (HERE / 'planted.list').read_text().splitlines() if not line.startswith('#')]
    mutants = {m.name: m for m in listing.Listing().mutants}
    return [(mutants[name.strip()], features.strip()) for name, features in lines if not names or name.strip() in names]


def search(options, build, work):
    """The outcome that finds it, or None; and how many seeds were tried."""
    until, tried = time.monotonic() + options.minutes * 60, 0
    for seed in options.seeds:
        if time.monotonic() > until:
            break
        tried += 1
        outcome = torture.one_seed(options, build, work, seed)
        if outcome.broken:
            return outcome, tried
    return None, tried


def judge(options, tree, work, mutant):
    path = tree / mutant.path
    source = path.read_text()
    path.write_text(mutant.planted(source))
    wrong = scratch.make(str(tree), [LIBRARY])
    found, tried = (None, 0) if wrong else search(options, execute.Build(tree / 'build', work), work)
    path.write_text(source)
    if wrong:
        return f'does not compile: {wrong[-300:]}'
    return f'seed {found.seed} run {found.run}: {shrink.kind(found.broken)}' if found else f'not found in {tried} seeds'


def main():
    os.chdir(TOP)
    options = parse_options()
    if options.check:
        print(f'{len(wanted([]))} mutants')
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))       # the folder goes, too
    with tempfile.TemporaryDirectory(prefix='planted') as folder:
        tree, work = pathlib.Path(folder) / 'tree', pathlib.Path(folder) / 'work'
        work.mkdir()
        scratch.copy_tree(str(TOP), str(tree))
        wrong = scratch.make(str(tree), [LIBRARY, 'tools'])
        if wrong:
            sys.exit(f'tests/torture/planted.py: the tree cannot be built: {wrong[-400:]}')
        for mutant, features in wanted(options.names):
            began = time.monotonic()
            print(f'{mutant.name} ({features}): {judge(options, tree, work, mutant)} ({time.monotonic() - began:.0f} s)', flush=True)


if __name__ == '__main__':
    main()
