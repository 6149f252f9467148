# SPDX-License-Identifier: Apache-2.0
"""Readers that share no code with cktrace: of the files that a job writes under CK_TRACE, of protocol buffers with
the published numbers of Perfetto's fields, of Projections' logs by their grammar, and of what otf2-print and
otf2-marker print of an OTF2 archive."""

import glob
import os
import re
import struct
import subprocess

KINDS = ('NONE SEND ARRIVE HANDLE HANDLE_END TAKEN BEGIN END IDLE BUSY PUT PUT_BEGIN PUT_END RESUME SUSPEND '
         'CREATE CONTRIBUTE USER_BEGIN USER_END USER_MARK USER_COUNTER ON OFF LEAVE COME').split()
HEAD = struct.Struct('<8sII QQ iiiiii')
# Behind the head's constant part, on a line of its own: count, bytes of names, ticks, ns, ended.
TAIL = struct.Struct('<QQQQQ')
TAIL_AT = (HEAD.size + 8 + 8 + 16 + 64 + 1024 + 63) // 64 * 64
DIRECT = 2


NAME = struct.Struct('<HHI')
NAME_KINDS = 'handler entry event'.split()


def read_names(data):
    """(kind, number): text"""
    names, at, end = {}, 4096, 4096 + TAIL.unpack_from(data, TAIL_AT)[1]
    while at < end:
        kind, number, size = NAME.unpack_from(data, at)
        names[NAME_KINDS[kind], number] = data[at + NAME.size:at + size].split(b'\0')[0].decode()
        at += size
    return names


class Trace:
    """One PE's file: `records` are (time, kind, flags, what, pe, seq, bytes); `names` by kind and number; `clock`
    the two pairs of ticks and ns."""

    def __init__(self, file):
        with open(file, 'rb') as f:
            data = f.read()
        (self.magic, _, size, start, room, self.pe, self.n_pes, _, _, _, _) = HEAD.unpack_from(data)
        self.count, _, _, _, self.ended = TAIL.unpack_from(data, TAIL_AT)
        self.names = read_names(data)
        self.clock = struct.unpack_from('<QQ', data, HEAD.size + 16), TAIL.unpack_from(data, TAIL_AT)[2:4]
        self.wrapped = self.count >= room
        first = self.count - room + 1 if self.wrapped else 0
        self.records = []
        for i in range(first, self.count):
            time, kind, flags, what, pe, seq, number = struct.unpack_from(
                '<QBBHiII', data, start + size * (i % room))
            self.records.append((time, KINDS[kind], flags, what, pe, seq, number))

    def n(self, kind):
        return sum(r[1] == kind for r in self.records)


def read_traces(folder, epoch=0):
    return [Trace(f) for f in sorted(glob.glob(f'{folder}/{f"e{epoch}-" if epoch else ""}pe*.trace'))]


