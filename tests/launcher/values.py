#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""values.py CKRUN PROGRAM: every CK_ variable that the runtime reads is given values that it cannot mean. Each
time the job must end with code 1 and one line that names variable and value, with ckrun and without."""
import glob
import os
import re
import subprocess
import sys

HOSTILE = ["x", "-5", "4 4", " 4", "4 ", "1.5", "1e3", "0x", "5KK", "4K4", "K", "maybe", "99999999999999999999999",
           "-99999999999999999999999", "4,", ",4", "\u00fc", "4;ls", "%s%n", "core,none", "A" * 5000]
# Any text is a host's name, or that of a folder that is made, now or when the job is saved
# (tests/trace/run.py has what CK_TRACE refuses). UCX's folder is looked at only where UCX makes files. CK_LB_DUMP is a file, which a step opens;
# CK_WIRE_KEY one that is read where there is a network (tests/programs/wire.cases), and CK_DEVICE may be a library, which
# is loaded for the first device channel (tests/device).
ANY_TEXT = {"CK_HOST_ID", "CK_CONTROL", "CK_TRACE", "CK_LB_DUMP", "CK_CHECKPOINT_EXIT", "CK_WIRE_KEY", "CK_DEVICE"}
SETTINGS = {"CK_UCX_DIR": {"CK_BOOT": "alone", "CK_MACHINE": "ucx", "CK_SHARE": "0", "UCX_TLS": "posix,self"}}
FRACTIONS = {"CK_LB_TOLERANCE"}  # those take 1.5
ALONE_ONLY = {"CK_GAUGES", "CK_IMAGES", "CK_NOTES", "CK_PES", "CK_UCX_DIR"}  # ckrun sets them


def variables():
    """What the sources read."""
    found = set()
    for path in glob.glob("runtime/**/*.c", recursive=True):
        with open(path, encoding="utf-8") as f:
            found |= set(re.findall(r'cmi_env_\w+\("(CK_\w+)"', f.read()))
    return found - ANY_TEXT


def wrong_for(name):
    """The values above that this variable cannot mean."""
    return [value for value in HOSTILE if name not in FRACTIONS or value != "1.5"]


def refused(command, name, value):
    """What is wrong with the way it is refused; "": nothing."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CK_")}
    environment.update(SETTINGS.get(name, {}))
    environment[name] = value
    end = subprocess.run(command, env=environment, capture_output=True, timeout=60, check=False)
    said = end.stderr.decode(errors="replace")
    lines = [line for line in said.splitlines() if not line.startswith("ckrun: ")]
    if end.returncode != 1:
        return f"exit code {end.returncode}: {said}"
    # Every node says it once, unless another one has ended the job before.
    if not lines or len(lines) > 2 or set(lines) != {lines[0]}:
        return said
    shown = value if len(value) <= 600 else f"{value[:300]} ... {value[-300:]}"  # one_line.h
    if not lines[0].startswith(f"chard: {name}={shown} is refused: it must be "):
        return said
    return ""


def unknown(program, names):
    """What the program says about these, if they are empty."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CK_")} | dict.fromkeys(names, "")
    said = subprocess.run([program], env=environment, capture_output=True, timeout=60, check=False).stderr.decode()
    return [line for line in said.splitlines() if "is no variable" in line]


def main():
    ckrun, program = sys.argv[1:]
    names, failed, n = sorted(variables()), 0, 0
    assert len(names) > 15, names
    if wrong := unknown(program, variables() | ANY_TEXT):
        failed += 1
        print(f"FAIL  a variable that the runtime reads is called unknown: {wrong}")
    for name in names:
        commands = [[program, "+p", "2"]]
        if name not in ALONE_ONLY:
            commands.append([ckrun, "-n", "2", program])
        if name == "CK_PES":
            commands = [[program]]
        for value in wrong_for(name):
            for command in commands:
                n += 1
                if wrong := refused(command, name, value):
                    failed += 1
                    print(f"FAIL  {name}={value[:40]} {' '.join(command)}: {wrong[:300]}")
    print(f"{len(names)} variables, {n} refusals, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
