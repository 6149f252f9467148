#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets allocations fail, one at a time, and looks at how the job ends.

    tests/alloc/sweep.py [-b build folder] [--short | --full | --any] [--seed N] [--table] [pattern]

Every place of the runtime, ckrun and ckci that allocates fails in turn: at its first, a middle and its last call,
and at the first of each phase; only that call, or everything from it on; in the first node, in the last one
and in ckrun. A trial passes when the job ends in good order. So there is one line that says what there was no
memory for, and an exit code other than 0; or the job did without and came to its right end. Nothing may be left
behind, and nobody may hang or crash.

--short  some trials of some programs, drawn by the seed (default)
--full   all trials of all programs
--any    calls of libraries (UCX, hwloc, libc) fail, too. A crash inside a library is counted and listed, but it
         is no failure; a crash in our own code, a hang or litter is.
--table  as the last line but one, the counts as JSON

It needs nothing but the build. A pattern chooses programs. The last line is "N passed, N failed".
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # no files beside the sources
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path += [TESTS, f'{TESTS}/launcher']

from phases import litter, own_shm
from runner import left

PATIENCE_S = 60  # a job takes a fraction of a second; a busy machine must not look like a hang
GOES_S = 10  # until what a job leaves must have gone
SHORT_PROGRAMS, SHORT_TRIALS = 4, 12  # of each
# With --any: what a library could not do, in its words.
ANY_LINE = re.compile(r'^chard: .*(cannot|lost the connection)', re.M)
# Our line, or that of a program that got NULL: what there was no memory for, and what to do about it.
OUR_LINE = re.compile(r'^(chard|ckrun|ckci): .*\bno ((shared )?memory|address space) for .*[:;] .*|'
                      r'^chard: .*cannot start the thread of (PE .*|CK_CONTROL); .*|'
                      r'^ckci: cannot .*: Cannot allocate memory$', re.M)
FAULT = re.compile(r'^chard: .*(Segmentation fault|Bus error|Arithmetic exception|Illegal instruction|Aborted)',
                   re.M)
KILLED = re.compile(r'^ckrun: .*killed by (signal|SIG)', re.M)
FRAME = re.compile(r'^chard:   #\d+ ([^+\s]+)', re.M)
UCX_FRAME = re.compile(r'^ +\d+ +\S+\((\w+)\+0x', re.M)  # what UCX itself prints before we catch faults
# Frames of a back-trace that only say that the process ended.
NO_FAULT_OF_ITS_OWN = {'abort', 'raise', 'gsignal', 'pthread_key_delete', '__pthread_kill_implementation',
                       'pthread_kill', '__assert_fail', '__libc_message', 'malloc_printerr',
                       'ucs_handle_error', 'ucs_fatal_error_message', 'ucs_fatal_error_format'}
KINDS = ['orderly', 'survived', 'crashed', 'crashed in a library', 'hung', 'silent', 'left something',
         'not reached']
GOOD = {'orderly', 'survived', 'crashed in a library'}


@dataclasses.dataclass
class Job:
    """A program as it is started, and the processes in which allocations fail."""
    words: list
    shape: str = '2x2'  # as in the tables of tests; '-': no launcher
    env: dict = dataclasses.field(default_factory=dict)
    main: str = ''  # the program that the shape starts, if not the first word

    @property
    def name(self):
        words = [os.path.basename(self.words[0])] + self.words[1:]
        return ' '.join([f'{key}={text}' for key, text in self.env.items()] + words + [self.shape])

    def command(self, build):
        words = [f'{build}/{self.words[0]}'] + self.words[1:]
        if self.shape[0] == '+':
            return words + ['+p', self.shape[2:]]
        if self.shape == '-':
            return words
        nodes, ppn = map(int, self.shape.split('x'))
        return [f'{build}/bin/ckrun', '-n', str(nodes * ppn), '--ppn', str(ppn)] + words

    def targets(self, build):
        """(binary, rank) of the processes that are to suffer."""
        program = f'{build}/{self.words[0]}'
        if 'x' not in self.shape:
            return [(program, None)]
        last = int(self.shape.split('x')[0]) - 1
        return [(program, rank) for rank in sorted({0, last})] + [(f'{build}/bin/ckrun', None)]


