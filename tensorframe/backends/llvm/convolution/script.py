"""Scripts of blocks: the calls that each takes, recorded once for operands of the same sizes and strides.

Whoever records makes the calls on operands that lie nowhere: their addresses say which operand it is, and where in it.
A run gives the bases anew, and threads make the calls of block after block without the interpreter.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from tensorframe.backends import host_pool
from tensorframe.backends.llvm.abi import address
from tensorframe.backends.llvm.convolution.padding import Memory
from tensorframe.backends.llvm.indirect_product import copy, functions
from tensorframe.backends.llvm.products.scratch import borrow, give_back
from tensorframe.backends.llvm.workers import run_ranges
from tensorframe.backends.numpy.threads import share_out
from tensorframe.codegen.llvm.indirect_product import FUNCTIONS, MOST_SLOTS
from tensorframe.codegen.llvm.scripts import BASES, FIXED, record_words
from tensorframe.dtypes import DType
from tensorframe.graph.shape import Shape
from tensorframe.machine import HOST

Array = Any

# Numbers of bases: an address that has none is 0's. A recorder has one for each purpose of its memory, from `BASES` on.
OWN, OPERANDS = 1, 2
# Addresses from one base to the next, more than a processor has, and the middle of them: strides may be negative.
_REACH = 1 << 56
_MIDDLE = _REACH >> 1
# Elements of zeros that are copied in one go.
_ZEROS = 1024

_BYTES, _WORD = np.dtype(np.uint8), np.dtype(np.uint64)
_VARYING = struct.Struct(f"={BASES}Q")
_FIXED = struct.Struct(f"={len(FIXED)}q")


def stand_in(base: int, shape: Shape, strides: Shape, dtype: DType) -> Array:
    """Return an array that lies nowhere, for the operand with this number; its elements are not to be touched."""
    interface = {
        "shape": shape,
        "strides": strides,
        "typestr": dtype.str,
        "data": (base * _REACH + _MIDDLE, False),
        "version": 3,
    }
    return np.asarray(SimpleNamespace(__array_interface__=interface))


class Recorder(Memory):
    """Memory of a thread that lies nowhere, and the calls of blocks that are made on it."""

    def __init__(self, dtype: DType) -> None:
        super().__init__(dtype)
        self._zeros = np.zeros(_ZEROS, dtype)
        self._purposes: dict[str, int] = {}  # and how many bytes each takes
        self._kept: list[Array] = []
        self._records: list[tuple[int, ...]] = []
        self._starts = [0]

    def take(self, purpose: str, count: int) -> Array:
        """Return so many elements that lie nowhere."""
        size = self._dtype.itemsize
        self._purposes[purpose] = max(self._purposes.get(purpose, 0), count * size)
        number = BASES + list(self._purposes).index(purpose)
        return stand_in(number, (count,), (size,), self._dtype)

    def zeros(self, count: int, written: Any) -> Array:
        """Return so many elements, which are set to zero."""
        memory, whole = self.take("input", count), count - count % _ZEROS
        rows = memory[:whole].reshape((-1, _ZEROS))
        copy(np.broadcast_to(self._zeros, rows.shape), rows, self.call)
        copy(self._zeros[: count - whole], memory[whole:], self.call)
        return memory

    def call(
        self, function: str, rows: int, arrays: tuple[Array, ...], numbers: tuple[int, ...]
    ) -> None:
        """Record a call."""
        places = [divmod(address(array), _REACH) for array in arrays]
        self._kept += [array for array, (base, _) in zip(arrays, places, strict=True) if not base]
        behind = [by - _MIDDLE if base else by for base, by in places]
        rest = [0] * (MOST_SLOTS - len(arrays) - len(numbers))
        bases = [base for base, _ in places] + [0] * (MOST_SLOTS - len(arrays))
        self._records.append((FUNCTIONS.index(function), rows, *behind, *numbers, *rest, *bases))

    def end_block(self) -> None:
        """The calls from here on are the next block's."""
        if len(self._records) > self._starts[-1]:
            self._starts.append(len(self._records))

    def _filled(self) -> tuple[int, int]:
        """Return the number and the bytes of the operand that is filled for others, if one is."""
        return 0, 0

    def script(self) -> Script:
        """Return what has been recorded."""
        records = np.array(self._records, np.int64).reshape((-1, record_words(MOST_SLOTS)))
        behind, bases = records[:, 2 : 2 + MOST_SLOTS], records[:, 2 + MOST_SLOTS :]
        total = 0
        for number, size in enumerate(self._purposes.values(), start=BASES):
            behind[bases == number] += total
            bases[bases == number] = OWN
            total += -(-size // HOST.line) * HOST.line
        starts = np.array(self._starts, np.int64)
        return Script(self._dtype, records, starts, total, self._kept, self._filled())


class Shared(Recorder):
    """Memory that all blocks of another script read, as an operand, and the calls that fill it."""

    def __init__(self, base: int, dtype: DType) -> None:
        super().__init__(dtype)
        self._base, self._count = base, 0

    def take(self, purpose: str, count: int) -> Array:
        """Return so many elements, which nothing else has."""
        begin, size, line = self._count, self._dtype.itemsize, HOST.line // self._dtype.itemsize
        self._count += -(-count // line) * line
        return stand_in(self._base, (self._count,), (size,), self._dtype)[begin : begin + count]

    def _filled(self) -> tuple[int, int]:
        return self._base, self._count * self._dtype.itemsize


class Script:
    """The calls of some blocks, one block after the other; they may fill an operand of others, with that number."""

    def __init__(
        self,
        dtype: DType,
        records: Array,
        starts: Array,
        own_bytes: int,
        kept: Sequence[Array],
        filled: tuple[int, int],
    ) -> None:
        self._filled, self._filled_bytes = filled
        self._dtype, self._kept = dtype, (records, starts, *kept)
        self._blocks, self._own_bytes = len(starts) - 1, own_bytes
        self._fixed = _FIXED.pack(address(starts), address(records), own_bytes)

    def run(
        self, operands: Mapping[int, Array], *, long: bool = False, before: Script | None = None
    ) -> None:
        """Make all blocks, in several threads, with operands by their numbers.

        Where blocks are `long`, an interrupt does not wait for those at hand. A script that is run `before` fills an
        operand for this one, in memory next to that of the threads.
        """
        if long:
            self._run_interruptibly(operands if before is None else before.filled_for(operands))
            return
        shared = 0 if before is None else before._filled_bytes
        most = self._blocks if before is None else max(self._blocks, before._blocks)
        memory, free = borrow(shared, self._own_bytes, most)
        bases = self._bases(memory[shared:], free, operands)
        if before is not None:
            bases[before._filled] = address(memory)
            before._make(bases)
        self._make(bases)
        give_back(memory)

    def filled_for(self, operands: Mapping[int, Array]) -> dict[int, Array]:
        """Return operands and the one that this script fills for others, in memory of its own."""
        (filled,) = host_pool.scratch(self._filled_bytes, [_BYTES])
        whole = {**operands, self._filled: filled}
        self.run(whole)
        return whole

    def _run_interruptibly(self, operands: Mapping[int, Array]) -> None:
        def work(mine: Iterator[int]) -> None:
            memory = self.memory()
            for number in mine:
                self.run_block(number, operands, memory)

        share_out(range(self._blocks), work, long=True)

    def _make(self, bases: list[int]) -> None:
        if self._blocks:
            scripts = functions(self._dtype).scripts
            run_ranges(scripts, self._blocks, 1, _VARYING.pack(*bases), self._fixed)

    def memory(self) -> Array:
        """Return memory for `run_block`."""
        (memory,) = host_pool.scratch(HOST.line + self._own_bytes, [_BYTES])
        return memory

    def run_block(self, number: int, operands: Mapping[int, Array], memory: Array) -> None:
        """Make one block in this thread."""
        slots = _VARYING.pack(*self._bases(memory, 1, operands))
        functions(self._dtype).scripts.call(number, number + 1, slots, self._fixed)

    def _bases(self, memory: Array, free: int, operands: Mapping[int, Array]) -> list[int]:
        memory[: _WORD.itemsize].view(_WORD)[0] = free
        bases = [0] * BASES
        bases[0] = address(memory)
        bases[OWN] = bases[0] + HOST.line
        for number, array in operands.items():
            bases[number] = address(array)
        return bases
