#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Elements that all move in every step, for as long as there is time: tests/programs/wander and wander2d in many runs.

    tests/moving/wander.py [-b BUILD] [--steps N] [--seeds N] [--shapes 2x1,4x2] [--orders queue,delay] [--seconds S]

For each seed, shape and order there is one run. The programs check all that they get, and compare their sums bit by
bit with elements that stay. The runs of a program with one seed and one shape must also print one hash, in whatever
order their messages were delivered. With --seconds no run begins later than that; what was left out is said.
A run that fails prints the command that repeats it. The last line has the sum of all.
"""

import argparse
import itertools
import re
import subprocess
import sys
import time

SHAPES = '1x1,2x1,1x2,4x1,2x2,4x2,8x1,8x4'
ORDERS = {'plain': (), 'queue': ('CK_RANDOM_QUEUE',), 'delay': ('CK_RANDOM_DELAY',),
          'both': ('CK_RANDOM_QUEUE', 'CK_RANDOM_DELAY')}
MOVES = {'wander': 8, 'wander2d': 9}     # in a step


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('-b', '--build', default='build')
    parser.add_argument('--programs', default='wander,wander2d')
    parser.add_argument('--steps', type=int, default=100000)
    parser.add_argument('--seeds', type=int, default=20, help='how many')
    parser.add_argument('--first', type=int, default=1, help='the first of them')
    parser.add_argument('--shapes', default=SHAPES, help='processes x PEs of each')
    parser.add_argument('--orders', default='queue,delay', help='of ' + ', '.join(ORDERS))
    parser.add_argument('--sparse', action='store_true', help='elements are inserted anywhere')
    parser.add_argument('--check', action='store_true', help='in checked mode')
    parser.add_argument('--limit', type=int, default=3600, help='seconds for one run')
    parser.add_argument('--seconds', type=float, default=float('inf'), help='for all')
    parser.add_argument('-v', '--verbose', action='store_true', help='a line for each run')
    options = parser.parse_args()
    for name in ('programs', 'shapes', 'orders'):
        setattr(options, name, getattr(options, name).split(','))
    wrong = [o for o in options.orders if o not in ORDERS] + [p for p in options.programs if p not in MOVES] + \
        [s for s in options.shapes if not re.fullmatch(r'[1-9]\d*x[1-9]\d*', s)]
    if wrong:
        sys.exit(f'wander.py: {wrong[0]}: no such order, program or shape')
    return options


def command(options, seed, program, shape, order):
    nodes, pes = map(int, shape.split('x'))
    env = [f'{name}={seed}' for name in ORDERS[order]] + ['CK_CHECK=1'] * options.check
    return ['env', *env, f'{options.build}/bin/ckrun', '-n', str(nodes * pes), '--ppn', str(pes), '--timeout',
            str(options.limit), f'{options.build}/tests/programs/{program}', str(seed), str(options.steps)] + \
        ['sparse'] * options.sparse


def run(what):
    """The hash, or what is wrong."""
    done = subprocess.run(what, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors='replace')
    found = re.search(r'^wander(?:2d)?: \d+ steps, hash ([0-9a-f]{16})$', done.stdout, re.M)
    if done.returncode or not found:
        lines = [line for line in done.stderr.splitlines() if 'randomised' not in line]
        return None, f'exit code {done.returncode}: {lines[0] if lines else "no word"}'
    return found[1], None


def one(options, hashes, seed, program, shape, order):
    """One run. Returns whether it was right."""
    what = command(options, seed, program, shape, order)
    start = time.monotonic()
    is_hash, wrong = run(what)
    first = hashes.setdefault((seed, program, shape), is_hash)
    if not wrong and is_hash != first:
        wrong = f'hash {is_hash}; an earlier run of this shape has {first}'
    if wrong:
        print(f'FAILED: {" ".join(what)}\n    {wrong}', flush=True)
    elif options.verbose:
        print(f'{program} {shape} {order} seed {seed}: {time.monotonic() - start:.1f} s', flush=True)
    return not wrong


def main():
    options = parse_options()
    began = time.monotonic()
    seeds = range(options.first, options.first + options.seeds)
    runs = list(itertools.product(seeds, options.programs, options.shapes, options.orders))
    hashes, done, failed, moves = {}, 0, 0, 0
    for seed, program, shape, order in runs:
        if time.monotonic() - began > options.seconds:
            break
        failed += not one(options, hashes, seed, program, shape, order)
        done += 1
        moves += options.steps * MOVES[program]
    print(f'{done} runs of {options.steps} steps each, {moves:.3g} moves, {time.monotonic() - began:.0f} s: '
          f'{failed} failed, {len(runs) - done} left out for want of time')
    sys.exit(1 if failed else 0)


main()
