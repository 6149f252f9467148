#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""em3d.py [OPTIONS] BUILD: microseconds per edge of examples/em3d by the share of remote edges, in its five versions.

Two processes of one host, which reach each other's memory, and the same two over tcp. All are run in turn, for --rounds
rounds, of which the least counts. It prints tables; with --plot PNG it makes a picture, too, by gnuplot. With --csv FILE
the figures are appended to FILE, and tables and picture are made of all that FILE has: so the measurement may be done in
parts."""
import argparse
import csv
import os
import re
import subprocess

VERSIONS = ['reads', 'bundled', 'ghosts', 'stores', 'channels']
COLOURS = ['red', 'orange', 'gold', 'forest-green', 'blue']
NETWORKS = {'one host': {}, 'tcp': {'CK_SHARE': '0', 'UCX_TLS': 'tcp,self'}}
PERCENT = ['0', '10', '20', '30', '40', '50']
# A read over tcp takes as long as thousands of edges do.
ITERS = {('tcp', 'reads'): '1', ('tcp', 'bundled'): '20', ('tcp', 'ghosts'): '20'}


def measure(build, network, version, percent):
    """Microseconds per edge of one run."""
    command = [f'{build}/bin/ckrun', '-n', '2', f'{build}/examples/em3d/em3d', '--version', version, '--remote', percent,
               '--iters', ITERS.get((network, version), '100')]
    done = subprocess.run(command, env={**os.environ, **NETWORKS[network]}, text=True, stdout=subprocess.PIPE, timeout=100,
                          check=True)
    return re.search(r'([\d.]+) us per edge: checked', done.stdout)[1]


def table(least, network):
    yield f'| {network}, remote | ' + ' | '.join(VERSIONS) + ' |'
    yield '|---|' + '---|' * len(VERSIONS)
    for percent in PERCENT:
        yield f'| {percent} % | ' + ' | '.join(f'{least[network, v, percent]:.4f}' if (network, v, percent) in least else ''
                                               for v in VERSIONS) + ' |'


def plot(least, png):
    script = ["set terminal pngcairo size 920,420", f"set output '{png}'", "set logscale y", "set grid",
              "set xlabel 'remote edges, %'", "set ylabel 'us per edge'", "set multiplot layout 1,2"]
    for network in NETWORKS:
        curves = [f"'-' title '{v}' with linespoints linewidth 2 linecolor rgb '{c}'" for v, c in zip(VERSIONS, COLOURS)]
        key = 'set key bottom right' if network == 'one host' else 'unset key'
        script += [f"set title '{network}'", key, 'plot ' + ', '.join(curves)]
        for v in VERSIONS:
            script += [f'{p} {least[network, v, p]}' for p in PERCENT if (network, v, p) in least] + ['e']
    subprocess.run(['gnuplot'], input='\n'.join(script), text=True, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0], allow_abbrev=False)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--networks', type=lambda s: s.split(','), default=list(NETWORKS))
    parser.add_argument('--csv', help='append the figures, and use all of them')
    parser.add_argument('--plot', metavar='PNG', help='a picture; needs gnuplot')
    parser.add_argument('build', help='the build folder')
    args = parser.parse_args()
    figures = []
    if args.csv and os.path.exists(args.csv):
        with open(args.csv, newline='') as f:
            figures = list(csv.reader(f))
    for _ in range(args.rounds):
        for network in args.networks:
            for percent in PERCENT:
                figures += [[network, v, percent, measure(args.build, network, v, percent)] for v in VERSIONS]
    if args.csv:
        with open(args.csv, 'w', newline='') as f:
            csv.writer(f).writerows(figures)
    least = {}
    for network, version, percent, us in figures:
        case = network, version, percent
        least[case] = min(float(us), least.get(case, float('inf')))
    for network in NETWORKS:
        if any(n == network for n, _, _ in least):
            print('\n'.join(table(least, network)))
    if args.plot:
        plot(least, args.plot)


if __name__ == '__main__':
    main()
