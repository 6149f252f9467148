#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python programs that have Chard inside (runtime/chard.py): the example, two processes, Ctrl-C, wrong calls.

    python.py LIBEMBED.SO

Prints a line "ok NAME" for each; the exit code is 1 if one failed. Each runs in a process of its own.
"""

import ctypes
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, f'{TOP}/runtime')
import chard  # noqa: E402

LIBRARY = ctypes.CDLL(os.path.abspath(sys.argv[1]))
DONE = ctypes.c_int.in_dll(LIBRARY, 'embed_done')


def ask(first, last):
    LIBRARY.embed_ask(ctypes.c_long(first), ctypes.c_long(last))


def answer():
    return ctypes.c_long.in_dll(LIBRARY, 'embed_answer').value


def refused(pattern, call, *args, **named):
    try:
        call(*args, **named)
    except chard.Error as wrong:
        assert re.search(pattern, str(wrong)), wrong
    else:
        raise AssertionError(f'not refused: {pattern}')


# ---- what is tested ------------------------------------------------------------------------------


def example():
    for pes in '1', '2':
        out = subprocess.run([sys.executable, f'{TOP}/examples/embed/python/host.py', sys.argv[1], pes], check=True,
                             stdout=subprocess.PIPE, text=True, timeout=100,
                             env=os.environ | {'PYTHONPATH': f'{TOP}/runtime', 'PYTHONDONTWRITEBYTECODE': '1'}).stdout
        assert out.splitlines()[-1] == 'host.py: both runs: checked', out
        assert out.count('6057 primes below 60000') == 2, out


def two_processes():
    """They meet by a function of Python's, as comm.allgather of mpi4py is one."""
    mine, other = socket.socketpair()
    child = os.fork()
    rank, way = (0, mine) if child else (1, other)

    def allgather(part):
        way.sendall(part)
        got = b''
        while len(got) < len(part):
            got += way.recv(len(part) - len(got))
        return [part, got] if rank == 0 else [got, part]

    for _ in range(2):
        chard.init(LIBRARY, 'embed', rank=rank, size=2, allgather=allgather)
        ask(5000 * rank, 5000 * (rank + 1))
        assert chard.run_until(DONE) and answer() == 1229
        assert chard.finalize() == 0
    if not child:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def allgather_that_fails():
    def allgather(_):
        raise ValueError('no way')
    refused('no run has begun', chard.init, LIBRARY, 'embed', size=2, allgather=allgather)
    refused('no run has begun', chard.init, LIBRARY, 'embed', size=2, allgather=lambda part: [part])
    chard.init(LIBRARY, 'embed')
    assert chard.finalize() == 0


def interrupted():
    """Ctrl-C, while run_until waits for what never comes. The run goes on afterwards."""
    def interrupt():
        while not (chard._run and chard._run.inside):
            time.sleep(0)
        os.kill(os.getpid(), signal.SIGINT)

    chard.init(LIBRARY, 'embed')
    thread = threading.Thread(target=interrupt)
    flag = ctypes.c_int()
    thread.start()
    try:
        chard.run_until(flag)
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError('not interrupted')
    thread.join()
    assert flag.value == 0 and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ask(0, 100)
    assert chard.run_until(DONE) and answer() == 25
    assert chard.finalize() == 0


def wrong_calls():
    refused('chard.progress without a run', chard.progress)
    refused('chard.run_until without a run', chard.run_until, DONE)
    refused('chard.finalize without a run', chard.finalize)
    refused('has no chares of a module other', chard.init, LIBRARY, 'other')
    refused('no run has begun', chard.init, LIBRARY, 'embed', pes=-1)
    refused('no run has begun', chard.init, LIBRARY, 'embed', rank=2, size=2, allgather=lambda part: [part, part])
    chard.init(LIBRARY, 'embed')
    refused('chard.init twice', chard.init, LIBRARY, 'embed')
    errors = []
    thread = threading.Thread(target=lambda: errors.append(refused('on another thread', chard.finalize)))
    thread.start()
    thread.join()
    assert errors == [None]
    assert chard.progress(3) >= 0
    assert chard.finalize() == 0
    refused('chard.finalize without a run', chard.finalize)


def ckrun(script):
    """Two processes of this script, which ckrun has started."""
    build = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(sys.argv[1]))))
    return subprocess.run([f'{build}/bin/ckrun', '-n', '2', sys.executable, '-c', script, sys.argv[1]], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=100,
                          env=os.environ | {'PYTHONPATH': f'{TOP}/runtime', 'PYTHONDONTWRITEBYTECODE': '1'})


BEGIN = """
import chard, ctypes, sys
library = ctypes.CDLL(sys.argv[1])
chard.init(library, 'embed')
first = library.CkMyNode() == 0
"""


def one_process_waits():
    end = ckrun(BEGIN + """
if first:
    library.embed_ask(ctypes.c_long(0), ctypes.c_long(100))
    library.embed_ask(ctypes.c_long(100), ctypes.c_long(200))
    chard.run_until(ctypes.c_int.in_dll(library, 'embed_done'))
sys.exit(chard.finalize())
""")
    assert end.returncode == 0 and not end.stderr, end


def a_flag_that_nobody_sets():
    """The other process is in finalize. The tick of run_until is no reason to wait."""
    end = ckrun(BEGIN + """
assert first or not chard.run_until()
sys.exit(chard.finalize())
""")
    assert end.returncode == 125, end
    assert 'chard: PE 1: CkRunUntil waits here for its flag' in end.stderr, end
    assert 'chard: PE 0: CkRunUntil' not in end.stderr, end


TESTS = [example, two_processes, allgather_that_fails, interrupted, wrong_calls, one_process_waits, a_flag_that_nobody_sets]


def run(test):
    """In a child, so that nothing of one test is there in the next one."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.alarm(150)
        try:
            test()
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    good = os.waitpid(child, 0)[1] == 0
    print('ok' if good else 'FAIL', test.__name__.replace('_', ' '), flush=True)
    return good


def main():
    sys.exit(0 if all([run(test) for test in TESTS]) else 1)


if __name__ == '__main__':
    main()
