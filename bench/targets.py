# SPDX-License-Identifier: Apache-2.0
"""What is said about the figures: ratios, targets, tables of the papers, plots. suite.py does it."""
from dataclasses import dataclass

MPIS = ("openmpi", "mpich")


# ---- targets ---------------------------------------------------------------------------------

@dataclass
class Target:
    title: str
    name: str            # of the figure
    at: str              # parameters: one, FROM-TO, or all; N/M: the figure at N over that at M
    op: str
    limit: float
    over: tuple = ()     # figures to divide by, of which the fastest counts
    bound: str = ""      # a figure that nothing can be better than, NAME or NAME@PARAMETER; divided by
    why: str = ""        # the same. Where it is beyond the limit, too, the verdict is "bounded"


def faster_mpi(name):
    return tuple(f"{name}-{mpi}" for mpi in MPIS)


TARGETS = [
    Target("channel round trip, up to 20 kB, over bare shared memory",
           "channel-nodes", "8-20000", "<=", 1.25, ("floor",)),
    Target("channel round trip, above 20 kB, over plain memcpy",
           "channel-nodes", "20001-1000000000", "<=", 1.0, ("floor",),
           "floor-best", "no way of bare C to copy is faster"),
    Target("channel round trip in a node, over bare shared memory",
           "channel-threads", "8-20000", "<=", 1.25, ("floor-threads",)),
    Target("message round trip between processes, over the faster MPI",
           "message-nodes", "all", "<=", 1.0, faster_mpi("mpi"),
           "floor", "bare shared memory is no faster"),
    Target("the same, over Charm++ on UCX (published, scaled; data untouched)",
           "message-nodes-notouch", "all", "<=", 0.5, ("charm-ucx",),
           "floor-notouch", "one copy to and fro"),
    Target("message round trip in a node, over Charm++ on threads (the same)",
           "handover-threads-notouch", "all", "<=", 0.5, ("charm-threads",),
           "floor-handover-threads@0", "bare C hands an object over by pointer"),
    Target("entry call on the same PE, ns", "local-hop", "0", "<=", 50),
    Target("the same, instructions", "local-instructions", "0", "<=", 150),
    Target("put within a PE, its function and ready in it, instructions", "fine-put-instructions", "0", "<=", 185),
    Target("[inline] call within a PE, instructions", "fine-inline-instructions", "0", "<=", 75),
    Target("call of another process with an array, instructions of its receiver",
           "across-array-receive-instructions", "0", "<=", 150),
    Target("message rate between nodes at 32 bytes, Mmsg/s", "chare-rate-nodes", "32", ">=", 5),
    Target("barrier, over the faster MPI",
           "barrier-group-nodes", "all", "<=", 1.0, faster_mpi("barrier-group")),
    Target("allreduce, over the faster MPI",
           "allreduce-group-nodes", "all", "<=", 1.0, faster_mpi("allreduce-group")),
    Target("1000 armed idle channels, ns per pass", "idle-armed", "1000", "<=", 1000),
    Target("message round trip beside 100000 armed channels, over none",
           "message-slow", "100000", "<=", 1.05),
    Target("stencil: gain by channels at the fine grain (64 blocks of 4x8x8 per PE), %",
           "stencil-gain-32", "64", ">=", 12),
    Target("matmul: gain by channels at the fine grain (slices of 128 bytes), %",
           "matmul-gain-fine", "128", ">=", 40, (),
           "transfer-matmul-gain-spread@128", "what copies, calls and products leave"),
    Target("stencil by messages, one block per PE, over the faster MPI program",
           "stencil-msg", "1", "<=", 1.0, faster_mpi("stencil-mpi")),
    Target("stencil by channels, one block per PE, over the faster MPI program",
           "stencil-direct", "1", "<=", 1.0, faster_mpi("stencil-mpi")),
    Target("matmul by messages, 8 PEs, over the faster MPI program",
           "matmul-msg-8pes", "1", "<=", 1.0, faster_mpi("matmul-mpi")),
    Target("matmul by channels, 8 PEs, over the faster MPI program",
           "matmul-direct-8pes", "1", "<=", 1.0, faster_mpi("matmul-mpi")),
    Target("matmul by messages, 2 PEs, over the faster MPI program",
           "matmul-msg-2pes", "all", "<=", 1.0, faster_mpi("matmul-mpi-2pes")),
    Target("matmul by channels, 2 PEs, over the faster MPI program",
           "matmul-direct-2pes", "all", "<=", 1.0, faster_mpi("matmul-mpi-2pes")),
    Target("matmul by messages, fine grain, over the faster MPI program",
           "matmul-msg-fine", "all", "<=", 1.0, faster_mpi("matmul-mpi-fine")),
    Target("matmul by channels, fine grain, over the faster MPI program",
           "matmul-direct-fine", "all", "<=", 1.0, faster_mpi("matmul-mpi-fine")),
    Target("the same work on 16 PEs, over 2 PEs (2 cores)", "crowd-processes", "16/2", "<=", 1.5),
    Target("hello on 2 PEs from launch to exit, ms", "launch", "2", "<=", 100),
]

