"""Printing: a tensor as text, computing only the elements that are shown."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tensorframe.backends.registry import capabilities
from tensorframe.dtypes import bfloat16, float32
from tensorframe.errors import ScalarError, TracingError
from tensorframe.frontend.dispatch import call
from tensorframe.frontend.tensor import Tensor, method
from tensorframe.ops.movement import SLICE
from tensorframe.runtime.evaluate import evaluate

Array = np.ndarray[Any, Any]
Span = tuple[int, int]  # start, size


@method
def __repr__(self: Tensor) -> str:
    prefix = "Tensor("
    body = _elements(self, separator=", ", prefix=prefix)
    facts = [f"dtype={self.dtype}", f"device={self.device}"]
    if _summarised(self) or not self.size:
        facts.insert(0, f"shape={self.shape}")
    end = ", ".join(facts) + ")"
    last = body.rpartition("\n")[2]
    width = np.get_printoptions()["linewidth"]
    indent = 0 if "\n" in body else len(prefix)
    gap = " " if indent + len(last) + len(end) + 2 <= width else "\n" + " " * len(prefix)
    return f"{prefix}{body},{gap}{end}"


@method
def __str__(self: Tensor) -> str:
    return _elements(self, separator=" ", prefix="")


@method
def __format__(self: Tensor, specification: str) -> str:
    if not specification:
        return __str__(self)
    if self.size != 1:
        raise ScalarError(
            f"format: {specification!r} formats one number, this tensor has shape {self.shape}",
            suggestions=("np.array2string(x.numpy(), precision=3) for several",),
        )
    return format(self.item(), specification)


@method
def _repr_inline_(self: Tensor, max_width: int) -> str:
    """Return what xarray shows of the data on one line; computes nothing."""
    state = "" if self.is_computed else "not computed, "
    return f"<Tensor: {state}device={self.device}>"[:max_width]


def _summarised(tensor: Tensor) -> bool:
    return tensor.size > int(np.get_printoptions()["threshold"])


def _elements(tensor: Tensor, *, separator: str, prefix: str) -> str:
    """Return the elements in NumPy's layout."""
    try:
        if not _summarised(tensor):
            return _text(tensor._array(), separator, prefix)
        # one element more than is shown stands for all that NumPy replaces by "..."
        return _text(_edges(tensor), separator, prefix, threshold=0)
    except TracingError as error:  # printing is how people look into a function
        return f"<{tensor.dtype}{list(tensor.shape)}: {error.message}>"


def _text(array: Array, separator: str, prefix: str, **options: Any) -> str:
    if array.dtype == bfloat16:
        array = array.astype(float32)
    suffix = "," if prefix else ""
    return np.array2string(array, separator=separator, prefix=prefix, suffix=suffix, **options)


def _edges(tensor: Tensor) -> Array:
    """Return the tensor without the middle of its long axes, computing nothing else, in one plan."""
    spans = [_shown(size) for size in tensor.shape]
    if tensor.is_computed and capabilities(tensor.device).host_memory:
        return tensor._array()[np.ix_(*map(_positions, spans))]
    corners = [_corner(tensor, corner) for corner in product(*spans)]
    evaluate([corner.node for corner in corners])
    result = np.empty([sum(size for _, size in axis) for axis in spans], tensor.dtype)
    for corner, place in zip(corners, product(*map(_places, spans)), strict=True):
        result[place] = corner._array()
    return result


def _shown(size: int) -> list[Span]:
    """Return the spans of an axis that are computed: both ends, and one element for the dots."""
    edge = int(np.get_printoptions()["edgeitems"])
    if size <= 2 * edge + 1:
        return [(0, size)]
    return [(0, edge + 1), (size - edge, edge)] if edge else [(0, 1)]


def _positions(spans: list[Span]) -> list[int]:
    return [position for start, size in spans for position in range(start, start + size)]


def _places(spans: list[Span]) -> list[slice]:
    """Return where the spans of an axis go when they are pushed together."""
    ends = np.cumsum([size for _, size in spans])
    return [slice(end - size, end) for end, (_, size) in zip(ends, spans, strict=True)]


def _corner(tensor: Tensor, spans: tuple[Span, ...]) -> Tensor:
    starts, sizes = zip(*spans, strict=True)
    return call(SLICE, tensor, attrs=(starts, sizes, (1,) * tensor.ndim))


__all__: list[str] = []
