"""Words: the numbers that a kernel of work-groups is passed, as 32-bit words that every dialect can take apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorframe.dtypes import FLOAT, DType, float32, float64
from tensorframe.kernel.ir import STOP, Kernel, Loop
from tensorframe.quick_dataclasses import dataclass

Array = np.ndarray[tuple[int, ...], np.dtype[np.uint32]]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number passed to a kernel, and the word that it begins with; 64-bit numbers have two, the lower one first."""

    name: str
    dtype: DType
    word: int

    @property
    def words(self) -> int:
        """How many words it has."""
        return 2 if self.dtype.itemsize == 8 else 1


def index_dtype(kernel: Kernel) -> DType:
    """Return the dtype of a kernel's positions."""
    loop = next(statement for statement in kernel.body if isinstance(statement, Loop))
    return loop.index.dtype


def origin(name: str) -> str:
    """Return the name of the position of an operand's first element in its buffer."""
    return f"{name}_origin"


def parameters(kernel: Kernel) -> tuple[Parameter, ...]:
    """Return what a kernel is passed: how often its loop runs, where operands begin, sizes, numbers by value."""
    index = index_dtype(kernel)
    wanted = [
        (STOP.name, index),
        *[(origin(buffer.name), index) for buffer in kernel.inputs],
        *[(size.name, size.dtype) for size in kernel.sizes],
        *[(scalar.name, scalar.dtype) for scalar in kernel.scalars],
    ]
    parameters: list[Parameter] = []
    for name, dtype in wanted:
        parameters.append(
            Parameter(name, dtype, parameters[-1].word + parameters[-1].words if parameters else 0)
        )
    return tuple(parameters)


def packed(wanted: Sequence[Parameter], values: Sequence[Any]) -> Array:
    """Return the words of parameters with these values."""
    words: list[int] = []
    for parameter, value in zip(wanted, values, strict=True):
        number = _bits(parameter.dtype, value)
        words.append(number & 0xFFFFFFFF)
        if parameter.words == 2:
            words.append(number >> 32)
    return np.array(words, np.uint32)


def _bits(dtype: DType, value: Any) -> int:
    """Return the bits of a number as an unsigned integer; half precision is passed as float32."""
    if dtype in FLOAT:
        wide = np.asarray(value).astype(float64 if dtype == float64 else float32)
        return int(wide.view(f"u{wide.itemsize}"))
    return int(np.asarray(value).item() if not isinstance(value, int) else value) % 2**64
