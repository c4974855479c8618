"""Few elements of computed tensors in host memory: they are selected and replaced at once, and nothing is recorded.

To record an op, to look it up and to run it takes several times as long. Where a gradient is being recorded, or
somebody looks at what runs, it is recorded all the same; so is what fails, and its error is raised as ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tensorframe.backends import spans
from tensorframe.backends.storage import Storage
from tensorframe.config import Options, Process, overridden
from tensorframe.dtypes import INTEGER, int64
from tensorframe.frontend.indexing.numpy_keys import (
    BOUNDS,
    are_plain,
    host_array,
    host_places,
    numpy_key,
)
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.history import needing_nodes
from tensorframe.graph.node import Node, new_node, next_serial, ticks
from tensorframe.graph.shape import Shape
from tensorframe.graph.tracing import TracedNumber, current
from tensorframe.ops.creation import ARANGE, CONSTANT, DATA, FULL
from tensorframe.runtime.eager.few_nodes import run_few
from tensorframe.runtime.eager.rows import Rows, UnseenRow, look_at
from tensorframe.runtime.eager.scalars import SCALARS, Number, scalar_node
from tensorframe.runtime.execution.leaves import numbers

_blank = object.__new__
# Positions up to which an index is the sooner way to what they select.
_AT_ONCE = 64
# Ops up to which what is assigned is computed.
_OPS_AT_ONCE = 12
# Tensors that loops fill in.
_MADE_OF_NUMBERS = frozenset({FULL, ARANGE})


def few_viewed(node: Node, *key: Any) -> Tensor | None:
    """Return the few elements that integers and slices select of a computed tensor in host memory; None for all else.

    Nothing is recorded, unless for a gradient: to record it and look it up takes longer. Views of many elements are,
    since plans fuse them.
    """
    storage = node.storage
    if storage is None or type(storage.handle) is not np.ndarray or needing_nodes:
        return None
    if not are_plain(key):
        return None
    try:
        view = storage.handle[key]
    except (IndexError, ValueError):
        return None  # which `parse` explains
    if view.size > (overridden() or Process.base).small_size:
        return None
    return viewed(view, view.shape, node)


def few_sliced(node: Node, key: slice) -> Tensor | None:
    """Return what `few_viewed` does of one slice, in two thirds of the time."""
    storage = node.storage
    if storage is None or type(storage.handle) is not np.ndarray or needing_nodes:
        return None
    if (
        type(key.start) not in BOUNDS
        or type(key.stop) not in BOUNDS
        or type(key.step) not in BOUNDS
    ):
        return None
    try:
        view = storage.handle[key]
    except (IndexError, ValueError):
        return None  # which `parse` explains
    if view.size > (overridden() or Process.base).small_size:
        return None
    return viewed(view, view.shape, node)


def parts_viewed(node: Node, axis: int) -> tuple[Tensor, ...] | None:
    """Return the slices of a computed tensor in host memory along an axis, without it; None for all else.

    They are as many as the axis is long, and to record each of them takes ten times as long.
    """
    array = host_array(node, node.device)
    if array is None or needing_nodes or spans.onlookers:
        return None
    rows = np.moveaxis(array, axis, 0) if axis else array
    if type(node.storage) is not Storage or not len(rows):
        return tuple(each_viewed(rows, node))
    shared = Rows(rows, node.dtype, node.device)
    handles = []
    for serial in range(shared.first, shared.first + len(rows)):
        handle = _blank(Tensor)
        handle.node = row = UnseenRow()
        row.offset = shared
        row.serial = serial
        handles.append(handle)
    look_at(row)
    return tuple(handles)


def few_gathered(node: Node, key: Any) -> Tensor | None:
    """Return the few elements of a computed tensor at computed positions along its first axis; None for all else."""
    # `host_array` written out: loops select a few elements in each step
    storage = node.storage
    if storage is None or needing_nodes or spans.onlookers:
        return None
    array, positions = storage.handle, key
    if type(key) is Tensor:
        storage = key.node.storage
        if storage is None or key.node.device is not node.device:
            return None
        positions = storage.handle
    if (
        type(array) is not np.ndarray
        or not array.ndim
        or type(positions) is not np.ndarray
        or not positions.ndim
        or positions.dtype not in INTEGER
    ):
        return None
    options = overridden() or Process.base
    if (
        positions.size * array.size > options.small_size * len(array)
        or options.validate
        or options.check_nan
    ):
        return None
    try:
        # to select many takes less time, and to begin with more
        selected = array[positions] if positions.size < _AT_ONCE else array.take(positions, 0)
    except (IndexError, TypeError):
        return None
    return viewed(selected, selected.shape, node)


def few_selected(node: Node, key: Any) -> Tensor | None:
    """Return the few elements that integers, slices and positions select of a computed tensor; None for all else.

    Keys with ... or None are not among them: what they select is a view, which in loops that only record is part of
    the turn that `runtime/loop_iterations.py` recognises.
    """
    array = host_array(node, node.device)
    if array is None or needing_nodes or spans.onlookers:
        return None
    options = overridden() or Process.base
    if options.validate or options.check_nan:
        return None
    place, positions = numpy_key(key, node.device)
    if place is None:
        return None
    for item in place:
        if item is None or item is Ellipsis:
            return None
    # each position of an axis has no more elements than those that the shortest axis leaves for one
    if positions * array.size > options.small_size * min(node.shape, default=1):
        return None
    try:
        selected = array[place]
    except (IndexError, TypeError, ValueError):
        return None  # which `parse` explains
    if type(selected) is not np.ndarray:
        if type(selected) in SCALARS and type(node.storage) is Storage:
            return Tensor(scalar_node(selected, node.dtype, node.device))
        selected = np.asarray(selected)
    if selected.size > options.small_size:
        return None
    return viewed(selected, selected.shape, node)


def few_replaced(node: Node, key: Any, values: Node) -> Node | None:
    """Return a tensor of few elements with values of its dtype where `key` selects; None for all else.

    The tensor is computed, or made of numbers alone. Values are a number, computed, or made of these by a few small
    ops: those would run one by one later, too.
    """
    device = node.device
    options = overridden() or Process.base
    if needing_nodes or spans.onlookers or options.validate or options.check_nan:
        return None
    place: Any = host_places(key, device)
    if place is None:
        place = key
        if not are_plain(key if type(key) is tuple else (key,)):
            place, _ = numpy_key(key, device)
            if place is None:
                return None
    array = _array_filled_in(node, options)
    if array is None or array.size > options.small_size:
        return None
    if values.op is CONSTANT and values.storage is None:
        if type(values.attrs[0]) is TracedNumber:
            return None
        elements: Any = numbers[values]
    else:
        if values.storage is None and values.device is device:
            run_few(values, options, most=_OPS_AT_ONCE)
        elements = host_array(values, device)
        if elements is None:
            return None
    replaced = array.copy()
    try:
        replaced[place] = elements
    except (IndexError, TypeError, ValueError):
        return (
            None  # NumPy drops leading axes of size 1 of some values only; which `parse` explains
        )
    return viewed(replaced, node.shape, node).node


def few_counted(node: Node) -> Number | None:
    """Return how many elements of a computed tensor of few are not zero; None for all else."""
    array = host_array(node, node.device)
    if array is None or array.dtype.type not in SCALARS or needing_nodes or spans.onlookers:
        return None
    options = overridden() or Process.base
    if array.size > options.small_size or options.validate:
        return None
    return scalar_node(np.int64(np.count_nonzero(array)), int64, node.device)


def _array_filled_in(node: Node, options: Options) -> np.ndarray[Any, Any] | None:
    """Return the elements of what is assigned to, computed or made of numbers alone, such as zeros; None of any other.

    A loop that fills zeros in would record a step for each assignment. While a function is recorded they stay numbers,
    which its plan has no memory for.
    """
    if node.storage is None and (
        node.op not in _MADE_OF_NUMBERS or current.get() is not None or not run_few(node, options)
    ):
        return None
    return host_array(node, node.device)


def with_new_axes(value: Any, keys: Sequence[Any]) -> Tensor | None:
    """Return a computed tensor in host memory with the new axes of the key for its number of axes; None for all else.

    A view of however many elements: that it has more axes gives a plan nothing to fuse.
    """
    if type(value) is not Tensor or needing_nodes:
        return None
    node = value.node
    storage = node.storage
    if storage is None or len(node.shape) >= len(keys) or type(storage.handle) is not np.ndarray:
        return None
    view = storage.handle[keys[len(node.shape)]]
    return viewed(view, view.shape, node)


def each_viewed(array: np.ndarray[Any, Any], node: Node) -> Iterator[Tensor]:
    """Yield views along the first axis of the array of a computed node, as tensors that are computed, too."""
    shape, dtype, device = array.shape[1:], node.dtype, node.device
    if type(node.storage) is not Storage or not shape:
        for place in range(len(array)):
            yield viewed(array[place, ...], shape, node)
        return
    for row in array:  # constructors written out, as in `viewed`: thousands of rows come by here
        storage = _blank(Storage)
        storage.device = device
        storage.handle = row
        storage.dtype = dtype
        storage.shape = shape
        handle = _blank(Tensor)
        handle.node = part = _blank(Node)
        part.op = DATA
        part.inputs = part.attrs = ()
        part.shape = shape
        part.dtype = dtype
        part.device = device
        part.code = None
        part.storage = storage
        part.spent = 0.0
        part.serial = serial = next_serial()
        if serial >= ticks.due:
            ticks.tick(part)
        yield handle


def viewed(array: np.ndarray[Any, Any], shape: Shape, node: Node) -> Tensor:
    """Return a view of the array of a computed node, or some of its elements, as a tensor that is computed, too."""
    source = node.storage
    if type(source) is not Storage and array.base is not None:
        storage: Storage = source.viewed(array)  # in a file, at whose size it looks
    else:  # constructors written out: loops over elements come by here
        storage = _blank(Storage)
        storage.device = node.device
        storage.handle = array
        storage.dtype = node.dtype
        storage.shape = shape
    handle = _blank(Tensor)
    handle.node = part = new_node(DATA, (), (), shape, node.dtype, node.device, None)
    part.storage = storage
    return handle
