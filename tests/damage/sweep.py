#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Flips bytes in messages between processes and counts how the job ends.

    tests/damage/sweep.py -b BUILD [--full|--short] [--table] [--seed N]
    tests/damage/sweep.py -b BUILD [-n FLIPS] [-t rings|ucx] [--check] [--seed N] [-v] [program ...]

--short flips a few bytes in each transport, in default and in checked mode; --full 600. --table prints a line
for each kind: transport, mode, program, and how often each outcome came.

Every run changes one byte of one message on arrival (tests/damage/flip.c). A run ends

    right    with exit code 0: nobody needed the byte, or it was the program's data
    told     with exactly one line of the runtime or the program, and an exit code that is no signal's; also by the
             watchdog, with exit code 125
    wrong    with an exit code, but no line, or several from one process
    crash    by a signal, or with a sanitizer's report
    data     by a signal in a handler of the program
    hang     not within the time limit
    waits    the same, where the byte was the program's
    broken   not as it should, although no byte was changed: the program is not there, or fails by itself

In checked mode (--check: CK_CHECK=1) only `right` and `told` will do. Without it a message that was damaged into
another one that is well formed does what it says then: a program can wait for the one that it was, read a value
that it uses as an index, or say on two nodes at once that something is wrong. So a crash counts as the program's
if its own handler was reading its own data when it came. So does a hang if the byte was one of the program's: in a
message for a program's own handler, behind the runtime's head of 32 bytes, or in a call, behind the head of 64. What
flip.c has told says so.
"""

import argparse
import concurrent.futures
import os
import random
import re
import signal
import subprocess
import sys
import zlib

PROGRAMS = ['arrays', 'params', 'mixed', 'reductions', 'messages', 'sections', 'insert', 'channels',
            'aggregate', 'futures', 'scan', 'nodegroups', 'chares', 'completion', 'getput', 'globals', 'sdag',
            'groups', 'broadcast', 'qd', 'fence', 'sync', 'spread', 'lend', 'readonlies', 'delete', 'converse']
ENVIRONMENT = {'rings': {'CK_SHARE': '1'}, 'ucx': {'CK_SHARE': '0'}, 'tcp': {'CK_SHARE': '0', 'UCX_TLS': 'tcp,self'}}
LIMIT = 20
SLOT_BEFORE = 19     # a slot's byte AT is the message's byte AT + 19: it lacks much of the head (flip_slot)
OUTCOMES = ('right', 'told', 'wrong', 'data', 'waits', 'crash', 'hang', 'broken')


def wish(rng):
    """Half of the flips hit heads, and half of the messages are among the first."""
    return ','.join(str(n) for n in (
        rng.randrange(2), int(2 ** rng.uniform(0, 8.5)),
        rng.randrange(96) if rng.random() < 0.6 else rng.randrange(1 << 20),
        rng.choice((1 << rng.randrange(8), rng.randrange(1, 256)))))


def run(options, transport, program, flip):
    environment = dict(os.environ, CK_FLIP=flip, CK_DIRECT_PATH='message',
                       CK_BACKTRACE='plain', **ENVIRONMENT[transport])
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


def is_the_programs(out):
    """Whether the byte that was changed is one of the program's, which the runtime does not look at."""
    flip = re.search(r'^flip: (message|slot) (.+): byte (\d+) of', out, re.M)
    if not flip:
        return False
    at = int(flip[3])
    if flip[1] == 'slot':
        at += SLOT_BEFORE
    own = not re.match(r'(ck\.|csd\.|CkDirect$|thread$|machine$)', flip[2])
    return at >= (32 if own else 64) and (own or flip[2] == 'ck.element')


def outcome(code, out):
    lines = [line for line in out.splitlines() if re.match(r'(chard|ckrun|FAILED|[\w./]+:\d+:)', line)
             and not re.match(r'(chard:   |chard: the environment has CK_FLIP|ckrun: )', line)]
    if not re.search('^flip: ', out, re.M):
        return 'unused' if code == 0 else 'broken'
    if code is None:
        return 'waits' if is_the_programs(out) else 'hang'
    if re.search(r'^==\d+==ERROR: |runtime error: ', out, re.M):
        return 'crash'
    if code >= 128 or code < 0:
        return 'data' if re.search(r'^chard:   #[0-3] (\w+_on_|ck_call_|ck_pack_)\w+', out, re.M) else 'crash'
    if code == 0:
        return 'right'
    return 'told' if len(lines) == 1 or code == 125 else 'wrong'


