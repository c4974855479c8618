"""Leaves and results: the values that a plan is given and gives, as handles on their device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any

import numpy as np

from tensorframe.backends import spans
from tensorframe.backends.numpy.creation import generate
from tensorframe.backends.registry import backend_of, capabilities
from tensorframe.backends.spans import Work, tell_span
from tensorframe.backends.storage import Storage
from tensorframe.dtypes import DType, as_scalar
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node
from tensorframe.graph.shape import Shape
from tensorframe.ops.creation import CONSTANT, FILE
from tensorframe.runtime.execution.failures import explain_leaf

# What reads parts of leaves before a plan would need all of them; nothing, until a file is loaded of which it can.
early_readers: list[Callable[[Sequence[Node]], None]] = []
# What says which graph is run instead of roots where they do; nothing is read.
early_views: list[Callable[[Sequence[Node]], Sequence[Node]]] = []


def as_run(roots: Sequence[Node]) -> Sequence[Node]:
    """Return the roots that an evaluation of `roots` plans: parts of leaves are leaves where those alone are read."""
    for view in early_views:
        roots = view(roots)
    return roots


# Numbers beside tensors that are kept as NumPy has them: the same few come again and again, as nodes do.
_SCALARS_KEPT = 1024


class _Scalars(dict[Node, np.generic]):
    """The values of nodes that are Python numbers, as NumPy has them in their dtypes."""

    def __missing__(self, node: Node) -> np.generic:
        scalar = as_scalar(node.attrs[0], node.dtype)
        if len(self) >= _SCALARS_KEPT:
            self.clear()
        self[node] = scalar
        return scalar


scalars = _Scalars()


class _Numbers(dict[Node, np.ndarray[Any, Any]]):
    """The same values as arrays without axes, which ufuncs take in half the time: they make one of any other number."""

    def __missing__(self, node: Node) -> np.ndarray[Any, Any]:
        number = np.asarray(scalars[node])
        number.flags.writeable = False  # views of it may be results
        if len(self) >= _SCALARS_KEPT:
            self.clear()
        self[node] = number
        return number


numbers = _Numbers()


def leaf_handle(leaf: Node) -> Any:
    """Return the handle of a leaf's values: its storage, a number, or what its source gives now."""
    if leaf.storage is not None:
        return leaf.storage.handle
    if leaf.op is CONSTANT:
        return scalars[leaf]
    try:
        return _generated(leaf)
    except MemoryError as error:
        explain_leaf(error, leaf)


def _generated(leaf: Node) -> Any:
    if leaf.op is FILE and capabilities(leaf.device).chunked:
        read = backend_of(leaf.device).read_in_blocks(leaf.device, leaf.attrs[0])
        if read is not None:
            leaf.settle(read)
            return read.handle
    array = generate(leaf)
    if not leaf.shape and not isinstance(array, np.ndarray):
        return array
    if not leaf.op.costly and capabilities(leaf.device).host_memory:
        return array  # where it is used, and by nobody else
    storage = placed(array, leaf.device)
    if leaf.op.costly:  # a file is read once: it may be another one the next time
        from tensorframe.runtime.execution.mapped_files import watched  # for the few who load one

        storage = watched(leaf, storage)
        leaf.settle(storage)
    return storage.handle


def stored(device: Device, shape: Shape, dtype: DType, handle: Any) -> Storage:
    """Return the storage of a handle that a program gave for a value of this shape and dtype."""
    if (
        type(handle) is np.ndarray
    ):  # the backends of host memory have no others, and would ask it again
        return Storage(device, handle, dtype, shape)
    if isinstance(handle, np.generic):  # of ufuncs and reductions, which only these have
        array = np.asarray(handle)
        return Storage(device, array, dtype, shape)
    if type(handle) is tuple:  # of a library call that gives several tensors
        return Storage(device, handle, dtype, shape)
    return backend_of(device).wrap(device, handle)


def placed(array: np.ndarray[Any, Any], device: Device) -> Storage:
    """Return storage on `device` with the values of a host array, in its own memory where that is host memory."""
    backend = backend_of(device)
    if capabilities(device).host_memory:
        return backend.wrap(device, array)
    began = perf_counter_ns() if spans.collectors else 0
    storage = backend.upload(device, array)
    tell_span(Work.TRANSFER, "upload", f"host -> {device}", began, array.nbytes)
    return storage
