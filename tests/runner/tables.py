# SPDX-License-Identifier: Apache-2.0
"""Reads the tables of tests. tests/ways.cases explains how they are written."""

import dataclasses
import functools
import glob
import os
import re
import shlex
import subprocess
import sys

# What must come out: from a rule's argument and an ending, to whether it is so.
CHECKS = {
    'exit': lambda arg, end: end.code == int(arg),
    'out': lambda arg, end: end.lines('out', arg) > 0,
    'no-out': lambda arg, end: end.lines('out', arg) == 0,
    'err': lambda arg, end: end.lines('err', arg) > 0,
    'one': lambda arg, end: end.lines('err', arg) == 1,
    'no-err': lambda arg, end: end.lines('err', arg) == 0,
    'count': lambda arg, end: end.lines('out', arg.split(None, 1)[1]) == int(arg.split()[0]),
    'quiet': lambda arg, end: not end.err,
}


@functools.cache
def has_fftw():
    """As the Makefile asks, but for the library: the example fft is built where it is installed."""
    return not subprocess.run(['cc', '-fsyntax-only', '-include', 'fftw3.h', '-x', 'c', '/dev/null'],
                              stderr=subprocess.DEVNULL, check=False).returncode


# What `if` may say: from the sanitizer, or '', to whether a case runs; and why it does not run elsewhere.
CONDITIONS = {
    'plain': (lambda sanitizer: not sanitizer, 'a sanitizer says no more about them, or makes them take too long'),
    'sanitized': (bool, 'they are about a sanitizer'),
    'thread': (lambda sanitizer: sanitizer == 'thread', 'the thread sanitizer runs them instead of others'),
    'gcc': (lambda sanitizer: sanitizer != 'clang', 'they are about what gcc makes of a program, or about a build for libFuzzer'),
    'not thread': (lambda sanitizer: sanitizer != 'thread', 'the thread sanitizer runs others instead'),
    'fftw': (lambda sanitizer: has_fftw(), 'they are about the example fft, and FFTW is not installed'),
}
# The same for each shape Nx1 whose rules do not ask for a sanitizer.
SINGLE = 'not thread, for Nx1'
CONDITIONS[SINGLE] = (CONDITIONS['not thread'][0], 'a process of one PE has no two threads that the thread sanitizer '
                      'could compare')

# $name or ${name}, which a `let` of a table defines. Names with a capital letter are the shell's.
TEXT = re.compile(r'\$(?:([a-z]\w*|B\b)|{([a-z]\w*)})')


@dataclasses.dataclass(eq=False)
class Case:
    """A command, and what must come out of it."""
    group: str
    name: str
    command: list
    env: dict = dataclasses.field(default_factory=dict)
    checks: list = dataclasses.field(default_factory=list)  # (key of CHECKS, argument)
    conditions: list = dataclasses.field(default_factory=list)  # keys of CONDITIONS
    limit: int = 0  # seconds; 0: the usual limit
    memory: int = 0  # GiB that must be free
    alone: bool = False
    waits: bool = False
    drawn: bool = False
    way: str = ''  # the name of that in which it runs, if it has one
    row: str = ''  # its command, whatever the way

    @property
    def title(self):
        return f'{self.group}: {self.name}'

    def runs_under(self, sanitizer):
        return not self.left_out(sanitizer)

    def left_out(self, sanitizer):
        """The first condition that keeps the case from running, or ''."""
        return next((name for name in self.conditions if not CONDITIONS[name][0](sanitizer)), '')

    def add_rule(self, rule):
        verb, _, text = rule.partition(' ')
        text = text.strip()
        if verb == 'says':
            pe, _, text = text.partition(' ')
            self.checks += [('exit', '1'), ('one', f'^chard: .*{text}'), ('err', f'^chard: PE {pe} .*{text}')]
        elif verb == 'somebody':
            self.checks += [('exit', '1'), ('err', '^chard: PE [0-9]+ .node [0-9]+..*' + text)]
        elif verb == 'if' and text in CONDITIONS and text != SINGLE:
            self.conditions.append(text)
        elif verb == 'limit':
            self.limit = int(text)
        elif verb == 'needs':
            self.memory = int(text.removesuffix('GiB'))
        elif rule in ('alone', 'waits', 'drawn'):
            setattr(self, rule, True)
        elif verb in CHECKS:
            re.compile(text)
            self.checks.append((verb, text))
        else:
            raise ValueError(f'there is no rule "{rule}"')


