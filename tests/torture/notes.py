# SPDX-License-Identifier: Apache-2.0
"""Reads the notes that the PEs of a run have made (note.h)."""

import re
import struct

KINDS = [''] + 'SEND ALL GOT INSERT BORN GONE MOVE ARRIVED GIVE RESULT PUT LANDED QUIET_ASKED QUIET END WAIT WENT_ON'.split()
LAYOUT = struct.Struct('<QQQQIHHhhiiIII')


class Note:
    __slots__ = ('time', 'id', 'value', 'more', 'lane', 'part', 'kind', 'coll', 'flags', 'number', 'target', 'born', 'seq',
                 'stay', 'pe', 'place')

    def __init__(self, pe, place, fields):
        (self.time, self.id, self.value, self.more, self.lane, self.part, kind, self.coll, self.flags, self.number,
         self.target, self.born, self.seq, self.stay) = fields
        self.kind = KINDS[kind]
        self.pe, self.place = pe, place


class Run:
    """What one run has left: its notes, its exit code and what it said."""

    def __init__(self, program, folder, code, text):
        self.program, self.code, self.text = program, code, text
        self.pes = []
        again = program.again[0] * program.again[1] if program.again else 0
        for pe in range(max(program.pes, again)):
            file = folder / f'pe{pe}.notes'
            self.pes.append(read(file, pe) if file.exists() else [])
        self.all = [n for notes in self.pes for n in notes]
        self.by_kind = {}
        for n in self.all:
            self.by_kind.setdefault(n.kind, []).append(n)
        self.ended = bool(self.by_kind.get('END'))
        # Nothing more will happen: what is missing now never came.
        self.rest = self.ended or 'nothing will ever happen again' in text

    def forget(self):
        """One thing that somebody got: the torture itself is tested so."""
        gone = self.by_kind['GOT'].pop(len(self.by_kind['GOT']) // 2)
        self.all.remove(gone)
        for n in self.all:
            if n.born == gone.born and n.seq > gone.seq:
                n.seq -= 1

    def of(self, part, kind):
        return [n for n in self.by_kind.get(kind, []) if n.part == part]

    def kind(self, *kinds):
        return [n for k in kinds for n in self.by_kind.get(k, [])]

    def sent(self, id_):
        """The note with this number."""
        pe, place = (id_ >> 32) - 1, id_ & 0xffffffff
        return self.pes[pe][place] if 0 <= pe < len(self.pes) and place < len(self.pes[pe]) else None

    def lives(self, coll):
        return [n for n in self.by_kind.get('BORN', []) if n.coll == coll]

    def who(self, n):
        return f'{self.program.coll(n.coll).name}({n.number}) on PE {n.pe}'

    def complaint(self):
        """The first line in which the runtime says what is wrong."""
        lines = [line for line in self.text.splitlines() if line.strip() and not re.search('randomised|random order|CK_RANDOM', line)]
        return lines[0] if lines else ''


def read(file, pe):
    data = file.read_bytes()
    notes = []
    for place, fields in enumerate(LAYOUT.iter_unpack(data[:len(data) // LAYOUT.size * LAYOUT.size])):
        if not fields[6]:
            break
        notes.append(Note(pe, place, fields))
    return notes
