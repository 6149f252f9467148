#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ckrun --replace on several hosts: nodes are killed, crash or are lost with their host, and the job goes on from disk.

    tests/rig/again.py [-b build folder] [--kills N] [--launcher WORD] [--seed N] [trial ...]

The hosts are namespaces, the launchers real ones. What must come out is what an undisturbed job prints; ends that the
program decides stay ends. One line per trial and launcher, "ok", "FAIL" or "skip".
"""

import argparse
import contextlib
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
import rig  # noqa: E402
from rig import Failed, require  # noqa: E402

PATIENCE_S = 40
ROUNDS, SAVE_AT = '1500', '100'
AGAIN = r'^ckrun: .*; starting again'


def name_of(pid):
    """What the process calls itself; '' if it has ended."""
    with contextlib.suppress(OSError), open(f'/proc/{pid}/comm', encoding='utf-8') as file:
        return file.read().strip()
    return ''


class Site:
    """The hosts, and what jobs on them need."""

    def __init__(self, folder, options, link=None):
        self.hosts = rig.Rig(4, folder, link=link, build=options.build)
        self.folder, self.options = folder, options
        self.dir = f'{folder}/ck'
        self.agent = f'{folder}/agent'
        self.random = random.Random(options.seed)
        self.slurm = None
        self.want = {}

    def environment(self, launcher):
        # Not CHARD_TEST: nodes are looked for by their host.
        env = {name: text for name, text in os.environ.items() if not name.startswith(('CK_', 'SLURM', 'OMPI', 'TMPDIR'))}
        env |= {'CK_PEER_TIMEOUT': '2', 'HYDRA_LAUNCHER': 'rsh', 'HYDRA_LAUNCHER_EXEC': self.agent,
                'OMPI_MCA_plm': 'rsh', 'OMPI_MCA_plm_rsh_agent': self.agent, 'OMPI_MCA_rmaps_base_oversubscribe': '1',
                'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1'}
        if launcher == 'srun':
            self.slurm = self.slurm or rig.Slurm(self.hosts)
            env['SLURM_CONF'] = self.slurm.conf
        return env

    def undisturbed(self, words):
        """The last line of the job on one host."""
        if words not in self.want:
            shutil.rmtree(self.dir, ignore_errors=True)
            done = self.hosts.run(1, [f'{self.options.build}/bin/ckrun', '-n', '2', *words], text=True,
                                  stdout=subprocess.PIPE, check=True)
            self.want[words] = done.stdout.splitlines()[-1]
            shutil.rmtree(self.dir, ignore_errors=True)
        return self.want[words]


class Job:
    """A job that a trial starts."""

    def __init__(self, site, launcher, program=None, hosts='h1:2,h2:2', n=4, options=(), before=(), replace=5, memory=False, **env):
        self.site, self.hosts, self.launcher, self.memory = site, site.hosts, launcher, memory
        self.program = tuple(program or (f'{site.options.build}/tests/programs/saves', 'memory' if memory else site.dir, ROUNDS, SAVE_AT))
        where = ['--launcher', launcher, '--hosts', hosts] if hosts else []
        self.out = open(f'{site.folder}/out', 'w+b')
        self.process = self.hosts.start(
            1, [*before, f'{site.options.build}/bin/ckrun', *where, '-n', str(n), '--replace', str(replace),
                '--timeout', '100', *(options or (() if memory else ('--restart-if-any', site.dir))), *self.program],
            stdout=self.out, stderr=subprocess.STDOUT, env=site.environment(launcher) | env)

    control = None

    def ckrun(self):
        """Its process: the child that the rig's own shell has become, or has."""
        return next((pid for pid in self.hosts.processes(1) if name_of(pid) == 'ckrun'), None)

    def text(self):
        with open(self.out.name, encoding='utf-8', errors='replace') as file:
            return file.read()

    def count(self, pattern):
        return len(re.findall(pattern, self.text(), re.M))

    def nodes(self, *hosts):
        """{process: its host}"""
        found = {}
        for i in hosts or self.hosts.numbers():
            for pid in self.hosts.processes(i):
                with contextlib.suppress(OSError):
                    if os.readlink(f'/proc/{pid}/exe') == os.path.abspath(self.program[0]):
                        found[pid] = i
        return found

    def await_(self, condition, what):
        end = time.monotonic() + PATIENCE_S
        while not condition():
            require(time.monotonic() < end, f'{what} did not come')
            require(self.process.poll() is None or condition(), f'the job ended before {what}')
            time.sleep(0.005)

    def saved(self):
        """The newest checkpoint."""
        if self.memory:
            return self.kept()
        names = [name for name in os.listdir(self.site.dir) if re.fullmatch(r'ck-\d+', name)] \
            if os.path.exists(self.site.dir) else []
        return max((int(name[3:]) for name in names), default=0)

    def keepers(self, *hosts):
        """{process: its host}"""
        return {pid: i for i in hosts or self.hosts.numbers() for pid in self.hosts.processes(i) if name_of(pid) == 'ckrun-keeper'}

    def kept(self):
        """The newest checkpoint that a keeper's page names."""
        newest = 0
        for pid in self.keepers():
            with contextlib.suppress(OSError):
                for fd in os.listdir(f'/proc/{pid}/fd'):
                    if os.readlink(f'/proc/{pid}/fd/{fd}').startswith('/memfd:chard images: what is valid'):
                        with open(f'/proc/{pid}/fd/{fd}', 'rb') as page:
                            newest = max(newest, struct.unpack('8xQ', page.read(16))[0])
        return newest

    def await_saved(self, n):
        self.await_(lambda: self.saved() >= n, f'checkpoint {n}')

    def end(self):
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise Failed(f'the job has not ended after {PATIENCE_S} s') from None

    def goes_on(self, times):
        """The job ends well, after so many deaths."""
        code = self.end()
        require(code == 0, f'exit code {code}')
        require(self.text().splitlines()[-1] == self.site.undisturbed(self.program), 'its last line is another one')
        require(self.count(AGAIN) == times, f'it has started again {self.count(AGAIN)} times, not {times}')
        self.left_nothing()

    def ends(self, codes, *patterns):
        """The job ends, with one line of ckrun for each pattern."""
        code = self.end()
        require(code in codes, f'exit code {code}')
        for pattern in patterns:
            require(self.count(pattern) == 1, f'{self.count(pattern)} lines say {pattern}')
        require(self.count('^ckrun: ') == len(patterns), 'ckrun says more')
        self.left_nothing()

    def left_nothing(self):
        left = [name for name in (os.listdir(self.site.dir) if os.path.exists(self.site.dir) else ())
                if name.startswith('.')]
        require(not left, f'left in the folder: {left}')
        end = time.monotonic() + 5
        while (nodes := self.nodes(1, 3, 4)) and time.monotonic() < end:
            time.sleep(0.02)
        require(not nodes, f'nodes live on: {nodes}')
        while (left := self.keepers(1, 3, 4)) and time.monotonic() < end:
            time.sleep(0.02)
        require(not left, f'keepers live on: {left}')

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(10)
            self.process.kill()
            self.process.wait()
        self.out.close()


