#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page that cktrace --html writes, in a real browser.

    tests/trace/page.py BUILD

Prints "ok ..." for each fact; ends with exit code 1 at the first one that is not so. Without a browser it prints a
line "skip ..." and ends with 77. What must be on the page is counted in the trace by readers.py, which shares nothing
with cktrace; mouse and keys go through the browser, and what it shows is read from its document, from the colours of
its pixels, and from the words that it draws."""

import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser  # noqa: E402
import readers  # noqa: E402
from commands import check, run  # noqa: E402
import synthetic  # noqa: E402

BUILD = sys.argv[1]
CKRUN, CKTRACE = f'{BUILD}/bin/ckrun', f'{BUILD}/bin/cktrace'
STENCIL, TRACED = f'{BUILD}/examples/stencil/stencil', f'{BUILD}/tests/programs/traced'
BARS = 'HANDLE BEGIN PUT_BEGIN USER_BEGIN IDLE'.split()
MOMENTS = 'ARRIVE TAKEN CREATE CONTRIBUTE USER_MARK USER_COUNTER'.split()
GUTTER, RIGHT = 86, 12

# What is drawn: the words of the last frame with their places, and how many rectangles.
WATCH_CANVAS = '''
    window.words = []; window.rectangles = 0; window.most = 0;
    const C = CanvasRenderingContext2D.prototype, fillText = C.fillText, fillRect = C.fillRect;
    C.fillText = function (text, x, y) {
        if (this.canvas.id === 'timeline') words.push({ text: String(text), x, y });
        fillText.call(this, text, x, y);
    };
    C.fillRect = function (...at) {
        if (this.canvas.id === 'timeline' && at[2] === this.canvas.clientWidth && at[3] === this.canvas.clientHeight)
            { words.length = 0; rectangles = 0; }
        most = Math.max(most, ++rectangles);
        fillRect.apply(this, at);
    };'''


def job(folder, *command):
    run([CKRUN, '-n', '4', '--ppn', '2', *command], CK_TRACE=f'{folder},16')
    traces = readers.read_traces(folder)
    check(len(traces) == 4 and not any(t.wrapped for t in traces), f'{folder}: a whole file for each PE')
    return traces


def page_of(folder, *options):
    said = run([CKTRACE, '--html', f'{folder}.html', *options, folder]).stderr
    return f'{folder}.html', said


def near(a, b, by):
    return abs(a - b) <= by


def nanoseconds(text):
    value, unit = re.match(r'([\d.,]+) (\S+)', text).groups()
    return float(value.replace(',', '')) * {'ns': 1, 'µs': 1e3, 'ms': 1e6, 's': 1e9}[unit]


# ---- what the trace has -----------------------------------------------------------------------

class Times:
    """ns since the first record, for jobs of one host."""

    def __init__(self, traces):
        start, last = max((t.clock for t in traces), key=lambda c: c[1][0] - c[0][0])
        self.rate = (last[1] - start[1]) / (last[0] - start[0]) if last[0] > start[0] else 1
        self.first = min(r[0] for t in traces for r in t.records)
        self.end = self.of(max(r[0] for t in traces for r in t.records))

    def of(self, ticks):
        return (ticks - self.first) * self.rate


def spans(traces, times):
    """(PE, name, start, end, from) of entries and puts that no thread runs."""
    found = []
    for t in traces:
        open_ = []
        for time, kind, _, what, pe, _, _ in t.records:
            if kind in ('BEGIN', 'PUT_BEGIN'):
                name = t.names['entry', what] if kind == 'BEGIN' else 'put arrived'
                open_.append((t.pe, name, times.of(time), pe))
            elif kind in ('END', 'PUT_END'):
                pe_, name, start, from_ = open_.pop()
                found.append((pe_, name, start, times.of(time), from_))
    return found


def numbered_arrows(traces, times):
    """(from, sent, to, taken, bytes) of messages that carry a number."""
    sent = {(t.pe, r[5]): r for t in traces for r in t.records if r[1] == 'SEND' and not r[2] & 1}
    found = []
    for t in traces:
        for time, kind, flags, _, pe, seq, _ in t.records:
            handled = kind in ('HANDLE', 'TAKEN') or (kind == 'BEGIN' and flags & readers.DIRECT)
            if handled and not flags & (1 | 8) and (pe, seq) in sent:
                send = sent[pe, seq]
                found.append((pe, times.of(send[0]), t.pe, times.of(time), send[6]))
    return found


# ---- what the page shows --------------------------------------------------------------------------

class Page:
    """A page in the browser, and what one sees of it."""

    def __init__(self, b, file, part=''):
        self.b = b
        b.open(file, part)
        b.settle()

    def status(self):
        data = self.b.run('({...document.getElementById("status").dataset})')
        return {name: float(value) for name, value in data.items()}

    def box(self, id_='timeline'):
        return self.b.run(f'document.getElementById("{id_}").getBoundingClientRect().toJSON()')

    def text(self, id_):
        return self.b.run(f'(e => e.hidden ? null : e.innerText)(document.getElementById("{id_}"))')

    def words(self):
        return self.b.run('words')

    def x_of(self, time):
        """By the range that the page states and the width of its picture."""
        box, s = self.box(), self.status()
        return box['left'] + GUTTER + (time - s['from']) / (s['to'] - s['from']) * (box['width'] - GUTTER - RIGHT)

    def y_of(self, pe, depth=0):
        return self.box()['top'] + self.b.run(f'yOf(rowOfPe.get({pe}), {depth}) + barHeight() / 2')

    def legend(self):
        """name: (number of calls, colour)"""
        rows = self.b.run('''[...document.querySelectorAll("#legend tbody tr")].map(r => [
            r.children[1].textContent, r.children[2].textContent,
            getComputedStyle(r.querySelector(".swatch")).backgroundColor])''')
        return {name: (int(calls.replace(',', '')), [int(c) for c in re.findall(r'\d+', colour)])
                for name, calls, colour in rows}

    def hover(self, x, y):
        self.b.mouse('Moved', 1, 1)
        self.b.mouse('Moved', x, y)
        self.b.settle()
        return self.text('tip')

    def wheel(self, x, y, by):
        self.b.mouse('Wheel', x, y, deltaX=0, deltaY=by)
        self.b.settle()

    def see(self, start, end):
        self.b.run(f'location.hash = "{start:.0f},{end:.0f}"')
        self.b.settle()

    def drag(self, x0, y0, x1, y1, **more):
        self.b.mouse('Pressed', x0, y0, button='left', clickCount=1, **more)
        self.b.mouse('Moved', (x0 + x1) / 2, (y0 + y1) / 2, button='left', buttons=1, **more)
        self.b.mouse('Moved', x1, y1, button='left', buttons=1, **more)
        self.b.mouse('Released', x1, y1, button='left', clickCount=1, **more)
        self.b.settle()

    def check_quiet(self):
        wrong = self.b.wrong()
        check(not wrong, 'the console has no error, and nothing is asked for', wrong)


# ---- tests of a real trace ---------------------------------------------------------------------------

def test_counts(page, traces):
    """All that was recorded is there."""
    bars = sum(t.n(kind) for t in traces for kind in BARS)
    arrows = sum(t.n('SEND') + t.n('PUT') for t in traces)
    moments = sum(t.n(kind) for t in traces for kind in MOMENTS)
    s = page.status()
    check(s['bars'] == bars, 'bars', s, bars)
    check(s['arrows'] == arrows, 'arrows', s, arrows)
    check(s['moments'] == moments, 'moments', s, moments)
    check(s['from'] == 0, 'the whole run is in view', s)
    begun = {}
    for t in traces:
        for _, kind, _, what, _, _, _ in t.records:
            if kind in ('BEGIN', 'PUT_BEGIN'):
                name = t.names['entry', what] if kind == 'BEGIN' else 'put arrived'
                begun[name] = begun.get(name, 0) + 1
    calls = {name: n for name, (n, _) in page.legend().items()}
    check(calls == begun, 'calls of each entry', calls, begun)
    sent = {}
    for t in traces:
        for _, kind, _, _, pe, _, number in t.records:
            if kind in ('SEND', 'PUT'):
                n, size = sent.get((t.pe, pe), (0, 0))
                sent[t.pe, pe] = n + 1, size + number
    cells = page.b.run('job.cells')
    check({(a, b): (n, size) for a, b, n, size in cells} == sent, 'the matrix', cells, sent)
    grains = page.b.run('job.grains.map(e => [nameOf(e.name), e.buckets.reduce((a, b) => a + b)])')
    check(dict(grains) == begun, 'grains', grains)
    print('ok bars, arrows, moments, calls, grains and messages are those of the trace')


def test_arrows(page, traces, times):
    """Each arrow leads from the moment of sending to the handler."""
    drawn = page.b.run('''Array.from({ length: arrows.n }, (_, a) => [rows[arrows.from[a]].pe, arrows.sent[a],
        rows[arrows.to[a]].pe, arrows.taken[a], arrows.bytes[a]])''')
    expected = numbered_arrows(traces, times)
    check(len(expected) > 500, 'messages with a number', len(expected))
    by_ends = {}
    for from_, sent, to, taken, size in drawn:
        by_ends.setdefault((from_, to, size), []).append((sent, taken))
    for from_, sent, to, taken, size in expected:
        found = any(near(s, sent, 3) and near(t, taken, 3) for s, t in by_ends.get((from_, to, size), ()))
        check(found, 'an arrow', from_, sent, to, taken, size)
    print('ok arrows lead from the sender to the handler')


def test_zoom(page, times):
    """Wheel, keys, drag and marking show the part of time that they should."""
    b, box = page.b, page.box()
    plot = box['width'] - GUTTER - RIGHT
    x, y = box['left'] + GUTTER + plot * 0.7, box['top'] + 60
    page.wheel(x, y, -500)
    s, end = page.status(), times.end
    check(near(s['to'] - s['from'], end * 2.718281828 ** (-0.8), end / 1000), 'the wheel zooms', s, end)
    check(near(page.x_of(0.7 * end), x, 1), 'at the pointer', s, page.x_of(0.7 * end), x)
    before, pixel = s, (s['to'] - s['from']) / plot
    page.drag(x, y, x - 200, y)
    s = page.status()
    by = 200 / plot * (before['to'] - before['from'])
    check(near(s['from'], before['from'] + by, pixel / 2) and near(s['to'], before['to'] + by, pixel / 2),
          'dragging moves', before, s, by)
    before = s
    page.drag(box['left'] + GUTTER + plot * 0.25, y, box['left'] + GUTTER + plot * 0.75, y, modifiers=8)
    s, len_ = page.status(), before['to'] - before['from']
    check(near(s['from'], before['from'] + len_ / 4, len_ / 500) and near(s['to'], before['to'] - len_ / 4, len_ / 500),
          'Shift and drag zooms to what is marked', before, s)
    before = s
    b.key('+', '+')
    s, len_ = page.status(), before['to'] - before['from']
    check(near(s['to'] - s['from'], len_ / 1.5, pixel / 2), 'plus zooms in', before, s)
    check(near(s['from'] + s['to'], before['from'] + before['to'], pixel), 'at the middle', before, s)
    b.key('-', '-')
    check(near(page.status()['from'], before['from'], pixel / 2), 'minus zooms out', page.status(), before)
    b.key('ArrowLeft')
    s = page.status()
    check(near(s['from'], before['from'] - len_ / 5, pixel / 2), 'an arrow key moves', s, before)
    b.key('0', '0')
    s = page.status()
    check(s['from'] == 0 and near(s['to'], end, 3), 'the whole run again', s, end)
    overview = page.box('overview')
    page.drag(overview['left'] + GUTTER + plot * 0.2, overview['top'] + 10,
              overview['left'] + GUTTER + plot * 0.4, overview['top'] + 10)
    s = page.status()
    check(near(s['from'], end * 0.2, end / 400) and near(s['to'], end * 0.4, end / 400), 'the overview chooses', s)
    print('ok zoom and pan, by mouse and by keys')


def test_in_view(page, traces, times):
    """A part of the run has the bars of that part, and shows how busy it was."""
    begun = sorted(s[2] for s in spans(traces, times))
    first, last = begun[len(begun) // 2], begun[len(begun) * 3 // 4]
    page.see(first, last)
    s = page.status()
    check(near(s['from'], first, 2) and near(s['to'], last, 2), 'a link leads to a part', s, first, last)
    tops = page.b.run('''rows.map(r => { const l = r.lanes[0], all = [];
        for (let i = 0; i < l.n; i++) all.push([l.start[i], l.start[i] + l.len[i], isIdle(l, i)]); return all; })''')
    busy = sum(max(0, min(e, s['to']) - max(b, s['from'])) for row in tops for b, e, idle in row if not idle)
    busy /= len(traces) * (s['to'] - s['from'])
    check(near(s['busy'], busy, 0.01) and busy > 0, 'utilisation', s, busy)
    arrows = sum(from_ <= s['to'] and to >= s['from'] for from_, to in page.b.run(
        'Array.from({ length: arrows.n }, (_, a) => [arrows.sent[a], arrows.taken[a]])'))
    check(s['arrows'] == arrows, 'arrows in view', s, arrows)
    whole = sum(t.n(kind) for t in traces for kind in BARS)
    check(0 < s['bars'] < whole, 'fewer bars', s, whole)
    print('ok a part of the run is shown alone')


def test_hover(page, traces, times, name):
    """Pointing at the place of a bar names it; the bar has the colour of its entry, and its label."""
    pe, _, start, end, from_ = max((s for s in spans(traces, times) if s[1] == name), key=lambda s: s[3] - s[2])
    page.see(start - (end - start), end + (end - start))
    x, y = page.x_of((start + end) / 2), page.y_of(pe)
    tip = page.hover(x, y)
    check(tip and tip.splitlines()[0].strip() == name, 'the name', name, tip)
    lines = dict(zip(tip.splitlines()[1::2], tip.splitlines()[2::2])) if '\t' not in tip else {}
    check(lines.get('PE') == str(pe), 'its PE', pe, tip)
    if from_ >= 0:
        check(lines.get('from', '').startswith(f'PE {from_}'), 'from whom', from_, tip)
    check('from' in lines and 'start' in lines, 'where it came from', tip)
    length = nanoseconds(lines['length'])
    check(near(length, end - start, 0.02 * (end - start) + 2), 'its length', tip, end - start)
    check(near(nanoseconds(lines['start']), start, 3), 'its start', tip, start)
    page.b.mouse('Moved', 1, 1)
    page.b.settle()
    check(page.text('tip') is None, 'the tip goes with the pointer')
    page.b.key('a', 'a')                                # no arrow is before it
    colour = page.b.colour(page.x_of(end - (end - start) / 50), y - 9)
    check(colour == page.legend()[name][1], 'its colour', colour, page.legend())
    page.b.key('a', 'a')
    labels = [w for w in page.words() if w['text'].startswith(name)]
    left, right = (page.x_of(t) - page.box()['left'] for t in (start, end))
    check(any(left <= w['x'] <= right for w in labels), 'its label', name, labels, page.words())
    check(page.status()['labels'] >= 1, 'labels are counted', page.status())
    print(f'ok pointing at {name} tells what it is')


def test_real(b, tmp):
    folder = f'{tmp}/stencil'
    traces = job(folder, STENCIL, '--iters', '10', '--no-verify')
    times = Times(traces)
    file, said = page_of(folder)
    check(not said, 'cktrace says nothing', said)
    with open(file, encoding='utf-8') as f:
        text = f.read()
    check(not re.search(r'https?:|\bsrc=|\burl\(|@import', text), 'the page names no other file')
    page = Page(b, file)
    test_counts(page, traces)
    test_arrows(page, traces, times)
    test_zoom(page, times)
    test_in_view(page, traces, times)
    test_hover(page, traces, times, 'Block::ghost')
    test_hover(page, traces, times, 'put arrived')
    page.check_quiet()


def test_traced(b, tmp):
    """Threads in pieces, the program's own events."""
    folder = f'{tmp}/traced'
    traces = job(folder, TRACED, '30')
    page = Page(b, page_of(folder)[0])
    names = page.b.run('''rows.flatMap(r => r.lanes.flatMap(l =>
        Array.from({ length: l.n }, (_, i) => nameOf(l.name[i]))))''')
    check(names.count('Cell::waits') == 4 * 2 * 4, 'a thread that gives way 3 times', names.count('Cell::waits'))
    check(names.count('work') == sum(r[1] == 'USER_BEGIN' for t in traces for r in t.records) - 2 * 4, 'spans')
    values = page.b.run('values')
    check(len(values) == sum(t.n('USER_COUNTER') for t in traces) and set(values) == set(range(30)), 'counters', values)
    page.check_quiet()
    print('ok threads, spans and counters of a program')


