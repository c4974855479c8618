"""Views of computed memory: they need no look-up and no plan, since no byte moves, or few of them where none can."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorframe import config
from tensorframe.backends import spans
from tensorframe.backends.numpy.functions import implementation
from tensorframe.backends.storage import Storage
from tensorframe.config import Process, overridden
from tensorframe.dtypes import NARROW
from tensorframe.errors import CancelledError
from tensorframe.graph.history import needing_nodes
from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind
from tensorframe.ops.creation import CONSTANT
from tensorframe.ops.movement import EXPAND, PERMUTE, RESHAPE, SLICE
from tensorframe.runtime.execution import events
from tensorframe.schedule.capture import Inputs

_new = object.__new__
_VIEW = Kind.VIEW
# Views of views up to which those in between, if somebody refers to them, are cheaper made again than looked for.
_LONGEST = 8
# Slices that are remembered at most.
_KEPT = 1024


class _Selections(dict[tuple[Any, ...], tuple[slice, ...]]):
    """What selects the elements of slices, by their attributes: the same few come again and again.

    `latest` are the latest attributes and what they select: loops have the same tuple, whose hash takes longer.
    """

    latest: tuple[tuple[Any, ...], tuple[slice, ...]] = ((), ())

    def __missing__(self, attrs: tuple[Any, ...]) -> tuple[slice, ...]:
        from tensorframe.backends.numpy.movement import slices  # loaded by the first view

        if len(self) >= _KEPT:
            self.clear()
        selection = self[attrs] = slices(*attrs)
        return selection


_selections = _Selections()


def run_view(node: Node) -> bool:
    """Compute `node` if it is a view, or a view of views, of computed host memory; else do nothing and return False."""
    views = [node]
    inputs = node.inputs  # before storage: see Node.settle
    if node.op.kind is not _VIEW or not inputs:
        return node.storage is not None
    source = inputs[0]
    inputs = source.inputs
    storage = source.storage
    while storage is None:
        op = source.op
        if not op.alias or op.kind is not _VIEW or len(views) == _LONGEST:
            return False
        views.append(source)
        source = inputs[0]
        inputs = source.inputs
        storage = source.storage
    looked_at, array = storage, storage.handle
    if type(array) is not np.ndarray:
        return False
    try:
        while views:
            view = views.pop()
            if view.op is RESHAPE:
                if array.flags.c_contiguous:  # as most are; it takes a third of the time
                    array = array.reshape(view.attrs[0])
                else:  # a copy of many elements kernels make faster
                    may_copy = None if _are_few(array, looked_at) else False
                    array = array.reshape(view.attrs[0], copy=may_copy)
            elif view.op is SLICE:
                array = array[_selections[view.attrs]]
            else:
                array = implementation[view.op](array, *view.attrs)
    except KeyboardInterrupt:
        raise CancelledError("interrupted while computing; no tensor is changed") from None
    except Exception:
        return False  # the planned path meets the same error, and explains it
    if type(looked_at) is not Storage:  # it lies in a file, and its views do
        node.settle(looked_at.viewed(array))
    else:
        _settle(node, array)
    return True


def _settle(node: Node, array: Any) -> None:
    """Give a view its array: the constructor and Node.settle in half of their time."""
    storage = _new(Storage)
    storage.device = node.device
    storage.handle = array
    storage.dtype = node.dtype
    storage.shape = node.shape
    if needing_nodes:
        node.settle(storage)
    else:
        node.storage = storage
        node.inputs = ()


def run_viewed(node: Node) -> bool:
    """Compute `node` if it is a view of computed host memory that is no file; else do nothing and return False.

    That is `run_view` for what most views are, in two thirds of the time.
    """
    inputs = node.inputs  # before storage: see Node.settle
    op = node.op
    if len(inputs) != 1 or op.kind is not _VIEW or spans.collectors:
        return False
    looked_at = inputs[0].storage
    if looked_at is None:
        return run_view(node)
    if type(looked_at) is not Storage:
        return False
    array: Any = looked_at.handle
    if type(array) is not np.ndarray:
        return False
    try:
        if op is SLICE:
            attrs = node.attrs
            latest = _selections.latest
            if latest[0] is not attrs:
                _selections.latest = latest = (attrs, _selections[attrs])
            array = array[latest[1]]
        elif op is PERMUTE:
            array = array.transpose(node.attrs[0])
        elif op is not RESHAPE:
            array = implementation[op](array, *node.attrs)
        elif array.flags.c_contiguous:
            array = array.reshape(node.attrs[0])
        else:
            return False
    except KeyboardInterrupt:
        raise CancelledError("interrupted while computing; no tensor is changed") from None
    except Exception:
        return False  # the planned path meets the same error, and explains it
    # `_settle` written out: most views come by here
    storage = _new(Storage)
    storage.device = node.device
    storage.handle = array
    storage.dtype = node.dtype
    storage.shape = node.shape
    if needing_nodes:
        node.settle(storage)
    else:
        node.storage = storage
        node.inputs = ()
    return True


def _are_few(array: np.ndarray[Any, Any], storage: Storage) -> bool:
    """Whether elements are copied in less time than it takes to find what copies them, and nobody looks on."""
    return (
        array.size <= (overridden() or Process.base).small_size
        and type(storage) is Storage  # a copy would seem to lie in a file
        and not spans.onlookers
    )


def views_computed(inputs: Inputs) -> bool:
    """Compute those inputs that are views of computed memory, if all others are computed; return whether they are.

    A broadcast is left to plans, whose kernels read each of its elements once, and so is what they convert once for two
    operands, and all that somebody looks at.
    """
    if events.listeners or config.get().checked:
        return False
    pending = [source for source in inputs if source.storage is None and source.op is not CONSTANT]
    return all(
        _is_view_of_computed(source) and not _is_turned_beside(source, inputs) for source in pending
    ) and all(map(run_view, pending))


def _is_turned_beside(source: Node, inputs: Inputs) -> bool:
    """Whether an operand in half precision is the transpose of another: a product converts both."""
    if source.op is not PERMUTE or source.dtype not in NARROW:
        return False
    return any(looked_at in inputs for looked_at in source.inputs)


def _is_view_of_computed(node: Node) -> bool:
    inputs = node.inputs  # before storage: see Node.settle
    while node.storage is None:
        if not inputs or not node.op.alias or node.op is EXPAND:
            return False
        node = inputs[0]
        inputs = node.inputs
    return True