# ---- trials ----------------------------------------------------------------------------------------


def kill_some(site, job):
    """Kill random nodes at random moments. No node of an earlier start lives when the next one begins. Returns how many
    were killed."""
    n = 0
    job.await_saved(1)
    while job.process.poll() is None and n < site.options.kills:
        time.sleep(site.random.uniform(0, 0.3))
        before = job.nodes()
        # A node that is alone has not met the others: that it dies may look like a launcher that fails.
        if len(before) < 4 or job.count('again after round') < n:
            continue
        try:
            os.kill(site.random.choice(list(before)), signal.SIGKILL)
        except ProcessLookupError:  # the job has ended just now
            continue
        n += 1
        job.await_(lambda: job.count(AGAIN) == n, 'the next start')
        job.await_(lambda: job.count('again after round') == n, 'the end of the restart')
        require(not before.keys() & job.nodes().keys(), 'nodes of the earlier start are still there')
    require(n > 0, 'the job was too short')
    return n


def kill_twice(site, job):
    """A node, and another before the nodes of the second start have met, or soon after."""
    job.await_saved(1)
    before = job.nodes()
    os.kill(site.random.choice(list(before)), signal.SIGKILL)
    job.await_(lambda: job.count(AGAIN) == 1, 'the next start')
    # One of the start before may still be ending.
    job.await_(lambda: job.nodes().keys() - before, 'a node')
    time.sleep(site.random.uniform(0, 0.02))
    os.kill(site.random.choice(list(job.nodes().keys() - before)), signal.SIGKILL)
    job.goes_on(2)


def kill_host(job):
    """All nodes of a host together, that of PE 0 among them."""
    job.await_saved(1)
    for pid in job.nodes(1):
        with contextlib.suppress(ProcessLookupError):  # the launcher is faster
            os.kill(pid, signal.SIGKILL)
    job.goes_on(1)


def kills(site, launcher):
    """Random nodes at random moments."""
    words = (f'{site.options.build}/tests/programs/saves', site.dir, '4000', SAVE_AT)
    job = Job(site, launcher, words, replace=site.options.kills)
    yield job
    job.goes_on(kill_some(site, job))


def while_starting(site, launcher):
    """A node dies before the nodes of the second start have met, or soon after."""
    job = Job(site, launcher, CK_BOOT_TIMEOUT='5')
    yield job
    kill_twice(site, job)


