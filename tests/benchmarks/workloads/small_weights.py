"""A matrix times a vector, as a step of a language model: in few bits it takes as long as reading fewer bytes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tests.benchmarks.goals import within
from tests.benchmarks.workload import Case, Run, Workload, Yardstick, by
from tests.benchmarks.workloads.elementwise import normal

SIZE = 4096
_SINGLE = "float32"


def inputs() -> tuple[Any, ...]:
    """A vector, a matrix in four dtypes, and the parts of it quantised to 8 and to 4 bits."""
    import tensorframe as tfr

    matrix = normal(SIZE, SIZE)
    parts = []
    for bits in (8, 4):
        q = tfr.quantization.quantize(tfr.asarray(matrix), bits=bits, group=32)
        parts += [q.words.numpy(), q.scales.numpy()]
    integers = np.rint(matrix * 30).astype(np.int8)
    halves = (matrix.astype(np.float16), matrix.astype(ml_dtypes.bfloat16))
    return (normal(SIZE, seed=1), matrix, *halves, integers, *parts)


def times_vector(number: int) -> Run:
    """Return the run of one of the matrices."""

    def run(_: Any, vector: Any, *matrices: Any) -> Any:
        return matrices[number] @ vector

    return run


def quantized(bits: int) -> Run:
    """Return the run of the matrix in so many bits."""

    def run(tensorframe: Any, vector: Any, *matrices: Any) -> Any:
        first = 4 if bits == 8 else 6
        words, scales = matrices[first : first + 2]
        return tensorframe.quantization.QuantizedTensor(words, scales, bits=bits, group=32) @ vector

    return run


def _case(title: str, run: Run, share: float) -> Case:
    beside = Yardstick(_SINGLE, "tensorframe", times_vector(0))
    return Case(
        f"{title}, {SIZE}x{SIZE}", by("tensorframe", run), (within(share, of=_SINGLE),), (beside,)
    )


SMALL_WEIGHTS = Workload(
    "W22",
    f"A matrix of {SIZE}x{SIZE} times a vector of float32, in float16, bfloat16, int8, and quantised to 8 and "
    "4 bits in groups of 32, beside the float32 one. No peer reads them as they are beside a float32 vector.",
    (
        _case("float16", times_vector(1), 0.55),
        _case("bfloat16", times_vector(2), 0.55),
        _case("int8", times_vector(3), 0.30),
        _case("8 bits", quantized(8), 0.30),
        _case("4 bits", quantized(4), 0.18),
    ),
    inputs,
    tolerance=1e-4,
)
