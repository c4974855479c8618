"""The builder: writes instructions one after the other, and knows what a module has to declare for them.

Values, blocks and metadata have numbers for names, so no name of the kernel's can meet one of the text's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from tensorframe.codegen.llvm.target import Target
from tensorframe.codegen.llvm.types import VALUE, suffix, vector
from tensorframe.dtypes import DType
from tensorframe.ops.user import MODULES

# instructions of which two that are equal may differ: what memory holds, what comes from other blocks
_IMPURE = ("load", "call", "phi", "freeze")
_INTEGER = re.compile(r"(?:splat \(i\d+ )?(-?\d+)\)?")


class Builder:
    """Writes the instructions of one function. Operations are on `lanes` values at once."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.lanes = 1
        self.block = "entry"  # the label of the block that is being written
        self.lines: list[str] = ["entry:"]
        self._written: dict[str, str] = {}  # values of this block, by their instructions
        self._values = 0
        self._blocks = 0
        self._declarations: dict[str, None] = {}
        self._metadata: dict[str, int] = {}

    # --- types and constants ---

    def type(self, dtype: DType) -> str:
        """Return the type of a value."""
        return vector(VALUE[dtype], self.lanes)

    def vector(self, kind: str) -> str:
        """Return the type of as many values as operations are on."""
        return vector(kind, self.lanes)

    def constant(self, kind: str, spelled: str | int) -> str:
        """Return a constant, the same in all lanes."""
        return str(spelled) if self.lanes == 1 else f"splat ({kind} {spelled})"

    def steps(self, kind: str) -> str:
        """Return the integers from 0 on, one in each lane."""
        return f"<{', '.join([f'{kind} {index}' for index in range(self.lanes)])}>"

    def known(self, operand: str) -> int | None:
        """Return the integer that an operand is, if it is a constant."""
        match = _INTEGER.fullmatch(operand)
        return int(match[1]) if match else None

    # --- instructions ---

    def value(self, instruction: str) -> str:
        """Write an instruction that has a result, once in a block if it cannot have another one; return the result."""
        name = self._written.get(instruction)
        if name is None:
            name = f"%{self._values}"
            self._values += 1
            self.lines.append(f"  {name} = {instruction}")
            if not instruction.startswith(_IMPURE):
                self._written[instruction] = name
        return name

    def opaque(self, kind: str, value: str) -> str:
        """Return a value as one that LLVM does not take for a sum of others; constants are what they are."""
        return self.value(f"freeze {kind} {value}") if value.startswith("%") else value

    def do(self, instruction: str) -> None:
        """Write an instruction that has none."""
        self.lines.append(f"  {instruction}")

    def call(self, name: str, kind: str, *operands: str, flags: str = "") -> str:
        """Call a function of LLVM's that takes values of one type and returns one; the type is part of its name."""
        full, types = f"@{name}.{suffix(kind, self.lanes)}", self.vector(kind)
        self.declare(f"{types} {full}({', '.join([types] * len(operands))})")
        return self.value(f"call {flags}{types} {full}({_typed(types, operands)})")

    def call_user(self, call: str, operands: Sequence[tuple[DType, str]]) -> str:
        """Call a user's function of single values, which the module is linked with; equal calls become one."""
        assert self.lanes == 1
        name, number = call.split(".")
        results = f"{{ {', '.join([VALUE[dtype] for dtype in MODULES[name].results])} }}"
        kinds = ", ".join([VALUE[kind] for kind, _ in operands])
        self.declare(f"{results} @{name}({kinds}) nounwind memory(none)")
        values = ", ".join([f"{VALUE[kind]} {value}" for kind, value in operands])
        return self.value(
            f"extractvalue {results} {self.value(f'call {results} @{name}({values})')}, {number}"
        )

    def declare(self, function: str) -> None:
        """Have the module declare a function."""
        self._declarations[function] = None

    # --- vectors ---

    @contextmanager
    def on(self, lanes: int) -> Iterator[None]:
        """Have operations meanwhile be on so many values at once."""
        before, self.lanes = self.lanes, lanes
        yield
        self.lanes = before

    def splat(self, kind: str, value: str) -> str:
        """Return a value in all lanes."""
        if not value.startswith("%"):
            return self.constant(kind, value)
        wide = self.vector(kind)
        inserted = self.value(f"insertelement {wide} poison, {kind} {value}, i64 0")
        zeros = f"<{self.lanes} x i32> zeroinitializer"
        return self.value(f"shufflevector {wide} {inserted}, {wide} poison, {zeros}")

    def part(self, kind: str, value: str, lanes: int, first: int, count: int) -> str:
        """Return some neighbours among the lanes of a value."""
        wide = vector(kind, lanes)
        if count == 1:
            return self.value(f"extractelement {wide} {value}, i64 {first}")
        places = ", ".join([f"i32 {first + index}" for index in range(count)])
        mask = f"<{count} x i32> <{places}>"
        return self.value(f"shufflevector {wide} {value}, {wide} poison, {mask}")

    def together(self, kind: str, low: str, high: str, lanes: int) -> str:
        """Return the lanes of two values in one."""
        wide = vector(kind, lanes)
        places = ", ".join([f"i32 {index}" for index in range(2 * lanes)])
        mask = f"<{2 * lanes} x i32> <{places}>"
        return self.value(f"shufflevector {wide} {low}, {wide} {high}, {mask}")

    # --- blocks ---

    def new_label(self) -> str:
        """Return the label of a block that is to be written."""
        self._blocks += 1
        return f"b{self._blocks}"

    def begin(self, label: str) -> None:
        """Write what follows into this block."""
        self.block = label
        self._written = {}
        self.lines.append(f"{label}:")

    def jump(self, label: str, metadata: str = "") -> None:
        """End the block."""
        self.do(f"br label %{label}{metadata}")

    def branch(self, condition: str, yes: str, no: str, metadata: str = "") -> None:
        """End the block with a choice."""
        self.do(f"br i1 {condition}, label %{yes}, label %{no}{metadata}")

    def phi(self, kind: str, *sources: tuple[str, str]) -> str:
        """Return the value that comes from each block: pairs of a value and a block's label."""
        return self.value(f"phi {kind} {_incoming(sources)}")

    def open_phi(self, kind: str) -> tuple[str, int]:
        """Return a value whose sources follow later, and the line that it is written in."""
        return self.value(f"phi {kind} "), len(self.lines) - 1

    def close_phi(self, line: int, *sources: tuple[str, str]) -> None:
        """Say where the value of that line comes from."""
        self.lines[line] += _incoming(sources)

    # --- metadata ---

    def metadata(self, text: str) -> str:
        """Return the name of a piece of metadata; equal ones are one."""
        return f"!{self._metadata.setdefault(text, len(self._metadata))}"

    def distinct_loop(self, *hints: str) -> str:
        """Return metadata of one loop, which refers to itself."""
        number = len(self._metadata)
        return self.metadata(f"distinct !{{{', '.join([f'!{number}', *hints])}}}")

    # --- the module ---

    def module(self, signature: str) -> str:
        """Return the text of a module of this function."""
        parts = [
            *[f"declare {declaration}" for declaration in self._declarations],
            f"define {signature} {{",
            *self.lines,
            "}",
            *[f"!{number} = {text}" for text, number in self._metadata.items()],
        ]
        return "\n".join(parts) + "\n"


def _typed(kind: str, operands: Iterable[str]) -> str:
    return ", ".join([f"{kind} {operand}" for operand in operands])


def _incoming(sources: Iterable[tuple[str, str]]) -> str:
    return ", ".join([f"[{value}, %{block}]" for value, block in sources])