def in_memory(site, launcher, words, n=2, hosts='h1:2,h2:2', **more):
    """A job whose checkpoints keepers hold. srun needs an allocation for that."""
    if launcher != 'srun':
        return Job(site, launcher, words, hosts=hosts, memory=True, **more)
    return Job(site, launcher, words, hosts='', memory=True, before=('salloc', '--quiet', '--no-kill', f'-N{n}', '--ntasks-per-node=2'), **more)


def memory_kills(site, launcher):
    """As `kills`, with images in memory."""
    words = (f'{site.options.build}/tests/programs/saves', 'memory', '4000', SAVE_AT)
    job = in_memory(site, launcher, words, replace=site.options.kills)
    yield job
    n = kill_some(site, job)
    require(job.count('starting again from checkpoint [0-9]+ in memory') == n, 'it did not go on from memory')
    job.goes_on(n)


def memory_all_at_once(site, launcher):
    """As `all_at_once`."""
    job = in_memory(site, launcher, None)
    yield job
    kill_host(job)


def memory_while_starting(site, launcher):
    """As `while_starting`."""
    job = in_memory(site, launcher, None, CK_BOOT_TIMEOUT='5')
    yield job
    kill_twice(site, job)


def memory_ends(site, launcher):
    """What the program decides ends the job, as with checkpoints on disk."""
    for program, *codes in ('exit', 7), ('abort', *range(1, 256)):
        job = in_memory(site, launcher, (f'{site.options.build}/tests/programs/ends', program, '1'))
        yield job
        job.ends(codes if launcher != 'srun' else range(1, 256), 'ended with exit code')
    job = in_memory(site, launcher, (f'{site.options.build}/tests/programs/saves', 'memory', '400', '100', '0', '150'))
    yield job
    job.ends([139], AGAIN, r'ended by signal 11 .*, again at once, and nothing was saved in between')
    job = in_memory(site, launcher, (f'{site.folder}/no-program',))
    yield job
    job.ends(range(1, 256), 'ended with exit code')


def keeper_killed(site, launcher):
    """The job goes on without a keeper, and at the next death from what others have: it has saved no more than once."""
    job = in_memory(site, launcher, (f'{site.options.build}/tests/programs/saves', 'memory', '6000', '2900'))
    yield job
    job.await_saved(1)
    time.sleep(0.3)  # so that its images have copies
    os.kill(min(job.keepers(2)), signal.SIGKILL)
    job.await_(lambda: job.count('^ckrun: the keeper of images on host h2 is lost') == 1, "ckrun's line")
    os.kill(min(job.nodes(1)), signal.SIGKILL)
    job.await_(lambda: job.count(r'again from checkpoint [0-9]+ in memory \(1 of 5\)') == 1, 'the next start')
    job.await_(lambda: job.count('again after round') == 1, 'the end of the restart')
    require(len(job.keepers(2)) == 1, 'h2 has no new keeper')
    job.goes_on(1)


def keeper_needed(site, launcher):
    """Images that nobody has."""
    job = in_memory(site, launcher, (f'{site.options.build}/tests/programs/saves', 'memory', '4000', SAVE_AT))
    yield job
    job.await_saved(1)
    os.kill(min(job.keepers(2)), signal.SIGKILL)
    before = job.saved()
    job.await_saved(before + 4)
    os.kill(min(job.nodes(1)), signal.SIGKILL)
    job.ends([1], '^ckrun: the keeper of images on host h2 is lost',
             r'^ckrun: the image of node 2 of checkpoint [0-9]+ in memory is lost with its host; the job is ended')


def keeper_missed(site, launcher):
    """No node dies, and the job does not need its keepers."""
    job = in_memory(site, launcher, None)
    yield job
    job.await_saved(2)
    os.kill(min(job.keepers(2)), signal.SIGKILL)
    job.goes_on(0)
    require(job.count('^ckrun: the keeper of images on host h2 is lost') == 1, 'ckrun does not say that the keeper is lost')


def ckrun_killed(site, launcher):
    """Nothing outlives ckrun."""
    job = in_memory(site, launcher, None)
    yield job
    job.await_saved(1)
    ckrun = [pid for pid in job.hosts.processes(1) if name_of(pid) == 'ckrun']
    for pid in ckrun:
        os.kill(pid, signal.SIGKILL)
    job.process.wait(PATIENCE_S)
    job.left_nothing()


