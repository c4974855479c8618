"""Targets: what kernels of work-groups need to know of the device that they are built for."""

from __future__ import annotations

from typing import Any

from tensorframe.dtypes import DType
from tensorframe.quick_dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Target:
    """The device that kernels are built for: threads of a group, and the widest floating dtype.

    `index` is the dtype of positions: 32 bits are faster, and do for 2**32 elements. `access` is how many bytes a
    thread reads or writes at once; 0 where it does so element by element. `rows` are the bytes that a group has for
    rows that several passes read: they are read once. `tile_products` are dtypes whose products warps make of tiles.
    A kernel has at most so many `buffers`. Where products fit into so many bytes of a `double_buffer`, they have one,
    to which a device may copy (`copies`) while threads compute; else these read ahead, several `neighbours` at once
    where the dialect has that. A thread's loops may have `max_iterations` in all; 0 where that has no limit.
    """

    lanes: int
    widest: DType
    index: DType
    access: int = 0
    rows: int = 0
    tile_products: frozenset[DType] = frozenset()
    buffers: int = 1 << 10
    double_buffer: int = 0
    copies: bool = False
    neighbours: bool = False
    max_iterations: int = 0
    tunings: Any = field(default=None, compare=False)  # see `algorithms/tunings.py`
