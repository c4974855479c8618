"""Remembering: what a call recorded, by the shapes and dtypes of its tensors and its other arguments.

To read axes and sizes, to check them and to choose ops takes several times as long as to record these. A loop calls
with the same arguments, and what is recorded depends on nothing else: the second call records the same nodes at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from tensorframe.backends.registry import default_device, resolve_device
from tensorframe.dtypes import FLOATING, default_float
from tensorframe.frontend.dispatch import handle_on
from tensorframe.frontend.operand_nodes import all_tensors
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import Device
from tensorframe.graph.history import all_as_nodes
from tensorframe.graph.node import Node, new_node, next_serial, ticks
from tensorframe.graph.precision import autocast_dtype
from tensorframe.ops.creation import CONSTANT, DATA
from tensorframe.site import is_ours, recording_site

_frame = sys._getframe
_blank = object.__new__
# Calls of one function, the nodes of one call, and the elements of a value among these, that are remembered at most.
_CALLS, _NODES, _ELEMENTS = 1024, 64, 64
# Tensors of a sequence up to which a call is remembered: they are compared with each other.
_TENSORS = 16
# Arguments that are equal only where they mean the same: True and 1.0 equal 1, and may be errors.
_PLAIN: frozenset[type] = frozenset({int, str, type(None)})

_INTEGERS: frozenset[type] = frozenset({int})
_SEQUENCES: frozenset[type] = frozenset({list, tuple})

# The inputs of a step of one operand.
_OF_THE_FIRST = (0,)

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


# A node of a recording: its op, inputs, attributes, shape, dtype and device. Inputs are places among the operands, the
# numbers and the nodes before it. These are tuples without names, which are taken apart in a fifth of the time.
_Step = tuple[Any, tuple[int, ...], tuple[Any, ...], tuple[int, ...], Any, Device]
# What a call recorded: the numbers beside its operands, its steps, and where its result is among all of these. Numbers
# are constants, and values of few elements that the call made, such as places of quantiles.
_Recording = tuple[tuple[Node, ...], tuple[_Step, ...], int]


def remembered(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Decorate a function of one tensor, or a sequence of tensors, the first argument: see `remembered_of`."""
    return remembered_of(1)(function)