def tested(name, *words, shape='2x2', **env):
    return Job([f'tests/programs/{name}', *words], shape, env)


def example(name, *words, shape='2x2', **env):
    return Job([f'examples/{name}/{name}', *words], shape, env)


STENCIL = ('stencil', '--domain', '18x16x17', '--chares', '2x3x2', '--iters', '6', '--warmup', '1', '--verify')
MATMUL = ('matmul', '--n', '36', '--p', '3', '--iters', '2', '--warmup', '1', '--verify')
# Together they reach every room of the runtime, both ways between nodes, and a process alone.
JOBS = [
    example('hello', '8'), example('hello', '8', shape='+p2'), example('hello', '8', CK_SHARE='0'),
    example(*STENCIL), example(*STENCIL, CK_SHARE='0'), example(*STENCIL, '--recv', 'malloc', CK_SHARE='0'),
    example(*STENCIL, CK_DIRECT_PATH='message'), example(*MATMUL), example(*MATMUL, shape='+p2'),
    example('fib', '--n', '12', '--grain', '6'), example('nqueens', '--queens', '6', '--grain', '3',
                                                         '--prio', 'bits'),
    example('treeinsert', '--points', '300'), example('kmeans', '--points', '300', '--chunks', '5'),
    tested('channels'), tested('channels', CK_SHARE='0'), tested('mixed'),
    tested('broadcast'), tested('broadcast', CK_SHARE='0'), tested('bigmsg', '4', 'array', shape='2x1', CK_SHARE='0'),
    tested('sections'), tested('futures'), tested('threaded'), tested('reductions'), tested('reducers'),
    tested('customred'), tested('tuple'), tested('groups'), tested('nodegroups'), tested('aggregate'),
    tested('insert'), tested('delete'), tested('demand'), tested('growing'), tested('completion'),
    tested('fence'), tested('qd'), tested('scan'), tested('chares'), tested('early'), tested('callbacks'),
    tested('cb_message'), tested('messages'), tested('params'), tested('packed'), tested('pups'),
    tested('nocopy'), tested('getput'), tested('getput', CK_SHARE='0'), tested('getput', CK_CHECK='1'),
    tested('globals', '1', '2'), tested('globals', '1', '2', CK_SHARE='0'),
    tested('globals', '1', '1', CK_CHECK='1'), tested('post'), tested('lend'), tested('sync'), tested('when'), tested('whenidle'), tested('sdag'), tested('counted'),
    tested('prio'), tested('prio2'), tested('refnum'), tested('readonlies'), tested('converse'),
    tested('mixed', CK_CHECK='1'), tested('order', CK_RANDOM_QUEUE='5'), tested('params', CK_STATS='1'),
    tested('broadcast', CK_FLOW_BYTES='20000', CK_SHARE='0'), tested('print'),
    Job(['bin/ckci', '-o', '@', 'tests/programs/params.ci'], '-'),
    Job(['bin/ckci', '-o', '@', '--cpp', '-DX=1', 'tests/programs/sdag.ci'], '-'),
    Job(['bin/ckci', '--list', 'tests/programs/mixed.ci'], '-'),
    Job(['bin/ckci', '-M', 'tests/programs/chares.ci'], '-'),
    Job(['bin/ckci', '-o', '@', 'tests/ci/refuse/array_without_length.ci'], '-'),
]


