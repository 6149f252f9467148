# SPDX-License-Identifier: Apache-2.0
"""Prints what happened, and counts. A case that consists of many tests counts as so many. What is skipped is
named with its reason and counted; cases that the tables leave out are named by their number. While nothing else is to be
said, a line now and then says how many are done."""

import collections
import re
import shlex
import time
import xml.etree.ElementTree as xml

from runner.tables import CONDITIONS

LAST_LINES = 25
REPORT_LINES = 60  # of a sanitizer's report, whose beginning says most
# Nobody who looks on should wonder for more than ten seconds.
SILENCE_S = 9


def first_line(lines):
    """Where to begin to show them."""
    reports = [n for n, line in enumerate(lines) if 'WARNING: ThreadSanitizer' in line or 'ERROR: AddressSanitizer' in line]
    last = len(lines) - LAST_LINES
    return max(0, min([last, *(n for n in reports if n >= len(lines) - REPORT_LINES)]))


class Report:
    def __init__(self, cases, left_out, options, not_drawn=()):
        self.options = options
        self.left_out = left_out  # cases that do not run under this sanitizer
        self.not_drawn = not_drawn  # cases that might have run
        self.n, self.start, self.said = len(cases), time.monotonic(), time.monotonic()
        self.ends = []
        self.missing = collections.Counter(case.group for case in cases)

    def say(self, text):
        print(text, flush=True)
        self.said = time.monotonic()

    def tick(self):
        """To be called every second or so: says how far it is, unless something was said just now."""
        if time.monotonic() - self.said > SILENCE_S:
            self.say(f'      {len(self.ends):,} of {self.n:,}, {time.monotonic() - self.start:.0f} s')

    def add(self, end):
        self.ends.append(end)
        if end.wrong:
            self.print_failure(end)
        elif end.skipped:
            self.say(f'skip  {end.case.title}: {end.skipped}')
        elif self.options.verbose:
            self.say('\n      '.join([f'pass  {end.case.title} ({end.seconds:.1f} s)', *end.parts()]))
        for what, why in end.skipped_parts():
            self.say(f'skip  {end.case.title}, {what}: {why}')
        self.missing[end.case.group] -= 1
        if self.missing[end.case.group] <= 0:
            self.print_group(end.case.group)

    def print_failure(self, end):
        self.say(f'FAIL  {end.case.title} (exit code {end.code}, {end.seconds:.1f} s)')
        for line in end.wrong:
            self.say(f'      {line[:300]}')
        if end.by_hand:
            self.say(f'      again:   {self.again(end.case)}\n      by hand: {end.by_hand}')
        passed = set(end.parts())
        for name, text in ('stdout', end.out), ('stderr', end.err):
            lines = [line for line in text.splitlines() if line not in passed]
            for line in lines[first_line(lines):]:
                self.say(f'      {name}: {line[:250]}')

    def again(self, case):
        options = self.options
        sanitizer = ['-s', options.sanitizer] if options.sanitizer else []
        return shlex.join(['tests/run.py', '-b', options.build, *sanitizer,
                           '--seed', str(options.seed), '--case', case.title])

    def print_group(self, group):
        ends = [end for end in self.ends if end.case.group == group]
        if not any(end.wrong for end in ends):
            seconds = sum(end.seconds for end in ends)
            self.say(f'ok    {group:50} {len(ends):4} cases {seconds:5.0f} s')

    def print_left_out(self):
        """One line for each condition that cases have in the tables."""
        counts = collections.Counter(case.left_out(self.options.sanitizer) for case in self.left_out)
        for name, n in counts.items():
            print(f'skip  {n} case{"s" * (n > 1)} with "if {name}" in the tables: {CONDITIONS[name][1]}')
        if self.not_drawn:
            print(f'skip  {len(self.not_drawn):,} of {self.n + len(self.not_drawn):,} cases: not drawn; FULL=1 runs all, '
                  f'SEED={self.options.draw} repeats this draw')

    def last_line(self):
        self.print_left_out()
        good = [end for end in self.ends if not end.wrong and not end.skipped]
        passed = sum(len(end.parts()) or not end.skipped_parts() for end in good)
        failed = sum(1 for end in self.ends if end.wrong)
        print(f'{passed} passed, {failed} failed, {len(self.skips())} skipped')
        return failed == 0

    def skips(self):
        """All that was skipped, as (group, name, reason)."""
        found = []
        for end in self.ends:
            if end.skipped and not end.wrong:
                found.append((end.case.group, end.case.name, end.skipped))
            found += [(end.case.group, f'{end.case.name}, {what}', why) for what, why in end.skipped_parts()]
        for case in self.left_out:
            name = case.left_out(self.options.sanitizer)
            found.append((case.group, case.name, f'if {name}: {CONDITIONS[name][1]}'))
        return found + [(case.group, case.name, f'not drawn by {self.options.draw}') for case in self.not_drawn]

    def times(self, path):
        """The busiest first: wall and processor time, and the name."""
        with open(path, 'w', encoding='utf-8') as file:
            for end in sorted(self.ends, key=lambda end: -end.busy):
                file.write(f'{end.seconds:.3f}\t{end.busy:.3f}\t{end.case.title}\n')

    def junit(self, path):
        skips, ran = self.skips(), [end for end in self.ends if end.wrong or not end.skipped]
        suite = xml.Element('testsuite', name='chard', tests=str(len(ran) + len(skips)),
                            failures=str(sum(1 for end in ran if end.wrong)), skipped=str(len(skips)))
        for end in ran:
            test = xml.SubElement(suite, 'testcase', classname=end.case.group, name=end.case.name,
                                  time=f'{end.seconds:.3f}')
            if end.wrong:
                failure = xml.SubElement(test, 'failure', message=printable('; '.join(end.wrong)))
                failure.text = printable(f'{end.by_hand}\n{end.out[-4000:]}\n{end.err[-4000:]}')
        for group, name, why in skips:
            test = xml.SubElement(suite, 'testcase', classname=group, name=printable(name))
            xml.SubElement(test, 'skipped', message=printable(why))
        xml.ElementTree(suite).write(path, encoding='utf-8', xml_declaration=True)


def printable(text):
    """XML has no control characters."""
    return re.sub(r'[^\t\n\x20-\ud7ff]', '?', text)