def restart(site, launcher):
    """What was saved under one launcher goes on under any, in any shape."""
    words = (f'{site.options.build}/tests/programs/saves', site.dir, '250', SAVE_AT)
    want, saved = site.undisturbed(words), f'{site.folder}/saved'
    job = Job(site, launcher, words)
    yield job
    job.goes_on(0)
    shutil.rmtree(saved, ignore_errors=True)
    os.rename(site.dir, saved)
    for hosts, n, ppn in ('h1:1,h2:1,h3:1', 3, 1), ('h1:2,h3:2', 4, 2), ('h2:1', 1, 1), ('h1:2,h2:2', 4, 1):
        other = site.random.choice(site.options.installed)
        shutil.copytree(saved, site.dir, symlinks=True)
        job = Job(site, other, words[:1], hosts, n, ('--restart', site.dir, '--ppn', str(ppn)))
        yield job
        require(job.end() == 0, f'{other}, {n} PEs: exit code {job.process.returncode}')
        require(job.count('again after round 200, from 4 PEs') == 1, f'{other}, {n} PEs: it began at the beginning')
        require(job.text().splitlines()[-1] == want, f'{other}, {n} PEs: its last line is another one')
        shutil.rmtree(site.dir)


def all_at_once(site, launcher):
    """All nodes of a host together, that of PE 0 among them."""
    job = Job(site, launcher)
    yield job
    kill_host(job)


def crash(site, launcher):
    """A fault of the program that does not come back."""
    job = Job(site, launcher, (f'{site.options.build}/tests/programs/saves', site.dir, '400', '100', '0', '-150'))
    yield job
    code = job.end()
    require(code == 0, f'exit code {code}')
    require(job.count(r'^ckrun: node \d on h\d ended by signal 11 .*; starting again from checkpoint 1 \(1 of 5\)$') == 1,
            'ckrun does not say how the node ended')
    job.left_nothing()


def crashes(site, launcher):
    """One that does."""
    job = Job(site, launcher, (f'{site.options.build}/tests/programs/saves', site.dir, '400', '100', '0', '150'))
    yield job
    job.ends([139], AGAIN, r'ended by signal 11 .*, again at once, and nothing was saved in between')


def exits(site, launcher):
    """CkExit with a code is no death."""
    job = Job(site, launcher, (f'{site.options.build}/tests/programs/ends', 'exit', '1'))
    yield job
    job.ends([7] if launcher != 'srun' else range(1, 256), 'ended with exit code')


def aborts(site, launcher):
    """Nor is CkAbort, whatever the launcher makes of it."""
    job = Job(site, launcher, (f'{site.options.build}/tests/programs/ends', 'abort', '3'))
    yield job
    job.ends(range(1, 256), 'ended with exit code')


def missing(site, launcher):
    """A program that cannot be started is not tried again."""
    job = Job(site, launcher, (f'{site.folder}/no-program',))
    yield job
    job.ends(range(1, 256), 'ended with exit code')


def starts_no_more(site, launcher):
    """A launcher that fails again and again before the nodes have met is given up."""
    program = f'{site.folder}/saves'
    shutil.copy(f'{site.options.build}/tests/programs/saves', program)
    job = Job(site, launcher, (program, site.dir, ROUNDS, SAVE_AT))
    yield job
    job.await_saved(1)
    victim = min(job.nodes(2))
    os.unlink(program)
    os.kill(victim, signal.SIGKILL)
    job.ends(range(1, 256), r'\(1 of 5\)$', r'\(2 of 5\)$', r'\(3 of 5\)$', 'the job is ended')


def interrupted(site, launcher):
    """A signal to ckrun ends the job."""
    job = Job(site, launcher)
    yield job
    job.await_saved(1)
    job.process.send_signal(signal.SIGTERM)
    job.ends([143], 'got signal 15')


def leaves(site, launcher):
    """--checkpoint-exit: a signal to ckrun saves the job and ends it with 75, and the same line goes on. hydra
    would be ended by the signal."""
    words = (f'{site.options.build}/tests/programs/saves_sync', '300000')
    for n, sig in enumerate((signal.SIGTERM, signal.SIGUSR2), 1):
        job = Job(site, launcher, words, options=('--restart-if-any', site.dir, '--checkpoint-exit'))
        yield job
        if launcher == 'hydra':
            job.ends([2], '--checkpoint-exit needs --launcher srun or mpirun')
            return
        job.await_(lambda: len(job.nodes()) == 4, 'all nodes')
        time.sleep(1)
        job.process.send_signal(sig)
        code = job.end()
        require(code == 75, f'{sig.name}: exit code {code}')
        require(job.count(rf'^chard: saved as {site.dir}/ck-00000{n}; the job ends with exit code 75$') == 1,
                f'{sig.name}: the job does not say where it is saved')
        job.left_nothing()


