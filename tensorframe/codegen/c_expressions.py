"""Expressions as C.

Elements of less than 32 bits, and booleans, are computed with as C does it and cut off; narrow dtypes are held in
float. Signed integers are added as unsigned ones, which may overflow.
"""

from __future__ import annotations

from math import isfinite, isnan

from tensorframe.codegen.c_dialect import Dialect
from tensorframe.codegen.printer import Expressions
from tensorframe.dtypes import FLOAT, NARROW, DType, bool_, float64, wide_of
from tensorframe.kernel import ir
from tensorframe.ops.printed import FUNCTIONS, Printed, suffix

# Two floats, which are called as the machine ops that take a pair apart.
PAIR = "two_floats"

_INFIX = {
    "divide": "/",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "equal": "==",
    "not_equal": "!=",
    "logical_and": "&&",
    "logical_or": "||",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
}
# arithmetic that wraps for integers
_WRAPS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "accumulate_add": "+",
    "accumulate_multiply": "*",
}
# functions of the prelude, or of the language, that take any dtype they are defined on
_CALLS = {
    "fma": "fma",
    "sqrt": "sqrt",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "round": "rint",
    "copysign": "copysign",
}


class CExpressions(Expressions):
    """Prints expressions in the words of a dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._own: dict[str, str] = {}  # functions of other packages' rows, by name

    def type(self, dtype: DType) -> str:
        """Return the type that values are held in."""
        return PAIR if dtype == ir.PAIR else self._dialect.types[wide_of(dtype).name]

    def literal(self, literal: ir.Literal) -> str:
        """Return a number."""
        if literal.dtype == bool_:
            return "true" if literal.value else "false"
        if literal.dtype in FLOAT:
            return self._float(float(literal.dtype.type(literal.value.real)), literal.dtype)
        value = int(literal.value.real)
        kind, suffix = self.type(literal.dtype), self._dialect.suffixes.get(literal.dtype.name, "")
        if literal.dtype.kind == "i" and value == -(2 ** (8 * literal.dtype.itemsize - 1)):
            return (
                f"({kind})({value + 1}{suffix} - 1)"  # the number without its sign is out of range
            )
        return f"({kind}){value}{suffix}" if literal.dtype.itemsize < 4 else f"{value}{suffix}"

    def _float(self, value: float, dtype: DType) -> str:
        double = dtype == float64
        if isfinite(value):
            return value.hex() if double else f"{value.hex()}f"
        if double:
            bits = "7ff8" if isnan(value) else "7ff0" if value > 0 else "fff0"
            return f"as_float64(0x{bits}000000000000{self._dialect.suffixes['uint64']})"
        bits = "7fc0" if isnan(value) else "7f80" if value > 0 else "ff80"
        return f"as_float32(0x{bits}0000u)"

    def apply(self, expr: ir.Apply, operands: list[str]) -> str:
        """Return a machine op on printed operands."""
        op, dtype = expr.op, expr.dtype
        if op in _CALLS:
            return f"{_CALLS[op]}({', '.join(operands)})"
        if op == "accumulate_add" and dtype in FLOAT and _is_product(expr.arguments[1]):
            factors = [self.text(operand) for operand in expr.arguments[1].operands]
            return f"multiply_add_{dtype.name}({', '.join([*factors, operands[0]])})"
        if op in _WRAPS:
            return self._wrap(dtype, f" {_WRAPS[op]} ", operands)
        if op in _INFIX:
            return f"({operands[0]} {_INFIX[op]} {operands[1]})"
        if op == "negative":
            if dtype in FLOAT:
                return f"(-{operands[0]})"
            return self._wrap(dtype, " - ", ["0", operands[0]])
        if op == "bitwise_invert":
            return f"({self.type(dtype)})(~{operands[0]})"
        if op == "logical_not":
            return f"(!{operands[0]})"
        if op == "where":
            return f"({operands[0]} ? {operands[1]} : {operands[2]})"
        if op in ("cast", "to_index", "from_index"):
            return self._cast(expr, operands[0])
        if op == "bitcast":
            return f"as_{dtype.name}({operands[0]})"
        if op == "pair":
            return f"{PAIR}_of({', '.join(operands)})"
        if op in ("high", "low"):
            return f"{operands[0]}.{op}"
        if op in FUNCTIONS:
            return f"{self._function(FUNCTIONS[op], dtype)}({', '.join(operands)})"
        # of the prelude, which has one for each dtype
        return f"{op}_{expr.arguments[0].dtype.name}({', '.join(operands)})"

    def _function(self, function: Printed, dtype: DType) -> str:
        """Return the name of the function that another package's row is, declared with the helpers."""
        kind, name = self.type(dtype), f"{function.call}_{suffix(dtype)}"
        taken = ", ".join([f"{kind} {parameter}" for parameter in function.parameters])
        body = function.body(self._dialect.name, kind)
        self._own[name] = f"HELPER {kind} {name}({taken}) {{\n{body}\n}}\n"
        return name

    def _wrap(self, dtype: DType, sign: str, operands: list[str]) -> str:
        if dtype in FLOAT or (dtype.kind == "u" and dtype.itemsize >= 4):
            return f"({sign.join(operands)})"
        kind = self.type(dtype)
        # smaller ones are computed as int, which holds the result of what is unsigned
        width = max(8 * dtype.itemsize, 32)
        unsigned = self._dialect.types[f"uint{width}"]
        text = sign.join([f"({unsigned}){operand}" for operand in operands])
        return f"({kind})({text})"

    def _cast(self, expr: ir.Apply, operand: str) -> str:
        source = expr.arguments[0].dtype
        if expr.dtype in NARROW:
            return f"round_{expr.dtype.name}({operand})"
        if source in NARROW and expr.dtype == wide_of(source):
            return operand
        return f"({self.type(expr.dtype)}){grouped(operand)}"


def _is_product(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Apply) and expr.op == "accumulate_multiply"


def grouped(text: str) -> str:
    """Return a text that is one operand, whatever stands beside it."""
    return text if text.startswith("(") and text.endswith(")") else f"({text})"
