"""Kernels of work-groups as WGSL, the language of WebGPU.

Elements of less than 32 bits and booleans are words of their own in memory, computed with as 32-bit numbers and cut
off; half precision is held in f32. WGSL lets compilers assume that there is neither NaN nor infinity, and compute with
floats as if they were real numbers: `(a + b) - a` becomes `b`. What must be computed as it is written goes through
`keep`, whose result no compiler knows; see `wgsl_functions.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from math import copysign, isfinite, isnan

from tensorframe.codegen.wgsl_functions import Wgsl, functions
from tensorframe.codegen.wgsl_names import allowed
from tensorframe.codegen.words import origin, parameters
from tensorframe.dtypes import FLOAT, HALF, DType, bool_, float16, float64
from tensorframe.kernel.ir import (
    STOP,
    Apply,
    Argument,
    Barrier,
    Buffer,
    Combine,
    Expr,
    If,
    Index,
    Kernel,
    Let,
    Literal,
    Load,
    Loop,
    Over,
    Role,
    Set,
    Statement,
    Store,
    Variable,
)

_TYPES = {
    "bool": "bool",
    "int8": "i32",
    "uint8": "u32",
    "int16": "i32",
    "uint16": "u32",
    "int32": "i32",
    "uint32": "u32",
    "int64": "i64",
    "uint64": "u64",
    "float16": "f32",
    "bfloat16": "f32",
    "float32": "f32",
    "float64": "f64",
}
_SUFFIXES = {"i32": "i", "u32": "u", "i64": "li", "u64": "lu", "f32": "f", "f64": "lf"}
_INFIX = {
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "logical_and": "&",
    "logical_or": "|",
}
_ORDERS = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}
_WRAPS = {"add": "+", "subtract": "-", "multiply": "*"}
_ANY = {"add_any": "+", "multiply_any": "*"}  # in any order that the compiler likes
_SHIFTS = {"bitwise_left_shift": "<<", "bitwise_right_shift": ">>"}
_ROUNDS = ("floor", "ceil", "trunc", "round")
_HEAD = """\
@compute @workgroup_size({lanes})
fn {name}(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) group_count: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {{
"""


class Shader:
    """A printed kernel: its name, which holds a hash of the source, and how its words are passed."""

    __slots__ = ("immediate", "name", "source", "words")

    def __init__(self, name: str, source: str, words: int, *, immediate: bool) -> None:
        self.name = name
        self.source = source
        self.words = words
        """How many words are passed: those of the kernel's parameters, a zero behind them, and what windows need."""
        self.immediate = immediate
        """Whether they are passed as immediates; else they are a uniform buffer, bound after the operands."""


def print_kernel(kernel: Kernel, dialect: Wgsl, *, windowed: bool = False) -> Shader:
    """Return a kernel as a module with one entry point, and all the functions that it needs.

    A `windowed` one has more words behind the zero: the index with which its loop over the grid begins, and the
    origins of its outputs.
    """
    return _Printer(kernel, dialect, windowed=windowed).shader()


class _Printer:
    def __init__(self, kernel: Kernel, dialect: Wgsl, *, windowed: bool) -> None:
        self._kernel = kernel
        self._windowed = windowed
        self._dialect = dialect
        self._declared: dict[str, str] = {}  # accumulators: name -> type
        self._shared: dict[str, str] = {}  # memory of a group: name -> declaration
        self._used: dict[str, None] = {}  # functions of the prelude
        last = parameters(kernel)[-1]
        self._zero = last.word + last.words
        self._count = self._zero + 1 + windowed * (1 + len(kernel.outputs))
        self._immediate = 4 * self._count <= dialect.immediates

    def shader(self) -> Shader:
        kernel = self._kernel
        block = self._block(kernel.body)
        lines = [
            *[f"// {note}" for note in kernel.notes],
            *[self._parameter(one.name, one.dtype, one.word) for one in parameters(kernel)],
            *[f"var {name}: {kind};" for name, kind in self._declared.items()],
            *block,
        ]
        body = "".join(f"    {line}\n" for line in lines)
        parts = [
            "enable f16;\n" if self._dialect.half else "",
            self._words(),
            *[self._operand(at, one) for at, one in enumerate((*kernel.inputs, *kernel.outputs))],
            *self._shared.values(),
            functions(self._used, self._dialect, self._word(self._zero)),
        ]
        above = "".join(parts)
        name = "k_" + sha256(f"{above}{kernel.lanes}{body}".encode()).hexdigest()[:16]
        source = f"{above}{_HEAD.format(name=name, lanes=kernel.lanes)}{body}}}\n"
        return Shader(name, source, self._count, immediate=self._immediate)

    def _words(self) -> str:
        if self._immediate:
            return f"var<immediate> w: array<u32, {self._count}>;\n"
        at = len(self._kernel.inputs) + len(self._kernel.outputs)
        kind = f"array<vec4<u32>, {-(-self._count // 4)}>"
        return f"@group(0) @binding({at}) var<uniform> w: {kind};\n"

    def _word(self, at: int) -> str:
        return f"w[{at}]" if self._immediate else f"w[{at // 4}].{'xyzw'[at % 4]}"

    def _operand(self, at: int, one: Buffer) -> str:
        access = "read_write" if one.role is Role.OUTPUT else "read"
        kind = self._stored(one.dtype)
        return (
            f"@group(0) @binding({at}) var<storage, {access}> {allowed(one.name)}: array<{kind}>;\n"
        )

    def _stored(self, dtype: DType) -> str:
        if dtype == float16 and self._dialect.half:
            return "f16"
        return "u32" if dtype == bool_ else _TYPES[dtype.name]

    def _parameter(self, name: str, dtype: DType, word: int) -> str:
        kind, first = _TYPES[dtype.name], self._word(word)
        if dtype.itemsize == 8:
            first = f"(u64({self._word(word + 1)}) << 32u | u64({first}))"
        if kind not in ("u32", "u64"):
            first = f"{first} != 0u" if dtype == bool_ else f"bitcast<{kind}>({first})"
        return f"let {allowed(name)}: {kind} = {first};"

    def _block(self, body: Iterable[Statement]) -> list[str]:
        return [line for one in body for line in self._statement(one)]

    def _statement(self, one: Statement) -> list[str]:
        if isinstance(one, Let):
            kind = _TYPES[one.variable.dtype.name]
            return [f"let {allowed(one.variable.name)}: {kind} = {self.expression(one.value)};"]
        if isinstance(one, Set):
            name = allowed(one.variable.name)
            self._declared[name] = _TYPES[one.variable.dtype.name]
            return [f"{name} = {self.expression(one.value)};"]
        if isinstance(one, Store):
            return [self._store(one)]
        if isinstance(one, Loop):
            return [f"{self._head(one)} {{", *_indented(self._block(one.body)), "}"]
        if isinstance(one, If):
            inner = _indented(self._block(one.body))
            return [f"if ({self.expression(one.condition)}) {{", *inner, "}"]
        if isinstance(one, Combine):
            return self._combine(one)
        if isinstance(one, Barrier):
            return ["workgroupBarrier();"]
        assert isinstance(one.count, Literal)
        self._share(one.buffer, int(one.count.value.real))
        return []

    def _head(self, one: Loop) -> str:
        kind, name = _TYPES[one.index.dtype.name], allowed(one.index.name)
        first, last = self.expression(one.start), self.expression(one.stop)
        if one.over is Over.NOTHING:
            return f"for (var {name}: {kind} = {first}; {name} < {last}; {name}++)"
        lanes = self._kernel.lanes
        if one.over is Over.LANES:
            begin, step = f"{first} + lane", f"{lanes}u"
        elif one.over is Over.GRID:
            begin, step = f"group.x * {lanes}u + lane", f"group_count.x * {lanes}u"
        else:
            begin, step = "group.x", "group_count.x"
        if one.over is not Over.LANES:
            last = STOP.name
            if self._windowed:
                begin = f"{self._word(self._zero + 1)} + {begin}"
        return f"for (var {name}: {kind} = {begin}; {name} < {last}; {name} += {step})"

    def _combine(self, one: Combine) -> list[str]:
        """Return a tree over the threads of a group, in memory that they share."""
        name, other = allowed(one.variable.name), allowed(one.other.name)
        dtype = one.variable.dtype
        memory = f"lanes_{dtype.name}"
        self._declared[name] = self._declared[other] = _TYPES[dtype.name]
        lanes = self._kernel.lanes
        self._share(Buffer(memory, dtype, Role.SHARED), lanes)
        return [
            f"{memory}[lane] = {name};",
            "workgroupBarrier();",
            f"for (var half_of = {lanes // 2}u; half_of > 0u; half_of >>= 1u) {{",
            "    if (lane < half_of) {",
            f"        {other} = {memory}[lane + half_of];",
            f"        {name} = {self.expression(one.joined)};",
            f"        {memory}[lane] = {name};",
            "    }",
            "    workgroupBarrier();",
            "}",
            f"{name} = {memory}[0];",
            "workgroupBarrier();",
        ]

    def _share(self, buffer: Buffer, count: int) -> None:
        name, kind = allowed(buffer.name), _TYPES[buffer.dtype.name]
        self._shared[name] = f"var<workgroup> {name}: array<{kind}, {count}>;\n"

    def _store(self, one: Store) -> str:
        buffer, value = one.buffer, self.expression(one.value)
        at = self.expression(one.position)
        if self._windowed and buffer.role is Role.OUTPUT:
            at = f"{self._word(self._zero + 2 + self._kernel.outputs.index(buffer))} + {at}"
        place = f"{allowed(buffer.name)}[{at}]"
        if buffer.role is not Role.SHARED:
            if buffer.dtype == bool_:
                value = f"select(0u, 1u, {value})"
            elif buffer.dtype == float16 and self._dialect.half:
                value = f"f16({value})"
        return f"{place} = {value};"

    def expression(self, one: Expr) -> str:
        """Return an expression in WGSL."""
        if isinstance(one, Literal):
            return self._literal(one)
        if isinstance(one, Argument | Index | Variable):
            return allowed(one.name)
        if isinstance(one, Load):
            return self._load(one)
        assert isinstance(one, Apply)
        operands = [self.expression(operand) for operand in one.arguments]
        if all(isinstance(operand, Literal) for operand in one.arguments):
            # numbers alone would be computed by the compiler, which refuses what overflows
            operands[-1] = self._kept(operands[-1], one.arguments[-1].dtype)
        return self._apply(one, operands)

    def _load(self, one: Load) -> str:
        buffer, at = one.buffer, self.expression(one.position)
        if buffer.role is Role.INPUT:
            at = f"{allowed(origin(buffer.name))} + {at}"
        found = f"{allowed(buffer.name)}[{at}]"
        if buffer.role is Role.SHARED:
            return found
        if buffer.dtype == bool_:
            return f"({found} != 0u)"
        return f"f32({found})" if buffer.dtype == float16 and self._dialect.half else found

    def _literal(self, one: Literal) -> str:
        if one.dtype == bool_:
            return "true" if one.value else "false"
        kind = _TYPES[one.dtype.name]
        if one.dtype in FLOAT:
            return self._float(float(one.dtype.type(one.value.real)), kind)
        value, suffix = int(one.value.real), _SUFFIXES[kind]
        if value == -(2 ** (8 * one.dtype.itemsize - 1)) and one.dtype.itemsize >= 4:
            # the number without its sign is out of range
            return f"({value + 1}{suffix} - 1{suffix})"
        return f"({value}{suffix})" if value < 0 else f"{value}{suffix}"

    def _float(self, value: float, kind: str) -> str:
        """Return a number by its digits; zeros, with which compilers cut products short, and what is none, by bits."""
        if isfinite(value) and value:
            text = f"{value.hex()}{_SUFFIXES[kind]}"
            return f"({text})" if value < 0 else text
        bits = "7fc" if isnan(value) else "7f8" if value else "000"
        if kind == "f64":
            bits = "7ff8" if isnan(value) else "7ff0" if value else "0000"
        if copysign(1.0, value) < 0 and not isnan(value):
            bits = f"{int(bits[0], 16) | 8:x}{bits[1:]}"
        places = 8 if kind == "f32" else 16
        return f"{self._use(f'bits_{kind}')}(0x{bits:0<{places}}{'u' if kind == 'f32' else 'lu'})"

    def _apply(self, one: Apply, operands: list[str]) -> str:
        op, dtype, source = one.op, one.dtype, one.arguments[-1].dtype
        kind = _TYPES[source.name]
        if op in _INFIX:
            return f"({operands[0]} {_INFIX[op]} {operands[1]})"
        if op in _ORDERS:
            # of what it does not know no compiler makes minima and maxima, which drop NaN
            left = self._kept(operands[0], source) if source in FLOAT else operands[0]
            return f"({left} {_ORDERS[op]} {operands[1]})"
        if op in ("equal", "not_equal"):
            return self._equality(one, operands)
        if op in _WRAPS or op in _ANY:
            return self._arithmetic(one, operands)
        if op in _SHIFTS:
            return self._shift(one, operands)
        if op in ("where", "where_rare"):
            return f"select({operands[2]}, {operands[1]}, {operands[0]})"
        if op in ("cast", "to_index", "from_index"):
            return self._cast(source, dtype, operands[0])
        if op == "bitcast":
            return f"bitcast<{_TYPES[dtype.name]}>({operands[0]})"
        if op == "negative":
            return self._negative(dtype, operands[0])
        if op == "bitwise_invert":
            return self._cut(dtype, f"~{operands[0]}")
        if op == "logical_not":
            return f"(!{operands[0]})"
        if op in _ROUNDS:
            return f"{op}({operands[0]})"
        if op == "abs":
            return self._absolute(dtype, operands[0])
        return self._called(op, kind, dtype, operands)

    def _called(self, op: str, kind: str, dtype: DType, operands: list[str]) -> str:
        """Return the call of a function of the prelude, which has one for each type."""
        text = f"{self._use(f'{op}_{kind}')}({', '.join(operands)})"
        if op == "floor_divide":  # the lowest number divided by -1
            return self._cut(dtype, text)
        return text

    def _equality(self, one: Apply, operands: list[str]) -> str:
        left, right = one.arguments
        negated = one.op == "not_equal"
        if left.dtype not in FLOAT:
            return f"({operands[0]} {'!=' if negated else '=='} {operands[1]})"
        if left is right:  # which is asked to find NaN
            text = f"{self._use(f'is_nan_{_TYPES[left.dtype.name]}')}({operands[0]})"
            return text if negated else f"(!{text})"
        # `!=` of a NaN is false
        text = f"({self._kept(operands[0], left.dtype)} == {operands[1]})"
        return f"(!{text})" if negated else text

    def _arithmetic(self, one: Apply, operands: list[str]) -> str:
        dtype, left, right = one.dtype, *one.arguments
        text = f"({operands[0]} {(_WRAPS | _ANY)[one.op]} {operands[1]})"
        if dtype not in FLOAT:
            return self._cut(dtype, text)
        if one.op in _ANY:
            return text
        if left is right and one.op == "subtract":  # not zero where it is infinite
            text = f"({self._kept(operands[0], dtype)} - {operands[1]})"
        return self._kept(text, dtype)

    def _negative(self, dtype: DType, operand: str) -> str:
        if dtype.kind == "u":
            return self._cut(dtype, f"(0{_SUFFIXES[_TYPES[dtype.name]]} - {operand})")
        return f"(-{operand})" if dtype in FLOAT else self._cut(dtype, f"(-{operand})")

    def _absolute(self, dtype: DType, operand: str) -> str:
        if dtype.kind == "u":
            return operand
        if dtype in FLOAT or dtype.itemsize == 4:
            return f"abs({operand})"
        return self._cut(dtype, f"{self._use(f'abs_{_TYPES[dtype.name]}')}({operand})")

    def _shift(self, one: Apply, operands: list[str]) -> str:
        dtype, count, sign = one.dtype, one.arguments[1], _SHIFTS[one.op]
        bits = 8 * dtype.itemsize
        if isinstance(count, Literal) and 0 <= count.value.real < bits:
            text = f"({operands[0]} {sign} {int(count.value.real)}u)"
        else:
            name = self._use(f"{one.op}_{_TYPES[dtype.name]}")
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
        kind, wanted = _TYPES[source.name], _TYPES[target.name]
        if target in HALF:
            return f"{self._use(f'round_{target.name}')}({operand})"
        if source == bool_:
            suffix = _SUFFIXES[wanted]
            return f"select(0{suffix}, 1{suffix}, {operand})"
        if target == bool_:
            zero = f"0{_SUFFIXES[kind]}"
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
        return f"{self._use(f'keep_{_TYPES[dtype.name]}')}({inner})"

    def _use(self, name: str) -> str:
        self._used[name] = None
        return name


def _closes_last(text: str) -> bool:
    """Whether the parenthesis that opens the text is the one that ends it."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return at == len(text) - 1
    return False


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]
