#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What cktrace makes of traces that no job has written. Their records are at round times, so that each time, order, number
and arrow in the output is known.

    tests/trace/exact.py CKTRACE

Prints "ok ..." for each fact; ends with exit code 1 at the first one that is not so."""

import os
import shutil
import struct
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import readers  # noqa: E402
from commands import check, run  # noqa: E402
from synthetic import RECORD, record, write  # noqa: E402

CKTRACE = sys.argv[1]
KEYED, DIRECT, AGAIN = 1, 2, 8
NAMES = [('entry', 1, b'A::one'), ('entry', 2, b'A::two')]


class Folder:
    """A trace, and what cktrace makes of it."""

    def __init__(self, tmp, name):
        self.path = f'{tmp}/{name}'
        os.mkdir(self.path)

    def write(self, pe, n_pes, *records, **more):
        write(self.path, pe, n_pes, b''.join(records), more.pop('names', NAMES), **more)

    def perfetto(self):
        run([CKTRACE, '-p', f'{self.path}.pb', self.path])
        read = readers.Perfetto(f'{self.path}.pb')
        read.check_nesting()
        return read

    def summary(self):
        return run([CKTRACE, self.path]).stdout

    def events(self):
        """(time, PE, name or 'end')"""
        read = self.perfetto()
        return sorted((time, int(read.tracks[track][0][3:]), 'end' if kind == read.END else name)
                      for time, track, kind, name, _, _ in read.events)

    def arrows(self):
        """(sent, from, taken, to)"""
        read = self.perfetto()
        return sorted((a[0], int(read.tracks[a[1]][0][3:]), b[0], int(read.tracks[b[1]][0][3:]))
                      for a, b in read.flows().values())


def check_logs(f):
    run([CKTRACE, '-j', f'{f.path}.logs', f.path])
    return readers.Projections(f'{f.path}.logs')


def same(found, wanted, what):
    check(found == wanted, what, f'\nfound  {found}\nwanted {wanted}')


def line_of(text, begin):
    """The words of the line that begins so."""
    found = [line for line in text.splitlines() if line.strip().startswith(begin)]
    check(len(found) == 1, f'one line begins with {begin}', text)
    return found[0].split()


# ---- times -----------------------------------------------------------------------------------------

def test_speed(tmp):
    """All PEs of a host are read with the speed that was measured over the longest time."""
    f = Folder(tmp, 'speed')
    spans = record(2000, 'BEGIN', 1), record(4000, 'END', 1)
    f.write(0, 3, *spans, clock=((1000, 1000), (2000, 4000)))
    f.write(1, 3, *spans, clock=((1000, 1000), (11000, 21000)))     # 2 ns a tick
    f.write(2, 3, *spans, clock=((1000, 1000), (3000, 2000)))
    same(f.events(), sorted((time, pe, name) for pe in range(3) for time, name in ((0, 'A::one'), (4000, 'end'))),
         'times by the speed of the longest measurement')
    check('time      4000 ns, 6 records' in f.summary(), 'the whole time', f.summary())
    print('ok a host has the speed that was measured over the longest time')


def test_hosts(tmp):
    """Host 2's clock is moved to the middle of what the fastest messages allow."""
    f = Folder(tmp, 'hosts')
    f.write(0, 2, record(1000, 'SEND', 0, 1, 1, (8, 0, 0)), record(1500, 'SEND', 0, 1, 2, (8, 0, 0)),
            record(2600, 'BEGIN', 1, 1, 1, flags=DIRECT), record(2700, 'END', 1))
    f.write(1, 2, record(5000, 'BEGIN', 1, 0, 1, flags=DIRECT), record(5100, 'END', 1),
            record(5800, 'BEGIN', 2, 0, 2, flags=DIRECT), record(5900, 'END', 2),
            record(6000, 'SEND', 0, 0, 1, (8, 0, 0)), host=2)
    # At least 1000 - 5000, at most 2600 - 6000: -3700, and 1000 is the beginning.
    same(f.arrows(), [(0, 0, 300, 1), (500, 0, 1100, 1), (1300, 1, 1600, 0)], 'clocks of two hosts')
    check('2 hosts' in f.summary() and '3 sent, 3 handled, 3 joined' in f.summary(), 'all are joined', f.summary())
    print('ok clocks of two hosts are joined in the middle of what messages allow')


