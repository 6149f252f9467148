# SPDX-License-Identifier: Apache-2.0
"""What all parts share: how a trial ended, and what its lines may be."""

import dataclasses
import os
import re


@dataclasses.dataclass
class Outcome:
    """How a trial ended."""
    kind: str  # a row of the table
    what: str  # one line, for a reader
    wrong: list = dataclasses.field(default_factory=list)  # empty: passed
    skipped: str = ''  # why
    seconds: float = 0
    output: str = ''


def environment(places, **more):
    """Only what the trial says decides what the job does."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(('CK_', 'UCX_', 'PMI', 'VICTIM'))}
    return kept | {'TMPDIR': places.folder} | more


def own_lines(text, who='chard|ckrun'):
    """The lines of the runtime and of ckrun, without back-traces. A terminal shows the keys, too."""
    return [line for line in re.sub(r'\^[C\\]', '', text).splitlines() if re.match(rf'({who}): (?!  )', line)]


def signal_name(number):
    return {1: 'Hangup', 2: 'Interrupt', 3: 'Quit', 15: 'Terminated'}[number]
