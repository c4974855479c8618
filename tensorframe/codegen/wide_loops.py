"""Wide loops: a thread takes neighbouring elements at once, by loads and stores of 16 bytes (vectorised access).

A GPU's memory is busy when enough bytes are on their way, and an instruction that loads 16 bytes keeps four times as
many there as one that loads 4. Elements are computed one by one as ever, so results are the same to the bit. What does
not lie side by side is read element by element within the same loop; where operands do not begin at a multiple of the
access, and for what is left over at the end, there is a loop over single elements.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from tensorframe.codegen.joining import Joining
from tensorframe.codegen.neighbours import Run, runs_of
from tensorframe.codegen.printer import indented
from tensorframe.dtypes import DType
from tensorframe.kernel import ir

_WIDEST = 16  # bytes of one access, to a multiple of which it is aligned


class Side(NamedTuple):
    """How so many elements of a buffer are read or written at once."""

    type: str
    pointer: str  # to a vector, from a pointer to the first element
    first: str  # the first element of the operand
    address: str  # the number of its byte
    alignment: int


class WideLoops(Joining):
    """Prints loops that have a width."""

    grid: tuple[str, str]  # the first index of a thread, and the number of threads

    def __init__(self, kernel: ir.Kernel) -> None:
        super().__init__(kernel)
        self.vectors: dict[str, str] = {}  # types of several elements: name -> declaration
        self._runs: dict[tuple[ir.Buffer, ir.Expr], str] = {}  # -> the vector that has the elements

    @abstractmethod
    def side(self, buffer: ir.Buffer, width: int) -> Side:
        """Return how so many elements of a buffer are read or written at once."""

    def place(self, buffer: ir.Buffer, position: ir.Expr) -> tuple[str, str] | None:
        """Return the array and the index of an element that a wide access has read, or will write; None for others."""
        vector = self._runs.get((buffer, position))
        return None if vector is None else (f"{vector}.at", "part")

    def loop(self, loop: ir.Loop) -> list[str]:
        """Return a loop, or, where it has a width and accesses neighbours, two."""
        first = ir.index("first", loop.index.dtype)
        runs = runs_of(loop, first) if loop.width > 1 else []
        return self._wide(loop, runs, first) if runs else super().loop(loop)

    def _wide(self, loop: ir.Loop, runs: Sequence[Run], first: ir.Index) -> list[str]:
        kind, index, width = self.type(loop.index.dtype), self.name(loop.index.name), loop.width
        stop, (begin, step) = self.text(loop.stop), self.grid
        alone = self.block(loop.body)
        names = [f"{run.buffer.name}_vector{number}" for number, run in enumerate(runs)]
        self._runs = {
            (run.buffer, run.position): name for run, name in zip(runs, names, strict=True)
        }
        together = self.block(loop.body)
        self._runs = {}
        loads, stores = [], []
        for run, name in zip(runs, names, strict=True):
            side = self.side(run.buffer, width)
            # of the vector's own number the compiler makes one address, and adds to it
            place = "vector" if run.first is first else f"({self.text(run.first)}) / {width}"
            memory = f"({side.pointer}{side.first})[{place}]"
            if run.buffer.role is ir.Role.INPUT:
                loads.append(f"const {side.type} {name} = {memory};")
            else:
                loads.append(f"{side.type} {name};")
                stores.append(f"{memory} = {name};")
        return [
            f"const {kind} vectors = ({self._misfit(runs, width)}) != 0 ? 0 : {stop} / {width};",
            f"for ({kind} vector = {begin}; vector < vectors; vector += {step}) {{",
            f"    const {kind} first = vector * {width};",
            *indented(loads),
            "    #pragma unroll",
            f"    for ({kind} part = 0; part < {width}; ++part) {{",
            f"        const {kind} {index} = first + part;",
            *indented(indented(together)),
            "    }",
            *indented(stores),
            "}",
            f"for ({kind} {index} = vectors * {width} + {begin}; {index} < {stop}; {index} += {step}) {{",
            *indented(alone),
            "}",
        ]

    def _misfit(self, runs: Sequence[Run], width: int) -> str:
        """Return a number that is 0 where all accesses are to neighbours, and aligned."""
        remainders: dict[str, None] = {}
        for run in runs:
            side = self.side(run.buffer, width)
            remainders[f"{side.address} % {side.alignment}u"] = None
            for number in run.multiples:
                remainders[f"{self.text(number)} % {width}u"] = None
        return " | ".join(remainders)


def alignment_of(dtype: DType, width: int) -> int:
    """Return the bytes at a multiple of which so many elements have to begin."""
    return min(_WIDEST, dtype.itemsize * width)
