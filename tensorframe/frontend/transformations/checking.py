"""Checking gradients: central differences in float64, beside what every device gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

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
    structures = [flatten(one, leaves) for one in args]
    labels = [
        label
        for at, structure in enumerate(structures)
        for label in names(structure, parameter_name(function, at))
    ]
    arrays = [_wide(operand(leaf)) for leaf in leaves]
    places = [at for at, array in enumerate(arrays) if array.dtype in FLOATING]

    def of_leaves(*values: Any) -> Any:
        return function(*_built(structures, values))

    for device in devices:
        given = [operand(array, device="cpu") for array in arrays]
        own = [_on(one, device) for one in given]
        found = grad(of_leaves, places)(*own)
        exact = all(one.dtype == wide.dtype for one, wide in zip(own, given, strict=True))
        for at, gradient in zip(places, found, strict=True):
            wanted = _differences(title, of_leaves, arrays, at)
            limits = (rtol if exact else max(rtol, TOLERANCE_32), atol if exact else 1e-4)
            _compare(f"{title}: the gradient for {labels[at]}", gradient, wanted, device, limits)


def _wide(tensor: Tensor) -> Array:
    if tensor.dtype not in FLOATING:
        return tensor.numpy().copy()
    return tensor.astype(complex_of(float64) if tensor.dtype in COMPLEX else float64).numpy().copy()


def _on(tensor: Tensor, device: Device | str) -> Tensor:
    moved = operand(tensor, device="cpu").to_device(device)
    if str(moved.device) == str(device) or tensor.dtype not in FLOATING:
        return moved
    narrow = complex_of(float32) if tensor.dtype in COMPLEX else float32
    return tensor.astype(narrow).to_device(device)


def _built(structures: Iterable[Structure], values: Iterable[Any]) -> list[Any]:
    rest = iter(values)
    return [build(one, rest) for one in structures]


def _differences(title: str, function: Callable[..., Any], arrays: list[Array], at: int) -> Array:
    """Return the gradient by central differences: of complex elements, along both of their parts."""
    found = np.zeros_like(arrays[at])
    directions = (1, 1j) if arrays[at].dtype.kind == "c" else (1,)

    def value(place: tuple[int, ...], moved: complex) -> float:
        given = [array.copy() for array in arrays]
        given[at][place] += moved
        loss = checked_loss(title, function(*[operand(one, device="cpu") for one in given]))
        return float(loss)

    for place in np.ndindex(found.shape):
        for direction in directions:
            step = STEP * max(1.0, float(abs(arrays[at][place]))) * direction
            slope = (value(place, step) - value(place, -step)) / (2 * abs(step))
            found[place] += direction * slope
    return found


def _compare(
    what: str,
    gradient: Tensor,
    wanted: Array,
    device: Device | str,
    limits: tuple[float, float],
) -> None:
    found = gradient.numpy()
    rtol, atol = limits
    close = np.isclose(found, wanted, rtol=rtol, atol=atol, equal_nan=True)
    if close.all():
        return
    place = tuple(map(int, np.argwhere(~close)[0]))
    where = "".join(["[", ", ".join(map(str, place)), "]"]) if place else ""
    raise GradientError(
        f"{what}{where} on {device} is {found[place]:.9g}, and by differences {wanted[place]:.9g}",
        suggestions=(
            "points away from kinks and ties, where differences see both sides",
            "tfr.custom_gradient: its rule, if the function has one",
        ),
    )
