"""Workloads along rows: softmax, sums, variances, layer norm."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.benchmarks.goals import faster, no_slower
from tests.benchmarks.workload import Case, Loop, Run, Workload, by, by_hand
from tests.benchmarks.workloads.elementwise import normal

AXES = (None, 0, 1)


def matrix() -> tuple[Any, ...]:
    """A matrix of 16 MiB."""
    return (normal(4096, 1024),)


def softmax(xp: Any, x: Any) -> Any:
    """Written out, as NumPy has none."""
    exponentials = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return exponentials / xp.sum(exponentials, axis=-1, keepdims=True)


def softmax_of_jax(_: Any, x: Any) -> Any:
    """JAX keeps it with the neural networks."""
    from jax.nn import softmax

    return softmax(x, -1)


def softmax_of_pytensor(tensor: Any, x: Any) -> Any:
    """PyTensor keeps it with the special functions."""
    return tensor.special.softmax(x, -1)


SOFTMAX = Workload(
    "W2",
    "Softmax of 4096x1024 float32 along the last axis: three passes over a row.",
    (
        Case(
            "softmax, 4096x1024",
            by("tensorframe, torch, torch.compile, tinygrad", lambda xp, x: xp.softmax(x, -1))
            | by("NumPy, Dask", softmax)
            | by("JAX", softmax_of_jax)
            | by("PyTensor", softmax_of_pytensor)
            | by_hand("softmax"),
            (faster(1.2),),
        ),
    ),
    matrix,
)


def _named(axis: int | None) -> str:
    return "all" if axis is None else f"axis {axis}"


def sum_along(axis: int | None) -> Run:
    """Return the sum over an axis, or over all."""
    return lambda xp, x: xp.sum(x, axis)


def by_hand_along(functions: str, axis: int | None) -> dict[str, Run | Loop]:
    """Return the run of the function for an axis."""
    return {"Numba": lambda numba, x: getattr(numba, functions)[axis](x)}


EVERYBODY = "tensorframe, NumPy, torch, torch.compile, JAX, Dask, tinygrad, PyTensor"
SUMS = Workload(
    "W3",
    "Sum of 4096x1024 float32 over all elements, columns, rows: memory bandwidth.",
    tuple(
        Case(
            f"sum, {_named(axis)}",
            by(EVERYBODY, sum_along(axis)) | by_hand_along("SUMS", axis),
            (no_slower(),),
        )
        for axis in AXES
    ),
    matrix,
    tolerance=1e-4,  # the sum of all is small beside the elements that cancel
)


def variance_along(axis: int | None) -> Run:
    """Return the variance over an axis, or over all."""
    return lambda xp, x: xp.var(x, axis)


def population_variance_along(axis: int | None) -> Run:
    """Return the same of those who divide by one less unless told."""
    return lambda xp, x: xp.var(x, axis, correction=0)


VARIANCES = Workload(
    "W4",
    "Variance of 4096x1024 float32 along each axis and over all: two passes.",
    tuple(
        Case(
            f"variance, {_named(axis)}",
            by("tensorframe, NumPy, JAX, Dask, PyTensor", variance_along(axis))
            | by("torch, torch.compile, tinygrad", population_variance_along(axis))
            | by_hand_along("VARIANCES", axis),
            (faster(2.0),),
        )
        for axis in AXES
    ),
    matrix,
)


def layer_norm(xp: Any, x: Any, scale: Any, shift: Any, epsilon: Any = 1e-5) -> Any:
    """Ba, Kiros and Hinton 2016, arXiv:1607.06450."""
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean(centred * centred, axis=-1, keepdims=True)
    return centred / xp.sqrt(variance + epsilon) * scale + shift


def layer_norm_of_torch(torch: Any, x: Any, scale: Any, shift: Any) -> Any:
    """PyTorch's own kernel."""
    return torch.nn.functional.layer_norm(x, scale.shape, scale, shift)


def layer_norm_of_pytensor(tensor: Any, x: Any, scale: Any, shift: Any) -> Any:
    """PyTensor takes a number of Python's for a float64."""
    return layer_norm(tensor, x, scale, shift, np.float32(1e-5))


def layer_norm_of_tinygrad(_: Any, x: Any, scale: Any, shift: Any) -> Any:
    """tinygrad's own, without scale and shift."""
    return x.layernorm(axis=-1) * scale + shift


LAYER_NORM = Workload(
    "W5",
    "Layer norm of 4096x1024 float32 with scale and shift: reductions between elementwise ops.",
    (
        Case(
            "layer norm, 4096x1024",
            by("tensorframe, NumPy, JAX, Dask", layer_norm)
            | by("PyTensor", layer_norm_of_pytensor)
            | by("torch, torch.compile", layer_norm_of_torch)
            | by("tinygrad", layer_norm_of_tinygrad)
            | by_hand("layer_norm"),
            (faster(2.0),),
        ),
    ),
    lambda: (normal(4096, 1024), normal(1024, seed=1), normal(1024, seed=2)),
)
