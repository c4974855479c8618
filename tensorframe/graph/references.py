"""Reference counts: whether somebody besides us still holds an object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import gt
from sys import getrefcount
from typing import Any


def references(holders: Sequence[Any], index: int) -> int:
    """Return the reference count of `holders[at]`, this function's own references included."""
    held = holders[index]
    return getrefcount(held)


# What an object in one list has and nowhere else. Measured, since it differs between versions of Python: from 3.14 on,
# some variables borrow instead of counting.
IN_ONE_LIST = references([object()], 0)


def referenced(holders: Sequence[Any], counts: Iterable[tuple[int, int]]) -> list[int]:
    """Return the places of objects that more refer to than `holders` and the given number of others.

    `counts` are places and these numbers. Evaluations claim all that they compute, hence for many at once.
    """
    return [index for index, count in counts if getrefcount(holders[index]) > count + _HERE]


_HERE = 0
# what the function counts of an object that nobody else refers to, beginning with more than there can be
_HERE = next(more for more in range(16) if not referenced([object()], [(0, more)]))


def is_any_referenced(holders: Iterable[Any], most: Iterable[int]) -> bool:
    """Whether more refer to one of the objects than a list of `holders` and, of each, as many others as `most` says.

    It answers for a whole graph in half the time that `referenced` takes. `most` counts `MAPPED` more.
    """
    return any(map(gt, map(getrefcount, holders), most))


# what is counted besides, as above
MAPPED = next(more for more in range(16) if not is_any_referenced([object()], [more]))


def referenced_besides(objects: Iterable[Any], counts: Mapping[Any, int]) -> list[Any]:
    """Return the objects in one list to which more refer than that, the mapping of counts, and so many others."""
    return [known for known in objects if getrefcount(known) > counts[known] + _BESIDES]


def _seems_referenced(more: int) -> bool:
    """Whether an object that only a list and a mapping refer to seems to be referenced besides, if so many count."""
    objects = [object()]
    return bool(referenced_besides(objects, {objects[0]: more}))


_BESIDES = 0
# what the function counts of an object that only a list and the mapping refer to, as above
_BESIDES = next(more for more in range(16) if not _seems_referenced(more))