@dataclasses.dataclass
class Site:
    """A place that allocates, and how often it did in each phase of one process."""
    job: Job
    program: str
    rank: object
    module: str
    offset: int
    counts: list

    def turns(self, full):
        total, before, turns = sum(self.counts), 0, set()
        for n in self.counts:
            if n:
                turns.add(before + 1)
            before += n
        return sorted(turns | ({(total + 1) // 2, total} if full else {total}))


@dataclasses.dataclass
class Trial:
    site: Site
    turn: int
    on: bool


@dataclasses.dataclass
class Result:
    trial: Trial
    kind: str
    phase: str = ''
    function: str = ''  # where it crashed
    told: list = dataclasses.field(default_factory=list)


class Binary:
    """Which parts of a program are ours, and what is at an offset of it."""
    known = {}

    def __init__(self, path):
        self.path, self.places = path, {}

    @classmethod
    def of(cls, path):
        if path not in cls.known:
            cls.known[path] = cls(path)
        return cls.known[path]

    def look_up(self, offsets):
        """Asks once for many, because a start of addr2line takes as long as a trial."""
        new = [offset for offset in offsets if offset not in self.places]
        if not new:
            return
        text = subprocess.run(['addr2line', '-aife', self.path], input='\n'.join(map(hex, new)), text=True,
                              stdout=subprocess.PIPE, check=True).stdout
        for answer in re.split(r'^(?=0x)', text, flags=re.M)[1:]:
            offset, *lines = answer.splitlines()
            # The innermost function first; that of cmi_alloc.h is the same everywhere.
            pairs = [(function, line.split(' ')[0]) for function, line in zip(lines[::2], lines[1::2])]
            self.places[int(offset, 16)] = next((pair for pair in pairs if '/cmi_alloc.h:' not in pair[1]), pairs[0])

    def place(self, offset):
        self.look_up([offset - 1])
        function, line = self.places[offset - 1]
        return f'{function} ({os.path.basename(line)})'

    def ours(self):
        """LOW-HIGH,... of the runtime in a program; all of a tool."""
        if '/bin/' in self.path:
            return '0-ffffffffff'
        lines = subprocess.run(['nm', '-n', '--defined-only', self.path], text=True, stdout=subprocess.PIPE,
                               check=True).stdout.splitlines()
        starts = sorted({int(line.split()[0], 16) for line in lines if line.split()[1] in 'tTwW'})
        self.look_up(starts)
        parts = []
        for low, high in zip(starts, starts[1:] + [starts[-1] + 4096]):
            if re.search(r'/runtime/[a-z]', self.places[low][1]):
                if parts and parts[-1][1] == low:
                    parts[-1][1] = high
                else:
                    parts.append([low, high])
        return ','.join(f'{low:x}-{high:x}' for low, high in parts)


class Sweep:
    def __init__(self, options):
        self.options, self.build = options, options.build
        self.library = os.path.abspath(f'{self.build}/tests/alloc/fail.so')
        self.folder = tempfile.mkdtemp(prefix='chard-alloc-')
        self.mark = os.environ.get('CHARD_TEST', '') + f'{os.getpid()}-{random.randrange(10**9)}/'
        self.given = {name: value for name, value in os.environ.items()
                      if not name.startswith(('CK_', 'UCX_', 'PMI', 'FAIL_'))}
        self.numbers = itertools.count()
        self.seen = collections.Counter()

    def run(self, job, program, rank, extra):
        """Starts the job once; returns its exit code (None: it hung), what it wrote, and what is wrong."""
        folder, mark = tempfile.mkdtemp(dir=self.folder), f'{self.mark}{next(self.numbers)}/'
        os.mkdir(f'{folder}/tmp')
        os.mkdir(f'{folder}/out')
        env = self.given | job.env | {'CHARD_TEST': mark, 'TMPDIR': f'{folder}/tmp', 'LD_PRELOAD': self.library,
                                      'OPENBLAS_NUM_THREADS': '1', 'FAIL_PROGRAM': os.path.basename(program),
                                      'FAIL_REPORT': f'{folder}/report'} | extra
        if rank is not None:
            env['FAIL_RANK'] = str(rank)
        if not self.options.any:
            env['FAIL_WITHIN'] = Binary.of(program).ours()
        command = [f'{folder}/out' if word == '@' else word for word in job.command(self.build)]
        code, wrong = None, []
        with open(f'{folder}/text', 'wb') as text:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=text, stderr=text, env=env,
                                       start_new_session=True)
            try:
                code = process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        wrong += left.end_processes(mark, GOES_S if code is not None else 0)
        wrong += [f'left in TMPDIR: {name}' for name in os.listdir(f'{folder}/tmp')]
        report = left.read(f'{folder}/report') if os.path.exists(f'{folder}/report') else ''
        text = left.read(f'{folder}/text')
        shutil.rmtree(folder)
        return code, text, report, wrong

    def sites(self, job):
        """Where the job's processes allocate."""
        found = []
        for program, rank in job.targets(self.build):
            code, text, report, wrong = self.run(job, program, rank, {})
            refused = '/refuse/' in ' '.join(job.words)
            if code != refused or wrong:
                sys.exit(f'sweep.py: undisturbed, {job.name} ends with {code} {wrong}:\n{text}')
            if not report:
                sys.exit(f'sweep.py: {job.name}: nothing was counted in {program}; is {self.library} built?')
            for line in report.splitlines():
                module, offset, *counts = line.split()
                found.append(Site(job, program, rank, module, int(offset, 16), [int(n) for n in counts]))
            Binary.of(program).look_up([site.offset - 1 for site in found
                                        if site.module == '.' and site.program == program])
        return found

    def judge(self, trial):
        site = trial.site
        extra = {'FAIL_SITE': f'{site.module}:{site.offset:x}', 'FAIL_TURN': str(trial.turn)}
        if trial.on:
            extra['FAIL_ON'] = '1'
        code, text, report, wrong = self.run(site.job, site.program, site.rank, extra)
        phase = report.split()[1] if report else ''
        told = text.splitlines()[-25:] + wrong
        refused = '/refuse/' in ' '.join(site.job.words)
        if code is None:
            return Result(trial, 'hung', phase, told=told)
        if wrong:
            return Result(trial, 'left something', phase, told=told)
        if not report:
            return Result(trial, 'not reached', told=told)
        if FAULT.search(text) or KILLED.search(text) or code < 0 or code >= 128:
            return self.crash(trial, phase, text, told)
        said = OUR_LINE.search(text) or self.options.any and ANY_LINE.search(text)
        if code == refused and not said:
            return Result(trial, 'survived', phase)
        if code and said:
            return Result(trial, 'orderly', phase)
        return Result(trial, 'silent', phase, told=told)

    def crash(self, trial, phase, text, told):
        frames = [name for name in FRAME.findall(text) or UCX_FRAME.findall(text) if name not in NO_FAULT_OF_ITS_OWN]
        where = frames[0] if frames else 'an unknown function'
        ours = not self.options.any or is_ours(trial.site.program, where)
        return Result(trial, 'crashed' if ours else 'crashed in a library', phase, where, told)

    def trials(self, job):
        sites = [site for site in self.sites(job) if self.seen[where(site), site.rank] < self.options.programs]
        self.seen.update({(where(site), site.rank) for site in sites})
        return [Trial(site, turn, on) for site in sites for turn in site.turns(self.options.full)
                for on in ((False,) if self.options.any else (False, True))]


def is_ours(program, function):
    names = subprocess.run(['nm', '--defined-only', program], text=True, stdout=subprocess.PIPE, check=True).stdout
    return re.search(rf' [tTwW] {re.escape(function)}$', names, re.M) is not None


def where(site):
    return Binary.of(site.program).place(site.offset) if site.module == '.' else \
        f'{site.module}+{site.offset:#x}'


def tell(result):
    trial, site = result.trial, result.trial.site
    who = os.path.basename(site.program) + ('' if site.rank is None else f' (node {site.rank})')
    print(f'{"FAIL" if result.kind not in GOOD else "note"}  {result.kind}'
          f'{" in " + result.function if result.function else ""}: {where(site)}, call {trial.turn} of '
          f'{sum(site.counts)}{" and all later ones" if trial.on else ""}, in {who}, {result.phase}: {site.job.name}')
    for line in result.told:
        print(f'      {line}')
    sys.stdout.flush()


def parse_options():
    parser = argparse.ArgumentParser(description='Lets allocations fail.', allow_abbrev=False)
    parser.add_argument('pattern', nargs='?', default='', help='only programs whose name contains it')
    parser.add_argument('-b', '--build', default='build', help='the build folder')
    parser.add_argument('--short', action='store_true', help='some trials (default)')
    parser.add_argument('--full', action='store_true', help='all trials')
    parser.add_argument('--any', action='store_true', help='libraries allocate in vain, too')
    parser.add_argument('--table', action='store_true', help='print the counts as JSON, too')
    parser.add_argument('--seed', type=int, default=None, help='of the short form')
    parser.add_argument('--programs', type=int, default=3, metavar='N',
                        help='let a place fail in N programs (3): what starts all need not fail in each')
    parser.add_argument('-j', '--jobs', type=int, default=2, help='trials at a time')
    parser.add_argument('-v', '--verbose', action='store_true', help='show what survived, too')
    options = parser.parse_args()
    options.short = not (options.full or options.any)
    options.seed = random.randrange(1, 32768) if options.seed is None else options.seed
    return options


def counts_of(results):
    sites = [result.trial.site for result in results]
    kinds = collections.Counter(result.kind for result in results)
    phases = collections.Counter(result.phase for result in results if result.phase)
    return {'sites': len({(site.program, site.module, site.offset) for site in sites}),
            'places': len({where(site) for site in sites}),
            'trials': len(results), 'kinds': {kind: kinds[kind] for kind in KINDS},
            'phases': {phase: phases[phase] for phase in ('start', 'run', 'end')},
            'functions': dict(collections.Counter(result.function for result in results if result.function))}


def print_counts(counts):
    print(f'{counts["trials"]} trials of {counts["places"]} places that allocate; '
          f'{", ".join(f"{n} in {phase}" for phase, n in counts["phases"].items())}')
    for kind, n in counts['kinds'].items():
        print(f'  {kind:22} {n}')
    for function, n in sorted(counts['functions'].items(), key=lambda pair: -pair[1]):
        print(f'    crashed in {function}: {n}')


def run_trials(sweep, job, chance, results):
    trials, options = sweep.trials(job), sweep.options
    if options.short:
        trials = chance.sample(trials, min(SHORT_TRIALS, len(trials)))
    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    try:
        for result in pool.map(sweep.judge, trials):
            results.append(result)
            if result.kind not in ('orderly', 'survived', 'not reached') or \
                    options.verbose and result.kind == 'survived':
                tell(result)
    finally:
        pool.shutdown(cancel_futures=True)
    if not options.short:
        print(f'{len(trials)} trials: {job.name}', flush=True)


def main():
    options = parse_options()
    own_shm()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sweep, chance = Sweep(options), random.Random(options.seed)
    jobs = [job for job in JOBS if options.pattern in job.name]
    if options.short:
        jobs = chance.sample(jobs, min(SHORT_PROGRAMS, len(jobs)))
        print(f'seed {options.seed}')
    before, results, interrupted = litter(), [], False
    try:
        for job in jobs:
            run_trials(sweep, job, chance, results)
    except KeyboardInterrupt:
        print('FAIL  interrupted')
        interrupted = True
    finally:
        left.end_processes(sweep.mark, 0)
        shutil.rmtree(sweep.folder, ignore_errors=True)
    until = time.monotonic() + GOES_S
    while (more := litter() - before) and time.monotonic() < until:
        time.sleep(0.1)
    for name in more:
        print(f'FAIL  left behind: {name}')
    counts = counts_of(results)
    print_counts(counts)
    failed = sum(result.kind not in GOOD | {'not reached'} for result in results) + len(more) + interrupted
    if options.table:
        print(json.dumps(counts))
    print(f'{len(results) - failed - counts["kinds"]["not reached"]} passed, {failed} failed')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
