"""When to try again, and when to give up."""

from __future__ import annotations

import random

ATTEMPT = 10.0
"""Seconds of one try: a lost answer must not cost all the time there is."""
REPORT = 15.0
"""Seconds of a report, also if its caller is gone."""
WITHDRAW = 5.0
"""Seconds of the report of a call that was not made."""
STEADY = 10.0
"""A stream that lasted as long counts as no failure when it breaks."""
MOST_ASKED = 4
"""How often one call is put as a new question."""
MOST_OUTPUT = (64 << 10) + 1
"""The bytes of an output that history keeps (S6.4), and one that shows that there were more."""


def delay(failures: int, advised: float) -> float:
    """The wait after that many failures in a row. The first is short, regardless of advice: most often one replica of several
    went away."""
    wait = min(0.05 * 2.0 ** min(max(failures - 1, 0), 10), 5.0)
    jittered = wait / 2 + random.uniform(0, wait / 2)
    return jittered if failures <= 1 else max(advised, jittered)


def yielding(lost: int) -> float:
    """The wait after a race was lost that often before: none at first, then longer, at random, so that contenders come apart."""
    return 0.0 if lost == 0 else random.uniform(0, 0.001 * 2.0 ** min(lost, 8))
