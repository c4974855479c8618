"""A dense layer: a matrix product, and what is done to its result."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.benchmarks.goals import within
from tests.benchmarks.workload import Case, Workload, Yardstick, by, by_hand
from tests.benchmarks.workloads.elementwise import normal

ALONE = "the product alone"


def product(_: Any, x: Any, weight: Any, _bias: Any) -> Any:
    """The product alone."""
    return x @ weight


def dense(tensorframe: Any, x: Any, weight: Any, bias: Any) -> Any:
    """Bias and gelu by name."""
    return tensorframe.gelu(x @ weight + bias)


def gelu(erf: Any, y: Any) -> Any:
    """Hendrycks and Gimpel 2016, arXiv:1606.08415, for those who do not have it."""
    half = np.float32(0.5)
    return y * half * (1 + erf(y * np.sqrt(half)))


def dense_of_numpy(_: Any, x: Any, weight: Any, bias: Any) -> Any:
    """NumPy has no erf."""
    from scipy.special import erf

    return gelu(erf, x @ weight + bias)


def dense_of_dask(dask: Any, x: Any, weight: Any, bias: Any) -> Any:
    """NumPy's, on each piece."""
    from scipy.special import erf

    return dask.map_blocks(lambda y: gelu(erf, y), x @ weight + bias, dtype=x.dtype)


def dense_of_torch(torch: Any, x: Any, weight: Any, bias: Any) -> Any:
    """The bias inside the product."""
    return torch.nn.functional.gelu(torch.addmm(bias, x, weight))


def dense_of_jax(_: Any, x: Any, weight: Any, bias: Any) -> Any:
    """JAX approximates gelu unless told."""
    from jax.nn import gelu as gelu_of_jax

    return gelu_of_jax(x @ weight + bias, approximate=False)


def dense_of_pytensor(tensor: Any, x: Any, weight: Any, bias: Any) -> Any:
    """PyTensor leaves gelu to other packages."""
    return gelu(tensor.erf, x @ weight + bias)


DENSE = Workload(
    "W8",
    "Product of two 2048x2048 float32 matrices, alone and with bias and gelu. tinygrad, which has no BLAS, takes "
    "dozens of times as long and is left out.",
    (
        Case(
            "product, 2048x2048",
            by(
                "tensorframe, NumPy, torch, torch.compile, JAX, Dask, PyTensor",
                product,
            )
            | by_hand("product"),
        ),
        Case(
            "product, bias, gelu",
            by("tensorframe", dense)
            | by("NumPy", dense_of_numpy)
            | by("Dask", dense_of_dask)
            | by("torch, torch.compile", dense_of_torch)
            | by("JAX", dense_of_jax)
            | by("PyTensor", dense_of_pytensor)
            | by_hand("dense"),
            (within(1.03, of=ALONE),),
            (Yardstick(ALONE, "tensorframe", product),),
        ),
    ),
    lambda: (normal(2048, 2048), normal(2048, 2048, seed=1), normal(2048, seed=2)),
)
