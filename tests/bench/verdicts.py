#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""verdicts.py: from given figures bench/report.py says pass, miss, even and bounded where it should, and
divides by the reference of the same round; bench/suite.py reads what programs print. One line for each fact
that does not hold; exit code 1 if there is one."""
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import report
import suite
import targets
from targets import Target

WISHES = [
    # target, and how its row of the table ends; blanks count as one
    (Target("some reach it, where the bound allows", "a", "all", "<=", 1.0, ("ref",), "low",
            "as low as it gets"), "8 1.5 <= 1 1.25 bounded (1 of 2): as low as it gets"),
    (Target("the bound would allow it", "a", "8", "<=", 1.0, ("ref",), "fine@8", "no excuse"),
     "8 1.5 <= 1 0.5 miss"),
    (Target("no bound", "a", "all", "<=", 1.0, ("ref",)), "8 1.5 <= 1 miss (1 of 2)"),
    (Target("a figure by itself", "fig", "0", ">=", 5, (), "best@0", "as fast as it gets"),
     "0 3 >= 5 4 bounded: as fast as it gets"),
    (Target("all pass, whatever the bound", "a", "all", "<=", 9, ("ref",), "low", "as low as it gets"),
     "8 1.5 <= 9 1.25 pass"),
    (Target("the faster of two", "a", "16", "<=", 1.0, ("ref", "slow")), "16 1.5 <= 1 miss"),
    (Target("growth", "a", "16/8", "<=", 1.5), "16 0.5 <= 1.5 pass"),
    (Target("by rounds", "drift", "1", "<=", 1.0, ("driftref",)), "1 1 <= 1 pass"),
    (Target("never measured", "nothing", "all", "<=", 1, ("ref",)), "- - <= 1 not measured"),
    (Target("its reference was never measured", "a", "all", "<=", 1, ("nothing",)),
     "- - <= 1 not measured"),
    (Target("the limit lies within the middle half", "noisy", "1", "<=", 10), "1 11 <= 10 even"),
    (Target("the same from below", "noisy", "1", ">=", 12), "1 11 >= 12 even"),
    (Target("the limit lies below the middle half", "noisy", "1", "<=", 8), "1 11 <= 8 miss"),
    (Target("two rounds have no middle half", "two", "1", "<=", 1), "1 1.5 <= 1 miss"),
    (Target("missed and even", "noisy", "all", "<=", 10), "2 20 <= 10 miss (1 of 2), even (1)"),
    (Target("a range of parameters", "a", "10-20", "<=", 1, ("ref",)), "16 0.75 <= 1 pass"),
    (Target("by the median where rounds differ", "drift", "1", "<=", 1, ("once",)), "1 1.5 <= 1 even"),
]
# Of drift and its reference the medians have the ratio 1.5, the rounds 1, 1 and 1.5.
FIGURES = {
    ("a", 8): [3], ("a", 16): [1.5], ("ref", 8): [2], ("ref", 16): [2], ("slow", 16): [1],
    ("low", 8): [2.5], ("low", 16): [1], ("fine", 8): [1], ("fig", 0): [3], ("best", 0): [4],
    ("drift", 1): [1, 9, 3], ("driftref", 1): [1, 9, 2], ("once", 1): [2],
    ("noisy", 1): [9, 13, 11, 5, 30], ("noisy", 2): [20, 20, 20, 20, 20], ("two", 1): [0.5, 2.5],
}
# A node's memory in a job of N nodes: 100 kB, and 10 for each node.
GROWTH = {("memory", n): [100 + 10 * n] for n in (2, 4, 8, 16, 32)}
LINES = {
    "floor 8 0.5": ("floor", "8", "0.5", "us"),
    "idle-armed 1000 2.5e-01 ns": ("idle-armed", "1000", "2.5e-01", "ns"),
    "samplesort iter_us 12.5": ("samplesort", "64", "12.5", "us"),
    "stencil msg iter_us 12.5": ("stencil-msg", "64", "12.5", "us"),
    "stencil gain_percent -3.5": ("stencil-gain", "64", "-3.5", "%"),
    "torn memory 1000 0": None,
    "# a comment 1": None,
    "Hello 1 2": None,
    "": None,
}
n_bad = 0


def want(what, wanted, got):
    global n_bad
    if wanted != got:
        n_bad += 1
        print(f"verdicts: {what}: wanted {wanted!r}, got {got!r}")


def write_group(folder, group, figures):
    report.write_csv(folder / f"{group}.csv", ("round", "program", "name", "parameter", "value", "unit"),
                     [(n + 1, "p", name, at, value, "us") for (name, at), values in figures.items()
                      for n, value in enumerate(values)])


def check_verdicts(folder):
    write_group(folder, "group", FIGURES)
    figures = report.load(folder)
    lines = report.write_verdicts(figures, folder, [target for target, _ in WISHES])[1:]
    for (target, row), line in zip(WISHES, lines, strict=True):
        want(target.title, f"{target.title} {row}", " ".join(line.split()))
    rows = (folder / "targets.csv").read_text().splitlines()
    want("a row of targets.csv", True, "some reach it; where the bound allows,a,8,1.5,<=,1,1.25,low,"
         "bounded,as low as it gets" in rows)


def check_medians(folder):
    targets.PAIRS = [("a", "ref")]
    report.write_medians(report.load(folder), folder)
    want("ratios", ["name,parameter,reference,ratio", "a,8,ref,1.500", "a,16,ref,0.750"],
         (folder / "ratios.csv").read_text().splitlines())
    want("a median", True, "group,drift,1,3,us,3" in (folder / "summary.csv").read_text().splitlines())


def check_growth(folder):
    write_group(folder, "growth", GROWTH)
    figures = report.load(folder)
    want("what a node adds", 10.0, round(figures.median("memory-slope", "32"), 6))
    want("its unit", "us/node", figures.units["memory-slope", "32"])
    # From 180 to 420 while N grows fourfold.
    want("the power of N", True, 0.55 < figures.median("memory-law", "32") < 0.65)


with tempfile.TemporaryDirectory() as name:
    check_verdicts(Path(name))
    check_medians(Path(name))
    check_growth(Path(name))
for text, figure in LINES.items():
    want(f"the line '{text}'", figure, suite.figure_of(text, "64"))
sys.exit(n_bad > 0)
