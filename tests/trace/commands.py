# SPDX-License-Identifier: Apache-2.0
"""What the tests of traces do with a command: run it, and end with a line when something is not so."""

import os
import subprocess
import sys


def check(is_so, what, *details):
    if not is_so:
        print(f'not ok {what}', *details)
        sys.exit(1)


def run(command, code=0, **env):
    done = subprocess.run(command, env={**os.environ, **env}, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=300, check=False)
    check(done.returncode == code, ' '.join(command), done.returncode, done.stdout, done.stderr)
    return done