def other_job(site, launcher):
    """Another job's checkpoints in the folder are not ours, unless --restart says so."""
    words = (f'{site.options.build}/tests/programs/saves', site.dir, ROUNDS, SAVE_AT)
    want = site.undisturbed(words)
    site.hosts.run(1, [f'{site.options.build}/bin/ckrun', '-n', '1', words[0], site.dir, '300', '100'], check=True,
                   stdout=subprocess.DEVNULL)
    job = Job(site, launcher, (words[0], f'{site.folder}/own', *words[2:]), options=('--tag-output',),
              CK_CHECKPOINT=f'{site.dir},1h')
    yield job
    job.await_(lambda: os.path.exists(f'{site.folder}/own/latest'), 'a checkpoint')
    os.kill(min(job.nodes(2)), signal.SIGKILL)
    code = job.end()
    shutil.rmtree(f'{site.folder}/own', ignore_errors=True)
    # It does not go on from there, either: ckrun does not know of that folder.
    require(code == 0 and want in job.text() and not job.count('again after round'), f'exit code {code}')
    require(job.count(r'starting again from the beginning') == 1, 'it did not begin at the beginning')
    job.left_nothing()


def lose(job, i):
    """Cut off the host when the job has been saved."""
    job.await_saved(1)
    time.sleep(0.6)  # so that each node has had an answer: one that never had cannot miss it
    job.hosts.cut(i)


def losing(site, launcher, hosts, n_hosts, memory=False, rounds='20000', of_slurm=(), **env):
    """A job of two nodes that lasts longer than heartbeats need to find that a host is lost. Outside an allocation srun
    would have to wait until Slurm gives it another one; `of_slurm` says which hosts that has."""
    words = (f'{site.options.build}/tests/programs/saves', 'memory' if memory else site.dir, rounds, SAVE_AT)
    if launcher == 'srun':
        return Job(site, launcher, words, hosts='', n=2, memory=memory,
                   before=('salloc', '--quiet', '--no-kill', f'-N{n_hosts}', *of_slurm), **env)
    return Job(site, launcher, words, hosts=hosts, n=2, memory=memory, **env)


def spare(site, launcher):
    """A host is lost, and there is another."""
    job = losing(site, launcher, 'h1:1,h2:1,h3:1', 3)
    yield job
    lose(job, 2)
    job.await_(lambda: job.count(AGAIN) == 1, 'the next start')
    require(job.count(r'node 1 is lost, and with it its host h2; starting again without it, from checkpoint') == 1,
            'ckrun does not name the host')
    job.await_(lambda: job.nodes(3), 'a node on the third host')
    job.goes_on(1)


def no_spare(site, launcher):
    """There is no other."""
    job = losing(site, launcher, 'h1:1,h2:1', 2)
    yield job
    lose(job, 2)
    job.ends([1], 'host h2 is lost, and the others have no room for its nodes')


def goes_on_elsewhere(job, host, times=1, last=True):
    """A host has been lost, and the job goes on on this one."""
    job.await_(lambda: job.count(AGAIN) == times, 'the next start')
    require(job.count(r'is lost, and with it its host h\d; starting again without it, from checkpoint [0-9]+ in memory') == times,
            'ckrun does not name the host')
    job.await_(lambda: job.nodes(host), f'a node on h{host}')
    if last:
        job.goes_on(times)


def memory_spare(site, launcher):
    """A host is lost, and there is another. The images of its nodes are in their neighbour's memory."""
    with Listener() as listener:
        job = losing(site, launcher, 'h1:1,h2:1,h3:1', 3, memory=True)
        yield job
        lose(job, 2)
        goes_on_elsewhere(job, 3)
    require(listener.heard > 0, 'no image was heard on the cables')
    rig.until(lambda: not job.keepers(2), 20, 'the end of the keeper that ckrun does not reach')


def memory_room(site, launcher):
    """The hosts that are left have room."""
    if launcher == 'srun':  # gives a job no more processors on a host than it has there
        return
    job = losing(site, launcher, 'h1,h2', 2, memory=True)
    yield job
    lose(job, 2)
    goes_on_elsewhere(job, 1)


def memory_first(site, launcher):
    """The host of node 0 is lost. srun sorts the hosts, so ckrun's is none of them."""
    job = losing(site, launcher, 'h2:1,h1:1,h3:1', 3, memory=True, of_slurm=('-w', 'h2,h3,h4'))
    yield job
    lose(job, 2)
    goes_on_elsewhere(job, 4 if launcher == 'srun' else 3)


def memory_twice(site, launcher):
    """Two hosts are lost, with a checkpoint between."""
    job = losing(site, launcher, 'h1:1,h2:1,h3:1,h4:1', 4, memory=True, rounds='40000')
    yield job
    lose(job, 2)
    goes_on_elsewhere(job, 3, last=False)
    before = job.saved()
    job.await_saved(before + 2)
    lose(job, 3)
    goes_on_elsewhere(job, 4, times=2)


