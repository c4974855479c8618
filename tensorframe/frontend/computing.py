"""Computing on purpose: several tensors in one plan, and waiting for devices that work on their own."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from tensorframe.backends.registry import named_device
from tensorframe.errors import OutOfMemoryError
from tensorframe.frontend.operands import nodes_of
from tensorframe.frontend.tensor import Tensor, attribute
from tensorframe.graph.device import Device
from tensorframe.ops.movement import COPY
from tensorframe.runtime.eager.rows import UnseenRow
from tensorframe.runtime.eager.scalars import Number
from tensorframe.runtime.eager.views import run_viewed
from tensorframe.runtime.evaluate import evaluate


def compute(*tensors: Tensor, wait: bool = True) -> tuple[Tensor, ...]:
    """Compute all `tensors` in one plan, so that what they share is done once, and return them.

    With `wait=False` it returns when devices have been given the work, see `Tensor.compute`.

    >>> x = tfr.asarray([1.0, 2.0, 3.0])
    >>> low, high = tfr.compute(tfr.min(x), tfr.max(x))
    >>> low.item(), high.item()
    (1.0, 3.0)
    """
    if len(tensors) == 1 and type(tensors[0]) is Tensor:
        tensors[0].compute(wait=wait)
        return tensors
    if _are_here(tensors):
        return tensors
    nodes = nodes_of("compute", tensors)
    try:
        if wait:
            evaluate(nodes)
            _asynchronous().wait_for_all(nodes)
        else:
            _asynchronous().evaluate_asynchronously(nodes)
    except OutOfMemoryError as error:
        if not error.outgrown:
            raise
        for tensor in tensors:  # each as it can be: the host has those that no buffer has
            tensor.compute(wait=wait)
    return tensors


def _asynchronous() -> ModuleType:
    """Return what hands work over to devices and waits for them, which programs on the cpu do without."""
    from tensorframe.runtime import asynchronous

    return asynchronous


def _are_here(values: tuple[object, ...]) -> bool:
    """Whether tensors are in host memory, or views of what is, so that there is nothing to compute or to wait for."""
    for value in values:
        if type(value) is not Tensor:
            return False
        node = value.node
        kind = type(node)
        if kind is UnseenRow or kind is Number:
            continue
        if node.storage is None:
            if not node.op.alias or not run_viewed(node):
                return False
        elif type(node.storage.handle) is not np.ndarray:
            return False
    return True


def synchronize(device: str | Device | None = None) -> None:
    """Wait until a device, or each one in use, has done what it was given.

    Raises what went wrong there since results were read last, with the line that recorded the first of them. In the
    host's memory everything is done when calls return. DeviceError if the device is not here.

    >>> x = tfr.ones((100, 100)).compute(wait=False)
    >>> tfr.synchronize()
    >>> x.is_ready
    True
    """
    if device is None:
        _asynchronous().synchronize_all()
        return
    _asynchronous().synchronize(named_device("synchronize", device))


@attribute
def is_computed(self: Tensor) -> bool:
    """Whether the elements are there, or on their way: reading them will compute nothing.

    The host has those of a tensor that is larger than a buffer of its device.
    """
    node = self.node
    if node.storage is not None or node.op is not COPY:
        return node.storage is not None
    from tensorframe.runtime.streaming.oversized_tensors import is_held_by_host

    return is_held_by_host(node)


@attribute
def is_ready(self: Tensor) -> bool:
    """Whether the elements are there, and their device is done with them: reading them will wait for nothing.

    Where the device has failed it is True as well: reading raises the error. Returns at once.
    """
    ready: bool = _asynchronous().is_ready(self.node)
    return ready or (self.node.storage is None and self.is_computed)


@attribute
def backend(self: Tensor) -> str:
    """The name of the backend that the tensor's device belongs to."""
    return self.node.device.backend


__all__ = ["compute", "synchronize"]
