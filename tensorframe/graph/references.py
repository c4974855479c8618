"""Reference counts: whether somebody besides us still holds an object."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any


def references(holders: Sequence[Any], at: int) -> int:
    """Return the reference count of `holders[at]`, this function's own references included."""
    held = holders[at]
    return sys.getrefcount(held)


# What an object in one list has and nowhere else. Measured, since it differs between versions of Python: from 3.14 on,
# some variables borrow instead of counting.
IN_ONE_LIST = references([object()], 0)
