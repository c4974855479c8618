"""Exact functions: NumPy's own computes few elements of computed tensors in host memory at once, with the same bits.

A formula of ten nodes takes fifty times as long to record and to run on few elements as NumPy's function takes. Where
a formula rounds nothing, or each element once, it makes no difference to the result which of them ran: bits, integers,
orders, copies. Everything else is recorded: what is pending, large, elsewhere, or part of a gradient, and what somebody
looks at. What fails is recorded, too, whose errors say more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar

import numpy as np

from tensorframe.backends import spans
from tensorframe.backends.silence import silenced, silently
from tensorframe.backends.storage import Storage
from tensorframe.config import Process, overridden
from tensorframe.dtypes import BITWISE, FLOAT, INTEGER, REAL, DType, as_dtype, default_float
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import Device
from tensorframe.graph.history import needing_nodes
from tensorframe.graph.node import Node, next_serial
from tensorframe.graph.precision import autocast_dtype
from tensorframe.ops.creation import DATA
from tensorframe.runtime.eager.scalars import Allowed, are_allowed

_Function = TypeVar("_Function", bound=Callable[..., Any])
Array = np.ndarray[Any, Any]

_ndarray = np.ndarray
_blank = object.__new__
# Arguments whose type says what dtypes results have are floats, and integers that all dtypes hold; of others, such as
# modes, the value does.
_SMALL: Final = 127
_PLAIN: Final[frozenset[type]] = frozenset({bool, str, type(None)})
_SEQUENCES: Final[frozenset[type]] = frozenset({list, tuple})
_UNSIGNED: Final = as_dtype("uint64")
# Elements up to which NumPy computes many at once, of which it makes some tens of megabytes.
_MANY: Final = 1 << 22
# Signatures of one function that are known at most.
_SIGNATURES: Final = 256

# What a function's arguments are: the dtypes of tensors, the types of numbers, how large integers are, and modes.
Kind = tuple[Any, ...]
# The dtypes of what a call gives, one for each tensor; nothing where NumPy's function gives something else.
Results = tuple[DType, ...]


def computes_at_once() -> bool:
    """Whether few elements may be computed at once: nobody looks on, wants plans, or records a gradient."""
    if needing_nodes or spans.onlookers or autocast_dtype.get() is not None:
        return False
    options = overridden() or Process.base
    return options is Allowed.options or are_allowed(options)


def _given(values: tuple[Any, ...], *, many: bool = False) -> tuple[Kind, list[Any], Device] | None:
    """Return the kind of some arguments, the arrays in the places of tensors, and their device; None for others."""
    if not computes_at_once():
        return None
    most, device = _MANY if many else (overridden() or Process.base).small_size, None
    kind: list[Any] = [default_float()]
    arrays: list[Any] = []
    for value in values:
        of = type(value)
        if of is Tensor:
            node = value.node
            storage = node.storage
            if storage is None:
                return None
            array = storage.handle
            if type(array) is not _ndarray or not 0 < array.size <= most:
                return None  # without elements, NumPy looks at less, and leaves memory as it is
            if device is not node.device:
                if device is not None:
                    return None
                device = node.device
            kind.append(node.dtype)
            arrays.append(array)
        elif of is float:
            kind.append(of)
            arrays.append(value)
        elif of is int:
            kind.append(of)
            if not 0 <= value <= _SMALL:
                kind.append(_magnitude(value))
            arrays.append(value)
        elif of in _PLAIN:
            kind.append((of, value))
            arrays.append(value)
        elif of in _SEQUENCES:
            parts = _parts(value, most)
            if parts is None:
                return None
            kind += parts[0]
            arrays.append(parts[1])
            if parts[2] is not None:
                if device is not None and device is not parts[2]:
                    return None
                device = parts[2]
        else:
            return None
    return None if device is None else (tuple(kind), arrays, device)


def _parts(
    values: list[Any] | tuple[Any, ...], most: int
) -> tuple[Kind, list[Any] | tuple[Any, ...], Device | None] | None:
    """Return what `_given` does of a sequence of tensors, or of integers."""
    if not 0 < len(values) <= most:
        return None
    if type(values[0]) is int:
        if not all(type(value) is int for value in values):
            return None
        low, high = min(values), max(values)
        if low >= 0 and high <= _SMALL:
            return (list,), values, None
        return (list, _magnitude(low), _magnitude(high)), values, None
    device: Device | None = None
    arrays = []
    for value in values:
        if type(value) is not Tensor or (device is not None and value.node.device is not device):
            return None
        storage = value.node.storage
        array = None if storage is None else storage.handle
        if type(array) is not _ndarray or not 0 < array.size <= most:
            return None
        device = value.node.device
        arrays.append(array)
    return (tuple, len(values), *[value.node.dtype for value in values]), arrays, device


def _magnitude(value: int) -> int:
    """Return the bits that an integer takes, less than zero for a negative one: they say which dtypes hold it."""
    return value.bit_length() if value >= 0 else -1 - (~value).bit_length()


def computed(array: Any, device: Device) -> Tensor:
    """Return what NumPy computed as a tensor; constructors are written out, as in `dispatch`."""
    if type(array) is not _ndarray:
        array = np.asarray(array)
    handle = _blank(Tensor)
    handle.node = node = _blank(Node)
    node.op = DATA
    node.inputs = node.attrs = ()
    node.shape = shape = array.shape
    node.dtype = dtype = array.dtype
    node.device = device
    node.code = None
    node.spent = 0.0
    node.serial = next_serial()
    node.storage = storage = _blank(Storage)
    storage.device = device
    storage.handle = array
    storage.dtype = dtype
    storage.shape = shape
    return handle


def exact(
    theirs: Callable[..., Any],
    count: int,
    *,
    besides: frozenset[DType] = frozenset(),
    many: bool = False,
) -> Callable[[_Function], _Function]:
    """Decorate a function that gives tensors, and the very elements that NumPy's function `theirs` gives.

    NumPy's has the first `count` parameters, too; calls with others go the long way. Which dtypes the function gives
    for arguments of some kind is learned of the first call with them. NumPy's integers are converted to these; where it
    gives other dtypes than that, nothing is computed at once, and neither is what has a dtype `besides`. So are `many`
    elements, where NumPy's instructions do in one what kernels take ten for.
    """

    def decorate(ours: _Function) -> _Function:
        known: dict[Kind, Results] = {}

        @wraps(ours)
        def call(*values: Any, **options: Any) -> Any:
            given = None if options or len(values) > count else _given(values, many=many)
            if given is None:
                return ours(*values, **options)
            kind, arrays, device = given
            results = known.get(kind)
            if results is None:
                return first_of(kind, values, arrays, device)
            if not results:
                return ours(*values)
            try:
                made = silently(theirs, *arrays)
                if len(results) > 1 or type(made) is tuple:
                    pairs = zip(made, results, strict=True)
                    return tuple([computed(_in_dtype(part, own), device) for part, own in pairs])
                return computed(_in_dtype(made, results[0]), device)
            except Exception:
                return ours(
                    *values
                )  # another thread computes so, or it fails: this one explains it

        def first_of(kind: Kind, values: tuple[Any, ...], arrays: list[Any], device: Device) -> Any:
            result = ours(*values)
            if len(known) >= _SIGNATURES:
                known.clear()
            known[kind] = (
                _results(theirs, arrays, result, device) if besides.isdisjoint(kind) else ()
            )
            return result

        return call  # type: ignore[return-value]

    return decorate


def _in_dtype(array: Any, dtype: DType) -> Any:
    return array if array.dtype is dtype else array.astype(dtype)


@silenced
def _results(theirs: Callable[..., Any], arrays: list[Any], result: Any, device: Device) -> Results:
    """Return the dtypes of a result, if NumPy's function gives as much, in these dtypes or in other integers."""
    if not all(array.dtype.isbuiltin == 1 for array in arrays if type(array) is _ndarray):
        return ()  # a dtype that NumPy knows nothing of
    try:
        made = theirs(*arrays)
    except Exception:
        return ()
    ours = result if type(result) is tuple else (result,)
    pairs = list(zip(made if type(made) is tuple else (made,), ours, strict=False))
    for part, tensor in pairs:
        dtype = tensor.node.dtype
        if tensor.node.device is not device or part.shape != tensor.node.shape:
            return ()
        if part.dtype != dtype and not (part.dtype in INTEGER and dtype in INTEGER):
            return ()
    return tuple([tensor.node.dtype for tensor in ours]) if len(pairs) == len(ours) else ()


