#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the rig's cables do what they are told to: those of link.c, and veth pairs with tc's queues.

    tests/rig/link.py [-b build folder] [--bare]

First a link has sockets at its ends instead of taps: we feed it frames and see all that comes out. Then hosts made of
namespaces talk over such cables (not with --bare). What takes time may take any time longer. One line per fact, "ok",
"FAIL" or "skip".
"""

import argparse
import contextlib
import glob
import hashlib
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
import rig  # noqa: E402

PATIENCE_S = 60  # what takes longer, hangs
IPV4, IPV6, ARP = 0x0800, 0x86dd, 0x0806
HEADER = 14
BURST = 50  # frames that a socket surely has room for
LONG_MS = 60000
MANY = 1000
SO_RCVBUFFORCE = 33  # room for all that is sent before we look


def fact(what, holds, seen=''):
    print(f'{"ok   " if holds else "FAIL "} {what}' + ('' if holds else f'\n      {seen}'), flush=True)
    return bool(holds)


# ---- a link between sockets ----------------------------------------------------------------------


def frame(number, kind=IPV4, length=60):
    return struct.pack('>6s6sHI', b'\x02' * 6, b'\x04' * 6, kind, number) + bytes(length - HEADER - 4)


def numbers(frames):
    return [struct.unpack_from('>I', data, HEADER)[0] for data in frames]


class Bare:
    """A link with ourselves at both of its ends."""

    def __init__(self, build, seed=1, **settings):
        self.ends, theirs = zip(*(socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2)))
        fds = [end.fileno() for end in theirs]
        self.link = rig.Link(f'{build}/tests/rig/link', seed, *(f'fd:{fd}' for fd in fds), pass_fds=fds)
        for end in theirs:
            end.close()
        for end in self.ends:  # room for 100 frames
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        if settings:
            self.link.set(**settings)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.link.close()
        for end in self.ends:
            end.close()

    def send(self, frames, way='in'):
        end = self.ends[way == 'out']
        end.settimeout(PATIENCE_S)
        for data in frames:
            end.send(data)

    def receive(self, way='in', n=None):
        """The next n frames, or those that are there."""
        end, found = self.ends[way == 'in'], []
        end.settimeout(PATIENCE_S if n else 0)
        with contextlib.suppress(BlockingIOError):
            while n is None or len(found) < n:
                found.append(end.recv(4096))
        return found

    def passed(self, frames, way='in'):
        """What comes of these at once. When the link answers, all that was sent before has met it."""
        found = []
        for first in range(0, len(frames), BURST):
            self.send(frames[first:first + BURST], way)
            self.link.counts()
            found += self.receive(way)
        return found

    def count(self, name, way='in'):
        return self.link.counts()[way][name]


def balanced(counts):
    return all(way['seen'] + way['duplicated'] == way['carried'] + way['lost'] + way['cut'] + way['dropped']
               for way in counts.values())


def good_cable(build):
    frames = [frame(i, (IPV4, IPV6, ARP)[i % 3], 60 + 14 * (i % 100)) for i in range(MANY)]
    with Bare(build) as bare:
        there, back = bare.passed(frames), bare.passed(frames[:100], 'out')
        counts = bare.link.counts()
        yield fact('a good cable: all frames come, in order and as they were, either way',
                   there == frames and back == frames[:100] and balanced(counts) and
                   (counts['in']['carried'], counts['out']['carried']) == (MANY, 100), counts)


def losses(build):
    frames = [frame(i) for i in range(MANY)]
    with Bare(build) as bare:
        bare.link.set('in', loss=0.2)
        found = numbers(bare.passed(frames))
        lost = bare.count('lost')
        yield fact('loss=0.2: of 1,000 frames 750 to 850 come, in order',
                   750 <= len(found) <= 850 and found == sorted(set(found)) and len(found) + lost == MANY,
                   f'{len(found)} have come, {lost} are lost')
        yield fact('and the other way, which is good, loses none', bare.passed(frames, 'out') == frames)


def duplicates(build):
    with Bare(build, dup=0.1) as bare:
        found = numbers(bare.passed([frame(i) for i in range(MANY)]))
        twice = sum(1 for i in range(MANY) if found.count(i) == 2)
        yield fact('dup=0.1: of 1,000 frames 70 to 130 come twice, and the others once',
                   70 <= twice <= 130 and len(found) == MANY + twice and set(found) == set(range(MANY)) and
                   bare.count('duplicated') == twice, f'{len(found)} have come, {twice} twice')


def reordering(build):
    with Bare(build, reorder=0.1, hold=LONG_MS) as bare:
        found = numbers(bare.passed([frame(i) for i in range(MANY)] + [frame(MANY + i) for i in range(4)]))
        overtaken = {n: at - n for at, n in enumerate(found) if n < max(found[:at], default=0)}
        yield fact('reorder=0.1: of 1,000 frames 60 to 130 come behind up to three later ones',
                   60 <= len(overtaken) <= 130 and set(overtaken.values()) == {1, 2, 3} and
                   len(found) == len(set(found)) and bare.count('reordered') == len(overtaken), overtaken)
    with Bare(build, reorder=1, hold=1) as bare:
        bare.send([frame(7)])
        yield fact('a frame that none follows comes all the same',
                   numbers(bare.receive(n=1)) == [7] and bare.count('reordered') == 0)


def bits(one, other):
    return [i for i in range(8 * len(one)) if (one[i // 8] ^ other[i // 8]) >> i % 8 & 1]


def flips(build):
    frames = [frame(i, (IPV4, IPV6)[i % 2], 60 + i) for i in range(MANY)]
    with Bare(build, flip=0.2) as bare:
        found = [bits(was, came) for was, came in zip(frames, bare.passed(frames))]
        hit = {i: where for i, where in enumerate(found) if where}
        yield fact('flip=0.2: of 1,000 IP packets 150 to 250 have one bit flipped, behind the Ethernet header',
                   len(found) == MANY and 150 <= len(hit) <= 250 and {i % 2 for i in hit} == {0, 1} and
                   all(len(where) == 1 and where[0] >= 8 * HEADER for where in hit.values()) and
                   bare.count('flipped') == len(hit), hit)
    frames = [frame(i, ARP) for i in range(100)]
    with Bare(build, flip=1) as bare:
        yield fact('flip=1: ARP, which has no sum, is left alone',
                   bare.passed(frames) == frames and bare.count('flipped') == 0)


def delays(build):
    with Bare(build, delay=20, jitter=20) as bare:
        took, sent = [], []
        for i in range(BURST):
            sent.append(time.monotonic())
            bare.send([frame(i)])
        for i in range(BURST):
            found = numbers(bare.receive(n=1))
            took.append((found == [i], time.monotonic() - sent[i]))
        yield fact('delay=20 jitter=20: 50 frames take 20 ms at least, some 30, and keep their order',
                   all(right and seconds >= 0.02 for right, seconds in took) and max(took)[1] >= 0.03, took)


def rates(build):
    with Bare(build, rate=10, queue=1000) as bare:
        start = time.monotonic()
        bare.send([frame(i, length=1250) for i in range(100)])
        found = numbers(bare.receive(n=100))
        took = time.monotonic() - start
        yield fact('rate=10: 125 kB take 100 ms at least', found == list(range(100)) and took >= 0.1, took)
    with Bare(build, rate=0.01, queue=10) as bare:
        bare.send([frame(i, length=1250) for i in range(100)])
        counts = bare.link.counts()['in']
        # The first is on its way, and so is what came while it went out: 1 s for each frame.
        yield fact('rate=0.01 queue=10: of 125 kB at once most are dropped',
                   counts['seen'] == 100 and counts['carried'] < 50 < counts['dropped'], counts)


def cuts(build):
    frames = [frame(i) for i in range(100)]
    with Bare(build) as bare:
        bare.link.process.send_signal(signal.SIGSTOP)
        try:
            bare.send(frames)
        finally:
            bare.link.process.send_signal(signal.SIGCONT)
        bare.link.set(cut=1)
        yield fact('what was sent before a cut comes, even if the link was late', bare.receive() == frames)
    with Bare(build, delay=1) as bare:
        bare.link.set('in', cut=1)
        bare.send(frames)
        bare.send(frames, 'out')
        yield fact('a cut one way: the other one goes on',
                   bare.receive('out', 100) == frames and bare.count('cut') == 100 and not bare.receive())
        bare.link.set('in', cut=0)
        bare.send(frames[:5])
        yield fact('after it all comes again, and what was cut does not', bare.receive(n=5) == frames[:5])
        bare.link.set(delay=LONG_MS)
        bare.send(frames[:7])
        bare.link.set(cut=True)
        bare.link.set(cut=False, delay=0)
        bare.send(frames[50:])
        yield fact('what is under way does not survive the shortest cut',
                   bare.receive(n=50) == frames[50:] and bare.count('cut') == 107, bare.link.counts())


def outcome(build, seed, **settings):
    with Bare(build, seed, hold=LONG_MS, **settings) as bare:
        return bare.passed([frame(i) for i in range(MANY)]), bare.link.counts()


def seeds(build):
    bad = {'loss': 0.1, 'dup': 0.1, 'reorder': 0.1, 'flip': 0.1}
    one, again, other = outcome(build, 5, **bad), outcome(build, 5, **bad), outcome(build, 6, **bad)
    yield fact('the same seed and the same frames: the same comes out', one == again)
    yield fact('another seed: something else does', one[0] != other[0])
    lost, twice, both = (numbers(outcome(build, 5, **settings)[0])
                         for settings in ({'loss': 0.1}, {'dup': 0.1}, {'loss': 0.1, 'dup': 0.1}))
    yield fact('which frames are lost does not depend on what else happens, nor does which come twice',
               both == [number for number in twice if number in lost])


def refused(bare, line):
    try:
        bare.link.ask(line)
    except rig.Refused:
        return True
    return False


def bad_commands(build):
    frames = [frame(i) for i in range(100)]
    with Bare(build) as bare:
        lines = ['in los=1', 'in loss', 'in loss=', 'in loss=1x', 'in loss=1.1', 'in loss=-1', 'in loss=nan', 'in',
                 'in rate=1e9', 'off loss=1', '', 'in cut=1 lost=1', 'both cut=1 loss=2', 'carrier', 'carrier 2',
                 'carrier 1']
        wrong = [line for line in lines if not refused(bare, line)]
        yield fact('commands that it does not understand are refused', not wrong, wrong)
        yield fact('and change nothing', bare.passed(frames) == frames and bare.passed(frames, 'out') == frames)


def ends(build):
    bare = Bare(build)
    yield fact('it ends with its stdin', bare.link.close() == 0)
    with Bare(build) as bare:
        bare.ends[1].close()
        yield fact('it ends when one of its ends is gone',
                   bare.link.process.wait(PATIENCE_S) == 1 and refused(bare, 'count'))


BARE = [good_cable, losses, duplicates, reordering, flips, delays, rates, cuts, seeds, bad_commands, ends]


# ---- cables of hosts -----------------------------------------------------------------------------


@contextlib.contextmanager
def on_host(hosts, i):
    """A socket that is made meanwhile belongs to host i, also later."""
    def enter(net):
        rig.check(rig.libc.setns(net.fileno(), rig.NEW_NET), 'cannot enter a network')
    with open('/proc/self/ns/net', 'rb') as home, open(f'/proc/{hosts.holders[i]}/ns/net', 'rb') as net:
        enter(net)
        try:
            yield
        finally:
            enter(home)


class Talk:
    """UDP packets by number between hosts 1 and 2."""

    def __init__(self, hosts, rail=0):
        self.hosts, self.rail, self.sockets, self.next = hosts, rail, {}, 0
        for i in 1, 2:
            with on_host(hosts, i):
                self.sockets[i] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.sockets[i].setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
            self.sockets[i].bind((f'10.{88 + rail}.0.{i}', 7000))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for end in self.sockets.values():
            end.close()

    def send(self, to, n):
        """n packets, not faster than the links take them; their numbers."""
        sent = range(self.next, self.next + n)
        for number in sent:
            self.sockets[3 - to].sendto(struct.pack('>I', number), (f'10.{88 + self.rail}.0.{to}', 7000))
            if number % BURST == 0:
                for i in self.hosts.numbers():
                    if (i, self.rail) in self.hosts.links:
                        self.hosts.link_counts(i, self.rail)
        self.next += n
        return sent

    def receive(self, to):
        """The numbers of all packets that come until none comes for a while."""
        self.sockets[to].settimeout(0.5)
        found = []
        with contextlib.suppress(TimeoutError):
            while True:
                found.append(struct.unpack('>I', self.sockets[to].recv(100))[0])
        return found

    def passes(self, to):
        """Packets come, if not the first ones: a host takes up to a second to see that its carrier is back."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if set(self.send(to, 5)) & set(self.receive(to)):
                return True
        return False

    def stops(self, to):
        """None does."""
        return not set(self.send(to, 5)) & set(self.receive(to))


