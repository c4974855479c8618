"""Binding: what the names of a raw kernel mean in one call, and whether its operands fit."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorframe.backends.registry import default_device
from tensorframe.dtypes import DType
from tensorframe.errors import ArgumentError, DeviceError, DTypeError, ShapeError
from tensorframe.frontend.dispatch import device_of
from tensorframe.frontend.operand_nodes import PYTHON_NUMBERS, fitting, plain
from tensorframe.frontend.operands import operand
from tensorframe.frontend.raw_kernels.declaration import Entry, size_of
from tensorframe.frontend.raw_kernels.gradient import rule_of
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import CPU, Device
from tensorframe.graph.holding import holds
from tensorframe.graph.node import Node
from tensorframe.graph.op import Op
from tensorframe.graph.record import constant
from tensorframe.graph.tracing import TracedNumber, example
from tensorframe.ops.raw_kernels import Operand, RawCall, Shared, raw_row
from tensorframe.schedule.raw_kernels import refusal
from tensorframe.site import recording_site

if TYPE_CHECKING:
    from tensorframe.frontend.raw_kernels.kernel import RawKernel

# grids beyond this have indices that 32-bit integers do not count
_MOST = 2**31 - 1


class Bound:
    """The operands of a call as nodes, and what sizes and dtypes follow from them."""

    def __init__(self, kernel: RawKernel, given: Mapping[str, Any]) -> None:
        self._kernel = kernel
        self._types: dict[str, DType] = {}
        self._sizes: dict[str, int] = {}
        self._static: list[tuple[str, DType, str]] = []
        arrays = [entry for entry in kernel.inputs if entry.sizes is not None]
        tensors = [given[entry.name] for entry in arrays if isinstance(given[entry.name], Tensor)]
        home = tensors[0].device if tensors else None
        nodes: dict[str, Node] = {}
        for entry in arrays:
            value = given[entry.name]
            nodes[entry.name] = operand(
                value, device=None if isinstance(value, Tensor) else home
            ).node
        for entry in arrays:
            self._fit(entry, nodes[entry.name])
        self.device: Device = device_of(tuple(nodes.values())) if nodes else default_device()
        for entry in kernel.inputs:
            if entry.sizes is None:
                self._number(entry, given[entry.name], nodes)
        self._operands = [entry for entry in kernel.inputs if entry.name in nodes]
        self.nodes: tuple[Node, ...] = tuple([nodes[entry.name] for entry in self._operands])

    def _fit(self, entry: Entry, node: Node) -> None:
        """Note the dtype and the sizes of an array; an error if they are not what was declared."""
        name = self._kernel.name
        if isinstance(entry.dtype, str):
            wanted = self._types.setdefault(entry.dtype, node.dtype)
            why = f"{entry.dtype}, which is {wanted} in this call"
        else:
            wanted, why = entry.dtype, str(entry.dtype)
        if node.dtype != wanted:
            raise DTypeError(
                f"{name}: {entry.name} is declared as {why}, got {node.dtype}",
                suggestions=(f"x.astype({wanted.name!r})",),
            )
        sizes = entry.sizes or ()
        shown = f"[{', '.join(sizes)}]"
        if len(sizes) != len(node.shape):
            raise ShapeError(
                f"{name}: {entry.name} is declared with shape {shown}, got {node.shape}",
                suggestions=("x.reshape(...)",),
            )
        for size, extent in zip(sizes, node.shape, strict=True):
            known = int(size) if size.isdigit() else self._sizes.setdefault(size, extent)
            if known != extent:
                raise ShapeError(
                    f"{name}: {entry.name} is declared with shape {shown}, got {node.shape}: {size} is {known}"
                    if size.isdigit()
                    else f"{name}: {entry.name} is declared with shape {shown}, got {node.shape}: {size} is {known} "
                    "by an operand before",
                )

    def _number(self, entry: Entry, value: Any, nodes: dict[str, Node]) -> None:
        """Note a number: one of the text if it is static, else an operand that plans take as an argument."""
        name = self._kernel.name
        dtype = self._types[entry.dtype] if isinstance(entry.dtype, str) else entry.dtype
        if isinstance(value, Tensor) and not value.shape and entry.name not in self._kernel.static:
            self._fit(entry, value.node)
            nodes[entry.name] = value.node
            return
        value = plain(value)
        if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.shape):
            value = value.item()
        if type(value) not in PYTHON_NUMBERS:
            raise DTypeError(
                f"{name}: {entry.name} is a number, got {type(value).__name__}",
                suggestions=(
                    "a Python number, or a tensor without axes",
                    f'{entry.name}: "{dtype}[n]" for an array',
                ),
            )
        kind = type(example(value)) if type(value) is TracedNumber else type(value)
        if (
            kind is complex
            or (kind is float and dtype.kind != "f")
            or (dtype.kind == "b" and kind is not bool)
        ):
            raise DTypeError(
                f"{name}: {entry.name} is declared as {dtype}, got the number {value!r}"
            )
        value = fitting(value, dtype)
        if entry.name not in self._kernel.static:
            nodes[entry.name] = constant(value, dtype, self.device, recording_site())
            return
        if type(value) is TracedNumber:
            raise value.trace.error(None)
        if not isfinite(value):
            raise ArgumentError(f"{name}: {entry.name} is part of the text, and {value!r} has none")
        text = repr(dtype.type(value).item()).lower()
        self._static.append((entry.name, dtype, text))
        if dtype.kind in "iu":
            self._sizes[entry.name] = int(value)

    def row(self) -> Op:
        """Return the row of the call; an error if no device can run it."""
        kernel = self._kernel
        call = self._call()
        self._check(call)
        names = tuple([entry.name for entry in kernel.inputs])
        operations = None
        if call.reference is not None:
            operations = call.reference(call, self.device).operations
        return raw_row(call, rule_of(call, names, kernel.vjp), operations, repr(kernel))

    def _call(self) -> RawCall:
        kernel = self._kernel
        sizes = {name: value for name, value in self._sizes.items() if name not in kernel.static}
        return RawCall(
            kernel.name,
            kernel.sources,
            tuple(self._types.items()),
            tuple(sizes.items()),
            tuple(self._static),
            tuple([self._operand(entry) for entry in self._operands]),
            tuple([self._operand(entry) for entry in kernel.outputs]),
            tuple([(index, self._size(size)) for index, size in kernel.grid]),
            kernel.group,
            tuple(
                [
                    Shared(entry.name, self._dtype(entry), prod(self._shape(entry)))
                    for entry in kernel.shared
                ]
            ),
            kernel.reference,
            kernel.place,
        )

    def _dtype(self, entry: Entry) -> DType:
        return self._types[entry.dtype] if isinstance(entry.dtype, str) else entry.dtype

    def _size(self, size: str) -> int:
        return size_of(self._kernel.name, size, self._sizes)

    def _shape(self, entry: Entry) -> tuple[int, ...]:
        return tuple([self._size(size) for size in entry.sizes or ()])

    def _operand(self, entry: Entry) -> Operand:
        return Operand(
            entry.name, self._dtype(entry), None if entry.sizes is None else self._shape(entry)
        )

    def _check(self, call: RawCall) -> None:
        """Raise what a device cannot do, before anything is recorded."""
        if call.extent > _MOST:
            shown = " x ".join([str(size) for _, size in call.grid])
            raise ArgumentError(
                f"{call.name}: a grid of {shown} has more than {_MOST} indices",
                suggestions=("fewer indices, each of which does more",),
            )
        for name, dtype in call.dtypes.items():
            if not holds(self.device, dtype):
                raise DTypeError(
                    f"{call.name}: {name} is {dtype}, which {self.device} does not hold",
                    suggestions=('.to_backend("cpu") of the operands', "float32"),
                )
        if call.reference is not None:
            return
        reason = refusal(call, self.device)
        elsewhere = self.device is CPU or refusal(call, CPU)
        if reason is not None and elsewhere:
            languages = ", ".join([language for language, _ in call.sources])
            raise DeviceError(
                f"{call.name}: {self.device} cannot run it: {reason}; it has sources for {languages}",
                suggestions=(
                    "reference=function of tensors, which runs anywhere",
                    "t.to_backend(...) of the operands to a device that has a source",
                ),
            )