# ---- names -----------------------------------------------------------------------------------------

def has_otf2():
    with open(CKTRACE, 'rb') as program:
        return b'OTF2_Archive_Open' in program.read()


def test_elements(tmp):
    """A call, and a put of a named channel, of elements of two dimensions: elements are named with as many numbers as
    their chare needs, and what is sent and arrives by the entry to which it leads."""
    f = Folder(tmp, 'elements')
    names = [('entry', 1, b'Grid::go'), ('entry', 2, b'Grid::side'), ('entry', 3, b'Main::Main')]
    f.write(0, 2, record(1000, 'BEGIN', 3, -1), record(1100, 'SEND', 0, 1, 7, (64, 0, 0)),
            record(1200, 'PUT', 0, 1, 1, (80, 5, 0)), record(1300, 'END', 3), names=names)
    f.write(1, 2, record(2000, 'ARRIVE', 0, 0, 7, (64, 0, 0)), record(2050, 'ARRIVE', 0, 0, 8, (16, 0, 0)),
            record(2100, 'BEGIN', 1, 0, 7, (4, 0, 0), flags=DIRECT), record(2200, 'END', 1),
            record(2300, 'PUT_BEGIN', 0, -1, 1, (80, 5, 0)), record(2310, 'BEGIN', 2, -1, 0, (0, 3, 0)),
            record(2390, 'END', 2), record(2400, 'PUT_END'), names=names)
    said = [(time, name, says) for time, name, says in f.perfetto().arguments]
    same([s for s in said if s[1] in ('send', 'put')],
         [(100, 'send', {'to PE': 1, 'bytes': 64, 'entry': 'Grid::go', 'element': 'Grid(4, 0)'}),
          (200, 'put', {'to PE': 1, 'bytes': 80, 'entry': 'Grid::side', 'element': 'Grid(0, 3)'})], 'what is sent')
    same([s for s in said if s[1] in ('arrived', 'put arrived')],
         [(1000, 'arrived', {'from PE': 0, 'bytes': 64, 'entry': 'Grid::go', 'element': 'Grid(4, 0)'}),
          (1050, 'arrived', {'from PE': 0, 'bytes': 16}),
          (1300, 'put arrived', {'number': 1, 'bytes': 80, 'entry': 'Grid::side', 'element': 'Grid(0, 3)'})],
         'what has arrived')
    same([(name, says) for _, name, says in said if '::' in name],
         [('Main::Main', {'element': 'Main(0)'}), ('Grid::go', {'element': 'Grid(4, 0)'}),
          ('Grid::side', {'element': 'Grid(0, 3)'})], 'elements')
    if shutil.which('otf2-print') and has_otf2():
        run([CKTRACE, '--otf2', f'{f.path}.otf2', f.path])
        same(readers.Otf2(f'{f.path}.otf2').elements, ['Main(0)', 'Grid(4, 0)', 'Grid(0, 3)'], 'elements in OTF2')
    print('ok elements, and what is sent and arrives, are named')


# ---- records ---------------------------------------------------------------------------------------

def test_wrapped(tmp):
    """Of a ring that has wrapped all but the oldest record are there, in order."""
    f = Folder(tmp, 'wrapped')
    f.write(0, 1, *(record(1000 * i, 'USER_MARK', i) for i in range(1, 8)), room=4,
            names=[('event', i, b'mark %d' % i) for i in range(1, 8)])
    same(f.events(), [(0, 0, 'mark 5'), (1000, 0, 'mark 6'), (2000, 0, 'mark 7')], 'three of seven records')
    check('3 records; the oldest are gone' in f.summary(), 'and it says so', f.summary())
    f = Folder(tmp, 'full')
    f.write(0, 1, *(record(1000 * i, 'USER_MARK', i) for i in range(1, 4)), room=4,
            names=[('event', i, b'mark %d' % i) for i in range(1, 8)])
    check('3 records\n' in f.summary(), 'one that has room left is whole', f.summary())
    print('ok a ring that has wrapped is read from its oldest whole record')