@dataclasses.dataclass
class Way:
    """Shapes, an environment and rules that many cases share."""
    group: str
    shapes: list
    env: str = ''
    rules: tuple = ()
    name: str = ''


class Tables:
    """What the tables say. `cases` has all of them, whatever the sanitizer."""

    def __init__(self, build, programs):
        self.build, self.programs = build, programs
        self.texts, self.ways = {'B': build}, {}
        self.cases, self.used, self.group = [], set(), ''

    def read(self, path, for_all=False):
        """for_all: the texts that it defines hold in the tables that are read later, too."""
        texts, self.texts, self.group = self.texts, dict(self.texts), ''
        for number, line in logical_lines(path):
            try:
                self.read_line(line)
            except (ValueError, re.error) as wrong:
                sys.exit(f'{path}:{number}: {wrong}')
        if not for_all:
            self.texts = texts

    def read_line(self, line):
        kind, _, rest = line.partition(' ')
        if kind == 'let':
            name, text = rest.split('=', 1)
            self.texts[name.strip()] = self.filled(text.strip())
        elif kind == 'group':
            self.group = rest.strip()
        elif kind == 'way':
            name, group, shapes, env, *rules = fields(self.filled(rest)) + [''] * 2
            way = Way(group, shapes.split(), env, tuple(rule for rule in rules if rule), name)
            self.ways.setdefault(name, []).append(way)
        else:
            self.read_case(line)

    def read_case(self, line):
        where, commands, *rules = fields(self.filled(line))
        # The case is called as the command is written, not as it is run.
        names = re.sub(r'\$(?=[a-z])', '', fields(line)[1])
        for command, name in zip(alternatives(commands), alternatives(names), strict=True):
            for way, shape in self.places(where):
                self.add(way, shape, command, name, rules)

    def filled(self, line):
        """The line with what $name and ${name} stand for."""
        def text(match):
            name = match[1] or match[2]
            if name not in self.texts:
                raise ValueError(f'no "let {name} = ..." before this')
            return self.texts[name]
        return TEXT.sub(text, line)

    def places(self, where):
        """What the first column says: pairs of a way and a shape."""
        for word in where.split():
            name, _, shapes = word.partition(':')
            if is_shape(word):
                yield Way(self.group, [word]), word
            elif name not in self.ways:
                raise ValueError(f'{name} is neither a shape nor a way')
            elif shapes:
                yield from ((self.ways[name][0], shape) for shape in shapes.split(','))
            else:
                yield from ((way, shape) for way in self.ways[name] for shape in way.shapes)

    def add(self, way, shape, command, name, rules):
        if not way.group:
            raise ValueError('no group')
        env, words = split_env(shlex.split(way.env) + shlex.split(command))
        words[0] = self.programs.get(words[0], words[0])
        self.used.update(words)
        case = Case(way.group.format(shape=shape), name if shape == '-' else f'{name} {shape}',
                    launched(shape, words, self.build), env, way=way.name, row=name)
        for rule in way.rules + tuple(rules):
            case.add_rule(rule)
        if not any(verb == 'exit' for verb, _ in case.checks):
            case.checks.append(('exit', '0'))
        if re.fullmatch(r'\d+x1', shape) and not {'sanitized', 'thread'} & set(case.conditions):
            case.conditions.append(SINGLE)
        self.cases.append(case)


