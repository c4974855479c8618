"""Operators: Python's symbols for elementwise rows, on either side and in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorframe.frontend.dispatch import binary, recorder_of_one, recorder_of_two
from tensorframe.frontend.elementwise.comparisons import (
    EQUALITIES,
    RECORDERS,
    compare,
    compare_elements,
    compare_object,
)
from tensorframe.frontend.operand_nodes import PYTHON_NUMBERS, SEQUENCES
from tensorframe.frontend.outputs import rebind
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Kind, Op, rows

Method = Callable[..., Any]

# what an operator computes with; anything else has operators of its own, and Python asks those
_EXACTLY = frozenset({Tensor, *PYTHON_NUMBERS, np.ndarray})
_KINDS_OF = (Tensor, np.ndarray, np.generic, *SEQUENCES, int, float, complex)


def is_operand(value: Any) -> bool:
    """Whether `value` may stand beside a Tensor in an expression."""
    return type(value) in _EXACTLY or isinstance(value, _KINDS_OF)


def _binary(op: Op) -> Method:
    def convert(self: Tensor, other: Any) -> Any:
        return binary(op, self, other) if is_operand(other) else NotImplemented

    return recorder_of_two(op, convert, promotes=True)


def _comparison(op: Op) -> Method:
    def convert(self: Tensor, other: Any) -> Any:
        return compare(op, self, other) if is_operand(other) else NotImplemented

    return recorder_of_two(op, convert)


def _equality(op: Op) -> Method:
    def convert(self: Tensor, other: Any) -> Any:
        if is_operand(other):
            return compare_elements(op, self, other)
        return compare_object(op, self, other)

    return recorder_of_two(op, convert)


def _reflected(op: Op) -> Method:
    def convert(other: Any, self: Tensor) -> Any:
        return binary(op, other, self) if is_operand(other) else NotImplemented

    return recorder_of_two(op, convert, promotes=True, is_reflected=True)


def _in_place(op: Op, record: Method) -> Method:
    def method(self: Tensor, other: Any, /) -> Any:
        result = record(self, other)
        if result is NotImplemented:
            return result
        former, node = self.node, result.node
        if (
            node.shape == former.shape
            and node.dtype is former.dtype
            and node.device is former.device
        ):
            self._rebind(node)
            return self
        return rebind(self, result, op.name)

    return method


def _divmod(self: Tensor, other: Any, /) -> Any:
    return (self // other, self % other) if is_operand(other) else NotImplemented


def _reflected_divmod(self: Tensor, other: Any, /) -> Any:
    return (other // self, other % self) if is_operand(other) else NotImplemented


def _methods(op: Op, name: str) -> dict[str, Method]:
    """Return the operator methods of a row, by name."""
    if op.arity == 1:
        return {f"__{name}__": recorder_of_one(op)}
    if name in RECORDERS:
        return {f"__{name}__": _equality(op) if name in EQUALITIES else _comparison(op)}
    record = _binary(op)
    return {
        f"__{name}__": record,
        f"__r{name}__": _reflected(op),
        f"__i{name}__": _in_place(op, record),
    }


def _attach() -> None:
    methods = {"__divmod__": _divmod, "__rdivmod__": _reflected_divmod}
    for op in rows(Kind.MAP):
        if op.operator is not None:
            methods |= _methods(op, op.operator)
    for name, method in methods.items():
        method.__name__ = name
        method.__qualname__ = f"Tensor.{name}"
        setattr(Tensor, name, method)


_attach()

__all__: list[str] = []
