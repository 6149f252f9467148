#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Messages of another process that do not fit, one for each reason, and the reason that the runtime gives.

    tests/damage/shapes.py -b BUILD [-v]

Each message begins as one that fits (tests/fuzz/seeds/wire) or as zeros. It gets the changes of its line in the table,
and is given to a node on which tests/fuzz/zoo.ci has run (fuzz_wire, as its first input; it has the right seal). The node
must refuse it with the words of the line. Numbers of bytes count from the beginning of the message, as in
runtime/chare/core/objects/env.h.
"""

import argparse
import concurrent.futures
import glob
import os
import re
import struct
import subprocess
import sys
import tempfile

SEEDS = 'tests/fuzz/seeds/wire'
PRIO, LIFO, EXPEDITED, SYSTEM, WIDE, HERE, NODE = 0x01, 0x02, 0x04, 0x08, 0x20, 0x40, 0x80
# Where in the head of a chare message.
COLL, PLACE, ROOT, ENTRY, FLAGS, LAST, REFS = 32, 40, 48, 52, 54, 55, 56
COUNT, OP = 44, 48             # of a part of a reduction
SWAP_COUNT, SWAP_OP = 48, 50   # of one that is exchanged
NEVER = 0x70000000
# Of an element that moves (struct packed in travel.c); CALL is where its first call stands in ck.move.packed-131.
SEAT, HOLDERS, KEPT, LIVES, BYTES, IMAGE, CALL = 52, 60, 64, 72, 80, 88, 352
IN_BATCH = 48                  # the image in ck.moves.packed-1
CELLS_COLL, GRID_COLL, TEAM_COLL, NOMADS_COLL, ROVERS_COLL = 2, 3, 6, 16, 17   # numbers of the zoo's collections
NAMED, JOIN_BYTES = 16, 416    # the part of named channels; a JOIN, which is longer than other words

FLAGS_WRONG = 'its flags are wrong for such a message'
NOBODY = 'it names a collection that nobody can have made'
NOT_DOWN = 'it did not come down the tree that it names'
NOT_BELOW = 'its sender is not below this PE'
OTHERS = 'it says that others have it, too'
VALUES = 'its values do not lie within it'
BROKEN = 'chard: PE 0 (node 0): broken protocol: PE 1 '
OUTSIDE = 'a parameter does not lie within it'
MESSAGE = 'its message is too short, or its arrays do not lie within it'
NO_SECTION = 'it names a section that nobody can have made'
NO_REDUCTION = 'it belongs to no reduction here'
CANNOT_SAY = 'its sender cannot have sent it'
NO_KIND = 'its kind is unknown'
EXIT = 'its sender cannot say this about the end of the job now'
REST = "its sender cannot say this about quiescence"
NO_ANSWER = 'it is not the answer that the call expects'
NO_VALUE = 'it is not a value of the type that a thread waits for'
NO_BUFFER = 'it names no buffer'
NO_PATTERN_SIZE = 'the size or number of its pattern is invalid'


def u8(at, value):
    return at, '<B', value


def u16(at, value):
    return at, '<H', value


def u32(at, value):
    return at, '<I', value


def u64(at, value):
    return at, '<Q', value


def seed(name, *changes, size=None, flags=None, pe=None):
    return 'seed', name, changes, size, flags, pe


def zeros(name, size, *changes, flags=0, pe=1):
    return 'zeros', name, changes, size, flags, pe


def type_number(name):
    """Of a message type, in a future's value (runtime/chare/wait/future.c)."""
    number = 0xcbf29ce484222325
    for byte in name:
        number = (number ^ byte) * 0x100000001b3 & (1 << 64) - 1
    return number | 2


def word(kind, *changes, size=160):
    """What an end of a named channel says to the other one: both are element 0 of the cells."""
    return zeros('ck.tell', size, u64(COLL, CELLS_COLL), u32(60, NAMED), u64(64, CELLS_COLL), u64(88, CELLS_COLL),
                 u32(120, kind), *changes)


CHECK, ANSWER, ASK, POKE, RESUME, CLOSE, STEP, STATS, MOVES, CANCEL, DONE = range(11)


def sync(kind, *changes, coll=GRID_COLL, size=200, pe=1):
    """A word of a sync of the grid, whose elements have not called CkAtSync."""
    return zeros('ck.sync.step', size, u64(32, coll), u32(40, kind), *changes, pe=pe)


DST, SRC, AT, N = 32, 144, 256, 264     # of a transfer of buffers


def buffer(at, pe, size=8, state=0x4d616465):
    """A buffer (CkNcpyBuffer) of that PE."""
    return u64(at, 4096), u64(at + 72, size), u32(at + 88, pe), u32(at + 92, state)


