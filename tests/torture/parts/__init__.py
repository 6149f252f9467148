# SPDX-License-Identifier: Apache-2.0
"""The kinds of parts of which programs are made. Each file has one."""

from .asks import Asks
from .bodies import Bodies
from .calls import Calls
from .clock import Clock
from .counted import Counted
from .destroys import Destroys
from .detectors import Detectors
from .fences import Fences
from .globals import Globals
from .inserts import Inserts
from .moves import Moves
from .named import Named
from .quiets import Quiets
from .raw import Raw
from .rebirths import Rebirths
from .reducing import Reducing
from .reductions import Reductions
from .scans import Scans
from .section_sums import SectionSums
from .syncs import Syncs
from .threads import Threads
from .transfers import Transfers
from .whens import Whens

CLASSES = {c.__name__: c for c in (
    Asks, Bodies, Calls, Clock, Counted, Destroys, Detectors, Fences, Globals, Inserts, Moves, Named, Quiets, Raw, Rebirths, Reducing, Reductions,
    Scans, SectionSums, Syncs, Threads, Transfers, Whens)}
