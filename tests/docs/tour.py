#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tour.py BUILD: the tour of docs/GUIDE.md ends with a program that does what the tour says.

In the page "<!-- file NAME -->" stands in front of a block that is a whole file, and "<!-- part of NAME -->" in front of
lines that must occur in it. The files are written into a folder and built there as a reader would, against the library
where it was built and against an installed one; the program is run at several shapes, with and without load balancing.
What it must print is computed here, serially. Then mistakes are planted in the program, which must be found. One line for
each; exit code 1 if one failed.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), '..', '..'))
ROWS = 8  # of a strip, in the program
STRIPS = 6
MOST_WORDS = 1600
FILES = {'plate.ci', 'plate.c', 'Makefile'}

# What is planted, and where it must be found: (text, its replacement, environment, how it is run).
TWO = ['ckrun', '-n', '2']
MISTAKES = [
    ('\t\tdouble change;\n', '\t\tskip change;\n', {'CK_LB': 'rotate'}, TWO),
    ('side == ABOVE ? 1 : ROWS)', 'side == ABOVE ? 2 : ROWS)', {}, []),
    ('if (next[x] - u[x] > change)', 'if (next[x] > change)', {}, []),
    ('return 1 + ', 'return ', {}, []),
]


def expected(strips):
    """The line that the program prints: the same arithmetic, without strips."""
    n = strips * ROWS
    u = [[0.0] * (n + 2) for _ in range(n + 1)] + [[0.0] + [100.0] * n + [0.0]]
    steps, change = 0, 1.0
    while change > 0.01:
        new, change = [list(r) for r in u], 0.0
        for r in range(1, n + 1):
            up, here, down = u[r - 1], u[r], u[r + 1]
            for x in range(1, r + 1):
                new[r][x] = 0.25 * (up[x] + down[x] + here[x - 1] + here[x + 1])
                change = max(change, new[r][x] - here[x])
        u, steps = new, steps + 1
    return f'{strips} strips, {steps} steps, last change {change:.15f}\n'


def tour():
    page = open(os.path.join(TOP, 'docs/GUIDE.md')).read()
    return re.search(r'^## Tour\n.*?(?=^## )', page, re.M | re.S).group()


def blocks(text, mark):
    """(name, lines) of each block behind such a mark."""
    return re.findall(r'^<!-- ' + mark + r' (\S+) -->\n```\w*\n(.*?)^```$', text, re.M | re.S)


class Trial:
    """A folder with the files, and an environment in which they are built and run."""

    def __init__(self, folder, files, bin_folder, config):
        self.folder = folder
        self.env = {k: v for k, v in os.environ.items() if k not in ('MAKEFLAGS', 'MFLAGS', 'MAKELEVEL', 'LD_LIBRARY_PATH')}
        self.env.update(PATH=bin_folder + ':' + os.environ['PATH'], PKG_CONFIG_PATH=config)
        os.makedirs(folder)
        for name, text in files.items():
            with open(os.path.join(folder, name), 'w') as f:
                f.write(text)

    def run(self, *command, **variables):
        done = subprocess.run(command, cwd=self.folder, env=dict(self.env, **variables), timeout=120, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            raise AssertionError(f'{" ".join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}')
        return done.stdout

    def build(self):
        self.run('make', 'CFLAGS=-std=c11 -O2 -Wall -Wextra -Werror')

    def plate(self, strips, *launcher, pes=(), **variables):
        said = self.run(*launcher, './plate', str(strips), *pes, **variables)
        if said != expected(strips):
            raise AssertionError(f'printed {said}instead of {expected(strips)}')

    def says(self, words):
        said = self.run('./plate')
        if not said.startswith(words):
            raise AssertionError(f'printed {said}instead of {words}...')

    def moved(self):
        """A load balancer moves strips, and the answer stays."""
        self.plate(STRIPS, *TWO, CK_LB='greedy', CK_STATS='s.json')
        with open(os.path.join(self.folder, 's.json')) as f:
            pes = json.load(f)['pes']
        if not sum(p['moves of Strip']['left'] for p in pes):
            raise AssertionError('no strip has moved')


failed = False


def step(name, fn, *args, **kwargs):
    global failed
    try:
        fn(*args, **kwargs)
    except (AssertionError, subprocess.TimeoutExpired) as e:
        print(f'FAIL {name}\n{e}')
        failed = True
        return False
    print('ok', name)
    return True


def check_text(text, files):
    if set(files) != FILES:
        raise AssertionError(f'it has the files {sorted(files)}, not {sorted(FILES)}')
    for name, part in blocks(text, 'part of'):
        if '\n' + part not in '\n' + files[name]:
            raise AssertionError(f'not in {name}:\n{part}')
    words = len(re.sub(r'^```.*?^```$', '', text, flags=re.M | re.S).split())
    if words > MOST_WORDS:
        raise AssertionError(f'it has {words} words, more than {MOST_WORDS}')


def found(trial, variables, launcher):
    trial.build()
    try:
        trial.plate(STRIPS, *launcher, **variables)
    except AssertionError:
        return
    raise AssertionError('the program printed what it should')


def changed(files, old, new):
    name, = [name for name in files if files[name].count(old) == 1]
    return dict(files, **{name: files[name].replace(old, new)})


def refused(trial):
    try:
        trial.build()
    except AssertionError as e:
        assert re.search(r'a field after .{1,2}n_steps.{1,2} is missing in .{1,2}pup Strip', str(e)), e
        return
    raise AssertionError('it compiles')


def main():
    here = os.path.realpath(sys.argv[1])
    text = tour()
    files = dict(blocks(text, 'file'))
    if not step('the tour names its files, and their parts are in them', check_text, text, files):
        return
    with tempfile.TemporaryDirectory() as tmp:
        where = Trial(tmp + '/built', files, here + '/bin', here)
        if not step('make, not installed', where.build):
            return
        step('1x1', where.plate, STRIPS)
        step('without arguments, as the tour says', where.says, re.search(r'prints `(\d+ strips, \d+ steps, )', text)[1])
        step('one strip', where.plate, 1)
        step('1x2, threads', where.plate, STRIPS, pes=('+p', '2'))
        step('2x1, processes', where.plate, STRIPS, *TWO)
        step('2x2, another size', where.plate, 5, 'ckrun', '-n', '4', '--ppn', '2')
        step('more PEs than strips', where.plate, 2, 'ckrun', '-n', '4', '--ppn', '2')
        step('2x1, greedy moves strips', where.moved)
        for lb in 'cuts', 'rotate':
            step(f'2x2, {lb}, checked mode', where.plate, STRIPS, 'ckrun', '-n', '4', '--ppn', '2', CK_LB=lb, CK_CHECK='1')
        for i, (old, new, variables, launcher) in enumerate(MISTAKES):
            wrong = changed(files, old, new)
            step(f'a mistake is found: {old.strip()}', found, Trial(f'{tmp}/wrong{i}', wrong, here + '/bin', here), variables,
                 launcher)
        step('a list that lacks a field does not compile', refused,
             Trial(tmp + '/lacks', changed(files, '\t\tdouble change;\n', ''), here + '/bin', here))
        there = tmp + '/there'
        subprocess.run(['make', '-s', '-C', TOP, 'B=' + sys.argv[1], 'PREFIX=' + there, 'install'], check=True,
                       stdout=subprocess.DEVNULL, env=where.env)
        user = Trial(tmp + '/user', files, there + '/bin', there + '/lib/pkgconfig')
        if step('make, installed', user.build):
            step('2x2, installed', user.plate, STRIPS, 'ckrun', '-n', '4', '--ppn', '2')


main()
sys.exit(1 if failed else 0)
