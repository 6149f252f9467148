#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a stranger's connections do to a job on several hosts: nothing.

    tests/rig/strangers.py [-b build folder] [--list-ports]

A job runs on two hosts made of namespaces. From a third one, a stranger connects to every port on which its nodes
listen. He sends nothing, or random bytes, or random bytes behind the number with which UCX's connections begin, and
holds the connections or drops them; to UDP ports he sends packets of all lengths, and such as look like the job's
heartbeats but are not signed. The job must go on, take no notice, and end well.

One line per fact, "ok" or "FAIL". --seed draws the same bytes again; --list-ports prints what listens where.
"""

import argparse
import contextlib
import os
import random
import re
import socket
import struct
import sys
import time

sys.dont_write_bytecode = True
import loss  # noqa: E402
import rig  # noqa: E402
from recorder import UCX_MAGIC  # noqa: E402

PULSE_MAGIC = struct.pack('=I', 0x434b5031)
TCP_TRIES, UDP_TRIES = 60, 300


def listening(hosts, i, kind):
    """(address, port, programs) of the sockets of host i. hydra hands its own down to its children."""
    done = hosts.run(i, ['ss', '-Hlnp', f'--{kind}'], capture_output=True, text=True, check=True)
    found = []
    for line in done.stdout.splitlines():
        columns = line.split()
        address, port = columns[3].rsplit(':', 1)
        names = ' '.join(sorted(set(re.findall(r'"(.*?)"', line))))
        found.append((address, int(port), names))
    return sorted(set(found))


def ports(hosts, kind, program='lost'):
    """Where the job's nodes listen, and nobody else, for others."""
    return [(i, address, port) for i in (1, 2) for address, port, names in listening(hosts, i, kind)
            if names == program and address != '127.0.0.1']


# ---- the stranger, who runs on host 3 ------------------------------------------------------------


def bother_tcp(i, port, numbers, begin):
    """Connections with random bytes; returns those that he holds."""
    held, refused = [], False
    for _ in range(TCP_TRIES):
        with contextlib.suppress(OSError):
            peer = socket.create_connection((f'10.88.0.{i}', port), 0.02 if refused else 1)
            peer.settimeout(1)
            with contextlib.suppress(OSError):
                peer.sendall(begin + numbers.randbytes(numbers.choice([0, 1, 7, 8, 40, 3000])))
            if numbers.random() < 0.5:
                held.append(peer)
            else:
                peer.close()
            continue
        refused = True  # nobody answers: he does not wait as long any more
    return held


def bother_udp(i, port, numbers):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for _ in range(UDP_TRIES):
            kind, rail = numbers.randrange(7), numbers.randrange(4)
            about, to = numbers.randrange(-1, 2), i - 1
            signed = PULSE_MAGIC + struct.pack('=BBHiiiiQ', kind, rail, 0, 2 - i, to, about, 0, numbers.getrandbits(64))
            for packet in (numbers.randbytes(numbers.randrange(60)), signed + numbers.randbytes(8)):
                sender.sendto(packet, (f'10.88.0.{i}', port))


def stranger(folder, tcp, udp, seed, begin):
    """In a process of host 3: bothers all, and holds what he has until a file says that he may go."""
    numbers, held = random.Random(seed), []
    for i, _, port in tcp:
        held += bother_tcp(i, port, numbers, begin)
    for i, _, port in udp:
        bother_udp(i, port, numbers)
    # Who waits for this file reads it at once: it gets its name when all of it is written.
    with open(f'{folder}/bothered.new', 'w', encoding='utf-8') as file:
        file.write(str(len(held)))
    os.rename(f'{folder}/bothered.new', f'{folder}/bothered')
    while not os.path.exists(f'{folder}/go'):
        time.sleep(0.05)


