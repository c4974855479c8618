"""Effort: how long a case is warmed up and measured, the same for every contestant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any


@dataclass(frozen=True)
class Effort:
    """Numbers of calls and seconds."""

    rounds: int  # at least so many turns for everybody
    seconds: float  # and then more, until so much time has passed
    sample: float = 0.002  # a shorter call is repeated within its turn until it has taken this long
    warm_calls: int = 0  # before the first turn, at least so many calls
    warm_seconds: float = 0.0  # and then more, until so much time has passed
    first_calls: int = 0  # fresh processes for each first call

    @classmethod
    def quick(cls) -> Effort:
        """Numbers to develop by."""
        return cls(rounds=2, seconds=0.5, warm_calls=3, warm_seconds=1.0, first_calls=1)

    @classmethod
    def full(cls) -> Effort:
        """Numbers to publish."""
        return cls(rounds=7, seconds=5.0, warm_calls=5, warm_seconds=1.0, first_calls=1)

    def at_most(self, rounds: int | None) -> Effort:
        """Return the effort with that many turns for everybody, or as it is for None."""
        return self if rounds is None else replace(self, rounds=min(self.rounds, rounds), seconds=0)

    def warm_up(self, call: Callable[[], Any]) -> None:
        """Call until what compiles when it has been called often has done so."""
        start = perf_counter()
        done = 0
        while done < self.warm_calls or perf_counter() - start < self.warm_seconds:
            call()
            done += 1

    def __str__(self) -> str:
        warm = f"{self.warm_seconds:g} s and {self.warm_calls} times"
        return f"every contestant is called for {warm} before its first turn, and has at least {self.rounds} turns"
