#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a job does when a link or a host is lost: on hosts made of namespaces, whose cables are pulled.

    tests/rig/loss.py [-b build folder] [--list] [--part 1|2|3] [name ...]

Each trial has a rig of its own. It starts a job, does something to the rig when the job is at work, and looks at how
the job ends: the launcher's exit code, that of each node, and what they say. Then it prints how long that took after
the event; nothing depends on that time, except that what takes 30 s hangs. CK_PEER_TIMEOUT is 2 s, or 4 s where a trial
is about the time itself. One line per trial, "ok", "FAIL" or "skip".
"""

import argparse
import concurrent.futures
import contextlib
import glob
import os
import re
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import rig  # noqa: E402
from rig import Failed, require  # noqa: E402

PATIENCE_S = 30  # what takes longer, hangs
TIMEOUT_S = 2
LONG_S = 4  # CK_PEER_TIMEOUT of trials that cut a link for a part of it: pulling and mending take some time, too
# One line of the node that noticed.
NOTICED = (r'^chard: node \d+ on h\d: no sign of life from node \d+ on h\d for (\d+\.\d) s, the last at \d\d:\d\d:\d\d: '
           r'its host is down or stopped, or the link to it is cut .CK_PEER_TIMEOUT=(\d).$')
LINK = r'the link to 10\.89\.0\.\d is cut; it answers over another one, but UCX uses this one'
BOOT = r'^chard: node 0 waited 3 s for the other nodes; one has died or never started'


class Trial:
    """A job on a rig, and what becomes of it."""

    def __init__(self, hosts, build, launcher='hydra', per_host=1, program='lost'):
        self.hosts, self.build, self.per_host, self.program = hosts, build, per_host, program
        self.launcher = next(known for known in rig.launchers() if known.name == launcher)
        if self.launcher.missing:
            raise rig.Refused(self.launcher.missing)
        self.env = dict(os.environ, CK_PEER_TIMEOUT=str(TIMEOUT_S), CK_WATCHDOG='0', CK_BOOT_TIMEOUT='20')
        if launcher.startswith('srun'):
            self.env['SLURM_CONF'] = rig.Slurm(hosts).conf
        self.env.pop('TMPDIR', None)
        self.process = None
        self.event = time.monotonic()

    def start(self, *words, gate=False, **env):
        """Each node leaves its exit code in a file. gate: nodes of the last host wait until it is opened."""
        folder = self.hosts.folder
        wait = f'[ "$(hostname)" != h{self.hosts.n} ] || while [ ! -e {folder}/gate ]; do sleep 0.05; done; ' * gate
        script = f'{wait}"$0" "$@"; code=$?; echo $code >{folder}/code.$(hostname).$$; exit $code'
        given = {name: text for name, text in (self.env | env).items() if name.startswith(('CK_', 'UCX_'))}
        command = self.launcher.words(self.hosts, self.per_host, given) + \
            ['sh', '-c', script, f'{self.build}/tests/programs/{self.program}', *words]
        with open(f'{folder}/out', 'wb') as out, open(f'{folder}/err', 'wb') as err:
            self.process = self.hosts.start(1, command, stdout=out, stderr=err, env=self.env | env)

    def text(self, name):
        with open(f'{self.hosts.folder}/{name}', encoding='utf-8', errors='replace') as file:
            return file.read()

    def ready(self):
        """The job is at work, and has been for a moment."""
        self.await_(lambda: 'ready' in self.text('out'), '"ready"')
        time.sleep(0.5)
        self.event = time.monotonic()

    def await_(self, condition, what):
        end = time.monotonic() + PATIENCE_S
        while not condition():
            require(self.process.poll() is None or condition(), f'the job ended before {what}')
            require(time.monotonic() < end, f'{what} did not come')
            time.sleep(0.02)

    def nodes(self, i):
        """Processes of the program that live on host i."""
        found = []
        for pid in self.hosts.processes(i):
            with contextlib.suppress(OSError):
                if os.readlink(f'/proc/{pid}/exe').endswith(f'/{self.program}'):
                    found.append(pid)
        return found

    def ends(self, code=None):
        """The launcher ends, within reason. code: with this one; None: with a failure."""
        try:
            found = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise Failed(f'the job has not ended after {PATIENCE_S} s') from None
        took = time.monotonic() - self.event
        require(found != 0 if code is None else found == code, f'exit code {found}')
        return took

    def interrupt(self):
        """Ends it from outside, which hydra takes for a success."""
        self.event = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        if self.launcher.name != 'hydra':
            return self.ends()
        with contextlib.suppress(subprocess.TimeoutExpired):  # ends() tells
            self.process.wait(PATIENCE_S)
        # Its proxies may have gone before it asks them to end the nodes, which their own check takes for a mistake.
        asked_twice = 'HYD_pmcd_pmip_control_cmd_cb' in self.text('err')
        return self.ends(self.process.returncode if asked_twice else 0)

    def all_gone(self, *hosts):
        """No node lives on these hosts, and none ended with 0."""
        end = time.monotonic() + PATIENCE_S
        while (left := [pid for i in hosts for pid in self.nodes(i)]) and time.monotonic() < end:
            time.sleep(0.02)
        require(not left, f'nodes live on, on {hosts}: {left}')
        codes = [self.text(os.path.basename(path)).strip() for path in glob.glob(f'{self.hosts.folder}/code.*')]
        require('0' not in codes, f'a node ended with 0: {codes}')

    def nodes_end(self, *hosts):
        """As ends(), but hydra may hang, in the middle of a message of a proxy that the cable has cut in two."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(PATIENCE_S / 3)
        if self.process.poll() is None:
            self.all_gone(*hosts)
            self.process.kill()
        return self.ends()

    def says(self, pattern, times=1):
        n = len(re.findall(pattern, self.text('err'), re.M))
        require(n == times, f'{n} lines say {pattern}')

    def lost(self, pattern=NOTICED, hosts=()):
        """The usual end: the launcher fails, one line says why, and all nodes are gone."""
        took = self.ends()
        self.says(pattern)
        for silent, limit in re.findall(NOTICED, self.text('err'), re.M):
            require(float(silent) >= float(limit), f'it ended after {silent} s, before its {limit} s')
        self.all_gone(*(hosts or self.hosts.numbers()))
        return took


