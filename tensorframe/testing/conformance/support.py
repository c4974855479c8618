"""Support: whether a device computes an operation of a dtype itself, told by a plan of it, of which nothing runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

import tensorframe as tfr
from tensorframe import config
from tensorframe.backends.dry.engine import DryHandle
from tensorframe.backends.registry import backend_of, capabilities, named_device
from tensorframe.backends.storage import Storage
from tensorframe.backends.support import Function, Support
from tensorframe.dtypes import DType, bool_
from tensorframe.errors import ArgumentError, TensorFrameError
from tensorframe.frontend.tensor import Tensor
from tensorframe.frontend.trees import flatten
from tensorframe.graph.device import CPU, Device
from tensorframe.graph.holding import holds
from tensorframe.graph.node import Node
from tensorframe.graph.op import Kind, Op, find, rows
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape, as_shape
from tensorframe.ops.creation import DATA
from tensorframe.ops.movement import ALIAS
from tensorframe.runtime.execution.leaves import as_run
from tensorframe.schedule import fallback
from tensorframe.schedule.capture import capture
from tensorframe.schedule.plan import Plan, StepKind
from tensorframe.testing.conformance.calls import CALLS, WITHOUT
from tensorframe.testing.conformance.operations import SHAPE, function_of

SQUARE = (4, 4)
# besides, what functions that `jit` records have in the place of arguments: its call computes
_INTERNAL = WITHOUT | {"argument"}


def answer(
    op: str | Function, device: str | Device, dtype: Any, shape: tuple[int, ...] | None = None
) -> Support:
    """Return what `tfr.backends.supports` does."""
    name, function = _named(op)
    place, wanted = named_device("supports", device), _dtype(dtype)
    if not holds(place, wanted):
        return Support(name, place, wanted, None, f"{place} holds no {wanted}")
    try:
        with config.override(transfer_policy="allow"), tfr.use_backend(place), fallback.silent():
            results = _results(name, function, place, wanted, shape)
            return _answer(name, place, wanted, results)
    except TensorFrameError as error:
        return Support(name, place, wanted, None, error.message)


def operations() -> tuple[str, ...]:
    """Return the names of the operations that `supports` knows, those of elements first."""
    known = [op for op in rows() if op.name not in _INTERNAL and _is_of_users(op)]
    return tuple([op.name for op in sorted(known, key=lambda op: op.kind is not Kind.MAP)])


def _is_of_users(op: Op) -> bool:
    return op.public or op.name in CALLS or hasattr(tfr.special, op.name)


def _named(op: str | Function) -> tuple[str, Function | None]:
    """Return an operation's name, and the function to call where it is no row."""
    name = op if isinstance(op, str) else getattr(op, "__name__", repr(op))
    if name in operations():
        return name, None
    if callable(op):
        return name, op
    hints = (*get_close_matches(str(name), operations(), 3), "a function, such as tfr.std")
    raise ArgumentError(f"supports: there is no operation {op!r:.80}", suggestions=hints)


def _dtype(dtype: Any) -> DType:
    return tfr.zeros(0, dtype=dtype, device=CPU).dtype


def _results(
    name: str,
    function: Function | None,
    device: Device,
    dtype: DType,
    given: tuple[int, ...] | None,
) -> Sequence[Tensor]:
    """Record the operation on operands that have no values."""
    shape = SHAPE if given is None else as_shape(given)
    if function is not None:
        made = function(_operand(shape, dtype, device))
    elif name in CALLS:
        # of what takes square matrices, stacks of those
        square = SQUARE if given is None or shape[-2:-1] != shape[-1:] else shape
        made = CALLS[name](_operand(shape, dtype, device), _operand(square, dtype, device))
    else:
        made = _elementwise(find(name), device, dtype, shape)
    leaves: list[Any] = []
    flatten(made, leaves)
    return [leaf for leaf in leaves if isinstance(leaf, Tensor)]


def _elementwise(op: Op, device: Device, dtype: DType, shape: Shape) -> Any:
    function = function_of(op)
    count = op.arity or 1
    dtypes = [bool_] * op.conditions + [dtype] * (count - op.conditions)
    return function(*[_operand(shape, operand, device) for operand in dtypes])


def _operand(shape: Shape, dtype: DType, device: Device) -> Tensor:
    handle = DryHandle(shape, dtype)
    storage = Storage(device, handle, dtype, shape)
    leaf = Node(DATA, (), (), shape, dtype, device, None, storage)
    # pending, since whoever copies values that are there copies them at once
    return Tensor(Node(ALIAS, (leaf,), (), shape, dtype, device, None))


def _answer(name: str, device: Device, dtype: DType, results: Sequence[Tensor]) -> Support:
    from tensorframe.schedule.pipeline import make_plan  # loads what a plain import can do without

    pending = [tensor.node for tensor in results]
    plan = make_plan(capture(as_run(pending), keep_held=False))
    elsewhere = [
        step
        for step in plan.steps
        if step.kind is not StepKind.TRANSFER and step.device is not device
    ]
    if not elsewhere:
        return Support(name, device, dtype, device, _bottleneck(plan, device))
    reasons = [reason for step in elsewhere for reason in _reasons(step.region, device)]
    # what the device could do runs elsewhere where its result lives there
    return Support(
        name, device, dtype, elsewhere[0].device, reasons[0] if reasons else _lost(results, device)
    )


def _bottleneck(plan: Plan, device: Device) -> str:
    """Return why a step of a chunked device does not run in blocks; empty if all do."""
    if not capabilities(device).chunked:
        return ""
    backend = backend_of(device)
    steps = [step for step in plan.steps if step.kind is not StepKind.TRANSFER]
    reasons = [backend.bottleneck(step.region, device) for step in steps]
    return next((reason for reason in reasons if reason is not None), "")


def _reasons(region: Region, device: Device) -> Iterator[str]:
    for step in region.ops:
        operands = [region.dtype_of(source) for source in step.inputs]
        reason = fallback.refusal(step.op, operands, step.dtype, device)
        if reason is not None:
            yield reason


def _lost(results: Sequence[Tensor], device: Device) -> str:
    homes = {str(result.device): None for result in results if result.device is not device}
    return f"its result lives on {', '.join(homes) or CPU}"
