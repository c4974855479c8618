"""Dispatch: operands become a recorded node, the node becomes a Tensor."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from tensorframe import dtypes
from tensorframe.dtypes import DType
from tensorframe.errors import DTypeError, OutOfRangeError
from tensorframe.frontend.operand_nodes import (
    FLOATING_KINDS,
    PYTHON_NUMBERS,
    as_nodes,
    weak_constant,
)
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import CPU, Device
from tensorframe.graph.node import Node, next_serial, ticks
from tensorframe.graph.op import Op
from tensorframe.graph.precision import autocast_dtype, suited
from tensorframe.graph.record import record, record_map, shared_cast
from tensorframe.graph.shape import Shape, broadcast
from tensorframe.graph.tracing import TracedNumber
from tensorframe.ops.creation import CONSTANT
from tensorframe.ops.elementwise import POW, SQUARE
from tensorframe.runtime.eager.scalars import Number
from tensorframe.runtime.eager.scalars import at_once as computing_at_once
from tensorframe.schedule.place import choose_device
from tensorframe.site import is_ours, recording_site

_frame = sys._getframe
# what Tensor's constructor checks, recording knows: it makes handles without it, in half the time
_blank = object.__new__


def handle_on(node: Node) -> Tensor:
    """Return a new handle on a node that was recorded."""
    handle = _blank(Tensor)
    handle.node = node
    return handle


def recorded(
    op: Op,
    inputs: tuple[Node, ...],
    attrs: tuple[Any, ...],
    shape: Shape,
    dtype: DType,
    device: Device,
) -> Tensor:
    """Return a handle on a new node, whose shape, dtype and device are known to be right, of the line that called.

    That is the caller's caller: functions of the namespace call this themselves. The handle, the node's constructor and
    `recording_site` are written out: half of the time of such functions is calling them.
    """
    frame = _frame(2)
    code = frame.f_code
    handle = _blank(Tensor)
    handle.node = node = _blank(Node)
    node.op = op
    node.inputs = inputs
    node.attrs = attrs
    node.shape = shape
    node.dtype = dtype
    node.device = device
    if is_ours[code.co_filename]:
        node.code = recording_site(3)
    else:
        node.code = code
        node.offset = frame.f_lasti
    node.storage = None
    node.spent = 0.0
    node.serial = serial = next_serial()
    if serial >= ticks.due:
        ticks.tick(node)
    return handle


_REAL_NUMBERS: frozenset[type] = frozenset({int, float})

# what leaves bools as they are, in NumPy too
_KEEPING_BOOLS = frozenset({"abs", "ceil", "floor", "real", "trunc"})

# what sees to the options of a call: of the op, what records it without, its operands, `out=`, and those by name
Options = Callable[[Op, Callable[..., Any], tuple[Any, ...], Any, dict[str, Any]], Any]


def _no_options(op: Op, _record: Any, _operands: Any, _out: Any, _options: Any) -> Any:
    raise TypeError(f"{op.name}: takes its operands alone")


def recorder_of_one(
    op: Op,
    otherwise: Callable[[Any], Any] | None = None,
    with_options: Options = _no_options,
) -> Callable[..., Any]:
    """Return what records a one-operand op, by the short way where nothing has to be converted.

    Other operands go `otherwise`, calls with options `with_options`. A function of its own for each op has all at hand
    that does not change.
    """
    convert = otherwise or partial(_general, op)
    result_of = op.uniform.get
    is_any_precision = op.precision is None
    usual: tuple[DType | None, DType | None] = (None, None)  # see `recorder_of_two`

    def record_one(x: Any, /, out: Any = None, **options: Any) -> Any:
        nonlocal usual
        if options or out is not None:
            return with_options(op, record_one, (x,), out, options)
        if type(x) is not Tensor:
            return convert(x)
        source = x.node
        dtype, result = usual
        if source.dtype is not dtype:
            result = result_of(source.dtype)
            usual = (source.dtype, result) if result is not None else usual
        if result is None or not (is_any_precision or autocast_dtype.get() is None):
            return convert(x)
        # `recorded` written out, here and below: a twelfth of the time of a small function is calling it
        frame = _frame(1)
        code = frame.f_code
        handle = _blank(Tensor)
        handle.node = node = _blank(Node)
        node.op = op
        node.inputs = (source,)
        node.attrs = ()
        node.shape = source.shape
        node.dtype = result
        node.device = source.device
        if is_ours[code.co_filename]:
            node.code = recording_site()
        else:
            node.code = code
            node.offset = frame.f_lasti
        node.storage = None
        node.spent = 0.0
        node.serial = serial = next_serial()
        if serial >= ticks.due:
            ticks.tick(node)
        return handle

    return record_one


def recorder_of_two(
    op: Op,
    otherwise: Callable[[Any, Any], Any] | None = None,
    with_options: Options = _no_options,
    *,
    promotes: bool = False,
    is_reflected: bool = False,
) -> Callable[..., Any]:
    """Return what records a two-operand op, by the short way where nothing has to be converted.

    Other operands go `otherwise`, and numbers that do not fit the tensor beside them. Tensors of two dtypes do not
    where the op `promotes` them and nothing else: they are cast here. A reflected operator is given its right operand
    first. Every operator is one of these, so each line counts: a recorded op must cost no more than about 1 us.
    """
    convert = otherwise or partial(_general, op)
    result_of = op.uniform.get
    is_any_precision = op.precision is None
    # x ** 2 is square(x), as in NumPy: a plan would make it that, and small tensors are to have the same bits
    is_power = op is POW
    at_once, reflected = computing_at_once(op), computing_at_once(op, reflected=True)
    # What the last call had, to be compared by identity: the operands' dtype, with that of the result, and the number
    # of the program's text beside a tensor of some dtype and device, with its node. To look these up takes ten times as
    # long. Each is replaced in one step, since threads record at the same time.
    usual: tuple[DType | None, DType | None] = (None, None)
    latest: tuple[Any, ...] = (None, None, None, None)

    def record_two(x1: Any, x2: Any, /, out: Any = None, **options: Any) -> Any:
        nonlocal usual, latest
        if options or out is not None:
            return with_options(op, record_two, (x1, x2), out, options)
        if is_reflected:
            x1, x2 = x2, x1
        try:
            if type(x1) is Tensor:
                left = x1.node
                if type(left) is Number and at_once is not None:
                    known = at_once(left, x2.node if type(x2) is Tensor else x2)
                    if known is not None:
                        handle = _blank(Tensor)
                        handle.node = known
                        return handle
                if type(x2) is Tensor:
                    right = x2.node
                elif type(x2) in PYTHON_NUMBERS:
                    if is_power and _is_squared(left, x2):
                        return recorded(SQUARE, (left,), (), left.shape, left.dtype, left.device)
                    number, like, home, right = latest
                    if x2 is not number or left.dtype is not like or left.device is not home:
                        right = weak_constant(x2, left.dtype, left.device)
                        if right.dtype is left.dtype and type(x2) is not TracedNumber:
                            latest = (x2, right.dtype, left.device, right)
                else:
                    return convert(x1, x2)
            elif type(x2) is Tensor and type(x1) in PYTHON_NUMBERS:
                right = x2.node
                if type(right) is Number and reflected is not None:
                    known = reflected(right, x1)
                    if known is not None:
                        return handle_on(known)
                number, like, home, left = latest
                if x1 is not number or right.dtype is not like or right.device is not home:
                    left = weak_constant(x1, right.dtype, right.device)
                    if left.dtype is right.dtype and type(x1) is not TracedNumber:
                        latest = (x1, left.dtype, right.device, left)
            else:
                return convert(x1, x2)
        except OutOfRangeError:
            return convert(x1, x2)
        device = left.device
        dtype, result = usual
        if left.dtype is not dtype:
            dtype = left.dtype
            result = result_of(dtype)
            usual = (dtype, result) if result is not None else usual
        if (
            result is None
            or right.dtype is not dtype
            or right.device is not device
            or not (is_any_precision or autocast_dtype.get() is None)
        ):
            if not promotes or right.device is not device or device is not CPU:
                return convert(x1, x2)
            resolved = _resolved(op, left, right)
            if resolved is None:
                return convert(x1, x2)
            compute, result = resolved
            if dtype is not compute:
                left = shared_cast(left, compute)
            if right.dtype is not compute:
                right = shared_cast(right, compute)
        shape, other = left.shape, right.shape
        if other is not shape and other and other != shape:
            shape = broadcast(op.name, shape, other) if shape else other
        frame = _frame(1)
        code = frame.f_code
        handle = _blank(Tensor)
        handle.node = node = _blank(Node)
        node.op = op
        node.inputs = (left, right)
        node.attrs = ()
        node.shape = shape
        node.dtype = result
        node.device = device
        if is_ours[code.co_filename]:
            node.code = recording_site()
        else:
            node.code = code
            node.offset = frame.f_lasti
        node.storage = None
        node.spent = 0.0
        node.serial = serial = next_serial()
        if serial >= ticks.due:
            ticks.tick(node)
        return handle

    return record_two


def _is_squared(node: Node, exponent: Any) -> bool:
    """Whether to the power of a number means to be multiplied by itself, in the node's dtype."""
    return (
        type(exponent) in _REAL_NUMBERS
        and exponent == 2
        and node.dtype in SQUARE.accepts
        and autocast_dtype.get() is None
    )


