"""What is said of the loop around it: that several vectors are to be computed in turns."""

from __future__ import annotations

from numba.core import types

from tensorframe.backends.numba.intrinsics.define import NAMESPACE, Value, define


def _nothing(builder: Value, shape: Value) -> None:
    """Leave it to `lower.py`, which ends the loop."""


define("in_turns", lambda: types.void, _nothing)
IN_TURNS = NAMESPACE["in_turns"]
