"""Raw kernels in dialects of C: OpenCL C, CUDA C++, and those of other packages."""

from __future__ import annotations

from collections.abc import Mapping

from tensorframe.codegen.c_dialect import Dialect
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
from tensorframe.digests import sha256
from tensorframe.dtypes import DType
from tensorframe.ops.raw_kernels import RawCall


def words_of(dialect: Dialect) -> Mapping[str, str]:
    """Return the types of elements in the bodies of a dialect, by dtype; none if it has no bodies."""
    return {} if dialect.bodies is None else {**dialect.types, **dialect.bodies.types}


def print_raw(call: RawCall, dialect: Dialect, *, most: int) -> RawText:
    """Return the whole text of a kernel, whose groups have at most so many threads where the user does not say."""
    return _Printer(call, dialect, most).printed()


class _Printer:
    def __init__(self, call: RawCall, dialect: Dialect, most: int) -> None:
        assert dialect.bodies is not None
        self.call, self.dialect, self.bodies = call, dialect, dialect.bodies
        self.types, self.title = words_of(dialect), dialect.title or dialect.name
        check_words(call, self.types, self.title)
        self.lanes = lanes_of(call, most)
        self.words = parameters(call)

    def printed(self) -> RawText:
        call, language = self.call, self.dialect.name
        body = body_of(call, language)
        above = "".join(
            [
                f"// {call.name}: the body is the user's, all else was generated\n",
                self.bodies.prelude,
                *[f"typedef {kind} {name};\n" for name, kind in self._types()],
                f"{self.bodies.function} {OWN}body({', '.join(self._taken())}) {{\n",
                f'#line 1 "{call.name}.{language}"\n',
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
            name, source, call, language, body, first, self.lanes, last.word + last.words
        )

    def _types(self) -> list[tuple[str, str]]:
        return types_of(self.call, self.types, self.title)

    def _type(self, dtype: DType) -> str:
        return word(self.types, dtype, self.title)

    def _arrays(self, form: str) -> list[str]:
        """Return the declarations of arrays."""
        written = [(entry, "const ") for entry in self.call.arrays]
        written += [(entry, "") for entry in self.call.outputs]
        return [
            form.format(const=const, type=self._type(entry.dtype), name=entry.name)
            for entry, const in written
        ]

    def _taken(self) -> list[str]:
        """Return the parameters of the body."""
        call = self.call
        shared = [
            f"{self.bodies.local.format(type=self._type(entry.dtype))} {entry.name}"
            for entry in call.shared
        ]
        numbers = [f"const int {name}" for name, _ in call.sizes]
        numbers += [f"const {self._type(dtype)} {name}" for name, dtype, _ in call.static]
        numbers += [f"const {self._type(entry.dtype)} {entry.name}" for entry in call.numbers]
        return [
            *self._arrays(f"{self.dialect.pointer} {{name}}"),
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
        call, dialect = self.call, self.dialect
        last = self.words[-1]
        lines = [
            *[
                f"const {self._type(entry.dtype)} {entry.name} = {self._number(entry)};"
                for entry in self.words
            ],
            *[
                dialect.shared.format(
                    type=self._type(entry.dtype), name=entry.name, count=entry.elements
                )
                for entry in call.shared
            ],
            *(self._threads() if call.group is None else self._groups()),
        ]
        inside = "".join([f"    {line}\n" for line in lines])
        signature = dialect.signature.format(
            name=f"{OWN}kernel",
            lanes=self.lanes,
            occupancy="",
            operands=", ".join(self._arrays(dialect.operand)),
            count=last.word + last.words,
            words=f"{OWN}words",
            argument=f"{OWN}w",
        )
        return f"{signature} {{\n{inside}}}\n"

    def _number(self, entry: Parameter) -> str:
        low, high = [f"{OWN}w.at[{entry.word + offset}]" for offset in (0, 1)]
        made = self.bodies.numbers.get(entry.dtype.name)
        if made is not None:
            return made.format(low=low, high=high)
        return f"{low} != 0" if entry.dtype.kind == "b" else f"({self._type(entry.dtype)}){low}"

    def _threads(self) -> list[str]:
        """Return a loop over all indices of the grid, of which each thread takes some."""
        unsigned = self.dialect.types["uint32"]
        names = [name for name, _ in self.call.grid]
        extents = [f"{OWN}extent_{index}" for index in range(len(names))]
        begin, step = self.dialect.grid
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
        unsigned = self.dialect.types["uint32"]
        names = [name for name, _ in self.call.grid]
        threads = list(map(str, self.call.group or ()))
        counts = [f"{OWN}groups_{index}" for index in range(len(names))]
        begin, step = self.dialect.groups
        lane = f"(int){self.dialect.lane}"
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
            *([f"    {self.dialect.barrier}"] if self.call.shared else []),
            "}",
        ]