def test_events(tmp):
    """PEs number the program's events as they come, and the job's logs have each once."""
    f = Folder(tmp, 'events')
    marks = record(1000, 'USER_MARK', 1), record(2000, 'USER_MARK', 2), record(3000, 'USER_MARK', 2)
    f.write(0, 2, *marks, names=[('event', 1, b'red'), ('event', 2, b'blue')])
    f.write(1, 2, *marks, names=[('event', 1, b'blue'), ('event', 2, b'red')])
    logs = check_logs(f)
    same(sorted(logs.events[13]), ['blue'] * 3 + ['red'] * 3, 'marks of both PEs')
    same(sorted(logs.event_names), ['?', 'blue', 'red'], 'each name once')
    print('ok events of the program have the same names on all PEs')


def test_threads(tmp):
    """A thread that waits leaves its PE with its spans; what runs meanwhile is not inside them."""
    f = Folder(tmp, 'threads')
    f.write(0, 1, record(1000, 'RESUME', more=(0, 7, 0)), record(1000, 'BEGIN', 1), record(2000, 'SUSPEND', more=(0, 7, 0)),
            record(3000, 'BEGIN', 2), record(3500, 'USER_BEGIN', 1), record(4000, 'USER_END', 1), record(5000, 'END', 2),
            record(6000, 'RESUME', more=(0, 7, 0)), record(6500, 'END', 2), record(7000, 'END', 1),
            record(8000, 'SUSPEND', more=(0, 7, 0)), record(11000, 'USER_MARK', 1), names=NAMES + [('event', 1, b'mark')])
    same(f.events(), [(0, 0, 'A::one'), (1000, 0, 'end'), (2000, 0, 'A::two'), (2500, 0, 'mark'), (3000, 0, 'end'),
                      (4000, 0, 'end'), (5000, 0, 'A::one'), (6000, 0, 'end'), (10000, 0, 'mark')], 'spans of threads')
    said = f.summary()
    for entry in ('one', 'two'):
        check(f'A::{entry}: 1 call, 2000 ns in all, longest {1000 if entry == "one" else 2000} ns' in said, entry, said)
    same(line_of(said, '0 '), ['0', '40.0', '0.0', '0.0', '0.0', '60.0'], 'each time is counted once')
    # A thread that runs inside a span cannot end it.
    f = Folder(tmp, 'inside')
    f.write(0, 1, record(1000, 'BEGIN', 1), record(2000, 'RESUME', more=(0, 8, 0)), record(3000, 'END', 1),
            record(4000, 'SUSPEND', more=(0, 8, 0)), record(5000, 'END', 1))
    same(f.events(), [(0, 0, 'A::one'), (4000, 0, 'end')], 'a span around a thread')
    print('ok spans of threads that wait')


def test_sums(tmp):
    """Idle time, how long entries ran, and who sent how much to whom."""
    f = Folder(tmp, 'sums')
    f.write(0, 2, record(1000, 'BEGIN', 1), record(1255, 'END', 1), record(2000, 'BEGIN', 1), record(2256, 'END', 1),
            record(3000, 'SEND', 0, 1, 1, (100, 0, 0)), record(3000, 'SEND', 0, 1, 2, (20, 0, 0)),
            record(3000, 'PUT', 0, 1, 1, (3, 0, 0)), record(3000, 'IDLE'), record(8000, 'BUSY'), record(11000, 'USER_MARK'))
    f.write(1, 2, record(3000, 'SEND', 0, 0, 1, (7, 0, 0)))
    said = f.summary()
    same(line_of(said, '0 ->'), ['0', '->', '1', '3', '123'], 'from PE 0')
    same(line_of(said, '1 ->'), ['1', '->', '0', '1', '7'], 'from PE 1')
    same(line_of(said, '0  '), ['0', '5.1', '0.0', '0.0', '50.0', '44.9'], 'use of PE 0')
    same([line_of(said, f'{ns} ns below')[3:] for ns in (256, 512)], [['1', '#' * 20]] * 2, 'how long entries ran')
    print('ok sums of a trace')


