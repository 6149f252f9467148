#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the runner: what must fail is reported as failed, and its commands repeat it.

Each fact is checked with a copy of the runner in a folder of its own, with tables that are written here.
One line per fact; the exit code is 1 if one does not hold.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml

HERE = os.path.dirname(os.path.abspath(__file__))
failed = False

# NAME | COMMAND | RULE ...: each must fail, for the reason after "=>".
BAD = r'''
- | bash -c "exit 3"                          => not so: exit 0
- | bash -c "exit 3" two | exit 2             => not so: exit 2
- | true | exit 3                             => not so: exit 3
- | bash -c "exit 77"                         => not so: exit 0
- | bash -c "echo skip it: rain; exit 77" | exit 3 => not so: exit 3
- | bash -c "echo skip it"                    => skipped without a reason: it
- | bash -c "echo '[  SKIPPED ] some_test'"   => skipped without a reason: some_test
- | echo 41 | out ^42$                        => not so: out ^42$
- | echo 42 | no-out ^42                      => not so: no-out ^42
- | bash -c "echo 42" | err ^42$              => not so: err ^42$
- | bash -c "echo a >&2; echo a >&2" | one ^a => not so: one ^a
- | bash -c "echo a; echo a" | count 3 ^a     => not so: count 3 ^a
- | bash -c "echo a >&2" | quiet              => not so: quiet
- | bash -c "echo chard: PE 1 .node 0. no >&2; exit 1" | says 3 no   => not so: err ^chard: PE 3 .*no
- | bash -c "echo chard: PE 3 .node 0. no >&2" | says 3 no           => not so: exit 1
- | bash -c "echo chard: PE 3 .node 0. no >&2; exit 1" | somebody yes => not so: err .*yes
- | sleep 60 | limit 1                        => it took more than 1 s
- | bash -c "trap '' TERM; sleep 60 & wait; wait" | limit 1 => it took more than 1 s
- | bash -c "kill -SEGV $$" | exit 1          => not so: exit 1
- | bash -c "sleep 61 &"                      => process left: .* sleep 61
- | setsid -f sleep 62                        => process left: .* sleep 62
- | bash -c "echo >$TMPDIR/litter"            => file left in TMPDIR: litter
- | tests/not-built                           => not so: exit 0
- | bash -c "echo ok one; echo ok two; exit 1" => not so: exit 0
'''
# Each must pass. One makes two cases, one consists of three tests.
GOOD = r'''
- | true
- | bash -c "exit 3" | exit 3
- | bash -c "kill -SEGV $$" | exit 139
- | bash -c "! read -r line" | quiet
- | bash -c "! test -t 0 && ! test -t 1 && ! test -t 2 && ! : </dev/tty" | err tty
- | bash -c "test -z \"$CK_CHECK$UCX_TLS$PMI_RANK\""
- | CK_CHECK=1 bash -c "test $CK_CHECK = 1"
- | bash -c "echo chard: PE 3 .node 1. no >&2; exit 1" | says 3 no | somebody no
- | bash -c "echo {a,b}" | out ^[ab]$
- | bash -c "echo ok one; echo ok two; echo okay; echo ok three"
- | bash -c "echo '[       OK ] one'"
'''


def fact(what, holds, seen=''):
    global failed
    failed |= not holds
    print(f'{"ok   " if holds else "FAIL "} {what}')
    if not holds:
        print('\n'.join(f'      {line}' for line in str(seen).splitlines()[-40:]))


def alive(pid):
    """A zombie is not: not every pid 1 reaps at once."""
    try:
        with open(f'/proc/{pid}/status', encoding='utf-8') as file:
            return not re.search(r'^State:\s*[ZX]', file.read(), re.M)
    except OSError:
        return False


