"""References of raw kernels: tensorframe's own functions that mean the same, recorded once for shapes and dtypes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import Context
from typing import Any

from tensorframe.errors import DTypeError, ShapeError, TracingError
from tensorframe.frontend.operands import operand
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node, reachable
from tensorframe.graph.op import Kind
from tensorframe.graph.record import constant
from tensorframe.graph.tracing import TracedNumber
from tensorframe.ops.creation import ARGUMENT, CONSTANT
from tensorframe.ops.raw_kernels import RawCall, Trace
from tensorframe.quick_dataclasses import dataclass
from tensorframe.quick_tuples import NamedTuple
from tensorframe.runtime.evaluate import host_array


class Placeholder(NamedTuple):
    """Which input of which kernel a node stands for while its reference is recorded."""

    kernel: str
    name: str

    def error(self) -> TracingError:
        """Return the error for a value that is needed."""
        return TracingError(
            f"{self.kernel}: its reference asks for the value of {self.name}, which is not known while it is recorded",
            suggestions=(
                "tfr.where(condition, a, b) instead of if and while",
                f"static=({self.name!r},) for a number that decides what is computed",
            ),
        )


@dataclass(frozen=True, slots=True)
class Reference:
    """A user's function of tensors, of which the trace for each call and device is remembered."""

    function: Callable[..., Any]

    def __call__(self, call: RawCall, device: Device) -> Trace:
        """Return what the function records for operands as a call has them."""
        known = _traces.get((call, device))
        if known is None:
            if len(_traces) >= _KEPT:
                _traces.clear()
            known = _traces[call, device] = _traced(self.function, call, device)
        return known


_traces: dict[tuple[RawCall, Device], Trace] = {}
_KEPT = 256

_NUMBERS: Mapping[str, Callable[[str], Any]] = {
    "b": lambda text: text == "true",
    "i": int,
    "u": int,
    "f": float,
}


def number_of(entry: tuple[str, Any, str]) -> Any:
    """Return a static number of a call."""
    _, dtype, text = entry
    return _NUMBERS[dtype.kind](text)


def _traced(function: Callable[..., Any], call: RawCall, device: Device) -> Trace:
    parameters = [
        Node(
            ARGUMENT,
            (),
            (Placeholder(call.name, entry.name),),
            entry.shape or (),
            entry.dtype,
            device,
            None,
        )
        for entry in call.inputs
    ]
    given: dict[str, Any] = {
        entry.name: Tensor(node) for entry, node in zip(call.inputs, parameters, strict=True)
    }
    given |= {entry[0]: number_of(entry) for entry in call.static}
    # what it means is the same in every plan: no autocast, no function that is being recorded, reaches it
    results = Context().run(_called, call, function, given, device)
    order = [node for node in reachable(results) if node not in parameters]
    return Trace(tuple(parameters), *_settled(call, order, results, parameters))


def _called(
    call: RawCall, function: Callable[..., Any], given: dict[str, Any], device: Device
) -> list[Node]:
    return _checked(call, function(**given), device)


def _checked(call: RawCall, given: Any, device: Device) -> list[Node]:
    """Return the nodes of what a reference gives; an error if these are not the outputs that were declared."""
    values = list(given) if isinstance(given, tuple | list) else [given]
    names = ", ".join([entry.name for entry in call.outputs])
    if len(values) != len(call.outputs):
        raise ShapeError(
            f"{call.name}: its reference gives {len(values)} results, outputs are {names}",
            suggestions=("a tuple with a tensor for each output, in their order",),
        )
    nodes = []
    for value, entry in zip(values, call.outputs, strict=True):
        tensor = operand(value, device=None if isinstance(value, Tensor) else device)
        if tensor.shape != entry.shape:
            raise ShapeError(
                f"{call.name}: its reference gives shape {tensor.shape} for {entry.name}, declared is {entry.shape}"
            )
        if tensor.dtype != entry.dtype:
            raise DTypeError(
                f"{call.name}: its reference gives {tensor.dtype} for {entry.name}, declared is {entry.dtype}",
                suggestions=(f".astype({entry.dtype.name!r}) of what it returns",),
            )
        nodes.append(tensor.node)
    return nodes


def _settled(
    call: RawCall, order: Sequence[Node], results: Sequence[Node], parameters: Sequence[Node]
) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """Return the nodes of a trace, none of which has a value but numbers, and the results among them."""
    made: dict[Node, Node] = {node: node for node in parameters}
    for node in order:
        if node.storage is not None or node.op.kind is Kind.SOURCE:
            made[node] = _number(call, node)
        elif all(made[source] is source for source in node.inputs):
            made[node] = node
        else:
            inputs = tuple([made[source] for source in node.inputs])
            made[node] = Node(
                node.op, inputs, node.attrs, node.shape, node.dtype, node.device, node.site
            )
    return tuple([made[node] for node in order]), tuple([made[result] for result in results])


def _number(call: RawCall, node: Node) -> Node:
    """Return a source as a trace may have it: a number, or what counts and fills; TracingError for other tensors."""
    if node.storage is not None and not node.shape and node.dtype.kind in "biuf":
        return constant(host_array(node).item(), node.dtype, node.device, node.site)
    if node.op is CONSTANT and type(node.attrs[0]) is TracedNumber:
        raise TracingError(f"{call.name}: its reference uses a number that jit does not know yet")
    if node.storage is None and not node.op.costly and node.op is not ARGUMENT:
        return node
    raise TracingError(
        f"{call.name}: its reference uses a tensor of shape {node.shape} that is none of its inputs",
        suggestions=("declare it in inputs=", "tfr.full or tfr.arange for what is known"),
    )