def _resolved(op: Op, left: Node, right: Node) -> tuple[DType, DType] | None:
    """Return what operands of two dtypes are cast to, and the dtype of the result; None where that is not all to do."""
    if op.precision is not None and autocast_dtype.get() is not None:
        return None
    pair = (left.dtype, right.dtype)
    if (left.op is CONSTANT or right.op is CONSTANT) and not (
        pair[0].kind in FLOATING_KINDS and pair[1].kind in FLOATING_KINDS
    ):
        return None
    return op.resolved.get(pair)


def _recorder_of_choice(op: Op) -> Callable[..., Any]:
    """Return what records an op of a condition and two operands, by the short way where nothing has to be converted."""

    def record_choice(condition: Any, x1: Any, x2: Any) -> Tensor:
        if type(condition) is not Tensor or condition.node.dtype is not dtypes.bool_:
            return _general(op, condition, x1, x2)
        tensor = x1 if type(x1) is Tensor else x2
        if type(tensor) is not Tensor:
            return _general(op, condition, x1, x2)
        dtype, device, shape = tensor.node.dtype, tensor.node.device, tensor.node.shape
        nodes = [condition.node]
        for value in (x1, x2):
            if type(value) is Tensor:
                nodes.append(value.node)
            elif type(value) in PYTHON_NUMBERS:
                nodes.append(weak_constant(value, dtype, device))
            else:
                return _general(op, condition, x1, x2)
        for node in nodes:
            is_alike = node.device is device and (node.dtype is dtype or node is nodes[0])
            if not is_alike or (node.shape != shape and node.shape):
                return _general(op, condition, x1, x2)
        result = op.resolve((dtype, dtype))[1]
        return recorded(op, tuple(nodes), (), shape, result, device)

    return record_choice


