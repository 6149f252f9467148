#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No name of an entry method breaks the generated code.

Each kind of chare gets entry methods of every sort. All names in its headers that belong to it are then tried
as the name of one more entry method: `A_f_all` gives the name `f_all`, `ck_call_A_new` the name `new`. ckci
must refuse the name, in its line, and say what has it already; or both headers must compile, as C and as C++.

Usage: entry_names.py CKCI KIND, as KINDS names them; CC and CXX name the compilers.
"""
import os
import re
import subprocess
import sys
import tempfile

KINDS = {
    "mainchare": "mainchare",
    "chare": "chare",
    "array": "array [1D]",
    "typed": "array [place]",
    "group": "group",
    "nodegroup": "nodegroup",
}
SINGLE = ("mainchare", "chare")

# name, what the entry method is, the kinds that cannot have it
ENTRIES = [
    ("plain", "void plain(int k)", ()),
    ("none", "void none()", ()),
    ("target", "[reductiontarget] void target(int k)", ()),
    ("result", "void result(CkReductionMsg *m)", ()),
    ("data", "void data(CkDataMsg *m)", ()),
    ("block", "void block(Block *m)", ()),
    ("arrays", "void arrays(int k, double v[k], nocopy int w[k])", ()),
    ("posted", "void posted(int k, nocopypost double v[k])", ()),
    ("waits", "[threaded] void waits()", ()),
    ("asked", "[sync] int asked(int k)", ()),
    ("cond", "[when(k == self->member)] void cond(int k)", ("nodegroup",)),
    ("local", "[local] int local(int k)", SINGLE),
    ("counted", "[count(2)] void counted(int n)", ("nodegroup",)),
    ("idle", "[whenidle] bool idle()", SINGLE + ("nodegroup",)),
    ("side", "[arrival] void side(int tag)", SINGLE + ("group", "nodegroup")),
    ("many", "[aggregate] void many(int k)", SINGLE),
    ("body", "void body(int k) { overlap { when got(int n) { when more(int n) {} } when again() {} } }",
     ("nodegroup",)),
]
TRIED = ["void {}()", "[sync] int {}(int k)"]
AWAITED = {"got", "more", "again"}  # declaring one of these once more is no collision
# These have to be refused and to be accepted, whatever the headers say.
REFUSED = [("array", "at"), ("array", "index"), ("array", "insert"), ("group", "at"), ("chare", "new"),
           ("mainchare", "thisProxy"), ("array", "none_all"), ("array", "on_plain"), ("array", "cb_none")]
ACCEPTED = [("array", "init"), ("group", "insert"), ("chare", "index"), ("mainchare", "main"), ("chare", "at"),
            ("array", "delete"), ("array", "ckLocalBranch"), ("array", "cb_plain")]

INCLUDES = ["runtime/chare", "runtime/direct"]

ckci, kind = os.path.abspath(sys.argv[1]), sys.argv[2]
out = ""
failures = []


def module(of, number, extra):
    """A module with one chare of the kind `of`, and the line in which the extra entry method stands."""
    chare = f"X{number}"
    head = [f"module names{number} {{", '  include "place.h";', f"  message Block{number} {{ int n; double v[]; }};",
            f"  {KINDS[of]} {chare} {{", f"    entry {chare}();"]
    own = [f"    entry {text.replace('Block', f'Block{number}')};" for _, text, without in ENTRIES
           if of not in without]
    line = len(head) + len(own) + 1
    return "\n".join(head + own + ([f"    entry {extra};"] if extra else []) + ["  };", "};", ""]), line


def translate(of, number, extra):
    text, line = module(of, number, extra)
    path = os.path.join(out, f"names{number}.ci")
    with open(path, "w") as f:
        f.write(text)
    done = subprocess.run([ckci, "-o", out, path], capture_output=True, text=True)
    return done.returncode, done.stderr, line


def header(number, which):
    with open(os.path.join(out, f"names{number}.{which}.h")) as f:
        return f.read()


def names():
    """All that follows a chare's name in a generated name."""
    found = set()
    for number, of in enumerate(KINDS):
        code, said, _ = translate(of, number, None)
        if code != 0:
            sys.exit(f"FAIL entry names: the {of} is refused\n{said}")
        text = header(number, "decl") + header(number, "def")
        found |= set(re.findall(rf"\b(?:\w+_)?X{number}_(\w+)", text))
    return found


def refused_well(said, line, name):
    errors = re.findall(r"^\S+?:(\d+):\d+: error: (.*)$", said, re.M)
    return (len(errors) == 1 and int(errors[0][0]) == line and f"'{name}'" in errors[0][1] and
            "help: " in said)


def compiles(numbers):
    path = os.path.join(out, "names.c")
    with open(path, "w") as f:
        for n in numbers:
            f.write(f'#include "names{n}.decl.h"\nstruct X{n} {{ int member; }};\n#include "names{n}.def.h"\n')
    flags = ["-Wall", "-Wextra", "-Werror", "-fsyntax-only"] + [f"-I{i}" for i in [out] + INCLUDES] + [path]
    for command in ([os.environ.get("CC", "cc"), "-std=c11"], [os.environ.get("CXX", "c++"), "-std=c++17", "-x", "c++"]):
        done = subprocess.run(command + flags, capture_output=True, text=True)
        if done.returncode != 0:
            failures.append("accepted names do not compile:\n" + done.stderr[:3000])


def try_names():
    with open(os.path.join(out, "place.h"), "w") as f:
        f.write("#ifndef PLACE_H\n#define PLACE_H\ntypedef struct place { int x, y; } place;\n#endif\n")
    candidates = sorted((names() | {name for _, name in REFUSED + ACCEPTED}) - AWAITED)
    accepted, verdicts = [], {}
    number = len(KINDS)
    for name in candidates:
        for form in TRIED:
            code, said, line = translate(kind, number, form.format(name))
            verdicts.setdefault(name, set()).add(code)
            if code == 0:
                accepted.append(number)
            elif not refused_well(said, line, name):
                failures.append(f"{kind}, entry {form.format(name)}: refused badly\n{said}")
            number += 1
    compiles(accepted)
    for want, pairs in ((1, REFUSED), (0, ACCEPTED)):
        failures.extend(f"'{name}' of a {kind} is {'accepted' if want else 'refused'}" for of, name in pairs
                        if of == kind and want not in verdicts[name])
    return number - len(KINDS), len(accepted)


def main():
    global out
    os.chdir(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    with tempfile.TemporaryDirectory() as out:
        tried, accepted = try_names()
    for failure in failures:
        print("FAIL entry names:", failure)
    if not failures:
        print(f"ok   entry names of a {kind}: {tried} tried, {accepted} accepted")
    return 1 if failures else 0


sys.exit(main())
