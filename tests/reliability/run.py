#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the runtime promises when something goes wrong, tried many times.

    tests/reliability/run.py [-b build folder] [--short] [--seed N] [part ...]

`make reliability` calls this; `make reliability SHORT=1` the short form. A part is a file here that draws trials,
or a command of its own (COMMANDS) whose last line is "N passed, N failed". The seed is printed: it draws the same
trials again, and --only repeats one of them. Where the kernel lets us, every worker has a /dev/shm, a /tmp and
System V segments of its own, so that nothing that a trial leaves goes unseen.
"""

import argparse
import collections
import concurrent.futures
import multiprocessing
import os
import random
import re
import shlex
import subprocess
import sys
import time
import traceback

sys.dont_write_bytecode = True  # no files beside the sources
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from reliability import deaths, hostile, resources
from reliability.trials import Outcome
from runner.job import Places

# Each has trials(count, seed) and run(trial, options, places); how many trials the full and the short form have.
PARTS = {
    'deaths': (deaths, 600, 64),
    'resources': (resources, 0, 1),
    'hostile': (hostile, 900, 150),
}
LAST_LINES = 15


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('parts', nargs='*', metavar='part', help=f'of {", ".join(PARTS)}; all if none is given')
    parser.add_argument('-b', '--build', default='build')
    parser.add_argument('-j', '--jobs', type=int, help='trials at a time (as many as there are cores, at most 4)')
    parser.add_argument('--short', action='store_true')
    parser.add_argument('--seed', type=int)
    parser.add_argument('--only', metavar='PART/NUMBER', help='just this trial')
    parser.add_argument('-v', '--verbose', action='store_true', help='a line for each trial')
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    options.jobs = options.jobs or min(len(os.sched_getaffinity(0)), 4)
    options.seed = random.randrange(1, 32768) if options.seed is None else options.seed
    return options


def drawn(options):
    """All trials, in the order in which they run: {(part, number): trial}."""
    only_part, _, only_number = (options.only or '').partition('/')
    found = {}
    for name, (part, full, short) in PARTS.items():
        if name not in (options.parts or PARTS) or only_part not in ('', name):
            continue
        trials = part.trials(short if options.short else full, options.seed)
        found |= {(name, number): trial for number, trial in enumerate(trials)
                  if only_number in ('', str(number))}
    return found


# ---- a worker -----------------------------------------------------------------------------------

given = {}  # what its parent has drawn: {(part, number): trial}
places = None


def begin(build):
    global places
    places = Places(build)


def one(name, number, options):
    start, trial = time.monotonic(), given[name, number]
    try:
        end = PARTS[name][0].run(trial, options, places)
    except Exception:  # a fault of ours is a failed trial, not the end of all
        end = Outcome(trial.kind, trial.what, [traceback.format_exc()])
    end.seconds = end.seconds or time.monotonic() - start
    return end


# ---- what is printed ----------------------------------------------------------------------------


class Table:
    def __init__(self, options):
        self.options, self.rows = options, collections.defaultdict(list)

    def add(self, name, number, end):
        self.rows[name, end.kind].append(end)
        if end.wrong:
            self.print_failure(f'{name}/{number}', end)
        elif end.skipped:
            print(f'skip  {name}/{number} {end.what}: {end.skipped}', flush=True)
        elif self.options.verbose:
            last = end.output.strip().splitlines()[-1:]
            print(f'pass  {name}/{number} {end.what} ({end.seconds:.2f} s) {"".join(last)[:200]}', flush=True)

    def print_failure(self, name, end):
        again = ['tests/reliability/run.py', '-b', os.path.relpath(self.options.build), '--seed',
                 str(self.options.seed), *['--short'] * self.options.short, '--only', name]
        print(f'FAIL  {name} {end.what}')
        for line in end.wrong:
            print(f'      {line}')
        print(f'      again: {shlex.join(again)}')
        for line in end.output.splitlines()[-LAST_LINES:]:
            print(f'      | {line[:200]}')
        sys.stdout.flush()

    def print_rows(self):
        print(f'\n{"part":12}{"kind":26}{"trials":>7}{"passed":>8}{"failed":>8}{"skipped":>9}{"longest":>10}')
        sums = [0, 0, 0]
        for (name, kind), ends in self.rows.items():
            failed = sum(bool(end.wrong) for end in ends)
            skipped = sum(bool(end.skipped) and not end.wrong for end in ends)
            counts = [len(ends) - failed - skipped, failed, skipped]
            sums = [a + b for a, b in zip(sums, counts)]
            print(f'{name:12}{kind:26}{len(ends):7}{counts[0]:8}{counts[1]:8}{counts[2]:9}'
                  f'{max(end.seconds for end in ends):8.2f} s')
        print(f'\n{sums[0]} passed, {sums[1]} failed, {sums[2]} skipped')
        return sums[1] == 0


def main():
    os.chdir(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    options = parse_options()
    table = Table(options)
    given.update(drawn(options))
    print(f'{len(given)} trials, {options.jobs} at a time, --seed {options.seed}', flush=True)
    context = multiprocessing.get_context('fork')
    with concurrent.futures.ProcessPoolExecutor(options.jobs, context, begin, (options.build,)) as pool:
        ends = {pool.submit(one, name, number, options): (name, number) for name, number in given}
        for end in concurrent.futures.as_completed(ends):
            table.add(*ends[end], end.result())
    return table.print_rows()


if __name__ == '__main__':
    sys.exit(0 if main() else 1)
