"""Memoisation: what a call recorded, by the shapes and dtypes of its tensors and its other arguments.

To read axes and sizes, to check them and to choose ops takes several times as long as to record these. A loop calls
with the same arguments, and what is recorded depends on nothing else: the second call records the same nodes at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

from tensorframe.backends.registry import default_device, resolve_device
from tensorframe.dtypes import default_float
from tensorframe.frontend.fast_paths.call_recordings import (
    OF_THE_FIRST,
    Recording,
    Step,
    is_usual,
    recorded_again,
    recording_of,
)
from tensorframe.frontend.operand_nodes import all_tensors
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.history import all_as_nodes
from tensorframe.graph.node import Node, next_serial, ticks
from tensorframe.graph.precision import autocast_dtype
from tensorframe.ops.creation import CONSTANT
from tensorframe.site import is_ours, recording_site

_frame = sys._getframe
_blank = object.__new__
# Calls of one function that are remembered at most.
_CALLS = 1024
# Tensors of a sequence up to which a call is remembered: they are compared with each other.
_TENSORS = 16
# Arguments that are equal only where they mean the same: True and 1.0 equal 1, and may be errors.
_PLAIN: frozenset[type] = frozenset({int, str, type(None)})

_INTEGERS: frozenset[type] = frozenset({int})
_SEQUENCES: frozenset[type] = frozenset({list, tuple})

# An argument that was not given.
_ABSENT = object()
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def memoized(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Decorate a function of one tensor, or a sequence of tensors, the first argument: see `memoized_of`."""
    return memoized_of(1)(function)


def memoized_of(
    count: int,
) -> Callable[[Callable[_Arguments, _Result]], Callable[_Arguments, _Result]]:
    """Return the decorator of functions that record what follows from the shapes and dtypes of `count` leading tensors.

    Without tensors it follows from the other arguments alone. They read no element. A list or a tuple of tensors may be
    in a tensor's place. Remembered are calls of tensors on one device, with numbers, strings, None and
    tuples of integers beside them; all others go the long way, and so do those inside `autocast`, and those that made
    large values of their own or very many nodes.
    """

    def decorate(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
        known: dict[tuple[Any, ...], Recording] = {}

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
                        # such as `is_usual` wants it
                        if (operands and node.device is not operands[0].device) or (
                            not node.inputs and (node.storage is None or node.op is CONSTANT)
                        ):
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
            if autocast_dtype.get() is not None:
                return function(*values, **options)
            key.append((operands[0].device if operands else default_device()).number)
            same = known.get(tuple(key))
            if same is not None:
                return recorded_again(same, operands)
            first = next_serial()
            with all_as_nodes():
                result = function(*values, **options)
            recording = recording_of(result, operands, first)
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
    known: dict[tuple[Any, ...], Callable[[], Any]] = {}
    sources: dict[tuple[Any, ...], Step] = {}

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
            again = known.get(key)
            return first_of(key) if again is None else again()
        # `recorded` written out, as in `dispatch`: to call it takes a twelfth of the time of computing few elements
        frame = _frame(1)
        code = frame.f_code
        handle = _blank(Tensor)
        handle.node = node = _blank(Node)
        node.op, _, node.attrs, node.shape, node.dtype, node.device = source
        node.inputs = ()
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

    def first_of(key: tuple[Any, ...]) -> Any:
        first = next_serial()
        result = record(*key[0])
        recording = recording_of(result, [], first)
        if recording is not None and autocast_dtype.get() is None:
            if len(known) + len(sources) >= _CALLS:
                known.clear()
                sources.clear()
            numbers, steps, _ = recording
            if len(steps) == 1 and not numbers:
                sources[key] = steps[0]
            else:
                known[key] = partial(second_of, key, recording)
        return result

    def second_of(key: Any, recording: Recording) -> Any:
        from tensorframe.frontend.fast_paths.constant_results import (
            made_of_numbers,  # few programs call twice
        )

        known[key] = again = made_of_numbers(partial(recorded_again, recording, ()))
        return again()

    record_of_integers.around = _of_integers  # type: ignore[attr-defined]  # see `numpy_only_dtypes`
    return record_of_integers


def _of_one_tensor(record: Callable[..., Any]) -> Callable[..., Any]:
    """Return what records a function of a tensor: calls with integers and shapes beside it are known sooner."""
    # None: what such calls record is not known
    known: dict[tuple[Any, ...], Recording | None] = {}
    # The latest call of one step: its tensor's shape, dtype and device, the default dtype, its arguments, and the step.
    # To compare objects takes a quarter of the time of a key; none of these can change.
    latest: tuple[Any, ...] = (None,) * 7

    @wraps(record)
    def record_of_one(
        value: Any = _ABSENT,
        second: Any = _ABSENT,
        third: Any = _ABSENT,
        /,
        *rest: Any,
        **options: Any,
    ) -> Any:
        nonlocal latest
        if type(value) is not Tensor:
            return record(*_given(value, second, third, rest), **options)
        source, real = value.node, default_float()
        shape, dtype, device, real_before, second_before, third_before, step = latest
        same: Recording | None = None
        if (
            source.shape is not shape
            or source.dtype is not dtype
            or source.device is not device
            or second is not second_before
            or third is not third_before
            or real is not real_before
            or rest
            or options
        ):
            key: Any = (source.shape, source.dtype, source.device.number, real)
            values = (value,) if second is _ABSENT else _given(value, second, third, rest)
            if len(values) > 1:
                if not _are_plain(values[1:]):
                    return record(*values, **options)
                key += values[1:]
            if options:
                if not _are_plain(options.values()):
                    return record(*values, **options)
                key += tuple(options.items())
            same = known.get(key)
            if same is None:
                if key in known or not is_usual([source]):
                    return record(*values, **options)
                return first_of(key, source, values, options)
            numbers, steps, _ = same
            if len(steps) == 1 and not numbers:
                same, step = None, steps[0]
                if not rest and not options:
                    latest = (
                        source.shape,
                        source.dtype,
                        source.device,
                        real,
                        second,
                        third,
                        step,
                    )
        # such as `is_usual` wants it, whose dtypes are in the key
        if (source.storage is None and not source.inputs) or autocast_dtype.get() is not None:
            return record(*_given(value, second, third, rest), **options)
        if same is not None:
            return recorded_again(same, [source])
        # `recorded` written out, as in `dispatch`
        frame = _frame(1)
        code = frame.f_code
        handle = _blank(Tensor)
        handle.node = node = _blank(Node)
        node.op, _, node.attrs, node.shape, node.dtype, node.device = step
        node.inputs = (source,)
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

    def first_of(key: Any, source: Node, values: tuple[Any, ...], options: dict[str, Any]) -> Any:
        first = next_serial()
        result = record(*values, **options)
        recording = recording_of(result, [source], first)
        if recording is not None and len(recording[1]) == 1 and recording[1][0][1] != OF_THE_FIRST:
            recording = None  # made of the tensor twice, or of none of it
        if len(known) >= _CALLS:
            known.clear()
        known[key] = recording
        return result

    record_of_one.around = _of_one_tensor  # type: ignore[attr-defined]  # see `numpy_only_dtypes`
    return record_of_one


def _given(value: Any, second: Any, third: Any, rest: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments of a call, of which the first three have names, without those that were not given."""
    if third is not _ABSENT:
        return (value, second, third, *rest)
    if second is not _ABSENT:
        return (value, second)
    return () if value is _ABSENT else (value,)


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