class Place:
    """A folder with the runner, one table, and the programs that are built."""

    def __init__(self, table='', programs=(), sources=()):
        self.top = tempfile.mkdtemp()
        os.makedirs(f'{self.top}/tests/programs')
        os.makedirs(f'{self.top}/examples')
        shutil.copy(f'{HERE}/../run.py', f'{self.top}/tests')
        shutil.copytree(HERE, f'{self.top}/tests/runner', ignore=shutil.ignore_patterns('check.py'))
        self.write('tests/ways.cases', 'way more | ways, {shape} | 1x2 | CK_A=1 CK_B=2\n')
        self.write('tests/planted.cases', 'group planted\n' + table)
        for name in sources:
            self.write(f'tests/programs/{name}.ci', '')
        for name in programs:
            self.write(f'build/{name}', '#!/bin/sh\nenv | grep ^CK_ | sort\necho $0 "$@"\n')

    def write(self, name, text):
        path = f'{self.top}/{name}'
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        os.chmod(path, 0o755)

    def shell(self, command):
        """Exit code and output, as a user at the top folder sees them."""
        done = subprocess.run(command, shell=True, cwd=self.top, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100)
        return done.returncode, done.stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.top)


def blocks(text):
    """{title: lines} of the failures that a run reported, without that of the litter of others."""
    found, title = {}, None
    for line in text.splitlines():
        if line.startswith('FAIL  '):
            title = re.sub(r' \(exit code \d+, [\d.]+ s\)$', '', line[6:])
            found[title] = []
        elif line.startswith('      ') and title:
            found[title].append(line.strip())
    return {title: lines for title, lines in found.items() if not title.startswith('nothing is left')}


def check_failures():
    planted = [line.rsplit('=>', 1) for line in BAD.strip().splitlines()]
    with Place('\n'.join(case for case, _ in planted)) as place:
        code, text = place.shell('UCX_TLS=tcp tests/run.py -j 4 --settle 1 --junit result.xml')
        found = blocks(text)
        for case, reason in planted:
            name = case.split(' | ')[1].strip()
            lines = found.get(f'planted: {name}', [])
            pattern = re.escape(reason.strip()).replace(r'\.\*', '.*')
            fact(f'fails: {case.strip()}', any(re.match(pattern, line) for line in lines), text)
        # Other programs of this machine may have left something, which is one failure more.
        n = len(planted)
        fact('the exit code is 1 and nothing passed', code == 1 and
             text.endswith((f'\n1 passed, {n} failed, 1 skipped\n', f'\n0 passed, {n + 1} failed, 1 skipped\n')), text)
        slow = float(re.search(r'^FAIL  planted: bash -c "trap.*, ([\d.]+) s\)', text, re.M)[1])
        fact('a command that ignores TERM is killed', slow < 30, slow)
        left = re.findall(r'process left: (\d+)', text)
        fact('a process that is left is killed', len(left) == 2 and not any(map(alive, left)), left)
        suite = xml.parse(f'{place.top}/result.xml').getroot()
        fact('JUnit: each failure is there', len(suite.findall('testcase/failure')) in (n, n + 1),
             xml.tostring(suite))


def check_successes():
    with Place(GOOD) as place:
        code, text = place.shell('CK_CHECK=0 UCX_TLS=tcp PMI_RANK=1 tests/run.py -v --settle 20')
        # One more for the alternatives, two for the parts, and the last case.
        n = len(GOOD.strip().splitlines()) + 1 + 2 + 1
        fact('what is right passes, and parts count', code == 0 and text.endswith(f'\n{n} passed, 0 failed, 0 skipped\n'),
             text)
        fact('--verbose names what passed', text.count('\npass  planted: ') == n - 3 and
             '\n      ok three\n' in text, text)


def check_waits():
    """What waits runs beside what is busy, also where one case at a time runs, and not beside what runs alone."""
    hear = 'until [ -e {} ]; do sleep 0.01; done'
    table = f'''
- | bash -c "touch a; {hear.format('b')}"
- | bash -c "{hear.format('c')}"
- | bash -c "touch b; {hear.format('a')}; touch c; {hear.format('d')}" | waits
- | bash -c "touch d; sleep 1; touch e" | waits
- | bash -c "test -e e" | alone
'''
    with Place(table) as place:
        code, text = place.shell('tests/run.py -j 1 --settle 20')
        fact('cases that wait run beside others, and two of them', code == 0 and
             text.endswith('\n6 passed, 0 failed, 0 skipped\n'), text)