def run_stranger(hosts, *arguments):
    """Forks into the namespaces of host 3."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            hosts.join(3)
            stranger(*arguments)
            code = 0
        except BaseException as wrong:
            print(f'stranger: {wrong!r}')
        os._exit(code)
    return pid


# ---- the trial ------------------------------------------------------------------------------------


def fact(what, holds, seen=''):
    print(f'{"ok   " if holds else "FAIL "} {what}' + ('' if holds else f'\n      {seen}'), flush=True)
    return bool(holds)


def print_ports(hosts):
    for i in 1, 2:
        for kind in 'tcp', 'udp':
            for address, port, name in listening(hosts, i, kind):
                print(f'      h{i} {kind} {address}:{port} {name}')


def bothered(hosts, options, what, begin, **env):
    """A job that is bothered from "ready" on, until it has ended."""
    for name in 'bothered', 'go':
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f'{hosts.folder}/{name}')
    job = loss.Trial(rig_of_two(hosts), options.build)
    job.start('busy', '8', **env)
    job.ready()
    tcp, udp = ports(hosts, 'tcp'), ports(hosts, 'udp')
    if options.list_ports:
        print_ports(hosts)
    pid = run_stranger(hosts, hosts.folder, tcp, udp, options.seed, begin)
    try:
        rig.until(lambda: os.path.exists(f'{hosts.folder}/bothered'), loss.PATIENCE_S * 2, 'the end of his work')
        lives = job.process.poll() is None
        with open(f'{hosts.folder}/bothered', encoding='utf-8') as file:
            held = int(file.read())
        job.ends(0)
    finally:
        with open(f'{hosts.folder}/go', 'w', encoding='utf-8'):
            pass
        os.waitpid(pid, 0)
    said = job.text('err')
    good = fact(f'{what}: there are ports of both kinds', tcp and udp, f'tcp {tcp}, udp {udp}')
    good &= fact(f'{what}: he is done before the job is', lives)
    if env:
        good &= fact(f'{what}: nobody lets him in', held == 0, f'he holds {held} connections')
    else:
        good &= fact(f'{what}: he got in', held > 0)
    good &= fact(f'{what}: the job ends well', 'done' in job.text('out'), said)
    good &= fact(f'{what}: heartbeats listen on one address each', all(a == f'10.88.0.{i}' for i, a, _ in udp), udp)
    return good & fact(f'{what}: the runtime says nothing', 'chard:' not in said, said)


class RigOfTwo:
    """Launchers are to use two of the three hosts."""

    def __init__(self, hosts):
        self.hosts, self.n = hosts, 2

    def __getattr__(self, name):
        return getattr(self.hosts, name)

    def numbers(self):
        return range(1, 3)


def rig_of_two(hosts):
    return RigOfTwo(hosts)


def work(folder, options):
    hosts, good = rig.Rig(3, folder), True
    try:
        good &= bothered(hosts, options, 'random bytes', b'')
        # Without the guard this ends the job, in UCX.
        good &= bothered(hosts, options, "CK_GUARD=1, UCX's number and random bytes", UCX_MAGIC, CK_GUARD='1')
        # With a seal the guard needs no word of its own.
        good &= bothered(hosts, options, "CK_WIRE=seal, UCX's number and random bytes", UCX_MAGIC, CK_WIRE='seal')
    except rig.Refused as wrong:
        print(f'skip  strangers: {wrong}')
        return 77
    except loss.Failed as wrong:
        good = fact(f'seed {options.seed}', False, f'{wrong}\n' + ''.join(
            f'      {line}\n' for line in open(f'{folder}/err', encoding='utf-8').read().splitlines()[-15:]))
    return 0 if good else 1


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))
    parser = argparse.ArgumentParser(description="What a stranger's connections do to a job.")
    parser.add_argument('-b', '--build', default='build')
    parser.add_argument('--seed', type=int, default=random.randrange(1, 32768))
    parser.add_argument('--list-ports', action='store_true')
    options = parser.parse_args()
    print(f'--seed {options.seed}')
    if reason := rig.why_not():
        print(f'skip  strangers: this kernel lets us make no namespaces: {reason}')
        return 77
    return rig.run_inside(lambda folder: work(folder, options))


if __name__ == '__main__':
    sys.exit(main())