def stream(hosts, volume):
    """A TCP stream of random bytes from host 1 to host 2; whether all of it came as it was, and how long it took."""
    with on_host(hosts, 2):
        server = socket.socket()
    with on_host(hosts, 1):
        client = socket.socket()
    data, found = random.Random(1).randbytes(volume), hashlib.sha256()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # the connection before may linger
    server.bind(('10.88.0.2', 7001))
    server.listen()
    for end in client, server:
        end.settimeout(PATIENCE_S)
    start = time.monotonic()
    with client, server:
        client.connect(('10.88.0.2', 7001))
        sender = threading.Thread(target=lambda: (client.sendall(data), client.shutdown(socket.SHUT_WR)), daemon=True)
        sender.start()
        with server.accept()[0] as peer:
            peer.settimeout(PATIENCE_S)
            while piece := peer.recv(1 << 16):
                found.update(piece)
        sender.join()
    return found.digest() == hashlib.sha256(data).digest(), time.monotonic() - start


def snmp(hosts, i, kind, name):
    """A counter of the host's kernel."""
    text = hosts.run(i, ['cat', '/proc/net/snmp'], capture_output=True, text=True, check=True).stdout
    names, values = (line.split() for line in text.splitlines() if line.startswith(f'{kind}:'))
    return int(values[names.index(name)])