def test_path(tmp):
    """The critical path goes through a message only if its receiver had nothing to do before it came."""
    f = Folder(tmp, 'path')
    f.write(0, 2, record(1000, 'BEGIN', 1), record(3000, 'SEND', 0, 1, 1, (8, 0, 0)), record(9000, 'END', 1))
    f.write(1, 2, record(1000, 'BEGIN', 1), record(2500, 'END', 1), record(3500, 'BEGIN', 2, 0, 1, flags=DIRECT),
            record(5500, 'SEND', 0, 1, 1, (8, 0, 0)), record(8500, 'END', 2),
            record(8600, 'BEGIN', 1, 1, 1, flags=DIRECT), record(9600, 'END', 1))
    said = f.summary()
    # 1000 on PE 1 behind 5000 on PE 1, which a message of 500 brought that PE 0 had sent 2000 after its begin.
    check('critical path: 8600 ns; 8000 ns in handlers, 500 ns in 1 message, 100 ns between handlers of one PE' in said,
          'the path', said)
    print('ok the critical path')


# ---- messages ----------------------------------------------------------------------------------------

def test_numbered(tmp):
    """A message is joined by its number, though numbers wrap and it is handled again, and is counted once."""
    f = Folder(tmp, 'numbered')
    numbers = 0xfffffffe, 0xffffffff, 1, 2
    f.write(0, 2, *(record(1000 + 100 * i, 'SEND', 0, 1, n, (8, 0, 0)) for i, n in enumerate(numbers)))
    f.write(1, 2, *(record(2000 + 100 * i, 'TAKEN', 0, 0, n) for i, n in enumerate(reversed(numbers))),
            record(3000, 'TAKEN', 0, 0, 1, flags=AGAIN), record(3100, 'TAKEN', 0, 0, 3))
    same(f.arrows(), [(100 * i, 0, 1300 - 100 * i, 1) for i in range(4)], 'each by its number')
    check('4 sent, 5 handled, 4 joined' in f.summary(), 'counted once', f.summary())
    print('ok messages with numbers are joined by them')


def test_keyed(tmp):
    """Messages that look alike keep their order; of what has wrapped they are counted from the end, and no arrow runs
    backward."""
    f = Folder(tmp, 'keyed')
    f.write(0, 2, *(record(1000 + 100 * i, 'SEND', 0, 1, 5, (8, 0, 0), flags=KEYED) for i in range(3)))
    f.write(1, 2, *(record(2000 + 100 * i, 'HANDLE', 0, 0, 5, flags=KEYED) for i in range(2)),
            *(record(3000, 'HANDLE_END') for _ in range(2)))
    same(f.arrows(), [(0, 0, 1000, 1), (100, 0, 1100, 1)], 'in their order from the front')
    f = Folder(tmp, 'keyed-wrapped')
    f.write(0, 2, *(record(at, 'SEND', 0, 1, 5, (8, 0, 0), flags=KEYED) for at in (1000, 1100, 1200, 1300, 5000)), room=5)
    f.write(1, 2, *(record(at, 'TAKEN', 0, 0, 5, flags=KEYED) for at in (2000, 2100, 2200, 2300)))
    same(f.arrows(), [(0, 0, 1000, 1), (100, 0, 1100, 1), (200, 0, 1200, 1)], 'in their order from the end')
    print('ok messages without numbers are joined in their order')


# ---- names and damage ----------------------------------------------------------------------------------------------

