"""Expressions as WGSL: what compilers may not rewrite is kept from them, and numbers of few bits are cut off."""

from __future__ import annotations

from abc import abstractmethod
from math import copysign, isfinite, isnan

from tensorframe.codegen.printer import Expressions
from tensorframe.codegen.wgsl_functions import Wgsl
from tensorframe.codegen.wgsl_names import allowed
from tensorframe.codegen.words import origin
from tensorframe.dtypes import FLOAT, NARROW, DType, bool_, float16, float64, wide_of
from tensorframe.kernel.ir import PAIR, Apply, Buffer, Expr, Literal, Load, Role
from tensorframe.ops.printed import FUNCTIONS, Printed

TYPES = {
    "bool": "bool",
    "int8": "i32",
    "uint8": "u32",
    "int16": "i32",
    "uint16": "u32",
    "int32": "i32",
    "uint32": "u32",
    "int64": "i64",
    "uint64": "u64",
    "float32": "f32",
    "float64": "f64",
    PAIR.name: "vec2<f32>",
}
TYPES |= {dtype.name: TYPES[wide_of(dtype).name] for dtype in NARROW}
SUFFIXES = {"i32": "i", "u32": "u", "i64": "li", "u64": "lu", "f32": "f", "f64": "lf"}
_INFIX = {
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "logical_and": "&",
    "logical_or": "|",
}
_ORDERS = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}
_WRAPS = {"add": "+", "subtract": "-", "multiply": "*"}
# not kept as they are: compilers of WGSL may contract and regroup them
_ACCUMULATING = {"accumulate_add": "+", "accumulate_multiply": "*"}
_SHIFTS = {"bitwise_left_shift": "<<", "bitwise_right_shift": ">>"}
_DIVIDES = {"floor_divide": "/", "remainder": "%"}
_COMPONENTS = {"high": "x", "low": "y"}
_ROUNDS = ("floor", "ceil", "trunc", "round")
# rounds that are wrong in drivers
_OWN_ROUNDS = (("trunc", "f64"), ("round", "f64"))