def transfer(name, dst, src, *changes, size=272):
    return zeros(name, size, *dst, *src, *changes)


TABLE = [
    # ---- the scheduler's
    (zeros('csd.credit', 40, u64(32, 1 << 40), flags=SYSTEM | EXPEDITED), 'it gives credit for more than was sent'),
    (zeros('csd.exit', 40, u32(36, 1), flags=SYSTEM | EXPEDITED), EXIT),           # STOP to the root
    (zeros('csd.exit', 40, u32(36, 2), flags=SYSTEM | EXPEDITED, pe=3), None),     # ACK of a child
    (zeros('csd.exit', 40, u32(36, 3), flags=SYSTEM | EXPEDITED), EXIT),           # LEAVE to the root
    (zeros('csd.exit', 40, u32(36, 4), flags=SYSTEM | EXPEDITED), EXIT),           # DONE: no host
    (zeros('csd.exit', 40, u32(36, 9), flags=SYSTEM | EXPEDITED), EXIT),
    (zeros('csd.exit', 40, u32(36, 1 << 16), flags=SYSTEM | EXPEDITED), EXIT),
    (zeros('csd.held', 64), 'such messages do not leave their process'),
    (zeros('csd.handled', 64), 'such messages do not leave their process'),
    (zeros('csd.watch', 1024, flags=SYSTEM), REST),                                # ASK to the root
    (zeros('csd.watch', 1024, u32(32, 2), flags=SYSTEM), REST),                    # TELL to the root
    (zeros('csd.watch', 1024, u32(32, 3), flags=SYSTEM), REST),                    # TOLD, a record without bytes
    (zeros('csd.watch', 1024, u32(32, 3), u32(80, 1024), flags=SYSTEM), REST),     # a record longer than the message
    (zeros('csd.watch', 144, u32(32, 3), u32(80, 64), flags=SYSTEM), REST),        # one without its strings
    (zeros('csd.watch', 152, u32(32, 3), u32(80, 72), u32(84, 3), flags=SYSTEM), REST), # how it waits
    (zeros('csd.watch', 1024, u32(32, 4), flags=SYSTEM), REST),
    (zeros('csd.watch', 1024, u32(32, 9), flags=SYSTEM), REST),
    # ---- channels
    (zeros('CkDirect', 144, flags=SYSTEM), FLAGS_WRONG),                           # a bell that is not expedited
    (zeros('CkDirect', 144, flags=SYSTEM | EXPEDITED), 'its bell has an invalid number of slots'),
    (zeros('CkDirect', 144, u32(36, 3), flags=SYSTEM | EXPEDITED), 'its bell has an invalid number of slots'),
    (zeros('CkDirect', 144, u32(36, 64), u64(40, 4104), flags=SYSTEM | EXPEDITED), 'its bell lies where none can be'),
    (zeros('CkDirect', 72, u32(32, 2), flags=SYSTEM), NO_KIND),                    # ASK outside of checked mode
    (zeros('CkDirect', 72, u32(32, 9), flags=SYSTEM), NO_KIND),
    (zeros('CkDirect', 64, u32(32, 1), flags=SYSTEM), NO_KIND),
    # ---- calls that repeat
    (zeros('ck.pattern.open', 96, u64(COLL, CELLS_COLL)), NO_PATTERN_SIZE),
    (zeros('ck.pattern.open', 96, u64(COLL, CELLS_COLL), u32(80, 1 << 20)), NO_PATTERN_SIZE),
    (zeros('ck.pattern.open', 96, u64(COLL, CELLS_COLL), u32(80, 128), u32(84, NEVER)), NO_PATTERN_SIZE),
    (zeros('ck.pattern.open', 96, u64(COLL, CELLS_COLL), u32(80, 128)), 'its memory was not lent for it'),
    (seed('ck.pattern.open-131'), None),
    (seed('ck.pattern.open-notlent'), 'its memory was not lent for it'),
    (zeros('ck.pattern.call', 64, u64(COLL, CELLS_COLL)), 'it has no pattern'),
    (zeros('ck.pattern.close', 64, u64(COLL, CELLS_COLL)), 'it has no pattern'),
    # ---- calls and broadcasts
    (seed('ck.bcast-050', u32(ROOT, NEVER)), NOT_DOWN),
    (seed('ck.bcast-050', pe=2), NOT_DOWN),
    (seed('ck.bcast-050', u32(REFS, 2)), None),         # that is where the seal stands
    (seed('ck.bcast-050', u8(FLAGS, 0x02)), OTHERS),
    (seed('ck.bcast-050', u16(ENTRY, 999)), 'it calls an entry that does not exist'),
    (seed('ck.bcast-050', u64(PLACE, 0)), 'its number is invalid, or it has come before'),
    (zeros('ck.inserted', 80, u64(COLL, CELLS_COLL)), 'its list does not lie within it, or is wrong'),
    (zeros('ck.inserted', 72, u64(COLL, CELLS_COLL)), 'it is about an insertion that this PE has not sent'),
    (zeros('ck.missed', 160, u64(COLL, CELLS_COLL), u8(64, 8)), 'it carries a broadcast that nobody can have sent'),
    (zeros('ck.missed', 160, u64(COLL, CELLS_COLL)), 'it carries a broadcast that nobody can have sent'),
    (zeros('ck.missed', 160, u64(COLL, 900)), 'its collection does not exist yet'),
    (seed('ck.bcast-056', size=66), 'it is too short for the entry\'s parameters|' + OUTSIDE),
    (seed('ck.bcast-056', u8(FLAGS, 0x01)), VALUES),
    (seed('ck.bcast-056', u8(FLAGS, 0x21)), 'it is a result, and a call with parameters'),
    (seed('ck.bcast-056', u8(FLAGS, 0x20)), 'its message is packed and should not be'),
    (zeros('ck.made', 40, u64(32, 1), flags=0), FLAGS_WRONG),
    (zeros('ck.bcast.handled', 56, u32(32, NEVER), flags=SYSTEM), 'it did not come up the tree that it names'),
    (zeros('ck.bcast.handled', 56, u32(32, 1), flags=SYSTEM), 'it did not come up the tree that it names'),
    (zeros('ck.bcast.handled', 56, u64(40, 1 << 50), u64(48, 1 << 50), flags=SYSTEM), 'more was handled than sent'),
    (zeros('ck.element', 80, u64(COLL, 1), u8(FLAGS, 0x40), flags=EXPEDITED),
     'it says that it has waited for its buffers'),
    (zeros('ck.element', 80, u64(COLL, NEVER << 32 | 1), flags=EXPEDITED), NOBODY),
    # An array, strings, two messages: ck_came_X_f looks at them, of an element and of a group's member.
    (seed('ck.element-007'), None),
    (seed('ck.element-007', size=95), OUTSIDE),
    (seed('ck.element-007', u32(64, NEVER)), OUTSIDE),
    (seed('ck.element-007', u32(64, 0xffffffff)), OUTSIDE),
    (seed('ck.element-007', size=66), OUTSIDE),
    (seed('ck.element-007', u64(PLACE, 900)), 'chard: PE 0 (node 0): PE 1 called Cell::array on an element that is not on this PE'),
    (seed('ck.element-008', u64(72, 1 << 40)), OUTSIDE),
    (seed('ck.element-008', u64(80, 72)), OUTSIDE),
    (seed('ck.element-009', size=128), OUTSIDE),
    (seed('ck.element-009', u64(72, 1 << 40)), OUTSIDE),
    (seed('ck.element-010', size=120), OUTSIDE),
    (seed('ck.element-012', size=79), MESSAGE),
    (seed('ck.element-013', u64(88, 1 << 40)), MESSAGE),
    (seed('ck.element-013', u64(88, 72)), MESSAGE),
    (seed('ck.element-038'), None),
    (seed('ck.element-038', u32(64, NEVER)), OUTSIDE),
    # To an element that has come here from elsewhere; calls of the nomads may have to wait for a condition.
    (zeros('ck.element', 88, u64(COLL, ROVERS_COLL), u64(PLACE, 3), u16(ENTRY, 2), u32(64, 1)), None),
    (zeros('ck.element', 88, u64(COLL, ROVERS_COLL), u64(PLACE, 3), u16(ENTRY, 2), u32(64, NEVER)), OUTSIDE),
    (zeros('ck.element', 84, u64(COLL, NOMADS_COLL), u64(PLACE, 1), u16(ENTRY, 1), u32(76, 1)), None),
    (zeros('ck.element', 84, u64(COLL, NOMADS_COLL), u64(PLACE, 1), u16(ENTRY, 1), u32(76, NEVER)), OUTSIDE),
    (seed('ck.batch-078', size=66), 'its calls do not lie within it'),
    # A call of the team with an array, in a batch: PE 0's member.
    (seed('ck.batch-078', u64(64, TEAM_COLL), u32(72, 1 << 16 | 1), u32(80, 0), u32(96, 1), size=144), None),
    (seed('ck.batch-078', u64(64, TEAM_COLL), u32(72, 1 << 16 | 1), u32(80, 0), u32(96, NEVER), size=144), OUTSIDE),
    (seed('ck.batch-078', u64(64, NEVER << 32)), NOBODY + '|its calls do not lie within it'),
    (zeros('ck.call', 80), VALUES),
    (zeros('ck.call', 160), 'its function is not one of this PE'),
    # ---- creations
    (seed('ck.create-042', u16(ENTRY, 999)), 'it creates a chare of a type, or with a map, that does not exist'),
    (seed('ck.create-042', u8(LAST, 99)), 'it creates a chare of a type, or with a map, that does not exist'),
    (seed('ck.create-042', pe=2), NOT_DOWN),
    (seed('ck.create-042'), 'it creates a collection for the second time'),
    (seed('ck.create-042', u64(COLL, (1 << 32) + 900), size=66), 'its shape does not lie within it'),
    (seed('ck.create-049', u64(COLL, (1 << 32) + 900), u64(PLACE, 0)), 'its extents are invalid'),
    (seed('ck.create-049', u64(COLL, (1 << 32) + 900), u8(FLAGS, 1)), 'it constructs an object from a reduction'),
    (seed('ck.announce-051', u64(COLL, (1 << 32) + 900), pe=2), NOT_DOWN),
    (seed('ck.announce-051', u64(COLL, (1 << 32) + 900), size=66), OUTSIDE),
    (seed('ck.known-000', u64(COLL, (1 << 32) + 1)), NOT_BELOW),
    (seed('ck.born-055', pe=2), NOT_DOWN),
    (seed('ck.insert-099', u32(60, NEVER)), 'it names a PE that does not exist'),
    (seed('ck.insert-099', size=80), 'it has no stamp'),
    (seed('ck.insert-099', u32(136, NEVER)), 'it was made by a PE that does not exist'),
    (seed('ck.insert-099', u32(140, NEVER)), 'its stamp does not lie within it'),
    (seed('ck.make-001', u64(120, 1 << 62)), 'its stamp does not lie within it'),
    (seed('ck.make-001', u32(96, NEVER)), 'its stamp is wrong'),
    (seed('ck.make-001', u32(96, 0xffffffff), u64(104, 1)), 'its home has left something in its stamp'),
    (seed('ck.make-001', u64(104, 5)), 'its stamp is wrong'),      # from 5 to 3
    (zeros('ck.destroy', 64, u64(COLL, 1)), 'it is about an element of something that is not an array'),
    (seed('ck.insert-099', u64(COLL, 1)), 'it is about an element of something that is not an array'),
    (seed('ck.make-001', u64(COLL, 1)), 'it is about an element of something that is not an array'),
    (seed('ck.where-080', u64(COLL, 900)), 'its collection does not exist yet'),
    (seed('ck.where-080', u32(52, 11)), NO_KIND),
    (seed('ck.where-080', u32(52, 4)), BROKEN + 'speaks of Spot(16), which is not'),
    (seed('ck.where-080', u32(52, 6)), BROKEN + 'grants a lease that nobody asked for'),
    (seed('ck.where-080', u32(52, 7)), BROKEN + 'denies a lease that nobody asked for'),
    (seed('ck.where-080', u32(52, 9)), BROKEN + 'speaks of Spot(16), which is not'),
    # ---- elements that move: of 131 the element is elsewhere, of 138 it is here
    (seed('ck.move.packed-131'), None),
    (seed('ck.move.packed-131', u64(COLL, 900)),
     'chard: PE 0 (node 0): PE 0 received a message for collection 900 of this PE, which has made'),
    (seed('ck.move.packed-131', u32(40, 99)), 'it is about no element'),
    (seed('ck.move.packed-131', u64(COLL, CELLS_COLL)), 'its element cannot be packed'),
    (seed('ck.move.packed-131', u64(COLL, TEAM_COLL)), 'it is about no element'),
    (seed('ck.move.packed-131', u32(SEAT, NEVER)), 'it names a PE that does not exist'),
    (seed('ck.move.packed-131', u32(HOLDERS, 1 << 30)), 'its parts do not lie within it'),
    (seed('ck.move.packed-131', u32(HOLDERS, 1), u32(96, NEVER)), 'it names a PE that does not exist'),
    (seed('ck.move.packed-131', u32(HOLDERS, (1 << 32) - 1)), 'its parts do not lie within it'),
    (seed('ck.move.packed-131', u16(LIVES, 0)), 'it has something of an element that it does not carry'),
    (seed('ck.move.packed-131', u64(BYTES, 1 << 40)), 'its element does not lie within it'),
    (seed('ck.move.packed-131', u64(BYTES, (1 << 64) - 1)), 'its element does not lie within it'),
    (seed('ck.move.packed-131', u64(IMAGE, 1 << 40)), 'its bodies do not lie within it'),
    (seed('ck.move.packed-131', u64(IMAGE, (1 << 64) - 1)), 'its bodies do not lie within it'),
    (seed('ck.move.packed-131', u32(KEPT, NEVER)), 'its calls do not lie within it'),
    (seed('ck.move.packed-131', u32(KEPT, 1)), 'it contains more than its calls'),
    (seed('ck.move.packed-131', u64(CALL, 63)), 'its calls do not lie within it'),
    (seed('ck.move.packed-131', u64(CALL, (1 << 64) - 8)), 'its calls do not lie within it'),
    (seed('ck.move.packed-131', size=500), 'its calls do not lie within it'),
    (seed('ck.move.packed-131', u16(CALL + 8, 1)), 'it carries something that is not a call'),
    (seed('ck.move.packed-131', u32(CALL + 12, NEVER)), 'it carries a call that nobody can have sent'),
    (seed('ck.move.packed-131', u8(CALL + 10, WIDE)), 'it carries a call that nobody can have sent'),
    (seed('ck.move.packed-131', u64(CALL + 32, CELLS_COLL)), 'it carries a call of another collection'),
    (seed('ck.move.packed-131', u16(CALL + 32 + 20, 999)), 'it calls an entry that does not exist'),
    (seed('ck.move.packed-131', u16(CALL + 32 + 20, 1)), 'it keeps a call that waits for nothing'),
    (seed('ck.move.packed-131', u32(CALL + 64, 1 << 30)), OUTSIDE),
    (seed('ck.move.packed-131', u64(BYTES, 8)), 'chard: PE 0 (node 0): Nomad(3): Nomad_pup unpacks'),
    (seed('ck.move.packed-131', u32(96, 1 << 20)), 'chard: PE 0 (node 0): Nomad(3): Nomad_pup unpacks'),
    (seed('ck.move.packed-131', u64(112, NEVER)), 'chard: PE 0 (node 0): the image of an element of Nomad that has come is damaged'),
    (seed('ck.move.packed-138'), 'its element is here already'),
    # ---- what ends of named channels say: to an element without ends, and what says nothing
    (word(0), None),
    (word(5), None),
    (word(3, size=JOIN_BYTES), None),
    (word(3), 'it says nothing about a channel'),
    (word(0, size=JOIN_BYTES), 'it says nothing about a channel'),
    (word(6), 'it says nothing about a channel'),
    (word(0, size=161), 'it says nothing about a channel'),
    (word(0, u64(64, 0)), NOBODY),
    (word(0, u64(88, 0)), NOBODY),
    (word(0, u32(60, 99)), NO_KIND),
    (word(0, u32(60, 1)), NO_KIND),                     # a part to which nobody says anything
    # ---- syncs: of the grid PE 0 has all answers
    (sync(ANSWER), 'nobody has asked for it'),
    (sync(ANSWER, u32(48, 1)), 'nobody has asked for it'),
    (sync(ANSWER, u32(44, 1)), 'nobody has asked for it'),
    (sync(ANSWER, coll=CELLS_COLL), 'its elements do not sync'),
    (sync(ANSWER, size=201), 'it is too long'),
    (sync(CHECK), NO_KIND),
    (sync(DONE + 1), NO_KIND),
    (sync(POKE), None),
    (sync(RESUME), "it did not come by PE 0's tree"),
    (sync(STEP), NO_KIND + "|it did not come by PE 0's tree"),
    (sync(DONE), 'no step is under way'),
    (sync(CANCEL), 'no step is under way'),
    (sync(STATS), 'its records do not lie within it'),
    (sync(STATS, u32(52, 1), size=280), 'its records do not lie within it'),
    (sync(STATS, u32(52, (1 << 32) - 1), size=280), 'its records do not lie within it'),
    (sync(MOVES), "it did not come by PE 0's tree"),
    # ---- the same element in a batch, of which its image is the first
    (seed('ck.moves.packed-1'), None),
    (seed('ck.moves.packed-1', u64(COLL, 900)), 'its collection does not exist yet'),
    (seed('ck.moves.packed-1', u64(COLL, CELLS_COLL)), 'it carries an element of another collection'),
    (seed('ck.moves.packed-1', u32(40, 2)), 'its elements do not lie within it'),
    (seed('ck.moves.packed-1', u32(40, 0)), 'it contains more than its elements'),
    (seed('ck.moves.packed-1', u32(44, 2)), 'it contains more than its elements'),
    (seed('ck.moves.packed-1', u64(IN_BATCH + 8, 1 << 40)), 'its elements do not lie within it'),
    (seed('ck.moves.packed-1', u64(IN_BATCH + 8, (1 << 64) - 16)), 'its elements do not lie within it'),
    (seed('ck.moves.packed-1', u64(IN_BATCH + 8, 8)), 'its elements do not lie within it'),
    (seed('ck.moves.packed-1', u64(IN_BATCH + 8, 0)), 'its elements do not lie within it'),
    (seed('ck.moves.packed-1', u32(IN_BATCH + HOLDERS, 1 << 30)), 'its parts do not lie within it'),
    (seed('ck.moves.packed-1', u64(IN_BATCH + BYTES, 1 << 40)), 'its element does not lie within it'),
    (seed('ck.moves.packed-1', u32(IN_BATCH + SEAT, NEVER)), 'it names a PE that does not exist'),
    (seed('ck.seat-132'), 'what it contributes was filed before'),
    (seed('ck.seat-132', u32(60, 6)), None),
    (seed('ck.seat-132', u64(COLL, 900)), 'it comes from an element that is not away from this PE'),
    (seed('ck.seat-132', u16(52, 999)), NO_KIND),
    (seed('ck.seat-132', u16(52, 8)), NO_KIND),         # a part that files nothing
    (seed('ck.seat-132', u32(40, 1)), 'it comes from an element that is not away from this PE'),
    (seed('ck.seat-132', u32(40, 99)), 'it comes from an element that is not away from this PE'),
    (seed('ck.switch-117', u32(60, NEVER)), 'it names a PE that does not exist'),
    (zeros('ck.ready', 40, u64(COLL, (1 << 32) + 1)), NOT_BELOW),
    (seed('ck.closing-002', u32(52, 5)), CANNOT_SAY),   # a wave to the root
    (seed('ck.closing-002', u32(52, 7)), CANNOT_SAY),   # a verdict to the root
    (seed('ck.closing-002', u32(52, 0)), CANNOT_SAY),
    (seed('ck.chare.new-043'), 'its chare has been created already'),
    (seed('ck.chare.new-043', u64(COLL, 1 << 44)), 'its chare has been created already'),
    # ---- nodegroups
    (seed('ck.node.call-039', u64(COLL, 900)), 'it names a nodegroup that does not exist'),
    (seed('ck.node.call-039', u16(ENTRY, 999)), 'it calls an entry that does not exist'),
    (seed('ck.node.call-039', size=66), OUTSIDE),
    (seed('ck.node.bcast-041', pe=2), NOT_DOWN),
    (seed('ck.node.bcast-041', flags=SYSTEM), FLAGS_WRONG),
    (seed('ck.node.bcast-041', u64(COLL, (1 << 32) + 900)), 'it names a nodegroup that does not exist'),
    # ---- sections
    (seed('ck.section-027', u64(PLACE, 0)), NO_SECTION),
    (seed('ck.section-027', u8(FLAGS, 0x02)), OTHERS),
    (seed('ck.section-027', u16(ENTRY, 999)), 'it calls an entry that does not exist'),
    (seed('ck.section-028', u8(LAST, 8), size=70), 'it does not say who has sent it'),
    (seed('ck.section.ctl-020', u8(LAST, 6), u64(COLL, (1 << 32) + 1)), 'this PE has not made the section'),
    (seed('ck.section.ctl-020', u8(LAST, 7), u64(COLL, (2 << 32) + 1)), 'its sender has not made the section'),
    (seed('ck.section.ctl-020', u8(LAST, 8), u64(COLL, (2 << 32) + 1)), 'its sender has not made the section'),
    (seed('ck.section.ctl-020', u64(COLL, 0)), NO_SECTION),
    (seed('ck.section.ctl-020', u8(LAST, 0)), NO_KIND),
    (seed('ck.section.ctl-020', u8(LAST, 9)), NO_KIND),
    (seed('ck.section.ctl-020', size=70), 'its list does not lie within it'),
    (seed('ck.section.ctl-063', size=100), VALUES),
    (seed('ck.section.ctl-063', u64(72, 1 << 30)), 'it has fewer values than it says'),
    # ---- reductions
    (seed('ck.reduce-058', u32(OP, 999)), NO_REDUCTION),
    (seed('ck.reduce-058', u64(64, 1 << 40)), VALUES),
    (seed('ck.reduce-058', size=90), VALUES),
    (seed('ck.reduce-060', u64(72, 1 << 30)), 'it has fewer values than it says'),
    (seed('ck.exchange-061', u16(SWAP_OP, 999)), NO_REDUCTION),
    (seed('ck.exchange-061', u16(SWAP_COUNT, 0x7000)), NO_REDUCTION),
    (seed('ck.exchange-061', u8(FLAGS, 0x01)), FLAGS_WRONG),
    (seed('ck.exchange-109', u8(FLAGS, 0x04)), 'its size is not that of its values'),
    (zeros('ck.result', 64, u64(COLL, CELLS_COLL)), VALUES),
    (zeros('ck.result', 96, u64(COLL, CELLS_COLL), u64(PLACE, (1 << 64) - 1), u32(ROOT, NEVER)),
     NOT_DOWN),
    (zeros('ck.start', 64, u64(COLL, CELLS_COLL)), VALUES),
    (zeros('ck.start', 160, u64(COLL, CELLS_COLL)), 'its callback is of no kind'),
    (zeros('ck.scan', 64, u64(COLL, CELLS_COLL), u32(OP, 999)), 'it belongs to no scan here'),
    # ---- what waits, and what is over
    (seed('ck.answer-086', u64(COLL, 99)), 'nobody waits for it'),
    (seed('ck.answer-086', u64(COLL, 3)), 'nobody waits for it'),
    (seed('found-answer-to-itself'), 'nobody waits for it'),    # a call of which this PE gets the answer
    (zeros('ck.answer', 68, u64(COLL, 1)), None),               # an int, for which a thread waits
    (zeros('ck.answer', 67, u64(COLL, 1)), NO_ANSWER),
    (zeros('ck.answer', 64, u64(COLL, 1), u8(FLAGS, 0x04)), NO_ANSWER),
    (zeros('ck.answer', 64, u64(COLL, 2), u8(FLAGS, 0x04)), None),  # a message, and it may be NULL
    (zeros('ck.answer', 68, u64(COLL, 2)), NO_ANSWER),
    (zeros('ck.answer', 160, u64(COLL, 2), u8(FLAGS, 0x20)), NO_ANSWER),
    (seed('ck.future-082', u64(64, 1 << 40)), VALUES),
    (seed('ck.future-082', u64(72, 1 << 30)), 'it has fewer values than it says'),
    (seed('ck.future-waits-1'), None),                          # doubles, for which a thread waits
    (seed('ck.future-waits-1', u64(PLACE, 0)), NO_VALUE),       # a message
    (seed('ck.future-waits-1', u32(80, 1)), NO_VALUE),          # ints
    (seed('ck.future-waits-1', u8(FLAGS, 0x20)), 'it is packed, and no message of a type'),
    (zeros('ck.future', 160, u64(COLL, (1 << 32) + 2), u64(PLACE, type_number(b'Block')), u8(FLAGS, 0x20)),
     'its message is packed and should not be'),
    (seed('ck.qd-059', u32(32, 7)), NO_KIND),
    (seed('ck.qd-059', u8(40, 99)), 'its callback is of no kind'),
    (seed('ck.qd-004', u32(32, 0)), 'it is not a request'),
    (seed('ck.qd-004', u32(32, 1)), 'it asks for a wave whose turn it is not'),
    (seed('ck.qd-004', u32(36, 900)), 'it answers a wave whose turn it is not'),
    (seed('ck.completion-077', u64(32, NEVER << 32)), 'it names a detector that nobody can have made'),
    (seed('ck.completion-077', u16(40, 3)), CANNOT_SAY),
    (seed('ck.completion-077', u16(40, 0), pe=3), CANNOT_SAY),
    (zeros('ck.fence', 64, u64(COLL, 1), u32(ROOT, NEVER)), NOT_DOWN),
    (zeros('ck.readonly', 64, u32(ROOT, 0)), NOT_DOWN),
    (zeros('ck.readonly', 64, u32(ROOT, 1)), 'its size is not that of the readonly variables'),
    # ---- buffers
    (zeros('ck.buffer.send', 272), NO_BUFFER),
    (transfer('ck.buffer.send', buffer(DST, 1), buffer(SRC, NEVER)), NO_BUFFER),
    (transfer('ck.buffer.send', buffer(DST, 1), buffer(SRC, 1)), 'its buffer is not one of this PE'),
    (transfer('ck.buffer.send', buffer(DST, 1), buffer(SRC, 0, size=9)),
     'its source is larger than its destination'),
    (transfer('ck.buffer.send', buffer(DST, 1), buffer(SRC, 0), u64(N, 1)), 'it asks for no piece of the source'),
    (transfer('ck.buffer.send', buffer(DST, 1), buffer(SRC, 0), u64(AT, 1)), 'it asks for no piece of the source'),
    (transfer('ck.buffer.send', buffer(DST, 1), buffer(SRC, 0), u8(DST + 8, 99)), 'its callback is of no kind'),
    (transfer('ck.buffer.fetch', buffer(DST, 0), buffer(SRC, 1), u64(AT, 1)), 'it is not a request'),
    (transfer('ck.buffer.fetch', buffer(DST, 1), buffer(SRC, 1)), 'its buffer is not one of this PE'),
    (transfer('ck.buffer.data', buffer(DST, 0), buffer(SRC, 1), u64(N, 7), size=280), 'it is not a piece of the source'),
    (transfer('ck.buffer.data', buffer(DST, 1), buffer(SRC, 1), u64(N, 8), size=280),
     'its buffer is not one of this PE'),
]