# ---- tests of traces that no job has written ------------------------------------------------------------

def test_arrow(b, tmp):
    """A message from PE 0 to PE 2, past PE 1, which is idle: what an arrow is, and the keys that lead along it."""
    folder = f'{tmp}/three'
    os.mkdir(folder)
    rec = synthetic.record
    names = [('entry', 1, b'Ping::go'), ('entry', 2, b'Ping::back')]
    synthetic.write(folder, 0, 3, rec(1000, 'BEGIN', 1, -1) + rec(2000, 'SEND', 0, 2, 7, (640, 0, 0))
                    + rec(3000, 'END', 1) + rec(9000, 'IDLE') + rec(9999, 'BUSY'), names)
    synthetic.write(folder, 1, 3, rec(1100, 'IDLE') + rec(9000, 'BUSY'), names)
    synthetic.write(folder, 2, 3, rec(1100, 'IDLE') + rec(5500, 'ARRIVE', 0, 0, 7, (640, 0, 0)) + rec(6000, 'BEGIN', 2, 0, 7, (4, 5, 0), flags=readers.DIRECT)
                    + rec(8000, 'END', 2), names)
    page = Page(b, page_of(folder)[0])
    s = page.status()
    check((s['bars'], s['arrows'], s['to']) == (5, 1, 8999), 'five bars, one arrow', s)
    x, y = page.x_of(3000), page.y_of(1)                # the middle of the way
    tip = page.hover(x, y)
    check(tip and tip.startswith('message') and 'PE 0, Ping::go' in tip and 'PE 2, Ping::back' in tip and '640' in tip
          and '4.00 µs' in tip, 'what the arrow is', tip)
    check(page.hover(x - 40, y).startswith('idle'), 'beside it is idle time')
    b.mouse('Moved', 1, 1)
    b.settle()
    line = b.colour(x, y)
    b.key('a', 'a')
    check(page.status()['drawn'] == 0 and b.colour(x, y) != line, 'arrows are taken away')
    check(page.hover(x, y).startswith('idle'), 'and are not pointed at')
    b.key('a', 'a')
    check(page.status()['drawn'] == 1, 'and come back')
    # The critical path: 1000 ns on PE 0 up to the send, 4000 in the message, 2000 on PE 2.
    check(b.run('job.path.stays') == [[0, 0, 1000], [2, 5000, 7000]], 'where the path is', b.run('job.path'))
    check(page.text('path-facts').startswith('7.00 µs: 3.00 µs in handlers, 4.00 µs in 1 message, 0 ns between'), 'its facts',
          page.text('path-facts'))
    at, edge = page.x_of(500), page.y_of(0) - b.run('barHeight() / 2 + 1')
    before = b.colour(at, edge)
    b.key('p', 'p')
    check(b.colour(at, edge) != before, 'it is drawn')
    b.key('p', 'p')
    check(b.colour(at, edge) == before, 'and taken away')
    x, y = page.x_of(6500), page.y_of(2)
    bar = page.hover(x, y)
    check('Ping::back' in bar and 'Ping(4, 5)' in bar, 'a bar with its element', bar)
    come = b.run('momentFacts({ row: 2, moment: 0 })')
    check(come['title'] == 'arrived' and come['facts'][:2] == [['element', 'Ping(4, 5)'], ['entry', 'Ping::back']],
          'an arrival by name', come)
    b.mouse('Pressed', x, y, button='left', clickCount=1)
    b.mouse('Released', x, y, button='left', clickCount=1)
    b.settle()
    for key, name, what in (('', 'Ping::back', 'a click chooses'), ('f', 'Ping::go', 'f leads to the sender'),
                            ('.', 'idle', 'full stop to the next bar'), (',', 'Ping::go', 'comma back'),
                            ('j', 'idle', 'j to the row below'), ('k', 'Ping::go', 'k back')):
        if key:
            b.key(key, key)
        check(page.text('selected').splitlines()[0].strip() == name, what, page.text('selected'))
    b.key('z', 'z')
    s = page.status()
    check((round(s['from']), round(s['to'])) == (0, 2800), 'z zooms to the chosen bar', s)
    b.key('Escape')
    check(page.text('selected') is None, 'nothing is chosen')
    page.check_quiet()
    print('ok an arrow tells what it is, and keys lead along it')