def remembered_of(
    count: int,
) -> Callable[[Callable[_Arguments, _Result]], Callable[_Arguments, _Result]]:
    """Return the decorator of functions that record what follows from the shapes and dtypes of `count` leading tensors.

    Without tensors it follows from the other arguments alone. They read no element. A list or a tuple of tensors may be
    in a tensor's place. Remembered are calls of floating-point tensors on one device, with numbers, strings, None and
    tuples of integers beside them; all others go the long way, and so do those inside `autocast`, and those that made
    large values of their own or very many nodes.
    """

    def decorate(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
        known: dict[tuple[Any, ...], _Recording] = {}

        @wraps(function)
        def record(*values: Any, **options: Any) -> Any:
            operands: list[Node] = []
            key: list[Any] = [default_float()]
            for place, value in enumerate(values):
                kind = type(value)
                if place < count:
                    if kind is Tensor:
                        tensors: Any = (value,)
                    elif kind in _SEQUENCES and 0 < len(value) <= _TENSORS and all_tensors(value):
                        tensors = value
                        key.append(len(value))
                    else:
                        return function(*values, **options)
                    for tensor in tensors:
                        node = tensor.node
                        if node.dtype not in FLOATING:
                            return function(*values, **options)
                        same_as = operands.index(node) if node in operands else -1
                        key += (node.shape, node.dtype, same_as)
                        operands.append(node)
                elif kind in _PLAIN:
                    key.append(value)
                elif _is_told_apart(value, kind):
                    key.append((kind, value or str(value)))
                else:
                    return function(*values, **options)
            for name, value in options.items():
                kind = type(value)
                if kind is str and name == "device":
                    key.append(
                        (name, resolve_device(value).number)
                    )  # which one "auto" is may change
                elif kind in _PLAIN or _is_told_apart(value, kind):
                    key.append((name, kind, value or str(value)))
                else:
                    return function(*values, **options)
            if not _is_usual(operands):
                return function(*values, **options)
            key.append((operands[0].device if operands else default_device()).number)
            same = known.get(tuple(key))
            if same is not None:
                return _recorded_again(same, operands)
            first = next_serial()
            with all_as_nodes():
                result = function(*values, **options)
            recording = _recording_of(result, operands, first)
            if recording is not None:
                if len(known) >= _CALLS:
                    known.clear()
                known[tuple(key)] = recording
            return result

        soonest = _SOONEST.get(count)
        return record if soonest is None else soonest(record)

    return decorate


def _of_integers(record: Callable[..., Any]) -> Callable[..., Any]:
    """Return what records a function without tensors: calls with nothing but integers and shapes are known sooner."""
    known: dict[tuple[Any, ...], _Recording] = {}
    sources: dict[tuple[Any, ...], _Step] = {}

    @wraps(record)
    def record_of_integers(*values: Any, **options: Any) -> Any:
        if options:
            return record(*values, **options)
        for value in values:
            if type(value) is not int:  # most are
                if not _are_plain(values):
                    return record(*values)
                break
        key = (values, default_float(), default_device().number)
        source = sources.get(key)
        if source is None:
            same = known.get(key)
            return first_of(key) if same is None else _recorded_again(same, [])
        # `recorded` written out, as in `dispatch`
        frame = _frame(1)
        code = frame.f_code
        handle = _blank(Tensor)
        handle.node = node = _blank(Node)
        node.op, _, node.attrs, node.shape, node.dtype, node.device = source
        node.inputs = ()
        node.site = recording_site() if is_ours[code.co_filename] else (code, frame.f_lasti)
        node.storage = None
        node.spent = 0.0
        node.serial = serial = next_serial()
        if serial >= ticks.due:
            ticks.tick(node)
        return handle

    def first_of(key: tuple[Any, ...]) -> Any:
        first = next_serial()
        result = record(*key[0])
        recording = _recording_of(result, [], first)
        if recording is not None and autocast_dtype.get() is None:
            if len(known) + len(sources) >= _CALLS:
                known.clear()
                sources.clear()
            numbers, steps, _ = recording
            if len(steps) == 1 and not numbers:
                sources[key] = steps[0]
            else:
                known[key] = recording
        return result

    record_of_integers.around = _of_integers  # type: ignore[attr-defined]  # see `other_data`
    return record_of_integers


def _of_one_tensor(record: Callable[..., Any]) -> Callable[..., Any]:
    """Return what records a function of a tensor: calls with integers and shapes beside it are known sooner."""
    # None: what such calls record is not known
    known: dict[tuple[Any, ...], _Recording | None] = {}

    @wraps(record)
    def record_of_one(*values: Any, **options: Any) -> Any:
        if not values or type(values[0]) is not Tensor:
            return record(*values, **options)
        source = values[0].node
        key: Any = (source.shape, source.dtype, source.device.number, default_float())
        if len(values) > 1:
            rest = values[1:]
            if not _are_plain(rest):
                return record(*values, **options)
            key += rest
        if options:
            if not _are_plain(options.values()):
                return record(*values, **options)
            key += tuple(options.items())
        same = known.get(key)
        if same is None:
            if key in known or not _is_usual([source]):
                return record(*values, **options)
            return first_of(key, source, values, options)
        # such as `_is_usual` wants it, whose dtypes are in the key
        if (source.storage is None and not source.inputs) or autocast_dtype.get() is not None:
            return record(*values, **options)
        numbers, steps, _ = same
        if numbers or len(steps) != 1:
            return _recorded_again(same, [source])
        # `recorded` written out, as in `dispatch`
        frame = _frame(1)
        code = frame.f_code
        handle = _blank(Tensor)
        handle.node = node = _blank(Node)
        node.op, _, node.attrs, node.shape, node.dtype, node.device = steps[0]
        node.inputs = (source,)
        node.site = recording_site() if is_ours[code.co_filename] else (code, frame.f_lasti)
        node.storage = None
        node.spent = 0.0
        node.serial = serial = next_serial()
        if serial >= ticks.due:
            ticks.tick(node)
        return handle

    def first_of(key: Any, source: Node, values: tuple[Any, ...], options: dict[str, Any]) -> Any:
        first = next_serial()
        result = record(*values, **options)
        recording = _recording_of(result, [source], first)
        if recording is not None and len(recording[1]) == 1 and recording[1][0][1] != _OF_THE_FIRST:
            recording = None  # made of the tensor twice, or of none of it
        if len(known) >= _CALLS:
            known.clear()
        known[key] = recording
        return result

    record_of_one.around = _of_one_tensor  # type: ignore[attr-defined]  # see `other_data`
    return record_of_one


def _are_plain(values: Iterable[Any]) -> bool:
    """Whether arguments are integers, tuples of them, or None, which are equal only where they mean the same."""
    for value in values:
        kind = type(value)
        if kind is tuple:
            for part in value:
                if type(part) is not int:
                    return False
        elif kind is not int and value is not None:
            return False
    return True


# What knows the most usual calls of functions of so many tensors sooner.
_SOONEST = {0: _of_integers, 1: _of_one_tensor}


def _is_told_apart(value: Any, kind: type) -> bool:
    """Whether arguments mean the same where their kinds, and their texts if they are zero, are equal."""
    return (
        kind is bool or kind is float or (kind is tuple and _INTEGERS.issuperset(map(type, value)))
    )


def _is_usual(operands: list[Node]) -> bool:
    """Whether what is recorded of operands is a matter of shapes and dtypes: numbers are computed with at once."""
    if autocast_dtype.get() is not None:
        return False
    for node in operands:
        if (
            node.dtype not in FLOATING
            or node.device is not operands[0].device
            or (node.storage is None and not node.inputs)
        ):
            return False
    return True


def _recording_of(result: Any, operands: list[Node], first: int) -> _Recording | None:
    """Return what was recorded since the serial number `first`; None if there is more to it than nodes and numbers."""
    if type(result) is not Tensor or result.node.storage is not None:
        return None
    nodes, numbers = [result.node], []
    for node in nodes:  # grows while it is walked
        if node in operands:
            continue
        if len(nodes) > _NODES:
            return None
        if _is_constant(node) or _is_small_value(node, first):
            numbers.append(node)
        elif node.storage is not None or node.serial < first:
            return None
        nodes += [source for source in dict.fromkeys(node.inputs) if source not in nodes]
    made = sorted(set(nodes).difference(operands, numbers), key=lambda node: node.serial)
    places = {node: place for place, node in enumerate((*operands, *numbers, *made))}
    steps = [
        (
            node.op,
            tuple([places[source] for source in node.inputs]),
            node.attrs,
            node.shape,
            node.dtype,
            node.device,
        )
        for node in made
    ]
    return tuple(numbers), tuple(steps), places[result.node]


def _is_constant(node: Node) -> bool:
    return node.op is CONSTANT and node.storage is None


def _is_small_value(node: Node, first: int) -> bool:
    """Whether the node is a few elements in host memory that were made since the serial number `first`."""
    return (
        node.op is DATA
        and node.serial >= first
        and node.size <= _ELEMENTS
        and type(node.storage.handle) is np.ndarray
        and node.storage.handle.base is None  # no view of an operand
    )


def _recorded_again(recording: _Recording, operands: list[Node]) -> Tensor:
    """Return the result of the same nodes on other operands, recorded by the caller's line."""
    frame = _frame(2)
    code = frame.f_code
    site = recording_site(3) if is_ours[code.co_filename] else (code, frame.f_lasti)
    numbers, steps, result = recording
    if (
        len(steps) == 1 and steps[0][1] == _OF_THE_FIRST and operands
    ):  # a step is the last thing there is
        op, _, attrs, shape, dtype, device = steps[0]
        return handle_on(new_node(op, (operands[0],), attrs, shape, dtype, device, site))
    nodes = operands
    nodes += numbers
    for op, inputs, attrs, shape, dtype, device in steps:
        if len(inputs) == 1:
            sources: tuple[Node, ...] = (nodes[inputs[0]],)
        else:
            sources = tuple([nodes[place] for place in inputs])
        nodes.append(new_node(op, sources, attrs, shape, dtype, device, site))
    return handle_on(nodes[result])