def check_shared_memory():
    name = f'/dev/shm/chard-runner-check-{os.getpid()}'
    with Place(f'- | touch {name}') as place:
        code, text = place.shell('tests/run.py --settle 0.2')
        os.unlink(name)
        fact('shared memory that is left is a failure', code == 1 and f'left: {name}' in text, text)


def check_repetition():
    """The commands that a failure prints, pasted into a shell, do the same again."""
    table = '- | CK_X="a b" bash -c "echo it is $CK_X, $0, $1; exit 3" @ --seed=@ | if sanitized\n- | true'
    with Place(table) as place:
        code, text = place.shell('tests/run.py -s address -b build --seed 7')
        (title, lines), = blocks(text).items()
        said = next(line for line in lines if line.startswith('stdout: it is a b, '))
        fact('a drawn number is one', re.search(r'a b, \d+, --seed=\d+$', said), said)
        commands = {kind: line.split(':', 1)[1] for line in lines for kind in ('again', 'by hand')
                    if line.startswith(f'{kind}:')}
        code, text = place.shell(commands['again'])
        fact('"again" fails in the same way, and runs only this case', code == 1 and
             said in blocks(text)[title] and text.startswith('1 cases'), text)
        code, text = place.shell(commands['by hand'])
        fact('"by hand" does the same', code == 3 and f'stdout: {text}' == f'{said}\n', text)
        code, text = place.shell('CHECK_SEED=7 tests/run.py -s address -b build "it is"')
        fact('CHECK_SEED repeats the numbers', said in blocks(text)[title], text)
        code, text = place.shell('tests/run.py -s address -b build --seed 8')
        fact('another seed draws others', said not in blocks(text)[title], text)


def check_places():
    """Shapes and ways: ckrun and a program that print how they were called."""
    table = '2x3 +p4 more more:3x1 | echoes "a b" | count 1 .'
    with Place(table, ['bin/ckrun', 'tests/programs/echoes'], ['echoes']) as place:
        _, text = place.shell('tests/run.py --list')
        fact('--list', text.splitlines() == ['planted: echoes "a b" 2x3', 'planted: echoes "a b" +p4',
                                             'ways, 1x2: echoes "a b" 1x2', 'ways, 3x1: echoes "a b" 3x1'], text)
        _, text = place.shell('tests/run.py ways')
        fact('a pattern chooses, and a way has its environment',
             text.count('not so: count 1 .') == 2 and text.count('stdout: CK_B=2') == 2, text)
        fact('1x2 is one process of two PEs',
             'stdout: build/bin/ckrun -n 2 --ppn 2 build/tests/programs/echoes a b' in text, text)
        _, text = place.shell("tests/run.py -v planted")
        fact('2x3 and +p4', 'pass  planted: echoes "a b" 2x3' in text and
             'pass  planted: echoes "a b" +p4' in text, text)


