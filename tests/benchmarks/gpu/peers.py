"""The peers: CuPy and PyTorch's compiler compute the same on the same operands, where they have the device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import tensorframe as tfr
from tests.benchmarks.gpu.clock import best, time_of

Array = Any
Program = Callable[..., Array]


class AsNumPy:
    """PyTorch under the names that programs of every namespace call."""

    def __init__(self, torch: Any) -> None:
        self.exp, self.sin, self.sqrt = torch.exp, torch.sin, torch.sqrt
        self._torch = torch

    def max(self, x: Array, *, axis: int, keepdims: bool) -> Array:
        """Return the largest elements."""
        return self._torch.amax(x, dim=axis, keepdim=keepdims)

    def sum(self, x: Array, axis: int | None = None, *, keepdims: bool = False) -> Array:
        """Return sums."""
        return self._torch.sum(x, dim=axis, keepdim=keepdims)

    def mean(self, x: Array, axis: int | None = None, *, keepdims: bool = False) -> Array:
        """Return means."""
        return self._torch.mean(x, dim=axis, keepdim=keepdims)

    def var(self, x: Array, axis: int | None = None) -> Array:
        """Return variances."""
        return self._torch.var(x, dim=axis, correction=0)


def by_cupy(program: Program, given: Sequence[tfr.Tensor], seconds: float) -> float:
    """Return the seconds that CuPy takes, with a kernel for each op."""
    import cupy

    with cupy.cuda.Device(given[0].device.index):
        arrays = [cupy.from_dlpack(one) for one in given]
        stream = cupy.cuda.get_current_stream()
        return best(lambda: program(cupy, *arrays), stream.synchronize, seconds)


def by_torch(program: Program, given: Sequence[tfr.Tensor], seconds: float) -> float:
    """Return the seconds that a function takes which PyTorch has compiled."""
    import torch

    arrays = [torch.from_dlpack(one) for one in given]
    compiled = torch.compile(partial(program, torch))
    return best(lambda: compiled(*arrays), torch.cuda.synchronize, seconds)


CUPY, TORCH = "CuPy", "PyTorch, compiled"
PEERS: dict[str, Callable[[Program, Sequence[tfr.Tensor], float], float]] = {
    CUPY: by_cupy,
    TORCH: by_torch,
}
MODULES = {CUPY: "cupy", TORCH: "torch"}


def beside(
    peer: str,
    program: Program | None,
    given: Sequence[tfr.Tensor],
    ours: float,
    steps: int,
    seconds: float,
) -> str:
    """Return what a peer takes beside our time; nothing where it is not installed, or has no such program."""
    if program is None or find_spec(MODULES[peer]) is None:
        return ""
    try:
        other = PEERS[peer](program, given, seconds)
    except Exception as error:  # a peer's failure is a line of the table
        return type(error).__name__
    return f"{time_of(other / steps)}, {other / ours:.2f}x ours"