# ---- trials: name -> (hosts, rails, link, function) --------------------------------------------------

TRIALS = {}


def trial(name, n=2, rails=1, link=None):
    def add(function):
        TRIALS[name] = (n, rails, link, function)
        return function
    return add


def simple(what, event, launcher='hydra'):
    def run(hosts, build):
        job = Trial(hosts, build, launcher)
        job.start(*what.split())
        job.ready()
        event(hosts)
        return job.lost()
    return run


for state in ('idle', 'busy', 'quiescence', 'start 1000', 'exit 1000'):
    name = {'start 1000': 'in the main chare\'s constructor', 'exit 1000': 'at exit',
            'quiescence': 'in quiescence'}.get(state, state)
    trial(f'cable pulled, {name}')(simple(state, lambda hosts: hosts.cut(2)))
trial('no carrier, idle')(simple('idle', lambda hosts: hosts.down(2)))
trial('no carrier, busy')(simple('busy', lambda hosts: hosts.down(2)))
for kind in 'srun --mpi=pmi2', 'srun --mpi=pmix':
    trial(f'cable pulled, idle, {kind}')(simple('idle', lambda hosts: hosts.cut(2), kind))


@trial('cable pulled, idle, Open MPI')
def cut_openmpi(hosts, build):
    """mpirun 4.1 itself waits for the helper on the host that it has lost. The nodes do not."""
    job = Trial(hosts, build, 'Open MPI')
    job.start('idle')
    job.ready()
    hosts.cut(2)
    job.await_(lambda: not job.nodes(1) and not job.nodes(2), 'the end of the nodes')
    took = time.monotonic() - job.event
    job.says(NOTICED)
    job.all_gone(1, 2)
    job.process.kill()
    return took


