"""Random words as tensors: recorded are positions, a counter and a key, and no word is there before it is used."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

from tensorframe.backends.registry import resolve_device
from tensorframe.dtypes import DType, uint32, uint64
from tensorframe.frontend.creation.convert import OnDevice
from tensorframe.frontend.creation.ranges import counted
from tensorframe.frontend.operands import converted, reshaped
from tensorframe.frontend.random.keys import Source, reserved
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node
from tensorframe.graph.record import constant, record
from tensorframe.graph.shape import Shape
from tensorframe.graph.tracing import TracedNumber
from tensorframe.ops.random import RANDOM_WORD, positions_of_block
from tensorframe.site import recording_site

_POSITIONS = 2**32


def positions(shape: Shape, device: OnDevice) -> Tensor:
    """Return how many elements are before each one, in C order, modulo 2**32."""
    return reshaped(counted(prod(shape), 0, 1, uint32, resolve_device(device)), shape)


def lanes(at: Tensor, width: int, origin: Source, *, every: int = 1) -> list[Tensor]:
    """Return `width` tensors of random words for these `positions`; each `every` consecutive ones share theirs.

    Counter and key are arguments of what computes the words: other ones need no other plan.
    """
    device = at.device
    key, counter = reserved(origin, -(-at.size // every) * width)
    counters = [_half(counter, upper, device) for upper in (False, True)]
    if at.size > _POSITIONS:
        counters = _counters(at.shape, counter, positions_of_block(every, width), device)
    keys = [_half(key, upper, device) for upper in (False, True)]
    inputs = (at.node, *counters, *keys)
    return [Tensor(record(RANDOM_WORD, inputs, every, width, word)) for word in range(width)]


def _half(number: Any, upper: bool, device: Device) -> Node:
    """Return 32 of the 64 bits of a number."""
    return _opaque(number, partial(_bits, upper=upper), uint32, device)


def _bits(number: int, *, upper: bool) -> int:
    return number >> 32 & 0xFFFFFFFF if upper else number & 0xFFFFFFFF


def _opaque(number: Any, function: Any, dtype: DType, device: Device) -> Node:
    """Return what `function` makes of a number, in a form of which no plan knows the value."""
    known = not isinstance(number, TracedNumber)
    value = dtype.type(function(number)) if known else number.then(function, int)
    return constant(value, dtype, device, recording_site())


def _counters(shape: Shape, counter: Any, shared: int, device: Device) -> list[Node]:
    """Return the halves of the counters that positions are counted from, which begin again every 2**32 elements."""
    turns: Any = reshaped(counted(prod(shape), 0, 1, uint64, device), shape) >> 32
    first = Tensor(_opaque(counter, int, uint64, device))
    total = turns * (_POSITIONS // shared) + first
    return [converted(half, uint32).node for half in (total, total >> 32)]
