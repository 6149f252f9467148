# SPDX-License-Identifier: Apache-2.0
"""Hostile text: command lines of ckrun, ckci and programs, and every variable that the sources read.

Whatever the text is, the command ends at once: with the exit code that it has for mistakes and one line that
says what it refuses, or, if the text happens to mean something, properly. It never crashes, hangs, writes files or
starts anything after a refusal. A line holds no control character of the text, so that the text cannot pretend to be
another line, or steer a terminal.
"""

import dataclasses
import os
import random
import re
import shutil
import time

from launcher import values
from reliability.trials import Outcome, environment
from runner.job import Job

NUMBERS = ['0', '-1', '1.5', '1e3', '0x', '0x7fffffff', '99999999999999999999', '-99999999999999999999', '2147483648',
           '4294967296', '9223372036854775808', '18446744073709551616', '+1', '1 ', ' 1', '1,2', '٣', '1\n', 'nan', 'inf']
WORDS = ['', ' ', '-', '--', '=', '%s%s%n', '$(id)', '`id`', '; ls', '../../..', '/', '~', '\\', '"', "'", '\t', '\n',
         '\033[2J\033[1;1H', '\r', '\x07', 'ü', '\udcff\udcfe', '\u202e', 'chard: all is well\nckrun: done']
CKRUN = ['-n', '-np', '+p', '++p', '--ppn', '++ppn', '+ppn', '--bind', '--timeout', '--grace', '--tag-output',
         '--verbose', '++local', '--help', '--version', '-h', '-x', '--', '--frobnicate', '--n', '-N', '--replace',
         '--replace-hung', '--restart', '--restart-if-any', '--restart-older', '--checkpoint-exit', '--resize', '--progress']
CKCI = ['-o', '-M', '--list', '--cpp', '-D', '-DX', '-U', '-I', '-I/', '--', '--help', '--version', '-x', '-oo',
        '--frobnicate']
INPUTS = ['/', '/dev/null', '/nowhere', '/proc/self/mem', '/etc/passwd', '/dev/tty', '.', '/bin/true']
PMI = {'PMI_FD': ['x', '-1', '0', '1', '77', '99999999999', ''], 'PMI_RANK': ['x', '-1', '7', '99999999999', ''],
       'PMI_SIZE': ['x', '-1', '0', '1', '99999999999', '']}


@dataclasses.dataclass
class Attack:
    kind: str
    command: list  # '$ckrun' and the like stand for what was built
    variables: dict = dataclasses.field(default_factory=dict)
    refusal: str = ''  # what the line must be like, if it must be refused
    codes: tuple = (1,)  # of a refusal
    who: str = 'chard|ckrun'

    @property
    def what(self):
        words = [f'{name}={value}' for name, value in self.variables.items()] + self.command
        return ' '.join(ascii(word)[:60] for word in words)


# ---- text ---------------------------------------------------------------------------------------


def text(rng):
    """Without zeros, which end a word."""
    choice = rng.randrange(6)
    if choice == 0:
        return rng.choice(NUMBERS)
    if choice == 1:
        return rng.choice(WORDS)
    if choice == 2:
        return os.fsdecode(bytes(rng.randrange(1, 256) for _ in range(rng.randrange(1, 40))))
    if choice == 3:
        return rng.choice(['A', '9', '-', '%n', '\n', 'ü', '0x']) * rng.choice([100, 4096, 30000])
    if choice == 4:
        return rng.choice(NUMBERS) + rng.choice(WORDS)
    return ''.join(chr(rng.randrange(32, 127)) for _ in range(rng.randrange(1, 20)))


def variables_attack(rng, names):
    name = rng.choice(names)
    value = rng.choice(values.HOSTILE) if rng.random() < 0.3 else text(rng)
    command = ['$victim'] if name == 'CK_PES' else ['$victim', '+p', '2']
    if name not in values.ALONE_ONLY and rng.random() < 0.5:
        command = ['$ckrun', '-n', '2', '$victim']
    must = name not in values.ANY_TEXT and value in values.wrong_for(name)
    return Attack('variables', command, values.SETTINGS.get(name, {}) | {name: value},
                  f'chard: {name}=.* is refused: it must be ' if must else '')


def pmi_attack(rng, _):
    given = {name: rng.choice(values_) if rng.random() < 0.7 else text(rng) for name, values_ in PMI.items()}
    for name in rng.sample(list(PMI), rng.randrange(2)):
        del given[name]
    return Attack('launcher\'s variables', ['$victim'], given)


def ckrun_attack(rng, _):
    words = []
    for _ in range(rng.randrange(1, 4)):
        words.append(rng.choice(CKRUN) if rng.random() < 0.8 else text(rng))
        if rng.random() < 0.8:
            words[-1:] = [words[-1] + '=' + text(rng)] if rng.random() < 0.3 else [words[-1], text(rng)]
    return Attack('ckrun options', ['$ckrun'] + words, codes=(1, 2, 126, 127), who='ckrun')


