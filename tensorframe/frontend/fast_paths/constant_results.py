"""Constant results: what is made of numbers alone, such as windows and index grids, is made once where it is small.

Such a call has no operand: its arguments, and the default dtype and device, say all that its elements are. Its first
call is recorded like any other, since many programs make one only. The second one computes what has few elements in
host memory, and later ones give tensors of their own with the same memory, which nobody writes to. In functions that
are recorded, and where somebody looks at what runs, it stays part of the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar

import numpy as np

from tensorframe.backends.registry import default_device
from tensorframe.dtypes import default_float
from tensorframe.frontend.fast_paths.argument_keys import argument_key
from tensorframe.frontend.fast_paths.exact_functions import computed, computes_at_once
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import Device
from tensorframe.graph.mapping import mapping
from tensorframe.graph.tracing import current

_Function = TypeVar("_Function", bound=Callable[..., Any])
Array = np.ndarray[Any, Any]

# Calls of one function that are known, and the elements of each tensor of one, at most.
_CALLS: Final = 256
_ELEMENTS: Final = 256

# The array of a call, or those of a tuple, and their device; None for one that is recorded each time.
_Made = tuple[Array | tuple[Array, ...], Device] | None


def made_of_numbers(function: _Function) -> _Function:
    """Decorate a function of numbers, strings and shapes that gives a tensor or a tuple of them: see the module."""
    made: dict[tuple[Any, ...], _Made] = {}
    seen: set[tuple[Any, ...]] = set()

    @wraps(function)
    def call(*values: Any, **options: Any) -> Any:
        kind = argument_key(values, options)
        if kind is None:
            return function(*values, **options)
        key = (kind, default_float(), default_device().number)
        known = made.get(key)
        if known is not None and computes_at_once() and _are_values():
            arrays, device = known
            if type(arrays) is tuple:
                return tuple([computed(array, device) for array in arrays])
            return computed(arrays, device)
        result = function(*values, **options)
        note(key, result)
        return result

    def note(key: tuple[Any, ...], result: Any) -> None:
        if key in made:
            return
        if len(seen) >= _CALLS:
            made.clear()
            seen.clear()
        if key not in seen:
            seen.add(key)
        elif computes_at_once() and _are_values():
            made[key] = _arrays_of(result)

    return call  # type: ignore[return-value]


def _are_values() -> bool:
    """Whether no function is being recorded, of whose graph such a tensor is to be a part."""
    return current.get() is None and mapping.get() is None


def _arrays_of(result: Any) -> _Made:
    """Return the elements of what a call gave, if they are few and in host memory."""
    tensors = result if type(result) is tuple else (result,)
    if not tensors or not all(type(tensor) is Tensor for tensor in tensors):
        return None
    device = tensors[0].node.device
    if any(tensor.size > _ELEMENTS or tensor.node.device is not device for tensor in tensors):
        return None
    arrays = [tensor.compute().node.storage.handle for tensor in tensors]
    if not all(type(array) is np.ndarray for array in arrays):
        return None
    whole = tuple([np.ascontiguousarray(array).reshape(array.shape).view() for array in arrays])
    for array in whole:
        array.flags.writeable = False  # no plan takes this memory for its results
    return whole if type(result) is tuple else whole[0], device
