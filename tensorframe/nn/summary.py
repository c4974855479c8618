"""What a model takes, known before anything runs: parameters, shapes, floating-point operations and peak memory.

The model is copied with leaves that hold nothing, and called once. What each module records becomes a plan of its own,
and so does the whole; nothing is computed, compiled or allocated.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from tensorframe.backends.dry.engine import IMAGINED
from tensorframe.backends.registry import default_device
from tensorframe.dtypes import FLOAT
from tensorframe.errors import ArgumentError, GradientError
from tensorframe.frontend.creation.filled import zeros
from tensorframe.frontend.diagnostics.pages import Page
from tensorframe.frontend.diagnostics.tables import table
from tensorframe.frontend.operands import operand
from tensorframe.frontend.reductions.elementary import sum as total
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.transformations.gradients import value_and_grad
from tensorframe.frontend.trees import build, flatten
from tensorframe.frontend.trials.estimates import Estimate, estimate_on, operations
from tensorframe.frontend.trials.relocation import described, holds_values
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node, next_serial
from tensorframe.graph.shape import Shape
from tensorframe.nn import text
from tensorframe.nn.calls import watcher
from tensorframe.nn.decoding_memory import DecodingMemory, decoding_memory
from tensorframe.nn.module import Module
from tensorframe.nn.structure import Role, entries, own_modules, unique
from tensorframe.schedule.plan import human_bytes

__all__ = ["MemoryEstimate", "Summary", "SummaryRow", "estimate_memory", "summary"]


@dataclass(slots=True)
class SummaryRow:
    """A module in a summary: where it is, what it was called with, and what a call takes."""

    name: str
    """Its name in the model, as in `state_dict()`; that of the model is ""."""
    label: str
    """Its name in the module that it is part of."""
    title: str
    """Its class, and what it was made with."""
    depth: int
    """How many modules it is inside of."""
    parameters: int
    """How many numbers its parameters have, those of modules inside it among them."""
    trainable: int
    """How many of these are not frozen."""
    calls: int = 0
    """How often it was called."""
    outputs: list[Shape] = field(default_factory=list)
    """The shapes of what it gave, the last time."""
    flops: float = 0.0
    """Floating-point operations of all its calls, each planned by itself."""


@dataclass(frozen=True, repr=False)
class Summary(Page):
    """What `summary` found: a row for each module, and the estimate of the whole."""

    rows: list[SummaryRow]
    parameter_bytes: int
    """The bytes of all parameters and statistics."""
    estimate: Estimate
    """What one call takes, as `tfr.estimate` says it: the modules are planned together."""

    @property
    def parameters(self) -> int:
        """How many numbers the parameters have."""
        return self.rows[0].parameters

    @property
    def trainable(self) -> int:
        """How many of these are not frozen."""
        return self.rows[0].trainable

    @property
    def flops(self) -> float:
        """The floating-point operations of one call."""
        return self.estimate.flops

    @property
    def peak(self) -> dict[Device, int]:
        """The most bytes that live at once on each device: parameters, inputs, results and what lies between."""
        return self.estimate.peak

    def __repr__(self) -> str:
        heads = ("module", "output", "parameters", "flops")
        lines = [table([heads, *map(row_of, self.rows)], right=(2, 3))]
        frozen = self.parameters - self.trainable
        said = f", {frozen:,} of them frozen" if frozen else ""
        lines += [
            "",
            f"{self.parameters:,} parameters{said}; with statistics {human_bytes(self.parameter_bytes)}",
            repr(self.estimate),
        ]
        return "\n".join(lines)


def row_of(row: SummaryRow) -> tuple[str, str, str, str]:
    """Return a row as text: the module, what it gives, its parameters and operations."""
    module = f"{'  ' * row.depth}{f'{row.label}: ' if row.label else ''}{row.title}"
    return module, *figures_of(row)


def figures_of(row: SummaryRow) -> tuple[str, str, str]:
    """Return what a row says of its module as text."""
    times = f" x{row.calls}" if row.calls > 1 else ""
    outputs = ", ".join(map(str, row.outputs)) if row.calls else "not called"
    parameters = f"{row.parameters:,}" if row.parameters else ""
    return outputs + times, parameters, operations(row.flops) if row.calls else ""


def summary(model: Module, *inputs: Any, device: str | Device | None = None) -> Summary:
    """Return what calling a model takes: parameters, output shapes and operations by module, and the peak memory.

    Nothing is computed. `inputs` are what the model is called with, of which only shapes and dtypes count; a tuple of
    integers is the shape of a floating-point tensor. `device` is where it would run, by default where the model is; it
    need not be here. Statistics do not change.

    >>> model = tfr.nn.Sequential(tfr.nn.Linear(784, 64), tfr.relu, tfr.nn.Linear(64, 10))
    >>> tfr.nn.summary(model, (32, 784))
    module                output        parameters        flops
    Sequential()          (32, 10)          50,890   3.26 Mflop
      0: Linear(784, 64)  (32, 64)          50,240   3.21 Mflop
      2: Linear(64, 10)   (32, 10)             650   41.3 Kflop
    <BLANKLINE>
    50,890 parameters; with statistics 199 KiB
    peak      ... on cpu (inputs ..., results 1.25 KiB)
    reads     ...
    """
    dry, given = _imagined(model, inputs)
    where = _device_of(model, device)
    rows = {id(module): row for module, row in _rows(dry, model)}

    def watch(module: Module, call: Callable[[], Any]) -> Any:
        first = next_serial()
        result = call()
        row, nodes = rows.get(id(module)), _nodes(result)
        if row is not None:
            row.calls += 1
            row.outputs = [node.shape for node in nodes]
            row.flops += _own_flops(nodes, first, where)
        return result

    token = watcher.set(watch)
    try:
        results = dry(*given)
    finally:
        watcher.reset(token)
    return Summary(list(rows.values()), _bytes(model), estimate_on(_nodes(results), where))


def _rows(dry: Module, model: Module) -> Iterator[tuple[Module, SummaryRow]]:
    """Yield the modules of a copy with rows about those of the model, which are in the same order."""
    seen: dict[str, int] = {}
    for (name, own), (_, module) in zip(own_modules(model), own_modules(dry), strict=True):
        owners = [part for part in seen if not part or name.startswith(f"{part}.")]
        above = max(owners, key=len, default="")
        seen[name] = seen[above] + 1 if owners else 0
        parameters = [entry for entry in unique(entries(own)) if entry.role.is_parameter]
        moving = [entry for entry in parameters if entry.role is Role.PARAMETER]
        sizes, free = (sum([entry.tensor.size for entry in some]) for some in (parameters, moving))
        label = name.removeprefix(f"{above}.") if above else name
        assert isinstance(module, Module)
        yield module, SummaryRow(name, label, text.title(own), seen[name], sizes, free)


def _own_flops(nodes: Sequence[Node], first: int, device: Device) -> float:
    """Return the operations between what was there when a module was called and what it gave."""

    def is_leaf(node: Node) -> bool:
        return node.serial < first or holds_values(node)

    made = [node for node in nodes if not is_leaf(node)]
    return estimate_on(made, device, is_leaf).flops if made else 0.0


def _nodes(results: Any) -> list[Node]:
    leaves: list[Any] = []
    flatten(results, leaves)
    return [leaf.node for leaf in leaves if isinstance(leaf, Tensor)]


def _imagined(model: Module, inputs: Sequence[Any]) -> tuple[Module, list[Any]]:
    """Return a copy of a model and of its inputs whose tensors hold nothing."""
    if not isinstance(model, Module):
        raise ArgumentError(f"summary: takes a module, got {type(model).__name__}")
    given = [zeros(shape) if _is_shape(shape) else shape for shape in inputs]
    leaves: list[Any] = []
    structure = flatten((model, given), leaves)
    dry = [
        leaf if isinstance(leaf, int | float | complex) else _dry(operand(leaf)) for leaf in leaves
    ]
    copied, own = build(structure, iter(dry))
    return copied, own


def _is_shape(value: Any) -> bool:
    return isinstance(value, tuple) and all(type(size) is int for size in value)


def _dry(tensor: Tensor) -> Tensor:
    return Tensor(described(tensor.node, IMAGINED))


def _device_of(model: Module, device: str | Device | None) -> Device:
    if device is not None:
        return Device(device)
    return next((entry.tensor.device for entry in entries(model)), default_device())


def _bytes(model: Module, *roles: Role) -> int:
    wanted = roles or (Role.PARAMETER, Role.FROZEN, Role.BUFFER, Role.UNSAVED)
    return sum([entry.tensor.nbytes for entry in unique(entries(model)) if entry.role in wanted])


@dataclass(frozen=True, repr=False)
class MemoryEstimate(Page):
    """What `estimate_memory` found, in bytes."""

    parameters: int
    """Parameters and statistics."""
    gradients: int
    """Gradients of the parameters that are not frozen, if all of them are kept."""
    optimizer: int
    """The state of the optimiser."""
    forward: Estimate
    """What one call takes, or the loss if one is given."""
    training: Estimate
    """What a loss and all gradients take, without the optimiser."""

    @property
    def peak(self) -> dict[Device, int]:
        """The most bytes that live at once while training: those of the loss and its gradients, and the optimiser's."""
        most = dict(self.training.peak)
        for device in list(most)[:1]:
            most[device] += self.optimizer
        return most

    def __repr__(self) -> str:
        return table([("memory", "bytes"), *self.figures()], right=(1,))

    def figures(self) -> list[tuple[str, str]]:
        """Return names and sizes as text."""
        plain = [
            ("parameters and statistics", self.parameters),
            ("gradients", self.gradients),
            ("optimiser", self.optimizer),
        ]
        peaks = [("a call, at most", self.forward.peak), ("a training step, at most", self.peak)]
        return [(name, human_bytes(size)) for name, size in plain] + [
            (f"{name}, on {device}", human_bytes(size))
            for name, peak in peaks
            for device, size in peak.items()
        ]


