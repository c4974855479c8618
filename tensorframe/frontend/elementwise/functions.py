"""Elementwise functions, generated from the rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

from tensorframe import dtypes
from tensorframe.frontend.dispatch import (
    apply,
    binary,
    handle_on,
    recorder_of_one,
    recorder_of_two,
    unary,
)
from tensorframe.frontend.elementwise.comparisons import RECORDERS
from tensorframe.frontend.elementwise.ufunc_methods import attach
from tensorframe.frontend.operands import filled
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Kind, Op, boolean, real_part, rows
from tensorframe.ops.elementwise import CONJ, IMAG, LOGICAL_AND, POSITIVE, REAL_PART, WHERE

_METHODS = (
    "add sub mul truediv floordiv mod pow eq ne lt le gt ge and or xor lshift rshift neg pos invert"
)
_SYMBOLS = "+ - * / // % ** == != < <= > >= & | ^ << >> - + ~"
SYMBOLS = dict(zip(_METHODS.split(), _SYMBOLS.split(), strict=True))


# what leaves real elements as they are, so that there is nothing to record
_NOTHING_OF_REAL = frozenset({REAL_PART, CONJ, POSITIVE})

# NumPy's parts of complex numbers are no ufuncs: they have no options
_PARTS = frozenset({REAL_PART, IMAG})


def _unchanging(op: Op) -> Callable[..., Tensor]:
    """Return what records such a row, of complex elements; of real ones, it returns the tensor."""

    def record_unless_real(x: Any, /, out: Any = None, **options: Any) -> Tensor:
        if options or out is not None:
            return _with_options(op, record_unless_real, (x,), out, options)
        if type(x) is Tensor and x.node.dtype in op.accepts and x.node.dtype not in dtypes.COMPLEX:
            return handle_on(x.node)
        return unary(op, x)

    return record_unless_real


def function_of(op: Op) -> Callable[..., Tensor]:
    """Return the public function of a row: what records its op, and sees to options in calls that have any."""
    function: Any
    signature = _signature(op.arity or 0)
    if op in _NOTHING_OF_REAL:
        function = _unchanging(op)
    elif op.arity == 1:
        function = recorder_of_one(op, None, _with_options)
    elif op.arity == 3:
        function = _of_three(op)
    else:
        compare = RECORDERS.get(op.operator or "")
        other = None if compare is None else partial(compare, op)
        function = recorder_of_two(op, other, _with_options)
    if op in _PARTS:
        signature = Signature([Parameter("val", Parameter.POSITIONAL_OR_KEYWORD)])
        function = _of_part(op, function)
    function.__name__ = function.__qualname__ = op.name
    function.__module__ = "tensorframe"
    function.__doc__ = documentation(op)
    function.__signature__ = signature
    if op.arity == 2:
        attach(function, op.numpy or op.name)
    public: Callable[..., Tensor] = function
    return public


@cache
def _signature(arity: int) -> Signature:
    names = ["x"] if arity == 1 else [f"x{place}" for place in range(1, arity + 1)]
    return Signature([*[Parameter(name, Parameter.POSITIONAL_ONLY) for name in names], *OPTIONS])


def _of_three(op: Op) -> Callable[..., Tensor]:
    def record_three(x1: Any, x2: Any, x3: Any, /, out: Any = None, **options: Any) -> Tensor:
        if options or out is not None:
            return _with_options(op, record_three, (x1, x2, x3), out, options)
        return apply(op, x1, x2, x3)

    return record_three


def _of_part(op: Op, record: Callable[[Any], Tensor]) -> Callable[..., Tensor]:
    def part(val: Any) -> Tensor:
        if op is IMAG and type(val) is Tensor and val.node.dtype in dtypes.REAL:
            return filled(val.node.shape, 0, val.node.dtype, val.node.device)
        if op is IMAG and getattr(val, "dtype", None) == dtypes.bool_:
            return binary(LOGICAL_AND, val, False)  # as NumPy's: a bool, and no number
        return record(val)

    return part


def _with_options(
    op: Op, record: Callable[..., Tensor], operands: tuple[Any, ...], out: Any, options: Any
) -> Tensor:
    """Return the result of a call with options; TypeError, as Python's own, for one that there is not."""
    from tensorframe.frontend.elementwise.options import with_options  # few calls have any

    unknown = [name for name in options if name not in _OPTION_NAMES]
    if unknown:
        raise TypeError(f"{op.name}() got an unexpected keyword argument {unknown[0]!r}")
    result: Tensor = with_options(op, record, operands, out, **options)
    return result


def _option(name: str, annotation: str, default: Any) -> Parameter:
    is_out = name == "out"
    kind = Parameter.POSITIONAL_OR_KEYWORD if is_out else Parameter.KEYWORD_ONLY
    return Parameter(name, kind, default=default, annotation=annotation)


# what NumPy's ufuncs take
OPTIONS = [
    _option("out", "Output", None),
    _option("where", "ArrayLike", True),
    _option("casting", "Casting", "same_kind"),
    _option("order", "str", "K"),
    _option("dtype", "DTypeLike | None", None),
    _option("subok", "Literal[True, False]", True),
    _option("signature", "None", None),
]
_OPTION_NAMES = frozenset(parameter.name for parameter in OPTIONS)


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
    op.name: function_of(op)
    for op in rows(Kind.MAP)
    if op.public and not op.attributes and op is not WHERE
}
globals().update(FUNCTIONS)
# `round` has decimal places, in a module of its own
__all__ = [name for name in FUNCTIONS if name != "round"]

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Tensor]: ...
