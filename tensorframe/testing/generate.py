"""Random programs: leaves of odd layouts, then moves that each add a step which NumPy can run."""

from __future__ import annotations

from contextlib import suppress

from tensorframe.testing.draft import DeclinedError, Draft
from tensorframe.testing.moves import MOVES
from tensorframe.testing.program import Program

__all__ = ["generate"]


def generate(seed: int, *, moves: int = 12) -> Program:
    """Return the program of a seed: the same one on every machine, as long as the op rows are the same.

    >>> from tensorframe.testing.generate import generate
    >>> generate(3).source() == generate(3).source()
    True
    """
    draft = Draft(seed)
    for _ in range(draft.random.randint(1, 3)):
        draft.leaf()
    kinds, weights = zip(*MOVES, strict=True)
    for _ in range(draft.random.randint(2, moves)):
        with suppress(DeclinedError):
            draft.random.choices(kinds, weights)[0](draft)
    return draft.program()
