# SPDX-License-Identifier: Apache-2.0
"""Reads the list of mutants (mutants.list explains how it is written) and checks that it still fits the tree."""

import dataclasses
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from runner import draw, tables

LIST = 'tests/mutants/mutants.list'
LAYERS = 'machine', 'trace', 'image', 'scheduler', 'strategies', 'chare', 'direct', 'device', 'ci-compiler', 'launcher', 'trace-reader', 'image-reader'
LEAST = 60
# A pattern that chooses more cases than this is too vague for "the tests that should find it".
CASES_MOST = 8
# Of commits, as it were.
WORDS = 'one', 'two'


@dataclasses.dataclass(frozen=True)
class Test:
    """What should find a mutant: a case of the runner, or a mutant of a model."""
    case: object = None  # tables.Case
    sanitizer: str = ''
    model: str = ''
    number: str = ''

    @property
    def title(self):
        if self.model:
            return f'model {self.model}, mutant {self.number}'
        return (f'{self.sanitizer}: ' if self.sanitizer else '') + self.case.title


@dataclasses.dataclass
class Mutant:
    name: str
    path: str
    text: str
    replacement: str
    tests: list  # of Test, the nearest first
    reason: str = ''  # why it survives
    line: int = 0

    @property
    def layer(self):
        folders = self.path.split('/')
        return folders[1] if folders[0] == 'runtime' else folders[0]

    def places(self, source):
        """Where the text is in the source. A blank of the text stands for any white space."""
        words = map(re.escape, self.text.split())
        return [match.span() for match in re.finditer(r'\s+'.join(words), source)]

    def planted(self, source):
        (start, end), = self.places(source)
        return source[:start] + self.replacement + source[end:]


class Listing:
    """The mutants, and what is wrong with the list: [(line, words)]."""

    def __init__(self):
        self.cases = {sanitizer: tables.all_cases('build' + (sanitizer and f'-{sanitizer}')) for sanitizer in draw.SANITIZERS}
        self.mutants, self.wrong = [], []
        for number, line in tables.logical_lines(LIST):
            try:
                self.mutants.append(self.mutant(number, line))
            except ValueError as wrong:
                self.wrong.append((number, str(wrong)))

    def mutant(self, number, line):
        columns = tables.fields(line)
        if len(columns) not in (5, 6):
            raise ValueError(f'{len(columns)} columns instead of 5, or 6 with "survives: reason"')
        name, path, text, replacement, tests, *more = columns
        mutant = Mutant(name, path, text, replacement, [], line=number)
        for spec in tests.split(';'):
            mutant.tests += self.tests_of(spec.strip())
        if more:
            word, _, mutant.reason = map(str.strip, more[0].partition(':'))
            if word != 'survives' or not mutant.reason:
                raise ValueError('the last column is "survives: reason"')
        self.check_text(mutant)
        return mutant

    def tests_of(self, spec):
        model = re.fullmatch(r'model (\w+) (\d+)', spec)
        if model:
            return [self.model_mutant(*model.groups())]
        sanitizer, pattern = draw.sanitizer_of(spec)
        found = [Test(case, sanitizer) for case in self.cases[sanitizer]
                 if case.runs_under(sanitizer) and pattern in case.title]
        if not pattern or not 1 <= len(found) <= CASES_MOST:
            raise ValueError(f'"{spec}" chooses {len(found)} cases of tests/run.py; 1 to {CASES_MOST} are right')
        return found

    @staticmethod
    def model_mutant(model, number):
        path = f'tests/models/{model}.pml'
        if not os.path.exists(path) or not re.search(rf'^ \* mutant {number}: ', read(path), re.M):
            raise ValueError(f'{path} has no mutant {number}')
        return Test(model=model, number=number)

    @staticmethod
    def check_text(mutant):
        if not os.path.exists(mutant.path):
            raise ValueError(f'there is no {mutant.path}')
        n = len(mutant.places(read(mutant.path)))
        if n != 1:
            raise ValueError(f'{mutant.name}: its text is {n} times in {mutant.path}, and must be there once')
        if mutant.text.split() == mutant.replacement.split():
            raise ValueError(f'{mutant.name} changes nothing')

    def check(self):
        """Facts about the whole list: [(what, whether it holds)]."""
        names = [mutant.name for mutant in self.mutants]
        layers = {mutant.layer for mutant in self.mutants}
        return [
            ('each text is once in its file, and each test exists', not self.wrong),
            ('no two have the same name', len(names) == len(set(names))),
            (f'there are {LEAST} or more', len(names) >= LEAST),
            ('they are in all layers, and nowhere else', layers == set(LAYERS)),
            ('one of the cases that a name chooses runs, whatever is drawn', not any(self.not_drawn(word) for word in WORDS)),
        ]

    def not_drawn(self, word):
        """What mutants name, and of which a run that draws by this word takes no case."""
        found = []
        for sanitizer, cases in self.cases.items():
            able = [case for case in cases if case.runs_under(sanitizer)]
            drawn = draw.drawn(able, word, sanitizer)
            found += [part for part in draw.named_by_mutants(sanitizer) if any(part in case.title for case in able) and
                      not any(part in case.title for case in drawn)]
        return found


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()