class Listener:
    """Somebody who hears all that passes the switch, and looks for what each image begins with."""

    MAGIC = b'CHARDCK1'

    def __enter__(self):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))  # ETH_P_ALL
        self.socket.settimeout(0.1)
        self.frames = self.heard = 0
        self.over = False
        self.thread = threading.Thread(target=self.listen)
        self.thread.start()
        return self

    def listen(self):
        while not self.over:
            with contextlib.suppress(TimeoutError, OSError):
                frame = self.socket.recv(1 << 17)
                self.frames += 1
                self.heard += self.MAGIC in frame

    def __exit__(self, *_):
        self.over = True
        self.thread.join()
        self.socket.close()


def key_file(site, name='key'):
    """For CK_WIRE_KEY."""
    path = f'{site.folder}/{name}'
    with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), 'wb') as file:
        file.write(site.random.randbytes(32))
    return path


def sealed_spare(site, launcher):
    """As `memory_spare`, and nobody on the way can read an image."""
    with Listener() as listener:
        job = losing(site, launcher, 'h1:1,h2:1,h3:1', 3, memory=True, CK_WIRE='zstd,seal', CK_WIRE_KEY=key_file(site))
        yield job
        lose(job, 2)
        goes_on_elsewhere(job, 3)
    require(listener.frames > 100 and not listener.heard, f'of {listener.frames} frames {listener.heard} are the beginning of an image')


def sealed_kills(site, launcher):
    """As `memory_kills`."""
    words = (f'{site.options.build}/tests/programs/saves', 'memory', '4000', SAVE_AT)
    job = in_memory(site, launcher, words, replace=site.options.kills, CK_WIRE='zstd,seal', CK_WIRE_KEY=key_file(site))
    yield job
    n = kill_some(site, job)
    require(job.count('starting again from checkpoint [0-9]+ in memory') == n, 'it did not go on from memory')
    job.goes_on(n)


def sealed_allkinds(site, launcher):
    """All kinds of chares, saved all the time. A node dies at random moments, also before the others have met it again."""
    job = in_memory(site, launcher, (f'{site.options.build}/tests/programs/allkinds', '0', '100'), replace=site.options.kills, CK_WIRE='zstd,seal',
                    CK_CHECKPOINT='memory,5ms', CK_RANDOM_DELAY=str(site.options.seed))
    yield job
    job.await_saved(1)
    n = 0
    while job.process.poll() is None and n < site.options.kills:
        job.await_(lambda: len(job.nodes()) == 4 or job.process.poll() is not None, 'all nodes')
        time.sleep(site.random.uniform(0.2, 0.6))
        try:
            os.kill(site.random.choice(list(job.nodes())), signal.SIGKILL)
        except (IndexError, ProcessLookupError):  # the job has ended just now
            continue
        n += 1
        job.await_(lambda n=n: job.count(AGAIN) == n or job.process.poll() is not None, 'the next start')
    require(n > 0, 'the job was too short')
    job.goes_on(job.count(AGAIN))


def other_keys(site, launcher):
    """A host has another CK_WIRE_KEY: its keeper is not heard, and says why."""
    path = key_file(site, 'key of this job')
    site.hosts.run(2, ['mount', '--bind', key_file(site, 'another key'), path], check=True)
    job = in_memory(site, launcher, None, CK_WIRE='seal', CK_WIRE_KEY=path)
    yield job
    try:
        job.ends([1], r"^ckrun: (no keeper|keepers) of images ha.*: ckrun's host does not take it for one of this job: CK_WIRE_KEY is another")
    finally:
        site.hosts.run(2, ['umount', path], check=True)


def seal_of_nodes_alone(site, launcher):
    """A seal that only the nodes know of would not be that of their images."""
    job = in_memory(site, launcher, ('env', 'CK_WIRE=seal', f'{site.options.build}/tests/programs/saves', 'memory', '300', SAVE_AT))
    yield job
    require(job.end() != 0, 'it ended well')
    require(job.count(r'CK_WIRE has seal on node \d, but not where ckrun was started') > 0, 'no node says so')
    job.left_nothing()


def sockets(pid, state):
    """The process's TCP sockets in this state: (local, remote), as /proc shows them."""
    inodes = set()
    for fd in os.listdir(f'/proc/{pid}/fd'):
        with contextlib.suppress(OSError):
            inodes.add(os.readlink(f'/proc/{pid}/fd/{fd}'))
    for name in 'tcp', 'tcp6':
        with open(f'/proc/{pid}/net/{name}', encoding='utf-8') as file:
            for words in (line.split() for line in file.readlines()[1:]):
                if words[3] == state and f'socket:[{words[9]}]' in inodes:
                    yield words[1], words[2]


LISTENS, CONNECTED = '0A', '01'


def port_of_keeper(job, host):
    """Where other keepers call the one on this host."""
    return next(int(local.rpartition(':')[2], 16) for local, _ in sockets(min(job.keepers(host)), LISTENS))


