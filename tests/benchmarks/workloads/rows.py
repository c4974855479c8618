"""Workloads along rows: softmax, sums, variances, layer norm."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.workload import Case, Run, Workload, by
from tests.benchmarks.workloads.elementwise import normal

AXES = (None, 0, 1)


def matrix() -> tuple[Any, ...]:
    """A matrix of 16 MiB."""
    return (normal(4096, 1024),)


def softmax(np: Any, x: Any) -> Any:
    """Written out, as NumPy has none."""
    exponentials = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return exponentials / np.sum(exponentials, axis=-1, keepdims=True)


SOFTMAX = Workload(
    "W2",
    "Softmax of 4096x1024 float32 along the last axis: three passes over a row.",
    (
        Case(
            "softmax, 4096x1024",
            by("tensorframe, torch", lambda xp, x: xp.softmax(x, -1)) | by("NumPy", softmax),
        ),
    ),
    matrix,
)


def _named(axis: int | None) -> str:
    return "all" if axis is None else f"axis {axis}"


def sum_along(axis: int | None) -> Run:
    """Return the sum over an axis, or over all."""
    return lambda xp, x: xp.sum(x, axis)


SUMS = Workload(
    "W3",
    "Sum of 4096x1024 float32 over all elements, columns, rows: memory bandwidth.",
    tuple(
        Case(f"sum, {_named(axis)}", by("tensorframe, NumPy, torch", sum_along(axis)))
        for axis in AXES
    ),
    matrix,
    tolerance=1e-4,  # the sum of all is small beside the elements that cancel
)


def variance_along(axis: int | None) -> Run:
    """Return the variance over an axis, or over all."""
    return lambda xp, x: xp.var(x, axis)


def population_variance_along(axis: int | None) -> Run:
    """Return the same as PyTorch has it, which divides by one less unless told."""
    return lambda torch, x: torch.var(x, axis, correction=0)


VARIANCES = Workload(
    "W4",
    "Variance of 4096x1024 float32 along each axis and over all: two passes.",
    tuple(
        Case(
            f"variance, {_named(axis)}",
            by("tensorframe, NumPy", variance_along(axis))
            | by("torch", population_variance_along(axis)),
        )
        for axis in AXES
    ),
    matrix,
)


def layer_norm(xp: Any, x: Any, scale: Any, shift: Any) -> Any:
    """Ba, Kiros and Hinton 2016, arXiv:1607.06450."""
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean(centred * centred, axis=-1, keepdims=True)
    return centred / xp.sqrt(variance + 1e-5) * scale + shift


def layer_norm_of_torch(torch: Any, x: Any, scale: Any, shift: Any) -> Any:
    """PyTorch's own kernel."""
    return torch.nn.functional.layer_norm(x, scale.shape, scale, shift)


LAYER_NORM = Workload(
    "W5",
    "Layer norm of 4096x1024 float32 with scale and shift: reductions between elementwise ops.",
    (
        Case(
            "layer norm, 4096x1024",
            by("tensorframe, NumPy", layer_norm) | by("torch", layer_norm_of_torch),
        ),
    ),
    lambda: (normal(4096, 1024), normal(1024, seed=1), normal(1024, seed=2)),
)
