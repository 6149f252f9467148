# SPDX-License-Identifier: Apache-2.0
"""Hosts made of namespaces on this machine, for tests of jobs on several hosts.

A rig is a process tree in a pid, network, mount, IPC and UTS namespace of its own. Its network namespace is the
switch: one bridge per rail. Each host is a network, mount, IPC and UTS namespace, held by one sleeping process, with
an own name, /dev/shm and /tmp, and one port per rail at the switch. Its cables are veth pairs, which lose nothing and take
no time; with `link` they are those of link.c, which lose, delay, double, swap and damage what they carry, by a seed.

Nothing has a name outside, so rigs can stand side by side. Nothing has to be cleaned up: when the process that called
`run_inside` ends, however it ends, the kernel kills the whole pid namespace, and the namespaces, links and mounts go with
it. The one thing on disk is a folder in the caller's $TMPDIR, which goes with an orderly end, or when the next rig
starts.

    rig.run_inside(lambda folder: rig.Rig(2, folder).run(1, ['hostname']).returncode)
"""

import contextlib
import ctypes
import fcntl
import glob
import os
import random
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

libc = ctypes.CDLL(None, use_errno=True)
NEW_NS, NEW_UTS, NEW_IPC, NEW_PID, NEW_NET = 0x20000, 0x4000000, 0x8000000, 0x20000000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 4096, 0x4000, 0x40000
PR_SET_PDEATHSIG = 1
HERE = os.path.dirname(os.path.abspath(__file__))
# A folder of a rig is in use as long as its lock is held.
PREFIX = 'chard-rig-'


class Failed(Exception):
    """What a trial on a rig should have shown, and has not."""


def require(holds, what):
    if not holds:
        raise Failed(what)


class Refused(Exception):
    """The kernel, or what is installed, does not allow a rig; the text says what."""


def check(result, what):
    if result:
        raise Refused(f'{what}: {os.strerror(ctypes.get_errno())}')


def mount(kind, target, flags=0, options='', source=None):
    check(libc.mount((source or kind).encode(), target.encode(), kind.encode(), flags, options.encode()),
          f'cannot mount {kind} on {target}')