def port_to_ckrun(job, host):
    """From where the keeper on this host has called ckrun."""
    at = f'{host:02X}00580A:'  # 10.88.0.host
    return next(int(remote.rpartition(':')[2], 16) for _, remote in sockets(job.ckrun(), CONNECTED) if at in remote)


NOT_OPENED = 'does not open: it was changed, repeated, left out or forged on its way; see who can reach the network between these hosts'


def mirrors_forged(site, launcher):
    """Somebody changes copies of images on their way. The job goes on, no such copy counts, and those that come after it are
    good."""
    job = in_memory(site, launcher, (f'{site.options.build}/tests/programs/saves', 'memory', '2000', SAVE_AT, '20000'), CK_WIRE='seal')
    yield job
    job.await_saved(1)
    site.hosts.set_link(2, way='in', port=port_of_keeper(job, 2), forge=0.2)
    job.await_(lambda: job.count(f'^ckrun: what the keeper of images on host h2 received from that on host h1 {NOT_OPENED}$') == 1,
               "ckrun's line")
    require(site.hosts.link_counts(2)['in']['forged'] > 0, 'nothing was forged')
    site.hosts.set_link(2, way='in', forge=0)
    before = job.saved()
    job.await_saved(before + 3)
    os.kill(min(job.keepers(1)), signal.SIGKILL)
    os.kill(min(job.nodes(1)), signal.SIGKILL)
    job.await_(lambda: job.count(r'again from checkpoint [0-9]+ in memory \(1 of 5\)') == 1, 'the next start')
    job.await_(lambda: job.count('again after round') == 1, 'the end of the restart')
    job.goes_on(1)


def images_forged(site, launcher):
    """Or on their way back, when the job starts again from them."""
    job = in_memory(site, launcher, (f'{site.options.build}/tests/programs/saves', 'memory', '2000', SAVE_AT, '20000'), replace=1, CK_WIRE='seal')
    yield job
    job.await_saved(3)
    site.hosts.set_link(2, way='out', port=port_of_keeper(job, 2), forge=0.2)
    os.kill(min(job.keepers(1)), signal.SIGKILL)
    os.kill(min(job.nodes(1)), signal.SIGKILL)
    require(job.end() != 0, 'it ended well')
    require(job.count(f'the image of node [01] cannot be copied from its host: what this host.s keeper received from that at [0-9.:f]+ {NOT_OPENED}$') > 0, 'no node says so')
    require(job.count('again after round') == 0, 'it went on')
    job.left_nothing()


def words_forged(site, launcher):
    """Or what ckrun and a keeper say to each other: it is as good as lost then, and its host gets another one."""
    for way, line in (('out', 'what ckrun received from the keeper of images on host h2'),
                      ('in', 'what the keeper of images on host h2 received from ckrun')):
        job = in_memory(site, launcher, (f'{site.options.build}/tests/programs/saves', 'memory', '2000', SAVE_AT), CK_WIRE='seal')
        yield job
        job.await_saved(2)
        site.hosts.set_link(2, way=way, port=port_to_ckrun(job, 2), forge=1)
        os.kill(min(job.nodes(1)), signal.SIGKILL)
        job.await_(lambda line=line: job.count(f'^ckrun: {line} {NOT_OPENED}$') == 1, "ckrun's line")
        site.hosts.set_link(2, way=way, forge=0)
        job.goes_on(1)


def ask(job, *words):
    """The answer to ckctl's words, asked on ckrun's host; or of node 0 there. None: no."""
    ckctl, name = f'{job.site.options.build}/bin/ckctl', job.control or str(job.ckrun())
    done = job.hosts.run(1, [ckctl, name, *words], text=True, capture_output=True, timeout=PATIENCE_S)
    return done.stdout if done.returncode == 0 else None


def seen_by(job, n_pes, epoch):
    """A whole status, in which all PEs are seen."""
    for _ in range(50):
        text = ask(job, 'status') or ''
        if text.endswith('\nend\n') and re.search(rf'^job .* seen_pes={n_pes} .* epoch={epoch} ', text):
            return text
    raise Failed(f'{n_pes} PEs in epoch {epoch} were not seen, but {text!r}')


def asked(site, launcher):
    """A job is seen and steered, also after a death; PE 3, on the other host, computes for long."""
    words = (f'{site.options.build}/tests/programs/steered', '20')
    job = Job(site, launcher, words, replace=1, options=('--restart-if-any', site.dir))
    yield job
    job.await_(lambda: len(job.nodes()) == 4 and job.ckrun(), 'all nodes')
    text = seen_by(job, 4, 0)
    require(re.search(r'^job hosts=2 nodes=4 ', text), text)
    require(re.search(r'^pe id=3 node=3 state=busy state_s=\S+ busy=1.000 ', text, re.M), text)
    require(re.search(r'^host id=1 name=h2 nodes=2 pes=2 seen_s=[0-9.]+ ', text, re.M), text)
    require((ask(job, 'metrics') or '').endswith('# EOF\n'), 'no metrics')
    require('PE 3' in (ask(job, 'report') or ''), 'no report')
    require(ask(job, 'resize', '2') is None, 'it was resized')
    os.kill(next(iter(job.nodes(2))), signal.SIGKILL)
    job.await_(lambda: job.count(AGAIN) == 1, 'the second start')
    seen_by(job, 4, 0)
    require(ask(job, 'stop') == 'the job ends\n', 'it is not told to end')
    job.ends((143,), AGAIN, '^ckrun: got signal 15')