def one(options, transport, number):
    """Try until a byte was flipped: some messages come in some runs only."""
    rng = random.Random(f'{options.seed} {transport} {number}')
    program = options.programs[number % len(options.programs)]
    while True:
        flip = wish(rng)
        code, out = run(options, transport, program, flip)
        result = outcome(code, out)
        if result != 'unused':
            return program, result, f'CK_FLIP={flip} {program}', out


def begin(options, transport, pool):
    """The tries of a transport."""
    mode = 'checked' if options.check else 'default'
    # Each sweep begins with other programs, so that short ones do not leave the same ones out.
    first = zlib.crc32(f'{options.seed} {transport} {mode}'.encode()) % len(options.programs)
    return [pool.submit(one, options, transport, i) for i in range(first, first + options.flips)]


def judge(options, transport, tries):
    """How many of them ended badly."""
    counts = dict.fromkeys(OUTCOMES, 0)
    mode = 'checked' if options.check else 'default'
    for program, result, what, out in (done.result() for done in tries):
        counts[result] += 1
        line = options.rows.setdefault((transport, mode, program), dict.fromkeys(OUTCOMES, 0))
        line[result] += 1
        if options.verbose or result in options.bad or (options.show and result not in ('right', 'told')):
            print(f'{result}: {transport} {what}')
            print(''.join(f'    {line}\n' for line in out.splitlines()[:14]), end='', flush=True)
    bad = sum(counts[result] for result in options.bad)
    print(f'{"not ok" if bad else "ok"} {transport}{", checked mode" if options.check else ""}: ' +
          ', '.join(f'{count} {result}' for result, count in counts.items()), flush=True)
    return bad


def sweep(options):
    """All transports at a time, because those that wait for the watchdog take no core from the others."""
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        tries = {transport: begin(options, transport, pool) for transport in options.transport or ENVIRONMENT}
        return sum([judge(options, transport, tries[transport]) for transport in tries])


def table(rows):
    print('transport mode    program      ' + ''.join(f'{name:>7}' for name in ('flips', *OUTCOMES)))
    for (transport, mode, program), counts in sorted(rows.items()):
        print(f'{transport:9} {mode:7} {program:13}{sum(counts.values()):7}' +
              ''.join(f'{counts[name]:7}' for name in OUTCOMES))


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('-b', '--build', default='build')
    parser.add_argument('-n', '--flips', type=int, default=200)
    parser.add_argument('-t', '--transport', choices=list(ENVIRONMENT), action='append')
    parser.add_argument('-j', '--jobs', type=int, default=4)
    parser.add_argument('-v', '--verbose', action='store_true')
    parser.add_argument('--show', action='store_true', help='all runs that are neither right nor told')
    parser.add_argument('--check', action='store_true', help='with CK_CHECK=1')
    parser.add_argument('--short', action='store_true', help='8 flips a transport and mode')
    parser.add_argument('--full', action='store_true', help='600 flips a transport and mode')
    parser.add_argument('--table', action='store_true')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('programs', nargs='*', default=PROGRAMS)
    options = parser.parse_args()
    options.programs = options.programs or PROGRAMS
    options.rows = {}
    modes = [options.check]
    if options.short or options.full:
        options.flips = 600 if options.full else 8
        modes = [False, True]
    bad = 0
    for options.check in modes:
        options.bad = ('wrong', 'data', 'waits', 'crash', 'hang', 'broken') if options.check else ('crash', 'hang', 'broken')
        bad += sweep(options)
    if options.table:
        table(options.rows)
    print(f'{sum(sum(counts.values()) for counts in options.rows.values()) - bad} passed, {bad} failed')
    sys.exit(1 if bad else 0)


main()
