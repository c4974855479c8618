"""Slices whose bounds are not known while a function is recorded: `x[t : t + 3]`, of a length that is.

The length is the difference of the bounds, in which what is not known has to cancel out. Such a slice gathers
positions that are computed when it runs. Where NumPy's slice would have another length, since it ends beyond the axis,
or one bound counts from the end and the other does not, IndexingError is raised.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tensorframe.dtypes import INTEGER, int64
from tensorframe.errors import ArgumentError, IndexingError, TracingError
from tensorframe.frontend.operand_nodes import fitting
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import CPU, Device
from tensorframe.graph.holding import default_on
from tensorframe.graph.node import Node
from tensorframe.graph.record import cast, constant, is_constant, record, record_map, source
from tensorframe.graph.shape import Shape
from tensorframe.graph.tracing import TracedNumber
from tensorframe.ops.creation import ARANGE
from tensorframe.ops.elementwise import ADD, EQUAL, LESS, WHERE
from tensorframe.ops.movement import RESHAPE
from tensorframe.quick_tuples import NamedTuple
from tensorframe.site import recording_site

# what a bound is made of: how often each value that is not known is added, and under None the number that is
Terms = Counter[Any]
# (index tensor, axis, size) -> the node of positions that the device holds, checked when it runs
Positions = Callable[[Tensor, int, int], Node]


class Window(NamedTuple):
    """Positions of one axis that a slice takes."""

    axis: int
    positions: Node


def is_unknown(item: Any) -> bool:
    """Whether an item of a key is a slice with a bound that is not known while a function is recorded."""
    return isinstance(item, slice) and any(map(_is_unknown_bound, (item.start, item.stop)))


def _is_unknown_bound(bound: Any) -> bool:
    if type(bound) is TracedNumber:
        return True
    if not isinstance(bound, Tensor):
        return False
    try:
        operator.index(bound)
    except TracingError:
        return True
    except TypeError:
        pass  # which whoever reads the slice says
    return False


def window_of(item: slice, axis: int, size: int, device: Device, known: Positions) -> Window:
    """Return the window of a slice with such bounds; TracingError if its length is not known."""
    if item.start is None or item.stop is None:
        raise _unknown_length(item)
    step = _step(item)
    length = _length(item)
    count = len(range(0, length, step))
    if type(item.start) is TracedNumber or type(item.stop) is TracedNumber:
        number = _first_at_each_call(item, step, count, axis, size)
        first = Tensor(constant(number, int64, CPU, recording_site()))
    else:
        first = _first_of_tensor(item, length, size)
    begin = record(RESHAPE, (known(first, axis, size),), (1,))
    if count == 1:
        return Window(axis, begin)
    offsets = source(ARANGE, (count,), begin.dtype, begin.device, 0, step, 0, 1)
    return Window(axis, record_map(ADD, (begin, offsets), device, recording_site()))


def _step(item: slice) -> int:
    step = 1 if item.step is None else operator.index(item.step)
    if step == 0:
        raise ArgumentError(f"{item}: slice step cannot be zero", suggestions=("a step of 1",))
    return step


def _unknown_length(item: slice) -> TracingError:
    bounds = [bound for bound in (item.start, item.stop) if type(bound) is TracedNumber]
    origin = f": its bounds depend on {bounds[0].trace.origin(bounds[0].place)}" if bounds else ""
    return TracingError(
        f"the length of the slice {_shown(item)} is not known while a function is recorded{origin}",
        suggestions=(
            "x[t : t + n], whose length is n",
            "a mask: tfr.where(tfr.arange(x.shape[0]) < t, x, 0)",
            "static_argnames=... for an argument that decides a shape",
        ),
    )


def _shown(item: slice) -> str:
    bounds = [
        "" if bound is None else str(bound) if isinstance(bound, int) else "..."
        for bound in (item.start, item.stop)
    ]
    return ":".join(bounds)


# --- how far apart bounds are ---


def _length(item: slice) -> int:
    terms = _terms(item.stop)
    terms.subtract(_terms(item.start))
    length: int = terms.pop(None, 0)
    if any(terms.values()):
        raise _unknown_length(item)
    return length


def _terms(bound: Any) -> Terms:
    """Return a bound as a sum: of an integer, and multiples of values that are not known."""
    if type(bound) is TracedNumber:
        if bound.kind is not int:
            raise IndexingError(f"{bound}: slices are made of integers and None")
        return _of_number(bound)
    if isinstance(bound, Tensor):
        if bound.node.shape != () or bound.node.dtype not in INTEGER:
            raise IndexingError(
                f"a {bound.dtype} tensor of shape {bound.shape}: slices are made of integers and None"
            )
        return _of_node(bound.node)
    return Counter({None: operator.index(bound)})


_SIGNS: Mapping[Any, tuple[int, ...]] = {
    operator.add: (1, 1),
    operator.sub: (1, -1),
    operator.neg: (-1,),
    operator.pos: (1,),
    "add": (1, 1),
    "subtract": (1, -1),
    "negative": (-1,),
    "positive": (1,),
}


def _of_number(number: Any) -> Terms:
    if type(number) is not TracedNumber:
        return Counter({None: number})
    arithmetic = number.arithmetic
    if number.position >= arithmetic.given:
        function, operands, _ = arithmetic.calls[number.position - arithmetic.given]
        if isinstance(function, partial) and function.func is fitting:
            return _of_number(operands[0])  # it is checked, and stays the same
        signs = _SIGNS.get(function)
        if signs is not None:
            return _sum(signs, map(_of_number, operands))
    return Counter({number.position: 1})


def _of_node(node: Node) -> Terms:
    if is_constant(node):
        return _of_number(node.attrs[0])
    inputs = node.inputs  # none, once it is computed
    signs = _SIGNS.get(node.op.name) if inputs else None
    if signs is not None:
        return _sum(signs, map(_of_node, inputs))
    # what is cast to another integer is the same one, where it has a meaning as a position
    if inputs and node.op.name == "cast" and inputs[0].dtype in INTEGER:
        return _of_node(inputs[0])
    return Counter({node: 1})


def _sum(signs: tuple[int, ...], operands: Any) -> Terms:
    total: Terms = Counter()
    for sign, terms in zip(signs, operands, strict=True):
        for value, times in terms.items():
            total[value] += sign * times
    return total


# --- where a window begins ---


def _first_at_each_call(item: slice, step: int, count: int, axis: int, size: int) -> TracedNumber:
    """Return the first position, which Python computes, and checks, before anything else of a call happens."""
    number = next(bound for bound in (item.start, item.stop) if type(bound) is TracedNumber)
    first = partial(_first, step=step, count=count, axis=axis, size=size)
    bounds = (item.start, item.stop)
    return number.arithmetic.call(first, *bounds, kind=int, place=number.place)


def _first(start: int, stop: int, *, step: int, count: int, axis: int, size: int) -> int:
    positions = range(*slice(start, stop, step).indices(size))
    if len(positions) == count:
        return positions.start if count else 0
    shown = f"{start}:{stop}" if step == 1 else f"{start}:{stop}:{step}"
    raise IndexingError(
        f"slice {shown} of axis {axis} with size {size} has {len(positions)} positions: it was recorded with {count}",
        suggestions=(
            f"a start from 0 to {size - count}"
            if step == 1 and count <= size
            else "a shorter slice",
        ),
    )


def _first_of_tensor(item: slice, length: int, size: int) -> Tensor:
    """Return the first position; one out of bounds where one bound counts from the end, and the other one does not."""
    site, start = recording_site(), item.start.node
    device = start.device
    dtype = default_on(device, int64)
    start = cast(start, dtype)

    def number(value: int) -> Node:
        return constant(value, dtype, device, site)

    stop = record_map(ADD, (start, number(length)), device, site)
    below = [record_map(LESS, (bound, number(0)), device, site) for bound in (start, stop)]
    agree = record_map(EQUAL, tuple(below), device, site)
    return Tensor(record_map(WHERE, (agree, start, number(size)), device, site))


def windowed(shape: Shape, windows: list[Window]) -> Shape:
    """Return the shape of what windows show of a tensor."""
    sizes = list(shape)
    for axis, positions in windows:
        (sizes[axis],) = positions.shape
    return tuple(sizes)
