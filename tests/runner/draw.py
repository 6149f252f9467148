# SPDX-License-Identifier: Apache-2.0
"""Which cases a run takes that does not take all.

Always: what is no cell of the matrix of commands and ways. Of each command's cells a quarter, at least one; of the cases with
the rule "drawn" a quarter of each group. Of what a mutant names one at least: its name chooses up to eight, and each finds
the fault, or most do. A sanitizer looks for the same faults in all of them, and each case takes several times as long under
it. So there an eighth is drawn, and of the other cases, too, unit tests among them. The word decides, and that of a run by itself is the name of the commit: each commit has its quarter, whoever runs it and
how often."""

import collections
import os
import random
import subprocess

from runner import tables

ONE_IN = 4
SANITIZED_ONE_IN = 8
MUTANTS = 'tests/mutants/mutants.list'
SANITIZERS = '', 'address', 'thread'  # '': without one


def commit():
    """The beginning of its name, or '' where there is none."""
    done = subprocess.run(['git', 'rev-parse', '--short=12', 'HEAD'], stdin=subprocess.DEVNULL, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) if os.path.exists('.git') else None
    return done.stdout.strip() if done else ''


def sanitizer_of(spec):
    """What the list of mutants says of a test: its sanitizer, and a part of its name."""
    word, _, rest = spec.partition(': ')
    return (word, rest) if word in SANITIZERS else ('', spec)


def named_by_mutants(sanitizer):
    """Parts of the names of cases that should find a mutant."""
    if not os.path.exists(MUTANTS):
        return set()
    columns = [tables.fields(line) for _, line in tables.logical_lines(MUTANTS)]
    specs = [sanitizer_of(spec.strip()) for words in columns if len(words) > 4 for spec in words[4].split(';')]
    return {part for found, part in specs if found == sanitizer.replace('clang', 'address') and part}


def row_of(case, sanitizer):
    """Those of which a quarter runs, and how many at least; None if it always runs."""
    if case.way:
        return 'command', case.row
    if case.drawn or sanitizer:
        return 'group', case.group
    return None


def named_cells(titles, word, sanitizer):
    """One of the titles that each mutant's word chooses. By itself, like the others below."""
    for part in sorted(named_by_mutants(sanitizer)):
        found = [title for title in titles if part in title]
        if found:
            yield random.Random(f'{word} {sanitizer} named {part}').choice(found)


def drawn(cases, word, sanitizer):
    """What this word draws of the cases, which all run under the sanitizer; in their order."""
    rows, taken, one_in = collections.defaultdict(list), set(), SANITIZED_ONE_IN if sanitizer else ONE_IN
    for case in cases:
        row = row_of(case, sanitizer)
        if row is None:
            taken.add(case.title)
        else:
            rows[row].append(case.title)
    for (kind, name), titles in rows.items():
        # By itself, so that the others stay what they are when one is added somewhere.
        numbers = random.Random(f'{word} {sanitizer} {kind} {name}')
        n = (len(titles) + numbers.randrange(one_in)) // one_in  # so many in the mean
        taken.update(numbers.sample(titles, max(n, kind == 'command')))
    taken.update(named_cells([title for titles in rows.values() for title in titles], word, sanitizer))
    return [case for case in cases if case.title in taken]
