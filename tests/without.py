#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proof by removal: takes rooms out of the library, and shows that the rest works without them.

    tests/without.py [-b BUILD] [--one=[WORD]] [--room=ROOM] [--lists] [--spine]

BUILD has the whole library; its object files say who calls whom, as tests/layers.py reads them. First the lists of
rooms (rooms.list in the folders of the runtime) are compared with these calls: a room names all others that may be left
out and that it calls, and what is always there calls none, except by the tables that are made of the lists. Then each
room that may be left out is, with those that call it, and at last all of them. What remains is the spine. In each
setting

  - the library differs from that of every other setting;
  - all examples, programs and unit tests are built, except those that tests/rooms.list names, and those are not. Where
    one room is left out only those are tried that go when all are: what needs none of them needs not this one;
  - hello runs in one process and in two, stencil and matmul with messages and with channels, and unit tests pass.

--one takes out a room that WORD draws (or the name of the commit), and all. --room takes out this one. --lists only
compares the lists, --spine prints the folders of the spine, and their lines. The exit code is 0 when all is so.
"""

import argparse
import collections
import functools
import glob
import hashlib
import os
import random
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True

import layers
from runner import draw

# What the spine is to have at most, with comments.
SPINE_LINES = 30000
# The files with the tables that are made of the lists.
TABLES = ['runtime/main.c', 'runtime/machine/machine.c', 'runtime/scheduler/layers.c', 'runtime/chare/layer.c']
UNIT_SECONDS = 60
# What runs in each setting: arguments of ckrun, the program with its own, and what it prints.
RUNS = [
    ('', 'hello/hello 5', '^The ring counts 50 for 5 elements$'),
    ('-n 2', 'hello/hello 5', '^The ring counts 50 for 5 elements$'),
    ('-n 2', 'stencil/stencil --domain 18x16x17 --chares 2x3x2 --iters 20 --verify', '^stencil verified yes$'),
    ('-n 4', 'matmul/matmul --n 72 --p 3 --iters 4 --verify', '^matmul verified yes$'),
]
# Targets that RUNS needs.
BASIC = ['examples/hello/hello', 'examples/stencil/stencil', 'examples/matmul/matmul']


# ---- the lists ---------------------------------------------------------------------------------

def lists():
    return sorted(glob.glob('runtime/rooms.list') + glob.glob('runtime/*/rooms.list'))


def read_rooms():
    """The folders that may be left out."""
    rooms = []
    for path in lists():
        with open(path, encoding='utf-8') as f:
            for words in (line.split() for line in f):
                if words[:1] == ['room']:
                    rooms.append(f'{os.path.dirname(path)}/{words[1]}')
    return rooms


def room_of(rooms, file):
    """The innermost one that has the file, or None."""
    return max((r for r in rooms if file.startswith(r + '/')), key=len, default=None)


def read_tests():
    """What goes with a room: the lines of tests/rooms.list."""
    tests = collections.defaultdict(set)
    with open('tests/rooms.list', encoding='utf-8') as f:
        for words in (line.split() for line in f if not line.startswith('#')):
            if words:
                tests[f'runtime/{words[0]}'].update(words[1:])
    return tests


@functools.lru_cache(maxsize=None)
def left_out(names):
    """Which folders go when these do, as make finds them."""
    done = subprocess.run(['awk', '-v', f'without={names}', '-f', 'runtime/rooms.awk', *lists()], check=True, text=True,
                          stdout=subprocess.PIPE)
    return done.stdout.split()


def check_lists(rooms, build):
    """Whether the lists say what the object files do."""
    objects, wrong = layers.objects_of(build)
    calls = layers.Calls()
    calls.read(objects)
    for file, symbol, other in calls:
        gone, room = room_of(rooms, other), room_of(rooms, file)
        if not gone or gone == room or file in TABLES:
            continue
        if not room:
            wrong.append(f'{file}: calls {symbol} of {gone}, which may be left out')
        elif room not in left_out(gone):
            wrong.append(f'{os.path.dirname(room)}/rooms.list: {room} calls {symbol} of {gone} and does not say so')
    return wrong


# ---- one setting -------------------------------------------------------------------------------

def make(*args):
    # Not its variables for child makes: a -n or -j of the outer make is not for this one.
    env = {k: v for k, v in os.environ.items() if k not in ('MAKEFLAGS', 'MFLAGS', 'MAKELEVEL')}
    jobs = len(os.sched_getaffinity(0))
    return subprocess.run(['make', '-s', '-k', f'-j{jobs}', 'LDFLAGS=-Wl,-S', *args], check=False, text=True, env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def hash_of(path):
    with open(path, 'rb') as f:
        return hashlib.sha256(f.read()).hexdigest()


def text_bytes(path):
    out = subprocess.run(['size', path], check=True, text=True, stdout=subprocess.PIPE).stdout
    return int(out.splitlines()[1].split()[0])


def lines_without(gone):
    return sum(layers.count_lines(f) for f in layers.sources(['runtime'])
               if not any(f.startswith(g + '/') for g in gone))


class Setting:
    """A library without some rooms, in a build folder of its own."""

    def __init__(self, without):
        self.without = without
        self.gone = left_out(without)
        self.build = 'build-without-' + without.replace('runtime/', '').replace('/', '_')
        self.wrong = []

    def args(self):
        return [f'B={self.build}', f'WITHOUT={self.without}']

    def say(self, text):
        self.wrong.append(f'without {self.without.replace("runtime/", "")}: {text}')

    def make_library(self):
        done = make(*self.args(), 'lib', 'tools')
        if done.returncode:
            self.say('the library cannot be built:\n' + done.stdout[-2000:])
        return not done.returncode

    def make_programs(self, programs, tests):
        """All are tried, those that should not be built as well."""
        named = set().union(*(tests[g] for g in self.gone))
        said = make(*self.args(), *(f'{self.build}/{p}' for p in programs)).stdout
        for program in programs:
            built = os.path.exists(f'{self.build}/{program}')
            if built and program in named:
                self.say(f'{program} is built, but tests/rooms.list says that it goes along')
            elif not built and program not in named:
                why = [line for line in said.splitlines() if f'/{program}' in line or 'undefined reference' in line]
                self.say(f'{program} is not built, and tests/rooms.list does not name it: {" ".join(why[:2])}')

    def run(self, command, expected='', seconds=UNIT_SECONDS):
        try:
            done = subprocess.run(command, check=False, text=True, errors='replace', timeout=seconds, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            self.say(f'{" ".join(command)}: it took more than {seconds} s')
            return
        if done.returncode or not re.search(expected, done.stdout, re.M):
            self.say(f'{" ".join(command)}: exit {done.returncode}\n' + done.stdout[-1000:])

    def run_programs(self, programs):
        for launcher, program, expected in RUNS:
            words = program.split()
            start = [f'{self.build}/bin/ckrun', *launcher.split()] if launcher else []
            self.run([*start, f'{self.build}/examples/{words[0]}', *words[1:]], expected)
        units = [p for p in programs if '/test_' in p and os.path.exists(f'{self.build}/{p}')]
        for unit in units:
            self.run([f'{self.build}/{unit}'])
        return len(units)

    def check(self, programs, tests):
        if not self.make_library():
            return None
        library = hash_of(f'{self.build}/chard.o')
        size = text_bytes(f'{self.build}/whole.o')
        self.make_programs(programs, tests)
        built = sum(os.path.exists(f'{self.build}/{p}') for p in programs)
        units = self.run_programs(programs)
        along = [g for g in self.gone if g not in self.without.split()]
        print(f'  {self.without.replace("runtime/", ""):22} {size // 1000:5} kB of code and data, '
              f'{lines_without(self.gone):6} lines, {built:3} of {len(programs)} programs built, {units:2} unit tests run'
              + (f'; along: {" ".join(g.replace("runtime/", "") for g in along)}' if along and self.without != 'all' else ''),
              flush=True)
        return library


# ---- main --------------------------------------------------------------------------------------

def print_spine():
    gone = left_out('all')
    total = 0
    print('the spine:')
    for folder in sorted({os.path.dirname(f) for f in layers.sources(['runtime'])}):
        if not any(f'{folder}/'.startswith(g + '/') for g in gone):
            lines = sum(layers.count_lines(f) for f in layers.sources([folder]) if os.path.dirname(f) == folder)
            total += lines
            print(f'  {folder:26} {lines:6}')
    print(f'  {"all":26} {total:6}, to be at most {SPINE_LINES}')


def choose(rooms, options):
    if options.room:
        return [f'runtime/{options.room}'.replace('runtime/runtime/', 'runtime/')] if options.room != 'all' else ['all']
    if options.one is not None:
        return [random.Random(options.one or draw.commit()).choice(rooms), 'all']
    return [*rooms, 'all']


def main():
    parser = argparse.ArgumentParser(description='takes rooms out of the library')
    parser.add_argument('-b', '--build', default='build')
    parser.add_argument('--one', metavar='WORD')
    parser.add_argument('--room')
    parser.add_argument('--lists', action='store_true')
    parser.add_argument('--spine', action='store_true')
    options = parser.parse_args()
    os.chdir(os.path.dirname(os.path.abspath(__file__)) + '/..')

    if options.spine:
        print_spine()
        return 0
    rooms, tests = read_rooms(), read_tests()
    wrong = check_lists(rooms, options.build)
    if options.lists:
        print(*wrong or ['ok the lists of rooms say what the object files do'], sep='\n')
        return 1 if wrong else 0
    programs = make('without-list').stdout.split()
    some = [p for p in programs if p in set().union(*tests.values()) or p in BASIC]
    seen = {hash_of(f'{options.build}/chard.o'): 'nothing'}
    for without in choose(rooms, options):
        setting = Setting(without)
        library = setting.check(programs if without == 'all' else some, tests)
        if library in seen:
            setting.say(f'the library is the same as without {seen[library]}')
        seen[library] = without
        wrong += setting.wrong
        shutil.rmtree(setting.build, ignore_errors=True)
    print_spine()
    print(*wrong, sep='\n', end='\n' if wrong else '')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
