"""Wide loops: a thread takes neighbouring elements at once, by loads and stores of 16 bytes (vectorised access).

A GPU's memory is busy when enough bytes are on their way, and an instruction that loads 16 bytes keeps four times as
many there as one that loads 4. Elements are computed one by one as ever, so results are the same to the bit. What does
not lie side by side is read element by element within the same loop; where operands do not begin at a multiple of the
access, and for what is left over at the end, there is a loop over single elements.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

from tensorframe.codegen.printer import Braces, indented
from tensorframe.dtypes import DType
from tensorframe.kernel import ir
from tensorframe.kernel.ir.walk import expressions, in_order

_WIDEST = 16  # bytes of one access, to a multiple of which it is aligned


class Side(NamedTuple):
    """The elements of a buffer that are read or written side by side: their type, and a pointer to the first."""

    buffer: ir.Buffer
    type: str
    pointer: str  # to a vector
    address: str  # the number of its byte
    alignment: int


class WideLoops(Braces):
    """Prints loops that have a width."""

    grid: tuple[str, str]  # the first index of a thread, and the number of threads

    def __init__(self, kernel: ir.Kernel) -> None:
        super().__init__(kernel)
        self.vectors: dict[str, str] = {}  # types of several elements: name -> declaration
        self._beside: tuple[ir.Index, set[ir.Buffer]] | None = None

    @abstractmethod
    def side(self, buffer: ir.Buffer, width: int) -> Side:
        """Return how so many elements of a buffer are read or written at once."""

    def place(self, buffer: ir.Buffer, position: ir.Expr) -> tuple[str, str] | None:
        """Return the array and the index of an element that a wide access has read, or will write; None for others."""
        if self._beside is None or position is not self._beside[0]:
            return None
        return (f"{buffer.name}_vector.at", "part") if buffer in self._beside[1] else None

    def loop(self, loop: ir.Loop) -> list[str]:
        """Return a loop, or, where it has a width and something lies side by side, two."""
        buffers = _side_by_side(loop) if loop.width > 1 else []
        return self._wide(loop, buffers) if buffers else super().loop(loop)

    def _wide(self, loop: ir.Loop, buffers: list[ir.Buffer]) -> list[str]:
        sides = [self.side(buffer, loop.width) for buffer in buffers]
        kind, index, width = self.type(loop.index.dtype), self.name(loop.index.name), loop.width
        stop, (first, step) = self.text(loop.stop), self.grid
        alone = self.block(loop.body)
        self._beside = (loop.index, set(buffers))
        together = self.block(loop.body)
        self._beside = None
        unaligned = " | ".join([f"{side.address} % {side.alignment}u" for side in sides])
        inputs = [side for side in sides if side.buffer.role is ir.Role.INPUT]
        return [
            f"const {kind} vectors = ({unaligned}) != 0 ? 0 : {stop} / {width};",
            f"for ({kind} vector = {first}; vector < vectors; vector += {step}) {{",
            *[
                f"    const {side.type} {side.buffer.name}_vector = {side.pointer}[vector];"
                for side in inputs
            ],
            *[
                f"    {side.type} {side.buffer.name}_vector;"
                for side in sides
                if side not in inputs
            ],
            "    #pragma unroll",
            f"    for ({kind} part = 0; part < {width}; ++part) {{",
            f"        const {kind} {index} = vector * {width} + part;",
            *indented(indented(together)),
            "    }",
            *[
                f"    {side.pointer}[vector] = {side.buffer.name}_vector;"
                for side in sides
                if side not in inputs
            ],
            "}",
            f"for ({kind} {index} = vectors * {width} + {first}; {index} < {stop}; {index} += {step}) {{",
            *indented(alone),
            "}",
        ]


def alignment_of(dtype: DType, width: int) -> int:
    """Return the bytes at a multiple of which so many elements have to begin."""
    return min(_WIDEST, dtype.itemsize * width)


def _side_by_side(loop: ir.Loop) -> list[ir.Buffer]:
    """Return the buffers that iterations read and write at their own number; none where only some iterations write."""
    roots, stores = expressions(loop.body)
    if any(store not in loop.body for store in stores):
        return []
    loads = [expr for expr in in_order(roots, ()) if isinstance(expr, ir.Load)]
    buffers = [load.buffer for load in loads if load.position is loop.index]
    buffers += [store.buffer for store in stores if store.position is loop.index]
    return list(dict.fromkeys(buffers))