def logical_lines(path):
    """(number, text): without comments; a line that begins with a blank continues the one before."""
    lines = []
    with open(path, encoding='utf-8') as file:
        for number, line in enumerate(file, 1):
            if not line.strip() or line[0] == '#':
                continue
            if line[0].isspace() and lines:
                lines[-1][1] += ' ' + line.strip()
            else:
                lines.append([number, line.strip()])
    return lines


def fields(line):
    """The columns of a line. A bar without a blank on both sides belongs to a pattern."""
    columns = [column.strip() for column in re.split(r'\s\|(?=\s|$)', line)]
    if len(columns) < 2:
        raise ValueError('not a line of a table')
    return columns


def alternatives(text):
    """As in a shell, "a {b,c}" is "a b" and "a c"."""
    found = re.search(r'(.*?){([^{}\s]*,[^{}\s]*)}(.*)', text)
    if not found:
        return [text]
    return [found[1] + word + rest for word in found[2].split(',') for rest in alternatives(found[3])]


def is_shape(word):
    return re.fullmatch(r'-|\d+x\d+|\+p\d+', word)


def launched(shape, words, build):
    """The command that starts a program in a shape."""
    if shape == '-':
        return words
    if shape[0] == '+':
        return words + ['+p', shape[2:]]
    nodes, ppn = map(int, shape.split('x'))
    return [f'{build}/bin/ckrun', '-n', str(nodes * ppn), '--ppn', str(ppn)] + words


def split_env(words):
    """NAME=value before the command, and the command."""
    n = next((i for i, word in enumerate(words) if not re.match(r'\w+=', word)), len(words))
    if n == len(words):
        raise ValueError('no command')
    return dict(word.split('=', 1) for word in words[:n]), words[n:]


# ---- what there is to test -------------------------------------------------------------------


def find_programs(build):
    """Where each test program and each example is, by its name, which is the name of its .ci file."""
    sources = [path[:-3] for path in glob.glob('tests/programs/*.ci')]
    sources += [path[:-3] for path in glob.glob('tests/programs/*/*.ci') + glob.glob('examples/*/*.ci')
                if path.split('/')[-2] == os.path.basename(path)[:-3]]
    return {os.path.basename(path): f'{build}/{path}' for path in sources}


def find_scripts():
    paths = [path for form in ('tests/*.sh', 'tests/*/*.sh', 'tests/*.py', 'tests/*/*.py')
             for path in glob.glob(form)]
    return [path for path in paths if os.access(path, os.X_OK) and path != 'tests/run.py']


# Its 12 PEs poll without sleeping. With three busy programs beside it on two cores it takes over seven times as
# long as alone, and what waits for all nodes gives up after 60 s.
ALONE = ['machine/test_ucx']
# It waits until nothing has happened for a while, again and again.
WAITS = ['scheduler/test_watch']


UNIT_TESTS = 'unit tests'


def unit_tests(build):
    """Each tests/*/test_*.c is a program; ckci's tests compile theirs themselves."""
    names = [path[len('tests/'):-2] for path in sorted(glob.glob('tests/*/test_*.c'))]
    return [Case(UNIT_TESTS, name, [f'{build}/tests/{name}'], checks=[('exit', '0')],
                 alone=name in ALONE, waits=name in WAITS)
            for name in names if not name.startswith('ci/')]


def all_cases(build):
    """Every case there is, each with a name of its own. Ends if something would stay untested."""
    tables = Tables(build, find_programs(build))
    tables.read('tests/ways.cases', for_all=True)
    for path in sorted(glob.glob('tests/*.cases')) + sorted(glob.glob('tests/*/*.cases')):
        if path != 'tests/ways.cases':
            tables.read(path)
    untested = set(list(tables.programs.values()) + find_scripts()) - tables.used
    if untested:
        sys.exit(f'tests/run.py: no case for {", ".join(sorted(untested))}\nFor a program that checks '
                 'its own answer, "$every | NAME" in tests/programs/every.cases is enough.')
    cases, seen = unit_tests(build) + tables.cases, {}
    for case in cases:
        n = seen[case.title] = seen.get(case.title, 0) + 1
        if n > 1:
            case.name += f' #{n}'
    return cases