def ckrun_value(rng, _):
    """An option with a value that it cannot mean must be refused before anything starts."""
    option, good = rng.choice([('-n', r'\d+'), ('-np', r'\d+'), ('+p', r'\d+'), ('--ppn', r'\d+'), ('++ppn', r'\d+'),
                               ('--bind', 'core|socket|none'), ('--timeout', r'[-+.\deExXpPa-fA-F]+'),
                               ('--grace', r'[-+.\deExXpPa-fA-F]+')])
    value = text(rng)
    if re.fullmatch(r'\+?0*(' + good + ')', value, re.A):
        value += ' '
    return Attack('ckrun values', ['$ckrun', option, value, 'touch', '$places/started'], refusal='ckrun: .*; see ckrun '
                  '--help$', codes=(2,), who='ckrun')


def program_attack(rng, _):
    value = text(rng)
    if re.fullmatch(r'[-+ ]?\d+', value):
        value = rng.choice(['0', '-1', '65536', '99999999999999999999'])
    option = rng.choice(['+p', '+ppn'])
    glued = rng.random() < 0.3 and value[:1].isdigit()
    return Attack('program options', ['$victim', option + value] if glued else ['$victim', option, value],
                  codes=(1, 2))


def ckci_attack(rng, _):
    words = []
    for _ in range(rng.randrange(1, 4)):
        words.append(rng.choice(CKCI) if rng.random() < 0.7 else text(rng))
        if rng.random() < 0.3:
            words.append(text(rng))
    if rng.random() < 0.6:
        words.append(rng.choice(INPUTS) if rng.random() < 0.7 else text(rng))
    return Attack('ckci options', ['$ckci'] + words, codes=(1, 2), who='ckci')


ATTACKS = [variables_attack, variables_attack, variables_attack, ckrun_attack, ckrun_value, program_attack, ckci_attack,
           pmi_attack]


def trials(count, seed):
    rng = random.Random(f'{seed} hostile')
    names = sorted(values.variables() | values.ANY_TEXT)
    return [ATTACKS[i % len(ATTACKS)](rng, names) for i in range(count)]


# ---- one trial ----------------------------------------------------------------------------------


def run(attack, options, places):
    end, start, before = Outcome(attack.kind, attack.what), time.monotonic(), places.litter()
    stand_for = {'$victim': f'{options.build}/tests/reliability/victim', '$ckrun': f'{options.build}/bin/ckrun',
                 '$ckci': f'{options.build}/bin/ckci', '$places/started': f'{places.folder}/started'}
    command = [stand_for.get(word, word) for word in attack.command]
    folder = f'{places.folder}/empty'
    os.mkdir(folder)
    job = Job(command, environment(places, **attack.variables), prepare=lambda: os.chdir(folder))
    job.run()
    made = os.listdir(folder)
    shutil.rmtree(folder)
    end.wrong = job.remains(places, before)
    end.output, end.seconds = job.text(), time.monotonic() - start
    if b'job.py: ' in job.output:
        end.skipped = end.output.strip()[:100]  # the kernel takes no such word
    elif made and job.code:
        end.wrong.append(f'it has written {made}')
    else:
        end.wrong = end.wrong or judged(attack, job)
    places.clean()
    return end


def judged(attack, job):
    if job.code == 0:
        return [f'not refused: {attack.refusal}'] if attack.refusal else []
    if job.code not in attack.codes:
        return [f'exit code {job.code}']
    lines = [line for line in job.output.decode('latin-1').split('\n')
             if line and not re.match('ckrun: (node .* started|the job listens at .*)$', line)]
    ours = set(line for line in lines if re.match(rf'({attack.who}): ', line))
    if attack.kind == 'variables':  # each node says it, until ckrun ends it in mid-line
        ours = [line for line in ours if not line.startswith('ckrun: ')]
        ours = [line for line in ours if not any(other != line and other.startswith(line) for other in ours)]
    if len(ours) != 1:
        return [f'{len(ours)} lines']
    ours = list(ours)
    quoted = r'|.*:\d+:\d+: error: |    |  help: ' if attack.who == 'ckci' else ''
    strange = [line for line in lines if not re.match(rf'({attack.who}): {quoted}', line)]
    if strange and '--cpp' not in attack.command:  # whose words are its own
        return [f'this line, too: {ascii(strange[0])[:200]}']
    if not re.match(attack.refusal, ours[0]):
        return [f'not in the line: {attack.refusal}']
    if re.search(r'[\x00-\x1f\x7f]', ours[0]):
        return ['a control character in the line']
    return []
