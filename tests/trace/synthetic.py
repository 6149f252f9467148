# SPDX-License-Identifier: Apache-2.0
"""Traces that no job has written: what trace_format.h says, with records at round times."""

import struct

import readers

RECORD = struct.Struct('<QBBHiIIII')
NUMBER = {kind: i for i, kind in enumerate(readers.KINDS)}


def record(time, kind, what=0, pe=-1, seq=0, more=(0, 0, 0), flags=0):
    """`more`: the element, or bytes and the two halves of a value."""
    return RECORD.pack(time, NUMBER[kind], flags, what, pe, seq, *(m & 0xffffffff for m in more))


def write(folder, pe, n_pes, records, names=(), command=b'synthetic', host=1, clock=((1, 1), (1, 1)), room=None):
    """The file of a PE. `names`: (kind, number, text in bytes); `clock`: two pairs of ticks and ns, by which a tick is a
    ns unless they say another speed; `room`: of the ring, if not all records fit."""
    table = b''
    for kind, number, text in names:
        text += b'\0' * (8 - len(text) % 8)
        table += readers.NAME.pack(readers.NAME_KINDS.index(kind), number, readers.NAME.size + len(text)) + text
    head_bytes = (4096 + len(table) + 4095) // 4096 * 4096
    n = len(records) // RECORD.size
    room = room or n + 2
    data = bytearray(head_bytes)
    readers.HEAD.pack_into(data, 0, b'cktrace\0', 1, 32, head_bytes, room, pe, n_pes, 0, 1, 0, 1)
    struct.pack_into('<QQQQ64s', data, readers.HEAD.size, host, 0, *clock[0], b'here')
    command_at = readers.HEAD.size + 32 + 64
    data[command_at:command_at + len(command)] = command
    readers.TAIL.pack_into(data, readers.TAIL_AT, n, len(table), *clock[1], 1)
    data[4096:4096 + len(table)] = table
    ring = bytearray(room * RECORD.size)
    for i in range(n):
        at = i % room * RECORD.size
        ring[at:at + RECORD.size] = records[i * RECORD.size:(i + 1) * RECORD.size]
    with open(f'{folder}/pe{pe}.trace', 'wb') as f:
        f.write(data + ring)
