#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the statistics in this folder anew: bench/stats/record.py [BUILD]

stencil.lb    an uneven stencil of 512 blocks, half of which compute four times, on 4 PEs
particles.lb  384 cells, most particles in 30 % of the columns, on 4 PEs
graph.lb      made, not measured: 500 points in a square; those that lie near each other are connected, and a few of
              them have much more work than the others, near one corner

The first two are the first record of a run with CK_LB_DUMP, before anything has moved; METIS wants edges, so they are
recorded, too. These runs have many iterations, because time is what the clock on the wall says: a machine with fewer
cores than PEs, or with other programs, takes the core away from an element now and then.
"""

import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else f'{HERE}/../../build')


def first_record(command):
    """The lines of the first record that such a run writes."""
    with tempfile.TemporaryDirectory(prefix='chard-stats-') as folder:
        file = f'{folder}/dump'
        env = dict(os.environ, CK_LB='metis', CK_LB_DUMP=file)
        subprocess.run([f'{BUILD}/bin/ckrun', '-n', '4', '--ppn', '2', *command], check=True, env=env,
                       stdout=subprocess.DEVNULL)
        with open(file, encoding='utf-8') as f:
            lines = f.read().splitlines()
    return lines[:lines.index('end') + 1]


def graph():
    rng = random.Random(16)
    at = [(rng.random(), rng.random()) for _ in range(500)]
    work = [1e-3 * (1 + 8 * rng.random() ** 8) * (3 if x + y < 0.6 else 1) for x, y in at]
    near = [(a, b) for a, (x, y) in enumerate(at) for b, (u, v) in enumerate(at)
            if a != b and (x - u) ** 2 + (y - v) ** 2 < 0.067 ** 2]
    lines = ['chard-lb 1', 'array Graph step 0 tolerance 0.05', f'sizes 8 4 {len(at)} {len(near)}']
    lines += [f'pe {p // 2} 0 1' for p in range(8)]
    lines += [f'element {n * 8 // 500} 0 {w:.6g} 4000 {n} {x:.4f},{y:.4f},0' for n, ((x, y), w) in enumerate(zip(at, work))]
    return lines + [f'edge {a} {b} 4 {rng.choice((200, 400, 800))}' for a, b in near] + ['end']


def write(name, lines):
    with open(f'{HERE}/{name}.lb', 'w', encoding='utf-8') as f:
        f.write('\n'.join(lines) + '\n')
    print(f'{name}.lb: {os.path.getsize(f"{HERE}/{name}.lb") // 1000} kB')


write('stencil', first_record(
    [f'{BUILD}/examples/stencil/stencil', *'--domain 96x96x96 --chares 16x8x4 --mode msg --lb 600 --uneven 3 --iters 600 '
     '--warmup 0 --no-verify --quiet'.split()]))
write('particles', first_record(
    [f'{BUILD}/examples/particles/particles', *'--columns 24 --rows 16 --particles 100000 --spread 30 --move 0 --lb 150 '
     '--steps 150'.split()]))
write('graph', graph())
