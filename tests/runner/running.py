# SPDX-License-Identifier: Apache-2.0
"""Runs a case in a session of its own, without a terminal or input, with a time limit."""

import dataclasses
import os
import random
import re
import select
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

from runner import left
from runner.tables import CHECKS, Case

# With this exit code, and a line "skip WHAT: WHY", a test says that nothing of it can run here.
SKIPPED = 77


@dataclasses.dataclass
class Ending:
    """What came of a case."""
    case: Case
    by_hand: str = ''  # what a shell runs to repeat it
    code: int = 0  # as a shell counts it: 128 and the number of a signal
    seconds: float = 0
    busy: float = 0  # seconds of processors, its own and of the descendants that were waited for
    out: str = ''
    err: str = ''
    wrong: list = dataclasses.field(default_factory=list)
    skipped: str = ''  # why

    def lines(self, stream, pattern):
        return sum(1 for line in getattr(self, stream).splitlines() if re.search(pattern, line))

    def parts(self):
        """A test that consists of many says so line by line; cmocka does it in its own way."""
        return [line for line in (self.out + self.err).splitlines()
                if re.match(r'ok +\S|\[       OK ', line)]

    def skipped_parts(self):
        """Pairs of a part that could not run, and why; unless none of it could."""
        lines = re.findall(r'^skip +([^:\n]+): *(.+)$', self.out + self.err, re.M)
        return [] if self.skipped else lines

    def take_skip(self):
        """Whether nothing of it could run, which it must give a reason for."""
        if self.code == SKIPPED and ('exit', '0') in self.case.checks and (parts := self.skipped_parts()):
            self.skipped = parts[0][1]
        return bool(self.skipped)

    def unexplained(self):
        """Parts that were skipped, as cmocka or they themselves say, and nobody says why."""
        named = re.findall(r'^(?:skip +|\[  SKIPPED \] )([^:\n]*)$', self.out + self.err, re.M)
        return sorted(set(named) - {what for what, _ in self.skipped_parts()})


class Runner:
    def __init__(self, options):
        self.options = options
        self.folder = tempfile.mkdtemp(prefix='chard-tests-')
        # Every process that comes from here inherits a name that begins with this.
        self.mark = os.environ.get('CHARD_TEST', '') + f'{os.getpid()}-{random.randrange(10**9)}/'
        # Nothing takes a tenth of it on an idle machine.
        self.limit = 500 if options.sanitizer else 180
        self.given = {name: value for name, value in os.environ.items()
                      if not name.startswith(('CK_', 'UCX_', 'PMI'))}
        self.added = {'OPENBLAS_NUM_THREADS': '1'} | for_sanitizer(options.sanitizer)

    def run(self, case):
        numbers = random.Random(f'{self.options.seed} {case.title}')
        added = self.added | {name: drawn(text, numbers) for name, text in case.env.items()}
        words = [drawn(word, numbers) for word in case.command]
        end = Ending(case, shlex.join(['env', *(f'{name}={text}' for name, text in added.items()), *words]))
        if case.memory and case.memory > free_gib():
            end.skipped = f'it needs {case.memory} GiB of free memory'
            return end
        folder = tempfile.mkdtemp(dir=self.folder)
        mark = f'{self.mark}{os.path.basename(folder)}/'
        os.mkdir(f'{folder}/tmp')
        self.execute(end, words, folder,
                     self.given | added | {'CHARD_TEST': mark, 'TMPDIR': f'{folder}/tmp'})
        if not end.take_skip():
            end.wrong += [f'not so: {verb} {text}' for verb, text in case.checks
                          if not CHECKS[verb](text, end)]
            end.wrong += [f'skipped without a reason: {name}' for name in end.unexplained()]
        end.wrong += left.end_processes(mark, self.options.settle)
        # What the thread sanitizer makes and removes as a process begins; one that is killed then leaves it.
        end.wrong += [f'file left in TMPDIR: {name}' for name in os.listdir(f'{folder}/tmp')
                      if not name.startswith('tsan.rodata.')]
        shutil.rmtree(folder)
        return end

    def execute(self, end, words, folder, env):
        limit, start = end.case.limit or self.limit, time.monotonic()
        with open(f'{folder}/out', 'wb') as out, open(f'{folder}/err', 'wb') as err:
            try:
                process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                           env=env, start_new_session=True)
            except OSError as wrong:
                end.code, end.err = 127, f'{wrong}\n'
                return
            if not has_ended(process, end, limit):
                end.wrong.append(f'it took more than {limit} s')
                stop(process)
        end.seconds = time.monotonic() - start
        end.code = process.returncode if process.returncode >= 0 else 128 - process.returncode
        end.out, end.err = left.read(f'{folder}/out'), left.read(f'{folder}/err')

    def finish(self):
        left.end_processes(self.mark, 0)
        shutil.rmtree(self.folder, ignore_errors=True)


def drawn(word, numbers):
    """`@` becomes a number that follows from the seed and the case's name."""
    return f'{word[:-1]}{numbers.randrange(1, 32768)}' if re.fullmatch(r'(.*=)?@', word) else word


def for_sanitizer(sanitizer):
    if sanitizer in ('address', 'clang'):
        # LLVM up to 16 and gcc up to 13 take a block of a thread's variables that malloc put 16 bytes behind the beginning
        # of a page for one of glibc before 2.25, which had its address and length before it. The search for leaks then
        # reads from what stands there: "Tracer caught signal 11".
        return {'ASAN_OPTIONS': 'exitcode=86:intercept_tls_get_addr=0', 'UBSAN_OPTIONS': 'print_stacktrace=1'}
    if sanitizer == 'thread':
        # UCX, hwloc and libc are not instrumented: TSan cannot see how they synchronise. UCX's hook
        # in munmap and madvise runs when a thread has ended for TSan, and crashes there.
        # At its end a process waits for races of other threads, by default for a second, which was half of the time. The
        # runtime has joined its threads by then.
        return {'TSAN_OPTIONS': 'exitcode=86:ignore_noninstrumented_modules=1:atexit_sleep_ms=10',
                'UCX_MEM_MMAP_HOOK_MODE': 'none'}
    return {}


def free_gib():
    return int(re.search(r'MemAvailable: *(\d+)', left.read('/proc/meminfo'))[1]) >> 20


def has_ended(process, end, seconds):
    """Waits for so long. Popen.wait would look now and then, up to 50 ms too late, which is what many a case takes."""
    watched = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(watched, select.POLLIN)
        if not poll.poll(seconds * 1000):
            return False
    finally:
        os.close(watched)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode, end.busy = os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime
    return True


def stop(process):
    """Ends a session, whose first process is asked before it is killed."""
    for number in signal.SIGTERM, signal.SIGKILL:
        os.killpg(process.pid, number)
        try:
            process.wait(3)
            return
        except subprocess.TimeoutExpired:
            pass


def nothing_left(before, seconds):
    """The last case of all: there is no more litter than before."""
    end, start = Ending(Case('nothing is left', 'in /dev/shm, System V memory and /tmp', [])), time.monotonic()
    while (more := left.litter() - before) and time.monotonic() - start < seconds:
        time.sleep(0.5)
    end.wrong = [f'left: {what}' for what in sorted(more)]
    end.code, end.seconds = int(bool(more)), time.monotonic() - start
    return end
