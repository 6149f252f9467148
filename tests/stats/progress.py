#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The line that ckrun --progress shows.

    tests/stats/progress.py BUILD

ckrun runs on a pseudo-terminal, of which a small model keeps what a person would see: so it is found out whether a
line of the program's is ever mixed with the line of progress, and whether anything is left of it. Nothing is awaited
by time alone: each step waits for what must appear. Prints "ok ..." for each fact; ends with exit code 1 at the first
one that is not so."""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios

BUILD = sys.argv[1]
CKRUN, PROGRAM = f'{BUILD}/bin/ckrun', f'{BUILD}/tests/programs/tallied'
LIMIT_S = 60
LINE = re.compile(r'ckrun: \d+ s, (1 PE|[2-9] PEs): \d+ % busy, \d+ % overhead, [0-9.]+( [kMG])? messages/s')


def check(is_so, what, *details):
    if not is_so:
        print(f'not ok {what}', *details)
        sys.exit(1)


class Screen:
    """Lines of text as a terminal shows them that knows carriage return, line feed and "clear to the end of the
    line", and that must be asked for nothing else."""

    def __init__(self):
        self.lines, self.column, self.raw = [''], 0, ''

    def add(self, text):
        self.raw += text
        for part in re.findall('\r|\n|\033\\[K|\033|[^\r\n\033]+', text):
            if part == '\r':
                self.column = 0
            elif part == '\n':
                self.lines.append('')
            elif part == '\033[K':
                self.lines[-1] = self.lines[-1][:self.column]
            else:
                check(part != '\033', 'the terminal is steered by something else', repr(text))
                self.lines[-1] = self.lines[-1][:self.column] + part + self.lines[-1][self.column + len(part):]
                self.column += len(part)


class Job:
    def __init__(self, *command, columns=100, stdout=None, **env):
        self.screen, (self.ours, theirs) = Screen(), pty.openpty()
        self.widen(columns)
        env = {**os.environ, 'TERM': 'xterm', **env}
        self.process = subprocess.Popen([CKRUN, *command], stdin=subprocess.DEVNULL, stdout=stdout or theirs,
                                        stderr=theirs, env=env, start_new_session=True)
        os.close(theirs)

    def widen(self, columns):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))

    def read(self):
        """What comes next; False at the end."""
        ready, _, _ = select.select([self.ours], [], [], LIMIT_S)
        check(ready, 'the terminal hears something within a minute', repr(self.screen.raw))
        try:
            text = os.read(self.ours, 65536)
        except OSError:  # EIO: nobody has the other end any more
            text = b''
        self.screen.add(text.decode())
        return bool(text)

    def until(self, seen, what):
        while not seen():
            check(self.read(), what, repr(self.screen.raw))

    def end(self, code):
        while self.read():
            pass
        check(self.process.wait(LIMIT_S) == code, f'exit code {code}', self.process.returncode, self.screen.raw)
        os.close(self.ours)


def shown_and_taken_away():
    job = Job('-n', '2', '--progress', PROGRAM, '20', '10', '3')
    job.until(lambda: LINE.match(job.screen.lines[-1]) and '| step' in job.screen.lines[-1], 'a line of progress')
    job.until(lambda: "a line of the program's own" in job.screen.lines, "the program's own line stands alone")
    again = len(job.screen.raw)
    job.until(lambda: LINE.match(job.screen.lines[-1]) and '% busy' in job.screen.raw[again:], 'drawn again')
    check(re.search(r'\| step \d+ of \?\[31mmany\?$', job.screen.lines[-1]), 'control characters are filtered',
          repr(job.screen.lines[-1]))
    job.process.send_signal(signal.SIGTERM)
    job.end(143)
    check(not any('% busy' in line for line in job.screen.lines), 'nothing is left of the line', job.screen.lines)
    print('ok a line is shown, gives way to the program\'s own lines, and is taken away')


def one():
    job = Job('-n', '1', '--progress', PROGRAM, '20', '10', '3')
    job.until(lambda: re.match(r'ckrun: \d+ s, 1 PE: ', job.screen.lines[-1]), 'a job of one PE')
    job.process.send_signal(signal.SIGTERM)
    job.end(143)
    print('ok one PE is no PEs')