@trial('cable pulled before the nodes have met')
def before_meeting(hosts, build):
    job = Trial(hosts, build)
    job.start('idle', gate=True, CK_BOOT_TIMEOUT='3')
    job.await_(lambda: job.nodes(1), 'a node of h1')
    job.event = time.monotonic()
    hosts.cut(2)
    with open(f'{hosts.folder}/gate', 'w', encoding='utf-8'):
        pass
    took = job.ends()
    job.says(BOOT)
    job.all_gone(1, 2)
    return took


@trial('host stopped (SIGSTOP), idle')
def host_stopped(hosts, build):
    return stopped(hosts, build, 'idle')


@trial('host stopped (SIGSTOP), busy')
def busy_host_stopped(hosts, build):
    return stopped(hosts, build, 'busy')


@trial('host stopped (SIGSTOP), idle, srun --mpi=pmi2')
def host_stopped_srun(hosts, build):
    return stopped(hosts, build, 'idle', 'srun --mpi=pmi2')


def stopped(hosts, build, what, launcher='hydra'):
    """When it goes on, its nodes learn that the job has ended without them."""
    job = Trial(hosts, build, launcher)
    job.start(what)
    job.ready()
    hosts.signal_all(2, signal.SIGSTOP)
    if launcher == 'hydra':
        took = job.ends()
    else:  # srun waits for the slurmd of that host, which is stopped, too
        job.await_(lambda: not job.nodes(1), 'the end of the node of h1')
        took = time.monotonic() - job.event
    job.says(NOTICED)
    job.all_gone(1)
    hosts.signal_all(2, signal.SIGCONT)
    job.ends()
    job.all_gone(2)
    return took


@trial('one node of several stopped, busy', n=2)
def node_stopped(hosts, build):
    job = Trial(hosts, build, per_host=2)
    job.start('busy')
    job.ready()
    os.kill(job.nodes(2)[0], signal.SIGSTOP)
    return job.lost()


@trial('four hosts fall apart in the middle, idle', n=4)
def partition(hosts, build):
    return fall_apart(hosts, build, 'idle')


@trial('four hosts fall apart in the middle, busy', n=4)
def busy_partition(hosts, build):
    return fall_apart(hosts, build, 'busy')


def fall_apart(hosts, build, what):
    """Each half ends; only the half with the launcher can still be heard."""
    job = Trial(hosts, build, per_host=2)
    job.start(what)
    job.ready()
    hosts.split([3, 4])
    return job.lost()


@trial('one of two rails cut that UCX does not use, busy', rails=2)
def other_rail(hosts, build):
    """The launcher's connections are on it, so it is mended before the end."""
    job = Trial(hosts, build)
    job.start('busy', UCX_NET_DEVICES='eth1')
    job.ready()
    hosts.cut(2, rail=0)
    time.sleep(2 * TIMEOUT_S)
    require(job.process.poll() is None, 'the job has ended')
    hosts.mend(2, rail=0)
    took = job.interrupt()
    job.says('no sign of life', 0)
    return took


@trial('one of two rails cut that UCX uses, busy', rails=2)
def used_rail(hosts, build):
    job = Trial(hosts, build)
    job.start('busy', UCX_NET_DEVICES='eth0,eth1', UCX_MAX_EAGER_RAILS='2', UCX_MAX_RNDV_RAILS='2')
    job.ready()
    hosts.cut(2, rail=1)
    return job.lost(LINK)


def no_alarm(job):
    """The job ends well, and has said nothing of heartbeats; how long its end took."""
    took = job.ends(0)
    job.says('no sign of life|heartbeat', 0)
    return took


@trial('no alarm: handlers that compute for three times CK_PEER_TIMEOUT')
def computes(hosts, build):
    job = Trial(hosts, build)
    job.start('compute', str(3 * TIMEOUT_S))
    job.ready()
    return no_alarm(job)


