"""A dense layer: a matrix product, and what is done to its result."""

from __future__ import annotations

from typing import Any

from tests.benchmarks.workload import Case, Workload, by
from tests.benchmarks.workloads.elementwise import normal


def product(_: Any, x: Any, weight: Any, _bias: Any) -> Any:
    """The product alone."""
    return x @ weight


def dense_with_scipy(_: Any, x: Any, weight: Any, bias: Any) -> Any:
    """Bias and gelu written out, as NumPy has neither gelu nor erf."""
    from scipy.special import erf

    y = x @ weight + bias
    return y * 0.5 * (1 + erf(y * 0.5**0.5))


def dense(tensorframe: Any, x: Any, weight: Any, bias: Any) -> Any:
    """Bias and gelu by name."""
    return tensorframe.gelu(x @ weight + bias)


def dense_of_torch(torch: Any, x: Any, weight: Any, bias: Any) -> Any:
    """The bias inside the product."""
    return torch.nn.functional.gelu(torch.addmm(bias, x, weight))


DENSE = Workload(
    "W8",
    "Product of two 2048x2048 float32 matrices, alone and with bias and gelu.",
    (
        Case("product, 2048x2048", by("tensorframe, NumPy, torch", product)),
        Case(
            "product, bias, gelu",
            by("tensorframe", dense) | by("NumPy", dense_with_scipy) | by("torch", dense_of_torch),
        ),
    ),
    lambda: (normal(2048, 2048), normal(2048, 2048, seed=1), normal(2048, seed=2)),
)
