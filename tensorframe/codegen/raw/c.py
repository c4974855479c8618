"""Raw kernels in OpenCL C and CUDA C++."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import NamedTuple

from tensorframe.codegen import cuda, opencl
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
from tensorframe.codegen.words import Parameter
from tensorframe.dtypes import DType
from tensorframe.ops.raw_kernels import RawCall


class Spelling(NamedTuple):
    """What OpenCL C and CUDA C++ write differently."""

    language: str
    title: str
    types: Mapping[str, str]
    numbers: Mapping[str, str]
    """How a number is made of a word {low}, and of the one behind it, {high}."""
    prelude: str
    pointer: str
    local: str
    """The type of a pointer to memory that a group shares."""
    shared: str
    function: str
    kernel: str
    restrict: str
    threads: tuple[str, str]
    groups: tuple[str, str]
    lane: str
    barrier: str


_COMPLEX = {"complex64": "float2", "complex128": "double2"}
_WIDE = "(((ulong){high} << 32) | {low})"

_PRELUDE = """\
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF
"""
OPENCL = Spelling(
    language="opencl",
    title="OpenCL C",
    types=opencl.TYPES | _COMPLEX | {"bool": "uchar"},
    numbers={
        "float32": "as_float({low})",
        "float64": f"as_double({_WIDE})",
        "int64": f"as_long({_WIDE})",
        "uint64": _WIDE,
    },
    prelude=_PRELUDE,
    pointer="__global {const}{type}*",
    local="__local {type}*",
    shared="__local {type} {name}[{count}];",
    function="static inline void",
    kernel="__kernel __attribute__((reqd_work_group_size({lanes}, 1, 1)))\nvoid",
    restrict="restrict",
    threads=("get_global_id(0)", "get_global_size(0)"),
    groups=("get_group_id(0)", "get_num_groups(0)"),
    lane="get_local_id(0)",
    barrier="barrier(CLK_LOCAL_MEM_FENCE);",
)

_CUDA_WIDE = _WIDE.replace("ulong", "unsigned long long")
CUDA = Spelling(
    language="cuda",
    title="CUDA C++",
    types=cuda.TYPES | _COMPLEX,
    numbers={
        "float32": "__int_as_float((int){low})",
        "float64": f"__longlong_as_double((long long){_CUDA_WIDE})",
        "int64": f"(long long){_CUDA_WIDE}",
        "uint64": _CUDA_WIDE,
    },
    prelude="",
    pointer="{const}{type}*",
    local="{type}*",
    shared="__shared__ {type} {name}[{count}];",
    function="static __device__ inline void",
    kernel='extern "C" __global__ void __launch_bounds__({lanes})\n',
    restrict="__restrict__",
    threads=("(blockIdx.x * blockDim.x + threadIdx.x)", "(gridDim.x * blockDim.x)"),
    groups=("blockIdx.x", "gridDim.x"),
    lane="threadIdx.x",
    barrier="__syncthreads();",
)


def print_raw(call: RawCall, spelling: Spelling, *, most: int) -> RawText:
    """Return the whole text of a kernel, whose groups have at most so many threads where the user does not say."""
    return _Printer(call, spelling, most).printed()


class _Printer:
    def __init__(self, call: RawCall, spelling: Spelling, most: int) -> None:
        check_words(call, spelling.types, spelling.title)
        self.call, self.spelling = call, spelling
        self.lanes = lanes_of(call, most)
        self.words = parameters(call)

    def printed(self) -> RawText:
        call, spelling = self.call, self.spelling
        body = body_of(call, spelling.language)
        above = "".join(
            [
                f"// {call.name}: the body is the user's, all else was generated\n",
                spelling.prelude,
                *[f"typedef {kind} {name};\n" for name, kind in self._types()],
                f"{spelling.function} {OWN}body({', '.join(self._taken())}) {{\n",
                f'#line 1 "{call.name}.{spelling.language}"\n',
            ]
        )
        below = f'\n#line 1 "generated"\n}}\n{self._kernel()}'
        text = above + body + below
        name = f"{call.name}_{sha256(f'{text}{self.lanes}'.encode()).hexdigest()[:16]}"
        source = text.replace(f"{OWN}kernel(", f"{name}(").replace(
            f"{OWN}words", f"words_of_{name}"
        )
        last = self.words[-1]
        first = above.count("\n") + 1
        return RawText(
            name, source, call, spelling.language, body, first, self.lanes, last.word + last.words
        )

    def _types(self) -> list[tuple[str, str]]:
        return types_of(self.call, self.spelling.types, self.spelling.title)

    def _type(self, dtype: DType) -> str:
        return word(self.spelling.types, dtype, self.spelling.title)

    def _pointers(self, ending: str) -> list[str]:
        """Return the declarations of arrays."""
        written = [(entry, "const ") for entry in self.call.arrays]
        written += [(entry, "") for entry in self.call.outputs]
        return [
            f"{self.spelling.pointer.format(const=const, type=self._type(entry.dtype))}{ending} {entry.name}"
            for entry, const in written
        ]

    def _taken(self) -> list[str]:
        """Return the parameters of the body."""
        call = self.call
        shared = [
            f"{self.spelling.local.format(type=self._type(entry.dtype))} {entry.name}"
            for entry in call.shared
        ]
        numbers = [f"const int {name}" for name, _ in call.sizes]
        numbers += [f"const {self._type(dtype)} {name}" for name, dtype, _ in call.static]
        numbers += [f"const {self._type(entry.dtype)} {entry.name}" for entry in call.numbers]
        return [
            *self._pointers(""),
            *shared,
            *numbers,
            *[f"const int {name}" for name in indices(call)],
        ]

    def _given(self) -> str:
        """Return the arguments that the body is called with."""
        call = self.call
        names = [entry.name for entry in (*call.arrays, *call.outputs)]
        names += [entry.name for entry in call.shared]
        names += [name for name, _ in call.sizes] + [text for _, _, text in call.static]
        names += [entry.name for entry in call.numbers]
        return ", ".join([*names, *indices(call)])

    def _kernel(self) -> str:
        call, spelling = self.call, self.spelling
        last = self.words[-1]
        head = spelling.kernel.format(lanes=self.lanes)
        lines = [
            *[
                f"const {self._type(entry.dtype)} {entry.name} = {self._number(entry)};"
                for entry in self.words
            ],
            *[
                spelling.shared.format(
                    type=self._type(entry.dtype), name=entry.name, count=entry.elements
                )
                for entry in call.shared
            ],
            *(self._threads() if call.group is None else self._groups()),
        ]
        inside = "".join([f"    {line}\n" for line in lines])
        operands = ", ".join(self._pointers(f" {spelling.restrict}"))
        count = last.word + last.words
        unsigned = spelling.types["uint32"]
        return (
            f"typedef struct {{ {unsigned} at[{count}]; }} {OWN}words;\n"
            f"{head} {OWN}kernel({operands}, const {OWN}words {OWN}w) {{\n{inside}}}\n"
        )

    def _number(self, entry: Parameter) -> str:
        low, high = [f"{OWN}w.at[{entry.word + offset}]" for offset in (0, 1)]
        made = self.spelling.numbers.get(entry.dtype.name)
        if made is not None:
            return made.format(low=low, high=high)
        return f"{low} != 0" if entry.dtype.kind == "b" else f"({self._type(entry.dtype)}){low}"

    def _threads(self) -> list[str]:
        """Return a loop over all indices of the grid, of which each thread takes some."""
        unsigned = self.spelling.types["uint32"]
        names = [name for name, _ in self.call.grid]
        extents = [f"{OWN}extent_{index}" for index in range(len(names))]
        begin, step = self.spelling.threads
        stop = " * ".join(extents)
        return [
            f"for ({unsigned} {OWN}at = {begin}; {OWN}at < ({unsigned})({stop}); {OWN}at += {step}) {{",
            *[
                f"    const int {name} = {value};"
                for name, value in division(names, extents, f"{OWN}at", "(int)({})")
            ],
            f"    {OWN}body({self._given()});",
            "}",
        ]

    def _groups(self) -> list[str]:
        """Return a loop over groups, whose threads all run the body, those beyond the edge of the grid too."""
        unsigned = self.spelling.types["uint32"]
        names = [name for name, _ in self.call.grid]
        threads = list(map(str, self.call.group or ()))
        counts = [f"{OWN}groups_{index}" for index in range(len(names))]
        begin, step = self.spelling.groups
        lane = f"(int){self.spelling.lane}"
        local = division([f"{name}_local" for name in names], threads, lane, "{}")
        group = division([f"{name}_group" for name in names], counts, f"{OWN}at", "(int)({})")
        stop = " * ".join(counts)
        return [
            *[f"const int {name} = {value};" for name, value in local],
            f"for ({unsigned} {OWN}at = {begin}; {OWN}at < ({unsigned})({stop}); {OWN}at += {step}) {{",
            *[f"    const int {name} = {value};" for name, value in group],
            *[
                f"    const int {name} = {name}_group * {width} + {name}_local;"
                for name, width in zip(names, threads, strict=True)
            ],
            f"    {OWN}body({self._given()});",
            *([f"    {self.spelling.barrier}"] if self.call.shared else []),
            "}",
        ]
