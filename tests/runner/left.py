# SPDX-License-Identifier: Apache-2.0
"""What tests leave behind: processes, shared memory, files."""

import glob
import os
import re
import signal
import time


def read(path):
    with open(path, encoding='utf-8', errors='replace') as file:
        return file.read()


def environment(folder):
    """That of a process. While it changes its program it has none, for a moment; a kernel's thread never has one."""
    for _ in range(10):
        with open(f'{folder}/environ', 'rb') as file:
            if found := file.read():
                return found
        if 'VmSize' not in read(f'{folder}/status'):
            break
        time.sleep(0.002)
    return b''


def processes(mark):
    """{id: command} of those whose CHARD_TEST begins with the mark."""
    found = {}
    for folder in glob.glob('/proc/[0-9]*'):
        try:
            if f'\0CHARD_TEST={mark}'.encode() not in b'\0' + environment(folder):
                continue
            # A zombie is not left: not every pid 1 reaps at once.
            if not re.search(r'^State:\s*[ZX]', read(f'{folder}/status'), re.M):
                found[int(folder[len('/proc/'):])] = read(f'{folder}/cmdline').replace('\0', ' ').strip()
        except OSError:
            pass  # it has ended, or is somebody else's
    return found


def end_processes(mark, seconds):
    """Kills what has not ended by itself after some seconds; returns a line for each."""
    until = time.monotonic() + seconds
    while (found := processes(mark)) and time.monotonic() < until:
        time.sleep(0.05)
    for pid in found:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return [f'process left: {pid} {command}' for pid, command in found.items()]


def in_use():
    """The names of all files that a living process has open or mapped, in one text."""
    names = []
    for folder in glob.glob('/proc/[0-9]*'):
        try:
            names.append(read(f'{folder}/maps'))
            names += [os.readlink(path) for path in glob.glob(f'{folder}/fd/*')]
        except OSError:
            pass  # as above
    return '\n'.join(names)


def has_job(path):
    """Whether it is the folder of a job whose ckrun lives. The socket in it is no file that a process is seen to have open."""
    job = re.fullmatch(r'/dev/shm/ckrun\.(\d+)\.\w+', path)
    return bool(job) and os.path.exists(f'/proc/{job[1]}')


def litter():
    """Shared memory and a runtime's files in /tmp that no living process uses."""
    paths = glob.glob('/dev/shm/*')
    for name in 'ucx', 'pmi', 'ompi', 'openmpi':
        paths += glob.glob(f'/tmp/{name}*')
    used = in_use()
    # A file that somebody used may have been removed since.
    found = {path for path in paths if path not in used and not has_job(path) and os.path.exists(path)}
    for line in read('/proc/sysvipc/shm').splitlines()[1:]:
        _, segment, _, _, _, _, users = line.split()[:7]
        if users == '0':
            found.add(f'System V segment {segment}')
    return found
