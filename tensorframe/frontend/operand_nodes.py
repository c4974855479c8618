"""Operand nodes: numbers, arrays and sequences that stand beside tensors become nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import copysign
from typing import Any

import numpy as np

from tensorframe import dtypes
from tensorframe.backends.registry import capabilities, default_device
from tensorframe.backends.storage import Storage
from tensorframe.dtypes import DType
from tensorframe.errors import DTypeError
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import CPU, Device
from tensorframe.graph.holding import holds
from tensorframe.graph.node import Node
from tensorframe.graph.op import Op
from tensorframe.graph.record import constant, record
from tensorframe.graph.tracing import TracedNumber, example
from tensorframe.ops.creation import DATA
from tensorframe.ops.movement import COPY
from tensorframe.site import Site, recording_site

PYTHON_NUMBERS: frozenset[type] = frozenset({bool, int, float, complex, TracedNumber})

# what is an operand as it is, or as soon as the dtypes beside it are known
_IN_SHORT: frozenset[type] = frozenset({Tensor, *PYTHON_NUMBERS})

# what stands for an array beside a tensor, as in NumPy
SEQUENCES = (list, tuple, range)

# dtypes that promotion is all there is to, of tensors and of numbers beside them
FLOATING_KINDS = frozenset("fc")


def as_nodes(op: Op, operands: tuple[Any, ...]) -> tuple[Node, ...]:
    """Return operands as nodes; Python numbers are weak: they take the dtype of the tensors beside them.

    Conditions stand beside nothing.
    """
    if all_tensors(operands):
        return tuple([operand.node for operand in operands])
    values: Sequence[Any] = operands
    nodes: list[Node | None]
    if _IN_SHORT.issuperset(map(type, operands)):
        nodes = [operand.node if type(operand) is Tensor else None for operand in operands]
    else:
        values = [plain(operand) for operand in operands]
        nodes = nodes_beside(values, as_node, op.conditions)
    partners = [node.dtype for node in nodes[op.conditions :] if node is not None]
    like = dtypes.promote(*partners) if partners else None
    if like in dtypes.INTEGER and op.accepts.isdisjoint(dtypes.INTEGER):
        like = dtypes.float_of(like)  # where integers become floats, a number need not fit theirs
    device = _device_beside(nodes) or default_device()
    return tuple(
        [
            node or weak_constant(value, like if index >= op.conditions else None, device)
            for index, (value, node) in enumerate(zip(values, nodes, strict=True))
        ]
    )


def all_tensors(values: Sequence[Any]) -> bool:
    """Whether nothing has to be made of these operands: most calls have Tensors only."""
    for value in values:  # noqa: SIM110 - a generator would take three times as long
        if type(value) is not Tensor:
            return False
    return True


def plain(value: Any) -> Any:
    """Return `value`; an instance of a subclass of int, float or complex as the number that it is."""
    if type(value) in PYTHON_NUMBERS or isinstance(value, np.generic):
        return value
    kind = next((kind for kind in (int, float, complex) if isinstance(value, kind)), None)
    return value if kind is None else kind(value)


def nodes_beside(
    values: Sequence[Any], as_array: Callable[[Any, Device | None], Node], free: int = 0
) -> list[Node | None]:
    """Return values as nodes, with None for Python numbers: their dtype is known when all others are.

    `as_array` gives the node of what is neither number nor sequence, from it and where the first Tensor lives. The
    first `free` values take no part in promotion.
    """
    home = home_of(values)
    nodes = [
        None
        if type(value) in PYTHON_NUMBERS or isinstance(value, SEQUENCES)
        else as_array(value, home)
        for value in values
    ]
    _add_sequences(values, nodes, free)
    return nodes


def _add_sequences(values: Sequence[Any], nodes: list[Node | None], free: int) -> None:
    """Set the nodes of those values that are sequences: arrays of the dtype that `asarray` gives them.

    They are made where the other nodes are, and in what these promote to if that is wider: a Python float that was
    float32 on its way to float64 would have lost digits.
    """
    places = [index for index, value in enumerate(values) if isinstance(value, SEQUENCES)]
    if not places:
        return
    from tensorframe.frontend.conversion.convert import (
        asarray,  # it records by dispatch, which needs us
    )

    device = _device_beside(nodes)
    for index in places:
        nodes[index] = asarray(values[index], device=device).node
    wide = dtypes.promote(*[node.dtype for node in nodes[free:] if node is not None])
    for index in places:
        node = nodes[index]
        if index >= free and node is not None and wide != node.dtype in dtypes.FLOATING:
            home = node.device if holds(node.device, wide) else CPU
            nodes[index] = asarray(values[index], dtype=wide, device=home).node


def _device_beside(nodes: Sequence[Node | None]) -> Device | None:
    """Return where the first operand lives that is no number."""
    return next((node.device for node in nodes if node is not None), None)


# nodes of Python numbers: the same few come again and again, and equal nodes merge when a plan is made
_constants: dict[tuple[Any, ...], Node] = {}
_CONSTANTS_KEPT = 1024


def weak_constant(value: Any, like: DType | None, device: Device) -> Node:
    """Return the constant node, shared by all, of a number beside a tensor of dtype `like`: no tensor may be of it."""
    if type(value) is TracedNumber:
        return new_constant(value, like, device)
    kind = type(value)
    named = value
    # 0.0 == -0.0: it takes their signs to tell zeros apart, which may be parts of complex numbers
    if kind is complex:
        named = (value, copysign(1, value.real), copysign(1, value.imag))
    elif not value:
        named = str(value)
    key = (kind, named, like, device.number)
    node = _constants.get(key)
    if node is None:
        node = new_constant(value, like, device)
        if len(_constants) >= _CONSTANTS_KEPT:
            _constants.clear()
        # beside others its dtype may depend on the default one
        if node.dtype is like or (like is not None and like.kind in FLOATING_KINDS):
            _constants[key] = node
    return node


def new_constant(value: Any, like: DType | None, device: Device) -> Node:
    """Return a constant node beside a tensor of dtype `like` that nobody else has, so that it may be computed."""
    known = example(value)
    dtype = dtypes.of_scalar(known) if like is None else dtypes.weak(known, like)
    return constant(fitting(value, dtype), dtype, device, recording_site())


def fitting(value: Any, dtype: DType) -> Any:
    """Return the Python number `value`; OutOfRangeError if `dtype` is an integer one that cannot hold it.

    A number whose value is not known yet is checked in every call.
    """
    if dtype.kind not in "iu":
        return value
    if type(value) is TracedNumber:
        return value.then(partial(fitting, dtype=dtype))
    dtypes.check_fits(value, dtype)
    return value


def home_of(values: Sequence[Any]) -> Device | None:
    """Return where the first Tensor lives; what is no Tensor is made beside it, wherever it stands among them."""
    return next((value.node.device for value in values if isinstance(value, Tensor)), None)


def as_node(value: Any, home: Device | None = None) -> Node:
    """Return the node of a Tensor, an array, or a sequence or object that `asarray` takes for one.

    Arrays are made on the device `home`, where it holds their dtype.
    """
    if isinstance(value, Tensor):
        return value.node
    if type(value) is np.ndarray or isinstance(value, np.generic):
        return data_node(np.array(value), home or CPU)
    from tensorframe.frontend.conversion import convert  # it records by dispatch, which needs us

    if isinstance(value, np.ndarray):
        from tensorframe.frontend.conversion.objects import refuse_mask  # of masked arrays

        refuse_mask(value)
        return data_node(np.array(value), home or CPU)
    if isinstance(value, SEQUENCES) or convert.holds_elements(value):
        return convert.asarray(value).node
    raise DTypeError(
        f"{type(value).__name__} is not an operand",
        suggestions=("tfr.asarray(...) first",),
    )


def data_node(array: np.ndarray[Any, Any], device: Device = CPU, site: Site | None = None) -> Node:
    """Return a node with the values of `array`, whose memory it shares where `device` works in host memory.

    Other devices get a copy when it is needed; what they cannot hold stays on the host.
    """
    dtype = dtypes.as_dtype(array.dtype)
    if array.dtype is not dtype:
        array = array.astype(dtype)
    home = device if capabilities(device).host_memory else CPU
    storage = Storage.of_array(home, array)
    node = Node(DATA, (), (), array.shape, dtype, home, site, storage)
    return node if home is device or not holds(device, dtype) else placed(node, device)


def placed(node: Node, device: Device) -> Node:
    """Return the node of the same values on `device`."""
    return node if node.device is device else record(COPY, (node,), device=device)
