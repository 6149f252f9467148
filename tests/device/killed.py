#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""killed.py BUILD: a job whose processes have exported memory of cuMemCreate, of which one is killed: it ends, and nobody
listens any more at the sockets that gave it to others.
"""

import os
import re
import signal
import subprocess
import sys
import time

SECONDS = 20


def sockets():
    """The names of those for exports: {inode: name}."""
    with open('/proc/net/unix', encoding='ascii') as file:
        return {fields[6]: fields[7] for fields in map(str.split, file)
                if len(fields) > 7 and fields[7].startswith('@chard-vmm-')}


def listening(folder):
    """The names that the process of a folder in /proc listens at."""
    found, all_names = set(), sockets()
    for fd in os.listdir(f'{folder}/fd'):
        inode = re.fullmatch(r'socket:\[(\d+)\]', os.readlink(f'{folder}/fd/{fd}'))
        if inode and inode[1] in all_names:
            found.add(all_names[inode[1]])
    return found


def nodes(launcher):
    with open(f'/proc/{launcher}/task/{launcher}/children', encoding='ascii') as file:
        return [int(pid) for pid in file.read().split()]


def names_of(launcher):
    """{process: name} of the job's processes that listen."""
    found = {}
    for pid in nodes(launcher):
        try:
            for name in listening(f'/proc/{pid}'):
                found[pid] = name
        except OSError:
            pass  # it has ended, or opens and closes files
    return found


def main():
    build = sys.argv[1]
    with subprocess.Popen([f'{build}/bin/ckrun', '-n', '2', f'{build}/tests/programs/device', 'put', '1000000', '1000',
                           'whole'], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as job:
        until = time.monotonic() + SECONDS
        while len(names := names_of(job.pid)) < 2:
            if job.poll() is not None or time.monotonic() > until:
                job.kill()
                sys.exit(f'FAIL: no two processes listen: {names}')
            time.sleep(0.01)
        os.kill(min(names), signal.SIGKILL)
        said = job.communicate(timeout=SECONDS)[1]
    if not job.returncode:
        sys.exit('FAIL: the job has not failed')
    if left := set(names.values()) & set(sockets().values()):
        sys.exit(f'FAIL: somebody listens at {left}: {said}')
    print('ok a process that has exported memory was killed: nothing is left')


main()
