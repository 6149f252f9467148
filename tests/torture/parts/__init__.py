# SPDX-License-Identifier: Apache-2.0
"""The kinds of parts of which programs are made. Each file has one."""

from .calls import Calls
from .clock import Clock
from .inserts import Inserts
from .moves import Moves
from .named import Named
from .reductions import Reductions
from .syncs import Syncs

CLASSES = {c.__name__: c for c in (Calls, Clock, Inserts, Moves, Named, Reductions, Syncs)}
