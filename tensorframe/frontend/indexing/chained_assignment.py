"""Chained assignment: `x[0][1] = 5` assigns to a slice that nothing refers to, a value, so nothing changes.

NumPy's slices are views, so programs for it assign in this way. Which tensors are temporaries their reference counts
say: those of a variable, an attribute or a container have one reference more than what an expression has just made.
That holds where the statement assigns: functions that are called with a tensor, `x.__setitem__(0, 1)` in a class that
stands for x, may have it with one reference less.
"""

from __future__ import annotations

from opcode import opmap
from sys import _getframe, getrefcount
from typing import Any, Final

from tensorframe.errors import ChainedAssignmentWarning, warn_at
from tensorframe.site import is_internal, raising_site


class _Counted:
    """Its method is called, and counts, as an assignment to a tensor is."""

    def __setitem__(self, key: Any, counts: list[int]) -> None:
        counts.append(getrefcount(self))


def _count_of_temporaries() -> int:
    """Return how many references a temporary has in `__setitem__`; 0, which none has, where variables have as many.

    From Python 3.14 on the interpreter counts no reference where a variable is read.
    """
    counts: list[int] = []
    named = _Counted()
    named[0] = counts
    _Counted()[0] = counts
    of_variable, of_temporary = counts
    return of_temporary if of_temporary < of_variable else 0


# `getrefcount(tensor)` in `__setitem__` of a tensor that nothing refers to
TEMPORARY: Final = _count_of_temporaries()
# of `x[key] = value`, and of `x[a:b] = value` from Python 3.12 on
_ASSIGNING: Final = frozenset({opmap.get("STORE_SUBSCR"), opmap.get("STORE_SLICE")})


def warn_of_chained_assignment(shape: tuple[int, ...]) -> None:
    """Warn that an assignment to a temporary of this shape changes nothing, if a user's line assigns to it."""
    frame = _getframe(2)  # what has called `__setitem__`
    if is_internal(frame.f_code) or frame.f_code.co_code[frame.f_lasti] not in _ASSIGNING:
        return
    message = f"an assignment changes nothing: no name refers to the tensor of shape {shape} that it is made to"
    hints = ("x[0, 1] = value instead of x[0][1] = value", "y = x.T; y[0] = value; x = y.T")
    warn_at(raising_site(), message, ChainedAssignmentWarning, hints)