# What has the id of a collection behind the machine's head, and the flags that it must have.
ABOUT_COLLECTIONS = {
    **dict.fromkeys("""bcast born create destroy empty exchange fence insert inserted make missed
                    move.packed moves.packed node.bcast pattern.call pattern.close pattern.open
                    ready reduce result scan seat section start switch sync.step tell where
                    """.split(), 0),
    'announce': EXPEDITED, 'closing': SYSTEM, 'known': EXPEDITED}


def message(what):
    """An input of fuzz_wire: name, PE and flags, head.word, payload."""
    kind, name, changes, size, flags, pe = what
    if kind == 'seed':
        with open(f'{SEEDS}/{name}', 'rb') as file:
            name, rest = file.read().split(b'\n', 1)
        head, payload = bytearray(rest[:6]), bytearray(rest[6:])
    else:
        name, head, payload = name.encode(), bytearray(6), bytearray(size - 32)
    if pe is not None:
        head[0] = pe - 1
    if flags is not None:
        head[1] = flags
    for at, form, value in changes:
        struct.pack_into(form, payload, at - 32, value)
    if size is not None:
        payload = payload[:size - 32].ljust(size - 32, b'\0')
    return name + b'\n' + head + payload


def said(options, what):
    """What the node says to the message: the reason, another line, or nothing."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(message(what))
        file.flush()
        run = subprocess.run([f'{options.build}/tests/fuzz/fuzz_wire', file.name], stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True, errors='replace', timeout=60,
                             env={**os.environ, **({'CK_LB': 'rotate'} if what[1] == 'ck.sync.step' else {}),
                                  **({'CHECK_NET': 'shared'} if what[1].startswith('ck.pattern.open-') else {})})
    reason = re.search(r'does not fit: (.*); it was damaged on its way', run.stderr)
    if run.returncode:
        return f'exit code {run.returncode}: {run.stderr[-500:]}'
    # A harness by clang is libFuzzer's, which says what it does.
    return reason[1] if reason else re.sub(r'^(INFO: |\*\*\*|Running: |Executed |\S+: Running \d+ inputs ).*\n?', '', run.stderr,
                                           flags=re.M).strip()


def handlers():
    names = {message(('seed', os.path.basename(path), (), None, None, None)).split(b'\n')[0].decode()
             for path in glob.glob(f'{SEEDS}/*-[0-9]*') if '/found' not in path and '/put' not in path}
    return sorted(names | {'csd.watch', 'CkDirect'} | {'ck.' + name for name in ABOUT_COLLECTIONS})


def sizes_and_flags(options, name):
    """Of a handler: messages that are too short and too long, some with a flag too many, or without
    theirs, and some about a collection that cannot be."""
    none = 'such messages do not leave their process'
    short = said(options, zeros(name, 32))
    match = re.fullmatch(r'it has 32 bytes; it must have (at least )?(\d+)', short)
    if not match:
        yield f'{name}, 32 bytes', short, 'it has 32 bytes|' + none
        return
    least = int(match[2])
    coll = [u64(COLL, 1)] if least > COLL + 8 else []
    yield (f'{name}, a byte less', said(options, zeros(name, least - 1, *coll, flags=HERE)),
           f'it has {least - 1} bytes; it must have')
    if not match[1]:
        yield (f'{name}, a byte more', said(options, zeros(name, least + 1)),
               f'it has {least + 1} bytes; it must have {least}')
    wrong = SYSTEM if name == 'ck.node.call' else NODE
    yield f'{name}, flags {wrong:#x}', said(options, zeros(name, least, *coll, flags=wrong)), FLAGS_WRONG
    flags = ABOUT_COLLECTIONS.get(name[3:])
    for number in () if flags is None else (0, NEVER << 32 | 1):
        what = zeros(name, least, u64(COLL, number), flags=flags)
        yield f'{name}, collection {number:#x}', said(options, what), NOBODY


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('-b', '--build', default='build')
    parser.add_argument('-j', '--jobs', type=int, default=2)
    parser.add_argument('-v', '--verbose', action='store_true')
    options = parser.parse_args()
    n = bad = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = [(f'{what}', is_said, want)
                   for (what, want), is_said in zip(TABLE, pool.map(lambda line: said(options, line[0]), TABLE))]
        for some in pool.map(lambda name: list(sizes_and_flags(options, name)), handlers()):
            results += some
    for what, is_said, want in results:
        right = not is_said if want is None else any(is_said.startswith(w) for w in want.split('|'))
        n += 1
        bad += not right
        if options.verbose or not right:
            print(f'{"ok" if right else "NOT OK"}: {what}\n    said {is_said!r}, wanted {want!r}')
    print(f'{n - bad} passed, {bad} failed')
    sys.exit(1 if bad else 0)


main()
