"""The Python dialect: kernels for people to read, in the calling convention of `backends/llvm/abi.py`.

What is compiled is printed by `codegen/llvm`, which says the same in more words. A kernel here uses plain operators and
functions whose names say what they do, on values of NumPy's scalar types.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from math import isfinite

from tensorframe.codegen.printer import Expressions, Statements, indented
from tensorframe.codegen.text import Text
from tensorframe.dtypes import FLOAT, NARROW, DType, bool_, float64, uint64, wide_of
from tensorframe.kernel.ir import (
    INDEX,
    USER,
    Allocate,
    Apply,
    If,
    Kernel,
    Let,
    Literal,
    Load,
    Loop,
    Prefetch,
    Role,
    Set,
    Store,
    StreamingStore,
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
    "add_reassociable": "add_reassociable",
    "multiply_reassociable": "multiply_reassociable",
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
    lines += _Python().block(kernel.body)
    if any(isinstance(one, StreamingStore) for one in expressions(kernel.body)[1]):
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
    return "bool_" if dtype == bool_ else wide_of(dtype).name


class _Python(Expressions, Statements):
    """Prints the body of a kernel for the processor."""

    def let(self, one: Let | Set) -> list[str]:
        """Return an assignment, which is all that a name takes."""
        return [f"{one.variable.name} = {self.text(one.value)}"]

    def set(self, one: Set) -> list[str]:
        """Return an assignment."""
        return self.let(one)

    def store(self, one: Store) -> list[str]:
        """Return a store by a function that knows how elements are stored."""
        where = f"{one.buffer.name}, {self.text(one.position)}"
        return [f"store_{_stored(one.buffer.dtype)}({where}, {self.text(one.value)})"]

    def stream(self, one: StreamingStore) -> list[str]:
        """Return a store past the caches."""
        what = f"{one.buffer.name}, {self.text(one.position)}, {one.source.name}, {self.text(one.count)}"
        return [f"stream_{_stored(one.buffer.dtype)}({what})"]

    def fetch(self, one: Prefetch) -> list[str]:
        """Return a word about what is read soon."""
        what = f"{one.buffer.name}, {self.text(one.position)}, {self.text(one.count)}"
        return [f"fetch_{_stored(one.buffer.dtype)}({what})"]

    def loop(self, one: Loop) -> list[str]:
        """Return a loop over a range."""
        inner = [*["interleave()"] * one.long, *self.block(one.body)] or ["pass"]
        span = f"{self.text(one.start)}, {self.text(one.stop)}"
        return [f"for {one.index.name} in range({span}):", *indented(inner)]

    def choice(self, one: If) -> list[str]:
        """Return a choice."""
        return [f"if {self.text(one.condition)}:", *indented(self.block(one.body))]

    def allocate(self, one: Allocate) -> list[str]:
        """Return an allocation, which the end of the kernel releases."""
        size = f"{self.text(one.count)} * np.uint64({one.buffer.dtype.itemsize})"
        return [f"{one.buffer.name} = allocate({size})"]

    def load(self, one: Load) -> str:
        """Return an element of a buffer, as it is held."""
        way = "load" if one.buffer.role is Role.INPUT else "peek"
        where = f"{one.buffer.name}, {self.text(one.position)}"
        return f"{way}_{_stored(one.buffer.dtype)}({where})"

    def literal(self, one: Literal) -> str:
        """Return a number."""
        value = one.value
        if one.dtype == bool_:
            return str(bool(value))
        if one.dtype in FLOAT:
            real = float(one.dtype.type(value.real))
            text = repr(real) if isfinite(real) else "-np.inf" if real < 0 else f"np.{real}"
            return text if one.dtype == float64 else f"np.float32({text})"
        return f"np.{one.dtype.name}({value})"

    def apply(self, one: Apply, operands: list[str]) -> str:
        """Return a machine op on printed operands."""
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


def _stored(dtype: DType) -> str:
    return "bool_" if dtype == bool_ else dtype.name


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
    if one.dtype in NARROW:
        return f"round_{one.dtype.name}({operands[0]})"
    if source in NARROW and one.dtype == wide_of(source):
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
