#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""format.py [--all]: lines of C that have changed since a base commit are written as .clang-format and CONTRIBUTING.md say.

The base is $FORMAT_BASE, else the commit before: FORMAT_BASE=main looks at a whole branch. Changes that are not committed
count, too. A changed line is wrong if

  - it has more than 100 columns (a tab counts as one),
  - it ends in blanks,
  - clang-format would write it in another way. Where a line is broken and how far in the rest of it begins, where a comment
    behind code begins, and whether braces have blanks inside is the writer's choice: what differs in that only is right.
    So are lines that end in a backslash.

Lines that have not changed are not looked at; --all looks at every line, to try a .clang-format. Mistakes are planted at
first, which must be found. One line for each mistake; exit code 1 if there is one, 77 if nothing can be checked here.
"""
import difflib
import os
import re
import shutil
import subprocess
import sys

COLUMNS = 100
FILES = ('*.c', '*.h', ':!tests/ci/accept')  # there lies what ckci prints
TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def git(*command):
    done = subprocess.run(['git', *command], cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def base_commit():
    """None: there is nothing to compare with."""
    if os.environ.get('FORMAT_BASE'):
        return git('rev-parse', '--verify', os.environ['FORMAT_BASE'] + '^{commit}')
    return git('rev-parse', '--verify', 'HEAD~1')


def changed_lines(base):
    """{file: set of line numbers}, of files that are there now."""
    lines, path = {}, None
    for line in git('diff', '-M', '-U0', '--no-color', '--no-ext-diff', base, '--', *FILES).splitlines():
        if line.startswith('+++ '):
            path = line[6:] if line.startswith('+++ b/') else None
        hunk = re.match(r'@@ -\S+ \+(\d+)(?:,(\d+))? @@', line)
        if hunk and path:
            first, n = int(hunk[1]), int(hunk[2] or 1)
            lines.setdefault(path, set()).update(range(first, first + n))
    return lines


def bare(line):
    """Without what the writer chooses: blanks in front of a comment or a backslash that ends the line, and within braces."""
    line = re.sub(r'\s*(/\*.*\*/|/\*[^*]*|//.*|\\)$', r' \1', line)
    return re.sub(r'\{ +(?=\S)|(?<=\S) +(?=\})', lambda m: m[0].strip(), line)


def goes_on(before):
    """Whether the line behind this one continues it: how far in that begins is the writer's choice, too."""
    return re.search(r'[,(&|+\-*/=?"]$', re.sub(r'\s*/\*.*?\*/$', '', before.rstrip()))


def formatted(text, path):
    return subprocess.run(['clang-format', '--style=file', '--assume-filename=' + os.path.join(TOP, path)], input=text,
                          stdout=subprocess.PIPE, check=True, text=True, cwd=TOP).stdout


def mistakes(text, path, lines):
    """(line number, what is wrong) in the lines with these numbers."""
    now = text.splitlines()
    for n in sorted(lines):
        width = len(now[n - 1])
        if width > COLUMNS:
            yield n, f'{width} columns, more than {COLUMNS}'
        if now[n - 1] != now[n - 1].rstrip():
            yield n, 'blanks at its end'
    then = formatted(text, path).splitlines()
    for what, a, b, c, d in difflib.SequenceMatcher(None, now, then, autojunk=False).get_opcodes():
        if what != 'replace' or b - a != d - c:
            continue  # other places to break lines
        for i in range(a, b):
            ours, theirs = bare(now[i]), bare(then[i - a + c])
            if i and goes_on(now[i - 1]):
                ours, theirs = ours.strip(), theirs.strip()
            if now[i].endswith('\\'):
                continue  # macros are not understood
            if i + 1 in lines and ours != theirs and ''.join(ours.split()) == ''.join(theirs.split()):
                yield i + 1, f'clang-format writes: {then[i - a + c].strip()}'


def self_test():
    """Whether mistakes are seen, and only in the lines that are asked for."""
    good = 'static int f(int a)\n{\n\tif (a)          /* why */\n\t\treturn 1;\n\treturn g(a,\n\t\t 2);\n}\n'
    trials = [
        (good, range(1, 8), []),
        (good.replace('if (a)', 'if(a)'), range(1, 8), [3]),
        (good.replace('if (a)', 'if(a)'), [1, 2, 4], []),
        (good.replace('\t\treturn 1', '        return 1'), range(1, 8), [4]),
        (good.replace('return 1;', 'return 1; '), range(1, 8), [4]),
        (good.replace('why', 'w' * 90), range(1, 8), [3]),
    ]
    for text, lines, wrong in trials:
        found = sorted({n for n, _ in mistakes(text, 'runtime/x.c', set(lines))})
        if found != wrong:
            print(f'FAIL self-test: mistakes in lines {found} instead of {wrong} of\n{text}')
            return False
    return True


def main():
    if not shutil.which('clang-format'):
        print('skip format: clang-format is not installed')
        return 77
    if not git('rev-parse', 'HEAD') or git('rev-parse', '--show-toplevel') != os.path.realpath(TOP):
        print('skip format: this is no checkout of git')
        return 77
    if not self_test():
        return 1
    if '--all' in sys.argv:
        lines = {path: range(1, 10 ** 6) for path in git('ls-files', *FILES).splitlines()}
    else:
        base = base_commit()
        if not base:
            print('skip format: there is no commit to compare with' +
                  (f': FORMAT_BASE={os.environ["FORMAT_BASE"]}' if os.environ.get('FORMAT_BASE') else ''))
            return 77
        lines = changed_lines(base)
    wrong = 0
    for path in sorted(lines):
        with open(os.path.join(TOP, path), encoding='utf-8') as f:
            text = f.read()
        within = set(range(1, len(text.splitlines()) + 1)) & set(lines[path])
        for n, what in mistakes(text, path, within):
            print(f'{path}:{n}: {what}')
            wrong += 1
    print(f'FAIL format: {wrong} lines' if wrong else
          f'ok format of {sum(map(len, lines.values()))} changed lines in {len(lines)} files')
    return 1 if wrong else 0


sys.exit(main())
