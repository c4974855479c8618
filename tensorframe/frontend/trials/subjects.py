"""Subjects: what trials run on one device after another, an expression or a function, and one run of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from tensorframe.backends.registry import (
    backend_of,
    capabilities,
    known_devices,
    resolve_device,
    use_backend,
)
from tensorframe.errors import ArgumentError, DeviceError, DTypeError
from tensorframe.frontend.conversion.convert import asarray
from tensorframe.frontend.parameters import items
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.trees import LEAF, build, flatten, names
from tensorframe.frontend.trials.relocation import (
    REFERENCE,
    Values,
    holds_values,
    leaf_of,
    relocated,
)
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node, reachable
from tensorframe.graph.record import is_constant
from tensorframe.runtime.evaluate import evaluate, host_array

Array = np.ndarray[Any, Any]
Backends = str | Device | Sequence[str | Device] | None


@dataclass(frozen=True)
class Prepared:
    """A subject on one device, its leaves there: `record` gives its results, recorded anew, in every call.

    `labels` is how a program writes each result, known after the first run. A function's time includes
    recording.
    """

    device: Device
    record: Callable[[], list[Node]]
    labels: Callable[[], list[str]]
    is_function: bool

    def run(self) -> tuple[list[Node], float]:
        """Return the computed results, and the seconds until the device was done."""
        start = perf_counter()
        nodes = self.record()
        if not self.is_function:
            start = perf_counter()
        self.finish(nodes)
        return nodes, perf_counter() - start

    def finish(self, nodes: list[Node]) -> None:
        """Compute recorded results, and wait until the devices are done."""
        evaluate(nodes)
        for device in {self.device, *[node.device for node in nodes]}:
            backend_of(device).synchronize(device)


class Expression:
    """A tensor that is not computed yet: its graph is recorded again, with the leaves on each device."""

    def __init__(self, name: str, tensor: Tensor) -> None:
        self._root = tensor.node
        if holds_values(self._root):
            raise ArgumentError(
                f"{name}: the tensor is computed already, and what it was computed from is gone",
                suggestions=(
                    f"tfr.{name}(function, *arguments)",
                    f"tfr.{name}(tensor) before its values are needed",
                ),
            )
        self._values = Values()
        leaves = [node for node in reachable([self._root]) if holds_values(node)]
        self.input_bytes = sum(leaf.nbytes for leaf in leaves)

    def on(self, device: Device) -> Prepared:
        """Return the expression on a device."""
        place = self._values.placed_on(device)
        relocated([self._root], device, place)  # the leaves move now, not in the first run

        def record() -> list[Node]:
            return list(relocated([self._root], device, place))

        return Prepared(device, record, lambda: [""], is_function=False)


class Call:
    """A function with arguments: it is called with these on each device, which is the default one meanwhile."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self._function = function
        leaves: list[Any] = []
        self._structure = flatten((args, kwargs), leaves)
        tensors = {
            index: asarray(leaf, device=None).node
            for index, leaf in enumerate(leaves)
            if hasattr(leaf, "dtype") and not isinstance(leaf, np.generic)
        }
        arrays = Values().computed(list(tensors.values()))
        self._leaves = leaves
        self._given = list(zip(tensors, tensors.values(), arrays, strict=True))
        self.input_bytes = sum(array.nbytes for array in arrays)

    def on(self, device: Device) -> Prepared:
        """Return the function with its arguments on a device."""
        placed = {index: leaf_of(array, node, device) for index, node, array in self._given}
        structure: list[Any] = [LEAF]

        def record() -> list[Node]:
            leaves = [
                Tensor(placed[index]) if index in placed else leaf
                for index, leaf in enumerate(self._leaves)
            ]
            args, kwargs = build(self._structure, iter(leaves))
            results: list[Any] = []
            with use_backend(device):
                structure[0] = flatten(self._function(*args, **kwargs), results)
                nodes = [asarray(result).node for result in results]
            if not nodes:
                raise DTypeError("the function returns no tensors, so there is nothing to compare")
            return nodes

        return Prepared(device, record, lambda: names(structure[0], ""), is_function=True)


Subject = Expression | Call


def subject_of(name: str, expr: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Subject:
    """Return what a trial called `name` shall run."""
    if isinstance(expr, Tensor):
        if args or kwargs:
            raise ArgumentError(f"{name}: arguments go with a function, not with a tensor")
        return Expression(name, expr)
    if not callable(expr):
        raise DTypeError(f"{name}: takes a tensor or a function, got {type(expr).__name__}")
    return Call(expr, args, kwargs)


def asked_for(name: str, backends: Backends) -> list[str]:
    """Return the names of the devices to try, each once, the reference engine first."""
    if backends is None:
        # blocks on a chunked device are computed by engines that are tried as they are
        wanted = [str(known) for known in known_devices() if not capabilities(known).chunked]
    elif isinstance(backends, str | Device):
        wanted = [device_name(backends)]
    else:
        wanted = [device_name(device) for device in items(name, "backends", backends)]
    if not wanted:
        raise ArgumentError(f"{name}: the list of backends is empty", suggestions=("None for all",))
    return list(dict.fromkeys([str(REFERENCE), *wanted]))


def device_name(device: object) -> str:
    """Return the one name of a device that has several ("cuda:0", "numba"); what is no device by what it is called."""
    try:
        return str(Device(device))  # type: ignore[arg-type]
    except DeviceError:
        return str(device)


def device_called(name: str) -> Device:
    """Return the device of a name; DeviceError if it is not here, or computes nothing."""
    device = resolve_device(name)
    if not capabilities(device).executes:
        raise DeviceError(f"the device {name!r} makes plans only: it computes nothing")
    return device


def values_of(nodes: Sequence[Node]) -> list[Array]:
    """Return results on the host."""
    return [np.asarray(host_array(node)) for node in nodes]


def lacking(nodes: Sequence[Node], device: Device) -> list[str]:
    """Return the dtypes that results need, or anything on the way to them, and the device does not have."""
    able = capabilities(device).dtypes
    missing = {node.dtype for node in reachable(nodes) if not is_constant(node)} - able
    return sorted(dtype.name for dtype in missing)
