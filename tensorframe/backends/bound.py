"""Bound calls: what a program does with arrays that stay where they are, as calls of compiled functions.

A function that is recorded and called again and again takes the same arrays through the same kernels. Bound once, its
calls need no Python between them: addresses, counts and results are known beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from tensorframe.quick_tuples import NamedTuple

Array = Any


class NativeCall(NamedTuple):
    """A compiled function and what it is called with: see `backends/llvm/abi.py`.

    Where it sets the `flag`, an array of one truth value, the program itself has to run: an index is out of bounds, or
    the function leaves some elements to another one. `owners` keep what it reads and writes in memory. Where `joined`,
    a thread may run neighbouring chunks as one, since results do not depend on where chunks end.
    """

    function: int
    total: int
    grain: int
    varying: bytes
    fixed: bytes
    owners: tuple[Any, ...]
    flag: Array | None = None
    limits_blas: bool = False  # to one thread, as what shares products out does
    joined: bool = False


class Bound(NamedTuple):
    """What a program does for certain arrays: calls, one after the other, and what they write."""

    outputs: Sequence[Array]
    calls: Sequence[NativeCall]


class Calls(Protocol):
    """Calls that run one after the other, without the interpreter."""

    def run(self, first: int) -> int:
        """Run those from `first` on; return the number of the one that set its flag, or how many there are."""


def bound(program: Any, inputs: Sequence[Any], buffers: Sequence[Array | None]) -> Bound | None:
    """Return what a program does with these operands, and no others; None if that takes the interpreter.

    Numbers among the inputs are the same in every call. A buffer is memory that an output may take over.
    """
    bind = getattr(program, "bind", None)
    known: Bound | None = None if bind is None else bind(inputs, buffers)
    return known
