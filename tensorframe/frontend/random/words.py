"""Random words as tensors: recorded are positions, a counter and a key, and no word is there before it is used."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tensorframe.backends.registry import resolve_device
from tensorframe.dtypes import DType, uint32, uint64
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.creation.ranges import counted
from tensorframe.frontend.operand_nodes import as_node, placed
from tensorframe.frontend.operands import converted, reshaped
from tensorframe.frontend.random.keys import Many, MappedKey, Source, reserved
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node
from tensorframe.graph.record import constant, record
from tensorframe.graph.shape import Shape
from tensorframe.graph.tracing import TracedNumber
from tensorframe.ops.random import RANDOM_WORD, positions_of_block
from tensorframe.site import recording_site

_POSITIONS = 2**32
_LOW = _POSITIONS - 1


def positions(shape: Shape, device: OnDevice) -> Tensor:
    """Return how many elements are before each one, in C order, modulo 2**32."""
    return reshaped(counted(prod(shape), 0, 1, uint32, resolve_device(device)), shape)


def lanes(places: Tensor, width: int, origin: Source, *, every: int = 1) -> list[Tensor]:
    """Return `width` tensors of random words for these `positions`; each `every` consecutive ones share theirs.

    Counter and key are arguments of what computes the words: other ones need no other plan.
    """
    device = places.device
    key, counter = reserved(origin, -(-places.size // every) * width)
    counters = halves(counter, device)
    if isinstance(origin, Many):
        counters = _first_counters(origin, places.ndim, device)
    elif places.size > _POSITIONS:
        counters = _counters(places.shape, counter, positions_of_block(every, width), device)
    inputs = (places.node, *counters, *halves(key, device))
    return [Tensor(record(RANDOM_WORD, inputs, every, width, word)) for word in range(width)]


def _first_counters(draws: Many, axes: int, device: Device) -> list[Node]:
    """Return the halves of the first counter of each draw, along an axis in front of others."""
    column = draws.counters().reshape(-1, *(1,) * axes)
    parts = (column & np.uint64(_LOW), column >> np.uint64(32))
    return [as_node(part.astype(np.uint32), device) for part in parts]


def halves(number: int | TracedNumber | MappedKey, device: Device) -> list[Node]:
    """Return the lower and the upper 32 of the 64 bits of a number."""
    if isinstance(number, MappedKey):
        return [placed(half.node, device) for half in (number.low, number.high)]
    return [opaque(half, uint32, device) for half in (number & _LOW, number >> 32 & _LOW)]


def opaque(number: int | TracedNumber, dtype: DType, device: Device) -> Node:
    """Return a number in a form of which no plan knows the value."""
    value = number if isinstance(number, TracedNumber) else dtype.type(number)
    return constant(value, dtype, device, recording_site())


def _counters(shape: Shape, counter: Any, shared: int, device: Device) -> list[Node]:
    """Return the halves of the counters that positions are counted from, which begin again every 2**32 elements."""
    turns: Any = reshaped(counted(prod(shape), 0, 1, uint64, device), shape) >> 32
    first = Tensor(opaque(counter, uint64, device))
    total = turns * (_POSITIONS // shared) + first
    return [converted(half, uint32).node for half in (total, total >> 32)]
