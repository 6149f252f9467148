# SPDX-License-Identifier: Apache-2.0
"""What is run: groups of programs that are compared with each other. suite.py runs the programs of a
group in turn."""
import os
import subprocess
from dataclasses import dataclass

GROUPS = ("roundtrip", "untouched", "rate", "overhead", "aggregation", "instructions", "collectives",
          "many", "migrate", "pause", "fan", "model", "channels", "stencil", "footprint", "matmul", "matmul2", "samplesort", "halo",
          "crowd", "waiting", "growth", "torn", "grain", "parts", "globals")
ON_DEMAND = ("lab",)  # and in a smoke test
ANY = 1000


@dataclass
class Job:
    program: str        # is left out unless it has been built, or is installed
    command: list
    parameter: str = "0"  # for programs that print none
    suffix: str = ""    # goes behind every name that it prints
    prefix: str = ""    # and this before
    clock: str = ""     # what it prints does not matter: the figure of this name is its time in ms
    patience: int = 0   # seconds; a job that takes longer has no figure, but has not failed
    series: str = ""    # jobs that grow: when one does not work, the larger ones are left out
    may_fail: bool = False  # the machine may be too small for it


@dataclass
class Group:
    name: str
    jobs: list
    rounds: int = ANY          # at most
    cores_matter: bool = True  # how far apart they are


