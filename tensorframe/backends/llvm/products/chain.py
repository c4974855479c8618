"""Chained products by tiles: blocks of scores, what kernels make of them, and their product, in threads of kernels."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from tensorframe.backends.base import settled
from tensorframe.backends.llvm.abi import address
from tensorframe.backends.llvm.launcher import number_format
from tensorframe.backends.llvm.products.functions import (
    VARYING_SLOTS,
    fixed_slots,
    functions,
    packs,
)
from tensorframe.backends.llvm.products.kernels import BlockKernels, block_kernels
from tensorframe.backends.llvm.products.layout import Panels, lines, places_of, row_step
from tensorframe.backends.llvm.products.packed import pack_panels
from tensorframe.backends.llvm.products.scratch import borrow, give_back
from tensorframe.backends.llvm.workers import run_ranges
from tensorframe.backends.numpy.products import blas
from tensorframe.backends.numpy.products.grid import Index, boxes
from tensorframe.backends.numpy.products.hidden import Columns
from tensorframe.backends.numpy.products.product import extents, in_batch
from tensorframe.backends.numpy.products.tiles import PACKED
from tensorframe.backends.numpy.products.weights import Weights
from tensorframe.codegen.llvm.packed.slots import CHAIN_WORDS, MOST_TERMS
from tensorframe.dtypes import DType
from tensorframe.graph.shape import Shape
from tensorframe.quick_tuples import NamedTuple

Array = Any
# which columns blocks need: from where to where
Ranges = tuple[tuple[int, int], ...]

# Elements of a block of scores, which stays in the second level of cache with the factors; and the fewest rows, for
# which these are read once more.
_ELEMENTS, _FEWEST, _MOST = 1 << 16, 32, 128


class TiledChain:
    """The products of a chain, in blocks: `weights` are made of rows of the first one."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._plans: dict[Any, _Plan | None] = {}

    def __call__(
        self,
        factors: Sequence[Array],
        scores: Shape,
        others: Sequence[Array],
        columns: Columns | None,
        out: Array,
    ) -> bool:
        """Write the product to `out`; return False, and do nothing, where tiles cannot make it, or are no faster.

        `factors` are those of the first product, and the right one of the second. Products are made by tiles if sizes
        and strides alone say so, and so are the same ones every time.
        """
        x, y, z = factors
        if not packs(x, _one_of(y), scores) or {y.dtype, z.dtype, self._weights.dtype} != {x.dtype}:
            return False
        x, y, z = [in_batch(blas.ready(factor), scores[:-2]) for factor in factors]
        arrays = (x, y, z, out, *[factor for factor in others if np.ndim(factor)])
        key = tuple([factor.strides for factor in arrays])
        blocks = _blocks(scores)
        shown = None if columns is None else columns.of_all(blocks, scores)
        plan = self._plans.get((key, shown), _UNKNOWN)
        if plan is _UNKNOWN:
            geometry = _Geometry(scores, blocks, x, y, z, out)
            plan = self._plans[key, shown] = _planned(geometry, self._weights, others, shown)
            if len(self._plans) > _MOST_PLANS:
                self._plans.pop(next(iter(self._plans)))
        if plan is None:
            return False
        plan.run((x, y, z), others, out)
        return True


_UNKNOWN: Any = object()
# Plans that are kept: where masks depend on values, each of them has one.
_MOST_PLANS = 64


def _one_of(stack: Array) -> Array:
    """Return a matrix of a stack, which is packed by itself."""
    return stack[(0,) * (stack.ndim - 2)]


