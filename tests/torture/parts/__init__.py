# SPDX-License-Identifier: Apache-2.0
"""The kinds of parts of which programs are made. Each file has one."""

from .asks import Asks
from .bodies import Bodies
from .calls import Calls
from .clock import Clock
from .destroys import Destroys
from .fences import Fences
from .inserts import Inserts
from .moves import Moves
from .named import Named
from .raw import Raw
from .reducing import Reducing
from .reductions import Reductions
from .scans import Scans
from .syncs import Syncs
from .threads import Threads
from .whens import Whens

CLASSES = {c.__name__: c for c in (
    Asks, Bodies, Calls, Clock, Destroys, Fences, Inserts, Moves, Named, Raw, Reducing, Reductions, Scans, Syncs, Threads, Whens)}
