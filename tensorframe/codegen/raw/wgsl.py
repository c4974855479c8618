"""Raw kernels in WGSL."""

from __future__ import annotations

from collections.abc import Mapping

from tensorframe.codegen.raw.text import (
    OWN,
    RawText,
    body_of,
    check_words,
    division,
    indices,
    lanes_of,
    parameters,
    types_of,
    word,
)
from tensorframe.codegen.wgsl_expressions import SUFFIXES
from tensorframe.codegen.wgsl_expressions import TYPES as VALUES
from tensorframe.codegen.words import Parameter
from tensorframe.digests import sha256
from tensorframe.dtypes import BY_NAME, DType
from tensorframe.ops.raw_kernels import RawCall

TITLE = "WGSL"
# elements of less than 32 bits are words of their own in memory, which bodies would have to cut off
_WHOLE = {name: kind for name, kind in VALUES.items() if BY_NAME[name].itemsize >= 4}
_OTHERS = {"bool": "u32", "complex64": "vec2<f32>", "complex128": "vec2<f64>"}
TYPES: Mapping[str, str] = _WHOLE | _OTHERS


def print_raw(call: RawCall, *, immediates: int, most: int) -> RawText:
    """Return the whole text of a kernel for a device with so many bytes of immediates."""
    return _Printer(call, immediates, most).printed()


class _Printer:
    def __init__(self, call: RawCall, immediates: int, most: int) -> None:
        check_words(call, TYPES, TITLE)
        self.call = call
        self.lanes = lanes_of(call, most)
        self.parameters = parameters(call)
        last = self.parameters[-1]
        self.count = last.word + last.words
        self.immediate = 4 * self.count <= immediates

    def printed(self) -> RawText:
        call = self.call
        body = body_of(call, "wgsl")
        above = "".join(
            [
                f"// {call.name}: the body is the user's, all else was generated\n",
                *[f"alias {name} = {kind};\n" for name, kind in types_of(call, TYPES, TITLE)],
                *[f"{line}\n" for line in self._declarations()],
                f"fn {OWN}body({', '.join(self._taken())}) {{\n",
            ]
        )
        text = f"{above}{body}\n}}\n{self._kernel()}"
        name = f"{call.name}_{sha256(f'{text}{self.lanes}'.encode()).hexdigest()[:16]}"
        source = text.replace(f"{OWN}kernel(", f"{name}(")
        first = above.count("\n") + 1
        return RawText(
            name, source, call, "wgsl", body, first, self.lanes, self.count, self.immediate
        )

    def _type(self, dtype: DType) -> str:
        return word(TYPES, dtype, TITLE)

    def _declarations(self) -> list[str]:
        """Return the variables of the module: arrays, words and memory that groups share."""
        call = self.call
        arrays = [(entry, "read") for entry in call.arrays]
        arrays += [(entry, "read_write") for entry in call.outputs]
        lines = [
            f"@group(0) @binding({index}) var<storage, {access}> {entry.name}: array<{self._type(entry.dtype)}>;"
            for index, (entry, access) in enumerate(arrays)
        ]
        if self.immediate:
            lines.append(f"var<immediate> {OWN}w: array<u32, {self.count}>;")
        else:
            kind = f"array<vec4<u32>, {-(-self.count // 4)}>"
            lines.append(f"@group(0) @binding({len(arrays)}) var<uniform> {OWN}w: {kind};")
        lines += [
            f"var<workgroup> {entry.name}: array<{self._type(entry.dtype)}, {entry.elements}>;"
            for entry in call.shared
        ]
        return lines

    def _taken(self) -> list[str]:
        """Return the parameters of the body."""
        call = self.call
        numbers = [f"{name}: i32" for name, _ in call.sizes]
        numbers += [f"{name}: {self._number_type(dtype)}" for name, dtype, _ in call.static]
        numbers += [f"{entry.name}: {self._number_type(entry.dtype)}" for entry in call.numbers]
        return [*numbers, *[f"{name}: i32" for name in indices(call)]]

    def _number_type(self, dtype: DType) -> str:
        return "bool" if dtype.kind == "b" else self._type(dtype)

    def _given(self) -> str:
        """Return the arguments that the body is called with."""
        call = self.call
        names = [name for name, _ in call.sizes]
        names += [self._literal(dtype, text) for _, dtype, text in call.static]
        names += [entry.name for entry in call.numbers]
        return ", ".join([*names, *indices(call)])

    def _literal(self, dtype: DType, text: str) -> str:
        if dtype.kind == "b":
            return text.lower()
        return f"{text}{SUFFIXES[self._type(dtype)]}"

    def _word(self, index: int) -> str:
        return f"{OWN}w[{index}]" if self.immediate else f"{OWN}w[{index // 4}].{'xyzw'[index % 4]}"

    def _number(self, entry: Parameter) -> str:
        kind, first = self._number_type(entry.dtype), self._word(entry.word)
        if kind == "bool":
            return f"{first} != 0u"
        if entry.words == 2:
            first = f"((u64({self._word(entry.word + 1)}) << 32u) | u64({first}))"
        return first if kind in ("u32", "u64") else f"bitcast<{kind}>({first})"

    def _kernel(self) -> str:
        lines = [
            *[f"let {entry.name} = {self._number(entry)};" for entry in self.parameters],
            *(self._threads() if self.call.group is None else self._groups()),
        ]
        inside = "".join([f"    {line}\n" for line in lines])
        return (
            f"@compute @workgroup_size({self.lanes})\n"
            f"fn {OWN}kernel(\n"
            f"    @builtin(workgroup_id) {OWN}group: vec3<u32>,\n"
            f"    @builtin(num_workgroups) {OWN}count: vec3<u32>,\n"
            f"    @builtin(local_invocation_index) {OWN}lane: u32,\n"
            f") {{\n{inside}}}\n"
        )

    def _threads(self) -> list[str]:
        """Return a loop over all indices of the grid, of which each thread takes some."""
        names = [name for name, _ in self.call.grid]
        extents = [f"u32({OWN}extent_{index})" for index in range(len(names))]
        position = f"{OWN}at"
        begin = f"{OWN}group.x * {self.lanes}u + {OWN}lane"
        step = f"{OWN}count.x * {self.lanes}u"
        return [
            f"for (var {position} = {begin}; {position} < {' * '.join(extents)}; {position} += {step}) {{",
            *[
                f"    let {name} = {value};"
                for name, value in division(names, extents, position, "i32({})")
            ],
            f"    {OWN}body({self._given()});",
            "}",
        ]

    def _groups(self) -> list[str]:
        """Return a loop over groups, whose threads all run the body, those beyond the edge of the grid too."""
        names = [name for name, _ in self.call.grid]
        threads = [f"{width}u" for width in self.call.group or ()]
        counts = [f"u32({OWN}groups_{index})" for index in range(len(names))]
        position = f"{OWN}at"
        groups = [f"{name}_group" for name in names]
        local = [f"{name}_local" for name in names]
        return [
            *[
                f"let {name} = {value};"
                for name, value in division(local, threads, f"{OWN}lane", "i32({})")
            ],
            f"for (var {position} = {OWN}group.x; {position} < {' * '.join(counts)}; {position} += {OWN}count.x) {{",
            *[
                f"    let {name} = {value};"
                for name, value in division(groups, counts, position, "i32({})")
            ],
            *[
                f"    let {name} = {name}_group * {width[:-1]} + {name}_local;"
                for name, width in zip(names, threads, strict=True)
            ],
            f"    {OWN}body({self._given()});",
            *(["    workgroupBarrier();"] if self.call.shared else []),
            "}",
        ]