def exact_in_place(theirs: Callable[..., Any]) -> Callable[[_Function], _Function]:
    """Decorate a function that has a tensor, the first argument, stand for a copy to which `theirs` of NumPy's wrote.

    Both have the same parameters. NumPy's take more: the first call with arguments of some kind goes the long way,
    which says what is wrong with them.
    """

    def decorate(ours: _Function) -> _Function:
        known: set[Kind] = set()

        @wraps(ours)
        def call(*values: Any, **options: Any) -> Any:
            given = None
            if values and type(values[0]) is Tensor and not options:
                given = _given(values)
            if given is None:
                return ours(*values, **options)
            kind, (array, *arrays), device = given
            is_known = kind in known
            if not is_known:
                ours(*values)
                if not _fit(kind):
                    return None
                if len(known) >= _SIGNATURES:
                    known.clear()
                known.add(kind)
            changed = array.copy()
            try:
                silently(theirs, changed, *arrays)
            except Exception:
                return ours(*values) if is_known else None  # which explains it
            values[0]._rebind(computed(changed, device).node)
            return None

        return call  # type: ignore[return-value]

    return decorate


def _fit(kind: Kind) -> bool:
    """Whether a tensor of the first kind holds values of the others, or these are positions or masks."""
    own = kind[1]
    if kind[2] is _UNSIGNED:
        return False  # as positions NumPy takes the largest for negative ones
    for other in kind[2:]:
        if isinstance(other, np.dtype):
            if other is not own and not (other in BITWISE and own in REAL):
                return False
        elif (other is float and own not in FLOAT) or (
            (other is int or other is list) and own not in REAL
        ):
            return False
    return bool(own.isbuiltin == 1)
