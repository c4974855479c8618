"""Sorting, searching and histograms by NumPy; dtypes that are not its own are compared in wider ones that are."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe.backends.numpy.functions import spells
from tensorframe.backends.numpy.merge_sort import (
    LONG,
    SHORT,
    goes_by_bits,
    is_shared_out,
    sort_lines,
)
from tensorframe.backends.numpy.scans import PIECE
from tensorframe.dtypes import ADDED, wide_of
from tensorframe.errors import IndexingError, OutOfRangeError

Array = Any

# one element of so many may have to be sorted again
_FEW = 16
# elements from which it takes less time to find maxima and exchange them than to select them
_FOR_MAXIMUM = 2048


def _comparable(x: Array) -> Array:
    # NumPy sorts a dtype that is not its own without moving NaN to the end
    return np.asarray(x).astype(wide_of(x.dtype)) if x.dtype in ADDED else np.asarray(x)


def _mirrored(x: Array) -> Array:
    """Return keys in the opposite order: equal elements stay equal, NaN stays NaN, no integer overflows."""
    return -x if x.dtype.kind == "f" else ~x


@spells("sort")
def sort(x: Array, axis: int, descending: bool) -> Array:
    """Sort values."""
    keys = _comparable(x)
    if not descending:
        return _sorted(keys, axis).astype(x.dtype, copy=False)
    return _mirrored(_sorted(_mirrored(keys), axis)).astype(x.dtype, copy=False)


def _sorted(keys: Array, axis: int) -> Array:
    is_last = axis % keys.ndim == keys.ndim - 1
    if not is_last and not goes_by_bits(keys.dtype) and not is_shared_out(keys.size, keys.dtype):
        return np.sort(keys, axis=axis)
    values = keys.copy() if is_last else keys.swapaxes(axis, -1).copy()
    sort_lines(values)
    # memory of its own, and no view of it, which what comes next may write to
    return values if is_last else np.ascontiguousarray(values.swapaxes(axis, -1))


@spells("argsort")
def argsort(x: Array, axis: int, descending: bool, stable: bool) -> Array:
    """Sort positions."""
    keys = _mirrored(_comparable(x)) if descending else _comparable(x)
    if stable and LONG <= keys.shape[axis] < 1 << 32:
        return _stable_order(keys.swapaxes(axis, -1)).swapaxes(axis, -1)
    return np.argsort(keys, axis=axis, stable=stable)


def _stable_order(keys: Array) -> Array:
    """Return the positions that sort lines, equal elements in their order, by sorts of values.

    NumPy sorts integers with vector instructions, and positions stably without: four times as slowly. An integer of
    64 bits holds a rank, and below it the position, which tells equal ranks apart.
    """
    if keys.dtype.itemsize < 4 and keys.dtype.kind != "f":
        return np.argsort(keys, axis=-1, stable=True)  # by digits, which is as fast
    if keys.dtype.itemsize == 8 and keys.dtype.kind != "c" and keys.size:
        order = _order_by_upper_bits(keys)
        if order is not None:
            return order
    if keys.dtype.itemsize == 8:
        positions = np.argsort(keys, axis=-1)
        ranks = _ranks(np.take_along_axis(keys, positions, -1))
    else:
        ranks = _in_32_bits(keys)
        positions = np.arange(keys.shape[-1])
    ranks <<= 32
    ranks |= positions
    del positions
    sort_lines(ranks)
    ranks &= 0xFFFF_FFFF
    return ranks


def _order_by_upper_bits(keys: Array) -> Array | None:
    """Return the positions that sort lines of 64 bits by as many of the upper ones as leave room for a position.

    Where others below these differ, the elements are sorted again if they are few. None where they are many.
    """
    length = keys.shape[-1]
    room = np.uint64((length - 1).bit_length())
    packed = _in_64_bits(keys)
    packed -= packed.min()
    lost = max(int(packed.max()).bit_length() + int(room) - 64, 0)
    if lost:
        packed >>= np.uint64(lost)
    packed <<= room
    packed |= np.arange(length, dtype=np.uint64)
    sort_lines(packed)
    positions: Array = (packed & np.uint64((1 << int(room)) - 1)).astype(np.int64)
    if not lost:
        return positions
    packed >>= room
    alike = packed[..., 1:] == packed[..., :-1]
    del packed
    if np.count_nonzero(alike) > keys.size // _FEW:  # they may be equal, or in order
        in_order = np.take_along_axis(_in_64_bits(keys), positions, -1)
        return None if (in_order[..., 1:] < in_order[..., :-1]).any() else positions
    for line in np.ndindex(keys.shape[:-1]):
        _sort_again(keys[line], positions[line], alike[line])
    return positions


def _sort_again(keys: Array, positions: Array, alike: Array) -> None:
    """Sort those elements of a sorted line whose upper bits are those of a neighbour."""
    is_among = np.zeros(keys.size, bool)
    is_among[1:] = alike
    is_among[:-1] |= alike
    places = np.flatnonzero(is_among)
    among = positions[places]
    positions[places] = among[np.argsort(keys[among], stable=True)]


def _ranks(lines: Array) -> Array:
    """Return for each element of sorted lines how many smaller values come before it; NaN is one value."""
    differ = lines[..., 1:] != lines[..., :-1]
    if lines.dtype.kind == "f":
        differ &= lines[..., :-1] == lines[..., :-1]
    ranks = np.zeros(lines.shape, np.int64)
    np.cumsum(differ, axis=-1, out=ranks[..., 1:])
    return ranks


def _in_32_bits(keys: Array) -> Array:
    """Return integers of 32 bits, in a wider dtype, that are in the order of the keys; NaN is last."""
    if keys.dtype.kind != "f":
        # of unsigned ones the upper half would be negative, one place to the left of the sign
        return keys.astype(np.int64) - ((1 << 31) if keys.dtype.kind == "u" else 0)
    bits = (keys.astype(np.float32) + np.float32(0)).view(np.int32)  # there is one zero
    bits[np.isnan(keys)] = np.iinfo(np.int32).max
    # the bits of negative numbers fall as these rise
    return (bits ^ (bits >> 31 & np.int32(0x7FFF_FFFF))).astype(np.int64)


def _in_64_bits(keys: Array) -> Array:
    """Return unsigned integers that are in the order of keys of 64 bits; NaN is last."""
    if keys.dtype.kind == "u":
        return keys.copy()
    if keys.dtype.kind == "f":
        bits = (keys + 0.0).view(np.int64)  # there is one zero
        bits[np.isnan(keys)] = np.iinfo(np.int64).max
        signs = bits >> 63
        signs &= np.iinfo(np.int64).max
        bits ^= signs  # those of negative numbers fall as these rise
    else:
        bits = keys.copy()
    bits ^= np.iinfo(np.int64).min
    return bits.view(np.uint64)


@spells("partition")
def partition(x: Array, kth: tuple[int, ...], axis: int) -> Array:
    """Order values only as far as `kth` asks."""
    lines = _comparable(x).swapaxes(axis, -1).copy()  # its own method: a tenth of `moveaxis`
    places = sorted({place % lines.shape[-1] for place in kth})
    if lines.shape[-1] < SHORT * len(places):
        sort_lines(lines)
    else:
        _select(lines, places)
    return lines.swapaxes(axis, -1).astype(x.dtype, copy=False)


def _select(lines: Array, places: list[int]) -> None:
    """Put the elements of ascending places where sorting would, and smaller ones before each, larger ones behind.

    NumPy selects one element of a line with vector instructions, several with scalar ones, five times as slowly. So
    the middle place comes first, and those on its sides are looked for there alone: the last of a side is its maximum.
    """
    if not places:
        return
    middle = len(places) // 2
    place = places[middle]
    if place == lines.shape[-1] - 1 and lines.size >= _FOR_MAXIMUM:
        _put_maximum_last(lines)
    else:
        lines.partition(place, axis=-1)
    _select(lines[..., :place], places[:middle])
    _select(lines[..., place + 1 :], [following - place - 1 for following in places[middle + 1 :]])


def _put_maximum_last(lines: Array) -> None:
    """Have the largest elements, which NaN is, change places with the last ones.

    NumPy copies lines that do not lie in one piece before it looks for these, so some go at a time.
    """
    if lines.ndim > 1 and len(lines) > 1 and lines.size > PIECE:
        step = max(PIECE * len(lines) // lines.size, 1)
        for start in range(0, len(lines), step):
            _put_maximum_last(lines[start : start + step])
        return
    where = np.expand_dims(lines.argmax(axis=-1), -1)
    largest = np.take_along_axis(lines, where, -1)
    np.put_along_axis(lines, where, lines[..., -1:].copy(), -1)
    lines[..., -1:] = largest


@spells("select")
def select(x: Array, places: Array) -> Array:
    """Order lines as far as their own places ask; lines with the same places go together."""
    size, count = x.shape[-1], places.shape[-1]
    if places.size and not (places.min() >= 0 and places.max() < size):
        raise IndexingError(
            f"select: places from {places.min()} to {places.max()} of {size} elements"
        )
    lines = _comparable(x).reshape(-1, size).copy()
    wanted = places.reshape(-1, count)
    if size < SHORT * count:
        sort_lines(lines)
    elif (wanted == wanted[:1]).all():
        _select(lines, sorted(set(wanted[:1].flat)))
    else:
        kinds, kind_of = np.unique(wanted, axis=0, return_inverse=True)
        for number, kind in enumerate(kinds):
            alike = kind_of.reshape(-1) == number
            part = lines[alike]
            _select(part, sorted(set(kind.tolist())))
            lines[alike] = part
    return np.take_along_axis(lines, wanted, -1).reshape(places.shape).astype(x.dtype, copy=False)


@spells("argpartition")
def argpartition(x: Array, kth: tuple[int, ...], axis: int) -> Array:
    """Order positions only as far as `kth` asks."""
    return np.argpartition(_comparable(x), kth, axis=axis)


@spells("topk")
def topk(x: Array, count: int, axis: int, largest: bool) -> tuple[Array, Array]:
    """Partition, then sort the part that is asked for."""
    keys = _comparable(x).swapaxes(axis, -1)
    if largest:
        keys = _mirrored(keys)
    if 0 < count < keys.shape[-1]:
        chosen = np.sort(np.argpartition(keys, count - 1, axis=-1)[..., :count], axis=-1)
        order = np.argsort(np.take_along_axis(keys, chosen, -1), axis=-1, stable=True)
        positions = np.take_along_axis(chosen, order, -1)
    else:
        positions = np.argsort(keys, axis=-1, stable=True)[..., :count]
    positions = positions.swapaxes(axis, -1)
    return np.take_along_axis(x, positions, axis), positions


@spells("searchsorted")
def searchsorted(x: Array, values: Array, *arguments: Any) -> Array:
    """Search."""
    *sorter, side = arguments
    try:
        return np.searchsorted(_comparable(x), _comparable(values), side, *sorter)
    except ValueError as error:  # a sorter whose elements are no positions
        raise IndexingError(f"searchsorted: {error}") from error


@spells("histogram")
def histogram(x: Array, edges: Array, *arguments: Any) -> Array:
    """Count; uniform bins are computed from the values, others are searched."""
    *weights, uniform, dtype = arguments
    edges = _comparable(edges)
    if not np.isfinite(edges).all() or (edges[1:] < edges[:-1]).any():
        raise OutOfRangeError(
            f"histogram: edges must be finite and must not fall, got {edges[0]} to {edges[-1]}",
            suggestions=("range=(low, high) where values are NaN or infinite",),
        )
    if uniform and edges.size > 2 and (edges[1:] == edges[:-1]).any():
        raise OutOfRangeError(
            f"histogram: {edges.dtype} has no {edges.size - 1} bins from {edges[0]} to {edges[-1]}",
            suggestions=("fewer bins", "range=(low, high)"),
        )
    return _counts(_comparable(x), edges, weights[0] if weights else None, uniform).astype(dtype)


def _counts(x: Array, edges: Array, weights: Array | None, uniform: bool) -> Array:
    if uniform and edges[0] < edges[-1]:
        ends = (edges[0], edges[-1])
        return np.histogram(x, len(edges) - 1, ends, weights=weights)[0]
    return np.histogram(x, edges, weights=weights)[0]
