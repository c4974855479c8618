"""Checking gradients: central differences in float64, beside what every device gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tensorframe.backends.registry import resolve_device
from tensorframe.dtypes import COMPLEX, FLOATING, complex_of, float32, float64
from tensorframe.errors import GradientError
from tensorframe.frontend.operands import operand
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.transformations.arguments import parameter_name
from tensorframe.frontend.transformations.gradients import (
    checked_loss,
    grad,
    need_function,
    title_of,
)
from tensorframe.frontend.trees import Structure, build, flatten, names
from tensorframe.graph.device import Device
from tensorframe.graph.holding import holds

__all__ = ["check_gradient"]

Array = np.ndarray[Any, Any]

# half the digits of a float64 are left of a difference of two; of a device without float64, those of a float32
STEP, TOLERANCE, TOLERANCE_32 = 1e-6, 1e-6, 1e-3


def check_gradient(
    function: Callable[..., Any],
    *args: Any,
    devices: Iterable[Device | str] = ("cpu",),
    rtol: float = TOLERANCE,
    atol: float = 1e-8,
) -> None:
    """Compare the gradient of `function`, which gives one real number, with differences; GradientError if they differ.

    Arguments are tensors, numbers or trees of them, and are differentiated for where they are floating. Differences are
    central ones of float64 on the cpu; each of `devices` computes the gradient in float64, or, if it has none, in
    float32, to 1e-3.
    Two evaluations for each element: for small arguments, away from kinks.

    >>> tfr.check_gradient(lambda x: tfr.sum(tfr.sin(x) * x), tfr.asarray([0.5, 1.0]))
    >>> tfr.check_gradient(lambda x: tfr.stop_gradient(x) * x, 2.0)
    Traceback (most recent call last):
        ...
    tensorframe.errors.GradientError: <lambda>: the gradient for x on cpu is 2, and by differences 4
      recorded at ...
    """
    need_function("check_gradient", function)
    title = title_of(function)
    leaves: list[Any] = []
    structures = [flatten(argument, leaves) for argument in args]
    labels = [
        label
        for index, structure in enumerate(structures)
        for label in names(structure, parameter_name(function, index))
    ]
    arrays = [_wide(operand(leaf)) for leaf in leaves]
    places = [index for index, array in enumerate(arrays) if array.dtype in FLOATING]

    def of_leaves(*values: Any) -> Any:
        return function(*_built(structures, values))

    for device in devices:
        given = [operand(array, device="cpu") for array in arrays]
        own = [_on(tensor, device) for tensor in given]
        gradients = grad(of_leaves, places)(*own)
        exact = all(tensor.dtype == wide.dtype for tensor, wide in zip(own, given, strict=True))
        for index, gradient in zip(places, gradients, strict=True):
            wanted = _differences(title, of_leaves, arrays, index)
            limits = (rtol if exact else max(rtol, TOLERANCE_32), atol if exact else 1e-4)
            _compare(f"{title}: the gradient for {labels[index]}", gradient, wanted, device, limits)


def _wide(tensor: Tensor) -> Array:
    if tensor.dtype not in FLOATING:
        return tensor.numpy().copy()
    return tensor.astype(complex_of(float64) if tensor.dtype in COMPLEX else float64).numpy().copy()


def _on(tensor: Tensor, device: Device | str) -> Tensor:
    home = resolve_device(device)
    if tensor.dtype not in FLOATING or holds(home, tensor.dtype):
        return tensor.to_device(home)
    narrow = complex_of(float32) if tensor.dtype in COMPLEX else float32
    return tensor.astype(narrow).to_device(home)


def _built(structures: Iterable[Structure], values: Iterable[Any]) -> list[Any]:
    rest = iter(values)
    return [build(structure, rest) for structure in structures]


def _differences(
    title: str, function: Callable[..., Any], arrays: list[Array], index: int
) -> Array:
    """Return the gradient by central differences: of complex elements, along both of their parts."""
    gradient = np.zeros_like(arrays[index])
    directions = (1, 1j) if arrays[index].dtype.kind == "c" else (1,)

    def value(place: tuple[int, ...], moved: complex) -> float:
        given = [array.copy() for array in arrays]
        given[index][place] += moved
        loss = checked_loss(title, function(*[operand(array, device="cpu") for array in given]))
        return float(loss)

    for place in np.ndindex(gradient.shape):
        for direction in directions:
            step = STEP * max(1.0, float(abs(arrays[index][place]))) * direction
            slope = (value(place, step) - value(place, -step)) / (2 * abs(step))
            gradient[place] += direction * slope
    return gradient


def _compare(
    what: str,
    gradient: Tensor,
    wanted: Array,
    device: Device | str,
    limits: tuple[float, float],
) -> None:
    got = gradient.numpy()
    rtol, atol = limits
    close = np.isclose(got, wanted, rtol=rtol, atol=atol, equal_nan=True)
    if close.all():
        return
    place = tuple(map(int, np.argwhere(~close)[0]))
    where = "".join(["[", ", ".join(map(str, place)), "]"]) if place else ""
    raise GradientError(
        f"{what}{where} on {device} is {got[place]:.9g}, and by differences {wanted[place]:.9g}",
        suggestions=(
            "points away from kinks and ties, where differences see both sides",
            "tfr.custom_gradient: its rule, if the function has one",
        ),
    )