@overload
def estimate_memory(
    model: Module,
    *inputs: Any,
    loss: Callable[..., Any] | None = ...,
    optimizer: Any = ...,
    device: str | Device | None = ...,
) -> MemoryEstimate: ...
@overload
def estimate_memory(
    model: Module, *, context: int, batch: int = ..., bits: int | None = ...
) -> DecodingMemory: ...
def estimate_memory(
    model: Module,
    *inputs: Any,
    loss: Callable[..., Any] | None = None,
    optimizer: Any = None,
    device: str | Device | None = None,
    context: int | None = None,
    batch: int = 1,
    bits: int | None = None,
) -> MemoryEstimate | DecodingMemory:
    """Return what training a model takes, in bytes, or with `context` what generating takes: nothing is computed.

    A model that generates takes its weights, in `bits` 4 or 8 if these are given, and a cache for `batch` sequences of
    `context` positions: `weights`, `cache` and `total` have the bytes.

    `inputs` are as for `summary`. `loss(model, *inputs)` gives the number to differentiate: the sum of what the model
    gives, if not given. `optimizer` is one of `tfr.optim`, whose state for the model counts; it does not change.

    >>> model = tfr.nn.Linear(100, 10)
    >>> found = tfr.nn.estimate_memory(model, (32, 100), optimizer=tfr.optim.Adam(1e-3))
    >>> found.parameters, found.gradients, found.optimizer
    (4040, 4040, 8084)
    """
    if context is not None:
        return decoding_memory(model, context, batch, bits)
    dry, given = _imagined(model, inputs)
    where = _device_of(model, device)
    results = dry(*given) if loss is None else loss(dry, *given)
    forward = estimate_on(_nodes(results), where)
    value, gradient = value_and_grad(loss or _summed)(dry, *given)
    training = estimate_on(_nodes((value, gradient)), where)
    state = 0
    if optimizer is not None:
        own = copy.copy(optimizer)
        own.init(dry)
        state = sum([node.nbytes for node in _nodes((own.state, own.step))])
    gradients = _bytes(model, Role.PARAMETER)
    return MemoryEstimate(_bytes(model), gradients, state, forward, training)


def _summed(model: Module, *inputs: Any) -> Tensor:
    leaves: list[Any] = []
    flatten(model(*inputs), leaves)
    sums = [total(leaf) for leaf in leaves if isinstance(leaf, Tensor) and leaf.dtype in FLOAT]
    if not sums:
        raise GradientError(
            "estimate_memory: the model gives no floating-point tensor to differentiate",
            suggestions=("loss=..., a function of the model and its inputs that gives a number",),
        )
    result: Tensor = sums[0]
    for other in sums[1:]:
        result = result + other
    return result