@lru_cache(maxsize=64)
def _blocks(scores: Shape) -> list[Index]:
    """Return the blocks of rows of scores."""
    *batch, rows, columns = scores
    tall = min(max(_ELEMENTS // columns // 8 * 8, _FEWEST), _MOST, rows)
    whole = slice(0, columns)
    return [(*index, whole) for index in boxes((*batch, rows), tall, len(batch))]


class _Geometry:
    """Blocks of scores, and where rows of factors and of the result are."""

    def __init__(
        self, scores: Shape, blocks: list[Index], x: Array, y: Array, z: Array, out: Array
    ) -> None:
        self.scores, self.blocks, self.dtype = scores, blocks, x.dtype
        self.x, self.y, self.z, self.out = [
            (array.shape, array.strides) for array in (x, y, z, out)
        ]


class _Group(NamedTuple):
    """Blocks whose right factors are packed together: fixed slots for both packings and the blocks, and how many."""

    first: tuple[bytes, int]
    second: tuple[bytes, int]
    blocks: tuple[bytes, int]
    packed: int


class _Plan(NamedTuple):
    """A chain for factors of one layout, and of masks that show the same columns.

    `blocks` are indices of scores, with the columns that are made.
    """

    blocks: Sequence[Index]
    groups: Sequence[_Group]
    panels: tuple[Panels, Panels]
    scratch: int
    dtype: DType
    arrays: Sequence[int]
    numbers: Sequence[tuple[int, type]]
    pack: Any
    kept: tuple[Any, ...]

    def run(self, factors: Sequence[Array], others: Sequence[Array], out: Array) -> None:
        """Make all blocks."""
        x, y, z = factors
        numbers = [kind(others[place]) for place, kind in self.numbers]
        arrays = [id(out if place < 0 else others[place]) for place in self.arrays]
        most = max([group.blocks[1] for group in self.groups])
        packed = max([group.packed for group in self.groups])
        memory, free = borrow(packed, self.scratch, most)
        for group in self.groups:
            for right, panels, (slots, count) in zip(
                (y, z), self.panels, (group.first, group.second), strict=True
            ):
                given = [id(x), id(right), id(memory), id(out), id(memory), free]
                pack_panels(panels, count, self.dtype, self.pack(*given, *arrays, *numbers), slots)
            slots, count = group.blocks
            varying = self.pack(*given, *arrays, *numbers)
            run_ranges(functions(self.dtype).chain, count, 1, varying, slots)
        give_back(memory)


def _planned(
    geometry: _Geometry, weights: Weights, others: Sequence[Array], shown: Ranges | None
) -> _Plan | None:
    """Return the plan of a chain; None where kernels do not make weights of blocks."""
    scores, dtype = geometry.scores, geometry.dtype
    batch, columns = scores[:-2], scores[-1]
    (x_shape, x_strides), (_, y_strides), (z_shape, z_strides) = geometry.x, geometry.y, geometry.z
    _, out_strides = geometry.out
    terms, wide = x_shape[-1], z_shape[-1]
    size = dtype.itemsize
    if out_strides[-1] != size and wide > 1:
        return None
    first = Panels(batch, y_strides, terms, columns, dtype)
    second = Panels(batch, z_strides, columns, wide, dtype)
    panels, indices = _cut(first, geometry.blocks, shown)
    kinds = list(dict.fromkeys([extents(index) for index in indices]))
    examples = [next(index for index in indices if extents(index) == kind) for kind in kinds]
    programs = [settled(weights.program(scores, kind), now=True) for kind in kinds]
    kernels = block_kernels(
        examples, dtype, [program for program in programs if program is not None], others, None
    )
    if kernels is None:
        return None
    starts = np.array([[program.start for program in index] for index in indices], np.int64)
    rows = np.array([prod(extents(index)[:-1]) for index in indices], np.int64)
    words = np.zeros((len(indices), len(CHAIN_WORDS)), np.int64)
    words[:, 0] = starts @ np.array((*x_strides[:-1], 0), np.int64)
    words[:, 1] = first.numbers(starts)
    words[:, 2] = starts @ np.array((*out_strides[:-1], 0), np.int64)
    words[:, 3] = rows
    words[:, 4] = [kinds.index(extents(index)) for index in indices]
    words[:, 5] = second.numbers(starts)
    words[:, 6:8] = panels
    words[:, 8] = starts[:, -1]
    words[:, 9] = [extents(index)[-1] for index in indices]
    tallest = int(rows.max())
    step = row_step(scores[-2:-1], x_strides[-2:-1]) or size
    gathered = lines(tallest * MOST_TERMS * size) if step == size != x_strides[-1] else 0
    block = lines(tallest * columns * size)
    weights_at = gathered if weights.writes_over else gathered + block
    divisors_at = weights_at + block
    scratch = divisors_at + lines(tallest * size)
    taken = _taken(kernels, others, starts, (gathered, weights_at, divisors_at))
    words = np.ascontiguousarray(np.concatenate([words, *taken.places], axis=1))
    common = {
        "row_step": step,
        "term_step": x_strides[-1],
        "scratch_bytes": scratch,
        "gathered": gathered,
        "in_place": 1,
        "pitch": row_step(scores[-2:-1], out_strides[-2:-1]) or size,
        "words": words.shape[1],
        "array_count": len(kernels.arrays),
        "number_count": len(kernels.scalars),
        "inner": address(taken.inner),
        "kernels": address(kernels.records),
        "second_columns": wide,
        "weights_at": weights_at,
        "divisors_at": divisors_at if weights.is_divided else 0,
    }
    groups, kept = _grouped(words, (first, second), common)
    formats = "".join([number_format(dtype) for _, dtype in kernels.scalars])
    return _Plan(
        indices,
        groups,
        (first, second),
        scratch,
        dtype,
        taken.arrays,
        taken.numbers,
        struct.Struct(f"={VARYING_SLOTS}{'Q' * len(taken.arrays)}{formats}").pack,
        (kernels, taken, kept),
    )


def _cut(
    panels: Panels, blocks: Sequence[Index], shown: Ranges | None
) -> tuple[Array, list[Index]]:
    """Return the range of panels that each block needs, and the indices of blocks with these columns alone."""
    base, extra = divmod(panels.vectors, panels.count)
    starts = [number * base + min(number, extra) for number in range(panels.count + 1)]
    edges = np.minimum(np.array(starts) * panels.lanes, panels.columns)
    cut, indices = [], []
    for number, index in enumerate(blocks):
        start, stop = (0, panels.columns) if shown is None else shown[number]
        begin = int(np.searchsorted(edges, start, side="right")) - 1
        end = int(np.searchsorted(edges, stop, side="left"))
        cut.append((begin, end))
        indices.append((*index[:-1], slice(int(edges[begin]), int(edges[end]))))
    return np.array(cut, np.int64), indices


class _Taken(NamedTuple):
    places: Sequence[Array]
    inner: Array
    arrays: Sequence[int]
    numbers: Sequence[tuple[int, type]]


def _taken(
    kernels: BlockKernels, others: Sequence[Array], starts: Array, inside: tuple[int, int, int]
) -> _Taken:
    """Return which arrays kernels take: `inside` are the scores, the weights and the divisors in a thread's memory."""
    scores, *made = inside
    inner = np.full(len(kernels.arrays), -1, np.int64)
    arrays, places = [], []
    for position, name in enumerate(kernels.arrays):
        number = int(name[1:])
        place = -1
        offsets = np.zeros(len(starts), np.int64)
        if name == "x0":
            inner[position] = scores
        elif name[0] == "y":
            inner[position] = made[number]
        else:
            place = number - 1
            offsets = places_of(starts, others[place].shape, others[place].strides)
        arrays.append(place)
        places.append(offsets[:, None])
    numbers = [
        (int(name[1:]) - 1, float if dtype.kind == "f" else int) for name, dtype in kernels.scalars
    ]
    return _Taken(places, inner, arrays, numbers)


def _grouped(
    words: Array, panels: tuple[Panels, Panels], common: dict[str, int]
) -> tuple[list[_Group], list[Any]]:
    """Return the groups of blocks whose right factors have memory at the same time."""
    first, second = panels
    factors = words[:, [1, 5]].copy()
    each = first.matrix_bytes + second.matrix_bytes
    groups: list[_Group] = []
    kept: list[Any] = []
    begin = 0
    while begin < len(words):
        end = begin + 1
        while end < len(words) and _bytes(factors[begin : end + 1], panels) <= max(PACKED, each):
            end += 1
        own = np.ascontiguousarray(words[begin:end])
        grouped, offset = [], 0
        for column, panel in ((1, first), (5, second)):
            numbers, local = np.unique(own[:, column], return_inverse=True)
            own[:, column] = local.reshape(-1) * panel.matrix_bytes
            places = np.ascontiguousarray(panel.places[numbers])
            grouped.append((panel, places, offset))
            offset += lines(panel.matrix_bytes * len(numbers))
            kept.append(places)
        kept.append(own)
        threads = common | {"scratch_at": offset}
        packing = [
            (fixed_slots(threads | panel.slots(places, packed_at)), len(places))
            for panel, places, packed_at in grouped
        ]
        (_, places, _), (_, _, second_at) = grouped
        slots = threads | first.slots(places, 0)
        slots |= {"second_at": second_at, "blocks": address(own)}
        groups.append(_Group(packing[0], packing[1], (fixed_slots(slots), end - begin), offset))
        begin = end
    return groups, kept


def _bytes(factors: Array, panels: tuple[Panels, Panels]) -> int:
    """Return what the factors of some blocks take when they are packed."""
    counts = [len(np.unique(factors[:, column])) for column in range(2)]
    return sum([count * panel.matrix_bytes for count, panel in zip(counts, panels, strict=True)])
