#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lines.py: which cache lines travel between the PEs of a program, and which code makes them travel.

    make SANITIZE=thread lib tools examples
    python3 bench/lines.py build-thread -n 4 --ppn 4 examples/fib/fib --n 24     by threads
    python3 bench/lines.py build-thread -n 4 examples/fib/fib --n 24             the same by processes

The first words are the build, of the thread sanitizer, and ckrun's options; then comes an example with its
options. --top N in front of the build: so many places of code. lines/lines.c is linked in place of the sanitizer's
library and says what is counted. It needs no more cores than two: it counts and does not measure time.

Prints the program's output, then `transfers N`, then for each place of code: transfers, R or W, functions from the
inside out. Exit code: the program's."""
import argparse
import glob
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TABLE, SITES = 1 << 21, 1 << 16
HEAD = struct.Struct("<IxxxxQQIxxxx")
SITE = struct.Struct("<QQ4Q")
LINE_BYTES = 24
LIBRARIES = ["-lhwloc", "-lunwind", "-pthread", "-ldl", "-lm"]


def link(build, program, to):
    """The program with lines.c in place of the thread sanitizer's library."""
    folder = Path(build) / Path(program).parent
    wraps = [f"-Wl,--wrap={name}" for name in ("memcpy", "memmove", "memset")]
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-O2", "-Wall", "-c", HERE / "lines/lines.c", "-o", f"{to}.o"], check=True)
    subprocess.run([compiler, "-o", to, *glob.glob(f"{folder}/*.o"), f"{build}/libchard.a", f"{to}.o", *wraps, *LIBRARIES],
                   check=True)


def sites(table):
    """(transfers, address in the program, is a write), most first; and the sum."""
    data = Path(table).read_bytes()
    _, _, transfers, _ = HEAD.unpack_from(data)
    start = HEAD.size + TABLE * LINE_BYTES
    found = []
    for i in range(SITES):
        key, count, *_ = SITE.unpack_from(data, start + i * SITE.size)
        if count:
            found.append((count, key >> 1, key & 1))
    return transfers, sorted(found, reverse=True)


def place(binary, address):
    """The call is one byte before where it returns to."""
    text = subprocess.run(["addr2line", "-fips", "-e", binary, hex(address - 1)], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    return text.strip().replace("\n (inlined by)", " <")


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__, allow_abbrev=False)
    parser.add_argument("--top", type=int, default=20)
    parser.add_argument("build")
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    at = next((i for i, word in enumerate(args.rest) if word.startswith("examples/")), None)
    if at is None:
        parser.error("no program: examples/...")
    return args, args.rest[:at], args.rest[at], args.rest[at + 1:]


def main():
    args, options, program, words = arguments()
    with tempfile.TemporaryDirectory() as folder:
        binary, table = f"{folder}/program", f"{folder}/table"
        link(args.build, program, binary)
        done = subprocess.run([f"{args.build}/bin/ckrun", *options, binary, *words], check=False,
                              env=dict(os.environ, LINES_FILE=table))
        transfers, found = sites(table)
        print("transfers", transfers)
        for count, address, is_write in found[:args.top]:
            print(f"{count:9} {'RW'[is_write]} {place(binary, address)}")
        return done.returncode


if __name__ == "__main__":
    sys.exit(main())