class Builder:
    """Commands for the programs under a build folder. `smoke`: as short as can be; `quick`: fewer."""

    def __init__(self, build, smoke, quick):
        self.build, self.smoke, self.quick = build, smoke, quick
        self.once = ["--smoke"] if smoke else ["--reps", "1"]
        self.iterations = 2 if smoke else 100

    def groups(self, names):
        return [getattr(self, name)() for name in names]

    # ---- commands ---------------------------------------------------------------------------

    def sizes(self, sizes, smoke_sizes):
        return ["--reps", "1", "--sizes", smoke_sizes if self.smoke else sizes]

    def few(self):
        """The sizes of bench.h."""
        return ["--reps", "1", *(["--sizes", "8,1000"] if self.smoke else [])]

    def alone(self, program, *args, **options):
        return Job(program, [f"{self.build}/{program}", *args], **options)

    def script(self, needs, name, *args):
        return Job(needs, ["sh", f"bench/{name}", *args])

    def ckrun(self, program, *args, n=2, threads=False, env=(), **options):
        command = [f"{self.build}/bin/ckrun", "-n", str(n)] + (["--ppn", str(n)] if threads else [])
        command += [f"{self.build}/{program}", *args]
        return Job(program, (["env", *env] if env else []) + command, **options)

    def both(self, name, *args, **options):
        """As two processes, and as two PEs of one."""
        return [self.ckrun(f"bench/{name}", *args, threads=t, **options) for t in (False, True)]

    def mpi(self, name, *args, n=2, suffix=None, **options):
        """By each MPI that is installed. Programs that need a suffix do not say which MPI it is."""
        return [self.one_mpi(m, name, *args, n=n, **options,
                             suffix="" if suffix is None else f"{suffix}-{m}")
                for m in ("openmpi", "mpich")]

    def one_mpi(self, which, name, *args, n=2, folder="bench/mpi", flags=(), env=(), **options):
        program = f"{folder}/{name}_mpi.{which}"
        launcher = {"openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe",
                                "--bind-to", "none"],
                    "mpich": ["mpiexec.hydra"]}[which]
        command = [*launcher, *flags, "-n", str(n), f"{self.build}/{program}", *args]
        return Job(program, (["env", *env] if env else []) + command, **options)

    # ---- the groups -------------------------------------------------------------------------

    def roundtrip(self):
        """What a ball costs there and back, by size, when its data is new each time and read."""
        few = self.few()
        return Group("roundtrip", [
            self.alone("bench/floor", *few),
            self.alone("bench/floor", "--threads", *few),
            self.alone("bench/floor", "--best", *self.sizes("30000,40000,70000,100000,500000", "30000")),
            *self.both("pingpong", *few),
            *self.mpi("pingpong", *few),
            *self.mpi("pingpong", "--put", *few)])

    def untouched(self):
        """The same when nobody writes or reads the data, as in the figures that others publish."""
        peers = ["--no-touch", *self.sizes("100,1000,10000,100000,500000", "100")]
        return Group("untouched", [
            self.alone("bench/floor", *peers),
            self.alone("bench/floor", "--threads", *peers),
            self.alone("bench/floor", "--threads", "--handover", *self.few()),
            *self.both("pingpong", *peers, suffix="-notouch"),
            *self.mpi("pingpong", *peers),
            self.script("ucx_perftest", "perftest.sh", *(["--smoke"] if self.smoke else []))])

    def rate(self):
        """The share of each layer: handlers, entry methods, MPI."""
        return Group("rate", [*self.both("machine", *self.once), *self.both("rate", *self.once),
                              *self.mpi("rate", *self.once)])

    def overhead(self):
        """What a PE spends on a call."""
        return Group("overhead", [
            self.alone("bench/local", "1000" if self.smoke else "20000"),
            *self.both("logp", *self.once),
            *self.both("kpings", *self.once),
            *self.mpi("kpings", *self.once)])

    def aggregation(self):
        """ARMI's aggregation factor, through shared memory and through UCX, as a network would be."""
        def kpings(*args):
            return [*self.both("kpings", *args, *self.once),
                    self.ckrun("bench/kpings", *args, *self.once, env=["CK_SHARE=0"], suffix="-ucx")]
        factors = [str(2 ** i) for i in range(12)]
        return Group("aggregation", [
            *kpings(), *(job for f in factors for job in kpings("--aggregate", f)),
            *self.mpi("kpings", "--aggregate", "512", *self.once),
            self.ckrun("bench/kpings", "--bare", "512", *self.once, threads=True)], rounds=2)

    def instructions(self):
        """They are the same in every round."""
        return Group("instructions", [
            self.script("valgrind", "instructions.sh", f"{self.build}/bench/local"),
            self.script("valgrind", "fine.sh", f"{self.build}/bench/fine"),
            *(self.script("valgrind", "across.sh", self.build, word)
              for word in ("count", "array", "string", "struct", "message"))],
            rounds=1, cores_matter=False)

    def collectives(self):
        barrier = ["--barrier", *self.few()]
        return Group("collectives", [
            *self.both("collectives", *self.once), *self.mpi("collectives", *self.once),
            self.alone("bench/floor", *barrier), self.alone("bench/floor", "--threads", *barrier)])

    def many(self):
        return Group("many", [self.ckrun("bench/many", *self.once)], rounds=1)

    def migrate(self):
        """Elements that move."""
        return Group("migrate", [self.ckrun("bench/migrate", *self.once, n=3, threads=t)
                                 for t in (False, True)], rounds=3)

    def pause(self):
        """Checkpoints in memory, of small elements and of larger ones."""
        sizes = [(10, 100)] if self.smoke else [(100000, 100), (10000, 9600)]
        return Group("pause", [self.ckrun("bench/pause", str(n), str(size), "1" if self.smoke else "7", n=1)
                               for n, size in sizes], rounds=3)

    def fan(self):
        """Multicast and reducing channels."""
        return Group("fan", [self.ckrun("bench/fan", *self.once, n=2, threads=t)
                             for t in (False, True)], rounds=3)

    def model(self):
        """Lines of the cost model that no other group measures: lent arrays and threads."""
        sizes = self.sizes("1000,10000,100000,1000000", "1000")
        return Group("model", [
            self.ckrun("bench/nocopy", *sizes, suffix="-nodes"),
            self.ckrun("bench/nocopy", *sizes, threads=True, suffix="-threads"),
            self.alone("bench/lend", *sizes),
            self.alone("bench/threads")])

    def channels(self):
        return Group("channels", [
            self.ckrun("bench/channels", *self.once),
            self.ckrun("bench/channels", *self.once, threads=True, suffix="-threads"),
            # What they would be without the doorbell: all of them polled.
            self.ckrun("bench/channels", "--most", "10000", *self.once,
                       env=["CK_DIRECT_POLL_MAX=1000000"], suffix="-polled"),
            self.ckrun("bench/paircalc", *self.once),
            self.ckrun("bench/paircalc", *self.once, "--hops", "0"),
            *self.both("transfer", *self.once), *self.both("ghosts", *self.once)])

    def stencil(self):
        """A whole program over the size of the problem and over the chares per PE, which are the
        parameter. Plain names belong to 64x64x64, others have the size behind them. The MPI
        program has one block per rank."""
        shapes = {1: "2x1x1", 8: "4x2x2", 64: "8x4x4", 512: "16x8x8"}

        def runs(per_pe, edge):
            suffix = "" if edge == 64 else f"-{edge}"
            return [self.ckrun("examples/stencil/stencil", "--mode", "both",
                               "--domain", f"{edge}x{edge}x{edge}", "--chares", shapes[per_pe],
                               "--iters", str(self.iterations), "--no-verify",
                               parameter=str(per_pe), suffix=suffix),
                    *self.mpi("stencil", *[str(edge)] * 3, str(self.iterations),
                              parameter=str(per_pe), suffix=suffix)]
        cases = [(1, 64), (8, 64)]
        if not self.smoke:
            cases += [(64, 64), (8, 32), (64, 32)]
        if not self.quick:
            cases += [(512, 64), (1, 32), (1, 128), (8, 128), (64, 128)]
        return Group("stencil", [job for case in cases for job in runs(*case)])

    def footprint(self):
        """Why many small blocks leave channels no gain."""
        return Group("footprint", [
            self.script("examples/stencil/stencil", "footprint.sh",
                        *(["--smoke"] if self.smoke else []), self.build)],
            rounds=1, cores_matter=False)

    def matmul(self):
        """The parameter is the chares per PE; names have the size of the matrices behind them, except
        those of 256."""
        def run(per_pe, p, size, suffix=""):
            return self.ckrun("examples/matmul/matmul", "--mode", "both", "--n", str(size),
                              "--p", str(p), "--iters", str(self.iterations // 10 + 1),
                              "--no-verify", parameter=str(per_pe), suffix=suffix)
        jobs = [run(4, 2, 256)]
        if not self.smoke:
            jobs += [run(32, 4, 256), run(32, 4, 128, "-128")]
        if not self.quick:
            jobs += [run(256, 8, 256), run(4, 2, 128, "-128"), run(4, 2, 512, "-512"),
                     run(32, 4, 512, "-512")]
        return Group("matmul", jobs + self.matmul_8())

    def matmul_8(self):
        """One chare per PE, so that the MPI program has as many ranks; on two cores most of them wait
        for one. Ten iterations are a time slice or two of the system's and vary by half, so a turn has
        200 ms. MPICH's ranks wait busily: 50 ms an iteration."""
        n, repeat = str(self.iterations), ["--repeat", "1" if self.smoke else "5"]
        return [
            self.ckrun("examples/matmul/matmul", "--mode", "both", "--n", "256", "--p", "2",
                       "--iters", n, *repeat, "--no-verify", n=8, parameter="1", suffix="-8pes"),
            self.one_mpi("openmpi", "matmul", "256", n, *repeat, "--no-verify", n=8,
                         parameter="1", suffix="-openmpi"),
            self.one_mpi("mpich", "matmul", "256", str(self.iterations // 10 + 1), "--no-verify",
                         n=8, parameter="1", suffix="-mpich")]

    def matmul2(self):
        """As many PEs or ranks as cores; the parameter is the bytes of a slice. "fine": most of a
        chare's transfers cross between PEs, as with one chare per PE, and are nearly all its work."""
        def runs(suffix, bytes_, size, p, iterations, spread=False):
            return [self.ckrun("examples/matmul/matmul", "--mode", "both", "--n", str(size),
                               "--p", str(p), "--iters", str(iterations), "--warmup", "5",
                               "--repeat", "3", "--sync", "barrier", "--no-verify",
                               *(["--map", "spread"] if spread else []),
                               parameter=str(bytes_), suffix=suffix),
                    *self.mpi("matmul", str(size), str(iterations), "--p", str(p), "--repeat", "3",
                              "--no-verify", *(["--spread"] if spread else []),
                              parameter=str(bytes_), suffix=suffix)]
        jobs = runs("-2pes", 65536, 256, 2, self.iterations * 2)
        jobs += runs("-fine", 128, 32, 4, self.iterations * 10, spread=True)
        if not self.smoke:
            jobs += runs("-fine", 512, 64, 4, self.iterations * 5, spread=True)
        return Group("matmul2", jobs)

    def samplesort(self):
        """One call per key, against an MPI program that gathers them by hand."""
        args = ["--keys", "10000" if self.smoke else "1000000", "--repeat", "3"]
        program = "examples/samplesort/samplesort"
        return Group("samplesort", [
            self.ckrun(program, *args, suffix="-nodes"),
            self.ckrun(program, *args, threads=True, suffix="-threads"),
            *self.mpi("samplesort", *args)])

    def halo(self):
        """Jacobi's method with as much for each PE, by messages, channels and global pointers, and by MPI."""
        size, steps = ("20", "5") if self.smoke else ("500", "200")
        program, args = "examples/halo/halo", ["--rows", size, "--columns", size, "--steps", steps]
        jobs = []
        for n in (1, 2):
            jobs += [self.ckrun(program, "--way", way, *args, n=n, threads=threads, suffix=suffix)
                     for way in ("messages", "channels", "globals")
                     for threads, suffix in ((False, "-nodes"), (True, "-threads"))]
            jobs += self.mpi("halo", size, size, steps, n=n)
        return Group("halo", jobs)

    def crowd(self):
        """The same work on more and more PEs, with no more cores. A cell works for 20 us per message, so
        how far apart the cores are does not matter."""
        args = ["--reps", "1", *(["--smoke"] if self.smoke else [])]
        jobs = []
        for n in [2, 4] if self.smoke else [2, 4, 8, 16, 32, 64]:
            jobs += [self.ckrun("bench/crowd", *args, n=n, threads=kind == "threads", patience=60,
                                series=kind) for kind in ("processes", "threads")]
            jobs += [self.one_mpi(m, "crowd", *args, n=n, patience=60, series=m)
                     for m in ("openmpi", "mpich")]
        return Group("crowd", jobs, rounds=3, cores_matter=False)

    def waiting(self):
        """What PEs take that wait for one that computes."""
        jobs = []
        for n in [2, 4] if self.smoke else [2, 4, 8]:
            args = ["--smoke"] if self.smoke else []
            jobs += [self.ckrun("bench/waiting", *args, n=n, threads=kind == "threads", series=kind)
                     for kind in ("processes", "threads")]
            jobs += [self.one_mpi(m, "waiting", *args, n=n, series=m) for m in ("openmpi", "mpich")]
        return Group("waiting", jobs, cores_matter=False)

    def growth(self):
        """What a node costs in a job of 2, 4, 8, ... nodes: real ones, as many threads, and simulated
        ones. With tcp all talk to all: what the endpoints of a network cost."""
        real, simulated = (4, 64) if self.smoke else (32, 512) if self.quick else (64, 1024)

        def series(most, job):
            jobs = [job(2 ** i) for i in range(1, 12) if 2 ** i <= most]
            for j in jobs:
                j.patience, j.may_fail = 120, j is not jobs[0]
            return jobs
        return Group("growth", [
            *series(real, lambda n: self.ckrun("examples/hello/hello", str(n), n=n, series="launch",
                                               clock="launch", parameter=str(n))),
            *series(real, lambda n: self.ckrun("bench/growth", n=n, series="nodes")),
            *series(real, lambda n: self.ckrun("bench/growth", n=n, threads=True, series="threads")),
            *series(real // 4, lambda n: self.ckrun("bench/growth", "--all", n=n, series="tcp",
                                                    env=["UCX_TLS=tcp,self"], prefix="tcp-")),
            *series(simulated, lambda n: self.alone("bench/growth", "--nodes", str(n), series="sim"))],
            rounds=3, cores_matter=False)

    def torn(self):
        """No speed: the channels must deliver whole data, and naive and memcpy must be caught. Of 10^6
        puts by memcpy between cores of one cache 0 to 11 were caught (AMD EPYC), and none of the few
        in a smoke test."""
        puts = "10000" if self.smoke else "1000000"
        jobs = [self.ckrun("bench/torn", "--path", path, "--puts", puts)
                for path in ("memory", "rma", "message")]
        if not self.smoke:
            jobs += [self.ckrun("bench/torn", "--path", path, "--puts", "10000000")
                     for path in ("naive", "memcpy")]
        return Group("torn", jobs, rounds=1, cores_matter=False)

    @staticmethod
    def some_of(patterns, turn):
        """Two, which the commit's name and the turn choose; all with FULL=1."""
        name = subprocess.run(["git", "rev-parse", "--short=7", "HEAD"], text=True, capture_output=True, check=False).stdout
        first = int(name or "0", 16) + turn
        return patterns if os.environ.get("FULL") else [patterns[(first + far) % len(patterns)] for far in (0, 3)]

    def grain(self):
        """How small tasks may be, by pattern and way; grain.py makes tables of them. The short form runs
        every way by two patterns, or with FULL=1 by all, and each task checks what it reads."""
        patterns = ("stencil", "nearest", "fft", "tree", "spread", "random", "all")
        ways = ("message", "inline", "call", "channel", "named", "near", "count", "body", "section",
                "member", "outputs")
        jobs = []
        for n, (program, way) in enumerate([*(("chard", way) for way in ways), ("mpi", "each"), ("mpi", "packed")]):
            for pattern in self.some_of(patterns, n) if self.smoke else patterns[:1]:
                args = ["--pattern", pattern, "--smoke" if self.smoke else "--metg"]
                jobs += (self.mpi("grain", "--how", way, *args) if program == "mpi" else
                         self.both("grain/grain", "--way", way, *args))
        return Group("grain", jobs, rounds=3)

    def parts_jobs(self, *args):
        """Each path: threads, memory of the host, and the others by force."""
        return [*self.both("parts", *args),
                *(self.ckrun("bench/parts", *args, env=[f"CK_DIRECT_PATH={path}"]) for path in ("message", "rma")),
                *self.mpi("parts", *args)]

    def parts(self):
        """A buffer cut into parts; parts.py makes a table of it."""
        some = ["--reps", "1", "--sizes", "4096,1048576", "--parts", "1,16,256"]
        return Group("parts", self.parts_jobs(*(["--smoke"] if self.smoke else some)))

    def globals_host(self, *args):
        """Open MPI's osc/sm by force: what it takes by itself ends by SIGSEGV in MPI_Compare_and_swap (4.1.4)."""
        return [*self.both("globals", *args),
                self.ckrun("bench/globals", *args, env=["CK_GLOBAL_PATH=message"]),
                self.ckrun("bench/globals", *args, "--apart", env=["CK_SHARE=0", "CK_GLOBAL_PATH=rma"]),
                self.one_mpi("openmpi", "globals", *args, flags=["--mca", "osc", "sm"]),
                self.one_mpi("mpich", "globals", *args)]

    def globals_tcp(self, *args):
        """Over tcp, on one host. Open MPI by its own point to point, and by UCX."""
        tcp, args = "UCX_TLS=tcp,self", (*args, "--apart")
        ob1 = ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "osc", "pt2pt"]
        ucx = ["--mca", "pml", "ucx", "--mca", "osc", "ucx", "--mca", "opal_common_ucx_tls", "any",
               "--mca", "opal_common_ucx_devices", "any"]
        return [*(self.ckrun("bench/globals", *args, env=["CK_SHARE=0", tcp, f"CK_GLOBAL_PATH={path}"], suffix="-tcp")
                  for path in ("message", "rma")),
                self.one_mpi("openmpi", "globals", *args, flags=ob1, suffix="-pt2pt-tcp"),
                self.one_mpi("openmpi", "globals", *args, flags=ucx, env=[tcp], suffix="-ucx-tcp"),
                self.one_mpi("mpich", "globals", *args, env=["MPIR_CVAR_NOLOCAL=1", tcp], suffix="-tcp", patience=20)]

    def globals(self):
        """Operations on global pointers; globals.py makes tables of them."""
        some = ["--smoke"] if self.smoke else ["--reps", "1", "--sizes", "4,8192,4194304"]
        return Group("globals", [*self.globals_host(*some), *self.globals_tcp(*some)], rounds=3)

    def lab(self):
        """What no target, table of a paper or line of the cost model needs: bench/lab/README.md."""
        short = ["--smoke"] if self.smoke else []
        return Group("lab", [
            *self.both("lab/pingack", *self.once), *self.mpi("pingack", *self.once, folder="bench/lab"),
            *self.both("lab/neighbours", *self.once),
            *self.mpi("neighbours", *self.once, folder="bench/lab"),
            *self.both("lab/farm", *short), *self.mpi("farm", *short, folder="bench/lab"),
            self.ckrun("bench/lab/singles", *short)])
