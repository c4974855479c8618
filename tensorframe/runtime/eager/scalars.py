"""Scalars that are known: elements of computed tensors, and what is made of them, which programs go through one by one.

To record an op, to look it up and to run it on arrays without axes takes ten times as long as the op, and arrays of one
element are no cheap numbers either: NumPy has scalars for them. So what is selected from a computed tensor in host
memory is such a scalar, in a node that makes an array of it for whoever asks for one; and arithmetic with, and
comparisons of, such numbers happen at once, where no option has results checked and no gradient is being recorded.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tensorframe.backends import spans
from tensorframe.backends.silence import silently
from tensorframe.backends.storage import Storage
from tensorframe.config import Options, Process, overridden
from tensorframe.dtypes import DType, bool_
from tensorframe.graph.device import Device
from tensorframe.graph.history import needing_nodes
from tensorframe.graph.node import Node, next_serial
from tensorframe.graph.op import Op
from tensorframe.ops.creation import DATA

_FLOATS: Final = frozenset({np.float32, np.float64})
# NumPy's scalars that are kept as they are; others, such as bfloat16 or complex numbers, stay arrays.
SCALARS: Final = frozenset(
    {
        *(np.bool_, np.float32, np.float64, np.int8, np.int16, np.int32, np.int64),
        *(np.uint8, np.uint16, np.uint32, np.uint64),
    }
)
# Operators that are rounded once, and those without rounding: the scalars' have the bits of the rows' everywhere.
_ARITHMETIC: Final = frozenset({"add", "sub", "mul", "truediv"})
_COMPARISONS: Final = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})


class Number(Node):
    """The node of a known number: what all of them share stands in the class, since a loop makes one in each step."""

    __slots__ = ("_stored", "value")

    op = DATA
    inputs = ()
    attrs = ()
    shape = ()
    site = None
    spent = 0.0

    value: Any
    _stored: Storage | None

    # who makes one sets what it has, as in `scalar_node`: a constructor of Python takes two thirds of the time
    if TYPE_CHECKING:

        def __init__(self) -> None: ...

    else:
        __init__ = object.__init__

    @property
    def storage(self) -> Storage:
        """The number as an array that nobody writes to, made when it is first needed."""
        stored = self._stored
        if stored is None:
            array = np.asarray(self.value)
            array.flags.writeable = False  # nodes of truth values are shared
            stored = self._stored = Storage(self.device, array, self.dtype, ())
        return stored


def scalar_node(value: Any, dtype: DType, device: Device) -> Number:
    """Return the node of a NumPy scalar, which is one of `SCALARS`."""
    number = Number()
    number.dtype = dtype
    number.device = device
    number.serial = next_serial()
    number.value = value
    number._stored = None
    return number


class Allowed:
    """The options seen last under which numbers, and few elements, are computed with at once."""

    options: Options | None = None


def are_allowed(options: Options) -> bool:
    """Whether no option has results checked, or asks for plans of all that is small."""
    if options.validate or options.check_nan or not (options.small_size and options.small_nodes):
        return False
    Allowed.options = options
    return True


# What computes with a known number and another one, or one of Python's: None where that is to be recorded.
AtOnce = Callable[[Number, Any], Number | None]


def at_once(op: Op, *, reflected: bool = False) -> AtOnce | None:
    """Return what computes a two-operand op of known numbers; None for an op that is none of NumPy's scalars.

    `reflected` has the known number on the right.
    """
    name = op.operator
    if name in _COMPARISONS:
        return _comparing(getattr(operator, name), reflected=reflected)
    if name in _ARITHMETIC:
        return _computing(getattr(operator, name), reflected=reflected)
    return None


def _computing(function: Callable[[Any, Any], Any], *, reflected: bool) -> AtOnce:
    def compute(number: Number, other: Any) -> Number | None:
        value, dtype = number.value, number.dtype
        if type(other) is Number:
            if other.dtype is not dtype or other.device is not number.device:
                return None
            other = other.value
        elif type(other) is not float and type(other) is not int:
            return None
        options = overridden() or Process.base
        if (
            needing_nodes
            or spans.onlookers
            or (options is not Allowed.options and not are_allowed(options))
        ):
            return None
        try:
            result = (
                silently(function, other, value) if reflected else silently(function, value, other)
            )
        except Exception:
            return None  # what is recorded instead says what is wrong
        # another dtype is the outcome of NumPy's rules, which are not ours
        if type(result) is not type(value):
            return None
        # `scalar_node` written out: half of the time of such functions is calling them
        node = Number()
        node.dtype = dtype
        node.device = number.device
        node.serial = next_serial()
        node.value = result
        node._stored = None
        return node

    return compute


def _comparing(function: Callable[[Any, Any], Any], *, reflected: bool) -> AtOnce:
    answers: dict[int, tuple[Number, Number]] = {}

    def compare(number: Number, other: Any) -> Number | None:
        value, device = number.value, number.device
        if type(other) is Number:
            if other.dtype is not number.dtype or other.device is not device:
                return None
            other = other.value
        elif type(other) is not int and (type(other) is not float or type(value) not in _FLOATS):
            return None
        options = overridden() or Process.base
        if (
            needing_nodes
            or spans.onlookers
            or (options is not Allowed.options and not are_allowed(options))
        ):
            return None
        try:
            answer = function(other, value) if reflected else function(value, other)
        except Exception:
            return None  # what is recorded instead says what is wrong
        both = answers.get(device.number)
        if both is None:
            both = answers[device.number] = (
                scalar_node(np.False_, bool_, device),
                scalar_node(np.True_, bool_, device),
            )
        return both[1] if answer else both[0]

    return compare
