#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether observers that observe together have seen the same: CK_LB, CK_STATS and CK_TRACE in one run of a program that
knows what it does (tests/programs/observed.c).

    tests/stats/together.py BUILD NODESxPES [NAME=value ...]

Prints "ok ..." for each fact; ends with exit code 1 at the first one that is not so."""

import collections
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'trace'))
import readers  # noqa: E402
from commands import check, run  # noqa: E402

BUILD, SHAPE = sys.argv[1:3]
ENV = {'CK_LB': 'rotate', **dict(s.split('=', 1) for s in sys.argv[3:])}
NODES, PES = map(int, SHAPE.split('x'))
# CK_LB=auto has found out by then that nothing is to be gained, and measures no more.
ROUNDS, CELLS, SPIN_S = 24 if ENV['CK_LB'] == 'auto' else 6, 4 * NODES * PES, 300e-6


def observe(folder):
    """What CK_STATS, CK_TRACE and CK_LB_DUMP have written."""
    done = run([f'{BUILD}/bin/ckrun', '-n', str(NODES * PES), '--ppn', str(PES), f'{BUILD}/tests/programs/observed',
                str(ROUNDS)], CK_STATS=f'{folder}/stats.json', CK_TRACE=f'{folder}/trace,4', CK_LB_SPEEDS='off',
               CK_LB_DUMP=f'{folder}/loads', **ENV)
    check(done.stdout == f'observed: {ROUNDS} rounds\n', 'output', done.stdout, done.stderr)
    with open(f'{folder}/stats.json', encoding='ascii') as file:
        stats = json.load(file)
    loads = []
    if os.path.exists(f'{folder}/loads'):
        with open(f'{folder}/loads', encoding='ascii') as file:
            loads = [float(line.split()[3]) for line in file if line.startswith('element ')]
    return stats, readers.read_traces(f'{folder}/trace'), loads


def total(stats, group, key):
    return sum(pe[group][key] for pe in stats['pes'])


def records(traces, kind):
    """How many of each entry."""
    return collections.Counter(t.names['entry', r[3]] for t in traces for r in t.records if r[1] == kind)


def check_calls(stats, traces, moved):
    rows = {row['name']: row for row in stats['rows']}
    calls, each = {name: row['calls'] for name, row in rows.items()}, CELLS * ROUNDS
    check(calls == {'Main::Main': 1, 'Main::done': 1, 'Cell::Cell': CELLS, 'Cell::run': CELLS, 'Cell::plain': each,
                    'Cell::unseen': each, 'Cell::nap': each}, 'calls of each row', calls)
    seen = {name: n for name, n in calls.items() if name != 'Cell::unseen'}
    check(records(traces, 'END') == seen, 'the trace has the same ends, and no [notrace] entry', records(traces, 'END'))
    # A body begins again where its element comes to.
    seen['Cell::run'] += moved
    check(records(traces, 'BEGIN') == seen, 'and the same begins', records(traces, 'BEGIN'), moved)
    # Where a body leaves a PE its time is in no row.
    for name in ('Cell::plain', 'Cell::nap') + (() if moved else ('Cell::run',)):
        check(rows[name]['time_ns'] >= each * SPIN_S * 0.99e9, 'what calls take', rows[name])


def check_elements(stats, traces, moved):
    made = total(stats, 'elements of Cell', 'created') + total(stats, 'elements of Main', 'created')
    check(made == CELLS + 1 == sum(t.n('CREATE') for t in traces), 'elements are made', made)
    moves = (total(stats, 'moves of Cell', 'left'), total(stats, 'moves of Cell', 'arrived'),
             sum(t.n('LEAVE') for t in traces), sum(t.n('COME') for t in traces), total(stats, 'load balancing', 'elements moved'))
    check(moves == (moved,) * 5, 'elements move', moves)


def main():
    with tempfile.TemporaryDirectory(prefix='chard-together-') as folder:
        stats, traces, loads = observe(folder)
    steps, moved = total(stats, 'load balancing', 'steps'), total(stats, 'load balancing', 'elements moved')
    check_calls(stats, traces, moved)
    print('ok the counts and the trace have the same calls')
    check_elements(stats, traces, moved)
    print('ok and the same elements, and moves')
    if ENV['CK_LB'] == 'rotate':
        check((steps, moved) == ((ROUNDS, ROUNDS * CELLS) if NODES * PES > 1 else (0, 0)), 'all move', steps, moved)
    check(len(loads) == steps * CELLS, 'each step has measured each element', len(loads), steps)
    check(all(3 * SPIN_S * 0.99 <= s < 1 for s in loads), 'its handler, its thread and its body', sorted(loads)[:8])
    print('ok load balancing has measured handlers, threads and bodies')


main()
