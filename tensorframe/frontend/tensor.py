"""Tensor: a handle on a node of the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import ref

import numpy as np

from tensorframe.dtypes import DType
from tensorframe.errors import DTypeError, OutOfMemoryError
from tensorframe.frontend.methods import TensorMethods
from tensorframe.graph.device import Device
from tensorframe.graph.mapping import mapping
from tensorframe.graph.node import Node
from tensorframe.graph.tracing import current
from tensorframe.runtime.eager.scalars import Number
from tensorframe.runtime.eager.single_node import run_single
from tensorframe.runtime.eager.ufuncs import run_source, run_ufunc
from tensorframe.runtime.eager.views import run_viewed
from tensorframe.runtime.evaluate import evaluate, host_array

Function = TypeVar("Function", bound=Callable[..., Any])


class Tensor(TensorMethods):
    """A multi-dimensional array whose operations are recorded, and computed when a value is needed.

    Create one with `asarray`, `zeros`, `arange` or another creation function, not by calling the class. Operators
    are attached from the op rows, the other methods by the modules of the frontend: see `method`.
    """

    __slots__ = ("__weakref__", "node")

    # older libraries that compare priorities leave operators with a Tensor to the Tensor
    __array_priority__ = 1000.0
    # pandas takes what has this mark for a wrapped array, whose elements `to_numpy` gives: a mask of rows, not labels
    _typ = "npy_extension"

    def __init__(self, node: Node) -> None:
        if not isinstance(node, Node):
            raise DTypeError(
                f"Tensor is not made from {type(node).__name__} by calling the class",
                suggestions=("tfr.asarray(values)", "tfr.zeros(shape)"),
            )
        self.node = node

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each axis."""
        return self.node.shape

    @property
    def dtype(self) -> DType:
        """The data type of the elements."""
        return self.node.dtype

    @property
    def device(self) -> Device:
        """The device that holds, or will hold, the elements."""
        return self.node.device

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.node.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.node.size

    # == compares elements, so tensors are dictionary keys by identity
    __hash__ = object.__hash__

    def compute(self, *, wait: bool = True) -> Tensor:
        """Compute the elements now, store them, and return this tensor.

        With `wait=False` it returns when its device has been given the work: `is_ready` says whether that is done,
        and `synchronize` waits for it. What goes wrong meanwhile is raised by what reads the elements first, with the
        line that recorded them. What works in the host's memory is done when this returns.

        >>> x = tfr.ones(3).compute(wait=False)
        >>> x.is_ready
        True
        """
        node = self.node
        if type(node) is Number:
            return self
        try:
            if not wait:
                from tensorframe.runtime.asynchronous import evaluate_asynchronously

                evaluate_asynchronously((node,))
                return self
            if node.storage is None:
                if not node.inputs:
                    if run_source(node):
                        return self
                elif node.op.alias:
                    if run_viewed(node):
                        return self
                elif not node.attrs and run_ufunc(node):
                    return self
                single = run_single(node)  # which most are: `evaluate` written out
                if not single:
                    evaluate((node,), single=single)
        except OutOfMemoryError as error:
            if not error.outgrown:
                raise
            return _held_by_host(self)
        if type(node.storage.handle) is not np.ndarray:  # else it is there
            from tensorframe.runtime.asynchronous import wait_for  # programs on the cpu do without

            wait_for(node)
        return self

    def _rebind(self, node: Node) -> None:
        """Make this handle stand for `node`, as assignments do; no other tensor changes."""
        trace, mapped = current.get(), mapping.get()
        if trace is not None or mapped is not None:
            for recording in (trace, mapped):
                if recording is not None and self.node.serial < recording.first_serial:
                    recording.rebound.append((ref(self), self.node))
        self.node = node

    def _array(self) -> np.ndarray[Any, Any]:
        """Return the elements as NumPy holds them; not to be written to."""
        return host_array(self.node)


def _held_by_host(tensor: Tensor) -> Tensor:
    """Return a tensor that is larger than a buffer of its device, whose elements the host has from now on."""
    from tensorframe.runtime.streaming.oversized_tensors import held_by_host

    tensor._rebind(held_by_host(tensor.node))
    return tensor


def method(function: Function) -> Function:
    """Attach `function` to Tensor as the method of its own name; the modules of the frontend add one idea each."""
    setattr(Tensor, function.__name__, function)
    return function


def attribute(function: Callable[[Tensor], Any]) -> Callable[[Tensor], Any]:
    """Attach `function` to Tensor as the read-only property of its own name."""
    setattr(Tensor, function.__name__, property(function))
    return function