def packets(folder, build):
    hosts = rig.Rig(2, folder, link={'seed': 3}, build=build)
    with Talk(hosts) as talk:
        yield fact('hosts: a good cable carries packets either way', talk.passes(1) and talk.passes(2))
        hosts.set_link(2, way='in', loss=0.2)
        sent, found = talk.send(2, MANY), talk.receive(2)
        yield fact('hosts: loss=0.2: of 1,000 packets 700 to 900 come',
                   700 <= len(found) <= 900 and set(found) < set(sent) and hosts.link_counts(2)['in']['lost'] >= 100,
                   len(found))
        hosts.set_link(2, way='in', loss=0, dup=0.1)
        talk.send(2, MANY)
        found = talk.receive(2)
        yield fact('hosts: dup=0.1: of 1,000 packets 50 to 150 come twice', 1050 <= len(found) <= 1150, len(found))
        hosts.set_link(2, way='in', dup=0, reorder=0.1)
        talk.send(2, MANY)
        found = talk.receive(2)
        yield fact('hosts: reorder=0.1: all of 1,000 packets come, not in order',
                   len(found) == MANY and found != sorted(found), len(found))
        hosts.set_link(2, reorder=0, delay=30)
        start = time.monotonic()
        yield fact('hosts: delay=30: a packet takes 30 ms at least', talk.passes(2) and time.monotonic() - start >= 0.03)


