"""The Python dialect: kernels for people to read, in the calling convention of `backends/numba/abi.py`.

What is compiled is printed by `codegen/llvm`, which says the same in more words. A kernel here uses plain operators and
functions whose names say what they do, on values of NumPy's scalar types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256
from math import isfinite

from tensorframe.codegen.text import Text
from tensorframe.dtypes import FLOAT, HALF, DType, bool_, float64, uint64
from tensorframe.kernel.ir import (
    INDEX,
    USER,
    Allocate,
    Apply,
    Argument,
    Expr,
    Fetch,
    If,
    Index,
    Kernel,
    Let,
    Literal,
    Load,
    Loop,
    Role,
    Set,
    Statement,
    Store,
    Stream,
    Variable,
)
from tensorframe.kernel.walk import expressions, in_order

_INFIX = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "equal": "==",
    "not_equal": "!=",
    "logical_and": "&",
    "logical_or": "|",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
}
_CALLS = {
    "fma": "fma",
    "add_any": "add_any",
    "multiply_any": "multiply_any",
    "multiply_high": "multiply_high",
    "abs": "absolute",
    "sqrt": "sqrt",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "round": "rint",
    "copysign": "copysign",
    "maximum": "maximum",
    "minimum": "minimum",
    "where": "select",
    # Python's operators would trap, or leave open what NumPy says: division by zero, shifts by the width
    "floor_divide": "floor_divide",
    "remainder": "remainder",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
}


def print_kernel(kernel: Kernel) -> Text:
    """Return a kernel as the source of a Python function."""
    lines = [f"# {note}" for note in kernel.notes]
    lines += _arguments(kernel)
    lines += _block(kernel.body)
    if any(isinstance(one, Stream) for one in expressions(kernel.body)[1]):
        lines.append("fence()")
    lines += [f"release({one.buffer.name})" for one in kernel.body if isinstance(one, Allocate)]
    body = "".join(f"    {line}\n" for line in lines)
    name = "k_" + sha256(body.encode()).hexdigest()[:16]
    return Text(name, f"def {name}(start, stop, varying, fixed):\n{body}")


def _arguments(kernel: Kernel) -> list[str]:
    """Return the lines that take operands and numbers out of their slots."""
    arrays = (*kernel.inputs, *kernel.outputs)
    lines = [f"{buffer.name} = array_at(varying, {at})" for at, buffer in enumerate(arrays)]
    lines += [
        f"{one.name} = {_slot('varying', len(arrays) + at, one.dtype)}"
        for at, one in enumerate(kernel.scalars)
    ]
    roots, _ = expressions(kernel.body)
    used = set(in_order(roots, {}))
    lines += [
        f"{one.name} = {_slot('fixed', at, one.dtype)}"
        for at, one in enumerate(kernel.sizes)
        if one in used
    ]
    return lines


def _slot(slots: str, at: int, dtype: DType) -> str:
    if dtype in FLOAT:
        return f"{_held(dtype)}_at({slots}, {at})"
    if dtype == uint64:
        return f"unsigned_at({slots}, {at})"
    whole = f"integer_at({slots}, {at})"
    return f"{whole} != 0" if dtype == bool_ else f"to_{dtype.name}({whole})"


def _held(dtype: DType) -> str:
    """Return the name of the type that a value is held in: half precision in float32."""
    return "float32" if dtype in HALF else "bool_" if dtype == bool_ else dtype.name


def _block(body: Iterable[Statement]) -> list[str]:
    return [line for one in body for line in _statement(one)]


def _statement(one: Statement) -> list[str]:
    if isinstance(one, Let | Set):
        return [f"{one.variable.name} = {expression(one.value)}"]
    if isinstance(one, Store):
        where = f"{one.buffer.name}, {expression(one.position)}"
        return [f"store_{_stored(one.buffer.dtype)}({where}, {expression(one.value)})"]
    if isinstance(one, Stream):
        what = f"{one.buffer.name}, {expression(one.position)}, {one.source.name}, {expression(one.count)}"
        return [f"stream_{_stored(one.buffer.dtype)}({what})"]
    if isinstance(one, Fetch):
        what = f"{one.buffer.name}, {expression(one.position)}, {expression(one.count)}"
        return [f"fetch_{_stored(one.buffer.dtype)}({what})"]
    if isinstance(one, Loop):
        inner = [*["in_turns()"] * one.long, *_block(one.body)] or ["pass"]
        span = f"{expression(one.start)}, {expression(one.stop)}"
        return [f"for {one.index.name} in range({span}):", *_indented(inner)]
    if isinstance(one, If):
        return [f"if {expression(one.condition)}:", *_indented(_block(one.body))]
    assert isinstance(one, Allocate)
    size = f"{expression(one.count)} * np.uint64({one.buffer.dtype.itemsize})"
    return [f"{one.buffer.name} = allocate({size})"]


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _stored(dtype: DType) -> str:
    return "bool_" if dtype == bool_ else dtype.name


def expression(one: Expr) -> str:
    """Return an expression as Python."""
    if isinstance(one, Literal):
        return _literal(one)
    if isinstance(one, Argument | Index | Variable):
        return one.name
    if isinstance(one, Load):
        way = "load" if one.buffer.role is Role.INPUT else "peek"
        where = f"{one.buffer.name}, {expression(one.position)}"
        return f"{way}_{_stored(one.buffer.dtype)}({where})"
    assert isinstance(one, Apply)
    return _apply(one)


def _literal(one: Literal) -> str:
    value = one.value
    if one.dtype == bool_:
        return str(bool(value))
    if one.dtype in FLOAT:
        real = float(one.dtype.type(value.real))
        text = repr(real) if isfinite(real) else "-np.inf" if real < 0 else f"np.{real}"
        return text if one.dtype == float64 else f"np.float32({text})"
    return f"np.{one.dtype.name}({value})"


def _apply(one: Apply) -> str:
    operands = [expression(operand) for operand in one.arguments]
    special = _SPECIAL.get(one.op)
    if special is not None:
        return special(one, operands)
    if one.op.startswith(USER):
        return f"{one.op.replace('.', '_')}({', '.join(operands)})"
    if one.op in _CALLS:
        return f"{_CALLS[one.op]}({', '.join(operands)})"
    left, right = operands
    text = f"{left} {_INFIX[one.op]} {right}"
    narrow = one.dtype.kind in "iu" and one.dtype.itemsize < 8
    # integers of Python grow: cut off what they gain
    return f"to_{one.dtype.name}({text})" if narrow else f"({text})"


def _negative(one: Apply, operands: list[str]) -> str:
    if one.dtype in FLOAT:
        return f"(-{operands[0]})"
    return f"to_{one.dtype.name}(np.{one.dtype.name}(0) - {operands[0]})"


def _invert(one: Apply, operands: list[str]) -> str:
    all_bits = -1 if one.dtype.kind == "i" else 2 ** (8 * one.dtype.itemsize) - 1
    text = f"{operands[0]} ^ np.{one.dtype.name}({all_bits})"
    return f"to_{one.dtype.name}({text})"


def _not(_one: Apply, operands: list[str]) -> str:
    return f"select({operands[0]}, False, True)"


def _cast(one: Apply, operands: list[str]) -> str:
    source = one.arguments[0].dtype
    if one.dtype in HALF:
        return f"round_{one.dtype.name}({operands[0]})"
    if source in HALF and one.dtype.name == "float32":
        return operands[0]
    return f"to_{_held(one.dtype)}({operands[0]})"


def _bitcast(one: Apply, operands: list[str]) -> str:
    return f"as_{one.dtype.name}({operands[0]})"


_SPECIAL: dict[str, Callable[[Apply, list[str]], str]] = {
    "negative": _negative,
    "bitwise_invert": _invert,
    "logical_not": _not,
    "cast": _cast,
    "to_index": _cast,
    "from_index": _cast,
    "bitcast": _bitcast,
}

assert uint64 == INDEX