def test_deep(b, tmp):
    """Thirty spans, one in the other."""
    folder = f'{tmp}/deep'
    os.mkdir(folder)
    records = [synthetic.record(1000 + 10 * i, 'USER_BEGIN', 1) for i in range(30)]
    records += [synthetic.record(2000 + 10 * i, 'USER_END', 1) for i in range(30)]
    synthetic.write(folder, 0, 1, b''.join(records), [('event', 1, b'inner')])
    file, said = page_of(folder)
    check(said == 'cktrace: the page leaves out 6 bars that lie inside 24 others or more\n', 'cktrace says so', said)
    page = Page(b, file)
    check(page.status()['bars'] == 24, 'the others are there', page.status())
    check('6 bars inside very many others left out.' in page.text('warning'), 'the page says so', page.text('warning'))
    check(page.hover(page.x_of(1000), page.y_of(0, 23)).startswith('inner'), 'the innermost that is shown')
    check('inner' in page.text('others'), 'the program\'s spans are explained', page.text('others'))
    page.check_quiet()
    print('ok very deep bars are left out')


def test_hostile(b, tmp):
    """Names that would end the script, the text or the page are shown as they are."""
    folder = f'{tmp}/hostile'
    os.mkdir(folder)
    bad = [b'</script><script>boom = 1</script>', b'<!--<script>', b'"quotes\' and \\ backslash',
           b'\x01\x1b[31m\x7f', 'Übung 漢字 😀'.encode(), b'\xff\xfe not UTF-8 \xc0\xaf \xed\xa0\x80',
           '\u202egnp.exe'.encode(), b'@DATA@ @SCRIPT@', b'${boom = 1} <img src=x onerror=boom=1>', b'&lt;&amp;']
    shown = ['</script><script>boom = 1</script>', '<!--<script>', '"quotes\' and \\ backslash',
             '??[31m?', 'Übung 漢字 😀', '\ufffd\ufffd not UTF-8 \ufffd\ufffd \ufffd\ufffd\ufffd',
             '\ufffdgnp.exe', '@DATA@ @SCRIPT@', '${boom = 1} <img src=x onerror=boom=1>', '&lt;&amp;']
    names = [('entry', i + 1, text) for i, text in enumerate(bad)] + [('event', 1, bad[0]), ('handler', 1, bad[0])]
    rec = synthetic.record
    records = b''.join(rec(1000 * i, 'BEGIN', i) + rec(1000 * i + 900, 'END', i) for i in range(1, len(bad) + 1))
    synthetic.write(folder, 0, 1, records + rec(20000, 'USER_MARK', 1), names, bad[0] + b' & "more" \xff')
    file = page_of(folder)[0]
    with open(file, 'rb') as f:
        check('boom' in f.read().decode('utf-8'), 'the page is UTF-8')
    page = Page(b, file)
    check(set(page.legend()) == set(shown), 'names', set(page.legend()) ^ set(shown))
    check(page.text('title').startswith('script><script>boom = 1</script> & "more"'), 'the command', page.text('title'))
    for i in (0, 4):
        tip = page.hover(page.x_of(1000 * i + 450), page.y_of(0))
        check(tip.splitlines()[0] == shown[i], 'in the tip', tip)
    check(page.b.run('typeof boom') == 'undefined', 'nothing of them is run')
    check(page.b.run('document.querySelectorAll("img").length') == 0, 'or becomes part of the page')
    page.check_quiet()
    print('ok hostile names are shown as they are')


