"""Attention: every query's average of values, plain and causal, and the memory that it takes of long sequences."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import Any

import numpy as np

from tests.benchmarks.fresh import peak_bytes
from tests.benchmarks.goals import at_most, no_slower
from tests.benchmarks.workload import Case, Run, Unit, Workload, by

HEADS, LENGTH, FEATURES = 12, 1024, 64
# whose scores are 1 GB
LONG, FEW_HEADS, SHORT = 8192, 4, 512
SCORES = 4 * FEW_HEADS * LONG**2
IN_AND_OUT = 2 * 4 * FEW_HEADS * LONG * FEATURES


def operands() -> tuple[Any, ...]:
    """Queries, keys and values."""
    generator = np.random.default_rng(0)
    shape = (1, HEADS, LENGTH, FEATURES)
    return tuple(generator.standard_normal(shape, dtype=np.float32) for _ in range(3))


def of_tensorframe(causal: bool) -> Run:
    """Return the run of ours."""
    return lambda tfr, q, k, v: tfr.nn.functional.scaled_dot_product_attention(
        q, k, v, is_causal=causal
    )


def of_torch(causal: bool) -> Run:
    """Return the run of PyTorch's, which chooses its flash kernel."""

    def run(torch: Any, q: Any, k: Any, v: Any) -> Any:
        with torch.inference_mode():
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    return run


def of_jax(causal: bool) -> Run:
    """Return the run of JAX's function, in which heads follow positions."""

    def run(_: Any, q: Any, k: Any, v: Any) -> Any:
        from jax.nn import dot_product_attention

        turned = [one.swapaxes(1, 2) for one in (q, k, v)]
        return dot_product_attention(*turned, is_causal=causal).swapaxes(1, 2)

    return run


def of_numpy(causal: bool) -> Run:
    """Return the run of the formula."""

    def run(_: Any, q: Any, k: Any, v: Any) -> Any:
        scores = q @ k.mT / np.float32(FEATURES**0.5)
        if causal:
            scores = np.where(np.tri(q.shape[-2], dtype=bool), scores, np.float32(-inf))
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return (weights / weights.sum(-1, keepdims=True)) @ v

    return run


def _case(title: str, causal: bool) -> Case:
    return Case(
        title,
        by("tensorframe, tfr.jit", of_tensorframe(causal))
        | by("torch", of_torch(causal))
        | by("JAX", of_jax(causal))
        | by("NumPy", of_numpy(causal)),
        (no_slower("torch"),),
    )


_MADE = f"""
import numpy
shape = (1, {FEW_HEADS}, {{length}}, {FEATURES})
q = numpy.random.default_rng(0).standard_normal(shape, dtype=numpy.float32)
"""
PROGRAMS = {
    "tensorframe": """
import tensorframe as tfr
q = tfr.asarray(q)
tfr.nn.functional.scaled_dot_product_attention(q, q, q).compute()
""",
    "torch": """
import torch
q = torch.from_numpy(q)
with torch.inference_mode():
    torch.nn.functional.scaled_dot_product_attention(q, q, q)
""",
    "JAX": """
from jax import jit
from jax.nn import dot_product_attention
q = q.swapaxes(1, 2)
jit(dot_product_attention)(q, q, q).block_until_ready()
""",
}


def memory_of_scores(program: str, _: Any) -> float:
    """Return what attention took: the peak, less that of sequences that are sixteen times shorter.

    Where what was loaded took more for a moment, that hides some of it; operand and result are there in any case.
    """
    started, took = [peak_bytes(_MADE.format(length=length) + program) for length in (SHORT, LONG)]
    return max(took - started, IN_AND_OUT)


ATTENTION = Workload(
    "W21",
    f"Attention of {HEADS} heads over {LENGTH} positions of {FEATURES} float32, plain and causal; and its peak memory "
    f"in a fresh process over {LONG} positions of {FEW_HEADS} heads, less that over {SHORT}: the scores would be "
    f"{SCORES / 1e9:.2g} GB.",
    (
        _case("attention, 12x1024x64", causal=False),
        _case("causal attention, 12x1024x64", causal=True),
        Case(
            "memory of attention, 4x8192x64",
            {name: partial(memory_of_scores, program) for name, program in PROGRAMS.items()},
            (at_most(0.05 * SCORES),),
            unit=Unit.BYTES,
            measures_itself=True,
            turns=1,
        ),
    ),
    operands,
)