# Charm++ 8.0 was not measured here, but on another machine with 2 cores: round trips between two
# processes over UCX (array entry) and between two threads (a pointer is handed over), data not touched;
# and bare C over shared memory beside them. Here it would take that many times bare C's time here.
CHARM_BYTES = ("100", "1000", "10000", "100000", "500000")
CHARM_BARE = (0.23, 0.26, 0.42, 5.4, 25)
CHARM_UCX = (1.78, 2.08, 8.2, 36.8, 104)
CHARM_THREADS = (1.30, 1.38, 1.27, 1.30, 0.7)


# ---- ratios ----------------------------------------------------------------------------------

def over(names, *references):
    return [(name, reference) for name in names.split() for reference in references]


def over_mpis(name, suffix="-nodes", mpis=MPIS):
    return over(name + suffix, *(f"{name}-{mpi}" for mpi in mpis))


# Which figure is divided by which.
PAIRS = [
    *over("channel-nodes floor-best message-nodes", "floor"),
    *over("channel-threads message-threads", "floor-threads"),
    *over("message-nodes channel-nodes", "mpi-openmpi", "mpi-mpich"),
    *over("message-nodes-notouch handover-nodes-notouch", "charm-ucx", "ucx-am-notouch"),
    *over("handover-threads-notouch", "charm-threads"),
    *over("channel-nodes-notouch", "ucx-put-notouch"),
    *over("message-nodes-notouch", "mpi-openmpi-notouch", "mpi-mpich-notouch"),
    ("handover-nodes", "message-nodes"), ("handover-threads", "message-threads"),
    *over("channel-nodes", "mpi-openmpi-put", "mpi-mpich-put"),
    ("chare-rtt-nodes", "cmi-rtt-nodes"), ("chare-rtt-threads", "cmi-rtt-threads"),
    *over("cmi-rtt-nodes", "rtt-openmpi", "rtt-mpich"),
    *over("chare-rate-nodes channel-rate-nodes", "rate-openmpi", "rate-mpich"),
    *over("chare-bandwidth-nodes channel-bandwidth-nodes", "bandwidth-openmpi", "bandwidth-mpich"),
    *over("local-hop", "call-direct", "call-pointer"),
    *over("local-instructions", "call-direct-instructions", "call-pointer-instructions"),
    *over_mpis("kpings-each"),
    *over_mpis("kpings-a512-each"),
    ("kpings-a512-each-nodes", "kpings-each-nodes"),
    ("kpings-a512-each-threads", "kpings-bare512-each-threads"),
    ("kpings-a512-each-nodes-ucx", "kpings-each-nodes-ucx"),
    *over_mpis("barrier-group"),
    ("barrier-group-nodes", "floor-barrier"), ("barrier-group-threads", "floor-barrier-threads"),
    *over_mpis("allreduce-group"),
    *over_mpis("bcast-group"),
    *over_mpis("barrier-array", mpis=["openmpi"]),
    *over_mpis("allreduce-array", mpis=["openmpi"]),
    ("quiescence-idle-nodes", "barrier-group-openmpi"),
    *over_mpis("pingack"),
    *over_mpis("pingack-each"),
    *(pair for k in (2, 4, 8, 16) for pair in over_mpis(f"neighbours-k{k}")),
    *over("paircalc-ready paircalc-split", "paircalc-message"),
    ("paircalc-only-split", "paircalc-only-message"),
    ("stencil-direct", "stencil-msg"),
    *over("stencil-msg stencil-direct", *faster_mpi("stencil-mpi")),
    *(pair for edge in (32, 128) for pair in [
        (f"stencil-direct-{edge}", f"stencil-msg-{edge}"),
        *over(f"stencil-msg-{edge} stencil-direct-{edge}", f"stencil-mpi-{edge}-openmpi")]),
    *((f"matmul-direct{suffix}", f"matmul-msg{suffix}") for suffix in ("", "-128", "-512", "-fine")),
    *over("matmul-msg-8pes matmul-direct-8pes", "matmul-mpi-openmpi"),
    *over("matmul-msg-2pes matmul-direct-2pes", *faster_mpi("matmul-mpi-2pes")),
    *over("matmul-msg-fine matmul-direct-fine", "matmul-mpi-fine-openmpi"),
    *over("samplesort-nodes", "samplesort-openmpi", "samplesort-mpich"),
    ("samplesort-threads", "samplesort-openmpi"),
]