def cables(folder, build):
    hosts = rig.Rig(2, folder, rails=2, link={}, build=build)
    with Talk(hosts) as talk, Talk(hosts, 1) as other:
        yield fact('hosts: both rails carry', all(t.passes(i) for t in (talk, other) for i in (1, 2)))
        hosts.set_link(1, way='in', cut=1)
        yield fact('hosts: a cut one way: what goes out arrives, what comes in does not',
                   talk.passes(2) and talk.stops(1))
        hosts.set_link(1, cut=0)
        yield fact('hosts: and after it all comes', talk.passes(2) and talk.passes(1))
        for name, event in (('cut', hosts.cut), ('down', hosts.down), ('split', lambda i: hosts.split([i]))):
            event(2)
            yield fact(f'hosts: {name}: nothing comes through, but on the other rail',
                       talk.stops(1) and talk.stops(2) and other.passes(1) and other.passes(2))
            yield fact(f'hosts: {name}: the host\'s device has {"no" if name == "down" else "a"} carrier',
                       carrier(hosts, 2) == (name != 'down'))
            hosts.mend(2)
            yield fact(f'hosts: {name}: mended', talk.passes(1) and talk.passes(2) and carrier(hosts, 2))


def carrier(hosts, i):
    return b'NO-CARRIER' not in hosts.run(i, 'ip -o link show eth0'.split(), capture_output=True, check=True).stdout


