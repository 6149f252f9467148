# SPDX-License-Identifier: Apache-2.0
"""Hosts that offer little: limits, full and read-only folders, closed files, a bare environment.

A job either comes to its end with the right answer, or it says in one line what is missing, with an exit code that
is no signal's. MUST marks what has to work. Nothing may be left, and nothing may hang.
"""

import dataclasses
import os
import random
import resource
import signal
import time

from reliability.trials import Outcome, environment, own_lines
from runner import job as jobs
from runner.job import Job

K, M, G = 1 << 10, 1 << 20, 1 << 30
MUST, MAY = 'must', 'may'
NOBODY = 65534
MS_RDONLY, MS_REMOUNT = 1, 32
FILES = 'in /dev/shm and /tmp'


@dataclasses.dataclass
class Scarcity:
    kind: str
    name: str
    rule: str = MAY
    prepare: object = None  # runs in the child, before the command
    before: object = None  # runs in this process, with its own mounts; False: it cannot be done here
    after: object = None
    variables: dict = dataclasses.field(default_factory=dict)  # None: without it
    code: int = 0  # of a job that may not end well: this one, whatever it says
    shape: str = '2x2'

    @property
    def what(self):
        share = self.variables.get('CK_SHARE')
        return f'{self.name}, {self.shape}' + (f', CK_SHARE={share}' if share else '')


# ---- what is scarce -----------------------------------------------------------------------------


def limit(name, value, both=True):
    number = getattr(resource, f'RLIMIT_{name}')

    def prepare():
        hard = value if both else resource.getrlimit(number)[1]
        resource.setrlimit(number, (value, hard))
    return prepare


def small_files(value):
    def prepare():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        limit('FSIZE', value)()
    return prepare


def few_processes(value):
    """Of a user who has no rights; root has no limit."""
    def prepare():
        resource.setrlimit(resource.RLIMIT_NPROC, (value, value))
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
    return prepare


def closed(*fds):
    return lambda: [os.close(fd) for fd in fds]


def opened(fd, path):
    return lambda: os.dup2(os.open(path, os.O_RDWR), fd)


def no_reader(*fds):
    def prepare():
        read_fd, write_fd = os.pipe()
        os.close(read_fd)
        for fd in fds:
            os.dup2(write_fd, fd)
    return prepare


def no_folder():
    path = f'/tmp/gone-{os.getpid()}'
    os.mkdir(path)
    os.chdir(path)
    os.rmdir(path)


def one_core():
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])


def ignore_all():
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)


def block_all():
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())


def shm(options='', flags=0, fill=False):
    """Another /dev/shm above ours."""
    def before(places):
        if not places.own or not jobs.mount('/dev/shm', flags=flags, options=options):
            return False
        if fill:
            fill_up('/dev/shm/.full')
        return True
    return before


def both_full(places):
    if not places.own_tmp or not jobs.mount('/dev/shm', options='size=64k'):
        return False
    fill_up('/dev/shm/.full')
    return jobs.mount('/tmp', options='size=64k') and fill_up('/tmp/.full')


