#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Flips bytes in messages between processes and counts how the job ends.

    tests/damage/sweep.py -b build [-n FLIPS] [-t rings|ucx] [--check] [--seed N] [-v] [program ...]

Every run changes one byte of one message on arrival (tests/damage/flip.c). A run ends

    right    with exit code 0: nobody needed the byte, or it was the program's data
    told     with exactly one line of the runtime or the program, and an exit code that is no signal's
    wrong    with an exit code, but no line, or several from one process
    crash    by a signal
    data     by a signal in a handler of the program
    hang     not within the time limit

In checked mode (--check: CK_CHECK=1) only `right` and `told` will do. Without it a message that was damaged into
another one that is well formed does what it says then: a program can wait for the one that it was, read a value
that it uses as an index, or say on two nodes at once that something is wrong. So a crash counts as the program's
if its own handler was reading its own data when it came, and hangs are counted, not refused.
"""

import argparse
import concurrent.futures
import os
import random
import re
import signal
import subprocess
import sys

PROGRAMS = ['arrays', 'params', 'mixed', 'reductions', 'messages', 'sections', 'insert', 'channels',
            'aggregate', 'futures', 'scan', 'nodegroups', 'chares', 'completion', 'getput', 'sdag']
ENVIRONMENT = {'rings': {'CK_SHARE': '1'}, 'ucx': {'CK_SHARE': '0'}}
LIMIT = 10


def wish(rng):
    """Half of the flips hit heads, and half of the messages are among the first."""
    return ','.join(str(n) for n in (
        rng.randrange(2), int(2 ** rng.uniform(0, 8.5)),
        rng.randrange(96) if rng.random() < 0.6 else rng.randrange(1 << 20),
        rng.choice((1 << rng.randrange(8), rng.randrange(1, 256)))))


def run(options, transport, program, flip):
    environment = dict(os.environ, CK_FLIP=flip, CK_DIRECT_PATH='message', **ENVIRONMENT[transport])
    if options.check:
        environment['CK_CHECK'] = '1'
    process = subprocess.Popen([f'{options.build}/bin/ckrun', '-n', '2',
                                f'{options.build}/tests/damage/{program}'], env=environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors='replace',
                               start_new_session=True)
    try:
        out, _ = process.communicate(timeout=LIMIT)
        return process.returncode, out
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return None, process.communicate()[0]


def outcome(code, out):
    lines = [line for line in out.splitlines() if re.match(r'(chard|ckrun|FAILED|[\w./]+:\d+:)', line)
             and not re.match(r'(chard:   #|ckrun: )', line)]
    if not re.search('^flip: ', out, re.M):
        return 'unused' if code == 0 else 'wrong'
    if code is None:
        return 'hang'
    if code >= 128 or code < 0:
        return 'data' if re.search(r'^chard:   #[0-3] (\w+_on_|ck_call_|ck_pack_)\w+', out, re.M) else 'crash'
    if code == 0:
        return 'right'
    return 'told' if len(lines) == 1 else 'wrong'


def one(options, transport, number):
    """Try until a byte was flipped: some messages come in some runs only."""
    rng = random.Random(f'{options.seed} {transport} {number}')
    program = options.programs[number % len(options.programs)]
    while True:
        flip = wish(rng)
        code, out = run(options, transport, program, flip)
        result = outcome(code, out)
        if result != 'unused':
            return result, f'CK_FLIP={flip} {program}', out


def sweep(options, transport):
    counts = dict.fromkeys(('right', 'told', 'wrong', 'data', 'crash', 'hang'), 0)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for result, what, out in pool.map(lambda i: one(options, transport, i), range(options.flips)):
            counts[result] += 1
            if options.verbose or result in options.bad or (options.show and result not in ('right', 'told')):
                print(f'{result}: {transport} {what}')
                print(''.join(f'    {line}\n' for line in out.splitlines()[:14]), end='', flush=True)
    bad = sum(counts[result] for result in options.bad)
    print(f'{"not ok" if bad else "ok"} {transport}{", checked mode" if options.check else ""}: ' +
          ', '.join(f'{count} {result}' for result, count in counts.items()))
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('-b', '--build', default='build')
    parser.add_argument('-n', '--flips', type=int, default=200)
    parser.add_argument('-t', '--transport', choices=list(ENVIRONMENT), action='append')
    parser.add_argument('-j', '--jobs', type=int, default=2)
    parser.add_argument('-v', '--verbose', action='store_true')
    parser.add_argument('--show', action='store_true', help='all runs that are neither right nor told')
    parser.add_argument('--check', action='store_true', help='with CK_CHECK=1')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('programs', nargs='*', default=PROGRAMS)
    options = parser.parse_args()
    options.programs = options.programs or PROGRAMS
    options.bad = ('wrong', 'data', 'crash', 'hang') if options.check else ('crash',)
    sys.exit(1 if sum([sweep(options, transport)
                       for transport in options.transport or ENVIRONMENT]) else 0)


main()