def damage(folder, build):
    """With two cables on the way, one packet in ten is hit by something. Only one of the two flips bits, in turn: of two
    flipped bits of a segment TCP's sum misses one pair in 32."""
    hosts = rig.Rig(2, folder, link={'loss': 0.01, 'dup': 0.01, 'reorder': 0.02, 'delay': 0.5}, build=build)
    right = True
    for flips, not_now in (1, 2), (2, 1):
        hosts.set_link(flips, flip=0.02)
        hosts.set_link(not_now, flip=0)
        right &= stream(hosts, 5 << 20)[0]
    counts = {i: hosts.link_counts(i) for i in hosts.numbers()}
    hit = [counts[i][way][name] for i in (1, 2) for way in ('in', 'out')
           for name in ('lost', 'duplicated', 'reordered', 'flipped')]
    refused_there = snmp(hosts, 2, 'Tcp', 'InCsumErrors')
    yield fact('hosts: 10 MB by TCP come as they were, though frames are lost, doubled, swapped and damaged either way',
               right and min(hit) > 0, counts)
    yield fact('hosts: the kernel saw by the sum that segments were damaged', refused_there > 0, refused_there)
    with Talk(hosts) as talk:
        hosts.set_link(2, loss=0, dup=0, reorder=0, flip=0.2)
        sent, found = talk.send(2, MANY), talk.receive(2)
        yield fact('hosts: flip=0.2: of 1,000 UDP packets 700 to 900 come, as they were',
                   700 <= len(found) <= 900 and set(found) < set(sent) and snmp(hosts, 2, 'Udp', 'InCsumErrors') > 0,
                   len(found))


def queues(folder, build):
    """Of veth pairs."""
    hosts = rig.Rig(2, folder, build=build)
    hosts.limit_rate(2, 20)
    right, took = stream(hosts, 1 << 20)
    # 8.4 Mbit less what may go out at once, on two devices.
    yield fact('hosts: tbf of 20 Mbit/s: 1 MB takes 0.3 s at least', right and took >= 0.3, took)
    if reason := rig.netem_missing():
        print(f'skip  netem on a veth pair: {reason}')
        return
    hosts.netem(2, 'loss 20%')
    with Talk(hosts) as talk:
        talk.send(2, MANY)
        found = talk.receive(2)
        yield fact('hosts: netem loss 20%: of 1,000 packets fewer come', 700 <= len(found) <= 900, len(found))


RIGGED = [packets, cables, damage, queues]


# ---- what is left ----------------------------------------------------------------------------------


def links_of(seed):
    """Processes, of all that we can see, that are links of a rig with this seed."""
    found = []
    for path in glob.glob('/proc/[0-9]*/cmdline'):
        with contextlib.suppress(OSError):
            with open(path, encoding='utf-8', errors='replace') as file:
                words = file.read().split('\0')
            if words[0].endswith('/link') and words[1].startswith(str(seed)):
                found.append(int(path.split('/')[2]))
    return found


def hold(folder, build, seed):
    rig.Rig(2, folder, link={'seed': seed}, build=build)
    print('ready', flush=True)
    signal.pause()


def killed(build):
    seed = 10**9 + os.getpid()
    held = subprocess.Popen([sys.executable, __file__, '--hold', str(seed), '-b', build], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, text=True)
    started, before = held.stdout.readline() == 'ready\n', len(links_of(seed))
    held.kill()
    held.wait()
    end = time.monotonic() + PATIENCE_S
    while (left := links_of(seed)) and time.monotonic() < end:
        time.sleep(0.02)
    yield fact('a rig that is killed leaves none of its links', started and before == 2 and not left,
               (started, before, left))


# ---- all of it -------------------------------------------------------------------------------------


def run(trial, *arguments):
    """0 if all of its facts hold."""
    try:
        return int(not all(list(trial(*arguments))))
    except (rig.Refused, OSError) as wrong:
        return int(not fact(f'the trial "{trial.__name__}" comes to its end', False, repr(wrong)))


def on_rigs(build):
    reason = rig.why_not() or rig.link_missing(build) or rig.installed('tc')
    if reason:
        print(f'skip  cables of hosts: {reason}')
        return []
    # The folder of the one that is killed goes when the next one starts.
    return [run(killed, build)] + [rig.run_inside(lambda folder, trial=trial: run(trial, folder, build)) for trial in RIGGED]


def main():
    parser = argparse.ArgumentParser(description='What the cables of the rig do.', allow_abbrev=False)
    parser.add_argument('-b', '--build', default='build')
    parser.add_argument('--bare', action='store_true', help='only links between sockets; no namespaces')
    parser.add_argument('--hold', type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))
    if options.hold:
        return rig.run_inside(lambda folder: hold(folder, options.build, options.hold))
    codes = [run(trial, options.build) for trial in BARE]
    if not options.bare:
        codes += on_rigs(options.build)
    return int(any(codes))


if __name__ == '__main__':
    sys.exit(main())
