"""Programs whose kernels are looked at: one for each form that kernels of work-groups take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import tensorframe as tfr
from tests.backends.host_gpu import recorded

ROWS, LENGTH = 4096, 1024


@dataclass(frozen=True)
class Program:
    """An expression of matrices of `dtypes`; `contiguous` says that it does nothing but read and write side by side.

    `rows` says that it takes in rows of float32, whose sums are mostly of float32, and `once` that several passes need
    them; `share` is what it is to use of the bandwidth at least. Each kernel has at most so many `barriers`.
    """

    expression: Callable[..., tfr.Tensor]
    dtypes: tuple[str, ...] = ("float32",)
    contiguous: bool = False
    rows: bool = False
    once: bool = False
    shape: tuple[int, ...] = (ROWS, LENGTH)
    barriers: int = 4
    share: float = 0.9


def _w1(a: tfr.Tensor, b: tfr.Tensor) -> tfr.Tensor:
    return tfr.exp(-a * a) * tfr.sin(b) + a / (1 + b * b)


def _layer_norm(x: tfr.Tensor) -> tfr.Tensor:
    centred = x - tfr.mean(x, axis=1, keepdims=True)
    return centred / tfr.sqrt(tfr.mean(centred * centred, axis=1, keepdims=True) + 1e-5)


def _rms_norm(x: tfr.Tensor) -> tfr.Tensor:
    return x / tfr.sqrt(tfr.mean(x * x, axis=1, keepdims=True) + 1e-5)


TWO = ("float32", "float32")
LONG = (512, 8192)  # rows for all threads of a group each
# Of rows that are read once; the chunks that they are added up in meet two barriers each.
LONGEST = (512, 16384)
SMALL, BLOCKS = (1000, 8, 8), (100, 100)  # matrices in one launch, and in several blocks of columns
PROGRAMS = {
    "add": Program(lambda a, b: a + b, TWO, contiguous=True),
    "scale": Program(lambda a: a * 2 + 1, contiguous=True),
    "exp(-a*a)*sin(b)+a/(1+b*b)": Program(_w1, TWO, contiguous=True),
    "add, float16": Program(lambda a, b: a + b, ("float16", "float16"), contiguous=True),
    "add, bfloat16": Program(lambda a, b: a + b, ("bfloat16", "bfloat16"), contiguous=True),
    "add, float64": Program(lambda a, b: a + b, ("float64", "float64"), contiguous=True),
    "float16 to float32": Program(lambda a: a.astype("float32") * 2, ("float16",), contiguous=True),
    "less": Program(lambda a, b: a < b, TWO),
    "add a row": Program(lambda a: a + a[0], contiguous=True),
    "transposed add": Program(lambda a: a.mT * 2 + 1, contiguous=True, shape=(2048, 2048)),
    "sum": Program(tfr.sum, rows=True),
    "sum of rows": Program(lambda a: tfr.sum(a, axis=1), rows=True),
    "sum of long rows": Program(lambda a: tfr.sum(a, axis=1), rows=True, shape=LONG),
    "sum of columns": Program(lambda a: tfr.sum(a, axis=0)),
    "maximum of rows": Program(lambda a: tfr.max(a, axis=1), rows=True),
    "argmax of rows": Program(lambda a: tfr.argmax(a, axis=1), rows=True, once=True),
    "variance of rows": Program(lambda a: tfr.var(a, axis=1), rows=True, once=True),
    "softmax of rows": Program(lambda a: tfr.softmax(a, axis=1), rows=True, once=True),
    "softmax of long rows": Program(
        lambda a: tfr.softmax(a, axis=1), rows=True, once=True, shape=LONG
    ),
    "log of sums of exponentials": Program(
        lambda a: tfr.logsumexp(a, axis=1), rows=True, once=True
    ),
    "attention's rows": Program(
        lambda a, b: tfr.softmax(a * 0.125 + b, axis=1), TWO, rows=True, once=True
    ),
    "rms norm of rows": Program(_rms_norm, rows=True, once=True, shape=(4096, 4096)),
    "layer norm of rows": Program(_layer_norm, rows=True, once=True),
    "layer norm of long rows": Program(_layer_norm, rows=True, once=True, shape=LONG),
    "softmax of the longest rows": Program(
        lambda a: tfr.softmax(a, axis=1),
        rows=True,
        once=True,
        shape=LONGEST,
        barriers=6,
        share=0.5,
    ),
    "layer norm of the longest rows": Program(
        _layer_norm, rows=True, once=True, shape=LONGEST, barriers=8, share=0.5
    ),
    "cumulative sum of rows": Program(lambda a: tfr.cumulative_sum(a, axis=1)),
    "take rows": Program(lambda a, i: tfr.take(a, i[:, 0], axis=0), ("float32", "int32")),
    "matmul": Program(lambda a, b: a @ b, TWO, shape=(512, 512)),
    "sort of rows": Program(lambda a: tfr.sort(a, axis=1)),
    "cholesky": Program(tfr.linalg.cholesky, shape=BLOCKS),
    "cholesky of small matrices": Program(tfr.linalg.cholesky, shape=SMALL),
    # for each column two reductions, and threads that wait for others' rows
    "solve": Program(tfr.linalg.solve, TWO, shape=BLOCKS, barriers=8),
    "solve of small matrices": Program(tfr.linalg.solve, TWO, shape=SMALL, barriers=8),
    "qr": Program(lambda a: tfr.linalg.qr(a).Q, shape=BLOCKS, barriers=8),
}


def kernels_of(name: str) -> dict[str, str]:
    """Return the texts of a program's kernels by name: `cuda` is there, and runs nothing."""
    program = PROGRAMS[name]
    with recorded() as texts, tfr.config.override(small_size=0, small_nodes=0):
        operands = [
            tfr.asarray(np.zeros(program.shape, np.float32), device="cuda").astype(dtype)
            for dtype in program.dtypes
        ]
        tfr.compute(*operands)
        before = set(texts)
        tfr.compute(program.expression(*operands))
    return {kernel: text for kernel, text in texts.items() if kernel not in before}