def check_draws():
    """What a word draws: of each command a quarter of its ways, of a group a quarter of what has the rule; and all the others."""
    table = 'wide | echoes {a,b}\n1x1 | echoes named\n- | true {1,2,3,4,5,6,7,8,9} | drawn\n'
    with Place(table, ['bin/ckrun', 'tests/programs/echoes'], ['echoes']) as place:
        place.write('tests/ways.cases', 'way wide | ways | 1x2 1x3 1x4 1x5 1x6 1x7 1x8 1x9 2x2\n')

        def drawn(options):
            lines = place.shell(f'tests/run.py --list {options}')[1].splitlines()
            return lines, [sum(text in line for line in lines) for text in ('echoes a', 'echoes b', 'true', 'named')]

        _, everything = drawn('')
        fact('without --draw all run', everything == [9, 9, 9, 1], everything)
        seen = [drawn(f'--draw={word}') for word in ('one', 'two', 'three', 'one')]
        fact('a quarter of the ways of each command and of a group, and all the others',
             all(set(counts[:3]) <= {2, 3} and counts[3] == 1 for _, counts in seen), seen)
        fact('the word decides', seen[0] == seen[3] and seen[0] != seen[1] != seen[2], seen)
        _, counts = drawn('--draw=one -s address')
        fact('a sanitizer draws an eighth, and of others, too', set(counts[:2]) <= {1, 2} and sum(counts[2:]) in (1, 2), counts)
        place.write('tests/mutants/mutants.list', 'm | file | text | other | true 7; echoes a 1x4; thread: echoes b 1x5\n')
        for word in 'one', 'two', 'three', 'four':
            lines, _ = drawn(f'--draw={word}')
            fact(f'what a mutant names always runs: {word}',
                 {'planted: true 7', 'ways: echoes a 1x4'} <= set(lines), lines)
            lines, _ = drawn(f'-s thread --draw={word}')
            fact(f'the same with the thread sanitizer: {word}', 'ways: echoes b 1x5' in lines, lines)
        code, text = place.shell('tests/run.py --settle 20 --draw=one --junit result.xml true')
        n, suite = len(blocks(text)), xml.parse(f'{place.top}/result.xml').getroot()
        left = int(re.search(r'^skip  (\d+) of 9 cases: not drawn; FULL=1 runs all, SEED=one repeats this draw$', text, re.M)[1])
        fact('what is not drawn has a line, and counts as skipped', code == 0 and n == 0 and 4 <= left <= 8 and
             text.endswith(f'\n{10 - left} passed, 0 failed, {left} skipped\n') and suite.get('skipped') == str(left), text)
        code, text = place.shell('git init -q && git add tests && git -c user.name=a -c user.email=b commit -qm one && '
                                 'tests/run.py --settle 20 --draw= true && git rev-parse HEAD')
        word = re.search(r' SEED=([0-9a-f]{12}) ', text)
        fact('by itself the commit decides', code == 0 and word and text.splitlines()[-1].startswith(word[1]), text)


def check_progress():
    """How far it is, and what took how long."""
    with Place('- | true {1,2,3}\n- | bash -c "for i in {1..20000}; do :; done"') as place:
        text = place.shell('tests/run.py --settle 20')[1]
        fact('no such line while others come', ' of 4, ' not in text, text)
        # As if nothing had been said for long.
        text = place.shell("sed -i 's/^SILENCE_S = .*/SILENCE_S = -1/' tests/runner/report.py && "
                           'tests/run.py --settle 20 --times times')[1]
        fact('a line says how many are done', re.search(r'^      [1-4] of 4, \d+ s$', text, re.M), text)
        with open(f'{place.top}/times', encoding='utf-8') as file:
            lines = [line.split('\t') for line in file.read().splitlines()]
        fact('--times: the busiest first', lines[0][2].startswith('planted: bash') and len(lines) == 5 and
             float(lines[0][1]) > 0, lines)


def check_conditions():
    table = '\n'.join(f'- | true {rule} | if {rule}' for rule in
                      ('plain', 'sanitized', 'thread', 'not thread'))
    with Place(table) as place:
        for option, rules in (('', ['plain', 'not thread']), ('-s address', ['sanitized', 'not thread']),
                              ('-s thread', ['sanitized', 'thread'])):
            _, text = place.shell(f'tests/run.py {option} --list')
            fact(f'conditions with "{option}"',
                 text.splitlines() == [f'planted: true {rule}' for rule in rules], text)
    table = '2x1 2x2 | echoes a\n2x1 | echoes b | if sanitized'
    with Place(table, ['bin/ckrun', 'tests/programs/echoes'], ['echoes']) as place:
        for option, cases in (('', ['a 2x1', 'a 2x2']), ('-s address', ['a 2x1', 'a 2x2', 'b 2x1']),
                              ('-s thread', ['a 2x2', 'b 2x1'])):
            _, text = place.shell(f'tests/run.py {option} --list')
            fact(f'processes of one PE with "{option}"',
                 text.splitlines() == [f'planted: echoes {case}' for case in cases], text)


