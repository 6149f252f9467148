#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs programs and examples on several hosts, which are namespaces of this machine, under each launcher.

    tests/rig/hosts.py [-b build folder] [--hosts 2,4] [--draw=[WORD]] [--link SEED] [--wire WORDS] [pattern]

`make check-hosts` calls it. It takes the commands that the tables of tests run in the shape 2x1, with the rules for
what must come out. --draw: a sixth of them, others with each launcher and number of hosts, as the word draws, or the name of
the commit; a pattern: those whose command contains it. --link: over cables that lose, delay, double, swap and damage frames
as the seed says; 0 draws a seed. --wire: with this CK_WIRE. It prints what fails as tests/run.py does, then a table launcher x hosts x programs. What cannot run here has a line "skip  WHAT: WHY". The
last line is "N passed, N failed, N skipped".
"""

import argparse
import concurrent.futures
import os
import random
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))

import rig  # noqa: E402
from runner import draw, report, running, tables  # noqa: E402

# Hosts: (nodes on each, PEs of each). With two nodes on a host, memory and network are mixed.
SHAPES = {2: (2, 1), 3: (1, 1), 4: (1, 2)}
ONE_IN = 6
GROUPS = ('programs and examples, 2x1', 'examples')
# Of so many frames each kind of damage must have hit some: 40 are drawn for it, though not each is overtaken that should be.
ENOUGH_FRAMES = 20000


def parse_options():
    parser = argparse.ArgumentParser(description='Runs programs on several hosts.', allow_abbrev=False)
    parser.add_argument('pattern', nargs='?', default='', help='only commands that contain it')
    parser.add_argument('-b', '--build', default='build', help='the build folder')
    parser.add_argument('--hosts', default='2,4', help='numbers of hosts, of 2, 3, 4 (2,4)')
    parser.add_argument('--launcher', default='', help='only launchers whose name contains it')
    parser.add_argument('--draw', metavar='WORD', help='a sixth of the commands, drawn by the word, or by the name of the commit')
    parser.add_argument('--link', type=int, metavar='SEED', help='over bad cables; 0 draws a seed')
    parser.add_argument('--wire', metavar='WORDS', default='', help='CK_WIRE of all jobs')
    parser.add_argument('-j', '--jobs', type=int, default=2, help='jobs at a time (2)')
    parser.add_argument('-v', '--verbose', action='store_true', help='name each test that passes')
    options = parser.parse_args()
    options.hosts = [int(word) for word in options.hosts.split(',')]
    if not set(options.hosts) <= set(SHAPES):
        parser.error('--hosts wants 2, 3 or 4, or several of them with commas between them')
    options.link = random.randrange(1, 32768) if options.link == 0 else options.link
    if options.draw == '':
        options.draw = draw.commit() or str(random.randrange(1, 32768))
    # What runner.running wants to know of a run.
    options.sanitizer, options.seed, options.settle = '', 1, 10
    return options


def commands(options):
    """(environment, words, checks, limit) of each command, once; without the launcher."""
    launcher, found, seen = f'{options.build}/bin/ckrun', [], set()
    for case in tables.all_cases(options.build):
        shape = case.name.rsplit(' ', 1)[-1]
        # Where all nodes end with 1 at once, srun may end them first, and tell that.
        if case.group not in GROUPS or shape != '2x1' or case.command[0] != launcher or ('exit', '1') in case.checks:
            continue
        words = case.command[case.command.index('--ppn') + 2:]
        key = repr((sorted(case.env.items()), words))
        if key not in seen and options.pattern in ' '.join(words):
            seen.add(key)
            found.append((case.env, words, case.checks))
    return found


def drawn(found, hosts, launcher, options):
    """All of the commands, or a sixth. There are up to ten launchers and numbers of hosts, and each has others."""
    if options.draw is None:
        return found
    numbers = random.Random(f'{options.draw} {hosts.n} {launcher.name} {"" if options.link is None else "link"}')
    return [found[i] for i in sorted(numbers.sample(range(len(found)), -(-len(found) // ONE_IN)))]


class Launched(running.Runner):
    """Runs cases on the rig. TMPDIR of the runner is not there on the hosts."""

    def __init__(self, options, environment):
        super().__init__(options)
        self.given = {name: text for name, text in self.given.items() if not name.startswith(('SLURM', 'OMPI'))}
        self.given |= environment


def case_of(hosts, launcher, wire, env, words, checks):
    nodes, ppn = SHAPES[hosts.n]
    env = env | {'CK_PES': str(ppn), 'CK_VERBOSE': '1'}
    # Most programs find any number of jobs of one node right, too. So one line must say that it is one job.
    checks = [check for check in checks if check[0] != 'quiet'] + \
        [('one', f'^chard: UCX .*, {nodes * hosts.n} nodes on several hosts$')]
    if wire:
        env |= {'CK_WIRE': wire}
        checks += [('one', '^chard: what leaves a host is s')]
    start = hosts.enter(1) + ['env', '-u', 'TMPDIR'] + launcher.words(hosts, nodes, env | {'CHARD_TEST': ''})
    return tables.Case(f'{launcher.name}, {hosts.n} hosts', ' '.join(os.path.basename(word) for word in words),
                       start + words, env, list(checks))


def litter_case(hosts, launcher):
    end = running.Ending(tables.Case(f'{launcher.name}, {hosts.n} hosts', 'nothing is left on the hosts', []))
    until = time.monotonic() + 5
    while (left := {i: hosts.litter(i) for i in hosts.numbers()}) and any(left.values()) and time.monotonic() < until:
        time.sleep(0.1)
    end.wrong = [f'left on h{i}: {" ".join(paths)}' for i, paths in left.items() if paths]
    end.code = int(bool(end.wrong))
    return end


def link_case(hosts, before, launcher):
    """Cables have done what they should, or the programs have shown nothing."""
    end = running.Ending(tables.Case(f'{launcher.name}, {hosts.n} hosts', 'the cables were bad', []))
    done = {name: n - before[name] for name, n in totals(hosts).items()}
    print('      of all frames: ' + ' '.join(f'{name}={n}' for name, n in done.items()), flush=True)
    if 0 < done['seen'] < ENOUGH_FRAMES:
        end.skipped = f'{done["seen"]} frames are too few to judge them'
    else:
        end.wrong = [f'no frame was {name}' for name in ('lost', 'duplicated', 'reordered', 'flipped') if not done[name]]
    end.code = int(bool(end.wrong))
    return end


def totals(hosts):
    """What has become of frames, on all cables and both ways together."""
    ways = [way for i in hosts.numbers() for way in hosts.link_counts(i).values()] if hosts.links else []
    return {name: sum(way[name] for way in ways) for name in ways[0]} if ways else {}


def run_launcher(hosts, launcher, environment, options):
    """Ends of all its cases."""
    found = commands(options)
    cases = [case_of(hosts, launcher, options.wire, *command) for command in drawn(found, hosts, launcher, options)]
    if len(cases) < len(found):
        print(f'skip  {launcher.name}, {hosts.n} hosts, {len(found) - len(cases)} of {len(found)} commands: not drawn by '
              f'{options.draw}', flush=True)
    runner = Launched(options, environment)
    told, before = report.Report(cases, [], options), totals(hosts)
    try:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for end in pool.map(runner.run, cases):
                told.add(end)
                told.tick()
        told.add(litter_case(hosts, launcher))
        if hosts.links:
            told.add(link_case(hosts, before, launcher))
    finally:
        runner.finish()
    return told.ends


def on_rig(n, folder, options, rows):
    """Runs all launchers on n hosts; returns how many tests failed."""
    hosts, slurm, failed = rig.drawn_rig(n, folder, options.link, options.build), None, 0
    for launcher in rig.launchers():
        if options.launcher not in launcher.name:
            continue
        if launcher.missing:
            print(f'skip  {launcher.name}, {n} hosts: {launcher.missing}', flush=True)
            rows.append((launcher.name, n, '-', '-', launcher.missing))
            continue
        environment = {}
        if launcher.name.startswith('srun'):
            slurm = slurm or rig.Slurm(hosts)
            environment = {'SLURM_CONF': slurm.conf}
        start = time.monotonic()
        ends = run_launcher(hosts, launcher, environment, options)
        wrong = sum(1 for end in ends if end.wrong)
        failed += wrong
        rows.append((launcher.name, n, len(ends) - wrong, wrong, f'{time.monotonic() - start:.0f} s'))
    return failed


def work(n, folder, options, result):
    rows = []
    try:
        on_rig(n, folder, options, rows)
    except rig.Refused as wrong:
        print(f'FAIL  the rig of {n} hosts: {wrong}', flush=True)
        rows.append(('the rig', n, 0, 1, str(wrong)))
    result.write(''.join('\t'.join(map(str, row)) + '\n' for row in rows))
    result.flush()
    return 0


def all_rows(options):
    """One rig after the other, each in namespaces of its own."""
    rows = []
    for n in options.hosts:
        with tempfile.TemporaryFile('w+', encoding='utf-8') as result:
            code = rig.run_inside(lambda folder, n=n, result=result: work(n, folder, options, result))
            result.seek(0)
            lines = result.read().splitlines()
        if code or not lines:
            rows.append(('the rig', str(n), '0', '1', f'it ended with {code}'))
        rows += [line.split('\t') for line in lines]
    return rows


def print_table(rows):
    """`right` counts the look at what is left on the hosts, too, and that at what the cables did."""
    print(f'\n{"launcher":20} {"hosts":>5} {"nodes":>5} {"PEs":>4} {"right":>6} {"wrong":>6}')
    for name, n, right, wrong, note in rows:
        nodes, ppn = SHAPES[int(n)]
        print(f'{name:20} {n:>5} {nodes * int(n):>5} {nodes * ppn * int(n):>4} {right:>6} {wrong:>6}  {note}')


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))
    options = parse_options()
    if reason := rig.why_not():
        print(f'skip  several hosts: this kernel lets us make no namespaces: {reason}\n0 passed, 0 failed, 1 skipped')
        return 77
    if options.link is not None and (reason := rig.link_missing(options.build)):
        print(f'skip  several hosts over bad cables: {reason}\n0 passed, 0 failed, 1 skipped')
        return 77
    if not commands(options):
        sys.exit('hosts.py: no command contains this')
    rows = all_rows(options)
    print_table(rows)
    passed = sum(int(row[2]) for row in rows if row[2] != '-')
    failed = sum(int(row[3]) for row in rows if row[3] != '-')
    print(f'\n{passed} passed, {failed} failed, {sum(1 for row in rows if row[2] == "-")} skipped')
    if options.launcher and all(row[2] == '-' for row in rows):
        return 77
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
