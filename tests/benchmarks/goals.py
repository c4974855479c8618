"""Goals: what a contestant of ours should reach, as a number of its own or as a share of what another took."""

from __future__ import annotations

from dataclasses import dataclass

OURS = "tensorframe"
UNDER_JIT = "tfr.jit"
OWN = (OURS, UNDER_JIT)
REFERENCE = "NumPy"
BEST = "the best peer"
# Somebody's kernel for just this workload and its shapes: no library that computes what it is given, so no peer, but
# what there is to learn from.
BY_HAND = "Numba"


@dataclass(frozen=True)
class Goal:
    """At most `factor` times what `against` took, a contestant or a yardstick; where that is None, `factor` itself."""

    factor: float
    against: str | None
    by: str = OURS


def at_most(limit: float, by: str = OURS) -> Goal:
    """Return the goal that is a number of seconds or bytes."""
    return Goal(limit, None, by)


def faster(times: float, than: str = BEST) -> Goal:
    """Return the goal to be so many times faster."""
    return Goal(1 / times, than)


def no_slower(than: str = BEST) -> Goal:
    """Return the goal to take no longer."""
    return Goal(1.0, than)


def within(factor: float, of: str, by: str = OURS) -> Goal:
    """Return the goal to take at most so many times as long."""
    return Goal(factor, of, by)