# ---- tables ----------------------------------------------------------------------------------

def aggregation(where):
    return " ".join(f"{f}=kpings-a{f}-each-{where}" for f in (2 ** i for i in range(12)))


def logp(path, where):
    return (f"LogP of {path}s between {where}, us"
            " (Split-C over VIA, Table 6-1: L 45, o_s 3, o_r 5, g 50)", "bytes",
            " ".join(f"{head}=logp-{path}-{name}-{where}" for head, name in
                     (("L", "L"), ("o_s", "o_send"), ("o_r", "o_recv"), ("g", "g"))))


# Title, what the parameter is, columns: HEADING=NAME or HEADING=NAME*FACTOR. Our medians in the columns of
# the papers that Chard comes from, so that they can be laid beside each other.
TABLES = [
    ("Latency one way, us, between processes (Charm++ on VMI, Figures 6.1-6.4, right: Converse is our"
     " Cmi, Charm++ our Ck)", "bytes",
     "Cmi=cmi-rtt-nodes*.5 Ck=chare-rtt-nodes*.5 OpenMPI=rtt-openmpi*.5 MPICH=rtt-mpich*.5"),
    ("Bandwidth, 10^6 bytes/s, between processes (Figures 6.1-6.4, left)", "bytes",
     "Cmi=cmi-bandwidth-nodes Ck=chare-bandwidth-nodes channel=channel-bandwidth-nodes"
     " OpenMPI=bandwidth-openmpi MPICH=bandwidth-mpich"),
    ("Latency one way, us, between threads", "bytes",
     "Cmi=cmi-rtt-threads*.5 Ck=chare-rtt-threads*.5"),
    ("Bandwidth, 10^6 bytes/s, between threads", "bytes",
     "Cmi=cmi-bandwidth-threads Ck=chare-bandwidth-threads channel=channel-bandwidth-threads"),
    ("Messages per second, 10^6, between processes", "bytes",
     "Cmi=cmi-rate-nodes Ck=chare-rate-nodes channel=channel-rate-nodes"
     " OpenMPI=rate-openmpi MPICH=rate-mpich"),
    ("Method invocation, ns (ARMI, Table II)", "",
     "direct=call-direct pointer=call-pointer entry=local-hop queued=local-call"),
    ("The same, instructions", "",
     "direct=call-direct-instructions pointer=call-pointer-instructions"
     " entry=local-instructions queued=local-call-instructions"),
    ("A call from another process, instructions of its receiver", "",
     "values=across-receive-instructions array=across-array-receive-instructions"
     " string=across-string-receive-instructions struct=across-struct-receive-instructions"
     " message=across-message-receive-instructions"),
    ("Ping-pong of messages, us (ARMI, Table III, where the payload is empty)", "bytes",
     "explicit=floor-threads threads=message-threads OpenMPI=mpi-openmpi MPICH=mpi-mpich"
     " processes=message-nodes"),
    ("k pings, one pong, us per ping (ARMI, Figures 8 and 9, without aggregation)", "k",
     "threads=kpings-each-threads*.001 processes=kpings-each-nodes*.001"
     " OpenMPI=kpings-each-openmpi*.001 MPICH=kpings-each-mpich*.001"),
    ("The same with aggregation, between processes, ns per ping", "k",
     f"plain=kpings-each-nodes {aggregation('nodes')} by-hand-OpenMPI=kpings-a512-each-openmpi"
     " by-hand-MPICH=kpings-a512-each-mpich memory=kpings-bare512-each-threads"),
    ("The same through UCX", "k", f"plain=kpings-each-nodes-ucx {aggregation('nodes-ucx')}"),
    ("Barrier on 2 PEs, us (ARMI, Figures 10-12)", "",
     "threads=barrier-group-threads processes=barrier-group-nodes OpenMPI=barrier-group-openmpi"
     " MPICH=barrier-group-mpich quiescence=quiescence-idle-nodes"),
    *((f"Jacobi's method, us per step with 500 x 500 points on each PE, {kind} (ARMI, Figure 15)", "PEs",
       f"messages=halo-messages-{suffix} channels=halo-channels-{suffix} globals=halo-globals-{suffix}"
       " OpenMPI=halo-openmpi MPICH=halo-mpich")
      for kind, suffix in (("processes", "nodes"), ("threads", "threads"))),
    *(logp(path, where) for where in ("nodes", "threads") for path in ("message", "channel")),
    ("Round trip, us (CkDirect, Table 1)", "bytes",
     "message=message-nodes CkDirect=channel-nodes OpenMPI=mpi-openmpi MPICH=mpi-mpich"
     " OpenMPI-put=mpi-openmpi-put MPICH-put=mpi-mpich-put"),
    ("The same work on 2 cores, ms", "PEs",
     "processes=crowd-processes threads=crowd-threads OpenMPI=crowd-openmpi MPICH=crowd-mpich"),
]


