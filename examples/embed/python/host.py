#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Python program with a phase of chares, twice in a row.

    python3 host.py LIBEMBED.SO [number of PEs]

The library has the chares of ../embed.ci, compiled from C. PYTHONPATH names the folder of chard.py.
"""

import ctypes
import sys

import chard

LAST = 60000


def count(library, pes):
    """How many primes there are below LAST, by the chares."""
    done = ctypes.c_int.in_dll(library, 'embed_done')
    chard.init(library, 'embed', ['host.py'], pes=pes)
    try:
        library.embed_ask(ctypes.c_long(0), ctypes.c_long(LAST))
        chard.progress(10)  # a program may go on with things of its own, and come back ...
        chard.run_until(done)  # ... or wait
    finally:
        chard.finalize()
    return ctypes.c_long.in_dll(library, 'embed_answer').value


def main():
    library = ctypes.CDLL(sys.argv[1])
    library.embed_count.restype = ctypes.c_long
    right = library.embed_count(ctypes.c_long(0), ctypes.c_long(LAST))
    pes = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    for run in range(2):
        primes = count(library, pes)
        print(f'run {run}: {primes} primes below {LAST}', flush=True)
        if primes != right:
            sys.exit(f'host.py: there are {right}')
    print('host.py: both runs: checked')


if __name__ == '__main__':
    main()
