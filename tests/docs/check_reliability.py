#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/RELIABILITY.md, and the table of orders in docs/GUIDE.md, name only tests that exist and are run.

  1. Every row of their tables names a file of tests/, or a make target, in `code` quotes.
  2. Every such file or folder exists; so does every target.
  3. Somebody runs it: the tables of the runner, a target of the Makefile, .ci/run, or a file that is itself run and
     names it.
  4. "`name` in `file`": the file has the name.
  5. The table of planted faults has as many of each layer as tests/mutants/mutants.list, to a tenth of it: whoever adds
     one need not count again.

One line per failure; exit code 1 if any. When nothing is wrong it plants mistakes, which must be found.
"""

import fnmatch
import glob
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from runner import tables

PAGES = {'docs/RELIABILITY.md': '', 'docs/GUIDE.md': '## Order'}  # page: the heading of the part that counts
COLUMNS = ('test', 'where')
PLANTED = [
    ('| p | `tests/programs/nowhere.c` |', 'there is no tests/programs/nowhere.c'),
    ('| p | `tests/programs/check.h` |', 'nobody runs tests/programs/check.h'),
    ('| p | `tests/ci/stand_in.c` |', 'there is no'),
    ('| p | nobody looks |', 'names no test'),
    ('| p | `make nothing` |', 'the Makefile has no target nothing'),
    ('| p | `does_not_say` in `tests/machine/test_wake_host.c` |', 'has no does_not_say'),
]


def read(path):
    with open(path, encoding='utf-8', errors='replace') as file:
        return file.read()


os.chdir(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
MAKE = read('Makefile') + read('tests/rules.mk')


# ---- what is run --------------------------------------------------------------------------------


def commands():
    """What starts a test: commands of the tables, the Makefile and .ci/run, as one text each."""
    texts = [' '.join(case.command) + ' ' for case in tables.all_cases('build')]
    return texts + [MAKE, read('.ci/run')]


def is_started(path, texts):
    """By a command itself, or because the runner takes all files of its kind."""
    if fnmatch.fnmatch(path, 'tests/*/test_*.c') and not path.startswith('tests/ci/') or path.endswith('.cases'):
        return True
    words = [f'build/{path[:-2]} ' if path.endswith('.c') else path]
    return path == 'tests/run.py' or any(word in text for word in words for text in texts)


def names(text, path):
    """Whether it has the file's name: as a word or path, as an import, or by a pattern such as test_*.c."""
    name, stem = os.path.basename(path), os.path.splitext(os.path.basename(path))[0]
    if re.search(rf'(?<![\w.]){re.escape(name)}(?![\w])', text):
        return True
    if path.endswith('.py') and re.search(rf'^(?:from|import) .*\b{stem}\b', text, re.M):
        return True
    return any(fnmatch.fnmatch(name, pattern) for pattern in re.findall(r'[\w]*\*[\w*]*\.\w+', text))


def runs(path, texts):
    if is_started(path, texts):
        return True
    beside = glob.glob(f'{os.path.dirname(path.rstrip("/"))}/*.sh') + \
        glob.glob(f'{os.path.dirname(path)}/*.py') + ['tests/run.py', 'tests/runner/running.py']
    return any(other != path and is_started(other, texts) and names(read(other), path.rstrip('/'))
               for other in beside)


# ---- what is named ------------------------------------------------------------------------------


def part(text, heading):
    if not heading:
        return text
    start = text.index(f'\n{heading}')
    end = text.find('\n## ', start + 4)
    return text[start:end]


def rows(text):
    """The last cells of the tables whose last column is called "test" or "where"."""
    inside = False
    for line in text.splitlines():
        last = line.rstrip(' |').rpartition('| ')[2]
        if not line.startswith('|') or last in COLUMNS:
            inside = line.startswith('|')
        elif inside and not re.fullmatch('[-|]+', line):
            yield last


def wrong_cell(cell, texts):
    spans = re.findall(r'`([^`]+)`', cell)
    paths = [span for span in spans if span.startswith('tests/')]
    targets = [span.split()[1] for span in spans if span.startswith('make ')]
    wrong = [] if paths or targets else [f'names no test: {cell}']
    wrong += [f'there is no {path}' for path in paths if not os.path.exists(path)]
    wrong += [f'nobody runs {path}' for path in paths if os.path.exists(path) and not runs(path, texts)]
    wrong += [f'the Makefile has no target {target}' for target in targets
              if not re.search(rf'^{target}:', MAKE, re.M)]
    wrong += [f'{path} has no {name}' for name, path in re.findall(r'`(\w+)` in `([^`]+)`', cell)
              if os.path.exists(path) and not re.search(rf'\b{name}\b', read(path))]
    return wrong


def faults_listed():
    """{layer: [faults, those with a reason]} of the list."""
    count = {}
    for _, line in tables.logical_lines('tests/mutants/mutants.list'):
        _, path, _, _, _, *reason = tables.fields(line)
        folders = path.split('/')
        of_layer = count.setdefault(folders[folders[0] == 'runtime'], [0, 0])
        of_layer[0] += 1
        of_layer[1] += bool(reason)
    count['all'] = [sum(column) for column in zip(*count.values())]
    return count


def wrong_faults(text, count):
    """What the page's table says otherwise."""
    said = {cells[0]: [int(cells[1]), int(cells[3] or 0)] for cells in
            ([cell.strip() for cell in line.strip('|').split('|')] for line in text.splitlines() if line.startswith('|'))
            if len(cells) == 4 and cells[1].isdigit()}
    wrong = [f'the table has no row for {layer}' for layer in count if layer not in said]
    wrong += [f'{layer}: the table says {said[layer]} faults, the list has {n}' for layer, n in count.items()
              if layer in said and (abs(said[layer][0] - n[0]) > max(2, n[0] // 10) or abs(said[layer][1] - n[1]) > 2)]
    wrong += [f'{layer}: the list has none' for layer in said if layer not in count]
    if not wrong and said['all'] != [sum(column) for column in zip(*(said[layer] for layer in said if layer != 'all'))]:
        wrong.append('the last row is not the sum of the others')
    return wrong


def main():
    texts, failures = commands(), []
    for page, heading in PAGES.items():
        cells = list(rows(part(read(page), heading)))
        if len(cells) < 10:
            failures.append(f'{page}: only {len(cells)} rows')
        failures += [f'{page}: {wrong}' for cell in cells for wrong in wrong_cell(cell, texts)]
    page, count = part(read('docs/RELIABILITY.md'), '## Mutation score'), faults_listed()
    failures += [f'docs/RELIABILITY.md: {wrong}' for wrong in wrong_faults(page, count)]
    for was, becomes in ('| 214 | 207 |', '| 114 | 107 |'), ('| machine |', '| machines |'), ('| 464 |', '| 465 |'):
        if was in page and not wrong_faults(page.replace(was, becomes), count):
            failures.append(f'self-test: {becomes} instead of {was} is not found')
    for row, reason in PLANTED:
        found = [wrong for cell in rows(f'| promise | test |\n|---|---|\n{row}') for wrong in wrong_cell(cell, texts)]
        if not any(reason in wrong for wrong in found):
            failures.append(f'self-test: {row} gives {found}, not "{reason}"')
    for failure in failures:
        print(f'check_reliability: {failure}')
    return bool(failures)


if __name__ == '__main__':
    sys.exit(main())
