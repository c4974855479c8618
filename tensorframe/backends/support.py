"""Support: whether a device computes an operation itself, as a question with an answer."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from tensorframe.dtypes import DType, DTypeLike
from tensorframe.graph.device import Device
from tensorframe.quick_dataclasses import dataclass

Function = Callable[..., Any]

# what records operations to answer, in the namespace that is made of all this
_ANSWERS = "tensorframe.testing.conformance.support"


@dataclass(frozen=True, slots=True)
class Support:
    """The answer of `tfr.backends.supports`: true if the device computes the operation itself."""

    op: str
    device: Device
    dtype: DType
    runs_on: Device | None
    """Where it is computed: `device`, the cpu if it falls back, None if it is not defined."""
    reason: str = ""
    """Why not on the device, or why as one task there where others run in blocks; empty if there is nothing to say."""

    def __bool__(self) -> bool:
        return self.runs_on is self.device

    @property
    def falls_back(self) -> bool:
        """Whether it is computed on another device, the cpu, wholly or in part."""
        return self.runs_on is not None and not self

    def __str__(self) -> str:
        if self:
            return f"True, but {self.reason}" if self.reason else "True"
        if self.runs_on is None:
            return f"False: {self.reason}"
        return f"falls back to {self.runs_on}, because {self.reason}"


def supports(
    op: str | Function,
    device: str | Device,
    dtype: DTypeLike | str,
    *,
    shape: tuple[int, ...] | None = None,
) -> Support:
    """Return whether a device computes an operation on elements of a dtype itself: true, false, or why it falls back.

    `op` is the name of an operation (`"exp"`, `"matmul"`, `"softmax"`), a function of the namespace, or a function of
    yours, which is called with a matrix. The answer is true if the whole operation runs on the device. Otherwise it is
    false, and `reason` says why; `falls_back` is true if the cpu runs it instead, and false if the operation is not
    defined. The answer comes from a plan; nothing is computed, compiled or moved. `shape` is the shape of the operands,
    by default that of a small matrix. With it, the answer for `"dask"` has a reason if one worker takes all operands
    because they cannot be divided into blocks.

    ArgumentError if the operation is not known. DeviceError if the device is not available. DTypeError if `dtype` is
    not a dtype.

    >>> bool(tfr.backends.supports("exp", "cpu", "float32"))
    True
    >>> print(tfr.backends.supports("bitwise_and", "cpu", "float32"))
    False: bitwise_and: takes ... dtypes, got float32, float32
    >>> print(tfr.backends.supports(tfr.std, "numpy", "int16"))
    True
    """
    made: Support = import_module(_ANSWERS).answer(op, device, dtype, shape)
    return made
