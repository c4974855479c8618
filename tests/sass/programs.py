"""Programs whose kernels are looked at: one for each form that kernels of work-groups take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

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

    expression: Callable[..., tfr.Tensor | tuple[tfr.Tensor, ...]]
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


def _batch_norm(x: tfr.Tensor) -> tfr.Tensor:
    mean = tfr.mean(x, axis=(0, 2, 3), keepdims=True)
    return (x - mean) / tfr.sqrt(tfr.var(x, axis=(0, 2, 3), keepdims=True) + 1e-5)


def _rms_norm(x: tfr.Tensor) -> tfr.Tensor:
    return x / tfr.sqrt(tfr.mean(x * x, axis=1, keepdims=True) + 1e-5)


def _gradient_of_layer_norm(x: tfr.Tensor) -> tfr.Tensor:
    result: tfr.Tensor = tfr.grad(lambda x: tfr.sum(_layer_norm(x) ** 2))(x)
    return result


def _attention(
    q: tfr.Tensor, k: tfr.Tensor, v: tfr.Tensor, *, is_causal: bool = False
) -> tfr.Tensor:
    return tfr.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)


def _times_vector(a: tfr.Tensor, b: tfr.Tensor) -> tfr.Tensor:
    return a @ b[0]


def _times_quantized(words: tfr.Tensor, scales: tfr.Tensor, x: tfr.Tensor) -> tfr.Tensor:
    matrix = tfr.quantization.QuantizedTensor(words[:, :128], scales[:, :32], bits=4, group=32)
    return matrix @ x[0]


def _convolution(x: tfr.Tensor, weight: tfr.Tensor) -> tfr.Tensor:
    return tfr.nn.functional.conv2d(x, weight[:, :, :3, :3], padding=1)


TWO = ("float32", "float32")
LONG = (512, 8192)  # rows for all threads of a group each
# Of rows that are read once; the chunks that they are added up in meet two barriers each.
LONGEST = (512, 16384)
VERY_LONG = (64, 65536)  # of which groups hold chunks
WIDEST = (16, 1 << 18)
FEW_COLUMNS, LONG_COLUMNS = (65536, 64), (1 << 19, 32)
SQUARE, DECODED = (512, 512), (4096, 4096)
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
    "sum of long columns": Program(lambda a: tfr.sum(a, axis=0), shape=LONG_COLUMNS),
    "variance of columns": Program(lambda a: tfr.var(a, axis=0)),
    "variance of few columns": Program(lambda a: tfr.var(a, axis=0), shape=FEW_COLUMNS),
    "columns less their means": Program(lambda a: a - tfr.mean(a, axis=0), shape=FEW_COLUMNS),
    "softmax of columns": Program(lambda a: tfr.softmax(a, axis=0)),
    "batch norm": Program(_batch_norm, shape=(64, 64, 28, 28), barriers=6),
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
    "matmul, transposed": Program(lambda a, b: a.mT @ b.mT, TWO, shape=(512, 512)),
    "matmul, float64": Program(lambda a, b: a @ b, ("float64",) * 2, shape=(512, 512)),
    "sort of rows": Program(lambda a: tfr.sort(a, axis=1)),
    "cholesky": Program(tfr.linalg.cholesky, shape=BLOCKS),
    "cholesky of small matrices": Program(tfr.linalg.cholesky, shape=SMALL),
    # for each column two reductions, and threads that wait for others' rows
    "solve": Program(tfr.linalg.solve, TWO, shape=BLOCKS, barriers=8),
    "solve of small matrices": Program(tfr.linalg.solve, TWO, shape=SMALL, barriers=8),
    "qr": Program(lambda a: tfr.linalg.qr(a).Q, shape=BLOCKS, barriers=8),
    "sum of very long rows": Program(lambda a: tfr.sum(a, axis=1), rows=True, shape=VERY_LONG),
    "softmax of very long rows": Program(
        lambda a: tfr.softmax(a, axis=1), rows=True, once=True, shape=VERY_LONG, barriers=6
    ),
    "layer norm of very long rows": Program(
        _layer_norm, rows=True, once=True, shape=VERY_LONG, barriers=6
    ),
    "log of sums of exponentials of the widest rows": Program(
        lambda a: tfr.logsumexp(a, axis=1), rows=True, once=True, shape=WIDEST, barriers=6
    ),
    "softmax of the widest rows": Program(
        lambda a: tfr.softmax(a, axis=1), rows=True, once=True, shape=WIDEST, barriers=6
    ),
    "gradient of a layer norm": Program(_gradient_of_layer_norm),
    "attention": Program(_attention, (*TWO, "float32"), shape=(1, 8, 256, 64)),
    "causal attention, float16": Program(
        partial(_attention, is_causal=True), ("float16",) * 3, shape=(1, 8, 256, 64)
    ),
    "matmul, bfloat16": Program(lambda a, b: a @ b, ("bfloat16",) * 2, shape=(1024, 1024)),
    "matmul, bfloat16, few results": Program(lambda a, b: a @ b, ("bfloat16",) * 2, shape=SQUARE),
    "matmul, float16, transposed": Program(lambda a, b: a.mT @ b, ("float16",) * 2, shape=SQUARE),
    "matmul, int8": Program(lambda a, b: a @ b, ("int8",) * 2, shape=SQUARE),
    "matrix times vector": Program(_times_vector, TWO, rows=True, shape=DECODED),
    "float16 matrix times vector": Program(_times_vector, ("float16", "float32"), shape=DECODED),
    "int8 matrix times vector": Program(_times_vector, ("int8", "float32"), shape=DECODED),
    "matrix of 4 bits times vector": Program(_times_quantized, ("uint32", *TWO), shape=(64, 1024)),
    "convolution": Program(_convolution, TWO, shape=(64, 64, 28, 28)),
    "median": Program(tfr.median, shape=VERY_LONG),
    "medians of rows": Program(lambda a: tfr.median(a, axis=1), shape=(512, 8191)),
    "partition of rows": Program(lambda a: tfr.partition(a, 300, axis=1)),
    "largest eight": Program(lambda a: tfr.topk(a, 8), shape=VERY_LONG),
    "fft": Program(tfr.fft.fft, ("complex64",), shape=(256, 1024), barriers=8),
    "fft of long rows": Program(tfr.fft.fft, ("complex64",), shape=(16, 65536), barriers=8),
    "fft of a prime length": Program(tfr.fft.fft, ("complex64",), shape=(64, 1031), barriers=8),
    "fft of real rows": Program(tfr.fft.rfft, shape=(256, 1000), barriers=8),
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
        result = program.expression(*operands)
        tfr.compute(*(result if isinstance(result, tuple) else (result,)))
    return {kernel: text for kernel, text in texts.items() if kernel not in before}
