#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the runtime promises when something goes wrong, tried many times.

    tests/reliability/run.py [-b build folder] [--short] [--seed N] [part ...]

`make reliability` calls this; `make reliability SHORT=1` the short form, a third of them. A part is a file here that draws trials,
or a command of its own (COMMANDS) whose last line is "N passed, N failed". The seed is printed: it draws the same
trials again, and --only repeats one of them. Where the kernel lets us, every worker has a /dev/shm, a /tmp and
System V segments of its own, so that nothing that a trial leaves goes unseen.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import multiprocessing
import multiprocessing.util
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time
import traceback

sys.dont_write_bytecode = True  # no files beside the sources
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from reliability import check, deaths, hostile, resources
from reliability.trials import Outcome
from runner import left
from runner.job import Places, new_mark

# Each has trials(count, seed) and run(trial, options, places); how many trials the full and the short form have.
PARTS = {
    'deaths': (deaths, 600, 200),
    'resources': (resources, 0, 1),
    'hostile': (hostile, 900, 300),
}
# What is a program of its own: {part: (command, more words of the full form, of the short form)}.
COMMANDS = {
    'byte flips': ('tests/damage/sweep.py', ['-n', '200'], ['-n', '67']),
    'the same, CK_CHECK=1': ('tests/damage/sweep.py', ['-n', '100', '--check'], ['-n', '34', '--check']),
    'allocation': ('tests/alloc/sweep.py', ['--full'], ['--short']),
}
LAST_LINES = 15


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('parts', nargs='*', metavar='part', help=f'of {", ".join([*PARTS, *COMMANDS])}; all if none is given')
    parser.add_argument('-b', '--build', default='build')
    parser.add_argument('-j', '--jobs', type=int, help='trials at a time (twice as many as there are cores, at most 4)')
    parser.add_argument('--short', action='store_true')
    parser.add_argument('--seed', type=int)
    parser.add_argument('--only', metavar='PART/NUMBER', help='just this trial')
    parser.add_argument('--self-test', action='store_true', help='whether planted faults are found; nothing else')
    parser.add_argument('-v', '--verbose', action='store_true', help='a line for each trial')
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    # Most of the time they wait for what a stopped or spinning job is given.
    options.jobs = options.jobs or min(2 * len(os.sched_getaffinity(0)), 4)
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
    places = Places(tmp=not build.startswith('/tmp/'))
    # Not atexit: many versions of Python do not run that in a worker that is forked.
    multiprocessing.util.Finalize(None, places.remove, exitpriority=0)


def one(name, number, options):
    start, trial = time.monotonic(), given[name, number]
    try:
        end = PARTS[name][0].run(trial, options, places)
    except Exception:  # a fault of ours is a failed trial, not the end of all
        end = Outcome(trial.kind, trial.what, [traceback.format_exc()])
    end.seconds = end.seconds or time.monotonic() - start
    return end


# ---- parts that are commands ---------------------------------------------------------------------


def run_command(name, options):
    """Its outcome, and how many trials passed, failed and were skipped."""
    program, full, short = COMMANDS[name]
    words = [program, '-b', options.build, '--seed', str(options.seed), *(short if options.short else full)]
    start = time.monotonic()
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors='replace', check=False)
        code, output = done.returncode, done.stdout
    except OSError as wrong:
        code, output = 127, str(wrong)
    end = Outcome('', shlex.join(words), seconds=time.monotonic() - start, output=output)
    counts = re.fullmatch(r'(\d+) passed, (\d+) failed(?:, (\d+) skipped)?', (output.splitlines() or [''])[-1])
    passed, failed, skipped = (int(number or 0) for number in counts.groups()) if counts else (0, 1, 0)
    if not counts:
        end.wrong = [f'exit code {code}, and its last line is not "N passed, N failed"']
    elif bool(code) != bool(failed):
        end.wrong, failed = [f'exit code {code} with {failed} failed'], max(failed, 1)
    elif failed:
        end.wrong = [f'{failed} failed']
    return end, passed, failed, skipped