def width():
    job = Job('-n', '1', '--progress', PROGRAM, '20', '10', '3', columns=30)
    job.until(lambda: job.screen.lines[-1].startswith('ckrun: '), 'a line of progress')
    check(len(job.screen.lines[-1]) == 29, 'as wide as the terminal, less one', job.screen.lines[-1])
    job.widen(50)
    job.until(lambda: len(job.screen.lines[-1]) == 49, 'as wide as the terminal has become')
    job.process.send_signal(signal.SIGTERM)
    job.end(143)
    drawn = re.findall('\r\033\\[K(ckrun: \\d+ s,[^\r\n]*)', job.screen.raw)
    check({len(line) for line in drawn} == {29, 49}, 'never wider', drawn)
    print('ok the width of the terminal is respected, and asked for each time')


def figures():
    """PE 0 of two sits in a handler, the other one has nothing to do."""
    job = Job('-n', '2', '--progress', PROGRAM, '20', '10', '3')
    job.until(lambda: re.search(r' (4[5-9]|5[0-5]) % busy, [0-5] % overhead, 0 messages/s', job.screen.lines[-1]),
              'half of the PEs are busy')
    job.process.send_signal(signal.SIGTERM)
    job.end(143)
    print('ok PEs that sit in a handler are seen as busy')


def saved():
    """The age of the checkpoint grows from line to line."""
    folder = tempfile.mkdtemp()
    job = Job('--replace', '1', '-n', '2', '--progress', f'{BUILD}/tests/programs/saves_sync', '100000000', columns=200,
              CK_CHECKPOINT=f'{folder}/ck,1ms')
    last = r' messages/s, saved [1-9]\d* \([1-9][0-9.]* kB, \d+\.\d s\) \d+ s ago'
    job.until(lambda: re.search(last + '$', job.screen.lines[-1]), 'the last checkpoint')
    with open(f'/proc/{job.process.pid}/task/{job.process.pid}/children', encoding='ascii') as children:
        os.kill(int(children.read().split()[1]), signal.SIGKILL)
    job.until(lambda: re.search(last + ', epoch 1$', job.screen.lines[-1]), 'the epoch')
    job.process.send_signal(signal.SIGTERM)
    job.end(143)
    shutil.rmtree(folder)
    print('ok the last checkpoint and the epoch are shown')


def quiet(what, *command, **options):
    job = Job(*command, PROGRAM, '20', '10', **options)
    job.end(0)
    check('\033' not in job.screen.raw, f'{what}: nothing but the output', repr(job.screen.raw))
    print(f'ok {what}: nothing is shown')


def left_behind():
    """However long it took: a line may have been shown meanwhile."""
    job = Job('-n', '2', '--progress', PROGRAM, '20', '10')
    job.end(0)
    check(job.screen.lines == ['tallied: 4 cells', ''], 'only the output is left', job.screen.lines)
    print('ok a job that ends by itself leaves only its output')


def no_terminal():
    done = subprocess.run([CKRUN, '-n', '2', '--progress', PROGRAM, '20', '10'], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=LIMIT_S, check=True)
    check((done.stdout, done.stderr) == ('tallied: 4 cells\n', ''), 'without a terminal nothing is shown', done)
    shown = subprocess.run([CKRUN, '-n', '1', '--progress', 'sh', '-c', 'echo "${CK_GAUGES-none}"'], text=True,
                           stdout=subprocess.PIPE, timeout=LIMIT_S, check=True, env={**os.environ, 'CK_GAUGES': '3'})
    check(shown.stdout == 'none\n', 'the nodes are not asked to count', shown)
    print('ok without a terminal: nothing is shown, and nothing counted')


def wrong_gauges():
    done = subprocess.run([PROGRAM], stderr=subprocess.PIPE, text=True, timeout=LIMIT_S, check=False,
                          env={**os.environ, 'CK_GAUGES': '77'})
    check(done.returncode == 1 and done.stderr.startswith('chard: CK_GAUGES=77 is refused: it must be set by ckrun'),
          'CK_GAUGES of somebody else', done)
    print('ok CK_GAUGES of somebody else is refused')


shown_and_taken_away()
one()
width()
figures()
saved()
left_behind()
quiet('without --progress', '-n', '2')
quiet('a terminal without a name', '-n', '2', '--progress', TERM='dumb')
no_terminal()
wrong_gauges()
