"""Elementwise functions, generated from the rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

from tensorframe import dtypes
from tensorframe.frontend.dispatch import handle_on, recorder_of_one, recorder_of_two, unary
from tensorframe.frontend.elementwise.comparisons import RECORDERS
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Kind, Op, boolean, real_part, rows
from tensorframe.ops.elementwise import CONJ, POSITIVE, REAL_PART, WHERE

_METHODS = (
    "add sub mul truediv floordiv mod pow eq ne lt le gt ge and or xor lshift rshift neg pos invert"
)
_SYMBOLS = "+ - * / // % ** == != < <= > >= & | ^ << >> - + ~"
SYMBOLS = dict(zip(_METHODS.split(), _SYMBOLS.split(), strict=True))


# what leaves real elements as they are, so that there is nothing to record
_NOTHING_OF_REAL = frozenset({REAL_PART, CONJ, POSITIVE})


def _unchanging(op: Op) -> Callable[[Any], Tensor]:
    """Return what records such a row, of complex elements; of real ones, it returns the tensor."""

    def record_unless_real(x: Any, /) -> Tensor:
        if type(x) is Tensor and x.node.dtype in op.accepts and x.node.dtype not in dtypes.COMPLEX:
            return handle_on(x.node)
        return unary(op, x)

    return record_unless_real


def _function(op: Op) -> Callable[..., Tensor]:
    """Return the public function of a row."""
    function: Any
    names = ["x"] if op.arity == 1 else ["x1", "x2"]
    if op in _NOTHING_OF_REAL:
        function = _unchanging(op)
    elif op.arity == 1:
        function = recorder_of_one(op)
    else:
        compare = RECORDERS.get(op.operator or "")
        function = recorder_of_two(op, None if compare is None else partial(compare, op))
    function.__name__ = function.__qualname__ = op.name
    function.__module__ = "tensorframe"
    function.__doc__ = documentation(op)
    parameters = [Parameter(name, Parameter.POSITIONAL_ONLY) for name in names]
    function.__signature__ = Signature(parameters)
    recorder: Callable[..., Tensor] = function
    return recorder


def documentation(op: Op) -> str:
    """Return the docstring of a row's function: what it gives, of what, and its values at telling points."""
    sentences = [f"Takes {dtypes.category_name(op.accepts)} dtypes"]
    if op.accepts.isdisjoint(dtypes.INTEGER):
        sentences[0] += "; integers and bools become the default real dtype"
    if op.accepts != dtypes.ANY:
        sentences[0] += "; others raise DTypeError"
    if op.arity != 1:
        sentences.append(
            "Operands promote to one dtype and broadcast, with ShapeError where they cannot; "
            "a Python number takes the dtype of the tensor beside it, a sequence of numbers is the array "
            "that `asarray` makes of it"
        )
    if op.result is boolean:
        sentences.append("The result is bool")
    if op.result is real_part and op.accepts & dtypes.COMPLEX:
        sentences.append("Complex operands give their real dtype")
    if op.operator in SYMBOLS:
        sentences.append(f"The operator is `{SYMBOLS[op.operator]}`")
    text = "".join([f"{sentence}.\n" for sentence in sentences])
    return f"{op.doc}\n\n{text}\n{example(op)}\n"


def example(op: Op) -> str:
    """Return the row's values at telling points, as a doctest."""
    points = [key if isinstance(key, tuple) else (key,) for key in op.at]
    columns = [", ".join(map(_literal, column)) for column in zip(*points, strict=True)]
    operands = ", ".join(f"tfr.asarray([{column}])" for column in columns)
    return f">>> tfr.{op.name}({operands}).tolist()\n{list(op.at.values())}"


def _literal(value: complex) -> str:
    text = repr(value)
    return text.replace("inf", "tfr.inf").replace("nan", "tfr.nan")


# `where` and rows with attributes have functions of their own
FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    op.name: _function(op)
    for op in rows(Kind.MAP)
    if op.public and not op.attributes and op is not WHERE
}
globals().update(FUNCTIONS)
__all__ = list(FUNCTIONS)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Tensor]: ...
