# SPDX-License-Identifier: Apache-2.0
"""Chromium without a window, driven by its DevTools protocol over two pipes: JSON messages that end with a zero
byte (--remote-debugging-pipe). It needs no port, no network and no package besides the browser."""

import base64
import json
import os
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import zlib


def find():
    """The command of a browser, or None."""
    return shutil.which('chromium') or shutil.which('chromium-browser') or shutil.which('google-chrome')


class Browser:
    """One page. Waits end with an AssertionError after `limit` seconds: so long does nothing but a hang take."""

    def __init__(self, size=(1280, 800), limit=120, ratio=1):
        self.limit, self.number, self.events = limit, 0, []
        self.profile = tempfile.mkdtemp(prefix='chard-browser-')
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()

        def place():
            # Above the numbers that the pipes may have, so that neither is overwritten.
            read, write = os.dup2(theirs_in, 200), os.dup2(theirs_out, 201)
            os.dup2(read, 3)
            os.dup2(write, 4)
        # pylint: disable=subprocess-popen-preexec-fn # there is no thread here
        self.process = subprocess.Popen(
            [find(), '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars',
             '--disable-background-networking', '--disable-component-update', '--no-first-run',
             f'--user-data-dir={self.profile}', f'--window-size={size[0]},{size[1]}', '--remote-debugging-pipe',
             'about:blank'],
            preexec_fn=place, close_fds=False, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, 'HOME': self.profile, 'XDG_CONFIG_HOME': self.profile, 'XDG_CACHE_HOME': self.profile})
        os.close(theirs_in)
        os.close(theirs_out)
        self.read_fd, self.write_fd, self.rest, self.session = ours_in, ours_out, b'', None
        try:
            self.begin(size, ratio)
        except BaseException:
            self.__exit__()
            raise

    def begin(self, size, ratio):
        targets = self.call('Target.getTargets')['targetInfos']
        page = next(t['targetId'] for t in targets if t['type'] == 'page')
        self.session = self.call('Target.attachToTarget', targetId=page, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(f'{domain}.enable')
        self.call('Emulation.setDeviceMetricsOverride', width=size[0], height=size[1], deviceScaleFactor=ratio,
                  mobile=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            # The only thing that it makes outside of its profile.
            socket = os.path.dirname(os.readlink(f'{self.profile}/SingletonSocket'))
        except OSError:
            socket = None
        try:
            self.session = None
            self.call('Browser.close')
            self.process.wait(timeout=20)
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.read_fd)
        os.close(self.write_fd)
        for folder in (self.profile, socket):
            if folder:
                shutil.rmtree(folder, ignore_errors=True)

    def message(self, until):
        while b'\0' not in self.rest:
            ready, _, _ = select.select([self.read_fd], [], [], max(0, until - time.monotonic()))
            assert ready, 'the browser does not answer'
            got = os.read(self.read_fd, 1 << 20)
            assert got, 'the browser has ended'
            self.rest += got
        line, self.rest = self.rest.split(b'\0', 1)
        return json.loads(line)

    def call(self, method, **params):
        self.number += 1
        request = {'id': self.number, 'method': method, 'params': params}
        if self.session:
            request['sessionId'] = self.session
        data = json.dumps(request).encode() + b'\0'
        while data:
            data = data[os.write(self.write_fd, data):]
        until = time.monotonic() + self.limit
        while True:
            answer = self.message(until)
            if answer.get('id') == self.number:
                assert 'error' not in answer, f'{method}: {answer["error"]}'
                return answer['result']
            self.events.append(answer)

    def go(self, url):
        """Load an address, to the event that says so."""
        self.events.clear()
        self.call('Page.navigate', url=url)
        until = time.monotonic() + self.limit
        while not any(e.get('method') == 'Page.loadEventFired' for e in self.events):
            self.events.append(self.message(until))

    def run(self, script):
        """The value of an expression in the page; of a promise, when it is kept."""
        result = self.call('Runtime.evaluate', expression=script, returnByValue=True, awaitPromise=True)
        assert 'exceptionDetails' not in result, f'{script}: {result["exceptionDetails"]}'
        return result['result'].get('value')

    def open(self, file, part=''):
        """Open a file, and wait until the page says that it is ready."""
        self.go('about:blank')     # another part of the same file would not be loaded again
        self.go(f'file://{os.path.abspath(file)}{part}')
        self.run('''new Promise(done => {
            const look = () => document.documentElement.dataset.ready ? done() : undefined;
            new MutationObserver(look).observe(document, { attributes: true, subtree: true });
            look();
        })''')

    def settle(self):
        """Wait until what was asked for has been drawn."""
        self.run('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')

    def mouse(self, kind, x, y, **more):
        self.call('Input.dispatchMouseEvent', type=f'mouse{kind}', x=x, y=y, **more)

    def key(self, key, text=None):
        for kind in ('keyDown', 'keyUp'):
            more = {'text': text} if text and kind == 'keyDown' else {}
            self.call('Input.dispatchKeyEvent', type=kind, key=key, **more)
        self.settle()

    def wrong(self):
        """What the console has of errors, and which addresses besides the file the page has asked for."""
        said = []
        for event in self.events:
            method, params = event.get('method'), event.get('params', {})
            if method == 'Runtime.exceptionThrown':
                said.append(params['exceptionDetails'].get('exception', {}).get('description', 'exception'))
            elif method == 'Runtime.consoleAPICalled' and params['type'] in ('error', 'assert', 'warning'):
                said.append(str(params['args']))
            elif method == 'Log.entryAdded' and params['entry']['level'] in ('error', 'warning'):
                said.append(params['entry']['text'])
            elif method == 'Network.requestWillBeSent' and not params['request']['url'].startswith(('file:', 'data:')):
                said.append(f'asks for {params["request"]["url"]}')
        return said

    def picture(self, clip=None):
        """A PNG of the window, or of a part of it: x, y, width, height."""
        more = {'clip': {**clip, 'scale': 1}} if clip else {}
        return base64.b64decode(self.call('Page.captureScreenshot', format='png', **more)['data'])

    def colour(self, x, y):
        """Red, green and blue at a place. In a picture of one pixel no filter of PNG changes anything."""
        png, at, packed = self.picture({'x': int(x), 'y': int(y), 'width': 1, 'height': 1}), 8, b''
        while at < len(png):
            size, kind = struct.unpack_from('>I4s', png, at)
            packed += png[at + 8:at + 8 + size] if kind == b'IDAT' else b''
            at += size + 12
        return list(zlib.decompress(packed)[1:4])