# ---- protocol buffers --------------------------------------------------------------------------

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """Yield number, wire type and value of each field."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from('<Q', data, at)[0], at + 8
        elif kind == 2:
            n, at = varint(data, at)
            assert at + n <= len(data), 'a field is longer than its message'
            value, at = data[at:at + n], at + n
        else:
            raise AssertionError(f'wire type {kind}')
        yield tag >> 3, kind, value


def one(data, *path):
    """The value of the field that is found by these numbers, or None."""
    for number in path:
        data = next((v for n, _, v in fields(data) if n == number), None)
        if data is None:
            return None
    return data


class Perfetto:
    """A file of Perfetto's: tracks, and events as (time, track, type, name, starts, ends). `arguments` are (time, name,
    what it says of itself), of events that say something."""
    BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4

    def __init__(self, file):
        with open(file, 'rb') as f:
            data = f.read()
        self.tracks, self.events, self.counters, self.arguments = {}, [], [], []
        names, of_arguments = {}, {}
        for number, kind, packet in fields(data):
            assert (number, kind) == (1, 2), 'not a list of packets'
            sequence = one(packet, 10)
            if track := one(packet, 60):
                self.add_track(track)
            if interned := one(packet, 12):
                assert one(packet, 13) & 1, 'names without a cleared state'
                names[sequence] = {one(v, 1): one(v, 2).decode()
                                   for n, _, v in fields(interned) if n == 2}
                of_arguments[sequence] = {one(v, 1): one(v, 2).decode()
                                          for n, _, v in fields(interned) if n == 3}
            if event := one(packet, 11):
                assert one(packet, 13) & 2, 'an event that does not say that it needs names'
                self.add_event(one(packet, 8), event, names[sequence])
                self.add_arguments(event, of_arguments[sequence])

    def add_track(self, track):
        thread, process = one(track, 4), one(track, 3)
        name = one(thread, 5) if thread else one(process, 6) if process else one(track, 2)
        self.tracks[one(track, 1)] = (name.decode(), one(track, 5))

    def add_event(self, time, event, names):
        flows = {47: [], 48: []}
        for number, kind, value in fields(event):
            if number in flows:
                assert kind == 1, 'flow ids are fixed64'
                flows[number].append(value)
        name = one(event, 10)
        assert name is None or name in names, f'the name {name} is not in the table'
        track = one(event, 11)
        assert track in self.tracks, 'an event of no track'
        self.events.append((time, track, one(event, 9), names.get(name), flows[47], flows[48]))
        if one(event, 9) == self.COUNTER:
            self.counters.append(struct.unpack('<d', struct.pack('<Q', one(event, 44)))[0])

    def add_arguments(self, event, names):
        said = {}
        for number, _, value in fields(event):
            if number == 4:
                text = one(value, 6)
                said[names[one(value, 1)]] = one(value, 4) if text is None else text.decode()
        if said:
            self.arguments.append((self.events[-1][0], self.events[-1][3], said))

    def flows(self):
        """Flow: (where it starts, where it ends); each must have just one start and one end."""
        starts, ends = {}, {}
        for time, track, _, name, begun, ended in self.events:
            for list_, at in ((begun, starts), (ended, ends)):
                for flow in list_:
                    assert flow not in at, f'flow {flow} has two of one end'
                    at[flow] = (time, track, name)
        assert starts.keys() == ends.keys(), 'a flow with one end'
        return {f: (starts[f], ends[f]) for f in starts}

    def check_nesting(self):
        """On each track what begins ends, in the order of time."""
        depth, last = {}, {}
        for time, track, kind, _, _, _ in self.events:
            assert time >= last.get(track, 0), 'time runs backward on a track'
            last[track] = time
            depth[track] = depth.get(track, 0) + {self.BEGIN: 1, self.END: -1}.get(kind, 0)
            assert depth[track] >= 0, 'an end without a begin'
        assert not any(depth.values()), 'a begin without an end'


# ---- Projections -------------------------------------------------------------------------------

NUMBERS = {  # kind of a line: how many numbers follow it
    1: 7, 2: 12, 3: 7, 6: 1, 7: 1, 13: 4, 14: 2, 15: 2, 100: 4,
}
STS = [r'PROJECTIONS_ID \S+', r'VERSION 11\.0', r'TOTAL_PHASES 1', r'MACHINE ".*"', r'PROCESSORS \d+',
       r'SMPMODE \d+ \d+', r'COMMANDLINE ".*"', r'TOTAL_CHARES \d+', r'TOTAL_EPS \d+', r'TOTAL_MSGS \d+',
       r'TOTAL_PSEUDOS 0', r'TOTAL_EVENTS \d+']


class Projections:
    """A folder of logs; the constructor checks the grammar."""

    def __init__(self, folder):
        sts, = glob.glob(f'{folder}/*.sts')
        with open(sts, encoding='utf-8') as f:
            self.read_sts(f.read().splitlines())
        logs = glob.glob(f'{sts[:-4]}.*.log')
        assert len(logs) == self.total['PROCESSORS'], 'a log for each PE'
        self.creations, self.begins, self.lines = {}, [], 0
        self.events = {13: [], 100: []}      # names of the program's marks, and of both ends of its spans
        for log in logs:
            self.read_log(log, int(re.search(r'\.(\d+)\.log$', log)[1]))

    def read_sts(self, lines):
        for line, pattern in zip(lines, STS):
            assert re.fullmatch(pattern, line), f'{line!r} is not {pattern}'
        self.total = {line.split()[0]: int(line.split()[1]) for line in lines
                      if re.match(r'(TOTAL_\w+|PROCESSORS) ', line)}
        rest = lines[len(STS):]
        assert rest[-1] == 'END'
        patterns = {'CHARE': (r'CHARE (\d+) ".*" \d+', 'TOTAL_CHARES'),
                    'ENTRY': (r'ENTRY CHARE (\d+) ".*" \d+ \d+', 'TOTAL_EPS'),
                    'MESSAGE': (r'MESSAGE (\d+) \d+', 'TOTAL_MSGS'),
                    'EVENT': (r'EVENT (\d+) .+', 'TOTAL_EVENTS')}
        seen = {word: [] for word in patterns}
        self.event_names = [line.split(' ', 2)[2] for line in rest if line.startswith('EVENT ')]
        for line in rest[:-1]:
            word = line.split()[0]
            found = re.fullmatch(patterns[word][0], line)
            assert found, line
            seen[word].append(int(found[1]))
        for word, (_, total) in patterns.items():
            assert seen[word] == list(range(self.total[total])), f'{word}: {seen[word]}'

    def read_log(self, log, pe):
        with open(log, encoding='ascii') as f:
            head, *lines = f.read().splitlines()
        assert re.fullmatch(rf'PROJECTIONS-RECORD {len(lines)} *', head), head
        rows = [[int(word) for word in line.split()] for line in lines]
        assert rows[0][0] == 6 and rows[-1][0] == 7, 'not from begin to end'
        last, running = 0, None
        for row in rows:
            kind, numbers = row[0], row[1:]
            assert len(numbers) == NUMBERS[kind], f'{os.path.basename(log)}: {row}'
            time = numbers[0] if kind in (6, 7, 14, 15) else numbers[1] if kind in (13, 100) else numbers[2]
            assert time >= last, f'time runs backward: {row}'
            last = time
            if kind in self.events:
                self.events[kind].append(self.event_names[numbers[0]])
            if kind in (1, 2, 3):
                assert numbers[0] < self.total['TOTAL_MSGS'] and numbers[1] < self.total['TOTAL_EPS'], row
            if kind == 1:
                assert (numbers[3], pe) not in self.creations, f'two creations {row}'
                self.creations[numbers[3], pe] = (time, numbers[1])
            elif kind == 2:
                assert running is None, f'begins inside another: {row}'
                running = numbers[1]
                self.begins.append((numbers[3], numbers[4], time, numbers[1]))
            elif kind == 3:
                assert running == numbers[1], f'ends what has not begun: {row}'
                running = None
        assert running is None
        self.lines += len(rows)


# ---- OTF2 ----------------------------------------------------------------------------------------

class Otf2:
    """What OTF2's own tools read in an archive. The constructor checks that regions nest on each PE, in the order of
    time. `elements` are those of entries, in the order in which they begin. `enters` are (PE, region), `sent` and `taken` {(from, to, communicator, tag): (time, bytes)}."""

    def __init__(self, folder):
        self.definitions, self.enters, self.sent, self.taken = [], [], {}, {}
        self.metrics, self.marks, self.elements = [], [], []
        self.open, self.last = {}, {}
        for line in self.tool('otf2-print', '-Werror', '-A', folder):
            if found := re.match(r'([A-Z_]+) +(\d+) +(\d+)  (Region|Metric|Receiver|Sender): (.*)', line):
                self.add(found[1], int(found[2]), int(found[3]), found[5])
            elif found := re.search(r'\("element" <\d+>; STRING; "([^"]*)" <\d+>\)', line):
                self.elements.append(found[1])
            else:
                self.definitions.append(line)
        assert not any(self.open.values()), 'a region that is not left'
        for line in self.tool('otf2-marker', folder):
            if line.startswith('MARKER '):
                self.marks.append(int(re.search(r'LOCATION:(\d+)', line)[1]))

    @staticmethod
    def tool(name, *arguments):
        *options, folder = arguments
        done = subprocess.run([name, *options, f'{folder}/traces.otf2'], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=300, check=False)
        assert done.returncode == 0, done.stdout[-2000:]
        return done.stdout.splitlines()

    def add(self, kind, pe, time, rest):
        assert time >= self.last.get(pe, 0), 'time runs backward on a PE'
        self.last[pe] = time
        stack = self.open.setdefault(pe, [])
        if kind == 'ENTER':
            stack.append(rest)
            self.enters.append((pe, re.match(r'"(.*)" <\d+>', rest)[1]))
        elif kind == 'LEAVE':
            assert stack.pop() == rest, 'a region is left that is not the innermost'
        elif kind == 'METRIC':
            self.metrics.append(float(re.search(r'\("[^)]*; ([-\d.e+]+)\)', rest)[1]))
        else:
            self.add_message(kind, pe, time, rest)

    def add_message(self, kind, pe, time, rest):
        rank, _, comm, tag, size = re.match(
            r'(\d+) \("PE (\d+)" <\d+>\), Communicator: "(\w+)" <\d+>, Tag: (\d+), Length: (\d+)', rest).groups()
        other = int(rank)
        ends = self.sent if kind == 'MPI_SEND' else self.taken
        key = (pe, other, comm, tag) if kind == 'MPI_SEND' else (other, pe, comm, tag)
        assert kind in ('MPI_SEND', 'MPI_RECV') and key not in ends, f'{kind} {key}'
        ends[key] = (time, int(size))
