#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proof by removal: takes rooms out of the library, and shows that the rest works without them.

    tests/without.py [-b BUILD] [--one=[WORD]] [--room=ROOM] [--lists] [--spine]

BUILD has the whole library and all tests; its object files say who calls whom, as tests/layers.py reads them. First the
lists of rooms (rooms.list in the folders of the runtime) are compared with these calls: a room names all others that may be left
out and that it calls, and what is always there calls none, except by the tables that are made of the lists. Then each
room that may be left out is, with those that call it, and at last all of them. What remains is the spine. A setting has
the object files of BUILD, but for those with the tables. In each setting

  - the library differs from that of every other setting;
  - all examples, programs and unit tests are built, except those that tests/rooms.list names, and those are not. Where
    one room is left out only those are tried that go when all are: what needs none of them needs not this one;
  - the linker names a room that is left out for each program that is not built;
  - hello runs in one process and in two, stencil and matmul with messages and with channels, two programs insert and
    destroy elements where that is built, and unit tests pass; a program that asks for a room by none of its functions
    ends with the room's name. Without the client by which ckrun starts nodes all are one process, which has as many
    PEs.

--one takes out a room that WORD draws (or the name of the commit), and all. --room takes out this one. --lists only
compares the lists, --spine prints the folders of the spine, and their lines. The exit code is 0 when all is so.
"""

import argparse
import collections
import concurrent.futures
import functools
import glob
import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True

import layers
from runner import draw

# What the spine is to have at most, with comments.
SPINE_LINES = 30000
# The files with the tables that are made of the lists.
TABLES = ['runtime/main.c', 'runtime/machine/machine.c', 'runtime/scheduler/layers.c', 'runtime/chare/layer.c']
UNIT_SECONDS = 240  # they take 3 s at most; CI runs them beside others, with the lowest priority
# What a setting takes over from the build of the whole library, but for what is made of the tables.
SHARED = ('.o', '.decl.h', '.def.h')
SHARED_FOLDERS = ['runtime', 'tests', 'examples', 'ci-compiler', 'launcher', 'trace-reader', 'image-reader', 'job-control', 'bin']
# By this word the linker names the room (runtime/left_out.awk).
NAMES_ROOM = 'chard_has_been_built_without_the_room_'
PUBLIC = '(Ck|Csd|Cth|Cmi|Ccd|pup_)'
# By it ckrun starts the nodes of a job.
CKRUNS_ROOM = 'runtime/machine/boot/pmi1'
# What runs in each setting: PEs, the program with its arguments, and what it prints.
RUNS = [
    (1, 'examples/hello/hello 5', '^The ring counts 50 for 5 elements$'),
    (2, 'examples/hello/hello 5', '^The ring counts 50 for 5 elements$'),
    (2, 'examples/stencil/stencil --domain 18x16x17 --chares 2x3x2 --iters 20 --verify', '^stencil verified yes$'),
    (4, 'examples/matmul/matmul --n 72 --p 3 --iters 4 --verify', '^matmul verified yes$'),
    (2, 'tests/programs/insert', '^insert '),
    (2, 'tests/programs/delete', '^delete '),
]
# A program that asks for a room by no function of the room, and what it says without.
REFUSED = [('runtime/chare/place', 'tests/programs/whenidle', 'needs the room chare/place')]
# Targets that these need.
BASIC = [program.split()[0] for _, program, _ in RUNS] + [program for _, program, _ in REFUSED]


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


class Tests:
    """What goes with a room: the lines of tests/rooms.list."""

    def __init__(self):
        self.call = collections.defaultdict(set)  # room: what is not linked without it
        self.need = collections.defaultdict(set)  # room: what is, and fails
        with open('tests/rooms.list', encoding='utf-8') as f:
            for words in (line.split() for line in f if not line.startswith('#')):
                if words:
                    to = self.need if words[1] == ':' else self.call
                    to[f'runtime/{words[0]}'].update(w for w in words[1:] if w != ':')

    @staticmethod
    def of(rooms, table):
        return set().union(*(table[r] for r in rooms))

    def all(self):
        return self.of(list(self.call), self.call)


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
    # Not its variables for child makes: a -n or -j of the outer make is not for this one. What debuggers read is most of
    # what is linked, and nobody debugs these.
    env = {k: v for k, v in os.environ.items() if k not in ('MAKEFLAGS', 'MFLAGS', 'MAKELEVEL')}
    jobs = len(os.sched_getaffinity(0))
    return subprocess.run(['make', '-s', '-k', '-Otarget', f'-j{jobs}', 'LD=ld -S', 'LDFLAGS=-Wl,-S', *args], check=False,
                          text=True, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def errors_by_target(said):
    """Target: what was said while it failed to be made."""
    errors, lines = {}, []
    for line in said.splitlines():
        failed = re.match(r'make: \*\*\* \[(?:.*: )?(\S+)\] Error', line)
        if failed:
            errors[failed[1]] = '\n'.join(lines)
        lines = [] if failed or line.startswith('  ') else [*lines, line]  # "  LINK     x"
    return errors


def hash_of(library):
    """Of what is in it, at which addresses: the bytes have the build's folder in them."""
    out = subprocess.run(['nm', '-S', '--defined-only', library], check=True, stdout=subprocess.PIPE).stdout
    return hashlib.sha256(out).hexdigest()


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

    def share(self, build):
        """Hard links: what make makes anew takes their place, as compilers write new files."""
        shutil.rmtree(self.build, ignore_errors=True)
        tables = {f'{build}/{t[:-2]}.o' for t in TABLES}
        for top in SHARED_FOLDERS:
            for folder, _, names in os.walk(f'{build}/{top}'):
                to = self.build + folder[len(build):]
                os.makedirs(to, exist_ok=True)
                for name in names:
                    if (name.endswith(SHARED) or top == 'bin') and f'{folder}/{name}' not in tables:
                        os.link(f'{folder}/{name}', f'{to}/{name}')

    def make_library(self):
        done = make(*self.args(), 'lib', 'tools')
        if done.returncode:
            self.say('the library cannot be built:\n' + done.stdout[-2000:])
        return not done.returncode

    def make_programs(self, programs, tests):
        """All are tried, those that should not be built as well."""
        named = tests.of(self.gone, tests.call)
        errors = errors_by_target(make(*self.args(), *(f'{self.build}/{p}' for p in programs)).stdout)
        for program in programs:
            built = os.path.exists(f'{self.build}/{program}')
            why = errors.get(f'{self.build}/{program}', '')
            if built and program in named:
                self.say(f'{program} is built, but tests/rooms.list says that it goes along')
            elif not built and program not in named:
                self.say(f'{program} is not built, and tests/rooms.list does not name it: {why[:300]}')
            elif not built and not self.is_named(why):
                self.say(f'{program}: the linker does not say which room is left out: {why[:300]}')

    def is_named(self, why):
        """Whether the linker says of each thing of the public headers that it misses which of these rooms has it. Unit
        tests call what is in no public header."""
        rooms = {g.replace('runtime/', '').replace('/', '_') for g in self.gone}
        missing = re.findall(r'undefined references? to `(\w+)', why)
        return bool(missing) and all(m.removeprefix(NAMES_ROOM) in rooms if m.startswith(NAMES_ROOM) else
                                     not re.match(PUBLIC, m) for m in missing)

    def run(self, command, expected='', seconds=UNIT_SECONDS, refused=False):
        with subprocess.Popen(command, text=True, errors='replace', stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, start_new_session=True) as process:
            try:
                said = process.communicate(timeout=seconds)[0]
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # with what it has started
                self.say(f'{" ".join(command)}: it took more than {seconds} s')
                return
        if bool(process.returncode) != refused or not re.search(expected, said, re.M):
            self.say(f'{" ".join(command)}: exit {process.returncode}\n' + said[-1000:])

    def run_programs(self, programs, tests):
        absent = tests.of(self.gone, tests.call)
        for pes, program, expected in RUNS:
            words = program.split()
            if words[0] in absent:
                continue
            start = [f'{self.build}/bin/ckrun', '-n', str(pes)]
            if CKRUNS_ROOM in self.gone:
                start = ['env', f'CK_PES={pes}']
            self.run([*(start if pes > 1 else []), f'{self.build}/{words[0]}', *words[1:]], expected)
        for room, program, expected in REFUSED:
            if room in self.gone:
                self.run([f'{self.build}/{program}'], expected, refused=True)
        failing = tests.of(self.gone, tests.need)
        units = [p for p in programs if '/test_' in p and p not in failing and os.path.exists(f'{self.build}/{p}')]
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as several:
            list(several.map(lambda unit: self.run([f'{self.build}/{unit}']), units))
        return len(units)

    def check(self, build, programs, tests):
        self.share(build)
        if not self.make_library():
            return None
        library = hash_of(f'{self.build}/chard.o')
        size = text_bytes(f'{self.build}/whole.o')
        self.make_programs(programs, tests)
        built = sum(os.path.exists(f'{self.build}/{p}') for p in programs)
        units = self.run_programs(programs, tests)
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
    rooms, tests = read_rooms(), Tests()
    wrong = check_lists(rooms, options.build)
    if options.lists:
        print(*wrong or ['ok the lists of rooms say what the object files do'], sep='\n')
        return 1 if wrong else 0
    print(*wrong, sep='\n', end='\n' if wrong else '')
    programs = make('without-list').stdout.split()
    some = [p for p in programs if p in tests.all() or p in BASIC]
    seen = {hash_of(f'{options.build}/chard.o'): 'nothing'}
    for without in choose(rooms, options):
        setting = Setting(without)
        library = setting.check(options.build, programs if without == 'all' else some, tests)
        if library in seen:
            setting.say(f'the library is the same as without {seen[library]}')
        seen[library] = without
        print(*setting.wrong, sep='\n', end='\n' if setting.wrong else '', flush=True)
        wrong += setting.wrong
        shutil.rmtree(setting.build, ignore_errors=True)
    print_spine()
    if wrong:
        print(f'FAIL {len(wrong)} things, each said above')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