def why_not():
    """Why no rig can be made here; '' if one can."""
    lacks = [name for name in ('ip', 'nsenter', 'unshare') if not shutil.which(name)]
    if lacks:
        return f'{", ".join(lacks)} not installed'
    done = subprocess.run(['unshare', '--mount', '--net', '--ipc', '--uts', '--pid', '--fork', 'sh', '-c',
                           'mount -t tmpfs tmpfs /dev/shm && ip link add name v0 type veth peer name v1 && '
                           'ip link add name v2 type bridge'],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return done.returncode and (done.stderr.strip().splitlines() or ['unshare failed'])[-1]


# ---- the rig's own namespaces -----------------------------------------------------------------


def reap_until(child):
    """What the first process of a pid namespace does: it waits for all that are left to it."""
    while True:
        pid, status = os.wait()
        if pid == child:
            return os.waitstatus_to_exitcode(status)


def enter():
    """In the first process of the new pid namespace."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    mount('none', '/', MS_REC | MS_PRIVATE)
    mount('proc', '/proc')


def remove_old():
    """Folders of rigs that were killed: nobody holds their lock any more."""
    for path in glob.glob(f'{tempfile.gettempdir()}/{PREFIX}*'):
        with contextlib.suppress(OSError):
            with open(f'{path}/lock', encoding='utf-8') as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)


def new_folder():
    """Its path, and the lock that keeps it."""
    remove_old()
    new = tempfile.mkdtemp(prefix=f'new-{PREFIX}')
    os.chmod(new, 0o755)  # munged wants to reach its socket
    lock = open(f'{new}/lock', 'w', encoding='utf-8')
    fcntl.flock(lock, fcntl.LOCK_EX)
    folder = new.replace(f'new-{PREFIX}', PREFIX)  # from here on others see it
    os.rename(new, folder)
    return folder, lock


def become_init(work, folder):
    """Runs work(folder) in a child, as the first process of a pid namespace; does not return."""
    enter()
    child = os.fork()
    if child == 0:
        code = 1
        # What tests of the rig leave in $TMPDIR when they are killed goes with the rig's folder.
        tempfile.tempdir = os.environ['TMPDIR'] = folder
        try:
            code = work(folder)
        except SystemExit as end:
            code = end.code
            if not isinstance(code, (int, type(None))):
                print(code, file=sys.stderr)
                code = 1
        except BaseException:  # the traceback is the message
            sys.excepthook(*sys.exc_info())
        sys.stdout.flush()
        os._exit(code or 0)
    for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
        signal.signal(number, lambda n, _: os.kill(child, n))
    code = reap_until(child)
    os._exit(code if code >= 0 else 128 - code)


def run_inside(work):
    """Runs work(folder) as root of new namespaces; returns its exit code."""
    folder, lock = new_folder()
    sys.stdout.flush()
    helper = os.fork()
    if helper == 0:
        try:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            check(libc.unshare(NEW_NS | NEW_UTS | NEW_IPC | NEW_PID | NEW_NET), 'cannot make namespaces')
            first = os.fork()
            if first == 0:
                become_init(work, folder)
            for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
                signal.signal(number, lambda n, _: os.kill(first, n))
            code = os.waitstatus_to_exitcode(os.waitpid(first, 0)[1])
            os._exit(code if code >= 0 else 128 - code)
        except Refused as wrong:
            print(f'rig: {wrong}', file=sys.stderr)
            os._exit(77)
    forward = {number: signal.signal(number, lambda n, _: os.kill(helper, n))
               for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    try:
        code = os.waitstatus_to_exitcode(os.waitpid(helper, 0)[1])
    finally:
        for number, before in forward.items():
            signal.signal(number, before)
        shutil.rmtree(folder, ignore_errors=True)
        lock.close()
    return code if code >= 0 else 128 - code


# ---- cables --------------------------------------------------------------------------------------


def link_missing(build='build'):
    """Why hosts cannot have cables of link.c here; '' if they can."""
    program = f'{build}/tests/rig/link'
    if not os.path.exists('/dev/net/tun'):
        return 'this system has no /dev/net/tun'
    return '' if os.path.exists(program) else f'{program} is not built'


def netem_missing():
    """Why no cable can have tc's netem; '' if it can."""
    if lacks := installed('tc'):
        return lacks
    done = subprocess.run(['unshare', '--net', 'tc', 'qdisc', 'add', 'dev', 'lo', 'root', 'netem', 'delay', '1ms'],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return done.returncode and 'no netem in this kernel: ' + (done.stderr.strip().splitlines() or ['tc failed'])[-1]


class Link:
    """A process of link.c, whose comment says what it takes. It ends with us."""

    def __init__(self, program, seed, *ends, **options):
        # Not CHARD_TEST: the runner ends what carries it behind each case.
        quiet = {name: text for name, text in os.environ.items() if name != 'CHARD_TEST'}
        self.process = subprocess.Popen([program, str(seed), *ends], env=quiet, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, **options)
        self.answer('its start')

    def answer(self, to):
        line = self.process.stdout.readline().strip()
        if line.split()[:1] != ['ok']:
            raise Refused(f'the link, to {to}: {line or "it has ended"}')
        return line.split()[1:]

    def ask(self, line):
        """The words of its answer; what the line asks for holds from now on."""
        with contextlib.suppress(BrokenPipeError):  # there is no answer, then
            self.process.stdin.write(f'{line}\n')
            self.process.stdin.flush()
        return self.answer(line)

    def set(self, way='both', **settings):
        self.ask(' '.join([way, *(f'{name}={+value}' for name, value in settings.items())]))

    def counts(self):
        """{'in': {'seen': frames, ...}, 'out': the same}"""
        found = {}
        for word in self.ask('count'):
            name, equals, n = word.partition('=')
            if equals:
                way[name] = int(n)
            else:
                way = found[name] = {}
        return found

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait()


# ---- hosts -------------------------------------------------------------------------------------


def tool(*words, before=()):
    """Runs ip or tc, behind the words that lead to a host."""
    done = subprocess.run([*before, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise Refused(f'{" ".join(map(str, words))}: {done.stderr.strip()}')


def ip(*words):
    tool('ip', *words)


def until(condition, seconds, what):
    """Waits for what another process does; ends the test when it does not."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > end:
            raise Refused(f'{what} did not come within {seconds} s')
        time.sleep(0.01)
    return found


def own_tmp(kept):
    """A /tmp of one's own, in which only these folders are seen, if they are there."""
    kept = [(path, os.open(path, os.O_PATH)) for path in kept if path.startswith('/tmp/')]
    here = os.getcwd()
    mount('tmpfs', '/tmp', options='mode=1777')
    for path, fd in kept:
        os.makedirs(path, exist_ok=True)
        mount('none', path, MS_BIND, source=f'/proc/self/fd/{fd}')
        os.close(fd)
    os.chdir(here)


class Rig:
    """n hosts, called h1 to hn. Host i has the address 10.88.0.i, on its second rail 10.89.0.i, and so on.

    link: None, or what each cable is to do, as settings of link.c; {} is a good cable. `seed` among them (1) decides
    what becomes of which frame.
    """

    def __init__(self, n, folder, rails=1, link=None, build='build'):
        self.n, self.folder, self.rails, self.build = n, folder, rails, build
        self.holders, self.links = {}, {}
        self.link = None if link is None else {'seed': 1} | link
        if self.link and (reason := link_missing(build)):
            raise Refused(reason)
        ip('link', 'set', 'lo', 'up')
        for rail in range(rails):
            self.add_bridge(f'br{rail}')
        with open(f'{folder}/hosts', 'w', encoding='utf-8') as file:
            file.write('127.0.0.1 localhost\n' + ''.join(f'10.88.0.{i} h{i}\n' for i in self.numbers()))
        self.write_agent()
        for i in self.numbers():
            self.add_host(i)

    def numbers(self):
        return range(1, self.n + 1)

    @staticmethod
    def add_bridge(name):
        ip('link', 'add', 'name', name, 'type', 'bridge')
        ip('link', 'set', name, 'up')

    def write_agent(self):
        """What launchers call instead of ssh: AGENT [options] HOST COMMAND..., where a shell reads the command."""
        path = f'{self.folder}/agent'
        with open(path, 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\n'
                       'while case $1 in -*) true ;; *) false ;; esac; do shift; done\n'
                       f'host=$1; shift\n'
                       f'exec nsenter -t "$(cat {self.folder}/$host.pid)" -n -i -u -m -- '
                       'sh -c "cd \'$PWD\' && $*"\n')
        os.chmod(path, 0o755)

    def add_host(self, i):
        pid = os.fork()
        if pid == 0:
            try:
                self.hold(i)
            except BaseException as wrong:
                print(f'rig: host {i}: {wrong}', file=sys.stderr)
            os._exit(1)
        self.holders[i] = pid
        until(lambda: os.path.exists(f'{self.folder}/h{i}.ns') or not self.lives(pid), 10, f'host {i}')
        if not self.lives(pid):
            raise Refused(f'host {i} did not start')
        for rail in range(self.rails):
            port, device = f'h{i}r{rail}', f'eth{rail}'
            self.add_cable(i, rail, port, device)
            ip('link', 'set', port, 'master', f'br{rail}', 'up')
            for words in (['addr', 'add', f'10.{88 + rail}.0.{i}/24', 'dev', device], ['link', 'set', device, 'up']):
                self.run(i, ['ip', *words], check=True)
        self.run(i, ['ip', 'link', 'set', 'lo', 'up'], check=True)
        with open(f'{self.folder}/h{i}.pid', 'w', encoding='utf-8') as file:
            file.write(str(pid))

    def add_cable(self, i, rail, port, device):
        if self.link is None:
            ip('link', 'add', 'name', port, 'type', 'veth', 'peer', 'name', device, 'netns', self.holders[i])
            return
        settings = dict(self.link)
        seed = (settings.pop('seed') * 1000 + i) * 10 + rail
        cable = Link(f'{self.build}/tests/rig/link', seed, port, f'{device}@/proc/{self.holders[i]}/ns/net')
        self.links[i, rail] = cable
        if settings:
            cable.set(**settings)

    @staticmethod
    def lives(pid):
        return os.waitpid(pid, os.WNOHANG) == (0, 0)

    def hold(self, i):
        """In the process that holds the host's namespaces."""
        check(libc.unshare(NEW_NS | NEW_UTS | NEW_IPC | NEW_NET), 'cannot make a host')
        mount('none', '/', MS_REC | MS_PRIVATE)
        name = f'h{i}'
        socket.sethostname(name)
        mount('none', '/etc/hosts', MS_BIND, source=f'{self.folder}/hosts')
        mount('tmpfs', '/dev/shm')
        self.show_devices()
        own_tmp([self.folder, os.getcwd()])
        with open(f'{self.folder}/{name}.ns', 'w', encoding='utf-8') as file:
            file.write(name)
        os.closerange(0, 1024)
        while True:
            signal.pause()

    def show_devices(self):
        """/sys shows the network devices of the namespace in which it was mounted. UCX looks for devices there."""
        place = f'{self.folder}/sys'
        os.makedirs(place, exist_ok=True)
        mount('sysfs', place)
        for path in 'class/net', 'devices/virtual/net':
            mount('none', f'/sys/{path}', MS_BIND, source=f'{place}/{path}')

    def enter(self, i, folder=None):
        """The words before a command that is to run on host i, in our folder or in that one."""
        return ['nsenter', '-t', str(self.holders[i]), '-n', '-i', '-u', '-m', f'--wd={folder or os.getcwd()}', '--']

    def join(self, i):
        """This process goes to host i's network."""
        with open(f'/proc/{self.holders[i]}/ns/net', encoding='utf-8') as net:
            check(libc.setns(net.fileno(), NEW_NET), f'cannot enter host {i}')

    def run(self, i, command, **options):
        return subprocess.run(self.enter(i) + list(command), stdin=subprocess.DEVNULL, **options)

    def start(self, i, command, **options):
        return subprocess.Popen(self.enter(i) + list(command), stdin=subprocess.DEVNULL, **options)

    # -- what happens to hosts and links --

    def cut(self, i, rail=0):
        """Pulls the cable at the switch: the host's device stays up, and nothing comes through."""
        ip('link', 'set', f'h{i}r{rail}', 'nomaster')

    def down(self, i, rail=0):
        """The host's device loses its carrier."""
        ip('link', 'set', f'h{i}r{rail}', 'down')
        if (i, rail) in self.links:
            self.links[i, rail].ask('carrier 0')

    def mend(self, i, rail=0):
        """Undoes `cut`, `down` and `split`; what `set_link` has set stays. After `down`, a host takes up to a second to see
        that its carrier is back."""
        ip('link', 'set', f'h{i}r{rail}', 'master', f'br{rail}', 'up')
        if (i, rail) in self.links:
            self.links[i, rail].ask('carrier 1')

    def split(self, hosts, rail=0):
        """These hosts keep a switch of their own."""
        self.add_bridge(f'split{rail}')
        for i in hosts:
            ip('link', 'set', f'h{i}r{rail}', 'master', f'split{rail}')

    def set_link(self, i, rail=0, way='both', **settings):
        """On a rig with `link`. way: 'in' (to the host), 'out' or 'both'. Settings that are not named keep their values.
        They hold when this returns; with cut=1 nothing comes through from then on, and what was sent before cut=0 never
        does."""
        self.links[i, rail].set(way, **settings)

    def link_counts(self, i, rail=0):
        """What has become of the frames, as Link.counts."""
        return self.links[i, rail].counts()

    def queue(self, i, rail, *words):
        """Both ends of a cable send through this queue of tc's."""
        tool('tc', 'qdisc', 'replace', 'dev', f'h{i}r{rail}', 'root', *words)
        tool('tc', 'qdisc', 'replace', 'dev', f'eth{rail}', 'root', *words, before=self.enter(i))

    def limit_rate(self, i, mbit, rail=0):
        """To so many Mbit/s, either way."""
        self.queue(i, rail, 'tbf', 'rate', f'{mbit}mbit', 'burst', '20kb', 'latency', '50ms')

    def netem(self, i, words, rail=0):
        """Where `netem_missing` is ''."""
        self.queue(i, rail, 'netem', *words.split())

    def processes(self, i):
        """All processes of host i but its holder: those in its network namespace."""
        mine, found = os.readlink(f'/proc/{self.holders[i]}/ns/net'), []
        for entry in os.listdir('/proc'):
            with contextlib.suppress(OSError):
                if entry.isdigit() and int(entry) != self.holders[i] and \
                        os.readlink(f'/proc/{entry}/ns/net') == mine:
                    with open(f'/proc/{entry}/stat', encoding='utf-8') as file:
                        if file.read().rsplit(')', 1)[1].split()[0] not in 'ZX':
                            found.append(int(entry))
        return found

    def signal_all(self, i, number):
        for pid in self.processes(i):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def litter(self, i):
        """What lies in the host's /dev/shm, and what a runtime has left in its /tmp."""
        root = f'/proc/{self.holders[i]}/root'
        found = (path[len(root):] for form in ('/dev/shm/*', '/tmp/chard*', '/tmp/ucx*')
                 for path in glob.glob(root + form))
        # The rig's folder may lie in a test's.
        return sorted(path for path in found if not f'{self.folder}/'.startswith(f'{path}/'))


# ---- Slurm ---------------------------------------------------------------------------------------

SLURM_CONF = '''ClusterName=rig
SlurmctldHost=h1
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
TmpFS=/tmp
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmdTimeout=300
KillWait=2
MpiDefault=none
NodeName=h[1-{n}] CPUs=64 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:16
'''


def slurm_missing():
    """What Slurm on a rig lacks on this machine; '' for nothing."""
    lacks = [name for name in ('munged', 'slurmctld', 'slurmd', 'srun', 'sinfo') if not shutil.which(name)]
    return f'{", ".join(lacks)} not installed' if lacks else ''


class Slurm:
    """A controller on h1, and a slurmd on each host. They end with the rig."""

    def __init__(self, rig):
        self.rig, folder = rig, rig.folder
        self.conf = f'{folder}/slurm.conf'
        os.makedirs(f'{folder}/state', exist_ok=True)
        with open(self.conf, 'w', encoding='utf-8') as file:
            file.write(SLURM_CONF.format(folder=folder, n=rig.n))
        with open(f'{folder}/cgroup.conf', 'w', encoding='utf-8') as file:
            file.write('CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n')
        self.start_munge()
        self.daemon(1, ['slurmctld', '-D', '-f', self.conf, '-c'])
        for i in rig.numbers():
            self.daemon(i, ['slurmd', '-D', '-f', self.conf])
        try:
            until(self.all_idle, 30, 'Slurm')
        except Refused as wrong:
            raise Refused(f'{wrong}: {self.last_words()}') from None

    def start_munge(self):
        folder = self.rig.folder
        with open(f'{folder}/munge.key', 'wb') as file:
            file.write(os.urandom(1024))
        os.chmod(f'{folder}/munge.key', 0o400)
        self.daemon(1, ['munged', '-F', '--force', f'--key-file={folder}/munge.key',
                        f'--socket={folder}/munge.socket', f'--pid-file={folder}/munge.pid',
                        f'--log-file={folder}/munge.log', f'--seed-file={folder}/munge.seed'])
        until(lambda: os.path.exists(f'{folder}/munge.socket'), 10, "munged's socket")

    def daemon(self, i, command):
        # Not CHARD_TEST: the runner ends what carries it behind each case.
        quiet = {name: text for name, text in os.environ.items() if name != 'CHARD_TEST'}
        self.rig.start(i, command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=quiet)

    def all_idle(self):
        done = self.rig.run(1, ['sinfo', '-h', '-N', '-o', '%T'], text=True, env=self.environment(),
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return done.stdout.split() == ['idle'] * self.rig.n

    def last_words(self):
        for path in sorted(glob.glob(f'{self.rig.folder}/slurm*.log')):
            with open(path, encoding='utf-8', errors='replace') as file:
                errors = [line.strip() for line in file if 'error' in line or 'fatal' in line]
            if errors:
                return f'{os.path.basename(path)}: {errors[-1]}'
        return 'its log files say nothing'

    def environment(self):
        return dict(os.environ, SLURM_CONF=self.conf)


# ---- launchers ------------------------------------------------------------------------------------


class Launcher:
    """How to start `per_host` nodes on each host. `words` come before the program."""

    def __init__(self, name, missing, words):
        self.name, self.missing, self.words = name, missing, words


def host_list(rig, suffix=''):
    return ','.join(f'h{i}{suffix}' for i in rig.numbers())


def hydra(rig, per_host, env):
    return ['mpiexec.hydra', '-launcher', 'rsh', '-launcher-exec', f'{rig.folder}/agent', '-hosts', host_list(rig),
            '-ppn', str(per_host), '-n', str(per_host * rig.n)]


def openmpi(rig, per_host, env):
    words = ['mpirun.openmpi', '--allow-run-as-root', '--mca', 'plm', 'rsh', '--mca', 'plm_rsh_agent',
             f'{rig.folder}/agent', '--oversubscribe', '--bind-to', 'none', '-H', host_list(rig, f':{per_host}')]
    for name in sorted(env):
        words += ['-x', name]
    return words + ['-n', str(per_host * rig.n)]


def srun(kind):
    def words(rig, per_host, env):
        return ['srun', '-K1', f'--mpi={kind}', '--overcommit', f'--nodes={rig.n}', f'--ntasks={per_host * rig.n}',
                f'--ntasks-per-node={per_host}', '--export=ALL']
    return words


def speaks_pmix():
    """Whether the library has a client for PMIx, without which launchers that speak only that are refused."""
    return os.path.exists('runtime/machine/boot/pmix/boot_pmix.c')


def installed(program):
    return '' if shutil.which(program) else f'{program} is not installed'


def mpi_of_srun(kind):
    """Why srun has not this kind of PMI; ''."""
    if lacks := slurm_missing():
        return lacks
    with tempfile.NamedTemporaryFile('w', prefix=PREFIX, suffix='.conf') as conf:  # it does nothing without one
        conf.write('ClusterName=none\nSlurmctldHost=none\n')
        conf.flush()
        done = subprocess.run(['srun', '--mpi=list'], env=dict(os.environ, SLURM_CONF=conf.name), text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
    kinds = (done.stdout + done.stderr).split()
    return '' if kind in kinds else f'srun --mpi=list has no {kind}'


def launchers():
    pmix = '' if speaks_pmix() else 'this build has no client for PMIx'
    return [Launcher('hydra', installed('mpiexec.hydra'), hydra),
            Launcher('srun --mpi=pmi2', mpi_of_srun('pmi2'), srun('pmi2')),
            Launcher('srun --mpi=pmix', mpi_of_srun('pmix') or pmix, srun('pmix')),
            Launcher('Open MPI', installed('mpirun.openmpi') or pmix, openmpi)]


def drawn_link(seed):
    """What cables do. A packet meets two on its way, and so does the answer to it, but only one of the two flips bits, on
    the way into its host: of two flipped bits of a segment TCP's sum misses one pair in 32, and the job then ends, as
    it should, since a seal is broken."""
    numbers = random.Random(seed)
    link = {name: round(numbers.uniform(0.002, 0.01), 4) for name in ('loss', 'dup', 'reorder', 'flip')}
    return link | {'seed': seed, 'delay': round(numbers.uniform(0, 1), 2), 'jitter': round(numbers.uniform(0, 1), 2),
                   'rate': numbers.choice([50, 200, 1000])}


def drawn_rig(n, folder, seed, build):
    """Hosts over bad cables, drawn by the seed and named in a line; None: without cables."""
    if seed is None:
        return Rig(n, folder, build=build)
    link = drawn_link(seed)
    print(f'{n} hosts over cables with ' + ' '.join(f'{name}={value}' for name, value in link.items()) +
          f', again by --link {seed}', flush=True)
    hosts = Rig(n, folder, link=link, build=build)
    for i in hosts.numbers():
        hosts.set_link(i, way='out', flip=0)
    return hosts


if __name__ == '__main__':
    # A rig to look around in: rig.py N COMMAND... runs the command on the first host.
    if len(sys.argv) < 3 or not sys.argv[1].isdigit():
        sys.exit('usage: rig.py N COMMAND...')
    if reason := why_not():
        sys.exit(f'rig.py: {reason}')
    sys.exit(run_inside(lambda folder: Rig(int(sys.argv[1]), folder).run(1, sys.argv[2:]).returncode))
