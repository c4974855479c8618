"""Rows of a computed array that nobody has looked at: a node each, which is filled in when it is asked for anything.

An array is taken apart into thousands of tensors, and to make a view, its storage and all that a node says of it takes
twice as long as two bare objects do. So a row has its serial number, which tells its place, and what all rows share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorframe.backends.storage import Storage
from tensorframe.dtypes import DType
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node, reserved_serials, ticks
from tensorframe.ops.creation import DATA

_blank = object.__new__


class Rows:
    """What the rows of an array share: the array, and the serial number of the first.

    It stands in the `offset` of each, which is part of a line otherwise: rows have none, and nothing takes its place
    there, so that a thread that comes late still finds it.
    """

    __slots__ = ("array", "device", "dtype", "first", "shape")

    def __init__(self, array: np.ndarray[Any, Any], dtype: DType, device: Device) -> None:
        """`array` has one row at least, along its first axis."""
        # a view of its own, as each row's will be: nobody has the array to himself meanwhile
        self.array = array[:]
        self.shape = array.shape[1:]
        self.dtype = dtype
        self.device = device
        self.first = reserved_serials(len(array))


class _Row(Node):
    """A row that is being filled in. Whoever asks in between fills it in as well, with equal values."""

    __slots__ = ()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return getattr(_filled_in(self), name)


def _filled_in(row: Node) -> Node:
    """Return a row that has all that nodes have, and is one like any other."""
    rows: Rows = row.offset
    place, shape = row.serial - rows.first, rows.shape
    storage = _blank(Storage)  # its constructor written out, as in `indexing/few_elements.py`
    storage.device = device = rows.device
    storage.handle = rows.array[place] if shape else rows.array[place, ...]  # never a scalar
    storage.dtype = dtype = rows.dtype
    storage.shape = shape
    row.__class__ = _Row
    row.op = DATA
    row.inputs = row.attrs = ()
    row.shape = shape
    row.dtype = dtype
    row.device = device
    row.code = None
    row.storage = storage
    row.spent = 0.0
    row.__class__ = Node
    return row


class UnseenRow(Node):
    """A row that has its serial number and what it shares alone: who makes one sets these, without a constructor."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __init__(self) -> None: ...

    else:
        __init__ = object.__init__
        op = property(lambda row: _filled_in(row).op)
        inputs = property(lambda row: _filled_in(row).inputs)
        attrs = property(lambda row: _filled_in(row).attrs)
        shape = property(lambda row: _filled_in(row).shape)
        dtype = property(lambda row: _filled_in(row).dtype)
        device = property(lambda row: _filled_in(row).device)
        code = property(lambda row: _filled_in(row).code)
        storage = property(lambda row: _filled_in(row).storage)
        spent = property(lambda row: _filled_in(row).spent)


def look_at(row: UnseenRow) -> None:
    """Have those look who look at nodes now and then, when the last of some rows has been made."""
    if row.serial >= ticks.due:
        ticks.tick(row)
