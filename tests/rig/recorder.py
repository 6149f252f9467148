# SPDX-License-Identifier: Apache-2.0
"""Somebody on a job's host, of another user, say, who has recorded how connections to the next host began, and makes them
once more: he speaks UCX's protocol, with all numbers and names that the job itself has used. CK_GUARD does not keep him
out, as he calls from an address of the job. He only names another port of his own, as UCX takes no second connection from
the same one."""

import os
import socket
import struct
import time

import rig

UCX_MAGIC = struct.pack('=Q', 0xCAFEBABE12345678)
OWN_PORT = 30  # where it is in what UCX 1.13 sends first
LEAST, MOST_S = 20000, 10


def segment(packet):
    """(ports from and to, number, bytes) of a TCP segment to host 2; None: it is something else."""
    if len(packet) < 40 or packet[9] != socket.IPPROTO_TCP or packet[16:20] != bytes((10, 88, 0, 2)):
        return None
    tcp = packet[(packet[0] & 15) * 4:struct.unpack('!H', packet[2:4])[0]]
    return struct.unpack('!HH', tcp[:4]), struct.unpack('!I', tcp[4:8])[0], tcp[(tcp[12] >> 4) * 4:]


def in_order(parts):
    """The bytes of segments {number: bytes} that follow each other without a gap."""
    at, whole = min(parts), b''
    while at in parts:
        whole += parts[at]
        at = (at + len(parts[at])) % 2 ** 32 if parts[at] else -1
    return whole


def record(cable):
    """What comes by connections that begin as UCX's do: [(port, bytes)]."""
    came, end, n = {}, time.monotonic() + MOST_S, 0
    cable.settimeout(0.2)
    while n < LEAST and time.monotonic() < end:
        try:
            found = segment(cable.recv(65536))
        except TimeoutError:
            continue
        if found and found[2] and (found[0] in came or found[2].startswith(UCX_MAGIC)):
            ports, number, data = found
            came.setdefault(ports, {})[number] = data
            n += len(data)
    return [(ports[1], in_order(parts)) for ports, parts in came.items()]


def play(hosts, recorded):
    """Holds the connections until the other end lets them go, or for a while."""
    hosts.join(1)
    held = []
    for port, data in recorded:
        peer = socket.create_connection(('10.88.0.2', port), 1)
        peer.sendall(data[:OWN_PORT] + bytes((data[OWN_PORT] ^ 1,)) + data[OWN_PORT + 1:])
        held.append(peer)
    time.sleep(2)
    return len(held)


def begin(hosts):
    """Forks; returns what wait_for wants. It records when this returns, and plays once it has enough."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            hosts.join(2)
            with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800)) as cable:
                os.write(writing, b'r')
                recorded = record(cable)
            os.write(writing, str(play(hosts, recorded)).encode())
            code = 0
        except BaseException as wrong:  # pylint: disable=broad-except
            print(f'recorder: {wrong!r}', flush=True)
        os._exit(code)
    os.close(writing)
    if os.read(reading, 1) != b'r':
        raise rig.Failed('nothing can be recorded')
    return pid, reading


def wait_for(pid, reading):
    """How many connections he had."""
    text = os.read(reading, 20)
    os.close(reading)
    os.waitpid(pid, 0)
    return int(text or b'0')