def test_head(tmp):
    """A number in the head that cannot be is told."""
    f = Folder(tmp, 'head')
    f.write(0, 2, record(1000, 'USER_MARK', 1))
    with open(f'{f.path}/pe0.trace', 'rb') as file:
        good = file.read()
    head_bytes_at, room_at, pe_at = 16, 24, 32
    for at, form, value in ((head_bytes_at, '<Q', 4095), (head_bytes_at, '<Q', 4100), (room_at, '<Q', 0), (room_at, '<Q', 4),
                            (pe_at, '<i', -1), (pe_at, '<i', 2), (pe_at + 4, '<i', 0), (pe_at + 8, '<i', 1),
                            (pe_at + 8, '<i', -1), (readers.TAIL_AT + 8, '<Q', 4097)):
        bad = bytearray(good)
        struct.pack_into(form, bad, at, value)
        with open(f'{f.path}/pe0.trace', 'wb') as file:
            file.write(bad)
        said = run([CKTRACE, f.path], code=1).stderr
        check(said.endswith('pe0.trace: is damaged\n') and said.count('\n') == 1, 'a damaged head', at, value, said)
    for name in 'pe0.trace', 'pe1.trace':
        with open(f'{f.path}/{name}', 'wb') as file:
            file.write(good)
    said = run([CKTRACE, f.path], code=1).stderr
    check('belongs to another job than the files before it' in said, 'two files of a PE', said)
    print('ok numbers of the head that cannot be are told')


def test_names(tmp):
    """Names behind one that is longer than all names are left out; so are records of kinds that do not exist, and those
    that end what has not begun."""
    f = Folder(tmp, 'names')
    strange = bytearray(record(1500, 'USER_MARK', 1))
    strange[8] = 200
    f.write(0, 1, record(500, 'END', 1), record(600, 'USER_END', 1), record(700, 'SUSPEND', more=(0, 7, 0)),
            record(1000, 'BEGIN', 1), bytes(strange), record(2000, 'END', 1), record(2000, 'BEGIN', 2), record(3000, 'END', 2),
            record(3000, 'BEGIN', 9, 100, 1, flags=DIRECT), record(4000, 'SEND', 0, -2, 1), record(4000, 'SEND', 0, 100, 1))
    wanted = [(500, 0, 'A::one'), (1500, 0, 'end'), (1500, 0, 'A::two'), (2500, 0, 'end'), (2500, 0, '?'), (3500, 0, 'end'),
              (3500, 0, 'send'), (3500, 0, 'send')]
    same(f.events(), sorted(wanted), 'the rest is there')
    with open(f'{f.path}/pe0.trace', 'r+b') as file:
        file.seek(4096 + 16 + 4)
        file.write((24).to_bytes(4, 'little'))
    wanted = [(time, pe, '?' if name == 'A::two' else name) for time, pe, name in wanted]
    same(f.events(), sorted(wanted), 'and without the name that is too long')
    f.summary()
    check_logs(f)
    print('ok what is damaged behind the head is left out')


def test_unnamed(tmp):
    """A number without a name is "?" everywhere: the table of names was full, or the job still runs."""
    f = Folder(tmp, 'unnamed')
    f.write(0, 1, record(1000, 'BEGIN', 9), record(2000, 'END', 9), record(2000, 'HANDLE', 3), record(3000, 'HANDLE_END', 3),
            record(3000, 'USER_BEGIN', 0), record(4000, 'USER_END', 0), record(4000, 'USER_MARK', 5), names=NAMES)
    same(sorted(f.events()), sorted([(time, 0, name) for time in (0, 1000, 2000) for name in ('?', 'end')
                                     if (time, name) != (0, 'end')] + [(3000, 0, 'end'), (3000, 0, '?')]), 'spans')
    logs = check_logs(f)
    same((logs.events[100], logs.events[13]), (['?', '?'], ['?']), 'marks and spans of the program')
    check('?: 1 call, 1000 ns in all' in f.summary(), 'the summary', f.summary())
    print('ok what has no name is a question mark')


def main():
    check(RECORD.size == 32, 'a record has 32 bytes')
    with tempfile.TemporaryDirectory(prefix='chard-trace-') as tmp:
        test_speed(tmp)
        test_hosts(tmp)
        test_elements(tmp)
        test_wrapped(tmp)
        test_events(tmp)
        test_threads(tmp)
        test_sums(tmp)
        test_path(tmp)
        test_numbered(tmp)
        test_keyed(tmp)
        test_head(tmp)
        test_names(tmp)
        test_unnamed(tmp)


if __name__ == '__main__':
    main()