TRIALS = [asked, memory_kills, sealed_kills, sealed_allkinds, other_keys, seal_of_nodes_alone, memory_all_at_once, memory_while_starting, memory_ends, keeper_killed, keeper_needed, keeper_missed, ckrun_killed, restart, kills, while_starting, all_at_once, crash, crashes, exits, aborts, missing, starts_no_more, interrupted, leaves, other_job]
# Each has hosts of its own: launchers remember a host that was lost.
LOSSES = [spare, no_spare, memory_spare, memory_room, memory_first, memory_twice, sealed_spare]
# So has each of these, with cables on which somebody may change what passes.
ATTACKS = [mirrors_forged, images_forged, words_forged]


def run(site, trial, launcher):
    """Whether it went well."""
    name, start = f'{trial.__name__}, {launcher}', time.monotonic()
    shutil.rmtree(site.dir, ignore_errors=True)
    job = None
    try:
        for job in trial(site, launcher):
            pass
        if job:
            print(f'ok    {name} ({time.monotonic() - start:.1f} s)', flush=True)
        return True
    except (Failed, rig.Refused, subprocess.CalledProcessError) as wrong:
        print(f'FAIL  {name}: {wrong}', flush=True)
        print('\n'.join('      ' + line for line in (job.text().splitlines()[-25:] if job else ())), flush=True)
        return False
    finally:
        if job:
            job.close()
        for pid in job.nodes() if job else ():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def launchers(options):
    """Those that are installed."""
    found = []
    for name, known in ('hydra', 'hydra'), ('srun', 'srun --mpi=pmi2'), ('mpirun', 'Open MPI'):
        missing_here = next(one.missing for one in rig.launchers() if one.name == known)
        if options.launcher not in name:
            continue
        if missing_here:
            print(f'skip  {name}: {missing_here}', flush=True)
        else:
            found.append(name)
    return found


def work(folder, options, pairs):
    """Runs these on new hosts."""
    attacked = any(trial in ATTACKS for trial, _ in pairs)
    site = Site(folder, options, {'seed': options.seed} if attacked else None)
    return int(not all([run(site, trial, launcher) for trial, launcher in pairs]))


def chosen(options):
    """What is to run: lists of (trial, launcher), each for hosts of its own."""
    known = {trial.__name__: trial for trial in TRIALS + LOSSES + ATTACKS}
    options.installed = launchers(options)
    pairs = [(known[name], launcher) for launcher in options.installed for name in options.trials or known]
    if options.draw:
        pairs = random.Random(options.seed).sample(pairs, min(options.draw, len(pairs)))
    together = [pair for pair in pairs if pair[0] in TRIALS]
    return [together] * bool(together) + [[pair] for pair in pairs if pair[0] not in TRIALS]


def main():
    names = [trial.__name__ for trial in TRIALS + LOSSES + ATTACKS]
    parser = argparse.ArgumentParser(description='Deaths of nodes on several hosts.', allow_abbrev=False)
    parser.add_argument('trials', nargs='*', help=f'of {", ".join(names)}')
    parser.add_argument('-b', '--build', default='build', help='the build folder')
    parser.add_argument('--kills', type=int, default=2, help='kills of a job (2)')
    parser.add_argument('--launcher', default='', help='only launchers whose name contains it')
    parser.add_argument('--draw', type=int, default=0, metavar='N', help='only N of the trials, as the seed draws')
    parser.add_argument('--seed', type=int, default=0, help='of victims, moments and what is drawn; 0 draws one')
    options = parser.parse_args()
    if wrong := set(options.trials) - set(names):
        parser.error(f'no trial is called {" or ".join(wrong)}')
    options.build = os.path.abspath(options.build)
    options.seed = options.seed or random.randrange(1, 32768)
    if reason := rig.why_not():
        print(f'skip  several hosts: {reason}')
        return 77
    failed = [rig.run_inside(lambda folder, pairs=pairs: work(folder, options, pairs)) for pairs in chosen(options)]
    print(f'{sum(map(bool, failed))} failed, seed {options.seed}')
    return int(any(failed))


if __name__ == '__main__':
    sys.exit(main())
