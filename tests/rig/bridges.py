#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Devices that do not lead to the job's other hosts: bridges with equal addresses, overlays of one address.

    tests/rig/bridges.py PROGRAM

Two hosts made of namespaces have such devices beside the network between them. The job must start and be right, and
say under CK_VERBOSE what each host leaves out; where the user names devices, his word counts. One line per fact, "ok"
or "FAIL".
"""

import argparse
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
import rig  # noqa: E402


class Devices:
    """Devices of the hosts, for as long as a trial lasts: {name: addresses, one for each host}; None: no such one there."""

    def __init__(self, hosts, devices):
        self.hosts, self.devices = hosts, devices

    def each(self):
        return [(i, name, addresses[i - 1]) for name, addresses in self.devices.items() for i in self.hosts.numbers()
                if addresses[i - 1]]

    def __enter__(self):
        for i, name, address in self.each():
            for words in (f'link add {name} type veth peer name x{name}', f'addr add {address} dev {name}',
                          f'link set {name} up', f'link set x{name} up'):
                self.hosts.run(i, ['ip', *words.split()], check=True)

    def __exit__(self, *_):
        for i, name, _ in self.each():
            self.hosts.run(i, ['ip', 'link', 'del', name], check=True)


def job(hosts, program, **env):
    env = {'CK_BOOT_TIMEOUT': '15', 'CK_PEER_TIMEOUT': '8', 'CK_VERBOSE': '1', **env}
    words = hosts.enter(1) + rig.hydra(hosts, 2, env) + [program]
    try:
        return subprocess.run(words, env={**os.environ, **env}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(words, 124, (late.stdout or b'').decode() + '\nno end after 60 s')


def left_out(text):
    """{host: the devices that it says it leaves out}"""
    return dict(re.findall(r'^chard: host (\S+) leaves out (.*?):', text, re.M))


def fact(what, holds, text=''):
    tail = '\n'.join(f'      {line[:200]}' for line in text.splitlines() if ' path ' not in line)
    print(f'{"ok   " if holds else "FAIL "} {what}' + ('' if holds else f'\n{tail}'), flush=True)
    return bool(holds)


def runs(hosts, program, what, devices, out, **env):
    """A job beside these devices ends well, and its hosts leave out just these."""
    with Devices(hosts, devices):
        done = job(hosts, program, **env)
    return fact(what, done.returncode == 0 and left_out(done.stdout) == out, done.stdout)


def named_devices_count(hosts, program):
    """A user who names devices that lead nowhere gets them, and a line that says what would help."""
    with Devices(hosts, {'br0': ['172.17.0.1/16'] * 2}):
        done = job(hosts, program, UCX_NET_DEVICES='br0')
    line = r'^chard: .*cannot reach PE .*\(by a device that leads elsewhere\? .* UCX_NET_DEVICES\)'
    return fact('UCX_NET_DEVICES is what counts where it is set',
                done.returncode not in (0, 124) and not left_out(done.stdout) and re.search(line, done.stdout, re.M),
                done.stdout)


def work(folder, options):
    hosts = rig.Rig(2, folder)
    same, both = ['172.17.0.1/16'] * 2, {'h1': 'br0', 'h2': 'br0'}

    def trial(what, devices, out, **env):
        return runs(hosts, options.program, what, devices, out, **env)

    facts = [
        trial('eth0 alone', {}, {}),
        trial('a bridge with equal addresses', {'br0': same}, both),
        trial('two of them', {'br0': same, 'br1': ['192.168.122.1/24'] * 2}, {'h1': 'br0, br1', 'h2': 'br0, br1'}),
        trial('bridges of other names', {'br0': [same[0], None], 'virbr0': [None, same[1]]},
              {'h1': 'br0', 'h2': 'virbr0'}),
        trial('an overlay with one address of its own on each host', {'br0': ['10.244.0.0/32', '10.244.1.0/32']}, both),
        trial('one on one host only', {'br0': ['10.244.0.0/32', None]}, {'h1': 'br0'}),
        trial('a bridge on one host only', {'br0': ['172.17.0.1/16', None]}, {'h1': 'br0'}),
        trial('bridges with a network of their own on each host', {'br0': ['172.17.0.1/16', '172.18.0.1/16']}, both),
        trial('with heartbeats and a guard', {'br0': same}, both, CK_GUARD='1'),
        trial('UCX_NET_DEVICES=eth0', {'br0': same}, {}, UCX_NET_DEVICES='eth0'),
        named_devices_count(hosts, options.program),
    ]
    # Where the only network has addresses without a network, as some clouds have it, nothing is left out.
    for i in hosts.numbers():
        for words in ('addr flush dev eth0', f'addr add 10.88.0.{i}/32 dev eth0', 'route add 10.88.0.0/24 dev eth0'):
            hosts.run(i, ['ip', *words.split()], check=True)
    facts += [trial('a network of single addresses', {}, {}),
              trial('and a bridge beside it', {'br0': same}, both)]
    return 0 if all(facts) else 1


def main():
    parser = argparse.ArgumentParser(description='Jobs beside devices that lead nowhere.', allow_abbrev=False)
    parser.add_argument('program', help='tests/programs/channels in the build folder')
    options = parser.parse_args()
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))
    if reason := rig.why_not() or rig.installed('mpiexec.hydra'):
        print(f'skip  devices that lead nowhere: {reason}')
        return 77
    return rig.run_inside(lambda folder: work(folder, options))


if __name__ == '__main__':
    sys.exit(main())