def check_skips():
    table = r"""
- | true | needs 1000000 GiB
- | bash -c "echo ok a; echo 'skip  b: no b here'"
- | bash -c "echo skip all: nothing here; exit 77"
- | bash -c "echo '[  SKIPPED ] some_test'; echo skip some_test: no such; exit 0"
- | true sanitized | if sanitized
- | true thread {1,2} | if thread
- | true plain | if plain
"""
    with Place(table) as place:
        code, text = place.shell('tests/run.py --settle 20 --junit result.xml')
        for line in ('planted: true: it needs 1000000 GiB of free memory', 'planted: bash -c "echo ok a; .*, b: no b here',
                     'planted: bash -c "echo skip all: .*: nothing here', 'planted: .*, some_test: no such',
                     '1 case with "if sanitized" in the tables: .*', '2 cases with "if thread" in the tables: .*'):
            fact(f'a line says: skip  {line}', re.search(f'^skip  {line}$', text, re.M), text)
        fact('what is skipped is counted, and not as passed', code == 0 and
             text.endswith('\n3 passed, 0 failed, 7 skipped\n'), text)
        suite = xml.parse(f'{place.top}/result.xml').getroot()
        fact('JUnit: each skip is there, with its reason', suite.get('skipped') == '7' and
             len(suite.findall('testcase/skipped[@message]')) == 7, xml.tostring(suite))
        code, text = place.shell('tests/run.py --settle 20 "true thread"')
        fact('cases that a pattern leaves out do not count', code == 0 and
             text.endswith('\n1 passed, 0 failed, 2 skipped\n'), text)


def check_refusals():
    """A table that says nothing sensible, and a program without a case, end the run at once."""
    for table, says in (('- | true | perhaps', 'planted.cases:2: there is no rule "perhaps"'),
                        ('- | true | if cold', 'planted.cases:2: there is no rule "if cold"'),
                        ('# c\n\n4x | true', 'planted.cases:4: 4x is neither a shape nor a way'),
                        ('- | $name', 'planted.cases:2: no "let name = ..."'),
                        ('- | A=1', 'planted.cases:2: no command'), ('true', 'not a line of a table'),
                        ('- | true | out (', 'planted.cases:2: '), ('- | false', 'no case has such a name')):
        with Place(table) as place:
            code, text = place.shell('tests/run.py right')
            fact(f'refused: {table!r}', code == 1 and says in text and 'passed' not in text, text)
    with Place('- | true', sources=['lonely']) as place:
        code, text = place.shell('tests/run.py')
        fact('refused: a program without a case', code == 1 and 'build/tests/programs/lonely' in text and
             'passed' not in text, text)
        place.write('tests/lonely.sh', '#!/bin/sh\n')
        code, text = place.shell('tests/run.py')
        fact('refused: a script without a case', code == 1 and 'tests/lonely.sh' in text, text)
    with Place('1x1 | lonely', sources=['lonely']) as place:
        code, text = place.shell('tests/run.py')
        fact('fails: a program that was not built', code == 1 and '1 failed' in text, text)


def check_interrupts():
    for number in signal.SIGINT, signal.SIGTERM:
        with Place('- | bash -c "echo $$ >pid; sleep 63"') as place:
            run = subprocess.Popen([f'{place.top}/tests/run.py'], stdin=subprocess.DEVNULL, cwd=place.top,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
            pid = f'{place.top}/pid'
            until = time.monotonic() + 20
            while not (os.path.exists(pid) and os.path.getsize(pid)) and time.monotonic() < until:
                time.sleep(0.02)
            run.send_signal(number)
            code = run.wait(20)
            with open(pid, encoding='utf-8') as file:
                gone = not alive(file.read().strip())
            fact(f'{number.name} ends the cases, too', code == 128 + number and gone, f'exit code {code}')


def main():
    for check in (check_failures, check_successes, check_waits, check_shared_memory, check_repetition, check_places,
                  check_draws, check_progress, check_conditions, check_skips, check_refusals, check_interrupts):
        check()
    return failed


if __name__ == '__main__':
    sys.exit(main())
