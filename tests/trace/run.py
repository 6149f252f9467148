#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a job records under CK_TRACE, and what cktrace makes of it.

    tests/trace/run.py BUILD

Prints "ok ..." for each fact; ends with exit code 1 at the first one that is not so."""

import collections
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import readers  # noqa: E402
from commands import check, run  # noqa: E402

BUILD = sys.argv[1]
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CKRUN, CKTRACE = f'{BUILD}/bin/ckrun', f'{BUILD}/bin/cktrace'
TRACED, STENCIL = f'{BUILD}/tests/programs/traced', f'{BUILD}/examples/stencil/stencil'


def convert(folder):
    run([CKTRACE, '-p', f'{folder}.pb', '-j', f'{folder}.logs', folder])
    perfetto = readers.Perfetto(f'{folder}.pb')
    perfetto.check_nesting()
    return perfetto, readers.Projections(f'{folder}.logs')


OTF2_TOOLS = shutil.which('otf2-print') and shutil.which('otf2-marker')


def check_otf2(folder, perfetto, shape):
    """The archive that cktrace writes says what the Perfetto trace and the PEs' own files say. None: it cannot be
    written or read here, which main() says."""
    if not otf2_is_here():
        return None
    run([CKTRACE, '--otf2', f'{folder}.otf2', folder])
    read = readers.Otf2(f'{folder}.otf2')
    begun = collections.Counter((perfetto.tracks[track][0], name) for _, track, kind, name, _, _ in perfetto.events
                                if kind == perfetto.BEGIN)
    entered = collections.Counter((f'PE {pe}', name) for pe, name in read.enters)
    check(entered == begun, 'the regions entered are the spans', entered - begun, begun - entered)
    check(read.sent.keys() == read.taken.keys(), 'each MpiSend has its MpiRecv')
    check(all(read.taken[m][0] >= at for m, (at, _) in read.sent.items()), 'none runs backward')
    check(all(read.taken[m][1] == size for m, (_, size) in read.sent.items()), 'both ends say the same bytes')
    check(len(read.sent) == len(perfetto.flows()), 'as many as arrows', len(read.sent))
    traces = readers.read_traces(folder)
    for t in traces:
        for kind, comm in (('SEND', 'messages'), ('PUT', 'puts')):
            sent = sum(pe == t.pe and c == comm for pe, _, c, _ in read.sent)
            check(sent == t.n(kind), f'each record {kind} of PE {t.pe} is an MpiSend', sent, t.n(kind))
    check(sorted(read.metrics) == sorted(perfetto.counters), 'values of counters')
    marks = collections.Counter(read.marks)
    check(all(marks[t.pe] == t.n('USER_MARK') for t in traces), 'marks')
    for pattern, number in ((r'SYSTEM_TREE_NODE  .*Parent: "machine::job"', 1), (r'LOCATION_GROUP  ', shape[0]),
                            (r'LOCATION  ', len(traces)), (r'CLOCK_PROPERTIES .*Ticks per Seconds: 1000000000,', 1)):
        found = sum(re.match(pattern, line) is not None for line in read.definitions)
        check(found == number, f'definitions of {pattern}', found, number)
    return read


def otf2_is_here():
    """Whether cktrace was built with OTF2 and OTF2's tools are installed."""
    linked = subprocess.run(['ldd', CKTRACE], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return bool(OTF2_TOOLS) and 'libopen-trace-format2' in linked.stdout


def job(folder, shape, *command, mb=32, **env):
    nodes, pes = shape
    run([CKRUN, '-n', str(nodes * pes), '--ppn', str(pes), *command], CK_TRACE=f'{folder},{mb}', **env)
    traces = readers.read_traces(folder)
    check(len(traces) == nodes * pes, f'{folder}: a file for each PE')
    return traces


def total(traces, *kinds):
    return sum(t.n(kind) for t in traces for kind in kinds)


def check_arrows(flows):
    for start, end in flows.values():
        check(start[0] <= end[0], 'an arrow runs backward', start, end)


def test_whole(tmp, shape):
    """A trace from begin to end: every message has its arrow, from its sender to its handler."""
    folder = f'{tmp}/whole{shape[0]}x{shape[1]}'
    traces = job(folder, shape, TRACED, '30')
    perfetto, logs = convert(folder)
    flows = perfetto.flows()
    sent = total(traces, 'SEND')
    check(all(t.ended and not t.wrapped for t in traces), 'the trace is whole')
    check(len(flows) == sent, 'flows = messages', len(flows), sent)
    check_arrows(flows)
    names = {name for _, _, _, name, _, _ in perfetto.events}
    for name in ('Cell::hop', 'Cell::first', 'Cell::waits', 'Main::counted', 'work', 'waiting', 'first hop', 'idle',
                 'created', 'contributes', 'send'):
        check(name in names, f'{name} is in the trace')
    check('Cell::unseen' not in names, 'a [notrace] entry is not')
    hops = 2 * 2 * len(traces) * 30
    begun = [e for e in perfetto.events if e[2] == perfetto.BEGIN]
    check(sum(e[3] in ('Cell::hop', 'Cell::first') for e in begun) == hops, 'each hop is a span')
    check(sum(e[3] == 'work' for e in begun) == hops, 'with a span of the program in it')
    check(len(perfetto.counters) == hops and set(perfetto.counters) == set(range(30)), 'values of the counter')
    check(sum(e[3] == 'first hop' for e in perfetto.events) == 2 * len(traces), 'marks')
    check(sum(e[3] == 'Cell::waits' for e in begun) == 4 * 2 * len(traces), 'a thread that gives way 3 times')
    check(sum(name.startswith('PE ') for name, _ in perfetto.tracks.values()) == len(traces), 'a track for each PE')
    print(f'ok every message of a job of {shape[0]}x{shape[1]} has an arrow, forward, to its handler')

    if check_otf2(folder, perfetto, shape):
        print(f'ok OTF2\'s own tools read the same at {shape[0]}x{shape[1]}')
    check(len(logs.creations) == sent, 'a creation for each message', len(logs.creations), sent)
    marks = collections.Counter(logs.events[13])
    check(marks == {'first hop': 2 * len(traces), 'odd PE': 2 * (len(traces) // 2)}, 'marks in the logs', marks)
    check(logs.events[100].count('work') == 2 * hops, 'spans in the logs', logs.events[100].count('work'))
    joined = 0
    for event, pe, at, entry in logs.begins:
        if made := logs.creations.get((event, pe)):
            check(made[0] <= at and made[1] == entry, 'a creation before its processing', event, pe, at, made)
            joined += 1
    check(joined >= len(flows), 'processing has its creation', joined)
    print(f'ok the logs for Projections keep to its grammar at {shape[0]}x{shape[1]}')


def test_moves(tmp, shape):
    """Elements that move, to PEs that have none of their own, too; with a body that waits."""
    folder = f'{tmp}/moves{shape[0]}x{shape[1]}'
    traces = job(folder, shape, f'{BUILD}/tests/programs/migrate_steps', '7')
    perfetto, _ = convert(folder)
    left, came = total(traces, 'LEAVE'), total(traces, 'COME')
    check(0 < came <= left <= came + 8, 'whatever left has come, but for the end of the job', left, came)
    names = collections.Counter(e[3] for e in perfetto.events)
    check((names['leaves'], names['has come']) == (left, came), 'moves in Perfetto', names)
    check(sum(e[3] == 'Cell::run' and e[2] == perfetto.BEGIN for e in perfetto.events) > left, 'bodies go on')
    summary = run([CKTRACE, folder]).stdout
    check(f'moves     {left} elements left their PEs, {came} came\n' in summary, 'moves in the summary', summary)
    run([CKTRACE, '--html', f'{folder}.html', folder])
    print(f'ok elements that move at {shape[0]}x{shape[1]} leave one PE and come to another')


def test_puts(tmp):
    """Puts are joined with the functions that they call."""
    folder = f'{tmp}/puts'
    traces = job(folder, (2, 1), STENCIL, '--iters', '10', '--no-verify')
    perfetto, _ = convert(folder)
    flows = perfetto.flows()
    puts = [f for f in flows.values() if f[0][2] == 'put']
    check(total(traces, 'PUT') > 0 and total(traces, 'PUT') == total(traces, 'PUT_BEGIN'), 'puts come')
    check(len(puts) == total(traces, 'PUT') and all(end[2] == 'put arrived' for _, end in puts), 'and have arrows')
    check(len(flows) == total(traces, 'PUT', 'SEND'), 'as all messages do', len(flows))
    check_arrows(flows)
    check_otf2(folder, perfetto, (2, 1))
    print('ok every put has an arrow to its function')


def test_wrapped(tmp):
    """A ring of 1 MB that has wrapped: what is left is joined, and no arrow runs backward."""
    folder = f'{tmp}/wrapped'
    traces = job(folder, (2, 2), TRACED, '9000', mb=1)
    perfetto, _ = convert(folder)
    flows = perfetto.flows()
    check(all(t.wrapped and t.ended for t in traces), 'the rings have wrapped')
    check_arrows(flows)
    handled = sum(r[1] in ('HANDLE', 'TAKEN') or (r[1] == 'BEGIN' and r[2] & readers.DIRECT != 0)
                  for t in traces for r in t.records)
    check(len(flows) > 0.8 * handled, 'most of what is left is joined', len(flows), handled)
    check('the oldest are gone' in run([CKTRACE, folder]).stdout, 'the summary says so')
    print('ok a ring that has wrapped is joined from its end')


def test_killed(tmp):
    """kill -9 of a node: the trace is there."""
    folder = f'{tmp}/killed'
    command = [CKRUN, '-n', '2', TRACED, '100000000']
    with subprocess.Popen(command, env={**os.environ, 'CK_TRACE': f'{folder},4'}, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as running:
        end = time.monotonic() + 120
        while time.monotonic() < end:
            traces = readers.read_traces(folder) if os.path.exists(f'{folder}/pe1.trace') else []
            if len(traces) == 2 and all(t.count > 2000 for t in traces):
                break
            time.sleep(0.05)
        with open(f'{folder}/pe1.trace', 'rb') as f:
            pid = readers.HEAD.unpack(f.read(readers.HEAD.size))[10]
        os.kill(pid, signal.SIGKILL)
        _, said = running.communicate(timeout=120)
    check(running.returncode == 137 or running.returncode == 1, 'the job ends', running.returncode, said)
    traces = readers.read_traces(folder)
    check(len(traces) == 2 and not any(t.ended for t in traces), 'neither PE has come to its end')
    check(all(len(t.records) > 1000 for t in traces), 'both have records')
    perfetto, _ = convert(folder)
    flows = perfetto.flows()
    check_arrows(flows)
    check(len(flows) > 500, 'messages are joined', len(flows))
    check('did not end normally' in run([CKTRACE, folder]).stdout, 'the summary says so')
    print('ok the trace of a job whose node was killed is read')


def test_off(tmp):
    """CkTraceOff and CkTraceOn: nothing is recorded between them, and what is recorded is joined rightly."""
    folder = f'{tmp}/off'
    traces = job(folder, (2, 2), TRACED, '200', 'quiet')
    whole = 2 * 2 * len(traces) * 200
    begun = sum(r[1] == 'USER_BEGIN' for t in traces for r in t.records)
    check(all(t.n('OFF') == 1 and t.n('ON') == 1 for t in traces), 'each PE is off and on once')
    for t in traces:
        kinds = [r[1] for r in t.records]
        check(kinds.index('ON') == kinds.index('OFF') + 1, 'nothing lies between')
    check(0 < begun < whole, 'so there are fewer spans', begun, whole)
    perfetto, _ = convert(folder)
    check_arrows(perfetto.flows())
    print('ok CkTraceOff and CkTraceOn')


def move_clock(file, host, other):
    """Write into a PE's file the times of another host, whose clock says other(t) when ours says t."""
    with open(file, 'rb') as f:
        data = bytearray(f.read())
    head = readers.HEAD.unpack_from(data)
    start, room, count = head[3], head[4], readers.TAIL.unpack_from(data, readers.TAIL_AT)[0]
    at_host = readers.HEAD.size
    times = [at + tick_or_ns for at in (at_host + 16, readers.TAIL_AT + 16) for tick_or_ns in (0, 8)]
    times += [start + 32 * i for i in range(min(count, room))]
    data[at_host:at_host + 8] = host
    for at in times:
        data[at:at + 8] = other(int.from_bytes(data[at:at + 8], 'little')).to_bytes(8, 'little')
    with open(file, 'wb') as f:
        f.write(data)


def times_of(perfetto, pe):
    """When the events of a PE are, from the job's first one."""
    tracks = {track for track, (name, _) in perfetto.tracks.items() if name == f'PE {pe}'}
    return [e[0] for e in perfetto.events if e[1] in tracks]


def messages_of(perfetto, pe):
    """Messages between a PE and the others, as they are sent: (sent, taken, whether the PE sends it)."""
    ends = [(sent, taken, perfetto.tracks[a][0] == f'PE {pe}', perfetto.tracks[c][0] == f'PE {pe}')
            for (sent, a, _), (taken, c, _) in perfetto.flows().values()]
    return sorted((sent, taken, out) for sent, taken, out, back in ends if out != back)


def round_trip(messages):
    """The fastest message in each direction, added up."""
    return sum(min(taken - sent for sent, taken, out in messages if out == way) for way in (True, False))


def check_hosts(plain, folder, moved):
    """Convert the folder, in which the clocks of these PEs were moved. Returns flows that were lost."""
    for pe, (host, other) in moved.items():
        move_clock(f'{folder}/pe{pe}.trace', host, other)
    perfetto, _ = convert(folder)
    check_arrows(perfetto.flows())
    summary = run([CKTRACE, folder]).stdout
    check(f'{len(moved) + 1} hosts' in summary, 'hosts', summary)
    return perfetto, len(plain.flows()) - len(perfetto.flows()), summary


def test_hosts(tmp):
    """Clocks of hosts: the times of some PEs are changed in their files, as if those were on hosts of their own."""
    folder, hour = f'{tmp}/hosts', 3600 * 10 ** 9
    job(folder, (3, 1), TRACED, '300')
    plain, _ = convert(folder)
    messages = messages_of(plain, 1)
    n, start = len(messages), read_start(f'{folder}/pe1.trace')
    # Between the first and the last quarter of the messages, a line that keeps to the bounds of both is as close as
    # the slower of their fastest round trips.
    bound = max(round_trip(messages[:n // 4]), round_trip(messages[-(n // 4):]))
    middle = (messages[n // 4][0], messages[-(n // 4)][0])
    for name, other in (('offset', lambda t: t + hour), ('drift', lambda t: t + hour + (t - start) // 200)):
        shutil.copytree(folder, f'{folder}-{name}')
        perfetto, missing, summary = check_hosts(plain, f'{folder}-{name}', {1: (b'another1', other)})
        check(missing == 0 and 'not joined' not in summary, f'{name}: no arrow is lost', missing)
        # Our host's speed may now be that which another of its PEs has measured.
        here = {b - a for a, b in zip(times_of(plain, 0), times_of(perfetto, 0))}
        speed = max(here) - min(here)
        check(speed <= bound, 'our own times stay', speed)
        wrong = max(abs(b - a - min(here)) for a, b in zip(times_of(plain, 1), times_of(perfetto, 1))
                    if middle[0] <= a <= middle[1])
        check(wrong <= bound + speed + 2, f'{name}: the times of the other host are recovered', wrong, bound)
        print(f'ok clocks of two hosts, {name}: wrong by {wrong} ns at most, round trips allow {bound} ns')
    print(f'ok clocks of three hosts: {three_hosts(tmp)} arrows are lost')


def three_hosts(tmp):
    """Arrows that are lost. Beside four compilers a job twice as long lost 380 of its 8,500, as its round trips were slow,
    and by itself none; so there are three tries."""
    hour = 3600 * 10 ** 9
    for attempt in range(3):
        folder = f'{tmp}/three{attempt}'
        job(folder, (3, 1), TRACED, '300')
        plain, _ = convert(folder)
        n = len(messages_of(plain, 1))
        _, missing, _ = check_hosts(plain, folder, {1: (b'another1', lambda t: t + hour), 2: (b'another2', lambda t: t + 5 * hour)})
        if missing < n // 20:
            break
    check(missing < n // 20, 'hardly any arrow of three hosts is lost', missing, n)
    return missing


def read_start(file):
    with open(file, 'rb') as f:
        return int.from_bytes(f.read(readers.HEAD.size + 24)[-8:], 'little')


def test_refused(tmp):
    """Values of CK_TRACE, and folders that cannot be."""
    with open(f'{tmp}/file', 'w', encoding='ascii'):
        pass
    for value in (',4', 'x,0', 'x,many', 'x,', 'x,-1', 'x,100000'):
        said = run([TRACED], code=1, CK_TRACE=value).stderr
        check(said.startswith(f'chard: CK_TRACE={value} is refused: it must be a folder') and said.count('\n') == 1,
              f'CK_TRACE={value}', said)
    for folder, why in ((f'{tmp}/file', 'Not a directory'), (f'{tmp}/none/below', 'No such file'),
                        ('/dev/full', 'Not a directory')):
        said = run([TRACED], code=1, CK_TRACE=folder).stderr
        check(f'CK_TRACE={folder} is refused: it must be a folder in which files can be made ({why}' in said and
              said.count('\n') == 1, f'CK_TRACE={folder}', said)
    print('ok values of CK_TRACE that make no sense are refused')


def test_full(tmp):
    """A limit on the size of files stands for a full disk: there is no room, and no SIGBUS later."""
    done = subprocess.run(['bash', '-c', f'trap "" XFSZ; ulimit -f 1024; exec {TRACED}'], text=True, check=False,
                          env={**os.environ, 'CK_TRACE': f'{tmp}/full,64'}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60)
    check(done.returncode == 1 and 'cannot make' in done.stderr and 'File too large' in done.stderr and
          done.stderr.count('\n') == 1, 'no room', done.returncode, done.stderr)
    check(not os.path.exists(f'{tmp}/full/pe0.trace'), 'nothing is left')
    print('ok a trace for which there is no room is refused when the job starts')


def test_reader(tmp):
    """cktrace says what is wrong with what it is given."""
    os.mkdir(f'{tmp}/empty')
    check('has no trace' in run([CKTRACE, f'{tmp}/empty'], code=1).stderr, 'an empty folder')
    check('No such file' in run([CKTRACE, f'{tmp}/nowhere'], code=1).stderr, 'no folder')
    check('usage' in run([CKTRACE], code=2).stderr, 'no argument')
    said = run([CKTRACE, f'{tmp}/a\033[31m\nb' + 'x' * 100000], code=1).stderr
    check(f'{tmp}/a?[31m?bxxx' in said and len(said) < 1000 and said.count('\n') == 1, 'a folder\'s name is masked and cut', said)
    said = run([CKTRACE, '--x\033' + 'y' * 100000], code=2).stderr.split('\n')[0]
    check(said.startswith('cktrace: --x?yyy') and said.endswith('yyy is no option, or it lacks its value') and
          len(said) < 1000, 'no option', said)
    os.mkdir(f'{tmp}/masked')
    for pe in range(4):
        with open(f'{tmp}/whole2x2/pe{pe}.trace', 'rb') as f, open(f'{tmp}/masked/pe{pe}.trace', 'wb') as to:
            to.write(f.read().replace(b'::', b'\033:'))
    said = run([CKTRACE, f'{tmp}/masked']).stdout
    check('?:' in said and '\033' not in said, 'control characters in names', said)
    os.mkdir(f'{tmp}/wrong')
    with open(f'{tmp}/whole2x2/pe0.trace', 'rb') as f:
        good = f.read()
    for at, size in ((0, None), (16, None), (24, None), (32, None), (40, None), (None, 100), (None, 5000)):
        bad = bytearray(good[:size])
        if at is not None:
            bad[at:at + 8] = b'\xff' * 8
        with open(f'{tmp}/wrong/pe0.trace', 'wb') as f:
            f.write(bad)
        said = run([CKTRACE, f'{tmp}/wrong'], code=1).stderr
        check('is not a trace' in said or 'is damaged' in said or 'version' in said, 'a damaged file', at, size, said)
    with open(f'{tmp}/wrong/pe0.trace', 'wb') as f:
        f.write(good)
    check('3 of the job\'s 4 PEs are missing' in run([CKTRACE, f'{tmp}/wrong']).stderr, 'missing files')
    check('/dev/full' in run([CKTRACE, '-p', '/dev/full', f'{tmp}/whole2x2'], code=1).stderr, 'a full disk')
    print('ok cktrace refuses what is not a trace')


def test_without_otf2(tmp):
    """A cktrace that was built where OTF2 is missing says so, and still does the rest."""
    sources = [f for f in glob.glob(f'{TOP}/trace-reader/*.c') if not f.endswith('/otf2.c')]
    run(['cc', '-std=c11', '-D_GNU_SOURCE', f'-I{TOP}/runtime/trace', '-o', f'{tmp}/cktrace', *sources,
         f'-Wa,-I{TOP}/trace-reader/page', f'{TOP}/trace-reader/page.S', '-lm'])
    said = run([f'{tmp}/cktrace', '--otf2', f'{tmp}/none.otf2', f'{tmp}/whole2x2'], code=1).stderr
    check('this cktrace was built without OTF2. Install libotf2-trace-dev' in said and said.count('\n') == 1,
          'the message', said)
    check(not os.path.exists(f'{tmp}/none.otf2'), 'nothing is left')
    check('utilisation' in run([f'{tmp}/cktrace', f'{tmp}/whole2x2']).stdout, 'the summary')
    print('ok a cktrace without OTF2 says so')


def test_otf2_refused(tmp):
    """An archive that cannot be written is one line, and exit code 1."""
    again = run([CKTRACE, '--otf2', f'{tmp}/whole2x2.otf2', f'{tmp}/whole2x2'], code=1).stderr
    check('whole2x2.otf2: OTF2: File does already exist' in again and again.count('\n') == 1, 'an archive is there', again)
    said = run([CKTRACE, '--otf2', f'{tmp}/file', f'{tmp}/whole2x2'], code=1).stderr
    check(f'cktrace: {tmp}/file: OTF2: This is not a directory' in said and said.count('\n') == 1, 'a file', said)
    full = f'trap "" XFSZ; ulimit -f 4; exec {CKTRACE} --otf2 {tmp}/small.otf2 {tmp}/whole2x2'
    said = run(['bash', '-c', full], code=1).stderr
    check('OTF2: File is too large' in said and said.count('\n') == 1, 'a full disk', said)
    os.mkdir(f'{tmp}/some')
    for pe in (0, 3):
        shutil.copy(f'{tmp}/whole2x2/pe{pe}.trace', f'{tmp}/some')
    run([CKTRACE, '--otf2', f'{tmp}/some.otf2', f'{tmp}/some'])
    read = readers.Otf2(f'{tmp}/some.otf2')
    check(read.sent and read.sent.keys() == read.taken.keys(), 'two of four PEs have messages')
    names = [line for line in read.definitions if line.startswith('LOCATION  ')]
    check(len(names) == 2 and '"PE 0"' in names[0] and '"PE 3"' in names[1], 'PEs keep their names', names)
    print('ok OTF2 archives that cannot be written, and of some PEs')


def test_smaller(tmp):
    """A smaller job in the same folder leaves nothing of the larger one."""
    folder = f'{tmp}/whole2x2'
    job(folder, (1, 1), TRACED, '5')
    print('ok a folder has the trace of one job')


SAVES = f'{BUILD}/tests/programs/saves'


def test_epochs(tmp):
    """A job that is started again keeps the trace of the nodes that have died, and cktrace reads each by itself."""
    folder, disk = f'{tmp}/epochs', f'{tmp}/epochs.ck'
    dies = {name: os.environ.get(name, '') + ':handle_segv=0' for name in ('ASAN_OPTIONS', 'TSAN_OPTIONS')}
    # It saves itself after rounds 7 and 14, and dies after round 9.
    run([CKRUN, '--replace', '1', '-n', '4', '--ppn', '2', SAVES, disk, '20', '7', '0', '-9'],
        CK_TRACE=f'{folder},1', **dies)
    first, again = readers.read_traces(folder), readers.read_traces(folder, 1)
    check(len(first) == len(again) == 4, 'a file for each PE and epoch', os.listdir(folder))
    check(not any(t.ended for t in first) and all(t.ended for t in again), 'only the last has ended')
    # From disk, as another job with other PEs: the third start.
    run([CKRUN, '--restart', disk, '-n', '1', SAVES], CK_TRACE=f'{folder},1')
    done = run([CKTRACE, folder])
    check('this is epoch 2, the last of 3 that are here' in done.stderr, 'the last one is read', done.stderr)
    lines = [line for line in done.stdout.split('\n') if ' PE' in line and ', from ' in line]
    for line, want in zip(lines, (r'epochs    0   4 PEs, from the beginning; it did not end normally',
                                  r'          1   4 PEs, from checkpoint 1, [0-9.]+ s after epoch 0 began',
                                  r'        \* 2   1 PE, from checkpoint 2, [0-9.]+ s after epoch 1 began'), strict=True):
        check(re.fullmatch(want, line), 'the epochs', line)
    check(re.search(r'job +1 PE, 1 node', done.stdout), 'its PEs', done.stdout)
    for epoch, pes in ((0, first), (1, again)):
        done = run([CKTRACE, '--epoch', str(epoch), '-p', f'{tmp}/e.pb', '-s', '--html', f'{tmp}/e.html', folder])
        flows = readers.Perfetto(f'{tmp}/e.pb').flows()
        check_arrows(flows)
        sent = total(pes, 'SEND')
        check(0 < len(flows) <= sent and (len(flows) == sent or not epoch), 'messages of one epoch', len(flows), sent)
        check(not done.stderr, 'no more lines', done.stderr)
        with open(f'{tmp}/e.html', encoding='utf-8') as f:
            check(f'"epoch":{epoch},"checkpoint":{epoch},' in f.read(), 'the page has it')
    run([CKRUN, '--replace', '1', '-n', '2', SAVES, disk, '20', '30', '0', '-3'], code=139,
        CK_TRACE=f'{tmp}/twice,1', **dies)
    check(sorted(os.listdir(f'{tmp}/twice')) == ['e1-pe0.trace', 'e1-pe1.trace', 'pe0.trace', 'pe1.trace'],
          'a start from the beginning is an epoch', os.listdir(f'{tmp}/twice'))
    said = run([CKTRACE, '--epoch', '3', folder], code=1).stderr
    check('there is no epoch 3; the last one is 2' in said and said.count('\n') == 1, 'an epoch that is not there', said)
    run([CKTRACE, '-e', '1x', folder], code=2)
    if otf2_is_here():
        run([CKTRACE, '-e', '1', '--otf2', f'{tmp}/e.otf2', folder])
        with open(f'{tmp}/e.otf2/traces.otf2', 'rb') as f:
            anchor = f.read()
        check(b'CHARD::EPOCH' in anchor and b'CHARD::CHECKPOINT' in anchor, 'the archive has it')
    os.rename(f'{folder}/e1-pe2.trace', f'{folder}/e2-pe2.trace')
    said = run([CKTRACE, folder], code=1).stderr
    check('e2-pe2.trace: is not of the epoch that its name says' in said, 'a file of another epoch', said)
    job(folder, (1, 1), TRACED, '5')
    check(os.listdir(folder) == ['pe0.trace'], 'a new job leaves nothing of another', os.listdir(folder))
    print('ok a job that is started again has a trace for each start')


def main():
    with tempfile.TemporaryDirectory(prefix='chard-trace-') as tmp:
        test_whole(tmp, (2, 2))
        test_whole(tmp, (1, 3))
        test_moves(tmp, (2, 2))
        test_moves(tmp, (1, 12))
        test_puts(tmp)
        test_wrapped(tmp)
        test_killed(tmp)
        test_epochs(tmp)
        test_off(tmp)
        test_hosts(tmp)
        test_refused(tmp)
        test_full(tmp)
        test_reader(tmp)
        test_without_otf2(tmp)
        if otf2_is_here():
            test_otf2_refused(tmp)
        else:
            print('skip OTF2: libotf2-trace-dev was not there when cktrace was built, or otf2-tools are not here now')
        test_smaller(tmp)


if __name__ == '__main__':
    main()
