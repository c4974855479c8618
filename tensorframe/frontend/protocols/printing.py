"""Printing: a tensor as text, computing only the elements that are shown.

`repr` never fails and never takes long, since debuggers, logs and notebooks ask for it unasked; `print` does what it
was told to.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from tensorframe.dtypes import ADDED, wide_of
from tensorframe.errors import CancelledError, ScalarError, TensorFrameError, TracingError
from tensorframe.frontend.protocols.preview import corners, put_together, seconds_for, seen
from tensorframe.frontend.tensor import Tensor, method

Array = np.ndarray[Any, Any]

PATIENCE = 1.0  # estimated seconds that `repr` may spend on a few elements of a large tensor
_SLOW = "<not computed: to show some elements would take long, .compute() keeps them all>"
_MOST_PRINTED = (
    2000  # elements of more than four axes: NumPy's three at either end would be thousands
)


@method
def __repr__(self: Tensor) -> str:
    prefix = "Tensor("
    body = _at_once(self, prefix)
    facts = [f"dtype={self.dtype}", f"device={self.device}"]
    if _summarise(self) or not self.size:
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


def _summarise(tensor: Tensor) -> bool:
    return tensor.size > int(np.get_printoptions()["threshold"])


def _at_once(tensor: Tensor, prefix: str) -> str:
    """Return the elements, or in angle brackets why they are not shown."""
    try:
        if _summarise(tensor) and _is_slow(tensor):
            return _SLOW
        return _elements(tensor, separator=", ", prefix=prefix)
    except CancelledError:
        raise
    except TensorFrameError as error:
        return f"<{type(error).__name__}: {error.message}>"


def _is_slow(tensor: Tensor) -> bool:
    """Whether some elements would take longer than anybody would wait for them unasked."""
    with _ends(tensor.ndim):
        return seconds_for(tensor, corners(tensor.shape)) > PATIENCE


def _ends(ndim: int) -> AbstractContextManager[Any]:
    """Have NumPy print fewer elements at either end where so many axes would multiply them."""
    edge = int(np.get_printoptions()["edgeitems"])
    while ndim > 4 and edge > 1 and (2 * edge) ** ndim > _MOST_PRINTED:
        edge -= 1
    return np.printoptions(edgeitems=edge)


def _elements(tensor: Tensor, *, separator: str, prefix: str) -> str:
    """Return the elements in NumPy's layout."""
    try:
        if not _summarise(tensor):
            return _text(tensor._array(), separator, prefix)
        with _ends(tensor.ndim):
            # one element more than is shown stands for all that NumPy replaces by "..."
            shown = put_together(seen(tensor, corners(tensor.shape)), tensor.shape)
            return _text(shown, separator, prefix, threshold=0)
    except TracingError as error:  # printing is how people look into a function
        return f"<{tensor.dtype}{list(tensor.shape)}: {error.message}>"


def _text(array: Array, separator: str, prefix: str, **options: Any) -> str:
    if array.dtype in ADDED:
        array = array.astype(wide_of(array.dtype))
    suffix = "," if prefix else ""
    return np.array2string(array, separator=separator, prefix=prefix, suffix=suffix, **options)


__all__: list[str] = []
