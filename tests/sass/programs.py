"""Programs whose kernels are looked at: one for each form that kernels of work-groups take."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

import tensorframe as tfr
from tests.backends.host_gpu import recorded
from tests.sass.networks import NETWORKS, layer_norm
from tests.sass.program import INDEXED, TWO, Program


def _w1(a: tfr.Tensor, b: tfr.Tensor) -> tfr.Tensor:
    return tfr.exp(-a * a) * tfr.sin(b) + a / (1 + b * b)


def _times_vector(a: tfr.Tensor, b: tfr.Tensor) -> tfr.Tensor:
    return a @ b[0]


def _scattered(values: tfr.Tensor, rows: tfr.Tensor) -> tfr.Tensor:
    return tfr.index_add(tfr.zeros((4096, 1024), device="cuda"), rows[:, 0], values)


def _drawn(a: tfr.Tensor) -> tfr.Tensor:
    return a + tfr.random.normal(shape=a.shape, device="cuda")


def _rms_norm(x: tfr.Tensor) -> tfr.Tensor:
    return x / tfr.sqrt(tfr.mean(x * x, axis=1, keepdims=True) + 1e-5)


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
    "multiply, complex64": Program(lambda a, b: a * b, ("complex64",) * 2),
    "where": Program(lambda a, b: tfr.where(a < b, a, b), TWO, contiguous=True),
    "integers of 64 bits": Program(lambda a: a * 3 + 1, ("int64",)),
    "uint8 to float32": Program(lambda a: a.astype("float32") / 255, ("uint8",)),
    "normal numbers": Program(_drawn),
    "concat": Program(lambda a, b: tfr.concat([a, b], axis=1), TWO),
    "differences": Program(lambda a: a[:, 1:] - a[:, :-1]),
    "sum": Program(tfr.sum, rows=True),
    "sum of rows": Program(lambda a: tfr.sum(a, axis=1), rows=True),
    "sum of long rows": Program(lambda a: tfr.sum(a, axis=1), rows=True, shape=LONG),
    "sum of columns": Program(lambda a: tfr.sum(a, axis=0), columns=True),
    "sum of long columns": Program(lambda a: tfr.sum(a, axis=0), shape=LONG_COLUMNS, columns=True),
    "variance of columns": Program(lambda a: tfr.var(a, axis=0), columns=True),
    "variance of few columns": Program(
        lambda a: tfr.var(a, axis=0), shape=FEW_COLUMNS, columns=True
    ),
    "columns less their means": Program(
        lambda a: a - tfr.mean(a, axis=0), shape=FEW_COLUMNS, columns=True
    ),
    "softmax of columns": Program(lambda a: tfr.softmax(a, axis=0), columns=True),
    "layer norm of columns": Program(partial(layer_norm, axis=0), columns=True),
    "layer norm of few columns": Program(
        partial(layer_norm, axis=0), shape=FEW_COLUMNS, columns=True
    ),
    "log of sums of exponentials of columns": Program(
        lambda a: tfr.logsumexp(a, axis=0), columns=True
    ),
    "argmax of columns": Program(lambda a: tfr.argmax(a, axis=0)),
    "sum of short rows": Program(lambda a: tfr.sum(a, axis=1), shape=(65536, 48)),
    "sum of rows, float16": Program(lambda a: tfr.sum(a, axis=1), ("float16",)),
    "softmax of rows, float16": Program(lambda a: tfr.softmax(a, axis=1), ("float16",)),
    "layer norm of rows, bfloat16": Program(layer_norm, ("bfloat16",)),
    "variance of long rows": Program(
        lambda a: tfr.var(a, axis=1), rows=True, once=True, shape=LONG
    ),
    "log of sums of exponentials of long rows": Program(
        lambda a: tfr.logsumexp(a, axis=1), rows=True, once=True, shape=LONG
    ),
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
    "layer norm of rows": Program(layer_norm, rows=True, once=True),
    "layer norm of long rows": Program(layer_norm, rows=True, once=True, shape=LONG),
    "softmax of the longest rows": Program(
        lambda a: tfr.softmax(a, axis=1),
        rows=True,
        once=True,
        shape=LONGEST,
        barriers=6,
        share=0.5,
    ),
    "layer norm of the longest rows": Program(
        layer_norm, rows=True, once=True, shape=LONGEST, barriers=8, share=0.5
    ),
    "cumulative sum of rows": Program(lambda a: tfr.cumulative_sum(a, axis=1)),
    "cumulative sum of long rows": Program(
        lambda a: tfr.cumulative_sum(a, axis=1), shape=VERY_LONG
    ),
    "cumulative sum of columns": Program(lambda a: tfr.cumulative_sum(a, axis=0)),
    "take rows": Program(lambda a, i: tfr.take(a, i[:, 0], axis=0), INDEXED),
    "take elements": Program(lambda a, i: tfr.take(tfr.reshape(a, (-1,)), i), INDEXED),
    "take along rows": Program(lambda a, i: tfr.take_along_axis(a, i, axis=1), INDEXED),
    "add to rows": Program(_scattered, INDEXED),  # sorts rows and places as one
    "search in a row": Program(lambda a, b: tfr.searchsorted(a[0], b), TWO),
    "elements above zero": Program(lambda a: a[a > 0]),
    "matmul": Program(lambda a, b: a @ b, TWO, shape=(512, 512)),
    "matmul, transposed": Program(lambda a, b: a.mT @ b.mT, TWO, shape=(512, 512)),
    "matmul, float64": Program(lambda a, b: a @ b, ("float64",) * 2, shape=(512, 512)),
    "sort of rows": Program(lambda a: tfr.sort(a, axis=1)),
    "sort of very long rows": Program(lambda a: tfr.sort(a, axis=1), shape=VERY_LONG),
    "sort of very long rows, int64": Program(
        lambda a: tfr.sort(a, axis=1), ("int64",), shape=VERY_LONG
    ),
    "order of rows": Program(lambda a: tfr.argsort(a, axis=1)),
    "cholesky": Program(tfr.linalg.cholesky, shape=BLOCKS),
    "cholesky of small matrices": Program(tfr.linalg.cholesky, shape=SMALL),
    # for each column two reductions, and threads that wait for others' rows
    "solve": Program(tfr.linalg.solve, TWO, shape=BLOCKS, barriers=8),
    "solve of small matrices": Program(tfr.linalg.solve, TWO, shape=SMALL, barriers=8),
    "qr": Program(lambda a: tfr.linalg.qr(a).Q, shape=BLOCKS, barriers=8),
    "qr of small matrices": Program(lambda a: tfr.linalg.qr(a).Q, shape=SMALL, barriers=8),
    "inverse": Program(tfr.linalg.inv, shape=BLOCKS, barriers=8),
    "cholesky, float64": Program(tfr.linalg.cholesky, ("float64",), shape=BLOCKS),
    "sum of very long rows": Program(lambda a: tfr.sum(a, axis=1), rows=True, shape=VERY_LONG),
    "softmax of very long rows": Program(
        lambda a: tfr.softmax(a, axis=1), rows=True, once=True, shape=VERY_LONG, barriers=6
    ),
    "layer norm of very long rows": Program(
        layer_norm, rows=True, once=True, shape=VERY_LONG, barriers=6
    ),
    "log of sums of exponentials of the widest rows": Program(
        lambda a: tfr.logsumexp(a, axis=1), rows=True, once=True, shape=WIDEST, barriers=6
    ),
    "softmax of the widest rows": Program(
        lambda a: tfr.softmax(a, axis=1), rows=True, once=True, shape=WIDEST, barriers=6
    ),
    "matmul, bfloat16": Program(lambda a, b: a @ b, ("bfloat16",) * 2, shape=(1024, 1024)),
    "matmul, bfloat16, few results": Program(lambda a, b: a @ b, ("bfloat16",) * 2, shape=SQUARE),
    "matmul, float16, transposed": Program(lambda a, b: a.mT @ b, ("float16",) * 2, shape=SQUARE),
    "matmul, int8": Program(lambda a, b: a @ b, ("int8",) * 2, shape=SQUARE),
    "matrix times vector": Program(_times_vector, TWO, rows=True, shape=DECODED),
    "float16 matrix times vector": Program(_times_vector, ("float16", "float32"), shape=DECODED),
    "bfloat16 matrix times vector": Program(_times_vector, ("bfloat16", "float32"), shape=DECODED),
    "int8 matrix times vector": Program(_times_vector, ("int8", "float32"), shape=DECODED),
    "matmul of stacks": Program(lambda a, b: a @ b, TWO, shape=(64, 128, 128)),
    "median": Program(tfr.median, shape=VERY_LONG),
    "medians of rows": Program(lambda a: tfr.median(a, axis=1), shape=(512, 8191)),
    "partition of rows": Program(lambda a: tfr.partition(a, 300, axis=1)),
    "largest eight": Program(lambda a: tfr.topk(a, 8), shape=VERY_LONG),
    "fft": Program(tfr.fft.fft, ("complex64",), shape=(256, 1024), barriers=8),
    "fft of long rows": Program(tfr.fft.fft, ("complex64",), shape=(16, 65536), barriers=8),
    "fft of a prime length": Program(tfr.fft.fft, ("complex64",), shape=(64, 1031), barriers=8),
    "fft of real rows": Program(tfr.fft.rfft, shape=(256, 1000), barriers=8),
    "inverse fft to real rows": Program(
        tfr.fft.irfft, ("complex64",), shape=(256, 501), barriers=8
    ),
    "fft of two axes": Program(tfr.fft.fftn, ("complex64",), shape=(256, 256), barriers=8),
    "fft, complex128": Program(tfr.fft.fft, ("complex128",), shape=(256, 1024), barriers=8),
} | NETWORKS


@cache
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