class _Recorders(dict[Op, Callable[..., Any]]):
    """What records elementwise ops, made when an op is first recorded by a function that takes it as an argument."""

    def __missing__(self, op: Op) -> Callable[..., Any]:
        recorder: Callable[..., Any]
        if op.arity == 1:
            recorder = recorder_of_one(op)
        elif op.arity == 2:
            recorder = recorder_of_two(op, promotes=True)
        else:
            is_choice = op.arity == 3 and op.conditions == 1 and op.precision is None
            recorder = _recorder_of_choice(op) if is_choice else partial(_general, op)
        self[op] = recorder
        return recorder


_recorders = _Recorders()


def unary(op: Op, x: Any) -> Tensor:
    """Record a one-operand op."""
    tensor: Tensor = _recorders[op](x)
    return tensor


def binary(op: Op, x1: Any, x2: Any) -> Tensor:
    """Record a two-operand op."""
    tensor: Tensor = _recorders[op](x1, x2)
    return tensor


def apply(op: Op, *operands: Any) -> Tensor:
    """Record an elementwise op on Tensors, arrays, sequences and Python numbers, and return its Tensor."""
    tensor: Tensor = _recorders[op](*operands)
    return tensor


def _general(op: Op, *operands: Any) -> Tensor:
    """Record an elementwise op whose operands may have to be made, converted or moved."""
    site = recording_site()
    nodes = suited(op, as_nodes(op, operands))
    if op.name in _KEEPING_BOOLS and nodes[0].dtype in dtypes.BOOL:
        return handle_on(nodes[0])
    try:
        return handle_on(record_map(op, nodes, device_of(nodes), site))
    except DTypeError:
        from tensorframe.frontend.ordering import (
            complex_order,  # few programs order complex numbers
        )

        tensors = tuple(map(handle_on, nodes))
        if not complex_order.has_order(op, *tensors):
            raise
        return complex_order.elementwise(op, *tensors)


def call(op: Op, *inputs: Tensor, attrs: tuple[Any, ...] = ()) -> Tensor:
    """Record an op whose inputs already share a dtype (where it needs one) and return its Tensor."""
    if op.precision is not None and autocast_dtype.get() is not None:
        inputs = tuple(map(handle_on, suited(op, tuple([tensor.node for tensor in inputs]))))
    if len(inputs) == 1:
        return handle_on(record(op, (inputs[0].node,), *attrs))
    nodes = tuple([tensor.node for tensor in inputs])
    return handle_on(record(op, nodes, *attrs, device=device_of(nodes)))


def device_of(nodes: tuple[Node, ...]) -> Device:
    """Return where an op on `nodes` runs."""
    device = nodes[0].device
    for node in nodes:
        if node.device is not device:
            return choose_device(nodes)
    return device