class WgslExpressions(Expressions):
    """Prints expressions, and notes in `used` which functions of the prelude they call."""

    def __init__(self, dialect: Wgsl) -> None:
        self._dialect = dialect
        self.used: dict[str, None] = {}
        self.own: dict[str, str] = {}  # functions of other packages' rows, by name

    def name(self, name: str) -> str:
        """Return a name that WGSL allows."""
        return allowed(name)

    def apply(self, expr: Apply, operands: list[str]) -> str:
        """Return a machine op on printed operands."""
        if all(isinstance(operand, Literal) for operand in expr.arguments):
            # numbers alone would be computed by the compiler, which refuses what overflows
            operands[-1] = self._kept(operands[-1], expr.arguments[-1].dtype)
        return self._apply(expr, operands)

    def load(self, load: Load) -> str:
        """Return an element of a buffer, as it is held."""
        buffer, position = load.buffer, self.text(load.position)
        if buffer.role is Role.INPUT:
            position = f"{allowed(origin(buffer.name))} + {position}"
        element = self.element(buffer, load.position, position)
        if buffer.role is Role.SHARED:
            return element
        if buffer.dtype == bool_:
            return f"({element} != 0u)"
        return f"f32({element})" if buffer.dtype == float16 and self._dialect.half else element

    @abstractmethod
    def element(self, buffer: Buffer, position: Expr, number: str) -> str:
        """Return the element of a buffer at a position, which has this number in memory."""

    def literal(self, literal: Literal) -> str:
        """Return a number."""
        if literal.dtype == bool_:
            return "true" if literal.value else "false"
        kind = TYPES[literal.dtype.name]
        if literal.dtype in FLOAT:
            return self._float(float(literal.dtype.type(literal.value.real)), kind)
        value, suffix = int(literal.value.real), SUFFIXES[kind]
        if value == -(2 ** (8 * literal.dtype.itemsize - 1)) and literal.dtype.itemsize >= 4:
            # the number without its sign is out of range
            return f"({value + 1}{suffix} - 1{suffix})"
        return f"({value}{suffix})" if value < 0 else f"{value}{suffix}"

    def _float(self, value: float, kind: str) -> str:
        """Return a number by its digits; zeros, with which compilers cut products short, and what is none, by bits."""
        if isfinite(value) and value:
            text = f"{value.hex()}{SUFFIXES[kind]}"
            return f"({text})" if value < 0 else text
        bits = "7fc" if isnan(value) else "7f8" if value else "000"
        if kind == "f64":
            bits = "7ff8" if isnan(value) else "7ff0" if value else "0000"
        if copysign(1.0, value) < 0 and not isnan(value):
            bits = f"{int(bits[0], 16) | 8:x}{bits[1:]}"
        places = 8 if kind == "f32" else 16
        return f"{self._use(f'bits_{kind}')}(0x{bits:0<{places}}{'u' if kind == 'f32' else 'lu'})"

    def _apply(self, expr: Apply, operands: list[str]) -> str:
        op, dtype, source = expr.op, expr.dtype, expr.arguments[-1].dtype
        kind = TYPES[source.name]
        if op in _INFIX:
            return f"({operands[0]} {_INFIX[op]} {operands[1]})"
        if op in _ORDERS:
            # of what it does not know no compiler makes minima and maxima, which drop NaN
            left = self._kept(operands[0], source) if source in FLOAT else operands[0]
            return f"({left} {_ORDERS[op]} {operands[1]})"
        if op in ("equal", "not_equal"):
            return self._equality(expr, operands)
        if op in _WRAPS or op in _ACCUMULATING:
            return self._arithmetic(expr, operands)
        if op in _SHIFTS:
            return self._shift(expr, operands)
        if op in ("where", "where_rare"):
            return f"select({operands[2]}, {operands[1]}, {operands[0]})"
        if op in ("cast", "to_index", "from_index"):
            return self._cast(source, dtype, operands[0])
        if op == "bitcast":
            return f"bitcast<{TYPES[dtype.name]}>({operands[0]})"
        if op == "pair":
            return f"vec2<f32>({', '.join(operands)})"
        if op in _COMPONENTS:
            return f"{operands[0]}.{_COMPONENTS[op]}"
        if op == "negative":
            return self._negative(dtype, operands[0])
        if op == "bitwise_invert":
            return self._cut(dtype, f"~{operands[0]}")
        if op == "logical_not":
            return f"(!{operands[0]})"
        if op in _ROUNDS and (op, kind) not in _OWN_ROUNDS:
            return f"{op}({operands[0]})"
        if op == "abs":
            return self._absolute(dtype, operands[0])
        if op in FUNCTIONS:
            return self._kept(
                f"{self._function(FUNCTIONS[op], kind)}({', '.join(operands)})", dtype
            )
        divisor = expr.arguments[-1]
        if op in _DIVIDES and kind[0] == "u" and isinstance(divisor, Literal) and divisor.value:
            return f"({operands[0]} {_DIVIDES[op]} {operands[1]})"
        return self._called(op, kind, dtype, operands)

    def _function(self, function: Printed, kind: str) -> str:
        """Return the name of the function that another package's row is, declared before the kernel."""
        name = f"{function.call}_{kind}"
        taken = ", ".join([f"{parameter}: {kind}" for parameter in function.parameters])
        body = function.body("wgsl", kind)
        self.own[name] = f"fn {name}({taken}) -> {kind} {{\n{body}\n}}\n"
        return name

    def _called(self, op: str, kind: str, dtype: DType, operands: list[str]) -> str:
        """Return the call of a function of the prelude, which has one for each type."""
        text = f"{self._use(f'{op}_{kind}')}({', '.join(operands)})"
        if op == "floor_divide":  # the lowest number divided by -1
            return self._cut(dtype, text)
        return text

    def _equality(self, expr: Apply, operands: list[str]) -> str:
        left, right = expr.arguments
        negated = expr.op == "not_equal"
        if left.dtype not in FLOAT:
            return f"({operands[0]} {'!=' if negated else '=='} {operands[1]})"
        if left is right:  # which is asked to find NaN
            text = f"{self._use(f'is_nan_{TYPES[left.dtype.name]}')}({operands[0]})"
            return text if negated else f"(!{text})"
        # `!=` of a NaN is false
        text = f"({self._kept(operands[0], left.dtype)} == {operands[1]})"
        return f"(!{text})" if negated else text

    def _arithmetic(self, expr: Apply, operands: list[str]) -> str:
        dtype, left, right = expr.dtype, *expr.arguments
        text = f"({operands[0]} {(_WRAPS | _ACCUMULATING)[expr.op]} {operands[1]})"
        if dtype not in FLOAT:
            return self._cut(dtype, text)
        if expr.op in _ACCUMULATING:
            return text
        if left is right and expr.op == "subtract":  # not zero where it is infinite
            text = f"({self._kept(operands[0], dtype)} - {operands[1]})"
        return self._kept(text, dtype)

    def _negative(self, dtype: DType, operand: str) -> str:
        if dtype.kind == "u":
            return self._cut(dtype, f"(0{SUFFIXES[TYPES[dtype.name]]} - {operand})")
        return f"(-{operand})" if dtype in FLOAT else self._cut(dtype, f"(-{operand})")

    def _absolute(self, dtype: DType, operand: str) -> str:
        if dtype.kind == "u":
            return operand
        if dtype in FLOAT or dtype.itemsize == 4:
            return f"abs({operand})"
        return self._cut(dtype, f"{self._use(f'abs_{TYPES[dtype.name]}')}({operand})")

    def _shift(self, expr: Apply, operands: list[str]) -> str:
        dtype, count, sign = expr.dtype, expr.arguments[1], _SHIFTS[expr.op]
        bits = 8 * dtype.itemsize
        if isinstance(count, Literal) and 0 <= count.value.real < bits:
            text = f"({operands[0]} {sign} {int(count.value.real)}u)"
        else:
            name = self._use(f"{expr.op}_{TYPES[dtype.name]}")
            text = f"{name}({operands[0]}, {operands[1]}, {bits}u)"
        return self._cut(dtype, text) if sign == "<<" else text

    def _cut(self, dtype: DType, text: str) -> str:
        """Return a number cut off to the bits of its dtype."""
        if dtype.itemsize >= 4:
            return text
        bits = 8 * dtype.itemsize
        if dtype.kind == "u":
            return f"({text} & {2**bits - 1}u)"
        return f"(({text} << {32 - bits}u) >> {32 - bits}u)"

    def _cast(self, source: DType, target: DType, operand: str) -> str:
        kind, wanted = TYPES[source.name], TYPES[target.name]
        if target in NARROW:
            return f"{self._use(f'round_{target.name}')}({operand})"
        if source == bool_:
            suffix = SUFFIXES[wanted]
            return f"select(0{suffix}, 1{suffix}, {operand})"
        if target == bool_:
            zero = f"0{SUFFIXES[kind]}"
            return f"(!({operand} == {zero}))" if source in FLOAT else f"({operand} != {zero})"
        if kind == wanted:
            narrower = source.itemsize > target.itemsize or source.kind != target.kind
            return self._cut(target, operand) if narrower else operand
        if source in FLOAT and target not in FLOAT:
            return self._cut(target, f"{self._use(f'{wanted}_of_{kind}')}({operand})")
        if source.itemsize < 8 == target.itemsize and {source.kind, target.kind} == {"i", "u"}:
            # compilers extend by the sign of what is wanted, not of what is there
            operand = f"{kind[0]}64({operand})"
        text = f"{wanted}({operand})"
        if source == float64:
            return self._kept(text, target)
        return text if target in FLOAT else self._cut(target, text)

    def _kept(self, text: str, dtype: DType) -> str:
        """Return a value that compilers know nothing about."""
        if dtype == bool_:
            return text
        inner = text[1:-1] if text.startswith("(") and _closes_last(text) else text
        return f"{self._use(f'keep_{TYPES[dtype.name]}')}({inner})"

    def _use(self, name: str) -> str:
        self.used[name] = None
        return name


def _closes_last(text: str) -> bool:
    """Whether the parenthesis that opens the text is the one that ends it."""
    depth = 0
    for index, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return index == len(text) - 1
    return False
