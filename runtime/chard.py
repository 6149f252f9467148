# SPDX-License-Identifier: Apache-2.0
"""Chard inside a Python program: ckembed.h by ctypes.

    import chard, ctypes
    library = ctypes.CDLL('./libwork.so')       # chares compiled from work.ci, linked with libchard
    chard.init(library, 'work', ['prog'], pes=2)
    library.work_ask(3)                         # a C function that calls entry methods
    chard.run_until(ctypes.c_int.in_dll(library, 'work_done'))
    code = chard.finalize()

The thread that calls init is the first PE: handlers run in progress, run_until and finalize, called on that thread.
Functions of the library that call entries are called on it, too, between these calls. GUIDE.md, "Chard inside another
program", has the rules. What breaks them raises chard.Error here, before it reaches the C functions.
"""

import contextlib
import ctypes
import signal
import sys
import threading
import traceback

__all__ = ['Error', 'init', 'progress', 'run_until', 'finalize']

_Allgather = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
_Abort = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p)
_Hook = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_QUIET_100MS = 6  # csd.h
_INTERRUPTED = -1


class Error(RuntimeError):
    """A call that cannot be made now, or a run that could not begin."""


class _Boot(ctypes.Structure):  # CkBoot
    _fields_ = [('rank', ctypes.c_int), ('size', ctypes.c_int), ('allgather', _Allgather), ('abort', _Abort),
                ('arg', ctypes.c_void_p), ('pes', ctypes.c_int), ('signals', ctypes.c_bool)]


class _Run:
    """The run of this process. It keeps what the runtime has pointers to."""

    def __init__(self, library, words, boot):
        self.library, self.boot = library, boot
        self.thread, self.inside = threading.get_ident(), False
        self.argc = ctypes.c_int(len(words))
        self.words = (ctypes.c_char_p * (len(words) + 1))(*words, None)
        self.argv = ctypes.cast(self.words, ctypes.POINTER(ctypes.c_char_p))
        self.tick = _Hook(lambda _: None)


_run = None


def _current(call):
    if _run is None:
        raise Error(f'chard.{call} without a run: call chard.init first, and again after each chard.finalize')
    if threading.get_ident() != _run.thread:
        raise Error(f'chard.{call} on another thread than chard.init')
    if _run.inside:
        raise Error(f'chard.{call} in a handler: return from it instead')
    return _run


@contextlib.contextmanager
def _handlers_run(run):
    sys.stdout.flush()  # the chares write past Python's buffer
    run.inside = True
    try:
        yield
    finally:
        run.inside = False


def _wrap_allgather(allgather, size):
    def call(mine, everybody, n_bytes, _):
        try:
            parts = list(allgather(ctypes.string_at(mine, n_bytes)))
            if len(parts) != size or any(len(part) != n_bytes for part in parts):
                raise ValueError(f'allgather must return {size} parts of {n_bytes} bytes')
            ctypes.memmove(everybody, b''.join(parts), size * n_bytes)
            return 0
        except BaseException:  # an exception cannot pass through C
            traceback.print_exc()
            return 1
    return _Allgather(call)


def init(library, module, args=('python',), pes=0, *, rank=0, size=1, allgather=None, abort=None, signals=False):
    """Start the run. All processes of a job call it.

    library    a ctypes.CDLL, or a path: the chares, linked with libchard
    module     the name of the mainmodule in its .ci file
    args       what the main chare gets as argv
    pes        PEs of this process; 0: CK_PES, or 1. +p N in args is stronger
    allgather  of several processes: bytes -> the list of every rank's bytes, as comm.allgather of mpi4py
    abort      called with the exit code where the job ends by force
    signals    catch faults and SIGUSR1 as a program of Chard's own does

    Without allgather the environment says who else is there: nobody, or ckrun's other processes.
    """
    global _run
    if _run is not None:
        raise Error('chard.init twice: a process has one run at a time; call chard.finalize first')
    if not isinstance(library, ctypes.CDLL):
        library = ctypes.CDLL(library)
    try:
        library.CkInit.argtypes = [ctypes.c_void_p] * 4
        table = ctypes.c_char.in_dll(library, 'ck_module_' + module)
    except (AttributeError, ValueError) as wrong:
        raise Error(f'chard.init: {library._name} has no chares of a module {module}, or is not linked with '
                    f'libchard: {wrong}') from None
    library.CkRunUntil.restype = ctypes.c_bool
    words = [str(word).encode() for word in args] or [b'python']
    boot = _Boot(rank, size, _wrap_allgather(allgather, size) if allgather else _Allgather(),
                 _Abort(lambda code, _: abort(code)) if abort else _Abort(), None, pes, signals)
    run = _Run(library, words, boot)
    with _handlers_run(run):
        code = library.CkInit(ctypes.byref(run.argc), ctypes.byref(run.argv), ctypes.byref(table), ctypes.byref(boot))
    if code:
        raise Error('chard.init: no run has begun; a line on standard error says why')
    _run = run


def progress(n=1):
    """Make n passes of this PE's scheduler. How much they found to do; -1: the run has ended. Never sleeps."""
    run = _current('progress')
    with _handlers_run(run):
        return run.library.CkProgress(n)


@contextlib.contextmanager
def _interruptible(flag):
    """Ctrl-C ends the wait for `flag`, and is raised again behind it.

    Python runs the handler of a signal on its main thread when it runs Python code there. The tick is some, ten
    times a second. An exception could not leave it, so another handler takes the signal meanwhile."""
    caught = []
    before = None

    def catch(number, frame):
        caught.append((number, frame))
        if not flag.value:
            flag.value = _INTERRUPTED

    if threading.current_thread() is threading.main_thread() and callable(signal.getsignal(signal.SIGINT)):
        before = signal.signal(signal.SIGINT, catch)
    try:
        yield
    finally:
        if before:
            signal.signal(signal.SIGINT, before)
    if flag.value == _INTERRUPTED:
        flag.value = 0
    if caught:
        before(*caught[0])


def run_until(flag=None):
    """Run handlers until the ctypes.c_int `flag` is not 0. False: the run has ended first. Without work it sleeps.

    Where every process waits and nothing will come, the watchdog ends the run: CK_WATCHDOG=0 if a thread of Python sets
    the flag."""
    run = _current('run_until')
    flag = ctypes.c_int() if flag is None else flag
    with _interruptible(flag), _handlers_run(run):
        hook = run.library.CcdCallOnConditionKeep(_QUIET_100MS, run.tick, None)
        reached = run.library.CkRunUntil(ctypes.byref(flag))
        run.library.CcdCancelCallOnCondition(_QUIET_100MS, hook)
    return reached


def finalize():
    """End the run, and wait for the job's other processes to do so. Returns its exit code."""
    global _run
    run = _current('finalize')
    with _handlers_run(run):
        code = run.library.CkFinalize()
    _run = None
    return code