@trial('no alarm: a host is stopped for a shorter time')
def short_stop(hosts, build):
    job = Trial(hosts, build)
    job.start('compute', str(3 * TIMEOUT_S))
    job.ready()
    for i in 2, 1:
        hosts.signal_all(i, signal.SIGSTOP)
        time.sleep(TIMEOUT_S / 2)
        hosts.signal_all(i, signal.SIGCONT)
    return no_alarm(job)


# ---- links that are away for a part of CK_PEER_TIMEOUT ----------------------------------------


def away(hosts, seconds, ways):
    """A host's link is cut for so long, and what it needs to come back."""
    event = time.monotonic()
    ways[0](hosts)
    time.sleep(max(0, event + seconds - time.monotonic()))
    ways[1](hosts)


CABLE = (lambda hosts: hosts.cut(2), lambda hosts: hosts.mend(2))
TO_HOST = (lambda hosts: hosts.set_link(2, way='in', cut=1), lambda hosts: hosts.set_link(2, way='in', cut=0))
FROM_HOST = (lambda hosts: hosts.set_link(2, way='out', cut=1), lambda hosts: hosts.set_link(2, way='out', cut=0))


def away_for_less(parts, ways):
    def run(hosts, build):
        job = Trial(hosts, build)
        job.start('busy', str(sum(parts) * LONG_S + len(parts)), CK_PEER_TIMEOUT=str(LONG_S))
        job.ready()
        for part in parts:
            away(hosts, part * LONG_S, ways)
            require(job.process.poll() is None, f'the job has ended: {part} of CK_PEER_TIMEOUT')
            time.sleep(0.5)
        return no_alarm(job)
    return run


def away_for_longer(ways):
    def run(hosts, build):
        job = Trial(hosts, build)
        job.start('busy', CK_PEER_TIMEOUT=str(LONG_S))
        job.ready()
        away(hosts, 1.1 * LONG_S, ways)
        return job.lost()
    return run


for ways, name, link in (CABLE, 'a cable is pulled', None), (TO_HOST, 'a link carries nothing to a host', {}), \
        (FROM_HOST, 'a link carries nothing from a host', {}):
    trial(f'no alarm: {name} for 0.1, 0.3, 0.5, 0.7 of the limit', link=link)(away_for_less((0.1, 0.3, 0.5, 0.7), ways))
    trial(f'no alarm: {name} for 0.8, 0.9, 0.95 of the limit', link=link)(away_for_less((0.8, 0.9, 0.95), ways))
    trial(f'{name} for 1.1 of the limit', link=link)(away_for_longer(ways))


@trial('no alarm: a link that is away for 1 s in every 2 s')
def flapping(hosts, build):
    return flap(hosts, build, 8)


def flap(hosts, build, times):
    job = Trial(hosts, build)
    job.start('busy', str(2 * times), CK_PEER_TIMEOUT='3')
    job.ready()
    for _ in range(times):
        away(hosts, 1, CABLE)
        require(job.process.poll() is None, 'the job has ended')
        time.sleep(1)
    return no_alarm(job)


@trial('no alarm: a third of all frames is lost, others come twice or too late', link={'seed': 1})
def poor_link(hosts, build):
    job = Trial(hosts, build)
    job.start('compute', str(3 * TIMEOUT_S))
    job.ready()
    hosts.set_link(2, loss=0.33, dup=0.1, reorder=0.2, delay=5)
    return no_alarm(job)


@trial('cable pulled while the job starts, at ten moments')
def while_it_starts(hosts, build):
    """It says so, by heartbeats or at a meeting. Before there is a node, hydra alone could say something, and may hang."""
    longest = 0
    for tenth in range(10):
        job = Trial(hosts, build)
        job.start('busy', CK_BOOT_TIMEOUT='3')
        job.await_(lambda job=job: job.nodes(1), 'a node of h1')
        time.sleep(0.005 * tenth)
        job.event = time.monotonic()
        hosts.cut(2)
        longest = max(longest, job.nodes_end(1, 2))
        job.says(f'{NOTICED}|{BOOT}')
        hosts.mend(2)
        job.all_gone(1, 2)
    return longest


