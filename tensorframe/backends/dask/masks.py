"""Masks: what is selected where a mask holds, block by block. Only how many elements each block has comes here."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod
from operator import getitem
from typing import Any

import numpy as np
from dask.task_spec import Task, TaskRef

from tensorframe.backends.dask.arrays import (
    Array,
    Chunks,
    array_of,
    block_keys,
    in_blocks,
    new_name,
    one_block,
)
from tensorframe.backends.dask.names import layer_name
from tensorframe.backends.dask.running import computed, persisted
from tensorframe.backends.dask.settings import Settings
from tensorframe.dtypes import int64


def selected(mask: Array, values: Array | None, settings: Settings) -> Array:
    """Return the values where a mask of their first axes holds, in C order; without values, the elements' positions.

    Blocks are those of the values, those of the mask without any, whole along all axes of the mask but the first, so
    that they follow each other. What they give is computed, and those that give nothing are left out.
    """
    source = _in_rows(mask if values is None else values, mask.ndim, settings.chunk)
    rows = mask.rechunk(source.chunks[: mask.ndim])
    rows, counted = persisted([rows, _counted(rows)], settings.client)
    counts = {
        number: count
        for number, count in enumerate(computed(counted, settings.client).tolist())
        if count
    }
    outer = source.chunks[mask.ndim :]
    if not counts:
        dtype = int64 if values is None else values.dtype
        nothing = np.empty((0, *source.shape[mask.ndim :]), dtype)
        return in_blocks(nothing, one_block(nothing.shape))
    made = (
        _positions(rows, counts)
        if values is None
        else _elements(source, rows, ((*counts.values(),), *outer), counts)
    )
    (done,) = persisted([made], settings.client)
    return done


def _in_rows(array: Array, axes: int, limit: int) -> Array:
    """Return an array in blocks that are whole along the first `axes` axes but one."""
    if all(len(sizes) == 1 for sizes in array.chunks[1:axes]):
        return array
    return array.rechunk({0: "auto", **dict.fromkeys(range(1, axes), -1)}, block_size_limit=limit)


def _counted(rows: Array) -> Array:
    """Return how many elements of each block of a mask hold, as blocks of one number."""
    name = new_name("count")
    tasks = {
        (name, number): Task((name, number), _count, TaskRef(key))
        for number, key in enumerate(block_keys(rows))
    }
    return array_of(name, tasks, ((1,) * len(tasks),), int64, [rows])


def _positions(rows: Array, counts: Mapping[int, int]) -> Array:
    """Return where a mask holds, of the blocks that have so many elements."""
    name = layer_name("nonzero", int64.itemsize * prod(rows.chunksize))
    firsts = np.cumsum((0, *rows.chunks[0])) * prod(rows.shape[1:])
    keys = list(block_keys(rows))
    tasks = {
        (name, place): Task((name, place), _holds, TaskRef(keys[number]), int(firsts[number]))
        for place, number in enumerate(counts)
    }
    return array_of(name, tasks, ((*counts.values(),),), int64, [rows])


def _elements(source: Array, rows: Array, chunks: Chunks, counts: Mapping[int, int]) -> Array:
    """Return what a mask selects of each block in its row of blocks, where it selects anything."""
    name = layer_name("select", 2 * source.dtype.itemsize * prod(source.chunksize))
    whole = (0,) * (rows.ndim - 1)
    tasks = {}
    for place, number in enumerate(counts):
        mask = TaskRef((rows.name, number, *whole))
        for index in product(*[range(len(sizes)) for sizes in chunks[1:]]):
            key = (name, place, *index)
            block = TaskRef((source.name, number, *whole, *index))
            tasks[key] = Task(key, getitem, block, mask)
    return array_of(name, tasks, chunks, source.dtype, [source, rows])


def _count(mask: Any) -> Any:
    return np.array([np.count_nonzero(mask)], int64)


def _holds(mask: Any, first: int) -> Any:
    return np.flatnonzero(mask) + first
