# SPDX-License-Identifier: Apache-2.0
"""A job that a test disturbs: at a terminal or a pipe of its own, in places where all litter is its own."""

import ctypes
import os
import pty
import random
import resource
import select
import shutil
import signal
import tempfile
import time

from runner import left

PATIENCE_S = 30  # nothing takes so long; what does, hangs
CLONE_NEWNS, CLONE_NEWIPC = 0x20000, 0x8000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
libc = ctypes.CDLL(None, use_errno=True)


def mount(target, kind='tmpfs', flags=0, options=''):
    """Returns whether it is mounted."""
    return libc.mount(kind.encode(), target.encode(), kind.encode(), flags, options.encode()) == 0


def unmount(target):
    return libc.umount2(target.encode(), 0) == 0


class Places:
    """Where a job could leave something. If the kernel lets us, this process and its children get a /dev/shm, a
    /tmp and System V segments of their own. Otherwise others may leave something there meanwhile, and only what
    stays counts."""

    def __init__(self, tmp=True):
        """tmp: a /tmp of our own, too."""
        self.made = None
        self.own = libc.unshare(CLONE_NEWNS | CLONE_NEWIPC) == 0 and \
            mount('/', 'none', MS_REC | MS_PRIVATE) and mount('/dev/shm')
        self.own_tmp = self.own and tmp and not os.getcwd().startswith('/tmp/') and mount('/tmp')

    @property
    def folder(self):
        """For $TMPDIR of jobs, or what a test likes."""
        self.made = self.made or tempfile.mkdtemp(prefix='chard-job-')
        return self.made

    def litter(self):
        """The names of all that there is."""
        if not self.own:
            return left.litter() | (self.listed(self.made) if self.made else set())
        places = ['/dev/shm'] + [self.made] * bool(self.made) + ['/tmp'] * self.own_tmp
        segments = left.read('/proc/sysvipc/shm').splitlines()[1:]
        return set().union(*map(self.listed, places)) | {f'segment {line.split()[1]}' for line in segments}

    def listed(self, folder):
        return {path for name in os.listdir(folder) if (path := f'{folder}/{name}') != self.made}

    def clean(self):
        for name in os.listdir(self.folder):
            path = f'{self.folder}/{name}'
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)

    def remove(self):
        if self.made:
            shutil.rmtree(self.made, ignore_errors=True)


def wait_until(condition):
    """What `condition` returns at last; it should be empty."""
    end = time.monotonic() + PATIENCE_S
    while (found := condition()) and time.monotonic() < end:
        time.sleep(0.01)
    return found


def new_mark():
    """All processes of a job carry it, and it begins with that of the test to which the job belongs."""
    return os.environ.get('CHARD_TEST', '') + f'{os.getpid()}-{random.randrange(10**9)}/'


def terminals():
    try:
        for fd in pty.openpty():
            os.close(fd)
        return True
    except OSError:
        return False


class Job:
    """Starts a command. Its output, of both streams, gathers in `output`; `code` is that of the command, negative
    for a signal, None while it runs."""

    def __init__(self, command, environment, terminal=False, prepare=None, mark=None):
        """prepare: runs in the child before the command."""
        self.mark = mark or new_mark()
        self.output, self.code = b'', None
        self.pid, self.fd = pty.fork() if terminal else self.fork()
        if self.pid == 0:
            self.execute(command, environment, prepare)
        os.set_blocking(self.fd, False)
        self.process = os.pidfd_open(self.pid)
        self.open = True
        self.poll = select.poll()
        self.poll.register(self.fd, select.POLLIN)
        self.poll.register(self.process, select.POLLIN)

    @staticmethod
    def fork():
        read_fd, write_fd = os.pipe()
        pid = os.fork()
        if pid:
            os.close(write_fd)
            return pid, read_fd
        os.setsid()
        os.dup2(os.open('/dev/null', os.O_RDONLY), 0)
        os.dup2(write_fd, 1)
        os.dup2(write_fd, 2)
        return 0, -1

    def execute(self, command, environment, prepare):
        try:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            # Python ignores the first two, nohup and a shell's background the others, and what the command starts
            # would inherit that.
            for number in signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT:
                signal.signal(number, signal.SIG_DFL)
            environment = dict(environment, CHARD_TEST=self.mark)
            os.closerange(3, 1024)  # what a shell or flock has left to us
            if prepare:
                prepare()
            os.execvpe(command[0], command, environment)
        except (OSError, ValueError) as wrong:
            os.write(2, f'job.py: {wrong}\n'.encode())
        finally:
            os._exit(96)

    def read(self):
        """True unless the output has ended."""
        try:
            while self.open and (some := os.read(self.fd, 65536)):
                self.output += some
        except BlockingIOError:
            return True
        except OSError:
            pass  # a terminal on which nobody writes any more
        return False

    def over(self):
        if self.open and not self.read():
            self.close()
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
                self.poll.unregister(self.process)
                os.close(self.process)
                self.read()
        return self.code is not None

    def run(self, seconds=None, until=lambda: False):
        """Until it has ended, until the condition holds, or for so long. Returns whether it has ended."""
        end = time.monotonic() + (PATIENCE_S if seconds is None else seconds)
        while not self.over() and not until() and (left_s := end - time.monotonic()) > 0:
            self.poll.poll(left_s * 1000)
        return self.over()

    def close(self):
        """Hangs up, if it is a terminal."""
        if self.open:
            self.poll.unregister(self.fd)
            os.close(self.fd)
        self.open = False

    def signal(self, number, pid=None):
        try:
            os.kill(pid or self.pid, number)
        except ProcessLookupError:
            pass

    def children(self):
        try:
            return [int(pid) for pid in left.read(f'/proc/{self.pid}/task/{self.pid}/children').split()]
        except OSError:
            return []

    def text(self):
        return self.output.decode(errors='replace').replace('\r', '')

    def remains(self, places, before):
        """Ends what has not ended. Returns what was left."""
        wrong = []
        if not self.run():
            wrong.append(f'it has not ended after {PATIENCE_S} s')
            self.signal(signal.SIGKILL)
            self.run()
        self.close()
        wrong += left.end_processes(self.mark, PATIENCE_S)
        if found := wait_until(lambda: places.litter() - before):
            wrong.append(f'left behind: {sorted(found)}')
        return wrong

