"""Python values: a tensor as a number, a list or a sequence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorframe.backends.storage import Storage
from tensorframe.dtypes import BITWISE, COMPLEX, INTEGER
from tensorframe.errors import DTypeError, ScalarError, TracingError
from tensorframe.frontend.indexing.few_elements import each_viewed
from tensorframe.frontend.tensor import Tensor, method
from tensorframe.graph.history import needing_nodes
from tensorframe.graph.node import next_serial
from tensorframe.runtime.eager.scalars import SCALARS, Number
from tensorframe.runtime.evaluate import computed_storage

_blank = object.__new__


def _only(tensor: Tensor, wanted: str) -> Any:
    """Return the only element as a Python number; a tensor of one element counts as a scalar, whatever its rank."""
    node = tensor.node
    if type(node) is Number:
        return node.value.item()
    array = (node.storage or computed_storage(node)).handle
    if type(array) is not np.ndarray:
        array = tensor._array()
    if array.size != 1:
        raise ScalarError(
            f"{wanted}: a tensor of shape {array.shape} has {array.size} elements, not one",
            suggestions=_one_element_hints(wanted),
        )
    return array.item()


def _one_element_hints(wanted: str) -> tuple[str, ...]:
    if wanted == "bool":
        return (
            "tfr.any(x) or tfr.all(x)",
            "x & y, x | y and ~x combine conditions element by element",
        )
    return ("x[index] to take one element", "x.tolist() for all of them")


@method
def item(self: Tensor, *index: Any) -> Any:
    """Return one element as a Python number: the only one, or the one at a flat index or at one index per axis.

    ScalarError (a ValueError) if there are several and none is named.

    >>> tfr.asarray([[1, 2], [3, 4]]).item(1, 0)
    3
    """
    if not index:
        return _only(self, "item")
    return self._array().item(*index)


@method
def tolist(self: Tensor) -> Any:
    """Return the elements as nested lists of Python numbers; a 0-d tensor gives the number itself.

    >>> tfr.asarray([[1.5, 2.0]]).tolist()
    [[1.5, 2.0]]
    """
    return self._array().tolist()


@method
def __bytes__(self: Tensor, /) -> bytes:
    return self._array().tobytes()


@method
def __bool__(self: Tensor, /) -> bool:
    node = self.node
    if type(node) is Number:
        return bool(node.value)
    return bool(_only(self, "bool"))


@method
def __int__(self: Tensor, /) -> int:
    if self.node.dtype in COMPLEX:
        raise _complex_error("int")
    return int(_only(self, "int"))


@method
def __float__(self: Tensor, /) -> float:
    if self.node.dtype in COMPLEX:
        raise _complex_error("float")
    return float(_only(self, "float"))


def _complex_error(wanted: str) -> DTypeError:
    return DTypeError(
        f"{wanted}: a complex number has none", suggestions=("tfr.real(x) or tfr.abs(x) first",)
    )


@method
def __complex__(self: Tensor, /) -> complex:
    return complex(_only(self, "complex"))


@method
def __index__(self: Tensor, /) -> int:
    if self.node.dtype not in INTEGER:
        kind = "a bool" if self.node.dtype in BITWISE else f"a {self.node.dtype} number"
        raise DTypeError(
            f"index: {kind} is not an index", suggestions=("int(x) says that you mean it",)
        )
    return int(_only(self, "index"))


@method
def __len__(self: Tensor, /) -> int:
    if not self.node.shape:
        raise ScalarError(
            "len: a 0-d tensor has no length", suggestions=("x.size counts elements",)
        )
    return self.node.shape[0]


@method
def __iter__(self: Tensor, /) -> Iterator[Tensor]:
    if not self.node.shape:
        raise ScalarError("iteration over a 0-d tensor", suggestions=("x.item() for its value",))
    return _rows(self)


def _rows(tensor: Tensor) -> Iterator[Tensor]:
    # once for all: each row is then a slice of the result, not a recipe of its own
    try:
        tensor.compute()
    except TracingError as error:
        error.suggestions = ("tfr.unstack(x), whose rows are not computed", *error.suggestions)
        raise
    node = tensor.node
    array = node.storage.handle
    if type(array) is not np.ndarray or needing_nodes:
        for position in range(node.shape[0]):
            yield tensor[position]
        return
    # in host memory a row is a view already: nothing has to be recorded to be computed at once
    if len(node.shape) == 1 and type(node.storage) is Storage and array.dtype.type in SCALARS:
        dtype, device = node.dtype, node.device
        for value in array:
            handle = _blank(Tensor)
            handle.node = number = Number()
            # `known` written out: half of the time of such functions is calling them
            number.dtype = dtype
            number.device = device
            number.serial = next_serial()
            number.value = value
            number._stored = None
            yield handle
        return
    yield from each_viewed(array, node)


@method
def __contains__(self: Tensor, value: Any, /) -> bool:
    equal = self == value
    # another class may have answered
    return bool(equal._array().any() if isinstance(equal, Tensor) else np.any(equal))


__all__: list[str] = []
