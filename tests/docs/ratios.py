#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""README.md's ratios are those of the table of figures in docs/PERFORMANCE.md: from the least to the most of its machines.

One line for each that differs; exit code 1 if one does. When nothing is wrong it plants mistakes, which must be found.
"""
import os
import re
import sys

# README's row: what PERFORMANCE calls it.
ROWS = {
    'a message there and back, two processes': 'message round trip between processes, over the faster MPI',
    'the same, without reading its data': 'the same, over Charm++ on UCX (published, scaled; data untouched)',
    'barrier': 'barrier, over the faster MPI',
    'allreduce': 'allreduce, over the faster MPI',
    'stencil in 3-D, one block for each PE, by channels': 'stencil by channels, one block per PE, over the faster MPI program',
    'matrix product in slices of 128 bytes, by channels': 'matmul by channels, fine grain, over the faster MPI program',
}


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def cells(page):
    """{first cell: the others} of the rows of all tables."""
    rows = ([cell.strip() for cell in line.strip().strip('|').split('|')] for line in page.splitlines() if line.startswith('|'))
    return {first: rest for first, *rest in rows}


def wrong(readme, figures):
    said, known = cells(readme), cells(figures)
    for row, name in ROWS.items():
        if row not in said or name not in known:
            yield f'there is no row "{row}" in README.md, or none "{name}" in docs/PERFORMANCE.md'
            continue
        values = [float(re.match(r'[0-9.]+', cell)[0]) for cell in known[name][1:]]
        if said[row][-1] != f'{min(values):.2f} to {max(values):.2f}':
            yield f'README.md says {said[row][-1]} of "{row}"; docs/PERFORMANCE.md has {min(values):.2f} to {max(values):.2f}'


def main():
    os.chdir(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    readme, figures = read('README.md'), read('docs/PERFORMANCE.md')
    failures = list(wrong(readme, figures))
    for was, becomes in (r'\| [0-9.]+ to ', '| 9.99 to '), (r'\| barrier \|', '| barriers |'):
        if not failures and not list(wrong(re.sub(was, becomes, readme, count=1), figures)):
            failures.append(f'self-test: {becomes} in README.md is not found')
    for failure in failures:
        print(f'ratios: {failure}')
    return bool(failures)


sys.exit(main())