@trial('no heartbeat comes through: one warning, and the job runs')
def firewall(hosts, build):
    job = Trial(hosts, build)
    for i in hosts.numbers():
        rule = hosts.run(i, 'ip rule add pref 10 ipproto udp blackhole'.split(), capture_output=True, text=True)
        if rule.returncode:
            raise rig.Refused(f'no rules for routes in this kernel: {rule.stderr.strip()}')
    job.start('compute', str(3 * TIMEOUT_S))
    took = job.ends(0)
    job.says(r'^chard: node \d on h\d: node \d on h\d answers no heartbeat \(UDP to 10\.88\.0\.\d port \d+: a firewall\?\)', 2)
    return took


@trial('CK_PEER_TIMEOUT=0: nobody looks')
def off(hosts, build):
    job = Trial(hosts, build)
    job.start('idle', CK_PEER_TIMEOUT='0')
    job.ready()
    done = hosts.run(1, ['ss', '-Hlun'], capture_output=True, text=True)
    require(done.stdout == '', f'it has UDP sockets: {done.stdout}')
    return job.interrupt()


@trial('CK_GUARD=1 without heartbeats is refused')
def guard_refused(hosts, build):
    job = Trial(hosts, build)
    job.start('idle', CK_PEER_TIMEOUT='0', CK_GUARD='1')
    took = job.ends()
    require('chard: CK_GUARD=1 is refused: it must be 0 where CK_PEER_TIMEOUT is 0' in job.text('err'), 'it does not say so')
    job.all_gone(1, 2)
    return took


# ---- all of them -------------------------------------------------------------------------------


def tell(name, function):
    """Runs function(folder) in namespaces of its own and prints how it ended; it returns what there is to say. The exit code."""
    def work(folder):
        try:
            print(f'ok    {name} ({function(folder)})')
            return 0
        except rig.Refused as wrong:
            print(f'skip  {name}: {wrong}')
            return 0
        except (Failed, subprocess.SubprocessError) as wrong:
            print(f'FAIL  {name}: {wrong}')
            for stream in 'out', 'err':
                path = f'{folder}/{stream}'
                if os.path.exists(path):
                    with open(path, encoding='utf-8', errors='replace') as file:
                        print(''.join(f'      {stream}: {line}\n' for line in file.read().splitlines()[-12:]), end='')
            return 1
    return rig.run_inside(work)


def run_one(name, build):
    n, rails, link, function = TRIALS[name]
    return tell(name, lambda folder: f'{function(rig.Rig(n, folder, rails, link, build), build):.1f} s')


def run_apart(script, names, options):
    """Each trial of a script in a process of its own, by --one. The exit code of all."""
    def run(name):
        done = subprocess.run([sys.executable, script, '--one', '-b', options.build, name], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        print(done.stdout, end='', flush=True)
        return done.returncode
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        return max(pool.map(run, names), default=1) and 1


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))
    parser = argparse.ArgumentParser(description='What a job does when a link or a host is lost.')
    parser.add_argument('names', nargs='*', help='trials whose name contains one of these')
    parser.add_argument('-b', '--build', default='build')
    parser.add_argument('-j', '--jobs', type=int, default=5, help='trials at a time (5); most of one is waiting')
    parser.add_argument('--one', action='store_true', help='the trial of just this name, in this process')
    parser.add_argument('--part', type=int, choices=[1, 2, 3], help='a third of them')
    parser.add_argument('--list', action='store_true')
    options = parser.parse_args()
    chosen = [name for name in TRIALS if not options.names or any(part in name for part in options.names)]
    if options.part:
        chosen = chosen[options.part - 1::3]
    if options.list:
        print('\n'.join(chosen))
        return 0
    if options.one:
        return run_one(options.names[0], options.build)
    if reason := rig.why_not():
        print(f'skip  lost hosts and links: this kernel lets us make no namespaces: {reason}')
        return 77
    return run_apart(__file__, chosen, options)


if __name__ == '__main__':
    sys.exit(main())