def fill_up(path):
    with open(path, 'wb', buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            return True


def uncover(*folders):
    return lambda: [jobs.unmount(folder) for folder in folders]


# Where a control group can be, and its file for the limit: version 2, version 1.
GROUPS = [('/sys/fs/cgroup', 'memory.max'), ('/sys/fs/cgroup/memory', 'memory.limit_in_bytes')]


def small_group(bytes_most):
    """A control group with little memory, if we may make one."""
    found = []

    def write(name, value):
        with open(f'{found[0]}/{name}', 'r+', encoding='ascii') as file:
            file.write(str(value))

    def before(_):
        for top, limit_file in GROUPS:
            found[:] = [f'{top}/chard-{os.getpid()}']
            try:
                os.mkdir(found[0])
                write(limit_file, bytes_most)
                return True
            except OSError:
                after()
        return False

    def after():
        try:
            os.rmdir(found[0])
        except OSError:
            pass
    return {'before': before, 'after': after, 'prepare': lambda: write('cgroup.procs', os.getpid())}


# ---- the trials ---------------------------------------------------------------------------------


def limits():
    yield from (Scarcity('open files', f'ulimit -n {n}', prepare=limit('NOFILE', n))
                for n in (4, 8, 12, 16, 20, 24, 32, 40, 48, 64, 128))
    yield Scarcity('open files', 'ulimit -Sn 16', MUST, limit('NOFILE', 16, both=False))
    yield from (Scarcity('processes', f'ulimit -u {n}', prepare=few_processes(n), shape=shape)
                for n in (1, 2, 3, 4, 5, 6, 8, 12) for shape in ('2x2', '1x4'))
    yield from (Scarcity('address space', f'ulimit -v {n // K}', prepare=limit('AS', n))
                for n in (16 * M, 48 * M, 64 * M, 96 * M, 128 * M, 256 * M, 512 * M, G, 2 * G, 4 * G))
    yield Scarcity('address space', 'ulimit -v 16 GiB', MUST, limit('AS', 16 * G))
    yield from (Scarcity('address space', f'ulimit -d {n // K}', prepare=limit('DATA', n))
                for n in (4 * M, 16 * M, 32 * M, 64 * M, 256 * M))
    yield from (Scarcity('stack', f'ulimit -s {n // K}', rule, limit('STACK', n))
                for n, rule in ((64 * K, MAY), (128 * K, MAY), (256 * K, MAY), (M, MUST), (64 * M, MUST)))
    yield Scarcity('stack', 'ulimit -s unlimited', MUST, limit('STACK', resource.RLIM_INFINITY, both=False))
    for n in (0, M):
        yield Scarcity('file size', f'ulimit -f {n // K}', prepare=limit('FSIZE', n), code=128 + signal.SIGXFSZ)
        yield Scarcity('file size', f'ulimit -f {n // K}, SIGXFSZ ignored', prepare=small_files(n))
    yield Scarcity('locked memory', 'ulimit -l 0', MUST, limit('MEMLOCK', 0))
    yield Scarcity('signals', 'ulimit -i 0', MUST, limit('SIGPENDING', 0))
    yield Scarcity('cores', 'one core', MUST, one_core)
    yield Scarcity('cores', 'one core, 16 PEs', MUST, one_core, shape='4x4')
    yield from (Scarcity('control group', f'memory.max {n // M} MiB', code=137, **small_group(n))
                for n in (4 * M, 16 * M, 64 * M, 256 * M))


def folders():
    full = {'options': 'size=64k', 'fill': True}
    for name, before in (('/dev/shm of 64 KiB', shm('size=64k')), ('/dev/shm full', shm(**full)),
                         ('/dev/shm read-only', shm('', MS_RDONLY)), ('no inode in /dev/shm', shm('nr_inodes=1'))):
        for variables in ({}, {'CK_SHARE': '0'}):
            yield Scarcity(FILES, name, MUST, before=before, after=uncover('/dev/shm'), variables=variables)
    for variables, rule in (({}, MUST), ({'CK_SHARE': '0'}, MAY)):
        yield Scarcity(FILES, 'both full', rule, before=both_full, after=uncover('/tmp', '/dev/shm'),
                       variables=variables | {'TMPDIR': None})
    for path in ('/nowhere', '/proc', '/dev/null', ''):
        for share in ('1', '0'):
            yield Scarcity('variables', f'TMPDIR={path}', MUST, variables={'TMPDIR': path, 'CK_SHARE': share})
    yield Scarcity('variables', 'no HOME', MUST, variables={'HOME': None})
    yield Scarcity('variables', 'none at all', MUST, variables=dict.fromkeys(os.environ))
    yield Scarcity('variables', 'a megabyte', MUST, variables={f'V{i}': 'x' * 100000 for i in range(10)})
    for share in ('1', '0'):
        yield Scarcity('variables', 'umask 777', MUST, lambda: os.umask(0o777), variables={'CK_SHARE': share})
        yield Scarcity('variables', 'the current folder is gone', MUST, no_folder, variables={'CK_SHARE': share})


def streams():
    for shape in ('2x2', '+p2'):
        for fds in ((0,), (1,), (2,), (0, 1, 2)):
            yield Scarcity('streams', f'{fds} closed', MUST, closed(*fds), shape=shape)
        yield Scarcity('streams', 'stdin from /dev/zero', MUST, opened(0, '/dev/zero'), shape=shape)
        yield Scarcity('streams', 'stderr to /dev/full', MUST, opened(2, '/dev/full'), shape=shape)
    yield Scarcity('streams', 'stdout to /dev/full', MAY, opened(1, '/dev/full'))
    yield Scarcity('streams', 'stdout to /dev/full', MUST, opened(1, '/dev/full'), shape='+p2')
    yield Scarcity('streams', 'nobody reads stdout', MAY, no_reader(1), code=141)
    yield Scarcity('streams', 'nobody reads both', MAY, no_reader(1, 2), code=141)
    yield Scarcity('streams', 'nobody reads stdout', MAY, no_reader(1), code=141, shape='+p2')
    yield Scarcity('signals', 'all ignored', MUST, ignore_all)
    yield Scarcity('signals', 'all blocked', MUST, block_all)


def trials(count, seed):
    """The list is the same for every seed; of the short form it draws a third."""
    every = list(limits()) + list(folders()) + list(streams())
    return every if not count else random.Random(f'resources {seed}').sample(every, -(-len(every) // 3))


# ---- one trial ----------------------------------------------------------------------------------


def command_of(scarcity, build):
    victim = f'{build}/tests/reliability/victim'
    if scarcity.shape[0] == '+':
        return [victim, '+p', scarcity.shape[2:]]
    nodes, ppn = map(int, scarcity.shape.split('x'))
    return [f'{build}/bin/ckrun', '-n', str(nodes * ppn), '--ppn', str(ppn), victim]


def variables_of(scarcity, places):
    given = environment(places) | scarcity.variables
    return {name: value for name, value in given.items() if value is not None}


def run(scarcity, options, places):
    end, start = Outcome(scarcity.kind, scarcity.what), time.monotonic()
    before = places.litter()
    if scarcity.before and not scarcity.before(places):
        end.skipped = 'the kernel does not let us'
        return end
    job = Job(command_of(scarcity, options.build), variables_of(scarcity, places), prepare=scarcity.prepare)
    job.run()
    if scarcity.after:
        scarcity.after()
    end.wrong = job.remains(places, before)
    end.output, end.seconds = job.text(), time.monotonic() - start
    places.clean()
    if b'job.py: ' in job.output:
        end.skipped = end.output.strip()
    else:
        end.wrong = end.wrong or judged(scarcity, job)
    return end


def judged(scarcity, job):
    shown = not any(word in scarcity.name for word in ('stdout', '(1,)', '(0, 1, 2)', 'reads both'))
    if job.code == 0:
        return [] if 'victim: done' in job.text() or not shown else ['exit code 0 without the answer']
    if scarcity.rule == MUST:
        return [f'exit code {job.code}']
    if scarcity.code and scarcity.code in (job.code, 128 - job.code):
        return []
    if not 0 < job.code < 128:
        return [f'exit code {job.code}: a signal']
    return judged_lines(own_lines(job.text(), 'chard|ckrun'))


def judged_lines(lines):
    """Several nodes may lack the same, and then cannot join; ckrun adds which one was the first."""
    kinds = {''.join(letter for letter in line if not letter.isdigit()) for line in lines}
    if len(kinds) > 1:
        kinds.discard('chard: this node could not join the job')
    ckrun = sum(line.startswith('ckrun: ') for line in kinds)
    if not lines or ckrun > 1 or len(kinds) - ckrun > 1:
        return [f'{len(kinds)} different lines say what is missing']
    return []
