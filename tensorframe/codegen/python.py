"""The Python dialect: kernels for people to read, in the calling convention of `backends/llvm/abi.py`.

What is compiled is printed by `codegen/llvm`, which says the same in more words. A kernel here uses plain operators and
functions whose names say what they do, on values of NumPy's scalar types.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

from tensorframe.codegen.printer import Expressions, Statements, indented
from tensorframe.codegen.text import Text
from tensorframe.digests import sha256
from tensorframe.dtypes import FLOAT, NARROW, DType, bool_, float64, uint64, wide_of
from tensorframe.kernel import ir
from tensorframe.kernel.ir.walk import expressions, in_order

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
    "accumulate_add": "accumulate_add",
    "accumulate_multiply": "accumulate_multiply",
    "multiply_high": "multiply_high",
    "dot4": "dot4",
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


def print_kernel(kernel: ir.Kernel) -> Text:
    """Return a kernel as the source of a Python function."""
    lines = [f"# {note}" for note in kernel.notes]
    lines += _arguments(kernel)
    lines += _Python().block(kernel.body)
    if any(isinstance(expression, ir.StreamingStore) for expression in expressions(kernel.body)[1]):
        lines.append("fence()")
    lines += [
        f"release({statement.buffer.name})"
        for statement in kernel.body
        if isinstance(statement, ir.Allocate)
    ]
    body = "".join(f"    {line}\n" for line in lines)
    name = "k_" + sha256(body.encode()).hexdigest()[:16]
    return Text(name, f"def {name}(start, stop, varying, fixed):\n{body}")


def _arguments(kernel: ir.Kernel) -> list[str]:
    """Return the lines that take operands and numbers out of their slots."""
    arrays = (*kernel.inputs, *kernel.outputs)
    lines = [f"{buffer.name} = array_at(varying, {index})" for index, buffer in enumerate(arrays)]
    lines += [
        f"{scalar.name} = {_slot('varying', len(arrays) + index, scalar.dtype)}"
        for index, scalar in enumerate(kernel.scalars)
    ]
    roots, _ = expressions(kernel.body)
    used = set(in_order(roots, {}))
    lines += [
        f"{size.name} = {_slot('fixed', index, size.dtype)}"
        for index, size in enumerate(kernel.sizes)
        if size in used
    ]
    return lines


def _slot(slots: str, index: int, dtype: DType) -> str:
    if dtype in FLOAT:
        return f"{_held(dtype)}_at({slots}, {index})"
    if dtype == uint64:
        return f"unsigned_at({slots}, {index})"
    whole = f"integer_at({slots}, {index})"
    return f"{whole} != 0" if dtype == bool_ else f"to_{dtype.name}({whole})"


def _held(dtype: DType) -> str:
    """Return the name of the type that a value is held in: half precision in float32."""
    return "bool_" if dtype == bool_ else wide_of(dtype).name


class _Python(Expressions, Statements):
    """Prints the body of a kernel for the processor."""

    def let(self, let: ir.Let | ir.Set) -> list[str]:
        """Return an assignment, which is all that a name takes."""
        return [f"{let.variable.name} = {self.text(let.value)}"]

    def set(self, assignment: ir.Set) -> list[str]:
        """Return an assignment."""
        return self.let(assignment)

    def store(self, store: ir.Store) -> list[str]:
        """Return a store by a function that knows how elements are stored."""
        where = f"{store.buffer.name}, {self.text(store.position)}"
        return [f"store_{_stored(store.buffer.dtype)}({where}, {self.text(store.value)})"]

    def stream(self, store: ir.StreamingStore) -> list[str]:
        """Return a store past the caches."""
        what = f"{store.buffer.name}, {self.text(store.position)}, {store.source.name}, {self.text(store.count)}"
        return [f"stream_{_stored(store.buffer.dtype)}({what})"]

    def fetch(self, prefetch: ir.Prefetch) -> list[str]:
        """Return a word about what is read soon."""
        what = (
            f"{prefetch.buffer.name}, {self.text(prefetch.position)}, {self.text(prefetch.count)}"
        )
        return [f"fetch_{_stored(prefetch.buffer.dtype)}({what})"]

    def loop(self, loop: ir.Loop) -> list[str]:
        """Return a loop over a range."""
        inner = [*["interleave()"] * loop.long, *self.block(loop.body)] or ["pass"]
        span = f"{self.text(loop.start)}, {self.text(loop.stop)}"
        return [f"for {loop.index.name} in range({span}):", *indented(inner)]

    def choice(self, branch: ir.If) -> list[str]:
        """Return a choice."""
        return [f"if {self.text(branch.condition)}:", *indented(self.block(branch.body))]

    def allocate(self, allocation: ir.Allocate) -> list[str]:
        """Return an allocation, which the end of the kernel releases."""
        size = f"{self.text(allocation.count)} * np.uint64({allocation.buffer.dtype.itemsize})"
        return [f"{allocation.buffer.name} = allocate({size})"]

    def load(self, load: ir.Load) -> str:
        """Return an element of a buffer, as it is held."""
        way = "load" if load.buffer.role is ir.Role.INPUT else "peek"
        where = f"{load.buffer.name}, {self.text(load.position)}"
        return f"{way}_{_stored(load.buffer.dtype)}({where})"

    def literal(self, literal: ir.Literal) -> str:
        """Return a number."""
        value = literal.value
        if literal.dtype == bool_:
            return str(bool(value))
        if literal.dtype in FLOAT:
            real = float(literal.dtype.type(value.real))
            text = repr(real) if isfinite(real) else "-np.inf" if real < 0 else f"np.{real}"
            return text if literal.dtype == float64 else f"np.float32({text})"
        return f"np.{literal.dtype.name}({value})"

    def apply(self, expr: ir.Apply, operands: list[str]) -> str:
        """Return a machine op on printed operands."""
        special = _SPECIAL.get(expr.op)
        if special is not None:
            return special(expr, operands)
        if expr.op.startswith(ir.USER):
            return f"{expr.op.replace('.', '_')}({', '.join(operands)})"
        if expr.op in _CALLS:
            return f"{_CALLS[expr.op]}({', '.join(operands)})"
        left, right = operands
        text = f"{left} {_INFIX[expr.op]} {right}"
        narrow = expr.dtype.kind in "iu" and expr.dtype.itemsize < 8
        # integers of Python grow: cut off what they gain
        return f"to_{expr.dtype.name}({text})" if narrow else f"({text})"


def _stored(dtype: DType) -> str:
    return "bool_" if dtype == bool_ else dtype.name


def _negative(expr: ir.Apply, operands: list[str]) -> str:
    if expr.dtype in FLOAT:
        return f"(-{operands[0]})"
    return f"to_{expr.dtype.name}(np.{expr.dtype.name}(0) - {operands[0]})"


def _invert(expr: ir.Apply, operands: list[str]) -> str:
    all_bits = -1 if expr.dtype.kind == "i" else 2 ** (8 * expr.dtype.itemsize) - 1
    text = f"{operands[0]} ^ np.{expr.dtype.name}({all_bits})"
    return f"to_{expr.dtype.name}({text})"


def _not(_one: ir.Apply, operands: list[str]) -> str:
    return f"select({operands[0]}, False, True)"


def _cast(expr: ir.Apply, operands: list[str]) -> str:
    source = expr.arguments[0].dtype
    if expr.dtype in NARROW:
        return f"round_{expr.dtype.name}({operands[0]})"
    if source in NARROW and expr.dtype == wide_of(source):
        return operands[0]
    return f"to_{_held(expr.dtype)}({operands[0]})"


def _bitcast(expr: ir.Apply, operands: list[str]) -> str:
    return f"as_{expr.dtype.name}({operands[0]})"


_SPECIAL: dict[str, Callable[[ir.Apply, list[str]], str]] = {
    "negative": _negative,
    "bitwise_invert": _invert,
    "logical_not": _not,
    "cast": _cast,
    "to_index": _cast,
    "from_index": _cast,
    "bitcast": _bitcast,
}

assert uint64 == ir.INDEX
