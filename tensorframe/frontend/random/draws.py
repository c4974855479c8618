"""Distributions that NumPy's generators draw, recorded like any op, and drawn by the host when values are needed.

The numbers are those of NumPy's `Generator` on its Philox bit generator, under our key and counter: a function of these
alone, so they have the same bits on every device. Other releases of NumPy may draw other ones. They have no gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tensorframe.backends.numpy.draws import drawn as one_drawn
from tensorframe.backends.registry import resolve_device
from tensorframe.dtypes import as_dtype
from tensorframe.errors import ShapeError
from tensorframe.frontend.conversion.convert import OnDevice
from tensorframe.frontend.dispatch import handle_on
from tensorframe.frontend.operand_nodes import as_node, placed
from tensorframe.frontend.operands import converted, operand
from tensorframe.frontend.random.distributions import real_dtype
from tensorframe.frontend.random.keys import Many, Source, reserved
from tensorframe.frontend.random.words import halves
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import CPU
from tensorframe.graph.holding import default_on, require
from tensorframe.graph.record import record
from tensorframe.graph.shape import Shape, as_shape, broadcast
from tensorframe.ops.random import DRAW

Array = np.ndarray[Any, Any]

_FLOAT64 = as_dtype("float64")
_INT64 = as_dtype("int64")
_UINT64 = as_dtype("uint64")


def drawn(
    name: str,
    parameters: tuple[Any, ...],
    size: Any,
    *,
    dtype: Any,
    device: OnDevice,
    key: Source,
    counts: bool = False,
    row: Shape | None = None,
) -> Tensor:
    """Return what a distribution draws: numbers of the shape `size`, or that of the parameters; a `row` for each."""
    place = resolve_device(device)
    wanted = default_on(place, _INT64) if counts and dtype is None else dtype
    target = as_dtype(wanted) if counts else real_dtype(name, dtype)
    require(name, place, target)
    given = [converted(operand(value), _FLOAT64) for value in parameters]
    sizes = _sizes(name, size, given if row is None else [])
    shape = sizes if row is None else (*sizes, *row)
    number, counter = reserved(key, max(prod(shape), 1))
    exact = _INT64 if counts else _FLOAT64
    if isinstance(key, Many):
        values = as_node(_drawn_many(name, [tensor.numpy() for tensor in given], sizes, shape, key))
    else:
        inputs = (
            *halves(number, CPU),
            *halves(counter, CPU),
            *[placed(tensor.node, CPU) for tensor in given],
        )
        values = record(DRAW, inputs, name, sizes, shape, exact)
    return Tensor(placed(converted(handle_on(values), target).node, place))


def _drawn_many(
    name: str, parameters: Sequence[Array], sizes: Shape, shape: Shape, draws: Many
) -> Array:
    """Return the numbers of several draws, along a first axis."""
    return np.stack(
        [
            one_drawn(draws.key, int(counter), name, parameters, sizes).reshape(shape)
            for counter in draws.counters()
        ]
    )


def _sizes(name: str, size: Any, parameters: list[Tensor]) -> Shape:
    own = broadcast(name, *[tensor.shape for tensor in parameters]) if parameters else ()
    if size is None:
        return own
    sizes = as_shape(size)
    if broadcast(name, sizes, own) != sizes:
        raise ShapeError(f"{name}: parameters of shape {own} do not broadcast to shape {sizes}")
    return sizes


def vector_of(name: str, parameter: str, value: Any) -> Shape:
    """Return the shape of a parameter, which is a vector."""
    shape = operand(value).shape
    if len(shape) != 1:
        raise ShapeError(f"{name}: {parameter} is a vector, got shape {shape}")
    return shape