# ---- plots -----------------------------------------------------------------------------------

# File, title, x, y, figures.
PLOTS = [
    ("roundtrip", "Round trip, 2 PEs", "bytes", "microseconds",
     "floor channel-nodes message-nodes channel-threads message-threads mpi-openmpi mpi-mpich"),
    ("put", "One-sided, round trip", "bytes", "microseconds",
     "floor channel-nodes mpi-openmpi-put mpi-mpich-put"),
    ("untouched", "Round trip, data neither written nor read", "bytes", "microseconds",
     "floor-notouch channel-nodes-notouch message-nodes-notouch handover-nodes-notouch"
     " handover-threads-notouch ucx-am-notouch ucx-put-notouch charm-ucx charm-threads"),
    ("layers", "Round trip by layer", "bytes", "microseconds",
     "cmi-rtt-nodes chare-rtt-nodes cmi-rtt-threads chare-rtt-threads rtt-openmpi rtt-mpich"),
    ("rate", "Message rate between two PEs", "bytes", "million messages per second",
     "cmi-rate-nodes chare-rate-nodes channel-rate-nodes chare-rate-threads channel-rate-threads"
     " rate-openmpi rate-mpich"),
    ("bandwidth", "Bandwidth between two PEs", "bytes", "MB/s",
     "chare-bandwidth-nodes channel-bandwidth-nodes bandwidth-openmpi bandwidth-mpich"),
    ("overhead", "What a PE spends on a message (LogP)", "bytes", "microseconds",
     "logp-message-o_send-nodes logp-message-o_recv-nodes logp-message-g-nodes"
     " logp-channel-o_send-nodes logp-channel-o_recv-nodes logp-channel-g-nodes"),
    ("kpings", "k calls, one answer", "k", "nanoseconds per call",
     "kpings-each-nodes kpings-each-threads kpings-each-openmpi kpings-each-mpich"),
    *((f"aggregation{ucx}", title, "k", "nanoseconds per call",
       " ".join([f"kpings-each-nodes{ucx}",
                 *(f"kpings-a{f}-each-nodes{ucx}" for f in (1, 2, 4, 8, 16, 64, 512, 2048)), *more]))
      for ucx, title, more in [
          ("", "k calls that travel together, one answer",
           ["kpings-a512-each-openmpi", "kpings-bare512-each-threads"]),
          ("-ucx", "The same through UCX", [])]),
    ("channels", "Armed channels", "armed channels", "microseconds", "message-trip channel-trip"),
    *((f"stencil{suffix}", f"Stencil {edge}x{edge}x{edge}, 2 PEs", "chares per PE",
       "microseconds per iteration",
       f"stencil-msg{suffix} stencil-direct{suffix} stencil-mpi{suffix}-openmpi"
       f" stencil-mpi{suffix}-mpich") for edge, suffix in ((64, ""), (32, "-32"), (128, "-128"))),
    ("matmul", "Matrix product 256, 2 PEs", "chares per PE", "microseconds",
     "matmul-msg matmul-direct"),
    ("crowd", "The same work on 2 cores", "PEs", "milliseconds",
     "crowd-processes crowd-threads crowd-openmpi crowd-mpich"),
    ("scaling", "Start of a job", "nodes", "ms", "launch start tcp-start-all sim-start"),
    ("memory", "Memory of a node", "nodes", "kB", "memory tcp-memory-all sim-memory threads-memory"),
]
