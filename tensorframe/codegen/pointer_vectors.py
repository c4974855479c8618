"""Vectors in C: what lies in memory is read and written through pointers to vectors, see `wide_loops.py`.

A kernel finds out by itself whether it may: where operands do not begin at a multiple of the access, and for what is
left over at the end, there is a loop over single elements.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

from tensorframe.codegen.neighbours import Run
from tensorframe.codegen.printer import indented
from tensorframe.codegen.wide_loops import WIDEST, WideLoops
from tensorframe.dtypes import DType
from tensorframe.kernel import ir
from tensorframe.quick_tuples import NamedTuple


class Side(NamedTuple):
    """How so many elements of a buffer are read or written at once."""

    type: str
    buffer: str
    origin: str  # what is added to positions, with its sign; nothing where the operand begins with its buffer
    pointer: str  # to a vector, from a pointer to the first element
    first: str  # the first element of the operand
    address: str  # the number of its byte
    alignment: int


class PointerVectors(WideLoops):
    """Prints loops that have a width, with pointers to vectors."""

    grid: tuple[str, str]  # the first index of a thread, and the number of threads

    def __init__(self, kernel: ir.Kernel) -> None:
        super().__init__(kernel)
        self.vectors: dict[str, str] = {}  # types of several elements: name -> declaration
        # -> the vector that has the elements, and the index of one in there
        self._elements: dict[tuple[ir.Buffer, ir.Expr], tuple[str, str]] = {}

    @abstractmethod
    def side(self, buffer: ir.Buffer, width: int) -> Side:
        """Return how so many elements of a buffer are read or written at once."""

    def place(self, buffer: ir.Buffer, position: ir.Expr) -> tuple[str, str] | None:
        """Return the array and the index of an element that a wide access has read, or will write; None for others."""
        return self._elements.get((buffer, position))

    def few(self, loop: ir.Loop, runs: Sequence[Run]) -> list[str]:
        """Return a loop of at most so many iterations as its width: all at once, or one after the other."""
        index, width = self.name(loop.index.name), loop.width
        head = f"for ({self.type(loop.index.dtype)} {index} = 0; {index} < {width}; ++{index}) {{"

        def unrolled(body: list[str]) -> list[str]:
            return ["#pragma unroll", head, *indented(body), "}"]

        alone = self.block(loop.body)
        moved = unrolled(alone)
        if runs:
            loads, together, stores = self._moved(loop, runs, index, self._beside)
            misfit = " | ".join(self._remainders(runs, width, exact=False))
            moved = [
                f"if (({misfit}) == 0u) {{",
                *indented([*loads, *unrolled(together), *stores]),
                *("} else {", *indented(moved), "}"),
            ]
        return [
            *(f"if ({self.text(loop.stop)} == {width}u) {{", *indented(moved)),
            *("} else {", "    #pragma unroll 1"),
            *indented([f"{self.head(loop)} {{", *indented(alone), "}"]),
            "}",
        ]

    def _beside(self, run: Run, side: Side, _width: int) -> str:
        """Return the vector that begins at a run's first element, whose number is one of 32 bits where all are."""
        return f"*({side.pointer}({side.buffer} + ({side.origin}{self.text(run.first)})))"

    def _moved(
        self,
        loop: ir.Loop,
        runs: Sequence[Run],
        index: str,
        place: Callable[[Run, Side, int], str],
    ) -> tuple[list[str], list[str], list[str]]:
        """Return the lines that load vectors, those of an iteration that uses them, and those that store vectors."""
        names = [f"{run.buffer.name}_vector{number}" for number, run in enumerate(runs)]
        self._elements = {
            (run.buffer, run.position): (f"{name}.at", index)
            for run, name in zip(runs, names, strict=True)
        }
        together = self.block(loop.body)
        self._elements = {}
        loads, stores = [], []
        for run, name in zip(runs, names, strict=True):
            side = self.side(run.buffer, loop.width)
            memory = place(run, side, loop.width)
            if run.buffer.role is ir.Role.INPUT:
                loads.append(f"const {side.type} {name} = {memory};")
            else:
                loads.append(f"{side.type} {name};")
                stores.append(f"{memory} = {name};")
        return loads, together, stores

    def over_grid(self, loop: ir.Loop, runs: Sequence[Run], first: ir.Index) -> list[str]:
        """Return a loop over the grid whose threads take so many iterations at once, and one for the rest."""
        kind, index, width = self.type(loop.index.dtype), self.name(loop.index.name), loop.width
        stop, (begin, step) = self.text(loop.stop), self.grid
        alone = self.block(loop.body)

        def numbered(run: Run, side: Side, width: int) -> str:
            # of the vector's own number the compiler makes one address, and adds to it
            place = "vector" if run.first is first else f"({self.text(run.first)}) / {width}"
            return f"({side.pointer}{side.first})[{place}]"

        loads, together, stores = self._moved(loop, runs, "part", numbered)
        misfit = " | ".join(self._remainders(runs, width, exact=True))
        return [
            f"const {kind} vectors = ({misfit}) != 0 ? 0 : {stop} / {width};",
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

    def _remainders(self, runs: Sequence[Run], width: int, *, exact: bool) -> list[str]:
        """Return numbers that are 0 where all accesses are to neighbours, and aligned.

        Where vectors are numbered, positions are `exact` multiples of their elements.
        """
        remainders: dict[str, None] = {}
        for run in runs:
            side = self.side(run.buffer, width)
            remainders[f"{side.address} % {side.alignment}u"] = None
            size = width if exact else side.alignment // run.buffer.dtype.itemsize
            for number in run.multiples:
                if not (isinstance(number, ir.Literal) and int(number.value.real) % size == 0):
                    remainders[f"{self.text(number)} % {size}u"] = None
        return [*remainders]


def alignment_of(dtype: DType, width: int) -> int:
    """Return the bytes at a multiple of which so many elements have to begin."""
    return min(WIDEST, dtype.itemsize * width)
