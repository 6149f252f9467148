#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""manycore.sh [options] [BUILD] [SECONDS]: one PE on each core, by processes and by threads, beside MPI.

    bash bench/manycore.sh build                on this machine, in at most 170 seconds
    bash bench/manycore.sh build 60             in 60
    bash bench/manycore.sh --carry DIR build    pack what the script needs in DIR, with the libraries, so that it
                                                runs where only bash and python3 are installed, and a C library
                                                that is as new as here: bash DIR/manycore.sh
    --smoke      everything as short as can be; says nothing about speed
    --pes N      PEs; as many as cores are the default
    --only WORD  rows whose name contains it
    --csv FILE   every figure

Each row is measured in turn: by processes, by threads, by each MPI whose program is in the build and whose
launcher is installed or carried. When all rows have been, they are measured again as long as there is time;
medians are printed. A run that does not end in its time, or fails, leaves its cells empty, and is named below the
table. Times are better when smaller; ratios are relative to processes, and to the faster MPI.

Exit code: 0 when each row has a figure by processes and one by threads; 1 if not."""
import argparse
import csv
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
DEFAULT_SECONDS = 170
# In the folder that --carry makes, beside this script.
CARRIED = "carried.tar.gz"
MPIS = {"mpich": ["mpiexec.hydra"],
        "openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "core"]}
# What a process of MPICH's launcher starts on the same host.
HELPERS = {"mpich": ["hydra_pmi_proxy"]}
# UCX loads its transports from a folder beside its own library. This one copies from process to process.
UCX_MODULES = ["ucx/libuct_cma.so.0"]


@dataclass
class Program:
    """Rows that one program prints. `rows`: {row: pattern of its figure}."""
    name: str
    args: str
    rows: dict
    smoke: str                  # other arguments, in a smoke test
    mpi: str = ""
    mpi_args: str = ""
    mpi_smoke: str = ""
    mpi_rows: dict = None       # as `rows`; None: the same


def named(*names):
    """Figures of programs that print `NAME PARAMETER VALUE`. A name goes on with how it was measured."""
    return {f"{name} {at}" if at != "0" else name: rf"^{name}(?:-\w+)? {at} ([\d.]+)" for name, at in names}


def grid(n):
    """n as a product of three numbers, as equal as possible."""
    boxes = [(a, b, n // a // b) for a in range(1, n + 1) if n % a == 0 for b in range(1, n // a + 1) if n // a % b == 0]
    return min(boxes, key=sum)


def collectives():
    rows = [(f"{op}-{whom}", at) for whom in ("group", "array") for op, at in
            (("barrier", "0"), ("allreduce", "1"), ("allreduce", "100"), ("bcast", "1"), ("bcast-acked", "1"))]
    return [Program("bench/collectives", "--reps 1", named(*rows), "--smoke",
                    "bench/mpi/collectives_mpi", "--reps 1", "--smoke")]


def grain():
    def row(name, pattern, more, way):
        figure = rf"^grain-{pattern}-[-\w]+ \d+ ([\d.]+) us"
        args = f"--pattern {pattern} {more}"
        short = f"--pattern {pattern} --smoke"
        return Program("bench/grain/grain", f"--way {way} {args}", {name: figure}, f"--way {way} {short}",
                       "bench/mpi/grain_mpi", args, short)
    few = "--reps 5 --steps 300"
    return [row("stencil, METG, 1 a PE, near", "stencil", "--metg --width 1 --reps 5", "near"),
            row("stencil, 8 a PE, iter 64, near", "stencil", f"--iters 64 {few}", "near"),
            row("stencil, 8 a PE, iter 64, calls", "stencil", f"--iters 64 {few}", "message"),
            row("random, 8 a PE, iter 64, calls", "random", f"--iters 64 {few}", "message"),
            row("all, 1 a PE, iter 64, calls", "all", f"--iters 64 --width 1 {few}", "message")]


def programs(n):
    ms = r" in ([\d.]+) ms"
    a, b, c = grid(n)
    cells = f"--columns {8 * a * c} --rows {4 * b}"
    big = f"{2 * a}x{2 * b}x{2 * c}"
    return [
        Program("examples/particles/particles", f"{cells} --particles {8000 * n} --steps 40 --move 0",
                {"particles": ms}, f"{cells} --particles 500 --steps 4 --move 0"),
        Program("examples/particles/particles", f"{cells} --particles {400 * n} --steps 80 --move 0",
                {"particles, few": ms}, f"{cells} --particles 500 --steps 4 --move 0"),
        Program("examples/nqueens/nqueens", "--queens 11 --grain 6", {"tasks (nqueens)": ms}, "--queens 6"),
        Program("examples/fib/fib", "--n 26 --mode chares", {"tasks (fib)": ms}, "--n 10"),
        Program("examples/samplesort/samplesort", f"--keys {250000 * n} --repeat 3",
                {"samplesort": r"^samplesort \d+ ([\d.]+)"}, "--keys 5000",
                "bench/mpi/samplesort_mpi", f"--keys {250000 * n} --repeat 3", "--keys 5000",
                {"samplesort": r"^samplesort-\w+ \d+ ([\d.]+)"}),
        *[Program("examples/stencil/stencil", f"--domain 96x96x96 --chares {big} --iters 200 --repeat 3 --mode {mode} "
                  "--no-verify --quiet", {f"stencil, {name}": rf"^stencil {mode} iter_us ([\d.]+)"},
                  f"--domain 16x16x16 --chares {a}x{b}x{c} --iters 4 --mode {mode} --no-verify --quiet",
                  "bench/mpi/stencil_mpi", "96 96 96 200", "16 16 16 4",
                  {f"stencil, {name}": r"^stencil-\w+ (?:\d+ |iter_us )?([\d.]+)"})
          for mode, name in (("msg", "calls"), ("direct", "channels"))],
        *[Program("examples/matmul/matmul", f"--n 256 --p 4 --iters 20 --repeat 3 --mode {mode} --sync barrier --no-verify",
                  {f"matmul, {name}": rf"^matmul {mode} iter_us ([\d.]+)"},
                  f"--n 32 --p 2 --iters 2 --mode {mode} --sync barrier --no-verify",
                  "bench/mpi/matmul_mpi", "256 20 --p 4 --repeat 3 --no-verify", "32 2 --p 2 --no-verify",
                  {f"matmul, {name}": r"^matmul-\w+ (?:\d+ |iter_us )?([\d.]+)"})
          for mode, name in (("msg", "calls"), ("direct", "channels"))],
    ]


# ---- running ---------------------------------------------------------------------------------------


class Rig:
    """Where programs and launchers are, and how they are started."""

    def __init__(self, build, n):
        self.build, self.n = build, n
        self.env = dict(os.environ)
        if (build / "lib").is_dir():  # a carried build
            self.env["LD_LIBRARY_PATH"] = f"{build / 'lib'}:{self.env.get('LD_LIBRARY_PATH', '')}".rstrip(":")
            self.env["PATH"] = f"{build / 'bin'}:{self.env['PATH']}"

    def has(self, program):
        return os.access(self.build / program, os.X_OK)

    def mpis(self, program):
        return [m for m, launcher in MPIS.items() if program and self.has(f"{program}.{m}")
                and shutil.which(launcher[0], path=self.env["PATH"])]

    def command(self, job, how, smoke):
        if how in MPIS:
            args = job.mpi_smoke if smoke else job.mpi_args
            return [*MPIS[how], "-n", str(self.n), str(self.build / f"{job.mpi}.{how}"), *args.split()]
        threads = ["--ppn", str(self.n)] if how == "threads" else []
        return [str(self.build / "bin/ckrun"), "-n", str(self.n), *threads, str(self.build / job.name),
                *(job.smoke if smoke else job.args).split()]

    def run(self, command, seconds):
        """What it prints, or None. All that it has started ends with it."""
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.env,
                                 start_new_session=True)
        try:
            text, _ = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 15)
            try:
                child.communicate(timeout=5)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, 9)
                child.communicate()
            return None
        return text if child.returncode == 0 else None


def figures(text, rows):
    found = {row: re.search(pattern, text, re.MULTILINE) for row, pattern in rows.items()}
    return {row: float(match.group(1)) for row, match in found.items() if match}


class Table:
    def __init__(self, jobs, only):
        self.rows = [row for job in jobs for row in job.rows if only in row]
        self.values = {row: {} for row in self.rows}
        self.failed = {}

    def add(self, how, measured):
        for row, value in measured.items():
            if row in self.values:
                self.values[row].setdefault(how, []).append(value)

    def of(self, row, how):
        values = self.values[row].get(how)
        return median(values) if values else None

    def mpi(self, row):
        return min((v for m in MPIS if (v := self.of(row, m))), default=None)

    def lines(self):
        yield "| | processes | threads | threads / processes | MPI | processes / MPI | threads / MPI |"
        yield "|---|---|---|---|---|---|---|"
        for row in self.rows:
            p, t, m = self.of(row, "processes"), self.of(row, "threads"), self.mpi(row)
            cells = [number(p), number(t), ratio(t, p), number(m), ratio(p, m), ratio(t, m)]
            yield f"| {row} | " + " | ".join(cells) + " |"

    def whole(self):
        return all(self.of(row, how) is not None for row in self.rows for how in ("processes", "threads"))


def number(value):
    return "" if value is None else f"{value:.4g}"


def ratio(value, base):
    return f"{value / base:.2f}" if value is not None and base else ""


def measure(rig, jobs, table, seconds, smoke):
    """Rounds of all jobs, the first in any case; the number of rounds."""
    end, rounds = time.monotonic() + seconds, 0
    took = {}
    while True:
        for job in jobs:
            for how in ("processes", "threads", *rig.mpis(job.mpi)):
                left = end - time.monotonic()
                key = (job.name, job.args, how)
                if left < took.get(key, 1):
                    return rounds
                began = time.monotonic()
                text = rig.run(rig.command(job, how, smoke), min(left, 15))
                took[key] = time.monotonic() - began
                rows = job.mpi_rows if how in MPIS and job.mpi_rows else job.rows
                got = figures(text, rows) if text else {}
                if not got:
                    table.failed[f"{job.name} {job.smoke if smoke else job.args}, {how}"] = True
                table.add(how, got)
        rounds += 1
        if smoke:
            return rounds


# ---- carrying --------------------------------------------------------------------------------------


def libraries(binary):
    text = subprocess.run(["ldd", binary], stdout=subprocess.PIPE, text=True, check=True).stdout
    if "not found" in text:
        sys.exit(f"manycore: {binary} needs a library that is not here:\n{text}")
    paths = [Path(p) for p in re.findall(r"=> (/\S+)", text)]
    # The C library belongs to the machine, and so does its loader.
    return [p for p in paths if not re.match(r"(libc|libm|libpthread|libdl|librt|libresolv)\.so", p.name)]


def binaries(rig, jobs):
    """What is carried: {path in the carried build: file here}."""
    found = {"bin/ckrun": rig.build / "bin/ckrun"}
    for job in jobs:
        found[job.name] = rig.build / job.name
        if "mpich" in rig.mpis(job.mpi):
            found[f"{job.mpi}.mpich"] = rig.build / f"{job.mpi}.mpich"
            for tool in [MPIS["mpich"][0], *HELPERS["mpich"]]:
                found[f"bin/{tool}"] = Path(shutil.which(tool))
    for path in list(found.values()):
        found |= {f"lib/{lib.name}": lib for lib in libraries(path)}
    beside = [lib.parent for name, lib in found.items() if name.startswith("lib/libuct.")]
    found |= {f"lib/{module}": lib / module for lib in beside for module in UCX_MODULES if (lib / module).exists()}
    return found


def carry(rig, jobs, to):
    to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as stage, tarfile.open(to / CARRIED, "w:gz", compresslevel=6) as out:
        for name, path in binaries(rig, jobs).items():
            staged = Path(stage) / name
            staged.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path.resolve(), staged)
            if shutil.which("strip") and not name.startswith("lib/"):
                subprocess.run(["strip", "--strip-debug", staged], check=True)
            out.add(staged, name)
    for script in ("manycore.sh", "manycore.py"):
        shutil.copy(HERE / script, to)


@contextmanager
def unpacked(build):
    """Where the programs are: `build`, or what was carried there, in a folder that exists meanwhile."""
    if not (build / CARRIED).exists():
        yield build
        return
    with tempfile.TemporaryDirectory(prefix="manycore-") as folder, tarfile.open(build / CARRIED) as carried:
        carried.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
        yield Path(folder)


# ---- the whole -------------------------------------------------------------------------------------


def cores():
    """Those that this process may use; two threads of one core count once."""
    seen = set()
    for cpu in os.sched_getaffinity(0):
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        seen.add(siblings.read_text().strip() if siblings.exists() else str(cpu))
    return len(seen)


def processor():
    text = Path("/proc/cpuinfo").read_text()
    name = re.search(r"model name\s*: (.*)", text)
    return name.group(1) if name else os.uname().machine


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__, allow_abbrev=False)
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--carry", type=Path)
    parser.add_argument("--pes", type=int, default=cores())
    parser.add_argument("--only", default="")
    parser.add_argument("--csv", type=Path)
    parser.add_argument("build", nargs="?", type=Path, default=HERE if (HERE / CARRIED).exists() else HERE.parent / "build")
    parser.add_argument("seconds", nargs="?", type=float, default=DEFAULT_SECONDS)
    return parser.parse_args()


def write_csv(path, table):
    with path.open("w", newline="") as f:
        out = csv.writer(f)
        for row, values in table.values.items():
            out.writerows([row, how, v] for how, all_of_it in values.items() for v in all_of_it)


def report(rig, jobs, args):
    table = Table(jobs, args.only)
    began = time.monotonic()
    rounds = measure(rig, jobs, table, args.seconds, args.smoke)
    print(f"{args.pes} PEs, {cores()} cores, {processor()}; {rounds} rounds in {time.monotonic() - began:.0f} s; "
          "us, but programs that print ms in ms")
    print(*table.lines(), sep="\n")
    absent = [m for m in MPIS if not any(m in rig.mpis(job.mpi) for job in jobs)]
    print(*[f"left out: {m}: no program in the build, or no {MPIS[m][0]}" for m in absent], sep="\n")
    print(*[f"no figure: {name}" for name in table.failed], sep="\n")
    if args.csv:
        write_csv(args.csv, table)
    return 0 if table.whole() else 1


def main():
    args = arguments()
    jobs = [job for job in [*collectives(), *grain(), *programs(args.pes)] if any(args.only in row for row in job.rows)]
    if args.carry:
        carry(Rig(args.build.resolve(), args.pes), jobs, args.carry)
        return 0
    with unpacked(args.build.resolve()) as build:
        return report(Rig(build, args.pes), jobs, args)


if __name__ == "__main__":
    sys.exit(main())