def test_looks(b, tmp):
    """Light and dark, and the program's colours in both."""
    file = f'{tmp}/three.html'
    grounds = []
    for scheme in ('light', 'dark'):
        b.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': scheme}])
        page = Page(b, file)
        grounds.append(page.b.colour(page.box()['left'] + 3, page.box()['bottom'] - 3))
        of_bar = page.legend()['Ping::back'][1]
        for time, away, inside in ((5000, -2, False), (5000, 3, True), (7000, -4, True), (7000, 2, False)):
            colour = b.colour(page.x_of(time) + away, page.y_of(2) - 9)
            check((colour == of_bar) == inside, 'a bar has its colour from its begin to its end', time, away, colour)
        page.check_quiet()
    check(min(grounds[0]) > 200 and max(grounds[1]) < 60, 'the ground is light, and dark', grounds)
    b.call('Emulation.setEmulatedMedia', features=[])
    print('ok light and dark')


def test_large(b, tmp):
    """A million records: all of them, and then a page of 1 MB."""
    folder, pes, calls = f'{tmp}/large', 4, 62500
    os.mkdir(folder)
    names = [('entry', 1, b'Cell::short'), ('entry', 2, b'Cell::long'), ('event', 1, b'step')]
    bars = pes * (calls + 103)
    rec = synthetic.record
    for pe in range(pes):
        records = []
        for i in range(calls):
            at, what, other = 1000 * i, 2 if i % 50 == 49 else 1, (pe + 1) % pes
            records += [rec(at, 'ARRIVE', 0, (pe - 1) % pes, i),
                        rec(at + 100, 'BEGIN', what, (pe - 1) % pes, i, (i % 97, 0, 0), flags=readers.DIRECT),
                        rec(at + 150, 'SEND', 0, other, i + 1, (100, 0, 0)),
                        rec(at + (900 if what == 2 else 300), 'END', what)]
        # One short bar between two long ones cannot be a block. The first has a hundred short ones in it.
        at = 1000 * calls
        end = at + 10 ** 6
        records.append(rec(at, 'BEGIN', 2))
        for i in range(100):
            records += [rec(at + 10000 * i, 'USER_BEGIN', 1), rec(at + 10000 * i + 1000, 'USER_END', 1)]
        records += [rec(end, 'END', 2), rec(end, 'BEGIN', 1, (pe - 1) % pes, calls, flags=readers.DIRECT),
                    rec(end + 200, 'END', 1), rec(end + 200, 'BEGIN', 2), rec(end + 10 ** 6, 'END', 2)]
        synthetic.write(folder, pe, pes, b''.join(records), names)
    file, said = page_of(folder)
    check(not said, 'all of it has room', said)
    check(os.path.getsize(file) < 16 << 20, 'in few bytes', os.path.getsize(file))
    page = Page(b, file)
    s = page.status()
    check((s['bars'], s['arrows'], s['moments']) == (bars, pes * calls, pes * calls), 'all are there', s)
    most = page.b.run('most')
    check(most < 30000, 'what is narrower than a pixel is not drawn one by one', most)
    check('zoom in' in page.text('status'), 'the page says that there are too many arrows to draw', page.text('status'))
    page.see(1000 * 100, 1000 * 120)
    check(0 < page.status()['drawn'] < 200, 'arrows of a part are drawn', page.status())
    page.check_quiet()
    print('ok a million records')

    file, said = page_of(folder, '--html-mb', '1')
    check(os.path.getsize(file) < (1 << 20) + 100000, 'the page is bounded', os.path.getsize(file))
    check('the page draws' in said and '1 MB' in said, 'cktrace says so', said)
    page = Page(b, file)
    told = page.b.run('job.left_out')
    for what in ('bars', 'arrows', 'moments', 'blocks'):
        check(f'{told[what]} {what}' in said, 'with the numbers of the page', said, told)
    warning = page.text('warning')
    check('To keep the page small' in warning and f'{told["bars"]:,} bars' in warning, 'and so does the page', warning)
    drawn = page.b.run('''rows.reduce((sum, r) => r.lanes.reduce((s, l) => { for (let i = 0; i < l.n; i++)
        s[l.kind[i] === BLOCK ? 1 : 0] += l.kind[i] === BLOCK ? blocks[l.name[i]].n : 1; return s; }, sum), [0, 0])''')
    check(sum(drawn) == bars and drawn[1] == told['bars'], 'each bar is one, or in a block', drawn, told)
    left = page.b.run('arrows.n')
    check(left + told['arrows'] == pes * calls and left >= pes, 'each arrow is drawn or counted', left, told)
    check(page.legend()['Cell::short'][0] == pes * (calls * 49 // 50 + 1), 'the list counts all', page.legend())
    own = (calls * 49 // 50 * 200 + calls // 50 * 800 + 2 * 10 ** 6) / page.status()['to']
    check(near(page.status()['busy'], own, 0.01), 'and utilisation does', page.status(), own)
    part = f'{1000 * calls}, {1000 * calls + 10 ** 6}'
    shares = dict(b.run(f'[...timesByName({part}, 1)].map(([name, times]) => [nameOf(name), times[0] / rows.length])'))
    check(near(shares['Cell::long'], 0.9, 0.01) and near(shares['step'], 0.1, 0.01), 'shares in a bar', shares)
    page.see(0, told['shorter'] * 6)
    tip = page.hover(page.x_of(told['shorter'] * 0.5), page.y_of(0))
    check('short bars' in tip and 'Cell::short' in tip, 'a block tells what is in it', tip)
    page.check_quiet()
    print('ok a page that is bounded says what it leaves out')


def test_refused(tmp):
    for mb in ('0', '-1', 'x', '', '1025'):
        said = run([CKTRACE, '--html', f'{tmp}/no.html', '--html-mb', mb, f'{tmp}/three'], code=2).stderr
        check(said == f'cktrace: --html-mb {mb}: must be a number from 1 to 1024\n', 'a size that cannot be', said)
    check('/dev/full' in run([CKTRACE, '-w', '/dev/full', f'{tmp}/three'], code=1).stderr, 'a full disk')
    print('ok sizes that make no sense are refused')


def main():
    if not browser.find():
        print('skip the page of cktrace --html: there is no chromium (deps.sh --browser installs it)')
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix='chard-page-') as tmp, browser.Browser() as b:
        b.call('Page.addScriptToEvaluateOnNewDocument', source=WATCH_CANVAS)
        test_real(b, tmp)
        test_traced(b, tmp)
        test_arrow(b, tmp)
        test_deep(b, tmp)
        test_hostile(b, tmp)
        test_looks(b, tmp)
        test_large(b, tmp)
        test_refused(tmp)


if __name__ == '__main__':
    main()
