# SPDX-License-Identifier: Apache-2.0
"""stencil.py BUILD PNG: examples/stencil by messages above stencil by channels, as cktrace --html draws them.

Of some runs the fastest is taken, and of that the part with the most arrows: what else the machine does is then out of
the picture. Both parts have the same length."""

import base64
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, f'{os.path.dirname(os.path.abspath(__file__))}/../../tests/trace')
import browser  # noqa: E402

BUILD, PNG = sys.argv[1:]
RUNS, PART_NS, WIDTH = 8, 330_000, 900
STENCIL = ['--chares', '4x1x1', '--iters', '60', '--no-verify']

# The start of the part with the most arrows, among those that begin with a bar of PE 0. Depths that only bars
# outside of the part have are taken away, to save room.
CHOOSE = '''(length => {
    const lane = rows[0].lanes[0];
    const hasBars = (l, from, to) => firstBar(l, from) < firstFrom(l.start, l.n, to);
    let best = 0, most = -1;
    for (let i = Math.floor(lane.n / 3); i < lane.n; i++) {
        const from = lane.start[i], to = from + length;
        let n = 0;
        for (let a = 0; a < arrows.n; a++)
            n += arrows.sent[a] >= from && arrows.taken[a] <= to;
        if (n > most) {
            most = n;
            best = from;
        }
    }
    for (const r of rows)
        while (r.lanes.length > 1 && !hasBars(r.lanes.at(-1), best, best + length))
            r.lanes.pop();
    show(best, best + length);
    draw();
    return AXIS + plan.height + 2;
})'''


def fastest(tmp, mode):
    """The folder with the trace of the fastest of some runs."""
    times = {}
    for i in range(RUNS):
        folder = f'{tmp}/{mode}{i}'
        command = [f'{BUILD}/bin/ckrun', '-n', '2', f'{BUILD}/examples/stencil/stencil', *STENCIL, '--mode', mode]
        said = subprocess.run(command, env={**os.environ, 'CK_TRACE': f'{folder},4'}, text=True, stdout=subprocess.PIPE,
                              check=True).stdout
        times[folder] = float(re.search(r'iter_us ([\d.]+)', said)[1])
    return min(times, key=times.get)


def strip(b, folder):
    """The timeline of a part, as an element of the picture."""
    subprocess.run([f'{BUILD}/bin/cktrace', '--html', f'{folder}.html', folder], check=True)
    b.open(f'{folder}.html')
    high = b.run(f'{CHOOSE}({PART_NS})')
    b.settle()
    box = b.run('timeline.getBoundingClientRect().toJSON()')
    png = b.picture({'x': box['x'], 'y': box['y'], 'width': box['width'], 'height': high})
    return f'<img style="width: 100%; display: block" src="data:image/png;base64,{base64.b64encode(png).decode()}">'


def main():
    style = ("font: 600 14px 'Liberation Sans', Arial, sans-serif; margin: 0; padding: 10px 14px 4px; "
             'background: #fcfcfb; color: #1c2126')
    # The list beside the timeline takes 330 pixels.
    with tempfile.TemporaryDirectory(prefix='chard-picture-') as tmp, browser.Browser((WIDTH + 330, 700), ratio=2) as b:
        parts = [(title, strip(b, fastest(tmp, mode)))
                 for title, mode in (('by messages', 'msg'), ('by channels', 'direct'))]
        body = ''.join(f'<h1 style="{style}">stencil {title}</h1>{image}' for title, image in parts)
        with open(f'{tmp}/picture.html', 'w', encoding='ascii') as f:
            f.write(f'<!DOCTYPE html><body style="margin: 0; width: {WIDTH}px">{body}')
        b.go(f'file://{tmp}/picture.html')
        high = b.run('Promise.all([...document.images].map(i => i.decode())).then(() => document.body.scrollHeight)')
        with open(PNG, 'wb') as f:
            f.write(b.picture({'x': 0, 'y': 0, 'width': WIDTH, 'height': high}))
    print(f'{PNG}: {os.path.getsize(PNG)} bytes')


if __name__ == '__main__':
    main()
