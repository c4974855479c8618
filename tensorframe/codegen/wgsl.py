"""Kernels of work-groups as WGSL, the language of WebGPU.

Elements of less than 32 bits and booleans are words of their own in memory, computed with as 32-bit numbers and cut
off; half precision is held in f32. WGSL lets compilers assume that there is neither NaN nor infinity, and compute with
floats as if they were real numbers: `(a + b) - a` becomes `b`. What must be computed as it is written goes through
`keep`, whose result no compiler knows; see `wgsl_expressions.py` and `wgsl_functions.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tensorframe.codegen.bound_vectors import BoundVectors
from tensorframe.codegen.wgsl_expressions import TYPES, WgslExpressions
from tensorframe.codegen.wgsl_functions import Wgsl, functions
from tensorframe.codegen.wgsl_names import allowed
from tensorframe.codegen.words import parameters
from tensorframe.digests import sha256
from tensorframe.dtypes import DType, bool_, float16
from tensorframe.kernel import ir

_HEAD = """\
@compute @workgroup_size({lanes})
fn {name}(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) group_count: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,{more}
) {{
"""
_SHUFFLED = frozenset({"f32", "i32", "u32", "vec2<f32>"})
# the number of a thread in its subgroup
_SUBGROUP = "\n    @builtin(subgroup_invocation_id) subgroup_lane: u32,"
# Texts that are remembered: of kernels that are built for one layout of operands after the other.
_KEPT = 32


class Shader:
    """A printed kernel: its name, which holds a hash of the source, and how its words are passed."""

    __slots__ = ("immediate", "multiples", "name", "source", "words")

    def __init__(
        self,
        name: str,
        source: str,
        words: int,
        *,
        immediate: bool,
        multiples: Sequence[tuple[int, int]] = (),
    ) -> None:
        self.multiples = multiples
        """Words that have to be multiples of numbers, or the vectors that operands are bound as begin elsewhere."""
        self.name = name
        self.source = source
        self.words = words
        """How many words are passed: those of the kernel's parameters, a zero behind them, and what windows need."""
        self.immediate = immediate
        """Whether they are passed as immediates; else they are a uniform buffer, bound after the operands."""


@lru_cache(_KEPT)
def print_kernel(
    kernel: ir.Kernel, dialect: Wgsl, *, windowed: bool = False, vectors: bool = False
) -> Shader:
    """Return a kernel as a module with one entry point, and all the functions that it needs.

    A `windowed` one has more words behind the zero: the index with which its loop over the grid begins, and the
    origins of its outputs. One with `vectors` says of which words these have to be multiples, if it has any.
    """
    return _Printer(kernel, dialect, windowed=windowed, vectors=vectors).shader()


class _Printer(BoundVectors, WgslExpressions):
    lane = "lane"
    barrier = "workgroupBarrier();"
    paired = "vec2<f32>({}, {})"
    parts = ("x", "y")
    counting = "for (var {name} = {first}u; {name} < {stop}; {name}++) {{"

    def __init__(self, kernel: ir.Kernel, dialect: Wgsl, *, windowed: bool, vectors: bool) -> None:
        WgslExpressions.__init__(self, dialect)
        BoundVectors.__init__(self, kernel, vectors=vectors)
        self._windowed = windowed
        self._shuffles = False
        last = parameters(kernel)[-1]
        self._zero = last.word + last.words
        self._count = self._zero + 1 + windowed * (1 + len(kernel.outputs))
        self._immediate = 4 * self._count <= dialect.immediates

    def shader(self) -> Shader:
        kernel = self.kernel
        block = self.block(kernel.body)
        multiples = [f"{self._word(word)} of {size}" for word, size in self.multiples]
        lines = [
            *[f"// {note}" for note in kernel.notes],
            *[f"// only where these are multiples: {', '.join(multiples)}" for _ in multiples[:1]],
            *[
                self._parameter(parameter.name, parameter.dtype, parameter.word)
                for parameter in parameters(kernel)
            ],
            *[f"var {name}: {kind};" for name, kind in self.declared.items()],
            *block,
        ]
        body = "".join(f"    {line}\n" for line in lines)
        parts = [
            "enable f16;\n" if self._dialect.half else "",
            self._words(),
            *[
                self._operand(index, buffer)
                for index, buffer in enumerate((*kernel.inputs, *kernel.outputs))
            ],
            *self.shared.values(),
            functions(self.used, self._dialect, self._word(self._zero)),
            *self.own.values(),
        ]
        above = "".join(parts)
        name = "k_" + sha256(f"{above}{kernel.lanes}{body}".encode()).hexdigest()[:16]
        head = _HEAD.format(name=name, lanes=kernel.lanes, more=_SUBGROUP if self._shuffles else "")
        source = f"{above}{head}{body}}}\n"
        return Shader(
            name,
            source,
            self._count,
            immediate=self._immediate,
            multiples=tuple(self.multiples),
        )

    def _words(self) -> str:
        if self._immediate:
            return f"var<immediate> w: array<u32, {self._count}>;\n"
        binding = len(self.kernel.inputs) + len(self.kernel.outputs)
        kind = f"array<vec4<u32>, {-(-self._count // 4)}>"
        return f"@group(0) @binding({binding}) var<uniform> w: {kind};\n"

    def _word(self, index: int) -> str:
        return f"w[{index}]" if self._immediate else f"w[{index // 4}].{'xyzw'[index % 4]}"

    def _operand(self, index: int, buffer: ir.Buffer) -> str:
        access = "read_write" if buffer.role is ir.Role.OUTPUT else "read"
        kind = self.bound(buffer)
        return f"@group(0) @binding({index}) var<storage, {access}> {allowed(buffer.name)}: array<{kind}>;\n"

    def stored(self, buffer: ir.Buffer) -> str:
        """Return the type of an element in memory."""
        if buffer.dtype == float16 and self._dialect.half:
            return "f16"
        return "u32" if buffer.dtype == bool_ else TYPES[buffer.dtype.name]

    def _parameter(self, name: str, dtype: DType, word: int) -> str:
        kind, first = TYPES[dtype.name], self._word(word)
        if dtype.itemsize == 8:
            first = f"(u64({self._word(word + 1)}) << 32u | u64({first}))"
        if kind not in ("u32", "u64"):
            first = f"{first} != 0u" if dtype == bool_ else f"bitcast<{kind}>({first})"
        return f"let {allowed(name)}: {kind} = {first};"

    def type(self, dtype: DType) -> str:
        """Return the type that values are held in."""
        return TYPES[dtype.name]

    def subgroup(self, dtype: DType) -> int:
        """Return how many neighbouring threads read each other's values, which have to be words, or pairs of them."""
        return self._dialect.subgroup if TYPES[dtype.name] in _SHUFFLED else 0

    def shuffled(self, name: str, lane: str, width: int) -> str:
        """Return a value of a neighbour."""
        self._shuffles = True
        return f"subgroupShuffle({name}, (subgroup_lane & ~{width - 1}u) + {lane})"

    def let(self, let: ir.Let) -> list[str]:
        """Return the declaration of a constant."""
        name, kind = self.name(let.variable.name), self.type(let.variable.dtype)
        return [f"let {name}: {kind} = {self.text(let.value)};"]

    def head(self, loop: ir.Loop) -> str:
        """Return what a loop begins with, up to its brace."""
        kind, name = TYPES[loop.index.dtype.name], allowed(loop.index.name)
        first, last = self.text(loop.start), self.text(loop.stop)
        if loop.over is ir.ParallelAxis.NOTHING:
            return f"for (var {name}: {kind} = {first}; {name} < {last}; {name}++)"
        if loop.over is ir.ParallelAxis.LANES:
            begin, step = "lane" if first == "0u" else f"{first} + lane", f"{self.kernel.lanes}u"
        else:
            begin, step = self.begun(loop.over)
            last = ir.STOP.name
            if self._windowed:
                begin = f"{self._word(self._zero + 1)} + {begin}"
        return f"for (var {name}: {kind} = {begin}; {name} < {last}; {name} += {step})"

    def begun(self, axis: ir.ParallelAxis) -> tuple[str, str]:
        """Return the first index of a thread, or of a group, and how many there are."""
        if axis is ir.ParallelAxis.GROUPS:
            return "group.x", "group_count.x"
        lanes = self.kernel.lanes
        return f"group.x * {lanes}u + lane", f"group_count.x * {lanes}u"

    def rolled(self, count: int) -> str:
        """Return the bound of a loop as a number that is not known before it runs.

        Drivers on processors unroll loops, and have the threads that wait run through all of what they unrolled.
        """
        return f"({self._word(self._zero)} ^ {count}u)"

    def share(self, buffer: ir.Buffer, count: ir.Expr | int) -> None:
        """Declare memory of a group."""
        name, kind = allowed(buffer.name), TYPES[buffer.dtype.name]
        if not isinstance(count, int):
            assert isinstance(count, ir.Literal)
            count = int(count.value.real)
        self.shared[name] = f"var<workgroup> {name}: array<{kind}, {count}>;\n"

    def store(self, store: ir.Store) -> list[str]:
        """Return an assignment to an element."""
        buffer, value = store.buffer, self.text(store.value)
        position = self.text(store.position)
        if self._windowed and buffer.role is ir.Role.OUTPUT:
            position = (
                f"{self._word(self._zero + 2 + self.kernel.outputs.index(buffer))} + {position}"
            )
        if buffer.role is not ir.Role.SHARED:
            if buffer.dtype == bool_:
                value = f"select(0u, 1u, {value})"
            elif buffer.dtype == float16 and self._dialect.half:
                value = f"f16({value})"
        return [f"{self.element(buffer, store.position, position)} = {value};"]
