#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests: every case of the tables (tests/*.cases, tests/*/*.cases), and every unit test.

    tests/run.py [-b build folder] [-s address|thread|clang] [--draw=[WORD]] [pattern]

`make check` builds the tests and calls this. The name of a case is "group: command shape"; a pattern chooses the cases
whose name contains it, and --draw a part of them (runner/draw.py). Each case runs in a session of its own, without a
terminal or input, with a time limit. It prints one line per group, and how far it is at least every ten seconds. For a
failure it prints the reason, the commands that repeat it, and the end of its output. What is skipped, in whole or in
part, has a line "skip  WHAT: WHY". The last line is "N passed, N failed, N skipped". tests/ways.cases explains the tables.
"""

import argparse
import concurrent.futures
import os
import queue
import random
import signal
import sys

sys.dont_write_bytecode = True  # no files beside the sources

from runner import draw, left, report, running, tables


def parse_options():
    parser = argparse.ArgumentParser(description='Runs the tests.', allow_abbrev=False)
    parser.add_argument('pattern', nargs='?', default='', help='only cases whose name contains it')
    parser.add_argument('-b', '--build', help='the build folder')
    parser.add_argument('-s', '--sanitizer', choices=['address', 'thread', 'clang'], default='',
                        help='which one it was built with; clang: the address sanitizer of clang, by make check-clang')
    parser.add_argument('-j', '--jobs', type=int, help='cases at a time (as many as there are cores)')
    parser.add_argument('-v', '--verbose', action='store_true', help='name each test that passes')
    parser.add_argument('--case', help='only the case of just this name')
    parser.add_argument('--list', action='store_true', help='print the names; run nothing')
    parser.add_argument('--seed', type=int, help='of random orders and delays (or CHECK_SEED)')
    parser.add_argument('--draw', metavar='WORD', help='what always runs, and a quarter of the others, drawn by the word; '
                        'if it is empty, by the name of the commit')
    parser.add_argument('--junit', metavar='FILE', help='write the results as JUnit XML, too')
    parser.add_argument('--times', metavar='FILE', help='write what each case took: wall, processor time, and its name')
    parser.add_argument('--settle', type=float, default=5, metavar='SECONDS',
                        help='how long processes and files may take to go (5)')
    options = parser.parse_args()
    options.build = options.build or 'build' + (options.sanitizer and f'-{options.sanitizer}')
    # A case takes two to four PEs; many more than the cores have would only wait for each other.
    options.jobs = options.jobs or max(2, min(len(os.sched_getaffinity(0)), 16))
    if options.seed is None:
        options.seed = int(os.environ.get('CHECK_SEED') or random.randrange(1, 32768))
    if options.draw == '':
        options.draw = draw.commit() or str(options.seed)
    return options


def chosen_cases(options):
    """Cases that have such a name: those to run, those that are not drawn, and those that do not run under this sanitizer."""
    named = [case for case in tables.all_cases(options.build)
             if options.pattern in case.title and options.case in (None, case.title)]
    if not named:
        sys.exit('tests/run.py: no case has such a name; --list prints them')
    cases = able = [case for case in named if case.runs_under(options.sanitizer)]
    if options.draw is not None:
        cases = draw.drawn(able, options.draw, options.sanitizer)
    taken = {case.title for case in cases}
    # What has a limit of its own takes long, so that it should not be the last to begin.
    return (sorted(cases, key=lambda case: -case.limit), [case for case in able if case.title not in taken],
            [case for case in named if not case.runs_under(options.sanitizer)])


def run_side_by_side(runner, lanes, told):
    """lanes: how many at a time, and what."""
    pools, ends = [concurrent.futures.ThreadPoolExecutor(jobs) for jobs, _ in lanes], queue.SimpleQueue()
    try:
        for pool, (_, cases) in zip(pools, lanes):
            for case in cases:
                pool.submit(runner.run, case).add_done_callback(ends.put)
        missing = sum(len(cases) for _, cases in lanes)
        while missing:
            try:
                told.add(ends.get(timeout=1).result())
                missing -= 1
            except queue.Empty:
                pass
            told.tick()
    finally:
        for pool in pools:
            pool.shutdown(wait=False, cancel_futures=True)


def run_cases(runner, cases, told, jobs):
    """First what can run side by side, then one by one what depends on time. Cases that wait for time to pass take
    no core from the others."""
    beside = [case for case in cases if not case.alone]
    run_side_by_side(runner, [(jobs, [case for case in beside if not case.waits]),
                              (2, [case for case in beside if case.waits])], told)
    run_side_by_side(runner, [(1, [case for case in cases if case.alone])], told)


def run_all(cases, not_drawn, left_out, options):
    runner, before = running.Runner(options), left.litter()
    told = report.Report(cases, left_out, options, not_drawn)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # Under nohup, or in a shell's background, these are ignored, and what is tested would inherit that.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run_cases(runner, cases, told, options.jobs)
        told.add(running.nothing_left(before, options.settle))
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        runner.finish()
        if options.junit:
            told.junit(options.junit)
        if options.times:
            told.times(options.times)
    return told.last_line()


def main():
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    options = parse_options()
    cases, not_drawn, left_out = chosen_cases(options)
    if options.list:
        print('\n'.join(case.title for case in cases))
        return True
    print(f'{len(cases)} cases, {options.jobs} at a time, --seed {options.seed}' +
          (f', {len(not_drawn):,} not drawn by {options.draw}' if not_drawn else ''), flush=True)
    return run_all(cases, not_drawn, left_out, options)


if __name__ == '__main__':
    sys.exit(0 if main() else 1)
