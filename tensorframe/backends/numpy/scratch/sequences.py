"""Scratch of regions of mixed ops: what lies between runs of elementwise ops and single calls, and what these take."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tensorframe.backends.numpy.functions import implementation
from tensorframe.backends.numpy.scratch.calls import scratch_of_call
from tensorframe.backends.numpy.scratch.temporaries import temporaries
from tensorframe.backends.numpy.sequence import Run, runs, without_repeats
from tensorframe.graph.op import Kind
from tensorframe.graph.region import Region
from tensorframe.graph.shape import strides_of
from tensorframe.ops.movement import EXPAND, PERMUTE, RESHAPE, SLICE, WINDOWS

# what views are made by, of memory that is never touched
_MOVES = frozenset({EXPAND, PERMUTE, RESHAPE, SLICE, WINDOWS})
_BYTE = np.zeros(1, np.uint8)


def scratch_of_sequence(region: Region) -> int:
    """Return what lies between the ops of a region at most, and what these take while it does."""
    region = without_repeats(region)
    parts, views = runs(region), _views(region)
    last_use = {
        source: number for number, run in enumerate(parts) for _, op in run for source in op.inputs
    }
    for run in reversed(parts):
        for value, op in run:
            if value in views:  # it keeps its operand's memory
                (source, *_) = op.inputs
                last_use[source] = max(last_use[source], last_use.get(value, -1))
    live: dict[int, int] = {}
    most = 0
    for number, run in enumerate(parts):
        kept = {
            value: 0 if value in views else prod(op.shape) * op.dtype.itemsize
            for value, op in run
            if value in region.outputs or last_use.get(value, -1) > number
        }
        live |= kept
        most = max(most, sum(live.values()) + _of_run(region, run, tuple(kept)))
        for value in [value for value in live if last_use.get(value, number + 1) == number]:
            if value not in region.outputs:
                del live[value]
    return max(most - sum(live.values()), 0)  # results are counted by whoever asks


def _views(region: Region) -> set[int]:
    """Return the values that look at their operand's memory: where strides cannot say it, elements are copied."""
    stand_ins: dict[int, Any] = {}
    views: set[int] = set()
    for value, op in enumerate(region.ops, start=len(region.inputs)):
        if not op.op.alias:
            continue
        (source, *_) = op.inputs
        if op.op in _MOVES:
            shape = region.shape_of(source)
            seen = stand_ins.get(source)
            seen = as_strided(_BYTE, shape, strides_of(shape)) if seen is None else seen
            try:
                stand_ins[value] = (
                    seen.reshape(op.shape, copy=False)
                    if op.op is RESHAPE
                    else implementation[op.op](seen, *op.attrs)
                )
            except ValueError:
                continue
        views.add(value)
    return views


def _of_run(region: Region, run: Run, kept: tuple[int, ...]) -> int:
    """Return what a run of ops takes beside those of its values that are `kept`."""
    made = [value for value, _ in run]
    takes = dict.fromkeys([source for _, op in run for source in op.inputs if source not in made])
    first = run[0][1]
    if run[-1][1].op.kind is Kind.MAP:
        return temporaries(region.part(tuple(takes), made, kept))
    if len(run) > 1:  # NumPy converts as many elements at a time while it sums them up
        return min(prod(first.shape), np.getbufsize()) * first.dtype.itemsize
    return scratch_of_call(region, first)