# ---- what is printed ----------------------------------------------------------------------------


@dataclasses.dataclass
class Row:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    longest: float = 0

    def add(self, end, passed, failed, skipped):
        self.passed += passed
        self.failed += failed
        self.skipped += skipped
        self.longest = max(self.longest, end.seconds)


class Table:
    def __init__(self, options):
        self.options, self.rows, self.said = options, collections.defaultdict(Row), time.monotonic()

    def add(self, name, number, end):
        self.rows[name, end.kind].add(end, not end.wrong and not end.skipped, bool(end.wrong),
                                      bool(end.skipped) and not end.wrong)
        if end.wrong:
            self.print_failure(f'{name}/{number}', end)
        elif end.skipped:
            print(f'skip  {name}/{number} {end.what}: {end.skipped}', flush=True)
        elif self.options.verbose:
            last = end.output.strip().splitlines()[-1:]
            print(f'pass  {name}/{number} {end.what} ({end.seconds:.2f} s) {"".join(last)[:200]}', flush=True)

    def add_command(self, name, end, *counts):
        self.rows[name, ''].add(end, *counts)
        if end.wrong:
            self.print_failure(name, end, end.what)

    def print_failure(self, name, end, again=None):
        again = again or shlex.join(['tests/reliability/run.py', '-b', os.path.relpath(self.options.build), '--seed',
                                     str(self.options.seed), *['--short'] * self.options.short, '--only', name])
        print(f'FAIL  {name} {end.what}')
        for line in end.wrong:
            print(f'      {line}')
        print(f'      again: {again}')
        for line in end.output.splitlines()[-LAST_LINES:]:
            print(f'      | {line[:200]}')
        sys.stdout.flush()

    def print_rows(self):
        print(f'\n{"part":22}{"kind":24}{"trials":>7}{"passed":>8}{"failed":>8}{"skipped":>9}{"longest":>10}')
        order = [*PARTS, *COMMANDS]
        for (name, kind), row in sorted(self.rows.items(), key=lambda item: (order.index(item[0][0]), item[0][1])):
            print(f'{name:22}{kind:24}{row.passed + row.failed + row.skipped:7}{row.passed:8}{row.failed:8}'
                  f'{row.skipped:9}{row.longest:8.2f} s')
        passed, failed, skipped = (sum(getattr(row, what) for row in self.rows.values())
                                   for what in ('passed', 'failed', 'skipped'))
        print(f'\n{passed} passed, {failed} failed, {skipped} skipped')
        return failed == 0


def run_trials(table, options):
    pool = concurrent.futures.ProcessPoolExecutor(options.jobs, multiprocessing.get_context('fork'), begin,
                                                  (options.build,))
    ends = {pool.submit(one, name, number, options): (name, number) for name, number in given}
    start, missing = time.monotonic(), set(ends)
    while missing:
        done, missing = concurrent.futures.wait(missing, 9, concurrent.futures.FIRST_COMPLETED)
        for end in done:
            table.add(*ends[end], end.result())
        if time.monotonic() - table.said > 9:
            table.said = time.monotonic()
            print(f'      {len(ends) - len(missing):,} of {len(ends):,}, {table.said - start:.0f} s', flush=True)
    pool.shutdown()


def main():
    os.chdir(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    options = parse_options()
    if options.self_test:
        return check.self_test()
    table = Table(options)
    given.update(drawn(options))
    print(f'{len(given)} trials, {options.jobs} at a time, --seed {options.seed}', flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    os.environ['CHARD_TEST'] = mark = new_mark()
    try:
        run_trials(table, options)
    finally:
        for worker in multiprocessing.active_children():
            worker.kill()
        left.end_processes(mark, 0)
    for name in COMMANDS:
        if name in (options.parts or COMMANDS) and not options.only:
            table.add_command(name, *run_command(name, options))
    return table.print_rows()


if __name__ == '__main__':
    sys.exit(0 if main() else 1)
